"""Lint: findings about a dictionary itself, each with a consequence for users of its tools.

An error is something that is lost, a warning something that may mislead, a note something that
real dictionaries do and that is worth knowing. What JavaScript makes of a name follows
`naming.javascript_name`; only a Mac can confirm it. A code is no key in real dictionaries: many
codes have several names, and names several codes. It is a fault where one value can then not be
told from another.
"""

import keyword
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib.resources import files
from typing import Any, Final, NamedTuple, TypeVar, get_args

from iac_gen import model, naming
from iac_gen.lint.facts import (
    Check,
    LintFacts,
    LintFinding,
    LintHit,
    collect_facts,
    declared_terms,
    describe_place,
    elements_of,
    item_name,
    items_of_kind,
    make_hit,
    places_by_line,
    properties_of,
    type_names,
    type_uses,
    visible_term,
)
from iac_gen.merge import APPLICATION
from iac_gen.model import Diagnostic, Severity, Source, Suite
from iac_gen.resolve import IncludeMap
from iac_gen.text import clean_text
from iac_runtime.types import TYPES

T = TypeVar("T", model.Enumerator, model.SdefProperty)
NamedType = TypeVar("NamedType", model.Enumeration, model.RecordType, model.ValueType)


def undefined_type(facts: LintFacts) -> Iterator[LintHit]:
    """Find type names that are declared nowhere, each at its first place with the count."""
    items = (*facts.own, *facts.taken)
    known = {
        synonym.name
        for item in items
        if isinstance(item, model.SdefClass | model.Enumeration | model.ValueType)
        for synonym in item.synonyms
    }
    # An enumeration without values is declared, though nothing can be made of it.
    empty = items_of_kind(items, model.Enumeration)
    known |= {name for row in empty for name in (row.name, row.code)}
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
            yield LintHit(use.line, use.place, "declares no type")


def _nested_types(refs: Iterable[model.TypeRef]) -> Iterator[model.TypeRef]:
    for ref in refs:
        yield ref
        yield from _nested_types(ref.items)


def undefined_superclass(facts: LintFacts) -> Iterator[LintHit]:
    """Find classes that inherit from a class that nobody declares."""
    for row in items_of_kind(facts.own, model.SdefClass):
        if row.inherits and row.inherits not in facts.classes:
            text = f"inherits from {visible_term(row.inherits)}, which is declared nowhere"
            yield make_hit(row, text)


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
    for row in items_of_kind(facts.own, model.SdefClass):
        if row.extends and row.extends not in facts.classes:
            text = "The class consists only of its extensions."
            yield make_hit(row, "is extended but declared nowhere", text)


def no_application(facts: LintFacts) -> Iterator[LintHit]:
    """Find dictionaries of an app with classes and no class application."""
    extended = any(row.extends == APPLICATION for row in items_of_kind(facts.own, model.SdefClass))
    if facts.source.kind != "application" or not facts.classes or extended:
        return
    if APPLICATION not in facts.classes:
        yield LintHit(0, "dictionary", "has classes, but no class application")


def unknown_command(facts: LintFacts) -> Iterator[LintHit]:
    """Find `responds-to` with a command that nobody declares."""
    known = {
        name
        for c in items_of_kind((*facts.own, *facts.taken), model.SdefCommand)
        for name in (c.name, c.id)
    }
    for row in items_of_kind(facts.own, model.SdefClass):
        for verb in dict.fromkeys(row.responds_to):
            if verb not in known:
                yield make_hit(row, f"responds to {visible_term(verb)}, which no command declares")


def required_after_optional(facts: LintFacts) -> Iterator[LintHit]:
    """Find required parameters that stand behind an optional one."""
    for command in items_of_kind(facts.own, model.SdefCommand):
        optional = command.direct is not None and command.direct.optional
        for one in command.parameters:
            if optional and not one.optional:
                text = "is required, but follows an optional parameter"
                yield make_hit(command, text, member=one)
            optional = optional or one.optional


def empty_enumeration(facts: LintFacts) -> Iterator[LintHit]:
    """Find enumerations without a value."""
    for row in items_of_kind(facts.own, model.Enumeration):
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
        row_of_name = rows.get(name)
        if row_of_name is None or name in reached:
            continue
        reached.add(name)
        waiting += [row_of_name.inherits, *subclasses.get(name, ())]
        waiting += [element.type for element in row_of_name.elements]
        waiting += _reachable_classes(facts, [row_of_name])
    lines = {row.name: row.line for row in items_of_kind(facts.own, model.SdefClass) if row.name}
    for name, row in rows.items():
        if name in lines and name not in reached and not row.hidden:
            where = describe_place(row)
            yield LintHit(lines[name], where, "cannot be reached from the application or a command")


