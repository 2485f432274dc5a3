"""What an app accepts for a property: the type checks of setting and making.

JXA itself checks nothing since 10.11 (release notes); the app refuses, by the numbers of Apple's
error tables.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from iac_runtime.tool import Property
from iac_runtime.tools.tables import Tables
from iac_runtime.types import Reading, find_type
from iac_simulator.encode import enumerators
from iac_simulator.errors import AppError
from iac_simulator.names import alternatives, kin, property_named
from iac_simulator.values import Refer, Undefined

__all__ = ["check_value", "settable"]


def settable(tables: Tables, term: str, name: str) -> Property:
    """Return the property `name` of `term` if it can be set.

    Raises:
        AppError: -10006 there is none, -10003 it is read-only.
    """
    prop = property_named(tables, term, name)
    for sub in kin(tables, term) if prop is None else ():
        prop = prop or property_named(tables, sub, name)
    if prop is None:
        raise AppError(-10006)
    if prop.access == "r":
        raise AppError(-10003)
    return prop


def check_value(tables: Tables, type_: str, value: Any) -> None:
    """Refuse a value that no alternative of `type_` takes.

    Raises:
        AppError: -1700 wrong type, -10023 no such enumerator.
    """
    if isinstance(value, Undefined):
        raise AppError(-1700)
    options = alternatives(type_)
    if any(_takes(tables, term, listed, value) for term, listed in options):
        return
    if isinstance(value, str) and any(enumerators(tables, term) for term, _ in options):
        raise AppError(-10023)
    raise AppError(-1700)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _tagged(tag: str) -> Callable[[Any], bool]:
    return lambda value: value is None or (isinstance(value, dict) and tag in value)


_READINGS: Final[Mapping[Reading, Callable[[Any], bool]]] = {
    "boolean": lambda value: isinstance(value, bool),
    "date": _tagged("date"),
    "integer": _number,
    "number": _number,
    "record": _tagged("record"),
    "text": lambda value: value is None or isinstance(value, str) or _number(value),
}
"""How a type is read -> whether an app takes a value for it; of the others it takes any."""


def _takes(tables: Tables, term: str, listed: bool, value: Any) -> bool:
    if listed:
        return isinstance(value, list) and all(_takes(tables, term, False, v) for v in value)
    rows = enumerators(tables, term)
    if rows:
        return value in [name for name, _ in rows]
    kind = find_type(term)
    if kind is not None and kind.reading in _READINGS:
        return _READINGS[kind.reading](value)
    if term in tables.records:
        return _READINGS["record"](value)
    if term in tables.classes and term not in ("rich text", "color"):
        return value is None or isinstance(value, Refer | list | dict)
    return True
