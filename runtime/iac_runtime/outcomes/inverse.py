"""How a write is taken back: the calls that do it, and how the object must be for them to run.

What is kept is data: tools with arguments, which go through the gate as any other call, and what
was read of each object after the write. Where something is otherwise by then, nothing is sent.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from iac_base.errors import InvalidParameterError, ToolError
from iac_base.secrets import without_secrets
from iac_runtime.execution.answers import SurroundingAnswers
from iac_runtime.language.reader import (
    AppReader,
    answer_to_python,
    read_known_reference,
    read_shown_reference,
)
from iac_runtime.language.steps import ById, ByName, PropertyStep, Step
from iac_runtime.language.terms import find_properties
from iac_runtime.language.text import format_reference
from iac_runtime.outcomes.compare import expected, made_reference, moved_reference, rows_of
from iac_runtime.outcomes.outcome import (
    Outcome,
    harness_value,
    is_gone,
    record_of,
    short_value,
    short_values,
    values_match,
    whole_of,
)
from iac_runtime.outcomes.read_back import (
    ReadBackPlan,
    effect_of,
    is_stamp,
    linked_properties,
    parts_of,
)
from iac_runtime.policy.facts import Undo
from iac_runtime.tool import Level, Spec
from iac_runtime.tools.tables import Tables

LARGEST: Final = 200_000
"""Characters of JSON that are kept of one call."""

_MOST_LEFT: Final = 40
"""Properties of a new object that must be as they were for it to be deleted again."""

_SENTENCES: Final = {
    "set": "Yes, for a week: the old values are kept and can be restored.",
    "make": "Yes, for a week: it can be deleted again, unless it changes.",
    "move": "Yes, for a week: it can be moved back.",
    "trash": "It can be moved back for a week.",
    "copy": "No: it is gone, but IAC keeps what it could read for a week.",
    "meanwhile": "In part: it can be deleted again, but its effects until then stay.",
}


class StateToCheck(NamedTuple):
    """How a call left an object: reference, class, properties as the harness answers, counts."""

    reference: str
    kind: str
    values: tuple[tuple[str, Any], ...]
    counts: tuple[tuple[str, int], ...] = ()


class InverseCall(NamedTuple):
    """One call that takes a write back: tool, arguments, how its object must be, what is told."""

    tool: str
    arguments: Mapping[str, Any]
    state: StateToCheck
    says: str


@dataclass(frozen=True, slots=True)
class Inverse:
    """The calls that take a write back, in order.

    Attributes:
        steps: The calls; none where nothing can be done.
        copy: What is known of an object that is gone for good, by term.
        says: What they cannot do; empty where they do all.
    """

    steps: tuple[InverseCall, ...] = ()
    copy: Mapping[str, Any] | None = None
    says: str = ""


def inverse_of(
    watch: ReadBackPlan,
    outcome: Outcome,
    value: Any,
    reads: SurroundingAnswers | None,
    tables: Tables,
) -> Inverse:
    """Return how a write is taken back; without steps it says why it cannot be."""
    if watch.says:
        return Inverse(says=watch.says)
    if reads is None:
        return Inverse(says="the old value could not be read")
    if outcome.state == "unchanged":
        return Inverse(says="nothing was changed")
    makers = {
        "set": _undo_set,
        "make": _undo_make,
        "copy": _undo_make,
        "move": _undo_move,
        "delete": _undo_delete,
    }
    maker = makers.get(watch.operation)
    inverse = (
        maker(watch, value, reads, tables)
        if maker
        else Inverse(says="IAC does not know how to undo it")
    )
    if isinstance(inverse, str):
        inverse = Inverse(says=inverse)
    text = json.dumps([inverse.steps, inverse.copy], default=str)
    if len(text) > LARGEST:
        return Inverse(says="the old value is too large to keep")
    held = json.loads(text)
    if inverse.steps and without_secrets(held) != held:
        return Inverse(says="it contains something like a secret, which is not kept")
    return inverse


def tool_named(tables: Tables, *, op: str = "command", event: str = "") -> tuple[str, Spec] | None:
    """Return the tool of an app that is an object tool, or a command by its event."""
    for name, spec in tables.tools.items():
        if spec.op == op and not spec.bind and (not event or spec.event == event):
            return f"{tables.key}_{name.rstrip('_')}", spec
    return None


def value_for_caller(value: Any, kind: str, tables: Tables) -> Any:
    """Return a value of the harness as a caller gives it.

    Raises:
        InvalidParameterError: No caller could: it was cut, or comes back as something else.
    """
    if isinstance(value, dict) and ("cut" in value or "opaque" in value):
        raise InvalidParameterError("it has a form that cannot be set")
    if isinstance(value, dict) and "ref" in value and not _is_stable(value, tables):
        raise InvalidParameterError(
            "it is named by a position, which another object may have later"
        )
    plain_value = _plain_value(value, tables)
    read = AppReader(tables).read_value(plain_value, kind, "value", last="item")
    if values_match(harness_value(read), value, kind, tables) is not True:
        raise InvalidParameterError("IAC does not know how to restore it")
    return plain_value


def _plain_value(value: Any, tables: Tables) -> Any:
    found = answer_to_python(value, tables, {})
    if isinstance(value, list):
        return [_plain_value(part, tables) for part in value]
    return str(found) if isinstance(found, str) else found


def _is_stable(value: Any, tables: Tables) -> bool:
    steps = read_shown_reference(value["ref"], value.get("id"), tables)
    # What is named by its part in the app, such as the current track, is another by then.
    return steps is not None and is_stable_reference(steps) and isinstance(steps[-1], ById | ByName)


def is_stable_reference(steps: tuple[Step, ...]) -> bool:
    """Say whether steps name the same object later: by ids and names all the way."""
    picks = [step for step in steps if not hasattr(step, "name") or isinstance(step, ByName)]
    return all(isinstance(step, ById | ByName) for step in picks)


def _why_not_findable(watch: ReadBackPlan, reference: str, tables: Tables) -> str:
    """Return why an object cannot be found again; empty where it can."""
    steps = AppReader(tables, strict=False).read_reference(reference).steps if reference else ()
    last = steps[-1] if steps else None
    if last is None or isinstance(last, ById):
        return ""
    if isinstance(last, PropertyStep):
        known = watch.ident is not None and watch.ident.term != "name"
        return (
            ""
            if known or is_stable_reference(steps)
            else "IAC could not find the object again later"
        )
    return (
        ""
        if is_stable_reference(steps)
        else "the object has no id by which it could be found again"
    )


def _undo_set(
    watch: ReadBackPlan, _value: Any, reads: SurroundingAnswers, tables: Tables
) -> Inverse | str:
    tool = tool_named(tables, op="set")
    if tool is None:
        return "no tool of the app can set it back"
    if watch.unread:
        return f"what {', '.join(watch.unread)} was before cannot be read"
    rows = rows_of(watch, reads)
    if watch.many and reads.before and reads.before[0].get("list", {}).get("total") != len(rows):
        return "there are more objects than are kept"
    target = next((key for key, row in tool[1].params.items() if row.code == "----"), "target")
    steps = []
    for reference, before, after in rows:
        if before is None:
            return "the old value could not be read"
        # What was not read back must be as it was wanted, or an undo sends nothing.
        left = expected(watch, before) if after is None else after
        if why := _why_not_findable(watch, reference, tables):
            return why
        terms = [row.term for row in watch.wanted]
        terms += [term for term in before if term in linked_properties(tables.app.id, watch.kind)]
        values: dict[str, Any] = {}
        told: list[str] = []
        for term in dict.fromkeys(terms):
            if term in left and before[term] == left[term]:
                continue
            rows_ = find_properties((watch.kind,) if watch.kind else None, term, tables)
            kind = " | ".join(dict.fromkeys(row.type for row in rows_)) or "any"
            try:
                values[term] = value_for_caller(before[term], kind, tables)
            except ToolError as error:
                return f"{term} cannot be kept: {error.message}"
            told.append(f"{term} becomes {_value_text(before[term], tables)} again")
        if not values:
            continue
        arguments = {target: reference or "application", "properties": values}
        kept = StateToCheck(reference, watch.kind, _values_to_check(watch, left, values))
        steps.append(InverseCall(tool[0], arguments, kept, "; ".join(told)))
    return Inverse(tuple(steps)) if steps else "nothing was changed"


def _value_text(value: Any, tables: Tables) -> str:
    return json.dumps(short_value(value, tables), ensure_ascii=False, default=str)


def _values_to_check(
    watch: ReadBackPlan, row: Mapping[str, Any], terms: Mapping[str, Any] | None = None
) -> tuple[tuple[str, Any], ...]:
    first = [watch.ident.term] if watch.ident else []
    return tuple(
        (term, row[term]) for term in dict.fromkeys((*first, *(terms or ()))) if term in row
    )


def _undo_make(
    watch: ReadBackPlan, value: Any, reads: SurroundingAnswers, tables: Tables
) -> Inverse | str:
    reference = made_reference(value, tables)
    tool = tool_named(tables, event="coredelo")
    if not reference or watch.ident is None:
        return "the app named no object that could be found again"
    if tool is None:
        return "the app has no command to delete it"
    if why := _why_not_findable(watch, reference, tables):
        return why
    whole = whole_of(reads.after[0], watch.around.after[0]) if reads.after else None
    if whole is None or whole.get(watch.ident.term) is None:
        return "the new object could not be read"
    known = {term: part for term, part in whole.items() if _is_plain(part) and not is_stamp(term)}
    first = watch.ident.term
    kept = {first: whole[first], **dict([*known.items()][:_MOST_LEFT])}
    counts = []
    parts = parts_of(watch.kind, tables)
    for term, answer in zip(parts, reads.after[1:], strict=False):
        if answer.get("ok") and isinstance(answer.get("value"), int):
            counts.append((term, answer["value"]))
    left = StateToCheck(reference, watch.kind, tuple(kept.items()), tuple(counts))
    trash = effect_of("coredelo", tables.app.id, watch.kind, tables).get("trash")
    told = "it is put into the trash" if trash else "it is deleted"
    return Inverse((InverseCall(tool[0], {_direct_parameter(tool[1]): reference}, left, told),))


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= LARGEST // _MOST_LEFT
    return value is None or isinstance(value, bool | int | float)


def _direct_parameter(spec: Spec) -> str:
    return next((key for key, row in spec.params.items() if row.code == "----"), "target")


def _move_back(reference: str, to: str, left: StateToCheck, tables: Tables) -> Inverse | str:
    """Return the call that moves an object to what it lay in."""
    tool = tool_named(tables, event="coremove")
    place = (
        next((key for key, row in tool[1].params.items() if row.code == "insh"), "") if tool else ""
    )
    if tool is None or not place:
        return "the app has no command to move it back"
    arguments = {_direct_parameter(tool[1]): reference, place: to}
    return Inverse((InverseCall(tool[0], arguments, left, f"it goes back to {to}"),))


def _original_place(watch: ReadBackPlan, before: Mapping[str, Any], tables: Tables) -> str:
    """Return what an object lay in, as a reference; empty where that is not known."""
    held = before.get(watch.container.term) if watch.container else None
    if isinstance(held, dict) and "ref" in held:
        shown = read_shown_reference(held["ref"], held.get("id"), tables)
        if shown and is_stable_reference(shown):
            return format_reference(shown)
    steps = watch.target
    # The collection that it was picked from, where more than the app stands before that.
    inner = steps[:-1]
    return format_reference(inner) if len(inner) > 1 and is_stable_reference(inner) else ""


def _undo_move(
    watch: ReadBackPlan, value: Any, reads: SurroundingAnswers, tables: Tables
) -> Inverse | str:
    before = record_of(reads.before[0]) if reads.before else None
    home = _original_place(watch, before, tables) if before is not None else ""
    if not home:
        return "where it was before cannot be told"
    reference = moved_reference(watch, value, reads, tables)
    if not reference or watch.ident is None:
        return "where it is now cannot be told"
    if why := _why_not_findable(watch, reference, tables):
        return why
    row = next((row for row in map(record_of, reversed(reads.after)) if row is not None), None)
    if row is None:
        return f"where it is now cannot be told; it was in {home}"
    held = [watch.container.term] if watch.container else []
    left = StateToCheck(reference, watch.kind, _values_to_check(watch, row, dict.fromkeys(held)))
    return _move_back(reference, home, left, tables)


def _undo_delete(
    watch: ReadBackPlan, value: Any, reads: SurroundingAnswers, tables: Tables
) -> Inverse | str:
    before = record_of(reads.before[0]) if reads.before else None
    if watch.many or len(reads.after) > 1 or before is None or watch.ident is None:
        return "what several objects were before is not kept"
    known = watch.known
    whole = None
    if len(reads.before) > 1:
        whole = whole_of(reads.before[1], watch.around.before[1])
    copy = short_values(whole or {}, tables)
    gone = "it is gone; " if reads.after else ""
    reason = f"{gone}what could be read of it is kept as a copy"
    # An app whose trash keeps the id would have found it.
    lost = "by" not in known and any(map(is_gone, reads.after))
    if (trash := known.get("trash")) and not lost:
        home = _original_place(watch, before, tables)
        by = known.get("by", watch.ident.term)
        key = {**(whole or {}), **before}.get(by)
        if home and isinstance(key, str | int):
            reference = made_reference(value, tables) or _in_trash(trash, by, key, tables)
            left = StateToCheck(reference, watch.kind, ((by, key),))
            move_back = _move_back(reference, home, left, tables)
            if isinstance(move_back, Inverse):
                return move_back
        reason = "it is in the trash, but where it was before cannot be told"
    return Inverse(copy=copy or None, says=reason)


def _in_trash(place: str, by: str, key: str | int, tables: Tables) -> str:
    known_reference = read_known_reference(place, tables)
    if by == "name":
        return format_reference((*known_reference.steps, ByName(str(key))))
    if by == "id":
        return format_reference((*known_reference.steps, ById(key)))
    whose = json.dumps({by: key}, ensure_ascii=False)
    return f"{place}.whose({whose})[0]"


def undo_note(watch: ReadBackPlan, level: Level, tables: Tables, usual: Undo) -> Undo:
    """Return whether a write can be taken back, as far as that can be told before it.

    `usual` is what the table says. What is read then may still stand against it: see the result.
    """
    deed = watch.operation
    if deed == "set" and not watch.says and not watch.unread and tool_named(tables, op="set"):
        return Undo(True, _SENTENCES["set"])
    if deed in ("make", "copy") and not watch.says and tool_named(tables, event="coredelo"):
        dangerous = level == "DANGEROUS"
        return Undo(not dangerous, _SENTENCES["meanwhile" if dangerous else "make"])
    if deed == "move" and not watch.says and tool_named(tables, event="coremove"):
        return Undo(True, _SENTENCES["move"])
    if deed == "delete" and not watch.says and not watch.many:
        if not watch.known.get("trash"):
            return Undo(False, _SENTENCES["copy"])
        if usual.known and tool_named(tables, event="coremove"):
            return Undo(True, f"{usual.description} {_SENTENCES['trash']}")
    return usual
