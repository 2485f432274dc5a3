"""The hard profile: rows of the field book that the apps act by, and what their events cost.

A row that names a verb, a class or a property is a habit of its app and acts each time, unless it

- says `needs`: then where `CIRCUMSTANCES` sees that in the call; `once` is the first time;
- is a crash or an error after the work, or refuses a whole class: then the first time;
- names a variant of the app: then where that is chosen (`mail = "sick"`);
- is about a whole app or every app, denies something, or gives names to several: then if asked for.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Final, NamedTuple

from iac_base.words import fold_name
from iac_runtime.tools.field import field_rows
from iac_runtime.tools.tables import APPLICATION, Tables
from iac_simulator.dictionary import chain_meaning, property_of_kin
from iac_simulator.errors import EventRefusedError
from iac_simulator.resolve import (
    Found,
    FoundItems,
    VerbCall,
    comparable_value,
    direct_objects,
    object_at,
    resolve_chain,
)
from iac_simulator.values import AppReference, Chain, ChainStep, chain_from_wire
from iac_simulator.world import AppWorld, WorldObject

FieldRow = Mapping[str, Any]
Perform = Callable[[Any], Any]
"""Does the work of an event to a direct parameter, or at a place, and returns the answer."""

PATIENCE: Final = 120_000
"""Milliseconds that an event waits for its answer, if nothing else is said."""

_COSTLY: Final = ("planner", "postcondition", "profile")
_READING: Final = ("get", "count", "exists")
_AT_TIMES: Final = ("crash", "done-anyway")
_WHOLE: Final = ("error", "hang", "dialog", "renumber")
_ASKED: Final = ("denied", "ambiguous")
_OF_EVERY_APP: Final = ("event_ms", "start_ms")
_TEXT_LOST: Final = 0xFFFF

ODD: Final = "@odd"
"""Marks the last of each list of several, as the app had it when it was used first.

