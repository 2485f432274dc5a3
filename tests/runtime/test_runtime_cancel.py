"""What a client ends, ends: a cancelled call's process and thread, a closed server's workers."""

import os
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from scripted import Scripted, until
from served import server_of

from iac_runtime.gate.gate import Gate
from iac_runtime.tools.catalogue import Catalogue

pytestmark = pytest.mark.process


def ask(target: Any, question: Callable[[Client], Awaitable[None]]) -> None:
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

    ask(server_of(gate), question)
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

    ask(server, question)
    assert until(lambda: not osascript.processes(), 20)
