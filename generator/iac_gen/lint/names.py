"""Rules of lint about names: clashes, reserved words, plurals, characters.

What JavaScript makes of a name follows `naming.jxa`; only a Mac can confirm it.
"""

import keyword
import re
from collections.abc import Iterable, Iterator
from typing import Final

from iac_gen import naming
from iac_gen.lint.facts import (
    LintFacts,
    LintHit,
    declared_terms,
    describe_place,
    elements_of,
    items_of_kind,
    make_hit,
    properties_of,
    visible_term,
)
from iac_gen.model import (
    KINDS,
    Enumeration,
    Part,
    RecordType,
    SdefClass,
    SdefCommand,
    SdefParameter,
    SdefProperty,
    Suite,
    ValueType,
)
from iac_gen.text import clean_text
from iac_runtime.types import TYPES

# Members that every JavaScript function or object has. `name`, `id` and `class` are not among
# them here: scripts that read them work.
_OBJECT: Final = frozenset(
    "apply arguments bind call caller constructor hasOwnProperty isPrototypeOf length"
    " propertyIsEnumerable prototype toLocaleString toString valueOf".split()
)
# Members of a collection or a specifier in JavaScript for Automation.
_SPECIFIER: Final = frozenset(
    "at beginning byId byName end exists first get last make push set where whose".split()
)
_IRREGULAR: Final = re.compile(r"(s|x|z|ch|sh|[^aeiou\W\d_]y)\Z", re.IGNORECASE)


def member_clash(facts: LintFacts) -> Iterator[LintHit]:
    """Find properties of a class that share a term, or a JavaScript name, with an element."""
    plurals = {
        row.name: naming.class_plural(row.name, row.plural) for row in facts.resolved.classes
    }
    mine = {prop.name for _, prop in properties_of(facts.own)}
    mine |= {facts.classes.get(element.type, "") for _, element in elements_of(facts.own)}
    for row in facts.own_classes():
        terms = {element.type for element in row.elements}
        collections = {
            naming.javascript_name(plurals[term]): term for term in terms if term in plurals
        }
        for prop in row.properties:
            held = collections.get(naming.javascript_name(prop.name))
            if held is not None and mine & {prop.name, held}:
                text = f"has the same name in JavaScript as the elements {visible_term(held)}"
                yield make_hit(row, text, "A reference can reach only one of the two.", prop)
            elif prop.name in terms and prop.name in mine:
                text = "In a reference, the name means the property; its plural means the elements."
                yield make_hit(row, "is also the name of an element", text, prop)


def type_clash(facts: LintFacts) -> Iterator[LintHit]:
    """Find classes, enumerations, record types and value types of one name."""
    first: dict[str, str] = {}
    # The order in which a type's name is looked up.
    for kind in (RecordType, Enumeration, SdefClass, ValueType):
        for items, mine in ((facts.own, True), (facts.taken, False)):
            for item in items:
                if not isinstance(item, kind) or not item.name:
                    continue
                where = describe_place(item)
                known = first.setdefault(item.name, where)
                if known != where and mine:
                    # Simple types go before classes, as in `types`.
                    simple = item.name in TYPES and known == f"class {visible_term(item.name)}"
                    meant = f"the simple type {item.name}" if simple else known
                    text = f"has the same name as {known}"
                    yield LintHit(
                        item.line, where, text, f"Used as a type, the name means {meant}."
                    )


def command_clash(facts: LintFacts) -> Iterator[LintHit]:
    """Find commands that share their JavaScript name with a property."""
    properties: dict[str, str] = {}
    for row in facts.resolved.classes:
        for prop in row.properties:
            properties.setdefault(naming.javascript_name(prop.name), describe_place(row, prop.name))
    for command in _visible_commands(facts):
        known = properties.get(naming.javascript_name(command.name))
        if known:
            yield make_hit(command, f"has the same name in JavaScript as {known}")


def _visible_commands(facts: LintFacts) -> Iterator[SdefCommand]:
    """Yield the visible commands of the file, each name and code once."""
    seen: set[tuple[str, str]] = set()
    for command in items_of_kind(facts.own, SdefCommand):
        if not command.event and not command.hidden and (command.name, command.code) not in seen:
            seen.add((command.name, command.code))
            yield command


def identifier_clash(facts: LintFacts) -> Iterator[LintHit]:
    """Find different names that become one identifier."""
    commands = (
        (naming.function_name(c.name, c.code), c.name, c.line, describe_place(c))
        for c in _visible_commands(facts)
    )
    yield from _name_collisions(
        commands, "Python", "A number is added to the name of the second tool."
    )
    for command in _visible_commands(facts):
        rows = (
            (
                naming.parameter_key(one.name, one.code),
                one.name,
                one.line,
                describe_place(command, one.name, "parameter"),
            )
            for one in command.parameters
        )
        yield from _name_collisions(
            rows, "Python", "A number is added to the name of the second parameter."
        )
    mine = {prop.name for _, prop in properties_of(facts.own)}
    for row in facts.own_classes():
        rows = (
            (naming.javascript_name(p.name), p.name, p.line, describe_place(row, p.name))
            for p in row.properties
            if p.name in mine
        )
        yield from _name_collisions(
            rows, "JavaScript", "A reference can reach only one of the two."
        )


