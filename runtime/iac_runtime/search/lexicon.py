"""The words that a request is read with: `words.toml`, read once, on first need."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple


class Lexicon(NamedTuple):
    """What people say and what dictionaries call it, as `words.toml` explains it."""

    stop: frozenset[str]
    leading: frozenset[str]
    polite: frozenset[str]
    questions: frozenset[str]
    before_app: frozenset[str]
    marks: frozenset[str]
    app_verbs: frozenset[str]
    everyday_names: frozenset[str]
    not_plural: frozenset[str]
    intents: Mapping[str, str]
    apps: Mapping[str, str]
    phrases: Mapping[str, str]
    loose: Mapping[str, str]
    groups: Sequence[str]


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """Return the words."""
    rows = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
    groups = rows.pop("same")["groups"]
    words = {key: frozenset(row.split()) for key, row in rows.items() if isinstance(row, str)}
    return Lexicon(**{**rows, **words}, groups=groups)
