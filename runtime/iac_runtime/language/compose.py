"""From a tool and its checked arguments to the request, and to the level that it needs.

Which properties of an object are read is told by columns, where some are named and where none are.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from iac_base.errors import InvalidParameterError, ToolError, quote_text
from iac_runtime.language.reader import AppReader
from iac_runtime.language.references import (
    PathKind,
    Reference,
    has_folders,
    insertion_place,
    is_path,
)
from iac_runtime.language.steps import (
    ABSENT,
    Absent,
    AllElements,
    AppendedText,
    Column,
    Event,
    EventOp,
    Order,
    RecordValue,
    Step,
    Term,
    Value,
    Whose,
)
from iac_runtime.language.terms import (
    camel_case,
    class_term,
    columns_of,
    elements_term,
    find_properties,
    has_elements,
    id_classes,
    id_property,
    is_text,
    known_class,
    known_properties,
    loose_name,
    missing_elements_error,
    property_term,
)
from iac_runtime.tool import Level, Op, Param, Property, at_most, highest
from iac_runtime.tools.tables import CONTENTS, Operation, Tables, parameters_of
from iac_runtime.types import HTML_TEXT, parse_type, reading_of

_INTO: Final = frozenset({"of", "at", "to", "folder"})
"""Parameters whose file path is a folder to look or put into, not an item."""

_MAX_TARGETS: Final = 100
"""Objects that one get reads."""

_OWN: Final = frozenset(
    {"at", "cursor", "element", "limit", "of", "offset", "order", "properties", "target", "where"}
)
"""What the object tools take themselves; what else a dictionary declares goes along as it is."""

_FILE_PARAMETERS: Final[Mapping[str, str]] = {
    "rdwrclos": "----",
    "rdwrgeof": "----",
    "rdwrread": "----",
    "rdwrseof": "----",
    "rdwrwrit": "refn",
}
"""Parameters of Standard Additions that are `any` and take a file or its reference number."""

_GROWING: Final = ("text", HTML_TEXT)
"""Types of properties to which text can be added at the end."""

_ALL: Final = "pALL"
"""The code of the property that holds all properties of an object as a record (ASRegistry.h)."""

_LONGEST: Final = 10
"""Digits of a position."""


def compose_request(tool: Operation, arguments: Mapping[str, Any], home: str) -> Event:
    """Return the request for a call; `arguments` are those of the operation (see `bind`).

    Raises:
        InvalidParameterError: A name, a reference or a value is wrong.
    """
    given = {key: value for key, value in arguments.items() if value is not None}
    return _OPERATIONS[tool.spec.op](tool, given, AppReader(tool.tables, home))


def _build_event(tool: Operation, op: EventOp, **more: Any) -> Event:
    """Return a request to the app of a tool, by the tool's own event."""
    app = tool.tables.app
    return Event(app.id, app.kind, op, tool.spec.event, **more)


def _compose_command(tool: Operation, given: Mapping[str, Any], reader: AppReader) -> Event:
    direct: Value | Absent = ABSENT
    named: list[tuple[str, Value]] = []
    for key, row in parameters_of(tool).items():
        if not row.code:
            continue
        value: Value = None
        if key in given:
            last: PathKind = "folder" if row.term in _INTO else "item"
            named_file = _FILE_PARAMETERS.get(tool.spec.event) == row.code and is_path(
                str(given[key])
            )
            kind = "file" if named_file else row.type
            value = reader.read_value(given[key], kind, key, last=last, direct=row.code == "----")
        if row.code == "----":
            direct = value
        elif key in given:
            named.append((_parameter_term(row), value))
    return _build_event(
        tool,
        "command",
        command=tool.spec.jxa,
        direct=direct,
        named=tuple(named),
        id_classes=id_classes(tool.tables) if tool.spec.result else (),
        writes=tool.spec.level != "SAFE",
    )


def _parameter_term(row: Param) -> str:
    return Term(row.jxa or camel_case(row.term), row.code, row.term)


