"""Example arguments: a call of a tool that the app understands, made from its dictionary."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from iac_gen.ir import ToolFunction
from iac_gen.merge import APPLICATION
from iac_gen.model import class_lineage
from iac_gen.quirks import load_field_book, read_facts
from iac_gen.text import offered_values
from iac_gen.types import AppTypes
from iac_runtime.tool import Class, Property
from iac_runtime.types import example_value, type_alternatives

_WINDOWED: Final = ("coreclos", "coresave")
"""What the Standard Suite does to documents and windows, whatever object it takes."""

_PLAIN_TYPES = ("text", "boolean", "integer", "real", "number")


def example_arguments(
    tool: ToolFunction, classes: Mapping[str, Class], types: AppTypes, app: str
) -> dict[str, Any]:
    """Return arguments that the app understands: what is required, and what it is about."""
    said = tool.function.replace("_", " ")
    required = {
        p.key: _example_of_type(p.row.type, types, f"{said} {p.key}", p.key, said)
        for p in tool.parameters
        if p.required
    }
    if tool.bind or tool.op in ("command", "get"):
        return _make_consistent(required, tool, classes, types)
    if tool.op == "set":
        target, row = _settable_property(classes, types, app)
        value = _example_of_type(row.type, types, row.term)
        return {"target": target, "properties": {row.term: value}}
    shown = next(p.schema for p in tool.parameters if p.key == "element").get("enum", classes)
    if tool.op == "make":
        # What has no text that can be set comes from elsewhere, as a received mail does.
        shown = [term for term in shown if _has_settable_text(term, classes)] or shown
    term, holder = _class_and_holder(shown, classes, types)
    place = {"at" if tool.op == "make" else "of": holder} if holder else {}
    return {**required, "element": term, **place}


def _make_consistent(
    given: dict[str, Any], tool: ToolFunction, classes: Mapping[str, Class], types: AppTypes
) -> dict[str, Any]:
    """Return arguments that make sense together: a file is in the format that is asked for, what
    is moved goes elsewhere, and what is closed is a document or a window."""
    words = [str(value).lower() for value in (*given.values(), *tool.bind.values())]
    for key, value in given.items():
        if value == example_value("file") and "pdf" in words:
            given[key] = example_value("file", "pdf")
    target, to = given.get("target"), given.get("to")
    if isinstance(target, str) and isinstance(to, str) and f"{target}.".startswith(f"{to}."):
        given["to"] = _other_place(to, classes, types)
    elif isinstance(target, str) and tool.event in _WINDOWED and "disk" not in classes:
        # Not what is in it: nobody closes a message. A folder is what its window shows.
        kind = "document" if target.startswith("documents") else "window"
        near = "" if target.startswith("windows") else types.example_reference([kind])
        given["target"] = near or target
    return given


def _other_place(to: str, classes: Mapping[str, Class], types: AppTypes) -> str:
    """Return another object of such a class; in a document or a window, things change places."""
    if to.endswith("[0]"):
        return to if to.startswith(("documents", "windows")) else f"{to[:-3]}[1]"
    rows = _all_properties(APPLICATION, classes)
    kind = next((row.type for row in rows if row.jxa == to), "")
    return types.example_reference([kind]) or to


def _example_of_type(kind: str, types: AppTypes, *names: str) -> Any:
    """Return a value of a type, of its first alternative, for what has one of these names."""
    part = next(iter(type_alternatives(kind)), "any")
    if part.startswith("list of "):
        return [_example_of_type(part.removeprefix("list of ").split("|")[0], types, *names)]
    if part in types.enums:
        return (offered_values(types.enumerators(part)) or types.enumerators(part))[0]
    plain = example_value("text" if part == "data" else part, *names)
    if plain is not None:
        return plain
    if types.json_schema(part) == {"type": "object"} or "properties" in types.json_schema(part):
        return {}
    if part in ("class", "type"):
        return next(iter(types.classes), "document")
    near = types.example_reference([part]) or types.example_reference(["specifier"])
    return near or (example_value("text", *names) if part == "any" else APPLICATION)


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
    facts = (fact for fact in read_facts(load_field_book(app)[0]) if fact.app == app)
    refused = {fact.play.get("property") for fact in facts if "refusal" in fact.use}
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


def _has_settable_text(term: str, classes: Mapping[str, Class]) -> bool:
    rows = _all_properties(term, classes)
    return any(row.access != "r" and "text" in type_alternatives(row.type) for row in rows)


def _all_properties(term: str, classes: Mapping[str, Class]) -> Iterator[Property]:
    """Yield the properties of a class, and of what it inherits from; an overridden one once."""
    terms: set[str] = set()
    for row in (classes[name] for name in class_lineage(term, classes)):
        yield from (prop for prop in row.properties if prop.term not in terms)
        terms |= {prop.term for prop in row.properties}
