"""Scripts through real MCP clients: what one session learned, the next is offered."""

import json
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
import warm
from mcp import Client, StdioServerParameters
from simulated import TOOLS

INTENT = "count my notes"
BROKEN = "Application('com.apple.Notes').notes.byName('nothing').body()"
MENDED = "Application('com.apple.Notes').notes.length"

pytestmark = pytest.mark.process


async def allow(_context: Any, params: Any) -> types.ElicitResult:
    """Say yes, as a person who has read the question."""
    assert "execute_applescript" in params.message
    return types.ElicitResult(action="accept", content={"answer": "Allow once"})


def session(data: Path, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """Return the answers of a new server to the calls of a new client."""
    options = ("--simulate", "--toolset", "applescript", "--tools", str(TOOLS))
    command, *rest = warm.command(warm.IAC_MCP, "serve", *options)
    server = StdioServerParameters(
        command=command,
        args=rest,
        env={"IAC_DATA": str(data)},
    )

    async def main() -> list[Any]:
        with anyio.fail_after(60):
            async with Client(server, elicitation_callback=allow) as client:
                await client.list_tools()
                return [await client.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(main)


def script(text: str) -> tuple[str, dict[str, Any]]:
    return "execute_applescript", {"script": text, "language": "javascript", "intent": INTENT}


def test_a_script_fails_is_explained_works_and_is_offered_to_the_next_client(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    failed, why, worked = session(
        data,
        script(BROKEN),
        ("analyze_failure", {"number": -1728, "script": BROKEN, "language": "javascript"}),
        script(MENDED),
    )
    assert failed.is_error
    told = json.loads(failed.content[0].text)
    assert told["error"]["number"] == -1728
    assert told["error"]["fixes"]
    assert why.structured_content["data"]["fixes"]
    assert worked.structured_content["success"]
    assert worked.structured_content["data"]["result"] == 3

    offered, pattern = session(
        data,
        ("get_smart_suggestion", {"intent": "how many notes do I have"}),
        ("get_workflow_pattern", {"intent": "how many notes do I have"}),
    )
    first = pattern.structured_content["data"]["patterns"][0]
    assert first["script"] == MENDED
    kinds = [row["kind"] for row in offered.structured_content["data"]["suggestions"]]
    assert "pattern" in kinds
