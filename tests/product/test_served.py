"""The product from outside: a real MCP client, the server in a process of its own."""

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from iac_runtime.tools.catalogue import Catalogue

pytestmark = pytest.mark.process

ROOT = Path(__file__).parent.parent.parent
TOOLS = ROOT / "generated" / "iac_tools"
# A tool that reads, and what to ask it, per committed app.
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "calendar": ("calendar_list_calendars", {}),
    "finder": ("finder_list_folder", {"folder": "~/Desktop"}),
    "google_chrome": ("google_chrome_get_url", {}), "mail": ("mail_count_unread", {}),
    "music": ("music_get_player_state", {}), "notes": ("notes_list_notes", {}),
    "numbers": ("numbers_list_documents", {}), "reminders": ("reminders_list_open", {}),
    "safari": ("safari_get_url", {}), "shortcuts": ("shortcuts_list_shortcuts", {}),
    "standard_additions": ("standard_additions_current_date", {}),
    "system_events": ("system_events_list_processes", {}),
    "terminal": ("terminal_get_contents", {}), "textedit": ("textedit_get_text", {}),
}  # fmt: skip


@asynccontextmanager
async def client(*options: str, mode: str = "auto") -> AsyncIterator[Client]:
    server = StdioServerParameters(
        command=str(Path(sys.executable).with_name("iac-mcp")),
        args=["serve", "--expose", "all", "--tools", str(TOOLS), "--simulate", *options],
    )
    async with Client(server, mode=mode) as connected:  # type: ignore[arg-type]
        yield connected


def test_each_committed_app_has_a_call_here() -> None:
    assert CALLS.keys() == Catalogue([TOOLS]).apps.keys()


@pytest.mark.sweep
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_tool_of_every_app_is_listed_and_answers(mode: str) -> None:
    async def session() -> None:
        async with client(mode=mode) as connected:
            listed = {tool.name for tool in (await connected.list_tools()).tools}
            assert listed >= Catalogue([TOOLS]).tools.keys()
            for name, arguments in CALLS.values():
                result = await connected.call_tool(name, arguments)
                assert not result.is_error, result.content
                assert result.structured_content, name

    anyio.run(session)


def test_what_one_tool_returns_the_next_one_takes() -> None:
    async def session() -> None:
        async with client("--allow", "MODIFY") as connected:
            made = await connected.call_tool("notes_make", {
                "element": "note", "properties": {"name": "Milk"}, "at": 'folders["Notes"]',
            })  # fmt: skip
            assert made.structured_content is not None, made.content
            target = made.structured_content["ref"]
            read = await connected.call_tool(
                "notes_get", {"target": target, "properties": ["name"]}
            )
            assert read.structured_content == {"name": "Milk"}

    anyio.run(session)


def test_read_only_hides_what_can_write_and_refuses_it() -> None:
    async def session() -> None:
        async with client("--read-only", "--allow", "DANGEROUS") as connected:
            listed = {tool.name for tool in (await connected.list_tools()).tools}
            assert "notes_list" in listed
            assert not listed & {"notes_set", "notes_make", "finder_delete"}
            result = await connected.call_tool("notes_make_note", {"name": "x"})
            assert result.is_error

    anyio.run(session)


def test_the_demo_plays_to_its_end() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "demo.py"), str(TOOLS)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "deleting is DANGEROUS" in done.stdout
    assert done.stderr == ""
