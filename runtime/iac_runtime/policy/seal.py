"""The key of this user's approvals, and what is sealed with it.

HMAC-SHA256 (RFC 2104) over the fields with their lengths, so that no two rows of fields give the
same bytes. Whoever can read the key can forge approvals: it lies in the state folder, mode 0600.
"""

import contextlib
import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from iac_runtime.errors import SetupError

__all__ = ["KEY_FILE", "load_key", "private_file", "seal"]

KEY_FILE: Final = "approvals.key"
_SIZE: Final = 32
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def load_key(folder: Path) -> bytes:
    """Return the key of a state folder (32 bytes); it is made on first need.

    Two processes that make it at once get the same one.

    Raises:
        SetupError: The file is a link, is open to others or another user's, or is damaged.
    """
    path = folder / KEY_FILE
    with contextlib.suppress(FileNotFoundError):
        return _read(path)
    draft = folder / f".{KEY_FILE}.{secrets.token_hex(8)}"
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o600)
        try:
            os.write(handle, secrets.token_bytes(_SIZE))
            os.fsync(handle)
        finally:
            os.close(handle)
        # A link fails where the name is taken; a rename would replace another process's key.
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    except OSError as error:
        raise SetupError(f"{path} cannot be made: {error.strerror}.") from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
    return _read(path)


def _read(path: Path) -> bytes:
    private_file(path)
    try:
        handle = os.open(path, os.O_RDONLY | _NO_FOLLOW)
        try:
            key = os.read(handle, _SIZE + 1)
        finally:
            os.close(handle)
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror}.") from error
    if len(key) != _SIZE:
        raise SetupError(f"{path} is damaged; remove it, and answer remembered questions again.")
    return key


def private_file(path: Path) -> None:
    """Refuse a file of the state folder that is not this user's alone.

    Raises:
        FileNotFoundError: It is not there.
        SetupError: It is a link or no file, belongs to another user, or lets others in.
    """
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise SetupError(f"{path} is a link or no file; move it away.")
    if found.st_uid != os.geteuid():
        raise SetupError(f"{path} belongs to another user; move it away or own it.")
    if found.st_mode & 0o077:
        raise SetupError(f"{path} is open to others; close it with: chmod 600 '{path}'")


def seal(key: bytes, purpose: str, fields: Iterable[str]) -> str:
    """Return the MAC (hex) of some fields for a purpose; order and borders count."""
    body = b"".join(
        len(part).to_bytes(8, "big") + part
        for part in (text.encode("utf-8", "surrogatepass") for text in (purpose, *fields))
    )
    return hmac.new(key, body, hashlib.sha256).hexdigest()
