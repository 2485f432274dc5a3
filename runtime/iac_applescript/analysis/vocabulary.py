"""The words of an app as a script may use them, with the level of each use.

Made from the tables of its generated module. A term is kept as AppleScript spells it, words in
lower case with one space between; a JXA name as JavaScript spells it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

from iac_runtime.secrecy import is_secret
from iac_runtime.tool import Level, Property
from iac_runtime.tools.tables import Tables

__all__ = ["TermUse", "Use", "Vocabulary", "spelled", "vocabulary_of"]

Use = Literal["command", "property", "class", "enum", "label"]

_CONTENTS: Final = frozenset(("body", "ctxt", "pcnt", "PCnt", "text"))
"""Codes of what an object is filled with: setting it loses what was there, making loses nothing."""

_CAMEL: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9#]+|\S")


class TermUse(NamedTuple):
    """One use of a term.

    Attributes:
        use: What it is.
        term: The dictionary's term.
        level: Of a command, of setting a property, or of making a class.
        tool: The generated tool of a command, else empty.
        owner: The class of a property, else empty.
        content: Whether a property holds what a new object is filled with.
    """

    use: Use
    term: str
    level: Level
    tool: str = ""
    owner: str = ""
    content: bool = False


class Vocabulary(NamedTuple):
    """The words of one app: `terms` by AppleScript spelling, `names` by JXA's."""

    key: str
    bundle: str
    name: str
    terms: Mapping[str, tuple[TermUse, ...]]
    names: Mapping[str, tuple[TermUse, ...]]
    tables: Tables


def spelled(term: str) -> str:
    """Return a term as it is looked up: lower case, one space between words."""
    return " ".join(term.casefold().split())


def vocabulary_of(tables: Tables) -> Vocabulary:
    """Return the words of an app."""
    terms: dict[str, dict[TermUse, None]] = {}
    names: dict[str, dict[TermUse, None]] = {}
    for spelling, entry in _terms(tables):
        terms.setdefault(spelled(spelling), {})[entry] = None
    for name, entry in _names(tables):
        names.setdefault(name, {})[entry] = None
    return Vocabulary(
        tables.key,
        tables.app.id,
        tables.app.name,
        {term: tuple(found) for term, found in terms.items()},
        {name: tuple(found) for name, found in names.items()},
        tables,
    )


def _commands(tables: Tables) -> Iterator[tuple[str, str, TermUse]]:
    for function, spec in tables.tools.items():
        if spec.op == "command" and not spec.bind:
            term = function.rstrip("_").replace("_", " ")
            tool = f"{tables.key}_{function.rstrip('_')}"
            yield term, spec.jxa, TermUse("command", term, spec.ceiling, tool)


def _terms(tables: Tables) -> Iterator[tuple[str, TermUse]]:
    for term, jxa, entry in _commands(tables):
        yield term, entry
        yield jxa, entry
    for spec in tables.tools.values():
        for param in spec.params.values():
            if param.code and param.code != "----":
                yield param.term, TermUse("label", param.term, "SAFE")
    for term, row in tables.classes.items():
        entry = TermUse("class", term, row.make)
        yield term, entry
        yield _plural(term, row.plural), entry
        for synonym in row.synonyms:
            yield synonym, entry
            yield f"{synonym}s", entry
        for prop in row.properties:
            yield prop.term, _property(prop, term)
    for term, record in tables.records.items():
        yield term, TermUse("class", term, "SAFE")
        for prop in record.properties:
            yield prop.term, _property(prop._replace(level="SAFE"), term)
    for rows in tables.enums.values():
        for enumerator, _ in rows:
            yield enumerator, TermUse("enum", enumerator, "SAFE")


def _names(tables: Tables) -> Iterator[tuple[str, TermUse]]:
    for _, jxa, entry in _commands(tables):
        yield jxa, entry
    for spec in tables.tools.values():
        for param in spec.params.values():
            if param.code and param.code != "----":
                yield param.jxa or param.term, TermUse("label", param.term, "SAFE")
    for term, row in tables.classes.items():
        entry = TermUse("class", term, row.make)
        yield row.plural, entry
        yield row.jxa, entry
        yield row.jxa[:1].upper() + row.jxa[1:], entry
        for prop in row.properties:
            yield prop.jxa, _property(prop, term)
    for term, record in tables.records.items():
        for prop in record.properties:
            yield prop.jxa, _property(prop._replace(level="SAFE"), term)


def _property(row: Property, owner: str) -> TermUse:
    level: Level = row.level if "w" in row.access else "SAFE"
    # A secret is not read either.
    level = "DANGEROUS" if is_secret(row.term, row.type) else level
    return TermUse("property", row.term, level, owner=owner, content=row.code in _CONTENTS)


def _plural(term: str, jxa: str) -> str:
    """Return a plural in AppleScript's spelling, from JXA's."""
    if jxa.casefold() == f"{term}s".replace(" ", "").casefold():
        return f"{term}s"
    return " ".join(_CAMEL.findall(jxa)).casefold()
