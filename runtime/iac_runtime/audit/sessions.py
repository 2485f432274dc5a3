"""Runs of programs that write the audit, and whether one still lives.

Each run holds a lock on a file of its own; the kernel lets go of it when the process ends, however
it ends. That needs no clock and cannot take a new process with an old number for the old one. The
number and the time of the start are kept beside it, for people.
"""

import contextlib
import fcntl
import os
import secrets
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["Session", "begin", "live_sessions", "open_calls", "sweep"]

FOLDER: Final = "audit-sessions"


@dataclass(frozen=True, slots=True)
class Session:
    """A run that holds its lock."""

    name: str
    lock: int
    path: Path

    def end(self) -> None:
        """Let go of the lock and remove its file."""
        with contextlib.suppress(OSError):
            self.path.unlink()
        os.close(self.lock)


def begin(folder: Path) -> Session:
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
    return Session(name, lock, path)


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
