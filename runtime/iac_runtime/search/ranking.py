"""Ranking: what was found becomes hits, a tool each, with the operation and class it is for."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import lru_cache
from typing import Final, NamedTuple

from iac_runtime.search.entries import Hint, Reach, ToolWords
from iac_runtime.search.lexicon import lexicon
from iac_runtime.search.request import SearchRequest, SearchTerm, stem
from iac_runtime.tool import Op

_FIELDS: Final = (1.0, 0.8, 0.35)
"""What a word is worth in the name, the properties and the purpose."""

_HINT: Final = 0.5
_COVER: Final = 0.35
_OPERATION: Final = 0.2
_TOGETHER: Final = 0.75
_COMMAND: Final = 0.15
_USUAL: Final[Mapping[Op, float]] = {"list": 0.5, "get": 0.45, "set": 0.2, "make": 0.2}
"""What a request speaks for that names no operation."""

_NAMED: Final = 0.4
"""How much of that is left where it names one, or a command."""

_OPERATIONS: Final = 3
_MORE: Final = 0.35

_HELD: Final = 0.3
"""What a class loses that only says what the one that is asked about is in."""

_OF_OBJECTS: Final = frozenset[Op](("list", "count", "make"))
"""Operations on what is asked about; `get` and `set` are on what it is of: the name of a layer."""

_UNMARKED: Final = 0.4
"""The worth of a tool for any app where no word of the request marks it: what an app has of its
own comes first."""

_MARK: Final = 2.0
_NAME: Final = 0.3
"""What a word that marks such a tool, and a name, count for it: it works with whatever has the
name."""

_BARRED: Final[Mapping[str, frozenset[Op]]] = {
    "class": frozenset({"list", "count", "make"}),
    "held": frozenset(),
    "made": frozenset({"list", "count"}),
}
"""The kinds of rows that are classes, and the operations that one has not."""

_STANDARD: Final = frozenset(
    ("open", "close", "sav", "print", "quit", "delet", "duplicat", "exist", "mov", "run")
)
_ORDINARY: Final = 0.1
"""What a command of the Standard Suite loses that no word asks for: an app's own come first."""

_SYSTEM: Final = "com.apple."
_AT_HAND: Final = 0.06
"""What an app has before others that do the same, because it comes with the system."""

_NONE: Final = Hint(0)
_OPS: Final[tuple[Op, ...]] = ("get", "list", "count", "make", "set")


class IndexedApp(NamedTuple):
    """An app of the index: its key, name, bundle id, object tools by operation, and for which
    apps its tools are."""

    key: str
    name: str
    id: str
    operations: Mapping[Op, ToolWords]
    reach: Reach = "own"


class SearchRow(NamedTuple):
    """A row of the index as it was found; `kind` is an operation, or a kind of class.

    `held` is a class whose objects something contains, `made` one that may be made, `class` any
    other.
    """

    id: int
    name: str
    owned: str
    purpose: str
    app: int
    kind: str


class Offer(NamedTuple):
    """A tool that serves a request: `row` says why; the operation, where it is a class's."""

    score: float
    app: int
    op: Op
    row: int | None
    is_class: bool


class _Match(NamedTuple):
    row: SearchRow
    score: float
    action: float
    got: Mapping[int, float]
    held: float = 0.0


def rank(
    request: SearchRequest,
    rows: Iterable[SearchRow],
    apps: Sequence[IndexedApp],
    hints: Mapping[int, Hint],
    worth: Callable[[str], float],
    only: Sequence[int],
) -> list[Offer]:
    """Return what serves a request, best first, each tool once.

    Args:
        request: What was read.
        rows: What the index found; doubles are taken once.
        apps: The apps of the index.
        hints: How strongly the request speaks for an app.
        worth: What a stem tells.
        only: Apps whose object tools are offered whatever was found.
    """
    told = [term.worth * _term_worth(term, worth) for term in request.terms]
    marked = {place for place, term in enumerate(request.terms) if _meant(term) & _marks()}
    weights = {app: _left(told, request.terms, hint) for app, hint in hints.items() if hint.said}
    beside = {place for place, app in enumerate(apps) if app.reach == "any"}
    for place in beside:
        weights[place] = _plain(request, marked, hints.get(place, _NONE))
    options: dict[str, list[tuple[int, float]]] = {}
    for place, term in enumerate(request.terms):
        for word, value in term.options.items():
            options.setdefault(word, []).append((place, value))
    near = [0.5**term.depth for term in request.terms]
    single = {row.id: row for row in rows}.values()
    matches = [
        _match(
            row,
            options,
            weights.get(row.app, told),
            request.action,
            near,
            marked if row.app in beside else None,
        )
        for row in single
    ]
    cover = _cover(matches, weights, told)
    scale = _NAMED if request.operations or any(match.action for match in matches) else 1.0
    wanted = {
        op: max(scale * _USUAL.get(op, 0), request.operations.get(op, 0)) * _OPERATION
        for op in _OPS
    }
    best: dict[tuple[int, Op, int | None], Offer] = {}

    def offer(score: float, app: int, op: Op, row: int | None, *, is_class: bool) -> None:
        key = (app, op, None if is_class else row)
        if key not in best or score > best[key].score:
            best[key] = Offer(score, app, op, row, is_class)

    base = {
        place: _HINT * hints.get(place, _NONE).strength
        + _COVER * cover.get(place, 0)
        + _AT_HAND * (apps[place].reach != "own" or apps[place].id.startswith(_SYSTEM))
        for place in {*cover, *hints, *only}
    }
    for match in matches:
        row, score = match.row, match.score + base[match.row.app]
        barred = _BARRED.get(row.kind)
        if barred is not None:
            for op in apps[row.app].operations:
                if op not in barred:
                    gain = wanted[op] - (_HELD * match.held if op in _OF_OBJECTS else 0)
                    offer(score + gain, row.app, op, row.id, is_class=True)
        else:
            gain = wanted.get(row.kind, _COMMAND)  # type: ignore[call-overload]
            if row.name in _STANDARD and not match.got:
                gain -= _ORDINARY
            # What is done is the command's, what it is done to may be any class of the app.
            score = max(score, base[row.app] + _TOGETHER * match.action * cover[row.app])
            offer(score + gain, row.app, row.kind, row.id, is_class=False)  # type: ignore[arg-type]
    for place in {*only, *(app for app, hint in hints.items() if hint.strength >= 1)}:
        for op in apps[place].operations:
            offer(base[place] + wanted[op], place, op, None, is_class=True)
    return _varied(sorted(best.values(), key=_order))


