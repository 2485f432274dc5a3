"""The tables of a generated module, and what its tools do: one view for all that read them."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from types import ModuleType
from typing import Any, Final, TypeVar

from iac_base.words import fold_name
from iac_runtime.tool import (
    App,
    Class,
    Element,
    Enum,
    Param,
    Property,
    Record,
    Schema,
    Spec,
    spec_of,
)
from iac_runtime.types import HTML_TEXT, find_type

APPLICATION = "application"
"""The class at which every reference begins; each module with classes has it."""

CONTENTS: Final = frozenset({"body", "ctxt", "pcnt", "PCnt", "text"})
"""The codes of whole contents: replacing them loses the old ones, and a new object has none."""


_FAR: Final = 400
"""Places that are looked at for a reference; an app whose objects lie deeper gets a shorter one."""

Row = TypeVar("Row", Property, Element)


class Tables:
    """The tables of one module; `key` is the module's name and the prefix of its tools.

    What is looked up in them is kept: a table never changes, and every call asks the same.
    Plain, like `Operation`: listing tools pays for this module, and dataclasses cost 5 ms.
    """

    def __init__(
        self,
        key: str,
        app: App,
        classes: Mapping[str, Class],
        enums: Mapping[str, Enum],
        records: Mapping[str, Record],
        tools: Mapping[str, Spec],
        schemas: Mapping[str, Schema] = {},
    ) -> None:
        self.key, self.app = key, app
        self.classes, self.enums, self.records, self.tools = classes, enums, records, tools
        self.schemas = schemas
        # A known answer costs no step through this file.
        for look in (self.is_descendant, self.properties, self.elements):
            setattr(self, look.__name__, lru_cache(None)(look))
        for find in (self.find_class, self.find_property, self.value_range):
            # Names are a caller's, who may think of any.
            setattr(self, find.__name__, lru_cache(4096)(find))

    def lineage(self, term: str) -> Iterator[tuple[str, Class]]:
        """Yield the class `term` and those it inherits from, nearest first; cycles end."""
        seen: set[str] = set()
        name: str | None = term
        while name is not None and name not in seen and name in self.classes:
            seen.add(name)
            yield name, self.classes[name]
            name = self.classes[name].inherits

    def is_descendant(self, term: str, ancestor: str) -> bool:
        """Say whether the class `term` is `ancestor` or inherits from it."""
        return any(name == ancestor for name, _ in self.lineage(term))

    def properties(self, term: str) -> Sequence[Property]:
        """Return the properties of the class `term`, its own first; an overridden one once."""
        return _first_of_each(prop for _, row in self.lineage(term) for prop in row.properties)

    def value_range(self, owner: str, term: str) -> tuple[float, float] | None:
        """Return the least and the most that a property can be, where a tool that sets it says."""
        for name, spec in self.tools.items():
            if spec.op not in ("set", "make") or name not in self.schemas:
                continue
            said = str(spec.bind.get("properties", {}).get(term, ""))
            target = str(spec.bind.get("element") or spec.bind.get("target", "")).removeprefix("$")
            kind = spec.params[target].type if target in spec.params else target
            row = json.loads(self.schemas[name].input)["properties"].get(said.removeprefix("$"), {})
            if "maximum" in row and self.is_descendant(owner, kind):
                return row.get("minimum", 0), row["maximum"]
        return None

    def elements(self, term: str) -> Sequence[Element]:
        """Return what the class `term` contains, its own first."""
        return _first_of_each(element for _, row in self.lineage(term) for element in row.elements)

    def find_class(self, name: str) -> str | None:
        """Return the term of the class called `name`, singular or plural, in either spelling."""
        return self._class_names.get(fold_name(name))

    def find_property(self, term: str, name: str) -> Property | None:
        """Return the property `name` of the class `term`, in either spelling."""
        wanted = fold_name(name)
        return next(
            (prop for prop in self.properties(term) if fold_name(prop.term) == wanted), None
        )

    @cached_property
    def html_names(self) -> frozenset[str]:
        """The folded names of the properties that hold HTML; those of no app hold it by chance."""
        rows = (prop for row in self.classes.values() for prop in row.properties)
        return frozenset(fold_name(prop.term) for prop in rows if prop.type == HTML_TEXT)

    @cached_property
    def _class_names(self) -> dict[str, str]:
        class_names: dict[str, str] = {}
        for term, row in self.classes.items():
            class_names.setdefault(fold_name(term), term)
            class_names.setdefault(fold_name(row.plural), term)
        return class_names


def _first_of_each(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Return the first row of each term."""
    found: dict[str, Row] = {}
    for row in rows:
        found.setdefault(row.term, row)
    return tuple(found.values())


