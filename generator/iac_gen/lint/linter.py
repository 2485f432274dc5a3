"""Lint: findings about a dictionary itself, each with a consequence for users of its tools.

An error is something that is lost, a warning something that may mislead, a note something
that real dictionaries do and that is worth knowing.
"""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any, Final, NamedTuple, get_args

from iac_gen.lint import rules
from iac_gen.lint.facts import (
    Check,
    LintFacts,
    LintFinding,
    LintHit,
    collect_facts,
    places_by_line,
    visible_term,
)
from iac_gen.model import Diagnostic, Severity, Source, Suite
from iac_gen.resolve import IncludeMap
from iac_gen.text import clean_text


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
    check: Check | None = getattr(rules, name.replace("-", "_"), None)
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
