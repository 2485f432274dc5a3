"""What an AppleScript's own names may not stand for: verbs, and members of anything else.

A name that the script declares is a variable where its value is used, a handler where the script
itself is asked. Inside a `tell` the app gets a call first, and may know the word as a command.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Final

from iac_applescript.analysis.danger_rows import MEMBERS, PHRASES
from iac_applescript.analysis.declared import Declared
from iac_applescript.analysis.units import Unit
from iac_applescript.analysis.vocabulary import Vocabulary

__all__ = ["dangerous_verbs", "misused"]

_VERBS: Final = frozenset(name.casefold() for name in MEMBERS) | frozenset(PHRASES)
_LINKS: Final = frozenset(("of", "in"))
_JOINS: Final = frozenset("as & + - * / ÷ ^ = < > ≠ ≤ ≥".split())
_GIVES: Final = frozenset(("with properties", "with data", "given", "with", "without", "at"))
_BEFORE_VALUE: Final = frozenset(("(", "if", "return", "get", "=", "not"))
_DETERMINERS: Final = frozenset(
    "{ it its me my every some first second third fourth fifth last middle front back given".split()
)
_ITEMS: Final = frozenset(("item", "items", "contents", "record"))
_INDEXES: Final = frozenset(("thru", "through", "named", "id", "index"))
_BEFORE_EXPRESSION: Final = frozenset(
    "to if ( then else return get = & and or not , { : is equal error while until".split()
)


def dangerous_verbs(apps: Iterable[Vocabulary]) -> frozenset[str]:
    """Return the words that do harm as a command, in any of these apps or wherever they stand."""
    return _VERBS | frozenset(
        term
        for app in apps
        for term, entries in app.terms.items()
        if any(entry.use == "command" and entry.level == "DANGEROUS" for entry in entries)
    )


def misused(
    units: Sequence[Unit],
    names: Declared,
    verbs: frozenset[str],
    *,
    told: bool,
    set_here: Container[str] | None,
) -> Iterator[tuple[Unit, str]]:
    """Yield the script's own names that stand for something else, each with why.

    Args:
        units: A statement, or what a `tell` names.
        names: The script's own names.
        verbs: Words that are never the script's own; empty for a script that names no app.
        told: Whether a `tell` to something other than the script is around it.
        set_here: What statements before set inside `tell`s to the same apps, where no command
            can be set; None if `units` are no statement but what a `tell` names.
    """
    for place, unit in enumerate(units):
        if unit.kind != "variable":
            continue
        called = _word(units, place + 1) == "("
        start, end = place, _end_of_call(units, place + 1) if called else place + 1
        while start and _word(units, start - 1) == "(" and _word(units, end) == ")":
            start, end = start - 1, end + 1
        before, after = _word(units, start - 1), _word(units, end)
        asked = after in _LINKS and _word(units, end + 1) == "me"
        own = before == "my" or (asked and _word(units, end + 2) not in _LINKS)
        if unit.word in verbs:
            yield unit, "names something of its own as a command is called"
        elif own:
            continue
        elif called and (told or before == "'s" or after in _LINKS):
            yield unit, "calls a handler of something other than the script"
        elif told and set_here is not None and (not start or before in ("then", "else")):
            # Alone it is the value that a block gives back.
            if unit.word not in set_here or not (after in _JOINS or end == len(units)):
                yield unit, "was not understood where an app is told what to do"
        elif told and (before == "its" or _takes(units, before, end)):
            yield unit, "was not understood in front of what it is given"
        elif before == "'s" or (after == "of" and not _is_index(units, place)):
            holders = _holders(units, start, end, possessive=before == "'s")
            if unit.word not in names.labels or not _are_values(holders):
                yield unit, "is a name of the script, asked of something else"


def _word(units: Sequence[Unit], place: int) -> str:
    """Return the word at a place; empty outside, and for a text."""
    if not 0 <= place < len(units) or units[place].kind == "text":
        return ""
    return units[place].word


def _takes(units: Sequence[Unit], before: str, end: int) -> bool:
    """Say whether what follows a name can only be what a command is given."""
    follows = units[end] if end < len(units) else None
    if follows is None:
        return False
    if follows.word in _DETERMINERS:
        return True
    if before not in _BEFORE_EXPRESSION:
        return False
    given = before in _BEFORE_VALUE or (before == "to" and units[0].word == "set")
    return (follows.kind == "term" and not follows.has("label")) or (
        given and follows.word in _GIVES
    )


def _is_index(units: Sequence[Unit], place: int) -> bool:
    """Say whether a variable says which: `item n of x`, `items 1 thru n of x`."""
    before = units[place - 1] if place else None
    return before is not None and (before.kind == "term" or before.word in _INDEXES)


def _holders(units: Sequence[Unit], place: int, end: int, *, possessive: bool) -> list[Unit]:
    """Return what a member is asked of, as far as it is named right beside it."""
    if possessive:
        return [*units[max(place - 3, 0) : place - 1]]
    until = next(
        (i for i, u in enumerate(units[end:], end) if u.kind == "sign" and u.word != "("),
        len(units),
    )
    found: list[Unit] = []
    for unit in units[end:until]:
        if unit.kind == "keyword" and unit.word not in (*_LINKS, "first", "last", "the", "its"):
            if unit.word == "application":
                found.append(unit)
            break
        found.append(unit)
    return found


def _are_values(holders: Sequence[Unit]) -> bool:
    """Say whether a variable or its item is asked, no object of an app."""
    named = any(
        unit.word == "application"
        or (unit.kind == "term" and unit.word not in _ITEMS and unit.entries)
        for unit in holders
    )
    return not named and any(unit.kind == "variable" for unit in holders)


def _end_of_call(units: Sequence[Unit], opening: int) -> int:
    depth = 0
    for place, unit in enumerate(units[opening:], opening):
        if unit.kind == "sign":
            depth += {"(": 1, ")": -1}.get(unit.word, 0)
        if depth == 0:
            return place + 1
    return len(units)
