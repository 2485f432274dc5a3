"""What came of a write, by what was read before and after it; values compared by declared type.

An app may round what it is given, spell it otherwise, or refuse it without a word: what it made of
it is what counts, and is told. What cannot be told is `unknown`, never taken for done.
"""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from iac_base.errors import quote_text
from iac_base.words import fold_name
from iac_runtime.language.reader import answer_to_python
from iac_runtime.language.steps import (
    AppendedText,
    DateValue,
    Event,
    PathValue,
    RecordValue,
    RefValue,
    Value,
)
from iac_runtime.language.text import format_reference
from iac_runtime.policy.places import path_identity
from iac_runtime.tools.field import gone_numbers
from iac_runtime.tools.tables import Tables
from iac_runtime.types import HTML_TEXT, parse_type

State: TypeAlias = Literal["confirmed", "unchanged", "partial", "unknown"]
"""`confirmed`: read back, and as wanted. `unchanged`: the app answered, and nothing changed.
`partial`: in part, or something of a read is missing. `unknown`: it cannot be told."""

GONE: Final = (-1728, -1719, -10006)
"""What any app answers of an object that is not there; some have a number of their own."""

_TEXT: Final = 120
"""Characters of one value that an outcome shows."""

_SHOWN: Final = 8
"""Properties of one object that an outcome shows, and objects that it names."""

_NEAR: Final = 2e-5
"""By so much colours and other real numbers may differ: apps keep them in 16 bits, or singly."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call, as far as it was read back.

    Attributes:
        state: What is known.
        reference: The object, by its id where it has one; empty where there is none, or several.
        read: Term -> what was read of it afterwards.
        says: What is otherwise or missing, one line; empty where nothing is.
        call: Its number in the history, for `undo_call` and `outcome`; 0 where it is not kept.
        undo: Why it cannot be taken back, or not whole; empty where it can, or nothing is kept.
    """

    state: State
    reference: str = ""
    read: Mapping[str, Any] = field(default_factory=dict)
    says: str = ""
    call: int = 0
    undo: str = ""

    def facts(self) -> dict[str, Any]:
        """Return it as one JSON object; what is not known is left out."""
        rows = ("state", self.state), ("ref", self.reference), ("read", dict(self.read))
        more = ("says", self.says), ("call", self.call), ("undo", self.undo)
        return {name: value for name, value in (*rows, *more) if value}


class ExpectedValue(NamedTuple):
    """A property, its declared type, and what it should be, in the form of the harness."""

    term: str
    type: str
    value: Any


def harness_value(value: Value) -> Any:
    """Return a value as the harness would answer it; a reference as its text."""
    match value:
        case DateValue():
            return {"date": value.iso}
        case PathValue(path):
            return {"path": path}
        case RefValue(steps):
            return {"ref": format_reference(steps)}
        case RecordValue(fields):
            return {"record": [[str(key), harness_value(part)] for key, part in fields]}
        case tuple():
            return [harness_value(part) for part in value]
        case AppendedText():
            return {"append": str(value)}
        case str():
            return str(value)
    return value


def values_match(wanted: Any, got: Any, kind: str, tables: Tables) -> bool | None:
    """Say whether an app has what it was given; None where the two cannot be compared.

    Args:
        wanted, got: In the form of the harness.
        kind: The declared type.
    """
    if wanted is None or got is None:
        return (wanted or None) is None and (got or None) is None
    if isinstance(wanted, list) and isinstance(got, list):
        if len(wanted) != len(got):
            return False
        return _all_match(
            values_match(*pair, kind, tables) for pair in zip(wanted, got, strict=True)
        )
    if isinstance(wanted, dict):
        return _same_tagged(wanted, got, tables) if isinstance(got, dict) else None
    if isinstance(wanted, bool) or isinstance(got, bool):
        return wanted == got if isinstance(got, bool | int) else None
    if isinstance(wanted, int | float) and isinstance(got, int | float):
        near = _NEAR if isinstance(wanted, float) or isinstance(got, float) else 0.0
        return wanted == got or math.isclose(wanted, got, rel_tol=1e-6, abs_tol=near)
    if isinstance(wanted, str) and isinstance(got, str):
        if kind == HTML_TEXT:
            from iac_runtime.language.html_text import says_the_same

            return says_the_same(wanted, got)
        return _normalize_text(wanted) == _normalize_text(got) or (
            _is_word(kind, tables) and fold_name(wanted) == fold_name(got)
        )
    return str(wanted) == str(got) if isinstance(got, str | int | float) else None


def _same_tagged(wanted: Mapping[str, Any], got: Mapping[str, Any], tables: Tables) -> bool | None:
    if "date" in wanted and isinstance(got.get("date"), str):
        moments = [datetime.fromisoformat(one["date"]) for one in (wanted, got)]
        return abs((moments[0] - moments[1]).total_seconds()) < 1
    if "path" in wanted and "path" in got:
        return path_identity(wanted["path"]) == path_identity(got["path"])
    if "ref" in wanted and "ref" in got:
        # One object has several names.
        return True if wanted["ref"] == str(answer_to_python(dict(got), tables, {})) else None
    if "record" in wanted and "record" in got:
        fields = {fold_name(key): part for key, part in got["record"]}
        return _all_match(
            values_match(part, fields.get(fold_name(key)), "any", tables)
            for key, part in wanted["record"]
        )
    return None


