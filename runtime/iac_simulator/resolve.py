"""From a chain to what it names in a world: an object, a value, many of either, or a new place.

A filter of `whose` is folded: `{"match": [chain, operator, value]}`, `{"and": [...]}`,
`{"or": [...]}`, `{"not": [...]}`; chains and values stay as they are on the wire. Source: JXA
release notes 10.10, "Filtering".
"""

import itertools
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from iac_base.words import fold_name
from iac_runtime.language.html_text import plain_text
from iac_runtime.tool import Property
from iac_runtime.tools.tables import APPLICATION
from iac_simulator.dictionary import (
    STANDARD_PROPERTIES,
    element_class,
    property_named,
    property_of_kin,
)
from iac_simulator.errors import EventRefusedError, StateError
from iac_simulator.values import (
    AppReference,
    Chain,
    ChainStep,
    chain_from_wire,
    from_wire,
    is_mark,
    parse_chain,
    parse_instant,
    stored_value,
)
from iac_simulator.world import TEXT, AppWorld, Data, WorldObject, default_value, value_text

_TESTS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "_contains": operator.contains,
    "_beginsWith": str.startswith,
    "_endsWith": str.endswith,
}
_SYMBOLS: Final[Mapping[str, str]] = {
    "_equals": "=",
    "_greaterThan": ">",
    "_greaterThanEquals": ">=",
    "_lessThan": "<",
    "_lessThanEquals": "<=",
}
_LEAST: Final[Mapping[str, int]] = {"_and": 2, "_or": 2, "_not": 1}

Read = Callable[[Chain], Any]
"""How a test reads a chain of the tested object; the value as a world keeps it."""


def fold_filter(wire: Any) -> dict[str, Any]:
    """Return the folded form of the argument of `whose` as it came over the wire.

    Raises:
        EventRefusedError: -1700: no filter, an unknown operator, or too few parts of and, or, not.
    """
    if not isinstance(wire, dict) or wire.get("$") != "record" or not wire["v"]:
        raise EventRefusedError(-1700)
    parts = [part for key, value in wire["v"].items() for part in _fold_entry(key, value)]
    return parts[0] if len(parts) == 1 else {"and": parts}


def _fold_entry(key: str, value: Any) -> list[dict[str, Any]]:
    if key in _LEAST:
        if not isinstance(value, list) or len(value) < _LEAST[key]:
            raise EventRefusedError(-1700)
        return [{key[1:]: [fold_filter(item) for item in value]}]
    if key == "_match":
        if not (isinstance(value, list) and len(value) == 2 and _wire_tag(value[0]) == "it"):
            raise EventRefusedError(-1700)
        return _fold_tests(value[0]["v"], value[1])
    if key.startswith("_"):
        raise EventRefusedError(-1700)
    return _fold_tests([["p", key]], value)


def _fold_tests(chain: list[Any], value: Any) -> list[dict[str, Any]]:
    if _wire_tag(value) != "record":
        return [{"match": [chain, "=", value]}]
    tests = [(_SYMBOLS.get(key, key), item) for key, item in value["v"].items()]
    if not tests or any(test not in _TESTS for test, _ in tests):
        raise EventRefusedError(-1700)
    return [{"match": [chain, test, item]} for test, item in tests]


def _wire_tag(wire: Any) -> str | None:
    return wire.get("$") if isinstance(wire, dict) else None


def matches_filter(folded: Mapping[str, Any], read: Read) -> bool:
    """Say whether the object that `read` reads passes; what it cannot supply, fails a test."""
    key, value = next(iter(folded.items()))
    if key == "match":
        chain, test, wire = value
        try:
            left = read(chain_from_wire(chain))
        except EventRefusedError:
            return False
        return _matches_test(left, test, stored_value(from_wire(wire)))
    parts = (matches_filter(part, read) for part in value)
    return all(parts) if key == "and" else any(parts) == (key == "or")


