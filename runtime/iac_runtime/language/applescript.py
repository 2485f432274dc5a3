"""A request that JXA has no form for, as one line of AppleScript: for reading, never run.

Words are the dictionary's where they are plain, else codes in chevrons, as AppleScript takes them.
"""

import re
from typing import Final

from iac_base.text import text_literal
from iac_runtime.language.request import Absent, Event
from iac_runtime.language.steps import (
    AllElements,
    Boundary,
    ById,
    ByIndex,
    ByName,
    Compare,
    DateValue,
    Filter,
    MiddleOrSome,
    PathValue,
    PropertyStep,
    RecordValue,
    RefValue,
    RelativeTo,
    Rgb,
    Span,
    Step,
    Term,
    Value,
    Whose,
)

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9 -]*")
_COMMAND: Final = re.compile(r"[a-z]+")
_OPERATOR_WORDS: Final = {
    "=": "is", "_contains": "contains", "_beginsWith": "begins with", "_endsWith": "ends with",
}  # fmt: skip
_RELATIVE_WORDS: Final = {"next": "after", "previous": "before"}


def applescript_line(event: Event) -> str:
    """Return the request as one line of AppleScript."""
    return f"tell application id {text_literal(event.app)} to {_format_statement(event)}"


def _format_statement(event: Event) -> str:
    target = _format_specifier(event.target)
    more = "".join(
        f" {_format_word(name, 'class')} {_format_literal(value)}" for name, value in event.more
    )
    columns = [_format_word(column.jxa, "property") for column in event.columns if column.jxa]
    match event.op:
        case "set":
            names = [f"{_format_word(name, 'property')} of {target}" for name, _ in event.named]
            values = [_format_literal(value) for _, value in event.named]
            return f"set {_format_list(names)} to {_format_list(values)}"
        case "count":
            return f"count {target}{more}"
        case "properties":
            return f"get properties of {target}{more}"
        case "columns" | "list" if columns:
            return f"get {_format_list(columns)} of {target}{more}"
        case "command":
            word = event.command if _COMMAND.fullmatch(event.command) else f"«event {event.code}»"
            direct = "" if isinstance(event.direct, Absent) else f" {_format_literal(event.direct)}"
            named = (
                f" {_format_word(name, 'class')} {_format_literal(value)}"
                for name, value in event.named
            )
            return f"{word}{direct}{''.join(named)}"
    return f"get {target}{more}"


def _format_list(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{{{', '.join(parts)}}}"


def _format_word(name: str, kind: str) -> str:
    word = name.word if isinstance(name, Term) else name
    code = name.code if isinstance(name, Term) else ""
    return word if _PLAIN.fullmatch(word) or not code else f"«{kind} {code}»"


def _format_specifier(steps: tuple[Step, ...]) -> str:
    """Return an object, the innermost first: `name of notes 1 thru 2 of folder 1`."""
    here = holder = kind = ""
    for step in steps:
        of, item = (f" of {text}" if text else "" for text in (holder, here))
        match step:
            case PropertyStep(name):
                here, kind = f"{_format_word(name, 'property')}{item}", ""
                continue
            case AllElements(name):
                holder, kind = here, _format_word(name, "class")
                here = f"every {kind}{item}"
                continue
            case RelativeTo(way, name):
                here, kind = f"{_format_word(name, 'class')} {_RELATIVE_WORDS[way]} {here}", ""
                continue
            case Boundary(place):
                return f"{place} {here}" if place in ("before", "after") else f"{place}{item}"
        if not kind:
            kind, of = "item", item
        here, kind = _format_selector(step, kind) + of, ""
    return here or "it"


def _format_selector(step: Step, kind: str) -> str:
    match step:
        case ByIndex(index):
            return f"{kind} {index if index < 0 else index + 1}"
        case ByName(name):
            return f"{kind} {text_literal(name)}"
        case ById(ident):
            return f"{kind} id {text_literal(ident) if isinstance(ident, str) else ident}"
        case MiddleOrSome(which):
            return f"{which} {kind}"
        case Span(start, stop):
            first, last = start or 0, -1 if stop is None else stop - 1
            ends = (at if at < 0 else at + 1 for at in (first, last))
            return f"{kind}s {' thru '.join(map(str, ends))}"
        case Whose(test):
            return f"every {kind} whose {_format_condition(test)}"
    return kind


def _format_condition(test: Filter) -> str:
    if isinstance(test, Compare):
        said = _OPERATOR_WORDS.get(test.operator, test.operator)
        return f"{_format_specifier(test.path)} {said} {_format_literal(test.value)}"
    parts = [f"({_format_condition(part)})" for part in test.tests]
    return f"not ({' or '.join(parts)})" if test.word == "not" else f" {test.word} ".join(parts)


def _format_literal(value: Value) -> str:
    match value:
        case None:
            return "missing value"
        case bool():
            return str(value).lower()
        case Term():
            return _format_word(value, "constant" if value.form == "enum" else "class")
        case str():
            return text_literal(value)
        case int() | float():
            return str(value)
        case PathValue(path):
            return f"(POSIX file {text_literal(path)})"
        case DateValue():
            return f"(date {text_literal(value.iso)})"
        case RefValue(steps):
            return _format_specifier(steps)
        case RecordValue(fields):
            return (
                "{"
                + ", ".join(
                    f"{_format_word(k, 'property')}:{_format_literal(v)}" for k, v in fields
                )
                + "}"
            )
        case Rgb():
            return f"{{{', '.join(str(round(part * 65535)) for part in value)}}}"
    return f"{{{', '.join(map(_format_literal, value))}}}"
