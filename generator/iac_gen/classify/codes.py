"""Levels by event code, and the tables of this package: what they say lies beside it as TOML."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Final

from iac_gen.classify.judgement import LevelVerdict
from iac_runtime.tool import LEVELS, Level


@cache
def read_level_table(name: str) -> dict[str, Any]:
    """Return the table that lies beside this file under a name, without `.toml`."""
    return tomllib.loads((files("iac_gen.classify") / f"{name}.toml").read_text(encoding="utf-8"))


def verdicts_by_word(rows: Mapping[str, Mapping[str, str]]) -> dict[str, LevelVerdict]:
    """Return word -> verdict for a table of level -> reason -> words."""
    return {
        word: LevelVerdict(_LEVELS[level], why)
        for level, reasons in rows.items()
        for why, words in reasons.items()
        for word in words.split()
    }


def word_sets(name: str) -> dict[str, frozenset[str]]:
    """Return the sets of words of a table."""
    return {key: frozenset(words.split()) for key, words in read_level_table(name)["sets"].items()}


_LEVELS: Final[Mapping[str, Level]] = {level: level for level in LEVELS}
OPENS_FILES: Final = "aevtodoc"
OPENS_URLS: Final = "GURLGURL"

EVENTS: Final[Mapping[str, LevelVerdict]] = {
    code.replace(".", " "): verdict
    for code, verdict in verdicts_by_word(read_level_table("codes")).items()
}
"""Event code -> verdict. Words can raise it, never lower it."""


FILE: Final = "floors.json"
_REASON: Final = "known by its code"


@dataclass(frozen=True, slots=True)
class LevelFloors:
    """Levels by code: events, (class, property) of setters, classes whose making has one."""

    events: Mapping[str, Level] = field(default_factory=dict)
    setters: Mapping[tuple[str, str], Level] = field(default_factory=dict)
    classes: Mapping[str, Level] = field(default_factory=dict)


def floor_verdicts(level: Level | None) -> list[LevelVerdict]:
    """Return the verdict of a floor, a list of one or none."""
    return [] if level is None else [LevelVerdict(level, _REASON, "floor")]


@cache
def shipped_floors() -> LevelFloors:
    """Return the floors that ship with the generator."""
    data = json.loads((files("iac_gen.classify") / FILE).read_text(encoding="utf-8"))
    return LevelFloors(
        {code: level for level, codes in data["events"].items() for code in codes},
        {
            (owner, code): level
            for level, owners in data["setters"].items()
            for owner, codes in owners.items()
            for code in codes
        },
        {code: level for level, codes in data["classes"].items() for code in codes},
    )
