"""Commands of an app: what a name means, which argument is which parameter, what reflection says.

The rule is Apple's (JXA release notes 10.10, "Calling commands"): the first argument is the direct
parameter, the next an object of named ones, the last an object of event modifiers.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_runtime.tool import Param
from iac_runtime.tools.tables import APPLICATION, Tables
from iac_runtime.types import parse_type
from iac_simulator.errors import EventRefusedError
from iac_simulator.typed_values import encode_properties, encode_value
from iac_simulator.values import UNDEFINED, AppReference, record_fields


class AppCommand(NamedTuple):
    """A command: `params` by JXA name, without the direct one."""

    name: str
    event: str
    direct: Param | None
    params: Mapping[str, Param]
    result: str = ""


class CommandArguments(NamedTuple):
    """A call taken apart; `direct` is None for none, `refused` where an app would refuse it."""

    direct: Any
    named: Mapping[str, Any]
    timeout: float | None
    refused: bool = False


def _read_standard() -> Iterator[tuple[str, AppCommand]]:
    text = Path(__file__).with_name("standard.toml").read_text(encoding="utf-8")
    for name, row in tomllib.loads(text).items():
        direct = Param("", "----", row["direct"]) if "direct" in row else None
        params = {key: Param(key, *rest) for key, rest in row.get("params", {}).items()}
        yield name, AppCommand(name, row["event"], direct, params)


_STANDARD: Final[Mapping[str, AppCommand]] = dict(_read_standard())
"""What every app answers, in its dictionary or not, by name."""

STANDARD_EVENTS: Final = frozenset(command.event for command in _STANDARD.values())

_MODIFIERS: Final = {"timeout", "considering", "ignoring"}


def command_named(tables: Tables, name: str) -> AppCommand | None:
    """Return the command of an app that JavaScript calls `name`, its standard form included."""
    standard = _STANDARD.get(name) if tables.app.kind == "application" else None
    found = standard
    for spec in tables.tools.values():
        if spec.bind or spec.op == "list":
            continue
        if (spec.op if spec.op != "command" else spec.jxa) != name:
            continue
        params = {p.jxa or p.term: p for p in spec.params.values() if len(p.code) == 4}
        direct = next((p for p in params.values() if p.code == "----"), None)
        named = {key: p for key, p in params.items() if p.code != "----"}
        if standard is None:
            return AppCommand(name, spec.event, direct, named, spec.result)
        if spec.op != "command":
            # An object tool states its own parameters; the event's are those of the core suite.
            codes = {param.code for param in standard.params.values()}
            extra = {k: p for k, p in named.items() if k and p.code not in codes}
            return standard._replace(params={**standard.params, **extra})
        found = AppCommand(
            name, spec.event, direct or standard.direct, {**standard.params, **named}, spec.result
        )
    return found


def command_for_event(tables: Tables, event: str) -> AppCommand | None:
    """Return the command whose event this is, as JavaScript would find it."""
    own = (spec for spec in tables.tools.values() if spec.event == event and not spec.bind)
    names = [spec.jxa if spec.op == "command" else spec.op for spec in own if spec.op != "list"]
    names += [name for name, row in _STANDARD.items() if row.event == event]
    found = (command_named(tables, name) for name in names)
    return next((row for row in found if row is not None and row.event == event), None)


def read_arguments(
    command: AppCommand, receiver: AppReference | None, args: Sequence[Any]
) -> CommandArguments:
    """Take apart the arguments of a call on `receiver`, None for the application.

    Raises:
        EventRefusedError: -1700: undefined for a parameter, or a name that the command lacks.
    """
    rest: list[Any] = list(args)
    direct: Any = receiver
    refused = False
    first = record_fields(rest[0]) if rest else None
    if receiver is None:
        if rest and (command.direct is not None or first is None):
            direct = rest.pop(0)
            types = parse_type(command.direct.type) if command.direct else ()
            refused = first is not None and {"record", "any"}.isdisjoint(row.name for row in types)
    elif rest and first is None and rest[0] is not None:
        direct = rest.pop(0)
    named = (record_fields(rest[0]) if rest else None) or {}
    if direct is UNDEFINED or set(named) - set(command.params):
        raise EventRefusedError(-1700)
    return CommandArguments(
        direct, named, modifier_timeout(rest[1] if len(rest) > 1 else None), refused
    )


def event_params(tables: Tables, command: AppCommand, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the named arguments of a call as its event carries them, by code."""
    term = named.get("new") if command.event == "corecrel" else None
    made = tables.find_class(term) if isinstance(term, str) else None
    params = {}
    for key, value in named.items():
        param = command.params[key]
        properties = record_fields(value) if param.code == "prdt" else None
        if properties is not None:
            params[param.code] = encode_properties(tables, made, properties)
        else:
            params[param.code] = encode_value(tables, value, param.type)
    return params


def modifier_timeout(modifiers: Any) -> float | None:
    """Return the seconds of event modifiers (`{timeout: 20}`), or None."""
    given = record_fields(modifiers) or {}
    seconds = given.get("timeout") if set(given) <= _MODIFIERS else None
    return seconds if isinstance(seconds, int | float) else None


def reflection_answer(tables: Tables, name: str, arguments: Sequence[Any]) -> Any:
    """Return the answer of an app's reflection method `name`; None where it has none.

    Source: public accounts of `Automation`'s app methods; that a collection is named by its plural
    and an unknown class has no members is inferred, to be confirmed on a Mac.
    """
    about, owner = (*(word if isinstance(word, str) else "" for word in arguments), "", "")[:2]
    commands = {
        spec.jxa: " ".join(key.rstrip("_").split("_"))
        for key, spec in reversed(list(tables.tools.items()))
        if spec.op == "command" and not spec.bind
    }
    standard = _STANDARD if tables.app.kind == "application" else {}
    term = tables.find_class((owner if name.startswith("display") else about) or APPLICATION)
    properties = list(tables.properties(term)) if term else []
    elements = tables.elements(term) if term else ()
    plurals = [tables.classes[row.term].plural for row in elements if row.term in tables.classes]
    match name:
        case "commandsOfClass":
            return sorted({*commands, *standard})
        case "elementsOfClass":
            return plurals
        case "propertiesOfClass":
            return [prop.jxa for prop in properties]
        case "parentOfClass":
            parent = tables.classes.get(tables.classes[term].inherits or "") if term else None
            return parent.jxa if parent else None
        case "displayNameForCommand":
            return commands.get(about, about if about in standard else None)
        case "displayNameForElementOfClass":
            element = tables.find_class(about)
            if element is None or tables.classes[element].plural not in plurals:
                return None
            if about != tables.classes[element].plural:
                return element
            # The tables keep a plural in camel case only.
            return re.sub(r"[A-Z]", lambda letter: f" {letter[0].lower()}", about)
        case "displayNameForPropertyOfClass":
            return next((prop.term for prop in properties if prop.jxa == about), None)
    return None
