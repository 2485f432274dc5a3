"""Whether a prompt is the one that a rule is for."""

import re
from collections.abc import Callable
from fnmatch import translate
from typing import Final

from iac_scenario.model import Pattern
from iac_scenario.shell.regex import CLASSES

__all__ = ["Matcher", "matcher"]

Matcher = Callable[[str], bool]

_RUSTS_OWN: Final = re.compile(
    r"(?s)(?P<escaped>\\.)|(?P<group>\(\?<(?=[A-Za-z_]))"
    r"|(?P<set>\[\^?\]?(?:\\.|\[:\w+:\]|[^]\\])*\])"
)
_CLASS: Final = re.compile(r"(?s)\\.|\[:(\w+):\]|\[")


def matcher(pattern: Pattern) -> Matcher:
    """Return the test of a pattern. Raises re.error for a regular expression that is none."""
    text = pattern.text
    if pattern.kind == "exact":
        return lambda prompt: prompt == text
    if pattern.kind == "contains":
        return lambda prompt: text in prompt
    if pattern.kind == "any":
        return lambda _prompt: True
    if pattern.kind == "glob":
        whole = re.compile(translate(text)).match
        return lambda prompt: whole(prompt) is not None
    search = re.compile(_as_python(text)).search
    return lambda prompt: search(prompt) is not None


def _as_python(text: str) -> str:
    """Return an expression with what Rust, which claudeless reads them by, writes otherwise.

    Groups `(?<name>…)`, classes `[[:digit:]]`, and the end `\\z`; the rest is the same, or no
    expression for Python either.
    """

    def piece(found: re.Match[str]) -> str:
        if found["group"]:
            return "(?P<"
        if found["set"]:
            return "[" + _CLASS.sub(_in_set, found["set"][1:])
        return r"\Z" if found[0] == r"\z" else found[0]

    return _RUSTS_OWN.sub(piece, text)


def _in_set(found: re.Match[str]) -> str:
    if found[1] in CLASSES:
        return CLASSES[found[1]]
    return rf"\[{found[0][1:]}" if found[0].startswith("[") else found[0]
