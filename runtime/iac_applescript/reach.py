"""What a script reaches beside the apps that it tells: processes of System Events, the unknown."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from iac_applescript.analysis.analyser import Analysis, Language
from iac_applescript.analysis.applescript_tokens import scan_applescript
from iac_applescript.analysis.javascript_tokens import scan_javascript
from iac_applescript.analysis.tokens import Token

__all__ = ["SYSTEM_EVENTS", "Reach", "reach_of"]

SYSTEM_EVENTS: Final = "com.apple.systemevents"
_PROCESS: Final = frozenset(("process", "processes"))
_COLLECTIONS: Final = frozenset(
    ("applicationProcesses", "deskAccessoryProcesses", "processes", "ApplicationProcess", "Process")
)
_BLIND: Final = frozenset(
    """
    dynamic fault handler member name nesting phrase raw shape target text unknown
    """.split()
)
"""Rules of reasons after which anything may be reached: code, keys, what was not understood."""


class Reach(NamedTuple):
    """Names of the processes that are gone through, and why that is not all; empty if it is."""

    processes: tuple[str, ...]
    unsure: str


def reach_of(script: str, language: Language, found: Analysis) -> Reach:
    """Return what a script reaches beside its targets; doubt makes it unsure."""
    unsure = next(
        (
            f"{reason.text} {reason.says}".strip()
            for reason in found.reasons
            if reason.level == "DANGEROUS" and reason.rule in _BLIND
        ),
        "",
    )
    if SYSTEM_EVENTS not in (target.casefold() for target in found.targets):
        return Reach((), unsure)
    read = _of_applescript if language == "applescript" else _of_javascript
    scan = scan_applescript if language == "applescript" else scan_javascript
    names = read(scan(script).tokens)
    known = tuple(dict.fromkeys(name for name in names if name))
    if not unsure and "" in names:
        unsure = "it goes through a process that it does not name"
    return Reach(known, unsure)


def _of_applescript(tokens: Sequence[Token]) -> list[str]:
    """Return the name of each process; an empty one where it is not a plain text."""
    found: list[str] = []
    elements = False
    for at, token in enumerate(tokens):
        if token.kind != "word":
            continue
        elements = elements or (token.folded == "ui" and _folded(tokens, at + 1).startswith("elem"))
        if token.folded in _PROCESS:
            at += 2 if _folded(tokens, at + 1) == "named" else 1
            plain = at < len(tokens) and tokens[at].kind == "string"
            found.append(tokens[at].text if plain and _folded(tokens, at + 1) != "&" else "")
    # A process is an interface element of System Events too.
    return found or ([""] if elements else [])


def _of_javascript(tokens: Sequence[Token]) -> list[str]:
    found: list[str] = []
    elements = False
    for at, token in enumerate(tokens):
        elements = elements or token.text == "uiElements"
        if token.text not in _COLLECTIONS:
            continue
        by_name = _text(tokens, at + 1) == "." and _text(tokens, at + 2) == "byName"
        start = at + 3 if by_name else at + 1
        given = tokens[start + 1] if start + 1 < len(tokens) else None
        borders = _text(tokens, start) + _text(tokens, start + 2)
        plain = token.kind == "word" and given is not None and given.kind == "string"
        right = borders == ("()" if by_name else "[]")
        found.append(given.text if plain and right and given is not None else "")
    return found or ([""] if elements else [])


def _text(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].text if at < len(tokens) else ""


def _folded(tokens: Sequence[Token], at: int) -> str:
    return _text(tokens, at).casefold()
