"""What a request means before its words count: what it forbids, which way, whether it only looks.

The same is read of what a tool or a script is for. Of two that share the words of a request, the
one that does the opposite is never meant: to turn it down is not to turn it up. `ways.toml` has the
ways that exclude each other. `particulars.toml` has what of a request is somebody's own.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from iac_base.words import split_words, stem_word
from iac_runtime.search.lexicon import load_lexicon, read_words
from iac_runtime.search.weights import MAY_LOOK, OPPOSITE, SAME_WAY, WRONG_EFFECT

_REFUSED: Final = re.compile(
    r"(?<!i )(?<!we )(?<!you )(?<!they )(?<!that )(?<!which )(?<!who )(?<!it )"
    r"\b(?:(?:but |and |so )?(?:do not|don't|dont|never|not to|but not|instead of|rather than)"
    r" (?:\w+ly )?([a-z]+)|(?:but |and )?without ([a-z]+ing))"
    r"(?! anything)(?: (?:it|them|that|this))?(?: (?:yet|now|for now))?\b"
    r"|\b(?:(?:and |but )?leave (?:it|them) (?:open )?)?(un)sent\b|\b(?:as|in) (?:a )?(draft)s?\b"
    # What is said in another language has lost the words between.
    r"|\b(?:not|without) (?:' )?(send|delete|change|move|close|save|open|print)\b"
    r"|\b(send|delete|change|move|close|save|open|print) not\b"
)
"""What a request says not to do; who says that they do not know forbids nothing."""

_ANY: Final = "any"
"""The way that is never asked for: who says all, means also what is for all others."""

_MEANS: Final = {"un": "send", "draft": "send"}


@dataclass(frozen=True, slots=True)
class RequestIntent:
    """What a request is for, or what a tool or a script does.

    Attributes:
        refused: Stems of the verbs that must not be done: draft it, but do not send it.
        ways: The ways of `ways.toml` that it goes, by axis.
        looks: Whether it only looks; None if it may be.
    """

    refused: frozenset[str] = frozenset()
    ways: Mapping[str, frozenset[str]] = field(default_factory=dict)
    looks: bool | None = None

    def agreement(
        self, offered: "RequestIntent", does: frozenset[str] = frozenset(), silent: float = 0.0
    ) -> float:
        """Return what it adds to an offer that it goes the way that is asked; negative if not.

        Args:
            offered: What the offer does.
            does: The stems of its name.
            silent: What it loses for each way that is asked and that it does not go.
        """
        if not self.refused.isdisjoint(does) and self.refused.isdisjoint(offered.refused):
            return -OPPOSITE
        gain = SAME_WAY if self.refused & offered.refused else 0.0
        for axis, told in self.ways.items():
            asked, goes = told - {_ANY}, offered.ways.get(axis)
            if not asked:
                continue
            if goes is None:
                gain -= silent * (axis in _load_ways().strict)
            elif goes.isdisjoint(asked):
                return -OPPOSITE
            else:
                gain += SAME_WAY
        missed = {self.looks, offered.looks} == {True, False}
        if self.looks and offered.looks is None:
            gain -= MAY_LOOK
        return gain - (WRONG_EFFECT if missed else 0.0)


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


def cut_particulars(text: str) -> str:
    """Return a request, in lower case, without what is to be said, done later, or is a name."""
    for pattern, instead in _particular_patterns():
        if found := pattern.search(text):
            left = f"{text[: found.start(1)]} {instead} {text[found.end(1) :]}"
            text = " ".join(left.split()) or text
    return text


@lru_cache(maxsize=1)
def _particular_patterns() -> list[tuple[re.Pattern[str], str]]:
    table = read_words("particulars.toml")
    names = (app.casefold() for area in load_lexicon().areas.values() for app in area.apps)
    parts = {**table["parts"], "APPS": "|".join(map(re.escape, names))}
    found = []
    for told, instead in table["rows"]:
        for name, part in parts.items():
            told = told.replace(name, part)
        found.append((re.compile(told), instead))
    return found


@lru_cache(maxsize=4096)
def read_intent(text: str, axes: frozenset[str] | None = None) -> RequestIntent:
    """Read what a request is for, or a purpose: English, in lower case.

    Args:
        axes: Those of its ways that are looked for; all without.
    """
    left, refused = split_refused(text)
    lists = load_lexicon()
    first = next((word for word in split_words(left) if word not in lists.polite), "")
    looks = first in lists.questions or stem_word(first) in _stems_of("looks")
    shows = stem_word(first) in _stems_of("looks_or_shows")
    either = shows and refused.isdisjoint(_stems_of("changes"))
    return RequestIntent(refused, _read_ways(left, axes), None if either else looks)


@lru_cache(maxsize=3)
def _stems_of(name: str) -> frozenset[str]:
    return frozenset(map(stem_word, getattr(load_lexicon(), name)))


def same_way_stems(stem: str) -> frozenset[str]:
    """Return the stems of the words that tell the same way as a word of this stem."""
    return _load_ways().alike.get(stem, frozenset())


def _read_ways(text: str, axes: frozenset[str] | None) -> Mapping[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for axis, ways in _load_ways().patterns.items():
        if axes is not None and axis not in axes:
            continue
        left = text
        for way, pattern in ways.items():
            left, count = pattern.subn(" ", left)
            if count:
                found[axis] = found.get(axis, frozenset()) | {way}
    return found


class _Ways(NamedTuple):
    """The table of ways: their patterns by axis, the strict axes, stems that stand for a stem."""

    patterns: Mapping[str, Mapping[str, re.Pattern[str]]]
    strict: frozenset[str]
    alike: Mapping[str, frozenset[str]]


@lru_cache(maxsize=1)
def _load_ways() -> _Ways:
    patterns: dict[str, dict[str, re.Pattern[str]]] = {}
    strict, alike = set[str](), dict[str, frozenset[str]]()
    for axis, row in read_words("ways.toml").items():
        strict |= {axis} if row.pop("strict", False) else set()
        same = row.pop("alike", False)
        for way, told in row.items():
            phrases = [one.strip() for one in told.split("|")]
            stems = frozenset(stem_word(one) for one in phrases if same and one.isalpha())
            alike |= dict.fromkeys(stems, stems)
            patterns.setdefault(axis, {})[way] = re.compile("|".join(map(_phrase_pattern, phrases)))
    return _Ways(patterns, frozenset(strict), alike)


def _phrase_pattern(phrase: str) -> str:
    told = re.escape(phrase.removeprefix("^")).replace(r"\ \.\.\.\ ", r"(?: [^\s,;]+){1,8}? ")
    return rf"(?:\A|please |you ){told}\b" if phrase[0] == "^" else rf"\b{told}\b"
