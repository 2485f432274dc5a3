"""What is known of a level: single verdicts, and a judgement that holds them all in their order."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from iac_runtime.tool import LEVELS, Level


@dataclass(frozen=True, slots=True)
class LevelVerdict:
    """A level and its reason, a few words that end a sentence.

    `source` says what speaks: `event code aevtodoc`, `words`, `parameter to [kfil]`, `floor`.
    A verdict that `raises` counts only where it is higher than the others.
    """

    level: Level
    reason: str
    source: str = ""
    raises: bool = False


@dataclass(frozen=True, slots=True)
class LevelJudgment:
    """All evidence of one level in the order in which it counted.

    The level is the highest of `evidence`, its reason the first of equals; a `quirk` that comes
    with the generator decides alone, one of somebody else can only raise.
    """

    evidence: tuple[LevelVerdict, ...] = ()
    quirk: LevelVerdict | None = None

    @property
    def verdict(self) -> LevelVerdict:
        """What decided."""
        if self.quirk and self.quirk.raises:
            return highest_verdict((*self.evidence, self.quirk))
        return self.quirk or highest_verdict(self.evidence)

    @property
    def level(self) -> Level:
        """The level that all evidence comes to."""
        return self.verdict.level

    @property
    def reason(self) -> str:
        """Why it is that level."""
        return self.verdict.reason


READS: Final = LevelVerdict("SAFE", "reads")


def highest_verdict(verdicts: Iterable[LevelVerdict]) -> LevelVerdict:
    """Return the verdict with the highest level, the first of equals; SAFE for none."""
    return max(verdicts, key=lambda verdict: LEVELS.index(verdict.level), default=READS)


def with_source(source: str, verdicts: Iterable[LevelVerdict]) -> Iterator[LevelVerdict]:
    """Yield `verdicts` with what speaks in them; one that says it already is left as it is."""
    for verdict in verdicts:
        yield verdict if verdict.source else replace(verdict, source=source)
