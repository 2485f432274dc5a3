"""The index of all tools: SQLite FTS5 finds what has the words, `ranking` orders it.

It is held in memory and made from the words of the catalogue. At 11,000 tools that takes about a
second, after some two for importing the modules, so a server opens it in a thread of its own; in
return nothing on disk can be out of date.
"""

import gc
import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nsmallest
from itertools import islice
from math import log
from typing import Any, Final, NamedTuple, TypeAlias

from iac_base.errors import IacError
from iac_runtime.search.entries import AppNames, AppWords, Hint, added_words, app_words
from iac_runtime.search.ranking import IndexedApp, Offer, SearchRow, rank
from iac_runtime.search.request import SearchRequest, Speller, known_words, read_request, stems
from iac_runtime.search.rows import COLUMNS, IndexRow, app_of, owners, rows_of
from iac_runtime.tool import Level, Op, at_most
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import OWN_TOOLS

LIMIT: Final = 5
"""Hits that are given where nobody says how many."""

_TABLE: Final = (
    f"CREATE VIRTUAL TABLE words USING fts5({COLUMNS},"
    " tokenize = 'unicode61 remove_diacritics 0', detail = column)"
)
_ROW: Final = "SELECT rowid, name, owned, purpose, app, kind FROM words WHERE "
# Not FTS5's bm25, which reads the rows of every word twice and takes three times as long.
_PLACES: Final = "SELECT doc FROM places WHERE term = ?"
_FIND_IN: Final = _ROW + "words MATCH ? AND rowid BETWEEN ? AND ? LIMIT ?"
_COMMANDS: Final = _ROW + "rowid BETWEEN ? AND ? AND kind = 'command' LIMIT ?"
_DATA: Final = "SELECT data FROM words WHERE rowid = ?"

_CANDIDATES: Final = 120
_WIDEST: Final = 1000
"""Rows that a search over all apps may rank: what every app has tells none of them apart."""

_OF_AN_APP: Final = 120
_NAMED: Final = 0.4
"""From here on a property is named: a word of a group is enough, half of a loose one is not."""

_GUESTS: Final = 2
"""Tools for any app that may take the places of the last tools of a chosen app."""

_APPS: Final = 3
"""Apps that are looked into more closely: as many as were hinted at, as many as came first."""

Beside: TypeAlias = Callable[[], Iterable[AppWords]]
"""Returns the words of tools that are not generated; it is called when the index is made."""


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


class _MadeIndex:
    """The index as it was made of the words of the apps. Safe to use from several threads."""

    def __init__(self, words: Iterable[AppWords]) -> None:
        self._apps: list[IndexedApp] = []
        self._ranges: list[tuple[int, int]] = []
        rows: list[IndexRow] = []
        for app in words:
            first = len(rows) + 1
            rows += rows_of(app, len(self._apps))
            self._apps.append(app_of(app))
            self._ranges.append((first, len(rows)))
        self._base = base = sqlite3.connect(
            ":memory:", check_same_thread=False, isolation_level=None
        )
        self._asking = threading.Lock()
        base.execute(_TABLE)
        base.execute("BEGIN")
        base.executemany("INSERT INTO words VALUES (?, ?, ?, ?, ?, ?)", rows)
        base.execute("COMMIT")
        base.execute("CREATE VIRTUAL TABLE counts USING fts5vocab(words, row)")
        base.execute("CREATE VIRTUAL TABLE places USING fts5vocab(words, instance)")
        self._counts: dict[str, int] = dict(base.execute("SELECT term, doc FROM counts"))
        self._total = max(len(rows), 1)
        lexicon = known_words()
        shared = lexicon | {word for word, place in owners(rows).items() if place is None}
        self._names = AppNames([(app.key, app.name, app.id) for app in self._apps], shared)
        self._known = frozenset(lexicon | self._counts.keys() | self._names.words)
        self._speller = Speller(self._known)
        self._beside = [place for place, app in enumerate(self._apps) if app.reach != "own"]

    def find(self, query: str, app: str | None, level: Level | None, limit: int) -> list[SearchHit]:
        """Return the tools that serve `query`, as `Index.find` does."""
        request = read_request(query, self._known.__contains__, self._speller.nearest)
        only = None if app is None else self._names.named(app)
        hints = self._names.hints(request)
        if only is not None:
            hints = {place: hint for place, hint in hints.items() if place in only}
        rows = self._candidates(request, hints, only)
        anywhere = [place for place in self._beside if self._apps[place].reach == "any"]
        hints.update(_carried(hints, anywhere))
        offers = rank(request, rows, self._apps, hints, self._worth, only or ())
        if only is None:
            return self._hits(request, offers, level, limit)
        own = [one for one in offers if one.app in only]
        others = [one for one in offers if one.app not in only]
        first, last = (self._hits(request, some, level, limit) for some in (own, others))
        return _own_first(first, last, limit)

    def _worth(self, word: str) -> float:
        """Return what a word tells: a rare one much, a common one little, else nothing."""
        count = self._counts.get(word, 0)
        return log(1 + self._total / (1 + count)) if count else 0.0

    def _candidates(
        self, request: SearchRequest, hints: Mapping[int, Hint], only: Sequence[int] | None
    ) -> list[SearchRow]:
        """Return the rows to rank: of every app, or of the apps `only`; doubles among them."""
        rows = self._rows(request) if only is None else []
        hinted = sorted(hints, key=lambda place: -hints[place].strength)[:_APPS]
        found = list(dict.fromkeys(row.app for row in rows))[:_APPS]
        for place in dict.fromkeys([*hinted, *found]) if only is None else only:
            rows += self._rows(request, place)
            if only or (place in hints and hints[place].strength >= 1):
                rows += self._select(_COMMANDS, *self._ranges[place], _OF_AN_APP)
        for place in self._beside:
            # What is for apps that have tools is of no use for one that has none.
            if only != [] or self._apps[place].reach == "any":
                rows += self._rows(request, place)
        return rows

    def _hits(
        self, request: SearchRequest, offers: Iterable[Offer], level: Level | None, limit: int
    ) -> list[SearchHit]:
        hits = (self._hit(offer, request) for offer in offers)
        return list(islice((h for h in hits if level is None or at_most(h.level, level)), limit))

    def _rows(self, request: SearchRequest, app: int | None = None) -> list[SearchRow]:
        """Return what has any word of a request, of one app or of all, the best of it."""
        said = {word for term in request.terms for word in term.options}
        wanted = sorted(said & self._counts.keys(), key=lambda word: (self._counts[word], word))
        if app is None:
            return self._best(_rarest(wanted, self._counts))
        if not wanted:
            return []
        match = " OR ".join(f'"{word}"' for word in wanted)
        return self._select(_FIND_IN, match, *self._ranges[app], _OF_AN_APP)

    def _best(self, words: Sequence[str]) -> list[SearchRow]:
        """Return the rows that have most of `words`, a rare one before others."""
        scores: dict[int, float] = {}
        with self._asking:
            for word in words:
                worth = log(1 + self._total / self._counts[word])
                for (row,) in self._base.execute(_PLACES, (word,)):
                    scores[row] = scores.get(row, 0.0) + worth
        best = nsmallest(_CANDIDATES, scores, key=lambda row: (-scores[row], row))
        rows = self._select(f"{_ROW}rowid IN ({','.join('?' * len(best))})", *best)
        return sorted(rows, key=lambda row: (-scores[row.id], row.id))

    def _select(self, statement: str, *values: str | int) -> list[SearchRow]:
        with self._asking:
            return [SearchRow(*row) for row in self._base.execute(statement, values)]

    def _hit(self, offer: Offer, request: SearchRequest) -> SearchHit:
        app = self._apps[offer.app]
        data: dict[str, Any] = {}
        if offer.row is not None:
            with self._asking:
                data = json.loads(self._base.execute(_DATA, (offer.row,)).fetchone()[0])
        if not offer.is_class:
            why = f"{app.name}: {data['said']}".removeprefix(": ")
            op: Op = data["op"]
            return SearchHit(data["tool"], offer.score, why, op, data["element"], (), data["level"])
        tool = app.operations[offer.op]
        term = data.get("term", "")
        write = offer.op in ("set", "make")
        named = _named(data.get("properties", ()), request, f"{term} {app.name}", write=write)
        why = f"{offer.op} {term}".rstrip() + f" in {app.name}"
        if named:
            why += f" ({', '.join(named)})"
        return SearchHit(tool.name, offer.score, why, offer.op, term, named, tool.level)


