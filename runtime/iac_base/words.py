"""Words and names: how they are compared, how a name falls into words, what stem a word has.

Stems are of simple English: plurals, `-ing`, `-ed`. The same function runs over dictionaries and
requests, so a wrong stem costs nothing as long as it is the same one.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PLAIN: Final = re.compile(r"[^\W_]+")
_VOWEL: Final = re.compile(r"[aeiouy]")
_NO_PLURAL: Final = frozenset("access address bus class news process status this".split())
"""Words that end like a plural, or so, and are none."""

STANDARD_VERBS: Final = frozenset(
    "get set make delete count exists move duplicate save close every whose"
    " run reopen launch activate open print quit".split()
)
"""What every app can be told, whatever its dictionary lists."""


# Names are few, and one call compares the same ones many times.
@lru_cache(maxsize=4096)
def fold_name(name: str) -> str:
    """Return `name` as it is compared: dictionary and JXA spellings of one term are equal."""
    return "".join(ch for ch in name.casefold() if ch.isalnum())


def split_name(name: str) -> list[str]:
    """Return the words of a name in lower case: `APIKey2`, `api_key2`, `API key 2` alike."""
    return [word.lower() for word in _WORD.findall(name)]


def split_words(text: str) -> list[str]:
    """Return the words of `text` in lower case; `NetNewsWire` gives its parts and the whole."""
    words: list[str] = []
    for word in _PLAIN.findall(unicodedata.normalize("NFKC", text)):
        words.append(word.casefold())
        parts = split_name(word)
        if len(parts) > 1:
            words += [part for part in parts if len(part) > 1]
    return words


def stem_words(text: str) -> list[str]:
    """Return the stems of the words of `text`, in order."""
    return [stem_word(word) for word in split_words(text)]


@lru_cache(maxsize=20_000)
def stem_word(word: str) -> str:
    """Return the stem of a word in lower case."""
    if len(word) <= 3 or word in _NO_PLURAL:
        return word
    base = _strip_plural(word)
    for ending in ("ing", "ed"):
        cut = base.removesuffix(ending)
        if cut != base and len(cut) >= 3 and _VOWEL.search(cut):
            return _shorten_stem(cut)
    return _shorten_stem(base)


def _strip_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes", "zzes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _shorten_stem(word: str) -> str:
    """Return `word` without a doubled last letter and a silent e: stopp, stop; make, mak."""
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        return word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word
