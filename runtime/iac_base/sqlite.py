"""State in files of SQLite: one way to open them, bring them forward, write to them, mend them.

A file is its owner's alone, is written ahead (WAL), and a writer waits for another's. What is
damaged is set aside under a name with the date, and begun anew; one line in the log says so. A
file of a newer version, or of something else, is refused and left as it is.

Opening holds a lock beside the file: two programs never make, bring forward or set aside the same
one at once, and the second of two that find it damaged takes what the first has begun.
"""

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from iac_base.errors import SetupError
from iac_base.files import PRIVATE, StateFileError, hold_lock, require_private_file

WAIT: Final = 5.0
"""Seconds that a write waits for another program's; each takes milliseconds."""

LARGE: Final = 64 * 1024 * 1024
"""Bytes; checking so much takes a third of a second. A larger file that was closed in order is
checked once it shows damage, not each time that it is opened."""


_MEMORY: Final = ":memory:"


class DatabaseSchema(NamedTuple):
    """What a file holds.

    Attributes:
        migrations: The statements that lead from each version to the next, or a function that
            does; their number is the version.
        application: What the header says that the file is; 0 for nothing.
        durable: Whether a change is on the disk when its transaction ends; else it can be lost
            with the machine, and is never half there.
        vacuum: Whether pages that become free can be given back bit by bit.
    """

    migrations: tuple[tuple[str, ...] | Callable[[sqlite3.Connection], None], ...]
    application: int = 0
    durable: bool = True
    vacuum: bool = False


class _DamagedError(Exception):
    """The file is not what SQLite wrote; its text says what was found."""


def open_database(
    path: Path,
    schema: DatabaseSchema,
    *,
    wait: float = WAIT,
    repair: bool = True,
    suspect: bool = False,
) -> sqlite3.Connection:
    """Open a file to write to it; it is made, or brought to this version, if need be.

    The connection may be handed from thread to thread; statements are transactions of their own.

    Args:
        path: The file; its folder is there.
        schema: What it is to hold.
        wait: Seconds to wait for another program.
        repair: Whether a damaged file is set aside and begun anew; else it is refused.
        suspect: Whether it showed damage before, and is checked however large it is.

    Raises:
        StateFileError: It is no file of this user alone, is of a newer version or of something
            else, is held by another program, or cannot be read or written.
    """
    try:
        with hold_lock(path.with_name(f"{path.name}.lock")):
            try:
                return _open_connection(path, schema, wait, suspect=suspect)
            except (_DamagedError, sqlite3.DatabaseError) as error:
                if not (repair and _is_damage(error)):
                    raise
            set_aside(path)
            return _open_connection(path, schema, wait)
    except (_DamagedError, sqlite3.Error, OSError) as error:
        raise state_file_error(error, path) from error


def _open_connection(
    path: Path, schema: DatabaseSchema, wait: float, *, suspect: bool = False
) -> sqlite3.Connection:
    try:
        size = require_private_file(path).st_size
    except FileNotFoundError:
        size = 0
        # SQLite would follow a link, and make the file as open as the umask lets it. Only what is
        # new is opened here: closing a file takes from this process all locks that SQLite holds
        # on it, and another program then throws away what was written ahead.
        # Source: sqlite.org, "How To Corrupt An SQLite Database File", 2.2.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE))
    else:
        if size == 0:
            # It is made below the lock, with its tables: what is empty now was emptied.
            raise _DamagedError("it is empty")
    suspect = suspect or size <= LARGE or Path(f"{path}-wal").exists()
    connection = sqlite3.connect(path, timeout=wait, isolation_level=None, check_same_thread=False)
    try:
        version = check_version(connection, path, schema)
        if suspect:
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise _DamagedError(verdict)
        if schema.vacuum:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        _enable_write_ahead(connection, wait)
        connection.execute(f"PRAGMA synchronous = {'FULL' if schema.durable else 'NORMAL'}")
        if schema.durable:
            # On a Mac, fsync leaves data in the drive's own memory; elsewhere these do nothing.
            connection.execute("PRAGMA fullfsync = ON")
            connection.execute("PRAGMA checkpoint_fullfsync = ON")
        if version < len(schema.migrations):
            _run_migrations(connection, schema, version)
    except BaseException:
        connection.close()
        raise
    return connection