def _matches_test(left: Any, test: str, right: Any) -> bool:
    a, b = comparable_value(left), comparable_value(right)
    if test == "=" and isinstance(a, bool) and not isinstance(b, bool):
        return False
    texts = isinstance(a, str) and isinstance(b, str)
    if test.startswith("_") and not texts and not (test == "_contains" and isinstance(a, list)):
        return False
    pair: tuple[Any, Any] = (a, b)
    try:
        return bool(_TESTS[test](*pair))
    except TypeError:
        return False


def comparable_value(value: Any) -> Any:
    """Text is compared without regard to case, as Cocoa's scripting tests do (inferred)."""
    if isinstance(value, str):
        return value.casefold()
    if isinstance(value, list):
        return [comparable_value(item) for item in value]
    if isinstance(value, dict) and "date" in value:
        try:
            return parse_instant(value["date"])
        except ValueError:
            return value
    return value


class FoundValue(NamedTuple):
    """A value of a world, and where a part of it would be kept."""

    value: Any
    owner: WorldObject | None = None
    name: str = ""


@dataclass(frozen=True)
class FoundItems:
    """The objects of a collection, or what was read from each of them."""

    items: "list[Found]"
    plural: str = ""
    nested: bool = False


Found = WorldObject | FoundValue | FoundItems


def resolve_chain(world: AppWorld, chain: Chain) -> Found:
    """Return what `chain` names.

    Raises:
        EventRefusedError: -1719 index out of range, -1728 no such name or id, -1700 unknown name.
    """
    target: Found = world.root
    around: Found = target
    for step in chain:
        if step.kind == "x":
            target = _neighbor_item(around, target, step.value)
            continue
        around = target if isinstance(target, FoundItems) else around
        target = _resolve_step(world, target, step)
    return target


def resolve_reference(world: AppWorld, text: str) -> WorldObject | None:
    """Return the object that a reference written in the world names, if it is there.

    One that leads back to itself names none.
    """
    # It is there, though a list that it is in may leave it out for who reads.
    for reader in (world, world.friendly):
        with suppress(EventRefusedError, StateError, RecursionError):
            target = resolve_chain(reader, parse_chain(text))
            return target if isinstance(target, WorldObject) else None
    return None


def answer_value(world: AppWorld, target: Found) -> Any:
    """Return `found` as a script gets it: values, references in the form an app answers with."""
    if isinstance(target, FoundItems):
        return [answer_value(world, item) for item in target.items]
    if isinstance(target, WorldObject):
        text = value_text(target.data)
        return text if text is not None else world.make_reference(target.chain)
    return _answer_part(world, target.value)


def _answer_part(world: AppWorld, value: Any) -> Any:
    if isinstance(value, list):
        return [_answer_part(world, item) for item in value]
    if is_mark(value):
        if "ref" in value:
            node = resolve_reference(world, value["ref"])
            return world.make_reference(node.chain if node else parse_chain(value["ref"]))
        if "record" in value:
            fields = value["record"].items()
            return {"record": {key: _answer_part(world, item) for key, item in fields}}
    return value


def _resolve_step(world: AppWorld, target: Found, step: ChainStep) -> Found:
    if step.kind == "new":
        raise EventRefusedError(-1728)
    if step.kind == "p":
        return _resolve_name(world, target, step.value)
    if isinstance(target, FoundItems):
        return _select_items(world, target, step)
    if isinstance(target, FoundValue) and isinstance(target.value, list) and step.kind == "i":
        return _item_at([_resolve_value(world, item) for item in target.value], step.value)
    raise EventRefusedError(-1728 if isinstance(target, WorldObject) else -1700)


def _resolve_name(world: AppWorld, target: Found, name: str) -> Found:
    if isinstance(target, FoundItems):
        items = [_resolve_name(world, item, name) for item in target.items]
        nested = target.nested or any(isinstance(item, FoundItems) for item in items)
        return FoundItems(items, name if nested else "", nested)
    if isinstance(target, FoundValue):
        target = _text_holder(world, target)
    return _read_property(world, target, name)


