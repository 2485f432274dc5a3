"""Reading filters: the JSON of `where` and the object of JXA's `whose` are one language.

`{"read status": false}`, `{"subject": {"contains": "x"}}`, `{"or": [{…}, {…}]}`; several keys mean
and. JXA's spellings (`_contains`, `_and`, `_match`) are taken too. JXA has no `_notEquals`, so
`!=` becomes `_not`; its `_and` and `_or` want two tests, so one alone stands for itself
(JXA release notes 10.10, "Filtering arrays").
"""

from collections.abc import Mapping
from typing import Any, Final

from iac_runtime.errors import InvalidParameterError, near_text, quoted
from iac_runtime.language.references import find_properties, loose_name, unknown_name
from iac_runtime.language.steps import Compare, DateValue, Filter, Join, Operator
from iac_runtime.language.syntax import Chain
from iac_runtime.language.typespec import object_classes
from iac_runtime.language.values import marshal
from iac_runtime.tables import Tables, fold

__all__ = ["read_filter"]

_OPERATORS: Final[Mapping[str, Operator]] = {
    "=": "=",
    "==": "=",
    "equals": "=",
    "is": "=",
    ">": ">",
    "greaterthan": ">",
    "after": ">",
    ">=": ">=",
    "greaterthanequals": ">=",
    "<": "<",
    "lessthan": "<",
    "before": "<",
    "<=": "<=",
    "lessthanequals": "<=",
    "contains": "_contains",
    "beginswith": "_beginsWith",
    "startswith": "_beginsWith",
    "endswith": "_endsWith",
}
_UNEQUAL: Final = ("!=", "<>", "notequals", "isnot")
_KNOWN: Final = ("=", "!=", ">", ">=", "<", "<=", "contains", "begins with", "ends with")
_JOINS: Final = ("and", "or", "not")
MAX_DEPTH: Final = 16


def read_filter(
    raw: Any, classes: tuple[str, ...] | None, tables: Tables, home: str = "", depth: int = 0
) -> Filter:
    """Return the filter that `raw` describes, over objects of `classes` (None: not known).

    Raises:
        InvalidParameterError: A name, an operator or a value is wrong; the nearest names are given.
    """
    if not isinstance(raw, Mapping) or not raw:
        raise InvalidParameterError(
            f"A filter is an object with at least one property, not {quoted(str(raw))}.",
            'For example {"name": "x"} or {"name": {"contains": "x"}}.',
        )
    if depth > MAX_DEPTH:
        raise InvalidParameterError(f"The filter is nested deeper than {MAX_DEPTH} levels.")
    tests: list[Filter] = []
    for key, value in raw.items():
        word = fold(str(key))
        if word in _JOINS and isinstance(value, list | tuple | Mapping):
            parts = [value] if isinstance(value, Mapping) else list(value)
            inner = tuple(read_filter(part, classes, tables, home, depth + 1) for part in parts)
            tests.append(_join(word, inner))
        elif str(key) == "_match":
            tests.append(_match(value, classes, tables, home))
        else:
            tests.append(_tests((str(key),), value, classes, tables, home))
    return _join("and", tuple(tests))


def _join(word: str, tests: tuple[Filter, ...]) -> Filter:
    if not tests:
        raise InvalidParameterError(f'"{word}" in a filter holds no test.')
    if word == "not":
        return Join("not", tests)
    if len(tests) == 1:
        return tests[0]
    return Join("and" if word == "and" else "or", tests)


def _match(value: Any, classes: tuple[str, ...] | None, tables: Tables, home: str) -> Filter:
    if (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], Chain)
        and value[0].names
    ):
        return _tests(value[0].names, value[1], classes, tables, home)
    raise InvalidParameterError("_match wants [ObjectSpecifier().property, value].")


def _tests(
    names: tuple[str, ...], value: Any, classes: tuple[str, ...] | None, tables: Tables, home: str
) -> Filter:
    path, types = _path(names, classes, tables)
    if isinstance(value, Mapping) and value and not ("x" in value and "y" in value):
        return _join(
            "and",
            tuple(_compare(path, str(op), item, types, tables, home) for op, item in value.items()),
        )
    return _compare(path, "=", value, types, tables, home)


def _path(
    names: tuple[str, ...], classes: tuple[str, ...] | None, tables: Tables
) -> tuple[tuple[str, ...], str]:
    """Return the JXA names of a path of properties, and the type at its end."""
    path: list[str] = []
    kind = "any"
    for name in names:
        found = find_properties(classes, name, tables)
        if not found and classes is not None:
            raise unknown_name(name, classes, tables, what="property")
        path.append(found[0].jxa if found else loose_name(name, tables))
        kind = " | ".join(dict.fromkeys(prop.type for prop in found)) or "any"
        classes = object_classes(kind, tables) if found else None
    return tuple(path), kind


def _compare(
    path: tuple[str, ...], word: str, value: Any, kind: str, tables: Tables, home: str
) -> Filter:
    key = word if not fold(word) else fold(word)
    if key in _UNEQUAL:
        return Join("not", (_compare(path, "=", value, kind, tables, home),))
    operator = _OPERATORS.get(key)
    if operator is None:
        raise InvalidParameterError(
            f"{quoted(word)} is no comparison in a filter.", near_text(word, _KNOWN)
        )
    if isinstance(value, DateValue):
        return Compare(path, operator, value)
    if operator in ("_contains", "_beginsWith", "_endsWith"):
        kind = "any" if not isinstance(value, str) else "text"
    return Compare(path, operator, marshal(value, kind, tables, home, where=path[-1]))
