"""Reading a request: words, stems and spelling, and the operations that it speaks for.

What is said in another language is read as the English words that `languages.toml` has for it;
what stands in quotes or behind a colon is what somebody writes, and says little of what is wanted.

A word with one letter more, less, changed or two exchanged shares a form with the right one when
one letter is left out of either or both. Those forms are few, so they are looked up, not searched.

What a request means as a whole is told by words that were seen in many requests: `meanings.bin` is
made by `benchmarks/meanings.py`: a line of JSON, a line of words, then bytes, a vector for each
word and one for each label of each head.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from math import exp
from operator import mul
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.words import split_words, stem_word
from iac_runtime.search.intent import RequestIntent, cut_particulars, read_intent, split_refused
from iac_runtime.search.lexicon import Language, load_lexicon
from iac_runtime.search.weights import LIKE, MISTYPED, TIME, VERB, WRITTEN_DOWN

MAX_QUERY: Final = 400
"""Characters of a request that are read; people say it in fewer."""


_SHORTEST: Final = 4


def nearest_words(word: str, vocabulary: Iterable[str], count: int = 3) -> list[str]:
    """Return the words of a vocabulary that `word` may have been meant as, most alike first."""
    if len(word) < _SHORTEST:
        return []
    forms, letters = {*_deletion_forms(word)}, {*word}
    # Few have the letters; only those are cut up.
    near = [
        one for one in vocabulary if abs(len(one) - len(word)) < 2 and len(one) >= _SHORTEST - 1
    ]
    near = [one for one in near if len(letters.symmetric_difference(one)) < 3]
    alike = {
        one: SequenceMatcher(None, word, one).ratio()
        for one in near
        if one.isalpha() and not forms.isdisjoint(_deletion_forms(one))
    }
    ranked = sorted(alike, key=lambda one: (-alike[one], one))
    return [one for one in ranked if alike[one] >= LIKE][:count]


def _deletion_forms(word: str) -> Iterator[str]:
    yield word
    for place in range(len(word)):
        yield word[:place] + word[place + 1 :]


_MAX_TERMS: Final = 16


_PLAIN: Final = re.compile(r"[^\W_]+")


_SPACED: Final = re.compile(r"[^\W_][^\s]*")


_QUOTED: Final = re.compile(r""""[^"]*"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|「[^」]*」""")


_BEHIND: Final = re.compile(r"(?<=\w): .*", re.DOTALL)


_CELL: Final = re.compile(r"\b[A-Z]{1,2}[1-9]\d{0,2}\b")


_WRITTEN: Final = (
    (re.compile(r"\s>\s"), "menu"),
    (re.compile(r"\bhttps?://\S+|(?<![\w.@-])(?:[\w-]+\.)+(?:com|org|net|io|de|edu|gov)\b"), "url"),
    (re.compile(r"(?<![\w.])-\d{3,5}\b"), "osascript error"),
    (re.compile(r"\S+@\S+\.\w+"), "email recipient"),
    (
        re.compile(r"^is [\w ]{2,20} (?:on|up|running|open)(?=\W*(?:now)?\W*$)"),
        "running process app",
    ),
    (re.compile(r"\b[\w-]+\.(?:txt|pdf|docx?|xlsx?|png|jpe?g|zip|md|mov|csv)\b"), "file"),
    (re.compile(r"\b\d{1,2}(?::\d\d)? ?(?:am|pm)\b|\b\d{1,2}:\d\d\b|\bat \d{1,2}\b"), "oclock"),
)
"""What is known by how it is written: a way through menus, an address, the number of an Apple
error."""


_WEEKDAY: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"


