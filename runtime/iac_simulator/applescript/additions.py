"""What AppleScript reaches of Objective-C: the reading of JSON that arguments come by, no more."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from iac_simulator.applescript.values import Record, ScriptError, UnsupportedError, as_number


def _read_json(text: str) -> Any:
    try:
        return _script_value(json.loads(text))
    except ValueError:
        raise ScriptError(-1700, "Can’t make missing value into type list.") from None


def _script_value(value: Any) -> Any:
    if isinstance(value, dict):
        return Record({key.casefold(): _script_value(item) for key, item in value.items()})
    if isinstance(value, list):
        return [_script_value(item) for item in value]
    return as_number(value) if type(value) is int else value


_CALLS: Final[Mapping[str, Callable[[Any, Sequence[Any]], Any]]] = {
    "stringwithstring:": lambda _, given: given[0],
    "datausingencoding:": lambda owner, _: owner,
    "jsonobjectwithdata:options:error:": lambda _, given: _read_json(given[0]),
}


def call_foundation(name: str, owner: Any, arguments: Sequence[Any]) -> Any:
    """Return what a call of Foundation gives.

    Raises:
        UnsupportedError: It is not one of those that are run.
    """
    if name not in _CALLS:
        raise UnsupportedError(f"the Objective-C call {name}")
    return _CALLS[name](owner, arguments)