def holder_classes(term: str, tables: Tables) -> list[str]:
    """Return the classes whose objects hold those of the class `term`, the application first."""
    return [
        owner
        for owner in (APPLICATION, *(name for name in tables.classes if name != APPLICATION))
        if any(element.term == term for element in tables.elements(owner))
    ]


def holder_of(tables: Tables, term: str) -> str:
    """Return a reference to what holds objects of a class; empty where the app itself does.

    An example of the module is the better one: Mail's inbox rather than its first mailbox.
    """
    owners = holder_classes(term, tables)
    if not owners or owners[0] == APPLICATION:
        return ""
    told = [spec.example for spec in tables.tools.values() if spec.op in ("list", "count")]
    told = [row for row in told if row.get("of")]
    best = next((row["of"] for row in told if row.get("element") == term), "") or next(
        (f"{row['of']}.{tables.classes[row['element']].plural}[0]" for row in told
         if row.get("element") in owners), "")  # fmt: skip
    ways = (shortest_reference(tables, owner) for owner in owners)
    return best or next((way for way in ways if way != APPLICATION), "")


def shortest_reference(tables: Tables, wanted: str | None) -> str:
    """Return a short reference to an object of the class `wanted`, else to what comes first.

    Breadth first over elements, then over properties that hold an object.
    """
    if wanted == APPLICATION or APPLICATION not in tables.classes:
        return APPLICATION
    queue, seen = [(APPLICATION, "")], {APPLICATION}
    for term, path in queue:
        if path and (wanted is None or tables.is_descendant(term, wanted)):
            return path
        if len(queue) > _FAR:
            break
        steps = [
            (one.term, f"{tables.classes[one.term].plural}[0]") for one in tables.elements(term)
        ]
        # A name is a text too, but one without parts.
        steps += [
            (one.type, one.jxa)
            for one in tables.properties(term)
            if find_type(one.type) is None or one.code in CONTENTS
        ]
        for held, step in steps:
            if held in tables.classes and held not in seen:
                seen.add(held)
                queue.append((held, f"{path}.{step}" if path else step))
    return APPLICATION


def tables_of(module: ModuleType) -> Tables:
    """Return the tables of an imported generated module."""
    key = module.__name__.rpartition(".")[2]
    tools = {
        name: spec
        for name in module.__all__
        if (spec := spec_of(getattr(module, name))) is not None
    }
    schemas = getattr(module, "SCHEMAS", {})
    return Tables(key, module.APP, module.CLASSES, module.ENUMS, module.RECORDS, tools, schemas)


OBJECT_PARAMS: Final[Mapping[str, Param]] = {
    "target": Param("", "----", "specifier"),
    "element": Param("", "", "class"),
    "of": Param("", "----", "specifier"),
    "where": Param("", "", "filter"),
    "properties": Param("", "", "any"),
    "order": Param("", "", "list of property"),
    "limit": Param("", "", "integer"),
    "offset": Param("", "", "integer"),
    "cursor": Param("", "", "text"),
}
"""The parameters of the object tools, for an app that has the recipe but not the tool."""

_MAKE: Final[Mapping[str, Param]] = {
    "element": Param("new", "kocl", "class"),
    "at": Param("at", "insh", "location specifier"),
    "properties": Param("with properties", "prdt", "record", "withProperties"),
    "with_data": Param("with data", "data", "any", "withData"),
}


class Operation:
    """What a generated tool does: its name on the wire, its app's tables, what its module says."""

    __slots__ = ("name", "output", "spec", "tables")

    def __init__(
        self, name: str, tables: Tables, spec: Spec, output: Mapping[str, Any] | None = None
    ) -> None:
        self.name, self.tables, self.spec, self.output = name, tables, spec, output


@lru_cache(maxsize=1024)
def parameters_of(tool: Operation) -> Mapping[str, Param]:
    """Return the parameters of the operation behind a tool, by key."""
    spec = tool.spec
    if not spec.bind:
        return spec.params
    found: dict[str, Param] = {}
    if spec.op == "make":
        found.update(_MAKE)
    elif spec.op != "command":
        found.update(OBJECT_PARAMS)
    found.update({key: row for key, row in spec.params.items() if key not in found})
    behind = function_behind(tool)
    if behind:
        found.update(tool.tables.tools[behind].params)
    return found


def function_behind(tool: Operation) -> str:
    """Return the function of the tool behind a recipe, empty where the app has none."""
    spec = tool.spec
    for function, other in tool.tables.tools.items():
        same = other.event == spec.event if spec.op == "command" else other.op == spec.op
        if same and other.op == spec.op and not other.bind:
            return function
    return ""