def _enable_write_ahead(connection: sqlite3.Connection, wait: float) -> None:
    # A reader that looks in at this moment makes it fail at once, without waiting.
    deadline = time.monotonic() + wait
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "BUSY" not in error.sqlite_errorname or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _run_migrations(connection: sqlite3.Connection, schema: DatabaseSchema, version: int) -> None:
    with transaction(connection):
        for migration in schema.migrations[version:]:
            if callable(migration):
                migration(connection)
                continue
            for statement in migration:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {schema.application}")
        connection.execute(f"PRAGMA user_version = {len(schema.migrations)}")


def check_version(connection: sqlite3.Connection, path: Path, schema: DatabaseSchema) -> int:
    """Return the version of a file, 0 for a new one.

    Raises:
        StateFileError: It is newer than `schema`, or something else wrote it.
    """
    # Of one moment: another program may make the tables just now.
    inside = connection.in_transaction
    if not inside:
        connection.execute("BEGIN")
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        tables = connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None
    finally:
        if not inside and connection.in_transaction:
            connection.execute("ROLLBACK")
    if version > len(schema.migrations):
        raise StateFileError(
            path, "a newer version of IAC wrote it", f"Use that version, or move {path} away."
        )
    if version and not tables:
        raise _DamagedError("its tables are gone")
    if tables and (version == 0 or application != schema.application):
        raise StateFileError(
            path, "it contains something that IAC did not write", f"Move {path} away."
        )
    return int(version)


def _is_damage(error: Exception) -> bool:
    name = getattr(error, "sqlite_errorname", "")
    return isinstance(error, _DamagedError) or name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def set_aside(path: Path) -> Path:
    """Move a damaged file away, with what was written ahead for it, and return its new path.

    Raises:
        OSError: It cannot be moved.
    """
    # Loads logging.
    import logging

    from iac_base.logs import LOGGER

    day = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    kept = path.with_name(f"{path.name}.damaged-{day}")
    number = 1
    while kept.exists():
        number += 1
        kept = path.with_name(f"{path.name}.damaged-{day}-{number}")
    path.rename(kept)
    with contextlib.suppress(FileNotFoundError):
        Path(f"{path}-wal").rename(f"{kept}-wal")
    Path(f"{path}-shm").unlink(missing_ok=True)
    logging.getLogger(f"{LOGGER}.state").warning(
        "%s is damaged. IAC keeps it as %s and starts a new one", path, kept.name
    )
    return kept


def list_damaged_files(path: Path) -> list[str]:
    """Return the names of the damaged files that were set aside for `path`, oldest first."""
    files = path.parent.glob(f"{path.name}.damaged-*")
    return sorted(file.name for file in files if not file.name.endswith("-wal"))


