"""Finding kept scripts by what somebody wants: by words, by apps, and by what apps are for.

A word counts by how few scripts have it; one that no script has counts a little, because people
name what is theirs. A wish that is for no app at all finds nothing.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import log
from pathlib import Path
from typing import Final, NamedTuple

from iac_applescript.library import SavedScript, scripts
from iac_applescript.patterns import others
from iac_base.words import fold, split, stem
from iac_runtime.search.hints import areas, is_served
from iac_runtime.search.lexicon import lexicon
from iac_runtime.search.request import SearchRequest, known_words, read_request

FLOOR: Final = 0.62
"""Below this score no script does what is wanted."""

_TAG: Final = 0.85
"""What a word is worth that is said of a script beside its purpose."""

_GROUP: Final = 0.6
"""How well a word stands for another of its group (`patterns`)."""

_UNHEARD: Final = 0.35
"""What a word weighs that no script has, against the rarest that one has."""

_AREA: Final = 0.3
"""What it adds that a request is surely about what the script's app is for."""

_SURE: Final = 2.0
"""From here on an area is sure."""

_NEXT: Final = 0.7
"""What of an area's worth its next app has."""

_OTHER: Final = 0.4
"""What is left of a script's score where the request names another app."""

_UNSAID: Final = 0.1
"""How much the words of a purpose that were not asked for count against it."""


class FoundScript(NamedTuple):
    """A script that was found; `score` is about 0 to 1.3; `why` is one line."""

    script: SavedScript
    score: float
    why: str


def find_scripts(
    intent: str, app: str = "", limit: int = 3, folder: Path | None = None
) -> list[FoundScript]:
    """Return the kept scripts that serve an intent, best first; none where nothing does.

    Args:
        intent: What is wanted, in somebody's own words.
        app: Only scripts of the app of this name.
        limit: How many at most.
        folder: The user's own scripts.
    """
    rows = [(row, _said(row.name, row.purpose, row.tags, row.apps)) for row in scripts(folder)]
    counts = Counter(word for _, said in rows for word in said)
    request = read_request(intent, lambda word: word in counts or word in known_words(), _near)
    if not app and not is_served(request, ()):
        return []
    worth = {word: log(1 + len(rows) / count) for word, count in counts.items()}
    terms = [*_weighed(request, worth, log(1 + len(rows)) * _UNHEARD)]
    whole = sum(weight for _, weight in terms) or 1.0
    likely, named = _likely(request), _named(intent, rows)
    found = []
    for row, said in rows:
        if app and fold(app) not in map(fold, row.apps):
            continue
        fits = [max(said.get(o, 0) * fit for o, fit in options.items()) for options, _ in terms]
        score = sum(fit * weight for fit, (_, weight) in zip(fits, terms, strict=True)) / whole
        asked = {o for (options, _), fit in zip(terms, fits, strict=True) if fit for o in options}
        unsaid = [worth[word] for word, place in said.items() if place == 1 and word not in asked]
        every = sum(worth[word] for word, place in said.items() if place == 1) or 1.0
        score *= 1 - _UNSAID * sum(unsaid) / every
        score += _AREA * likely.get(fold(row.apps[0]), 0.0) if row.apps else 0.0
        if named and not named & set(row.apps):
            score *= _OTHER
        matched = sorted({word for word in asked if word in said})
        found.append(FoundScript(row, round(score, 3), f"shares {', '.join(matched[:5])}"))
    found.sort(key=lambda row: (-row.score, row.script.name))
    return [row for row in found[:limit] if row.score >= FLOOR]


@lru_cache(maxsize=2048)
def _said(name: str, purpose: str, tags: str, apps: tuple[str, ...]) -> Mapping[str, float]:
    """Return the stems that a script is found by, each with its worth."""
    said: dict[str, float] = {}
    name = name.replace(".", " ").replace("_", " ")
    for text, place in ((f"{name} {tags}", _TAG), (f"{purpose} {' '.join(apps)}", 1.0)):
        told = (word for word in split(text) if word not in lexicon().stop)
        said |= dict.fromkeys(map(stem, told), place)
    return said


def _weighed(
    request: SearchRequest, worth: Mapping[str, float], unheard: float
) -> Iterator[tuple[Mapping[str, float], float]]:
    """Yield each word of a request as what may stand for it, and how much it weighs."""
    for term in request.terms:
        options = dict.fromkeys(others(term.stem), _GROUP) | dict(term.options)
        known = [worth[one] * fit for one, fit in options.items() if one in worth]
        own = worth.get(term.stem)
        yield options, term.worth * (own or max(known, default=unheard))


def _likely(request: SearchRequest) -> dict[str, float]:
    """Return how likely a request means each app, by its folded name: 0 to 1."""
    found: dict[str, float] = {}
    for name, worth in areas(request).items():
        share = min(worth, _SURE) / _SURE
        for app in lexicon().areas[name].apps:
            found[fold(app)] = max(found.get(fold(app), 0.0), share)
            share *= _NEXT
    return found


def _named(intent: str, rows: list[tuple[SavedScript, Mapping[str, float]]]) -> set[str]:
    """Return the apps that are named as such: by a name that is no everyday word, or in capitals."""
    apps = {one for row, _ in rows for one in row.apps}
    words = intent.split()
    everyday = {word for area in lexicon().areas.values() for word in area.worth}
    found = set()
    for app in apps:
        first = app.split()[-1] if app == "Google Chrome" else app.split()[0]
        plain = stem(first.casefold()) in everyday
        told = (w.strip(".,:;?!()'\"") for w in (words[1:] if plain else words))
        if any(w == first or (not plain and w.casefold() == first.casefold()) for w in told):
            found.add(app)
    return found


def _near(_word: str) -> tuple[str, ...]:
    return ()
