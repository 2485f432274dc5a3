"""This user's key, and what it seals.

HMAC-SHA256 (RFC 2104) over fields with their lengths, so that no two rows of fields give the same
bytes. Whoever can read the key can forge approvals: it lies in the state folder, mode 0600.
"""

import contextlib
import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from iac_base.errors import SetupError
from iac_base.files import private_file, write_whole

KEY_FILE: Final = "approvals.key"
_KEY_SIZE: Final = 32


def load_key(folder: Path) -> bytes:
    """Return the key of a state folder (32 bytes); it is made on first need.

    Two processes that make it at once get the same one.

    Raises:
        SetupError: The file is a link, is open to others or another user's, or is damaged.
    """
    path = folder / KEY_FILE
    with contextlib.suppress(FileNotFoundError):
        return _read_key(path)
    draft = folder / f".{KEY_FILE}.{secrets.token_hex(8)}"
    try:
        write_whole(draft, secrets.token_bytes(_KEY_SIZE), sync=True)
        # A link fails where the name is taken; a rename would replace another process's key.
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    except OSError as error:
        raise SetupError(f"{path} cannot be made: {error.strerror}.") from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
    return _read_key(path)


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)


def _read_key(path: Path) -> bytes:
    private_file(path)
    try:
        with open(path, "rb", opener=_no_link) as file:
            key = file.read(_KEY_SIZE + 1)
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror}.") from error
    if len(key) != _KEY_SIZE:
        raise SetupError(f"{path} is damaged; remove it, and answer remembered questions again.")
    return key


def seal(key: bytes, purpose: str, fields: Iterable[str]) -> str:
    """Return the MAC (hex) of some fields for a purpose; order and borders count."""
    body = b"".join(
        len(part).to_bytes(8, "big") + part
        for part in (text.encode("utf-8", "surrogatepass") for text in (purpose, *fields))
    )
    return hmac.new(key, body, hashlib.sha256).hexdigest()


def fits(mac: str, given: str) -> bool:
    """Say whether `given` is the MAC that is due; the time it takes tells nothing of it."""
    return hmac.compare_digest(mac.encode(), given.encode("utf-8", "surrogatepass"))
