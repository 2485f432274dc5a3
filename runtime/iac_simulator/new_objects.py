"""Where a new object goes when a script names no list for it."""

from collections.abc import Iterator
from typing import NamedTuple

from iac_runtime.tools.tables import fold
from iac_simulator.follow import refer
from iac_simulator.names import elements_of
from iac_simulator.world import AppWorld, WorldObject

__all__ = ["NewObjectPlace", "plural_for", "room_for"]


class NewObjectPlace(NamedTuple):
    """A list of a world: its holder and its key there."""

    owner: WorldObject
    plural: str


def room_for(world: AppWorld, owner: WorldObject, term: str) -> NewObjectPlace | None:
    """Return the list for a new `term` when only `owner` is named; None where it has no place.

    A list that the world has comes first; then the app's own defaults (`defaultList`), then the
    first object that has such a list; last a new list on `owner`, where its class allows one.
    """
    plural = plural_for(world, owner, term)
    if plural is not None and isinstance(owner.data.get(plural), list):
        return NewObjectPlace(owner, plural)
    for node in (*_defaults(world, owner), *world.descendants(owner)):
        inner = plural_for(world, node, term)
        if inner is not None and isinstance(node.data.get(inner), list):
            return NewObjectPlace(node, inner)
    return NewObjectPlace(owner, plural) if plural is not None else None


def plural_for(world: AppWorld, owner: WorldObject, term: str) -> str | None:
    """Return the collection of `owner` for objects of `term`; None where its class has none.

    A list that the world has for a superclass is taken before a new one: a document file goes into
    the `files` of its folder.
    """
    classes = world.tables.classes
    if owner.term not in classes or term not in classes:
        return None
    if term not in elements_of(world.tables, owner.term):
        return None
    plurals = [row.plural for _, row in world.tables.lineage(term)]
    held = (plural for plural in plurals if isinstance(owner.data.get(plural), list))
    return next(held, plurals[0])


def _defaults(world: AppWorld, owner: WorldObject, depth: int = 3) -> Iterator[WorldObject]:
    for key, value in owner.data.items():
        if depth and fold(key).startswith("default") and isinstance(value, dict) and "ref" in value:
            target = refer(world, value["ref"])
            if target is not None:
                yield target
                yield from _defaults(world, target, depth - 1)