def _text_holder(world: AppWorld, target: FoundValue) -> WorldObject:
    """Return the text of a property as an object whose parts can be named and changed."""
    owner, name = target.owner, target.name
    if owner is None or not isinstance(target.value, str):
        raise EventRefusedError(-1728 if target.value is None else -1700)
    data = {TEXT: target.value}

    def attach_text() -> None:
        owner.attach()
        owner.data[name] = data

    classes = world.tables.classes
    term = "rich text" if "rich text" in classes and "text" not in classes else "text"
    return WorldObject(data, term, (*owner.chain, ChainStep("p", name)), owner, None, attach_text)


def _read_property(world: AppWorld, node: WorldObject, name: str) -> Found:
    found = _held_property(world, node, name)
    if world.reading is None or isinstance(found, FoundItems):
        return found
    prop = property_of_kin(world.tables, node.term, name)
    shown: Found = world.reading.show_value(world, node, prop.term if prop else name, found)
    return shown


def _held_property(world: AppWorld, node: WorldObject, name: str) -> Found:
    prop = property_named(world.tables, node.term, name)
    if prop is None:
        items = world.find_collection(node, name)
        if items is not None:
            return FoundItems(list(items), name)
        prop = property_of_kin(world.tables, node.term, name)
    if name in node.data:
        return _stored_property(world, node, name)
    if node.term == APPLICATION and name in STANDARD_PROPERTIES:
        app, running = world.tables.app, world.data.get("@running", True)
        values = (app.id, app.name, "1.0", "@front" in world.data, running)
        return FoundValue(values[STANDARD_PROPERTIES.index(name)])
    if name == "class":
        row = world.tables.classes.get(node.term)
        return FoundValue(row.jxa if row else node.term)
    if name == "properties":
        return FoundValue(_property_record(world, node))
    if prop is None and name not in ("id", "name"):
        known = property_named(world.tables, None, name) or element_class(world.tables, None, name)
        raise EventRefusedError(-1728 if known else -1700)
    return _implied_property(world, node, name, prop)


def _stored_property(world: AppWorld, node: WorldObject, name: str) -> Found:
    value = node.data[name]
    if isinstance(value, dict) and not is_mark(value):
        return world.property_object(node, name)
    return _resolve_value(world, value, node, name)


def _resolve_value(
    world: AppWorld, value: Any, owner: WorldObject | None = None, name: str = ""
) -> WorldObject | FoundValue:
    """Return a value of the world, or the object that it refers to."""
    if not is_mark(value) or "ref" not in value:
        return FoundValue(value, owner, name)
    target = resolve_reference(world, value["ref"])
    if target is None:
        raise EventRefusedError(-1728)
    return target


def _property_record(world: AppWorld, node: WorldObject) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name in ("class", *(prop.jxa for prop in world.tables.properties(node.term))):
        if name == "properties":
            continue
        try:
            record[name] = stored_value(answer_value(world, _read_property(world, node, name)))
        except EventRefusedError:
            record[name] = None
    return {"record": record}


def _implied_property(
    world: AppWorld, node: WorldObject, name: str, prop: Property | None
) -> Found:
    """Return what follows from the world for a property that it leaves out."""
    owner, home = node.owner, node.home
    if prop is None or prop.code == "ID  ":
        raise EventRefusedError(-1728)
    if name == "index" and home is not None:
        return FoundValue(next(i for i, data in enumerate(home.items) if data is node.data) + 1)
    if owner is not None and (name == "container" or world.tables.is_descendant(owner.term, name)):
        return owner
    value = _DERIVED[name](world, node) if name in _DERIVED else None
    if value is not None:
        return FoundValue(value)
    return FoundValue(default_value(world.tables, prop.type), node, name)


def _posix_path(world: AppWorld, node: WorldObject) -> str | None:
    if not node.chain or node.chain[0] != ChainStep("p", "startupDisk"):
        return None
    names: list[str] = []
    at: WorldObject | None = node
    while at is not None and len(at.chain) > 1:
        names.append(world.object_name(at.data) or "")
        at = at.owner
    return "/" + "/".join(reversed(names))


def _file_url(world: AppWorld, node: WorldObject) -> str | None:
    path = _posix_path(world, node)
    if path is None:
        return None
    folder = "" if node.term.endswith("file") or path == "/" else "/"
    return "file://" + quote(path) + folder


