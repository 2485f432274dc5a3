"""What the readers of a script share: tokens with their place, and what was found there."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from iac_runtime.language.levels import highest
from iac_runtime.tool import Level

__all__ = [
    "MAX_SCRIPT",
    "Findings",
    "Kind",
    "Reason",
    "Scan",
    "ScanFault",
    "ScriptPlace",
    "ScriptToken",
    "Start",
    "line_starts",
    "place_at",
]

MAX_SCRIPT: Final = 64 * 1024
"""Characters of a script; a longer one is not read at all."""

Kind = Literal["word", "quoted", "string", "number", "sign", "raw", "regex", "template", "end"]
"""`quoted` is AppleScript's `|name|`, `raw` a chevron form, `end` the end of a logical line."""


class ScriptPlace(NamedTuple):
    """Where something stands: line and column count from 1, `start` from 0; all in characters."""

    line: int
    column: int
    start: int


class ScriptToken(NamedTuple):
    """A token; of a string `text` is its value, escapes resolved, else what is written."""

    kind: Kind
    text: str
    start: int

    @property
    def folded(self) -> str:
        """The text as AppleScript compares words."""
        return self.text.casefold()


class ScanFault(NamedTuple):
    """What cannot be read, and where it begins."""

    says: str
    start: int


class Scan(NamedTuple):
    """The tokens of a script, comments left out."""

    tokens: tuple[ScriptToken, ...]
    faults: tuple[ScanFault, ...]


def line_starts(script: str) -> list[int]:
    """Return where the lines of a script begin; CR, LF and CRLF end one."""
    return [0, *(found.end() for found in re.finditer(r"\r\n|\r|\n", script))]


def place_at(lines: Sequence[int], start: int) -> ScriptPlace:
    """Return the place of a character, by where the lines begin."""
    line = bisect_right(lines, start)
    return ScriptPlace(line, start - lines[line - 1] + 1, start)


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
    place: ScriptPlace


class Start(NamedTuple):
    """An app that a script starts if it does not run: bundle id, name, where it is first used."""

    app: str
    name: str
    place: ScriptPlace


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

    def place(self, start: int) -> ScriptPlace:
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