def _extra_parameters(
    tool: Operation, given: Mapping[str, Any], reader: AppReader
) -> tuple[tuple[str, Value], ...]:
    """Return the parameters that the app's own get, set or count declares beyond the usual ones.

    The command of that name takes them, as in `app.get(x, {as: "text"})`.
    """
    rows, named = parameters_of(tool), []
    for key in given:
        if key in _OWN:
            continue
        row = rows.get(key)
        if row is None or len(row.code) != 4 or row.code == "----":
            raise ToolError(
                "NOT_SUPPORTED",
                f'JavaScript for Automation cannot pass "{key}" to {tool.spec.op}.',
                "Leave it out.",
            )
        value = reader.read_value(given[key], row.type, key, last="item")
        named.append((_parameter_term(row), value))
    return tuple(named)


def _compose_get(tool: Operation, given: Mapping[str, Any], reader: AppReader) -> Event:
    target = given.get("target")
    if not isinstance(target, list | tuple):
        return _compose_get_one(tool, given, reader)
    if not target or len(target) > _MAX_TARGETS:
        raise InvalidParameterError(
            f"target has {len(target)} references; one call can read 1 to {_MAX_TARGETS}."
        )
    parts = []
    for number, text in enumerate(target):
        if not isinstance(text, str):
            raise InvalidParameterError(f"target[{number}] must be a reference.")
        parts.append(_compose_get_one(tool, {**given, "target": text}, reader))
    return _build_event(tool, "each", parts=tuple(parts), writes=False)


def _compose_get_one(tool: Operation, given: Mapping[str, Any], reader: AppReader) -> Event:
    tables = tool.tables
    found = reader.read_object(given.get("target"), "item")
    op: EventOp = "get"
    columns: tuple[Column, ...] = ()
    if "properties" in given:
        op, columns = "columns", named_columns(given["properties"], found.classes, tables)
    elif found.classes and not found.selectable and not _holds_text(found, tables):
        op, columns = "properties", all_columns(found.classes[0], tables)
    return _build_event(
        tool,
        op,
        target=found.steps,
        more=_extra_parameters(tool, given, reader),
        columns=columns,
        id_classes=id_classes(tables) if op == "get" else (),
        writes=False,
    )


def _holds_text(found: Reference, tables: Tables) -> bool:
    """Say whether the object is read by its value: text with parts, or a list of objects."""
    if found.prop is not None and any(
        kind.many or reading_of(kind.name) == "text" for kind in parse_type(found.prop.type)
    ):
        return True
    return any(is_text(name, tables) for name in found.classes or ())


def _compose_set(tool: Operation, given: Mapping[str, Any], reader: AppReader) -> Event:
    tables = tool.tables
    found = reader.read_object(given.get("target"), "item")
    values: dict[str, Value] = {}
    for name, value in given.get("properties", {}).items():
        _check_range(name, value, found.classes or (), tables)
        rows = known_properties(found.classes, name, tables)
        if rows and not any("w" in row.access for row in rows):
            raise InvalidParameterError(f'"{rows[0].term}" of {found.text} is read-only.')
        kind = " | ".join(dict.fromkeys(row.type for row in rows)) or "any"
        jxa = property_term(rows[0]) if rows else loose_name(name, tables)
        if jxa in values:
            raise InvalidParameterError(f"{quote_text(name)} is given twice.")
        more_text = isinstance(value, Mapping) and value.keys() == {"append"} and kind in _GROWING
        given_value = value["append"] if more_text else value
        read = reader.read_value(given_value, kind, name, last="item")
        values[jxa] = AppendedText(read) if more_text else read
    if not values:
        raise InvalidParameterError("properties is empty; give the properties to set.")
    more = _extra_parameters(tool, given, reader)
    return _build_event(tool, "set", target=found.steps, named=tuple(values.items()), more=more)


