"""Turns, retries, deadlines and cancellation of calls, and failures of osascript itself."""

import contextlib
import errno
import json
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import Scripted, end_many, request, until

from iac_base.errors import Cancellation, ToolError
from iac_runtime.execution.answers import AppAnswer
from iac_runtime.execution.executor import Executor, load_harness
from iac_runtime.execution.process import Completed
from iac_runtime.language.steps import Event

READ = Event("com.example.Diary", "application", "running", "", writes=False)
WRITE = Event("com.example.Diary", "application", "quit", "aevtquit")


def failing(done: Completed, event: Event = READ, *, sent: bool = True) -> ToolError:
    """Return the error of a process that ended so; a write says first that it is `sent`."""

    def runner(argv: object, stdin: bytes, timeout: float) -> Completed:
        mark = json.loads(stdin)["mark"]
        line = f'<iac:{mark}>{{"step": "sent"}}</iac:{mark}>' if event.writes and sent else ""
        return done._replace(stdout=line.encode() + done.stdout)

    with pytest.raises(ToolError) as caught:
        Executor(runner).execute(event, app="Diary", command="t")
    return caught.value


@pytest.mark.parametrize(
    ("done", "event", "type_", "retryable"),
    [
        (Completed(b"", b"", 1), READ, "PERMISSION_DENIED", False),
        (Completed(b"", b"", -9, timed_out=True), READ, "TIMEOUT", True),
        (Completed(b"", b"", -9, timed_out=True), WRITE, "TIMEOUT", False),
        (Completed(b"", b"", -11), WRITE, "EXECUTION_ERROR", False),
        (Completed(b"", b"Segmentation fault", 139), READ, "EXECUTION_ERROR", True),
        (Completed(b"undefined\n", b"", 0), READ, "EXECUTION_ERROR", True),
        (
            Completed(b"", b"execution error: Error: Error: Can't get object. (-1728)\n", 1),
            READ,
            "NOT_FOUND",
            False,
        ),
        (
            Completed(b"", b"x.js:1:2: execution error: Error on line 3: Error: Nein. (-1743)", 1),
            READ,
            "PERMISSION_DENIED",
            False,
        ),
        (
            # Its words are not read: in another language they are others.
            Completed(b"", "execution error: Application can’t be found. (-2700)".encode(), 1),
            READ,
            "EXECUTION_ERROR",
            False,
        ),
    ],
)
def test_a_process_without_an_answer_is_told_apart(
    done: Completed, event: Event, type_: str, retryable: bool
) -> None:
    error = failing(done, event)
    assert error.type == type_
    assert error.retryable is retryable
    assert error.app == "Diary"
    assert "\n" not in str(error)


def test_a_write_that_timed_out_has_an_unknown_outcome() -> None:
    error = failing(Completed(b"", b"", -9, timed_out=True), WRITE)
    assert "unknown whether the change happened" in error.suggestion


@pytest.mark.parametrize(("done", "type_", "suggestion", "retryable"), [
    (Completed(b"", b"", -9, timed_out=True), "TIMEOUT", "Nothing was sent. Check", True),
    (Completed(b"", b"", -11), "EXECUTION_ERROR", "Nothing was sent. Call again", True),
    (Completed(b"", b"", 1), "PERMISSION_DENIED", "Nothing was sent. ", False),
    (Completed(b"", b"", -9, cancelled=True), "USER_CANCELLED", "", False),
    (Completed(b"", b"", -9, too_large=True), "EXECUTION_ERROR", "It is unknown", False),
])  # fmt: skip
def test_of_a_write_that_was_not_sent_that_is_known(
    done: Completed, type_: str, suggestion: str, retryable: bool
) -> None:
    error = failing(done, WRITE, sent=False)
    assert (error.type, error.retryable) == (type_, retryable)
    assert error.suggestion.startswith(suggestion)
    assert "unknown" in suggestion or "unknown" not in error.suggestion


