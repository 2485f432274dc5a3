"""Wording: the app's own words about a command, when a user asks for them.

A description reaches a model. So ours comes first and is never cut; the app's is cleaned,
dropped where it holds more than words, marked as the app's, and cut to what room is left.
Filtering lowers the odds of a poisoned text and no more.
"""

import re
import unicodedata
from collections.abc import Collection
from typing import Final, NamedTuple

from iac_gen.describe import sentence
from iac_gen.doors import clean, clean_prose

__all__ = ["MARK", "OwnWords", "own_words", "with_own"]

MARK: Final = "App's own wording, "
_LEAST_ROOM: Final = 12
_ROLES: Final = "system|assistant|user|important|developer|human|tool"

# What a sentence about a command never needs. Each was held against 9,351 real descriptions:
# together they drop one in two hundred.
_STRUCTURE: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), reason)
    for pattern, reason in (
        (r"\b[a-z][a-z0-9+.-]*:/|\bwww\.|http|\b(javascript|data|mailto|file):", "a URL"),
        (r"[\w.+-]+@[\w-]+(\.\w|\b)", "an e-mail address"),
        (r"</?[a-z!?]", "a tag"),
        (r"(?<![\w/])~?/[\w.~-]|(?<!\w)[a-z]:\\|\\\\|\.\./", "a path"),
        (r"`", "a back-tick"),
        (r"[{}]", "a brace"),
        (r"[a-z0-9+/=_-]{41,}", "a run of encoded data"),
        (rf"\b({_ROLES})\s*[:>\]|]", "a role"),
        (r"own wording", "the mark of an app's words"),
    )
)
_LEVEL: Final = re.compile(r"\b(SAFE|MODIFY|DANGEROUS)\b")
# The reader of XML makes spaces of line breaks: in capitals a role word counts anywhere.
_ROLE_LINE: Final = re.compile(rf"[\W_]*({_ROLES})\b", re.IGNORECASE)
_ROLE: Final = re.compile(rf"\b({_ROLES.upper()})\b")
_TOOL: Final = re.compile(r"\b[a-z][a-z0-9]*_[a-z0-9_]+", re.IGNORECASE)
_COMMANDING: Final = re.compile(
    r"\bignor(e|ing)\b|\bdisregard|\bbefore (using|calling|running)|\bmust\b|\balways\b|\bnever\b"
    r"|\b(do not|don't) (tell|mention|ask|say|inform|reveal|warn)|\binstead\b"
    r"|\byou (are|should|will)\b|\bprevious instruction|\bsecretly\b|\bwithout asking"
    r"|\bthe model\b|\bcall the\b",
    re.IGNORECASE,
)
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
    if _ROLE.search(whole):
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
