"""Finding kept scripts by what somebody wants: by words, by apps, and by what apps are for.

A word counts by how few scripts have it; one that no script has counts a little, because people
name what is theirs. A wish that is for no app at all finds nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import log
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_applescript.analysis.analyser import ScriptAnalyzer
from iac_applescript.library import SavedScript, own_scripts, shipped_scripts
from iac_applescript.patterns import related_stems
from iac_base.words import fold_name, split_words, stem_word
from iac_runtime.search.query import SearchRequest, known_words, load_lexicon, read_request
from iac_runtime.search.ranking import area_scores, is_served
from iac_runtime.toolkit import Catalogue
from iac_runtime.tools.own import CALL_TOOLS

FLOOR: Final = 0.595
"""Below this score no script does what is wanted. Measured: of 60 wishes that nothing serves, 2
have one above it."""

_SURELY: Final = 0.8
"""From this score on a script is offered beside tools."""

_GROUP: Final = 0.6
"""How well a word stands for another of its group (`patterns`)."""

_UNHEARD: Final = 0.85
"""What a word weighs that no script has, against the rarest that one has."""

_LOOKS: Final = frozenset(
    map(stem_word, "list say read get count look tell sum whose what which".split())
)
"""First words of what only looks; questions do too (`words.toml`)."""

_EITHER: Final = frozenset(map(stem_word, "find show search check print".split()))
"""First words of what looks, or brings to the front."""

_ACTS: Final = 0.75
"""What is left of the score of a script that acts where somebody wants to look, or looks where
something is to be done."""

_LOSES: Final = frozenset(
    map(stem_word, "delete remove empty trash erase clear bin throw rid drop cancel clean".split())
)
"""Words of what loses something, which nobody is offered who did not ask for it."""

_ELSEWHERE: Final = 0.6
"""What is left of a score where a request seems to be for what no app does."""

_NUMBERS: Final = frozenset(
    map(stem_word, "one two three four five six seven eight nine ten single several".split())
)

_CALLED: Final = 0.4
"""What of that a word weighs that is a name or a number."""

_AREA: Final = 0.25
"""What it adds that a request is surely about what the script's app is for."""

_SURE: Final = 2.0
"""From here on an area is sure."""

_NEXT: Final = 0.7
"""What of an area's worth its next app has."""

_OTHER: Final = 0.4
"""What is left of a script's score where the request names another app."""

_UNSAID: Final = 0.2
"""How much the words of a purpose that were not asked for count against it."""


class FoundScript(NamedTuple):
    """A script that was found; `score` is about 0 to 1.2; `why` is one line."""

    script: SavedScript
    score: float
    why: str


class _IndexedScript(NamedTuple):
    """A script as it is found: all its stems, those of its purpose, what it does."""

    script: SavedScript
    stems: frozenset[str]
    purpose: frozenset[str]
    reads_only: bool | None
    loses: bool


class _ScriptIndex(NamedTuple):
    """The shipped scripts, what each word tells, and which scripts have it."""

    entries: tuple[_IndexedScript, ...]
    worth: Mapping[str, float]
    holders: Mapping[str, Sequence[int]]


def offer_scripts(query: str, app: str, catalogue: Catalogue) -> list[dict[str, Any]]:
    """Return the script that surely does what is wanted as `find_tools` shows it, and its call."""
    known = catalogue.find_app(app) if app else None
    found = find_scripts(query, known.name if known else app, 1)
    rows = [
        saved_script_call(row, _shared_analyzer(catalogue)) for row in found if row.score >= _SURELY
    ]
    return [{**row, "call_with": CALL_TOOLS[row["level"]]} for row in rows]


@lru_cache(maxsize=2)
def _shared_analyzer(catalogue: Catalogue) -> ScriptAnalyzer:
    return ScriptAnalyzer(catalogue)


