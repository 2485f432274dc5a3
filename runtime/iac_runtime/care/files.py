"""Files of other programs: read whole, replaced whole, never half-written, never by surprise."""

import os
import stat
from pathlib import Path
from typing import Final, NamedTuple

from iac_base.files import (
    PRIVATE,
    IrregularFileError,
    TooLargeError,
    read_bounded,
    write_whole,
)
from iac_runtime.errors import SetupError

__all__ = ["Found", "find", "remove", "replace"]

_MOST: Final = 64 * 1024 * 1024
"""Bytes; a client's settings are smaller."""


class Found(NamedTuple):
    """A file as it was read.

    Attributes:
        path: Where it really is: links are followed once, here.
        content: Its bytes; None if it is not there.
        mode: Its permission bits.
    """

    path: Path
    content: bytes | None
    mode: int = PRIVATE


def find(path: Path) -> Found:
    """Read the file at `path`, which may be a link to one.

    Raises:
        SetupError: It is no file, not this user's, too large, in a folder that everyone may
            write to, or cannot be read; one line.
    """
    try:
        real = Path(os.path.realpath(path, strict=True))
        content, status = read_bounded(real, _MOST)
        if status.st_uid != os.geteuid():
            raise SetupError(f"{path} belongs to another user and is not changed.")
        folder = real.parent.stat()
        if folder.st_mode & stat.S_IWOTH and not folder.st_mode & stat.S_ISVTX:
            raise SetupError(f"Everyone can write to {real.parent}; close it with: chmod o-w")
        return Found(real, content, stat.S_IMODE(status.st_mode))
    except FileNotFoundError:
        if path.is_symlink():
            raise SetupError(f"{path} is a link that leads nowhere; remove or mend it.") from None
        return Found(path, None)
    except IrregularFileError:
        raise SetupError(f"{path} is no file; move it away.") from None
    except TooLargeError:
        raise SetupError(f"{path} is larger than {_MOST} bytes and is not changed.") from None
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror}.") from error


def replace(found: Found, content: bytes) -> None:
    """Put `content` in the place of a file, with the mode that it had; all of it or nothing.

    Raises:
        SetupError: It was changed since it was read, or cannot be written; it is as it was.
    """
    try:
        found.path.parent.mkdir(parents=True, exist_ok=True)
        # Clients write their files too. What is left is the instant between check and replacing.
        write_whole(
            found.path, content, mode=found.mode, sync=True, check=lambda: _unchanged(found)
        )
    except OSError as error:
        raise SetupError(f"{found.path} cannot be written: {error.strerror}.") from error


def remove(found: Found) -> None:
    """Remove a file.

    Raises:
        SetupError: It was changed since it was read, or cannot be removed.
    """
    _unchanged(found)
    try:
        found.path.unlink(missing_ok=True)
    except OSError as error:
        raise SetupError(f"{found.path} cannot be removed: {error.strerror}.") from error


def _unchanged(found: Found) -> None:
    try:
        now: bytes | None = found.path.read_bytes()
    except FileNotFoundError:
        now = None
    if now != found.content:
        raise SetupError(f"{found.path} was changed just now by another program; try again.")
