"""Which requests go out as raw Apple events, by code: what JXA cannot say, or says wrong.

By rule, never by taste: more time than the two minutes that JXA gives an event; ranges, the middle,
relative positions and places beside an object, which JXA has no form for; names that JXA keeps for
itself, or spells in a way that nobody confirmed; parameters that an app's get or count declares.
A name that no table declares has no code, so what needs it stays with JXA, or is refused.

A request that JXA has no form for is also written as one line of AppleScript: for reading, never
run. Words are the dictionary's where they are plain, else codes in chevrons.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, Final

from iac_base.errors import InvalidParameterError
from iac_base.text import text_literal
from iac_runtime.language.steps import (
    Absent,
    AllElements,
    Boundary,
    ById,
    ByIndex,
    ByName,
    Compare,
    DateValue,
    Event,
    EventOp,
    Filter,
    MiddleOrSome,
    PathValue,
    PropertyStep,
    RawForm,
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
from iac_runtime.language.terms import CLASS_PROPERTY
from iac_runtime.language.text import (
    KEPT_NAMES,
    code_number,
    format_reference,
    four_number,
    jxa_line,
)
from iac_runtime.tools.tables import Tables

JXA_SECONDS: Final = 120.0
"""What JXA waits for an event (AppleScript Language Guide, `with timeout`)."""

_OPERATIONS: Final = ("command", "get", "properties", "columns", "set", "list", "count")
PLAIN: Final = frozenset({"text", "date", "integer", "number", "real", "boolean"})
"""Types whose values are the same however they are asked for."""

_ODD: Final = re.compile(r"[^A-Za-z0-9 ]|^[0-9]|^[a-z]+[A-Z]")
"""Terms whose name in JXA nobody confirmed: other characters, or capitals inside the first word."""


def choose_wire_form(event: Event, tables: Tables, seconds: float) -> Event:
    """Return a request as it is sent: as JXA says it, or raw.

    Raises:
        InvalidParameterError: Only a raw event could say it, and a name in it has no code.
    """
    if event.parts:
        parts = tuple(choose_wire_form(part, tables, seconds) for part in event.parts)
        return replace(event, parts=parts)
    if event.op not in _OPERATIONS:
        return event
    found = list(_iterate_parts((event.target, event.direct, event.named, event.more)))
    only = [part for part in found if has_no_jxa(part)]
    if event.writes and MiddleOrSome("some") in only:
        raise InvalidParameterError(
            ".some names a different object each time.",
            "Read it with get, and use the reference in the answer.",
        )
    names = [part.name for part in found if isinstance(part, PropertyStep | AllElements)]
    names += [column.jxa for column in event.columns] + [row.jxa for row in event.order]
    names += [event.id_column, event.name_column]
    given = [name for name, _ in event.named + event.more]
    # Parameters are keys of an object, where no name clashes; what is set is a property.
    clash = not KEPT_NAMES.isdisjoint([*names, *(given if event.op == "set" else ())])
    names += given
    reason = (
        only
        or event.more
        or seconds > JXA_SECONDS
        or clash
        or any(map(_is_unconfirmed_name, names))
    )
    if not reason:
        return event
    bare = [name for name in names if name and not code_number(name)]
    if event.kind == "application" and not bare:
        return replace(event, raw=RawForm(seconds, *_names_by_code(tables)))
    if only:
        form = format_reference((only[0],))
        what = f"no code is known for {bare[0]}" if bare else "additions take none"
        raise InvalidParameterError(
            f"JavaScript for Automation has no form for {form}, and {what}.",
            "Read the list, and use the references in it.",
        )
    return event


def compose_read(
    op: EventOp, target: tuple[Step, ...], tables: Tables, seconds: float, **more: Any
) -> Event:
    """Return a request of IAC's own that reads, in the form in which it is sent."""
    app = tables.app
    read = Event(app.id, app.kind, op, "", target=target, writes=False, **more)
    if op == "count" and isinstance(target[-1], Whose):
        read = with_read_plan(read, tables, seconds)
    return choose_wire_form(read, tables, seconds)


def join_reads(reads: Iterable[Event], tables: Tables) -> Event:
    """Return reads of one app as one request, which does not start it."""
    app, parts = tables.app, tuple(reads)
    return Event(app.id, app.kind, "each", "", parts=parts, writes=False, may_launch=False)


