"""Rules of lint about event codes.

A code is no key in real dictionaries: many codes have several names, and names several codes.
It is a fault where one value can then not be told from another.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from iac_gen.lint.facts import (
    LintFacts,
    LintHit,
    declared,
    name_of,
    of_kind,
    place,
    properties_of,
    shown,
)
from iac_gen.model import (
    KINDS,
    Enumeration,
    RecordType,
    SdefClass,
    SdefCommand,
    SdefElement,
    SdefParameter,
    Suite,
    is_code,
)


def is_written_code(code: str, size: int) -> bool:
    """Say whether `code` is `size` characters of MacRoman, or that many bytes in hex.

    Source: sdef(5), "code".
    """
    if code.lower().startswith("0x") and len(code) == 2 + 2 * size:
        return all(ch in "0123456789abcdef" for ch in code[2:].lower())
    return is_code(code, size)


class _Term(NamedTuple):
    kind: str
    name: str
    code: str
    line: int
    place: str
    owner: str


_SHARED: Final = {
    "class": "An object of one may come back under the name of the other.",
    "command": "Both tools send the same event.",
    "enumeration": "A type that gives the code alone means only one of them.",
    "property": "What the app answers under this code may be shown under either name.",
    "record type": "A record of one may come back under the name of the other.",
    "value type": "The two types are one to the app.",
}


def _terms(facts: LintFacts) -> Iterator[_Term]:
    """Yield the terms of the file itself that have a code of their own and a scope beyond one."""
    for line, where, part, owner in declared(facts.own):
        if isinstance(part, SdefParameter | SdefElement) or not part.name:
            continue
        if not (isinstance(part, SdefCommand) and part.event):
            name = "" if part is owner else name_of(owner)
            yield _Term(KINDS[type(part)], part.name, part.code, line, where, name)


def shared_code(facts: LintFacts) -> Iterator[LintHit]:
    """Find the second and further names of one code, where the kind has one scope.

    Enumerators of different enumerations are left alone: the type says which is meant.
    """
    first: dict[tuple[str, str], _Term] = {}
    seen: set[tuple[str, str, str]] = set()
    for term in _terms(facts):
        if term.kind not in _SHARED or not term.code:
            continue
        known = first.setdefault((term.kind, term.code), term)
        key = (term.kind, term.code, term.name)
        inside = term.kind == "property" and known.owner == term.owner
        if known.name == term.name or key in seen or inside:
            continue
        seen.add(key)
        text = f"has the code {term.code!r} of {known.place}"
        yield LintHit(term.line, term.place, text, _SHARED[term.kind])


def several_codes(facts: LintFacts) -> Iterator[LintHit]:
    """Find names that have another code than where they were declared first."""
    first: dict[tuple[str, str], _Term] = {}
    seen: set[tuple[str, str, str]] = set()
    for term in _terms(facts):
        if term.kind == "command":
            continue  # Resolve tells it of commands.
        known = first.setdefault((term.kind, term.name), term)
        key = (term.kind, term.name, term.code)
        if known.code == term.code or key in seen:
            continue
        seen.add(key)
        text = f"has the code {term.code!r}, {known.place} has {known.code!r}"
        if known.place == term.place:
            text = f"has the code {term.code!r} and also {known.code!r}"
        yield LintHit(
            term.line,
            term.place,
            text,
            f"A script that names the {term.kind} may send the other code.",
        )


def duplicate_code(facts: LintFacts) -> Iterator[LintHit]:
    """Find two enumerators of an enumeration, or properties of a class, with one code."""
    for row in of_kind(facts.own, Enumeration):
        pairs = ((value.name, value.code, value.line) for value in row.enumerators)
        for name, code, line, other in _twins(pairs):
            yield LintHit(
                line,
                place(row, name, "enumerator"),
                f"has the code {code!r} of {shown(other)}",
                "It can never be told from the other in a result.",
            )
    mine = {(prop.name, prop.code) for _, prop in properties_of(facts.own)}
    owners: list[SdefClass | RecordType] = [*facts.rows(), *of_kind(facts.own, RecordType)]
    for merged in owners:
        pairs = ((p.name, p.code, p.line) for p in merged.properties if (p.name, p.code) in mine)
        for name, code, line, other in _twins(pairs):
            yield LintHit(
                line,
                place(merged, name),
                f"has the code {code!r} of {shown(other)}",
                "Both names read and set the same value.",
            )


def _twins(rows: Iterable[tuple[str, str, int]]) -> Iterator[tuple[str, str, int, str]]:
    first: dict[str, str] = {}
    for name, code, line in rows:
        other = first.setdefault(code, name)
        if other != name:
            yield name, code, line, other


def duplicate_parameter(facts: LintFacts) -> Iterator[LintHit]:
    """Find parameters of a command that share a name or a code, not both (that is a union)."""
    for command in of_kind(facts.own, SdefCommand):
        names: dict[str, SdefParameter] = {}
        codes: dict[str, SdefParameter] = {}
        for one in command.parameters:
            where = place(command, one.name, "parameter")
            named = names.setdefault(one.name, one)
            coded = codes.setdefault(one.code, one)
            if named.code != one.code:
                text = f"has the code {one.code!r} and also {named.code!r}"
                yield LintHit(one.line, where, text, "A script that gives the name fills only one.")
            elif coded.name != one.name:
                text = f"has the code {one.code!r} of parameter {shown(coded.name)}"
                yield LintHit(
                    one.line, where, text, "Both arrive in the app as one; give only one."
                )


def unsound_code(facts: LintFacts) -> Iterator[LintHit]:
    """Find codes of a snapshot that are none; of XML, load has told and left them out."""
    for line, where, part, _ in declared(facts.own):
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
            yield LintHit(
                suite.line,
                f"suite {shown(suite.name)}",
                f"has the code {suite.code!r}, not 4 characters",
            )


def synonym(facts: LintFacts) -> Iterator[LintHit]:
    """Find synonyms that give neither a name nor a code, or a code that is none."""
    for line, where, part, _ in declared(facts.own):
        size = 8 if isinstance(part, SdefCommand) else 4
        for one in getattr(part, "synonyms", ()):
            if not one.name and not one.code:
                yield LintHit(
                    line, where, "has a synonym without name and code", "It says nothing."
                )
            elif one.code and not is_written_code(one.code, size):
                text = f"has a synonym with the code {one.code!r}, not {size} characters"
                yield LintHit(line, where, text, "What the app sends under it is not recognised.")


CODES: Final = (
    unsound_code, duplicate_code, duplicate_parameter, synonym, shared_code, several_codes,
    suite_code,
)  # fmt: skip
