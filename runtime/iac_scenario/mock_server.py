"""The mock tools of a scenario as a server of MCP, over stdio or Streamable HTTP."""

import json
import os
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import anyio

from iac_scenario.conversation import failure_text
from iac_scenario.matching import matches_placeholders, schema_validator, schema_violation
from iac_scenario.model import PlayError, ScenarioScript, ToolCall, ToolSetting, scenario_calls
from iac_scenario.results import NOT_GIVEN, CallResult, error_result, file_result

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

_PREFIX: Final = "mcp__"
_ANY: Final[Mapping[str, Any]] = {"type": "object"}


class MockTools:
    """What the tools of a scenario answer: calls with the same arguments one after another."""

    def __init__(self, scenario: ScenarioScript, server: str | None) -> None:
        self.settings: dict[str, ToolSetting] = {}
        self._calls: dict[str, list[ToolCall]] = {}
        calls = [call for call in scenario_calls(scenario) if not call.request]
        for name in dict.fromkeys((*scenario.execution.tools, *(call.tool for call in calls))):
            if (own := _own_tool_name(name, server)) is not None:
                self.settings[own] = scenario.execution.tools.get(name, ToolSetting())
                self._calls[own] = [call for call in calls if call.tool == name]

    def answer_call(self, tool: str, arguments: Mapping[str, Any]) -> CallResult:
        """Return what the file gives; the last of several equal calls goes on answering."""
        setting = self.settings.get(tool)
        if setting is None:
            return error_result(f"{tool}: the scenario has no tool with that name.")
        if setting.answers_calls:
            return file_result(setting)
        calls = self._calls[tool]
        fitting = [call for call in calls if matches_placeholders(call.input, arguments)]
        if not fitting:
            given = json.dumps(arguments, ensure_ascii=False)
            return error_result(f"{tool}: the scenario has no call with the arguments {given}.")
        call = fitting[0]
        if len(fitting) > 1:
            self._calls[tool].remove(call)
        if call.failure is not None:
            return error_result(failure_text(call.failure))
        return file_result(call)


def _own_tool_name(name: str, server: str | None) -> str | None:
    """Return a tool's name on the server, or None for one of another server or of a client."""
    if not name.startswith(_PREFIX):
        return name if server is None and name[:1].islower() else None
    of, _, own = name.removeprefix(_PREFIX).partition("__")
    return own if server in (None, of) else None


def build_mock_server(scenario: ScenarioScript, name: str | None) -> "Server[Any]":
    """Return a server with the mock tools of a scenario, or with those that clients call NAME's."""
    import mcp_types as types
    from mcp.server.lowlevel import Server

    tools = MockTools(scenario, name)

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        rows = (
            {"name": name, "description": one.description, "inputSchema": one.input_schema or _ANY}
            for name, one in tools.settings.items()
        )
        return types.ListToolsResult.model_validate({"tools": [*rows]})

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = params.arguments or {}
        schema = tools.settings.get(params.name, ToolSetting()).input_schema
        validator = schema_validator(json.dumps(_ANY if schema is None else schema))
        if violation := schema_violation(validator, arguments):
            result = error_result(f"{params.name}: {violation}")
        else:
            result = tools.answer_call(params.name, arguments)
        answer: dict[str, Any] = {"content": list(result.content), "isError": result.is_error}
        if result.structured is not NOT_GIVEN:
            answer["structuredContent"] = result.structured
        return types.CallToolResult.model_validate(answer)

    return Server(
        name or scenario.name, version="1", on_list_tools=list_tools, on_call_tool=call_tool
    )


def serve_mock_tools(scenario: ScenarioScript, name: str | None, port: int | None) -> None:
    """Serve until the client is gone, on 127.0.0.1 where a port is given."""
    server = build_mock_server(scenario, name)
    if port is None:
        anyio.run(_serve_stdio, server)
    else:
        anyio.run(_serve_http, server, port)


async def _serve_stdio(server: "Server[Any]") -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


async def _serve_http(server: "Server[Any]", port: int) -> None:
    import uvicorn

    try:
        listener = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise PlayError(f"--port {port}: {os.strerror(error.errno or 0)}.") from None
    config = uvicorn.Config(server.streamable_http_app(), log_level="warning")
    await uvicorn.Server(config).serve([listener])
