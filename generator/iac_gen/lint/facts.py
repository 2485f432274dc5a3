"""What the rules of lint share: what they look at, what they give, and how they name a place.

A rule is a function from `LintFacts` to `LintHit`s. It speaks of what the file itself declares;
what an include brings in is looked up and never judged.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

from iac_gen import model
from iac_gen.resolve import (
    IncludeMap,
    ResolvedDictionary,
    path_of_url,
    resolve_dictionary,
    select_included,
)
from iac_gen.text import clean_text
from iac_gen.types import AppTypes

T = TypeVar(
    "T", model.SdefClass, model.SdefCommand, model.Enumeration, model.RecordType, model.ValueType
)

_LONGEST = 80


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One fault or oddity of a dictionary.

    `line` is 1-based, 0 where the input has no lines (a snapshot). `place` names the term in
    plain characters; `consequence` says in one sentence what a user of the tools notices.
    """

    rule: str
    severity: model.Severity
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
    """What a rule found, before it has a name, a severity and a file.

    Without a consequence, that of the rule is meant.
    """

    line: int
    place: str
    message: str
    consequence: str = ""


@dataclass(frozen=True, slots=True)
class LintFacts:
    """All that a rule may look at.

    `own` are the items of the file in order, those of a hidden suite hidden; `taken` what its
    includes bring. `classes` maps the name, id, code and synonyms of every declared class to its
    name; classes that resolve makes up are not among them.
    """

    source: model.Source
    own: tuple[model.Declaration, ...]
    taken: tuple[model.Declaration, ...]
    classes: dict[str, str]
    resolved: ResolvedDictionary
    types: AppTypes
    diagnostics: tuple[model.Diagnostic, ...]

    @property
    def dictionary(self) -> model.Dictionary:
        return self.source.dictionary

    def own_classes(self) -> Iterator[model.SdefClass]:
        """Yield the merged classes that the file itself declares or extends."""
        mine = {
            self.classes.get(r.extends or r.name) for r in items_of_kind(self.own, model.SdefClass)
        }
        yield from (row for row in self.resolved.classes if row.name in mine)


Check: TypeAlias = Callable[[LintFacts], Iterable[LintHit]]


Member: TypeAlias = model.SdefParameter | model.Enumerator | model.SdefProperty | model.SdefElement


class DeclaredTerm(NamedTuple):
    """A term that is declared: its line, what a finding calls it, and the item that it is of."""

    line: int
    place: str
    part: model.Term
    owner: model.Declaration


class TypeUse(NamedTuple):
    """A place that has a type, and its alternatives as written."""

    line: int
    place: str
    types: tuple[model.TypeRef, ...]


def collect_facts(
    source: model.Source, includes: IncludeMap, read: Iterable[model.Diagnostic]
) -> LintFacts:
    """Return what the rules look at; `read` is what `load_dictionary` had to say."""
    resolved, merged = resolve_dictionary(source, includes)
    own = tuple(source.dictionary.own_items())
    taken = tuple(_included_items(source.dictionary, includes))
    classes: dict[str, str] = {}
    declared = [row for row in items_of_kind((*own, *taken), model.SdefClass) if row.name]
    for attribute in ("name", "id", "code"):
        for row in declared:
            if key := getattr(row, attribute):
                classes.setdefault(key, row.name)
    for row in declared:
        for synonym in row.synonyms:
            classes.setdefault(synonym.name or row.name, row.name)
    return LintFacts(
        source, own, taken, classes, resolved, AppTypes(resolved, {}), (*read, *merged)
    )


def _included_items(
    dictionary: model.Dictionary, includes: IncludeMap
) -> Iterator[model.Declaration]:
    wanted = [s for s in dictionary.suites if isinstance(s, model.Include)]
    wanted += [item for item in dictionary.declared_items() if isinstance(item, model.Include)]
    for include in wanted:
        target = includes.get(path_of_url(include.href))
        if target is None:
            continue
        try:
            picked = select_included(target, include)
        except ValueError:
            continue  # Resolve has told it.
        for part in picked:
            if isinstance(part, model.Suite):
                yield from (item for item in part.items if not isinstance(item, model.Include))
            elif not isinstance(part, model.Include):
                yield part


