"""What a request means before its words count: what it forbids, which way, whether it only looks.

The same is read of what a tool or a script is for. Of two that share the words of a request, the
one that does the opposite is never meant: to turn it down is not to turn it up. `ways.toml` has the
ways that exclude each other.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from iac_base.words import split_words, stem_word
from iac_runtime.search.lexicon import load_lexicon, read_words
from iac_runtime.search.weights import OPPOSITE, SAME_WAY, WRONG_EFFECT

_REFUSED: Final = re.compile(
    r"(?<!i )(?<!we )(?<!you )(?<!they )(?<!that )(?<!which )(?<!who )(?<!it )"
    r"\b(?:(?:but |and |so )?(?:do not|don't|dont|never|not to|but not|instead of|rather than)"
    r" (?:\w+ly )?([a-z]+)|(?:but |and )?without ([a-z]+ing))"
    r"(?! anything)(?: (?:it|them|that|this))?(?: (?:yet|now|for now))?\b"
    r"|\b(?:(?:and |but )?leave (?:it|them) (?:open )?)?(un)sent\b|\b(?:as|in) (?:a )?(draft)s?\b"
    # What is said in another language has lost the words between.
    r"|\b(?:not|without) (send|delete|change|move|close|save|open|print)\b"
    r"|\b(send|delete|change|move|close|save|open|print) not\b"
)
"""What a request says not to do; who says that they do not know forbids nothing."""

_MEANS: Final = {"un": "send", "draft": "send"}

_LOOKS: Final = frozenset(
    map(stem_word, "list say read get count look tell sum whose what which".split())
)
"""First words of what only looks; questions do too (`words.toml`)."""

_EITHER: Final = frozenset(map(stem_word, "find show search check print open".split()))
"""First words of what looks, or brings to the front."""

_CHANGES: Final = frozenset(map(stem_word, "change alter edit modify touch delete move".split()))
"""What somebody forbids who only wants to look."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What a request is for, or what a tool or a script does.

    Attributes:
        refused: Stems of the verbs that must not be done: draft it, but do not send it.
        ways: Ways of `ways.toml` that it goes, as `level.down`.
        looks: Whether it only looks; None if it may be.
    """

    refused: frozenset[str] = frozenset()
    ways: frozenset[str] = frozenset()
    looks: bool | None = None

    def agreement(self, offered: "Intent", does: frozenset[str] = frozenset()) -> float:
        """Return what it adds to an offer that it goes the way that is asked; negative if not.

        Args:
            offered: What the offer does.
            does: The stems of its name.
        """
        if not self.refused.isdisjoint(does) and self.refused.isdisjoint(offered.refused):
            return -OPPOSITE
        asked = {way.partition(".")[0] for way in self.ways}
        other = {way for way in offered.ways if way.partition(".")[0] in asked}
        if other and other.isdisjoint(self.ways):
            return -OPPOSITE
        same = self.refused & offered.refused or other
        missed = {self.looks, offered.looks} == {True, False}
        return (SAME_WAY if same else 0.0) - (WRONG_EFFECT if missed else 0.0)


def split_refused(text: str) -> tuple[str, frozenset[str]]:
    """Return what is wanted of a request, and the stems of the verbs that it forbids.

    Not to forget is a wish.
    """
    found = [(one, str(one[one.lastindex or 0])) for one in _REFUSED.finditer(text)]
    found = [(one, verb) for one, verb in found if verb != "forget"]
    left = text
    for one, _ in reversed(found):
        left = f"{left[: one.start()]} {left[one.end() :]}"
    if not left.split():
        return text, frozenset()
    return left, frozenset(stem_word(_MEANS.get(verb, verb)) for _, verb in found)


@lru_cache(maxsize=4096)
def read_intent(text: str) -> Intent:
    """Read what a request is for, or a purpose: English, in lower case."""
    left, refused = split_refused(text)
    lists = load_lexicon()
    first = next((word for word in split_words(left) if word not in lists.polite), "")
    looks = first in lists.questions or stem_word(first) in _LOOKS
    either = stem_word(first) in _EITHER and refused.isdisjoint(_CHANGES)
    return Intent(refused, frozenset(_read_ways(left)), None if either else looks)


def _read_ways(text: str) -> Iterator[str]:
    for axis, ways in _way_patterns():
        left = text
        for way, pattern in ways:
            left, count = pattern.subn(" ", left)
            if count:
                yield f"{axis}.{way}"


@lru_cache(maxsize=1)
def _way_patterns() -> list[tuple[str, list[tuple[str, re.Pattern[str]]]]]:
    found = []
    for axis, ways in read_words("ways.toml").items():
        rows = []
        for way, phrases in ways.items():
            parts = (re.escape(one.strip()) for one in phrases.split("|"))
            told = "|".join(one.replace(r"\ \.\.\.\ ", r"(?: [^\s,;]+){1,5}? ") for one in parts)
            rows.append((way, re.compile(rf"\b(?:{told})\b")))
        found.append((axis, rows))
    return found