def _plain_text(_world: AppWorld, node: WorldObject) -> str | None:
    body = node.data.get("body")
    return plain_text(body) if isinstance(body, str) else None


_DERIVED: Final[Mapping[str, Callable[[AppWorld, WorldObject], Any]]] = {
    "displayedName": lambda world, node: world.object_name(node.data),
    "nameExtension": lambda world, node: (
        (world.object_name(node.data) or "").rpartition(".")[2]
        if node.term.endswith("file")
        else ""
    ),
    "plaintext": _plain_text,
    "posixPath": _posix_path,
    "unreadCount": lambda _, node: sum(
        not message.get("readStatus", False) for message in node.data.get("messages", [])
    ),
    "url": _file_url,
}
"""Properties that apps compute: a world may leave them out and they stay true after changes."""


def _select_items(world: AppWorld, collection: FoundItems, step: ChainStep) -> Found:
    if collection.nested:
        items = [_resolve_step(world, item, step) for item in collection.items]
        return FoundItems(items, collection.plural, step.kind == "w")
    if step.kind == "i":
        return _item_at(collection.items, step.value)
    if step.kind == "r":
        return FoundItems(_items_between(collection.items, *step.value), collection.plural)
    if step.kind == "o":
        # What an app picks is its own affair; here it is the last.
        middle = (len(collection.items) - 1) // 2
        return _item_at(collection.items, middle if step.value == "middle" else -1)
    if step.kind == "w":
        passed = [item for item in collection.items if _matches_item(world, item, step.value)]
        return FoundItems(passed, collection.plural)
    nodes = [item for item in collection.items if isinstance(item, WorldObject)]
    if step.kind == "id":
        ids = ((world.object_id(node.data, node.term), node) for node in nodes)
        known = ((str(ident), node) for ident, node in ids if ident is not None)
        hit = next((node for ident, node in known if ident == str(step.value)), None)
        if hit is None and world.reading is not None:
            hit = world.reading.find_elsewhere(
                world,
                collection.plural,
                lambda node: str(world.object_id(node.data, node.term)) == str(step.value),
            )
    elif step.kind == "n":
        wanted = step.value
        names = ((world.object_name(node.data) or "", node) for node in nodes)
        if world.reading is not None:
            names = ((world.reading.lookup_name(world, node) or "", node) for node in nodes)
        alike = [node for name, node in names if name.casefold() == wanted.casefold()]
        # An exact name goes before one that differs in case.
        hit = min(alike, key=lambda node: world.object_name(node.data) != wanted, default=None)
        if hit is None and wanted.startswith("/"):
            hit = world.object_by_path(wanted)
    else:
        raise EventRefusedError(-10002)
    if hit is None:
        raise EventRefusedError(-1728)
    return hit


def _item_at(items: "list[Found]", index: int) -> Found:
    if not -len(items) <= index < len(items):
        raise EventRefusedError(-1719)
    return items[index]


def _items_between(items: "list[Found]", first: int, last: int) -> "list[Found]":
    """Return a range of items; its ends count from 1, or from the end."""
    ends = [at - 1 if at > 0 else len(items) + at for at in (first, last)]
    if not 0 <= ends[0] <= ends[1] < len(items):
        raise EventRefusedError(-1719)
    return items[ends[0] : ends[1] + 1]


def _neighbor_item(around: Found, target: Found, way: str) -> Found:
    """Return the neighbour of an object in the collection that it was picked from."""
    if not isinstance(around, FoundItems) or not isinstance(target, WorldObject):
        raise EventRefusedError(-1728)
    datas = [item.data if isinstance(item, WorldObject) else None for item in around.items]
    at = next((i for i, data in enumerate(datas) if data is target.data), None)
    if at is None:
        raise EventRefusedError(-1728)
    at += 1 if way == "next" else -1
    return _item_at(around.items, at) if at >= 0 else _item_at([], 0)


def _matches_item(world: AppWorld, item: Found, folded: dict[str, Any]) -> bool:
    def read_chain(chain: Chain) -> Any:
        part = item
        for step in chain:
            part = _resolve_step(world, part, step)
        return stored_value(answer_value(world, part))

    return matches_filter(folded, read_chain)


