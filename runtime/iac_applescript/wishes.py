"""What somebody wants, read once, and how well an offer serves it: a tool or a script alike.

An offer is found by words, by apps, and by what apps are for. A word counts by how few scripts have
it; one that none has counts a little, because people name what is theirs. What goes the other way
than is asked, or does what is forbidden, is never meant. A wish that is for no app finds nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

from iac_base.words import fold_name, split_words, stem_word
from iac_runtime.search.intent import read_intent, same_way_stems
from iac_runtime.search.lexicon import ELSEWHERE, known_words, load_lexicon
from iac_runtime.search.page import tool_purpose
from iac_runtime.search.query import SearchRequest, read_request
from iac_runtime.search.ranking import area_scores, is_served, missing_app, named_missing_app
from iac_runtime.search.weights import SILENT
from iac_runtime.tool import tool_prefix
from iac_runtime.toolkit import Catalogue

FLOOR: Final = 0.595
"""Below this score an offer does not do what is wanted. Measured: of 60 wishes that nothing serves,
2 have a script above it."""

_GROUP: Final = 0.6
"""How well a word stands for another of its group (`patterns`)."""

_UNHEARD: Final = 0.85
"""What a word weighs that no script has, against the rarest that one has."""

_LOSES: Final = frozenset(
    map(stem_word, "delete remove empty trash erase clear bin throw rid drop cancel clean".split())
)
"""Words of what loses something, which nobody is offered who did not ask for it."""

_LOST: Final = 0.75
"""What is left of the score of an offer that loses something unasked."""

_ELSEWHERE: Final = 0.55
"""What is left of a score where a request seems to be for what no app does."""

_NUMBERS: Final = frozenset(
    map(stem_word, "one two three four five six seven eight nine ten single several".split())
)

_CALLED: Final = 0.4
"""What of that a word weighs that is a name, a number or a time."""

_PERSON: Final = dict.fromkeys(map(stem_word, "person recipient sender".split()), _GROUP)
_TIME: Final = dict.fromkeys(map(stem_word, ("time", "date")), _GROUP)
"""What an offer calls a name, and a time."""

_AREA: Final = 0.25
"""What it adds that a request is surely about what the script's app is for."""

_SURE: Final = 2.0
"""From here on an area is sure."""

_NEXT: Final = 0.7
"""What of an area's worth its next app has."""

_OTHER: Final = 0.4
"""What is left of a script's score where the request names another app."""

_EXCEPT: Final = re.compile(r"\b(?:except|besides|apart from)\b")

_BESIDE: Final = 0.95
"""What a word is worth that stands beside the purpose."""

_EXTRA: Final = 0.7
"""What a word counts in the whole that need not be found: who has it gains."""

_NAME: Final = 0.02
"""What it adds that all words of the name are asked for."""

_UNSAID: Final = 0.2
"""How much the words of a purpose that were not asked for count against it."""


_GROUPS: Final = """\
repeated duplicate double same | compose write draft | email mail message | boss sender
bigger smaller larger resize size | room place location where | past late overdue expired
appearance theme mode look | open running | program application app | remove delete close
add append insert put extend | line row | value cell sum total number | spreadsheet numbers table
playing current | song track title | site website page web url address link | link url
names titles list | count how number | show display reveal | read get | fetch get
switch toggle turn change | wallpaper desktop picture background | loud aloud speak say voice
todo task reminder | meeting appointment event | agenda calendar schedule | due deadline
folder directory mailbox | file document | picture image photo | send post | search find contain
copy duplicate clone | lock sleep | empty clear | quieter louder volume sound | rename name
tomorrow today date | alert alarm notify notification | invite attendee guest | start begin launch
front frontmost active | save export store download | text content body | front current active
convert transform | merge combine join | split divide | window screen | battery power
wifi network internet | screenshot capture | contact person people address | phone number
zip compress archive | headline heading title | unsubscribe stop cancel | artist singer sings band
postpone snooze delay push shift reschedule move | chart graph plot diagram draw | artwork cover
"""


