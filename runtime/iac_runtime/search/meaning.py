"""What a request means as a whole, by words that were seen in many requests and words like them.

`meanings.bin` is made by `benchmarks/meanings.py`: a line of JSON, a line of words, then bytes: a
vector for each word, and one for each label of each head.
"""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import exp
from operator import mul
from pathlib import Path
from typing import Any, Final, NamedTuple

_FILE: Final = "meanings.bin"
_KEPT: Final = 0.02
"""A label that is less likely is none."""


class RequestMeaning(NamedTuple):
    """What a request is about, each with its likelihood: what apps are for, the act, the thing."""

    areas: Mapping[str, float]
    acts: Mapping[str, float]
    things: Mapping[str, float]


NOTHING: Final = RequestMeaning({}, {}, {})


class _VectorTable(NamedTuple):
    places: Mapping[str, int]
    vectors: memoryview
    labels: memoryview
    size: int
    heads: Mapping[str, list[tuple[str, float, float]]]


@lru_cache(maxsize=1)
def _load_vectors() -> _VectorTable:
    whole = Path(__file__).with_name(_FILE).read_bytes()
    first, second, rest = whole.split(b"\n", 2)
    head: dict[str, Any] = json.loads(first)
    words, size = second.decode().split(), head["size"]
    signed, cut = memoryview(rest).cast("b"), len(words) * head["size"]
    places = {word: place for place, word in enumerate(words)}
    return _VectorTable(places, signed[:cut], signed[cut:], size, head["heads"])


def is_known_word(word: str) -> bool:
    """Say whether a word in lower case has a meaning here."""
    return word in _load_vectors().places


def request_meaning(words: Iterable[str]) -> RequestMeaning:
    """Return what words in lower case mean together."""
    table = _load_vectors()
    size, places = table.size, [table.places[one] for one in words if one in table.places]
    rows = [table.vectors[place * size : (place + 1) * size] for place in places]
    if not rows:
        return NOTHING
    said = [sum(column) / len(rows) ** 0.5 for column in zip(*rows, strict=True)]
    found, at = [], 0
    for labels in table.heads.values():
        worth = {}
        for label, base, scale in labels:
            worth[label] = exp(base + scale * sum(map(mul, said, table.labels[at : at + size])))
            at += size
        total = sum(worth.values())
        found.append({one: w / total for one, w in worth.items() if w / total >= _KEPT})
    return RequestMeaning(*found)