def _reachable_classes(facts: LintFacts, items: Iterable[model.Declaration]) -> list[str]:
    """Return the classes that the types of `items` name, those in the fields of records too."""
    names: list[str] = []
    records: set[str] = set()
    waiting = list(items)
    while waiting:
        for use in type_uses([waiting.pop()]):
            for part in facts.types.type_string(use.types).split(" | "):
                name = part.removeprefix("list of ")
                names.append(name)
                if name in facts.types.records and name not in records:
                    records.add(name)
                    waiting.append(facts.types.records[name])
    return names


def _unused_types(kind: type[NamedType], facts: LintFacts) -> Iterator[LintHit]:
    """Find visible types of one kind that no type names."""
    # What the includes bring may use it too.
    uses_of_all = type_uses((*facts.own, *facts.taken))
    used = {name for use in uses_of_all for name in type_names(use.types)}
    for row in items_of_kind(facts.own, kind):
        if not row.hidden and not used & {row.name, row.id, row.code}:
            yield make_hit(row, "is not used as a type")


unused_enumeration = partial(_unused_types, model.Enumeration)
unused_record_type = partial(_unused_types, model.RecordType)
unused_value_type = partial(_unused_types, model.ValueType)


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
            known = collections.get(naming.javascript_name(prop.name))
            if known is not None and mine & {prop.name, known}:
                text = f"has the same name in JavaScript as the elements {visible_term(known)}"
                yield make_hit(row, text, "A reference can reach only one of the two.", prop)
            elif prop.name in terms and prop.name in mine:
                text = "In a reference, the name means the property; its plural means the elements."
                yield make_hit(row, "is also the name of an element", text, prop)


def type_clash(facts: LintFacts) -> Iterator[LintHit]:
    """Find classes, enumerations, record types and value types of one name."""
    first: dict[str, str] = {}
    # The order in which a type's name is looked up.
    for kind in (model.RecordType, model.Enumeration, model.SdefClass, model.ValueType):
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
                    means = f"Used as a type, the name means {meant}."
                    yield LintHit(item.line, where, f"has the same name as {known}", means)


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


def _visible_commands(facts: LintFacts) -> Iterator[model.SdefCommand]:
    """Yield the visible commands of the file, each name and code once."""
    seen: set[tuple[str, str]] = set()
    for command in items_of_kind(facts.own, model.SdefCommand):
        if not command.event and not command.hidden and (command.name, command.code) not in seen:
            seen.add((command.name, command.code))
            yield command


def identifier_clash(facts: LintFacts) -> Iterator[LintHit]:
    """Find different names that become one identifier."""
    rows: Iterable[tuple[str, model.Described, str]] = (
        (naming.function_name(one.name, one.code), one, describe_place(one))
        for one in _visible_commands(facts)
    )
    number = "A number is added to the name of the second tool."
    yield from _name_collisions(rows, "Python", number)
    for command in _visible_commands(facts):
        rows = (
            (naming.parameter_key(p.name, p.code), p, describe_place(command, p.name, "parameter"))
            for p in command.parameters
        )
        number = "A number is added to the name of the second parameter."
        yield from _name_collisions(rows, "Python", number)
    mine = {prop.name for _, prop in properties_of(facts.own)}
    for row in facts.own_classes():
        rows = (
            (naming.javascript_name(p.name), p, describe_place(row, p.name))
            for p in row.properties
            if p.name in mine
        )
        yield from _name_collisions(
            rows, "JavaScript", "A reference can reach only one of the two."
        )


def _name_collisions(
    rows: Iterable[tuple[str, model.Described, str]], language: str, consequence: str
) -> Iterator[LintHit]:
    """Find rows of (spelling, term, place) with one spelling of two names."""
    first: dict[str, str] = {}
    for spelling, term, where in rows:
        known = first.setdefault(spelling, term.name)
        if known != term.name:
            text = f"becomes {visible_term(spelling)} in {language}, and so does"
            yield LintHit(term.line, where, f"{text} {visible_term(known)}", consequence)


def python_keyword(facts: LintFacts) -> Iterator[LintHit]:
    """Find commands and parameters whose name is a Python keyword."""
    for command in _visible_commands(facts):
        for member in (None, *command.parameters):
            if keyword.iskeyword(name := naming.snake_case((member or command).name)):
                text = f"In Python it is written {name}_."
                yield make_hit(command, "is a Python keyword", text, member)


