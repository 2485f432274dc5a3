"""The names by which a call finds objects: counted, for an app takes the first that bears one.

Each name is counted by one event in the exchange of the call: before a read, which answers and says
so, and as the pin of a write, of which nothing is then sent.

An id is no proof of what holds the object: Mail finds a message by its id through any mailbox. So
before a write what holds it is asked for the ids of what it holds.

Of several calls the first moves or renames what the next one means by a position or a name. So
before them that is looked up, and the calls are made by the reference that a list gives it.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from iac_base.errors import InvalidParameterError, ToolError
from iac_runtime.execution.answers import AppAnswer
from iac_runtime.language.raw_event import compose_read, join_reads
from iac_runtime.language.reader import AppReader
from iac_runtime.language.references import resolve_steps
from iac_runtime.language.steps import (
    AllElements,
    ById,
    ByIndex,
    ByName,
    Compare,
    Event,
    Join,
    PropertyStep,
    Step,
    SurroundingReads,
    Whose,
)
from iac_runtime.language.terms import find_properties, id_property, property_term
from iac_runtime.language.text import format_reference
from iac_runtime.policy.places import find_specifier_path
from iac_runtime.policy.requests import find_specifiers, lowercase_words
from iac_runtime.tools.tables import APPLICATION, Operation, Tables
from iac_runtime.types import parse_type, reading_of

Execute = Callable[[Event], AppAnswer]


class NameUse(NamedTuple):
    """A name by which a call finds an object.

    Attributes:
        name, steps: The name, and the reference up to it.
        kind, plural: The class, in one and in several.
        counts: What counts the objects that bear the name.
    """

    name: str
    steps: tuple[Step, ...]
    kind: str
    plural: str
    counts: Event


_ONE: Final = {"value": 1, "notes": [], "ok": True}
"""What the harness answers for a name that one object bears."""


def names_of(event: Event, tables: Tables, home: str, seconds: float) -> tuple[NameUse, ...]:
    """Return the names of a request that can be counted, each once.

    Those of files cannot be borne twice, and a class without the property cannot be asked.
    """
    if event.kind != "application":
        return ()
    found = (
        _use(steps[: at + 1], step, tables, seconds)
        for steps in find_specifiers(event, tested=False)
        for at, step in enumerate(steps)
        if isinstance(step, ByName)
        and find_specifier_path(steps[: at + 1], event.app, home) is None
    )
    return tuple({use.steps: use for use in found if use is not None}.values())


def _use(steps: tuple[Step, ...], last: ByName, tables: Tables, seconds: float) -> NameUse | None:
    held = list(steps[:-1])
    classes = resolve_steps(steps[:-1], tables).classes
    rows = find_properties(classes, "name", tables)
    if not classes or not rows:
        return None
    test: Any = Compare((PropertyStep(property_term(rows[0])),), "=", last.name)
    within = held.pop()
    if isinstance(within, Whose):
        test = Join("and", (within.filter, test))
        within = held.pop()
    if not isinstance(within, AllElements):
        return None
    bearers = (*held, within, Whose(test))
    plural = lowercase_words(tables.classes[classes[0]].plural)
    count = compose_read("count", bearers, tables, seconds)
    return NameUse(last.name, steps, classes[0], plural, count)


def shared(
    names: Sequence[NameUse], answers: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[NameUse, int]]:
    """Yield the names that several objects bear, with how many; one not counted is left out."""
    for use, answer in zip(names, answers, strict=True):
        count = answer.get("value")
        if isinstance(count, int) and count > 1:
            yield use, count


def shared_text(use: NameUse, count: int) -> str:
    """Return the words for a name that several objects bear."""
    return f"{count} {use.plural} have the name of {format_reference(use.steps)}"


def counted_before(event: Event, names: Sequence[NameUse]) -> Event:
    """Return a read that counts its names first."""
    return replace(event, around=SurroundingReads(tuple(use.counts for use in names)))


def shared_notes(names: Sequence[NameUse], answer: AppAnswer) -> tuple[str, ...]:
    """Return what a read says of the names that several objects bear."""
    if answer.around is None:
        return ()
    return tuple(
        f"{shared_text(use, count)}; this is of the first"
        for use, count in shared(names, answer.around.before)
    )


def sent_if_one(
    execute: Execute,
    names: Sequence[NameUse],
    refuse: Callable[[Sequence[Mapping[str, Any]]], object],
    tables: Tables,
    event: Event,
) -> AppAnswer:
    """Send a write if each of its names is of one object; one with a pin is held to that already.

    Args:
        refuse: Raises where the counts are too high.

    Raises:
        ToolError: Several objects bear a name, or the write failed.
    """
    if event.pin is not None:
        return execute(event)
    counts = join_reads((use.counts for use in names), tables)
    try:
        return execute(replace(event, pin=(counts, [_ONE] * len(names))))
    except ToolError as error:
        if error.type != "STALE":
            raise
    # None, several, or an app that cannot be asked so: only several are a reason.
    answers = execute(counts).value
    refuse(answers)
    return execute(replace(event, pin=(counts, answers)))


ListRows = Callable[[str, dict[str, Any]], Sequence[Mapping[str, Any]]]
"""Answers a call of an app's `list` with its rows; with none where it may not run."""


