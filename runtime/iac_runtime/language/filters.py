"""Reading filters: the JSON of `where` and the object of JXA's `whose` are one language.

`{"read status": false}`, `{"subject": {"contains": "x"}}`, `{"or": [{…}, {…}]}`; several keys mean
and. A key is a property, or a way to one (`container.name`). JXA's spellings (`_contains`, `_and`,
`_match`) are taken too. JXA has no `_notEquals`, so `!=` becomes `_not`; its `_and` and `_or` want
two tests, so one alone stands for itself (JXA release notes 10.10, "Filtering arrays").
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from iac_runtime.errors import InvalidParameterError, near_text, quoted
from iac_runtime.language.references import Reference, walk
from iac_runtime.language.steps import Boundary, Compare, Filter, Go, Join, Operator, Value
from iac_runtime.language.syntax import Chain, Name, Part, read_syntax
from iac_runtime.language.terms import find_properties, unknown_name
from iac_runtime.tables import Tables, fold

__all__ = ["ReadValue", "read_filter"]

ReadValue: TypeAlias = Callable[[Any, str, str], Value]
"""How to read a value: the raw one, its type, and what to call it in an error."""

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
    raw: Any,
    classes: tuple[str, ...] | None,
    tables: Tables,
    read_value: ReadValue,
    depth: int = 0,
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
            inner = tuple(
                read_filter(part, classes, tables, read_value, depth + 1) for part in parts
            )
            tests.append(_join(word, inner))
            continue
        way, asked = (
            _match(value) if str(key) == "_match" else (_way(str(key), classes, tables), value)
        )
        found = _item(way, classes, tables, read_value, depth)
        tests.append(_tests(found, asked, read_value))
    return _join("and", tuple(tests))


def _join(word: str, tests: tuple[Filter, ...]) -> Filter:
    if not tests:
        raise InvalidParameterError(f'"{word}" in a filter holds no test.')
    if word == "not":
        return Join("not", tests)
    if len(tests) == 1:
        return tests[0]
    return Join("and" if word == "and" else "or", tests)


def _match(value: Any) -> tuple[tuple[Part, ...], Any]:
    if isinstance(value, list) and len(value) == 2:
        way, asked = value
        if isinstance(way, Chain) and way.parts:
            return way.parts, asked
    raise InvalidParameterError("_match wants [ObjectSpecifier().property, value].")


def _way(key: str, classes: tuple[str, ...] | None, tables: Tables) -> tuple[Part, ...]:
    """Return the parts that a key names: one property, or a way to one from the item."""
    if find_properties(classes, key, tables) or not ("." in key or "[" in key):
        return (Name(key),)
    return read_syntax(key)


def _item(
    way: tuple[Part, ...],
    classes: tuple[str, ...] | None,
    tables: Tables,
    read_value: ReadValue,
    depth: int,
) -> Reference:
    """Return what a test looks at, as a reference that begins at the item."""
    if classes is not None and len(way) == 1 and isinstance(way[0], Name):
        name = way[0].name
        if not find_properties(classes, name, tables):
            raise unknown_name(name, classes, tables, what="property")
    return walk(
        Reference((), classes),
        way,
        tables,
        lambda raw, inner: read_filter(raw, inner, tables, read_value, depth + 1),
    )


def _tests(found: Reference, value: Any, read_value: ReadValue) -> Filter:
    if isinstance(value, Mapping) and value and not ("x" in value and "y" in value):
        tests = (_compare(found, str(op), item, read_value) for op, item in value.items())
        return _join("and", tuple(tests))
    return _compare(found, "=", value, read_value)


def _compare(found: Reference, word: str, value: Any, read_value: ReadValue) -> Filter:
    key = fold(word) or word
    if key in _UNEQUAL:
        return Join("not", (_compare(found, "=", value, read_value),))
    operator = _OPERATORS.get(key)
    if operator is None:
        raise InvalidParameterError(
            f"{quoted(word)} is no comparison in a filter.", near_text(word, _KNOWN)
        )
    kind = found.prop.type if found.prop is not None else "any"
    if operator in ("_contains", "_beginsWith", "_endsWith"):
        kind = "text" if isinstance(value, str) else "any"
    last = found.steps[-1]
    if isinstance(last, Boundary):
        raise InvalidParameterError(f"{found.text} is a place; nothing can be compared with it.")
    where = last.name if isinstance(last, Go) else found.text
    return Compare(found.steps, operator, read_value(value, kind, where))
