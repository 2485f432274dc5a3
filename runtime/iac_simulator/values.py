"""References and values: as JavaScript sends them, as a world keeps them, as an event shows them.

On the wire a value is JSON, or `{"$": tag, "v": ...}` for what JSON lacks. In a world and in the
log it is JSON, or one of the marks `{"date"}`, `{"path"}`, `{"ref"}`, `{"record"}`. In between, a
reference is an `AppReference` and an absent value is `UNDEFINED`.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

from iac_base.errors import InvalidParameterError
from iac_runtime.language.syntax import KeyPart, NamePart, Part, SelectPart, read_syntax
from iac_simulator.errors import StateError


class ChainStep(NamedTuple):
    """One step. `kind`: p name, i index, n by name, id by id, w filter, l insertion place, new.

    Of raw events also: r range (ends from 1), o middle or some, x next or previous.
    """

    kind: str
    value: Any


Chain = tuple[ChainStep, ...]

_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*")


def chain_from_wire(wire: Iterable[Any]) -> Chain:
    """Return the chain that JavaScript sent as a list of pairs."""
    return tuple(ChainStep(kind, value) for kind, value in wire)


@lru_cache(maxsize=4096)
def parse_chain(text: str) -> Chain:
    """Return the chain of a reference as a world writes it: `folders["Work"].notes[0]`.

    Raises:
        StateError: It is no such reference.
    """
    try:
        steps = tuple(map(_parse_step, read_syntax(text).parts))
    except InvalidParameterError as error:
        raise StateError(str(error)) from None
    if None in steps:
        raise StateError(f"{text!r} is not a reference to an object in a world.")
    return tuple(filter(None, steps))


def _parse_step(part: Part) -> ChainStep | None:
    match part:
        case NamePart(name) if _NAME.fullmatch(name):
            return ChainStep("p", name)
        case KeyPart(key) | SelectPart("at" | "byName", str() | int() as key):
            return ChainStep("i" if isinstance(key, int) else "n", key)
        case SelectPart("byId", str() | int() as key):
            return ChainStep("id", key)
    return None


def _quote_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def format_chain(chain: Chain) -> str:
    """Return the text of `chain` as events are written: `inbox.messages[0].subject`."""
    text = ""
    for kind, value in chain:
        if kind in ("i", "n") or (kind in ("p", "l") and not _NAME.fullmatch(value)):
            text += f"[{_quote_json(value)}]"
        elif kind in ("p", "l") or kind in ("o", "x"):
            text += f".{value}"
        elif kind == "r":
            # As references say it: from 0, and without the end.
            first, last = (at - 1 if at > 0 else at for at in value)
            text += f"[{first}:{'' if last == -1 else last + 1}]"
        elif kind == "id":
            text += f".byId({_quote_json(value)})"
        else:
            text += f".whose({_format_filter(value)})" if kind == "w" else f".{value}()"
    return text.removeprefix(".")


def _format_filter(folded: Mapping[str, Any]) -> str:
    """Return the text of a folded filter (see `iac_simulator.resolve.fold_filter`)."""
    if "match" in folded:
        chain, operator, value = folded["match"]
        right = _format_literal(value)
        if operator != "=":
            key = operator if operator.startswith("_") else _quote_json(operator)
            right = f"{{{key}: {right}}}"
        tested = format_chain((ChainStep("new", "ObjectSpecifier"), *chain_from_wire(chain)))
        return f"{{_match: [{tested}, {right}]}}"
    key, parts = next(iter(folded.items()))
    return f"{{_{key}: [{', '.join(_format_filter(part) for part in parts)}]}}"


def _format_literal(wire: Any) -> str:
    if isinstance(wire, list):
        return f"[{', '.join(_format_literal(item) for item in wire)}]"
    if not isinstance(wire, dict):
        return _quote_json(wire)
    tag: str = wire["$"]
    value: Any = wire.get("v")
    if tag == "date":
        return f'new Date("{value}")'
    if tag == "path":
        return f"Path({_quote_json(value)})"
    if tag in ("ref", "it"):
        return format_chain(chain_from_wire(value))
    if tag == "record":
        pairs = (f"{json.dumps(key)}: {_format_literal(item)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    return str(value)


_MARKS: Final = ("date", "path", "ref", "record")


class Undefined:
    """What no app can take: JavaScript's undefined, or an object that only the script has."""


UNDEFINED: Final = Undefined()
IN_SCRIPT: Final = Undefined()
"""An object that was described and not made, or the one that a filter tests."""


class UnmadeObject(Undefined):
    """An object of the class `term` that a script described and has not made."""

    def __init__(self, term: str, properties: Mapping[str, Any]) -> None:
        self.term = term
        self.properties = properties


class AppReference(NamedTuple):
    """A reference into the app `key`."""

    key: str
    chain: Chain


class SentEvent(NamedTuple):
    """An Apple event as it went out, in the notation of docs/simulator.md.

    `app` is a bundle id, `event` class and id in 8 characters; `direct` is None where the event had
    no direct parameter; `params` are keyed by code; `timeout` is in seconds, None for the default.
    """

    app: str
    event: str
    direct: Any
    params: Mapping[str, Any]
    timeout: float | None = None


def is_mark(value: object) -> bool:
    """Say whether `value` is a marked value of a world, not an object."""
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in _MARKS


def record_fields(value: object) -> dict[str, Any] | None:
    """Return the fields of a record, None for another value."""
    return value["record"] if isinstance(value, dict) and "record" in value else None


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
        return AppReference(wire["root"]["key"], chain_from_wire(value))
    if tag == "new" and "p" in wire:
        return UnmadeObject(str(value), record_fields(from_wire(wire["p"])) or {})
    if tag in ("it", "new"):
        return IN_SCRIPT
    return float(value) if tag == "number" else UNDEFINED


def to_wire(value: Any) -> Any:
    """Return `value` as JavaScript gets it."""
    if isinstance(value, AppReference):
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


def stored_value(value: Any) -> Any:
    """Return `value` as a world and the log keep it."""
    if isinstance(value, AppReference):
        return {"ref": format_chain(value.chain)}
    if isinstance(value, list):
        return [stored_value(item) for item in value]
    if isinstance(value, dict):
        if "record" in value and is_mark(value):
            return {"record": {key: stored_value(item) for key, item in value["record"].items()}}
        return {key: stored_value(item) for key, item in value.items()}
    return None if isinstance(value, Undefined) else value


def parse_instant(text: str) -> datetime:
    """Return the moment of an ISO 8601 text; without a zone it is UTC.

    Raises:
        ValueError: It is no such text.
    """
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def to_iso(moment: datetime) -> str:
    """Return `moment` as JavaScript's `toISOString` does: UTC, milliseconds."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
