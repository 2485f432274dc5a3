"""The index of all tools: apps that may serve a request are chosen, then their tools ordered.

A hit has its page: purpose, schema and example of a tool, in so many tokens.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import chain, islice
from math import log
from typing import Any, Final, NamedTuple, TypeAlias

from iac_base.words import fold_name, stem_words
from iac_runtime.language.compose import default_columns
from iac_runtime.language.references import has_folders
from iac_runtime.search.entries import KINDS, IndexedApp, SearchFile, added_app, listing_entry
from iac_runtime.search.query import SearchRequest, load_lexicon, nearest_words, read_request
from iac_runtime.search.ranking import (
    AppPlace,
    Hint,
    ToolCandidate,
    app_hints,
    area_scores,
    default_apps,
    diversify,
    is_served,
    rank_tools,
    spread_apps,
)
from iac_runtime.tool import Level, Op, at_most, tool_prefix
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import OWN_TOOLS
from iac_runtime.tools.tables import APPLICATION, Operation, Tables, holder_of, shortest_reference
from iac_runtime.types import TYPES, find_type

LIMIT: Final = 5
"""Hits that are given where nobody says how many."""

_CHOSEN: Final = 12
"""Apps whose tools are ranked."""

_WEAK: Final = 0.4
"""What a word tells of an app that has it elsewhere than in a name."""

_MEANT: Final = 1.2
"""How much a hint of strength 1 counts in choosing apps, against what a word tells."""

_NAMED: Final = 0.4
"""From here on a property is named: a word of a group is enough, half of a loose one is not."""

_FLOOR: Final = 0.85
"""Where nothing reaches this, nothing fits: measured on requests that no tool serves."""

_NEAR: Final = 0.75
"""Of an intent's score, what a tool of the dictionary needs to be for the same."""

_MEANS: Final = {"add": "make", "create": "make", "find": "list", "search": "list", "edit": "set"}
"""What the verb of an intent is called among object tools."""

_FOR_ANY: Final = 0.6
"""What of an app's name speaks for the tools for any app."""

_TOOLSET: Final = 0.9
"""How strongly tools of no app can be meant: never so that all of them are offered."""

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
    """

    tool: str
    score: float
    why: str
    op: Op
    element: str
    properties: tuple[str, ...]
    level: Level


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
            if self._opened is None:
                others = (added_app("", OWN_TOOLS.values(), "known"), *self._beside())
                self._opened = _OpenIndex(self._catalogue, others)
            found = None if app is None else self._catalogue.meant_app(app)
            only = None if app is None else [found.key] if found else []
            if only and found:
                # Its App Intents stand under a key of their own.
                rows = self._catalogue.apps.values()
                only += [row.key for row in rows if row.id == found.id and row != found]
            return self._opened.find_hits(query, only, level, limit)


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

    def find_hits(
        self, query: str, only: list[str] | None, level: Level | None, limit: int
    ) -> list[SearchHit]:
        """Return the tools that serve `query`; `only` are an app's keys, none where it has none."""
        request = read_request(query, self._is_known, self._nearest_words)
        meant = app_hints(request, self._find_apps, self._is_common)
        if only is None and not is_served(request, meant.values()):
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
        named = next(
            (hint for hint in said.values() if hint.name_stems and hint.strength >= 1), None
        )
        for other in self._others:
            # What is for apps that have tools is of no use for one that has none.
            if only != [] or other.reach == "any":
                apps[other.key] = other
                said[other.key] = Hint(min(_TOOLSET, likely.get(other.key or "runtime", 0.0)))
                # An app that is named is named for the tools that are for any app too.
                if other.reach == "any" and named:
                    said[other.key] = named._replace(
                        strength=max(_FOR_ANY * named.strength, said[other.key].strength)
                    )
        offers = rank_tools(request, apps, said, self._worth, wanted)
        if only is None and offers and offers[0].score < _FLOOR:
            return []

        def collect_hits(some: Iterable[ToolCandidate]) -> list[SearchHit]:
            found = (
                (_make_hit(one, apps[one.app], request), apps[one.app])
                for one in spread_apps(
                    diversify([*islice(some, _OFFERS)], lambda key: apps[key].name), LIMIT
                )
            )
            kept = [row for row in found if level is None or at_most(row[0].level, level)]
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
        scores = {place: _MEANT * hint.strength for place, hint in meant.items()}
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
                    for places, worth in ((row.strong, share), (row.weak, share * _WEAK)):
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


_EXAMPLES: Final[Mapping[str, Any]] = {
    name: row.example for name, row in TYPES.items() if row.example is not None
} | {"folder": "~/Documents"}
"""An example of each plain type, by its name in the grammar of types."""

_MADE: Final = 2
"""Properties that the example of what is made sets."""

_CONTENTS: Final = frozenset({"body", "content", "contents", "text"})
"""Properties with what something says, which no list shows and everybody sets."""

_PATHS: Final = frozenset({"folder", "file"})
"""Classes whose objects are named by a path, where an app has folders as Finder has."""

_LEVEL: Final = re.compile(r"\s*\b(?:SAFE|MODIFY|DANGEROUS)\b[^.]*\.\s*$")


