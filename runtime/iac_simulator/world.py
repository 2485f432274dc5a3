"""The objects of one app: a world as loaded or made up, seen through the app's tables; its disk.

A world is plain JSON and stays so: an object is the dictionary that the state file holds, a
`WorldObject` says where it was found. Collections that a world lacks are derived: Finder's `items`
from its files and folders, an application's `notes` from every folder that holds some.

A text in a world is a string, or `{"@text": ..., properties, parts}` once its parts (paragraphs,
words, characters: `doc.text.paragraphs[1].size`) carry properties.

Where nobody described an app, it has a world with a few objects, and answers by type. The disk that
a script reaches through the Objective-C bridge is the `startupDisk` of Finder's world, or of the
first other app that has one: nothing of this computer is read or written. A file's text is its
`@content`.
"""

import copy
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple, Protocol

from iac_runtime.tool import Property
from iac_runtime.tools.tables import APPLICATION, Tables
from iac_runtime.types import HTML_TEXT, find_type, parse_type
from iac_simulator.dictionary import class_of_type, element_class, enumeration_rows, property_of_kin
from iac_simulator.errors import EventRefusedError
from iac_simulator.values import UNDEFINED, AppReference, Chain, ChainStep, is_mark

TEXT: Final = "@text"

_PARTS: Final[Mapping[str, Callable[[str], list[str]]]] = {
    "paragraphs": str.splitlines,
    "words": lambda text: re.findall(r"[\w'’-]+", text),
    "characters": list,
    "attributeRuns": lambda text: [text] if text else [],
}


def value_text(value: Any) -> str | None:
    """Return the text of a world's value: a string, or an object with `@text`."""
    if isinstance(value, dict):
        value = value.get(TEXT)
    return value if isinstance(value, str) else None


def text_parts(holder: Mapping[str, Any], plural: str) -> list[dict[str, Any]] | None:
    """Return the parts called `plural` of the text in `holder`; None for no such parts."""
    text, split = holder.get(TEXT), _PARTS.get(plural)
    if not isinstance(text, str) or split is None:
        return None
    return [{TEXT: part} for part in split(text)]


Data = dict[str, Any]


class ContainingList(NamedTuple):
    """The list that holds an object."""

    owner: "WorldObject"
    plural: str
    items: list[Any]


@dataclass(frozen=True)
class WorldObject:
    """An object: its data, its class, the reference an app would answer with, and its holder."""

    data: Data
    term: str
    chain: Chain
    owner: "WorldObject | None" = None
    home: ContainingList | None = None
    attach: Callable[[], None] = field(default=lambda: None, repr=False)
    """Put the data into the world: a part of a text lies there only once it carries something."""


class WorldReading(Protocol):
    """What those who read a world find there, where it is not what the world holds."""

    def show_value(self, world: "AppWorld", node: WorldObject, prop: str, found: Any) -> Any: ...

    def show_id(self, world: "AppWorld", term: str, ident: Any) -> Any: ...

    def list_objects(
        self, world: "AppWorld", owner: WorldObject, plural: str, nodes: list[WorldObject]
    ) -> list[WorldObject]: ...

    def hides_any(self, world: "AppWorld", home: ContainingList, end: int, listed: str) -> bool: ...

    def find_elsewhere(
        self, world: "AppWorld", plural: str, matches: Callable[[WorldObject], bool]
    ) -> WorldObject | None: ...

    def lookup_name(self, world: "AppWorld", node: WorldObject) -> str | None: ...


