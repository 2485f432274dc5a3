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

from iac_base.errors import SetupError, near_text, quoted
from iac_base.files import (
    StateFileError,
    locked,
    open_state,
    private_file,
    read_bounded,
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
    most: Level
    hash: str
    made: str

    @property
    def scope(self) -> str:
        """The widest scope of its token."""
        return next(scope for scope, level in SCOPES.items() if level == self.most)


def scopes_up_to(most: Level) -> list[str]:
    """Return the scopes that a token for calls up to a level has."""
    return [*SCOPES][: LEVELS.index(most) + 1]


def add(name: str, most: Level) -> str:
    """Add a client and return its token, which is kept nowhere.

    Raises:
        SetupError: The name is none or taken, or the file cannot be used.
    """
    if not _NAME.match(name):
        raise SetupError(
            f"{quoted(name)} cannot name a client. Use up to 40 of a-z, 0-9, '.', '_', '-'."
        )
    token = f"{_PREFIX}{secrets.token_urlsafe(32)}"
    made = time.strftime("%Y-%m-%d %H:%M:%S")
    with _changing() as rows:
        if any(row.name == name for row in rows):
            raise SetupError(
                f"There is a client {name} already; revoke it first: iac-mcp clients revoke {name}"
            )
        rows.append(KnownClient(name, most, _hash(token), made))
    return token


def revoke(name: str) -> None:
    """Take a client's token back; servers that run end its sessions within a second or two.

    Raises:
        SetupError: There is no such client, or the file cannot be used.
    """
    with _changing() as rows:
        left = [row for row in rows if row.name != name]
        if len(left) == len(rows):
            near = near_text(name, [row.name for row in rows])
            raise SetupError(f"There is no client {quoted(name)}. {near}".strip())
        rows[:] = left


def clients() -> list[KnownClient]:
    """Return the clients, the oldest first.

    Raises:
        SetupError: The file is damaged, or not this user's alone.
    """
    path = open_state() / _FILE
    try:
        private_file(path)
        said = json.loads(read_bounded(path, _MOST, follow=False)[0])
        rows = [KnownClient(*map(str, row)) for row in said["clients"]]  # type: ignore[arg-type]
        if all(row.most in LEVELS for row in rows):
            return rows
    except FileNotFoundError:
        return []
    except StateFileError:
        raise
    except (OSError, ValueError, TypeError, KeyError):
        pass
    raise SetupError(f"{path} is damaged; remove it, and add your clients again.")


@contextmanager
def _changing() -> Iterator[list[KnownClient]]:
    path = open_state() / _FILE
    try:
        with locked(path.with_suffix(".lock")):
            rows = clients()
            yield rows
            write_whole(path, json.dumps({"clients": rows}), mode=0o600, sync=True)
    except OSError as error:
        raise SetupError(f"{path} cannot be written: {error.strerror}.") from error


def _hash(token: str) -> str:
    return sha256(token.encode()).hexdigest()


class LocalTokens:
    """A `TokenVerifier` of the SDK on the file, which is read again when it has changed."""

    def __init__(self) -> None:
        self._path: Path = open_state() / _FILE
        self._stamp: object = None
        self._rows: list[KnownClient] = clients()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return whose token it is; None for nobody's."""
        given, found = _hash(token), None
        # All are compared, each in the time that it takes whatever it is.
        for row in self._known():
            if hmac.compare_digest(row.hash, given):
                found = row
        if found is None:
            return None
        return AccessToken(
            token="",
            client_id=found.name,
            scopes=scopes_up_to(found.most),
            subject=found.hash,
            claims={"iss": "iac", HOLDER: f"http:{found.name}"},
        )

    def holds(self, token: AccessToken) -> bool:
        """Say whether a token that was verified is good still."""
        return any(row.hash == token.subject for row in self._known())

    def _known(self) -> list[KnownClient]:
        try:
            found = self._path.lstat()
            stamp: object = (found.st_ino, found.st_mtime_ns, found.st_size)
        except OSError:
            stamp = None
        if stamp != self._stamp:
            try:
                self._rows = clients()
            except SetupError:
                # Nobody comes in by a file that cannot be trusted.
                self._rows = []
            self._stamp = stamp
        return self._rows
