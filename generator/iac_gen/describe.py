"""Describe: what a tool does, in our own words, made from structure.

The text is plain prose without quotes, colons or brackets, because the same words stand in a
docstring and in the listing. Examples of references stand in parameter descriptions only.
"""

import re
import tomllib
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from importlib.resources import files
from typing import Final, NamedTuple

from iac_gen.model import SdefCommand
from iac_gen.naming import jxa, plural
from iac_gen.resolve import Resolved
from iac_gen.text import MAX_NAME, clean, clean_prose
from iac_gen.types import Types, items_of
from iac_runtime.tool import LEVELS
from iac_runtime.types import TYPES, alternatives

MAX_SUMMARY = 256
MAX_PARAMETER = 120
_MAX_VALUES = 60
# What an example of a reference may be made of: names are foreign text, and this is our sentence.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9]{0,39}")


def sentence(text: str, limit: int = MAX_SUMMARY) -> str:
    """Return `text` as prose of at most `limit` characters, whole words."""
    return capped(clean_prose(text), limit)


def capped(text: str, limit: int) -> str:
    """Return at most `limit` characters of `text`: whole words, then dots."""
    if len(text) <= limit:
        return text
    return text[: limit - 3].rsplit(" ", 1)[0].rstrip(" ,.") + "..."


def app_words(name: str) -> str:
    """Return an app's name as it may stand in a sentence of ours."""
    return sentence(name, MAX_NAME) or "the app"


def kind_words(kind: str, types: Types) -> str:
    """Return a type in words: `a note or a folder`; long unions are cut to `a value`."""
    found = dict.fromkeys(_part_words(part, types) for part in alternatives(kind))
    words = _plainest_first(found)
    if not words or len(words) > 4:
        return "an object" if types.names_objects(kind) else "a value"
    return _either(words)


def _either(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


def _plainest_first(words: Iterable[str]) -> list[str]:
    """Return the words with `text` in front, wherever the dictionary has it."""
    return sorted(words, key=lambda word: word != "text")


def _part_words(part: str, types: Types) -> str:
    if part.startswith("list of "):
        items = _plainest_first(_part_words(item, types) for item in items_of(part))
        return f"a list of {' or '.join(items)}" if len(items) <= 4 else "a list"
    if part in TYPES:
        return TYPES[part].words
    if part in types.enums:
        values = types.enumerators(part)
        if len(values) <= 4 and sum(map(len, values)) <= _MAX_VALUES:
            return _either(values)
        return f"one of {len(values)} values"
    if len(part) > MAX_NAME:
        return "an object"
    return f"an {part}" if part[:1].lower() in "aeio" else f"a {part}"


def command_summary(command: SdefCommand, direct: str, result: str, types: Types, app: str) -> str:
    """Return what a command does, to what, and what it answers."""
    term = sentence(command.name, MAX_NAME) or "Send an event"
    name = term[:1].upper() + term[1:]
    text = f"{name} in {app}"
    if direct:
        words = kind_words(direct, types)
        text = (
            f"{name}, given {words}, in {app}"
            if {"text", "any", "record"} & set(direct.split(" | "))
            else f"{name} {words} in {app}"
        )
    if result:
        text += f". Returns {kind_words(result, types)}"
    return f"{text}."


def reference_example(kind: str, resolved: Resolved, types: Types) -> str:
    """Return an example reference to an object of `kind`, or of anything in the app."""
    parts = types.bare(kind)
    rows = {row.name: row for row in resolved.classes}
    application = rows.get("application")
    held = [e.type for e in application.elements if not e.hidden] if application else []
    for name in (*parts, *held):
        term = jxa(plural(name, rows[name].plural)) if name in rows and name in held else ""
        if _PLAIN.fullmatch(term):
            return f"{term}[0]"
    return "windows[0]" if held else "application"


def docstring_words(kind: str, types: Types) -> str:
    """Return a parameter in words where the schema's own words do not suit a docstring."""
    if types.names_objects(kind):
        return f"Reference to {kind_words(kind, types)}"
    words = kind_words(kind, types)
    return f"{words[:1].upper()}{words[1:]}"


def parameter_words(kind: str, example: str, types: Types) -> str:
    """Return what to pass; empty where the schema says it all."""
    bare = types.bare(kind)
    if types.names_objects(kind):
        return f"Reference such as {example}"
    return next((row.hint for name, row in TYPES.items() if row.hint and name in bare), "")


MARK: Final = "App's own wording, "
_LEAST_ROOM: Final = 12
_TABLE: Final = tomllib.loads((files("iac_gen") / "wording.toml").read_text(encoding="utf-8"))
_STRUCTURE: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), what) for what, pattern in _TABLE["structure"].items()
)
_COMMANDING: Final = re.compile("|".join(_TABLE["commanding"]), re.IGNORECASE)
_LEVEL: Final = re.compile(rf"\b({'|'.join(LEVELS)})\b")
_ROLES: Final = "|".join(_TABLE["roles"])
_ROLE_AT: Final = re.compile(rf"\b({_ROLES})\s*[:>\]|]", re.IGNORECASE)
# The reader of XML makes spaces of line breaks: in capitals a role word counts anywhere.
_ROLE_LINE: Final = re.compile(rf"[\W_]*({_ROLES})\b", re.IGNORECASE)
_ROLE: Final = re.compile(rf"\b({_ROLES.upper()})\b")
_TOOL: Final = re.compile(r"\b[a-z][a-z0-9]*_[a-z0-9_]+", re.IGNORECASE)
_OTHER_ALPHABETS: Final = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU")


