"""Lint: findings about a dictionary itself, each with a consequence for users of its tools.

An error is something that is lost, a warning something that may mislead, a note something
that real dictionaries do and that is worth knowing.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from iac_gen.diagnostics import Diagnostic
from iac_gen.includes import IncludeMap
from iac_gen.lint.codes import CODES
from iac_gen.lint.names import NAMES
from iac_gen.lint.rules import Finding, Rule, facts_of
from iac_gen.lint.told import TOLD
from iac_gen.lint.types import TYPES
from iac_gen.model import Source

__all__ = ["RULES", "Finding", "lint"]

RULES: Final[Mapping[str, Rule]] = {**CODES, **NAMES, **TYPES, **TOLD}
"""Name -> severity and function."""


def lint(
    source: Source,
    includes: IncludeMap,
    read: Iterable[Diagnostic] = (),
    rules: Mapping[str, Rule] = RULES,
) -> list[Finding]:
    """Return what `rules` find in the dictionary of `source`, in the order of its lines.

    `read` is what `load` told of it; it and what `resolve` tells become findings, once each.
    """
    facts = facts_of(source, includes, read)
    file = source.dictionary.file
    found = [
        Finding(name, rule.severity, file, *hit)
        for name, rule in rules.items()
        for hit in rule.check(facts)
    ]
    # A term that is declared twice is found twice where a rule looks at each declaration.
    return sorted(dict.fromkeys(found), key=lambda one: (one.line, one.place, one.rule))
