"""The words that a request is read with: what people say, and what dictionaries call it."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

from iac_base.words import stem_word, stem_words

SAME: Final = 0.85


LOOSE: Final = 0.45
"""What a word is worth that stands for another of its group, or often means another."""


SURE: Final = 1.0


MAY: Final = 0.3
"""What a word says for an area that it nearly always means, or that it may mean."""


ELSEWHERE: Final = "elsewhere"
"""The area of what no app of a Mac does."""


class Area(NamedTuple):
    """What apps are for: those apps, the usual one first, and what stems say for it."""

    apps: Sequence[str]
    worth: Mapping[str, float]
    first: frozenset[str]


class Language(NamedTuple):
    """A language: words that tell it alone, and the starts of words with the English for them."""

    plain: frozenset[str]
    whole: Mapping[str, str]
    starts: Mapping[str, str]


class Lexicon(SimpleNamespace):
    """What people say and what dictionaries call it, as the files explain it."""

    stop: frozenset[str]
    leading: frozenset[str]
    polite: frozenset[str]
    questions: frozenset[str]
    looks: frozenset[str]
    looks_or_shows: frozenset[str]
    changes: frozenset[str]
    before_app: frozenset[str]
    marks: frozenset[str]
    times: frozenset[str]
    app_verbs: frozenset[str]
    everyday_names: frozenset[str]
    implied: Mapping[str, str]
    intents: Mapping[str, str]
    phrases: Mapping[str, str]
    loose: Mapping[str, str]
    groups: Sequence[str]

    @cached_property
    def stop_stems(self) -> frozenset[str]:
        """The stems of the words that name nothing; a note is something, though not is not."""
        sure = (
            word for area in self.areas.values() for word in area.worth if area.worth[word] == SURE
        )
        return frozenset(map(stem_word, self.stop)) - {*sure}

    @cached_property
    def time_stems(self) -> frozenset[str]:
        """The stems of the words that say when, or on which place of the desk."""
        return frozenset(map(stem_word, self.times))

    @cached_property
    def mark_stems(self) -> frozenset[str]:
        """The stems of the words that speak for a tool for any app."""
        return frozenset(map(stem_word, self.marks))

    @cached_property
    def synonyms(self) -> dict[str, dict[str, float]]:
        """A stem -> stems that may stand for it, with their worth."""
        table: dict[str, dict[str, float]] = {}
        for said, meant in self.loose.items():
            table.setdefault(stem_word(said), {}).update(dict.fromkeys(stem_words(meant), LOOSE))
        for group in self.groups:
            words = stem_words(group)
            for word in words:
                same = {other: SAME for other in words if other != word}
                table.setdefault(word, {}).update(same)
        return table

    @cached_property
    def verbs(self) -> dict[str, tuple[str, ...]]:
        """A stem -> the operations that it speaks for."""
        table: dict[str, tuple[str, ...]] = {}
        for operation, verbs in self.intents.items():
            for verb in dict.fromkeys(stem_words(verbs)):
                table[verb] = (*table.get(verb, ()), operation)
        return table

    @cached_property
    def areas(self) -> dict[str, Area]:
        """What apps are for, by name."""
        return {
            name: Area(
                row["apps"],
                {
                    **dict.fromkeys(stem_words(row.get("may", "")), MAY),
                    **dict.fromkeys(stem_words(row.get("sure", "")), SURE),
                },
                frozenset(stem_words(row.get("first", ""))),
            )
            for name, row in read_words("areas.toml").items()
        }

    @cached_property
    def area_counts(self) -> Mapping[str, int]:
        """How many areas a stem speaks for."""
        found: dict[str, int] = {}
        for area in self.areas.values():
            for word in area.worth:
                found[word] = found.get(word, 0) + 1
        return found

    @cached_property
    def languages(self) -> dict[str, Language]:
        """The other languages, by their codes."""
        found = {}
        for code, row in read_words("languages.toml").items():
            pairs = [(one, english) for english, said in row["words"] for one in said.split()]
            short = 1 if code == "ja" else 4
            starts = {one: to for one, to in pairs if len(one) >= short and one[-1] != "-"}
            whole = {one.rstrip("-"): to for one, to in pairs}
            found[code] = Language(frozenset(row["plain"].split()), whole, starts)
        return found

    @cached_property
    def known_stems(self) -> frozenset[str]:
        """The stems that can be read."""
        areas = (word for area in self.areas.values() for word in area.worth)
        return frozenset({*self.synonyms, *self.verbs, *areas})


def read_words(name: str) -> dict[str, Any]:
    """Return a table of words that stands beside."""
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def load_lexicon() -> Lexicon:
    """Return the words."""
    rows = read_words("words.toml")
    groups = rows.pop("same")["groups"]
    words = {key: frozenset(row.split()) for key, row in rows.items() if isinstance(row, str)}
    return Lexicon(**{**rows, **words}, groups=groups)


def known_words() -> frozenset[str]:
    """Return the stems that the lexicon can read."""
    return load_lexicon().known_stems
