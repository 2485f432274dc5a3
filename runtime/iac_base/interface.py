"""What pressing does: the words of buttons and menu items, and combinations of keys.

The words stand in `interface.toml`, by what they mean and by language. They only raise: one that is
missing there says nothing.
"""

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal, NamedTuple, cast

InterfaceVerb = Literal["delete", "send", "change", "run", "end"]

MEANING_VERBS: Final[Mapping[str, InterfaceVerb]] = {
    "destroys": "delete",
    "sends": "send",
    "spends money": "send",
    "grants or gives up rights": "change",
    "runs something": "run",
    "ends a session or loses work": "end",
    "loses work": "end",
}
"""The verb of each meaning."""

DANGEROUS_KEYS: Final[Mapping[str, str]] = {
    "ends a session or loses work": (
        "command+q control+q option+f4 command+w control+w control+shift+w option+command+w"
        " shift+command+w control+f4 shift+command+q option+command+escape control+option+delete"
        " control+option+backspace option+command+q control+shift+q"
    ),
    "destroys": (
        "delete backspace command+backspace control+backspace shift+delete control+delete"
        " option+delete option+backspace shift+command+backspace control+shift+delete"
        " command+delete"
    ),
    "sends": "command+return control+return shift+command+d control+shift+return option+return",
    "runs something": "option+f2 command+space command+r control+option+t",
}
"""Combinations of keys by what they do."""

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD: Final = re.compile(r"[^\W_]+")


class _DangerTable(NamedTuple):
    """Words, phrases of several words, and what counts anywhere; each with what it means."""

    words: Mapping[str, str]
    phrases: Mapping[str, str]
    anywhere: Mapping[str, str]


@cache
def _load_danger_table() -> _DangerTable:
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    table = _DangerTable({}, {}, {})
    for what, languages in rows.items():
        for language, texts in languages.items():
            for text in texts.split():
                plain = text.replace("-", " ").casefold()
                if language == "anywhere":
                    kind = table.anywhere
                else:
                    kind = table.phrases if " " in plain else table.words
                cast(dict[str, str], kind).setdefault(plain, what)
    return table


def danger_word(text: str) -> tuple[str, str] | None:
    """Return the first word of the table in `text` and what it means, or None."""
    # Letters of other shapes (full width, styled) spell the same word to a reader.
    table = _load_danger_table()
    plain = unicodedata.normalize("NFKC", text)
    words = [word.casefold() for word in _WORD.findall(_CAMEL.sub(" ", plain))]
    for word in words:
        if word in table.words:
            return word, table.words[word]
    joined = f" {' '.join(words)} "
    for phrase, what in table.phrases.items():
        if f" {phrase} " in joined:
            return phrase, what
    for phrase, what in table.anywhere.items():
        if phrase in plain:
            return phrase, what
    return None


def pressed_verb(text: str) -> InterfaceVerb | None:
    """Return what pressing a button or a menu item of this title does; None if no word says it."""
    danger = danger_word(text)
    return MEANING_VERBS[danger[1]] if danger else None


def typed_verb(keys: str) -> InterfaceVerb | None:
    """Return what a combination such as `command+q` does; None where nothing is known."""
    plain = keys.casefold()
    rows = (what for what, known in DANGEROUS_KEYS.items() if plain in known.split())
    return next((MEANING_VERBS[what] for what in rows), None)
