"""Example arguments: a call of a tool that the app understands, made from its dictionary."""

from collections.abc import Iterator, Mapping
from typing import Any

from iac_gen.ir import ToolFunction
from iac_gen.merge import APPLICATION
from iac_gen.model import class_lineage
from iac_gen.text import offered_values
from iac_gen.types import AppTypes
from iac_runtime.tool import Class, Property
from iac_runtime.tools.field import field_rows
from iac_runtime.types import TYPES, type_alternatives

_TEXTS = {"address": "ines@example.org", "url": "https://example.com"}
"""What is no text like any other: an app or the policy looks at it."""

_PLAIN_TYPES = ("text", "boolean", "integer", "real", "number")


def example_arguments(
    tool: ToolFunction, classes: Mapping[str, Class], types: AppTypes, app: str
) -> dict[str, Any]:
    """Return arguments that the app understands: what is required, and what it is about."""
    required = {
        p.key: (p.row.type == "text" and _TEXTS.get(p.key)) or _example_of_type(p.row.type, types)
        for p in tool.parameters
        if p.required
    }
    if tool.bind or tool.op in ("command", "get"):
        return required
    if tool.op == "set":
        target, row = _settable_property(classes, types, app)
        return {"target": target, "properties": {row.term: _example_of_type(row.type, types)}}
    shown = next(p.schema for p in tool.parameters if p.key == "element").get("enum", classes)
    term, holder = _class_and_holder(shown, classes, types)
    place = {"at" if tool.op == "make" else "of": holder} if holder else {}
    return {**required, "element": term, **place}


def _example_of_type(kind: str, types: AppTypes) -> Any:
    """Return a value of a type, of its first alternative."""
    part = next(iter(type_alternatives(kind)), "any")
    if part.startswith("list of "):
        return [_example_of_type(part.removeprefix("list of ").split("|")[0], types)]
    if part in types.enums:
        return (offered_values(types.enumerators(part)) or types.enumerators(part))[0]
    if types.json_schema(part) == {"type": "object"} or "properties" in types.json_schema(part):
        return TYPES[part].example if part in TYPES else {}
    if part in TYPES and TYPES[part].example is not None:
        return TYPES[part].example
    if part in ("class", "type"):
        return next(iter(types.classes), "document")
    if part == "point":
        return [0, 0]
    if part in ("text", "data"):
        return "example"
    return types.example_reference([part]) or types.example_reference(["specifier"]) or APPLICATION


def _class_and_holder(shown: Any, classes: Mapping[str, Class], types: AppTypes) -> tuple[str, str]:
    """Return a class, and the reference to what holds objects of it; empty for the app itself."""
    own = types.example_reference(["specifier"])
    rows = [(term, text) for term in shown if (text := types.example_reference([term]))]
    # It ends with an element of the class itself, not of one that inherits from it.
    rows = [row for row in rows if row[1].rpartition(".")[2] == f"{classes[row[0]].plural}[0]"]
    rows.sort(key=lambda row: (row[1] != own, row[1].count(".")))
    term, text = rows[0] if rows else (next(iter(shown)), "")
    return term, text.rpartition(".")[0]


def _settable_property(
    classes: Mapping[str, Class], types: AppTypes, app: str
) -> tuple[str, Property]:
    """Return a reference, and a property of it that can be set; a plain one where there is."""
    refused = {row.get("play", {}).get("property") for row in field_rows(app, "refusal")}
    choices: list[tuple[bool, bool, str, Property]] = []
    own = types.example_reference(["specifier"])
    for term in classes:
        text = APPLICATION if term == APPLICATION else types.example_reference([term])
        for prop in _all_properties(term, classes) if text else ():
            if prop.access != "r":
                odd = text.startswith("windows") or prop.type not in _PLAIN_TYPES
                odd |= prop.term in refused
                choices.append((odd, text != own, text, prop))
    if not choices:
        rows = [p for row in classes.values() for p in row.properties if p.access != "r"]
        return APPLICATION, rows[0]
    _, _, target, chosen = min(choices, key=lambda row: row[:2])
    return target, chosen


def _all_properties(term: str, classes: Mapping[str, Class]) -> Iterator[Property]:
    """Yield the properties of a class, and of what it inherits from; an overridden one once."""
    terms: set[str] = set()
    for row in (classes[name] for name in class_lineage(term, classes)):
        yield from (prop for prop in row.properties if prop.term not in terms)
        terms |= {prop.term for prop in row.properties}