class Index:
    """Finds tools by what somebody wants to do. Safe to use from several threads."""

    def __init__(self, source: Callable[[], Iterable[AppWords]]) -> None:
        """Take what gives the words of the apps; it is called once, on first need."""
        self._source = source
        self._index: _MadeIndex | None = None
        self._making = threading.Lock()

    @classmethod
    def open(cls, catalogue: Catalogue, beside: Beside = tuple) -> "Index":
        """Return the index of every tool of `catalogue` and of the runtime's own.

        It is made in a thread, and a search waits for it.

        Args:
            beside: The other tools; of equal ones, the generated come first.
        """
        index = cls(
            lambda: [added_words(OWN_TOOLS.values(), "known"), *app_words(catalogue), *beside()]
        )
        threading.Thread(target=index._try, name="iac-search", daemon=True).start()
        return index

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
            SetupError: The index could not be made.
        """
        return self._made().find(query, app, level, limit)

    def _try(self) -> None:
        try:
            self._made()
        except IacError:
            # Whoever searches makes it again, and is told why it cannot be.
            return
        # The tables of the apps live as long as the server. Each full run of the garbage collector
        # would look through them, a pause of ten searches; what was frozen before may be over.
        gc.unfreeze()
        gc.collect()
        gc.freeze()

    def _made(self) -> _MadeIndex:
        with self._making:
            if self._index is None:
                self._index = _MadeIndex(self._source())
            return self._index


def _carried(hints: Mapping[int, Hint], beside: Iterable[int]) -> dict[int, Hint]:
    """Return the hint of the app that is named, for tools that are for any app: for it too."""
    best = max(hints.values(), key=lambda hint: hint.strength, default=Hint(0))
    return dict.fromkeys(beside, best) if best.strength >= 1 else {}


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


def _rarest(words: Sequence[str], counts: Mapping[str, int]) -> list[str]:
    """Return the first of `words` that about `_WIDEST` rows have in all, one at least."""
    kept: list[str] = []
    rows = 0
    for word in words:
        rows += counts[word]
        if kept and rows > _WIDEST:
            break
        kept.append(word)
    return kept


def _named(
    rows: Sequence[tuple[str, str]], request: SearchRequest, owner: str, *, write: bool
) -> tuple[str, ...]:
    """Return the properties that the words of a request name, best first, at most three.

    A word of `owner`, the class and its app, tells nothing about the properties: of the mail
    messages by sender, not the message id.
    """
    known = frozenset(stems(owner))
    found: list[tuple[float, str]] = []
    for term, access in rows:
        if write and "w" not in access:
            continue
        words = set(stems(term))
        telling = words - known
        value = sum(
            max((one.options[word] for word in telling & one.options.keys()), default=0)
            for one in request.terms
        )
        if value >= _NAMED:
            found.append((value / len(words) ** 0.5, term))
    return tuple(name for _, name in sorted(found, key=lambda one: -one[0])[:3])