def open_to_read(path: Path, schema: DatabaseSchema, *, wait: float = WAIT) -> sqlite3.Connection:
    """Open a file for reading alone.

    Raises:
        FileNotFoundError: It is not there, or has no tables yet.
        StateFileError: It cannot be read, is damaged, newer, or something else.
    """
    if not path.exists():
        raise FileNotFoundError(path)
    address = f"{path.absolute().as_uri()}?mode=ro"
    try:
        connection = sqlite3.connect(address, uri=True, timeout=wait)
        try:
            if check_version(connection, path, schema) == 0:
                # Another program is about to make its tables.
                raise FileNotFoundError(path)
        except BaseException:
            connection.close()
            raise
    except (_DamagedError, sqlite3.Error) as error:
        raise state_file_error(error, path) from error
    return connection


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Hold the right to write; at the end all is done, or, where the block raises, nothing."""
    with contextlib.closing(connection.cursor()) as cursor:
        cursor.execute("BEGIN IMMEDIATE")
        try:
            yield
            cursor.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                cursor.execute("ROLLBACK")
            raise


def _open_in_memory(schema: DatabaseSchema) -> sqlite3.Connection:
    connection = sqlite3.connect(_MEMORY, isolation_level=None, check_same_thread=False)
    _run_migrations(connection, schema, 0)
    return connection


class Database:
    """A file that stays open, and is opened on first need. Safe to share between threads.

    After a failure it is opened anew with the next use, and mended if it is damaged; so is one
    whose file was moved away. Without a path it is in memory, and is gone when it is closed.
    """

    def __init__(self, path: Path | None, schema: DatabaseSchema, *, wait: float = WAIT) -> None:
        self.path = path or Path(_MEMORY)
        self._kept = path is not None
        self._schema = schema
        self._wait = wait
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] = (0, 0)
        self._suspect = False

    @contextlib.contextmanager
    def hold_connection(self) -> Iterator[sqlite3.Connection]:
        """Give the connection, to no other thread meanwhile.

        Raises:
            StateFileError: The file cannot be used.
        """
        with self._lock:
            try:
                yield self._current_connection()
            except (_DamagedError, sqlite3.Error, OSError, UnicodeDecodeError) as error:
                self._drop_connection()
                self._suspect = self._suspect or _is_damage(error)
                raise state_file_error(error, self.path) from error
            except SetupError:
                self._drop_connection()
                raise

    @contextlib.contextmanager
    def begin_transaction(self) -> Iterator[sqlite3.Connection]:
        """Give the connection inside one transaction; what raises undoes it.

        Raises:
            StateFileError: The file cannot be used, or another program has meanwhile brought it
                to a newer version; nothing was changed.
        """
        with self.hold_connection() as connection, transaction(connection):
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version != len(self._schema.migrations):
                check_version(connection, self.path, self._schema)
            yield connection

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._drop_connection()

    def _current_connection(self) -> sqlite3.Connection:
        if not self._kept:
            self._connection = self._connection or _open_in_memory(self._schema)
        elif self._connection is None or not self._is_same_file():
            self._drop_connection()
            self._connection = open_database(
                self.path, self._schema, wait=self._wait, suspect=self._suspect
            )
            self._suspect = False
            status = self.path.stat()
            self._file = (status.st_dev, status.st_ino)
        return self._connection

    def _is_same_file(self) -> bool:
        try:
            status = self.path.stat()
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._file

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


DAMAGED: Final = "it is damaged"
"""Why a file cannot be used that SQLite finds damaged."""

_FAULTS: Final = (
    ("FULL", "the disk is full", "Free some space on the disk of {path}."),
    ("READONLY PERM AUTH", "it is read-only", "Make {path} writable for you."),
    (
        "BUSY LOCKED PROTOCOL",
        "another program is using it",
        "Close the program that is using {path}.",
    ),
    ("CANTOPEN", "it cannot be opened", "Check whether {path} can be opened and written."),
    ("IOERR", "the disk failed", "Check whether the disk of {path} is full or failing."),
    ("CORRUPT NOTADB", DAMAGED, "Move {path} to a safe place; IAC then starts a new one."),
)
"""Names of SQLite's errors, which begin with `SQLITE_` and may have an ending; cause; way out."""


def state_file_error(error: Exception, path: Path) -> StateFileError:
    """Return what a failure of SQLite, or of the file system, means for a file."""
    if isinstance(error, OSError):
        why = (error.strerror or "it cannot be opened").lower()
        return StateFileError(path, why, f"Check {path} and its folder.")
    # A text that is no UTF-8 was written by nobody; Python gives no name for it.
    damaged = isinstance(error, _DamagedError | UnicodeDecodeError)
    damaged = damaged or "decode to UTF-8" in str(error)
    name = "SQLITE_CORRUPT" if damaged else ""
    name = name or getattr(error, "sqlite_errorname", "")
    for names, why, way in _FAULTS:
        if name.removeprefix("SQLITE_").startswith(tuple(names.split())):
            return StateFileError(path, why, way.format(path=path))
    return StateFileError(path, str(error), f"Look at {path}.")
