"""What a reader of a script found: reasons with their places, targets, tools."""

from dataclasses import dataclass, field
from typing import NamedTuple

from iac_applescript.analysis.tokens import Place, line_starts, place_at
from iac_runtime.tool import Level, highest

__all__ = ["Findings", "Reason", "Start"]


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


class Start(NamedTuple):
    """An app that a script starts if it does not run: bundle id, name, where it is first used."""

    app: str
    name: str
    place: Place


@dataclass(slots=True)
class Findings:
    """Collects, while a script is read.

    Attributes:
        script: The text that is read.
        reasons: In the order of reading; one a place and rule.
        targets: Bundle ids of the apps that are named, and the names of those not known.
        tools: Generated tools that do what the script's statements do.
        starts: Apps that are sent an event, by bundle id.
    """

    script: str
    reasons: dict[tuple[int, str], Reason] = field(default_factory=dict)
    targets: dict[str, None] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    tools: dict[str, None] = field(default_factory=dict)
    starts: dict[str, Start] = field(default_factory=dict)
    _lines: list[int] = field(default_factory=list)

    def place(self, start: int) -> Place:
        """Return the place of a character of the script."""
        if not self._lines:
            self._lines = line_starts(self.script)
        return place_at(self._lines, start)

    def add(self, level: Level, rule: str, says: str, text: str, start: int) -> None:
        """Add a reason, unless a higher one of the same rule stands there."""
        known = self.reasons.get((start, rule))
        if known is None or highest((known.level, level)) != known.level:
            self.reasons[start, rule] = Reason(level, rule, says, text[:120], self.place(start))

    def start(self, app: str, name: str, start: int) -> None:
        """Note that an app is sent an event, which starts it."""
        if app not in self.starts:
            self.starts[app] = Start(app, name, self.place(start))

    def level(self) -> Level:
        """Return the level of all reasons together."""
        return highest(reason.level for reason in self.reasons.values())
