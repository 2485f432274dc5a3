"""From what was read around a write to its outcome, by what the write was."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from iac_base.text import clean_text
from iac_runtime.execution.answers import SurroundingAnswers
from iac_runtime.language.reader import canonical_reference, without_filter
from iac_runtime.language.steps import ById, ByIndex, ByName
from iac_runtime.language.text import format_reference
from iac_runtime.outcomes.outcome import (
    Outcome,
    State,
    due_value,
    is_gone,
    outcome_of_values,
    record_of,
    short_value,
    short_values,
    whole_of,
)
from iac_runtime.outcomes.read_back import ReadBackPlan, WriteOperation
from iac_runtime.tools.tables import Tables

Row = dict[str, Any]

LOST: Final = Outcome("unknown", says="the answer was lost")

_LATE: Final = "the app acknowledged it, but there was no time to read it back"


def compare_reads(
    watch: ReadBackPlan, value: Any, reads: SurroundingAnswers | None, tables: Tables
) -> Outcome:
    """Return the outcome of a write.

    Args:
        watch: What was to be read.
        value: What the write answered, in the form of the harness.
        reads: What was read; None where nothing was, nothing after it where there was no time.
        tables: Those of the app.
    """
    if watch.says or not watch.around.after:
        return Outcome("unknown", says=watch.says)
    if reads is None:
        return LOST
    if not reads.after:
        return Outcome("unknown", unread_reference(watch, value, reads, tables), says=_LATE)
    if len(reads.before) < len(watch.around.before):
        return Outcome("unknown", says=_failure_reason(reads) or "it could not be read back")
    return _JUDGES[watch.operation](watch, value, reads, tables)


def object_reference(watch: ReadBackPlan, row: Mapping[str, Any] | None, key: Any = None) -> str:
    """Return the reference of the object of a watch, by the id that was read of it."""
    steps, ident = watch.target, watch.ident
    found = key if key is not None or ident is None else (row or {}).get(ident.term)
    if not steps or not isinstance(found, str | int):
        return format_reference(steps)
    if watch.many:
        return format_reference((*without_filter(steps), ById(found)))
    if isinstance(steps[-1], ByName) or (watch.has_id and isinstance(steps[-1], ByIndex)):
        step = ById(found) if watch.has_id else ByName(str(found))
        return format_reference((*without_filter(steps[:-1]), step))
    return format_reference(steps)


def unread_reference(
    watch: ReadBackPlan, value: Any, reads: SurroundingAnswers | None, tables: Tables
) -> str:
    """Return the reference of the object of a write that was not read back."""
    if watch.operation in ("make", "copy"):
        return made_reference(value, tables)
    before = record_of(reads.before[0]) if reads is not None and reads.before else None
    return "" if watch.many else object_reference(watch, before and expected(watch, before))


def expected(watch: ReadBackPlan, before: Row) -> Row:
    """Return what is known of an object that was not read back: its key, and what was wanted."""
    key = {watch.ident.term: before.get(watch.ident.term)} if watch.ident else {}
    return key | {row.term: due_value(row, before) for row in watch.wanted}


def rows_of(
    watch: ReadBackPlan, reads: SurroundingAnswers
) -> list[tuple[str, Row | None, Row | None]]:
    """Return each object of a set: its reference, and its properties before and after."""
    if not watch.many:
        before, after = (record_of(one[0]) if one else None for one in reads)
        return [
            (object_reference(watch, after or (before and expected(watch, before))), before, after)
        ]
    listing = reads.before[0].get("list") if reads.before else None
    if not isinstance(listing, dict) or listing.get("by") != "id":
        return []
    labels = [column.label for column in watch.around.before[0].columns]
    # Where there was no time, none was read back.
    answers = reads.after or ({},) * len(listing["rows"])
    return [
        (object_reference(watch, None, key), dict(zip(labels, row, strict=True)), record_of(answer))
        for (key, _, row), answer in zip(listing["rows"], answers, strict=False)
    ]


def _judge_set(
    watch: ReadBackPlan, _value: Any, reads: SurroundingAnswers, tables: Tables
) -> Outcome:
    rows = rows_of(watch, reads)
    if not rows:
        return Outcome("unknown", says=_failure_reason(reads) or "its objects could not be listed")
    found = outcome_of_values(watch.wanted, [row[1:] for row in rows], tables, watch.unread)
    total = reads.before[0]["list"]["total"] if watch.many else 1
    says, state = found.says, found.state
    if total > len(rows):
        says = "; ".join(filter(None, (says, f"{total - len(rows)} more were not read back")))
        state = "partial"
    if state == "unknown":
        says = _failure_reason(reads) or says
    ref = rows[0][0] if len(rows) == 1 else ""
    return Outcome(state, ref, found.read, says)


def made_reference(value: Any, tables: Tables) -> str:
    """Return the reference that a write answered with; empty where it is none."""
    known = isinstance(value, dict) and "ref" in value
    return canonical_reference(value["ref"], value.get("id"), tables) if known else ""


def _judge_make(
    watch: ReadBackPlan, value: Any, reads: SurroundingAnswers, tables: Tables
) -> Outcome:
    ref = made_reference(value, tables)
    row = whole_of(reads.after[0], watch.around.after[0])
    if row is None:
        why = _failure_reason(reads) if ref else "the app named no new object"
        return Outcome("unknown", ref, says=why)
    if not watch.wanted:
        state: State = "partial" if watch.unread else "confirmed"
        says = f"{', '.join(watch.unread)} cannot be read back" if watch.unread else ""
        return Outcome(state, ref, says=says)
    found = outcome_of_values(watch.wanted, [(None, row)], tables, watch.unread)
    # It is there, whatever it holds.
    state = "confirmed" if found.state == "confirmed" else "partial"
    return Outcome(state, ref, found.read, found.says)


def _judge_delete(
    watch: ReadBackPlan, _value: Any, reads: SurroundingAnswers, tables: Tables
) -> Outcome:
    if watch.many:
        left, was = (one[0].get("value") for one in (reads.after, reads.before))
        if was == 0:
            return Outcome("unchanged", says="there was none")
        if left == 0:
            return Outcome("confirmed")
        if not isinstance(left, int) or not isinstance(was, int):
            return Outcome("unknown", says=_failure_reason(reads))
        return Outcome("unchanged" if left == was else "partial", says=f"{left} of {was} are left")
    if len(reads.after) > 1:
        there, every = [one for one in reads.after if not is_gone(one, tables)], len(reads.after)
        if not all(one.get("ok") for one in there):
            return Outcome("unknown", says=_failure_reason(reads))
        says = f"{len(there)} of {every} are still there" if there else ""
        state: State = "unchanged" if len(there) == every else "partial" if there else "confirmed"
        return Outcome(state, says=says)
    answer = next(iter(reads.after))
    before, after = record_of(reads.before[0]), record_of(answer)
    ref = object_reference(watch, before)
    if before is not None and is_gone(answer, tables):
        return Outcome("confirmed", ref)
    if before is None or after is None:
        return Outcome("unknown", ref, says=_failure_reason(reads))
    return _judge_remaining(watch, ref, before, after, tables, "it is still there")


def _judge_remaining(
    watch: ReadBackPlan, ref: str, before: Row, after: Row, tables: Tables, otherwise: str
) -> Outcome:
    """Return the outcome for an object that can still be read: it may lie in another place now."""
    term = watch.container.term if watch.container else ""
    now = after.get(term)
    if term and now is not None and now != before.get(term):
        return Outcome("confirmed", ref, {term: short_value(now, tables)})
    if watch.ident is not None and not watch.has_id:
        return Outcome("unknown", ref, says=f"something with that name is there: {otherwise}")
    return Outcome("unchanged", ref, says=otherwise)


def _judge_move(
    watch: ReadBackPlan, value: Any, reads: SurroundingAnswers, tables: Tables
) -> Outcome:
    before = record_of(reads.before[0])
    old, *there = reads.after
    found = next((row for row in map(record_of, reversed(there)) if row is not None), None)
    ref = moved_reference(watch, value, reads, tables)
    if before is None:
        return Outcome("unknown", ref, says=_failure_reason(reads))
    after = record_of(old)
    if found is not None and (after is None or ref == object_reference(watch, before)):
        term = watch.container.term if watch.container else ""
        where = {} if found.get(term) is None else {term: short_value(found[term], tables)}
        return Outcome("confirmed", ref, where)
    if after is None:
        gone = "it is gone from there, and its new place is unknown"
        return Outcome(
            "unknown", ref, says=gone if is_gone(old, tables) else _failure_reason(reads)
        )
    outcome = _judge_remaining(watch, ref, before, after, tables, "it is still where it was")
    moved = found is not None and watch.container is None
    return Outcome("confirmed", ref) if moved else outcome


def moved_reference(
    watch: ReadBackPlan, value: Any, reads: SurroundingAnswers, tables: Tables
) -> str:
    """Return the reference of an object that was moved, where it is now."""
    if made := made_reference(value, tables):
        return made
    before, ident = record_of(reads.before[0]) if reads.before else None, watch.ident
    if before is not None and ident is not None and len(reads.after) > 2:
        key, place = before.get(ident.term), watch.around.after[2].target[:-1]
        if record_of(reads.after[2]) is not None and isinstance(key, str | int):
            step = ById(key) if watch.has_id else ByName(str(key))
            return format_reference((*place, step))
    return object_reference(watch, before)


def _judge_command(
    watch: ReadBackPlan, _value: Any, reads: SurroundingAnswers, tables: Tables
) -> Outcome:
    if watch.known.get("gone"):
        ref = object_reference(watch, record_of(reads.before[0]))
        if is_gone(reads.after[0], tables):
            return Outcome("confirmed", ref)
        return Outcome("unknown", ref, says=_failure_reason(reads) or "it is still there")
    if watch.wanted:
        found = outcome_of_values(watch.wanted, [row[1:] for row in rows_of(watch, reads)], tables)
        return Outcome(found.state, format_reference(watch.target), found.read, found.says)
    asked, *ends = reads.before
    wanted = record_of(asked) or {}
    ident = next((c.label for c in watch.around.after[0].columns), "")
    old = [row.get(ident) for row in map(record_of, ends) if row]
    for row in map(record_of, reads.after) if wanted else ():
        if row and row.get(ident) not in old and row.items() >= wanted.items():
            return Outcome("confirmed", read=short_values(wanted, tables))
    return Outcome("unknown", says=f"it has not appeared in {watch.known['among']} yet")


def _failure_reason(reads: SurroundingAnswers) -> str:
    """Return why a read failed, in the app's own words."""
    failed = next((one for one in (*reads.after, *reads.before) if not one.get("ok")), {})
    if failed.get("late"):
        return _LATE
    said = clean_text(str(failed.get("message", "")))[:200]
    return f"it could not be read back: {said}" if said else ""


_JUDGES: Final[
    Mapping[WriteOperation, Callable[[ReadBackPlan, Any, SurroundingAnswers, Tables], Outcome]]
] = {
    "set": _judge_set,
    "make": _judge_make,
    "copy": _judge_make,
    "delete": _judge_delete,
    "move": _judge_move,
    "command": _judge_command,
}
