"""Whether a prompt is the one that a rule is for."""

import re
from collections.abc import Callable
from fnmatch import translate

from iac_scenario.model import Pattern

__all__ = ["Matcher", "matcher"]

Matcher = Callable[[str], bool]


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
    search = re.compile(text).search
    return lambda prompt: search(prompt) is not None
