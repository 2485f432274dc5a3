"""The audit's file: tables and version, sessions, and appending a group of rows at once.

Each run holds a lock on a file of its own; the kernel lets go of it when the process ends, however
it ends. That needs no clock and cannot take a new process with an old number for the old one. The
number and the time of the start are kept beside it, for people.
"""

import contextlib
import fcntl
import os
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from iac_runtime.audit.chain import START, chained, newer, no_audit, translate

__all__ = [
    "FILE",
    "MIGRATIONS",
    "AuditSession",
    "AuditStore",
    "Part",
    "append",
    "begin",
    "check_version",
    "connect",
    "connect_read",
    "last_place",
    "live_sessions",
    "open_calls",
    "sweep",
    "transaction",
]

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


FOLDER: Final = "audit-sessions"


@dataclass(frozen=True, slots=True)
class AuditSession:
    """A run that holds its lock."""

    name: str
    lock: int
    path: Path

    def end(self) -> None:
        """Let go of the lock and remove its file."""
        with contextlib.suppress(OSError):
            self.path.unlink()
        os.close(self.lock)


def begin(folder: Path) -> AuditSession:
    """Make the lock of a new run. Raises OSError."""
    locks = folder / FOLDER
    with contextlib.suppress(FileExistsError):
        locks.mkdir(mode=0o700)
    name = secrets.token_hex(8)
    path = locks / name
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    lock = os.open(path, flags, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(lock)
        raise
    return AuditSession(name, lock, path)


def _is_live(folder: Path, session: str) -> bool:
    """Say whether the run still holds its lock."""
    try:
        lock = os.open(folder / FOLDER / session, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        # Rather too long open than declared dead while it works.
        return True
    try:
        # Shared, so that two who look at once do not take each other for the owner.
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def live_sessions(connection: sqlite3.Connection, folder: Path) -> set[str]:
    """Return the runs that are open and live."""
    rows = connection.execute("SELECT session FROM sessions").fetchall()
    return {name for (name,) in rows if _is_live(folder, name)}


def open_calls(connection: sqlite3.Connection, session: str) -> list[tuple[int, int]]:
    """Return (place of the intent, call) of the calls of a run that have no outcome."""
    return connection.execute(
        """SELECT min(seq), call FROM rows AS intent
        WHERE session = ? AND event = 'intent' AND NOT EXISTS (
            SELECT 1 FROM rows WHERE session = intent.session AND call = intent.call
            AND event IN ('outcome', 'interrupted'))
        GROUP BY call ORDER BY 1""",
        (session,),
    ).fetchall()


def sweep(connection: sqlite3.Connection, folder: Path) -> Iterator[tuple[str, list[int]]]:
    """Yield each run that is gone, with its calls that have no outcome; its entry is removed.

    To be called inside a write transaction: then two starts never sweep the same run.
    """
    for (name,) in connection.execute("SELECT session FROM sessions").fetchall():
        if not _is_live(folder, name):
            yield name, [call for _, call in open_calls(connection, name)]
            connection.execute("DELETE FROM sessions WHERE session = ?", (name,))
            with contextlib.suppress(OSError):
                (folder / FOLDER / name).unlink()


class Part(NamedTuple):
    """A row that has no place yet."""

    time: str
    session: str
    call: int
    event: str
    body: str = "{}"


class AuditStore:
    """The file, for one run of a program. Nothing is opened before the first `write`.

    After a failure the connection is given up and made anew with the next write; so is one whose
    file was moved away.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._folder = folder
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] = (0, 0)
        self._session: AuditSession | None = None

    def write(self, parts: Sequence[Part], now: str) -> None:
        """Add rows in one durable transaction; an empty `session` stands for this run.

        Raises:
            AuditError: Nothing of it was written.
        """
        try:
            connection, session = self._open(now)
            with transaction(connection, self.path):
                own = (part._replace(session=part.session or session.name) for part in parts)
                append(connection, own)
        except (sqlite3.Error, OSError) as error:
            self._give_up()
            raise translate(error, self.path) from error
        except BaseException:
            self._give_up()
            raise

    def close(self, now: str) -> None:
        """End the run: calls without an outcome are marked, and its lock goes."""
        try:
            if self._session is not None:
                connection, session = self._open(now)
                with transaction(connection, self.path):
                    append(connection, _ended(connection, session.name, now))
                    connection.execute("DELETE FROM sessions WHERE session = ?", (session.name,))
        except (sqlite3.Error, OSError) as error:
            raise translate(error, self.path) from error
        finally:
            self._give_up()
            if self._session is not None:
                self._session.end()
                self._session = None

    def _open(self, now: str) -> tuple[sqlite3.Connection, AuditSession]:
        if self._connection is not None and self._session is not None and self._same_file():
            return self._connection, self._session
        self._give_up()
        connection = connect(self.path)
        try:
            session = self._begin(connection, now)
            found = self.path.stat()
        except BaseException:
            connection.close()
            raise
        self._connection, self._file = connection, (found.st_dev, found.st_ino)
        return connection, session

    def _begin(self, connection: sqlite3.Connection, now: str) -> AuditSession:
        session = self._session or begin(self._folder)
        self._session = session
        with transaction(connection, self.path):
            known = "SELECT 1 FROM sessions WHERE session = ?"
            if connection.execute(known, (session.name,)).fetchone() is None:
                pid = os.getpid()
                parts = [
                    part
                    for name, calls in sweep(connection, self._folder)
                    for part in _interrupted(name, calls, now)
                ]
                parts.append(Part(now, session.name, 0, "opened", f'{{"pid":{pid}}}'))
                connection.execute(
                    "INSERT INTO sessions VALUES (?, ?, ?)", (session.name, pid, now)
                )
                append(connection, parts)
        return session

    def _same_file(self) -> bool:
        try:
            found = self.path.stat()
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._file

    def _give_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Hold the right to write; at the end all is durable, or nothing was done."""
    with closing(connection.cursor()) as cursor:
        cursor.execute("BEGIN IMMEDIATE")
        try:
            check_version(connection, path)
            yield
            cursor.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                cursor.execute("ROLLBACK")
            raise


def append(connection: sqlite3.Connection, parts: Iterable[Part]) -> None:
    """Add rows to the chain, inside a transaction."""
    found = connection.execute("SELECT seq, hash FROM rows ORDER BY seq DESC LIMIT 1").fetchone()
    seq, before = found or (0, START)
    # Rows that were cut off at the end leave a gap that verifying finds.
    rows = chained(before, max(seq, last_place(connection)), parts)
    connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def last_place(connection: sqlite3.Connection) -> int:
    """Return the highest place that was ever given."""
    found = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'rows'").fetchone()
    return int(found[0]) if found else 0


def _interrupted(session: str, calls: Iterable[int], now: str) -> list[Part]:
    marked = [Part(now, session, call, "interrupted") for call in calls]
    return [*marked, Part(now, session, 0, "closed", '{"by":"the next start"}')]


def _ended(connection: sqlite3.Connection, session: str, now: str) -> list[Part]:
    calls = [call for _, call in open_calls(connection, session)]
    return [
        *(Part(now, session, call, "interrupted") for call in calls),
        Part(now, session, 0, "closed"),
    ]