def _order(offer: Offer) -> tuple[float, int, str, int]:
    return (-offer.score, offer.app, offer.op, offer.row or 0)


def _varied(offers: Sequence[Offer]) -> list[Offer]:
    """Return the offers with the fourth and later tools of one sort and app further down.

    Who is shown three operations on a class knows that there are more; a command is news, and
    the other way round.
    """
    seen: dict[tuple[int, bool], int] = {}
    found: list[Offer] = []
    for one in offers:
        sort = (one.app, one.is_class)
        seen[sort] = seen.get(sort, 0) + 1
        if seen[sort] > _OPERATIONS:
            one = one._replace(score=one.score - _MORE)
        found.append(one)
    return sorted(found, key=_order)


def _left(told: Sequence[float], terms: Sequence[SearchTerm], hint: Hint) -> list[float]:
    """Return the weights for an app without the words that were its name, if others are left."""
    left = [
        0.0 if term.stem in hint.said else weight for term, weight in zip(terms, told, strict=True)
    ]
    return left if any(left) else list(told)


def _plain(request: SearchRequest, marked: Set[int], hint: Hint) -> list[float]:
    """Return the weights for tools for any app: no word of theirs is rare or common."""
    found: list[float] = []
    for place, term in enumerate(request.terms):
        if term.stem in hint.said:
            found.append(0.0)
        elif place in marked:
            found.append(_MARK)
        elif term.stem in request.names:
            found.append(_NAME)
        else:
            found.append(term.worth)
    return found


def _meant(term: SearchTerm) -> set[str]:
    """Return what a word was meant as: itself, or the words that it was mistyped of."""
    most = max(term.options.values())
    return {word for word, value in term.options.items() if value == most}


@lru_cache(maxsize=1)
def _marks() -> frozenset[str]:
    return frozenset(map(stem, lexicon().marks))


def _term_worth(term: SearchTerm, worth: Callable[[str], float]) -> float:
    """Return what a term tells: its own word, else the commonest that may stand for it."""
    found = [value for word in term.options if (value := worth(word))]
    return min(found, default=0.0)


def _match(
    row: SearchRow,
    options: Mapping[str, Sequence[tuple[int, float]]],
    weights: Sequence[float],
    action: int | None,
    near: Sequence[float],
    marked: Set[int] | None,
) -> _Match:
    """Return how a row fits.

    `near` says of each word how near it is to what is asked about; `marked` are those that mark
    a tool for any app, if it is one.
    """
    got: dict[int, float] = {}
    named = 0
    acts = nearest = 0.0
    fields = (row.name, row.owned, row.purpose)
    for number, (field, worth) in enumerate(zip(fields, _FIELDS, strict=True)):
        for word in options.keys() & field.split():
            named += number == 0
            for place, value in options[word]:
                if not weights[place]:
                    continue
                if value * worth > got.get(place, 0):
                    got[place] = value * worth
                if place == action and number == 0:
                    acts = max(acts, value)
                if number == 0:
                    nearest = max(nearest, near[place])
    score = sum(weights[place] * value for place, value in got.items()) / (sum(weights) or 1.0)
    if marked is not None:
        score *= 1.0 if marked & got.keys() else _UNMARKED
        acts = 0.0
    else:
        share = named / len(row.name.split()) if row.name else 0
        score *= 0.75 + 0.25 * share
    held = 1 - nearest if nearest else 0.0
    return _Match(row, score, acts, got, held)


def _cover(
    matches: Sequence[_Match], weights: Mapping[int, Sequence[float]], told: Sequence[float]
) -> dict[int, float]:
    """Return how much of a request each app knows at all, whichever row of it."""
    found: dict[int, dict[int, float]] = {}
    for match in matches:
        best = found.setdefault(match.row.app, {})
        for place, value in match.got.items():
            if value > best.get(place, 0):
                best[place] = value
    shares: dict[int, float] = {}
    for app, best in found.items():
        row = weights.get(app, told)
        reached = sum(row[place] * value for place, value in best.items())
        shares[app] = reached / (sum(row) or 1.0)
    return shares
