"""From a chain to what it names in a world: an object, a value, or many of either."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from iac_runtime.tool import Property
from iac_runtime.tools.tables import APPLICATION
from iac_simulator.errors import EventRefusedError, StateError
from iac_simulator.filters import matches_filter
from iac_simulator.names import (
    STANDARD_PROPERTIES,
    element_class,
    property_named,
    property_of_kin,
)
from iac_simulator.values import Chain, ChainStep, is_mark, parse_chain, stored_value
from iac_simulator.world import TEXT, AppWorld, WorldObject, default_value, value_text


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
    found: Found = world.root
    around: Found = found
    for step in chain:
        if step.kind == "x":
            found = _neighbor_item(around, found, step.value)
            continue
        around = found if isinstance(found, FoundItems) else around
        found = _resolve_step(world, found, step)
    return found


def resolve_reference(world: AppWorld, text: str) -> WorldObject | None:
    """Return the object that a reference written in the world names, if it is there.

    One that leads back to itself names none.
    """
    try:
        found = resolve_chain(world, parse_chain(text))
    except (EventRefusedError, StateError, RecursionError):
        return None
    return found if isinstance(found, WorldObject) else None


def answer_value(world: AppWorld, found: Found) -> Any:
    """Return `found` as a script gets it: values, references in the form an app answers with."""
    if isinstance(found, FoundItems):
        return [answer_value(world, item) for item in found.items]
    if isinstance(found, WorldObject):
        text = value_text(found.data)
        return text if text is not None else world.make_reference(found.chain)
    return _answer_part(world, found.value)


def _answer_part(world: AppWorld, value: Any) -> Any:
    if isinstance(value, list):
        return [_answer_part(world, item) for item in value]
    if is_mark(value):
        if "ref" in value:
            node = resolve_reference(world, value["ref"])
            return world.make_reference(node.chain if node else parse_chain(value["ref"]))
        if "record" in value:
            return {
                "record": {key: _answer_part(world, item) for key, item in value["record"].items()}
            }
    return value


def _resolve_step(world: AppWorld, found: Found, step: ChainStep) -> Found:
    if step.kind == "new":
        raise EventRefusedError(-1728)
    if step.kind == "p":
        return _resolve_name(world, found, step.value)
    if isinstance(found, FoundItems):
        return _select_items(world, found, step)
    if isinstance(found, FoundValue) and isinstance(found.value, list) and step.kind == "i":
        return _item_at([_resolve_value(world, item) for item in found.value], step.value)
    raise EventRefusedError(-1728 if isinstance(found, WorldObject) else -1700)


def _resolve_name(world: AppWorld, found: Found, name: str) -> Found:
    if isinstance(found, FoundItems):
        items = [_resolve_name(world, item, name) for item in found.items]
        nested = found.nested or any(isinstance(item, FoundItems) for item in items)
        return FoundItems(items, name if nested else "", nested)
    if isinstance(found, FoundValue):
        found = _text_holder(world, found)
    return _read_property(world, found, name)


def _text_holder(world: AppWorld, found: FoundValue) -> WorldObject:
    """Return the text of a property as an object whose parts can be named and changed."""
    owner, name = found.owner, found.name
    if owner is None or not isinstance(found.value, str):
        raise EventRefusedError(-1728 if found.value is None else -1700)
    data = {TEXT: found.value}

    def attach_text() -> None:
        owner.attach()
        owner.data[name] = data

    classes = world.tables.classes
    term = "rich text" if "rich text" in classes and "text" not in classes else "text"
    return WorldObject(data, term, (*owner.chain, ChainStep("p", name)), owner, None, attach_text)


def _read_property(world: AppWorld, node: WorldObject, name: str) -> Found:
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
    if owner is not None and name in ("container", owner.term):
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
    if not isinstance(body, str):
        return None
    return re.sub(r"<[^>]*>", "", re.sub(r"</div>\s*|<br[^>]*>", "\n", body)).strip()


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


def _select_items(world: AppWorld, found: FoundItems, step: ChainStep) -> Found:
    if found.nested:
        items = [_resolve_step(world, item, step) for item in found.items]
        return FoundItems(items, found.plural, step.kind == "w")
    if step.kind == "i":
        return _item_at(found.items, step.value)
    if step.kind == "r":
        return FoundItems(_items_between(found.items, *step.value), found.plural)
    if step.kind == "o":
        # What an app picks is its own affair; here it is the last.
        return _item_at(found.items, (len(found.items) - 1) // 2 if step.value == "middle" else -1)
    if step.kind == "w":
        passed = [item for item in found.items if _matches_item(world, item, step.value)]
        return FoundItems(passed, found.plural)
    nodes = [item for item in found.items if isinstance(item, WorldObject)]
    if step.kind == "id":
        known = ((world.object_id(node.data, node.term), node) for node in nodes)
        wanted = str(step.value)
        hit = next(
            (node for ident, node in known if ident is not None and str(ident) == wanted), None
        )
    elif step.kind == "n":
        wanted = step.value
        alike = [
            n for n in nodes if (world.object_name(n.data) or "").casefold() == wanted.casefold()
        ]
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


def _neighbor_item(around: Found, found: Found, way: str) -> Found:
    """Return the neighbour of an object in the collection that it was picked from."""
    if not isinstance(around, FoundItems) or not isinstance(found, WorldObject):
        raise EventRefusedError(-1728)
    datas = [item.data if isinstance(item, WorldObject) else None for item in around.items]
    at = next((i for i, data in enumerate(datas) if data is found.data), None)
    if at is None:
        raise EventRefusedError(-1728)
    at += 1 if way == "next" else -1
    return _item_at(around.items, at) if at >= 0 else _item_at([], 0)


def _matches_item(world: AppWorld, item: Found, folded: dict[str, Any]) -> bool:
    def read_chain(chain: Chain) -> Any:
        found = item
        for step in chain:
            found = _resolve_step(world, found, step)
        return stored_value(answer_value(world, found))

    return matches_filter(folded, read_chain)
