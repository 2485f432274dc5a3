"""Rules of lint about types, classes and what leads to them."""

from collections.abc import Iterable, Iterator
from typing import Final

from iac_gen.lint.facts import (
    LintFacts,
    LintHit,
    describe_place,
    elements_of,
    items_of_kind,
    make_hit,
    type_names,
    type_uses,
    visible_term,
)
from iac_gen.merge import APPLICATION
from iac_gen.model import (
    Declaration,
    Enumeration,
    RecordType,
    SdefClass,
    SdefCommand,
    TypeRef,
    ValueType,
)


def undefined_type(facts: LintFacts) -> Iterator[LintHit]:
    """Find type names that are declared nowhere, each at its first place with the count."""
    items = (*facts.own, *facts.taken)
    others = [i for i in items if isinstance(i, SdefClass | Enumeration | ValueType)]
    known = {synonym.name for item in others for synonym in item.synonyms}
    # An enumeration without values is declared, though nothing can be made of it.
    known |= {name for row in items_of_kind(items, Enumeration) for name in (row.name, row.code)}
    first: dict[str, tuple[int, str]] = {}
    count: dict[str, int] = {}
    for use in type_uses(facts.own):
        facts.types.unknown.clear()
        facts.types.type_string(use.types)
        for name in sorted(facts.types.unknown - known):
            first.setdefault(name, (use.line, use.place))
            count[name] = count.get(name, 0) + 1
    for name, (line, where) in first.items():
        # Where there is no name at all, the rule missing-type says it.
        if name:
            more = f" (in {count[name]} places)" if count[name] > 1 else ""
            text = f"has the type {visible_term(name)}, which is declared nowhere{more}"
            yield LintHit(line, where, text)


def missing_type(facts: LintFacts) -> Iterator[LintHit]:
    """Find properties, parameters and results that give no type, and types without a name."""
    for use in type_uses(facts.own):
        if not use.types or any(not ref.name and not ref.items for ref in _nested_types(use.types)):
            text = "declares no type"
            yield LintHit(use.line, use.place, text)


def _nested_types(refs: Iterable[TypeRef]) -> Iterator[TypeRef]:
    for ref in refs:
        yield ref
        yield from _nested_types(ref.items)


def undefined_superclass(facts: LintFacts) -> Iterator[LintHit]:
    """Find classes that inherit from a class that nobody declares."""
    for row in items_of_kind(facts.own, SdefClass):
        if row.inherits and row.inherits not in facts.classes:
            yield make_hit(
                row, f"inherits from {visible_term(row.inherits)}, which is declared nowhere"
            )


def undefined_element(facts: LintFacts) -> Iterator[LintHit]:
    """Find elements of a class that nobody declares."""
    made = {row.name for row in facts.resolved.classes}
    for row, element in elements_of(facts.own):
        if element.type not in facts.classes:
            text = "Such elements cannot be listed or counted."
            if element.type in made:
                text = "IAC uses a class without properties instead."
            yield make_hit(row, "belongs to a class that is declared nowhere", text, element)


def undefined_extension(facts: LintFacts) -> Iterator[LintHit]:
    """Find extensions of a class that nobody declares."""
    made = {row.name for row in facts.resolved.classes}
    for row in items_of_kind(facts.own, SdefClass):
        if row.extends and row.extends not in facts.classes:
            text = "The properties and elements of the extension are left out."
            if row.extends in made:
                text = "The class consists only of its extensions."
            yield make_hit(row, "is extended but declared nowhere", text)


def no_application(facts: LintFacts) -> Iterator[LintHit]:
    """Find dictionaries of an app with classes and no class application."""
    extended = any(row.extends == APPLICATION for row in items_of_kind(facts.own, SdefClass))
    if facts.source.kind != "application" or not facts.classes or extended:
        return
    if APPLICATION not in facts.classes:
        yield LintHit(0, "dictionary", "has classes, but no class application")


def unknown_command(facts: LintFacts) -> Iterator[LintHit]:
    """Find `responds-to` with a command that nobody declares."""
    known = {
        name
        for c in items_of_kind((*facts.own, *facts.taken), SdefCommand)
        for name in (c.name, c.id)
    }
    for row in items_of_kind(facts.own, SdefClass):
        for verb in dict.fromkeys(row.responds_to):
            if verb not in known:
                yield make_hit(row, f"responds to {visible_term(verb)}, which no command declares")


