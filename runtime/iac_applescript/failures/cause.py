"""One reason for a failure, as a row."""

from typing import Final, NamedTuple

__all__ = ["PANE", "Cause"]

PANE: Final = "System Settings > Privacy & Security"
"""Where the user gives rights."""


class Cause(NamedTuple):
    """One reason for a failure.

    Attributes:
        id: Its name for machines.
        says: What happened, one line.
        fixes: What to do, the likeliest first.
        numbers: Error numbers that mean it.
        words: A pattern over the error text, without regard to case; empty for none.
        first: Whether the words decide before any number.
    """

    id: str
    says: str
    fixes: tuple[str, ...]
    numbers: tuple[int, ...] = ()
    words: str = ""
    first: bool = False