_WINDOWED: Final = ("docu", "cwin")
"""Codes of the classes that an app keeps from front to back (NSApplication's orderedDocuments)."""


class VerbCall(NamedTuple):
    """A command on its way into a world; `now` is the moment for dates, ISO 8601 in UTC.

    `worlds` are all there are, by their keys: a saved file lies on the disk of another.
    """

    world: AppWorld
    direct: Any
    named: Mapping[str, Any]
    now: str
    timeout: float | None = None
    worlds: Mapping[str, AppWorld] = MappingProxyType({})


class NewObjectPlace(NamedTuple):
    """A list of a world: its holder, its key there, and whether what is new comes first.

    `beside` is the object that it comes before (`first`) or after.
    """

    owner: WorldObject
    plural: str
    first: bool = False
    beside: Data | None = None


def insert_object(world: AppWorld, place: NewObjectPlace, term: str, data: Data) -> AppReference:
    """Put an object into a list, with its class where the list is one of another."""
    row = world.tables.classes.get(term)
    if row is not None and row.plural != place.plural:
        data["@class"] = term
    items = place.owner.data.setdefault(place.plural, [])
    # What opens a window comes to the front, wherever it was asked for.
    front = place.owner.data is world.data and row is not None and row.code in _WINDOWED
    index = 0 if place.first or front else len(items)
    if place.beside is not None and not front:
        places = (i + (not place.first) for i, one in enumerate(items) if one is place.beside)
        index = next(places, len(items))
    items.insert(index, data)
    return world.make_reference(world.list_item(place.owner, place.plural, index).chain)


def assign_id(world: AppWorld, term: str, made: Data) -> None:
    """Give a new object its id: a number that the world never gives twice, or a word with it."""
    prop = world.id_property(term)
    if prop is None:
        return
    # The ids that the world holds count, not the form in which an app shows them.
    world = world.friendly
    if "@next" not in world.data:
        # Once, at the first object that is made: a look at all of them each time is what would
        # make the thousandth slow.
        nodes = world.descendant_objects(world.root)
        world.data["@next"] = max((_id_number(world, node) + 1 for node in nodes), default=1)
    number = world.data["@next"]
    if prop.jxa in made:
        number = made[prop.jxa] if isinstance(made[prop.jxa], int) else 0
        world.data["@next"] = max(world.data["@next"], number + 1)
        return
    world.data["@next"] = number + 1
    word = world.tables.classes[term].jxa
    made[prop.jxa] = number if prop.type in ("integer", "number", "real") else f"{word}-{number}"


def _id_number(world: AppWorld, node: WorldObject) -> int:
    """Return the number in the id of an object, as `assign_id` gives ids; 0 for another one."""
    ident = world.object_id(node.data, node.term)
    match = re.fullmatch(r"[A-Za-z]+-(\d+)", ident) if isinstance(ident, str) else None
    return int(match[1]) if match else ident if isinstance(ident, int) else 0


def object_at(world: AppWorld, chain: Chain) -> WorldObject:
    """Return the object that `chain` names; a text becomes one that can hold parts.

    Raises:
        EventRefusedError: -10024 it is none.
    """
    target = resolve_chain(world, chain)
    if (
        isinstance(target, FoundValue)
        and isinstance(target.value, str)
        and target.owner is not None
    ):
        target.owner.data[target.name] = {TEXT: target.value}
        target = resolve_chain(world, chain)
    if not isinstance(target, WorldObject):
        raise EventRefusedError(-10024)
    return target


def target_object(world: AppWorld, value: Any) -> WorldObject:
    """Return the object that a place or a direct parameter names: a reference or a path.

    Raises:
        EventRefusedError: -43 nothing is at the path, -1700 it is no object.
    """
    if isinstance(value, dict) and "path" in value:
        node = world.object_by_path(value["path"])
        if node is None:
            raise EventRefusedError(-43)
        return node
    if not isinstance(value, AppReference):
        raise EventRefusedError(-1700)
    target = resolve_chain(world, value.chain)
    if isinstance(target, FoundItems):
        return object_at(world, value.chain[:-1])
    if not isinstance(target, WorldObject):
        raise EventRefusedError(-1700)
    return target


