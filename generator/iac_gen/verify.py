"""Verify: our JavaScript names against those that JXA's own reflection prints.

Reflection (`commandsOfClass`, `propertiesOfClass`, `elementsOfClass`, `parentOfClass`) is not
documented by Apple and shows no parameters. Whether it prints inherited names, and elements by
their plural, is not known: either is taken as right.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from iac_gen import model
from iac_gen.naming import jxa, plural
from iac_gen.resolve import Resolved

__all__ = [
    "ClassNames",
    "Difference",
    "Name",
    "Names",
    "Printed",
    "Reflection",
    "differences",
    "names_of",
]

# What JXA gives every object and every app, dictionary or not.
_COMMON_PROPERTIES: Final = frozenset({"class", "properties"})
_COMMON_COMMANDS: Final = frozenset(
    "activate close count delete duplicate exists get launch make move open print quit reopen run"
    " save set".split()
)


@dataclass(frozen=True, slots=True)
class Name:
    """A term and the name that we give it; `other` is another name that would do as well."""

    term: str
    jxa: str
    other: str = ""
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class ClassNames:
    """The names of one class: its own, and in `inherited` those of the classes above it."""

    name: Name
    parent: str
    properties: tuple[Name, ...]
    elements: tuple[Name, ...]
    inherited: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one app: what is asked about it."""

    app: str
    kind: str
    commands: tuple[Name, ...]
    classes: tuple[ClassNames, ...]
    parameters: int = 0

    def count(self) -> int:
        """Return how many names reflection can be asked about."""
        rows = sum(1 + len(row.properties) + len(row.elements) for row in self.classes)
        return len(self.commands) + rows


class Printed(NamedTuple):
    """What reflection printed of one class; None for what it would not answer."""

    properties: tuple[str, ...] | None
    elements: tuple[str, ...] | None
    parent: str | None


class Reflection(NamedTuple):
    """What reflection printed of one app; `classes` by term."""

    commands: tuple[str, ...] | None
    classes: Mapping[str, Printed]


class Difference(NamedTuple):
    """A name that is not as we make it: `ours` is empty for one that only JXA has."""

    what: str
    term: str
    ours: str
    theirs: str

    def __str__(self) -> str:
        if not self.ours:
            return f"{self.what}: JXA has {self.theirs}, which no term gives"
        said = f"JXA says {self.theirs}" if self.theirs else "JXA has no such name"
        return f"{self.what} {self.term!r}: we say {self.ours}, {said}"


def names_of(resolved: Resolved) -> Names:
    """Return every name of an app, hidden ones marked: reflection need not print those."""
    source = resolved.source
    named = {row.name: row for row in resolved.classes}
    return Names(
        source.name if source.id.startswith("local.") else source.id,
        source.kind,
        tuple(Name(row.name, jxa(row.name), "", row.hidden) for row in resolved.commands),
        tuple(_class_names(row, named) for row in resolved.classes),
        sum(len(row.parameters) for row in resolved.commands),
    )


def _class_names(row: model.Class, named: Mapping[str, model.Class]) -> ClassNames:
    above = [named[name] for name in _ancestors(row, named)]
    return ClassNames(
        Name(row.name, jxa(row.name), "", row.hidden),
        jxa(row.inherits),
        _properties(row),
        _elements(row, named),
        frozenset(
            spelling
            for owner in above
            for name in (*_properties(owner), *_elements(owner, named))
            for spelling in (name.jxa, name.other)
        ),
    )


def _ancestors(row: model.Class, named: Mapping[str, model.Class]) -> Iterator[str]:
    seen = {row.name}
    while row.inherits in named and row.inherits not in seen:
        seen.add(row.inherits)
        yield row.inherits
        row = named[row.inherits]


def _properties(row: model.Class) -> tuple[Name, ...]:
    return tuple(Name(one.name, jxa(one.name), "", one.hidden) for one in row.properties)


def _elements(row: model.Class, named: Mapping[str, model.Class]) -> tuple[Name, ...]:
    return tuple(
        Name(
            one.type,
            jxa(plural(one.type, named[one.type].plural if one.type in named else "")),
            jxa(one.type),
            one.hidden,
        )
        for one in row.elements
    )


def differences(names: Names, reflection: Reflection) -> list[Difference]:
    """Return what reflection says otherwise, commands first, classes in the dictionary's order."""
    found = list(_compared("command", names.commands, reflection.commands, _COMMON_COMMANDS))
    for row in names.classes:
        printed = reflection.classes.get(row.name.term)
        if printed is not None:
            found += _class_differences(row, printed)
    return found


def _class_differences(row: ClassNames, printed: Printed) -> Iterator[Difference]:
    term = row.name.term
    expected = [name for name in (*row.properties, *row.elements) if not name.hidden]
    if expected and not printed.properties and not printed.elements:
        if not row.name.hidden:
            yield Difference("class", term, row.name.jxa, "")
        return
    if printed.parent and row.parent and printed.parent != row.parent:
        yield Difference(f"parent of {term}", row.parent, row.parent, printed.parent)
    common = row.inherited | _COMMON_PROPERTIES
    yield from _compared(f"property of {term}", row.properties, printed.properties, common)
    yield from _compared(f"element of {term}", row.elements, printed.elements, row.inherited)


def _compared(
    what: str, ours: Iterable[Name], theirs: tuple[str, ...] | None, common: frozenset[str]
) -> Iterator[Difference]:
    if theirs is None:
        return
    ours = list(ours)
    printed = set(theirs)
    known = {spelling for name in ours for spelling in (name.jxa, name.other)} | common
    only_theirs = {_fold(name): name for name in theirs if name not in known}
    for name in ours:
        if printed & {name.jxa, name.other}:
            continue
        like = only_theirs.pop(_fold(name.jxa), "")
        if like or not (name.hidden or name.jxa in common):
            yield Difference(what, name.term, name.jxa, like)
    for extra in only_theirs.values():
        yield Difference(what, "", "", extra)


def _fold(name: str) -> str:
    return "".join(ch for ch in name.casefold() if ch.isalnum())
