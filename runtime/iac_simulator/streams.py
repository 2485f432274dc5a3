"""The streams of a script: file descriptors of the process, or buffers of a run inside it."""

import errno
import io
import os
from dataclasses import dataclass, field
from typing import Final, Protocol

__all__ = ["AVAILABLE", "Buffers", "Descriptors", "Streams"]

AVAILABLE: Final = 0
"""The size that asks for what there is, and waits until there is something."""

_CHUNK: Final = 65536


class Streams(Protocol):
    """What a file handle of a script reads and writes, by file descriptor."""

    def read(self, descriptor: int, size: int | None) -> bytes:
        """Return `size` bytes, fewer at the end; None for all of them, or `AVAILABLE`.

        Raises:
            OSError: The descriptor cannot be read.
        """
        ...

    def write(self, descriptor: int, data: bytes) -> None:
        """Write all of `data`.

        Raises:
            OSError: The descriptor cannot be written.
        """

    def close(self, descriptor: int) -> None:
        """Close a descriptor.

        Raises:
            OSError: It is not open.
        """


class Descriptors:
    """The file descriptors of this process."""

    def read(self, descriptor: int, size: int | None) -> bytes:
        if size == AVAILABLE:
            return os.read(descriptor, _CHUNK)
        parts: list[bytes] = []
        left = size
        while left is None or left > 0:
            part = os.read(descriptor, _CHUNK if left is None else min(left, _CHUNK))
            if not part:
                break
            parts.append(part)
            left = None if left is None else left - len(part)
        return b"".join(parts)

    def write(self, descriptor: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]

    def close(self, descriptor: int) -> None:
        os.close(descriptor)


@dataclass(frozen=True)
class Buffers:
    """The three standard streams of a run inside another program.

    That program's own descriptors are not the script's: a read or a write of one is refused.
    """

    stdin: io.BytesIO
    written: dict[int, bytearray] = field(default_factory=lambda: {1: bytearray(), 2: bytearray()})

    def read(self, descriptor: int, size: int | None) -> bytes:
        if descriptor != 0:
            raise _no_descriptor(descriptor)
        return self.stdin.read() if size is None or size == AVAILABLE else self.stdin.read(size)

    def write(self, descriptor: int, data: bytes) -> None:
        if descriptor not in self.written:
            raise _no_descriptor(descriptor)
        self.written[descriptor].extend(data)

    def close(self, descriptor: int) -> None:
        if descriptor not in (0, *self.written):
            raise _no_descriptor(descriptor)


def _no_descriptor(descriptor: int) -> OSError:
    text = (
        f"descriptor {descriptor} does not exist in a simulator inside a program: run"
        " iac-osascript, which has all of them"
    )
    return OSError(errno.EBADF, text)