def _all_match(parts: Any) -> bool | None:
    found = list(parts)
    return False if False in found else None if None in found else True


def _normalize_text(text: str) -> str:
    return unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n")


def _is_word(kind: str, tables: Tables) -> bool:
    """Say whether a type is of words: enumerators and classes are spelled in several ways."""
    names = {part.name for part in parse_type(kind)}
    return any(name in tables.enums or name in ("class", "type", "type class") for name in names)


def due_value(row: ExpectedValue, before: Mapping[str, Any]) -> Any:
    """Return what a property of an object should be, by what it was before."""
    more = row.value.get("append") if isinstance(row.value, dict) else None
    return row.value if more is None else f"{before.get(row.term) or ''}{more}"


def record_of(answer: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a read of an object's properties gave, by label; None where it gave none."""
    value = answer.get("value")
    if not answer.get("ok") or not isinstance(value, Mapping) or "record" not in value:
        return None
    return dict(value["record"])


def whole_of(answer: Mapping[str, Any], read: Event) -> dict[str, Any] | None:
    """Return all that was read of an object, by term; None where nothing was."""
    row = record_of(answer)
    labels: dict[str, str] = {}
    for column in read.columns:
        # `properties` names them as JXA does, `columns` as they were asked for.
        labels |= {column.jxa: column.label, column.label: column.label}
    return None if row is None else {labels[key]: row[key] for key in row if key in labels}


def is_gone(answer: Mapping[str, Any], tables: Tables) -> bool:
    """Say whether a read was answered by that there is no such object, as its app says that."""
    number = None if answer.get("ok") else answer.get("number")
    return number in GONE or (number is not None and number in gone_numbers(tables.app.id))


def short_value(value: Any, tables: Tables) -> Any:
    """Return a value of the harness for an outcome: plain, and not long."""
    found = answer_to_python(value, tables, {}) if isinstance(value, list | dict) else value
    if isinstance(found, str) and len(found) > _TEXT:
        return f"{found[:_TEXT]}…"
    if isinstance(found, list | dict) and len(str(found)) > _TEXT:
        return f"{len(found)} parts"
    return str(found) if isinstance(found, str) else found


def short_values(record: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
    """Return what a record has, each value short."""
    known = ((term, value) for term, value in record.items() if value is not None)
    return {term: short_value(value, tables) for term, value in known}


def outcome_of_values(
    wanted: Sequence[ExpectedValue],
    rows: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]],
    tables: Tables,
    unread: Sequence[str] = (),
) -> Outcome:
    """Return the outcome of giving objects values.

    Args:
        wanted: The properties that can be read back.
        rows: What was read of each object before and after, by term; None where it failed.
        unread: The properties that cannot be.
    """
    verdicts: dict[str, bool | None] = {}
    unchanged, lost = True, 0
    otherwise: dict[str, tuple[Any, Any]] = {}
    for before, after in rows:
        if after is None:
            lost += 1
            continue
        for row in wanted:
            due = due_value(row, before or {})
            right = values_match(due, after.get(row.term), row.type, tables)
            verdicts[row.term] = _all_match((verdicts.get(row.term, True), right))
            if right is False:
                otherwise.setdefault(row.term, (after.get(row.term), due))
            unchanged &= before is not None and before.get(row.term) == after.get(row.term)
    says = [
        f"{term} is {_quoted_value(got, tables)}, not {_quoted_value(due, tables)}"
        for term, (got, due) in list(otherwise.items())[:_SHOWN]
    ]
    blind = [*(term for term, right in verdicts.items() if right is None), *unread]
    says += [f"{', '.join(blind[:_SHOWN])} cannot be read back"] if blind else []
    says += [f"{lost} of {len(rows)} objects could not be read back"] if lost else []
    state: State = "partial" if otherwise or blind or lost else "confirmed"
    if True not in verdicts.values():
        wrong = bool(verdicts) and None not in verdicts.values() and not unread and not lost
        state = "unchanged" if wrong and unchanged else "partial" if otherwise else "unknown"
    elif not rows:
        state = "unknown"
    read = {}
    if len(rows) == 1 and rows[0][1] is not None:
        shown = ((row, rows[0][1].get(row.term)) for row in wanted[:_SHOWN])
        read = {row.term: short_value(_readable(got, row.type), tables) for row, got in shown}
    return Outcome(state, read=read, says="; ".join(says))


def _readable(value: Any, kind: str) -> Any:
    """Return what a text that is kept as HTML says; any other value as it is."""
    if kind != HTML_TEXT or not isinstance(value, str):
        return value
    from iac_runtime.language.html_text import plain_text

    return plain_text(value)


def _quoted_value(value: Any, tables: Tables) -> str:
    found = short_value(value, tables)
    if isinstance(found, str):
        return quote_text(found, _TEXT)
    return "nothing" if found is None else str(found)


def combined_outcome(outcomes: Sequence[Outcome | None]) -> Outcome | None:
    """Return the outcome of several calls, each with its number among them; None of none."""
    known = [(at, one) for at, one in enumerate(outcomes, 1) if one is not None]
    if not known:
        return None
    states: set[State] = {one.state for _, one in known}
    state: State = known[0][1].state if len(states) == 1 else "partial"
    odd = [f"call {at}: {one.state}" for at, one in known if one.state != "confirmed"]
    says = "; ".join(odd[:_SHOWN]) if state == "partial" else ""
    return Outcome(state, says=says, call=known[-1][1].call)