def _resolve_collection(
    given: Mapping[str, Any], reader: AppReader, *, several: bool = False
) -> tuple[tuple[Step, ...], str]:
    """Return the steps to the collection that `element`, `of` and `where` name, and its class.

    With `several`, `of` may name many objects: what each of them holds is meant.
    """
    tables = reader.tables
    term = known_class(given["element"], tables, "element")
    owner = reader.read_object(given.get("of"))
    if owner.selectable and not several:
        raise InvalidParameterError(
            f"of: {owner.text} names several objects.", "Choose one of them, such as with [0]."
        )
    plural = elements_term(term, tables)
    if owner.classes is not None and not has_elements(owner.classes, term, tables):
        raise missing_elements_error(term, owner.classes, tables)
    steps: tuple[Step, ...] = (*owner.steps, AllElements(plural))
    if given.get("where"):
        steps = (*steps, Whose(reader.read_filter(given["where"], (term,))))
    return steps, term


def _compose_count(tool: Operation, given: Mapping[str, Any], reader: AppReader) -> Event:
    steps, _ = _resolve_collection(given, reader)
    more = _extra_parameters(tool, given, reader)
    return _build_event(tool, "count", target=steps, more=more, writes=False)


def _compose_list(tool: Operation, given: Mapping[str, Any], reader: AppReader) -> Event:
    tables = tool.tables
    steps, term = _resolve_collection(given, reader, several=True)
    ident = id_property(term, tables)
    name = tables.find_property(term, "name")
    if "properties" in given:
        columns = named_columns(given["properties"], (term,), tables)
    else:
        columns = default_columns(term, tables)
    offset, limit, after = given.get("offset", 0), given.get("limit"), ""
    if "cursor" in given:
        number, colon, after = given["cursor"].partition(":")
        if not (colon and number.isdecimal() and len(number) < _LONGEST) or offset:
            raise InvalidParameterError(
                f"cursor: {quote_text(given['cursor'])} does not come from an answer, or you also"
                " gave offset.",
                "Start again without the cursor.",
            )
        offset = int(number)
    if offset < 0 or (limit is not None and limit < 0):
        good = {"offset": abs(offset), "limit": limit and abs(limit)}
        give = {key: value for key, value in good.items() if given.get(key)}
        raise InvalidParameterError("limit and offset must be 0 or more.", give=give)
    return _build_event(
        tool,
        "list",
        target=steps,
        more=_extra_parameters(tool, given, reader),
        columns=columns,
        id_column=property_term(ident) if ident else "",
        name_column=property_term(name) if name else "",
        nested=any(row.term == term for row in tables.elements(term)),
        order=_parse_order(given.get("order", ()), term, tables),
        offset=offset,
        limit=limit,
        after=after,
        writes=False,
    )


def _parse_order(names: Any, term: str, tables: Tables) -> tuple[Order, ...]:
    """Return what to sort by: property names, each with `-` before it for descending."""
    found: list[Order] = []
    for name in [names] if isinstance(names, str) else names:
        exact = any(name in (row.term, row.jxa) for row in tables.properties(term))
        descending = name.startswith("-") and not exact
        plain = name.removeprefix("-").strip() if descending else name
        (column,) = named_columns(plain, (term,), tables)
        found.append(Order(column.jxa, descending))
    return tuple(found)


def _compose_make(tool: Operation, given: Mapping[str, Any], reader: AppReader) -> Event:
    tables = tool.tables
    rows = parameters_of(tool)
    term = known_class(given["element"], tables, "element")
    named: list[tuple[str, Value]] = []
    for key, row in rows.items():
        if key not in given or not row.code:
            continue
        value: Value
        if key == "element":
            value = class_term(term, tables)
        elif key == "at":
            value = _insertion_location(given[key], reader)
        elif key == "properties":
            value = _new_properties(given[key], term, reader)
        else:
            value = reader.read_value(given[key], row.type, key)
        named.append((_parameter_term(row), value))
    return _build_event(
        tool,
        "command",
        command="make",
        named=tuple(named),
        id_classes=id_classes(tables),
    )