What is made later is like any other: it is in sight, and can be read.
"""


class Occasion(NamedTuple):
    """An event on its way to an app.

    `terms` are the classes that it is about, `properties` the properties (terms of the dictionary,
    as `verb` is); `filtered` has the same of the objects that it filters. `target` is the direct
    parameter, or the place of what is made.
    """

    call: VerbCall
    verb: str
    target: Any
    terms: frozenset[str] = frozenset()
    properties: frozenset[str] = frozenset()
    filtered: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    values: Mapping[str, Any] = {}

    @property
    def chain(self) -> Chain:
        """What the target names, empty for none."""
        return self.target.chain if isinstance(self.target, AppReference) else ()

    @property
    def reads(self) -> bool:
        """Whether nothing is to change."""
        return self.verb in _READING

    def objects(self) -> list[WorldObject]:
        """Return the objects that the target names now, or whose property it names."""
        target = self.target
        if self.properties and self.chain and self.chain[-1].kind == "p":
            target = AppReference(target.key, self.chain[:-1])
        try:
            found = direct_objects(self.call.world, target)
        except EventRefusedError:
            return []
        return [node for node in found if node.term != APPLICATION]


def find_occasion(
    call: VerbCall, verb: str, target: Any, new: str = "", values: Mapping[str, Any] | None = None
) -> Occasion:
    """Return what an event is about; `new` is the class that it makes, `values` what it gives."""
    tables, values = call.world.tables, values or {}
    kin = partial(_class_kin, tables)
    chain = target.chain if isinstance(target, AppReference) else ()
    named: list[str] = []
    if chain and chain[-1].kind == "p" and not new:
        owner, name = chain_meaning(tables, chain[:-1]).term, chain[-1].value
        prop = property_of_kin(tables, owner, name)
        if owner is not None and (prop is not None or name == "properties"):
            # Every object has these, declared or not.
            whole = [one.term for one in tables.properties(owner)] if name == "properties" else []
            named = [prop.term if prop else name, *whole]
            terms = kin(owner)
        else:
            terms = kin(chain_meaning(tables, chain).term)
    elif new:
        terms = kin(new)
        found = (property_of_kin(tables, new, name) for name in values)
        named = [prop.term for prop in found if prop is not None]
    else:
        given = [target, *call.named.values()]
        listed = [one for value in given for one in (value if isinstance(value, list) else [value])]
        references = [one.chain for one in listed if isinstance(one, AppReference)]
        terms = frozenset(one for ref in references for one in kin(chain_meaning(tables, ref).term))
    filters = [
        (chain_meaning(tables, chain[:end]).term, step.value)
        for end, step in enumerate(chain)
        if step.kind == "w"
    ]
    tested = [
        prop.term
        for term, folded in filters
        for path in _tested_chains(folded)
        if path and (prop := property_of_kin(tables, term, path[-1].value)) is not None
    ]
    filtered = frozenset(one for term, _ in filters for one in kin(term)), frozenset(tested)
    return Occasion(call, verb, target, terms, frozenset(named), filtered, values)


def _class_kin(tables: Tables, term: str | None) -> frozenset[str]:
    kin = [name for name, _ in tables.lineage(term)] if term else []
    return frozenset(kin or ([term] if term else []))


def _tested_chains(folded: Mapping[str, Any]) -> Iterator[Chain]:
    if "match" in folded:
        yield chain_from_wire(folded["match"][0])
    else:
        for part in next(iter(folded.values())):
            yield from _tested_chains(part)


def is_odd_object(node: WorldObject) -> bool:
    """Say whether an object is the one of its list with which something is the matter."""
    return ODD in node.data or node.home is None


def has_value(tables: Tables, node: WorldObject, play: Mapping[str, Any]) -> bool:
    """Say whether a row is about an object: where it says `having`, that property has a value."""
    prop = tables.find_property(node.term, play.get("having", ""))
    return "having" not in play or (prop is not None and bool(node.data.get(prop.jxa)))


def _ends_before_start(o: Occasion) -> bool:
    """Say whether a start or an end that is set would have the end come first."""
    (name, *_) = (*o.properties, "")
    given = {name: o.call.named.get("to")}
    for node in o.objects() if name.startswith(("start", "end")) else ():
        dates = {
            prop.term.split()[0]: comparable_value(given.get(prop.term, node.data.get(prop.jxa)))
            for prop in o.call.world.tables.properties(node.term)
            if prop.term in ("start date", "end date")
        }
        if len(dates) == 2 and None not in dates.values() and dates["end"] < dates["start"]:
            return True
    return False


def _filters_dates(o: Occasion) -> bool:
    found = (o.call.world.tables.find_property(t, p) for t in o.filtered[0] for p in o.filtered[1])
    return any(prop is not None and prop.type == "date" for prop in found)


def _last_name(o: Occasion) -> Any:
    return next((step.value for step in reversed(o.chain) if step.kind == "n"), "")


def _share_a_name(world: AppWorld, o: Occasion) -> bool:
    # The reading of the hard world asks this itself.
    nodes = o._replace(call=o.call._replace(world=world)).objects()
    return len({world.object_name(node.data) for node in nodes}) < len(nodes)


def _given_texts(o: Occasion) -> str:
    return " ".join(str(value) for value in (*o.values.values(), *o.call.named.values()))


def _is_taken(o: Occasion) -> bool:
    world, name = o.call.world, o.values.get("name")
    return any(
        world.object_name(node.data) == name for node in world.descendant_objects(world.root)
    )


def _is_read_only(o: Occasion) -> bool:
    """Say whether an object on the way to the target, or to the place of what is new, is."""
    for end in range(len(o.chain)):
        with suppress(EventRefusedError):
            if object_at(o.call.world.friendly, o.chain[: end + 1]).data.get("writable") is False:
                return True
    return False


def _lies_in(word: str, o: Occasion) -> bool:
    holders = [node.home.owner for node in o.objects() if node.home is not None]
    return any(
        word in (o.call.world.object_name(owner.data) or str(owner.chain)).casefold()
        for owner in holders
    )


CIRCUMSTANCES: Final[Mapping[str, Callable[[Occasion], bool]]] = {
    "a list": lambda o: any(isinstance(v, list) for v in (o.target, *o.values.values())),
    "a list of references": lambda o: isinstance(o.target, list),
    "gone": lambda o: _names_one(o.call.world.tables, o.chain) and not o.objects(),
    "no hits": lambda o: bool(o.filtered[0]) and not o.objects(),
    "by name": lambda o: _last_name(o) != "" and any(map(is_odd_object, o.objects())),
    "id as name": lambda o: _last_name(o) != "" and not o.objects(),
    "name begins with _": lambda o: str(_last_name(o)).startswith("_"),
    "id": lambda o: any(step.kind == "id" for step in o.chain),
    "range of a filter": lambda o: {"w", "r"} <= {step.kind for step in o.chain},
    "name exists": _is_taken,
    "emoji in name": lambda o: any(
        max(o.call.world.object_name(node.data) or " ") > chr(_TEXT_LOST) for node in o.objects()
    ),
    "a shared name": lambda o: _share_a_name(o.call.world.friendly, o),
    "end before start": _ends_before_start,
    "a date filter": _filters_dates,
    "a filter over several": lambda o: any(
        one.kind == "w" and not _names_one(o.call.world.tables, o.chain[: at - 1])
        for at, one in enumerate(o.chain)
    ),
    "in every container": lambda o: _count_whole_lists(o.call.world.tables, o.chain) > 1,
    "over a thousand": lambda o: max(_sizes(o.call.world.friendly, o)) > 1000,
    "null": lambda o: None in o.values.values(),
    "brackets": lambda o: "(" in _given_texts(o),
    "text path": lambda o: isinstance(o.target, str) or "/" in _given_texts(o),
    "no plus": lambda o: "+" not in str(o.call.named.get("to", "+")),
    "no text": lambda o: not o.target,
    "not in front": lambda o: "@front" not in o.call.world.data,
    "no skip": lambda o: True not in o.call.named.values(),
    "no window": lambda o: not o.call.world.data.get("windows", [None]),
    "properties": lambda o: "properties" in o.properties,
    "some": lambda o: any(step.kind == "o" for step in o.chain),
    "nested": lambda o: any(
        node.owner is not None and node.owner.term == node.term for node in o.objects()
    ),
    "read-only": _is_read_only,
    "one day of a series": lambda o: any(node.data.get("recurrence") for node in o.objects()),
    "in the trash": partial(_lies_in, "trash"),
    "in drafts": partial(_lies_in, "draft"),
}
"""What a row `needs` -> how it shows in a call; other words count only if the row is asked for."""


@cache
def book_rows(app: str) -> tuple[FieldRow, ...]:
    """Return all that the book says of an app's costs and faults, a fact once."""
    known: dict[str, dict[str, Any]] = {}
    for use in _COSTLY:
        for row in field_rows(app, use):
            known.setdefault(row["id"], {}).update(row)
    own = {row["id"] for use in _COSTLY for row in field_rows("", use)} if app else set()
    return tuple({**row, "general": row["id"] in own} for row in known.values())


