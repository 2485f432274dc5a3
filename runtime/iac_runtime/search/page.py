"""The page of a tool: what it does, what it takes, and a call that can be sent as it is."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from iac_runtime.language.compose import default_columns
from iac_runtime.language.references import has_folders
from iac_runtime.search.entries import listing_entry
from iac_runtime.search.index import SearchHit
from iac_runtime.search.slots import WORDINGS, fill_example
from iac_runtime.tool import Level
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.tables import APPLICATION, Operation, Tables, holder_of, shortest_reference
from iac_runtime.types import example_value, find_type

_MADE: Final = 2
"""Properties that the example of what is made sets."""

_PATHS: Final = frozenset({"folder", "file"})
"""Classes whose objects are named by a path, where an app has folders as Finder has."""

_LEVEL: Final = re.compile(r"\s*\b(?:SAFE|MODIFY|DANGEROUS)\b[^.]*\.\s*$")


def tool_purpose(catalogue: Catalogue, name: str) -> str:
    """Return what a tool of the catalogue does, one line.

    Raises:
        UnknownToolError: There is no such tool.
        SetupError: The listing does not hold what the catalogue says.
    """
    return _LEVEL.sub("", str(listing_entry(catalogue, name)["description"]))


class ToolPage(NamedTuple):
    """A tool as a client needs it to call it.

    Attributes:
        tool: Its name on the wire.
        purpose: What it does, one line.
        level, ceiling: The least that a call needs, and the most that its arguments can reach.
        acts: Whether a call may do more than read.
        schema: The input schema, exactly as it is checked.
        example: Arguments of a call that fits the schema.
    """

    tool: str
    purpose: str
    level: Level
    ceiling: Level
    acts: bool
    schema: Mapping[str, Any]
    example: Mapping[str, Any]


def tool_page(catalogue: Catalogue, tool: str | SearchHit) -> ToolPage:
    """Return the page of a tool; of a hit, the example is about what was asked for.

    Raises:
        UnknownToolError: There is no such tool; the error has the nearest names.
        SetupError: The app's module is not what the catalogue says.
    """
    name = tool if isinstance(tool, str) else tool.tool
    row = catalogue.find_row(name)
    entry = listing_entry(catalogue, name)
    hit = None if isinstance(tool, str) else tool
    # The module's: that of the listing is cut where it is long.
    schema = catalogue.load_tool(row).input
    operation = catalogue.load_operation(name)
    example = _example_arguments(operation, schema, hit)
    if hit and hit.slots:
        example = fill_example(example, operation.spec.params, hit.slots, operation.tables)
    purpose = _LEVEL.sub("", str(entry["description"]))
    # Older listings have no hints.
    acts = not entry.get("annotations", {}).get("readOnlyHint", row.ceiling == "SAFE")
    return ToolPage(name, purpose, row.level, row.ceiling, acts, schema, example)


def describe_arguments(schema: Mapping[str, Any]) -> dict[str, str]:
    """Return what a tool takes, a few words an argument: `?` marks one that may be left out.

    `{"element": "document | note | folder", "limit?": "integer = 50: the most rows"}`. A client
    that wants the schema itself reads it from the listing.
    """
    required = schema.get("required", ())
    return {
        name if name in required else f"{name}?": _argument_text(row)
        for name, row in schema.get("properties", {}).items()
    }


def name_arguments(schema: Mapping[str, Any]) -> str:
    """Return the names of what a tool takes: `element, where?, limit?`."""
    return ", ".join(name for name in describe_arguments(schema) if name not in _EVERYWHERE)


_EVERYWHERE: Final = frozenset({"timeout?", "raw?", "cursor?", "offset?"})
"""Arguments of very many tools, that a first call needs not."""


def _argument_text(row: Mapping[str, Any]) -> str:
    kind = _type_text(row)
    if "default" in row:
        kind += f" = {json.dumps(row['default'], ensure_ascii=False)}"
    said = str(row.get("description", "")).rstrip(".")
    return f"{kind}: {said}" if said and kind else kind or said


def _type_text(row: Mapping[str, Any]) -> str:
    if values := row.get("enum"):
        shown = " | ".join(map(str, values[:_VALUES]))
        return f"{shown} and {len(values) - _VALUES} more" if len(values) > _VALUES else shown
    if several := row.get("anyOf"):
        return " | ".join(dict.fromkeys(filter(None, map(_type_text, several))))
    kind = str(row.get("type", ""))
    if kind == "array":
        return f"[{_type_text(row.get('items', {}))}]"
    least, most = row.get("minimum"), row.get("maximum")
    if least is not None and most is not None:
        return f"{kind} {least} to {most}"
    # A text is what an argument is that says nothing else.
    return "" if kind == "string" else kind


_VALUES: Final = 12
"""Values of an enumeration that a page names."""


def count_tokens(entries: Iterable[Mapping[str, Any]]) -> int:
    """Return about how many tokens a listing of these entries costs: bytes of JSON by four.

    Within a tenth of two real tokenizers for whole entries; names alone cost a third more.
    """
    lines = (json.dumps(entry, separators=(",", ":"), ensure_ascii=True) for entry in entries)
    return sum(len(line) for line in lines) // 4


def _example_arguments(
    tool: Operation, schema: Mapping[str, Any], hit: SearchHit | None
) -> dict[str, Any]:
    """Return arguments that fit the schema: what is required, and what a hit is about."""
    spec, tables = tool.spec, tool.tables
    about = hit.element if hit is not None and hit.element in tables.classes else ""
    named = list(hit.properties) if hit is not None else []
    if spec.bind or spec.op == "command" or (spec.example and not about and not named):
        return {**spec.example}
    if spec.op == "get":
        given: dict[str, Any] = {"target": shortest_reference(tables, about or None)}
    elif spec.op == "set":
        owner, values = _example_settings(about, named, tables)
        given = {"target": shortest_reference(tables, owner), "properties": values}
    else:
        term = _example_element(schema["properties"]["element"], about, tables)
        given = {"element": term}
        holder = holder_of(tables, term)
        if holder:
            given["at" if spec.op == "make" else "of"] = holder
        if (
            spec.op == "make"
            and about
            and (values := _example_settings(term, named, tables, _MADE)[1])
        ):
            given["properties"] = values
    if spec.op in ("get", "list") and named:
        given["properties"] = named
    return given


def _example_element(row: Mapping[str, Any], about: str, tables: Tables) -> str:
    offered: list[str] = list(row.get("enum", tables.classes))
    if about in offered:
        return about
    near = {element.term for element in tables.elements(APPLICATION)}
    return next((term for term in offered if term in near), offered[0])


def _example_settings(
    about: str, named: Iterable[str], tables: Tables, most: int = 1
) -> tuple[str, dict[str, Any]]:
    """Return a class, and values for at most so many properties that people set.

    What was named counts first, of that and of the rest what a person would look at.
    """
    for term in (about,) if about else tables.classes:
        rows = {prop.term: prop for prop in tables.properties(term) if "w" in prop.access}
        plain = [name for name, row in rows.items() if example_value(row.type) is not None]
        usual = [one.label for one in default_columns(term, tables) if one.label in plain]
        usual += [name for name in plain if name in WORDINGS]
        said = [name for name in named if name in rows]
        told = [name for name in usual if name in said] or said
        # What is made has a name, whatever else was spoken of.
        first = [*usual[:1], *told, *usual] if most > 1 else [*told, *usual, *plain]
        chosen = [rows[name] for name in dict.fromkeys(first)][:most]
        reached = term == APPLICATION or shortest_reference(tables, term) != APPLICATION
        if chosen and reached:
            return term, {row.term: _example_value(row.type, tables, row.term) for row in chosen}
    return about or APPLICATION, {}


def _example_value(kind: str, tables: Tables, name: str) -> Any:
    """Return an example of a type, of its first alternative that is not `missing value`."""
    first = next((part for part in kind.split(" | ") if part != "missing value"), "any")
    if first.startswith("list of "):
        return [_example_value(first.removeprefix("list of "), tables, name)]
    if tables.enums.get(first):
        return tables.enums[first][0][0]
    # `text` is a class of some apps too: its values are texts.
    if first in _PATHS and has_folders(tables):
        return example_value("file", first)
    if first in tables.classes and first != "text":
        return shortest_reference(tables, first)
    if first in tables.records:
        return {}
    row = find_type(first)
    if row is not None and row.reading in ("object", "insertion"):
        return shortest_reference(tables, None)
    plain = example_value(first, name)
    return example_value("text", name) if plain is None else plain