class ToolPage(NamedTuple):
    """A tool as a client needs it to call it.

    Attributes:
        tool: Its name on the wire.
        purpose: What it does, one line.
        level, ceiling: The least that a call needs, and the most that its arguments can reach.
        schema: The input schema, exactly as it is checked.
        example: Arguments of a call that fits the schema.
    """

    tool: str
    purpose: str
    level: Level
    ceiling: Level
    schema: Mapping[str, Any]
    example: Mapping[str, Any]


def tool_page(catalogue: Catalogue, tool: str | SearchHit) -> ToolPage:
    """Return the page of a tool; of a hit, the example is about what was asked for.

    Raises:
        UnknownToolError: There is no such tool; the error has the nearest names.
        SetupError: The app's module is not what the catalogue says.
    """
    name = tool if isinstance(tool, str) else tool.tool
    row = catalogue.find_row(name)
    entry = listing_entry(catalogue, name)
    hit = None if isinstance(tool, str) else tool
    # The module's: that of the listing is cut where it is long.
    schema = catalogue.load_tool(row).input
    example = _example_arguments(catalogue.load_operation(name), schema, hit)
    purpose = _LEVEL.sub("", str(entry["description"]))
    return ToolPage(name, purpose, row.level, row.ceiling, schema, example)


def count_tokens(entries: Iterable[Mapping[str, Any]]) -> int:
    """Return about how many tokens a listing of these entries costs: bytes of JSON by four.

    Within a tenth of two real tokenizers for whole entries; names alone cost a third more.
    """
    lines = (json.dumps(entry, separators=(",", ":"), ensure_ascii=True) for entry in entries)
    return sum(len(line) for line in lines) // 4


def _example_arguments(
    tool: Operation, schema: Mapping[str, Any], hit: SearchHit | None
) -> dict[str, Any]:
    """Return arguments that fit the schema: what is required, and what a hit is about."""
    spec, tables = tool.spec, tool.tables
    about = hit.element if hit is not None and hit.element in tables.classes else ""
    named = list(hit.properties) if hit is not None else []
    if spec.example and not about and not named:
        return dict(spec.example)
    required = schema.get("required", ())
    if spec.bind or spec.op == "command":
        return {key: _example_value(spec.params[key].type, tables) for key in required}
    if spec.op == "get":
        given: dict[str, Any] = {"target": shortest_reference(tables, about or None)}
    elif spec.op == "set":
        owner, values = _example_settings(about, named, tables)
        given = {"target": shortest_reference(tables, owner), "properties": values}
    else:
        term = _example_element(schema["properties"]["element"], about, tables)
        given = {"element": term}
        holder = holder_of(tables, term)
        if holder:
            given["at" if spec.op == "make" else "of"] = holder
        if (
            spec.op == "make"
            and about
            and (values := _example_settings(term, named, tables, _MADE)[1])
        ):
            given["properties"] = values
    if spec.op in ("get", "list") and named:
        given["properties"] = named
    return given


def _example_element(row: Mapping[str, Any], about: str, tables: Tables) -> str:
    offered: list[str] = list(row.get("enum", tables.classes))
    if about in offered:
        return about
    near = {element.term for element in tables.elements(APPLICATION)}
    return next((term for term in offered if term in near), offered[0])


def _example_settings(
    about: str, named: Iterable[str], tables: Tables, most: int = 1
) -> tuple[str, dict[str, Any]]:
    """Return a class, and values for at most so many properties that people set.

    What was named counts first, of that and of the rest what a person would look at.
    """
    for term in (about,) if about else tables.classes:
        rows = {prop.term: prop for prop in tables.properties(term) if "w" in prop.access}
        plain = [name for name, row in rows.items() if row.type in _EXAMPLES]
        usual = [one.label for one in default_columns(term, tables) if one.label in plain]
        usual += [name for name in plain if name in _CONTENTS]
        said = [name for name in named if name in rows]
        told = [name for name in usual if name in said] or said
        # What is made has a name, whatever else was spoken of.
        first = [*usual[:1], *told, *usual] if most > 1 else [*told, *usual, *plain]
        chosen = [rows[name] for name in dict.fromkeys(first)][:most]
        reached = term == APPLICATION or shortest_reference(tables, term) != APPLICATION
        if chosen and reached:
            return term, {row.term: _example_value(row.type, tables) for row in chosen}
    return about or APPLICATION, {}


def _example_value(kind: str, tables: Tables) -> Any:
    """Return an example of a type, of its first alternative that is not `missing value`."""
    first = next((part for part in kind.split(" | ") if part != "missing value"), "any")
    if first.startswith("list of "):
        return [_example_value(first.removeprefix("list of "), tables)]
    if tables.enums.get(first):
        return tables.enums[first][0][0]
    if first in tables.classes and not (first in _PATHS and has_folders(tables)):
        return shortest_reference(tables, first)
    if first in tables.records:
        return {}
    row = find_type(first)
    if row is not None and row.reading in ("object", "insertion"):
        return shortest_reference(tables, None)
    return _EXAMPLES.get(first, "example")
