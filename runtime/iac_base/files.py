"""Files: replaced whole or not at all, read within bounds, locked between processes.

What goes wrong is an OSError, as the system says it; callers make the line that a user reads.
"""

import contextlib
import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final

__all__ = [
    "PRIVATE",
    "IrregularFileError",
    "TooLargeError",
    "locked",
    "read_bounded",
    "replacing",
    "try_lock",
    "write_whole",
]

PRIVATE: Final = 0o600
"""The mode of a file that was not there: what is written may hold keys."""


class IrregularFileError(OSError):
    """What stands at a path is no regular file: a folder, a pipe, a device."""


class TooLargeError(OSError):
    """A file is larger than its reader takes."""


@contextlib.contextmanager
def replacing(
    path: Path,
    *,
    mode: int | None = None,
    sync: bool = False,
    check: Callable[[], object] | None = None,
) -> Iterator[IO[bytes]]:
    """Give a file to write to, which takes the place of the one at `path` at the end.

    A link stays a link, and what it leads to is replaced. A reader sees the old
    content or the new one, whole. Where the block raises, all is as it was.

    Args:
        path: The file; its folder is there.
        mode: The permission bits; without it those of the file that is there, else `PRIVATE`.
        sync: Whether the content must be on the disk before it replaces the old one.
        check: Called when all is written, in the last instant; what it raises stops the replacing.

    Raises:
        IrregularFileError: There is no regular file at `path`.
        OSError: It cannot be written.
    """
    old = PRIVATE
    with contextlib.suppress(FileNotFoundError):
        old = _regular(path, path.stat())
    real = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(dir=real.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fchmod(handle, old if mode is None else mode)
            if sync:
                os.fsync(handle)
        if check is not None:
            check()
        Path(name).replace(real)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def write_whole(
    path: Path,
    content: bytes | str,
    *,
    mode: int | None = None,
    sync: bool = False,
    check: Callable[[], object] | None = None,
) -> None:
    """Replace a file by `content` (a text as UTF-8); the rest is as in `replacing`."""
    with replacing(path, mode=mode, sync=sync, check=check) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def read_bounded(path: Path, most: int) -> tuple[bytes, os.stat_result]:
    """Return the content of a regular file of at most `most` bytes, and its status.

    Owner and mode are those of the file that was read, whatever stands at `path` by now.

    Raises:
        IrregularFileError: It is none; a pipe is not waited for.
        TooLargeError: It is larger.
        OSError: It cannot be read.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(handle)
        _regular(path, found)
        with os.fdopen(handle, "rb", closefd=False) as file:
            content = file.read(most + 1)
    finally:
        os.close(handle)
    if len(content) > most:
        raise TooLargeError(errno.EFBIG, f"It is larger than {most} bytes", str(path))
    return content, found


def _regular(path: Path, found: os.stat_result) -> int:
    """Return the permission bits of a regular file, and refuse anything else."""
    if not stat.S_ISREG(found.st_mode):
        raise IrregularFileError(errno.EINVAL, "It is no regular file", str(path))
    return stat.S_IMODE(found.st_mode)


_LOCK: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


def try_lock(path: Path) -> int | None:
    """Return a descriptor that holds the lock of a file, made if need be; None if another has it.

    The lock ends when the descriptor is closed, or with the process. A link is refused.

    Raises:
        OSError: It cannot be opened or locked.
    """
    handle = os.open(path, _LOCK, PRIVATE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException as error:
        os.close(handle)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return handle


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, made if need be, as soon as it is free; a link is refused.

    Raises:
        OSError: It cannot be opened or locked.
    """
    handle = os.open(path, _LOCK, PRIVATE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
