"""Calls as models and clients really send them, put into the form that a tool takes.

Only a call that was refused comes here: what a tool takes as it came is never changed. A text is
read as another type where the parameter takes no text and the whole text is a value of that type; a
key is another's where it can be no third. No value is guessed. What was put right is told by a line
each, which stands beside the answer and in the audit; the call that is judged, asked about and
carried out is the repaired one.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final, NamedTuple

from iac_base.errors import InvalidParameterError, NextCall, ToolError, is_synonym, quote_text
from iac_base.words import fold_name, split_name
from iac_runtime.language.reader import AppReader
from iac_runtime.language.terms import find_class_term, find_properties
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.checking import check_bounds
from iac_runtime.tools.shape import Schema, Tool, accepted_schema
from iac_runtime.tools.tables import Operation
from iac_runtime.types import find_type, parse_type, reading_of

_CONSTANTS: Final = {"true": True, "false": False, "null": None, "none": None}
"""Words of JSON and of Python for what is no number and no text."""

_TEXTS: Final = frozenset({"any", "class name", "missing", "plain", "property", "text"})
"""How types are read of which any text may be a value."""

_VERBS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("create", "add", "new"), "make"),
    **dict.fromkeys(("remove", "erase"), "delete"),
}
"""What people say for the verbs in the names of tools."""

_LOOKS: Final[Mapping[str, str]] = {
    **dict.fromkeys("all fetch find list query search show view".split(), "list"),
    **dict.fromkeys("count number".split(), "count"),
}
"""What people say for the object tools that read collections."""

_SERVER: Final = "iac"


class Repair(NamedTuple):
    """The arguments that were meant, and what was put right in them, a line each."""

    arguments: Any
    notes: tuple[str, ...]


def meant_tools(name: str, known: Collection[str]) -> list[str]:
    """Return the tools that a name stands for which no tool has: in another spelling, with the
    prefix of a client, with another word for its verb, with its words in another order."""
    last = name.replace("__", ".").replace(":", ".").replace("/", ".").split(".")
    words = split_name(last[-1])
    words = words[1:] if words[:1] == [_SERVER] else words
    verbs = [_VERBS.get(word, word) for word in words]
    spelled = (fold_name(name), fold_name("".join(words)), fold_name("".join(verbs)))
    for wanted in spelled:
        if found := [tool for tool in known if wanted and fold_name(tool) == wanted]:
            return found
    return [tool for tool in known if sorted(split_name(tool)) in (sorted(words), sorted(verbs))]


_MERGED: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "context_menu": ("click", {"button": "right"}),
}
"""Tools that are one argument of another now."""


def merged_call(name: str, arguments: Mapping[str, Any], known: Collection[str]) -> NextCall | None:
    """Return the call in place of one of a tool that has become a part of another."""
    now, more = _MERGED.get(name, ("", {}))
    return NextCall(now, {**arguments, **more}) if now in known else None


def object_call(name: str, catalogue: Catalogue) -> NextCall | None:
    """Return the read that a name of no tool of an app asks for: `mail_list_messages`; else a
    search in its app."""
    words = split_name(name)
    keys = [key for key in catalogue.apps if words[: len(split_name(key))] == split_name(key)]
    if not keys:
        return None
    key = max(keys, key=len)
    verb, *rest = words[len(split_name(key)) :] or [""]
    tool = f"{key}_{_LOOKS.get(verb, '')}"
    if tool not in catalogue.tools:
        return NextCall("find_tools", {"query": " ".join((verb, *rest)), "app": key})
    term = find_class_term(" ".join(rest), catalogue.load_tables(catalogue.apps[key]))
    return NextCall(tool, {"element": term} if term else {})


def repair_call_tool(given: Any, tool: Tool) -> Repair:
    """Return the arguments of a tool that calls others: what stands beside `arguments` is of them.

    Raises:
        InvalidParameterError: An argument stands both inside and beside, with two values.
    """
    notes: list[str] = []
    rows = tool.input["properties"]
    if not isinstance(given, Mapping):
        return Repair(given, ())
    named = {next((row for row in rows if fold_name(row) == fold_name(key)), key): value
             for key, value in given.items()}  # fmt: skip
    for key in [key for key in named if key not in rows]:
        inner = _parse_text(named[key], {"object"})
        if "arguments" in named or not is_synonym(key, "arguments"):
            continue
        if isinstance(inner, Mapping):
            named["arguments"] = inner
            del named[key]
            notes.append(f"{key} was taken for arguments")
    known = {key: _decode_value(value, rows.get(key, {}), key, notes)
             for key, value in named.items()}  # fmt: skip
    beside = {key: value for key, value in known.items() if key not in rows}
    inside = known.get("arguments") or {}
    if not beside or "name" not in known or not isinstance(inside, Mapping):
        return Repair(known, tuple(notes))
    for key, value in beside.items():
        if key in inside and inside[key] != value:
            raise InvalidParameterError(
                f"{quote_text(key)} is {quote_text(str(inside[key]))} inside arguments and"
                f" {quote_text(str(value))} beside them.",
                "Give it once, inside arguments.",
            )
    notes.append(f"{', '.join(beside)} stood beside arguments")
    rest = {key: value for key, value in known.items() if key in rows}
    return Repair({**rest, "arguments": {**inside, **beside}}, tuple(notes))


def repair_arguments(given: Any, tool: Tool) -> Repair:
    """Return the arguments of a tool as they are meant; the same, and no note, where none is.

    Raises:
        InvalidParameterError: A key can be several, two are one, or there is too much of them.
    """
    notes: list[str] = []
    if isinstance(given, Mapping):
        check_bounds(given)
    rows = accepted_schema(tool).get("properties", {})
    wanted = _parse_text(given, {"object"})
    whole = {"name", "arguments"} - rows.keys()
    if isinstance(wanted, Mapping) and "arguments" in wanted and wanted.keys() <= whole:
        if wanted.get("name", tool.name) != tool.name:
            return Repair(given, ())
        notes.append("arguments were inside others")
        wanted = _parse_text(wanted["arguments"], {"object"})
    if not isinstance(wanted, Mapping):
        return Repair(given, ())
    if isinstance(given, str):
        notes.append("arguments were read from a text")
    wanted = {key: value for key, value in wanted.items() if value is not None}
    named: dict[str, Any] = {}
    for key, value in wanted.items():
        meant = _meant_keys(str(key), wanted, rows, tool.operation) or [str(key)]
        if meant[1:]:
            raise InvalidParameterError(
                f"{quote_text(str(key))} can mean {' or '.join(meant)}.",
                "Use the one that you mean.",
                said=str(key),
                meanings=meant,
            )
        if meant[0] in named:
            raise InvalidParameterError(f"{quote_text(meant[0])} is given twice, by two words.")
        if fold_name(meant[0]) != fold_name(str(key)):
            notes.append(f"{key} was taken for {meant[0]}")
        named[meant[0]] = value
    required = tool.input.get("required", ())
    found: dict[str, Any] = {}
    for key, value in named.items():
        read = _decode_value(value, rows.get(key, {}), key, notes)
        if isinstance(read, str) and _is_nothing(read, _kinds_of(key, tool.operation)):
            notes.append(f"{key}: null was read from a text")
            read = None
        if read is not None or key in required:
            found[key] = read
    if tool.operation is not None:
        words, tables = rows.get("element", {}).get("enum", ()), tool.operation.tables
        term = find_class_term(str(found.get("element")), tables)
        if found.get("element") not in words and term in words:
            notes.append(f"{found['element']} was taken for {term}")
            found["element"] = term
        classes = _classes_of(found, tool.operation)
        for key in ("where", "properties"):
            if isinstance(found.get(key), Mapping):
                found[key] = _decode_fields(found[key], classes, tool.operation, key, notes)
    return Repair(found, tuple(notes))


def _meant_keys(
    said: str, given: Mapping[str, Any], rows: Mapping[str, Any], operation: Operation | None
) -> list[str]:
    """Return the parameters that a key can stand for."""
    spelled = [row for row in rows if fold_name(row) == fold_name(said)]
    if spelled:
        return spelled
    # What the dictionary calls it, and so every answer.
    bound = dict(_bound_terms(operation.spec.bind)) if operation is not None else {}
    named = [name for term, name in bound.items() if fold_name(term) == fold_name(said)]
    return [row for row in named if row in rows and row not in given] or [
        row for row in rows if row not in given and is_synonym(said, row)
    ]


def _bound_terms(part: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield each property that a recipe gives, with the parameter that it is given by."""
    if isinstance(part, Mapping):
        for name, value in part.items():
            yield from _bound_terms(value, str(name))
    elif isinstance(part, str) and part.startswith("$"):
        yield key, part[1:].partition("+")[0]


