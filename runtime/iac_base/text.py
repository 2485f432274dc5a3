"""Foreign text on its way to a model: nothing hidden in it, nothing that acts on a terminal.

There is one cleaner, for everything that leaves: names, descriptions, results, errors.
Removed are control, format (bidirectional, zero-width, tag), private-use and unassigned
characters, variation selectors and blank fillers, terminal sequences, and accents piled past
reading. A lone surrogate becomes U+FFFD; every kind of line end becomes a newline. The rest stays
and is brought to NFC. Source: Unicode Standard Annex 15 and chapter 23, ECMA-48 section 5.4.

Joiners go too, for a run of them can spell a hidden message: a family emoji comes apart into its
people, and a Persian word loses the gap inside it. No printed character is lost. Where the exact
text matters (a reference that the next call takes), use `escaped`, which loses nothing.

The spaces of Unicode stay: macOS writes U+202F into the names of screenshots, and a path with
another space leads nowhere.
"""

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Final

MARKS: Final = 4
"""Accents (combining class above 0) kept in a row; the deepest stack of a living language."""

_RUN: Final = 2 * MARKS
"""Marks of any kind kept in a row: Burmese vowels have class 0 and come five at a time."""

_BLANK: Final = frozenset(
    map(
        chr,
        (
            # Printable by their category, and yet nothing is seen: joiner, fillers, selectors.
            *(0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
            *range(0x180B, 0x1810),
            *range(0xFE00, 0xFE10),
            *range(0xE0100, 0xE01F0),
        ),
    )
)
_KEPT: Final = frozenset("\n\t")
_PLAIN: Final = re.compile(r"[\n\t\x20-\x7e]*")
_LINE_END: Final = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_LINE_ENDS: Final = frozenset("\r\x0b\x0c\x85\u2028\u2029")
_BEGINNINGS: Final = frozenset("\x1b\x90\x98\x9b\x9d\x9e\x9f")
_TERMINAL: Final = re.compile(
    # A string command (clipboard, title, device) up to its end; the class excludes all that
    # begins another, so that a hostile text costs one pass.
    "(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9b-\x9f]*(?:\x07|\x1b\\\\|\x9c)"
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"
    "|\x1b[ -/]*[0-Z\\\\^-~]"
)
_UNSAFE: Final = re.compile("[\ud800-\udfff\u2028\u2029\x7f-\x9f]")
_MARK_CATEGORIES: Final = ("Mn", "Mc", "Me")


def hidden(char: str) -> bool:
    """Say whether a character shows nothing, or acts instead of being shown.

    Newline and tab are not hidden; every other control character is.
    """
    if char in _BLANK:
        return True
    return not char.isprintable() and char not in _KEPT and unicodedata.category(char) != "Zs"


def clean_text(text: str, limit: int | None = None) -> str:
    """Return `text` without hidden characters, in NFC, no longer than `limit` characters.

    Cleaning what was cleaned changes nothing. The result is valid UTF-8 and never longer than the
    NFC of `text`. A text that was cut ends in an ellipsis.
    """
    if not _PLAIN.fullmatch(text):
        text = _cleaned(text)
    if limit is not None and len(text) > limit:
        text = text[: max(limit - 1, 0)] + "…"[:limit]
    return text


def _cleaned(text: str) -> str:
    # A text has few different characters, however long it is; most steps are for few texts.
    found = set(text)
    if not found.isdisjoint(_BEGINNINGS):
        text = _TERMINAL.sub("", text)
    if not found.isdisjoint(_LINE_ENDS):
        text = _LINE_END.sub("\n", text)
    if any("\ud800" <= char <= "\udfff" for char in found):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        found = set(text)
    removed = {ord(char): None for char in found if hidden(char)}
    if removed:
        text = text.translate(removed)
    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
        found = set(text)
    marks = "".join(char for char in found if unicodedata.category(char) in _MARK_CATEGORIES)
    if marks:
        text = re.sub(f"[{re.escape(marks)}]{{{MARKS + 1},}}", _fewer, text)
    return text


def _fewer(run: re.Match[str]) -> str:
    kept: list[str] = []
    accents = 0
    for mark in run.group():
        accents += unicodedata.combining(mark) > 0
        if len(kept) < _RUN and (accents <= MARKS or not unicodedata.combining(mark)):
            kept.append(mark)
    return "".join(kept)


def clean(value: Any, exact: type[str] | None = None) -> Any:
    """Return `value` with every text in it cleaned, at every depth; keys too.

    Texts of the type `exact` are escaped instead of cleaned, and keep their type. Two keys that
    become the same are told apart by a number, so that nothing is hidden behind a name.
    """
    if isinstance(value, str):
        if exact is not None and isinstance(value, exact):
            return exact(escaped(value))
        return clean_text(value)
    if isinstance(value, list | tuple):
        return [clean(part, exact) for part in value]
    if isinstance(value, Mapping):
        fields: dict[str, Any] = {}
        for key, part in value.items():
            fields[_free(clean_text(str(key)), fields)] = clean(part, exact)
        return fields
    return value


def _free(key: str, taken: Mapping[str, Any]) -> str:
    name, number = key, 1
    while name in taken:
        number += 1
        name = f"{key} ({number})"
    return name


def escaped(text: str) -> str:
    r"""Return `text` on one line, with what is hidden in it written as `\uXXXX`.

    For text whose quoted parts are JavaScript or JSON (references, lines of JXA): there the escape
    is the character itself, so that what a model reads back still names the same object. For a
    question to a person and for a log it shows what would not be seen. A text that is not in NFC
    has its accents escaped as well.
    """
    if text.isascii() and text.isprintable():
        return text
    shown = "".join(_escape(char) if char in _KEPT or hidden(char) else char for char in text)
    if not unicodedata.is_normalized("NFC", shown):
        shown = "".join(char if char.isascii() else _escape(char) for char in shown)
    return shown


def _escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def text_literal(text: str) -> str:
    """Return `text` as a JavaScript string literal that is also JSON, on one line."""
    literal = json.dumps(text, ensure_ascii=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", literal)
