"""Values between Python and the tools: what is sent as they take it, what they answer as typed."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final

from iac_base.words import fold
from iac_runtime.gate.results import RefText
from iac_runtime.objects.base import APPLICATION, Home, Object, Reference, home_of
from iac_runtime.objects.collection import Items
from iac_runtime.objects.conditions import Field
from iac_runtime.objects.rows import Color, Point, Rect
from iac_runtime.types import find_type, parse_type

_TUPLES: Final[Mapping[str, type[Any]]] = {"color": Color, "RGB color": Color, "point": Point}


def sent(value: Any) -> Any:
    """Return a value as the tools take it: an object as its reference, a rectangle by its sides."""
    if isinstance(value, Items) and value._base != value._ref:
        return [str(one) for one in value.get()]
    if isinstance(value, Reference):
        return str(value)
    if isinstance(value, Rect):
        return value._asdict()
    if isinstance(value, Field):
        return value.name
    if isinstance(value, type) and issubclass(value, Object):
        return home_of(value).terms.get(value, value.__name__)
    if isinstance(value, list | tuple | set | frozenset):
        return [sent(part) for part in value]
    if isinstance(value, dict):
        return {key: sent(part) for key, part in value.items()}
    return value


def made(home: Home, value: Any, kind: str) -> Any:
    """Return an answer of the type `kind` (the grammar of `Param.type`) as Python has it."""
    if value is None or isinstance(value, bool | int | float | date):
        return value
    if isinstance(value, RefText):
        return home.object(value)
    kinds = parse_type(kind)
    if isinstance(value, str):
        files = any(one.name != "any" and _reading(one.name) == "file" for one in kinds)
        return Path(value) if files and value.startswith("/") else value
    if isinstance(value, list):
        single = next((_TUPLES[one.name] for one in kinds if one.name in _TUPLES), None)
        if single and len(value) == len(single._fields) and not isinstance(value[0], list | dict):
            return single(*value)
        inner = " | ".join(one.name for one in kinds if one.many) or kind
        return [made(home, part, inner) for part in value]
    if isinstance(value, dict):
        return _record(home, value, [one.name for one in kinds])
    return value


def _reading(name: str) -> str:
    found = find_type(name)
    return found.reading if found is not None else ""


def _record(home: Home, value: dict[str, Any], names: list[str]) -> Any:
    if set(value) == {"x", "y", "width", "height"}:
        return Rect(**value)
    if set(value) == {"x", "y"}:
        return Point(**value)
    rows = [row for name in names if name in home.tables.records
            for row in home.tables.records[name].properties]  # fmt: skip
    kinds = {fold(row.jxa): row.type for row in rows}
    return {
        home.fields.get(key, key): made(home, part, kinds.get(fold(key), "any"))
        for key, part in value.items()
    }


def row(owner: type[Object], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of an object by their Python names; `found` is by the dictionary's."""
    home = home_of(owner)
    names, term = home.python_names(owner), home.terms.get(owner, APPLICATION)
    result = {}
    for label, value in found.items():
        prop = home.tables.find_property(term, label)
        name = names.get(fold(label))
        if name is not None:
            result[name] = made(home, value, prop.type if prop is not None else "any")
    return result
