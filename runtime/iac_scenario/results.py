"""What a call came to, and whether that is what the scenario expects."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

from iac_scenario.matching import (
    is_json_equal,
    matches_placeholders,
    matches_subset,
    replace_variables,
    schema_validator,
    search_pattern,
)
from iac_scenario.model import Expectation, ToolCall, ToolSetting

NOT_GIVEN = object()
"""Stands for a value that is not there, where null is one that is."""
LONGEST: Final = 400
"""Characters of a value that a report shows."""
Mismatch = tuple[str, str]


@dataclass(frozen=True, slots=True)
class CallResult:
    """A result: content blocks as MCP has them, whether it is an error, and its structured part.

    `executed` is False for a call that was not carried out at all (mode disabled), `denied` is true
    for one that the permissions refuse. `heard` is what the server sent beside the answer:
    `{"method", "params"}` of notifications and requests. `note` is for whoever plays. `detail` is
    what Claude Code's `tool_use_result` and the hooks have of it, where the value does not say it.
    """

    content: tuple[dict[str, Any], ...]
    is_error: bool = False
    structured: Any = NOT_GIVEN
    executed: bool = True
    note: str = ""
    heard: tuple[dict[str, Any], ...] = ()
    took_ms: float = 0
    denied: bool = False
    detail: Any = NOT_GIVEN

    @property
    def text(self) -> str:
        """The text of all text blocks, joined by line ends."""
        return "\n".join(block["text"] for block in self.content if block.get("type") == "text")

    @property
    def value(self) -> Any:
        """The structured part, else the text read as JSON, else the text."""
        if self.structured is not NOT_GIVEN:
            return self.structured
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return self.text

    @property
    def told(self) -> Any:
        """What programs and hooks are told of it."""
        if self.detail is not NOT_GIVEN:
            return self.detail
        return f"Error: {self.text}" if self.is_error else self.value


def text_result(
    text: str, *, is_error: bool = False, structured: Any = NOT_GIVEN, detail: Any = NOT_GIVEN
) -> CallResult:
    """Return a result that is one text."""
    return CallResult(({"type": "text", "text": text},), is_error, structured, detail=detail)


def error_result(text: str) -> CallResult:
    """Return an error result that says `text`."""
    return text_result(text, is_error=True)


def unfit_result(text: str, begins: str = "") -> CallResult:
    """Return the result of a call that is refused before anything is done, marked as Claude's."""
    tagged = f"<tool_use_error>{begins}{text}</tool_use_error>"
    return text_result(tagged, is_error=True, detail=f"Error: {text}")


def scripted_result(value: Any) -> CallResult:
    """Return the result that a scenario gives: a text, or a value that is shown as JSON."""
    if isinstance(value, str):
        return text_result(value)
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text_result(text, structured=value if isinstance(value, dict) else NOT_GIVEN)


def file_result(answered: ToolCall | ToolSetting) -> CallResult:
    """Return what the file says that a call, or every call of a tool, answers."""
    if answered.error is not None:
        return error_result(answered.error)
    if answered.result is None:
        tool = f" of {answered.tool}" if isinstance(answered, ToolCall) else ""
        return error_result(f"The scenario has no result for this call{tool}.")
    return scripted_result(answered.result)


class MissedExpectation(NamedTuple):
    """An expectation that was not met: its kind and line, what it wanted, what came."""

    kind: str
    line: int
    expected: str
    got: str


def missed_expectations(
    checks: Sequence[Expectation], outcome: CallResult
) -> list[MissedExpectation]:
    """Return the expectations that a result does not meet; all of them if nothing was executed."""
    missed = []
    for check in checks:
        if not outcome.executed:
            got = "not executed: the mode is disabled"
            want = shorten_value(check.want)
            missed.append(MissedExpectation(check.kind, check.line, want, got))
            continue
        if check.kind == "not":
            for inner in check.want:
                if not missed_expectations((inner,), outcome):
                    want, got = _mismatch(inner.want, outcome.text)
                    kind = f"not {inner.kind}"
                    missed.append(MissedExpectation(kind, inner.line, f"not {want}", got))
            continue
        try:
            miss = _CHECKS[check.kind](check.want, outcome)
        except ValueError as error:
            miss = (shorten_value(check.want), f"no verdict: {error}")
        if miss is not None:
            missed.append(MissedExpectation(check.kind, check.line, *miss))
    return missed


def captured_values(wanted: Mapping[str, str], outcome: CallResult) -> dict[str, Any]:
    """Return what is kept of a result, without the names whose path or expression finds nothing."""
    captured = {}
    for name, where in wanted.items():
        if where.startswith("$"):
            values = _path_values(where, outcome.value)
            if values:
                captured[name] = values[0]
        elif (hit := search_pattern(where, outcome.text)) is not None:
            captured[name] = hit[hit.re.groups and 1]
    return captured


def missing_captures(
    call: ToolCall, kept: Mapping[str, Any], outcome: CallResult
) -> list[MissedExpectation]:
    """Return what a call should have captured and did not, as expectations that were missed."""
    return [
        MissedExpectation("capture", call.line, f"{name} = {where}", shorten_value(outcome.text))
        for name, where in call.capture.items()
        if name not in kept
    ]


def resolve_expectations(
    checks: Sequence[Expectation], places: Mapping[str, Any]
) -> tuple[Expectation, ...]:
    """Return expectations with `${NAME}` replaced in what they want."""
    resolved = []
    for check in checks:
        resolve = resolve_expectations if check.kind == "not" else replace_variables
        want = resolve(check.want, places)
        resolved.append(check if want is check.want else replace(check, want=want))
    return tuple(resolved)


