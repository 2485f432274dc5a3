"""JXA's undocumented reflection: the names that it made of a dictionary, and the terms behind them.

Source: public accounts of `Automation`'s app methods; that a collection is named by its plural and
an unknown class has no members is inferred, to be confirmed on a Mac.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from iac_runtime.tools.tables import APPLICATION, Tables
from iac_simulator.calls import standard_names

__all__ = ["REFLECTION", "reflect"]


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