def javascript_member(facts: LintFacts) -> Iterator[LintHit]:
    """Find properties, elements and commands named as what every JavaScript object has.

    That the built-in member wins was inferred, not seen; only a Mac can confirm it.
    """
    for owner, prop in properties_of(facts.own):
        # A field of a record is a key of a plain object.
        if (
            isinstance(owner, model.SdefClass)
            and (name := naming.javascript_name(prop.name)) in _OBJECT | _SPECIFIER
        ):
            text = f"becomes {name} in JavaScript, a member that every object has"
            yield make_hit(owner, text, member=prop)
    contained = {facts.classes.get(element.type) for _, element in elements_of(facts.own)}
    for row in facts.own_classes():
        name = naming.javascript_name(naming.class_plural(row.name, row.plural))
        if row.name in contained and name in _OBJECT | _SPECIFIER:
            text = f"has the plural {name}, in JavaScript a member that every object has"
            yield make_hit(row, text)
    for command in _visible_commands(facts):
        if (name := naming.javascript_name(command.name)) in _OBJECT:
            text = f"becomes {name} in JavaScript, a member that every function has"
            yield make_hit(command, text)


def missing_plural(facts: LintFacts) -> Iterator[LintHit]:
    """Find classes that are contained somewhere and whose plural is not their name with an s."""
    elements = {element.type for row in facts.resolved.classes for element in row.elements}
    lines = {row.name: row.line for row in items_of_kind(facts.own, model.SdefClass) if row.name}
    for row in facts.own_classes():
        contained = row.name in lines and row.name in elements
        if contained and not row.plural and _IRREGULAR.search(row.name):
            line, where = lines[row.name], describe_place(row)
            plural = visible_term(naming.class_plural(row.name, ""))
            means = f"A reference uses {plural} as its plural."
            yield LintHit(
                line, where, "is an element of another class, but declares no plural", means
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


_SCRIPTED: Final = (model.SdefCommand, model.SdefParameter, model.SdefClass, model.SdefProperty)


def _scripted_terms(facts: LintFacts) -> Iterator[tuple[str, str, int, str]]:
    """Yield (kind, name, line, place) of the terms that a script spells in JavaScript."""
    commands = {id(command) for command in _visible_commands(facts)}
    for line, where, part, owner in declared_terms(facts.own):
        if isinstance(owner, model.SdefCommand) and id(owner) not in commands:
            continue
        if isinstance(part, _SCRIPTED) and part.name:
            yield model.KINDS[type(part)], part.name, line, where


def hidden_characters(facts: LintFacts) -> Iterator[LintHit]:
    """Find invisible, control, bidirectional and tag characters in names and descriptions."""
    for what, text, line, where in _file_texts(facts):
        if text.isascii() and text.isprintable():
            continue
        hidden = sorted({ch for ch in text if ch not in "\t\n\r" and not clean_text(ch)})
        if hidden:
            listed = ", ".join(f"U+{ord(ch):04X}" for ch in hidden[:5])
            yield LintHit(line, where, f"has invisible characters in its {what} ({listed})")


def _file_texts(facts: LintFacts) -> Iterator[tuple[str, str, int, str]]:
    """Yield (what, text, line, place) for every text of the file."""
    yield "title", facts.dictionary.title, 0, "dictionary"
    parts: list[tuple[int, str, model.Part]] = [row[:3] for row in declared_terms(facts.own)]
    suites = [one for one in facts.dictionary.suites if isinstance(one, model.Suite)]
    parts += [(suite.line, f"suite {visible_term(suite.name)}", suite) for suite in suites]
    for line, where, part in parts:
        for what in ("name", "description", "plural"):
            yield what, getattr(part, what, ""), line, where


def is_written_code(code: str, size: int) -> bool:
    """Say whether `code` is `size` characters of MacRoman, or that many bytes in hex.

    Source: sdef(5), "code".
    """
    if code.lower().startswith("0x") and len(code) == 2 + 2 * size:
        return all(ch in "0123456789abcdef" for ch in code[2:].lower())
    return model.is_code(code, size)


class _ScopedTerm(NamedTuple):
    kind: str
    name: str
    code: str
    line: int
    place: str
    owner: str


_SHARED: Final = {
    "class": "An object of one class may be returned under the name of the other.",
    "command": "Both tools send the same event.",
    "enumeration": "A type that is given by this code means only one of the two enumerations.",
    "property": "A result with this code may be shown under either name.",
    "record type": "A record of one type may be returned under the name of the other.",
    "value type": "For the app, the two types are the same.",
}


def _scoped_terms(facts: LintFacts) -> Iterator[_ScopedTerm]:
    """Yield the terms of the file itself that have a code of their own and a scope beyond one."""
    for line, where, part, owner in declared_terms(facts.own):
        if isinstance(part, model.SdefParameter | model.SdefElement) or not part.name:
            continue
        if not (isinstance(part, model.SdefCommand) and part.event):
            name = "" if part is owner else item_name(owner)
            yield _ScopedTerm(model.KINDS[type(part)], part.name, part.code, line, where, name)


def shared_code(facts: LintFacts) -> Iterator[LintHit]:
    """Find the second and further names of one code, where the kind has one scope.

    Enumerators of different enumerations are left alone: the type says which is meant.
    """
    first: dict[tuple[str, str], _ScopedTerm] = {}
    seen: set[tuple[str, str, str]] = set()
    for term in _scoped_terms(facts):
        if term.kind not in _SHARED or not term.code:
            continue
        known = first.setdefault((term.kind, term.code), term)
        key = (term.kind, term.code, term.name)
        inside = term.kind == "property" and known.owner == term.owner
        if known.name == term.name or key in seen or inside:
            continue
        seen.add(key)
        text = f"has the same code {term.code!r} as {known.place}"
        yield LintHit(term.line, term.place, text, _SHARED[term.kind])


def several_codes(facts: LintFacts) -> Iterator[LintHit]:
    """Find names that have another code than where they were declared first."""
    first: dict[tuple[str, str], _ScopedTerm] = {}
    seen: set[tuple[str, str, str]] = set()
    for term in _scoped_terms(facts):
        if term.kind == "command":
            continue  # Resolve tells it of commands.
        known = first.setdefault((term.kind, term.name), term)
        key = (term.kind, term.name, term.code)
        if known.code == term.code or key in seen:
            continue
        seen.add(key)
        text = f"has the code {term.code!r}, but {known.place} has {known.code!r}"
        if known.place == term.place:
            text = f"has the code {term.code!r} and also {known.code!r}"
        consequence = f"A script that names the {term.kind} may send the other code."
        yield LintHit(term.line, term.place, text, consequence)


def duplicate_code(facts: LintFacts) -> Iterator[LintHit]:
    """Find two enumerators of an enumeration, or properties of a class, with one code."""
    for row in items_of_kind(facts.own, model.Enumeration):
        for value, text in _rows_with_same_code(row.enumerators):
            yield make_hit(row, text, "In a result, the two values cannot be told apart.", value)
    mine = {(prop.name, prop.code) for _, prop in properties_of(facts.own)}
    owners: list[model.SdefClass | model.RecordType] = [
        *facts.own_classes(),
        *items_of_kind(facts.own, model.RecordType),
    ]
    for merged in owners:
        declared_here = [p for p in merged.properties if (p.name, p.code) in mine]
        for prop, text in _rows_with_same_code(declared_here):
            yield make_hit(merged, text, "Both names read and set the same value.", prop)


def _rows_with_same_code(rows: Iterable[T]) -> Iterator[tuple[T, str]]:
    """Yield the rows whose code is that of one before, and what to say of it."""
    first: dict[str, str] = {}
    for row in rows:
        other = first.setdefault(row.code, row.name)
        if other != row.name:
            yield row, f"has the same code {row.code!r} as {visible_term(other)}"


def duplicate_parameter(facts: LintFacts) -> Iterator[LintHit]:
    """Find parameters of a command that share a name or a code, not both (that is a union)."""
    for command in items_of_kind(facts.own, model.SdefCommand):
        names: dict[str, str] = {}
        codes: dict[str, str] = {}
        for one in command.parameters:
            code = names.setdefault(one.name, one.code)
            name = codes.setdefault(one.code, one.name)
            if code != one.code:
                text = f"has the code {one.code!r} and also {code!r}"
                only = "Two parameters have this name; a script that uses it sets only one of them."
                yield make_hit(command, text, only, one)
            elif name != one.name:
                text = f"has the same code {one.code!r} as parameter {visible_term(name)}"
                both = "For the app, both are the same parameter. Give only one of them."
                yield make_hit(command, text, both, one)


def unsound_code(facts: LintFacts) -> Iterator[LintHit]:
    """Find codes of a snapshot that are none; of XML, load has told and left them out."""
    for line, where, part, _ in declared_terms(facts.own):
        size = 8 if isinstance(part, model.SdefCommand) else 4
        # An extension has no code, nor has an element.
        if isinstance(part, model.SdefElement) or not part.name:
            continue
        if not is_written_code(part.code, size):
            text = f"has the code {part.code!r}, not {size} characters"
            yield LintHit(line, where, text)


def suite_code(facts: LintFacts) -> Iterator[LintHit]:
    """Find suites whose code is not four characters."""
    for suite in facts.dictionary.suites:
        if isinstance(suite, model.Suite) and not is_written_code(suite.code, 4):
            text = f"has the code {suite.code!r}, not 4 characters"
            yield LintHit(suite.line, f"suite {visible_term(suite.name)}", text)


def synonym(facts: LintFacts) -> Iterator[LintHit]:
    """Find synonyms that give neither a name nor a code, or a code that is none."""
    for line, where, part, _ in declared_terms(facts.own):
        size = 8 if isinstance(part, model.SdefCommand) else 4
        for one in getattr(part, "synonyms", ()):
            if not one.name and not one.code:
                yield LintHit(
                    line, where, "has a synonym without name and code", "The synonym has no effect."
                )
            elif one.code and not is_written_code(one.code, size):
                text = f"has a synonym whose code {one.code!r} is not {size} characters"
                yield LintHit(line, where, text, "A result with this code is not recognised.")


class LintRule(NamedTuple):
    """How bad it is, what users notice of it where it is always the same, and what finds it."""

    severity: Severity
    consequence: str
    check: Check


_TEXTS: Final = tomllib.loads((files("iac_gen.lint") / "rules.toml").read_text(encoding="utf-8"))

# Codes that speak of the working of the generator, not of a fault, or that a rule of its own
# finds with more to say.
_SILENT: Final = frozenset({"contents", "hidden", "included", "synthesised", "unknown-class"})
_KNOWN: Final = _SILENT.union(*(row.get("codes", ()) for row in _TEXTS.values()))


def _check_of(name: str, row: Mapping[str, Any]) -> Check:
    """Return the function that a rule is called after, or one that passes diagnostics on.

    Without codes these are all of its severity that no other rule passes on.
    """
    check: Check | None = globals().get(name.replace("-", "_"))
    if check is not None:
        return check
    codes = row.get("codes")
    levels = row.get("levels", get_args(Severity) if codes else (row["severity"],))

    def is_wanted(one: Diagnostic) -> bool:
        known = one.code in codes if codes else one.code not in _KNOWN
        return known and one.level in levels

    return lambda facts: _diagnostic_hits(facts, is_wanted)


def _diagnostic_hits(facts: LintFacts, wanted: Callable[[Diagnostic], bool]) -> Iterator[LintHit]:
    passed = [one for one in facts.diagnostics if wanted(one)]
    if not passed:
        return
    named = places_by_line(facts)
    for one in passed:
        message = " ".join(clean_text(one.message).split())
        where = _place_of_message(facts, named.get(one.line, []), one.line, message)
        # The message of a diagnostic stands alone and names its place; a finding has it before.
        yield LintHit(one.line, where, message.removeprefix(f"{where} "))


def _place_of_message(facts: LintFacts, here: list[str], line: int, message: str) -> str:
    """Return the place of a message among those on its line; all may stand on line 1."""
    named = [label for label in here if message.startswith(f"{label} ")]
    if named:
        return max(named, key=len)
    if len(here) == 1:
        return here[0]
    above = [
        suite
        for suite in facts.dictionary.suites
        if isinstance(suite, Suite) and 0 < suite.line <= line
    ]
    return f"suite {visible_term(above[-1].name)}" if above else "dictionary"


_OF_EVENTS: Final = frozenset(
    "unsound-code duplicate-code duplicate-parameter synonym shared-code several-codes suite-code"
    " required-after-optional unverified-name".split()
)
"""What speaks of codes, of an order of parameters, of names in JavaScript: intents have none."""
RULES: Final[Mapping[str, LintRule]] = {
    name: LintRule(row["severity"], row.get("consequence", ""), _check_of(name, row))
    for name, row in _TEXTS.items()
}
"""A rule is called as its function is; the others pass on diagnostics."""


def lint_source(
    source: Source,
    includes: IncludeMap,
    read: Iterable[Diagnostic] = (),
    wanted: Mapping[str, LintRule] = RULES,
) -> list[LintFinding]:
    """Return what `wanted` rules find in the dictionary of `source`, in the order of its lines.

    `read` is what `load_dictionary` told of it; it and what `resolve_dictionary` tells become
    findings, once each.
    """
    facts = collect_facts(source, includes, read)
    file = source.dictionary.file
    findings = [
        LintFinding(
            name, rule.severity, file, *hit[:3], consequence=hit.consequence or rule.consequence
        )
        for name, rule in wanted.items()
        if source.kind != "intents" or name not in _OF_EVENTS
        for hit in rule.check(facts)
    ]
    # A term that is declared twice is found twice where a rule looks at each declaration.
    return sorted(dict.fromkeys(findings), key=lambda one: (one.line, one.place, one.rule))
