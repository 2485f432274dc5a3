"""Words that were mistyped: the nearest words of a vocabulary.

A word with one letter more, less, changed or two exchanged shares a form with the right one when
one letter is left out of either or both. Those forms are few, so they are looked up, not searched.
"""

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import Final

__all__ = ["Speller"]

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