class ToolHit(Protocol):
    """A hit of the search for tools."""

    @property
    def tool(self) -> str: ...
    @property
    def op(self) -> str: ...
    @property
    def element(self) -> str: ...
    @property
    def properties(self) -> Sequence[str]: ...
    @property
    def score(self) -> float: ...
    @property
    def why(self) -> str: ...


class IndexedOffer(NamedTuple):
    """A tool or a script as it is found: all its stems, those of its purpose and its name, and
    its purpose as a text."""

    apps: tuple[str, ...]
    stems: frozenset[str]
    purpose: frozenset[str]
    name: frozenset[str]
    says: str
    loses: bool


class Wish(NamedTuple):
    """What somebody wants.

    Attributes:
        request: What was read.
        terms: Each word as what may stand for it, how much it weighs, and whether it must be found.
        worth: What a word tells among all scripts.
        likely: How likely it means each app, by its folded name: 0 to 1.
        named: The apps that it names.
        share: What of a score is left, because it may be for what no app does.
    """

    request: SearchRequest
    terms: tuple[tuple[Mapping[str, float], float, bool], ...]
    worth: Mapping[str, float]
    likely: Mapping[str, float]
    named: frozenset[str]
    share: float

    def score_offer(self, offer: IndexedOffer) -> tuple[float, set[str]]:
        """Return how well an offer serves the wish, about 0 to 1.2, and the words they share."""
        score, whole, asked = 0.0, 0.0, set[str]()
        for options, weight, needed in self.terms:
            shared = options.keys() & offer.stems
            best = max(map(options.__getitem__, shared & offer.purpose), default=0.0)
            rest = max(map(options.__getitem__, shared), default=0.0)
            found = max(best, _BESIDE * rest)
            score += found * weight
            whole += weight * (1 if needed else min(found, _EXTRA))
            asked |= shared
        whole = whole or 1.0
        unsaid = sum(self.worth.get(word, 1) for word in offer.purpose - asked)
        every = sum(self.worth.get(word, 1) for word in offer.purpose) or 1
        score = score / whole * (1 - _UNSAID * unsaid / every)
        score += _NAME * min(3, len(offer.name & asked))
        likely = max((self.likely.get(fold_name(one), 0.0) for one in offer.apps[:1]), default=0)
        score += _AREA * likely
        if self.named and self.named.isdisjoint(offer.apps):
            score *= _OTHER
        if offer.loses and _LOSES.isdisjoint(term.stem for term in self.request.terms):
            score *= _LOST
        intent = self.request.intent
        does = read_intent(offer.says, frozenset(intent.ways))
        score += intent.agreement(does, offer.purpose, SILENT)
        return score * self.share, asked


def read_wish(text: str, worth: Mapping[str, float], apps: Iterable[str]) -> Wish:
    """Read what somebody wants.

    Args:
        text: It, in somebody's own words.
        worth: What a word tells among all scripts.
        apps: The apps that it may name.
    """
    request = read_request(
        text, lambda word: word in worth or word in known_words(), _no_near_words
    )
    terms = tuple(_weigh_terms(request, worth))
    named = frozenset(_named_apps(text, request, apps))
    verbs, elsewhere = load_lexicon().verbs, load_lexicon().areas[ELSEWHERE].worth
    told = [one.stem for one, row in zip(request.terms, terms, strict=True) if row[2]]
    thing = next((one for one in told if one not in (request.first, *verbs)), "")
    # What is done to a thing of no app, no app does.
    served = is_served(request, ()) and (named or thing not in elsewhere)
    share = 1.0 if served else _ELSEWHERE
    return Wish(request, terms, worth, _likely_apps(request), named, share)


def find_absent_app(request: SearchRequest, catalogue: Catalogue) -> tuple[str, str]:
    """Return the app that a request is for where that has no tools here, and where it names it."""
    keys = {f"={fold_name(row.name)}": [row] for row in catalogue.apps.values()}
    named = named_missing_app(request, lambda name: keys.get(name, ()))
    return named or missing_app(request, lambda name: keys.get(name, ())), named


