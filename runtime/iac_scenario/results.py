"""What a call came to, and whether that is what the scenario expects."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

from iac_scenario.arguments import found_in, validator_of
from iac_scenario.likeness import includes, like, same
from iac_scenario.mcp_config import replaced
from iac_scenario.model import Expectation, ToolCall

NOT_GIVEN = object()
"""Stands for a value that is not there, where null is one that is."""
LONGEST: Final = 400
"""Characters of a value that a report shows."""
Told = tuple[str, str]


@dataclass(frozen=True, slots=True)
class CallResult:
    """A result: content blocks as MCP has them, whether it is an error, and its structured part.

    `executed` is False for a call that was not carried out at all (mode disabled), `denied` is true
    for one that the permissions refuse. `heard` is what the server sent beside the answer:
    `{"method", "params"}` of notifications and requests. `note` is for whoever plays.
    """

    content: tuple[dict[str, Any], ...]
    is_error: bool = False
    structured: Any = NOT_GIVEN
    executed: bool = True
    note: str = ""
    heard: tuple[dict[str, Any], ...] = ()
    took_ms: float = 0
    denied: bool = False

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


def textual(text: str) -> CallResult:
    """Return a result that is one text."""
    return CallResult(({"type": "text", "text": text},))


def failed(text: str) -> CallResult:
    """Return an error result that says `text`."""
    return CallResult(({"type": "text", "text": text},), is_error=True)


def given(value: Any) -> CallResult:
    """Return the result that a scenario gives: a text, or a value that is shown as JSON."""
    if isinstance(value, str):
        return textual(value)
    text = json.dumps(value, ensure_ascii=False, default=str)
    structured = value if isinstance(value, dict) else NOT_GIVEN
    return CallResult(({"type": "text", "text": text},), structured=structured)


class Miss(NamedTuple):
    """An expectation that was not met: its kind and line, what it wanted, what came."""

    kind: str
    line: int
    expected: str
    got: str


def misses(checks: Sequence[Expectation], outcome: CallResult) -> list[Miss]:
    """Return the expectations that a result does not meet; all of them if nothing was executed."""
    if not outcome.executed:
        got = "not executed: the mode is disabled"
        return [Miss(check.kind, check.line, shown(check.want), got) for check in checks]
    found = []
    for check in checks:
        if check.kind == "not":
            found += [
                Miss(
                    f"not {inner.kind}", inner.line, f"not {shown(inner.want)}", shown(outcome.text)
                )
                for inner in check.want
                if not misses((inner,), outcome)
            ]
            continue
        try:
            miss = _CHECKS[check.kind](check.want, outcome)
        except ValueError as error:
            miss = (shown(check.want), f"no verdict: {error}")
        if miss is not None:
            found.append(Miss(check.kind, check.line, *miss))
    return found


def captured(wanted: Mapping[str, str], outcome: CallResult) -> dict[str, Any]:
    """Return what is kept of a result, without the names whose path or expression finds nothing."""
    found = {}
    for name, where in wanted.items():
        if where.startswith("$"):
            values = _found(where, outcome.value)
            if values:
                found[name] = values[0]
        elif (hit := found_in(where, outcome.text)) is not None:
            found[name] = hit[hit.re.groups and 1]
    return found


def lost(call: ToolCall, kept: Mapping[str, Any], outcome: CallResult) -> list[Miss]:
    """Return what a call should have captured and did not, as expectations that were missed."""
    return [
        Miss("capture", call.line, f"{name} = {where}", shown(outcome.text))
        for name, where in call.capture.items()
        if name not in kept
    ]


def placed(checks: Sequence[Expectation], places: Mapping[str, Any]) -> tuple[Expectation, ...]:
    """Return expectations with `${NAME}` replaced in what they want."""
    wanted = [(placed if check.kind == "not" else replaced)(check.want, places) for check in checks]
    return tuple(
        check if want is check.want else replace(check, want=want)
        for check, want in zip(checks, wanted, strict=True)
    )


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


def fault(kind: str, want: Any) -> str | None:
    """Return what is wrong with an expectation itself: a schema or a path that is none."""
    if kind == "schema":
        return _schema_fault(want)
    if kind == "not":
        return next(filter(None, (fault(inner, value) for inner, value in want.items())), None)
    if kind == "matches":
        try:
            for text in [want] if isinstance(want, str) else want:
                found_in(text, "")
        except ValueError as error:
            return str(error)
    if kind == "notifications" and not all(isinstance(n, str) or "method" in n for n in want):
        return "must be methods, or tables with a method."
    if kind in ("json_path", "capture") and isinstance(want, dict):
        import jsonpath

        for path in want if kind == "json_path" else want.values():
            try:
                if kind == "json_path" or path.startswith("$"):
                    _paths().compile(path)
                else:
                    found_in(path, "")
            except ValueError as error:
                return f"{path!r} {error}"
            except jsonpath.JSONPathError as error:
                return f"{path!r} is not a JSONPath: {str(error).splitlines()[0]}."
    return None


def shown(value: Any) -> str:
    """Return a value as one line of at most LONGEST characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = text.replace("\n", "\\n")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"


