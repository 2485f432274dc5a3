"""The words of every app: what the index is made of, read from the catalogue's folders."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from iac_runtime.apptools import OWN_TOOLS
from iac_runtime.catalogue import AppRow, Catalogue
from iac_runtime.errors import SetupError
from iac_runtime.search.anyapp import SAID
from iac_runtime.tables import APPLICATION, Tables
from iac_runtime.tool import Level, Op, Spec

__all__ = [
    "OWN",
    "AppWords",
    "ClassWords",
    "Reach",
    "ToolWords",
    "app_words",
    "listing_entry",
    "own_words",
    "toolset_words",
]

Reach = Literal["own", "known", "any"]
"""Whom tools are for: their own app, every app that has tools, or whatever app there is."""

OWN: AppRow = AppRow("", "", "", "application", Path())
"""Stands for the app of tools that are of no app."""


class ToolWords(NamedTuple):
    """A tool as it is looked for.

    Attributes:
        element: The class that a recipe binds, else empty.
        said: Words that people say for it, which its name and purpose do not have.
    """

    name: str
    op: Op
    function: str
    purpose: str
    parameters: str
    values: str
    element: str
    bound: bool
    level: Level
    said: str = ""


class ClassWords(NamedTuple):
    """A class as it is looked for: properties as (term, access), values of their enumerations.

    `use` is `held` where something contains objects of it, so that they can be listed; `made`
    where only the making of one is not ruled out; `class` else.
    """

    term: str
    plural: str
    properties: tuple[tuple[str, str], ...]
    values: str
    use: Literal["held", "made", "class"]


class AppWords(NamedTuple):
    """An app with its tools and classes."""

    app: AppRow
    tools: tuple[ToolWords, ...]
    classes: tuple[ClassWords, ...]
    reach: Reach = "own"


def app_words(catalogue: Catalogue) -> Iterator[AppWords]:
    """Yield the words of every app; reading an app imports its module.

    Raises:
        SetupError: A module or a listing is not what the catalogue says.
    """
    tools: dict[str, list[str]] = {}
    for name, row in catalogue.tools.items():
        tools.setdefault(row.module, []).append(name)
    for app in catalogue.apps.values():
        tables = catalogue.tables(app)
        entries = [(name, listing_entry(catalogue, name)) for name in tools.get(app.key, ())]
        rows, free = [], False
        for name, entry in entries:
            function = catalogue.tools[name].function
            element = entry["inputSchema"].get("properties", {}).get("element", {})
            free = free or (function == "make" and "enum" not in element)
            rows.append(_tool(name, tables.tools[function], function, entry))
        yield AppWords(app, tuple(rows), tuple(_classes(tables, free=free)))


def own_words() -> AppWords:
    """Return the words of the runtime's own tools."""
    rows = tuple(
        ToolWords(tool.name, "command", tool.name, tool.description, "", "", "", False, tool.level)
        for tool in OWN_TOOLS.values()
    )
    return AppWords(OWN, rows, (), "known")


def toolset_words(
    entries: Iterable[Mapping[str, Any]], levels: Mapping[str, tuple[Level, Level]]
) -> AppWords:
    """Return the words of a toolset.

    Args:
        entries: The listing entries of its tools.
        levels: The least level and the most of each tool, by its name.
    """
    rows = tuple(
        ToolWords(
            entry["name"],
            "command",
            entry["name"],
            entry["description"],
            " ".join(entry["inputSchema"]["properties"]),
            "",
            "",
            False,
            levels[entry["name"]][0],
            SAID.get(entry["name"], ""),
        )
        for entry in entries
    )
    return AppWords(OWN, rows, (), "any")


def listing_entry(catalogue: Catalogue, name: str) -> dict[str, Any]:
    """Return the finished listing entry of one tool.

    Raises:
        UnknownToolError: There is no such tool; the error has the nearest names.
        SetupError: The listing does not hold what the catalogue says.
    """
    row = catalogue.find(name)
    path = row.app.folder / "listing.jsonl"
    try:
        with path.open("rb") as file:
            file.seek(row.offset)
            entry: dict[str, Any] = json.loads(file.readline())
        if entry["name"] == name and "inputSchema" in entry:
            return entry
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise SetupError(f"{path} is damaged; build it again: iac-gen build")


def _tool(name: str, spec: Spec, function: str, entry: Mapping[str, Any]) -> ToolWords:
    schema = entry["inputSchema"].get("properties", {})
    values = [str(value) for row in schema.values() for value in row.get("enum", ())]
    # The words of the level end each purpose; they are no reason to find a tool.
    purpose = str(entry.get("description", "")).split(". SAFE")[0].split(". MODIFY")[0]
    element = spec.bind.get("element", "")
    return ToolWords(
        name,
        spec.op,
        function.rstrip("_"),
        purpose.split(". DANGEROUS")[0],
        " ".join(schema),
        " ".join(values) if spec.op == "command" else "",
        element if isinstance(element, str) else "",
        bool(spec.bind),
        spec.level,
    )


def _classes(tables: Tables, *, free: bool) -> Iterator[ClassWords]:
    held = {element.term for row in tables.classes.values() for element in row.elements}
    for term, row in tables.classes.items():
        values = [
            enumerator
            for prop in row.properties
            for kind in prop.type.split(" | ")
            for enumerator, _ in tables.enums.get(kind, ())
        ]
        use: Literal["held", "made", "class"] = "made" if free else "class"
        if term == APPLICATION:
            use = "class"
        elif term in held:
            use = "held"
        rows = tuple((prop.term, prop.access) for prop in row.properties)
        yield ClassWords(term, row.plural, rows, " ".join(values), use)
