"""The index of all tools: apps that may serve a request are chosen, then their tools ordered.

A hit has its page: purpose, schema and example of a tool, in so many tokens.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import chain, islice
from math import log
from typing import Final, NamedTuple, TypeAlias

from iac_base.words import fold_name, stem_words
from iac_runtime.search.entries import KINDS, IndexedApp, SearchFile, added_app
from iac_runtime.search.lexicon import load_lexicon
from iac_runtime.search.query import SearchRequest, nearest_words, read_request
from iac_runtime.search.ranking import (
    AppPlace,
    Hint,
    ToolCandidate,
    app_hints,
    area_scores,
    default_apps,
    diversify,
    is_served,
    missing_app,
    named_missing_app,
    rank_tools,
    spread_apps,
)
from iac_runtime.search.slots import Slots, read_slots
from iac_runtime.search.weights import CERTAIN, FLOOR, FOR_ANY, MEANT, SURE_APP, TOOLSET, WEAK
from iac_runtime.tool import Level, Op, at_most, tool_prefix
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import OWN_TOOLS

LIMIT: Final = 5
"""Hits that are given where nobody says how many."""

_CHOSEN: Final = 12
"""Apps whose tools are ranked."""

_NAMED: Final = 0.4
"""From here on a property is named: a word of a group is enough, half of a loose one is not."""

_NEAR: Final = 0.7
"""Of an intent's score, what a tool of the dictionary needs to be for the same."""

_MEANS: Final = {"add": "make", "create": "make", "find": "list", "search": "list", "edit": "set"}
"""What the verb of an intent is called among object tools."""

_OFFERS: Final = 250
"""Offers that may come into an answer."""

_GUESTS: Final = 2
"""Tools for any app that may take the places of the last tools of a chosen app."""

AddedApps: TypeAlias = Callable[[], Iterable[IndexedApp]]
"""Returns the tools that are not generated; it is called on the first search."""


class SearchHit(NamedTuple):
    """A tool that serves a request.

    Attributes:
        tool: Its name on the wire.
        score: About 0 to 3; comparable within one answer only.
        why: What was found, one line.
        op: Its operation; `command` for a command and for the runtime's own tools.
        element: The class that the request is about, a term of the app; may be empty.
        properties: Properties of it that the request names, at most three.
        level: The least level of a call.
        slots: What the request names outright.
    """

    tool: str
    score: float
    why: str
    op: Op
    element: str
    properties: tuple[str, ...]
    level: Level
    slots: Slots | None = None


class Index:
    """Finds tools by what somebody wants to do. Safe to use from several threads."""

    def __init__(self, catalogue: Catalogue, beside: AddedApps = tuple) -> None:
        """Take the tools of apps, whose indexes are opened on first need, and of no app.

        Args:
            beside: The tools that are not generated, beside the runtime's own.
        """
        self._catalogue, self._beside = catalogue, beside
        self._asking = threading.Lock()
        self._opened: _OpenIndex | None = None

    def find(
        self,
        query: str,
        *,
        app: str | None = None,
        level: Level | None = None,
        limit: int = LIMIT,
    ) -> list[SearchHit]:
        """Return the tools that serve `query`, best first, each once.

        Args:
            query: What somebody wants, in their own words.
            app: Only tools of the app with this name, key or bundle id, and after them those
                for any app; of an app that has no tools, only these.
            level: Only tools whose least level is at most this one.
            limit: How many at most.

        Raises:
            SetupError: The index of a folder is missing or damaged.
        """
        with self._asking:
            found = None if app is None else self._catalogue.meant_app(app)
            only = None if app is None else [found.key] if found else []
            if only and found:
                # Its App Intents stand under a key of their own.
                rows = self._catalogue.apps.values()
                only += [row.key for row in rows if row.id == found.id and row != found]
            return self._open().find_hits(query, only, level, limit)

    def missing_app(self, query: str) -> str:
        """Return the app that a request is for where that has no tools here, else nothing."""
        with self._asking:
            return self._open().missing_app(query)

    def _open(self) -> "_OpenIndex":
        if self._opened is None:
            others = (added_app("", OWN_TOOLS.values(), "known"), *self._beside())
            self._opened = _OpenIndex(self._catalogue, others)
        return self._opened