@dataclass
class FieldProfile:
    """The apps as the field book has them.

    Args:
        variants: App key, name or bundle id -> the variant that it plays, where sources disagree.
        asked: Ids of rows that act whatever they need.
        clock: Counts seconds, those that were waited included.
        wait: Takes seconds of the script.
        dialogs: How a person answers: `wait`, `cancel`, `no` or `yes`.

    Attributes:
        struck: How often each row acted.
        later: What happens of itself: the moment by the clock, and what is done.
    """

    variants: Mapping[str, str]
    asked: frozenset[str]
    clock: Callable[[], float]
    wait: Callable[[float], None]
    dialogs: str = "wait"
    struck: Counter[str] = field(default_factory=Counter)
    later: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    seen: dict[str, tuple[float, Any]] = field(default_factory=dict)
    started: set[str] = field(default_factory=set)
    occasion: Occasion | None = None
    readable: dict[tuple[str, str, str], list[FieldRow]] = field(default_factory=dict)

    def rows_in_force(self, tables: Tables) -> Iterator[FieldRow]:
        """Yield the rows of an app that its variant has, whatever each needs."""
        app = tables.app
        chosen = {self.variants.get(name, "") for name in (tables.key, app.name, app.id)}
        for row in book_rows(app.id):
            if row["id"] in self.asked or row.get("profile", "") in {"", *chosen}:
                yield row

    def acts(self, row: FieldRow, occasion: Occasion | None = None) -> bool:
        """Say whether a row of what is in force acts now, in the event that is under way."""
        occasion = occasion or self.occasion
        play: Mapping[str, Any] = row.get("play", {})
        if not play or row["id"] in self.asked:
            return bool(play)
        if row["general"] or play["fault"] in _ASKED or play.keys().isdisjoint(_SUBJECT):
            return False
        needs, fault = play.get("needs", ""), play["fault"]
        whole = play.keys().isdisjoint(("verb", "property"))
        if needs == "once" or (not needs and (fault in _AT_TIMES or (whole and fault in _WHOLE))):
            return not self.struck[row["id"]]
        test = CIRCUMSTANCES.get(needs)
        return not needs or (test is not None and occasion is not None and test(occasion))

    def reading_rows(
        self, world: AppWorld, faults: Iterable[str], term: str, prop: str = ""
    ) -> Iterator[FieldRow]:
        """Yield the rows with these faults that act on reads of a property, or of a class."""
        key = (world.tables.key, term, prop)
        if key not in self.readable:
            kin = _class_kin(world.tables, term)
            rows = [
                row
                for row in self.rows_in_force(world.tables)
                if (play := row.get("play"))
                and play.get("verb", "get") == "get"
                and play.get("of", term) in kin
                and play.get("property", "") == prop
            ]
            # What two rows say happens once.
            plays = [row["play"] for row in rows]
            self.readable[key] = [
                row for at, row in enumerate(rows) if row["play"] not in plays[:at]
            ]
        for row in self.readable[key]:
            if row["play"]["fault"] in faults and self.acts(row):
                yield row

    def event_rows(
        self, occasion: Occasion, concerns: Callable[[FieldRow], bool]
    ) -> Iterator[FieldRow]:
        """Yield the rows that act on an event, of those that `concerns` chooses by their play."""
        for row in self.rows_in_force(occasion.call.world.tables):
            play = row.get("play")
            if play and concerns(play) and _fits_event(play, occasion) and self.acts(row, occasion):
                yield row

    def catch_up(self) -> None:
        """Do what was to happen of itself by now."""
        due = [one for one in self.later if one[0] <= self.clock()]
        self.later = [one for one in self.later if one not in due]
        for _, happen in due:
            happen()

    def cost_of(self, occasion: Occasion) -> int:
        """Return the milliseconds that an event takes, by the nearest row for each kind of cost."""
        world = occasion.call.world
        nearest: dict[str, tuple[int, int]] = {}
        for row in self.rows_in_force(world.tables):
            fitting = [_nearness(term, occasion) for term in row["terms"]]
            # Of two rows about a class, the one that is about nothing else is nearer.
            near = -1 if max(fitting) < 0 else 100 * max(fitting) + 99 - fitting.count(-1)
            cost = row.get("cost", {})
            for kind, number in cost.items() if near >= 0 else ():
                if kind == "id_ms" and row.get("prefer") == "scope" and _is_scoped(occasion.chain):
                    continue
                if kind == "positional_ms" and "at" in cost:
                    # The app counts through to the position.
                    kind, number = "positional_ms_per_1000", number * 1000 // cost["at"]
                if kind in _OF_EVERY_APP or not row["general"]:
                    # All properties together take as long as the dearest.
                    rank = 0 if "properties" in occasion.properties else near
                    nearest[kind] = max(nearest.get(kind, (-1, 0)), (rank, number))
        rates = {kind: number for kind, (_, number) in nearest.items()}
        examined, found = _sizes(world.friendly, occasion)
        cost = rates.get("event_ms", 0) + rates.get("whose_ms_per_1000", 0) * examined // 1000
        if world.tables.key not in self.started:
            self.started.add(world.tables.key)
            cost += rates.get("start_ms", 0)
        if not occasion.reads:
            return cost + rates.get("act_ms", 0) * found
        cost += rates.get("body_ms", 0) * found if occasion.properties else 0
        picked = [end for end, step in enumerate(occasion.chain) if step.kind in ("id", "i")]
        if picked and occasion.chain[picked[-1]].kind == "id":
            cost += rates.get("id_ms", 0)
        elif picked:
            listed = _count_found(world.friendly, occasion.chain[: picked[-1]])
            cost += rates.get("positional_ms", 0)
            cost += rates.get("positional_ms_per_1000", 0) * listed // 1000
        if occasion.properties and found > 1:
            return cost + rates.get("column_ms_per_1000", 0) * found // 1000
        return cost + (rates.get("item_ms", 0) if occasion.properties else 0)

    def limit_of(self, occasion: Occasion) -> int:
        """Return the milliseconds after which the sender of an event gives up."""
        given = occasion.call.timeout
        return PATIENCE if given is None else int(given * 1000)


