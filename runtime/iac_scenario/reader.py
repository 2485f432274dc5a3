"""From a file to a scenario: parse, include, check, build; what was checked is built without fail.

`{ "$file" = "path" }` anywhere in a scenario stands for the content of that file. A relative path
stays inside the scenario's folder, links followed first; who means a file elsewhere writes its
absolute path. A `.json` file is read as JSON, any other as text. `{ "$json" = "null" }` stands for
the value of that JSON, as TOML has no null.
"""

import json
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from iac_base.files import IrregularFileError, TooLargeError, read_bounded
from iac_base.positions import Path as Where
from iac_base.positions import PositionedDocument, TextError, read_json, read_toml
from iac_base.secrets import without_secrets
from iac_scenario.conversation import compile_pattern
from iac_scenario.model import (
    ElicitationAnswer,
    Execution,
    Expectation,
    InjectedFailure,
    LoadedScenario,
    PermissionRules,
    PlayError,
    PromptPattern,
    ResponseRule,
    SamplingAnswer,
    ScenarioError,
    ScenarioProblem,
    ScenarioScript,
    ScriptedReply,
    SessionIdentity,
    StdioServer,
    ToolCall,
    ToolSetting,
    Turn,
)
from iac_scenario.permissions import rule_fault, rule_note
from iac_scenario.results import expectation_fault
from iac_scenario.schema import check_document, format_field_path

LARGEST: Final = 10_000_000
"""Bytes of one file, the scenario's own or an included one."""
_EPOCH: Final = "2025-01-01T00:00:00Z"
_NAMESPACE: Final = uuid.UUID("6f2cbb0e-4f2a-5b8e-9a51-6f0f1f8f7c11")
_OPAQUE: Final = frozenset(("input", "result", "content", "files", "settings"))
"""Fields whose content is the user's own and means nothing to the format."""
_RULES: Final = ("allow", "ask", "deny")


def resolve_includes(
    value: Any, folder: Path, complain: Callable[[Where, str], None], where: Where = ()
) -> Any:
    """Return the value with its includes replaced; what cannot be is complained of, and null."""
    if isinstance(value, list):
        items = enumerate(value)
        return [resolve_includes(item, folder, complain, (*where, at)) for at, item in items]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"$json"}:
        try:
            return json.loads(value["$json"])
        except (TypeError, ValueError, RecursionError):
            complain((*where, "$json"), "is a text of JSON.")
            return None
    if "$file" not in value:
        members = value.items()
        return {
            key: resolve_includes(item, folder, complain, (*where, key)) for key, item in members
        }
    try:
        return _include_content(value, folder)
    except (OSError, ValueError) as error:
        complain((*where, "$file"), _error_reason(error))
        return None


def _include_content(value: dict[str, Any], folder: Path) -> Any:
    name = value["$file"]
    if len(value) > 1 or not isinstance(name, str):
        raise ValueError("must be a path, and must be the only key of its table.")
    path = Path(folder, name).resolve()
    if not Path(name).is_absolute() and not path.is_relative_to(folder.resolve()):
        raise ValueError(f"{name} is outside the scenario's folder; write its absolute path.")
    try:
        text = _read_limited(path, f"{name}: ").decode()
        return json.loads(text) if path.suffix == ".json" else text
    except UnicodeDecodeError:
        raise ValueError(f"{name} is not UTF-8 text.") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{name} is not JSON: {error}") from None


def _read_limited(path: Path, told: str = "") -> bytes:
    try:
        return read_bounded(path, LARGEST)[0]
    except (FileNotFoundError, NotADirectoryError, IrregularFileError):
        raise ValueError(f"{told}there is no such file.") from None
    except TooLargeError:
        raise ValueError(f"{told}has more than {LARGEST:,} bytes.") from None


def _error_reason(error: OSError | ValueError) -> str:
    return f"cannot be read: {error.strerror}." if isinstance(error, OSError) else str(error)


