"""What to read around a write, by what it does and what the class tables say of its object.

The reads travel with the write: one exchange proves it, and has the old values for taking it back.
An object is found again by its id where its class has one, however the call named it; what a call
made, moved or copied is what the app answered with.

What is known of objects beyond their tables is in `effects.json`.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from iac_base.errors import InvalidParameterError
from iac_runtime.language.compose import all_columns
from iac_runtime.language.raw_event import as_raw_event, compose_read
from iac_runtime.language.reader import AppReader, read_known_reference, without_filter
from iac_runtime.language.references import Reference, resolve_steps
from iac_runtime.language.steps import (
    AllElements,
    Boundary,
    ById,
    ByIndex,
    ByName,
    Event,
    EventOp,
    PreviouslyRead,
    PropertyStep,
    RecordValue,
    RefValue,
    Step,
    SurroundingReads,
    Term,
    Value,
)
from iac_runtime.language.terms import (
    columns_of,
    elements_term,
    find_class_term,
    find_properties,
    has_elements,
    id_classes,
    id_property,
    is_text,
    object_classes,
    property_term,
)
from iac_runtime.outcomes.outcome import ExpectedValue, harness_value
from iac_runtime.policy.taint import is_secret_property, remove_secret_columns
from iac_runtime.tool import Property
from iac_runtime.tools.tables import APPLICATION, Tables

WriteOperation: TypeAlias = Literal["set", "make", "copy", "delete", "move", "command"]

MOST: Final = 200
"""Objects of one call that are read back, and whose old values are kept."""

_DEAR: Final = 1000
"""Milliseconds from which on an object is not looked for by its id alone."""

UNSEEN: Final[Mapping[str, tuple[WriteOperation, ...]]] = {
    "reverts": ("set",),
    "extra": ("set", "make", "delete", "move"),
    "drops": ("set", "delete"),
    "instead": ("make",),
}
"""Fault of the field book -> the writes of which a first look does not see it."""

_BY_EVENT: Final[Mapping[str, WriteOperation]] = {
    "coresetd": "set",
    "corecrel": "make",
    "coreclon": "copy",
    "coredelo": "delete",
    "coremove": "move",
}


@dataclass(frozen=True, slots=True)
class ReadBackPlan:
    """What is read around a write, and what it is to show.

    Attributes:
        deed: What is done.
        kind: What class it is of; empty where it is not known.
        target: The object, as the call named it; none of what is made.
        ident: The property by which it is found again, and which each read gives first.
        container: The property that holds what it lies in.
        there: The collection that something is to be made in; none where it is not known.
        around: The reads.
        wanted: What properties should be afterwards.
        unread: Properties that cannot be read back, or may not.
        many: Whether `target` is a collection; then the read before is a list.
        known: What the table of effects says of the command.
        asked: What is read besides for a question alone: `place`, the name of what the object lies
            in; `itself` and `there`, how the app names it, and what it goes into; `bins`, the names
            of the places of which one may be for what is deleted.
        losses: What cannot be taken back -> what reads whether there is any, for a question too.
        says: Why nothing is read back; empty where something is.
    """

    operation: WriteOperation
    kind: str = ""
    target: tuple[Step, ...] = ()
    ident: Property | None = None
    container: Property | None = None
    there: tuple[Step, ...] = ()
    around: SurroundingReads = SurroundingReads()  # noqa: RUF009 (it is immutable)
    wanted: tuple[ExpectedValue, ...] = ()
    unread: tuple[str, ...] = ()
    many: bool = False
    known: Mapping[str, Any] = field(default_factory=dict)
    asked: Mapping[str, Event] = field(default_factory=dict)
    losses: Mapping[str, Event] = field(default_factory=dict)
    says: str = ""

    @property
    def has_id(self) -> bool:
        """Whether the object is found again by an id, and not by its name."""
        return self.ident is not None and is_id(self.ident)

    @property
    def needed(self) -> tuple[Event, ...]:
        """The reads before it that taking it back needs; what is copied of an object is not."""
        copied = ("properties", "count")
        return tuple(read for read in self.around.before if self.many or read.op not in copied)

    @property
    def look(self) -> tuple[Event, ...]:
        """The reads by which it is told before a question how it would be taken back."""
        return (*self.needed, *self.asked.values(), *self.losses.values())


class ReadBackPlanner:
    """Makes the watch of a write of one app.

    Args:
        event: The write.
        tables: Those of its app.
        secrets: Globs of properties that are not to be read.
        seconds: What each read may take, where it goes out raw.
    """

    def __init__(
        self, event: Event, tables: Tables, secrets: Sequence[str], seconds: float
    ) -> None:
        self._event, self._tables, self._seconds = event, tables, seconds
        self._secrets = tuple(secrets)
        self._costs: Mapping[str, Any] = {}

    def plan_read_back(self) -> ReadBackPlan:
        """Return what to read; where nothing can be, why."""
        event = self._event
        deed: WriteOperation = "set" if event.op == "set" else _BY_EVENT.get(event.code, "command")
        if event.kind != "application":
            return ReadBackPlan(deed, says="its effect cannot be read back")
        plan: Callable[[], ReadBackPlan] = getattr(self, f"_plan_{deed}")
        try:
            return plan()
        except InvalidParameterError as error:
            return ReadBackPlan(deed, says=error.message)

    def _plan_set(self) -> ReadBackPlan:
        event, tables = self._event, self._tables
        found = resolve_steps(event.target, tables)
        wanted, unread = self._expected_values(found.classes, event.named)
        kind, ident = self._class_and_identifier(found)
        watch = ReadBackPlan("set", kind, event.target, ident, wanted=wanted, unread=unread)
        if not wanted:
            return replace(watch, says=f"{', '.join(unread)} cannot be read back")
        names = (*(row.term for row in wanted), *linked_properties(event.app, kind))
        rows = self._rows_named(found.classes, names)
        if found.selectable:
            if ident is None or not is_id(ident):
                return replace(watch, says="objects without an id are not read back together")
            seen = (*without_filter(event.target), PreviouslyRead("id"))
            first = self._build_read(
                "list", event.target,
                columns=columns_of(rows), id_column=property_term(ident), limit=MOST,
            )  # fmt: skip
            around = SurroundingReads((first,), (self._read_columns(seen, *rows),))
            return replace(watch, many=True, around=around)
        after = self._steps_to_find_again(event.target, ident)
        name = next((row.value for row in wanted if row.term == "name"), None)
        if after and isinstance(after[-1], ByName) and isinstance(name, str):
            after = (*after[:-1], ByName(name))
        before, then = (self._read_columns(one, ident, *rows) for one in (event.target, after))
        known = effect_of("coresetd", event.app, kind, tables)
        losses = {
            f"the {lost} are lost": self._build_read("count", (*event.target, AllElements(lost)))
            for row in wanted
            if (lost := known.get("loses", {}).get(row.term))
        }
        # Nobody looks first where nobody is asked.
        around = SurroundingReads((before, *losses.values()), (then,))
        asked = self._asked_reads(found, ident)
        return replace(watch, around=around, losses=losses, asked=asked, known=known)

    def _plan_make(self) -> ReadBackPlan:
        named = dict(self._event.named)
        term = find_class_term(str(named.get("new")), self._tables)
        given = named.get("withProperties")
        fields = given.fields if isinstance(given, RecordValue) else ()
        if term is None:
            return ReadBackPlan("make", says="the class of the new object is not known")
        wanted, unread = self._expected_values((term,), fields)
        known = effect_of(self._event.code, self._event.app, term, self._tables)
        ident = self._identifier_of(term)
        there = self._destination_collection(term, "at")
        watch = ReadBackPlan("make", term, ident=ident, there=there, wanted=wanted, unread=unread)
        return self._with_new_object_reads(replace(watch, known=known))

    def _plan_copy(self) -> ReadBackPlan:
        found, *others = self._direct_objects()
        if others or found.selectable:
            return ReadBackPlan("copy", says="several copies in one call are not read back")
        kind, ident = self._class_and_identifier(found)
        asked = {}
        if ident is not None and not is_id(ident):
            asked["name"] = self._read_way(found, property_term(ident))
        to = self._destination_collection(kind) or found.steps[:-1]
        losses = self._replaced_reads(to, found.steps)
        return self._with_new_object_reads(
            ReadBackPlan("copy", kind, found.steps, ident, asked=asked, losses=losses)
        )

    def _with_new_object_reads(self, watch: ReadBackPlan) -> ReadBackPlan:
        """Return a watch that reads a new object: all of it in one event, how much it holds."""
        tables, made = self._tables, (PreviouslyRead("made"),)
        reads = [self._read_all_properties(watch.kind, made)]
        reads += (
            self._build_read("count", (*made, AllElements(elements_term(term, tables))))
            for term in parts_of(watch.kind, tables)
        )
        if self._event.raw is None:
            known = [read for read in reads if read.raw is None]
        else:
            raw = (as_raw_event(read, tables, self._seconds) for read in reads)
            known = list(filter(None, raw))
        return replace(watch, around=SurroundingReads((), tuple(known)))

    def _plan_delete(self) -> ReadBackPlan:
        found, *others = self._direct_objects()
        kind, ident = self._class_and_identifier(found)
        known = effect_of(self._event.code, self._event.app, kind, self._tables)
        watch = ReadBackPlan("delete", kind, found.steps, ident, known=known)
        if others:
            # Each is looked for by its id or its name.
            things = [found, *others]
            stable = all(isinstance(one.steps[-1], ById | ByName) for one in things)
            if ident is None or not stable or len(things) > MOST:
                return replace(watch, says="several objects are looked for by their ids alone")
            after = tuple(self._read_columns(one.steps, ident) for one in things)
            return replace(watch, around=SurroundingReads((), after))
        if found.selectable:
            count = self._build_read("count", found.steps)
            return replace(watch, many=True, around=SurroundingReads((count,), (count,)))
        container = container_of(kind, self._tables)
        asked = self._asked_reads(found, ident, container)
        if bins := known.get("bins"):
            named = read_known_reference(f"{bins}.name", self._tables)
            asked["bins"] = self._build_read("get", named.steps)
        watch = replace(watch, container=container, asked=asked)
        again = self._steps_to_find_again(found.steps, ident)
        if ident is None or (again == found.steps and isinstance(found.steps[-1], ByIndex)):
            return replace(watch, says="it has no id by which it could be looked for")
        trash = known.get("trash")
        if trash and "by" not in known and is_id(ident):
            again = (*read_known_reference(trash, self._tables).steps, PreviouslyRead("id"))
        by = find_properties((kind,), known.get("by", ""), self._tables)
        before = [self._read_columns(found.steps, ident, container, *by)]
        if known.get("by") != "name":
            before.append(self._read_all_properties(kind, found.steps))
        then = self._read_columns(again, ident, container)
        return replace(watch, around=SurroundingReads(tuple(before), (then,)))

    def _plan_move(self) -> ReadBackPlan:
        tables = self._tables
        found, *others = self._direct_objects()
        kind, ident = self._class_and_identifier(found)
        if others or found.selectable or ident is None:
            return ReadBackPlan(
                "move", kind, says="only one object with an id or a name can be checked"
            )
        container = container_of(kind, tables)
        there = self._destination_collection(kind)
        asked = self._asked_reads(found, ident, container, there[:-1])
        losses = self._replaced_reads(there, found.steps)
        again = self._steps_to_find_again(found.steps, ident)
        if there and is_id(ident) and self._costs.get("id", 0) > _DEAR:
            # Where an id is looked for everywhere, that takes longer than anybody waits.
            again = (*there, PreviouslyRead("id"))
        made = self._read_columns((PreviouslyRead("made"),), ident, container)
        if self._event.raw is not None:
            made = as_raw_event(made, tables, self._seconds) or made
        reads = [self._read_columns(again, ident, container), made]
        if there:
            by = PreviouslyRead("id" if is_id(ident) else "name")
            reads.append(self._read_columns((*there, by), ident, container))
        before = self._read_columns(found.steps, ident, container)
        around = SurroundingReads((before,), tuple(reads))
        watch = ReadBackPlan("move", kind, found.steps, ident, container, asked=asked)
        return replace(watch, around=around, losses=losses)

    def _plan_command(self) -> ReadBackPlan:
        event, tables = self._event, self._tables
        found = next(iter(self._direct_objects(several=False)), None)
        kind, ident = self._class_and_identifier(found) if found else ("", None)
        known = effect_of(event.code, event.app, kind, tables)
        if made := known.get("makes"):
            watch = ReadBackPlan("make", made, ident=self._identifier_of(made))
            return self._with_new_object_reads(watch)
        target = found.steps if found else ()
        watch = ReadBackPlan("command", kind, target, ident, known=known)
        if known.get("gone") and found and not found.selectable and ident is not None:
            ways = (target, self._steps_to_find_again(target, ident))
            before, after = (self._read_columns(one, ident) for one in ways)
            return replace(watch, around=SurroundingReads((before,), (after,)))
        about = read_known_reference(known["of"], tables) if "of" in known else found
        if about and (wants := known.get("wants")):
            wanted, _ = self._expected_values(about.classes, tuple(wants.items()))
            rows = self._rows_named(about.classes, wants)
            if wanted:
                read = self._read_columns(about.steps, *rows)
                return replace(watch, wanted=wanted, around=SurroundingReads((read,), (read,)))
        if among := known.get("among"):
            place = read_known_reference(among, tables)
            row = self._identifier_of(place.classes[0] if place.classes else "")
            same = self._rows_named(place.classes, known["same"])
            if row is not None and found:
                ends = ((*place.steps, ByIndex(at)) for at in (0, -1))
                reads = tuple(self._read_columns(one, row, *same) for one in ends)
                first = self._read_columns(target, *same)
                return replace(watch, around=SurroundingReads((first, *reads), reads))
        return replace(watch, says="its effect cannot be read back")

    def _build_read(self, op: EventOp, target: tuple[Step, ...], **more: Any) -> Event:
        return compose_read(op, target, self._tables, self._seconds, **more)

    def _read_columns(self, target: tuple[Step, ...], *rows: Property | None) -> Event:
        """Return the read of properties of an object, of which some may be none."""
        return self._build_read("columns", target, columns=columns_of(rows), costs=self._costs)

    def _read_way(self, found: Reference, way: str) -> Event:
        reader = AppReader(self._tables, strict=False)
        return self._build_read("get", reader.follow_properties(found, way).steps)

    def _read_all_properties(self, kind: str, target: tuple[Step, ...]) -> Event:
        columns = all_columns(kind, self._tables)
        read = self._build_read("properties", target, columns=columns)
        return remove_secret_columns(read, self._tables, self._secrets)

    def _direct_objects(self, *, several: bool = True) -> list[Reference]:
        """Return the objects of the direct parameter.

        Raises:
            InvalidParameterError: It names none.
        """
        direct = self._event.direct
        values = direct if isinstance(direct, tuple) else (direct,)
        steps = [one.steps for one in values if isinstance(one, RefValue)]
        if several and not 0 < len(steps) == len(values):
            raise InvalidParameterError("its reference does not name an object that can be read")
        return [resolve_steps(one, self._tables) for one in steps]

    def _class_and_identifier(self, found: Reference) -> tuple[str, Property | None]:
        from iac_runtime.tools.field import read_costs

        kind = found.classes[0] if found.classes else ""
        # Where each read is dear, one has all.
        self._costs = read_costs(self._event.app, kind)
        return kind, self._identifier_of(kind) if kind != APPLICATION else None

    def _identifier_of(self, kind: str) -> Property | None:
        known = (id_property(kind, self._tables), self._tables.find_property(kind, "name"))
        for row in known if kind else ():
            if row is not None and "r" in row.access and not self._is_secret(row.jxa):
                return row
        return None

    def _is_secret(self, jxa: str) -> bool:
        return is_secret_property(jxa, self._tables, self._secrets)

    def _expected_values(
        self, classes: tuple[str, ...] | None, given: Sequence[tuple[str, Value]]
    ) -> tuple[tuple[ExpectedValue, ...], tuple[str, ...]]:
        """Return what values should be, and the properties of which it cannot be seen."""
        wanted: list[ExpectedValue] = []
        unread: list[str] = []
        for name, value in given:
            rows = find_properties(classes, name, self._tables)
            term = rows[0].term if rows else name.word if isinstance(name, Term) else name
            if self._is_secret(name) or not any("r" in row.access for row in rows):
                unread.append(term)
            else:
                wanted.append(ExpectedValue(term, declared_type(rows), harness_value(value)))
        return tuple(wanted), tuple(unread)

    def _rows_named(self, classes: tuple[str, ...] | None, names: Iterable[str]) -> list[Property]:
        """Return the first property of each name."""
        rows = (find_properties(classes, name, self._tables)[:1] for name in names)
        return [row for found in rows for row in found]

    def _asked_reads(
        self,
        found: Reference,
        ident: Property | None,
        container: Property | None = None,
        there: tuple[Step, ...] = (),
    ) -> dict[str, Event]:
        """Return what a question reads besides of an object and where it goes (`asked`)."""
        reads: dict[str, Event] = {}
        if container is not None:
            reads["place"] = self._read_way(found, f"{property_term(container)}.name")
        if ident is not None and not is_id(ident):
            # What is named by where it stands now, the app itself may name for good.
            for key, steps in (("itself", found.steps), ("there", there)):
                if steps and not is_stable_reference(steps):
                    classes = id_classes(self._tables)
                    reads[key] = self._build_read("get", steps, id_classes=classes)
        return reads

    def _replaced_reads(self, there: tuple[Step, ...], steps: tuple[Step, ...]) -> dict[str, Event]:
        """Return what reads whether an object would replace another of its name."""
        if dict(self._event.named).get("replacing") is not True:
            return {}
        last = steps[-1]
        # Whatever has another name there is not known to be another.
        rival = (*there, last) if there and isinstance(last, ByName) else steps
        return {"what it replaces is lost": self._build_read("get", rival)}

    @staticmethod
    def _steps_to_find_again(steps: tuple[Step, ...], ident: Property | None) -> tuple[Step, ...]:
        """Return how an object is found again in the same exchange."""
        if not steps or isinstance(steps[-1], ById | PropertyStep):
            return steps
        bare = without_filter(steps[:-1])
        if ident is None or not bare or not isinstance(bare[-1], AllElements):
            return steps
        if is_id(ident):
            return (*bare, PreviouslyRead("id"))
        return (*bare, PreviouslyRead("name")) if isinstance(steps[-1], ByIndex) else steps

    def _destination_collection(self, kind: str, key: str = "to") -> tuple[Step, ...]:
        """Return the collection that a place to move to stands for; none where it is not known."""
        to = dict(self._event.named).get(key)
        if not isinstance(to, RefValue):
            return ()
        steps = to.steps
        if steps and isinstance(steps[-1], Boundary):
            steps = steps[:-2] if steps[-1].place in ("before", "after") else steps[:-1]
        found = resolve_steps(steps, self._tables)
        if found.selectable:
            return steps
        if found.classes and has_elements(found.classes, kind, self._tables):
            return (*steps, AllElements(elements_term(kind, self._tables)))
        return ()


def declared_type(rows: Iterable[Property]) -> str:
    """Return the type of a property that several classes have."""
    return " | ".join(dict.fromkeys(row.type for row in rows)) or "any"


_KINDS: Final = 6
"""Classes of elements that are counted in a new object."""

_STAMPS: Final = ("creation date", "modification date", "date created", "date modified")
STAMPED: Final = (*_STAMPS, "stamp date", "class", "index", "properties")
"""Properties that an app changes by itself."""

_CONTAINERS: Final = ("container", "folder", "mailbox", "list", "calendar", "playlist")
"""Properties that hold what an object lies in, where their type can hold such objects."""


@cache
def known_effects() -> Mapping[str, Mapping[str, Any]]:
    """Return what is known beyond the tables: `<event>[ <bundle id>[ <class>]]` -> row."""
    effects: dict[str, dict[str, Any]] = json.loads(
        Path(__file__).with_name("effects.json").read_bytes()
    )
    return effects


@lru_cache(maxsize=4096)
def effect_of(code: str, app: str, kind: str, tables: Tables) -> Mapping[str, Any]:
    """Return the row of an event on an object of a class; empty where there is none."""
    rows = known_effects()
    for term, _ in tables.lineage(kind):
        if found := rows.get(f"{code} {app} {term}"):
            return found
    return rows.get(f"{code} {app}", rows.get(code, {}))


def is_id(row: Property) -> bool:
    """Say whether the property by which an object is found again is an id, and not its name."""
    return row.term != "name"


@lru_cache(maxsize=1024)
def parts_of(kind: str, tables: Tables) -> tuple[str, ...]:
    """Return the classes of what an object holds, without those that another of them covers."""
    terms = [row.term for row in tables.elements(kind) if row.term in tables.classes]
    terms = [term for term in terms if not is_text(term, tables)]

    def is_covered(term: str) -> bool:
        return any(other != term and tables.is_descendant(term, other) for other in terms)

    return tuple(term for term in terms if not is_covered(term))[:_KINDS]


@lru_cache(maxsize=1024)
def container_of(kind: str, tables: Tables) -> Property | None:
    """Return the property that holds what an object of a class lies in."""
    for name in _CONTAINERS if kind in tables.classes else ():
        row = tables.find_property(kind, name)
        if row is None or "r" not in row.access:
            continue
        classes = object_classes(row.type, tables)
        anything = classes is None and name == "container"
        if anything or (classes and has_elements(classes, kind, tables)):
            return row
    return None


def linked_properties(app: str, kind: str) -> tuple[str, ...]:
    """Return properties of a class that an app changes with one another."""
    return tuple(known_effects().get(f"linked {app} {kind}", {}).get("properties", ()))


def is_stable_reference(steps: tuple[Step, ...]) -> bool:
    """Say whether steps name the same object later: by ids and names all the way."""
    picks = [step for step in steps if not hasattr(step, "name") or isinstance(step, ByName)]
    return all(isinstance(step, ById | ByName) for step in picks)
