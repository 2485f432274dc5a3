"""Appending to the file of the audit: one transaction a group, on one connection of one thread."""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from iac_runtime.audit.chain import START, chained
from iac_runtime.audit.faults import translate
from iac_runtime.audit.schema import FILE, check_version, connect
from iac_runtime.audit.sessions import Session, begin, open_calls, sweep

__all__ = ["Part", "Store", "append", "last_place", "transaction"]


class Part(NamedTuple):
    """A row that has no place yet."""

    time: str
    session: str
    call: int
    event: str
    body: str = "{}"


class Store:
    """The file, for one run of a program. Nothing is opened before the first `write`.

    After a failure the connection is given up and made anew with the next write; so is one whose
    file was moved away.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._folder = folder
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] = (0, 0)
        self._session: Session | None = None

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

    def _open(self, now: str) -> tuple[sqlite3.Connection, Session]:
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

    def _begin(self, connection: sqlite3.Connection, now: str) -> Session:
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