_TIMES: Final = (
    (
        re.compile(
            rf"\b(?:today|tonight|tomorrow|yesterday|{_WEEKDAY}|this (?:morning|afternoon|evening)"
            r"|\d{4}-\d\d-\d\d|on the \d{1,2}(?:st|nd|rd|th)?)\b"
        ),
        "day",
    ),
    (
        re.compile(
            r"\b(?:(?:this|last|next|past|coming) (?:\d+ |few )?(?:week|month|year|day|hour)s?"
            rf"|since|lately|recently|newest|between|from {_WEEKDAY} to)\b"
        ),
        "recent between",
    ),
)
"""How a request names a day, or a span of time, and the stems that tools for one are known by."""


class SearchTerm(NamedTuple):
    """A word of a request: stems that may stand for it with their worth, and its own worth.

    `depth` counts the words such as `of` and `in` that lead to it: 0 for what is asked about, 1 for
    what that is in, is of or is like.
    """

    stem: str
    options: Mapping[str, float]
    worth: float
    depth: int = 0


class RequestMeaning(NamedTuple):
    """What a request is about, each with its likelihood: what apps are for, the act, the thing."""

    areas: Mapping[str, float]
    acts: Mapping[str, float]
    things: Mapping[str, float]


NOTHING: Final = RequestMeaning({}, {}, {})


class SearchRequest(NamedTuple):
    """A request that was read.

    Attributes:
        words: All of its words as written, in lower case.
        names: Stems of those that seem to be names: of an app, a button, a person.
    """

    words: tuple[str, ...]
    terms: tuple[SearchTerm, ...]
    operations: Mapping[str, float]
    action: int | None = None
    """The place in `terms` of what seems to be the verb: the first word that tells something."""

    names: frozenset[str] = frozenset()
    first: str = ""
    """The stem of the first word that is no courtesy."""

    capitals: frozenset[str] = frozenset()
    """The words that seem to be names, as written, in lower case."""

    meaning: RequestMeaning = NOTHING
    """What the whole is about."""

    intent: RequestIntent = RequestIntent()
    """What it forbids, which way it goes, whether it only looks."""


def read_request(
    text: str, known: Callable[[str], bool], near: Callable[[str], Sequence[str]]
) -> SearchRequest:
    """Read a request.

    Args:
        text: What somebody wants, in a few words; the first `MAX_QUERY` characters are read.
        known: Whether a stem is a word of some tool or of the lexicon.
        near: The words that a mistyped one may have been meant as.
    """
    told, quoted = _split_quoted(_CELL.sub(r"\g<0> cell ", text[:MAX_QUERY]))
    whole_text = cut_particulars(_to_english(told.replace("’", "'")).casefold())
    intent, english = read_intent(whole_text), split_refused(whole_text)[0]
    said = split_words(english)
    verb = next((word for word in said if word not in load_lexicon().polite), "")
    if implied := load_lexicon().implied.get(verb):
        english = english.replace(verb, implied, 1)
    outside = split_words(_replace_phrases(english))
    words = (*outside, *split_words(quoted))
    lists = load_lexicon()
    operations: dict[str, float] = {}
    found: dict[str, SearchTerm] = {}
    depth, things, capitals = 0, 0, _capitalized_words(told)
    names = frozenset(map(stem_word, capitals))
    for number, word in enumerate(words):
        base = stem_word(word)
        if word in lists.leading and things:
            depth, things = depth + 1, 0
        if known(base) or base in found or base in names:
            meant = [base]
        else:
            # What is mistyped may have lost its ending: unraed is no past tense of unra.
            meant = list(near(base)) or list(near(word)) or [base]
        verbs = [verb for one in meant for verb in lists.verbs.get(one, ())]
        # What was changed is looked for, not changed.
        past = found and len(word) > 4 and word.endswith("ed")
        if number < len(outside) and not past:
            operations.update(dict.fromkeys(verbs, 1.0))
        if word in lists.stop or base in found or len(word) < 2 or len(found) >= _MAX_TERMS:
            continue
        options: dict[str, float] = {}
        for one in meant:
            for other, worth in lists.synonyms.get(one, {}).items():
                options[other] = max(options.get(other, 0), worth)
            options[one] = 1.0 if one == base else MISTYPED
        worth = VERB if verbs else 1.0
        if number >= len(outside):
            worth *= WRITTEN_DOWN
        found[base] = SearchTerm(base, options, worth, depth)
        things += not verbs
    for pattern, stems in _TIMES:
        if pattern.search(english) and operations.keys().isdisjoint(("make", "set")):
            # What is asked of a day or a span of time has tools of its own.
            for stem in stems.split():
                found.setdefault(stem, SearchTerm(stem, {stem: 1.0}, TIME))
    first = next((word for word in words if word not in lists.polite), "")
    action = None if first in lists.questions or not found else 0
    first = stem_word(verb if implied else first)
    # What somebody or something is called says nothing of what is wanted.
    plain = [
        one
        for one in _PLAIN.findall(english)
        if one not in capitals or stem_word(one) in lists.known_stems or one.isdigit()
    ]
    whole = request_meaning(
        one if is_known_word(one) else next(iter(near(one)), "") for one in plain
    )
    terms = tuple(found.values())
    return SearchRequest(words, terms, operations, action, names, first, capitals, whole, intent)


