"""How long, how many and how much: the settings of an executor."""

from dataclasses import dataclass
from typing import Final

__all__ = ["DEFAULT_TIMEOUT", "Limits"]

DEFAULT_TIMEOUT: Final = 30.0
"""Seconds. Below the 60 after which some clients give up on a call."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Times are seconds.

    Attributes:
        timeout: For the app's answer, from the moment that it is the call's turn; and no longer
            than that for the turn.
        grace: Between TERM and KILL.
        hello: For a new worker to report.
        idle: After which a worker without work is ended.
        calls: After which a worker is replaced: JXA's loop has no pool that frees its objects.
        kept: Workers that wait for work; the one unused for longest goes first.
        running: Calls at once, those of this user's other servers included.
        waiting: Calls that may wait for their turn, in one executor.
        answer: Bytes of one answer.
    """

    timeout: float = DEFAULT_TIMEOUT
    grace: float = 2.0
    hello: float = 5.0
    idle: float = 60.0
    calls: int = 500
    kept: int = 8
    running: int = 4
    waiting: int = 64
    answer: int = 64 * 1024 * 1024
