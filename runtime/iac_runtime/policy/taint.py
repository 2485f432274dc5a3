"""Values that came from an app: what a later call uses of them was perhaps chosen by a stranger."""

import re
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

__all__ = ["BOUND", "SHORTEST", "Taint", "addresses", "pieces", "urls"]

BOUND: Final = 1_000_000
"""Characters of results that are kept, the newest; what is older is forgotten. A result that came
before is kept once. Only calls that hold a recipient, URL, path or script are searched for."""

SHORTEST: Final = 8
"""Characters of a text that counts; a URL or an address counts at any length."""

_ADDRESS: Final = re.compile(r"[^\s<>,;:\"'()]+@[^\s<>,;:\"'()@]+\.[^\s<>,;:\"'()@.]+")
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s<>\"'`{}|\\^]+")


class Taint:
    """The texts of recent results of this process; safe to share between threads."""

    def __init__(self, bound: int = BOUND) -> None:
        self._bound = bound
        self._texts: OrderedDict[str, None] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def add(self, value: Any) -> None:
        """Remember every text in a result."""
        # Values are kept apart by a character that no needle holds: nothing matches across two.
        text = "\0".join(_normal(part) for part in _texts(value))[-self._bound :]
        if not text:
            return
        with self._lock:
            if text in self._texts:
                self._texts.move_to_end(text)
                return
            self._texts[text] = None
            self._size += len(text)
            while self._size > self._bound:
                self._size -= len(self._texts.popitem(last=False)[0])

    def holds(self, text: str) -> bool:
        """Say whether `text` stood word for word in a result; case and accents' form aside."""
        needle = _normal(text).strip()
        if not needle:
            return False
        with self._lock:
            texts = list(self._texts)
        return any(needle in found for found in reversed(texts))

    def used_in(self, value: str) -> str:
        """Return the first piece of an argument that came from a result, or an empty text."""
        return next((piece for piece in pieces(value) if self.holds(piece)), "")


def _normal(text: str) -> str:
    text = text if text.isascii() else unicodedata.normalize("NFC", text)
    return text.casefold().replace("\0", " ")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


def addresses(text: str) -> list[str]:
    """Return the mail addresses in a text."""
    return _ADDRESS.findall(text)


def urls(text: str) -> list[str]:
    """Return the URLs in a text."""
    return _URL.findall(text)


def pieces(value: str) -> Iterator[str]:
    """Yield what of an argument can have come from a result.

    The whole, if long enough; every URL and address in it; of a URL also the host, and what its
    path, query and fragment carry, decoded: that is how a value leaves by a link.
    """
    if len(value.strip()) >= SHORTEST:
        yield value
    yield from addresses(value)
    for url in urls(value):
        yield url
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
        except ValueError:
            continue
        carried = [
            host,
            *map(unquote, parts.path.split("/")),
            *(text for pair in parse_qsl(parts.query, keep_blank_values=True) for text in pair),
            unquote(parts.fragment),
        ]
        yield from (text for text in carried if len(text) >= SHORTEST)
