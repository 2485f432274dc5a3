"""How a write is taken back: the calls that do it, and how the object must be for them to run.

What is kept is data: tools with arguments, which go through the gate as any other call, and what
was read of each object after the write. Where something is otherwise by then, nothing is sent.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias

from iac_base.errors import InvalidParameterError, ToolError
from iac_base.secrets import without_secrets
from iac_base.text import clean_value
from iac_runtime.execution.answers import SurroundingAnswers
from iac_runtime.language.reader import (
    AppReader,
    answer_to_python,
    read_known_reference,
    read_shown_reference,
)
from iac_runtime.language.steps import AllElements, ById, ByName, PropertyStep, Step
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
    STAMPED,
    ReadBackPlan,
    WriteOperation,
    declared_type,
    effect_of,
    is_stable_reference,
    linked_properties,
)
from iac_runtime.policy.facts import UNCHANGED, Undo
from iac_runtime.policy.places import mailbox_role
from iac_runtime.policy.requests import lowercase_words
from iac_runtime.tool import Spec
from iac_runtime.tools.tables import Tables

LARGEST: Final = 200_000
"""Characters of JSON that are kept of one call."""

_MOST_LEFT: Final = 40
"""Properties of a new object that must be as they were for it to be deleted again."""


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


InverseSteps: TypeAlias = tuple[InverseCall, ...] | str
"""The calls that take a write back, or why there are none."""


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
        return Inverse(says=_UNCHANGED)
    found = _why_never(watch, tables) or _MAKERS[watch.operation](watch, value, reads, tables)
    inverse = Inverse(says=found) if isinstance(found, str) else Inverse(found)
    if isinstance(found, str) and watch.operation == "delete" and len(reads.before) > 1:
        whole = whole_of(reads.before[1], watch.around.before[1])
        inverse = replace(inverse, copy=short_values(whole or {}, tables) or None)
    text = json.dumps([inverse.steps, inverse.copy], default=str)
    if len(text) > LARGEST:
        return Inverse(says="the old value is too large to keep")
    held = json.loads(text)
    if inverse.steps and without_secrets(held) != held:
        return Inverse(says=_NOT_KEPT)
    return inverse


def plan_undo(
    watch: ReadBackPlan, answers: Sequence[Mapping[str, Any]] | None, tables: Tables
) -> Undo:
    """Return what can be promised of taking a write back before it is sent.

    Args:
        watch: What is to be read around it.
        answers: What `watch.look` answered; None where nobody looked.
        tables: Those of the app.
    """
    if watch.operation == "command":
        return Undo(False)
    if why := _why_never(watch, tables):
        return Undo(False, why)
    if watch.wanted and without_secrets(watch.wanted) != watch.wanted:
        return Undo(False, _NOT_KEPT)
    if answers is None and watch.look:
        # Of how many is not known yet.
        return Undo(not watch.many)
    known, needed = tuple(map(dict, answers or ())), len(watch.needed)
    reads = SurroundingAnswers(known[:needed], ())
    more = dict(zip(watch.asked, known[needed:], strict=False))
    if watch.operation in ("make", "copy"):
        # What an app names by itself, and what is called, has a name.
        named = bool(watch.known.get("named") or more.get("name", {}).get("value"))
        named |= any(row.term == "name" and row.value for row in watch.wanted)
        if not (named or watch.has_id):
            return Undo(False, _NO_ID)
        return Undo(True, f"{_deletion_text(watch, tables)}, unless it has changed")
    if watch.operation == "move":
        steps = _plan_move(watch, reads, more.get("there", {}).get("value"), tables)
    else:
        found = inverse_of(watch, _PLANNED, None, reads, tables)
        steps = found.steps or found.says
    if isinstance(steps, str):
        return UNCHANGED if steps == _UNCHANGED else Undo(False, steps)
    if watch.operation == "set":
        says, *more_says = (step.says for step in steps)
        told = _many_text(watch, len(steps), tables) if more_says else says
        return Undo(True, told, _what_stays(watch, reads))
    name = more.get("place", {}).get("value")
    if watch.operation == "delete" and isinstance(name, str) and mailbox_role(name) == "trash":
        return Undo(False, _IN_TRASH)
    bins = more.get("bins", {"value": ["Trash"]}).get("value")
    if not any(mailbox_role(str(one)) == "trash" for one in bins or ()):
        return Undo(False, f"{tables.app.name} shows no place for what is deleted")
    back = f"moves it back to {_place_text(steps[0], name, tables)}"
    return Undo(True, f"{back}, {_UNLESS}" if watch.operation == "delete" else back)


def _what_stays(watch: ReadBackPlan, reads: SurroundingAnswers) -> str:
    """Return what the old values may have had that no value brings back; empty for nothing."""
    row = (record_of(reads.before[0]) if reads.before else None) or {}
    marks = watch.known.get("leaves", {})
    wanted = (one.term for one in watch.wanted if one.term in marks)
    return "; ".join(marks[term][1] for term in wanted if marks[term][0] in str(row.get(term)))


def find_loss(watch: ReadBackPlan, answers: Sequence[Mapping[str, Any]], tables: Tables) -> str:
    """Return what a write would lose for good by what `watch.look` answered; empty for nothing."""
    reads = zip(watch.losses, answers[len(answers) - len(watch.losses) :], strict=False)
    lost = (says for says, one in reads if not (is_gone(one, tables) or one.get("value") == 0))
    return next(lost, "")


def rivals_of(
    watch: ReadBackPlan, answers: Sequence[Mapping[str, Any]], tables: Tables
) -> tuple[Step, ...]:
    """Return the filter by which an object would be found in the trash; none where there is none.

    What it finds before the object is there would be taken for it afterwards.
    """
    trash, by = watch.known.get("trash"), watch.known.get("by")
    row = record_of(answers[0]) if answers and watch.operation == "delete" else None
    if not trash or by in (None, "id", "name") or row is None or row.get(by) is None:
        return ()
    reference = _in_trash(trash, str(by), row[str(by)], tables)
    return AppReader(tables, strict=False).read_reference(reference).steps[:-1]


def named_for_good(
    watch: ReadBackPlan, answers: Sequence[Mapping[str, Any]], tables: Tables
) -> ReadBackPlan:
    """Return a plan whose object goes by the ids and names that its app answered for it."""
    keys = [*watch.asked]
    if "itself" not in keys:
        return watch
    answer = answers[len(watch.needed) + keys.index("itself")]
    return replace(watch, target=named_steps(answer.get("value"), tables) or watch.target)


_PLANNED: Final = Outcome("unknown")
_UNCHANGED: Final = "nothing was changed"
_NOT_KEPT: Final = "it contains something like a secret, which is not kept"
_IN_TRASH: Final = "it is in the trash already, and goes for good"
_NO_ID: Final = "the object has no id by which it could be found again"
_NOT_NAMED: Final = "the app names no object that could be found again"
_NOT_KNOWN: Final = "where it was before cannot be told"
_NOT_FOUND: Final = "where it is now cannot be told"
_UNLESS: Final = "unless you empty the trash"


def _many_text(watch: ReadBackPlan, count: int, tables: Tables) -> str:
    terms = ", ".join(row.term for row in watch.wanted)
    plural = tables.classes[watch.kind].plural if watch.kind in tables.classes else "objects"
    return f"restores {terms} of {count} {lowercase_words(plural)}"


def _place_text(step: InverseCall, name: Any, tables: Tables) -> str:
    """Return where an object goes back to, as a person calls it: `name`, as far as it was read."""
    if not isinstance(name, str):
        name = str([*step.arguments.values()][-1])
        last = AppReader(tables, strict=False).read_reference(name).steps[-1]
        name = last.name if isinstance(last, ByName) else name
    return f"{tables.app.name} / {clean_value(name)}"


def _deletion_text(watch: ReadBackPlan, tables: Tables) -> str:
    trash = effect_of("coredelo", tables.app.id, watch.kind, tables)
    return "moves it to the trash" if "by" in trash else "deletes it again"


def _why_never(watch: ReadBackPlan, tables: Tables) -> str:
    """Return why a write cannot be taken back, whatever is read; empty where it may be."""
    if watch.says:
        return watch.says
    several = watch.many or len(watch.around.after) > 1
    match watch.operation:
        case "set" if watch.unread:
            return f"what {', '.join(watch.unread)} was before cannot be read"
        case "set":
            return "" if tool_named(tables, op="set") else "no tool of the app can set it back"
        case "make" | "copy" if watch.ident is None:
            return _NOT_NAMED
        case "make" | "copy":
            known = tool_named(tables, event="coredelo")
            return "" if known else "the app has no command to delete it"
        case "delete" if several or watch.ident is None:
            return "what several objects were before is not kept"
        case "delete" if not watch.known.get("trash"):
            return _COPIED
        case "move" if watch.ident is None:
            return _NOT_FOUND
        case "move" | "delete":
            return "" if _mover(tables) else "the app has no command to move it back"
    return "IAC does not know how to undo it"


_COPIED: Final = "it is gone for good, and IAC keeps what it could read of it as a copy"


class InverseTool(NamedTuple):
    """A tool that takes writes back: its name, its parameter for the object, and its row."""

    name: str
    target: str
    spec: Spec


def tool_named(tables: Tables, *, op: str = "command", event: str = "") -> InverseTool | None:
    """Return the tool of an app that is an object tool, or a command by its event."""
    for name, spec in tables.tools.items():
        if spec.op == op and not spec.bind and (not event or spec.event == event):
            direct = (key for key, row in spec.params.items() if row.code == "----")
            name = f"{tables.key}_{name.rstrip('_')}"
            return InverseTool(name, next(direct, "target"), spec)
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
    if value is None and kind in tables.classes:
        raise InvalidParameterError("there was no object to set it to")
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
    steps = named_steps(value, tables)
    # What is named by its part in the app, such as the current track, is another by then.
    return bool(steps) and isinstance(steps[-1], ById | ByName)


def _why_not_findable(watch: ReadBackPlan, reference: str, tables: Tables) -> str:
    """Return why an object cannot be found again; empty where it can."""
    steps = AppReader(tables, strict=False).read_reference(reference).steps if reference else ()
    if not steps or isinstance(steps[-1], ById) or is_stable_reference(steps):
        return ""
    if not isinstance(steps[-1], PropertyStep):
        return _NO_ID
    return "" if watch.has_id else "IAC could not find the object again later"


def _undo_set(
    watch: ReadBackPlan, _value: Any, reads: SurroundingAnswers, tables: Tables
) -> InverseSteps:
    tool = tool_named(tables, op="set")
    assert tool is not None
    rows = rows_of(watch, reads)
    if watch.many and reads.before and reads.before[0].get("list", {}).get("total") != len(rows):
        return "there are more objects than are kept"
    steps = []
    for reference, before, after in rows:
        if before is None:
            return "the old value could not be read"
        # What was not read back must be as it was wanted, or an undo sends nothing.
        left = expected(watch, before) if after is None else after
        if why := _why_not_findable(watch, reference, tables):
            return why
        terms = dict.fromkeys(row.term for row in watch.wanted)
        linked = linked_properties(tables.app.id, watch.kind)
        terms |= {term: None for term in before if term in linked}
        values: dict[str, Any] = {}
        told: list[str] = []
        for term in terms:
            if term in left and before[term] == left[term]:
                continue
            kinds = find_properties((watch.kind,) if watch.kind else None, term, tables)
            try:
                values[term] = value_for_caller(before[term], declared_type(kinds), tables)
            except ToolError as error:
                return f"{term} cannot be kept: {error.message}"
            what = before.get("name") if term == "value" else term
            told.append(f"{what or term} to {_value_text(before[term], tables)}")
        if values:
            arguments = {tool.target: reference or "application", "properties": values}
            kept = StateToCheck(reference, watch.kind, _values_to_check(watch, left, values))
            steps.append(InverseCall(tool.name, arguments, kept, f"restores {' and '.join(told)}"))
    return tuple(steps) or _UNCHANGED


def _value_text(value: Any, tables: Tables) -> str:
    if value is None:
        return "nothing"
    return json.dumps(short_value(value, tables), ensure_ascii=False, default=str)


def _values_to_check(
    watch: ReadBackPlan, row: Mapping[str, Any], terms: Iterable[str]
) -> tuple[tuple[str, Any], ...]:
    first = [watch.ident.term] if watch.ident else []
    return tuple((term, row[term]) for term in dict.fromkeys((*first, *terms)) if term in row)


def _undo_make(
    watch: ReadBackPlan, value: Any, reads: SurroundingAnswers, tables: Tables
) -> InverseSteps:
    reference, tool = made_reference(value, tables), tool_named(tables, event="coredelo")
    assert tool is not None
    assert watch.ident is not None
    if not reference:
        return _NOT_NAMED
    if why := _why_not_findable(watch, reference, tables):
        return why
    first = watch.ident.term
    whole = whole_of(reads.after[0], watch.around.after[0]) if reads.after else None
    if whole is None or whole.get(first) is None:
        return "the new object could not be read"
    known = {term: part for term, part in whole.items() if _is_plain(part) and term not in STAMPED}
    kept = {first: whole[first], **dict([*known.items()][:_MOST_LEFT])}
    # Not every class of what it holds can be counted by each kind of event.
    held = zip(watch.around.after[1:], reads.after[1:], strict=False)
    counts = tuple(
        (str(getattr(last.name, "word", last.name)), answer["value"])
        for read, answer in held
        if isinstance(last := read.target[-1], AllElements) and isinstance(answer.get("value"), int)
    )
    left = StateToCheck(reference, watch.kind, tuple(kept.items()), counts)
    told = _deletion_text(watch, tables)
    return (InverseCall(tool.name, {tool.target: reference}, left, told),)


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= LARGEST // _MOST_LEFT
    return value is None or isinstance(value, bool | int | float)


def _mover(tables: Tables) -> tuple[InverseTool, str] | None:
    """Return the tool that moves an object, and its parameter for where to."""
    tool = tool_named(tables, event="coremove")
    rows = tool.spec.params.items() if tool else ()
    return next(((tool, key) for key, row in rows if tool and row.code == "insh"), None)


def _move_back(reference: str, to: str, left: StateToCheck, tables: Tables) -> InverseSteps:
    """Return the call that moves an object to what it lay in."""
    mover = _mover(tables)
    assert mover is not None
    tool, place = mover
    given = {tool.target: reference, place: to}
    return (InverseCall(tool.name, given, left, f"moves it back to {to}"),)


def _original_place(watch: ReadBackPlan, before: Mapping[str, Any], tables: Tables) -> str:
    """Return what an object lay in, as a reference; empty where that is not known."""
    shown = named_steps(before.get(watch.container.term) if watch.container else None, tables)
    # What is named through the object itself is another place once it was moved.
    if shown and not (len(shown) > 1 and isinstance(shown[-1], PropertyStep)):
        return format_reference(shown)
    # The collection that it was picked from, where more than the app stands before that.
    inner = watch.target[:-1]
    return format_reference(inner) if len(inner) > 1 and is_stable_reference(inner) else ""


def _plan_move(
    watch: ReadBackPlan, reads: SurroundingAnswers, there: Any, tables: Tables
) -> InverseSteps:
    """Return how a move is taken back before it is sent; `there` is what it goes into."""
    before = record_of(reads.before[0]) if reads.before else None
    if before is None or watch.ident is None:
        return _NOT_KNOWN
    key: Any = before.get(watch.ident.term)
    place = watch.around.after[2].target if len(watch.around.after) > 2 else watch.target
    step = ById(key) if watch.has_id else ByName(str(key))
    if known := named_steps(there, tables):
        place = (*known, place[-1])
    return _moved_back(watch, before, format_reference((*place[:-1], step)), {}, tables)


def named_steps(value: Any, tables: Tables) -> tuple[Step, ...]:
    """Return the steps by which an app named an object, by ids and names; none of no other."""
    if not (isinstance(value, dict) and "ref" in value):
        return ()
    steps = read_shown_reference(value["ref"], value.get("id"), tables) or ()
    return steps if is_stable_reference(steps) else ()


def _undo_move(
    watch: ReadBackPlan, value: Any, reads: SurroundingAnswers, tables: Tables
) -> InverseSteps:
    before = record_of(reads.before[0]) if reads.before else None
    row = next((row for row in map(record_of, reversed(reads.after)) if row is not None), None)
    if before is None or row is None:
        return _NOT_FOUND
    reference = moved_reference(watch, value, reads, tables)
    return _moved_back(watch, before, reference, row, tables)


def _moved_back(
    watch: ReadBackPlan,
    before: Mapping[str, Any],
    reference: str,
    row: Mapping[str, Any],
    tables: Tables,
) -> InverseSteps:
    home = _original_place(watch, before, tables)
    if why := _why_not_findable(watch, reference, tables) if home else _NOT_KNOWN:
        return why
    held = [watch.container.term] if watch.container else []
    left = StateToCheck(reference, watch.kind, _values_to_check(watch, row, held))
    return _move_back(reference, home, left, tables)


def _undo_delete(
    watch: ReadBackPlan, value: Any, reads: SurroundingAnswers, tables: Tables
) -> InverseSteps:
    before, known = record_of(reads.before[0]) if reads.before else None, watch.known
    assert watch.ident is not None
    if before is None:
        return "what it was before could not be read"
    # An app whose trash keeps the id would have found it.
    if "by" not in known and any(is_gone(one, tables) for one in reads.after):
        return _COPIED
    home, by = _original_place(watch, before, tables), known.get("by", watch.ident.term)
    key = before.get(by)
    if not home or not isinstance(key, str | int):
        return "it is in the trash, but where it was before cannot be told"
    if home == str(known["trash"]).rpartition(".")[0]:
        return _IN_TRASH
    reference = made_reference(value, tables) or _in_trash(known["trash"], by, key, tables)
    return _move_back(reference, home, StateToCheck(reference, watch.kind, ((by, key),)), tables)


def _in_trash(place: str, by: str, key: str | int, tables: Tables) -> str:
    if by not in ("id", "name"):
        return f"{place}.whose({json.dumps({by: key}, ensure_ascii=False)})[0]"
    step = ById(key) if by == "id" else ByName(str(key))
    return format_reference((*read_known_reference(place, tables).steps, step))


Maker: TypeAlias = Callable[[ReadBackPlan, Any, SurroundingAnswers, Tables], InverseSteps]

_MAKERS: Final[Mapping[WriteOperation, Maker]] = {
    "set": _undo_set,
    "make": _undo_make,
    "copy": _undo_make,
    "move": _undo_move,
    "delete": _undo_delete,
}
