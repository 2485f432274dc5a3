"""Writes over all committed apps, drawn as a stranger would make them, and what differs after."""

import random
from collections.abc import Iterator
from functools import cache, partial
from typing import Any, NamedTuple

from samples import route, value
from simulated import TOOLS

from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.tables import APPLICATION, Tables
from iac_simulator.simulator import demo_state
from iac_simulator.state import difference
from iac_simulator.world import default_world

CATALOGUE = Catalogue([TOOLS])

STAMPS = ("modificationDate", "dateModified", "stampDate", "modified", "@next")
"""What an app keeps of itself: when something was changed, which id comes next."""


class Write(NamedTuple):
    """A write, and one of somebody else's that it must not run over."""

    app: str
    tool: str
    arguments: dict[str, Any]
    foreign: dict[str, Any] | None = None


@cache
def writes() -> list[Write]:
    """Return a write for each writable property, makeable class and movable object."""
    return [
        write
        for app in CATALOGUE.apps.values()
        if app.kind == "application"
        for write in of_app(app.key, CATALOGUE.load_tables(app))
    ]


def of_app(key: str, tables: Tables) -> list[Write]:
    found: list[Write] = []
    for term in tables.classes:
        place = route(tables, term)
        if place == APPLICATION and term != APPLICATION:
            continue
        rows = [row for row in tables.properties(term) if "w" in row.access]
        if "set" in tables.tools:
            for row in rows:
                given = {"target": place, "properties": {row.term: value(row.type, tables)}}
                if given["properties"][row.term] != f"{place}.{row.jxa}":
                    found.append(Write(key, f"{key}_set", given, other(place, row, tables)))
        if "make" in tables.tools and term != APPLICATION:
            # The index of a window is where it lies by now, and no value of it.
            known = (row for row in rows if row.term != "index")
            plain = [row for row in known if row.type in ("text", "boolean", "integer")][:2]
            values = {row.term: value(row.type, tables) for row in plain}
            arguments = {"element": term, "properties": values}
            foreign = None
            if plain:
                foreign = {"target": "", "properties": {plain[0].term: changed(plain[0].type)}}
            found.append(Write(key, f"{key}_make", arguments, foreign))
        owners = (
            owner
            for owner in tables.classes
            if any(element.term == term for element in tables.elements(owner))
        )
        places = [to for to in map(partial(route, tables), owners) if to != APPLICATION]
        for code in ("coremove", "coredelo"):
            name = next((n for n, row in tables.tools.items() if row.event == code), "")
            if name and place.endswith("[0]"):
                to = {"to": places[-1]} if code == "coremove" and places else {}
                found.append(Write(key, f"{key}_{name.rstrip('_')}", {"target": place, **to}))
    return found


def changed(kind: str) -> Any:
    return {"text": "somebody else's", "boolean": False, "integer": 77}.get(kind)


def other(place: str, row: Any, tables: Tables) -> dict[str, Any] | None:
    theirs = changed(row.type)
    return None if theirs is None else {"target": place, "properties": {row.term: theirs}}


def plain(state: Any) -> Any:
    if isinstance(state, dict):
        return {key: plain(part) for key, part in state.items() if key not in STAMPS}
    return [plain(part) for part in state] if isinstance(state, list) else state


def differs(before: Any, after: Any) -> list[Any]:
    """Return what differs: a default that is written out is none, and a trash may hold more."""
    added, removed, changes = difference(plain(before), plain(after))
    more = [row for row in added if row[1] and "trash" not in row[0]]
    return [*more, *removed, *changes]


@cache
def pristine(app: str) -> Any:
    """Return the world of an app that nothing was done to; one made anew is equal to it."""
    return default_world(CATALOGUE.load_tables(CATALOGUE.apps[app]))


class Draw(NamedTuple):
    """A write, the number of its draw, and whether it is made in the demo's world."""

    number: int
    write: Write
    demo: bool

    def __str__(self) -> str:
        return f"{self.number}-{self.write.tool}"


def draw_writes(count: int, seed: int = 40) -> list[Draw]:
    """Return so many writes, drawn evenly over apps and tools, the same for the same seed."""
    chance = random.Random(seed)
    rows: dict[tuple[str, str, bool], list[Write]] = {}
    for write in (*writes(), *wider_writes()):
        many = not str(write.arguments.get("target", "")).endswith("]")
        rows.setdefault((write.app, write.tool, many), []).append(write)
    groups = [rows[key] for key in sorted(rows)]
    found = []
    while len(found) < count:
        chance.shuffle(groups)
        found += [chance.choice(group) for group in groups]
    return [Draw(at, row, chance.random() < 0.5) for at, row in enumerate(found[:count])]


def wider_writes() -> Iterator[Write]:
    """Yield writes to several objects, copies, replacing moves, and each command's example."""
    for write in writes():
        target = write.arguments.get("target", "")
        if not target.endswith("[0]"):
            continue
        every = target.removesuffix("[0]")
        if not write.tool.endswith("_move"):
            yield write._replace(arguments={**write.arguments, "target": every})
        if write.tool.endswith("_delete"):
            yield write._replace(arguments={"target": [target, f"{every}[1]"]})
        if write.tool == "finder_move":
            yield write._replace(arguments={**write.arguments, "replacing": True})
    for name, row in CATALOGUE.tools.items():
        if row.app.kind == "application" and row.ceiling != "SAFE":
            yield Write(row.app.key, name, dict(CATALOGUE.load_operation(name).spec.example))


def demo_world(app: str) -> Any:
    """Return what the demo has of an app."""
    return demo_state().get(app) or {}
