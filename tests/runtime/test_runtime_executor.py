"""Failures of osascript itself, and the table of numbers."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from iac_runtime.errors import ToolError
from iac_runtime.execution.appleerrors import KNOWN, describe
from iac_runtime.execution.executor import HARNESS, Executor
from iac_runtime.execution.process import Completed
from iac_runtime.request import Event

READ = Event("com.example.Diary", "application", "running", "", writes=False)
WRITE = Event("com.example.Diary", "application", "quit", "aevtquit")


def failing(done: Completed, event: Event = READ) -> ToolError:
    with pytest.raises(ToolError) as caught:
        Executor(lambda argv, stdin, timeout: done).execute(event, app="Diary", tool="t")
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
            Completed(b"", "execution error: Application can’t be found. (-2700)".encode(), 1),
            READ,
            "APP_NOT_FOUND",
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
    assert "not known" in error.suggestion


def test_what_else_is_printed_does_not_disturb_the_answer() -> None:
    def runner(argv: object, stdin: bytes, timeout: float) -> Completed:
        mark = json.loads(stdin)["mark"]
        answer = '{"ok": true, "value": "</iac:x>"}'
        return Completed(f"noise\n<iac:{mark}>{answer}</iac:{mark}>\nmore".encode(), b"log", 0)

    assert Executor(runner).execute(READ, app="Diary", tool="t").value == "</iac:x>"


@pytest.mark.parametrize("body", ["{", "[]", "\udcff"])
def test_a_damaged_answer_is_an_error_not_a_crash(body: str) -> None:
    def runner(argv: object, stdin: bytes, timeout: float) -> Completed:
        mark = json.loads(stdin)["mark"]
        text = f"<iac:{mark}>{body}</iac:{mark}>".encode("utf-8", "surrogateescape")
        return Completed(text, b"", 0)

    with pytest.raises(ToolError, match="no answer"):
        Executor(runner).execute(READ, app="Diary", tool="t")


def test_a_missing_osascript_means_this_is_no_mac(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(ToolError, match=r"simulate=True") as caught:
        Executor(program="/nowhere/osascript").execute(READ, app="Diary", tool="t")
    assert caught.value.type == "UNAVAILABLE"


def test_the_program_can_be_named_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executable: Callable[[str], Path]
) -> None:
    program = executable(
        "import json, sys; m = json.load(sys.stdin)['mark']; "
        "print(f'<iac:{m}>' + json.dumps({'ok': True, 'value': sys.argv[1:]}) + f'</iac:{m}>')"
    )
    monkeypatch.setenv("IAC_OSASCRIPT", str(program))
    answer = Executor().execute(READ, app="Diary", tool="t")
    assert answer.value == ["-l", "JavaScript", str(HARNESS)]


@pytest.fixture
def executable(tmp_path: Path) -> Callable[[str], Path]:
    def make(code: str) -> Path:
        path = tmp_path / "osascript"
        path.write_text(f"#!{sys.executable}\n{code}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    return make


@pytest.mark.parametrize("number", sorted(KNOWN))
def test_every_known_number_says_who_and_is_never_retried_after_a_write(number: int) -> None:
    error = describe(number, "text", app="Diary", tool="t", writes=True)
    assert "{app}" not in error.message
    assert error.number == number
    if number not in (-600, -10810):
        assert not error.retryable


def test_words_decide_for_javascript_errors_only() -> None:
    gone = describe(-2700, "Error: Application can't be found.", app="X", tool="t", writes=False)
    assert gone.type == "APP_NOT_FOUND"
    unloaded = describe(None, "TypeError: x.y is not a function.", app="X", tool="t", writes=False)
    assert unloaded.type == "NOT_SUPPORTED"
    plain = describe(None, "boom", app="X", tool="t", writes=False)
    assert (plain.type, plain.message) == ("EXECUTION_ERROR", "X failed: boom.")
    other = describe(8800, "General error", app="X", tool="t", writes=False)
    assert (other.type, other.message) == ("UNKNOWN", "X failed: General error (8800).")


def test_the_page_of_errors_has_a_row_for_every_type() -> None:
    from typing import get_args

    from iac_runtime.errors import ErrorType

    page = Path(__file__).parents[2] / "docs" / "errors.md"
    text = page.read_text(encoding="utf-8")
    for name in get_args(ErrorType):
        assert f"| {name} |" in text
