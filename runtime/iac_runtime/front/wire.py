"""The protocol's two descriptors, out of reach of children and of stray prints."""

import os
import select
import threading
from collections.abc import Callable, Iterator
from typing import Final

__all__ = ["MAX_LINE", "PATIENCE", "Wire", "claim"]

MAX_LINE: Final = 32 * 1024 * 1024
"""Bytes of a message; longer ones are dropped, for they would have to be kept whole."""


PATIENCE: Final = 10.0
"""Seconds for which a client may read nothing at all; a slow one may take any time."""


class Wire:
    """Messages in and out, one JSON object a line; `write` is safe from any thread.

    Attributes:
        broken: The client went away, or stopped reading; nothing is written any more.
        lost: Called once, by the thread that found that out.
    """

    def __init__(self, reading: int, writing: int) -> None:
        self._lines = os.fdopen(reading, "rb", closefd=False)
        self._writing = writing
        self._room = select.poll()
        self._room.register(writing, select.POLLOUT)
        self._lock = threading.Lock()
        self.broken = False
        self.lost: Callable[[], None] = lambda: None

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines that arrive, without those that are empty or too long."""
        while line := self._lines.readline(MAX_LINE):
            if not line.endswith(b"\n") and len(line) >= MAX_LINE:
                while (rest := self._lines.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                    pass
                os.write(2, b"iac-mcp: a message of more than 32 MB was dropped.\n")
            elif not line.isspace():
                yield line

    def write(self, line: bytes) -> None:
        """Send one message; `line` has no newline in it. After the client is gone, nothing."""
        data = memoryview(line + b"\n")
        with self._lock:
            if self.broken:
                return
            try:
                while data:
                    if not self._room.poll(PATIENCE * 1000):
                        raise TimeoutError
                    # Where there is room, this much is taken without waiting.
                    data = data[os.write(self._writing, data[: select.PIPE_BUF]) :]
            except OSError:
                self.broken = True
        if self.broken:
            self.lost()


def claim() -> Wire:
    """Take standard input and output for the protocol.

    Afterwards descriptor 0 reads nothing and descriptor 1 goes to standard error: a child or a
    print that uses them cannot disturb the protocol.
    """
    reading, writing = _above_standard(0), _above_standard(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return Wire(reading, writing)


def _above_standard(fd: int) -> int:
    import fcntl

    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
