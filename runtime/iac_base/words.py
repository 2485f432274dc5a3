"""Words and names: how they are compared, how a name falls into words."""

import re
from functools import lru_cache
from typing import Final

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


# Names are few, and one call compares the same ones many times.
@lru_cache(maxsize=4096)
def fold(name: str) -> str:
    """Return `name` as it is compared: dictionary and JXA spellings of one term are equal."""
    return "".join(ch for ch in name.casefold() if ch.isalnum())


def split_name(name: str) -> list[str]:
    """Return the words of a name in lower case: `APIKey2`, `api_key2`, `API key 2` alike."""
    return [word.lower() for word in _WORD.findall(name)]
