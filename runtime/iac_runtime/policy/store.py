"""What is kept of approvals: one SQLite file in the state folder, sealed with this user's key.

HMAC-SHA256 (RFC 2104) over the fields with their lengths, so that no two rows of fields give the
same bytes. Whoever can read the key can forge approvals: it lies in the state folder, mode 0600.

Every change is one transaction that takes the write lock first, so two processes lose nothing. A
file that is damaged is moved aside and a new one begun: then nothing is remembered and every
question is asked again.
"""

import contextlib
import hashlib
import hmac
import os
import secrets
import stat
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from iac_base.errors import SetupError
from iac_base.files import open_state

if TYPE_CHECKING:
    import sqlite3

__all__ = ["FILE", "KEY_FILE", "ApprovalStore", "load_key", "private_file", "seal"]

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


FILE: Final = "approvals.db"
_WAIT: Final = 10.0
"""Seconds to wait for another process's transaction; each takes milliseconds."""

_MIGRATIONS: Final = (
    """
CREATE TABLE questions (
    nonce TEXT PRIMARY KEY, asked REAL NOT NULL, used INTEGER NOT NULL, counted INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE stopped (since REAL NOT NULL);
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, app TEXT NOT NULL, command TEXT NOT NULL,
    kind TEXT NOT NULL, tool TEXT NOT NULL, says TEXT NOT NULL, digest TEXT NOT NULL,
    made TEXT NOT NULL, client TEXT NOT NULL, mac TEXT NOT NULL,
    UNIQUE (app, command, kind)
);
""",
    # Questions that are open when the file is brought to this version are asked again.
    """
DROP TABLE questions;
CREATE TABLE questions (
    nonce TEXT PRIMARY KEY, asked REAL NOT NULL, used INTEGER NOT NULL
) WITHOUT ROWID;
DROP TABLE stopped;
CREATE TABLE stopped (client TEXT PRIMARY KEY, since REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE declined (client TEXT NOT NULL, since REAL NOT NULL);
""",
)
"""The statements that lead from each version to the next; the version is their number."""

VERSION: Final = len(_MIGRATIONS)


class ApprovalStore:
    """The file and the key of a state folder; safe to share between threads.

    Args:
        folder: The state folder; that of this user if left out.

    Raises:
        SetupError: The folder, the key or the file is not safe, or of a newer version.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = open_state() if folder is None else folder
        self.key = load_key(self.folder)
        self.path = self.folder / FILE
        self._lock = threading.Lock()
        self._open()

    @contextlib.contextmanager
    def change(self) -> "Iterator[sqlite3.Connection]":
        """Give a connection inside one transaction; it is committed at the end of the block.

        Raises:
            SetupError: The file cannot be read or written; nothing was changed.
        """
        import sqlite3

        with self._lock:
            try:
                with contextlib.closing(self._connect()) as connection:
                    connection.execute("BEGIN IMMEDIATE")
                    try:
                        yield connection
                    except BaseException:
                        connection.rollback()
                        raise
                    connection.commit()
            except sqlite3.Error as error:
                raise SetupError(f"{self.path} cannot be used: {error}.") from error

    def _connect(self) -> "sqlite3.Connection":
        import sqlite3

        connection = sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _open(self) -> None:
        """Check the file, or make it; one that is damaged is moved aside."""
        import sqlite3

        self._create()
        try:
            with contextlib.closing(self._connect()) as connection:
                connection.execute("BEGIN IMMEDIATE")
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                if version > VERSION:
                    raise SetupError(
                        f"{self.path} is of a newer version of iac; upgrade, or move it away."
                    )
                for statements in _MIGRATIONS[version:]:
                    for statement in statements.split(";"):
                        connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {VERSION}")
                (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
                connection.commit()
        except sqlite3.OperationalError as error:
            raise SetupError(f"{self.path} cannot be used: {error}.") from error
        except sqlite3.DatabaseError:
            found = "damaged"
        if found != "ok":
            self.path.rename(self.path.with_suffix(f".damaged-{time.time_ns()}"))
            self._create()
            self._open()

    def _create(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        with contextlib.suppress(FileNotFoundError):
            private_file(self.path)
        try:
            os.close(os.open(self.path, flags, 0o600))
        except OSError as error:
            raise SetupError(f"{self.path} cannot be made: {error.strerror}.") from error
