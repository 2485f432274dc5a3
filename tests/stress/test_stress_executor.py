"""Thousands of calls that hang and must be ended, and of calls that must all be answered."""

import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from mcp import Client, StdioServerParameters
from scripted import Scripted, end_many, until

from iac_runtime.execution.executor import Executor
from iac_runtime.execution.locks import ExecutionLimits
from iac_runtime.language.steps import Event

pytestmark = [pytest.mark.stress, pytest.mark.process, pytest.mark.timeout(3600)]

ENDS = 1000
CALLS = 10_000
OSASCRIPT = str(Path(sys.executable).with_name("iac-osascript"))


@pytest.mark.parametrize("way", ["timeout", "cancel"])
@pytest.mark.parametrize("workers", [True, False])
def test_a_thousand_ends_leave_nothing(osascript: Scripted, way: str, workers: bool) -> None:
    executor = osascript.executor(workers=workers, grace=0.02)
    before = end_many(executor, way, 10)
    assert end_many(executor, way, ENDS // 2) == before
    assert osascript.nothing_is_left(1)
    executor.close()


def test_a_thousand_parallel_calls_are_each_answered_once(osascript: Scripted) -> None:
    executor = osascript.executor(waiting=1000)

    def call(number: int) -> Any:
        event = Event(
            f"com.example.{number % 7}", "application", "command", "", "echo", direct=number
        )
        return executor.execute(event, app="Diary", command="t").value

    with ThreadPoolExecutor(64) as pool:
        assert list(pool.map(call, range(1000))) == list(range(1000))
    executor.close()
    assert osascript.nothing_is_left(1)


def test_ten_thousand_calls_of_a_worker_leave_memory_flat(tmp_path: Path) -> None:
    """Real workers on the stand-in, one after the other of the life that is their default."""
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    executor = Executor(program=OSASCRIPT, limits=ExecutionLimits(), state=state)
    event = Event("com.apple.mail", "application", "running", "", writes=False)
    mine = psutil.Process()
    answers: Counter[Any] = Counter()
    warm = 0
    for number in range(CALLS):
        answers[executor.execute(event, app="Mail", command="t").value] += 1
        if number == CALLS // 10:
            warm = mine.memory_info().rss
    grown = mine.memory_info().rss - warm
    assert answers == {True: CALLS}
    assert grown < 2_000_000
    executor.close()
    assert until(lambda: not mine.children(recursive=True))


def test_ten_thousand_calls_of_a_server_are_answered_once_and_leave_memory_flat(
    tmp_path: Path, generated: Path
) -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "iac_mcp", "serve", "--tools", str(generated)],
        env={
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "PATH": os.environ["PATH"],
            "IAC_OSASCRIPT": OSASCRIPT,
            "IAC_DATA": str(tmp_path / "data"),
        },
    )

    async def main() -> None:
        async with Client(server) as client:
            process = next(
                child
                for child in psutil.Process().children(recursive=True)
                if "iac_mcp.cli.main" in " ".join(child.cmdline())
            )
            rss: list[int] = []
            for number in range(CALLS):
                result = await client.call_tool("app_running", {"app": "Mail"})
                assert result.structured_content == {"result": True}
                if number % (CALLS // 10) == 0:
                    rss.append(process.memory_info().rss)
            rss.append(process.memory_info().rss)
            assert rss[-1] - rss[2] < 2_000_000, rss

    anyio.run(main)
    assert until(lambda: not psutil.Process().children(recursive=True))