def load_scenario(path: Path) -> LoadedScenario:
    """Read a scenario file, TOML or (by its name) JSON.

    Raises ScenarioError with every problem that was found, each with its line.
    """
    text = _scenario_text(path)
    parsed = _parse_text(path, text)
    problems: list[ScenarioProblem] = []
    warnings: list[str] = []

    def problem_at(where: Where, message: str) -> ScenarioProblem:
        return ScenarioProblem(path.name, parsed.line_of(where), format_field_path(where), message)

    def add_problem(where: Where, message: str) -> None:
        problems.append(problem_at(where, message))

    def add_warning(where: Where, message: str) -> None:
        warnings.append(str(problem_at(where, message)))

    document = resolve_includes(parsed.value, path.parent, add_problem)
    if problems:
        raise ScenarioError(problems)
    unused: list[Where] = []
    check_document(document, add_problem, unused.append)
    if unused:
        rows = (f"{format_field_path(at)} (line {parsed.line_of(at)})" for at in unused)
        names = ", ".join(rows)
        add_warning((), f"these fields of claudeless have no effect here: {names}.")
    if not problems:
        _check_meaning(document, (), add_problem, add_warning)
    if problems:
        raise ScenarioError(sorted(problems, key=lambda problem: problem.line))
    scenario = build_scenario(document, path, session_identity(document, path.stem), parsed)
    # Variables and files are the ways to keep a secret elsewhere; the text names them only.
    advice = "contains what looks like a secret; write `${NAME}` and set the variable."
    secrets = (str(problem_at(where, advice)) for where in secret_locations(parsed.value))
    return LoadedScenario(scenario, tuple(warnings), secrets)


