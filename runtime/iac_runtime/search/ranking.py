"""Ranking: what was found becomes hits, a tool each, with the operation and class it is for.

Which apps a request means is told by their names, and by what they are for.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import lru_cache
from heapq import nlargest
from typing import Final, NamedTuple

from iac_base.words import fold_name, split_words, stem_word
from iac_runtime.search.entries import IndexedApp, SearchRow
from iac_runtime.search.intent import read_intent
from iac_runtime.search.lexicon import ELSEWHERE, Area, load_lexicon
from iac_runtime.search.query import SearchRequest, SearchTerm
from iac_runtime.search.weights import (
    ABSENT,
    ACT,
    ACT_NAMED,
    APP_NAMED,
    AREA,
    AT_HAND,
    COMMAND,
    COPY,
    COVER,
    FIELDS,
    GESTURE,
    HELD,
    HINT,
    ITSELF,
    LIKELY_APP,
    MARK,
    MORE,
    MOST,
    NEAR,
    NEXT,
    OPERATION,
    ORDINARY,
    OTHER,
    OTHERWISE,
    PART,
    PLAINLY,
    SAID,
    THING,
    TOGETHER,
    UNMARKED,
    USUAL_NAMED,
    USUAL_WORDS,
    WAY,
)
from iac_runtime.tool import Op, tool_prefix

_USUAL: Final[Mapping[Op, float]] = {"list": 0.5, "get": 0.45, "set": 0.2, "make": 0.2}
"""What a request speaks for that names no operation."""


_OPERATIONS: Final = 3


_OF_OBJECTS: Final = frozenset[Op](("list", "count", "make"))
"""Operations on what is asked about; `get` and `set` are on what it is of: the name of a layer."""


_BARRED: Final[Mapping[str, frozenset[Op]]] = {
    "class": frozenset({"list", "count", "make"}),
    "held": frozenset(),
    "made": frozenset({"list", "count"}),
}
"""The kinds of rows that are classes, and the operations that one has not."""


_STANDARD: Final = frozenset(
    ("open", "close", "sav", "print", "quit", "delet", "duplicat", "exist", "mov", "run")
)


_LIKELY: Final = 3


_ROWS: Final = 150


_FEW: Final = 30
"""Rows of the likeliest apps, and of others, that are looked at closely: those with most words."""


class Hint(NamedTuple):
    """How strongly an app is meant, from 0 to 2, and the stems that were its name."""

    strength: float
    name_stems: frozenset[str] = frozenset()


_NONE: Final = Hint(0)


_LOOKING: Final = frozenset[Op](("get", "list", "count"))


_JUDGED: Final = 60
"""Offers whose ways are compared with what is asked: what comes behind is never first."""


_OPS: Final[tuple[Op, ...]] = ("get", "list", "count", "make", "set")


class ToolCandidate(NamedTuple):
    """A tool that serves a request, with the row that says why; of a class, its operation."""

    score: float
    app: str
    op: Op
    tool: str
    row: SearchRow | None = None


class _RowMatch(NamedTuple):
    row: SearchRow
    score: float
    action: float
    got: Mapping[int, float]
    held: float = 0.0


def rank_tools(
    request: SearchRequest,
    apps: Mapping[str, IndexedApp],
    hints: Mapping[str, Hint],
    worth: Callable[[str], float],
    only: Container[str],
) -> list[ToolCandidate]:
    """Return what serves a request, best first, each tool once.

    Args:
        request: What was read.
        apps: The apps that may serve it, by their keys, the likeliest first.
        hints: How strongly the request speaks for an app.
        worth: What a stem tells.
        only: Apps of which every tool is offered, whatever was found.
    """
    told = [term.worth * _term_worth(term, worth) for term in request.terms]
    marked = {
        place
        for place, term in enumerate(request.terms)
        if _likely_words(term) & load_lexicon().mark_stems
    }
    weights = {
        app: _weights_without_name(told, request.terms, hint)
        for app, hint in hints.items()
        if hint.name_stems
    }
    options: dict[str, list[tuple[int, float]]] = {}
    for place, term in enumerate(request.terms):
        for word, value in term.options.items():
            options.setdefault(word, []).append((place, value))
    acts = {stem_word(one): worth for one, worth in request.meaning.acts.items()}
    things = {stem_word(one): worth for one, worth in request.meaning.things.items()}
    looked = options.keys() | acts.keys() | things.keys()
    near = [0.5**term.depth for term in request.terms]
    matches: list[_RowMatch] = []
    for number, (key, app) in enumerate(apps.items()):
        most = _ROWS if number < _LIKELY or key in only else _FEW
        whole = key in only or hints.get(key, _NONE).strength >= 1
        marks = marked if app.reach == "any" else None
        if marks is not None:
            weights[key] = _general_weights(request, marked, hints.get(key, _NONE))
        row_weights = weights.get(key, told)
        # Of tools for any app only those that are spoken of.
        telling = looked if app.reach == "own" else options.keys()
        found = [row for row in app.rows if not row.all.isdisjoint(telling)]
        if len(found) > most:
            found = nlargest(most, found, key=lambda row: len(row.all & looked))
        if whole:
            others = (row for row in app.rows if row.kind == "command" or key in only)
            found += [row for row in others if row.all.isdisjoint(looked)]
        matches += [_match_row(r, options, row_weights, request.action, near, marks) for r in found]
    cover = _app_coverage(matches, weights, told)
    scale = USUAL_NAMED if request.operations or any(match.action for match in matches) else 1.0
    wanted = {
        op: max(scale * _USUAL.get(op, 0), request.operations.get(op, 0)) * OPERATION
        + ACT * acts.get(stem_word(op), 0)
        for op in _OPS
    }
    best: dict[str, ToolCandidate] = {}

    def add_candidate(score: float, app: str, op: Op, tool: str, row: SearchRow | None) -> None:
        if tool not in best or score > best[tool].score:
            best[tool] = ToolCandidate(score, app, op, tool, row)

    base = {
        key: HINT * hints.get(key, _NONE).strength
        + COVER * cover.get(key, 0)
        + AT_HAND * (app.reach != "own" or app.id.startswith("com.apple."))
        + default_apps().get(fold_name(app.name), 0.0)
        for key, app in apps.items()
    }
    for match in matches:
        row, score = match.row, match.score + base[match.row.app]
        named = match.row.words[0].split()
        app = apps[row.app]
        if not match.held:
            score += THING * max((things.get(one, 0) for one in named), default=0)
        barred = _BARRED.get(row.kind)
        if barred is not None:
            for op, tool in app.operations.items():
                if op not in barred:
                    gain = wanted[op] - (HELD * match.held if op in _OF_OBJECTS else 0)
                    add_candidate(score + gain, row.app, op, tool, row)
        else:
            gain = wanted.get(row.kind, COMMAND)  # type: ignore[call-overload]
            acting = max((acts.get(one, 0) for one in named), default=0)
            gain += ACT_NAMED * acting
            if not match.got and not acting and _STANDARD.issuperset(row.words[0].split()):
                gain -= ORDINARY
            # What is done is the command's, what it is done to may be any class of the app.
            score = max(score, base[row.app] + TOGETHER * match.action * cover[row.app])
            add_candidate(score + gain, row.app, row.kind, row.name, row)  # type: ignore[arg-type]
    for key, app in apps.items():
        if key in only or hints.get(key, _NONE).strength >= 1:
            for op, tool in app.operations.items():
                add_candidate(base[key] + wanted[op], key, op, tool, None)
    offers = sorted(best.values(), key=_sort_key)
    if not (request.intent.ways or request.intent.refused):
        return offers
    agreed = [_agree_with_intent(one, apps[one.app], request) for one in offers[:_JUDGED]]
    return sorted((*agreed, *offers[_JUDGED:]), key=_sort_key)


def _agree_with_intent(
    offer: ToolCandidate, app: IndexedApp, request: SearchRequest
) -> ToolCandidate:
    """Return an offer with what it gains or loses by the way it goes, against what is asked."""
    words = split_words(offer.tool.removeprefix(tool_prefix(app.key)))
    does = read_intent(" ".join(words), frozenset(request.intent.ways))
    if request.intent.refused:
        # Which operation is meant is told by other words; here only what is forbidden counts.
        changes = offer.op != "command" or app.levels.get(offer.tool) != "SAFE"
        does = replace(does, looks=offer.op in _LOOKING or (None if not changes else False))
    else:
        does = replace(does, looks=None)
    gain = request.intent.agreement(does, frozenset(map(stem_word, words)))
    return offer._replace(score=offer.score + WAY * gain)


def _sort_key(offer: ToolCandidate) -> tuple[float, str, str]:
    return (-offer.score, offer.app, offer.tool)


def diversify(offers: Sequence[ToolCandidate], names: Callable[[str], str]) -> list[ToolCandidate]:
    """Return the offers with the fourth and later tools of one sort and app further down.

    Who is shown three operations on a class knows that there are more; a command is news, and
    the other way round. Of two copies of an app, the tools of the second follow.

    Args:
        names: Returns an app's name, by its key.
    """
    seen: dict[tuple[str, bool], int] = {}
    copies: set[tuple[str, str]] = set()
    found: list[ToolCandidate] = []
    for one in offers:
        sort = (one.app, one.row is None or one.row.kind in _BARRED)
        seen[sort] = seen.get(sort, 0) + 1
        if seen[sort] > _OPERATIONS:
            one = one._replace(score=one.score - MORE)
        if names(one.app):
            same = (names(one.app), one.tool.removeprefix(f"{one.app}_"))
            if same in copies:
                one = one._replace(score=one.score - COPY)
            copies.add(same)
        found.append(one)
    return sorted(found, key=_sort_key)


def _weights_without_name(
    told: Sequence[float], terms: Sequence[SearchTerm], hint: Hint
) -> list[float]:
    """Return the weights for an app without the words that were its name, if others are left."""
    left = [
        0.0 if term.stem in hint.name_stems else weight
        for term, weight in zip(terms, told, strict=True)
    ]
    return left if any(left) else list(told)


def _general_weights(request: SearchRequest, marked: Set[int], hint: Hint) -> list[float]:
    """Return the weights for tools for any app: no word of theirs is rare or common."""
    general_weights: list[float] = []
    for place, term in enumerate(request.terms):
        if term.stem in hint.name_stems:
            general_weights.append(0.0)
        elif place in marked:
            general_weights.append(MARK)
        else:
            general_weights.append(term.worth)
    return general_weights


def _likely_words(term: SearchTerm) -> set[str]:
    """Return what a word was meant as: itself, or the words that it was mistyped of."""
    most = max(term.options.values())
    return {word for word, value in term.options.items() if value == most}


def _term_worth(term: SearchTerm, worth: Callable[[str], float]) -> float:
    """Return what a term tells: its own word, else the commonest that may stand for it."""
    found = [value for word in term.options if (value := worth(word))]
    return min(found, default=0.0)


def _match_row(
    row: SearchRow,
    options: Mapping[str, Sequence[tuple[int, float]]],
    weights: Sequence[float],
    action: int | None,
    near: Sequence[float],
    marked: Set[int] | None,
) -> _RowMatch:
    """Return how a row fits.

    `near` says of each word how near it is to what is asked about; `marked` are those that mark
    a tool for any app, if it is one.
    """
    got: dict[int, float] = {}
    named = 0
    acts = nearest = 0.0
    name = _distinctive_words(row.words[0])
    for number, (field, worth) in enumerate(zip(row.words, FIELDS, strict=False)):
        for word in options.keys() & (field.split() if number else name):
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
        score *= 1.0 if marked & got.keys() else UNMARKED
        own = map(stem_word, row.name.split("_"))
        if action in marked and any(
            place == action for one in own for place, _ in options.get(one, ())
        ):
            score += GESTURE
        acts = 0.0
    else:
        share = named / (len(name) or 1)
        score *= 0.75 + 0.25 * share
    held = 1 - nearest if nearest else 0.0
    return _RowMatch(row, score, acts, got, held)


def _distinctive_words(words: str) -> set[str]:
    """Return the words of a name without those that name nothing, if others are left."""
    return {*words.split()} - load_lexicon().stop_stems or {*words.split()}


def _app_coverage(
    matches: Sequence[_RowMatch], weights: Mapping[str, Sequence[float]], told: Sequence[float]
) -> dict[str, float]:
    """Return how much of a request each app knows at all, whichever row of it."""
    found: dict[str, dict[int, float]] = {}
    for match in matches:
        best = found.setdefault(match.row.app, {})
        for place, value in match.got.items():
            if value > best.get(place, 0):
                best[place] = value
    shares: dict[str, float] = {}
    for app, best in found.items():
        row = weights.get(app, told)
        reached = sum(row[place] * value for place, value in best.items())
        shares[app] = reached / (sum(row) or 1.0)
    return shares


_HEAD: Final = 3


_SHARES: Final = (9, 6, 4, 3, 3, 2, 2)
"""Tools of the likeliest app, the next, and so on, in an answer that names many."""


def spread_apps(offers: Sequence[ToolCandidate], head: int) -> list[ToolCandidate]:
    """Return the offers so that an answer shows several apps, each with what fits best.

    Which app is meant is the hardest to tell: `_HEAD` of the first `head` are of one app at most
    where another is near, and those behind come by shares of apps.
    """
    first: list[ToolCandidate] = []
    for one in offers:
        near = bool(first) and one.score > first[0].score - NEAR
        if len(first) < head and sum(other.app == one.app for other in first) < _HEAD and near:
            first.append(one)
        first = first or [one]
    first += [one for one in offers if one not in first][: head - len(first)]
    left = [one for one in offers if one not in first]
    behind: dict[str, list[ToolCandidate]] = {}
    for one in left:
        behind.setdefault(one.app, []).append(one)
    shares = zip(dict.fromkeys(one.app for one in offers), _SHARES, strict=False)
    chosen = [one for app, share in shares for one in behind.get(app, ())[:share]]
    return [*first, *chosen, *(one for one in left if one not in chosen)]


_OF_ANY_APP: Final = frozenset({"mac", "accessibility", "applescript"})
"""Areas whose tools work on any app that is named."""


_LONGEST: Final = 4
"""Words of a name that are looked at together."""


AppPlace = tuple[int, int]
"""Where an app stands: the number of its index, and its place there."""


FindApps = Callable[[str], Iterable[AppPlace]]
"""Returns the apps of a folded name (`=mail`), or of a word of a name (`~chrome`)."""


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
        strength = min(MOST, worth)
        for app in load_lexicon().areas[name].apps:
            for place in find(f"={fold_name(app)}"):
                _add_hint(found, place, Hint(strength))
                strength *= NEXT
    for term in request.terms:
        for word, worth in term.options.items():
            if not common(word):
                for place in find(f"~{word}"):
                    _add_hint(found, place, Hint(PART * worth**2, frozenset({term.stem})))
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
                _add_hint(found, place, Hint(APP_NAMED, frozenset(said)))
    if any(hint.name_stems and hint.strength >= APP_NAMED for hint in found.values()):
        # Who names an app means that one, whatever others are for.
        return {place: hint for place, hint in found.items() if hint.name_stems}
    return found


def is_served(request: SearchRequest, meant: Iterable[Hint]) -> bool:
    """Say whether any app may do what is asked; of an app that is named, somebody knows it does."""
    if any(hint.name_stems and hint.strength >= PART for hint in meant):
        return True
    if any(term.stem in load_lexicon().mark_stems for term in request.terms):
        return True
    if request.first in load_lexicon().areas[ELSEWHERE].first:
        return False
    area_word_scores = _area_word_scores(request)
    elsewhere = area_word_scores.pop(ELSEWHERE, 0.0)
    sure = max(0.0, max(area_word_scores.values(), default=0.0) - elsewhere)
    return request.meaning.areas.get(ELSEWHERE, 0.0) < OTHERWISE + PLAINLY * sure


def missing_app(request: SearchRequest, find: Callable[[str], Iterable[object]]) -> str:
    """Return the app that a request is for where it has no tools; empty where others may do it."""
    if any(term.stem in load_lexicon().mark_stems for term in request.terms):
        return ""
    here, gone, missing, usual = 0.0, 0.0, "", False
    for name, worth in area_scores(request).items():
        apps = load_lexicon().areas[name].apps
        if not apps or any(any(True for _ in find(f"={fold_name(app)}")) for app in apps):
            here, usual = max(here, worth), usual or bool(apps)
        elif worth > gone:
            gone, missing = worth, apps[0]
    # Where there is no app that this knows, nothing is known of those that there are.
    return missing if usual and gone > here + ABSENT else ""


def named_missing_app(request: SearchRequest, find: Callable[[str], Iterable[object]]) -> str:
    """Return the known app that a request names and that has no tools here, else nothing.

    What is of the Mac may be done to any app: it is put to the front, it starts at login.
    """
    worth = area_scores(request)
    likely = max(worth, key=lambda area: worth[area], default="")
    if likely in _OF_ANY_APP:
        return ""
    said = _names_in(request)
    if likely == "browser":
        said -= set(map(fold_name, load_lexicon().areas["platforms"].apps))
    known = (app for app in _known_apps() if fold_name(app) in said)
    return next((app for app in known if not any(True for _ in find(f"={fold_name(app)}"))), "")


def _names_in(request: SearchRequest) -> set[str]:
    """Return what in a request may be an app's name: words that are no everyday ones, folded."""
    words = request.words
    spans = (
        words[start:end]
        for start in range(len(words))
        for end in range(start + 1, min(start + _LONGEST, len(words)) + 1)
    )
    plain = _everyday_words() - request.capitals
    return {"".join(span) for span in spans if len(span) > 1 or plain.isdisjoint(span)}


