"""Is a world what its dictionary says? One clear line for the first thing that is not."""

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from iac_runtime.tools.tables import APPLICATION, Tables
from iac_simulator.chains import parse
from iac_simulator.errors import StateError
from iac_simulator.names import (
    STANDARD_PROPERTIES,
    class_of_type,
    element_class,
    kin,
    names_of,
    property_named,
)
from iac_simulator.values import instant, is_mark

__all__ = ["check_world"]

_OF_WORLD: Final = frozenset({"@results", "@errors", "@running", "@dictionary", "@name", "@next"})
_OF_OBJECT: Final = frozenset({"@class", "@text"})
_ANYWHERE: Final = frozenset({"id", "name", "properties"})


def check_world(tables: Tables, world: Any) -> None:
    """Compare the world of an app with its class table.

    Raises:
        StateError: A key that is no term, a value of the wrong shape, a reference that cannot be
            read. The text names the app, the place, the key and the nearest known names.
    """
    if not isinstance(world, dict):
        raise StateError(f"{tables.key}: the world of an app must be a table.")
    for key in world:
        if key.startswith("@") and key not in _OF_WORLD | _OF_OBJECT:
            raise _unknown(tables.key, "", key, "no key of a world", sorted(_OF_WORLD))
    for key in ("@results", "@errors"):
        if not isinstance(world.get(key, {}), dict):
            raise StateError(f"{tables.key}: {key} must be a table of event codes.")
    if not tables.classes:
        return
    terms = {key: value for key, value in world.items() if key not in _OF_WORLD}
    _object(tables, APPLICATION, terms, "")


def _object(tables: Tables, term: str | None, data: Mapping[str, Any], place: str) -> None:
    named = data.get("@class")
    if named is not None:
        found = tables.find_class(named) if isinstance(named, str) else None
        if found is None:
            raise _unknown(tables.key, place, str(named), "no class", sorted(tables.classes))
        term = found
    for key, value in data.items():
        here = f"{place}.{_shown(key)}" if place else _shown(key)
        if key.startswith("@"):
            if key not in _OF_OBJECT:
                raise _unknown(tables.key, place, key, "no key of an object", sorted(_OF_OBJECT))
            continue
        rows = list(_lineage(tables, term))
        prop = next(filter(None, (property_named(tables, row, key) for row in rows)), None)
        listed = None if prop else _listed(tables, rows, key)
        if listed is not None:
            _elements(tables, listed, value, here)
        elif prop is not None:
            _value(tables, class_of_type(tables, prop.type), value, here)
        elif key not in _ANYWHERE and not (term == APPLICATION and key in STANDARD_PROPERTIES):
            owner = term or "object"
            known = sorted({name for row in rows if row for name in names_of(tables, row)})
            raise _unknown(tables.key, place, key, f"no property or element of {owner}", known)


def _lineage(tables: Tables, term: str | None) -> Iterator[str | None]:
    """What may describe an object of `term`: its class and its subclasses, or the dictionary."""
    yield from kin(tables, term) if term in tables.classes and term is not None else [None]


def _listed(tables: Tables, rows: list[str | None], key: str) -> str | None:
    found = next(filter(None, (element_class(tables, row, key) for row in rows)), None)
    # Scopes are not checked since 10.11: a collection of another class is a collection.
    return found or element_class(tables, None, key)


def _elements(tables: Tables, term: str, value: Any, place: str) -> None:
    if not isinstance(value, list):
        raise StateError(f"{tables.key}: {place}: a collection must be a list of objects.")
    for index, item in enumerate(value):
        here = f"{place}[{index}]"
        if not isinstance(item, dict) or is_mark(item):
            raise StateError(f"{tables.key}: {here}: an element must be an object.")
        _object(tables, term, item, here)


def _value(tables: Tables, term: str | None, value: Any, place: str) -> None:
    if isinstance(value, list):
        for index, item in enumerate(value):
            _value(tables, term, item, f"{place}[{index}]")
    elif is_mark(value):
        _mark(tables, value, place)
    elif isinstance(value, dict):
        _object(tables, term, value, place)


def _mark(tables: Tables, value: Mapping[str, Any], place: str) -> None:
    mark, content = next(iter(value.items()))
    if mark == "record":
        if not isinstance(content, dict):
            raise StateError(f"{tables.key}: {place}: a record must be a table.")
        return
    if not isinstance(content, str):
        raise StateError(f"{tables.key}: {place}: a {mark} must be text.")
    try:
        if mark == "date":
            instant(content)
        elif mark == "ref":
            parse(content)
    except StateError as error:
        raise StateError(f"{tables.key}: {place}: {error}") from None
    except ValueError:
        raise StateError(
            f"{tables.key}: {place}: {content!r} is no date; write 2026-01-31T09:00:00Z."
        ) from None


def _shown(key: str) -> str:
    return key if key.isidentifier() else json.dumps(key)


def _unknown(app: str, place: str, key: str, what: str, known: list[str]) -> StateError:
    near = difflib.get_close_matches(key, known, 3, 0.5)
    quoted = json.dumps(key, ensure_ascii=False)
    text = f"{app}: {place + ': ' if place else ''}{quoted} is {what}."
    return StateError(text + (f" Nearest: {', '.join(near)}." if near else ""))
