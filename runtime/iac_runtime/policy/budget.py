"""How often a person may be asked: a flood of questions makes him say yes to be rid of them."""

from typing import TYPE_CHECKING, Final

from iac_runtime.policy.store import Store

if TYPE_CHECKING:
    import sqlite3

__all__ = ["PER_HOUR", "PER_MINUTE", "resume", "stopped", "take"]

PER_MINUTE: Final = 5
PER_HOUR: Final = 30


def take(connection: "sqlite3.Connection", nonce: str, now: float) -> bool:
    """Count one more question, or say that there are too many: then all are denied unasked.

    `now` is the time of day in seconds: only that is shared by processes and outlives them. A
    clock that is set back makes the count stricter, never laxer.
    """
    if _stopped(connection):
        return False
    connection.execute("DELETE FROM questions WHERE asked <= ? - 3600", (now,))
    for seconds, most in ((60, PER_MINUTE), (3600, PER_HOUR)):
        (count,) = connection.execute(
            "SELECT count(*) FROM questions WHERE counted AND asked > ? - ?", (now, seconds)
        ).fetchone()
        if count >= most:
            connection.execute("INSERT INTO stopped VALUES (?)", (now,))
            return False
    connection.execute("INSERT INTO questions VALUES (?, ?, 0, 1)", (nonce, now))
    return True


def _stopped(connection: "sqlite3.Connection") -> bool:
    return connection.execute("SELECT 1 FROM stopped").fetchone() is not None


def stopped(store: Store) -> bool:
    """Say whether questions are denied unasked until a person resumes."""
    with store.change() as connection:
        return _stopped(connection)


def resume(store: Store) -> bool:
    """Let questions be asked again, the count begun anew; say whether they were stopped."""
    with store.change() as connection:
        was = _stopped(connection)
        connection.execute("DELETE FROM stopped")
        connection.execute("UPDATE questions SET counted = 0")
        return was