def saved_script_call(found: FoundScript, analyser: ScriptAnalyzer) -> dict[str, Any]:
    """Return a script as an answer: what it is for, what it needs, and the call that runs it."""
    row = found.script
    call = {"saved": row.name, **({"arguments": row.example_arguments()} if row.parameters else {})}
    analysed = analyser.analyze_script(row.script, row.language)
    return {
        "saved": row.name,
        "purpose": row.purpose,
        "apps": list(row.apps),
        "level": analysed.level,
        "call": {"name": "execute_applescript", "arguments": call},
    }


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
    shelf, own = _shipped_index(), [*map(_index_script, own_scripts(folder)[0])]
    entries, worth, holders = shelf.entries, shelf.worth, shelf.holders
    request = read_request(
        intent, lambda word: word in worth or word in known_words(), _no_near_words
    )
    terms = [*_weigh_terms(request, worth)]
    whole = sum(weight for _, weight in terms) or 1.0
    said = {term.stem for term in request.terms}
    left = 1.0 if app or is_served(request, ()) else _ELSEWHERE
    looks, likely, named = (
        _is_read_request(intent),
        _likely_apps(request),
        _named_apps(intent, (*entries, *own)),
    )
    sharing = {at for row, _ in terms for word in row for at in holders.get(word, ())}
    taken = {row.script.name for row in own}
    found = []
    for script, has, purpose, only_looks, loses in (*map(entries.__getitem__, sharing), *own):
        elsewhere = app and fold_name(app) not in map(fold_name, script.apps)
        if elsewhere or (script.name in taken and script.source == "library"):
            continue
        score, asked = 0.0, set[str]()
        for options, weight in terms:
            shared = options.keys() & has
            score += max(map(options.__getitem__, shared), default=0.0) * weight
            asked |= shared
        unsaid = sum(worth.get(word, 1) for word in purpose - asked)
        every = sum(worth.get(word, 1) for word in purpose) or 1
        score = score / whole * (1 - _UNSAID * unsaid / every)
        score += _AREA * max(
            (likely.get(fold_name(one), 0.0) for one in script.apps[:1]), default=0.0
        )
        if named and not named & set(script.apps):
            score *= _OTHER
        if {looks, only_looks} == {True, False} or (loses and not _LOSES & said):
            score *= _ACTS
        if score * left >= FLOOR:
            why = f"shares {', '.join(sorted(asked)[:5])}"
            found.append(FoundScript(script, round(score * left, 3), why))
    return sorted(found, key=lambda row: (-row.score, row.script.name))[:limit]


@lru_cache(maxsize=1)
def _shipped_index() -> _ScriptIndex:
    entries = tuple(map(_index_script, shipped_scripts()))
    holders: dict[str, list[int]] = {}
    for at, row in enumerate(entries):
        for word in row.stems:
            holders.setdefault(word, []).append(at)
    worth = {word: log(1 + len(entries) / len(places)) for word, places in holders.items()}
    return _ScriptIndex(entries, worth, holders)


def _index_script(row: SavedScript) -> _IndexedScript:
    beside, main = (
        [stem_word(word) for word in split_words(text) if word not in load_lexicon().stop]
        for text in (f"{row.name} {row.tags}".replace("_", " "), " ".join((row.purpose, *row.apps)))
    )
    loses = bool(_LOSES & set(map(stem_word, split_words(row.purpose)[:1])))
    return _IndexedScript(
        row, frozenset((*beside, *main)), frozenset(main), _is_read_request(row.purpose), loses
    )


def _weigh_terms(
    request: SearchRequest, worth: Mapping[str, float]
) -> Iterator[tuple[Mapping[str, float], float]]:
    """Yield each word of a request as what may stand for it, and how much it weighs."""
    unheard = max(worth.values(), default=1.0) * _UNHEARD
    for term in request.terms:
        options = dict.fromkeys(related_stems(term.stem), _GROUP) | dict(term.options)
        known = [worth[one] * fit for one, fit in options.items() if one in worth]
        called = term.stem in request.names | _NUMBERS or any(map(str.isdigit, term.stem))
        rest = unheard * _CALLED if called else unheard
        yield options, term.worth * (worth.get(term.stem) or max(known, default=rest))


def _likely_apps(request: SearchRequest) -> dict[str, float]:
    """Return how likely a request means each app, by its folded name: 0 to 1."""
    found: dict[str, float] = {}
    for name, worth in area_scores(request).items():
        share = min(worth, _SURE) / _SURE
        for app in load_lexicon().areas[name].apps:
            found[fold_name(app)] = max(found.get(fold_name(app), 0.0), share)
            share *= _NEXT
    return found


def _named_apps(intent: str, entries: Sequence[_IndexedScript]) -> set[str]:
    """Return the apps that are named: by no everyday word, or by one with a capital."""
    words = [word.strip(".,:;?!()'\"") for word in intent.split()]
    found = set()
    for app in {one for row in entries for one in row.script.apps}:
        name = app.removeprefix("Google ").split()[0]
        if stem_word(name.casefold()) in _everyday_words():
            told = name in words[1:]
        else:
            told = name.casefold() in map(str.casefold, words)
        found |= {app} if told else set()
    return found


@lru_cache(maxsize=1)
def _everyday_words() -> frozenset[str]:
    return frozenset(word for area in load_lexicon().areas.values() for word in area.worth)


def _is_read_request(text: str) -> bool | None:
    """Say whether what is wanted, or what a script is for, is to look; None if it may be."""
    first = next((word for word in split_words(text) if word not in load_lexicon().polite), "")
    looks = first in load_lexicon().questions or stem_word(first) in _LOOKS
    return None if stem_word(first) in _EITHER else looks


def _no_near_words(_word: str) -> tuple[str, ...]:
    return ()