def index_tool(hit: ToolHit, catalogue: Catalogue) -> IndexedOffer:
    """Return a tool as it is found: what it is for; an operation on objects by their class."""
    row = catalogue.tools.get(hit.tool)
    if row is None:
        return index_offer(hit.tool, hit.tool.replace("_", " "), "", ())
    name = hit.tool.removeprefix(tool_prefix(row.app.key))
    if name == hit.op:
        told = f"{hit.op} {hit.element}"
        return index_offer(hit.op, told, " ".join(hit.properties), (row.app.name,))
    return index_offer(name, tool_purpose(catalogue, hit.tool), "", (row.app.name,))


def index_offer(name: str, purpose: str, beside: str, apps: tuple[str, ...]) -> IndexedOffer:
    """Return what is offered for a purpose, as it is found."""
    named, tags, main = (
        {stem_word(word) for word in split_words(text) if word not in load_lexicon().stop}
        for text in (name.replace("_", " "), beside, " ".join((purpose, *apps)))
    )
    loses = bool(_LOSES & set(map(stem_word, split_words(purpose)[:1])))
    stems = frozenset(named | tags | main)
    return IndexedOffer(apps, stems, frozenset(main), frozenset(named), purpose.casefold(), loses)


def _weigh_terms(
    request: SearchRequest, worth: Mapping[str, float]
) -> Iterator[tuple[Mapping[str, float], float, bool]]:
    """Yield each word of a request: what may stand for it, what it weighs, whether it is needed."""
    unheard = max(worth.values(), default=1.0) * _UNHEARD
    times = load_lexicon().time_stems
    timed = len(times.intersection(term.stem for term in request.terms)) > 1
    for term in request.terms:
        related = related_stems(term.stem) | same_way_stems(term.stem)
        options = dict.fromkeys(related, _GROUP) | dict(term.options)
        known = [worth[one] * fit for one, fit in options.items() if one in worth]
        when = term.stem in times and (term.stem != "next" or timed)
        called = term.stem in request.names and not when
        counted = term.stem in _NUMBERS or any(map(str.isdigit, term.stem))
        options = (_PERSON if called else {}) | (_TIME if when else {}) | options
        needed = not (called or when or counted)
        weight = worth.get(term.stem) or max(known, default=unheard * (1 if needed else _CALLED))
        yield options, term.worth * weight, needed


def _likely_apps(request: SearchRequest) -> dict[str, float]:
    """Return how likely a request means each app, by its folded name: 0 to 1."""
    shares: dict[str, float] = {}
    for name, worth in area_scores(request).items():
        share = min(worth, _SURE) / _SURE
        for app in load_lexicon().areas[name].apps:
            shares[fold_name(app)] = max(shares.get(fold_name(app), 0.0), share)
            share *= _NEXT
    return shares


def _named_apps(text: str, request: SearchRequest, apps: Iterable[str]) -> Iterator[str]:
    """Yield the apps that are named: by no everyday word, or by one with a capital."""
    # What is left out of something is not what it is done to.
    words = [word.strip(".,:;?!()'\"") for word in _EXCEPT.split(text)[0].split()]
    folded = set(map(str.casefold, words))
    for app in apps:
        name = app.removeprefix("Google ").split()[0]
        plain = stem_word(name.casefold()) in _everyday_words()
        told = name in words[1:] if plain else name.casefold() in folded
        if told and name.casefold() in request.words:
            yield app


@lru_cache(maxsize=1)
def _everyday_words() -> frozenset[str]:
    return frozenset(word for area in load_lexicon().areas.values() for word in area.worth)


def _no_near_words(_word: str) -> tuple[str, ...]:
    return ()


def related_stems(word: str) -> frozenset[str]:
    """Return the stems that may stand for a stem, beside the lexicon of the search for tools."""
    return _stem_groups().get(word, frozenset())


@lru_cache(maxsize=1)
def _stem_groups() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for line in _GROUPS.splitlines():
        for group in line.split(" | "):
            words = {stem_word(word) for word in group.split()}
            for word in words:
                table.setdefault(word, set()).update(words - {word})
    return {word: frozenset(related) for word, related in table.items()}
