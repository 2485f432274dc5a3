"""Verdicts: a permission level with the one line that says what made it so."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from iac_runtime.tool import LEVELS, Level

__all__ = ["READS", "Verdict", "highest", "rows"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A level and its reason, a few words that end a sentence."""

    level: Level
    reason: str


READS: Final = Verdict("SAFE", "reads")


def highest(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict with the highest level, the first of equals; SAFE for none."""
    return max(verdicts, key=lambda verdict: LEVELS.index(verdict.level), default=READS)


def rows(table: Iterable[tuple[Level, str, str]]) -> dict[str, Verdict]:
    """Return word -> verdict for rows of (level, reason, words)."""
    return {word: Verdict(level, why) for level, why, words in table for word in words.split()}