def _insertion_location(text: str, reader: AppReader) -> Value:
    if is_path(text) and not has_folders(reader.tables):
        return reader.read_value(text, "file", "at")
    return insertion_place(reader.read_object(text)).value


def _check_range(name: str, value: Any, classes: Sequence[str], tables: Tables) -> None:
    """Refuse a number that a property of these classes cannot be.

    Raises:
        InvalidParameterError: It is below the least or above the most.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    for owner in classes:
        row = tables.find_property(owner, name)
        limits = tables.value_range(owner, row.term) if row is not None else None
        if limits is not None and not limits[0] <= value <= limits[1]:
            message = f"{name}: {value:g} is not from {limits[0]:g} to {limits[1]:g}."
            raise InvalidParameterError(message, f"Decide what {name} is to be, and call again.")


def _new_properties(given: Any, term: str, reader: AppReader) -> RecordValue:
    if not isinstance(given, Mapping):
        raise InvalidParameterError("properties must be an object.")
    for name, value in given.items():
        _check_range(name, value, (term,), reader.tables)
    return reader.read_record(given, lambda name: known_properties((term,), name, reader.tables)[0])


_OPERATIONS: Final[Mapping[Op, Callable[[Operation, Mapping[str, Any], AppReader], Event]]] = {
    "command": _compose_command,
    "get": _compose_get,
    "set": _compose_set,
    "list": _compose_list,
    "count": _compose_count,
    "make": _compose_make,
}


def effective_level(tool: Operation, arguments: Mapping[str, Any], home: str) -> Level:
    """Return the level of a call; `arguments` are those of the operation and are valid.

    For `set` the highest of the named properties on the target's class, for `make` of the class
    and its properties, for copying the same of what is copied, for deleting of the target's
    class. What the tables do not know needs the tool's ceiling. The answer lies between the
    tool's level and its ceiling.
    """
    spec, tables = tool.spec, tool.tables
    wanted: Level = spec.level
    if spec.level == spec.ceiling:
        return wanted
    reader = AppReader(tables, home)
    if spec.op == "set":
        found = reader.read_object(arguments.get("target"), "item")
        wanted = _setting_level(found.classes, arguments.get("properties"), tables, spec.ceiling)
    elif spec.op == "make":
        term = tables.find_class(str(arguments.get("element")))
        if term is None:
            wanted = spec.ceiling
        else:
            given = _setting_level(
                (term,), arguments.get("properties"), tables, spec.ceiling, making=True
            )
            wanted = highest((tables.classes[term].make, given))
    elif spec.event == "coredelo" and isinstance(arguments.get("target"), str):
        classes = reader.read_object(arguments["target"], "item").classes
        wanted = (
            highest(tables.classes[term].delete for term in classes) if classes else spec.ceiling
        )
    elif spec.event == "coreclon":
        wanted = _copying_level(tool, arguments, reader)
    if not at_most(wanted, spec.ceiling):
        wanted = spec.ceiling
    return highest((wanted, spec.level))


def _copying_level(tool: Operation, arguments: Mapping[str, Any], reader: AppReader) -> Level:
    """Return the level of making what is copied, with the properties that the copy is given."""
    tables, ceiling = tool.tables, tool.spec.ceiling
    by_code = {row.code: arguments.get(key) for key, row in parameters_of(tool).items()}
    direct, given = by_code.get("----"), by_code.get("prdt")
    levels: list[Level] = [tool.spec.level]
    for text in direct if isinstance(direct, list | tuple) else [direct]:
        classes = reader.read_object(text, "item").classes if isinstance(text, str) else None
        if not classes:
            return ceiling
        levels.extend(tables.classes[term].make for term in classes if term in tables.classes)
        levels.append(_setting_level(classes, given, tables, ceiling, making=True))
    return highest(levels)


def _setting_level(
    classes: tuple[str, ...] | None,
    given: Any,
    tables: Tables,
    unknown: Level,
    *,
    making: bool = False,
) -> Level:
    if not given:
        return "SAFE"
    levels: list[Level] = []
    for name, value in given.items():
        for row in find_properties(classes, name, tables) or (None,):
            if row is None:
                levels.append(unknown)
            elif row.code == _ALL:
                # It sets what its record names, so it weighs what those weigh.
                inner = value if isinstance(value, Mapping) else {"": value}
                levels.append(_setting_level(classes, inner, tables, unknown, making=making))
            elif making and row.code in CONTENTS and row.level == "DANGEROUS":
                levels.append("MODIFY")
            else:
                levels.append(row.level)
    return highest(levels)


_MAX_COLUMNS: Final = 80
_USUAL: Final = 5
"""Columns of a list that nobody chose, at most."""

_TEXTS: Final = 2
"""Plain values that stand for an object without a name."""

_PLAIN: Final = frozenset({"text", "rich text", "date", "integer", "number", "real", "boolean"})


def named_columns(
    names: Any, classes: tuple[str, ...] | None, tables: Tables
) -> tuple[Column, ...]:
    """Return what to read for the properties of these names, each once.

    Raises:
        InvalidParameterError: An object of `classes` has no such property, or it cannot be read.
    """
    found: dict[str, Column] = {}
    for name in [names] if isinstance(names, str) else names:
        rows = known_properties(classes, name, tables)
        column = (
            Column(rows[0].term, property_term(rows[0]))
            if rows
            else Column(name, loose_name(name, tables))
        )
        if rows and not any("r" in row.access for row in rows):
            raise InvalidParameterError(f'"{rows[0].term}" can be set, but not read.')
        found[column.label] = column
    return tuple(found.values())


def all_columns(term: str, tables: Tables) -> tuple[Column, ...]:
    """Return every property of a class that can be read, up to a limit."""
    rows = [row for row in tables.properties(term) if "r" in row.access]
    return columns_of(rows[:_MAX_COLUMNS])


@lru_cache(maxsize=1)
def _load_column_table() -> dict[str, Any]:
    """Return what lists show (JSON, for the first list of a process reads it)."""
    table: dict[str, Any] = json.loads(Path(__file__).with_name("columns.json").read_bytes())
    return table


@lru_cache(maxsize=4096)
def default_columns(term: str, tables: Tables) -> tuple[Column, ...]:
    """Return what a person would look at of each item: title, who, when, state, size.

    By the row of the class or of one that it inherits from, else by the names of its properties.
    Of text, the text; of what has nothing of that kind, a few plain values, its id at last.
    """
    if is_text(term, tables):
        return (Column("text", ""),)
    rows = {row.term: row for row in tables.properties(term) if "r" in row.access}
    chosen = [
        rows[name] for name in _preferred_names(term, tables) if name in rows
    ] or _columns_by_rule(rows, tables)
    if not chosen:
        ident = id_property(term, tables)
        plain = (row for row in rows.values() if row.type in _PLAIN and row != ident)
        chosen = [*plain][:_TEXTS] or ([ident] if ident is not None else [])
    return columns_of(chosen)


def _preferred_names(term: str, tables: Tables) -> list[str]:
    rows: dict[str, list[str]] = _load_column_table()["rows"].get(tables.key, {})
    return next((rows[name] for name, _ in tables.lineage(term) if name in rows), [])


def _columns_by_rule(rows: dict[str, Property], tables: Tables) -> list[Property]:
    """Return a property a slot: of exactly that name, else of a name that ends in it."""
    named = {term.casefold(): row for term, row in rows.items()}
    shown = {
        key: row for key, row in named.items() if row.type in _PLAIN or row.type in tables.enums
    }
    found: list[Property] = []
    for at, slot in enumerate(_load_column_table()["slots"]):
        words = [word.casefold() for word in slot]
        exact = [shown[word] for word in words if word in shown]
        # `task name` is a title; `font size` is not the size.
        ending = [
            row for word in words for key, row in shown.items() if key.endswith(f" {word}")
        ] if at == 0 else []  # fmt: skip
        found += [row for row in (*exact, *ending) if row not in found][:1]
    return found[:_USUAL]