_SUBJECT: Final = ("verb", "of", "property", "part")


def _fits_event(play: Mapping[str, Any], o: Occasion) -> bool:
    verb = fold_name(play.get("verb", ""))
    terms, properties = o.filtered if verb == "whose" else (o.terms, o.properties)
    if verb == "whose":
        fits = bool(terms)
    elif verb:
        fits = fold_name(o.verb) == verb
    else:
        # What says nothing of a verb is about reading; a stale read comes of any change.
        fits = o.reads == (play["fault"] != "stale" or "property" in play)
    # A command may be about no object; what it changes of the application is not said in it.
    is_command = verb not in ("", "get", "set", "make", "whose")
    known = {*terms, APPLICATION} if is_command else terms
    fits = fits and (play.get("of") in known or "of" not in play or (is_command and not terms))
    return fits and (is_command or "property" not in play or play["property"] in properties)


def _nearness(term: str, o: Occasion) -> int:
    """Return how near a row's term is to an event: 3 a property, 2 a class, 1 a verb, -1 none."""
    terms, properties = o.terms | o.filtered[0], o.properties | o.filtered[1]
    if term == "*":
        return 0
    owner, _, name = term.partition(".")
    if name:
        return 3 if (owner in terms and name in properties) or name in terms else -1
    if term in terms or term in properties:
        return 2
    return 1 if fold_name(term) == fold_name(o.verb) else -1


