"""What both tokenizers give: tokens with their place, and what could not be read."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

__all__ = ["MAX_SCRIPT", "Fault", "Kind", "Place", "Scan", "Token", "line_starts", "place_at"]

MAX_SCRIPT: Final = 64 * 1024
"""Characters of a script; a longer one is not read at all."""

Kind = Literal["word", "quoted", "string", "number", "sign", "raw", "regex", "template", "end"]
"""`quoted` is AppleScript's `|name|`, `raw` a chevron form, `end` the end of a logical line."""


class Place(NamedTuple):
    """Where something stands: line and column count from 1, `start` from 0; all in characters."""

    line: int
    column: int
    start: int


class Token(NamedTuple):
    """A token; of a string `text` is its value, escapes resolved, else what is written."""

    kind: Kind
    text: str
    start: int

    @property
    def folded(self) -> str:
        """The text as AppleScript compares words."""
        return self.text.casefold()


class Fault(NamedTuple):
    """What cannot be read, and where it begins."""

    says: str
    start: int


class Scan(NamedTuple):
    """The tokens of a script, comments left out."""

    tokens: tuple[Token, ...]
    faults: tuple[Fault, ...]


def line_starts(script: str) -> list[int]:
    """Return where the lines of a script begin; CR, LF and CRLF end one."""
    return [0, *(found.end() for found in re.finditer(r"\r\n|\r|\n", script))]


def place_at(lines: Sequence[int], start: int) -> Place:
    """Return the place of a character, by where the lines begin."""
    line = bisect_right(lines, start)
    return Place(line, start - lines[line - 1] + 1, start)