def _kinds_of(key: str, operation: Operation | None) -> str:
    row = operation.spec.params.get(key) if operation is not None else None
    return row.type if row is not None else ""


def _is_nothing(text: str, kind: str) -> bool:
    """Say whether a text is `null` where no text is a value."""
    return text.strip() == "null" and bool(kind) and not _takes_text(kind)


def _takes_text(kind: str) -> bool:
    return any(reading_of(part.name) in _TEXTS for part in parse_type(kind))


def _classes_of(given: Mapping[str, Any], operation: Operation) -> tuple[str, ...] | None:
    """Return the classes whose properties a call names; None where that is not known."""
    if isinstance(given.get("element"), str):
        term = find_class_term(given["element"], operation.tables)
        return (term,) if term else None
    try:
        return AppReader(operation.tables).read_object(given.get("target"), "item").classes
    except (ToolError, TypeError, AttributeError):
        return None


def _decode_fields(
    value: Any,
    classes: tuple[str, ...] | None,
    operation: Operation,
    where: str,
    notes: list[str],
    kind: str = "",
) -> Any:
    """Return the values of properties in their types; below a comparison the type is the same."""
    tables = operation.tables
    if isinstance(value, Mapping):
        fields: dict[str, Any] = {}
        for key, part in value.items():
            rows = find_properties(classes or tuple(tables.classes), str(key), tables)
            own = " | ".join(dict.fromkeys(row.type for row in rows)) or kind
            fields[key] = _decode_fields(part, classes, operation, str(key), notes, own)
        return fields
    if isinstance(value, list):
        return [_decode_fields(part, classes, operation, where, notes, kind) for part in value]
    if not isinstance(value, str) or not kind or _takes_text(kind):
        return value
    if _is_nothing(value, kind):
        notes.append(f"{where}: null was read from a text")
        return None
    return _decode_value(value, _type_schema(kind), where, notes)


