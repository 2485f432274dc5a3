"""Filters of `whose`: folded into one form, and decided for an object.

Folded: `{"match": [chain, operator, value]}`, `{"and": [...]}`, `{"or": [...]}`, `{"not": [...]}`;
chains and values stay as they are on the wire. Source: JXA release notes 10.10, "Filtering".
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from iac_simulator.errors import EventRefusedError
from iac_simulator.values import Chain, chain_of, from_wire, instant, stored

__all__ = ["fold", "holds"]

_OPERATORS: Final[Mapping[str, str]] = {
    "=": "=",
    "_equals": "=",
    ">": ">",
    "_greaterThan": ">",
    ">=": ">=",
    "_greaterThanEquals": ">=",
    "<": "<",
    "_lessThan": "<",
    "<=": "<=",
    "_lessThanEquals": "<=",
    "_contains": "_contains",
    "_beginsWith": "_beginsWith",
    "_endsWith": "_endsWith",
}
_LEAST: Final[Mapping[str, int]] = {"_and": 2, "_or": 2, "_not": 1}

Read = Callable[[Chain], Any]
"""How a test reads a chain of the tested object; the value as a world keeps it."""


def fold(wire: Any) -> dict[str, Any]:
    """Return the folded form of the argument of `whose` as it came over the wire.

    Raises:
        EventRefusedError: -1700: no filter, an unknown operator, or too few parts of and, or, not.
    """
    if not isinstance(wire, dict) or wire.get("$") != "record" or not wire["v"]:
        raise EventRefusedError(-1700)
    parts = [part for key, value in wire["v"].items() for part in _entry(key, value)]
    return parts[0] if len(parts) == 1 else {"and": parts}


def _entry(key: str, value: Any) -> list[dict[str, Any]]:
    if key in _LEAST:
        if not isinstance(value, list) or len(value) < _LEAST[key]:
            raise EventRefusedError(-1700)
        return [{key[1:]: [fold(item) for item in value]}]
    if key == "_match":
        if not (isinstance(value, list) and len(value) == 2 and _tag(value[0]) == "it"):
            raise EventRefusedError(-1700)
        return _tests(value[0]["v"], value[1])
    if key.startswith("_"):
        raise EventRefusedError(-1700)
    return _tests([["p", key]], value)


def _tests(chain: list[Any], value: Any) -> list[dict[str, Any]]:
    if _tag(value) != "record":
        return [{"match": [chain, "=", value]}]
    if not value["v"] or not set(value["v"]) <= set(_OPERATORS):
        raise EventRefusedError(-1700)
    return [{"match": [chain, _OPERATORS[key], item]} for key, item in value["v"].items()]


def _tag(wire: Any) -> str | None:
    return wire.get("$") if isinstance(wire, dict) else None


def holds(folded: Mapping[str, Any], read: Read) -> bool:
    """Say whether the object that `read` reads passes; what it cannot supply, fails a test."""
    key, value = next(iter(folded.items()))
    if key == "match":
        chain, operator, wire = value
        try:
            left = read(chain_of(chain))
        except EventRefusedError:
            return False
        return _compare(left, operator, stored(from_wire(wire)))
    if key == "and":
        return all(holds(part, read) for part in value)
    if key == "or":
        return any(holds(part, read) for part in value)
    return not any(holds(part, read) for part in value)


def _compare(left: Any, operator: str, right: Any) -> bool:
    a, b = _comparable(left), _comparable(right)
    if operator == "=":
        return type(a) is type(b) and bool(a == b) if isinstance(a, bool) else bool(a == b)
    if operator == "_contains" and isinstance(a, list):
        return b in a
    if operator.startswith("_"):
        if not isinstance(a, str) or not isinstance(b, str):
            return False
        return {"_contains": b in a, "_beginsWith": a.startswith(b), "_endsWith": a.endswith(b)}[
            operator
        ]
    try:
        return bool(
            {
                ">": lambda: a > b,
                ">=": lambda: a >= b,
                "<": lambda: a < b,
                "<=": lambda: a <= b,
            }[operator]()
        )
    except TypeError:
        return False


def _comparable(value: Any) -> Any:
    """Text is compared without regard to case, as Cocoa's scripting tests do (inferred)."""
    if isinstance(value, str):
        return value.casefold()
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    if isinstance(value, dict) and "date" in value:
        try:
            return instant(value["date"])
        except ValueError:
            return value
    return value
