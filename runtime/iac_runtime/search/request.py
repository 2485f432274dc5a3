"""Reading a request: words, stems and spelling, and the operations that it speaks for.

Simple English only: plurals, `-ing`, `-ed`. The same function runs over
dictionaries and requests, so a wrong stem costs nothing as long as it is the same one.

A word with one letter more, less, changed or two exchanged shares a form with the right one when
one letter is left out of either or both. Those forms are few, so they are looked up, not searched.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final, NamedTuple

from iac_base.words import split_name
from iac_runtime.search.lexicon import lexicon

MAX_QUERY: Final = 400
"""Characters of a request that are read; people say it in fewer."""

_WORD: Final = re.compile(r"[^\W_]+")
_VOWEL: Final = re.compile(r"[aeiouy]")


def split(text: str) -> list[str]:
    """Return the words of `text` in lower case; `NetNewsWire` gives its parts and the whole."""
    found: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFKC", text)):
        found.append(word.casefold())
        parts = split_name(word)
        if len(parts) > 1:
            found += [part for part in parts if len(part) > 1]
    return found


def stems(text: str) -> list[str]:
    """Return the stems of the words of `text`, in order."""
    return [stem(word) for word in split(text)]


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return the stem of a word in lower case."""
    if len(word) <= 3 or word in lexicon().not_plural:
        return word
    base = _singular(word)
    for ending in ("ing", "ed"):
        cut = base.removesuffix(ending)
        if cut != base and len(cut) >= 3 and _VOWEL.search(cut):
            return _shortened(cut)
    return _shortened(base)


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes", "zzes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _shortened(word: str) -> str:
    """Return `word` without a doubled last letter and a silent e: stopp, stop; make, mak."""
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        return word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


_SHORTEST: Final = 4
_LIKE: Final = 0.7


class Speller:
    """The vocabulary of an index by the forms of its words."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        # Texts, not lists: a table of a hundred thousand lists would make each full run of the
        # garbage collector a pause that is longer than a search.
        self._forms: dict[str, str] = {}
        for word in vocabulary:
            if len(word) >= _SHORTEST - 1 and not word.isdecimal():
                for form in _forms(word):
                    others = self._forms.get(form)
                    self._forms[form] = f"{others} {word}" if others else word

    def nearest(self, word: str, count: int = 3) -> list[str]:
        """Return the words that `word` may have been meant as, most alike first."""
        if len(word) < _SHORTEST:
            return []
        found = {near for form in _forms(word) for near in self._forms.get(form, "").split()}
        alike = {near: SequenceMatcher(None, word, near).ratio() for near in found}
        ranked = sorted(alike, key=lambda near: (-alike[near], near))
        return [near for near in ranked if alike[near] >= _LIKE][:count]


def _forms(word: str) -> Iterator[str]:
    yield word
    for place in range(len(word)):
        yield word[:place] + word[place + 1 :]


_SAME: Final = 0.85
_LOOSE: Final = 0.45
_VERB: Final = 0.55
"""How much a verb that speaks for an operation counts as a word to find."""

_MAX_TERMS: Final = 16
_SPACED: Final = re.compile(r"[^\W_][^\s]*")
_WRITTEN: Final = (
    (re.compile(r"\s>\s"), "menu"),
    (re.compile(r"\bhttps?://\S+|(?<![\w.@-])(?:[\w-]+\.)+(?:com|org|net|io|de|edu|gov)\b"), "url"),
    (re.compile(r"(?<![\w.])-\d{3,5}\b"), "osascript error"),
)
"""What is known by how it is written: a way through menus, an address, the number of an Apple
error."""


class SearchTerm(NamedTuple):
    """A word of a request: stems that may stand for it with their worth, and its own worth.

    `depth` counts the words such as `of` and `in` that lead to it: 0 for what is asked about, 1 for
    what that is in, is of or is like.
    """

    stem: str
    options: Mapping[str, float]
    worth: float
    depth: int = 0


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


@lru_cache(maxsize=1)
def _synonyms() -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    for said, meant in lexicon().loose.items():
        row = table.setdefault(stem(said), {})
        for word in stems(meant):
            row[word] = _LOOSE
    for group in lexicon().groups:
        words = stems(group)
        for word in words:
            row = table.setdefault(word, {})
            row.update((other, _SAME) for other in words if other != word)
    return table


@lru_cache(maxsize=1)
def _verbs() -> dict[str, tuple[str, ...]]:
    table: dict[str, list[str]] = {}
    for operation, verbs in lexicon().intents.items():
        for verb in stems(verbs):
            table.setdefault(verb, []).append(operation)
    return {verb: tuple(operations) for verb, operations in table.items()}


def known_words() -> set[str]:
    """Return the stems that the lexicon can read."""
    return {*_synonyms(), *_verbs()}


def read_request(
    text: str, known: Callable[[str], bool], near: Callable[[str], Sequence[str]]
) -> SearchRequest:
    """Read a request.

    Args:
        text: What somebody wants, in a few words; the first `MAX_QUERY` characters are read.
        known: Whether a stem is a word of some tool or of the lexicon.
        near: The words that a mistyped one may have been meant as.
    """
    plain = _phrases(text[:MAX_QUERY].replace("’", "'").casefold())
    words = tuple(split(plain))
    lists = lexicon()
    operations: dict[str, float] = {}
    found: dict[str, SearchTerm] = {}
    depth, things = 0, 0
    for word in words:
        base = stem(word)
        if word in lists.leading and things:
            depth, things = depth + 1, 0
        if known(base) or base in found:
            meant = [base]
        else:
            # What is mistyped may have lost its ending: unraed is no past tense of unra.
            meant = list(near(base)) or list(near(word)) or [base]
        verbs = [verb for one in meant for verb in _verbs().get(one, ())]
        for operation in verbs:
            operations[operation] = 1.0
        if word in lists.stop or base in found or len(word) < 2 or len(found) >= _MAX_TERMS:
            continue
        options: dict[str, float] = {}
        for one in meant:
            for other, worth in _synonyms().get(one, {}).items():
                options[other] = max(options.get(other, 0), worth)
            options[one] = 1.0
        found[base] = SearchTerm(base, options, _VERB if verbs else 1.0, depth)
        things += not verbs
    asks = next((word for word in words if word not in lists.polite), "") in lists.questions
    action = None if asks or not found else 0
    return SearchRequest(words, tuple(found.values()), operations, action, _names(text))


def _names(text: str) -> frozenset[str]:
    """Return the stems of the words that begin with a capital, the first aside.

    Where all do, it says nothing.
    """
    words = _SPACED.findall(text[:MAX_QUERY])[1:]
    names = [word for word in words if word[0].isupper()]
    return frozenset(stems(" ".join(names))) if len(names) < len(words) else frozenset()


def _phrases(text: str) -> str:
    """Return `text` with its turns of phrase replaced."""
    for phrase, instead in _by_length():
        pattern = rf"\b{re.escape(phrase)}\b"
        if phrase in text and re.search(pattern, text):
            text = re.sub(pattern, f" {instead} ", text)
    for written, word in _WRITTEN:
        text = written.sub(f" {word} ", text)
    return text


@lru_cache(maxsize=1)
def _by_length() -> list[tuple[str, str]]:
    return sorted(lexicon().phrases.items(), key=lambda row: -len(row[0]))
