"""From a checked document to the model; nothing here can fail."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from iac_base.positions import Path as Where
from iac_base.positions import PositionedDocument
from iac_scenario import model

Part = TypeVar("Part")
ALLOW: Final = "allow_"
"""Begins the fields that loosen what fails a run."""
_NAME: Final = re.compile(r"\$\{(\w+)\}")


def build_scenario(
    document: dict[str, Any], path: Path, identity: model.SessionIdentity, lines: PositionedDocument
) -> model.ScenarioScript:
    """Return the scenario of a document that fits the format."""
    default = document.get("default_response")
    rules = document.get("responses", ())
    return _build_part(
        model.ScenarioScript,
        document,
        path=path,
        name=document.get("name", path.stem),
        identity=identity,
        prompts=tuple(document.get("prompts", ())),
        prompt_lines=tuple(
            lines.line_of(("prompts", index)) for index, _ in enumerate(document.get("prompts", ()))
        ),
        rules=tuple(
            _build_rule(item, ("responses", index), lines) for index, item in enumerate(rules)
        ),
        default=None if default is None else _build_reply(default, ("default_response",), lines),
        execution=_build_execution(document.get("tool_execution", {})),
        permissions=_build_permissions(document),
        elicitations=_build_client_answers(
            model.ElicitationAnswer, document.get("elicitations", ())
        ),
        sampling=_build_client_answers(model.SamplingAnswer, document.get("sampling", ())),
        roots=tuple(document.get("roots", ())),
        servers=build_servers(document.get("mcp_servers", {}), lines),
    )


def build_servers(
    table: Mapping[str, Any], lines: PositionedDocument | None = None
) -> dict[str, model.StdioServer]:
    """Return servers from a table of them, in the shape that Claude's `mcpServers` has too."""
    return {
        name: _build_part(
            model.StdioServer,
            value,
            args=tuple(value.get("args", ())),
            line=lines.line_of(("mcp_servers", name)) if lines else 0,
        )
        for name, value in table.items()
    }


def _build_part(kind: type[Part], value: Mapping[str, Any], **made: Any) -> Part:
    """Return a part of the model: what was made for it, and the fields that go in as they are."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    if "allowed" in names:
        made["allowed"] = frozenset(
            key.removeprefix(ALLOW) for key in value if key.startswith(ALLOW) and value[key]
        )
    return kind(**{**{key: value[key] for key in value if key in names}, **made})


def _build_rule(
    value: dict[str, Any], where: Where, lines: PositionedDocument
) -> model.ResponseRule:
    return _build_part(
        model.ResponseRule,
        value,
        **_answer_fields(value, where, lines),
        pattern=_build_pattern(value["pattern"]),
        turns=tuple(
            _build_part(
                model.Turn,
                turn,
                **_answer_fields(turn, (*where, "turns", index), lines),
                expect=_build_pattern(turn["expect"]),
                line=lines.line_of((*where, "turns", index)),
            )
            for index, turn in enumerate(value.get("turns", ()))
        ),
        line=lines.line_of(where),
    )


def _answer_fields(
    value: dict[str, Any], where: Where, lines: PositionedDocument
) -> dict[str, Any]:
    reply = _build_reply(value.get("response", ""), (*where, "response"), lines)
    speaks = "response" in value or "failure" in value
    return {"reply": reply, "failure": _build_failure(value), "speaks": speaks}


def _build_pattern(value: dict[str, Any]) -> model.PromptPattern:
    kind = value["type"]
    return model.PromptPattern(
        kind, value.get("pattern" if kind in ("regex", "glob") else "text", "")
    )


def _build_reply(
    value: str | dict[str, Any], where: Where, lines: PositionedDocument
) -> model.ScriptedReply:
    if isinstance(value, str):
        return model.ScriptedReply(value)
    calls = enumerate(value.get("tool_calls", ()))
    made = tuple(_build_call(call, (*where, "tool_calls", index), lines) for index, call in calls)
    then = value.get("then")
    after = None if then is None else _build_reply(then, (*where, "then"), lines)
    return _split_dependent_calls(_build_part(model.ScriptedReply, value, calls=made, then=after))


def _split_dependent_calls(reply: model.ScriptedReply) -> model.ScriptedReply:
    """Let calls that need what a call before them captures follow when its result is there."""
    names: set[str] = set()
    for at, call in enumerate(reply.calls):
        if names.intersection(_NAME.findall(json.dumps(call.input, default=str))):
            rest = model.ScriptedReply(calls=reply.calls[at:], delay_ms=0, then=reply.then)
            return replace(reply, calls=reply.calls[:at], then=_split_dependent_calls(rest))
        names.update(call.capture)
    return reply


def _build_call(value: dict[str, Any], where: Where, lines: PositionedDocument) -> model.ToolCall:
    return _build_part(
        model.ToolCall,
        value,
        tool=value.get("tool") or value.get("request", ""),
        input=value.get("input", {}),
        expect=_build_expectations(value.get("expect", {}), (*where, "expect"), lines),
        failure=_build_failure(value),
        elicitations=_build_client_answers(model.ElicitationAnswer, value.get("elicitations", ())),
        sampling=_build_client_answers(model.SamplingAnswer, value.get("sampling", ())),
        line=lines.line_of(where),
    )


def _build_expectations(
    value: dict[str, Any], where: Where, lines: PositionedDocument
) -> tuple[model.Expectation, ...]:
    return tuple(
        model.Expectation(
            kind,
            _build_expectations(want, (*where, kind), lines) if kind == "not" else want,
            lines.line_of((*where, kind)),
        )
        for kind, want in value.items()
    )


def _build_failure(value: dict[str, Any]) -> model.InjectedFailure | None:
    if (found := value.get("failure")) is None:
        return None
    facts = {key: item for key, item in found.items() if key != "type"}
    return model.InjectedFailure(found["type"], facts)


def _build_client_answers(kind: type[Part], items: Iterable[dict[str, Any]]) -> tuple[Part, ...]:
    return tuple(
        _build_part(
            kind, item, message=_build_pattern(item["message"]) if "message" in item else None
        )
        for item in items
    )


def _build_execution(value: dict[str, Any]) -> model.Execution:
    tools = {
        name: _build_part(model.ToolSetting, item) for name, item in value.get("tools", {}).items()
    }
    return _build_part(model.Execution, value, tools=tools)


def _build_permissions(document: dict[str, Any]) -> model.PermissionRules:
    value = document.get("permissions", {})
    mode = value.get("mode", document.get("permission_mode"))
    rules = {kind: tuple(value.get(kind, ())) for kind in ("allow", "ask", "deny")}
    return _build_part(
        model.PermissionRules, value, mode="default" if mode == "delegate" else mode, **rules
    )
