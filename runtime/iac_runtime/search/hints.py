"""Which apps a request means: by their names, and by what they are for."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from iac_base.words import fold_name, stem_word
from iac_runtime.search.lexicon import ELSEWHERE, Area, load_lexicon
from iac_runtime.search.request import SearchRequest, SearchTerm

_NAMED: Final = 2.0
_AREA: Final = 1.5
"""How much a request speaks for the usual app of an area that it is surely about, against 2 for
the app's own name."""

_LIKELY: Final = 0.75
"""The power of an area's likelihood: the second likeliest is not far behind."""

_SAID: Final = 0.4
"""What a sure word of an area adds."""

_MOST: Final = 1.5
_NEXT: Final = 0.85
"""What of that the next app of an area has."""

_OF_A_NAME: Final = 0.5
"""What a word of an area is worth that seems to be somebody's name for something."""

_USUAL: Final = 0.15
"""What the usual app of an area has before apps of none."""

_OTHER: Final = 0.6
"""What of that another app of an area has, and what is of no app."""

_ITSELF: Final = 0.9
"""From here on an option is the word itself, or what it was mistyped of."""

_PART: Final = 1.6
"""How strongly an app is meant by a word of its name that is its own."""

_OTHERWISE: Final = 0.25
_PLAINLY: Final = 0.4
"""How likely it may be that a request is for what no app does, and how much more for each sure
word of what apps do."""

_BESIDE: Final = 0.15
"""What an area says where an app is named."""

_LONGEST: Final = 4
"""Words of a name that are looked at together."""

AppPlace = tuple[int, int]
"""Where an app stands: the number of its index, and its place there."""

FindApps = Callable[[str], Iterable[AppPlace]]
"""Returns the apps of a folded name (`=mail`), or of a word of a name (`~chrome`)."""


class Hint(NamedTuple):
    """How strongly an app is meant, from 0 to 2, and the stems that were its name."""

    strength: float
    name_stems: frozenset[str] = frozenset()


def app_hints(
    request: SearchRequest, find: FindApps, common: Callable[[str], bool]
) -> dict[AppPlace, Hint]:
    """Return how a request speaks for apps; one that it does not speak for is not there.

    Args:
        request: What was read.
        find: Finds apps by their names.
        common: Whether a stem is not one app's own, though its name has it.
    """
    found: dict[AppPlace, Hint] = {}
    for name, worth in area_scores(request).items():
        strength = min(_MOST, worth)
        for app in load_lexicon().areas[name].apps:
            for place in find(f"={fold_name(app)}"):
                _add_hint(found, place, Hint(strength))
                strength *= _NEXT
    for term in request.terms:
        for word, worth in term.options.items():
            if not common(word):
                for place in find(f"~{word}"):
                    _add_hint(found, place, Hint(_PART * worth**2, frozenset({term.stem})))
    words = request.words
    for start in range(len(words)):
        for end in range(start + 1, min(start + _LONGEST, len(words)) + 1):
            places = tuple(find(f"={''.join(words[start:end])}"))
            if not places:
                continue
            before = words[start - 1] if start else ""
            after = words[end] if end < len(words) else ""
            if not before and words[0] in load_lexicon().app_verbs and after != "app":
                continue
            plain = end == start + 1 and {words[start], stem_word(words[start])} & _everyday_words()
            # An everyday word is a name only where something says that the app is meant.
            told = (
                before in load_lexicon().before_app
                or after == "app"
                or words[start] in request.capitals
            )
            if plain and not told:
                continue
            said = {*map(stem_word, words[start:end]), stem_word("".join(words[start:end]))}
            for place in places:
                _add_hint(found, place, Hint(_NAMED, frozenset(said)))
    if any(hint.name_stems and hint.strength >= _NAMED for hint in found.values()):
        # Who names an app means that one, whatever others are for.
        return {
            place: hint if hint.name_stems else hint._replace(strength=_BESIDE * hint.strength)
            for place, hint in found.items()
        }
    return found


def is_served(request: SearchRequest, meant: Iterable[Hint]) -> bool:
    """Say whether any app may do what is asked; of an app that is named, somebody knows it does."""
    if any(hint.name_stems and hint.strength >= _PART for hint in meant):
        return True
    if any(term.stem in load_lexicon().mark_stems for term in request.terms):
        return True
    said = _area_word_scores(request)
    elsewhere = said.pop(ELSEWHERE, 0.0)
    sure = max(0.0, max(said.values(), default=0.0) - elsewhere)
    return request.meaning.areas.get(ELSEWHERE, 0.0) < _OTHERWISE + _PLAINLY * sure


def area_scores(request: SearchRequest) -> dict[str, float]:
    """Return how much a request speaks for each area of apps."""
    found = {name: _AREA * worth**_LIKELY for name, worth in request.meaning.areas.items()}
    for name, worth in _area_word_scores(request).items():
        found[name] = found.get(name, 0) + _SAID * worth
    return found


def _area_word_scores(request: SearchRequest) -> dict[str, float]:
    """Return how much the words of areas say for each."""
    found: dict[str, float] = {}
    verbs = load_lexicon().verbs
    # What a request begins with is done, not spoken of: list the songs, email it to her.
    terms = [one for one in request.terms if one.stem != request.first or one.stem not in verbs]
    for name, area in load_lexicon().areas.items():
        worth = sum(_word_score(one.options, area) * _term_weight(request, one) for one in terms)
        if request.first in area.first:
            worth += 1.0
        if worth:
            found[name] = worth
    return found


def _term_weight(request: SearchRequest, term: SearchTerm) -> float:
    return min(1.0, term.worth * 2) * (_OF_A_NAME if term.stem in request.names else 1.0)


def _word_score(options: Mapping[str, float], area: Area) -> float:
    """Return what a word says for an area: less where it speaks for several."""
    shared = load_lexicon().area_counts
    return max(
        (
            area.worth[one] * worth / shared[one] ** 0.5
            for one, worth in options.items()
            if one in area.worth and worth >= _ITSELF
        ),
        default=0.0,
    )


def _add_hint(found: dict[AppPlace, Hint], place: AppPlace, hint: Hint) -> None:
    old = found.get(place, Hint(0))
    found[place] = Hint(max(old.strength, hint.strength), old.name_stems | hint.name_stems)


@lru_cache(maxsize=1)
def _everyday_words() -> frozenset[str]:
    """Return the words of every day that may be names of apps."""
    words = {word for area in load_lexicon().areas.values() for word in area.worth}
    return frozenset({*words, *load_lexicon().everyday_names})


@lru_cache(maxsize=1)
def default_apps() -> Mapping[str, float]:
    """Return the folded names of the apps that people mean without naming one, and how much so."""
    usual: dict[str, float] = {"": _USUAL * _OTHER}
    for area in load_lexicon().areas.values():
        for number, app in enumerate(area.apps):
            usual.setdefault(fold_name(app), _USUAL if number == 0 else _USUAL * _OTHER)
    return usual