@dataclass(frozen=True)
class AppWorld:
    """An app and its objects."""

    tables: Tables
    data: Data
    reading: WorldReading | None = None

    @property
    def friendly(self) -> "AppWorld":
        """The same world as it is."""
        return self if self.reading is None else replace(self, reading=None)

    @property
    def root(self) -> WorldObject:
        """The application object."""
        return WorldObject(self.data, APPLICATION, ())

    def make_reference(self, chain: Chain) -> AppReference:
        """Return the reference that `chain` is in this app."""
        return AppReference(self.tables.key, chain)

    def object_class(self, data: Data, term: str) -> str:
        """Return the class of an object that is listed as `term`: `@class` names a subclass."""
        named = data.get("@class")
        return (self.tables.find_class(named) if isinstance(named, str) else None) or term

    def id_property(self, term: str) -> Property | None:
        """Return the property by which `byId` finds objects of `term`."""
        rows = list(self.tables.properties(term)) if term in self.tables.classes else []
        coded = next((prop for prop in rows if prop.code == "ID  "), None)
        return coded or next((prop for prop in rows if prop.jxa in ("id", "uid")), None)

    def object_id(self, data: Data, term: str) -> Any:
        """Return the id that `data` states, or None."""
        prop = self.id_property(term)
        ident = data.get(prop.jxa) if prop is not None else data.get("id")
        return ident if self.reading is None else self.reading.show_id(self, term, ident)

    def object_name(self, data: Data) -> str | None:
        """Return the name that `data` states, or None."""
        name = data.get("name")
        return name if isinstance(name, str) else None

    def list_items(self, owner: WorldObject, plural: str) -> Iterator[WorldObject]:
        """Yield the objects in the list that `owner` holds under `plural`."""
        items = owner.data.get(plural)
        if not isinstance(items, list):
            return
        names = Counter(self.object_name(data) for data in items)
        home, term = ContainingList(owner, plural, items), self._listed_class(owner, plural)
        for index, data in enumerate(items):
            if not is_mark(data):
                yield self._item_object(home, index, term, names)

    def list_item(self, owner: WorldObject, plural: str, index: int) -> WorldObject:
        """Return the object at `index` of the list that `owner` holds under `plural`."""
        items = owner.data[plural]
        data, listed = items[index], self._listed_class(owner, plural)
        names = {}
        if self.object_id(data, self.object_class(data, listed)) is None:
            name = self.object_name(data)
            names = {name: sum(self.object_name(other) == name for other in items)}
        return self._item_object(ContainingList(owner, plural, items), index, listed, names)

    def _listed_class(self, owner: WorldObject, plural: str) -> str:
        of_owner = element_class(self.tables, owner.term, plural)
        return of_owner or element_class(self.tables, None, plural) or "item"

    def _item_object(
        self, home: ContainingList, index: int, listed: str, names: Mapping[str | None, int]
    ) -> WorldObject:
        """Return the object of a list; `names` says how many objects of it have each name.

        An app answers with the id, with a name that no other object has, or with the index.
        """
        owner, plural, items = home
        data = items[index]
        term = self.object_class(data, listed)
        identity, name = self.object_id(data, term), self.object_name(data)
        if identity is not None:
            step = ChainStep("id", identity)
        elif name is not None and names[name] == 1:
            step = ChainStep("n", name)
        else:
            hidden = self.reading is not None and self.reading.hides_any(self, home, index, listed)
            step = ChainStep("i", index - hidden)
        chain = (*owner.chain, ChainStep("p", plural), step)
        return WorldObject(data, term, chain, owner, home, owner.attach)

    def all_list_items(self, owner: WorldObject) -> Iterator[WorldObject]:
        """Yield the objects in all lists that `owner` holds."""
        for key, value in owner.data.items():
            if isinstance(value, list) and element_class(self.tables, None, key):
                yield from self.list_items(owner, key)

    def child_objects(self, owner: WorldObject) -> Iterator[WorldObject]:
        """Yield every object that `owner` holds, in lists and then in properties."""
        yield from self.all_list_items(owner)
        for key, value in owner.data.items():
            if isinstance(value, dict) and not key.startswith("@") and not is_mark(value):
                yield self.property_object(owner, key)

    def property_object(self, owner: WorldObject, name: str) -> WorldObject:
        """Return the object that `owner` holds as its property `name`."""
        prop = property_of_kin(self.tables, owner.term, name)
        term = class_of_type(self.tables, prop.type) if prop else None
        data = owner.data[name]
        chain = (*owner.chain, ChainStep("p", name))
        kind = self.object_class(data, term or "item")
        return WorldObject(data, kind, chain, owner, None, owner.attach)

    def descendant_objects(self, owner: WorldObject) -> Iterator[WorldObject]:
        """Yield every object below `owner`, each before what it holds."""
        for child in self.child_objects(owner):
            yield child
            yield from self.descendant_objects(child)

    def find_collection(self, owner: WorldObject, plural: str) -> list[WorldObject] | None:
        """Return the objects of `owner` under `plural`; None where it has no such collection."""
        nodes = self._held_objects(owner, plural)
        if nodes is None or self.reading is None:
            return nodes
        return self.reading.list_objects(self, owner, plural, nodes)

    def _held_objects(self, owner: WorldObject, plural: str) -> list[WorldObject] | None:
        parts = owner.data.get(plural) or text_parts(owner.data, plural)
        if parts is not None and "@text" in owner.data:
            return [self._text_part(owner, plural, parts, index) for index in range(len(parts))]
        if isinstance(owner.data.get(plural), list):
            return list(self.list_items(owner, plural))
        term = element_class(self.tables, owner.term, plural)
        if term is None:
            return None
        is_descendant = self.tables.is_descendant
        near = [node for node in self.all_list_items(owner) if is_descendant(node.term, term)]
        if near:
            return near
        below = [node for node in self._indirect_objects(owner) if is_descendant(node.term, term)]
        listed = [node for node in below if node.home is not None]
        if owner.chain:
            return listed or below
        # From the application an object is named by its id alone.
        first = ChainStep("p", plural)
        known = ((node, self.object_id(node.data, node.term)) for node in listed or below)
        return [
            node if ident is None else replace(node, chain=(first, ChainStep("id", ident)))
            for node, ident in known
        ]

    def _indirect_objects(self, owner: WorldObject) -> Iterator[WorldObject]:
        """Yield what belongs to `owner` by way of others.

        That is everything for the application, and an account's notes through its folders, but for
        a folder nothing of the folders in it.
        """
        if not owner.chain:
            yield from self.descendant_objects(owner)
            return
        own = {name for name, _ in self.tables.lineage(owner.term)}
        for child in self.child_objects(owner):
            if own.isdisjoint(name for name, _ in self.tables.lineage(child.term)):
                yield child
                yield from self.descendant_objects(child)

    def _text_part(
        self, owner: WorldObject, plural: str, parts: list[Data], index: int
    ) -> WorldObject:
        def attach_part() -> None:
            owner.attach()
            owner.data[plural] = parts

        term = element_class(self.tables, None, plural) or "text"
        chain = (*owner.chain, ChainStep("p", plural), ChainStep("i", index))
        home = ContainingList(owner, plural, parts)
        return WorldObject(parts[index], term, chain, owner, home, attach_part)

    def object_by_path(self, path: str) -> WorldObject | None:
        """Return the object at a POSIX path below `startupDisk`, walking by name."""
        disk = self.data.get("startupDisk")
        if not isinstance(disk, dict) or is_mark(disk):
            return None
        node = self.property_object(self.root, "startupDisk")
        for part in filter(None, path.split("/")):
            for child in self.child_objects(node):
                if self.object_name(child.data) == part:
                    node = child
                    break
            else:
                return None
        return node


