"""A request that JXA has no form for, as one line of AppleScript: for reading, never run.

Words are the dictionary's where they are plain, else codes in chevrons, as AppleScript takes them.
"""

import re
from typing import Final

from iac_base.text import text_literal
from iac_runtime.language.request import Absent, Event
from iac_runtime.language.steps import (
    Among,
    Beside,
    Boundary,
    ById,
    ByIndex,
    ByName,
    Compare,
    DateValue,
    Every,
    Filter,
    Go,
    PathValue,
    RecordValue,
    RefValue,
    Rgb,
    Span,
    Step,
    Term,
    Value,
    Whose,
)

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9 -]*")
_COMMAND: Final = re.compile(r"[a-z]+")
_SAID: Final = {
    "=": "is", "_contains": "contains", "_beginsWith": "begins with", "_endsWith": "ends with",
}  # fmt: skip
_WAYS: Final = {"next": "after", "previous": "before"}


def applescript_line(event: Event) -> str:
    """Return the request as one line of AppleScript."""
    return f"tell application id {text_literal(event.app)} to {_statement(event)}"


def _statement(event: Event) -> str:
    target = _walked(event.target)
    more = "".join(f" {_word(name, 'class')} {_value(value)}" for name, value in event.more)
    columns = [_word(column.jxa, "property") for column in event.columns if column.jxa]
    match event.op:
        case "set":
            names = [f"{_word(name, 'property')} of {target}" for name, _ in event.named]
            values = [_value(value) for _, value in event.named]
            return f"set {_listed(names)} to {_listed(values)}"
        case "count":
            return f"count {target}{more}"
        case "properties":
            return f"get properties of {target}{more}"
        case "columns" | "list" if columns:
            return f"get {_listed(columns)} of {target}{more}"
        case "command":
            word = event.command if _COMMAND.fullmatch(event.command) else f"«event {event.code}»"
            direct = "" if isinstance(event.direct, Absent) else f" {_value(event.direct)}"
            named = (f" {_word(name, 'class')} {_value(value)}" for name, value in event.named)
            return f"{word}{direct}{''.join(named)}"
    return f"get {target}{more}"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{{{', '.join(parts)}}}"


def _word(name: str, kind: str) -> str:
    word = name.word if isinstance(name, Term) else name
    code = name.code if isinstance(name, Term) else ""
    return word if _PLAIN.fullmatch(word) or not code else f"«{kind} {code}»"


def _walked(steps: tuple[Step, ...]) -> str:
    """Return an object, the innermost first: `name of notes 1 thru 2 of folder 1`."""
    here = holder = kind = ""
    for step in steps:
        of, item = (f" of {text}" if text else "" for text in (holder, here))
        match step:
            case Go(name):
                here, kind = f"{_word(name, 'property')}{item}", ""
                continue
            case Every(name):
                holder, kind = here, _word(name, "class")
                here = f"every {kind}{item}"
                continue
            case Beside(way, name):
                here, kind = f"{_word(name, 'class')} {_WAYS[way]} {here}", ""
                continue
            case Boundary(place):
                return f"{place} {here}" if place in ("before", "after") else f"{place}{item}"
        if not kind:
            kind, of = "item", item
        here, kind = _picked(step, kind) + of, ""
    return here or "it"


def _picked(step: Step, kind: str) -> str:
    match step:
        case ByIndex(index):
            return f"{kind} {index if index < 0 else index + 1}"
        case ByName(name):
            return f"{kind} {text_literal(name)}"
        case ById(ident):
            return f"{kind} id {text_literal(ident) if isinstance(ident, str) else ident}"
        case Among(which):
            return f"{which} {kind}"
        case Span(start, stop):
            first, last = start or 0, -1 if stop is None else stop - 1
            ends = (at if at < 0 else at + 1 for at in (first, last))
            return f"{kind}s {' thru '.join(map(str, ends))}"
        case Whose(test):
            return f"every {kind} whose {_test(test)}"
    return kind


def _test(test: Filter) -> str:
    if isinstance(test, Compare):
        said = _SAID.get(test.operator, test.operator)
        return f"{_walked(test.path)} {said} {_value(test.value)}"
    parts = [f"({_test(part)})" for part in test.tests]
    return f"not ({' or '.join(parts)})" if test.word == "not" else f" {test.word} ".join(parts)


def _value(value: Value) -> str:
    match value:
        case None:
            return "missing value"
        case bool():
            return str(value).lower()
        case Term():
            return _word(value, "constant" if value.form == "enum" else "class")
        case str():
            return text_literal(value)
        case int() | float():
            return str(value)
        case PathValue(path):
            return f"(POSIX file {text_literal(path)})"
        case DateValue():
            return f"(date {text_literal(value.iso)})"
        case RefValue(steps):
            return _walked(steps)
        case RecordValue(fields):
            return "{" + ", ".join(f"{_word(k, 'property')}:{_value(v)}" for k, v in fields) + "}"
        case Rgb():
            return f"{{{', '.join(str(round(part * 65535)) for part in value)}}}"
    return f"{{{', '.join(map(_value, value))}}}"
