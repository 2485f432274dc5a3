"""Text: every foreign string is cleaned when it is read and quoted when it is rendered.

`literal` for data, `identifier` for names, `prose` for words in a docstring; Jinja's `finalize`
accepts what came through one of these and refuses everything else. In 9,351 texts of 60 real
dictionaries there is nothing to clean, so that anything means a hostile or a broken file.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from iac_base.text import MARKS, is_hidden_character
from iac_gen.model import (
    KINDS,
    Diagnostic,
    Dictionary,
    Part,
    SdefParameter,
    Suite,
    Synonym,
    TypeRef,
)

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
# What ends a docstring, and what black would set a space beside.
_ENDS_DOCSTRING = re.compile(r'""+|^"|"$')
_ENCLOSED = frozenset({"Mn", "Me"})


class SourceText(str):
    """Text that came through a door and may stand in generated source."""

    __slots__ = ()


def clean_text(text: str) -> str:
    """Return `text` in NFC without invisible, control, bidirectional and tag characters.

    Of combining marks in a row the first four stay. What is clean stays as it is.
    """
    if text.isascii() and text.isprintable():
        return text
    # What is dropped may have stood between a letter and its accent.
    return unicodedata.normalize("NFC", _drop_hidden(unicodedata.normalize("NFC", text)))


def count_invisible(text: str) -> int:
    """Return how many characters `clean_text` drops from `text`."""
    if text.isascii() and text.isprintable():
        return 0
    whole = unicodedata.normalize("NFC", text)
    return len(whole) - len(_drop_hidden(whole))


def _drop_hidden(text: str) -> str:
    kept: list[str] = []
    marks = 0
    for ch in text:
        if is_hidden_character(ch) or ch in "\n\t":
            continue
        marks = marks + 1 if unicodedata.category(ch) in _ENCLOSED else 0
        if marks <= MARKS:
            kept.append(ch)
    return "".join(kept)


def clean_json(value: Any) -> Any:
    """Return JSON-ready `value` with every text in it, keys too, cleaned."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return {clean_json(key): clean_json(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [clean_json(item) for item in value]
    return value


def exact_literal(text: str) -> SourceText:
    """Return `text` as a literal, character for character and ASCII throughout.

    For codes, which are no text that a model reads; the quotes are those that black prefers.
    """
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return SourceText(f'"{text}"')
    escaped = text.encode("unicode_escape").decode("ascii")
    if escaped.count('"') > escaped.count("'"):
        return SourceText("'" + escaped.replace("'", "\\'") + "'")
    return SourceText('"' + escaped.replace('"', '\\"') + '"')


def literal(value: Any) -> SourceText:
    """Return `value` as a Python literal: str, int, bool, None, and containers of these.

    Raises:
        TypeError: A value of any other type.
    """
    if value is None or isinstance(value, bool | int | float):
        return SourceText(repr(value))
    if isinstance(value, str):
        return exact_literal(clean_text(value))
    if isinstance(value, Mapping):
        rows = ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items())
        return SourceText(f"{{{rows}}}")
    if isinstance(value, tuple):
        rows = ", ".join(literal(item) for item in value)
        return SourceText(f"({rows},)" if len(value) == 1 else f"({rows})")
    if isinstance(value, Sequence):
        return SourceText(f"[{', '.join(literal(item) for item in value)}]")
    raise TypeError(f"{type(value).__name__} has no literal")


def identifier(name: str) -> SourceText:
    """Return `name` as an identifier.

    Raises:
        ValueError: It is none: ASCII letters, digits and underscores, at most 64.
    """
    if _IDENTIFIER.fullmatch(name) is None:
        raise ValueError(f"{name!r} is not an identifier")
    return SourceText(name)


def prose(text: str) -> SourceText:
    """Return `text` as it may stand in a docstring, which has it character for character.

    It is clean and on one line; a backslash, quotes in a row and those at an end are escaped.
    """
    line = clean_text(" ".join(text.split())).replace("\\", "\\\\")
    return SourceText(_ENDS_DOCSTRING.sub(lambda found: found[0].replace('"', '\\"'), line))


def finalize(value: Any) -> SourceText:
    """Let a door's text through (Jinja calls this for each expression).

    Raises:
        TypeError: A bare string or anything else.
    """
    if isinstance(value, SourceText):
        return value
    # The text of a value that is missing says its name.
    raise TypeError(f"{str(value)!r} was not made by literal(), identifier() or prose()")


MAX_NAME = 64
MAX_ENUMERATOR = 60

T = TypeVar("T", bound=Part | Dictionary | TypeRef | Synonym)
# Codes travel byte for byte; a file's name and digest are ours, an include is a key of a map.
_EXEMPT = frozenset({"code", "file", "digest", "href", "xpointer", "access"})
# Texts that name a thing; `type` is an element's. What cannot be named costs the thing.
_NAMES = ("name", "extends", "type")