def default_value(tables: Tables, type_: str) -> Any:
    """Return what an app says of a property that its world leaves out, by type."""
    term = type_.split(" | ")[0]
    if term.startswith("list of "):
        return []
    simple = {"text": "", "boolean": False, "integer": 0, "number": 0}
    kind = find_type(term)
    if kind is not None and kind.reading in simple:
        return simple[kind.reading]
    rows = tables.enums.get(term)
    return rows[0][0] if rows else None


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


def _default_elements(tables: Tables, term: str, count: int, depth: int, prefix: str) -> Data:
    world: Data = {}
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
    if prop.type in ("text", HTML_TEXT):
        return f"{prop.term} of {term} {number}"
    if prop.type == "date" and prop.term != "completion date":
        return {"date": _DAY.format(rank % 28 + 1)}
    return None


def answer_by_type(world: AppWorld, type_: str, direct: Any, now: str) -> Any:
    """Return a plausible answer of the type that a command declares; "" for none."""
    for term, listed in parse_type(type_) if type_ else ():
        if listed:
            return []
        kind = find_type(term)
        reading = kind.reading if kind is not None else ""
        if reading in ("object", "any"):
            return direct if isinstance(direct, AppReference | list) else UNDEFINED
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
            first = next((n for n in nodes if world.tables.is_descendant(n.term, term)), None)
            return world.make_reference(first.chain) if first else UNDEFINED
        return default_value(world.tables, term)
    return UNDEFINED


CONTENT: Final = "@content"
_LISTS: Final = ("folders", "files")
_NOT_FOUND: Final = -43


