"""Which apps a statement may start: any event starts an app that does not run.

Only the question whether an app runs does not (`application "X" is running`): it is answered
without an event. Sources: AppleScript Language Guide, "Referencing an Application Without Launching
It"; docs/applescript.md.
"""

from collections.abc import Collection, Sequence
from typing import Final

from iac_applescript.analysis.language_words import CONSTANTS
from iac_applescript.analysis.tokens import Token
from iac_applescript.analysis.units import Unit

__all__ = ["asked_about", "condition", "is_silent", "proves_running"]

_APPLICATION: Final = frozenset(("application", "app"))
_QUIET_KINDS: Final = frozenset(("sign", "text", "number", "keyword", "variable"))
_QUIET_COMMANDS: Final = frozenset(("set", "copy"))
_TOLD: Final = frozenset(("it", "its", "result"))
"""Keywords that stand for the app that is told, or may."""

_IT_RUNS: Final = (["it", "is", "running"], ["running"], ["its", "running"])


def _words(tokens: Sequence[Token]) -> list[str]:
    return [token.folded if token.kind == "word" else "" for token in tokens]


def condition(line: Sequence[Token]) -> tuple[Token, ...]:
    """Return what stands between `if` and `then`; empty for another statement."""
    words = _words(line)
    start = 2 if words[:2] == ["else", "if"] else 1 if words[:1] == ["if"] else 0
    if not start or "then" not in words:
        return ()
    return tuple(line[start : words.index("then")])


def asked_about(line: Sequence[Token]) -> set[int]:
    """Return the places of `application` where nothing but its running is asked."""
    words = _words(line)
    found = set()
    for place, word in enumerate(words):
        if word not in _APPLICATION:
            continue
        end = place + (3 if words[place + 1 : place + 2] == ["id"] else 2)
        after = words[end : end + 3]
        of_it = bool(line[end : end + 1]) and line[end].text in ("'s", "’s")
        if (
            after[:2] == ["is", "running"]
            or after == ["is", "not", "running"]
            or (of_it and after[1:2] == ["running"])
            or words[max(place - 2, 0) : place] == ["running", "of"]
        ):
            found.add(place)
    return found


def proves_running(asked: Sequence[Token]) -> str:
    """Return which app a condition proves to run: `it`, or its name or bundle id; else empty."""
    while len(asked) > 2 and asked[0].text == "(" and asked[-1].text == ")":
        asked = asked[1:-1]
    words = _words(asked)
    if words in _IT_RUNS:
        return "it"
    if asked_about(asked) == {0} and words[-2:] == ["is", "running"] and len(asked) in (4, 5):
        return asked[-3].text if asked[-3].kind == "string" else ""
    return ""


def is_silent(units: Sequence[Unit], handlers: Collection[str]) -> bool:
    """Say whether a statement inside a `tell` sends its app nothing.

    Only what reckons with texts, numbers and the script's own variables does; a handler that is
    called there goes to the app first.
    """
    words = [unit.word for unit in units if unit.word not in ("if", "then", "else")]
    if words in _IT_RUNS and not any(unit.entries for unit in units):
        return True
    return all(
        (unit.kind in _QUIET_KINDS and unit.word not in _TOLD and unit.word not in handlers)
        or unit.word in CONSTANTS
        or (unit.word == "running" and not unit.entries)
        or (unit.kind == "command" and unit.word in _QUIET_COMMANDS)
        for unit in units
    )