def fix_references(
    arguments: Mapping[str, Any],
    operation: Operation,
    list_rows: ListRows,
    made: Collection[str] = (),
) -> dict[str, Any]:
    """Return arguments in which objects are named by what stays, and not by places in lists.

    What the app has no other name for is left as it is, and what is in an object of `made`.
    """

    def named(value: Any) -> Any:
        if isinstance(value, list):
            return [named(part) for part in value]
        if any(reference in str(value) for reference in made):
            return value
        return _fixed_reference(value, operation.tables, list_rows)

    return {
        key: named(value) if row is not None and _is_object(row.type, operation.tables) else value
        for key, value in arguments.items()
        for row in [operation.spec.params.get(key)]
    }


def _is_object(kind: str, tables: Tables) -> bool:
    names = [part.name for part in parse_type(kind)]
    return any(
        name in tables.classes or reading_of(name) in ("insertion", "object") for name in names
    )


def _fixed_reference(value: Any, tables: Tables, list_rows: ListRows) -> Any:
    reader = AppReader(tables, strict=False)
    try:
        steps = reader.read_reference(value).steps if isinstance(value, str) else ()
    except InvalidParameterError:
        return value
    for at, step in enumerate(steps):
        classes = resolve_steps(steps[:at], tables).classes
        if not classes or not isinstance(steps[at - 1], AllElements):
            continue
        of = format_reference(steps[: at - 1])
        asked: dict[str, Any] = {
            "element": classes[0],
            "properties": [],
            **({"of": of} if of else {}),
        }
        if isinstance(step, ByIndex) and step.index >= 0:
            rows = list_rows(f"{tables.key}_list", {**asked, "limit": step.index + 1})
            rows = rows[step.index :]
        elif isinstance(step, ByName) and id_property(classes[0], tables) is not None:
            asked |= {"where": {"name": step.name}, "limit": 2}
            rows = list_rows(f"{tables.key}_list", asked)
        else:
            continue
        known = reader.read_reference(str(rows[0]["ref"])).steps if len(rows) == 1 else ()
        if known and isinstance(known[-1], ById | ByName) and known[-1] != step:
            fixed = format_reference((*known, *steps[at + 1 :]))
            return _fixed_reference(fixed, tables, list_rows)
    return value


class Holding(NamedTuple):
    """What a write says to be in a container: the collection, and what counts those with these ids.

    Attributes:
        steps: The collection.
        ids: Each once.
        kind: The class of the objects.
        counts: What counts them there.
    """

    steps: tuple[Step, ...]
    ids: tuple[str | int, ...]
    kind: str
    counts: Event


def holdings_of(event: Event, tables: Tables, seconds: float) -> tuple[Holding, ...]:
    """Return what the ids of a write say of containers, of objects that know what holds them.

    What is a collection of the app itself too is the same object whatever it is found through.
    """
    found: dict[tuple[Step, ...], dict[str | int, None]] = {}
    for steps in find_specifiers(event, tested=False) if event.kind == "application" else ():
        for at, step in enumerate(steps):
            if isinstance(step, ById) and at > 1 and isinstance(steps[at - 1], AllElements):
                found.setdefault(steps[:at], {})[step.id] = None
    made = (_holding(steps, tuple(ids), tables, seconds) for steps, ids in found.items())
    return tuple(row for row in made if row is not None)


def _holding(
    steps: tuple[Step, ...], ids: tuple[str | int, ...], tables: Tables, seconds: float
) -> Holding | None:
    kinds, holders = (resolve_steps(part, tables).classes or () for part in (steps, steps[:-1]))
    kind = kinds[0] if kinds else ""
    ident = id_property(kind, tables)
    everywhere = any(row.term == kind for row in tables.elements(APPLICATION))
    types = {row.name for prop in tables.properties(kind) for row in parse_type(prop.type)}
    knows = any(tables.is_descendant(holder, name) for name in types for holder in holders)
    if ident is None or everywhere or not knows:
        return None
    path = (PropertyStep(property_term(ident)),)
    tests = tuple(Compare(path, "=", known) for known in ids)
    test = tests[0] if len(tests) == 1 else Join("or", tests)
    strict: Any = {"may_launch": False, "filter_here": "proof"}
    count = compose_read("count", (*steps, Whose(test)), tables, seconds, **strict)
    return Holding(steps, ids, kind, count)


def refuse_strays(execute: Execute, holdings: Sequence[Holding], app: str) -> None:
    """Refuse a write about objects that are not where it says.

    Raises:
        ToolError: One of them is not there.
    """
    for row in holdings:
        try:
            count = execute(row.counts).value
        except ToolError as error:
            if error.type == "USER_CANCELLED":
                raise
            continue
        if count < len(row.ids):
            where = format_reference(row.steps[:-1])
            told = f"the {row.kind} with the id {row.ids[0]}"
            if len(row.ids) > 1:
                told = f"{len(row.ids) - count} of the {len(row.ids)} {row.kind}s"
            raise ToolError(
                "NOT_FOUND",
                f"{where} does not hold {told}. Nothing was sent.",
                "It may have been moved: list it again, and use the reference in the answer.",
                app=app,
            )