def _name_collisions(
    rows: Iterable[tuple[str, str, int, str]], language: str, consequence: str
) -> Iterator[LintHit]:
    """Find rows of (spelling, name, line, place) with one spelling of two names."""
    first: dict[str, str] = {}
    for spelling, name, line, where in rows:
        known = first.setdefault(spelling, name)
        if known != name:
            text = (
                f"becomes {visible_term(spelling)} in {language}, and so does {visible_term(known)}"
            )
            yield LintHit(line, where, text, consequence)


def python_keyword(facts: LintFacts) -> Iterator[LintHit]:
    """Find commands and parameters whose name is a Python keyword."""
    for command in _visible_commands(facts):
        for member in (None, *command.parameters):
            if keyword.iskeyword(name := naming.snake_case((member or command).name)):
                yield make_hit(
                    command, "is a Python keyword", f"In Python it is written {name}_.", member
                )


def javascript_member(facts: LintFacts) -> Iterator[LintHit]:
    """Find properties, elements and commands named as what every JavaScript object has.

    That the built-in member wins was inferred, not seen; only a Mac can confirm it.
    """
    for owner, prop in properties_of(facts.own):
        # A field of a record is a key of a plain object.
        if (
            isinstance(owner, SdefClass)
            and (name := naming.javascript_name(prop.name)) in _OBJECT | _SPECIFIER
        ):
            text = f"becomes {name} in JavaScript, a member that every object has"
            yield make_hit(owner, text, member=prop)
    held = {facts.classes.get(element.type) for _, element in elements_of(facts.own)}
    for row in facts.own_classes():
        name = naming.javascript_name(naming.class_plural(row.name, row.plural))
        if row.name in held and name in _OBJECT | _SPECIFIER:
            text = f"has the plural {name}, in JavaScript a member that every object has"
            yield make_hit(row, text)
    for command in _visible_commands(facts):
        if (name := naming.javascript_name(command.name)) in _OBJECT:
            text = f"becomes {name} in JavaScript, a member that every function has"
            yield make_hit(command, text)


def missing_plural(facts: LintFacts) -> Iterator[LintHit]:
    """Find classes that are contained somewhere and whose plural is not their name with an s."""
    held = {element.type for row in facts.resolved.classes for element in row.elements}
    lines = {row.name: row.line for row in items_of_kind(facts.own, SdefClass) if row.name}
    for row in facts.own_classes():
        contained = row.name in lines and row.name in held
        if contained and not row.plural and _IRREGULAR.search(row.name):
            yield LintHit(
                lines[row.name],
                describe_place(row),
                "is an element of another class, but declares no plural",
                "A reference uses"
                f" {visible_term(naming.class_plural(row.name, ''))} as its plural.",
            )


def unverified_name(facts: LintFacts) -> Iterator[LintHit]:
    """Find terms whose name in JavaScript is not certain, each once for its kind."""
    seen: set[tuple[str, str]] = set()
    for kind, name, line, where in _scripted_terms(facts):
        if not naming.has_verified_name(name) and (kind, name) not in seen:
            seen.add((kind, name))
            spelled = visible_term(naming.javascript_name(name))
            text = f"is probably, but not certainly, {spelled} in JavaScript"
            yield LintHit(line, where, text)


def _scripted_terms(facts: LintFacts) -> Iterator[tuple[str, str, int, str]]:
    """Yield (kind, name, line, place) of the terms that a script spells in JavaScript."""
    commands = {id(command) for command in _visible_commands(facts)}
    for line, where, part, owner in declared_terms(facts.own):
        if isinstance(owner, SdefCommand) and id(owner) not in commands:
            continue
        if isinstance(part, SdefCommand | SdefParameter | SdefClass | SdefProperty) and part.name:
            yield KINDS[type(part)], part.name, line, where


def hidden_characters(facts: LintFacts) -> Iterator[LintHit]:
    """Find invisible, control, bidirectional and tag characters in names and descriptions."""
    for what, text, line, where in _file_texts(facts):
        if text.isascii() and text.isprintable():
            continue
        found = sorted({ch for ch in text if ch not in "\t\n\r" and not clean_text(ch)})
        if found:
            listed = ", ".join(f"U+{ord(ch):04X}" for ch in found[:5])
            yield LintHit(line, where, f"has invisible characters in its {what} ({listed})")


def _file_texts(facts: LintFacts) -> Iterator[tuple[str, str, int, str]]:
    """Yield (what, text, line, place) for every text of the file."""
    yield "title", facts.dictionary.title, 0, "dictionary"
    parts: list[tuple[int, str, Part]] = [row[:3] for row in declared_terms(facts.own)]
    suites = [one for one in facts.dictionary.suites if isinstance(one, Suite)]
    parts += [(suite.line, f"suite {visible_term(suite.name)}", suite) for suite in suites]
    for line, where, part in parts:
        for what in ("name", "description", "plural"):
            yield what, getattr(part, what, ""), line, where


NAMES: Final = (
    member_clash, type_clash, command_clash, identifier_clash, javascript_member,
    hidden_characters, python_keyword, missing_plural, unverified_name,
)  # fmt: skip
