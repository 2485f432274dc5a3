"""What can be wrong before a run begins, and what a tool can answer instead of a result.

ScenarioError   the file cannot be played; carries every problem, with its line
PlayError       an option, a configuration of servers or a sandbox that cannot be used
CallError       a call failed; its text is the result that the assistant sees
"""

from collections.abc import Sequence
from typing import NamedTuple


class ScenarioProblem(NamedTuple):
    """One finding in a scenario file: where (`file:line`), in which field, and what."""

    file: str
    line: int
    field: str
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return ": ".join(filter(None, (where, self.field, self.message)))


class ScenarioError(Exception):
    """A scenario file that cannot be played."""

    def __init__(self, problems: Sequence[ScenarioProblem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


class PlayError(Exception):
    """Something around the scenario that cannot be used: one line, with the way out."""


class CallError(Exception):
    """A call that failed; the text is what the assistant is told."""
