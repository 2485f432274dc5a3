"""What a reader of a script found: reasons with their places, targets, tools."""

from dataclasses import dataclass, field
from typing import NamedTuple

from iac_applescript.tokens import Place, place_at
from iac_runtime.levels import highest
from iac_runtime.tool import Level

__all__ = ["Findings", "Reason"]


class Reason(NamedTuple):
    """Why a script has its level.

    Attributes:
        level: What this alone would give.
        rule: The kind of reason, a word for machines: `phrase`, `command`, `setter`, `target`...
        says: One line for a person.
        text: The words of the script that it is about.
        place: Where they stand.
    """

    level: Level
    rule: str
    says: str
    text: str
    place: Place


@dataclass(slots=True)
class Findings:
    """Collects, while a script is read.

    Attributes:
        script: The text that is read.
        reasons: In the order of reading; one a place and rule.
        targets: Bundle ids of the apps that are named, and the names of those not known.
        tools: Generated tools that do what the script's statements do.
    """

    script: str
    reasons: dict[tuple[int, str], Reason] = field(default_factory=dict)
    targets: dict[str, None] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    tools: dict[str, None] = field(default_factory=dict)

    def add(self, level: Level, rule: str, says: str, text: str, start: int) -> None:
        """Add a reason, unless a higher one of the same rule stands there."""
        known = self.reasons.get((start, rule))
        if known is None or highest((known.level, level)) != known.level:
            place = place_at(self.script, start)
            self.reasons[start, rule] = Reason(level, rule, says, text[:120], place)

    def level(self) -> Level:
        """Return the level of all reasons together."""
        return highest(reason.level for reason in self.reasons.values())
