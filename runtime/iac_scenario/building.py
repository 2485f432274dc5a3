"""From a checked document to the model; nothing here can fail."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from iac_base.positions import Document
from iac_base.positions import Path as Where
from iac_scenario.model import (
    Elicited,
    Execution,
    Expectation,
    InjectedFailure,
    PermissionRules,
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

Part = TypeVar("Part")


def build(
    document: dict[str, Any], path: Path, identity: SessionIdentity, lines: Document
) -> ScenarioScript:
    """Return the scenario of a document that fits the format."""
    default = document.get("default_response")
    rules = document.get("responses", ())
    return _part(
        ScenarioScript,
        document,
        path=path,
        name=document.get("name", path.stem),
        identity=identity,
        prompts=tuple(document.get("prompts", ())),
        rules=tuple(_rule(item, ("responses", index), lines) for index, item in enumerate(rules)),
        default=None if default is None else _reply(default, ("default_response",), lines),
        execution=_execution(document.get("tool_execution", {})),
        permissions=_permissions(document),
        elicitations=_elicitations(document),
        servers=servers(document.get("mcp_servers", {})),
    )


def servers(table: Mapping[str, Any]) -> dict[str, StdioServer]:
    """Return servers from a table of them, in the shape that Claude's `mcpServers` has too."""
    return {
        name: _part(StdioServer, value, args=tuple(value.get("args", ())))
        for name, value in table.items()
    }


def _part(kind: type[Part], value: Mapping[str, Any], **made: Any) -> Part:
    """Return a part of the model: what was made for it, and the fields that go in as they are."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{**{key: value[key] for key in value if key in names}, **made})


def _rule(value: dict[str, Any], where: Where, lines: Document) -> ResponseRule:
    return _part(
        ResponseRule,
        value,
        **_answer(value, where, lines),
        pattern=_pattern(value["pattern"]),
        turns=tuple(
            Turn(_pattern(turn["expect"]), **_answer(turn, (*where, "turns", index), lines))
            for index, turn in enumerate(value.get("turns", ()))
        ),
        line=lines.line(where),
    )


def _answer(value: dict[str, Any], where: Where, lines: Document) -> dict[str, Any]:
    reply = _reply(value.get("response", ""), (*where, "response"), lines)
    return {"reply": reply, "failure": _failure(value)}


def _pattern(value: dict[str, Any]) -> PromptPattern:
    kind = value["type"]
    return PromptPattern(kind, value.get("pattern" if kind in ("regex", "glob") else "text", ""))


def _reply(value: str | dict[str, Any], where: Where, lines: Document) -> ScriptedReply:
    if isinstance(value, str):
        return ScriptedReply(value)
    calls = enumerate(value.get("tool_calls", ()))
    made = tuple(_call(call, (*where, "tool_calls", index), lines) for index, call in calls)
    return _part(ScriptedReply, value, calls=made)


def _call(value: dict[str, Any], where: Where, lines: Document) -> ToolCall:
    return _part(
        ToolCall,
        value,
        input=value.get("input", {}),
        expect=tuple(
            Expectation(kind, want, lines.line((*where, "expect", kind)))
            for kind, want in value.get("expect", {}).items()
        ),
        failure=_failure(value),
        elicitations=_elicitations(value),
        line=lines.line(where),
    )


def _failure(value: dict[str, Any]) -> InjectedFailure | None:
    if (found := value.get("failure")) is None:
        return None
    facts = {key: item for key, item in found.items() if key != "type"}
    return InjectedFailure(found["type"], facts)


def _elicitations(value: dict[str, Any]) -> tuple[Elicited, ...]:
    return tuple(
        _part(Elicited, item, message=_pattern(item["message"]) if "message" in item else None)
        for item in value.get("elicitations", ())
    )


def _execution(value: dict[str, Any]) -> Execution:
    tools = {name: _part(ToolSetting, item) for name, item in value.get("tools", {}).items()}
    return _part(Execution, value, tools=tools)


def _permissions(document: dict[str, Any]) -> PermissionRules:
    value = document.get("permissions", {})
    mode = value.get("mode", document.get("permission_mode"))
    rules = {kind: tuple(value.get(kind, ())) for kind in ("allow", "ask", "deny")}
    return _part(PermissionRules, value, mode="default" if mode == "delegate" else mode, **rules)
