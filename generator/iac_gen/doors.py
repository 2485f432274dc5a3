"""The three doors: every foreign string enters generated source through one of them.

`literal` for data, `identifier` for names, `prose` for words in a docstring. Jinja's
`finalize` accepts what came through a door and refuses everything else.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "Door",
    "clean",
    "clean_prose",
    "cleaned",
    "exact",
    "finalize",
    "identifier",
    "literal",
    "prose",
    "removed",
]

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_NOT_PROSE = re.compile(r"[^A-Za-z0-9 \-_/&.,()']+")
_DROPPED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_MARKS = frozenset({"Mn", "Me"})
_MOST_MARKS = 4
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0\u034f\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800")


class Door(str):
    """Text that came through a door and may stand in generated source."""

    __slots__ = ()


def clean(text: str) -> str:
    """Return `text` in NFC without invisible, control, bidirectional and tag characters.

    Of combining marks in a row the first four stay. What is clean stays as it is.
    """
    if text.isascii() and text.isprintable():
        return text
    # What is dropped may have stood between a letter and its accent.
    return unicodedata.normalize("NFC", _kept(unicodedata.normalize("NFC", text)))


def removed(text: str) -> int:
    """Return how many characters `clean` drops from `text`."""
    if text.isascii() and text.isprintable():
        return 0
    whole = unicodedata.normalize("NFC", text)
    return len(whole) - len(_kept(whole))


def _kept(text: str) -> str:
    kept: list[str] = []
    marks = 0
    for ch in text:
        category = unicodedata.category(ch)
        if (
            category in _DROPPED
            or ch in _FILLERS
            or 0xFE00 <= ord(ch) <= 0xFE0F
            or 0xE0100 <= ord(ch) <= 0xE01EF
        ):
            continue
        marks = marks + 1 if category in _MARKS else 0
        if marks <= _MOST_MARKS:
            kept.append(ch)
    return "".join(kept)


def cleaned(value: Any) -> Any:
    """Return JSON-ready `value` with every text in it, keys too, cleaned."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {cleaned(key): cleaned(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [cleaned(item) for item in value]
    return value


def exact(text: str) -> Door:
    """Return `text` as a literal, character for character and ASCII throughout.

    For codes, which are no text that a model reads; the quotes are those that black prefers.
    """
    escaped = text.encode("unicode_escape").decode("ascii")
    if escaped.count('"') > escaped.count("'"):
        return Door("'" + escaped.replace("'", "\\'") + "'")
    return Door('"' + escaped.replace('"', '\\"') + '"')


def literal(value: Any) -> Door:
    """Return `value` as a Python literal: str, int, bool, None, and containers of these.

    Raises:
        TypeError: A value of any other type.
    """
    if value is None or isinstance(value, bool | int):
        return Door(repr(value))
    if isinstance(value, float):
        return Door(repr(value))
    if isinstance(value, str):
        return exact(clean(value))
    if isinstance(value, Mapping):
        rows = ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items())
        return Door(f"{{{rows}}}")
    if isinstance(value, tuple):
        rows = ", ".join(literal(item) for item in value)
        return Door(f"({rows},)" if len(value) == 1 else f"({rows})")
    if isinstance(value, Sequence):
        return Door(f"[{', '.join(literal(item) for item in value)}]")
    raise TypeError(f"{type(value).__name__} has no literal")


def identifier(name: str) -> Door:
    """Return `name` as an identifier.

    Raises:
        ValueError: It is none: ASCII letters, digits and underscores, at most 64.
    """
    if _IDENTIFIER.fullmatch(name) is None:
        raise ValueError(f"{name!r} is no identifier")
    return Door(name)


def clean_prose(text: str) -> str:
    """Return the words of `text`; what is no letter, digit or plain punctuation is left out."""
    plain = unicodedata.normalize("NFKD", clean(text))
    return " ".join(_NOT_PROSE.sub(" ", plain).split())


def prose(text: str) -> Door:
    """Return `text` as words that may stand in a docstring."""
    return Door(clean_prose(text))


def finalize(value: Any) -> Door:
    """Let a door's text through (Jinja calls this for each expression).

    Raises:
        TypeError: A bare string or anything else.
    """
    if isinstance(value, Door):
        return value
    raise TypeError(f"{value!r} came through no door")