class OwnWords(NamedTuple):
    """An app's words as prose, None where they are dropped; `reason` says why, or what is odd."""

    text: str | None
    reason: str = ""


def own_words(text: str, tools: Collection[str] = ()) -> OwnWords:
    """Return what may be shown of an app's description.

    A URL, an address, a path, markup, encoded data, a role word at the start of a line, the
    name of a tool (`tools`, or anything that looks like one) drops the whole text. Words that
    command the reader are only told.
    """
    lines = [_folded(line) for line in text.splitlines()]
    whole = " ".join(" ".join(lines).split())
    if not whole:
        return OwnWords(None)
    reason = _dropped(lines, whole, tools)
    if reason:
        return OwnWords(None, reason)
    words = _prose(whole)
    if not words:
        return OwnWords(None, "holds no Latin letters")
    found = _COMMANDING.search(whole)
    return OwnWords(words, f"says {found[0].lower()} to its reader" if found else "")


def _dropped(lines: list[str], whole: str, tools: Collection[str]) -> str:
    for pattern, what in _STRUCTURE:
        if pattern.search(whole):
            return f"holds {what}"
    if _ROLE_AT.search(whole) or _ROLE.search(whole):
        return "holds a role"
    if _LEVEL.search(whole):
        return "holds a word for a level"
    role = next((found for line in lines if (found := _ROLE_LINE.match(line))), None)
    if role:
        return f"has a line that begins with {role[1].lower()}"
    named = _TOOL.search(whole)
    if named or any(tool and tool in whole for tool in tools):
        return "names a tool"
    if any(_mixes_alphabets(word) for word in whole.split()):
        return "has a word of two alphabets"
    return ""


def _folded(text: str) -> str:
    """Return `text` clean, with letters that only look different (full width, styled) as such."""
    return clean(unicodedata.normalize("NFKC", clean(" ".join(text.split()))))


def _mixes_alphabets(word: str) -> bool:
    if word.isascii() or not re.search(r"[A-Za-z]", word):
        return False
    return any(unicodedata.name(ch, "").startswith(_OTHER_ALPHABETS) for ch in word)


def _prose(text: str) -> str:
    """Return the words of `text`, empty where leaving the rest out would leave a torso."""
    letters = sum(ch.isalpha() for ch in unicodedata.normalize("NFKD", text))
    words = clean_prose(text)
    if 4 * sum(ch.isalpha() for ch in words) < 3 * letters:
        return ""
    words = re.sub(r"\s+([.,])", r"\1", words)
    words = re.sub(r"[.,]*\.[.,]*", ".", words)
    return words.strip(" .,-/&")


def with_own(ours: str, theirs: str | None, limit: int) -> str:
    """Return our words, and behind them the app's, marked, in at most `limit` characters."""
    stop = "" if not ours or ours.endswith(".") else "."
    before = f"{ours}{stop} {MARK}".lstrip()
    room = limit - len(before) - 1
    if not theirs or room < _LEAST_ROOM:
        return ours
    shown = sentence(theirs, room)
    return f"{before}{shown}" if shown.endswith(".") else f"{before}{shown}."
