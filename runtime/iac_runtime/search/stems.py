"""Words and their stems: what the index stores and what a request is compared by.

Simple English only: plurals, `-ing`, `-ed`. The same function runs over
dictionaries and requests, so a wrong stem costs nothing as long as it is the same one.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

__all__ = ["MAX_QUERY", "split", "stem", "stems"]

MAX_QUERY: Final = 400
"""Characters of a request that are read; people say it in fewer."""

_WORD: Final = re.compile(r"[^\W_]+")
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_VOWEL: Final = re.compile(r"[aeiouy]")
_KEPT: Final = frozenset({"news", "address", "access", "process", "status", "class", "this", "bus"})
_IRREGULAR: Final = {
    "people": "person",
    "children": "child",
    "men": "man",
    "ran": "run",
    "sent": "send",
    "wrote": "write",
    "written": "write",
    "made": "make",
    "said": "say",
    "told": "tell",
    "found": "find",
    "bought": "buy",
    "shown": "show",
    "chosen": "choose",
    "hidden": "hide",
    "indices": "index",
    "matrices": "matrix",
}


def split(text: str) -> list[str]:
    """Return the words of `text` in lower case; `NetNewsWire` gives its parts and the whole."""
    found: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFKC", text)):
        found.append(word.casefold())
        parts = _PARTS.findall(word)
        if len(parts) > 1:
            found += [part.casefold() for part in parts if len(part) > 1]
    return found


def stems(text: str) -> list[str]:
    """Return the stems of the words of `text`, in order."""
    return [stem(word) for word in split(text)]


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return the stem of a word in lower case."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 3 or word in _KEPT:
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
