"""Ordering what was learned: by words, app, success and age."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from math import log
from typing import Final, NamedTuple

from iac_applescript.learning.paraphrases import FIT, others
from iac_applescript.learning.patterns import Pattern
from iac_runtime.search.request import known_words, read_request, split, stem

__all__ = ["Candidate", "Found", "query_words", "rank"]

_IN_SCRIPT: Final = 0.5
"""What a word is worth that only the script has, not the intent."""

_APP: Final = 0.35
_RATE: Final = 0.3
_AGE: Final = 0.1
_DAYS: Final = 60.0
_UNSAID: Final = 0.25
"""How much words of the stored intent that were not asked for count against it."""


class Candidate(NamedTuple):
    """A pattern that has some of the words: those of its intent and those of its script."""

    pattern: Pattern
    said: frozenset[str]
    done: frozenset[str]


class Found(NamedTuple):
    """A pattern that was found; `score` is about 0 to 2; `why` is one line."""

    pattern: Pattern
    score: float
    why: str


def query_words(intent: str) -> Mapping[str, Mapping[str, float]]:
    """Return the words of an intent, each with what may stand for it and how well."""
    known: Callable[[str], bool] = known_words().__contains__
    request = read_request(intent, known, lambda _word: ())
    found: dict[str, dict[str, float]] = {}
    for term in request.terms:
        options = found[term.stem] = dict(term.options)
        for other in others(term.stem):
            options[other] = max(options.get(other, 0.0), FIT)
    return found


def rank(
    words: Mapping[str, Mapping[str, float]],
    candidates: Sequence[Candidate],
    counts: Mapping[str, int],
    total: int,
    app: str = "",
    same: frozenset[str] = frozenset(),
) -> list[Found]:
    """Return the candidates, best first.

    Args:
        words: What is asked for, as `query_words` gives it.
        candidates: What to order.
        counts: How many patterns have each word.
        total: How many patterns there are.
        app: The bundle id that is wanted; empty for any.
        same: The stems of the intent as it was said: a pattern of just these was stored for it.
    """

    def worth(word: str) -> float:
        return log(1 + total / (1 + counts.get(word, 0)))

    now = datetime.now(UTC)
    asked = sum(worth(word) for word in words)
    found = []
    for pattern, said, done in candidates:
        covered, matched = _covered(words, said, done, worth)
        share = covered / (asked or 1)
        unsaid = sum(worth(word) for word in said - matched) / (sum(map(worth, said)) or 1)
        score = share * (1 - _UNSAID * unsaid) + share * _RATE * (pattern.rate - 0.5)
        score += _AGE * share / (1 + _days(pattern.last, now) / _DAYS)
        if app and app.casefold() == pattern.app.casefold():
            score += _APP * max(share, 0.2)
        if same and same == frozenset(map(stem, split(pattern.intent))):
            score = max(score, 1.0 + _RATE * (pattern.rate - 0.5))
        why = f"worked {pattern.successes} of {pattern.successes + pattern.failures} times"
        if matched:
            why += f"; shares {', '.join(sorted(matched)[:5])}"
        found.append(Found(pattern, round(score, 4), why))
    found.sort(key=lambda row: (-row.score, -row.pattern.successes, row.pattern.id))
    return [row for row in found if row.score > 0.05]


def _covered(
    words: Mapping[str, Mapping[str, float]],
    said: frozenset[str],
    done: frozenset[str],
    worth: Callable[[str], float],
) -> tuple[float, set[str]]:
    covered, matched = 0.0, set[str]()
    for options in words.values():
        best, which = 0.0, ""
        for option, fit in options.items():
            place = 1.0 if option in said else _IN_SCRIPT if option in done else 0.0
            value = fit * place * worth(option)
            if value > best:
                best, which = value, option
        covered += best
        if which:
            matched.add(which)
    return covered, matched


def _days(moment: str, now: datetime) -> float:
    try:
        return max((now - datetime.fromisoformat(moment)).total_seconds() / 86400, 0.0)
    except (ValueError, TypeError):
        return 365.0