def test_what_else_is_printed_does_not_disturb_the_answer() -> None:
    def runner(argv: object, stdin: bytes, timeout: float) -> Completed:
        mark = json.loads(stdin)["mark"]
        answer = '{"ok": true, "value": "</iac:x>"}'
        return Completed(f"noise\n<iac:{mark}>{answer}</iac:{mark}>\nmore".encode(), b"log", 0)

    assert Executor(runner).execute(READ, app="Diary", command="t").value == "</iac:x>"


@pytest.mark.parametrize("body", ["{", "[]", "\udcff"])
def test_a_damaged_answer_is_an_error_not_a_crash(body: str) -> None:
    def runner(argv: object, stdin: bytes, timeout: float) -> Completed:
        mark = json.loads(stdin)["mark"]
        text = f"<iac:{mark}>{body}</iac:{mark}>".encode("utf-8", "surrogateescape")
        return Completed(text, b"", 0)

    with pytest.raises(ToolError, match="no readable answer"):
        Executor(runner).execute(READ, app="Diary", command="t")


def test_a_missing_osascript_means_this_is_no_mac(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(ToolError, match=r"simulate=True") as caught:
        Executor(program="/nowhere/osascript").execute(READ, app="Diary", command="t")
    assert caught.value.type == "UNAVAILABLE"


@pytest.mark.parametrize("workers", [True, False])
def test_a_machine_without_descriptors_left_is_not_taken_for_one_without_osascript(
    osascript: Scripted, monkeypatch: pytest.MonkeyPatch, workers: bool
) -> None:
    executor = osascript.executor(workers=workers)

    def full() -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patch:
        patch.setattr("os.pipe", full)
        error = fails(executor, "answer", writes=True)
    assert (error.type, error.retryable) == ("UNAVAILABLE", True)
    assert "less busy" in error.suggestion
    assert isinstance(ask(executor, "answer").value, int)


def test_the_program_can_be_named_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executable: Callable[[str], Path]
) -> None:
    program = executable(
        "import json, sys; m = json.load(sys.stdin)['mark']; "
        "print(f'<iac:{m}>' + json.dumps({'ok': True, 'value': sys.argv[1:]}) + f'</iac:{m}>')"
    )
    monkeypatch.setenv("IAC_OSASCRIPT", str(program))
    answer = Executor().execute(READ, app="Diary", command="t")
    assert answer.value == ["-l", "JavaScript", "-e", load_harness()]


