"""Clients on this machine: a token for each, kept as a hash in a file of the state folder.

A token has 256 random bits, so a plain SHA-256 of it is as hard to go back from as any slow hash.
"""

import hmac
import json
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from mcp.server.auth.provider import AccessToken

from iac_base.errors import SetupError, near_text, quote_text
from iac_base.files import (
    StateFileError,
    hold_lock,
    open_state,
    read_bounded,
    require_private_file,
    write_whole,
)
from iac_runtime.tool import LEVELS, Level

SCOPES: Final[dict[str, Level]] = dict(zip(("read", "write", "dangerous"), LEVELS, strict=True))
"""The scopes of tokens, and the highest level that each covers."""

HOLDER: Final = "iac_holder"
"""The claim of a verified token in which our verifiers say whose it is."""

_FILE: Final = "clients.json"
_MOST: Final = 1_000_000
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}\Z")
_PREFIX: Final = "iac_"


class KnownClient(NamedTuple):
    """A client: its name, the highest level of its token, the token's hash, and when it was made.

    The hash stands for the token: a client that was revoked and added again is another one.
    """

    name: str
    max_level: Level
    token_hash: str
    made: str

    @property
    def scope(self) -> str:
        """The widest scope of its token."""
        return next(scope for scope, level in SCOPES.items() if level == self.max_level)


def scopes_up_to(most: Level) -> list[str]:
    """Return the scopes that a token for calls up to a level has."""
    return [*SCOPES][: LEVELS.index(most) + 1]


def add_client(name: str, most: Level) -> str:
    """Add a client and return its token, which is kept nowhere.

    Raises:
        SetupError: The name is none or taken, or the file cannot be used.
    """
    if not _NAME.match(name):
        raise SetupError(
            f"{quote_text(name)} cannot name a client. Use up to 40 of a-z, 0-9, '.', '_', '-'."
        )
    token = f"{_PREFIX}{secrets.token_urlsafe(32)}"
    made = time.strftime("%Y-%m-%d %H:%M:%S")
    with _edit_clients() as rows:
        if any(row.name == name for row in rows):
            raise SetupError(
                f"There is a client {name} already; revoke it first: iac-mcp clients revoke {name}"
            )
        rows.append(KnownClient(name, most, _hash_token(token), made))
    return token


def revoke_client(name: str) -> None:
    """Take a client's token back; servers that run end its sessions within a second or two.

    Raises:
        SetupError: There is no such client, or the file cannot be used.
    """
    with _edit_clients() as rows:
        left = [row for row in rows if row.name != name]
        if len(left) == len(rows):
            near = near_text(name, [row.name for row in rows])
            raise SetupError(f"There is no client {quote_text(name)}. {near}".strip())
        rows[:] = left


def read_clients() -> list[KnownClient]:
    """Return the clients, the oldest first.

    Raises:
        SetupError: The file is damaged, or not this user's alone.
    """
    path = open_state() / _FILE
    try:
        require_private_file(path)
        content = json.loads(read_bounded(path, _MOST, follow=False)[0])
        rows = [KnownClient(*map(str, row)) for row in content["clients"]]  # type: ignore[arg-type]
        if all(row.max_level in LEVELS for row in rows):
            return rows
    except FileNotFoundError:
        return []
    except StateFileError:
        raise
    except (OSError, ValueError, TypeError, KeyError):
        pass
    raise SetupError(f"{path} is damaged; remove it, and add your clients again.")


@contextmanager
def _edit_clients() -> Iterator[list[KnownClient]]:
    path = open_state() / _FILE
    try:
        with hold_lock(path.with_suffix(".lock")):
            rows = read_clients()
            yield rows
            write_whole(path, json.dumps({"clients": rows}), mode=0o600, sync=True)
    except OSError as error:
        raise SetupError(f"{path} cannot be written: {error.strerror}.") from error


def _hash_token(token: str) -> str:
    return sha256(token.encode()).hexdigest()


class LocalTokenVerifier:
    """A `TokenVerifier` of the SDK on the file, which is read again when it has changed."""

    def __init__(self) -> None:
        self._path: Path = open_state() / _FILE
        self._stamp: object = None
        self._rows: list[KnownClient] = read_clients()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return whose token it is; None for nobody's."""
        given, owner = _hash_token(token), None
        # All are compared, each in the time that it takes whatever it is.
        for row in self._current_clients():
            if hmac.compare_digest(row.token_hash, given):
                owner = row
        if owner is None:
            return None
        return AccessToken(
            token="",
            client_id=owner.name,
            scopes=scopes_up_to(owner.max_level),
            subject=owner.token_hash,
            claims={"iss": "iac", HOLDER: f"http:{owner.name}"},
        )

    def is_still_valid(self, token: AccessToken) -> bool:
        """Say whether a token that was verified is good still."""
        return any(row.token_hash == token.subject for row in self._current_clients())

    def _current_clients(self) -> list[KnownClient]:
        try:
            facts = self._path.lstat()
            stamp: object = (facts.st_ino, facts.st_mtime_ns, facts.st_size)
        except OSError:
            stamp = None
        if stamp != self._stamp:
            try:
                self._rows = read_clients()
            except SetupError:
                # Nobody comes in by a file that cannot be trusted.
                self._rows = []
            self._stamp = stamp
        return self._rows
