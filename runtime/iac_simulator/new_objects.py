"""New objects: where one goes when a script names a place, or none, and what it gets by itself."""

import itertools
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from iac_base.words import fold_name
from iac_simulator.errors import EventRefusedError
from iac_simulator.follow import Found, FoundItems, FoundValue, resolve_chain, resolve_reference
from iac_simulator.values import AppReference, Chain
from iac_simulator.world import TEXT, AppWorld, Data, WorldObject

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
        index = next(i for i, one in enumerate(items) if one is place.beside) + (not place.first)
    items.insert(index, data)
    return world.make_reference(world.list_item(place.owner, place.plural, index).chain)


def assign_id(world: AppWorld, term: str, made: Data) -> None:
    """Give a new object its id: a number that the world never gives twice, or a word with it."""
    prop = world.id_property(term)
    if prop is None:
        return
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
    found = re.fullmatch(r"[A-Za-z]+-(\d+)", ident) if isinstance(ident, str) else None
    return int(found[1]) if found else ident if isinstance(ident, int) else 0


def object_at(world: AppWorld, chain: Chain) -> WorldObject:
    """Return the object that `chain` names; a text becomes one that can hold parts.

    Raises:
        EventRefusedError: -10024 it is none.
    """
    found = resolve_chain(world, chain)
    if isinstance(found, FoundValue) and isinstance(found.value, str) and found.owner is not None:
        found.owner.data[found.name] = {TEXT: found.value}
        found = resolve_chain(world, chain)
    if not isinstance(found, WorldObject):
        raise EventRefusedError(-10024)
    return found


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
    found = resolve_chain(world, value.chain)
    if isinstance(found, FoundItems):
        return object_at(world, value.chain[:-1])
    if not isinstance(found, WorldObject):
        raise EventRefusedError(-1700)
    return found


def direct_objects(world: AppWorld, direct: Any) -> list[WorldObject]:
    """Return the objects that a direct parameter names, lists and filters taken apart."""
    if isinstance(direct, list):
        return [node for item in direct for node in direct_objects(world, item)]
    if isinstance(direct, AppReference):
        return flatten_objects(resolve_chain(world, direct.chain))
    return [target_object(world, direct)]


def flatten_objects(found: Found) -> list[WorldObject]:
    """Return the objects that were found, one or many.

    Raises:
        EventRefusedError: -1708 it is a value.
    """
    if isinstance(found, FoundItems):
        return [node for item in found.items for node in flatten_objects(item)]
    if not isinstance(found, WorldObject):
        raise EventRefusedError(-1708)
    return [found]


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
        return NewObjectPlace(
            node.home.owner, node.home.plural, chain[-1].value == "before", node.data
        )
    if chain and chain[-1].kind == "l":
        owner, plural = object_at(world, chain[:-2]), chain[-2].value
        if not isinstance(owner.data.get(plural), list):
            plural = _plural_for(world, owner, term) or plural
        return NewObjectPlace(owner, plural, chain[-1].value == "beginning")
    owner = target_object(world, at) if at is not None else world.root
    plural = _plural_for(world, owner, term)
    # `at: folder.notes` names the list itself.
    named = chain[-1] if plural is None and chain and chain[-1].kind == "p" else None
    if named is not None and isinstance(resolve_chain(world, chain), FoundItems):
        return NewObjectPlace(object_at(world, chain[:-1]), named.value)
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
    held = (plural for plural in plurals if isinstance(owner.data.get(plural), list))
    return next(held, plurals[0])


def _default_objects(world: AppWorld, owner: WorldObject, depth: int = 3) -> Iterator[WorldObject]:
    for key, value in owner.data.items():
        if (
            depth
            and fold_name(key).startswith("default")
            and isinstance(value, dict)
            and "ref" in value
        ):
            found = resolve_reference(world, value["ref"])
            if found is not None:
                yield found
                yield from _default_objects(world, found, depth - 1)