@pytest.fixture
def executable(tmp_path: Path) -> Callable[[str], Path]:
    def make(code: str) -> Path:
        path = tmp_path / "osascript"
        path.write_text(f"#!{sys.executable}\n{code}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    return make


def ask(executor: Executor, command: str, timeout: float | None = None, **more: Any) -> AppAnswer:
    event = request(command, **more)
    return executor.execute(event, app="Diary", command="diary_get", timeout=timeout)


def fails(executor: Executor, command: str, **more: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        ask(executor, command, **more)
    return caught.value


@pytest.mark.process
@pytest.mark.parametrize("workers", [True, False])
@pytest.mark.parametrize(("number", "writes", "sent"), [
    (-609, False, 2), (-10000, False, 2), (-609, True, 1), (-10000, True, 1), (-1728, False, 1),
    (-1743, False, 1), (-1712, False, 1),
])  # fmt: skip
def test_only_a_read_is_sent_again_once_and_only_where_the_table_allows_it(
    osascript: Scripted, tmp_path: Path, number: int, writes: bool, sent: int, workers: bool
) -> None:
    log = tmp_path / "log"
    executor = osascript.executor(workers=workers)
    error = fails(executor, f"error {number} 99 {log}", writes=writes)
    assert error.number == number
    assert log.read_text().split() == ["command"] * sent
    if sent == 2:
        log.unlink()
        assert isinstance(ask(executor, f"error {number} 1 {log}").value, int)


@pytest.mark.process
def test_an_app_that_quit_before_the_event_is_launched_and_asked_again(
    osascript: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, launched = tmp_path / "log", tmp_path / "launched"
    monkeypatch.setenv("SCRIPTED_LAUNCHED", str(launched))
    executor = osascript.executor()
    assert isinstance(ask(executor, f"error -600 1 {log}").value, int)
    assert launched.read_text() == "launch\n"
    log.unlink()
    # Where reading may not start the app, it is not launched behind the user's back.
    error = fails(executor, f"error -600 1 {log}", may_launch=False)
    assert (error.type, launched.read_text()) == ("APP_NOT_RUNNING", "launch\n")
    log.unlink()
    assert fails(executor, f"error -600 1 {log}", writes=True).type == "APP_NOT_RUNNING"
    assert launched.read_text() == "launch\n"


@pytest.mark.process
def test_calls_to_an_app_take_turns_and_four_apps_run_at_once(
    osascript: Scripted, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    apps = [f"com.example.{name}" for name in "ABCDEF"] * 2
    executors = osascript.executor(), osascript.executor()
    with ThreadPoolExecutor(12) as pool:
        calls = [
            pool.submit(ask, executors[number % 2], f"log {log} 0.1", app=app)
            for number, app in enumerate(apps)
        ]
        for call in calls:
            call.result()
    running: list[str] = []
    most = 0
    for line in log.read_text().split():
        if line[0] == "+":
            assert line[1:] not in running
            running.append(line[1:])
        else:
            running.remove(line[1:])
        most = max(most, len(running))
    assert 1 < most <= 4


@pytest.mark.process
def test_who_gets_no_turn_is_told_that_nothing_was_sent(osascript: Scripted) -> None:
    executor = osascript.executor(waiting=1)
    cancel = Cancellation()
    hanging = request("hang")
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(executor.execute, hanging, app="Diary", command="t", cancel=cancel)
        assert until(lambda: len(osascript.processes()) == 1)
        with pytest.raises(ToolError, match=r"busy with other calls for 0\.2 s") as caught:
            executor.execute(request("answer"), app="Diary", command="t", timeout=0.2)
        assert caught.value.retryable
        assert "Nothing was sent" in caught.value.suggestion

        waiting = Cancellation()
        second = pool.submit(executor.execute, hanging, app="D", command="t", cancel=waiting)
        assert until(lambda: executor._locks is not None and executor._locks._waiting.total() == 1)
        error = fails(executor, "answer")
        assert (error.type, error.message) == ("BUSY", "Too many calls are waiting.")
        assert isinstance(ask(executor, "answer", app="com.example.Other").value, int)

        waiting.cancel()
        with pytest.raises(ToolError, match="cancelled before it was sent"):
            second.result(20)
        cancel.cancel()
        with pytest.raises(ToolError, match="was cancelled"):
            first.result(20)
    executor.close()
    assert osascript.nothing_is_left()


@pytest.mark.process
@pytest.mark.parametrize("workers", [True, False])
def test_a_cancelled_write_has_an_unknown_outcome(osascript: Scripted, workers: bool) -> None:
    executor, cancel = osascript.executor(workers=workers), Cancellation()
    threading.Timer(0.4, cancel.cancel).start()
    with pytest.raises(ToolError, match="unknown whether the change happened") as caught:
        executor.execute(
            request("hang forks", writes=True), app="Diary", command="t", cancel=cancel
        )
    assert (caught.value.type, caught.value.retryable) == ("USER_CANCELLED", False)
    assert osascript.nothing_is_left()


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize("way", ["timeout", "cancel"])
@pytest.mark.parametrize("workers", [True, False])
def test_after_many_ends_nothing_is_left(osascript: Scripted, way: str, workers: bool) -> None:
    executor = osascript.executor(workers=workers, grace=0.02)
    before = end_many(executor, way, 2)
    # The first ones may still have had one that was about to be closed.
    assert end_many(executor, way, 12) <= before
    assert osascript.nothing_is_left(1)
    executor.close()


HOSTILE = {
    "O02": ("flood 2", "TIMEOUT"),
    "O03": (r'raw "{\"ok\": true, \"mark\": \"MARK\", \"value\": \"\u00ff\u00fe\u0080\"}"', ""),
    "O04": ("echo", ""), "O05": ("deep", "EXECUTION_ERROR"),
    "O06": ('raw "POLLUTION\\n{}"', "EXECUTION_ERROR"), "O07": ("words -1743", "PERMISSION_DENIED"),
    "O09": ("hang stubborn", "TIMEOUT"), "O10": ("hang stubborn forks", "TIMEOUT"),
    "O11": ("hang setsid", "TIMEOUT"),
}  # fmt: skip


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize("workers", [True, False])
def test_every_hostile_output_ends_in_its_safe_outcome(
    osascript: Scripted, corpus: Path, workers: bool
) -> None:
    lines = (corpus / "hostile-inputs.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    mine = {row[0] for row in rows if row[1] == "osascript-output"} & HOSTILE.keys()
    assert mine >= {"O02", "O03", "O04", "O05", "O06", "O07", "O09", "O11"}
    executor = osascript.executor(workers=workers, grace=0.05)
    for ident in sorted(mine):
        command, type_ = HOSTILE[ident]
        if type_:
            seconds = 0.4 if type_ == "TIMEOUT" else None
            error = fails(executor, command, writes=True, timeout=seconds)
            assert error.type == type_, ident
            assert not error.retryable, ident
            assert "\n" not in str(error), ident
            if ident == "O06":
                assert "diary_get" in error.message
            if type_ == "TIMEOUT":
                assert "unknown whether the change happened" in error.suggestion, ident
        elif ident == "O03":
            answer = ask(executor, command)
            assert answer.value == "\ufffd\ufffd\ufffd"
            assert "not text" in " ".join(answer.notes)
        else:
            assert ask(executor, command, direct="\ud800").value == "\ud800"
        assert isinstance(ask(executor, "answer").value, int), ident
    executor.close()
    assert osascript.nothing_is_left()


@given(st.text(max_size=200))
def test_whatever_is_answered_is_a_result_or_one_line(body: str) -> None:
    def runner(argv: object, stdin: bytes, timeout: float) -> Completed:
        mark = json.loads(stdin)["mark"]
        text = f"<iac:{mark}>{body}</iac:{mark}>"
        return Completed(text.encode("utf-8", "surrogatepass"), b"", 0)

    with contextlib.suppress(ToolError):
        Executor(runner).execute(READ, app="Diary", command="t")


def test_a_run_in_this_process_is_not_begun_once_cancelled() -> None:
    cancel = Cancellation()
    cancel.cancel()
    with pytest.raises(ToolError, match="cancelled"):
        Executor(lambda *_: Completed(b"", b"", 0)).execute(
            READ, app="Diary", command="t", cancel=cancel
        )


def test_an_app_that_is_not_running_is_named_with_the_way_to_start_it() -> None:
    def runner(argv: object, stdin: bytes, timeout: float) -> Completed:
        mark = json.loads(stdin)["mark"]
        body = json.dumps({"ok": False, "kind": "not-running", "mark": mark})
        return Completed(f"<iac:{mark}>{body}</iac:{mark}>".encode(), b"", 0)

    with pytest.raises(ToolError) as caught:
        Executor(runner).execute(READ, app="Diary", command="t")
    assert (caught.value.type, caught.value.retryable) == ("APP_NOT_RUNNING", True)
    assert "app_launch" in caught.value.suggestion


def test_a_wait_that_the_deadline_would_end_is_refused_before_it_is_sent() -> None:
    sent: list[object] = []

    def runner(argv: object, stdin: bytes, timeout: float) -> Completed:
        sent.append(argv)
        return Completed(b"", b"", 1)

    wait = Event("", "addition", "command", "sysodela", command="delay", direct=30)
    with pytest.raises(ToolError, match=r"at most 30 seconds, .* wait for 30\."):
        Executor(runner).execute(wait, app="Standard Additions", command="t")
    assert not sent
    with pytest.raises(ToolError):
        Executor(runner, timeout=31).execute(wait, app="Standard Additions", command="t")
    assert sent
