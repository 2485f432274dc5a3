"""What the rules of lint share: what they look at, what they give, and how they name a place.

A rule is a function from `Facts` to `Hit`s. It speaks of what the file itself declares; what
an include brings in is looked up and never judged.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias, TypeVar

from iac_gen.model import (
    Diagnostic,
    Dictionary,
    Enumeration,
    Include,
    Item,
    RecordType,
    SdefClass,
    SdefCommand,
    SdefElement,
    SdefProperty,
    Severity,
    Source,
    Suite,
    TypeRef,
    ValueType,
)
from iac_gen.resolve import IncludeMap, Resolved, path_of, resolve, select
from iac_gen.text import clean
from iac_gen.types import Types

T = TypeVar("T", SdefClass, SdefCommand, Enumeration, RecordType, ValueType)

_LONGEST = 80


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One fault or oddity of a dictionary.

    `line` is 1-based, 0 where the input has no lines (a snapshot). `place` names the term in
    plain characters; `consequence` says in one sentence what a user of the tools notices.
    """

    rule: str
    severity: Severity
    file: str
    line: int
    place: str
    message: str
    consequence: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return (
            f"{where}: {self.severity}: {self.place}: {self.message}."
            f" {self.consequence} [{self.rule}]"
        )


class LintHit(NamedTuple):
    """What a rule found, before it has a name, a severity and a file."""

    line: int
    place: str
    message: str
    consequence: str


@dataclass(frozen=True, slots=True)
class LintFacts:
    """All that a rule may look at.

    `own` are the items of the file in order, those of a hidden suite hidden; `taken` what its
    includes bring. `classes` maps the name, id, code and synonyms of every declared class to its
    name; classes that resolve makes up are not among them.
    """

    source: Source
    own: tuple[Item, ...]
    taken: tuple[Item, ...]
    classes: dict[str, str]
    resolved: Resolved
    types: Types
    told: tuple[Diagnostic, ...]

    @property
    def dictionary(self) -> Dictionary:
        return self.source.dictionary

    def rows(self) -> Iterator[SdefClass]:
        """Yield the merged classes that the file itself declares or extends."""
        mine = {self.classes.get(r.extends or r.name) for r in of_kind(self.own, SdefClass)}
        yield from (row for row in self.resolved.classes if row.name in mine)


Check: TypeAlias = Callable[[LintFacts], Iterable[LintHit]]


class LintRule(NamedTuple):
    """How bad it is, and the function that finds it."""

    severity: Severity
    check: Check


class Use(NamedTuple):
    """A place that has a type, and its alternatives as written."""

    line: int
    place: str
    types: tuple[TypeRef, ...]


def facts_of(source: Source, includes: IncludeMap, read: Iterable[Diagnostic]) -> LintFacts:
    """Return what the rules look at; `read` is what `load` had to say."""
    resolved, merged = resolve(source, includes)
    own = tuple(_own(source.dictionary))
    taken = tuple(_taken(source.dictionary, includes))
    classes: dict[str, str] = {}
    declared = [row for row in of_kind((*own, *taken), SdefClass) if row.name]
    for attribute in ("name", "id", "code"):
        for row in declared:
            if key := getattr(row, attribute):
                classes.setdefault(key, row.name)
    for row in declared:
        for synonym in row.synonyms:
            classes.setdefault(synonym.name or row.name, row.name)
    return LintFacts(source, own, taken, classes, resolved, Types(resolved, {}), (*read, *merged))


def _own(dictionary: Dictionary) -> Iterator[Item]:
    for suite in dictionary.suites:
        if isinstance(suite, Suite):
            for item in suite.items:
                if not isinstance(item, Include):
                    yield replace(item, hidden=True) if suite.hidden else item


