"""Where nobody described an app: a world with a few objects, and answers by type."""

import json
from functools import lru_cache
from typing import Any

from iac_runtime.tool import Property
from iac_runtime.tools.tables import APPLICATION, Tables
from iac_runtime.types import find_type, parse_type
from iac_simulator.commands import AppCommand
from iac_simulator.typed_values import enumeration_rows
from iac_simulator.values import UNDEFINED, AppReference
from iac_simulator.world import AppWorld, default_value

_COUNT = 2
_DAY = "2026-01-{:02d}T09:00:00.000Z"


def default_world(tables: Tables) -> dict[str, Any]:
    """Return a deterministic world: two objects per element class, one inside each of those.

    What is one object by its property (a library, a selection) is there, too.
    """
    world: dict[str, Any] = json.loads(_world_text(tables))
    return world


@lru_cache(maxsize=64)
def _world_text(tables: Tables) -> str:
    # Each simulated app gets a world of its own, and many of them are of the same tables.
    known = APPLICATION in tables.classes
    return json.dumps(_default_elements(tables, APPLICATION, _COUNT, 2, "") if known else {})


def _default_elements(
    tables: Tables, term: str, count: int, depth: int, prefix: str
) -> dict[str, Any]:
    world: dict[str, Any] = {}
    for element in tables.elements(term):
        row = tables.classes.get(element.term)
        if row is not None and depth and row.plural not in world:
            names = [f"{prefix}{number}" for number in range(1, count + 1)]
            world[row.plural] = [_default_object(tables, element.term, n, depth) for n in names]
    for prop in tables.properties(term):
        if depth and prop.type in tables.classes and find_type(prop.type) is None:
            world.setdefault(prop.jxa, _default_object(tables, prop.type, f"{prefix}1", depth))
    return world


def _default_object(tables: Tables, term: str, number: str, depth: int) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for prop in tables.properties(term):
        value = _default_property(prop, term, number)
        if value is not None:
            data[prop.jxa] = value
    data.update(_default_elements(tables, term, 1, depth - 1, f"{number}."))
    return data


def _default_property(prop: Property, term: str, number: str) -> Any:
    """Return a value where a default of its type would say nothing: names, ids, dates, numbers."""
    rank = int(number.replace(".", ""))
    if prop.code == "ID  ":
        return rank if prop.type in ("integer", "number") else f"{term}-{number}".replace(" ", "-")
    if prop.code == "pnam":
        return f"{term.capitalize()} {number}"
    if prop.type == "text":
        return f"{prop.term} of {term} {number}"
    if prop.type == "date":
        return {"date": _DAY.format(rank % 28 + 1)}
    return None


def answer_by_type(world: AppWorld, command: AppCommand, direct: Any, now: str) -> Any:
    """Return a plausible answer of the type that the command declares."""
    if not command.result:
        return UNDEFINED
    for term, listed in parse_type(command.result):
        if listed:
            return []
        kind = find_type(term)
        reading = kind.reading if kind is not None else ""
        if reading in ("object", "any"):
            return direct if isinstance(direct, AppReference) else UNDEFINED
        if reading == "boolean":
            return True
        if reading == "date":
            return {"date": now}
        if reading == "file":
            return {"path": "/Users/me/Desktop"}
        if term in world.tables.records:
            fields = world.tables.records[term].properties
            values = ((row, default_value(world.tables, row.type)) for row in fields)
            return {"record": {row.jxa: value for row, value in values if value is not None}}
        if reading == "record":
            return {"record": {}}
        if enumeration_rows(world.tables, term):
            return enumeration_rows(world.tables, term)[0][0]
        if term in world.tables.classes and term != APPLICATION:
            if isinstance(direct, AppReference):
                return direct
            nodes = world.descendant_objects(world.root)
            found = next((n for n in nodes if world.tables.is_descendant(n.term, term)), None)
            return world.make_reference(found.chain) if found else UNDEFINED
        return default_value(world.tables, term)
    return UNDEFINED
