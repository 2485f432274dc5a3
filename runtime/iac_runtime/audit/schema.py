"""The file of the audit: its tables, its version, how it is opened."""

import os
import sqlite3
import time
from pathlib import Path
from typing import Final

from iac_runtime.audit.faults import newer, no_audit, translate

__all__ = ["FILE", "MIGRATIONS", "check_version", "connect", "connect_read"]

FILE: Final = "audit.db"
BUSY_SECONDS: Final = 5.0
"""How long a write waits for another program's."""

APPLICATION: Final = 0x69616341
"""What the header of the file says it is ("iacA")."""

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        """CREATE TABLE rows (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            time TEXT NOT NULL,
            session TEXT NOT NULL,
            call INTEGER NOT NULL,
            event TEXT NOT NULL,
            body TEXT NOT NULL,
            hash BLOB NOT NULL
        )""",
        "CREATE INDEX rows_of_call ON rows (session, call)",
        # Which sessions may still be open; a help for the next start, and no part of the record.
        """CREATE TABLE sessions (
            session TEXT PRIMARY KEY,
            pid INTEGER NOT NULL,
            started TEXT NOT NULL
        ) WITHOUT ROWID""",
    ),
)
"""The statements that lead from each version to the next; the version is their number."""


def connect(path: Path) -> sqlite3.Connection:
    """Open the file for writing; it is made, or brought to this version, if need be.

    Raises:
        AuditError: It cannot be opened or written, is newer, or is something else.
    """
    try:
        # SQLite would follow a link and make the file as open as the umask lets it.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    except (sqlite3.Error, OSError) as error:
        raise translate(error, path) from error
    try:
        _prepare(connection, path)
    except sqlite3.Error as error:
        connection.close()
        raise translate(error, path) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    _version(connection, path)
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    _write_ahead(connection)
    connection.execute("PRAGMA synchronous = FULL")
    # On a Mac, fsync leaves data in the drive's own memory; elsewhere these do nothing.
    connection.execute("PRAGMA fullfsync = ON")
    connection.execute("PRAGMA checkpoint_fullfsync = ON")
    if _version(connection, path) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statements in MIGRATIONS[_version(connection, path) :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _write_ahead(connection: sqlite3.Connection) -> None:
    # Two programs that do this at once: one is told "busy" without waiting.
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "BUSY" not in error.sqlite_errorname or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that another program has meanwhile brought to a newer version."""
    _version(connection, path)


def _version(connection: sqlite3.Connection, path: Path) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > len(MIGRATIONS):
        raise newer(path)
    if version == 0 and connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        raise no_audit(path)
    if version and connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise no_audit(path)
    return version


def connect_read(path: Path) -> sqlite3.Connection:
    """Open the file for reading alone.

    Raises:
        FileNotFoundError: It is not there, or is empty yet.
        AuditError: It cannot be opened, is newer, or is something else.
    """
    if not path.exists():
        raise FileNotFoundError(path)
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS
        )
        try:
            if _version(connection, path) == 0:
                # Another program is about to make its tables.
                raise FileNotFoundError(path)
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise translate(error, path) from error
    return connection
