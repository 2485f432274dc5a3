"""A script as a pattern keeps it: what is private, and what varied between successes, is a slot.

A slot is `‹text›` or `‹number›` in the place of a literal. No reader of either language takes one,
so a script with slots runs only when somebody has put values in their places.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from iac_applescript.analysis.analyser import Language, scan_script
from iac_applescript.analysis.findings import Scan, ScriptToken, text_at
from iac_base.secrets import REDACTED, secret_spans
from iac_runtime.tool import Level

_SLOT: Final = re.compile(r"‹(text|number)›")
_MARK: Final = re.compile(r'"‹(text|number)›"')
_LITERAL: Final = re.compile(
    r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?""", re.DOTALL
)
_PERSONAL: Final = (
    re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+"),
    re.compile(r"/Users/[^/\s\"':]+|(?<=:)Users:[^:\"]+"),
    re.compile(r"(?<![\w.])\+?\d[\d ()/-]{7,}\d(?![\w.])"),
    re.compile(r'"(?:[^"\\]|\\.){81,}"', re.DOTALL),
)
"""Addresses, homes, telephone numbers, long texts."""

_KEPT: Final = frozenset(("application", "app", "id", "framework", "["))
"""What stands before a text that says what is meant, not with what: an app, a member."""


class RedactedScript(NamedTuple):
    """A script to keep, and what is the same of all that differ in their values alone.

    `script` is empty where what is private is not in literals: that is not kept.
    """

    script: str
    shape: str
    texts: tuple[str, ...]


def private_spans(text: str) -> list[tuple[int, int]]:
    """Return where secrets and personal data stand in a text, in order."""
    found = (row.span() for pattern in _PERSONAL for row in pattern.finditer(text))
    return sorted((*secret_spans(text), *found))


def without_private(text: str) -> str:
    """Return a text without secrets, addresses, telephone numbers, homes and long texts."""
    parts, done = list[str](), 0
    for start, end in private_spans(text):
        if end > done:
            parts += (text[done : max(start, done)], REDACTED if start >= done else "")
            done = end
    return "".join((*parts, text[done:]))


def redact_script(script: str, language: Language, level: Level) -> RedactedScript:
    """Return a script as it is kept; the values of a DANGEROUS one belong to what it is."""
    marked = _SLOT.sub(r'"\g<0>"', script)
    scan = scan_script(marked, language)
    spans = private_spans(marked)
    literals = [] if scan.faults else _literal_spans(marked, scan)
    slots = {
        at
        for at, (start, end) in enumerate(literals)
        if _MARK.fullmatch(marked[start:end]) or any(a < end and b > start for a, b in spans)
    }
    outside = [
        (a, b) for a, b in spans if not any(a >= start and b <= end for start, end in literals)
    ]
    code = [(token.start, token.start + len(token.text)) for token in scan.tokens]
    told = (a < end and b > start for a, b in outside for start, end in code)
    if outside and (scan.faults or any(told)):
        return RedactedScript("", without_private(marked), ())
    texts = tuple(_literal_text(marked[start:end]) for start, end in literals)
    free = {at for at, (start, _) in enumerate(literals) if _is_variable_literal(scan, start)}
    free = set() if level == "DANGEROUS" else free
    shape = _put_placeholders(marked, literals, slots | free, ())
    lines = (line.strip() for line in _SLOT.sub("‹›", shape).splitlines())
    return RedactedScript(
        _put_placeholders(marked, literals, slots, outside), "\n".join(filter(None, lines)), texts
    )


def widen_placeholders(before: str, now: str, language: Language) -> str:
    """Return a kept script with a slot wherever another success of its shape had another value."""
    old, new = (_SLOT.sub(r'"\g<0>"', text) for text in (before, now))
    scan = scan_script(old, language)
    ours, theirs = _literal_spans(old, scan), _literal_spans(new, scan_script(new, language))
    if len(ours) != len(theirs):
        return before
    differ = {
        at
        for at, ((a, b), (c, d)) in enumerate(zip(ours, theirs, strict=True))
        if old[a:b] != new[c:d] or _MARK.fullmatch(old[a:b])
    }
    return _put_placeholders(old, ours, differ, ())


def number_placeholders(script: str) -> tuple[str, tuple[str, ...]]:
    """Return a kept script with its slots numbered, and their names: its parameters."""
    names: list[str] = []

    def name_placeholder(found: re.Match[str]) -> str:
        names.append(f"{found[1]} {len(names) + 1}")
        return f"‹{names[-1]}›"

    return _SLOT.sub(name_placeholder, script), tuple(names)


def without_placeholders(script: str) -> str:
    """Return a kept script without its slots, for the words in it."""
    return _SLOT.sub(" ", script)


def _literal_spans(script: str, scan: Scan) -> list[tuple[int, int]]:
    starts = (token.start for token in scan.tokens if token.kind in ("string", "number"))
    found = (_LITERAL.match(script, start) for start in starts)
    return [row.span() for row in found if row]


def _is_variable_literal(scan: Scan, start: int) -> bool:
    """Say whether a literal says with what something is done: no app, no member."""
    tokens: Sequence[ScriptToken] = scan.tokens
    at = next(at for at, token in enumerate(tokens) if token.start == start)
    before = text_at(tokens, at - 1).casefold()
    named = before == "(" and text_at(tokens, at - 2) == "Application"
    return not (named or before in _KEPT)


def _literal_text(literal: str) -> str:
    return literal[1:-1] if literal[0] in "\"'" else literal


def _put_placeholders(
    script: str,
    literals: Sequence[tuple[int, int]],
    slots: set[int],
    gone: Sequence[tuple[int, int]],
) -> str:
    """Return a script with slots in the place of some literals, and without some comments."""
    edits = [(a, b, REDACTED) for a, b in gone]
    for at in slots:
        start, end = literals[at]
        mark = _MARK.fullmatch(script[start:end])
        kind = mark[1] if mark else "text" if script[start] in "\"'" else "number"
        edits.append((start, end, f"‹{kind}›"))
    parts, done = list[str](), 0
    for start, end, text in sorted(edits):
        if start >= done:
            parts += (script[done:start], text)
            done = end
    return "".join((*parts, script[done:]))