def _equals(want: Any, outcome: CallResult) -> Told | None:
    if isinstance(want, str) and want == outcome.text:
        return None
    if same(want, outcome.value):
        return None
    return shown(want), shown(outcome.text if isinstance(want, str) else outcome.value)


def _all_in(want: str | list[str], outcome: CallResult, has: Callable[[str], bool]) -> Told | None:
    texts = [want] if isinstance(want, str) else want
    missing = [text for text in texts if not has(text)]
    return (shown(missing[0]), shown(outcome.text)) if missing else None


def _contains(want: str | list[str], outcome: CallResult) -> Told | None:
    return _all_in(want, outcome, lambda text: text in outcome.text)


def _matches(want: str | list[str], outcome: CallResult) -> Told | None:
    return _all_in(want, outcome, lambda text: found_in(text, outcome.text) is not None)


def _like(want: Any, outcome: CallResult) -> Told | None:
    got = outcome.text if isinstance(want, str) else outcome.value
    return None if like(want, got) else (shown(want), shown(got))


def _content_types(want: list[str], outcome: CallResult) -> Told | None:
    got = [str(block.get("type")) for block in outcome.content]
    return None if want == got else (shown(want), shown(got))


def _notifications(want: list[Any], outcome: CallResult) -> Told | None:
    """Find them in order; each is looked for behind the one before."""
    heard = iter(outcome.heard)
    for item in want:
        wanted = {"method": item} if isinstance(item, str) else item
        if not any(includes(wanted, message) for message in heard):
            methods = [message["method"] for message in outcome.heard]
            return shown(item), shown(outcome.heard if isinstance(item, dict) else methods)
    return None


def _within_ms(want: int, outcome: CallResult) -> Told | None:
    if outcome.took_ms <= want:
        return None
    return f"at most {want:,} ms", f"{outcome.took_ms:,.0f} ms"


def _json_path(want: Mapping[str, Any], outcome: CallResult) -> Told | None:
    for path, value in want.items():
        found = _found(path, outcome.value)
        got = found[0] if len(found) == 1 else found
        if not found or not like(value, got):
            return f"{path} = {shown(value)}", shown(got) if found else "nothing at that path"
    return None


def _is_error(want: bool, outcome: CallResult) -> Told | None:
    if want == outcome.is_error:
        return None
    kind = "an error" if outcome.is_error else "no error"
    return "an error" if want else "no error", f"{kind}: {shown(outcome.text)}"


def _schema(want: Any, outcome: CallResult) -> Told | None:
    error = next(validator_of(json.dumps(want, sort_keys=True)).iter_errors(outcome.value), None)
    if error is None:
        return None
    return f"{error.json_path} by the schema", shown(error.message)


_CHECKS: Final[Mapping[str, Callable[[Any, CallResult], Told | None]]] = {
    "equals": _equals,
    "contains": _contains,
    "json_path": _json_path,
    "is_error": _is_error,
    "like": _like,
    "matches": _matches,
    "content_types": _content_types,
    "notifications": _notifications,
    "within_ms": _within_ms,
    "schema": _schema,
}


@lru_cache(maxsize=1)
def _paths() -> Any:
    """Return RFC 9535 with a deadline for the expressions of `match` and `search`."""
    from jsonpath import JSONPathEnvironment

    def bounded(known: Any, *, whole: bool) -> Any:
        def call(_self: Any, value: object, pattern: object) -> bool:
            if not isinstance(value, str) or not isinstance(pattern, str):
                return False
            return found_in(rf"\A(?:{pattern})\Z" if whole else pattern, value) is not None

        return type("Bounded", (type(known),), {"__call__": call})()

    environment = JSONPathEnvironment(strict=True)
    functions = environment.function_extensions
    for name in ("match", "search"):
        functions[name] = bounded(functions[name], whole=name == "match")
    return environment


def _found(path: str, value: Any) -> list[Any]:
    # The library walks arrays and objects only; a bare text has no members.
    if not isinstance(value, dict | list):
        return [value] if path == "$" else []
    return list(_paths().findall(path, value))