def _taken(dictionary: Dictionary, includes: IncludeMap) -> Iterator[Item]:
    wanted = [s for s in dictionary.suites if isinstance(s, Include)]
    wanted += [item for item in dictionary.declared() if isinstance(item, Include)]
    for include in wanted:
        target = includes.get(path_of(include.href))
        if target is None:
            continue
        try:
            picked = select(target, include)
        except ValueError:
            continue  # Resolve has told it.
        for part in picked:
            if isinstance(part, Suite):
                yield from (item for item in part.items if not isinstance(item, Include))
            elif not isinstance(part, Include):
                yield part


def of_kind(items: Iterable[Item], kind: type[T]) -> Iterator[T]:
    """Yield the items of one kind."""
    for item in items:
        if isinstance(item, kind):
            yield item


def shown(term: str) -> str:
    """Return a term as it may stand in a line of text: visible characters, at most 80."""
    text = " ".join(clean(term).split())
    return (text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…") or "(no visible name)"


def place(item: Item, member: str = "", kind: str = "property") -> str:
    """Return what a finding calls an item, or its member of that kind."""
    if member:
        return f"{kind} {shown(member)} of {shown(_name(item))}"
    return f"{_kind(item)} {shown(_name(item))}"


def _name(item: Item) -> str:
    if isinstance(item, Include):
        return item.href
    return item.name or item.extends if isinstance(item, SdefClass) else item.name


def _kind(item: Item) -> str:
    if isinstance(item, SdefCommand):
        return "event" if item.event else "command"
    if isinstance(item, SdefClass):
        return "class"
    if isinstance(item, Enumeration):
        return "enumeration"
    if isinstance(item, RecordType):
        return "record type"
    return "value type" if isinstance(item, ValueType) else "include"


def properties_of(items: Iterable[Item]) -> Iterator[tuple[SdefClass | RecordType, SdefProperty]]:
    """Yield (owner, property) for classes, extensions and record types."""
    for item in items:
        if isinstance(item, SdefClass | RecordType):
            for prop in item.properties:
                yield item, prop


def elements_of(items: Iterable[Item]) -> Iterator[tuple[SdefClass, SdefElement]]:
    """Yield (owner, element)."""
    for row in of_kind(items, SdefClass):
        for element in row.elements:
            yield row, element


def uses(items: Iterable[Item]) -> Iterator[Use]:
    """Yield every place that has a type, in order."""
    for item in items:
        if isinstance(item, SdefCommand):
            if item.direct is not None:
                line = item.direct.line or item.line
                yield Use(line, f"direct parameter of {shown(item.name)}", item.direct.types)
            for one in item.parameters:
                yield Use(one.line, place(item, one.name, "parameter"), one.types)
            if item.result is not None:
                yield Use(item.line, f"result of {shown(item.name)}", item.result)
        elif isinstance(item, SdefClass | RecordType):
            for prop in item.properties:
                yield Use(prop.line, place(item, prop.name), prop.types)
            if isinstance(item, SdefClass) and item.values:
                yield Use(item.line, place(item), item.values)


def type_names(refs: Iterable[TypeRef]) -> Iterator[str]:
    """Yield the type names as written; unions and lists of the old form are taken apart."""
    for ref in refs:
        yield from type_names(ref.items)
        for part in ref.name.split("|"):
            name = part.strip()
            yield name
            if name.lower().startswith("list of "):
                yield name[8:].strip()


def places(facts: LintFacts) -> dict[int, list[str]]:
    """Return line -> what is declared there; the items of a snapshot are all on line 0."""
    found: dict[int, list[str]] = {}
    for line, label in _labels(facts.own):
        found.setdefault(line, []).append(label)
    return found


def _labels(items: Iterable[Item]) -> Iterator[tuple[int, str]]:
    for item in items:
        yield item.line, place(item)
        if isinstance(item, SdefCommand):
            for one in item.parameters:
                yield one.line, place(item, one.name, "parameter")
        elif isinstance(item, Enumeration):
            for value in item.enumerators:
                yield value.line, place(item, value.name, "enumerator")
        elif isinstance(item, SdefClass | RecordType):
            for prop in item.properties:
                yield prop.line, place(item, prop.name)
        if isinstance(item, SdefClass):
            for element in item.elements:
                yield element.line, place(item, element.type, "element")