class _OpenIndex:
    """The indexes of all folders as one, and the tools of no app."""

    def __init__(self, catalogue: Catalogue, others: Sequence[IndexedApp]) -> None:
        folders = (one.folder for one in catalogue.tool_folders)
        self._files = [SearchFile(folder, catalogue) for folder in folders]
        self._others = others
        self._total = max(sum(file.rows for file in self._files), 1)
        rows = chain.from_iterable(one.rows for one in others)
        self._own = Counter(chain.from_iterable(row.all for row in rows))
        self._lexicon = load_lexicon().known_stems
        self._worth = lru_cache(4096)(self._word_worth)

    def missing_app(self, query: str) -> str:
        """Return the app that a request is for where that has no tools here, else nothing."""
        request = read_request(query, self._is_known, self._nearest_words)
        named = named_missing_app(request, self._find_apps)
        return named or missing_app(request, self._find_apps)

    def find_hits(
        self, query: str, only: list[str] | None, level: Level | None, limit: int
    ) -> list[SearchHit]:
        """Return the tools that serve `query`; `only` are an app's keys, none where it has none."""
        request = read_request(query, self._is_known, self._nearest_words)
        meant = app_hints(request, self._find_apps, self._is_common)
        if only is None and not (request.terms and is_served(request, meant.values())):
            return []
        if only is None:
            places: Iterable[AppPlace] = self._choose_apps(request, meant)
        else:
            places = [place for key in only for place in self._find_apps(f"={fold_name(key)}")]
        apps: dict[str, IndexedApp] = {}
        said: dict[str, Hint] = {}
        for place in places:
            found = self._files[place[0]].app(place[1])
            if found and (only is None or found.key in only):
                apps[found.key] = found
                said[found.key] = meant.get(place, Hint(0))
        wanted = set(only or ())
        likely = area_scores(request)
        by_name = next(
            (hint for hint in said.values() if hint.name_stems and hint.strength >= 1), None
        )
        for other in self._others:
            # What is for apps that have tools is of no use for one that has none.
            if only != [] or other.reach == "any":
                apps[other.key] = other
                said[other.key] = Hint(min(TOOLSET, likely.get(other.key or "runtime", 0.0)))
                # An app that is named is named for the tools that are for any app too.
                if other.reach == "any" and by_name:
                    said[other.key] = by_name._replace(
                        strength=max(FOR_ANY * by_name.strength, said[other.key].strength)
                    )
        offers = rank_tools(request, apps, said, self._worth, wanted)
        if only is None and not any(hint.name_stems for hint in meant.values()):
            if named_missing_app(request, self._find_apps):
                any_app = {one.key for one in self._others}
                offers = [one for one in offers if one.app in any_app]
            elif missing_app(request, self._find_apps) and offers and offers[0].score < SURE_APP:
                return []
        if only is None and offers and offers[0].score < FLOOR:
            return []

        slots = read_slots(query)

        def collect_hits(some: Iterable[ToolCandidate]) -> list[SearchHit]:
            found = (
                (_make_hit(one, apps[one.app], request)._replace(slots=slots), apps[one.app])
                for one in spread_apps(
                    diversify([*islice(some, _OFFERS)], lambda key: apps[key].name), LIMIT
                )
            )
            kept = [row for row in found if level is None or at_most(row[0].level, level)]
            if only is None:
                # What deletes, sends or runs is no guess.
                sure = (row[0].level != "DANGEROUS" or row[0].score >= CERTAIN for row in kept)
                kept = [row for row, is_sure in zip(kept, sure, strict=True) if is_sure]
            return _proven_first(kept)[:limit]

        if only is None:
            return collect_hits(offers)
        own = collect_hits(one for one in offers if one.app in wanted)
        return _own_first(own, collect_hits(one for one in offers if one.app not in wanted), limit)

    def _choose_apps(
        self, request: SearchRequest, meant: Mapping[AppPlace, Hint]
    ) -> list[AppPlace]:
        """Return the apps that may serve a request, the likeliest first.

        An app counts for each word of the request by the best that it has for it.
        """
        scores = {place: MEANT * hint.strength for place, hint in meant.items()}
        for app, worth in default_apps().items():
            for place in self._find_apps(f"={app}"):
                scores[place] = scores.get(place, 0.0) + worth
        whole = sum(term.worth * max(map(self._worth, term.options)) for term in request.terms)
        for number, file in enumerate(self._files):
            for term in request.terms:
                best: dict[int, float] = {}
                for option, value in term.options.items():
                    row = file.word(option)
                    share = value * term.worth * self._worth(option) / (whole or 1.0)
                    for places, worth in ((row.strong, share), (row.weak, share * WEAK)):
                        for at in places:
                            if worth > best.get(at, 0.0):
                                best[at] = worth
                for at, worth in best.items():
                    scores[number, at] = scores.get((number, at), 0.0) + worth
        return nlargest(_CHOSEN, scores, key=lambda key: (scores[key], key))

    def _find_apps(self, name: str) -> list[AppPlace]:
        return [
            (number, place)
            for number, file in enumerate(self._files)
            for place in file.word(name).strong
        ]

    def _is_common(self, word: str) -> bool:
        """Say whether a word is not one app's own: people say it, or several apps have it."""
        return word in self._lexicon or sum(file.word(word).apps for file in self._files) > 1

    def _count_rows(self, word: str) -> int:
        return sum(file.word(word).rows for file in self._files)

    def _is_known(self, word: str) -> bool:
        return (
            word in self._lexicon
            or word in self._own
            or self._count_rows(word) > 0
            or bool(self._find_apps(f"={word}") or self._find_apps(f"~{word}"))
        )

    def _nearest_words(self, word: str) -> list[str]:
        starts = dict.fromkeys((word[:1], word[1:2])) if word.isascii() else ()
        found = {*chain(self._own, self._lexicon)}
        return nearest_words(
            word, found.union(*(f.words_beginning(s) for f in self._files for s in starts if s))
        )

    def _word_worth(self, word: str) -> float:
        """Return what a word tells: a rare one much, a common one little, else nothing."""
        count = self._count_rows(word) + self._own[word]
        return log(1 + self._total / (1 + count)) if count else 0.0


