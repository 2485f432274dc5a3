"""Which apps a request means: by name, by part of a name, by what the app is known for."""

from collections.abc import Container, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from iac_runtime.search.lexicon import APPS, BEFORE_APP
from iac_runtime.search.request import Request
from iac_runtime.search.stems import split, stem, stems
from iac_runtime.tables import fold

__all__ = ["AppNames", "Hint"]

_NAMED: Final = 3.0
_CALLED: Final = 1.0
"""A name that is also an everyday word, where nothing says that the app is meant."""
_PART: Final = 1.3
_KNOWN_FOR: Final = 0.55
_LONGEST: Final = 4
"""Words of a name that are looked at together."""


class Hint(NamedTuple):
    """How strongly an app is meant, from 0 to 2, and the stems that were its name."""

    strength: float
    said: frozenset[str] = frozenset()


class AppNames:
    """The names of the apps of an index, which are known by their places in it."""

    def __init__(self, names: Sequence[tuple[str, str, str]], common: Container[str]) -> None:
        """Take (key, name, bundle id) of each app, and the stems that are not one app's own."""
        self._names = names
        self._whole: dict[str, list[int]] = {}
        self._parts: dict[str, list[int]] = {}
        self._known_for: dict[str, list[int]] = {}
        for place, (key, name, _) in enumerate(names):
            for spelling in {fold(name), fold(key)} - {""}:
                self._whole.setdefault(spelling, []).append(place)
            for word in {*stems(name)} - {*map(stem, split(fold(name)))}:
                if word in common:
                    continue
                self._parts.setdefault(word, []).append(place)
            for word in _known_for().get(fold(name), ()):
                self._known_for.setdefault(word, []).append(place)
        self.words = {*self._parts, *self._known_for, *map(stem, self._whole)}

    def named(self, name: str) -> list[int]:
        """Return the apps that have this name, key or bundle id, in any case."""
        wanted = fold(name)
        return [
            place
            for place, row in enumerate(self._names)
            if wanted and wanted in (fold(part) for part in row)
        ]

    def hints(self, request: Request) -> dict[int, Hint]:
        """Return how a request speaks for apps; one that it does not speak for is not there."""
        found: dict[int, Hint] = {}
        known_for: dict[int, float] = {}
        for term in request.terms:
            reached: dict[int, float] = {}
            for word, worth in term.options.items():
                for place in self._known_for.get(word, ()):
                    reached[place] = max(reached.get(place, 0), worth)
                parts = self._parts.get(word, ())
                for place in parts:
                    weight = _PART * worth * worth / len(parts)
                    _add(found, place, Hint(weight, frozenset({term.stem})))
            for place, worth in reached.items():
                known_for[place] = known_for.get(place, 0) + worth
        for place, worth in known_for.items():
            _add(found, place, Hint(_KNOWN_FOR * min(worth, 2)))
        words = request.words
        for start in range(len(words)):
            for end in range(start + 1, min(start + _LONGEST, len(words)) + 1):
                places = self._whole.get("".join(words[start:end]))
                if not places:
                    continue
                before = words[start - 1] if start else ""
                after = words[end] if end < len(words) else ""
                if not before and words[0] in _VERBS and after != "app":
                    continue
                plain = end == start + 1 and words[start] in _everyday()
                if before in BEFORE_APP or after == "app" or not plain:
                    said = {*map(stem, words[start:end]), stem("".join(words[start:end]))}
                    hint = Hint(_NAMED, frozenset(said))
                else:
                    hint = Hint(_CALLED)
                for place in places:
                    _add(found, place, hint)
        return found


def _add(found: dict[int, Hint], place: int, hint: Hint) -> None:
    old = found.get(place, Hint(0))
    found[place] = Hint(max(old.strength, hint.strength), old.said | hint.said)


@lru_cache(maxsize=1)
def _known_for() -> Mapping[str, tuple[str, ...]]:
    return {fold(name): tuple(dict.fromkeys(stems(words))) for name, words in APPS.items()}


@lru_cache(maxsize=1)
def _everyday() -> frozenset[str]:
    """Return the words of every day that may be names of apps, in the plural too."""
    words = {word for row in APPS.values() for word in split(row)}
    return frozenset({*words, *(f"{word}s" for word in words), *_COMMON})


_VERBS: Final = frozenset(("play", "sketch"))
"""Names that, where a request begins with them, tell what to do."""

_COMMON: Final = frozenset(
    "play console numbers pages messages photos contacts sketch things bear".split()
)