def direct_objects(world: AppWorld, direct: Any) -> list[WorldObject]:
    """Return the objects that a direct parameter names, lists and filters taken apart."""
    if isinstance(direct, list):
        return [node for item in direct for node in direct_objects(world, item)]
    if isinstance(direct, AppReference):
        return flatten_objects(resolve_chain(world, direct.chain))
    return [target_object(world, direct)]


def flatten_objects(target: Found) -> list[WorldObject]:
    """Return the objects that were found, one or many.

    Raises:
        EventRefusedError: -1708 it is a value.
    """
    if isinstance(target, FoundItems):
        return [node for item in target.items for node in flatten_objects(item)]
    if not isinstance(target, WorldObject):
        raise EventRefusedError(-1708)
    return [target]


def place_for(world: AppWorld, term: str, at: Any) -> NewObjectPlace:
    """Return the list for a new `term` at a place that a script names, None for none.

    Raises:
        EventRefusedError: -10024 it has no place there.
    """
    chain = at.chain if isinstance(at, AppReference) else ()
    if chain and chain[-1].kind == "l" and chain[-1].value in ("before", "after"):
        node = object_at(world, chain[:-1])
        if node.home is None:
            raise EventRefusedError(-10024)
        first = chain[-1].value == "before"
        return NewObjectPlace(node.home.owner, node.home.plural, first, node.data)
    if chain and chain[-1].kind == "l":
        listed = isinstance(resolve_chain(world, chain[:-1]), FoundItems)
        owner, plural = object_at(world, chain[: -2 if listed else -1]), chain[-2].value
        if not listed or not isinstance(owner.data.get(plural), list):
            plural = _plural_for(world, owner, term) or (plural if listed else None)
        if plural is None:
            raise EventRefusedError(-10024)
        return NewObjectPlace(owner, plural, chain[-1].value == "beginning")
    owner = target_object(world, at) if at is not None else world.root
    plural = _plural_for(world, owner, term)
    # `at: folder.notes` names the list itself.
    step = chain[-1] if plural is None and chain and chain[-1].kind == "p" else None
    if step is not None and isinstance(resolve_chain(world, chain), FoundItems):
        return NewObjectPlace(object_at(world, chain[:-1]), step.value)
    if plural is not None and isinstance(owner.data.get(plural), list):
        return NewObjectPlace(owner, plural)
    # The app's own defaults (`defaultList`), then the first object that has such a list; last a
    # new list on the owner, where its class allows one.
    for node in itertools.chain(_default_objects(world, owner), world.descendant_objects(owner)):
        inner = _plural_for(world, node, term)
        if inner is not None and isinstance(node.data.get(inner), list):
            return NewObjectPlace(node, inner)
    if plural is None:
        raise EventRefusedError(-10024)
    return NewObjectPlace(owner, plural)


def _plural_for(world: AppWorld, owner: WorldObject, term: str) -> str | None:
    """Return the collection of `owner` for objects of `term`; None where its class has none.

    A list that the world has for a superclass is taken before a new one: a document file goes into
    the `files` of its folder.
    """
    classes = world.tables.classes
    if owner.term not in classes or term not in classes:
        return None
    elements = world.tables.elements(owner.term)
    if not any(world.tables.is_descendant(term, element.term) for element in elements):
        return None
    plurals = [row.plural for _, row in world.tables.lineage(term)]
    existing = (plural for plural in plurals if isinstance(owner.data.get(plural), list))
    return next(existing, plurals[0])


def _default_objects(world: AppWorld, owner: WorldObject, depth: int = 3) -> Iterator[WorldObject]:
    for key, value in owner.data.items() if depth else ():
        if fold_name(key).startswith("default") and isinstance(value, dict) and "ref" in value:
            default = resolve_reference(world, value["ref"])
            if default is not None:
                yield default
                yield from _default_objects(world, default, depth - 1)