@lru_cache(maxsize=1)
def _known_apps() -> tuple[str, ...]:
    return tuple(dict.fromkeys(app for area in load_lexicon().areas.values() for app in area.apps))


def area_scores(request: SearchRequest) -> dict[str, float]:
    """Return how much a request speaks for each area of apps."""
    found = {name: AREA * worth**LIKELY_APP for name, worth in request.meaning.areas.items()}
    for name, worth in _area_word_scores(request).items():
        found[name] = found.get(name, 0) + SAID * worth
    return found


def _area_word_scores(request: SearchRequest) -> dict[str, float]:
    """Return how much the words of areas say for each."""
    area_word_scores: dict[str, float] = {}
    verbs = load_lexicon().verbs
    # What a request begins with is done, not spoken of: list the songs, email it to her.
    terms = [one for one in request.terms if one.stem != request.first or one.stem not in verbs]
    for name, area in load_lexicon().areas.items():
        worth = sum(_word_score(one.options, area) * min(1.0, one.worth * 2) for one in terms)
        if request.first in area.first:
            worth += 1.0
        if worth:
            area_word_scores[name] = worth
    return area_word_scores


def _word_score(options: Mapping[str, float], area: Area) -> float:
    """Return what a word says for an area: less where it speaks for several."""
    shared = load_lexicon().area_counts
    return max(
        (
            area.worth[one] * worth / shared[one] ** 0.5
            for one, worth in options.items()
            if one in area.worth and worth >= ITSELF
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
    usual: dict[str, float] = {"": USUAL_WORDS * OTHER}
    for area in load_lexicon().areas.values():
        for number, app in enumerate(area.apps):
            usual.setdefault(fold_name(app), USUAL_WORDS if number == 0 else USUAL_WORDS * OTHER)
    return usual