def sanitize_dictionary(dictionary: Dictionary) -> tuple[Dictionary, list[Diagnostic]]:
    """Return the dictionary with every text clean, and what that took.

    A `cleaned` warning says of each item how many invisible characters it had; an item is a suite,
    what stands in one, or a part of that: each has its own line.
    A lone surrogate or a control character in the name of an item, or a name of which nothing
    can be seen, costs that item (an error); a lone surrogate in a description costs the
    description. All other texts lose the characters alone. Codes are untouched.
    """
    diagnostics: list[Diagnostic] = []
    return _clean_part(dictionary, dictionary.file, diagnostics), diagnostics


def is_plain(content: bytes) -> bool:
    """Say whether the bytes of a dictionary hold nothing that `sanitize_dictionary` would change.

    True for nearly every real one, which then need not be walked.
    """
    if b"&#" in content or b"\x7f" in content:
        return False
    if content.isascii():
        return True
    try:
        used = set(content.decode())
    except UnicodeDecodeError:
        return False
    return all(
        ch < "\x7f" or (clean_text(ch) == ch and not unicodedata.combining(ch)) for ch in used
    )


def on_one_line(text: str, most: int = 200) -> str:
    """Return foreign text as a message may hold it: one line, visible characters, not long."""
    line = clean_text(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 3]}..."


def offered_values(values: Iterable[str], most: int = MAX_ENUMERATOR) -> list[str]:
    """Return the values that a schema may offer: clean, each once, at most `most` characters."""
    return [one for one in dict.fromkeys(map(clean_text, values)) if 0 < len(one) <= most]


def _part_texts(value: Any) -> Iterator[str]:
    """Yield the texts of a part, its types and synonyms included, not of the parts in it."""
    for one in fields(value):
        if one.name in _EXEMPT:
            continue
        item = getattr(value, one.name)
        for text in item if isinstance(item, tuple) else (item,):
            if isinstance(text, str):
                yield text
            elif isinstance(text, TypeRef | Synonym):
                yield from _part_texts(text)


def _tell_removed(part: Part | Dictionary, file: str, diagnostics: list[Diagnostic]) -> None:
    if count := sum(count_invisible(text) for text in _part_texts(part)):
        word = "character" if count == 1 else "characters"
        text = f"{count} invisible {word} removed from {label(part)}"
        line = 0 if isinstance(part, Dictionary) else part.line
        diagnostics.append(Diagnostic(file, line, "cleaned", text))


def label(part: Part | Dictionary) -> str:
    """Return what a part of a dictionary is, and its name."""
    if isinstance(part, Dictionary):
        return "the title"
    name = next((getattr(part, slot) for slot in _NAMES if getattr(part, slot, "")), "")
    kind = KINDS[type(part)]
    if isinstance(part, SdefParameter) and not name:
        kind = "the direct parameter"
    return f"{kind} {on_one_line(name, MAX_NAME)}".rstrip()


def _name_fault(part: Any) -> str:
    """Return why a part cannot be named, empty where it can; a suite's name is a mere title."""
    if isinstance(part, Suite):
        return ""
    for slot in _NAMES:
        name = getattr(part, slot, "")
        if not isinstance(name, str) or not name:
            continue
        if any(unicodedata.category(ch) in ("Cc", "Cs") for ch in name):
            return "has a control character or half of one in its name"
        if not clean_text(name).strip():
            return "has a name of which nothing can be seen"
    return ""


def _clean_part(value: T, file: str, diagnostics: list[Diagnostic]) -> T:
    """Return `value` with its texts clean and without the parts that cannot be named."""
    if not isinstance(value, TypeRef | Synonym):
        _tell_removed(value, file, diagnostics)
    changed: dict[str, Any] = {}
    for one in fields(value):
        item = getattr(value, one.name)
        if one.name in _EXEMPT:
            continue
        if isinstance(item, str):
            halves = one.name == "description" and any(0xD800 <= ord(c) <= 0xDFFF for c in item)
            # A line break is the space that it stands for.
            words = " ".join(item.split()) if one.name == "description" else item
            changed[one.name] = "" if halves else clean_text(words)
        elif isinstance(item, tuple):
            changed[one.name] = tuple(_kept_items(item, file, diagnostics))
        elif isinstance(item, SdefParameter):
            changed[one.name] = _clean_part(item, file, diagnostics)
    return replace(value, **changed)


def _kept_items(items: tuple[Any, ...], file: str, diagnostics: list[Diagnostic]) -> Iterator[Any]:
    for item in items:
        if isinstance(item, str):
            yield clean_text(item)
            continue
        kept = _clean_part(item, file, diagnostics)
        fault = "" if isinstance(item, TypeRef) else _name_fault(item)
        if not fault:
            yield kept
        elif not isinstance(item, Synonym | TypeRef):
            text = f"{label(item)} {fault}; it is left out"
            diagnostics.append(Diagnostic(file, item.line, "name", text, "error"))
