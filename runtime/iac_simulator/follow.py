"""From a chain to what it names in a world: an object, a value, or many of either."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from iac_runtime.tool import Property
from iac_runtime.tools.tables import APPLICATION
from iac_simulator.errors import EventRefusedError, StateError
from iac_simulator.filters import holds
from iac_simulator.names import (
    STANDARD_PROPERTIES,
    element_class,
    property_named,
    property_of_kin,
)
from iac_simulator.values import Chain, ChainStep, is_mark, parse, stored
from iac_simulator.world import TEXT, AppWorld, WorldObject, default_value, text_in


class Value(NamedTuple):
    """A value of a world, and where a part of it would be kept."""

    value: Any
    owner: WorldObject | None = None
    name: str = ""


@dataclass(frozen=True)
class Many:
    """The objects of a collection, or what was read from each of them."""

    items: "list[Found]"
    plural: str = ""
    nested: bool = False


Found = WorldObject | Value | Many


def follow(world: AppWorld, chain: Chain) -> Found:
    """Return what `chain` names.

    Raises:
        EventRefusedError: -1719 index out of range, -1728 no such name or id, -1700 unknown name.
    """
    found: Found = world.root
    around: Found = found
    for step in chain:
        if step.kind == "x":
            found = _beside(around, found, step.value)
            continue
        around = found if isinstance(found, Many) else around
        found = _step(world, found, step)
    return found


def refer(world: AppWorld, text: str) -> WorldObject | None:
    """Return the object that a reference written in the world names, if it is there.

    One that leads back to itself names none.
    """
    try:
        found = follow(world, parse(text))
    except (EventRefusedError, StateError, RecursionError):
        return None
    return found if isinstance(found, WorldObject) else None


def answer(world: AppWorld, found: Found) -> Any:
    """Return `found` as a script gets it: values, references in the form an app answers with."""
    if isinstance(found, Many):
        return [answer(world, item) for item in found.items]
    if isinstance(found, WorldObject):
        text = text_in(found.data)
        return text if text is not None else world.reference(found.chain)
    return _given(world, found.value)


def _given(world: AppWorld, value: Any) -> Any:
    if isinstance(value, list):
        return [_given(world, item) for item in value]
    if is_mark(value):
        if "ref" in value:
            node = refer(world, value["ref"])
            return world.reference(node.chain if node else parse(value["ref"]))
        if "record" in value:
            return {"record": {key: _given(world, item) for key, item in value["record"].items()}}
    return value


def _step(world: AppWorld, found: Found, step: ChainStep) -> Found:
    if step.kind == "new":
        raise EventRefusedError(-1728)
    if step.kind == "p":
        return _named(world, found, step.value)
    if isinstance(found, Many):
        return _among(world, found, step)
    if isinstance(found, Value) and isinstance(found.value, list) and step.kind == "i":
        return _at([_value(world, item) for item in found.value], step.value)
    raise EventRefusedError(-1728 if isinstance(found, WorldObject) else -1700)


def _named(world: AppWorld, found: Found, name: str) -> Found:
    if isinstance(found, Many):
        items = [_named(world, item, name) for item in found.items]
        nested = found.nested or any(isinstance(item, Many) for item in items)
        return Many(items, name if nested else "", nested)
    if isinstance(found, Value):
        found = _text_holder(world, found)
    return _read(world, found, name)


def _text_holder(world: AppWorld, found: Value) -> WorldObject:
    """Return the text of a property as an object whose parts can be named and changed."""
    owner, name = found.owner, found.name
    if owner is None or not isinstance(found.value, str):
        raise EventRefusedError(-1728 if found.value is None else -1700)
    data = {TEXT: found.value}

    def attach() -> None:
        owner.attach()
        owner.data[name] = data

    classes = world.tables.classes
    term = "rich text" if "rich text" in classes and "text" not in classes else "text"
    return WorldObject(data, term, (*owner.chain, ChainStep("p", name)), owner, None, attach)


def _read(world: AppWorld, node: WorldObject, name: str) -> Found:
    prop = property_named(world.tables, node.term, name)
    if prop is None:
        items = world.collection(node, name)
        if items is not None:
            return Many(list(items), name)
        prop = property_of_kin(world.tables, node.term, name)
    if name in node.data:
        return _kept(world, node, name)
    if node.term == APPLICATION and name in STANDARD_PROPERTIES:
        app, running = world.tables.app, world.data.get("@running", True)
        values = (app.id, app.name, "1.0", "@front" in world.data, running)
        return Value(values[STANDARD_PROPERTIES.index(name)])
    if name == "class":
        row = world.tables.classes.get(node.term)
        return Value(row.jxa if row else node.term)
    if name == "properties":
        return Value(_properties(world, node))
    if prop is None and name not in ("id", "name"):
        known = property_named(world.tables, None, name) or element_class(world.tables, None, name)
        raise EventRefusedError(-1728 if known else -1700)
    return _implied(world, node, name, prop)


def _kept(world: AppWorld, node: WorldObject, name: str) -> Found:
    value = node.data[name]
    if isinstance(value, dict) and not is_mark(value):
        return world.property_object(node, name)
    return _value(world, value, node, name)


def _value(
    world: AppWorld, value: Any, owner: WorldObject | None = None, name: str = ""
) -> WorldObject | Value:
    """Return a value of the world, or the object that it refers to."""
    if not is_mark(value) or "ref" not in value:
        return Value(value, owner, name)
    target = refer(world, value["ref"])
    if target is None:
        raise EventRefusedError(-1728)
    return target


def _properties(world: AppWorld, node: WorldObject) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name in ("class", *(prop.jxa for prop in world.tables.properties(node.term))):
        if name == "properties":
            continue
        try:
            record[name] = stored(answer(world, _read(world, node, name)))
        except EventRefusedError:
            record[name] = None
    return {"record": record}


def _implied(world: AppWorld, node: WorldObject, name: str, prop: Property | None) -> Found:
    """Return what follows from the world for a property that it leaves out."""
    owner, home = node.owner, node.home
    if prop is None or prop.code == "ID  ":
        raise EventRefusedError(-1728)
    if name == "index" and home is not None:
        return Value(next(i for i, data in enumerate(home.items) if data is node.data) + 1)
    if owner is not None and name in ("container", owner.term):
        return owner
    value = _DERIVED[name](world, node) if name in _DERIVED else None
    if value is not None:
        return Value(value)
    return Value(default_value(world.tables, prop.type), node, name)


def _path(world: AppWorld, node: WorldObject) -> str | None:
    if not node.chain or node.chain[0] != ChainStep("p", "startupDisk"):
        return None
    names: list[str] = []
    at: WorldObject | None = node
    while at is not None and len(at.chain) > 1:
        names.append(world.name_of(at.data) or "")
        at = at.owner
    return "/" + "/".join(reversed(names))


def _url(world: AppWorld, node: WorldObject) -> str | None:
    path = _path(world, node)
    if path is None:
        return None
    folder = "" if node.term.endswith("file") or path == "/" else "/"
    return "file://" + quote(path) + folder


def _plaintext(_world: AppWorld, node: WorldObject) -> str | None:
    body = node.data.get("body")
    if not isinstance(body, str):
        return None
    return re.sub(r"<[^>]*>", "", re.sub(r"</div>\s*|<br[^>]*>", "\n", body)).strip()


_DERIVED: Final[Mapping[str, Callable[[AppWorld, WorldObject], Any]]] = {
    "displayedName": lambda world, node: world.name_of(node.data),
    "nameExtension": lambda world, node: (
        (world.name_of(node.data) or "").rpartition(".")[2] if node.term.endswith("file") else ""
    ),
    "plaintext": _plaintext,
    "posixPath": _path,
    "unreadCount": lambda _, node: sum(
        not message.get("readStatus", False) for message in node.data.get("messages", [])
    ),
    "url": _url,
}
"""Properties that apps compute: a world may leave them out and they stay true after changes."""


def _among(world: AppWorld, found: Many, step: ChainStep) -> Found:
    if found.nested:
        items = [_step(world, item, step) for item in found.items]
        return Many(items, found.plural, step.kind == "w")
    if step.kind == "i":
        return _at(found.items, step.value)
    if step.kind == "r":
        return Many(_between(found.items, *step.value), found.plural)
    if step.kind == "o":
        # What an app picks is its own affair; here it is the last.
        return _at(found.items, (len(found.items) - 1) // 2 if step.value == "middle" else -1)
    if step.kind == "w":
        passed = [item for item in found.items if _passes(world, item, step.value)]
        return Many(passed, found.plural)
    nodes = [item for item in found.items if isinstance(item, WorldObject)]
    if step.kind == "id":
        known = ((world.id_of(node.data, node.term), node) for node in nodes)
        wanted = str(step.value)
        hit = next(
            (node for ident, node in known if ident is not None and str(ident) == wanted), None
        )
    elif step.kind == "n":
        wanted = step.value
        alike = [n for n in nodes if (world.name_of(n.data) or "").casefold() == wanted.casefold()]
        # An exact name goes before one that differs in case.
        hit = min(alike, key=lambda node: world.name_of(node.data) != wanted, default=None)
        if hit is None and wanted.startswith("/"):
            hit = world.by_path(wanted)
    else:
        raise EventRefusedError(-10002)
    if hit is None:
        raise EventRefusedError(-1728)
    return hit


def _at(items: "list[Found]", index: int) -> Found:
    if not -len(items) <= index < len(items):
        raise EventRefusedError(-1719)
    return items[index]


def _between(items: "list[Found]", first: int, last: int) -> "list[Found]":
    """Return a range of items; its ends count from 1, or from the end."""
    ends = [at - 1 if at > 0 else len(items) + at for at in (first, last)]
    if not 0 <= ends[0] <= ends[1] < len(items):
        raise EventRefusedError(-1719)
    return items[ends[0] : ends[1] + 1]


def _beside(around: Found, found: Found, way: str) -> Found:
    """Return the neighbour of an object in the collection that it was picked from."""
    if not isinstance(around, Many) or not isinstance(found, WorldObject):
        raise EventRefusedError(-1728)
    datas = [item.data if isinstance(item, WorldObject) else None for item in around.items]
    at = next((i for i, data in enumerate(datas) if data is found.data), None)
    if at is None:
        raise EventRefusedError(-1728)
    at += 1 if way == "next" else -1
    return _at(around.items, at) if at >= 0 else _at([], 0)


def _passes(world: AppWorld, item: Found, folded: dict[str, Any]) -> bool:
    def read(chain: Chain) -> Any:
        found = item
        for step in chain:
            found = _step(world, found, step)
        return stored(answer(world, found))

    return holds(folded, read)
