"""The protocol's two descriptors, out of reach of children and of stray prints."""

import contextlib
import os
import select
import threading
from collections.abc import Iterator
from typing import Final, Protocol

MAX_LINE: Final = 32 * 1024 * 1024
"""Bytes of a message; longer ones are dropped, for they would have to be kept whole."""

_CHUNK: Final = 65_536

PATIENCE: Final = 10.0
"""Seconds for which a client may read nothing at all; a slow one may take any time."""


class Connection(Protocol):
    """What the front needs of a transport: the messages of one client, one JSON text each.

    Attributes:
        alarm: A descriptor; a byte written to it makes the reader look at signals.
    """

    alarm: int

    def __iter__(self) -> Iterator[bytes]:
        """Yield what the client says, until it is gone."""
        ...

    def write(self, line: bytes) -> None:
        """Send one message, from any thread; after the client is gone, nothing."""


class Wire:
    """Messages in and out, one JSON object a line; `write` is safe from any thread.

    Attributes:
        alarm: A descriptor; a byte written to it brings the reader out of its wait, so that it
            sees a signal that another thread was given, or that the client is gone.
        broken: The client went away, or stopped reading; nothing is written any more.
    """

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._woken, self.alarm = os.pipe()
        os.set_blocking(self.alarm, False)
        self._input, self._room = select.poll(), select.poll()
        self._input.register(reading, select.POLLIN)
        self._input.register(self._woken, select.POLLIN)
        self._room.register(writing, select.POLLOUT)
        self._lock = threading.Lock()
        self.broken = False

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines that arrive, without those that are empty or too long."""
        line, dropped = bytearray(), False
        while chunk := self._read_chunk():
            *ended, rest = chunk.split(b"\n")
            for part in ended:
                line += part
                if dropped or len(line) > MAX_LINE:
                    os.write(2, b"iac-mcp: a message of more than 32 MB was dropped.\n")
                elif line and not line.isspace():
                    yield bytes(line)
                line, dropped = bytearray(), False
            line += rest
            if len(line) > MAX_LINE:
                line, dropped = bytearray(), True
        if line and not dropped and not self.broken:
            yield bytes(line)

    def _read_chunk(self) -> bytes:
        """Return what arrived, or nothing at the end of the input or of the client."""
        while not self.broken:
            ready = {fd for fd, _ in self._input.poll()}
            if self._reading in ready:
                return os.read(self._reading, _CHUNK)
            os.read(self._woken, _CHUNK)
        return b""

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
            with contextlib.suppress(BlockingIOError):
                os.write(self.alarm, b"\0")


def claim_stdio() -> Wire:
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
