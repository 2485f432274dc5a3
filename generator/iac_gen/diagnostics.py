"""What a stage has to say about its input: a value, never an exception."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Diagnostic", "Severity"]

Severity = Literal["note", "warning", "error"]


@dataclass(frozen=True, slots=True, order=True)
class Diagnostic:
    """One finding: an `error` cost something (an item or a file), a `warning` may have.

    `line` is 1-based, 0 where the input has no lines. `code` is a stable short name.
    """

    file: str
    line: int
    code: str
    message: str
    level: Severity = "warning"

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.level}: {self.message} [{self.code}]"