def read_json_option(given: Path | str, option: str) -> Any:
    """Return the value of an option: JSON, or a file that holds it. Raises PlayError."""
    text = str(given)
    try:
        is_text = text.lstrip().startswith("{")
        return json.loads(text if is_text else Path(given).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise PlayError(f"{option} {given}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise PlayError(f"{option} {given}: is not JSON, so it cannot be parsed: {error}") from None


def secret_locations(value: Any, where: Where = ()) -> Iterator[Where]:
    """Yield where a document holds what has the name or the shape of a secret."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from secret_locations(item, (*where, key))
    elif isinstance(value, str) and "${" not in value:
        key = str(where[-1])
        if without_secrets({key: value}) != {key: value}:
            yield where


def _scenario_text(path: Path) -> str:
    try:
        data = _read_limited(path)
    except (OSError, ValueError) as error:
        raise ScenarioError([ScenarioProblem(str(path), 0, "", _error_reason(error))]) from None
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScenarioError([ScenarioProblem(path.name, line, "", "is not UTF-8 text.")]) from None


def _parse_text(path: Path, text: str) -> PositionedDocument:
    is_json = path.suffix == ".json"
    try:
        parsed = read_json(text) if is_json else read_toml(text)
        # JSON can write halves of characters that nothing can print.
        json.dumps(parsed.value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        reason = "contains half of a character (a lone surrogate)."
        raise ScenarioError([ScenarioProblem(path.name, 0, "", reason)]) from None
    except TextError as error:
        message = f"is not {'JSON' if is_json else 'TOML'}: {error.reason}."
        raise ScenarioError([ScenarioProblem(path.name, error.line, "", message)]) from None
    if not isinstance(parsed.value, dict):
        raise ScenarioError([ScenarioProblem(path.name, 1, "", "must be one JSON object.")])
    return parsed


def session_identity(document: Mapping[str, Any], name: str) -> SessionIdentity:
    """Return the identity that a document gives to a session; `name` is for one without."""
    seed = document.get("seed", 0)
    name = document.get("name", name)
    return SessionIdentity(
        session_id=document.get("session_id") or str(uuid.uuid5(_NAMESPACE, f"{name}\n{seed}")),
        model=document.get("default_model", "scripted"),
        seed=seed,
        launch_timestamp=document.get("launch_timestamp", _EPOCH),
        working_directory=document.get("working_directory"),
    )


def _check_meaning(value: Any, where: Where, wrong: Any, ignored: Any) -> None:
    """Report what has the right form and no good sense, in the whole document."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            _check_meaning(item, (*where, index), wrong, ignored)
    if not isinstance(value, dict):
        return
    if where and where[-1] in ("pattern", "expect", "message") and "type" in value:
        _check_pattern(value, where, wrong)
        return
    for key, item in value.items():
        if (problem := _value_problem(key, item)) is not None:
            wrong((*where, key), problem)
        elif key in _RULES and isinstance(item, list):
            for index, reason in enumerate(map(rule_note, item)):
                if reason is not None:
                    ignored((*where, key, index), reason)
        elif key == "capture":
            if (told := expectation_fault(key, item)) is not None:
                wrong((*where, key), told)
        elif key == "expect" and "type" not in item:
            for kind, want in item.items():
                if (told := expectation_fault(kind, want)) is not None:
                    wrong((*where, key, kind), told)
        elif key not in _OPAQUE:
            _check_meaning(item, (*where, key), wrong, ignored)


def _check_pattern(value: dict[str, Any], where: Where, wrong: Any) -> None:
    kind = value["type"]
    needed = {"exact": "text", "contains": "text", "regex": "pattern", "glob": "pattern"}.get(kind)
    if needed is not None and needed not in value:
        wrong(where, f"a pattern of type {kind} needs the field {needed}.")
    elif kind == "regex":
        try:
            compile_pattern(PromptPattern("regex", value["pattern"]))
        except ValueError as error:
            wrong((*where, "pattern"), str(error))


def _value_problem(key: str, value: Any) -> str | None:
    if key == "session_id" and isinstance(value, str):
        try:
            uuid.UUID(value)
        except ValueError:
            return f"{value!r} is not a UUID."
    if key == "launch_timestamp" and isinstance(value, str):
        aware = None
        with suppress(ValueError):
            aware = datetime.fromisoformat(value).tzinfo
        if aware is None:
            return f"{value!r} is not a time with an offset; write it like {_EPOCH}."
    if key in _RULES and isinstance(value, list):
        # A rule that says nothing would deny nothing either.
        return next(filter(None, map(rule_fault, value)), None)
    if key == "working_directory" and isinstance(value, str) and not value.startswith("/"):
        return f"{value!r} is not an absolute path."
    return None


Part = TypeVar("Part")
ALLOW: Final = "allow_"
"""Begins the fields that loosen what fails a run."""
_NAME: Final = re.compile(r"\$\{(\w+)\}")


def build_scenario(
    document: dict[str, Any], path: Path, identity: SessionIdentity, lines: PositionedDocument
) -> ScenarioScript:
    """Return the scenario of a document that fits the format."""
    default, rules = document.get("default_response"), document.get("responses", ())
    prompts = document.get("prompts", ())
    return _build_part(
        ScenarioScript,
        document,
        path=path,
        name=document.get("name", path.stem),
        identity=identity,
        prompts=tuple(prompts),
        prompt_lines=tuple(lines.line_of(("prompts", index)) for index in range(len(prompts))),
        rules=tuple(
            _build_rule(item, ("responses", index), lines) for index, item in enumerate(rules)
        ),
        default=None if default is None else _build_reply(default, ("default_response",), lines),
        execution=_build_execution(document.get("tool_execution", {})),
        permissions=_build_permissions(document),
        elicitations=_build_client_answers(ElicitationAnswer, document.get("elicitations", ())),
        sampling=_build_client_answers(SamplingAnswer, document.get("sampling", ())),
        roots=tuple(document.get("roots", ())),
        servers=build_servers(document.get("mcp_servers", {}), lines),
    )


def build_servers(
    table: Mapping[str, Any], lines: PositionedDocument | None = None
) -> dict[str, StdioServer]:
    """Return servers from a table of them, in the shape that Claude's `mcpServers` has too."""
    return {
        name: _build_part(
            StdioServer,
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
        keys = (key for key in value if key.startswith(ALLOW) and value[key])
        made["allowed"] = frozenset(key.removeprefix(ALLOW) for key in keys)
    return kind(**{**{key: value[key] for key in value if key in names}, **made})


def _build_rule(value: dict[str, Any], where: Where, lines: PositionedDocument) -> ResponseRule:
    return _build_part(
        ResponseRule,
        value,
        **_answer_fields(value, where, lines),
        pattern=_build_pattern(value["pattern"]),
        turns=tuple(
            _build_part(
                Turn,
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


def _build_pattern(value: dict[str, Any]) -> PromptPattern:
    key = "pattern" if value["type"] in ("regex", "glob") else "text"
    return PromptPattern(value["type"], value.get(key, ""))


def _build_reply(
    value: str | dict[str, Any], where: Where, lines: PositionedDocument
) -> ScriptedReply:
    if isinstance(value, str):
        return ScriptedReply(value)
    calls = enumerate(value.get("tool_calls", ()))
    made = tuple(_build_call(call, (*where, "tool_calls", index), lines) for index, call in calls)
    after = _build_reply(value["then"], (*where, "then"), lines) if "then" in value else None
    return _split_dependent_calls(_build_part(ScriptedReply, value, calls=made, then=after))


def _split_dependent_calls(reply: ScriptedReply) -> ScriptedReply:
    """Let calls that need what a call before them captures follow when its result is there."""
    names: set[str] = set()
    for at, call in enumerate(reply.calls):
        if names.intersection(_NAME.findall(json.dumps(call.input, default=str))):
            rest = ScriptedReply(calls=reply.calls[at:], delay_ms=0, then=reply.then)
            return replace(reply, calls=reply.calls[:at], then=_split_dependent_calls(rest))
        names.update(call.capture)
    return reply


def _build_call(value: dict[str, Any], where: Where, lines: PositionedDocument) -> ToolCall:
    return _build_part(
        ToolCall,
        value,
        tool=value.get("tool") or value.get("request", ""),
        input=value.get("input", {}),
        expect=_build_expectations(value.get("expect", {}), (*where, "expect"), lines),
        failure=_build_failure(value),
        elicitations=_build_client_answers(ElicitationAnswer, value.get("elicitations", ())),
        sampling=_build_client_answers(SamplingAnswer, value.get("sampling", ())),
        line=lines.line_of(where),
    )


def _build_expectations(
    value: dict[str, Any], where: Where, lines: PositionedDocument
) -> tuple[Expectation, ...]:
    return tuple(
        Expectation(
            kind,
            _build_expectations(want, (*where, kind), lines) if kind == "not" else want,
            lines.line_of((*where, kind)),
        )
        for kind, want in value.items()
    )


def _build_failure(value: dict[str, Any]) -> InjectedFailure | None:
    if (failure := value.get("failure")) is None:
        return None
    facts = {key: item for key, item in failure.items() if key != "type"}
    return InjectedFailure(failure["type"], facts)


def _build_client_answers(kind: type[Part], items: Iterable[dict[str, Any]]) -> tuple[Part, ...]:
    return tuple(
        _build_part(
            kind, item, message=_build_pattern(item["message"]) if "message" in item else None
        )
        for item in items
    )


def _build_execution(value: dict[str, Any]) -> Execution:
    settings = value.get("tools", {}).items()
    tools = {name: _build_part(ToolSetting, item) for name, item in settings}
    return _build_part(Execution, value, tools=tools)


def _build_permissions(document: dict[str, Any]) -> PermissionRules:
    value = document.get("permissions", {})
    mode = value.get("mode", document.get("permission_mode"))
    rules = {kind: tuple(value.get(kind, ())) for kind in _RULES}
    return _build_part(PermissionRules, value, mode=mode, **rules)
