"""The objects of one app: a world as loaded, seen through the app's tables.

A world is plain JSON and stays so: an object is the dictionary that the state file holds, a
`WorldObject` says where it was found. Collections that a world lacks are derived: Finder's `items`
from its files and folders, an application's `notes` from every folder that holds some.

A text in a world is a string, or `{"@text": ..., properties, parts}` once its parts (paragraphs,
words, characters: `doc.text.paragraphs[1].size`) carry properties.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from iac_runtime.tool import Property
from iac_runtime.tools.tables import APPLICATION, Tables
from iac_runtime.types import find_type
from iac_simulator.names import class_of_type, element_class, property_of_kin
from iac_simulator.values import AppReference, Chain, ChainStep, is_mark

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


@dataclass(frozen=True)
class AppWorld:
    """An app and its objects."""

    tables: Tables
    data: Data

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
        return data.get(prop.jxa) if prop is not None else data.get("id")

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
            step = ChainStep("i", index)
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
        return WorldObject(
            data, self.object_class(data, term or "item"), chain, owner, None, owner.attach
        )

    def descendant_objects(self, owner: WorldObject) -> Iterator[WorldObject]:
        """Yield every object below `owner`, each before what it holds."""
        for child in self.child_objects(owner):
            yield child
            yield from self.descendant_objects(child)

    def find_collection(self, owner: WorldObject, plural: str) -> list[WorldObject] | None:
        """Return the objects of `owner` under `plural`; None where it has no such collection."""
        parts = owner.data.get(plural) or text_parts(owner.data, plural)
        if parts is not None and "@text" in owner.data:
            return [self._text_part(owner, plural, parts, index) for index in range(len(parts))]
        if isinstance(owner.data.get(plural), list):
            return list(self.list_items(owner, plural))
        term = element_class(self.tables, owner.term, plural)
        if term is None:
            return None
        near = [
            node
            for node in self.all_list_items(owner)
            if self.tables.is_descendant(node.term, term)
        ]
        if near:
            return near
        below = [
            node
            for node in self._indirect_objects(owner)
            if self.tables.is_descendant(node.term, term)
        ]
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
        return WorldObject(
            parts[index], term, chain, owner, ContainingList(owner, plural, parts), attach_part
        )

    def object_by_path(self, path: str) -> WorldObject | None:
        """Return the object at a POSIX path below `startupDisk`, walking by name."""
        disk = self.data.get("startupDisk")
        if not isinstance(disk, dict) or is_mark(disk):
            return None
        node = self.property_object(self.root, "startupDisk")
        for part in filter(None, path.split("/")):
            found = next(
                (c for c in self.child_objects(node) if self.object_name(c.data) == part), None
            )
            if found is None:
                return None
            node = found
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
