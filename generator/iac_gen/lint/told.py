"""Rules of lint that pass on what `load` and `resolve` have told, each told once."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from iac_gen.diagnostics import Diagnostic, Severity
from iac_gen.doors import clean
from iac_gen.lint.rules import Check, Facts, Hit, Rule, places, shown
from iac_gen.model import Suite

__all__ = ["TOLD"]


class _Passed(NamedTuple):
    """Diagnostics that become findings of one rule: those of these codes and levels."""

    severity: Severity
    consequence: str
    codes: frozenset[str]
    levels: frozenset[str] = frozenset({"note", "warning", "error"})


_PASSED: Final[Mapping[str, _Passed]] = {
    "invalid-code": _Passed(
        "error", "No event can carry it, so the item is left out.", frozenset({"code"})
    ),
    "nameless": _Passed(
        "error", "Nobody can ask for it, so it is left out.", frozenset({"nameless"})
    ),
    "stray-item": _Passed("error", "Nothing is made of it.", frozenset({"stray"})),
    "inheritance-cycle": _Passed(
        "error", "What it would inherit through the cycle is missing.", frozenset({"cycle"})
    ),
    "self-inheritance": _Passed(
        "note",
        "Its members are added to the class; other readers may take it for a cycle.",
        frozenset({"self-inherits"}),
    ),
    "missing-include": _Passed(
        "warning",
        "Commands, classes and types of that file are not among the tools.",
        frozenset({"include"}),
    ),
    "overload": _Passed(
        "note",
        "One tool takes the parameters of both; the app decides which go together.",
        frozenset({"overload"}),
        frozenset({"note"}),
    ),
    "overload-code": _Passed(
        "warning",
        "There are two tools, and a script that uses the name may send the other event.",
        frozenset({"overload"}),
        frozenset({"warning", "error"}),
    ),
    "recovered": _Passed(
        "warning", "Other readers refuse the whole file.", frozenset({"recovered"})
    ),
    "type-twice": _Passed("note", "All of the types are taken.", frozenset({"type-twice"})),
    "class-code": _Passed(
        "warning",
        "The class has two codes, and an answer may hold either.",
        frozenset({"class-code"}),
    ),
    "repeated": _Passed(
        "note", "There is one row for all of them.", frozenset({"repeated", "class-again"})
    ),
}

# Codes that speak of the working of the generator, not of a fault, or that a rule of its own
# finds with more to say.
_SILENT: Final = frozenset({"contents", "hidden", "included", "synthesised", "unknown-class"})
_KNOWN: Final = _SILENT.union(*(passed.codes for passed in _PASSED.values()))


def _pass_on(passed: _Passed) -> Check:
    def check(facts: Facts) -> Iterator[Hit]:
        return _hits(
            facts,
            passed.consequence,
            lambda one: one.code in passed.codes and one.level in passed.levels,
        )

    return check


def left_out(facts: Facts) -> Iterator[Hit]:
    """Pass on every error that has no rule of its own."""
    consequence = "Nothing is made of it."
    return _hits(facts, consequence, lambda one: one.code not in _KNOWN and one.level == "error")


def doubtful(facts: Facts) -> Iterator[Hit]:
    """Pass on every warning that has no rule of its own."""
    consequence = "The tools may differ from what is declared."
    return _hits(facts, consequence, lambda one: one.code not in _KNOWN and one.level == "warning")


def _hits(facts: Facts, consequence: str, wanted: Callable[[Diagnostic], bool]) -> Iterator[Hit]:
    told = [one for one in facts.told if wanted(one)]
    if not told:
        return
    named = places(facts)
    for one in told:
        message = " ".join(clean(one.message).split())
        where = _place(facts, named.get(one.line, []), one.line, message)
        # The message of a diagnostic stands alone and names its place; a finding has it before.
        yield Hit(one.line, where, message.removeprefix(f"{where} "), consequence)


def _place(facts: Facts, here: list[str], line: int, message: str) -> str:
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


TOLD: Final[Mapping[str, Rule]] = {
    **{name: Rule(passed.severity, _pass_on(passed)) for name, passed in _PASSED.items()},
    "left-out": Rule("error", left_out),
    "doubtful": Rule("warning", doubtful),
}
"""Name -> severity and function. The last two pass on what has no rule of its own."""
