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
from iac_base.files import hold_lock, read_bounded, require_private_file, write_whole

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
    try:
        with hold_lock(path.with_name(f"{KEY_FILE}.lock")):
            if not os.path.lexists(path):
                write_whole(path, secrets.token_bytes(_KEY_SIZE), sync=True)
    except OSError as error:
        raise SetupError(f"{path} cannot be made: {error.strerror}.") from error
    return _read_key(path)


def _read_key(path: Path) -> bytes:
    if require_private_file(path).st_size != _KEY_SIZE:
        raise SetupError(f"{path} is damaged; remove it, and give your approvals again.")
    try:
        return read_bounded(path, _KEY_SIZE, follow=False)[0]
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror}.") from error


def seal_fields(key: bytes, purpose: str, fields: Iterable[str]) -> str:
    """Return the MAC (hex) of some fields for a purpose; order and borders count."""
    body = b"".join(
        len(part).to_bytes(8) + part
        for part in (text.encode(errors="surrogatepass") for text in (purpose, *fields))
    )
    return hmac.new(key, body, hashlib.sha256).hexdigest()


def matches_seal(mac: str, given: str) -> bool:
    """Say whether `given` is the MAC that is due; the time it takes tells nothing of it."""
    return hmac.compare_digest(mac.encode(), given.encode(errors="surrogatepass"))
