"""Values and their types: what an app accepts, and how an event carries it.

JXA itself checks nothing since 10.11 (release notes); the app refuses, by the numbers of Apple's
error tables.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from iac_base.words import fold_name
from iac_runtime.tool import Enum, Property
from iac_runtime.tools.tables import Tables
from iac_runtime.types import Reading, find_type, parse_type
from iac_simulator.errors import EventRefusedError
from iac_simulator.names import property_named, property_of_kin
from iac_simulator.values import AppReference, Undefined, UnmadeObject, format_chain, record_fields

_STANDARD_ENUMS: Final[Mapping[str, Enum]] = {
    "save options": (("yes", "yes "), ("no", "no  "), ("ask", "ask ")),
}
_TYPES: Final = ("type", "type class", "class")


def enumeration_rows(tables: Tables, term: str) -> Enum:
    """Return the rows of the enumeration `term`; empty for what is none."""
    return tables.enums.get(term) or _STANDARD_ENUMS.get(term, ())


def encode_value(tables: Tables, value: Any, type_: str) -> Any:
    """Return `value` for a parameter of `type_` in the log's notation.

    Raises:
        EventRefusedError: -1700: undefined, or an object that exists in the script only.
    """
    if isinstance(value, Undefined):
        raise EventRefusedError(-1700)
    if isinstance(value, list):
        return [encode_value(tables, item, type_) for item in value]
    if isinstance(value, AppReference):
        return {"ref": format_chain(value.chain)}
    if isinstance(value, str):
        return _encode_word(tables, value, type_)
    record = record_fields(value)
    if record is None:
        return value
    known = (tables.records[term] for term, _ in parse_type(type_) if term in tables.records)
    rows = {row.jxa: row for found in reversed(list(known)) for row in reversed(found.properties)}
    return {"record": _encode_record(tables, record, rows.get)}


def _encode_word(tables: Tables, value: str, type_: str) -> Any:
    for term, _ in parse_type(type_):
        for name, code in enumeration_rows(tables, term):
            if name == value or fold_name(name) == fold_name(value) != "":
                return {"enum": code}
        if term in _TYPES:
            cls = tables.find_class(value)
            if cls is not None:
                return {"type": tables.classes[cls].code}
    return value


def _encode_record(
    tables: Tables, record: Mapping[str, Any], find: Callable[[str], Property | None]
) -> dict[str, Any]:
    """Return the fields of a record by the codes of their rows; by their names without one."""
    rows = {key: find(key) for key in record}
    return {
        row.code if row else key: encode_value(tables, record[key], row.type if row else "any")
        for key, row in rows.items()
    }


def encode_properties(
    tables: Tables, term: str | None, record: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the properties of a new `term` as a record of the log, by property codes."""
    named = partial(property_named, tables)
    record = {key: _describe_new_objects(tables, value) for key, value in record.items()}
    return {
        "record": _encode_record(
            tables, record, lambda name: named(term, name) or named(None, name)
        )
    }


def _describe_new_objects(tables: Tables, value: Any) -> Any:
    """Return what a new object is told of objects that go into it: records with their class."""
    if isinstance(value, list):
        return [_describe_new_objects(tables, item) for item in value]
    if not isinstance(value, UnmadeObject):
        return value
    row = tables.classes.get(value.term)
    return {"record": {"class": row.jxa if row else value.term, **value.properties}}


def encode_direct(tables: Tables, value: Any, type_: str) -> Any:
    """Return a direct parameter: there a reference is plain text, and text is marked."""
    if isinstance(value, AppReference):
        return format_chain(value.chain)
    shown = encode_value(tables, value, type_)
    return {"text": shown} if isinstance(shown, str) else shown


def settable_property(tables: Tables, term: str, name: str) -> Property:
    """Return the property `name` of `term` if it can be set.

    Raises:
        EventRefusedError: -10006 there is none, -10003 it is read-only.
    """
    prop = property_of_kin(tables, term, name)
    if prop is None:
        raise EventRefusedError(-10006)
    if prop.access == "r":
        raise EventRefusedError(-10003)
    return prop


def check_value(tables: Tables, type_: str, value: Any) -> None:
    """Refuse a value that no alternative of `type_` takes.

    Raises:
        EventRefusedError: -1700 wrong type, -10023 no such enumerator.
    """
    if isinstance(value, Undefined):
        raise EventRefusedError(-1700)
    options = parse_type(type_)
    if any(_matches_type(tables, term, listed, value) for term, listed in options):
        return
    if isinstance(value, str) and any(enumeration_rows(tables, term) for term, _ in options):
        raise EventRefusedError(-10023)
    raise EventRefusedError(-1700)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_READINGS: Final[Mapping[Reading, Callable[[Any], bool]]] = {
    "boolean": lambda value: isinstance(value, bool),
    "date": lambda value: value is None or (isinstance(value, dict) and "date" in value),
    "integer": _is_number,
    "number": _is_number,
    "record": lambda value: value is None or record_fields(value) is not None,
    "text": lambda value: value is None or isinstance(value, str) or _is_number(value),
}
"""How a type is read -> whether an app takes a value for it; of the others it takes any."""


def _matches_type(tables: Tables, term: str, listed: bool, value: Any) -> bool:
    if listed:
        return isinstance(value, list) and all(_matches_type(tables, term, False, v) for v in value)
    rows = enumeration_rows(tables, term)
    if rows:
        return value in [name for name, _ in rows]
    kind = find_type(term)
    if kind is not None and kind.reading in _READINGS:
        return _READINGS[kind.reading](value)
    if term in tables.records:
        return _READINGS["record"](value)
    if term in tables.classes and term not in ("rich text", "color"):
        return value is None or isinstance(value, AppReference | list | dict)
    return True
