"""How often a person may be asked: a flood of questions makes him say yes to be rid of them.

What counts are questions that he declined, for each client by itself: one that is turned down five
times within ten minutes asks no more for ten minutes. An answer that allows, a question that was
closed or timed out, and a question that failed count nothing; one that allows ends the stop.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from iac_runtime.policy.store import Store

if TYPE_CHECKING:
    import sqlite3

__all__ = ["MOST", "SECONDS", "accepted", "declined", "left", "resume", "stopped"]

MOST: Final = 5
SECONDS: Final = 600.0
"""So many declined questions within so many seconds stop a client, for as long."""

_AGE: Final = (
    "UPDATE declined SET since = :now WHERE since > :now",
    "UPDATE stopped SET since = :now WHERE since > :now",
    "DELETE FROM declined WHERE since <= :old",
    "DELETE FROM stopped WHERE since <= :old",
)


def left(connection: "sqlite3.Connection", client: str, now: float) -> float:
    """Return for how many seconds a client may not ask; 0 if it may.

    `now` is the time of day in seconds: only that is shared by processes and outlives them. A
    stored time that lies ahead is of before the clock was set back, and counts as now: so a stop
    never lasts longer than it should.
    """
    for statement in _AGE:
        connection.execute(statement, {"now": now, "old": now - SECONDS})
    found = connection.execute("SELECT since FROM stopped WHERE client = ?", (client,)).fetchone()
    return 0.0 if found is None else float(found[0]) + SECONDS - now


def declined(connection: "sqlite3.Connection", client: str, now: float) -> None:
    """Count a question of a client that a person declined."""
    left(connection, client, now)
    connection.execute("INSERT INTO declined VALUES (?, ?)", (client, now))
    (count,) = connection.execute(
        "SELECT count(*) FROM declined WHERE client = ?", (client,)
    ).fetchone()
    if count >= MOST:
        connection.execute("DELETE FROM declined WHERE client = ?", (client,))
        connection.execute("INSERT OR REPLACE INTO stopped VALUES (?, ?)", (client, now))


def accepted(connection: "sqlite3.Connection", client: str) -> None:
    """Begin the count of a client anew: a person allowed a call of it."""
    connection.execute("DELETE FROM declined WHERE client = ?", (client,))
    connection.execute("DELETE FROM stopped WHERE client = ?", (client,))


def stopped(store: Store, client: str, now: Callable[[], float] = time.time) -> bool:
    """Say whether the questions of a client are denied unasked."""
    with store.change() as connection:
        return left(connection, client, now()) > 0


def resume(store: Store, now: Callable[[], float] = time.time) -> bool:
    """Let all clients ask again, the counts begun anew; say whether any was stopped."""
    with store.change() as connection:
        left(connection, "", now())
        was = connection.execute("SELECT 1 FROM stopped").fetchone() is not None
        connection.execute("DELETE FROM declined")
        connection.execute("DELETE FROM stopped")
        return was
