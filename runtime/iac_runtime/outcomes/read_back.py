"""What to read around a write, by what it does and what the class tables say of its object.

The reads travel with the write: one exchange proves it, and has the old values for taking it back.
An object is found again by its id where its class has one, however the call named it; what a call
made, moved or copied is what the app answered with.

What is known of objects beyond their tables is in `effects.json`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from iac_base.errors import InvalidParameterError
from iac_runtime.language.compose import all_columns
from iac_runtime.language.raw_event import as_raw_event, choose_wire_form
from iac_runtime.language.reader import AppReader, read_known_reference, without_filter
from iac_runtime.language.references import Reference, resolve_steps
from iac_runtime.language.steps import (
    AllElements,
    Boundary,
    ById,
    ByIndex,
    ByName,
    Column,
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
    around: SurroundingReads = SurroundingReads()  # noqa: RUF009 (it is immutable)
    wanted: tuple[ExpectedValue, ...] = ()
    unread: tuple[str, ...] = ()
    many: bool = False
    known: Mapping[str, Any] = field(default_factory=dict)
    asked: Mapping[str, Event] = field(default_factory=dict)
    losses: Mapping[str, Event] = field(default_factory=dict)
    says: str = ""

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

    def plan_read_back(self) -> ReadBackPlan:
        """Return what to read; where nothing can be, why."""
        event = self._event
        deed: WriteOperation = "set" if event.op == "set" else _BY_EVENT.get(event.code, "command")
        if event.kind != "application":
            return ReadBackPlan(deed, says="its effect cannot be read back")
        try:
            return {
                "set": self._plan_set,
                "make": self._plan_make,
                "copy": self._plan_copy,
                "delete": self._plan_delete,
                "move": self._plan_move,
                "command": self._plan_command,
            }[deed]()
        except InvalidParameterError as error:
            return ReadBackPlan(deed, says=error.message)

    def _plan_set(self) -> ReadBackPlan:
        event = self._event
        steps = self._resolve_steps(event.target)
        wanted, unread = self._expected_values(steps.classes, event.named)
        kind, ident = self._class_and_identifier(steps)
        asked = {} if steps.selectable else self._asked_reads(steps, ident)
        watch = ReadBackPlan(
            "set", kind, event.target, ident, wanted=wanted, unread=unread, asked=asked
        )
        columns = self._property_columns(steps.classes, wanted, linked_properties(event.app, kind))
        if not wanted:
            return replace(watch, says=f"{', '.join(unread)} cannot be read back")
        if steps.selectable:
            if ident is None or not is_id(ident):
                return replace(watch, says="objects without an id are not read back together")
            bare = without_filter(event.target)
            first = self._build_read("list", event.target, columns=columns)
            first = replace(first, id_column=property_term(ident), limit=MOST)
            then = self._build_read("columns", (*bare, PreviouslyRead("id")), columns=columns)
            return replace(watch, many=True, around=SurroundingReads((first,), (then,), seen=True))
        mine = self._with_identifier(ident, columns)
        before: tuple[Event, ...] = (self._build_read("columns", event.target, columns=mine),)
        after = self._steps_to_find_again(event.target, ident)
        name = next((row.value for row in wanted if row.term == "name"), None)
        if after and isinstance(after[-1], ByName) and isinstance(name, str):
            after = (*after[:-1], ByName(name))
        seen = bool(after) and isinstance(after[-1], PreviouslyRead)
        known = effect_of("coresetd", event.app, kind, self._tables)
        losses = {
            f"the {name} are lost": self._build_read("count", (*event.target, AllElements(name)))
            for row in wanted
            if (name := known.get("loses", {}).get(row.term))
        }
        # Nobody looks first where nobody is asked.
        before = (*before, *losses.values())
        around = SurroundingReads(before, (self._build_read("columns", after, columns=mine),), seen)
        return replace(watch, around=around, losses=losses, known=known)

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
        watch = ReadBackPlan("make", term, wanted=wanted, unread=unread, ident=ident, known=known)
        return replace(watch, around=SurroundingReads((), self._new_object_reads(watch)))

    def _plan_copy(self) -> ReadBackPlan:
        found, *others = self._direct_objects()
        if others or found.selectable:
            return ReadBackPlan("copy", says="several copies in one call are not read back")
        kind, ident = self._class_and_identifier(found)
        asked = {}
        if ident is not None and not is_id(ident):
            reader = AppReader(self._tables, strict=False)
            name = reader.follow_properties(found, property_term(ident))
            asked["name"] = self._build_read("get", name.steps)
        watch = ReadBackPlan("copy", kind, found.steps, ident, asked=asked)
        to = self._destination_collection(dict(self._event.named).get("to"), kind)
        watch = replace(watch, losses=self._replaced_reads(to or found.steps[:-1], found.steps))
        return replace(watch, around=SurroundingReads((), self._new_object_reads(watch)))

    def _new_object_reads(self, watch: ReadBackPlan) -> tuple[Event, ...]:
        """Return what reads a new object: all of it in one event, and how much it holds."""
        tables, made = self._tables, (PreviouslyRead("made"),)
        parts = [
            self._build_read("count", (*made, AllElements(elements_term(term, tables))))
            for term in parts_of(watch.kind, tables)
        ]
        reads = [self._read_all_properties(watch.kind, made), *parts]
        if self._event.raw is None:
            return tuple(read for read in reads if read.raw is None)
        raw = (as_raw_event(read, tables, self._seconds) for read in reads)
        return tuple(filter(None, raw))

    def _plan_delete(self) -> ReadBackPlan:
        found, *others = self._direct_objects()
        kind, ident = self._class_and_identifier(found)
        known = effect_of(self._event.code, self._event.app, kind, self._tables)
        if others:
            return self._plan_delete_several(found, others, known)
        if found.selectable:
            watch = ReadBackPlan("delete", kind, found.steps, many=True, known=known)
            count = self._build_read("count", found.steps)
            return replace(watch, around=SurroundingReads((count,), (count,)))
        container = container_of(kind, self._tables)
        asked = self._asked_reads(found, ident, container)
        if bins := known.get("bins"):
            named = read_known_reference(f"{bins}.name", self._tables)
            asked["bins"] = self._build_read("get", named.steps)
        watch = ReadBackPlan(
            "delete", kind, found.steps, ident, container, known=known, asked=asked
        )
        again = self._steps_to_find_again(found.steps, ident)
        if ident is None or (again == found.steps and isinstance(found.steps[-1], ByIndex)):
            return replace(watch, says="it has no id by which it could be looked for")
        trash = known.get("trash")
        if trash and "by" not in known and is_id(ident):
            again = (*read_known_reference(trash, self._tables).steps, PreviouslyRead("id"))
        mine = self._with_identifier(ident, self._container_columns(container))
        by = find_properties((kind,), known.get("by", ""), self._tables)
        first = (*mine, *(Column(row.term, property_term(row)) for row in by if row != ident))
        before = [self._build_read("columns", found.steps, columns=first)]
        if known.get("by") != "name":
            before.append(self._read_all_properties(kind, found.steps))
        after = self._build_read("columns", again, columns=mine)
        return replace(
            watch,
            around=SurroundingReads(tuple(before), (after,), isinstance(again[-1], PreviouslyRead)),
        )

    def _plan_delete_several(
        self, first: Reference, others: Sequence[Reference], known: Mapping[str, Any]
    ) -> ReadBackPlan:
        """Return the watch of deleting several objects that are each named by id or name."""
        things = [first, *others]
        kind, ident = self._class_and_identifier(first)
        watch = ReadBackPlan("delete", kind, first.steps, known=known)
        stable = all(isinstance(one.steps[-1], ById | ByName) for one in things)
        if ident is None or not stable or len(things) > MOST:
            return replace(watch, says="several objects are looked for by their ids alone")
        reads = tuple(
            self._build_read("columns", one.steps, columns=self._with_identifier(ident, ()))
            for one in things
        )
        return replace(watch, around=SurroundingReads((), reads))

    def _plan_move(self) -> ReadBackPlan:
        event, tables = self._event, self._tables
        found, *others = self._direct_objects()
        kind, ident = self._class_and_identifier(found)
        if others or found.selectable or ident is None:
            return ReadBackPlan(
                "move", kind, says="only one object with an id or a name can be checked"
            )
        container = container_of(kind, tables)
        there = self._destination_collection(dict(event.named).get("to"), kind)
        asked = self._asked_reads(found, ident, container, there[:-1])
        watch = ReadBackPlan("move", kind, found.steps, ident, container, asked=asked)
        mine = self._with_identifier(ident, self._container_columns(container))
        by: Literal["id", "name"] = "id" if is_id(ident) else "name"
        reads = [
            self._build_read("columns", self._steps_to_find_again(found.steps, ident), columns=mine)
        ]
        made = self._build_read("columns", (PreviouslyRead("made"),), columns=mine)
        form = made if event.raw is None else as_raw_event(made, tables, self._seconds)
        reads.append(form or made)
        if there:
            reads.append(self._build_read("columns", (*there, PreviouslyRead(by)), columns=mine))
        before = self._build_read("columns", found.steps, columns=mine)
        losses = self._replaced_reads(there, found.steps)
        around = SurroundingReads((before,), tuple(reads), seen=True)
        return replace(watch, around=around, losses=losses)

    def _plan_command(self) -> ReadBackPlan:
        event, tables = self._event, self._tables
        things = self._direct_objects(several=False)
        kind, ident = self._class_and_identifier(things[0]) if things else ("", None)
        known = effect_of(event.code, event.app, kind, tables)
        if "makes" in known:
            made = ReadBackPlan("make", known["makes"], ident=self._identifier_of(known["makes"]))
            return replace(made, around=SurroundingReads((), self._new_object_reads(made)))
        target = things[0].steps if things else ()
        watch = ReadBackPlan("command", kind, target, ident, known=known)
        if known.get("gone") and things and not things[0].selectable and ident is not None:
            again, mine = self._steps_to_find_again(target, ident), self._with_identifier(ident, ())
            reads = [self._build_read("columns", one, columns=mine) for one in (target, again)]
            around = SurroundingReads(
                (reads[0],), (reads[1],), isinstance(again[-1], PreviouslyRead)
            )
            return replace(watch, around=around)
        if wants := known.get("wants"):
            known_reference = read_known_reference(known["of"], tables) if "of" in known else None
            steps = known_reference.steps if known_reference else target
            classes = known_reference.classes if known_reference else (kind,)
            given = tuple((name, value) for name, value in wants.items())
            wanted, _ = self._expected_values(classes, given)
            columns = self._property_columns(classes, wanted, ())
            if wanted and (things or known_reference):
                read = self._build_read("columns", steps, columns=columns)
                return replace(watch, wanted=wanted, around=SurroundingReads((read,), (read,)))
        if among := known.get("among"):
            place = read_known_reference(among, tables)
            term = place.classes[0] if place.classes else ""
            row = self._identifier_of(term)
            same = [
                prop for name in known["same"] for prop in find_properties((term,), name, tables)
            ]
            columns = tuple(Column(prop.term, property_term(prop)) for prop in same)
            if row is not None and things:
                ends = [
                    self._build_read(
                        "columns",
                        (*place.steps, ByIndex(at)),
                        columns=self._with_identifier(row, columns),
                    )
                    for at in (0, -1)
                ]
                first = self._build_read("columns", target, columns=columns)
                return replace(watch, around=SurroundingReads((first, *ends), tuple(ends)))
        return replace(watch, says="its effect cannot be read back")

    def _build_read(self, op: EventOp, target: tuple[Step, ...], **more: Any) -> Event:
        event = self._event
        read = Event(event.app, event.kind, op, "", target=target, writes=False, **more)
        return choose_wire_form(read, self._tables, self._seconds)

    def _read_all_properties(self, kind: str, target: tuple[Step, ...]) -> Event:
        columns = all_columns(kind, self._tables)
        read = self._build_read("properties", target, columns=columns)
        return remove_secret_columns(read, self._tables, self._secrets)

    def _resolve_steps(self, steps: tuple[Step, ...]) -> Reference:
        return resolve_steps(steps, self._tables)

    def _direct_objects(self, *, several: bool = True) -> list[Reference]:
        """Return the objects of the direct parameter.

        Raises:
            InvalidParameterError: It names none.
        """
        direct = self._event.direct
        values = direct if isinstance(direct, tuple) else (direct,)
        direct_objects = [
            self._resolve_steps(one.steps) for one in values if isinstance(one, RefValue)
        ]
        if several and (not direct_objects or len(direct_objects) != len(values)):
            raise InvalidParameterError("its reference does not name an object that can be read")
        return direct_objects

    def _class_and_identifier(self, found: Reference) -> tuple[str, Property | None]:
        kind = found.classes[0] if found.classes else ""
        return kind, self._identifier_of(kind) if kind and kind != APPLICATION else None

    def _identifier_of(self, kind: str) -> Property | None:
        for row in (id_property(kind, self._tables), self._tables.find_property(kind, "name")):
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
            kind = " | ".join(dict.fromkeys(row.type for row in rows)) or "any"
            if self._is_secret(name) or not (rows and any("r" in row.access for row in rows)):
                unread.append(term)
            else:
                wanted.append(ExpectedValue(term, kind, harness_value(value)))
        return tuple(wanted), tuple(unread)

    def _property_columns(
        self,
        classes: tuple[str, ...] | None,
        wanted: Sequence[ExpectedValue],
        more: Sequence[str],
    ) -> tuple[Column, ...]:
        names = dict.fromkeys((*(row.term for row in wanted), *more))
        rows = (find_properties(classes, name, self._tables) for name in names)
        return tuple(Column(row[0].term, property_term(row[0])) for row in rows if row)

    def _with_identifier(
        self, ident: Property | None, columns: tuple[Column, ...]
    ) -> tuple[Column, ...]:
        """Return columns with that of the id first, once."""
        if ident is None:
            return columns
        first = Column(ident.term, property_term(ident))
        return (first, *(column for column in columns if column != first))

    @staticmethod
    def _container_columns(container: Property | None) -> tuple[Column, ...]:
        return (Column(container.term, property_term(container)),) if container else ()

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
            reader = AppReader(self._tables, strict=False)
            name = reader.follow_properties(found, f"{property_term(container)}.name")
            reads["place"] = self._build_read("get", name.steps)
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

    def _steps_to_find_again(
        self, steps: tuple[Step, ...], ident: Property | None
    ) -> tuple[Step, ...]:
        """Return how an object is found again in the same exchange."""
        last = steps[-1] if steps else None
        if ident is None or last is None or isinstance(last, ById | PropertyStep):
            return steps
        if not is_id(ident):
            return steps
        bare = without_filter(steps[:-1])
        return (
            (*bare, PreviouslyRead("id")) if bare and isinstance(bare[-1], AllElements) else steps
        )

    def _destination_collection(self, to: Value | None, kind: str) -> tuple[Step, ...]:
        """Return the collection that a place to move to stands for; none where it is not known."""
        if not isinstance(to, RefValue):
            return ()
        steps = to.steps
        if steps and isinstance(steps[-1], Boundary):
            steps = steps[:-2] if steps[-1].place in ("before", "after") else steps[:-1]
        found = self._resolve_steps(steps)
        if found.selectable:
            return steps
        if found.classes and has_elements(found.classes, kind, self._tables):
            return (*steps, AllElements(elements_term(kind, self._tables)))
        return ()


_KINDS: Final = 6
"""Classes of elements that are counted in a new object."""

_STAMPS: Final = ("creation date", "modification date", "date created", "date modified")
_STAMPED: Final = (*_STAMPS, "stamp date", "class", "index", "properties")
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


def parts_of(kind: str, tables: Tables) -> tuple[str, ...]:
    """Return the classes of what an object holds, without those that another of them covers."""
    terms = [row.term for row in tables.elements(kind) if row.term in tables.classes]
    terms = [term for term in terms if not is_text(term, tables)]
    own = (
        term
        for term in terms
        if not any(other != term and tables.is_descendant(term, other) for other in terms)
    )
    return tuple(own)[:_KINDS]


def container_of(kind: str, tables: Tables) -> Property | None:
    """Return the property that holds what an object of a class lies in."""

    def container_rows() -> Iterator[Property]:
        for name in _CONTAINERS:
            row = tables.find_property(kind, name) if kind in tables.classes else None
            if row is None or "r" not in row.access:
                continue
            classes = object_classes(row.type, tables)
            if (classes is None and name == "container") or (
                classes and has_elements(classes, kind, tables)
            ):
                yield row

    return next(container_rows(), None)


def linked_properties(app: str, kind: str) -> tuple[str, ...]:
    """Return properties of a class that an app changes with one another."""
    return tuple(known_effects().get(f"linked {app} {kind}", {}).get("properties", ()))


def is_stable_reference(steps: tuple[Step, ...]) -> bool:
    """Say whether steps name the same object later: by ids and names all the way."""
    picks = [step for step in steps if not hasattr(step, "name") or isinstance(step, ByName)]
    return all(isinstance(step, ById | ByName) for step in picks)


def is_stamp(term: str) -> bool:
    """Say whether an app changes a property by itself."""
    return term in _STAMPED
