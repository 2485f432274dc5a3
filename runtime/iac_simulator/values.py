"""Values: as JavaScript sends them, as a world keeps them, as an event shows them.

On the wire a value is JSON, or `{"$": tag, "v": ...}` for what JSON lacks. In a world and in the
log it is JSON, or one of the marks `{"date"}`, `{"path"}`, `{"ref"}`, `{"record"}`. In between, a
reference is a `Refer` and an absent value is `UNDEFINED`.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from iac_simulator.chains import Chain, chain_of, notation

__all__ = [
    "UNDEFINED",
    "Item",
    "Refer",
    "Undefined",
    "Unmade",
    "from_wire",
    "instant",
    "is_mark",
    "stored",
    "to_iso",
    "to_wire",
]

_MARKS: Final = ("date", "path", "ref", "record")


class Undefined:
    """JavaScript's undefined: nothing was given."""

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED: Final = Undefined()


class Refer(NamedTuple):
    """A reference into the app `key`."""

    key: str
    chain: Chain


class Item(NamedTuple):
    """A reference relative to the object that a filter tests."""

    chain: Chain


class Unmade(NamedTuple):
    """An object that exists in the script only."""

    term: str


def is_mark(value: object) -> bool:
    """Say whether `value` is a marked value of a world, not an object."""
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in _MARKS


def from_wire(wire: Any) -> Any:
    """Return the value that JavaScript sent; records become `{"record": {...}}`."""
    if isinstance(wire, list):
        return [from_wire(item) for item in wire]
    if not isinstance(wire, dict):
        return wire
    tag: str = wire["$"]
    value: Any = wire.get("v")
    if tag == "record":
        return {"record": {key: from_wire(item) for key, item in value.items()}}
    if tag in ("date", "path"):
        return {tag: value}
    if tag == "ref":
        return Refer(wire["root"]["key"], chain_of(value))
    if tag == "it":
        return Item(chain_of(value))
    if tag == "new":
        return Unmade(value)
    return float(value) if tag == "number" else UNDEFINED


def to_wire(value: Any) -> Any:
    """Return `value` as JavaScript gets it."""
    if isinstance(value, Refer):
        return {"$": "ref", "root": {"key": value.key}, "v": [list(step) for step in value.chain]}
    if isinstance(value, Undefined):
        return {"$": "undefined"}
    if isinstance(value, list):
        return [to_wire(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"$": "number", "v": str(value).replace("inf", "Infinity").replace("nan", "NaN")}
    if not isinstance(value, dict):
        return value
    if is_mark(value) and "record" not in value:
        tag = next(iter(value))
        return {"$": tag, "v": value[tag]}
    record: Mapping[str, Any] = value["record"] if is_mark(value) else value
    return {"$": "record", "v": {key: to_wire(item) for key, item in record.items()}}


def stored(value: Any) -> Any:
    """Return `value` as a world and the log keep it."""
    if isinstance(value, Refer):
        return {"ref": notation(value.chain)}
    if isinstance(value, list):
        return [stored(item) for item in value]
    if isinstance(value, dict):
        if "record" in value and is_mark(value):
            return {"record": {key: stored(item) for key, item in value["record"].items()}}
        return {key: stored(item) for key, item in value.items()}
    return None if isinstance(value, Undefined | Unmade | Item) else value


def instant(text: str) -> datetime:
    """Return the moment of an ISO 8601 text; without a zone it is UTC.

    Raises:
        ValueError: It is no such text.
    """
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def to_iso(moment: datetime) -> str:
    """Return `moment` as JavaScript's `toISOString` does: UTC, milliseconds."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
