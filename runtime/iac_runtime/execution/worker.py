"""A worker: one osascript that carries out request after request.

It reads requests from descriptor 3 and answers on descriptor 4, a JSON line each, so that neither
its own output nor that of an app can disturb them. Each request carries a mark that nobody can
guess, and its answer repeats it.
"""

import os
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from iac_runtime.execution.cancellation import Cancellation
from iac_runtime.execution.ending import Grace, end, see_off
from iac_runtime.execution.process import ANSWERS, REQUESTS, Child, spawn
from iac_runtime.execution.single import WORDS_KEPT
from iac_runtime.execution.streams import Ended, Tail, converse

__all__ = ["Line", "Worker"]

_PATIENCE: Final = 1.0
"""Seconds that a worker has to end by itself."""


class Line(NamedTuple):
    """What a worker answered: how it went, and for `answered` the line."""

    how: Ended
    body: bytes = b""
    too_large: bool = False


class Worker:
    """One osascript with the harness in its loop. One thread at a time may use it.

    Args:
        argv: The command that runs the harness, without the descriptors.
        cap: Bytes of an answer.

    Raises:
        OSError: It could not be started.
    """

    def __init__(self, argv: Sequence[str], cap: int) -> None:
        self._child: Child = spawn([*argv, str(REQUESTS), str(ANSWERS)], channel=True)
        assert self._child.answers is not None
        self._answers = self._child.answers
        self._cap = cap
        self._stdout, self._stderr = Tail(WORDS_KEPT), Tail(WORDS_KEPT)
        self._heard = bytearray()
        self._lines = 0
        self.calls = 0
        self.rested = time.monotonic()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._child.pid

    @property
    def status(self) -> int:
        """Its exit status once it has ended; the one for "unknown" before."""
        return 255 if self._child.status is None else self._child.status

    @property
    def words(self) -> tuple[bytes, bytes]:
        """The last of what it wrote to standard output and standard error."""
        return self._stdout.content(), self._stderr.content()

    def hear(self, deadline: float, cancel: Cancellation) -> Line:
        """Wait for a line: the one by which a worker says that it is there, or one more."""
        return self._converse(b"", deadline, cancel)

    def exchange(self, request: bytes, deadline: float, cancel: Cancellation) -> Line:
        """Send a request (a line) and return its answer."""
        self.calls += 1
        line = self._converse(request, deadline, cancel)
        self.rested = time.monotonic()
        return line

    def is_silent(self) -> bool:
        """Say whether it lives and has said nothing unasked; otherwise it is of no more use."""
        if self._heard:
            return False
        try:
            os.read(self._answers, 1)
        except BlockingIOError:
            return True
        return False

    def end(self, grace: Grace) -> None:
        """End it and all that it started (see `ending.end`)."""
        end(self._child, grace)

    def hang_up(self) -> None:
        """Tell it that no more requests come."""
        self._child.hang_up()

    def see_off(self, grace: Grace) -> None:
        """Let it end by itself; if it does not, end it."""
        see_off(self._child, _PATIENCE, grace)

    def _hear(self, data: bytes) -> None:
        self._heard += data
        self._lines += data.count(b"\n")

    def _converse(self, message: bytes, deadline: float, cancel: Cancellation) -> Line:
        child = self._child
        how: Ended = "answered"
        if message or not self._lines:
            how = converse(
                child,
                message,
                {self._answers: self._hear, child.stdout: self._stdout.add}
                | {child.stderr: self._stderr.add},
                lambda still_open: (
                    self._lines > 0
                    or self._answers not in still_open
                    or len(self._heard) > self._cap
                ),
                deadline,
                cancel,
            )
        if how != "answered":
            return Line(how)
        end = self._heard.find(b"\n") + 1
        if end > self._cap or (not end and len(self._heard) > self._cap):
            return Line("answered", too_large=True)
        if not end:
            return Line("gone")
        body = bytes(self._heard[:end])
        del self._heard[:end]
        self._lines -= 1
        return Line("answered", body)
