"""Lint: findings about a dictionary itself, each with a consequence for users of its tools.

An error is something that is lost, a warning something that may mislead, a note something
that real dictionaries do and that is worth knowing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from iac_gen.lint.codes import CODES
from iac_gen.lint.facts import (
    Check,
    LintFacts,
    LintFinding,
    LintHit,
    LintRule,
    facts_of,
    places,
    shown,
)
from iac_gen.lint.names import NAMES
from iac_gen.lint.types import TYPES
from iac_gen.model import Diagnostic, Severity, Source, Suite
from iac_gen.resolve import IncludeMap
from iac_gen.text import clean


class _Passed(NamedTuple):
    """Diagnostics that become findings of one rule: those of these codes and levels."""

    severity: Severity
    consequence: str
    codes: frozenset[str]
    levels: frozenset[str]


_ALL: Final = "note warning error"
# (rule, severity, consequence, codes of diagnostics, their levels).
_ROWS: Final[tuple[tuple[str, Severity, str, str, str], ...]] = (
    ("invalid-code", "error", "No event can carry it, so the item is left out.", "code", _ALL),
    ("nameless", "error", "Nobody can ask for it, so it is left out.", "nameless", _ALL),
    ("stray-item", "error", "Nothing is made of it.", "stray", _ALL),
    ("inheritance-cycle", "error", "What it would inherit through the cycle is missing.",
     "cycle", _ALL),
    ("self-inheritance", "note",
     "Its members are added to the class; other readers may take it for a cycle.",
     "self-inherits", _ALL),
    ("missing-include", "warning",
     "Commands, classes and types of that file are not among the tools.", "include", _ALL),
    ("overload", "note",
     "One tool takes the parameters of both; the app decides which go together.",
     "overload", "note"),
    ("overload-code", "warning",
     "There are two tools, and a script that uses the name may send the other event.",
     "overload", "warning error"),
    ("recovered", "warning", "Other readers refuse the whole file.", "recovered", _ALL),
    ("type-twice", "note", "All of the types are taken.", "type-twice", _ALL),
    ("class-code", "warning", "The class has two codes, and an answer may hold either.",
     "class-code", _ALL),
    ("repeated", "note", "There is one row for all of them.", "repeated class-again", _ALL),
)  # fmt: skip
_PASSED: Final = {
    rule: _Passed(severity, text, frozenset(codes.split()), frozenset(levels.split()))
    for rule, severity, text, codes, levels in _ROWS
}

# Codes that speak of the working of the generator, not of a fault, or that a rule of its own
# finds with more to say.
_SILENT: Final = frozenset({"contents", "hidden", "included", "synthesised", "unknown-class"})
_KNOWN: Final = _SILENT.union(*(passed.codes for passed in _PASSED.values()))


def _pass_on(passed: _Passed) -> Check:
    def check(facts: LintFacts) -> Iterator[LintHit]:
        return _hits(
            facts,
            passed.consequence,
            lambda one: one.code in passed.codes and one.level in passed.levels,
        )

    return check


def left_out(facts: LintFacts) -> Iterator[LintHit]:
    """Pass on every error that has no rule of its own."""
    consequence = "Nothing is made of it."
    return _hits(facts, consequence, lambda one: one.code not in _KNOWN and one.level == "error")


def doubtful(facts: LintFacts) -> Iterator[LintHit]:
    """Pass on every warning that has no rule of its own."""
    consequence = "The tools may differ from what is declared."
    return _hits(facts, consequence, lambda one: one.code not in _KNOWN and one.level == "warning")


def _hits(
    facts: LintFacts, consequence: str, wanted: Callable[[Diagnostic], bool]
) -> Iterator[LintHit]:
    passed = [one for one in facts.diagnostics if wanted(one)]
    if not passed:
        return
    named = places(facts)
    for one in passed:
        message = " ".join(clean(one.message).split())
        where = _place(facts, named.get(one.line, []), one.line, message)
        # The message of a diagnostic stands alone and names its place; a finding has it before.
        yield LintHit(one.line, where, message.removeprefix(f"{where} "), consequence)


def _place(facts: LintFacts, here: list[str], line: int, message: str) -> str:
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
    return f"suite {shown(above[-1].name)}" if above else "dictionary"


PASSED_ON: Final[Mapping[str, LintRule]] = {
    **{name: LintRule(passed.severity, _pass_on(passed)) for name, passed in _PASSED.items()},
    "left-out": LintRule("error", left_out),
    "doubtful": LintRule("warning", doubtful),
}
"""Name -> severity and function. The last two pass on what has no rule of its own."""


RULES: Final[Mapping[str, LintRule]] = {**CODES, **NAMES, **TYPES, **PASSED_ON}
"""Name -> severity and function."""


def lint(
    source: Source,
    includes: IncludeMap,
    read: Iterable[Diagnostic] = (),
    rules: Mapping[str, LintRule] = RULES,
) -> list[LintFinding]:
    """Return what `rules` find in the dictionary of `source`, in the order of its lines.

    `read` is what `load` told of it; it and what `resolve` tells become findings, once each.
    """
    facts = facts_of(source, includes, read)
    file = source.dictionary.file
    found = [
        LintFinding(name, rule.severity, file, *hit)
        for name, rule in rules.items()
        for hit in rule.check(facts)
    ]
    # A term that is declared twice is found twice where a rule looks at each declaration.
    return sorted(dict.fromkeys(found), key=lambda one: (one.line, one.place, one.rule))