def _type_schema(kind: str) -> Schema:
    """Return the schema of a type; what only the app knows is written as a text."""
    found = [(part.many, find_type(part.name)) for part in parse_type(kind)]
    parts = [(many, row.schema if row is not None else {"type": "string"}) for many, row in found]
    return {"anyOf": [{"type": "array", "items": part} if many else part for many, part in parts]}


def _schema_parts(schema: Schema) -> Iterator[Schema]:
    yield schema
    for part in schema.get("anyOf", ()):
        yield from _schema_parts(part)


def _decode_value(value: Any, schema: Schema, where: str, notes: list[str]) -> Any:
    """Return a value with the texts in it read where the schema takes no text."""
    parts = [*_schema_parts(schema)]
    kinds = {str(part["type"]) for part in parts if "type" in part}
    if isinstance(value, str) and kinds and "string" not in kinds:
        read = _parse_text(value, kinds)
        if isinstance(read, str) and kinds == {"array"} and read and not set(read) & set(",[]{}"):
            items = [str(part["items"].get("type")) for part in parts if "items" in part]
            read = [read] if items == ["string"] else read
        if isinstance(read, str):
            return value
        notes.append(f"{where}: {_kind_name(read)} was read from a text")
        value = read
    if isinstance(value, list):
        inner: Schema = next((part["items"] for part in parts if "items" in part), {})
        return [_decode_value(part, inner, where, notes) for part in value]
    if isinstance(value, Mapping):
        fields = dict(chain.from_iterable(part.get("properties", {}).items() for part in parts))
        return {key: _decode_value(part, fields.get(key, {}), key, notes)
                for key, part in value.items()}  # fmt: skip
    return value


_JSON_TYPES: Final[Iterable[tuple[type, str, tuple[str, ...]]]] = (
    (bool, "true or false", ("boolean",)),
    (int, "a number", ("integer", "number")),
    (float, "a number", ("number",)),
    (list, "a list", ("array",)),
    (dict, "an object", ("object",)),
    (type(None), "null", ("array", "boolean", "integer", "number", "object")),
)
"""A type of Python, its name in a sentence, and what schemas call it."""


def _kind_name(value: Any) -> str:
    return next(name for kind, name, _ in _JSON_TYPES if isinstance(value, kind))


def _parse_text(value: Any, kinds: Collection[str]) -> Any:
    """Return what a text is in JSON, where that is of one of the `kinds`; else the value itself."""
    if not isinstance(value, str):
        return value
    word = value.strip()
    try:
        read = _CONSTANTS[word.lower()] if word.lower() in _CONSTANTS else json.loads(word)
    except (ValueError, RecursionError):
        return value
    check_bounds({word[:20]: read})
    known = next((names for kind, _, names in _JSON_TYPES if isinstance(read, kind)), ())
    return read if {*known} & {*kinds} else value
