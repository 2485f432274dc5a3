"""Workers: one osascript for call after call, and what makes it be replaced or ended."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from scripted import APP, Scripted, descriptors, request, until
from served import server_of

from iac_base.errors import Cancellation, ToolError
from iac_runtime.execution.executor import Executor, load_harness
from iac_runtime.gate.gate import Gate
from iac_runtime.tools.catalogue import Catalogue

pytestmark = pytest.mark.process


def ask(
    executor: Executor,
    command: str,
    app: str = APP,
    timeout: float | None = None,
    **more: Any,
) -> object:
    event = request(command, app=app, **more)
    return executor.execute(event, app="Diary", command="t", timeout=timeout).value


def fails(executor: Executor, command: str, **more: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        ask(executor, command, **more)
    return caught.value


def test_one_process_serves_call_after_call_and_each_app_has_its_own(osascript: Scripted) -> None:
    executor = osascript.executor()
    first = ask(executor, "answer")
    assert ask(executor, "answer") == first
    assert ask(executor, "answer", app="com.example.Other") != first
    assert ask(executor, "answer") == first
    assert len(osascript.processes()) == 2
    executor.close()
    assert osascript.nothing_is_left()


def test_it_gets_no_argument_but_its_descriptors(osascript: Scripted) -> None:
    arguments = ask(osascript.executor(), "arguments")
    assert isinstance(arguments, list)
    assert arguments[:2] == ["-l", "JavaScript"]
    assert arguments[2:] == ["-e", load_harness(), "3", "4"]


def test_any_text_goes_there_and_back(osascript: Scripted) -> None:
    executor = osascript.executor()
    for text in ("a\nb\r\u2028\u2029\x00", "ÄÖ😀", "\ud800", "x" * 300_000, '</iac:1>"\\'):
        assert ask(executor, "echo", direct=text) == text


@pytest.mark.parametrize("workers", [True, False])
def test_output_of_its_own_does_not_disturb_it(osascript: Scripted, workers: bool) -> None:
    executor = osascript.executor(workers=workers)
    assert isinstance(ask(executor, "noisy 2"), int)
    assert isinstance(ask(executor, "noisy 2"), int)
    assert len(str(ask(executor, "huge 3"))) == 3 << 20


def test_it_is_replaced_after_so_many_calls(osascript: Scripted) -> None:
    executor = osascript.executor(calls=3)
    pids = [ask(executor, "answer") for _ in range(7)]
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [3, 3, 1]
    assert until(lambda: len(osascript.processes()) == 1)


def test_it_is_replaced_when_it_holds_too_much(osascript: Scripted) -> None:
    executor = osascript.executor(memory=1)
    pids = [ask(executor, "answer") for _ in range(51)]
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [25, 25, 1]
    executor = osascript.executor(memory=1 << 40)
    assert len({ask(executor, "answer") for _ in range(51)}) == 1


def test_where_a_script_can_free_nothing_it_is_a_worker_all_the_same(
    osascript: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_START", "no pool")
    executor = osascript.executor()
    words = ask(executor, "arguments")
    assert isinstance(words, list)
    assert words[4:] == ["3", "4", "unfreed"]
    assert ask(executor, "answer") == ask(executor, "answer")
    assert ask(executor, "answer", app="com.example.Other") != ask(executor, "answer")


def test_it_is_ended_when_idle_and_the_one_unused_for_longest_goes_first(
    osascript: Scripted,
) -> None:
    executor = osascript.executor(idle=0.3)
    ask(executor, "answer")
    ask(executor, "answer", app="com.example.Other")
    assert osascript.nothing_is_left()
    executor = osascript.executor(kept=2)
    first = ask(executor, "answer", app="a")
    second = ask(executor, "answer", app="b")
    ask(executor, "answer", app="c")
    assert until(lambda: len(osascript.processes()) == 2)
    assert ask(executor, "answer", app="b") == second
    assert ask(executor, "answer", app="a") != first


@pytest.mark.parametrize("number", [-600, -609])
def test_it_is_replaced_when_its_connection_to_the_app_is_gone(
    osascript: Scripted, number: int
) -> None:
    executor = osascript.executor()
    first = ask(executor, "answer")
    assert fails(executor, f"error {number}", writes=True).number == number
    assert ask(executor, "answer") != first
    second = ask(executor, "answer")
    assert fails(executor, "error -1728").number == -1728
    assert ask(executor, "answer") == second


@pytest.mark.sweep
@pytest.mark.parametrize(("command", "type_", "words"), [
    ("die 3", "EXECUTION_ERROR", "status 3"), ("die signal11", "EXECUTION_ERROR", "signal 11"),
    ("die 1", "PERMISSION_DENIED", "without a message"), ("orphan", "EXECUTION_ERROR", "status 3"),
    ("words -1743", "PERMISSION_DENIED", "Diary"),
    ("deep", "EXECUTION_ERROR", "no readable answer to t"),
    ("digits", "EXECUTION_ERROR", "no readable answer to t"),
    ('raw "POLLUTION"', "EXECUTION_ERROR", "no readable answer to t"),
    ('raw "undefined"', "EXECUTION_ERROR", "no readable answer to t"),
    ('raw "{\\"mark\\": \\"MARK\\", \\"ok\\": NaN}"', "EXECUTION_ERROR", "no readable answer"),
    ("huge 13", "EXECUTION_ERROR", "too large"), ("flood 4", "EXECUTION_ERROR", "too large"),
    ("hang", "TIMEOUT", "0.4 seconds"), ("flood 2", "TIMEOUT", "0.4 seconds"),
])  # fmt: skip
@pytest.mark.parametrize("workers", [True, False])
def test_the_next_call_is_well_whatever_became_of_the_last(
    osascript: Scripted, command: str, type_: str, words: str, workers: bool
) -> None:
    if command == "flood 4" and not workers:
        pytest.skip("a process of its own has no descriptor 4")
    executor = osascript.executor(workers=workers, answer=12 << 20, grace=0.05)
    seconds = 0.4 if type_ == "TIMEOUT" else None
    error = fails(executor, command, writes=True, timeout=seconds)
    assert error.type == type_
    assert words in str(error)
    assert not error.retryable
    assert isinstance(ask(executor, "answer"), int)
    executor.close()
    assert osascript.nothing_is_left()


def test_an_answer_to_an_earlier_request_is_never_that_to_a_later_one(
    osascript: Scripted,
) -> None:
    executor = osascript.executor()
    first = ask(executor, "twice")
    # The second answer comes while the next call waits, or before: it is dropped either way.
    second = ask(executor, "sleep 0.2")
    assert isinstance(second, int)
    assert ask(executor, "answer") != first


def test_one_that_died_while_it_waited_is_not_noticed(osascript: Scripted) -> None:
    executor = osascript.executor()
    first = ask(executor, "answer")
    assert isinstance(first, int)
    os.kill(first, 9)
    assert until(lambda: all(p.status() == "zombie" for p in osascript.processes()))
    assert ask(executor, "answer", writes=True) != first


@pytest.mark.parametrize("start", ["refuses", "deaf"])
def test_where_no_worker_can_be_had_each_call_is_a_process(
    osascript: Scripted,
    start: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("SCRIPTED_START", start)
    executor = osascript.executor(hello=0.5)
    with caplog.at_level(logging.WARNING):
        assert ask(executor, "answer") != ask(executor, "answer")
    assert [record.getMessage() for record in caplog.records] == [
        f"no worker is available for {APP}: each call starts a separate process"
    ]
    assert osascript.nothing_is_left()


def test_a_worker_that_was_slow_to_begin_is_tried_again(
    osascript: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = osascript.executor(hello=0.5, pause=0)
    monkeypatch.setenv("SCRIPTED_START", "deaf")
    ask(executor, "answer")
    assert executor.worker_states() == {APP: "one process a call"}
    monkeypatch.delenv("SCRIPTED_START")
    assert ask(executor, "answer") == ask(executor, "answer")
    assert executor.worker_states() == {APP: "idle"}


@pytest.mark.parametrize("start", ["deaf", "hangs"])
def test_the_deadline_holds_for_the_start_too(
    osascript: Scripted, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_START", start)
    assert fails(osascript.executor(0.4), "answer", writes=True).type == "TIMEOUT"
    executor, cancel = osascript.executor(), Cancellation()
    threading.Timer(0.3, cancel.cancel).start()
    with pytest.raises(ToolError, match="cancelled"):
        executor.execute(request("answer"), app="Diary", command="t", cancel=cancel)
    assert osascript.nothing_is_left()


def test_closing_ends_the_calls_under_way_and_takes_no_more(osascript: Scripted) -> None:
    executor = osascript.executor()
    ask(executor, "answer", app="idle")
    with ThreadPoolExecutor(3) as pool:
        hanging = [
            pool.submit(fails, executor, "hang stubborn forks setsid", app=app)
            for app in ("a", "b", "b")
        ]
        assert until(lambda: len(osascript.processes()) >= 7)
        executor.close()
        assert {future.result().type for future in hanging} == {"USER_CANCELLED"}
    assert osascript.nothing_is_left()
    assert fails(executor, "answer").type == "UNAVAILABLE"
    executor.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_workers_end_with_the_executor_and_with_the_program(osascript: Scripted) -> None:
    executor = osascript.executor()
    ask(executor, "answer")
    del executor
    assert osascript.nothing_is_left()

    executor = osascript.executor()
    ask(executor, "answer")
    kept = osascript.processes()
    if not (copy := os.fork()):
        # A forked copy leaves the workers of the original alone, at its end too.
        executor.close()
        os._exit(0)
    os.waitpid(copy, 0)
    assert osascript.processes() == kept
    assert isinstance(ask(executor, "answer"), int)


@pytest.mark.parametrize("start", ["", "hangs"])
@pytest.mark.parametrize("workers", [True, False])
def test_an_interrupt_by_the_user_ends_the_process(
    osascript: Scripted, monkeypatch: pytest.MonkeyPatch, start: str, workers: bool
) -> None:
    monkeypatch.setenv("SCRIPTED_START", start)
    executor = osascript.executor(workers=workers)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.4)
        with pytest.raises(KeyboardInterrupt):
            ask(executor, "hang stubborn forks setsid")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert osascript.nothing_is_left()
    monkeypatch.setenv("SCRIPTED_START", "")
    assert isinstance(ask(executor, "answer"), int)


def test_no_descriptor_is_left_open_and_no_thread(osascript: Scripted) -> None:
    fails(osascript.executor(), "die 3")
    before, threads = descriptors(), threading.active_count()
    executor = osascript.executor(0.3, calls=3)
    for command in ("answer", "answer", "die 3", "hang", "answer", "answer", "answer") * 3:
        try:
            ask(executor, command)
        except ToolError:
            continue
    executor.close()
    assert descriptors() == before
    assert threading.active_count() == threads


def ask_as_client(target: Any, question: Callable[[Client], Awaitable[None]]) -> None:
    async def main() -> None:
        with anyio.fail_after(60):
            async with Client(target) as client:
                await question(client)

    anyio.run(main)


async def running(client: Client) -> Any:
    return await client.call_tool("app_running", {"app": "Diary"})


async def cancelled_once(client: Client, begun: Callable[[], bool]) -> None:
    """Begin a call, and cancel it when `begun` says that it is under way."""
    async with anyio.create_task_group() as group:
        group.start_soon(running, client)
        while not begun():
            await anyio.sleep(0.01)
        group.cancel_scope.cancel()


def test_a_cancelled_call_is_ended_and_the_app_is_free_again(
    osascript: Scripted, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_START", "hangs")
    gate = Gate(catalogue, osascript.executor(timeout=1000))
    names: set[str] = set()

    async def question(client: Client) -> None:
        await cancelled_once(client, lambda: bool(osascript.processes()))
        while osascript.processes():
            await anyio.sleep(0.01)
        monkeypatch.setenv("SCRIPTED_START", "")
        answered = await running(client)
        assert answered.structured_content == {"result": True}
        # An error of the protocol is still one.
        with pytest.raises(MCPError, match="no tool"):
            await client.call_tool("diary_lst", {})
        names.update(thread.name for thread in threading.enumerate())

    ask_as_client(server_of(gate), question)
    gate.close()
    assert osascript.nothing_is_left()
    assert sum("AnyIO" in name for name in names) <= 2


@pytest.mark.parametrize("start", ["", "hangs"])
def test_a_closed_server_leaves_no_process(
    osascript: Scripted, output: Path, tmp_path: Path, start: str
) -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "iac_mcp", "serve", "--tools", str(output)],
        env={
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "IAC_OSASCRIPT": str(osascript.program), "IAC_DATA": str(tmp_path / "data"),
            "SCRIPTED_START": start, "SCRIPTED_RUN": osascript.run,
        },
    )  # fmt: skip

    async def question(client: Client) -> None:
        if start:
            # The server itself carries the mark too.
            await cancelled_once(client, lambda: len(osascript.processes()) > 1)
        else:
            assert (await running(client)).structured_content == {"result": True}

    ask_as_client(server, question)
    assert until(lambda: not osascript.processes(), 20)