def handle_disk_request(
    worlds: Mapping[str, AppWorld], request: Mapping[str, Any], now: str
) -> Any:
    """Carry out a request: `does` is a key of the table below, `path` absolute, `to` by verb.

    Return None where there is no such file or folder, or something is in the way.

    Raises:
        EventRefusedError: -43: no app of these has a disk.
    """
    worlds_ = sorted(worlds, key=lambda key: key != "finder")
    disks = (worlds[key].data.get("startupDisk") for key in worlds_)
    root = next((disk for disk in disks if isinstance(disk, dict) and "name" in disk), None)
    if root is None:
        raise EventRefusedError(_NOT_FOUND)
    path = PurePosixPath(request["path"])
    answer = _VERBS[request["does"]](root, path, request.get("to"))
    if request["does"] in ("write", "folder") and answer:
        _find_node(root, path)["modificationDate"] = {"date": now}  # type: ignore[index]
    return answer


def _child_nodes(node: Data) -> Iterator[tuple[list[Any], Data]]:
    for value in node.values():
        if isinstance(value, list):
            yield from ((value, child) for child in value if isinstance(child, dict))


def _find_node(root: Data, path: PurePosixPath) -> Data | None:
    node: Data | None = root
    for part in path.parts[1:]:
        children = _child_nodes(node) if node is not None else ()
        node = next((child for _, child in children if child.get("name") == part), None)
    return node


def _is_folder(node: Data | None) -> bool:
    return node is not None and CONTENT not in node and "@class" not in node


def _node_kind(root: Data, path: PurePosixPath, _to: Any) -> str | None:
    node = _find_node(root, path)
    return None if node is None else "folder" if _is_folder(node) else "file"


def _child_names(root: Data, path: PurePosixPath, _to: Any) -> list[str] | None:
    node = _find_node(root, path)
    return [child["name"] for _, child in _child_nodes(node)] if node and _is_folder(node) else None


def _read_file(root: Data, path: PurePosixPath, _to: Any) -> str | None:
    node = _find_node(root, path)
    return None if node is None or _is_folder(node) else str(node.get(CONTENT, ""))


def _add_node(root: Data, path: PurePosixPath, node: Data) -> bool:
    """Put a file or folder at a path whose folder is there and which is free."""
    holder = _find_node(root, path.parent)
    if holder is None or not _is_folder(holder) or _find_node(root, path) is not None:
        return False
    kind = "folders" if _is_folder(node) else "files"
    holder.setdefault(kind, []).append({**node, "name": path.name})
    return True


def _write_file(root: Data, path: PurePosixPath, text: Any) -> bool | None:
    node = _find_node(root, path)
    if node is None:
        made = {CONTENT: text, "@class": "document file", "size": len(text.encode())}
        return _add_node(root, path, made) or None
    if _is_folder(node):
        return None
    node.update({CONTENT: text, "size": len(text.encode())})
    return True


def _make_folder(root: Data, path: PurePosixPath, whole: Any) -> bool | None:
    """Make a folder; with `whole` those around it too, and one that is there is well."""
    if whole and _find_node(root, path) is not None:
        return _is_folder(_find_node(root, path)) or None
    if whole:
        _make_folder(root, path.parent, whole)
    return _add_node(root, path, {}) or None


def _remove_node(root: Data, path: PurePosixPath, _to: Any) -> bool | None:
    holder, node = _find_node(root, path.parent), _find_node(root, path)
    if holder is None or node is None or node is root:
        return None
    for items, child in _child_nodes(holder):
        if child is node:
            items[:] = [other for other in items if other is not node]
            return True
    return None


def _copy_node(root: Data, path: PurePosixPath, to: Any) -> bool | None:
    node = _find_node(root, path)
    return (node is not None and _add_node(root, PurePosixPath(to), copy.deepcopy(node))) or None


def _move_node(root: Data, path: PurePosixPath, to: Any) -> bool | None:
    return (_copy_node(root, path, to) and _remove_node(root, path, None)) or None


_VERBS: Final[Mapping[str, Callable[[Data, PurePosixPath, Any], Any]]] = {
    "kind": _node_kind,
    "names": _child_names,
    "read": _read_file,
    "write": _write_file,
    "folder": _make_folder,
    "remove": _remove_node,
    "copy": _copy_node,
    "move": _move_node,
}
