"""What apps do of themselves: `app_behaviour.toml`, carried out on a world.

Facts are of Apple's dictionaries and guides and of users' accounts; which error an app answers is
inferred, to be confirmed on a Mac.
"""

import copy
import random
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from iac_runtime.language.html_text import plain_text
from iac_runtime.tools.tables import APPLICATION, Tables
from iac_simulator.errors import EventRefusedError
from iac_simulator.resolve import (
    NewObjectPlace,
    VerbCall,
    assign_id,
    comparable_value,
    direct_objects,
    insert_object,
    object_at,
    place_for,
    resolve_reference,
)
from iac_simulator.scenario import InjectedFault
from iac_simulator.values import UNDEFINED, AppReference, format_chain, parse_chain, stored_value
from iac_simulator.world import AppWorld, Data, WorldObject

_MODIFIED: Final = ("modification date", "date modified", "stamp date")
_SAVING: Final = ("yes", "no")
_PATIENCE: Final = 120.0
"""Seconds that an event waits for its answer, if the script says nothing."""

Row = Mapping[str, Any]


@cache
def _load_habits() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def _habit_rows(kind: str, tables: Tables, term: str | None = None) -> Iterator[Row]:
    """Yield the rows of a kind that speak of an app, and of the class `term` or one above it."""
    for row in _load_habits()[kind]:
        if tables.app.id in row["app"] and (
            term is None
            or (row["class"] in tables.classes and tables.is_descendant(term, row["class"]))
        ):
            yield row


def idle_seconds(world: AppWorld) -> float:
    """Return after how many seconds without an event the app ends by itself; 0 for never."""
    rule = _load_habits()["idle"].get(world.tables.app.id, 0)
    seconds = world.data.get(rule, 300) if isinstance(rule, str) else rule
    return float(seconds) if isinstance(seconds, int | float) else 0.0


def has_save_question(call: VerbCall, event: str) -> bool:
    """Say whether an event asks a person what becomes of a changed document."""
    if not any(row["event"] == event for row in _load_habits()["dialog"]):
        return False
    world, direct = call.world, call.direct
    if call.named.get("saving") in _SAVING:
        return False
    nodes = direct_objects(world, world.make_reference(()) if direct is None else direct)
    inner = (inner_node for node in nodes for inner_node in (node, *world.descendant_objects(node)))
    return any(node.data.get("modified") is True for node in inner)


def ask_person(call: VerbCall, event: str, how: str, struck: list[InjectedFault]) -> None:
    """Let a person answer, if the event asks one: -128 cancelled, -1712 nobody came in time."""
    if how in ("wait", "cancel") and has_save_question(call, event):
        if how == "wait":
            struck.append(InjectedFault(delay=call.timeout or _PATIENCE))
        raise EventRefusedError(-1712 if how == "wait" else -128)


def run_steps(call: VerbCall, event: str) -> tuple[bool, Any]:
    """Carry out what the app does at `event`: (whether it has a habit, its answer)."""
    world = call.world
    for row in _habit_rows("step", world.tables):
        if row["event"] != event or not _matches_row(call, row):
            continue
        if "make" in row:
            return True, _make_object(call, row["make"], row["with"])
        nodes = direct_objects(world, call.direct) if row.get("on") == "direct" else [world.root]
        for node in nodes:
            if "advance" in row:
                _advance_reference(world, node, row)
            if "bin" in row:
                _bin_object(world, node, row["bin"])
            if "move" in row:
                node = _move_object(world, node, row)
            _set_values(call, node.data, row.get("set", {}))
        if "keep" in row and "answer" not in row:
            world.data.setdefault("@kept", {})[row["keep"]] = stored_value(call.direct)
        return True, _row_value(call, row["answer"], row) if "answer" in row else UNDEFINED
    return False, UNDEFINED


def fill_new_object(world: AppWorld, term: str, made: Data) -> None:
    """Give a new object what the app makes with it."""
    for row in _habit_rows("new", world.tables, term):
        for name, value in _fill_template(row["with"], defaultdict(str, made)).items():
            made.setdefault(name, value)


def _make_object(call: VerbCall, term: str, properties: Row) -> AppReference:
    """Make an object out of another, and return the reference to it."""
    world = call.world
    [node, *_] = direct_objects(world, call.direct)
    data: Data = _fill_template(properties, defaultdict(str, node.data))
    assign_id(world, term, data)
    return insert_object(world, place_for(world, term, None), term, data)


def _fill_template(value: Any, known: Mapping[str, Any]) -> Any:
    """Return a value of the table with the texts of an object filled in, a whole one as it is."""
    if isinstance(value, dict):
        return {key: _fill_template(part, known) for key, part in value.items()}
    if isinstance(value, list):
        return [_fill_template(part, known) for part in value]
    if not isinstance(value, str):
        return value
    whole = re.fullmatch(r"\{(\w+)\}", value)
    return copy.deepcopy(known[whole[1]]) if whole else value.format_map(known)


def _matches_row(call: VerbCall, row: Row) -> bool:
    world = call.world
    if "direct" in row:
        terms = [node.term for node in direct_objects(world, call.direct)] if call.direct else []
        return bool(terms) and world.tables.is_descendant(terms[0], row["direct"])
    return all(world.data.get(name) == value for name, value in row.get("when", {}).items())


def _advance_reference(world: AppWorld, node: WorldObject, row: Row) -> None:
    """Let a property name the next object of its list; past the end it names none."""
    named = node.data.pop(row["advance"], None)
    if not isinstance(named, dict) or "ref" not in named:
        return
    now = resolve_reference(world, named["ref"])
    if now is None or now.home is None:
        return
    home = now.home
    at = next(i for i, data in enumerate(home.items) if data is now.data) + row.get("by", 1)
    if 0 <= at < len(home.items):
        following = world.list_item(home.owner, home.plural, at)
        node.data[row["advance"]] = {"ref": format_chain(following.chain)}


