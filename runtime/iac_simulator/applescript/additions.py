"""What is reckoned here of Standard Additions, and of Objective-C: the reading of JSON.

Arguments of a script come as JSON (`iac_applescript.wrapping`), which is why that much is run.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from iac_runtime.language.applescript_expressions import own_name
from iac_simulator.applescript.values import (
    AppleScriptError,
    ScriptRecord,
    UnsupportedError,
    as_number,
)


def _read_json(text: str) -> Any:
    try:
        return _script_value(json.loads(text))
    except ValueError:
        raise AppleScriptError(-1700, "Can’t make missing value into type list.") from None


def _script_value(value: Any) -> Any:
    if isinstance(value, dict):
        return ScriptRecord({own_name(key): _script_value(item) for key, item in value.items()})
    if isinstance(value, list):
        return [_script_value(item) for item in value]
    return as_number(value) if type(value) is int else value


def round_number(number: float, way: str) -> float:
    """Return a number rounded; without another way, halves go to the even neighbour."""
    floor = int(number // 1)
    match way:
        case "up":
            return as_number(floor + (number > floor))
        case "down":
            return as_number(floor)
        case "toward zero":
            return as_number(int(number))
        case "as taught in school":
            return as_number(int(abs(number) + 0.5) * (1 if number >= 0 else -1))
    return as_number(round(number))


_CHANCE: Final = random.Random()  # noqa: S311 - no secret depends on it


def random_number(given: Mapping[str, Any]) -> float:
    """Return a random number `from` one `to` another: a whole one if both are."""
    if not {"from", "to"} & given.keys():
        return _CHANCE.random()
    first, last = given.get("from", 0), given.get("to", 1)
    if isinstance(first, int) and isinstance(last, int):
        return _CHANCE.randint(min(first, last), max(first, last))
    return _CHANCE.uniform(as_number(first), as_number(last))


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