def items_of_kind(items: Iterable[model.Declaration], kind: type[T]) -> Iterator[T]:
    """Yield the items of one kind."""
    for item in items:
        if isinstance(item, kind):
            yield item


def visible_term(term: str) -> str:
    """Return a term as it may stand in a line of text: visible characters, at most 80."""
    text = " ".join(clean_text(term).split())
    return (text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…") or "(no visible name)"


def describe_place(item: model.Declaration, member: str = "", kind: str = "property") -> str:
    """Return what a finding calls an item, or its member of that kind."""
    if member:
        return f"{kind} {visible_term(member)} of {visible_term(item_name(item))}"
    word = (
        "event" if isinstance(item, model.SdefCommand) and item.event else model.KINDS[type(item)]
    )
    return f"{word} {visible_term(item_name(item))}"


def make_hit(
    item: model.Declaration, message: str, consequence: str = "", member: Member | None = None
) -> LintHit:
    """Return what was found of an item, or of a member of it."""
    if member is None:
        return LintHit(item.line, describe_place(item), message, consequence)
    name = member.type if isinstance(member, model.SdefElement) else member.name
    return LintHit(
        member.line, describe_place(item, name, model.KINDS[type(member)]), message, consequence
    )


def item_name(item: model.Declaration) -> str:
    """Return the name of an item; of an extension, that of its class."""
    return item.name or item.extends if isinstance(item, model.SdefClass) else item.name


def declared_terms(items: Iterable[model.Declaration]) -> Iterator[DeclaredTerm]:
    """Yield every term: the members of an item, then the item."""
    for item in items:
        if isinstance(item, model.SdefCommand) and (one := item.direct) is not None:
            where = f"direct parameter of {visible_term(item.name)}"
            yield DeclaredTerm(one.line or item.line, where, one, item)
        members = ("parameters", "enumerators", "properties", "elements")
        for part in (part for slot in members for part in getattr(item, slot, ())):
            name = part.type if isinstance(part, model.SdefElement) else part.name
            yield DeclaredTerm(
                part.line, describe_place(item, name, model.KINDS[type(part)]), part, item
            )
        yield DeclaredTerm(item.line, describe_place(item), item, item)


def properties_of(
    items: Iterable[model.Declaration],
) -> Iterator[tuple[model.SdefClass | model.RecordType, model.SdefProperty]]:
    """Yield (owner, property) for classes, extensions and record types."""
    for item in items:
        if isinstance(item, model.SdefClass | model.RecordType):
            for prop in item.properties:
                yield item, prop


def elements_of(
    items: Iterable[model.Declaration],
) -> Iterator[tuple[model.SdefClass, model.SdefElement]]:
    """Yield (owner, element)."""
    for row in items_of_kind(items, model.SdefClass):
        for element in row.elements:
            yield row, element


def type_uses(items: Iterable[model.Declaration]) -> Iterator[TypeUse]:
    """Yield every place that has a type, in order."""
    for line, where, part, _ in declared_terms(items):
        if isinstance(part, model.SdefParameter | model.SdefProperty):
            yield TypeUse(line, where, part.types)
        elif isinstance(part, model.SdefCommand) and part.result is not None:
            yield TypeUse(line, f"result of {visible_term(part.name)}", part.result)
        elif isinstance(part, model.SdefClass) and part.values:
            yield TypeUse(line, where, part.values)


def type_names(refs: Iterable[model.TypeRef]) -> Iterator[str]:
    """Yield the type names as written; unions and lists of the old form are taken apart."""
    for ref in refs:
        yield from type_names(ref.items)
        for part in ref.name.split("|"):
            name = part.strip()
            yield name
            if name.lower().startswith("list of "):
                yield name[8:].strip()


def places_by_line(facts: LintFacts) -> dict[int, list[str]]:
    """Return line -> what is declared there; the items of a snapshot are all on line 0."""
    places: dict[int, list[str]] = {}
    for line, label, part, _ in declared_terms(facts.own):
        if not isinstance(part, model.SdefParameter) or part.name:
            places.setdefault(line, []).append(label)
    return places
