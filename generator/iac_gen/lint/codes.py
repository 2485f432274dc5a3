"""Rules of lint about event codes.

A code is no key in real dictionaries: many codes have several names, and names several codes.
It is a fault where one value can then not be told from another.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeVar

from iac_gen.lint.facts import (
    LintFacts,
    LintHit,
    declared_terms,
    item_name,
    items_of_kind,
    make_hit,
    properties_of,
    visible_term,
)
from iac_gen.model import (
    KINDS,
    Enumeration,
    Enumerator,
    RecordType,
    SdefClass,
    SdefCommand,
    SdefElement,
    SdefParameter,
    SdefProperty,
    Suite,
    is_code,
)

T = TypeVar("T", Enumerator, SdefProperty)


def is_written_code(code: str, size: int) -> bool:
    """Say whether `code` is `size` characters of MacRoman, or that many bytes in hex.

    Source: sdef(5), "code".
    """
    if code.lower().startswith("0x") and len(code) == 2 + 2 * size:
        return all(ch in "0123456789abcdef" for ch in code[2:].lower())
    return is_code(code, size)


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
        if isinstance(part, SdefParameter | SdefElement) or not part.name:
            continue
        if not (isinstance(part, SdefCommand) and part.event):
            name = "" if part is owner else item_name(owner)
            yield _ScopedTerm(KINDS[type(part)], part.name, part.code, line, where, name)


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
    for row in items_of_kind(facts.own, Enumeration):
        for value, text in _rows_with_same_code(row.enumerators):
            yield make_hit(row, text, "In a result, the two values cannot be told apart.", value)
    mine = {(prop.name, prop.code) for _, prop in properties_of(facts.own)}
    owners: list[SdefClass | RecordType] = [
        *facts.own_classes(),
        *items_of_kind(facts.own, RecordType),
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
    for command in items_of_kind(facts.own, SdefCommand):
        names: dict[str, SdefParameter] = {}
        codes: dict[str, SdefParameter] = {}
        for one in command.parameters:
            named = names.setdefault(one.name, one)
            coded = codes.setdefault(one.code, one)
            if named.code != one.code:
                text = f"has the code {one.code!r} and also {named.code!r}"
                yield make_hit(
                    command,
                    text,
                    "Two parameters have this name; a script that uses it sets only one of them.",
                    one,
                )
            elif coded.name != one.name:
                text = f"has the same code {one.code!r} as parameter {visible_term(coded.name)}"
                yield make_hit(
                    command,
                    text,
                    "For the app, both are the same parameter. Give only one of them.",
                    one,
                )


def unsound_code(facts: LintFacts) -> Iterator[LintHit]:
    """Find codes of a snapshot that are none; of XML, load has told and left them out."""
    for line, where, part, _ in declared_terms(facts.own):
        size = 8 if isinstance(part, SdefCommand) else 4
        # An extension has no code, nor has an element.
        if isinstance(part, SdefElement) or not part.name:
            continue
        if not is_written_code(part.code, size):
            text = f"has the code {part.code!r}, not {size} characters"
            yield LintHit(line, where, text)


def suite_code(facts: LintFacts) -> Iterator[LintHit]:
    """Find suites whose code is not four characters."""
    for suite in facts.dictionary.suites:
        if isinstance(suite, Suite) and not is_written_code(suite.code, 4):
            text = f"has the code {suite.code!r}, not 4 characters"
            yield LintHit(suite.line, f"suite {visible_term(suite.name)}", text)


def synonym(facts: LintFacts) -> Iterator[LintHit]:
    """Find synonyms that give neither a name nor a code, or a code that is none."""
    for line, where, part, _ in declared_terms(facts.own):
        size = 8 if isinstance(part, SdefCommand) else 4
        for one in getattr(part, "synonyms", ()):
            if not one.name and not one.code:
                yield LintHit(
                    line, where, "has a synonym without name and code", "The synonym has no effect."
                )
            elif one.code and not is_written_code(one.code, size):
                text = f"has a synonym whose code {one.code!r} is not {size} characters"
                yield LintHit(line, where, text, "A result with this code is not recognised.")


CODES: Final = (
    unsound_code, duplicate_code, duplicate_parameter, synonym, shared_code, several_codes,
    suite_code,
)  # fmt: skip
