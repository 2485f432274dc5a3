"""What pressing does: the words of buttons and menu items, and combinations of keys.

They stand in `interface.toml`, by what they mean; words by language. They only raise: one that is
missing there says nothing.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

InterfaceVerb = Literal["delete", "send", "change", "run", "end"]

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD: Final = re.compile(r"[^\W_]+")


@cache
def load_meanings() -> Mapping[str, Mapping[str, Any]]:
    """Return what pressing can do -> its `verb`, the `keys` that do it, and words by language."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def meaning_verb(means: str) -> InterfaceVerb | None:
    """Return the verb of what pressing does; None where nothing is known."""
    return load_meanings().get(means, {}).get("verb")


@cache
def _index_words() -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Return words, phrases of several words, and what counts anywhere; each with what it means."""
    words: dict[str, str] = {}
    phrases: dict[str, str] = {}
    anywhere: dict[str, str] = {}
    for what, rows in load_meanings().items():
        for language, texts in rows.items():
            for text in texts.split() if language not in ("verb", "keys") else ():
                plain = text.replace("-", " ").casefold()
                table = anywhere if language == "anywhere" else phrases if " " in plain else words
                table.setdefault(plain, what)
    return words, phrases, anywhere


def danger_word(text: str) -> tuple[str, str] | None:
    """Return the first word of the table in `text` and what it means, or None."""
    return next(_find_dangers(text), None)


def _find_dangers(text: str) -> Iterator[tuple[str, str]]:
    words, phrases, anywhere = _index_words()
    # Letters of other shapes (full width, styled) spell the same word to a reader.
    plain = unicodedata.normalize("NFKC", text)
    said = [word.casefold() for word in _WORD.findall(_CAMEL.sub(" ", plain))]
    yield from ((word, words[word]) for word in said if word in words)
    joined = f" {' '.join(said)} "
    yield from (row for row in phrases.items() if f" {row[0]} " in joined)
    yield from (row for row in anywhere.items() if row[0] in plain)


def pressed_verb(text: str) -> InterfaceVerb | None:
    """Return what pressing a button or a menu item of this title does; None if no word says it."""
    danger = danger_word(text)
    return meaning_verb(danger[1]) if danger else None


def typed_verb(keys: str) -> InterfaceVerb | None:
    """Return what a combination such as `command+q` does; None where nothing is known."""
    plain, rows = keys.casefold(), load_meanings().values()
    return next((row["verb"] for row in rows if plain in row.get("keys", "").split()), None)