def as_raw_event(event: Event, tables: Tables, seconds: float) -> Event | None:
    """Return a request as a raw event whatever the rule says; None where a code is missing."""
    parts = _iterate_parts((event.target, event.direct, event.named))
    names = [part.name for part in parts if isinstance(part, PropertyStep | AllElements)]
    names += [name for name, _ in event.named]
    if event.kind != "application" or not all(map(code_number, names)):
        return None
    return replace(event, raw=RawForm(seconds, *_names_by_code(tables)))


def with_read_plan(event: Event, tables: Tables, seconds: float) -> Event:
    """Return a list or a count with what a plan of its reads needs.

    That is what reads cost, and the codes by which a part can be read: JXA has no form for that.
    """
    from iac_runtime.tools.field import read_costs

    steps = [step for step in event.target if isinstance(step, PropertyStep | AllElements)]
    plural = steps[-1].name
    if event.kind != "application" or not isinstance(plural, Term):
        return event
    costs = {**read_costs(event.app, plural.word)}
    names = {row.term: row.jxa for row in tables.properties(plural.word)}
    for key in ("heavy", "stalls"):
        if key in costs:
            costs[key] = {names[name]: ms for name, ms in costs[key].items() if name in names}
    event = replace(event, costs=costs)
    if not event.id_column or not all(code_number(step.name) for step in steps):
        return event
    properties, words = _plain_by_code(plural, tables)
    # What has no ranges leaves time to read it whole.
    return replace(event, ranges=RawForm(seconds / 2, properties, {}, words))


@lru_cache(maxsize=64)
def _plain_by_code(plural: Term, tables: Tables) -> tuple[dict[int, str], dict[int, str]]:
    """Return the plain properties of a class, by code, and the words that they can have."""
    rows = [
        row
        for row in tables.properties(plural.word)
        if row.type in PLAIN or row.type in tables.enums
    ]
    kinds = {row.type for row in rows if row.type in tables.enums}
    words = {four_number(code): name for kind in kinds for name, code in tables.enums[kind]}
    return {four_number(row.code): row.jxa for row in rows}, words


def request_line(event: Event) -> str:
    """Return the request as one line to read: JXA, or AppleScript where JXA has no form for it."""
    said = (event.target, event.direct, event.named, event.more)
    if event.raw is not None and any(map(has_no_jxa, _iterate_parts(said))):
        return applescript_line(event)
    return jxa_line(event)


def has_no_jxa(part: Any) -> bool:
    """Say whether JXA has no form for a step."""
    if isinstance(part, Boundary):
        return part.place in ("before", "after")
    return isinstance(part, Span | MiddleOrSome | RelativeTo)


def _iterate_parts(value: Any) -> Iterator[Any]:
    """Yield every step, filter and value in `value`."""
    if isinstance(value, tuple):
        for part in value:
            yield from _iterate_parts(part)
    elif is_dataclass(value):
        yield value
        for row in fields(value):
            yield from _iterate_parts(getattr(value, row.name))


def _is_unconfirmed_name(name: str) -> bool:
    # What the dictionary calls otherwise, and JXA id, every object answers.
    return isinstance(name, Term) and name != "id" and bool(_ODD.search(name.word))


@lru_cache(maxsize=64)
def _names_by_code(tables: Tables) -> tuple[dict[int, str], dict[int, str], dict[int, str]]:
    """Return what the codes of an app mean: properties, elements, words; the first of each wins."""
    properties = {four_number(CLASS_PROPERTY.code): CLASS_PROPERTY.jxa}
    elements: dict[int, str] = {}
    words: dict[int, str] = {}
    for row in tables.classes.values():
        elements.setdefault(four_number(row.code), row.plural)
        words.setdefault(four_number(row.code), row.jxa)
    rows = [prop for kind in tables.classes.values() for prop in kind.properties]
    rows += [prop for kind in tables.records.values() for prop in kind.properties]
    for prop in rows:
        properties.setdefault(four_number(prop.code), prop.jxa)
    for enumerators in tables.enums.values():
        for name, code in enumerators:
            words.setdefault(four_number(code), name)
    return properties, elements, words


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