def _schema_fault(want: object) -> str | None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    if not isinstance(want, dict | bool):
        return "must be a JSON schema, a table."
    try:
        Draft202012Validator.check_schema(want)
    except SchemaError as error:
        return f"is not a JSON schema: {error.message}."
    return None


def expectation_fault(kind: str, want: Any) -> str | None:
    """Return what is wrong with an expectation itself: a schema or a path that is none."""
    if kind == "schema":
        return _schema_fault(want)
    if kind == "not":
        faults = (expectation_fault(inner, value) for inner, value in want.items())
        return next(filter(None, faults), None)
    if kind == "matches":
        try:
            for text in [want] if isinstance(want, str) else want:
                search_pattern(text, "")
        except ValueError as error:
            return str(error)
    if kind == "notifications" and not all(isinstance(n, str) or "method" in n for n in want):
        return "must be methods, or tables with a method."
    if kind in ("json_path", "capture") and isinstance(want, dict):
        import jsonpath

        for path in want if kind == "json_path" else want.values():
            try:
                if kind == "json_path" or path.startswith("$"):
                    _json_path_environment().compile(path)
                else:
                    search_pattern(path, "")
            except ValueError as error:
                return f"{path!r} {error}"
            except jsonpath.JSONPathError as error:
                return f"{path!r} is not a JSONPath: {str(error).splitlines()[0]}."
    return None


def shorten_value(value: Any) -> str:
    """Return a value as one line of at most LONGEST characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = text.replace("\n", "\\n")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"


def _mismatch(want: Any, got: Any) -> Mismatch:
    return shorten_value(want), shorten_value(got)


def _check_equals(want: Any, outcome: CallResult) -> Mismatch | None:
    if (isinstance(want, str) and want == outcome.text) or is_json_equal(want, outcome.value):
        return None
    return _mismatch(want, outcome.text if isinstance(want, str) else outcome.value)


def _check_texts(
    want: str | list[str], outcome: CallResult, *, has: Callable[[str, str], object]
) -> Mismatch | None:
    texts = [want] if isinstance(want, str) else want
    missing = [text for text in texts if not has(text, outcome.text)]
    return _mismatch(missing[0], outcome.text) if missing else None


def _check_like(want: Any, outcome: CallResult) -> Mismatch | None:
    got = outcome.text if isinstance(want, str) else outcome.value
    return None if matches_placeholders(want, got) else _mismatch(want, got)


def _check_content_types(want: list[str], outcome: CallResult) -> Mismatch | None:
    got = [str(block.get("type")) for block in outcome.content]
    return None if want == got else _mismatch(want, got)


def _check_notifications(want: list[Any], outcome: CallResult) -> Mismatch | None:
    """Find them in order; each is looked for behind the one before."""
    heard = iter(outcome.heard)
    for item in want:
        wanted = {"method": item} if isinstance(item, str) else item
        if not any(matches_subset(wanted, message) for message in heard):
            methods = [message["method"] for message in outcome.heard]
            return _mismatch(item, outcome.heard if isinstance(item, dict) else methods)
    return None


def _check_within_ms(want: int, outcome: CallResult) -> Mismatch | None:
    if outcome.took_ms <= want:
        return None
    return f"at most {want:,} ms", f"{outcome.took_ms:,.0f} ms"


def _check_json_path(want: Mapping[str, Any], outcome: CallResult) -> Mismatch | None:
    for path, value in want.items():
        values = _path_values(path, outcome.value)
        got = values[0] if len(values) == 1 else values
        if not values or not matches_placeholders(value, got):
            shown = shorten_value(got) if values else "nothing at that path"
            return f"{path} = {shorten_value(value)}", shown
    return None


def _check_is_error(want: bool, outcome: CallResult) -> Mismatch | None:
    if want == outcome.is_error:
        return None
    names = ("no error", "an error")
    return names[want], f"{names[not want]}: {shorten_value(outcome.text)}"


def _check_schema(want: Any, outcome: CallResult) -> Mismatch | None:
    validator = schema_validator(json.dumps(want, sort_keys=True))
    for error in validator.iter_errors(outcome.value):
        return f"{error.json_path} by the schema", shorten_value(error.message)
    return None


_CHECKS: Final[Mapping[str, Callable[[Any, CallResult], Mismatch | None]]] = {
    "equals": _check_equals,
    "contains": partial(_check_texts, has=lambda text, whole: text in whole),
    "json_path": _check_json_path,
    "is_error": _check_is_error,
    "like": _check_like,
    "matches": partial(_check_texts, has=search_pattern),
    "content_types": _check_content_types,
    "notifications": _check_notifications,
    "within_ms": _check_within_ms,
    "schema": _check_schema,
}


@lru_cache(maxsize=1)
def _json_path_environment() -> Any:
    """Return RFC 9535 with a deadline for the expressions of `match` and `search`."""
    from jsonpath import JSONPathEnvironment

    def bounded_function(known: Any, *, whole: bool) -> Any:
        def call_bounded(_self: Any, value: object, pattern: object) -> bool:
            if not isinstance(value, str) or not isinstance(pattern, str):
                return False
            return search_pattern(rf"\A(?:{pattern})\Z" if whole else pattern, value) is not None

        return type("Bounded", (type(known),), {"__call__": call_bounded})()

    environment = JSONPathEnvironment(strict=True)
    functions = environment.function_extensions
    for name in ("match", "search"):
        functions[name] = bounded_function(functions[name], whole=name == "match")
    return environment


def _path_values(path: str, value: Any) -> list[Any]:
    # The library walks arrays and objects only; a bare text has no members.
    if not isinstance(value, dict | list):
        return [value] if path == "$" else []
    return list(_json_path_environment().findall(path, value))
