"""One text in its many spellings: encoded for a link, a page, a script or the wire, split, hidden.

Two texts are compared in the forms that `spellings` returns of each: decoded until nothing is left
to decode, without blanks and characters that show nothing, without case. An encoding that a blank
broke is put together first; one that a blank ends is also read as it stands.
"""

import base64
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import unquote

from iac_base.text import clean_text

_ROUNDS: Final = 4
"""Encodings within one another that are undone."""

_ENTITY: Final = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-f]{4})|x([0-9a-f]{2})|[nrt]|(?=[^\w\s]))", re.I)
_CARRIED: Final = re.compile(r"[?=&#]([A-Za-z0-9+/_-]{8,})")
_CODED: Final = re.compile(rf"%[0-9a-fA-F]{{2}}|{_ENTITY.pattern}|\\|{_CARRIED.pattern}")
_READABLE: Final = re.compile(r"[^\x00-\x08\x0e-\x1f\x7f\ufffd]{6,}")
_HOST: Final = re.compile(r"xn--([a-z0-9-]+)")


def spellings(text: str) -> tuple[str, ...]:
    """Return the forms in which a text is compared; without an encoding in it there is one."""
    forms = [text]
    for clean in (str, without_blanks):
        if _CODED.search(clean(text)):
            forms += decoded(text, clean)
    return tuple(dict.fromkeys(filter(None, map(_plain, forms))))


def decoded(text: str, clean: Callable[[str], str]) -> list[str]:
    """Return a text with its encodings undone, and what pieces of a query in it decode to.

    Each goes through `clean` first: without its blanks, an encoding that was split is found.
    """
    found = [text]
    for _ in range(_ROUNDS):
        before = found
        plain = [_once(clean(part)) for part in found]
        found = list(dict.fromkeys((*plain, *(part for whole in plain for part in _inside(whole)))))
        if found == before:
            break
    return found


def _once(text: str) -> str:
    text = unquote(text)
    if _ENTITY.search(text):
        # Its table is for few texts.
        from html import unescape

        text = _ENTITY.sub(lambda entity: unescape(entity[0]), text)
    return _ESCAPE.sub(_unescaped, text)


def _unescaped(escape: re.Match[str]) -> str:
    number = escape[1] or escape[2]
    return chr(int(number, 16)) if number else " " if len(escape[0]) > 1 else ""


def _inside(text: str) -> Iterator[str]:
    """Yield what pieces of a query decode to, as far as that can be read."""
    for match in _CARRIED.finditer(text):
        piece = match[1].translate({ord("-"): "+", ord("_"): "/"})
        even = re.match(r"(?:[0-9a-fA-F]{2}){6,}", piece)
        found = bytes.fromhex(even[0] if even else "")
        piece = piece[: len(piece) - (len(piece) % 4 == 1)]
        found += b"\0" + base64.b64decode(piece + "==")
        yield from _READABLE.findall(found.decode(errors="replace"))


def without_blanks(text: str) -> str:
    """Return a text without blanks and characters that show nothing."""
    return "".join(clean_text(text).split())


def _plain(text: str) -> str:
    return _HOST.sub(_unicode_host, unicodedata.normalize("NFKC", without_blanks(text)).casefold())


def _unicode_host(label: re.Match[str]) -> str:
    try:
        found = label[1].encode().decode("punycode")
    except UnicodeError:
        return label[0]
    return unicodedata.normalize("NFKC", found).casefold()