def _make_hit(offer: ToolCandidate, app: IndexedApp, request: SearchRequest) -> SearchHit:
    row, level = offer.row, app.levels[offer.tool]
    if row is not None and row.kind not in KINDS:
        said = offer.tool.removeprefix(tool_prefix(app.key)).replace("_", " ")
        why = f"{app.name}: {said}".removeprefix(": ")
        return SearchHit(offer.tool, offer.score, why, offer.op, row.element, (), level)
    term = row.element if row else ""
    write = offer.op in ("set", "make")
    properties = row.properties if row else ()
    named = _named_properties(properties, request, f"{term} {app.name}", write=write)
    why = f"{offer.op} {term}".rstrip() + f" in {app.name}"
    if named:
        why += f" ({', '.join(named)})"
    return SearchHit(offer.tool, offer.score, why, offer.op, term, named, level)


def _proven_first(found: Sequence[tuple[SearchHit, IndexedApp]]) -> list[SearchHit]:
    """Put a tool of an app's dictionary before its intent for the same, and let it name that.

    Both serve the request nearly as well and do the same by their names; the dictionary's is
    proven, quicker, and macOS asks about it once.
    """
    ordered = [hit for hit, _ in found]
    for intent, app in found:
        if app.intents:
            for hit, other in found:
                near = hit.score >= _NEAR * intent.score and _tool_verb(hit) == _tool_verb(intent)
                if near and other.id == app.id and not other.intents:
                    ordered.remove(intent)
                    at = next(at for at, one in enumerate(ordered) if one.tool == hit.tool)
                    said = f"{ordered[at].why}; also by {intent.tool}, an App Intent"
                    ordered[at : at + 1] = ordered[at]._replace(why=said), intent
                    break
    return ordered


def _tool_verb(hit: SearchHit) -> str:
    """Return the verb of a tool's name, as an object tool is called; a hit has the app's words."""
    verb = hit.why.rpartition(": ")[2].partition(" ")[0] if hit.op == "command" else hit.op
    return _MEANS.get(verb, verb)


def _own_first(
    own: Sequence[SearchHit], others: Sequence[SearchHit], limit: int
) -> list[SearchHit]:
    """Return the tools of a chosen app, then those for any app.

    An app's object tools are offered for every request: the last of them give way to what fits
    better.
    """
    first, last = list(own), list[SearchHit]()
    for one in others:
        if len(first) + len(last) >= limit:
            if len(last) >= _GUESTS or not first or first[-1].score >= one.score:
                break
            first.pop()
        last.append(one)
    return first + last


def _named_properties(
    rows: Sequence[Sequence[str]], request: SearchRequest, owner: str, *, write: bool
) -> tuple[str, ...]:
    """Return the properties that the words of a request name, best first, at most three.

    A word of `owner`, the class and its app, tells nothing about the properties: of the mail
    messages by sender, not the message id.
    """
    known = _cached_stems(owner)
    found: list[tuple[float, str]] = []
    for term, access in rows:
        if write and "w" not in access:
            continue
        words = _cached_stems(term)
        telling = words - known
        value = sum(
            max((one.options[word] for word in telling & one.options.keys()), default=0)
            for one in request.terms
        )
        if value >= _NAMED:
            found.append((value / len(words) ** 0.5, term))
    return tuple(name for _, name in sorted(found, key=lambda one: -one[0])[:3])


@lru_cache(4096)
def _cached_stems(text: str) -> frozenset[str]:
    return frozenset(stem_words(text))