def _is_scoped(chain: Chain) -> bool:
    """Say whether a chain names a container before the object that it names."""
    return sum(step.kind in ("i", "n", "id") for step in chain) > 1


def _sizes(world: AppWorld, o: Occasion) -> tuple[int, int]:
    """Return how many objects the filters of an event go through, and how many it names."""
    if _names_one(world.tables, o.chain):
        return 0, 1
    ends = [end for end, step in enumerate(o.chain) if step.kind == "w"]
    return sum(_count_found(world, o.chain[:end]) for end in ends), _count_found(world, o.chain)


def _count_found(world: AppWorld, chain: Chain) -> int:
    try:
        return _found_size(resolve_chain(world, chain))
    except EventRefusedError:
        return 1


def _names_one(tables: Tables, chain: Chain) -> bool:
    """Say whether a chain picks one object of each collection, so that none need be counted."""
    return not _count_whole_lists(tables, chain)


def _count_whole_lists(tables: Tables, chain: Chain) -> int:
    """Return of how many collections a chain picks no object."""
    holds = [
        chain_meaning(tables, chain[: end + 1]).kind == "elements" for end in range(len(chain))
    ]
    # A filter or a range goes on with the collection before it.
    kinds = ("i", "n", "id", "o", "w", "r")
    picked = [step.kind in kinds for step in (*chain[1:], ChainStep("p", ""))]
    return sum(many and not one for many, one in zip(holds, picked, strict=False))


def _found_size(target: Found) -> int:
    if isinstance(target, FoundItems):
        return sum(_found_size(item) for item in target.items)
    return 1
