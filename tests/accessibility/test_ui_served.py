"""The tools through a real client of `iac-mcp serve`: what it is offered, and what it hears."""

import os
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
import ui_stack as stack
import warm
from mcp import Client, StdioServerParameters
from ui_calls import ROWS
from ui_user import User

from iac_runtime.tools.own import toolset_tools

pytestmark = pytest.mark.process

Talk = Callable[[Client], Awaitable[None]]


@pytest.fixture
def served(desk: stack.Desktop, tmp_path: Path) -> Callable[..., None]:
    """Hold a talk with a server of the accessibility tools on the desktop."""

    def held(talk: Talk, *options: str) -> None:
        command, *rest = warm.command(warm.IAC_MCP, "serve", "--toolset", "accessibility", *options)
        server = StdioServerParameters(
            command=command,
            args=rest,
            env={
                "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
                "IAC_DATA": str(tmp_path / "data"),
                "DBUS_SESSION_BUS_ADDRESS": desk.env["DBUS_SESSION_BUS_ADDRESS"],
                **{key: held for key, held in os.environ.items() if key.startswith("COVERAGE_")},
            },
        )

        async def main() -> None:
            with anyio.fail_after(60):
                async with Client(server) as client:
                    await talk(client)

        anyio.run(main)

    return held


def test_a_server_that_only_reads_offers_what_only_reads(served: Callable[..., None]) -> None:
    writing = {tool.name for tool in toolset_tools(("accessibility",)) if tool.ceiling != "SAFE"}
    assert {"perform_action", "press_keys", "fill_form", "drag"} <= writing

    async def talk(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names & set(ROWS) == set(ROWS) - writing

    served(talk, "--read-only")


def test_a_watch_tells_of_its_progress_while_it_runs(
    served: Callable[..., None], start: Callable[..., User]
) -> None:
    user = start("gtk", "--ticks", "200")
    heard: list[tuple[float, str]] = []
    seen: list[Any] = []

    async def note(progress: float, _total: float | None, message: str | None) -> None:
        heard.append((progress, message or ""))

    async def talk(client: Client) -> None:
        call = {"app": user.app.pid, "duration": 4}
        result = await client.call_tool("observe_changes", call, progress_callback=note)
        # What was heard came before the answer.
        seen.append((len(heard), result.structured_content))

    served(talk)
    ((before, answer),) = seen
    assert before >= 1
    assert answer["result_count"] > 0
    assert heard[0][0] >= 3
    said = r"observe_changes: running for \d+ seconds; [1-9]\d* changes so far"
    assert re.fullmatch(said, heard[0][1])
