"""From a checked document to the model; nothing here can fail."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iac_scenario.model import (
    Elicited,
    Execution,
    Expectation,
    InjectedFailure,
    Permissions,
    PromptPattern,
    ResponseRule,
    ScenarioScript,
    ScriptedReply,
    SessionIdentity,
    StdioServer,
    ToolCall,
    ToolSetting,
    Turn,
)
from iac_scenario.positions import Path as Where
from iac_scenario.positions import nearest

__all__ = ["build", "servers"]

Lines = dict[Where, int]


def build(
    document: dict[str, Any], path: Path, identity: SessionIdentity, lines: Lines
) -> ScenarioScript:
    """Return the scenario of a document that fits the format."""
    default = document.get("default_response")
    rules = document.get("responses", ())
    return ScenarioScript(
        path=path,
        name=document.get("name", path.stem),
        identity=identity,
        prompts=tuple(document.get("prompts", ())),
        rules=tuple(_rule(item, ("responses", index), lines) for index, item in enumerate(rules)),
        default=None if default is None else _reply(default, ("default_response",), lines),
        execution=_execution(document.get("tool_execution", {})),
        permissions=_permissions(document),
        timeouts=document.get("timeouts", {}),
        elicitations=_elicitations(document),
        servers=servers(document.get("mcp_servers", {})),
    )


def servers(table: Mapping[str, Any]) -> dict[str, StdioServer]:
    """Return servers from a table of them, in the shape that Claude's `mcpServers` has too."""
    return {
        name: StdioServer(
            value["command"],
            tuple(value.get("args", ())),
            value.get("env", {}),
            value.get("cwd"),
        )
        for name, value in table.items()
    }


def _rule(value: dict[str, Any], where: Where, lines: Lines) -> ResponseRule:
    return ResponseRule(
        pattern=_pattern(value["pattern"]),
        reply=_reply(value.get("response", ""), (*where, "response"), lines),
        failure=_failure(value.get("failure")),
        max_matches=value.get("max_matches"),
        turns=tuple(
            Turn(
                _pattern(turn["expect"]),
                _reply(turn.get("response", ""), (*where, "turns", index, "response"), lines),
                _failure(turn.get("failure")),
            )
            for index, turn in enumerate(value.get("turns", ()))
        ),
        line=nearest(lines, where),
    )


def _pattern(value: dict[str, Any]) -> PromptPattern:
    kind = value["type"]
    return PromptPattern(kind, value.get("pattern" if kind in ("regex", "glob") else "text", ""))


def _reply(value: str | dict[str, Any], where: Where, lines: Lines) -> ScriptedReply:
    if isinstance(value, str):
        return ScriptedReply(value)
    calls = value.get("tool_calls", ())
    return ScriptedReply(
        value.get("text", ""),
        tuple(
            _call(call, (*where, "tool_calls", index), lines) for index, call in enumerate(calls)
        ),
        value.get("usage", {}),
        value.get("delay_ms"),
    )


def _call(value: dict[str, Any], where: Where, lines: Lines) -> ToolCall:
    return ToolCall(
        tool=value["tool"],
        input=value.get("input", {}),
        result=value.get("result"),
        error=value.get("error"),
        expect=tuple(
            Expectation(kind, want, nearest(lines, (*where, "expect", kind)))
            for kind, want in value.get("expect", {}).items()
        ),
        failure=_failure(value.get("failure")),
        elicitations=_elicitations(value),
        approve=value.get("approve"),
        line=nearest(lines, where),
    )


def _failure(value: dict[str, Any] | None) -> InjectedFailure | None:
    if value is None:
        return None
    return InjectedFailure(
        value["type"], {key: item for key, item in value.items() if key != "type"}
    )


def _elicitations(value: dict[str, Any]) -> tuple[Elicited, ...]:
    return tuple(
        Elicited(
            item["action"],
            item.get("content"),
            _pattern(item["message"]) if "message" in item else None,
        )
        for item in value.get("elicitations", ())
    )


def _execution(value: dict[str, Any]) -> Execution:
    tools = {
        name: ToolSetting(
            setting.get("mode"),
            setting.get("result"),
            setting.get("error"),
            setting.get("auto_approve", False),
        )
        for name, setting in value.get("tools", {}).items()
    }
    return Execution(**{**value, "tools": tools})


def _permissions(document: dict[str, Any]) -> Permissions:
    value = document.get("permissions", {})
    mode = value.get("mode", document.get("permission_mode"))
    return Permissions(
        mode="default" if mode == "delegate" else mode,
        allow=tuple(value.get("allow", ())),
        ask=tuple(value.get("ask", ())),
        deny=tuple(value.get("deny", ())),
        answer=value.get("answer", "deny"),
    )
