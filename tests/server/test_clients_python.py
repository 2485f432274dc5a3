"""The SDK's own client, in both eras, over stdio: lists, calls, is refused, and asks a person."""

import json
import os
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
import warm
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

pytestmark = pytest.mark.process

MODES = ("auto", "legacy")
SEND = {"target": "messages.byId(1)"}


def server(data: Path, *options: str) -> StdioServerParameters:
    env = {key: value for key, value in os.environ.items() if not key.startswith("IAC_")}
    command, *rest = warm.command(warm.IAC_MCP, "serve", "--simulate", *options)
    return StdioServerParameters(
        command=command,
        args=rest,
        env={**env, "IAC_DATA": str(data)},
    )


def facts(result: types.CallToolResult) -> Any:
    """Return the JSON in the text of a result."""
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return json.loads(content.text)


@pytest.mark.sweep
@pytest.mark.parametrize("mode", MODES)
def test_a_client_lists_and_calls(tmp_path: Path, mode: Any) -> None:
    async def talk() -> None:
        async with Client(server(tmp_path, "--expose", "all"), mode=mode) as client:
            listed = await client.list_tools()
            assert listed.next_cursor is None
            assert {"mail_count", "list_apps"} <= {tool.name for tool in listed.tools}
            called = await client.call_tool("mail_count", {"element": "mailbox"})
            assert called.structured_content == {"result": 2}
            assert facts(called) == called.structured_content
            wrong = await client.call_tool("mail_count", {"element": "mailbx"})
            assert wrong.is_error
            assert wrong.structured_content is None
            assert facts(wrong)["type"] == "INVALID_PARAMETER"
            with pytest.raises(MCPError) as caught:
                await client.call_tool("mail_nothing", {})
            assert caught.value.error.code == types.INVALID_PARAMS

    anyio.run(talk)


@pytest.mark.sweep
@pytest.mark.parametrize("mode", MODES)
def test_the_first_surface_leads_to_a_tool_that_is_not_listed(tmp_path: Path, mode: Any) -> None:
    async def talk() -> None:
        async with Client(server(tmp_path), mode=mode) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert "find_tools" in names
            assert "mail_count" not in names
            found = await client.call_tool(
                "find_tools", {"query": "count mailboxes", "app": "mail"}
            )
            assert "mail_count" in {row["name"] for row in facts(found)["tools"]}
            inner = {"name": "mail_count", "arguments": {"element": "mailbox"}}
            called = await client.call_tool("read_tool", inner)
            assert called.structured_content == {"result": 2}

    anyio.run(talk)


@pytest.mark.sweep
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
def test_a_person_is_asked_in_the_way_of_the_era(tmp_path: Path, mode: Any, action: Any) -> None:
    asked: list[str] = []

    async def ask(_context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        schema = params.requested_schema
        content = {key: chosen(row) for key, row in schema["properties"].items()}
        return types.ElicitResult(action=action, content=content if action == "accept" else None)

    async def talk() -> types.CallToolResult:
        async with Client(server(tmp_path), mode=mode, elicitation_callback=ask) as client:
            return await client.call_tool("app_quit", {"app": "mail"})

    result = anyio.run(talk)
    assert len(asked) == 1
    assert "Mail" in asked[0]
    assert result.is_error == (action != "accept")


def chosen(row: dict[str, Any]) -> Any:
    """Return an answer that a property of the form allows, the one for yes where there is one."""
    if row["type"] == "boolean":
        return True
    choices = row.get("enum") or [part["const"] for part in row["oneOf"]]
    return next((choice for choice in choices if "once" in choice), choices[0])


@pytest.mark.sweep
@pytest.mark.parametrize("mode", MODES)
def test_a_client_that_cannot_ask_is_told_what_the_user_can_do(tmp_path: Path, mode: Any) -> None:
    async def talk() -> types.CallToolResult:
        async with Client(server(tmp_path), mode=mode) as client:
            return await client.call_tool("app_quit", {"app": "mail"})

    result = anyio.run(talk)
    assert result.is_error
    said = facts(result)
    assert said["requires_prompt"]
    assert said["level"] == "DANGEROUS"
    assert said["suggestion"]