def _capitalized_words(text: str) -> frozenset[str]:
    """Return the words that begin with a capital, the first aside, in lower case.

    Where all do, it says nothing.
    """
    words = _SPACED.findall(text[:MAX_QUERY])[1:]
    names = [word for word in words if word[0].isupper()]
    return frozenset(split_words(" ".join(names))) if len(names) < len(words) else frozenset()


def _split_quoted(text: str) -> tuple[str, str]:
    """Return what is said of a request, and what in it is only written down."""
    quoted = " ".join(_QUOTED.findall(text))
    said = _QUOTED.sub(" ", text)
    behind = _BEHIND.search(said)
    if behind and len(said[: behind.start()].split()) > 1:
        said, quoted = said[: behind.start()], f"{quoted} {behind.group()}"
    # Who writes nothing else means what stands there.
    return (said, quoted) if len(said.split()) > 1 else (text, "")


def _to_english(text: str) -> str:
    """Return `text` with what is said in another language in the English words for it."""
    if _JAPANESE.search(text):
        return _translate_japanese(text)
    words = [(word, _without_accents(word)) for word in re.findall(r"[^\W_]+|[^\w\s]+", text)]
    foreign = [bare for _, bare in words if bare[0].isalpha() and not _is_english(bare)]
    count = sum(bare[0].isalpha() for _, bare in words)
    code, most = "", min(count, max(2.0, count / 2 - 1)) - 0.5
    for one, language in load_lexicon().languages.items():
        told = sum(
            bare in language.plain or bool(_translate_word(bare, language)) for bare in foreign
        )
        if told > most:
            code, most = one, told
    if not code:
        return text
    language = load_lexicon().languages[code]
    said: list[str] = []
    for word, bare in words:
        # Another word of theirs is a name, or it is English too.
        kept = not word.islower() or is_known_word(bare) or _is_english(bare)
        english = _translate_word(bare, language) or (word if kept else "")
        said += [english] if english and bare not in language.plain else []
    # What somebody is to be reminded of is theirs, whatever stands before it.
    return "remind" if said[:1] == ["remind"] else " ".join(said)


_JAPANESE: Final = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def _translate_japanese(text: str) -> str:
    """Return the English words for the longest Japanese ones, the last first, and what is Latin.

    What is done stands last in Japanese.
    """
    table = load_lexicon().languages["ja"].whole
    known = "|".join(map(re.escape, sorted(table, key=len, reverse=True)))
    found = re.findall(rf"{known}|[A-Za-z0-9@.'-]+", text)
    return " ".join(table.get(one, one) for one in reversed(found))


