"""Filters of `whose`: folded into one form, and decided for an object.

Folded: `{"match": [chain, operator, value]}`, `{"and": [...]}`, `{"or": [...]}`, `{"not": [...]}`;
chains and values stay as they are on the wire. Source: JXA release notes 10.10, "Filtering".
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from iac_simulator.errors import EventRefusedError
from iac_simulator.values import Chain, chain_from_wire, from_wire, parse_instant, stored_value

_TESTS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "_contains": operator.contains,
    "_beginsWith": str.startswith,
    "_endsWith": str.endswith,
}
_SYMBOLS: Final[Mapping[str, str]] = {
    "_equals": "=",
    "_greaterThan": ">",
    "_greaterThanEquals": ">=",
    "_lessThan": "<",
    "_lessThanEquals": "<=",
}
_LEAST: Final[Mapping[str, int]] = {"_and": 2, "_or": 2, "_not": 1}

Read = Callable[[Chain], Any]
"""How a test reads a chain of the tested object; the value as a world keeps it."""


def fold_filter(wire: Any) -> dict[str, Any]:
    """Return the folded form of the argument of `whose` as it came over the wire.

    Raises:
        EventRefusedError: -1700: no filter, an unknown operator, or too few parts of and, or, not.
    """
    if not isinstance(wire, dict) or wire.get("$") != "record" or not wire["v"]:
        raise EventRefusedError(-1700)
    parts = [part for key, value in wire["v"].items() for part in _fold_entry(key, value)]
    return parts[0] if len(parts) == 1 else {"and": parts}


def _fold_entry(key: str, value: Any) -> list[dict[str, Any]]:
    if key in _LEAST:
        if not isinstance(value, list) or len(value) < _LEAST[key]:
            raise EventRefusedError(-1700)
        return [{key[1:]: [fold_filter(item) for item in value]}]
    if key == "_match":
        if not (isinstance(value, list) and len(value) == 2 and _wire_tag(value[0]) == "it"):
            raise EventRefusedError(-1700)
        return _fold_tests(value[0]["v"], value[1])
    if key.startswith("_"):
        raise EventRefusedError(-1700)
    return _fold_tests([["p", key]], value)


def _fold_tests(chain: list[Any], value: Any) -> list[dict[str, Any]]:
    if _wire_tag(value) != "record":
        return [{"match": [chain, "=", value]}]
    tests = [(_SYMBOLS.get(key, key), item) for key, item in value["v"].items()]
    if not tests or any(test not in _TESTS for test, _ in tests):
        raise EventRefusedError(-1700)
    return [{"match": [chain, test, item]} for test, item in tests]


def _wire_tag(wire: Any) -> str | None:
    return wire.get("$") if isinstance(wire, dict) else None


def matches_filter(folded: Mapping[str, Any], read: Read) -> bool:
    """Say whether the object that `read` reads passes; what it cannot supply, fails a test."""
    key, value = next(iter(folded.items()))
    if key == "match":
        chain, test, wire = value
        try:
            left = read(chain_from_wire(chain))
        except EventRefusedError:
            return False
        return _matches_test(left, test, stored_value(from_wire(wire)))
    if key == "and":
        return all(matches_filter(part, read) for part in value)
    if key == "or":
        return any(matches_filter(part, read) for part in value)
    return not any(matches_filter(part, read) for part in value)


def _matches_test(left: Any, test: str, right: Any) -> bool:
    a, b = comparable_value(left), comparable_value(right)
    if test == "=" and isinstance(a, bool) and not isinstance(b, bool):
        return False
    texts = isinstance(a, str) and isinstance(b, str)
    if test.startswith("_") and not texts and not (test == "_contains" and isinstance(a, list)):
        return False
    pair: tuple[Any, Any] = (a, b)
    try:
        return bool(_TESTS[test](*pair))
    except TypeError:
        return False


def comparable_value(value: Any) -> Any:
    """Text is compared without regard to case, as Cocoa's scripting tests do (inferred)."""
    if isinstance(value, str):
        return value.casefold()
    if isinstance(value, list):
        return [comparable_value(item) for item in value]
    if isinstance(value, dict) and "date" in value:
        try:
            return parse_instant(value["date"])
        except ValueError:
            return value
    return value
