"""From a tool and its checked arguments to the request: one function per operation."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from iac_runtime.binding import Tool, parameters
from iac_runtime.errors import InvalidParameterError, ToolError, near_text, quoted
from iac_runtime.language.filters import read_filter
from iac_runtime.language.paths import folder_reference, full_path, has_folders, is_path
from iac_runtime.language.references import (
    Reference,
    camel,
    contains,
    find_properties,
    loose_name,
    parse_reference,
    unknown_name,
)
from iac_runtime.language.steps import Every, RecordValue, Step, Value, Whose
from iac_runtime.language.typespec import parse_type
from iac_runtime.language.values import insertion, marshal, read_record
from iac_runtime.request import ABSENT, Absent, Column, Event, EventOp
from iac_runtime.tables import Tables
from iac_runtime.tool import Op, Param, Property

__all__ = ["class_term", "compose", "place"]

_INTO: Final = frozenset({"of", "at", "to", "folder"})
"""Parameters whose file path is a folder to look or put into, not an item."""

_MAX_COLUMNS: Final = 80

_ID_CODE: Final = "ID  "

_TEXT_CODES: Final = frozenset({"ctxt", "cpar", "cwor", "cha ", "catr"})
"""Classes of the Text Suite: what an app answers for such an object is its text."""


def compose(tool: Tool, arguments: Mapping[str, Any], home: str) -> Event:
    """Return the request for a call; `arguments` are those of the operation (see `bind`).

    Raises:
        InvalidParameterError: A name, a reference or a value is wrong.
    """
    given = {key: value for key, value in arguments.items() if value is not None}
    return _OPERATIONS[tool.spec.op](tool, given, home)


def place(text: str | None, tables: Tables, home: str, *, item: bool = False) -> Reference:
    """Return the object that a reference, or where files are objects a path, names."""
    if text and is_path(text) and has_folders(tables):
        steps = folder_reference(full_path(text, home), home, tables, item=item)
        classes = ("item",) if item and "item" in tables.classes else ("folder",)
        return Reference(steps, classes)
    return parse_reference(text or "", tables)


def class_term(name: str, tables: Tables) -> str:
    """Return the term of the class called `name`.

    Raises:
        InvalidParameterError: The app has no such class.
    """
    found = tables.find_class(name)
    if found is None:
        raise InvalidParameterError(
            f"element: {tables.app.name} has no class {quoted(name)}.",
            near_text(name, list(tables.classes)),
        )
    return found


def _event(tool: Tool, op: EventOp, **more: Any) -> Event:
    app = tool.tables.app
    return Event(app.id, app.kind, op, tool.spec.event, **more)


def _id_classes(tables: Tables) -> tuple[tuple[str, str], ...]:
    """Return the classes whose objects have an id, and its property, by JXA name."""
    found = ((row.jxa, _id_property(term, tables)) for term, row in tables.classes.items())
    return tuple((name, ident.jxa) for name, ident in found if ident is not None)


def _command(tool: Tool, given: Mapping[str, Any], home: str) -> Event:
    direct: Value | Absent = ABSENT
    named: list[tuple[str, Value]] = []
    tables = tool.tables
    for key, row in parameters(tool).items():
        if not row.code:
            continue
        value: Value = None
        if key in given:
            into = row.term in _INTO
            value = marshal(
                given[key],
                row.type,
                tables,
                home,
                where=key,
                item=not into,
                direct=row.code == "----",
            )
        if row.code == "----":
            direct = value
        elif key in given:
            named.append((_jxa(row), value))
    return _event(
        tool,
        "command",
        command=tool.spec.jxa,
        direct=direct,
        named=tuple(named),
        id_classes=_id_classes(tables) if tool.spec.result else (),
        writes=tool.spec.level != "SAFE",
    )


def _jxa(row: Param) -> str:
    return row.jxa or camel(row.term)


def _only(tool: Tool, given: Mapping[str, Any], keys: frozenset[str]) -> None:
    for key in given:
        if key not in keys:
            raise ToolError(
                "NOT_SUPPORTED",
                f'JavaScript for Automation has no way to pass "{key}" to {tool.spec.op}.',
                "Leave it out.",
            )


def _get(tool: Tool, given: Mapping[str, Any], home: str) -> Event:
    _only(tool, given, frozenset({"target", "properties"}))
    tables = tool.tables
    found = place(given.get("target"), tables, home, item=True)
    if "properties" in given:
        columns = _columns(given["properties"], found.classes, tables)
        return _event(tool, "columns", target=found.steps, columns=columns, writes=False)
    if found.classes and not found.selectable and not _holds_text(found, tables):
        return _event(
            tool,
            "properties",
            target=found.steps,
            columns=_all_columns(found.classes[0], tables),
            writes=False,
        )
    return _event(tool, "get", target=found.steps, id_classes=_id_classes(tables), writes=False)


def _holds_text(found: Reference, tables: Tables) -> bool:
    """Say whether the object is read by its value: text with parts, or a list of objects."""
    if found.prop is not None and any(
        kind.many or kind.name == "text" for kind in parse_type(found.prop.type)
    ):
        return True
    return any(_is_text(name, tables) for name in found.classes or ())


def _is_text(term: str, tables: Tables) -> bool:
    return any(row.code in _TEXT_CODES for _, row in tables.lineage(term))


def _id_property(term: str, tables: Tables) -> Property | None:
    """Return the property that holds the id of an object; Calendar calls it `uid`."""
    named = tables.find_property(term, "id")
    if named is not None:
        return named
    return next((row for row in tables.properties(term) if row.code == _ID_CODE), None)


def _columns(names: Any, classes: tuple[str, ...] | None, tables: Tables) -> tuple[Column, ...]:
    columns: dict[str, Column] = {}
    for name in [names] if isinstance(names, str) else names:
        rows = find_properties(classes, name, tables)
        if not rows and classes is not None:
            raise unknown_name(name, classes, tables, what="property")
        column = (
            Column(rows[0].term, rows[0].jxa) if rows else Column(name, loose_name(name, tables))
        )
        if rows and not any("r" in row.access for row in rows):
            raise InvalidParameterError(f'"{rows[0].term}" can be set but not read.')
        columns[column.label] = column
    return tuple(columns.values())


def _all_columns(term: str, tables: Tables) -> tuple[Column, ...]:
    rows = [row for row in tables.properties(term) if "r" in row.access]
    return tuple(Column(row.term, row.jxa) for row in rows[:_MAX_COLUMNS])


def _set(tool: Tool, given: Mapping[str, Any], home: str) -> Event:
    _only(tool, given, frozenset({"target", "properties"}))
    tables = tool.tables
    found = place(given.get("target"), tables, home, item=True)
    values: list[tuple[str, Value]] = []
    for name, value in given.get("properties", {}).items():
        rows = find_properties(found.classes, name, tables)
        if not rows and found.classes is not None:
            raise unknown_name(name, found.classes, tables, what="property")
        if rows and not any("w" in row.access for row in rows):
            raise InvalidParameterError(f'"{rows[0].term}" of {found.text} is read-only.')
        kind = " | ".join(dict.fromkeys(row.type for row in rows)) or "any"
        jxa = rows[0].jxa if rows else loose_name(name, tables)
        values.append((jxa, marshal(value, kind, tables, home, where=name, item=True)))
    if not values:
        raise InvalidParameterError("properties names nothing to set.")
    return _event(tool, "set", target=found.steps, named=tuple(values))


def _collection(
    given: Mapping[str, Any], tables: Tables, home: str
) -> tuple[tuple[Step, ...], str]:
    """Return the steps to the collection that `element`, `of` and `where` name, and its class."""
    term = class_term(given["element"], tables)
    owner = place(given.get("of"), tables, home)
    if owner.selectable:
        raise InvalidParameterError(
            f"of: {owner.text} names several objects.", "Pick one, as in [0]."
        )
    plural = tables.classes[term].plural
    if owner.classes is not None and not contains(owner.classes, term, tables):
        raise unknown_name(plural, owner.classes, tables, what="element")
    steps: tuple[Step, ...] = (*owner.steps, Every(plural))
    if given.get("where"):
        steps = (*steps, Whose(read_filter(given["where"], (term,), tables, home)))
    return steps, term


def _count(tool: Tool, given: Mapping[str, Any], home: str) -> Event:
    _only(tool, given, frozenset({"element", "of", "where"}))
    steps, _ = _collection(given, tool.tables, home)
    return _event(tool, "count", target=steps, writes=False)


def _list(tool: Tool, given: Mapping[str, Any], home: str) -> Event:
    _only(tool, given, frozenset({"element", "of", "where", "properties", "limit", "offset"}))
    tables = tool.tables
    steps, term = _collection(given, tables, home)
    ident = _id_property(term, tables)
    name = tables.find_property(term, "name")
    if "properties" in given:
        columns = _columns(given["properties"], (term,), tables)
    else:
        columns = _usual_columns(term, tables)
    offset, limit = given.get("offset", 0), given.get("limit")
    if offset < 0 or (limit is not None and limit < 0):
        raise InvalidParameterError("limit and offset count from 0.")
    return _event(
        tool,
        "list",
        target=steps,
        columns=columns,
        id_column=ident.jxa if ident else "",
        name_column=name.jxa if name else "",
        offset=offset,
        limit=limit,
        writes=False,
    )


def _usual_columns(term: str, tables: Tables) -> tuple[Column, ...]:
    """Return what to read of each item where nothing is asked for: name and id.

    Of text, the text. Where there is no name, a few plain values (a message's subject) tell the
    items apart.
    """
    if _is_text(term, tables):
        return (Column("text", ""),)
    name, ident = tables.find_property(term, "name"), _id_property(term, tables)
    named = [row for row in (name, ident) if row is not None]
    if name is None:
        plain = [
            row
            for row in tables.properties(term)
            if row.type in ("text", "date", "integer") and "r" in row.access and row not in named
        ]
        named += plain[:3]
    return tuple(Column(row.term, row.jxa) for row in named)


def _make(tool: Tool, given: Mapping[str, Any], home: str) -> Event:
    tables = tool.tables
    rows = parameters(tool)
    _only(tool, given, frozenset(rows))
    term = class_term(given["element"], tables)
    named: list[tuple[str, Value]] = []
    for key, row in rows.items():
        if key not in given or not row.code:
            continue
        value: Value
        if key == "element":
            value = tables.classes[term].jxa
        elif key == "at":
            value = _at(given[key], tables, home)
        elif key == "properties":
            value = _new_properties(given[key], term, tables, home)
        else:
            value = marshal(given[key], row.type, tables, home, where=key)
        named.append((_jxa(row), value))
    return _event(
        tool,
        "command",
        command="make",
        named=tuple(named),
        id_classes=_id_classes(tables),
    )


def _at(text: str, tables: Tables, home: str) -> Value:
    if is_path(text) and not has_folders(tables):
        return marshal(text, "file", tables, home, where="at")
    return insertion(place(text, tables, home)).value


def _new_properties(given: Any, term: str, tables: Tables, home: str) -> RecordValue:
    def find(name: str) -> Property:
        rows = find_properties((term,), name, tables)
        if not rows:
            raise unknown_name(name, (term,), tables, what="property")
        return rows[0]

    if not isinstance(given, Mapping):
        raise InvalidParameterError("properties wants an object.")
    return read_record(given, find, tables, home)


_OPERATIONS: Final[Mapping[Op, Callable[[Tool, Mapping[str, Any], str], Event]]] = {
    "command": _command,
    "get": _get,
    "set": _set,
    "list": _list,
    "count": _count,
    "make": _make,
}