def _translate_word(word: str, language: Language) -> str:
    """Return the English words for a word without accents, or nothing."""
    if word in language.whole:
        return language.whole[word]
    sizes = range(len(word) - 1, 3, -1)
    return next((language.starts[word[:n]] for n in sizes if word[:n] in language.starts), "")


def _is_english(word: str) -> bool:
    lists = load_lexicon()
    return word in lists.stop or word in lists.leading or stem_word(word) in lists.known_stems


def _without_accents(word: str) -> str:
    parts = unicodedata.normalize("NFKD", word.casefold())
    return "".join(one for one in parts if not unicodedata.combining(one))


def _replace_phrases(text: str) -> str:
    """Return `text` with its turns of phrase replaced; `...` in one are up to five words."""
    for first, pattern, instead in _phrase_patterns():
        if first in text:
            text = pattern.sub(instead, text)
    for written, word in _WRITTEN:
        text = written.sub(f" {word} ", text)
    return text


@lru_cache(maxsize=1)
def _phrase_patterns() -> list[tuple[str, re.Pattern[str], str]]:
    """Return the first part of each turn of phrase, its pattern, what stands instead."""
    found = []
    for phrase, instead in sorted(load_lexicon().phrases.items(), key=lambda row: -len(row[0])):
        first, apart, last = phrase.partition(" ... ")
        pattern = rf"\b{re.escape(first)}\b"
        if apart:
            pattern += rf"((?: [^\s,;]+){{0,5}}?) {re.escape(last)}\b"
        found.append((first, re.compile(pattern), rf" {instead} \1 " if apart else f" {instead} "))
    return found


_FILE: Final = "meanings.bin"


_KEPT: Final = 0.02
"""A label that is less likely is none."""


class _VectorTable(NamedTuple):
    words: bytes
    vectors: memoryview
    labels: memoryview
    size: int
    heads: Mapping[str, list[tuple[str, float, float]]]


@lru_cache(maxsize=1)
def _load_vectors() -> _VectorTable:
    whole = Path(__file__).with_name(_FILE).read_bytes()
    head_end = whole.index(b"\n")
    words_end = whole.index(b"\n", head_end + 1)
    head: dict[str, Any] = json.loads(whole[:head_end])
    words, size = b" " + whole[head_end + 1 : words_end] + b" ", head["size"]
    # The numbers are a view, and the words one text: in pieces both would stay resident.
    signed = memoryview(whole)[words_end + 1 :].cast("b")
    cut = (words.count(b" ") - 1) * size
    return _VectorTable(words, signed[:cut], signed[cut:], size, head["heads"])


@lru_cache(maxsize=4096)
def _place_of(word: str) -> int:
    """Return the number of a word or a pair of words in the table, -1 where it is not there."""
    words = _load_vectors().words
    at = words.find(f" {word} ".encode())
    return words.count(b" ", 0, at) if at >= 0 else -1


def is_known_word(word: str) -> bool:
    """Say whether a word in lower case has a meaning here."""
    return _place_of(word) >= 0


def request_meaning(words: Iterable[str]) -> RequestMeaning:
    """Return what words in lower case mean together, each and with the one before it."""
    table, said = _load_vectors(), [*words]
    size, places = table.size, [place for one in said if (place := _place_of(one)) >= 0]
    count = len(places)
    pairs = map("_".join, pairwise(["^", *said]))
    places += [place for one in pairs if (place := _place_of(one)) >= 0]
    rows = [table.vectors[place * size : (place + 1) * size] for place in places]
    if not rows:
        return NOTHING
    whole = [sum(column) / (count or 1) ** 0.5 for column in zip(*rows, strict=True)]
    found, at = [], 0
    for labels in table.heads.values():
        worth = {}
        for label, base, scale in labels:
            worth[label] = exp(base + scale * sum(map(mul, whole, table.labels[at : at + size])))
            at += size
        total = sum(worth.values())
        found.append({one: w / total for one, w in worth.items() if w / total >= _KEPT})
    return RequestMeaning(*found)
