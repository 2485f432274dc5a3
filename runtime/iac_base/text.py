"""Foreign text as data, for a model or a program, and as it is shown to a person.

Data (`clean_text`) keeps every character that its script or emoji needs: joiners between letters
that join, in an emoji, a variation selector after a character that takes one, the tags of a flag,
marks of direction in a text that runs from right to left. Left out is what can only hide or act:
other control, format (bidirectional, zero-width, tag), private-use and unassigned characters,
blank fillers, runs of what shows nothing, terminal sequences, and accents piled past reading. A
lone surrogate becomes U+FFFD; every kind of line end becomes a newline. The rest stays and is
brought to NFC. `left_out` says where something is missing, so that nobody writes the rest back
for the whole. Source: Unicode Standard Annexes 9 and 15, Technical Standard 51, chapters 9 to 14
and 23, ECMA-48 section 5.4.

What is shown (`escaped`: questions, logs, page, terminal) has each character that is not seen
written out, the needed ones too, and loses nothing; so has a reference that the next call takes.

The spaces of Unicode stay: macOS writes U+202F into the names of screenshots, and a path with
another space leads nowhere.
"""

import itertools
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
_LINE_END: Final = re.compile("\r\n?|([\x0b\x0c\x85\u2028\u2029])")
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

_SEEN: Final = re.compile(
    # Numbers and verses of Arabic, Syriac, Kaithi are format by category; emoji are newer than
    # the tables of this Python.
    "[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\U0001f000-\U0001faff]"
)
_RIGHT: Final = re.compile(
    "(?=\\w)[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_TURNS: Final = "\u202a-\u202e\u2066-\u2069"
_TURNED: Final = re.compile(
    # A part that runs the other way, opened and closed in its line around something that is seen.
    "|".join(
        f"[{opens}](?=[^{_TURNS}\n]*?[^\\W\u115f\u1160\u3164\uffa0])[^{_TURNS}\n]+{closes}"
        for opens, closes in (("\u202a\u202b", "\u202c"), ("\u2066-\u2068", "\u2069"))
    )
)
_FLAG: Final = re.compile(
    # Of a part of a country: the code has at most six signs, which is too short for a message.
    "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"
)
_JOINED: Final = (
    "\u0590-\u109f\u1700-\u1cff\ua800-\uabff\ufb1d-\ufdff\ufe70-\ufefc"
    "\U00010800-\U00011fff\U0001e900-\U0001eeff"
)
_UNSPACED: Final = "\u0e00-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\ua9e0-\ua9ff\uaa60-\uaadf"
_PICTURE: Final = (
    "\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2934\u2935"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_HAN: Final = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_IN_PLACE: Final = re.compile(
    # The letter before it, a character that shows nothing, and what is seen next.
    "|".join(
        (
            f"[{_JOINED}][\u200c\u200d].",
            f".[\u200c\u200d](?=\\w)[{_JOINED}]",
            f"[{_UNSPACED}]\u200b[{_UNSPACED}]",
            f"[{_PICTURE}\ufe0f]\u200d[{_PICTURE}]",
            f"[{_PICTURE}][\ufe0e\ufe0f].",
            "[0-9#*]\ufe0f\u20e3",
            f"[{_HAN}][\ufe00-\ufe02\U000e0100-\U000e01ef].",
            "[\u2200-\u22ff\u2a00-\u2aff\u1000-\u109f\ua840-\ua87f\ua9e0-\uaa7f]\ufe00.",
            "[\u2018-\u201d\u3000-\u303f\uff00-\uff9f][\ufe00\ufe01].",
            "[\u1807\u1820-\u18aa][\u180b-\u180d\u180f].",
            "[\u1820-\u18aa]\u180e[\u1820-\u18aa]",
            "[\u0591-\u05ea]\u034f[\u0591-\u05ea]",
            "[\u1100-\u115e\ua960-\ua97c]\u1160.",
            ".\u115f[\u1161-\u11a7]",
            "[\u2801-\u28ff]\u2800[\u2801-\u28ff]",
        )
    ),
    re.DOTALL,
)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ALIKE: Final = re.compile(
    # Ideographs of names, which NFC makes another form of.
    "[\uf900-\ufa0d\ufa10\ufa12\ufa15-\ufa1e\ufa20\ufa22\ufa25\ufa26\ufa2a-\ufaff"
    "\U0002f800-\U0002fa1f]"
)
_OF_DIRECTION: Final = frozenset("\u061c\u200e\u200f")

AROUND: Final = 8
"""Characters before and after a place where something is left out, by which it is known again."""


def is_hidden_character(char: str) -> bool:
    """Say whether a character shows nothing, or acts instead of being shown.

    Newline and tab are not hidden; every other control character is.
    """
    if char in _BLANK:
        return True
    return not char.isprintable() and char not in _KEPT and unicodedata.category(char) != "Zs"


def clean_text(text: str, limit: int | None = None) -> str:
    """Return `text` as data, in NFC, no longer than `limit` characters.

    Cleaning what was cleaned changes nothing. The result is valid UTF-8 and never longer than the
    NFC of `text`. A text that was cut ends in an ellipsis.
    """
    if not _PLAIN.fullmatch(text):
        text = _remove_hidden(text)
    if limit is not None and len(text) > limit:
        # What a character needs may have been cut off.
        text = _remove_hidden(text[: max(limit - 1, 0)]) + "…"[:limit]
    return text


def visible_text(text: str) -> str:
    """Return `text` cleaned, without the hidden characters that its script needs too.

    For comparing what a person sees.
    """
    text = clean_text(text)
    return text.translate({ord(char): None for char in set(text) if is_hidden_character(char)})


def left_out(text: str) -> list[str]:
    """Return what stands around each place where cleaning `text` leaves something out.

    Another way to end a line by `\\r`, and to write the same letter, leaves nothing out.
    """
    if _PLAIN.fullmatch(text):
        return []
    parts = _remove_hidden(text, "\0").split("\0")
    whole, places = "".join(parts), itertools.accumulate(map(len, parts[:-1]))
    around = (whole[max(place - AROUND, 0) : place + AROUND] for place in places)
    return [unicodedata.normalize("NFC", part) for part in around]


def _remove_hidden(text: str, mark: str = "") -> str:
    """Return `text` as data, with `mark` where something was left out."""
    # A text has few different characters, however long it is; most steps are for few texts.
    characters = set(text)
    if not characters.isdisjoint(_BEGINNINGS):
        text = _TERMINAL.sub("\0", text)
    if not characters.isdisjoint(_LINE_ENDS):
        text = _LINE_END.sub(lambda end: "\n\0" if end[1] else "\n", text)
    if any("\ud800" <= char <= "\udfff" for char in characters):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        text = _SURROGATE.sub("\ufffd\0", text)
    text = unicodedata.normalize("NFC", _ALIKE.sub("\\g<0>\0", text))
    unseen = "".join(
        char for char in set(text) if is_hidden_character(char) and not _SEEN.match(char)
    )
    if unseen:
        text = unicodedata.normalize("NFC", _without(text, unseen, mark))
    marks = "".join(char for char in set(text) if unicodedata.category(char) in _MARK_CATEGORIES)
    if marks:
        piled = f"[{re.escape(marks)}]{{{MARKS + 1},}}"
        text = re.sub(piled, lambda run: _limit_marks(run.group(), mark), text)
    return text


def _without(text: str, unseen: str, mark: str) -> str:
    """Return `text` without characters that show nothing, but for those that are in place."""
    whole = [*_FLAG.finditer(text)]
    turns = bool(_RIGHT.search(text))
    kept = {place for flag in whole for place in range(flag.start(), flag.end())}
    if turns:
        kept.update(
            place for part in _TURNED.finditer(text) for place in (part.start(), part.end() - 1)
        )
    pieces: list[str] = []
    at, last = 0, "\n"
    for run in re.finditer(f"[{re.escape(unseen)}]+", text):
        if run.start() > at:
            pieces.append(text[at : run.start()])
            last = _base(text[at : run.start()]) or last
        after = text[run.end() : run.end() + 1] or "\n"
        lost = False
        for place, char in enumerate(run.group(), run.start()):
            alone = last not in unseen or last == "\ufe0f"
            needed = _IN_PLACE.fullmatch(last + char + after) or (turns and char in _OF_DIRECTION)
            if place in kept or (alone and needed):
                pieces.append(char)
                last = char
            else:
                lost = True
        if lost:
            pieces.append(mark)
        at = run.end()
    return "".join((*pieces, text[at:]))


def _base(text: str) -> str:
    """Return the last character that is no mark which moves among others; empty for none."""
    return next((char for char in reversed(text) if not unicodedata.combining(char)), "")


def _limit_marks(run: str, mark: str) -> str:
    kept: list[str] = []
    accents = 0
    for sign in run:
        accents += unicodedata.combining(sign) > 0
        if len(kept) < _RUN and (accents <= MARKS or not unicodedata.combining(sign)):
            kept.append(sign)
    return "".join(kept) + (mark if len(kept) < len(run) else "")


def clean_value(value: Any, exact: type[str] | None = None) -> Any:
    """Return `value` with every text in it cleaned, at every depth; keys too.

    Texts of the type `exact` are escaped instead of cleaned, and keep their type. Two keys that
    become the same are told apart by a number, so that nothing is hidden behind a name.
    """
    if isinstance(value, str):
        if exact is not None and isinstance(value, exact):
            return exact(escape_hidden(value))
        return clean_text(value)
    if isinstance(value, list | tuple):
        return [clean_value(part, exact) for part in value]
    if isinstance(value, Mapping):
        fields: dict[str, Any] = {}
        for key, part in value.items():
            fields[_unused_key(clean_text(str(key)), fields)] = clean_value(part, exact)
        return fields
    return value


def _unused_key(key: str, taken: Mapping[str, Any]) -> str:
    name, number = key, 1
    while name in taken:
        number += 1
        name = f"{key} ({number})"
    return name


def escape_hidden(text: str) -> str:
    r"""Return `text` on one line, with what is hidden in it written as `\uXXXX`.

    For text whose quoted parts are JavaScript or JSON (references, lines of JXA): there the escape
    is the character itself, so that what a model reads back still names the same object. For a
    question to a person and for a log it shows what would not be seen. A text that is not in NFC
    has its accents escaped as well.
    """
    if text.isascii() and text.isprintable():
        return text
    shown = "".join(
        _escape_character(char) if char in _KEPT or is_hidden_character(char) else char
        for char in text
    )
    if not unicodedata.is_normalized("NFC", shown):
        shown = "".join(char if char.isascii() else _escape_character(char) for char in shown)
    return shown


LEFT_OUT: Final = " characters left out, SHA-256 "
"""What a text has in the place of its middle, behind the number of characters."""


def cut_middle(text: str, limit: int) -> str:
    """Return a text with what is too much left out of its middle, its SHA-256 in that place."""
    if len(text) <= limit:
        return text
    # Needed for few texts.
    import hashlib

    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    head, tail = limit * 3 // 4, limit // 8
    lost = len(text) - head - tail
    return f"{text[:head]} … [{lost}{LEFT_OUT}{digest}] … {text[-tail:]}"


def escape_and_cut(text: str, limit: int) -> str:
    """Return a text on one line, as `escape_hidden` does, no longer than some characters."""
    return cut_middle(escape_hidden(text), limit)


def _escape_character(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def text_literal(text: str) -> str:
    """Return `text` as a JavaScript string literal that is also JSON, on one line."""
    literal = json.dumps(text, ensure_ascii=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", literal)
