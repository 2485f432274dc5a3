"""Commands of an app: what a name means, which argument is which parameter, what reflection says.

The rule is Apple's (JXA release notes 10.10, "Calling commands"): the first argument is the direct
parameter, the next an object of named ones, the last an object of event modifiers.

Source: public accounts of `Automation`'s app methods; that a collection is named by its plural and
an unknown class has no members is inferred, to be confirmed on a Mac.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeGuard

from iac_runtime.tool import Param
from iac_runtime.tools.tables import APPLICATION, Tables
from iac_simulator.errors import EventRefusedError
from iac_simulator.names import alternatives
from iac_simulator.values import AppReference, Undefined

__all__ = [
    "REFLECTION",
    "STANDARD_EVENTS",
    "AppCommand",
    "Arguments",
    "command_named",
    "read_arguments",
    "reflect",
    "standard_names",
    "timeout_of",
]


class AppCommand(NamedTuple):
    """A command: `params` by JXA name, without the direct one."""

    name: str
    event: str
    direct: Param | None
    params: Mapping[str, Param]
    result: str = ""


class Arguments(NamedTuple):
    """A call taken apart; `direct` is None for none, `refused` where an app would refuse it."""

    direct: Any
    named: Mapping[str, Any]
    timeout: float | None
    refused: bool = False


def _standard(name: str, event: str, direct: str = "", **params: tuple[str, str]) -> AppCommand:
    rows = {key: Param(key, code, type_) for key, (code, type_) in params.items()}
    return AppCommand(name, event, Param("", "----", direct) if direct else None, rows)


_SAVING: Final = ("savo", "save options")
_STANDARD: Final[Mapping[str, AppCommand]] = {
    command.name: command
    for command in (
        _standard("get", "coregetd", "specifier"),
        _standard("set", "coresetd", "specifier", to=("data", "any")),
        _standard("count", "corecnte", "specifier", each=("kocl", "type")),
        _standard("exists", "coredoex", "any"),
        _standard(
            "make",
            "corecrel",
            new=("kocl", "type"),
            at=("insh", "location specifier"),
            withProperties=("prdt", "record"),
            withData=("data", "any"),
        ),
        _standard("delete", "coredelo", "specifier"),
        _standard(
            "duplicate",
            "coreclon",
            "specifier",
            to=("insh", "location specifier"),
            withProperties=("prdt", "record"),
        ),
        _standard("move", "coremove", "specifier", to=("insh", "location specifier")),
        _standard("open", "aevtodoc", "file"),
        _standard("print", "aevtpdoc", "file", withProperties=("prdt", "print settings")),
        _standard("close", "coreclos", "specifier", saving=_SAVING, savingIn=("kfil", "file")),
        _standard(
            "save", "coresave", "specifier", **{"in": ("kfil", "file"), "as": ("fltp", "any")}
        ),
        _standard("quit", "aevtquit", saving=_SAVING),
        _standard("activate", "miscactv"),
        _standard("launch", "ascrnoop"),
        _standard("run", "aevtoapp"),
        _standard("reopen", "aevtrapp"),
    )
}
"""What every app answers, in its dictionary or not: name -> command, codes of the core suite."""

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
            extra = {k: p for k, p in named.items() if k and p.code not in _codes(standard)}
            return standard._replace(params={**standard.params, **extra})
        found = AppCommand(
            name, spec.event, direct or standard.direct, {**standard.params, **named}, spec.result
        )
    return found


def standard_names(tables: Tables) -> tuple[str, ...]:
    """Return the names of what an app answers whatever its dictionary says; none for additions."""
    return tuple(_STANDARD) if tables.app.kind == "application" else ()


def _codes(command: AppCommand) -> set[str]:
    return {param.code for param in command.params.values()}


def _is_record(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and "record" in value


def _takes_record(param: Param | None) -> bool:
    terms = {term for term, _ in alternatives(param.type)} if param else set()
    return bool(terms & {"record", "any"})


def read_arguments(
    command: AppCommand, receiver: AppReference | None, args: Sequence[Any]
) -> Arguments:
    """Take apart the arguments of a call on `receiver`, None for the application.

    Raises:
        EventRefusedError: -1700: undefined for a parameter, or a name that the command lacks.
    """
    rest: list[Any] = list(args)
    direct: Any = receiver
    refused = False
    if receiver is None:
        if rest and (command.direct is not None or not _is_record(rest[0])):
            direct = rest.pop(0)
            refused = _is_record(direct) and not _takes_record(command.direct)
    elif rest and not _is_record(rest[0]) and rest[0] is not None:
        direct = rest.pop(0)
    named = rest[0]["record"] if rest and _is_record(rest[0]) else {}
    if isinstance(direct, Undefined) or set(named) - set(command.params):
        raise EventRefusedError(-1700)
    modifiers = rest[1] if len(rest) > 1 else None
    return Arguments(direct, named, timeout_of(modifiers), refused)


def timeout_of(modifiers: Any) -> float | None:
    """Return the seconds of event modifiers (`{timeout: 20}`), or None."""
    if not _is_record(modifiers) or not set(modifiers["record"]) <= _MODIFIERS:
        return None
    seconds = modifiers["record"].get("timeout")
    return seconds if isinstance(seconds, int | float) else None


def reflect(tables: Tables, name: str, arguments: list[Any]) -> Any:
    """Return the answer of the reflection method `name`; None where it has none."""
    words = [word if isinstance(word, str) else "" for word in arguments]
    return _METHODS[name](tables, *(*words, "", "")[:2])


def _commands(tables: Tables, _term: str, _: str) -> list[str]:
    own = [spec.jxa for spec in tables.tools.values() if spec.op == "command" and not spec.bind]
    return sorted({*own, *standard_names(tables)})


def _term(tables: Tables, name: str) -> str | None:
    return tables.find_class(name or APPLICATION)


def _elements(tables: Tables, name: str, _: str) -> list[str]:
    term = _term(tables, name)
    rows = tables.elements(term) if term else ()
    return [tables.classes[row.term].plural for row in rows if row.term in tables.classes]


def _properties(tables: Tables, name: str, _: str) -> list[str]:
    term = _term(tables, name)
    return [prop.jxa for prop in tables.properties(term)] if term else []


def _parent(tables: Tables, name: str, _: str) -> str | None:
    term = _term(tables, name)
    parent = tables.classes[term].inherits if term else None
    return tables.classes[parent].jxa if parent in tables.classes and parent else None


def _command_name(tables: Tables, name: str, _: str) -> str | None:
    for key, spec in tables.tools.items():
        if spec.jxa == name and spec.op == "command" and not spec.bind:
            return " ".join(key.rstrip("_").split("_"))
    return name if name in standard_names(tables) else None


def _element_name(tables: Tables, name: str, owner: str) -> str | None:
    plurals = _elements(tables, owner, "")
    term = tables.find_class(name)
    if term is None or tables.classes[term].plural not in plurals:
        return None
    row = tables.classes[term]
    return _words(row.plural) if name == row.plural else term


def _property_name(tables: Tables, name: str, owner: str) -> str | None:
    term = _term(tables, owner)
    rows = tables.properties(term) if term else ()
    return next((prop.term for prop in rows if prop.jxa == name), None)


def _words(name: str) -> str:
    """Return a camel-case name as words; the tables keep no other form of a plural."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name)


_METHODS: Final[Mapping[str, Callable[[Tables, str, str], Any]]] = {
    "commandsOfClass": _commands,
    "elementsOfClass": _elements,
    "propertiesOfClass": _properties,
    "parentOfClass": _parent,
    "displayNameForCommand": _command_name,
    "displayNameForElementOfClass": _element_name,
    "displayNameForPropertyOfClass": _property_name,
}

REFLECTION: Final = tuple(_METHODS)
"""The names of the methods, which every application object has."""
