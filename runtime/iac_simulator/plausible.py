"""A world for an app that nobody described: a few objects of every class that it lists."""

from typing import Any

from iac_runtime.tool import Property
from iac_runtime.tools.tables import APPLICATION, Tables

__all__ = ["plausible_world"]

_COUNT = 2
_DAY = "2026-01-{:02d}T09:00:00.000Z"


def plausible_world(tables: Tables) -> dict[str, Any]:
    """Return a deterministic world: two objects per element class, one inside each of those."""
    if APPLICATION not in tables.classes:
        return {}
    return _elements(tables, APPLICATION, _COUNT, 2, "")


def _elements(tables: Tables, term: str, count: int, depth: int, prefix: str) -> dict[str, Any]:
    world: dict[str, Any] = {}
    for element in tables.elements(term):
        row = tables.classes.get(element.term)
        if row is not None and depth and row.plural not in world:
            names = [f"{prefix}{number}" for number in range(1, count + 1)]
            world[row.plural] = [_object(tables, element.term, n, depth) for n in names]
    return world


def _object(tables: Tables, term: str, number: str, depth: int) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for prop in tables.properties(term):
        value = _value(prop, term, number)
        if value is not None:
            data[prop.jxa] = value
    data.update(_elements(tables, term, 1, depth - 1, f"{number}."))
    return data


def _value(prop: Property, term: str, number: str) -> Any:
    """Return a value where a default of its type would say nothing: names, ids, dates, numbers."""
    rank = int("".join(ch for ch in number if ch.isdigit()))
    if prop.code == "ID  ":
        return rank if prop.type in ("integer", "number") else f"{term}-{number}".replace(" ", "-")
    if prop.code == "pnam":
        return f"{term.capitalize()} {number}"
    if prop.type == "text":
        return f"{prop.term} of {term} {number}"
    if prop.type == "date":
        return {"date": _DAY.format(rank % 28 + 1)}
    return None