def _move_object(world: AppWorld, node: WorldObject, row: Row) -> WorldObject:
    """Put an object into another collection, with what its new class knows of it.

    Where the world has no such place, the object goes all the same.
    """
    chain, term = parse_chain(row["move"]), row["as"]
    if node.home is None:
        raise EventRefusedError(-1708)
    node.home.items[:] = [data for data in node.home.items if data is not node.data]
    owner = resolve_reference(world, format_chain(chain[:-1]))
    if owner is None:
        return node
    known = {prop.jxa for prop in world.tables.properties(term)} - {"id"}
    known |= {world.tables.classes[row.term].plural for row in world.tables.elements(term)}
    data: Data = {key: value for key, value in node.data.items() if key in known}
    assign_id(world, term, data)
    made = insert_object(world, NewObjectPlace(owner, chain[-1].value), term, data)
    return object_at(world, made.chain)


def _bin_object(world: AppWorld, node: WorldObject, name: str) -> None:
    """Put an object into the folder of what is deleted; out of that, or without one, it is gone."""
    if node.home is None:
        raise EventRefusedError(-1708)
    node.home.items[:] = [data for data in node.home.items if data is not node.data]
    holders = (one.data for one in world.descendant_objects(world.root))
    found = next((data for data in holders if data.get("name") == name), None)
    if found is not None and found is not node.home.owner.data:
        found.setdefault(node.home.plural, []).append(node.data)


def _set_values(call: VerbCall, data: Data, values: Row) -> None:
    for name, value in values.items():
        if value == "@first line":
            # What has a name keeps it.
            data.setdefault(name, plain_text(data["body"]).partition("\n")[0])
            continue
        new_value = _row_value(call, value, values)
        if new_value is UNDEFINED:
            data.pop(name, None)
        else:
            data[name] = new_value


def _row_value(call: VerbCall, value: Any, row: Row) -> Any:
    """Return the value that a row means, as a world keeps it; UNDEFINED for nothing."""
    world = call.world
    word = value[1:] if isinstance(value, str) and value.startswith("@") else None
    if word == "now":
        return {"date": call.now}
    if word == "kept":
        return world.data.get("@kept", {}).get(row["keep"], "")
    if word == "random":
        return _random_number(call)
    if word is not None and word.startswith("direct"):
        [node, *_] = direct_objects(world, call.direct)
        return {"ref": format_chain(node.chain) + word.removeprefix("direct")}
    if word is not None and word.startswith("first "):
        term = word.removeprefix("first ")
        nodes = world.descendant_objects(world.root)
        first = next((n for n in nodes if world.tables.is_descendant(n.term, term)), None)
        return {"ref": format_chain(first.chain)} if first else UNDEFINED
    return UNDEFINED if word == "nothing" else value


def _random_number(call: VerbCall) -> int | float:
    """Return a random number as Standard Additions does: whole where the bounds are whole.

    The same world gives the same numbers.
    """
    data, named = call.world.data, call.named
    data["@next"] = seed = int(data.get("@next", 1)) + 1
    # The app's number, nothing secret.
    chance = random.Random(named.get("withSeed", seed))  # noqa: S311
    most = call.direct if isinstance(call.direct, int | float) else named.get("to")
    least = named.get("from", 0)
    if most is None:
        most = 100 if "from" in named else 1.0
    if isinstance(least, int) and isinstance(most, int):
        return chance.randint(min(least, most), max(least, most))
    return chance.uniform(least, most)


def update_dependents(call: VerbCall, node: WorldObject, name: str) -> None:
    """Change what changes with the property `name` of an object, and the dates of all around it.

    Raises:
        EventRefusedError: What the app cannot have so; the property keeps its new value.
    """
    tables = call.world.tables
    if node.term in tables.classes:
        for row in _habit_rows("follow", tables, node.term):
            value = node.data.get(name)
            if row["property"] == name and (value == row.get("value", value)) and value is not None:
                _set_values(call, node.data, row["set"])
    mark_modified(call, node, name)


def mark_modified(call: VerbCall, node: WorldObject | None, name: str = "") -> None:
    """Move the modification dates of an object and its holders; mark documents as changed."""
    tables = call.world.tables
    while node is not None and node.term != APPLICATION:
        for prop in tables.properties(node.term) if node.term in tables.classes else ():
            if prop.term in _MODIFIED and prop.jxa != name:
                node.data[prop.jxa] = {"date": call.now}
            elif prop.jxa == "modified" and "document" in node.term:
                node.data["modified"] = True
        node = node.owner


def check_allowed(
    world: AppWorld, owner: WorldObject, term: str, data: Data, *, new: bool = False
) -> None:
    """Refuse an object that its holder cannot have: a name that is taken, an end before a start.

    Raises:
        EventRefusedError: With the number of the row.
    """
    if term not in world.tables.classes:
        return
    for row in _habit_rows("order", world.tables, term):
        first, last = (comparable_value(data.get(row[key])) for key in ("first", "last"))
        if first is not None and last is not None and last < first:
            raise EventRefusedError(row["error"])
    for row in _habit_rows("unique", world.tables, term):
        taken = {
            (world.object_name(other.data) or "").casefold()
            for other in world.all_list_items(owner)
            if other.data is not data and world.tables.is_descendant(other.term, row["class"])
        }
        name = world.object_name(data)
        if name is not None and name.casefold() in taken:
            raise EventRefusedError(row["error"])
        if new and name is None and "untitled" in row:
            numbered = (f"{row['untitled']} {number}" for number in range(2, len(taken) + 3))
            data["name"] = next(name for name in (row["untitled"], *numbered) if name not in taken)
