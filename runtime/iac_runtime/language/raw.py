"""Which requests go out as raw Apple events, by code: what JXA cannot say, or says wrong.

By rule, never by taste: more time than the two minutes that JXA gives an event; ranges, the middle,
relative positions and places beside an object, which JXA has no form for; names that JXA keeps for
itself, or spells in a way that nobody confirmed; parameters that an app's get or count declares.
A name that no table declares has no code, so what needs it stays with JXA, or is refused.
"""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, Final

from iac_base.errors import InvalidParameterError
from iac_runtime.language.applescript import applescript_line
from iac_runtime.language.request import Event, RawForm
from iac_runtime.language.steps import (
    AllElements,
    Boundary,
    MiddleOrSome,
    PropertyStep,
    RelativeTo,
    Span,
    Term,
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


def as_raw_event(event: Event, tables: Tables, seconds: float) -> Event | None:
    """Return a request as a raw event whatever the rule says; None where a code is missing."""
    found = _iterate_parts((event.target, event.direct, event.named))
    names = [part.name for part in found if isinstance(part, PropertyStep | AllElements)]
    names += [name for name, _ in event.named]
    if event.kind != "application" or not all(map(code_number, names)):
        return None
    return replace(event, raw=RawForm(seconds, *_names_by_code(tables)))


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