def required_after_optional(facts: LintFacts) -> Iterator[LintHit]:
    """Find required parameters that stand behind an optional one."""
    for command in items_of_kind(facts.own, SdefCommand):
        optional = command.direct is not None and command.direct.optional
        for one in command.parameters:
            if optional and not one.optional:
                yield make_hit(
                    command, "is required, but follows an optional parameter", member=one
                )
            optional = optional or one.optional


def empty_enumeration(facts: LintFacts) -> Iterator[LintHit]:
    """Find enumerations without a value."""
    for row in items_of_kind(facts.own, Enumeration):
        if not row.enumerators:
            yield make_hit(row, "has no values")


def unreachable_class(facts: LintFacts) -> Iterator[LintHit]:
    """Find visible classes that nothing leads to from the application or a command.

    Elements, properties, parameters, results, superclasses and subclasses lead on. A
    dictionary whose application holds nothing and which has no commands is a library of
    suites: there, nothing is said.
    """
    rows = {row.name: row for row in facts.resolved.classes}
    start = rows.get(APPLICATION)
    commands = [*facts.resolved.commands, *facts.resolved.events]
    if not commands and (start is None or not (start.elements or start.properties)):
        return
    subclasses: dict[str, list[str]] = {}
    for row in rows.values():
        subclasses.setdefault(row.inherits, []).append(row.name)
    reached: set[str] = set()
    waiting = [APPLICATION, *_reachable_classes(facts, commands)]
    while waiting:
        name = waiting.pop()
        found = rows.get(name)
        if found is None or name in reached:
            continue
        reached.add(name)
        waiting += [found.inherits, *subclasses.get(name, ())]
        waiting += [element.type for element in found.elements]
        waiting += _reachable_classes(facts, [found])
    lines = {row.name: row.line for row in items_of_kind(facts.own, SdefClass) if row.name}
    for name, row in rows.items():
        if name in lines and name not in reached and not row.hidden:
            yield LintHit(
                lines[name],
                describe_place(row),
                "cannot be reached from the application or a command",
            )


def _reachable_classes(facts: LintFacts, items: Iterable[Declaration]) -> list[str]:
    """Return the classes that the types of `items` name, those in the fields of records too."""
    found: list[str] = []
    records: set[str] = set()
    waiting = list(items)
    while waiting:
        for use in type_uses([waiting.pop()]):
            for part in facts.types.type_string(use.types).split(" | "):
                name = part.removeprefix("list of ")
                found.append(name)
                if name in facts.types.records and name not in records:
                    records.add(name)
                    waiting.append(facts.types.records[name])
    return found


def unused_enumeration(facts: LintFacts) -> Iterator[LintHit]:
    """Find visible enumerations that no type names."""
    return _unused_types(facts, items_of_kind(facts.own, Enumeration))


def unused_record_type(facts: LintFacts) -> Iterator[LintHit]:
    """Find visible record types that no type names."""
    return _unused_types(facts, items_of_kind(facts.own, RecordType))


def unused_value_type(facts: LintFacts) -> Iterator[LintHit]:
    """Find visible value types that no type names."""
    return _unused_types(facts, items_of_kind(facts.own, ValueType))


def _unused_types(
    facts: LintFacts, rows: Iterable[Enumeration | RecordType | ValueType]
) -> Iterator[LintHit]:
    # What the includes bring may use it too.
    uses_of_all = type_uses((*facts.own, *facts.taken))
    used = {name for use in uses_of_all for name in type_names(use.types)}
    for row in rows:
        if not row.hidden and not used & {row.name, row.id, row.code}:
            yield make_hit(row, "is not used as a type")


TYPES: Final = (
    undefined_type, missing_type, undefined_superclass, undefined_element, undefined_extension,
    unknown_command, empty_enumeration, no_application, required_after_optional,
    unreachable_class, unused_enumeration, unused_record_type, unused_value_type,
)  # fmt: skip
