"""Dropping old rows from the front, so that the rest of the chain still verifies."""

import json
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from iac_runtime.audit.chain import verify
from iac_runtime.audit.faults import AuditError, translate
from iac_runtime.audit.reading import dropped_places, rows
from iac_runtime.audit.schema import FILE, connect
from iac_runtime.audit.sessions import live_sessions, open_calls
from iac_runtime.audit.store import Part, append, last_place, transaction
from iac_runtime.errors import SetupError

__all__ = ["Dropped", "drop"]


@dataclass(frozen=True, slots=True)
class Dropped:
    """How many rows went, and the place of the last of them; 0 and 0 for none."""

    rows: int
    through: int


def drop(folder: Path, now: str, *, before: str = "", keep: int | None = None) -> Dropped:
    """Remove rows from the front: those older than a time, or all but the last `keep`.

    A row at the end of the chain then says where the rest begins, and with which hash. Rows from
    the first call on that still runs are kept. What was removed is overwritten in the file.

    Args:
        folder: The state folder.
        now: The time of that row, UTC.
        before: The first row of this time or later is kept, and all after it.
        keep: How many rows are kept at least.

    Raises:
        SetupError: There is no audit, it cannot be written, or its chain does not hold (to drop
            the broken part would hide it).
    """
    path = folder / FILE
    if not path.exists():
        raise SetupError(f"There is no audit in {folder} yet; nothing was dropped.")
    try:
        connection = connect(path)
        try:
            return _drop(connection, folder, now, before, keep)
        finally:
            connection.close()
    except AuditError as error:
        raise SetupError(f"Nothing was dropped ({error.why}). {error.suggestion}") from error
    except sqlite3.Error as error:
        fault = translate(error, path)
        raise SetupError(f"Nothing was dropped ({fault.why}). {fault.suggestion}") from error


def _drop(
    connection: sqlite3.Connection, folder: Path, now: str, before: str, keep: int | None
) -> Dropped:
    connection.execute("PRAGMA secure_delete = ON")
    with transaction(connection, folder / FILE):
        through = _last(connection, folder, before, keep)
        found = connection.execute(
            "SELECT count(*), min(time), max(time) FROM rows WHERE seq <= ?", (through,)
        ).fetchone()
        if not found[0]:
            return Dropped(0, 0)
        verdict = verify(rows(connection), dropped_places(connection), last_place(connection))
        if not verdict.holds:
            raise SetupError(
                f"The chain does not hold ({verdict.faults[0]}), so nothing was dropped;"
                f" keep {folder / FILE} and move it away to begin a new one."
            )
        end = connection.execute("SELECT hash FROM rows WHERE seq = ?", (through,)).fetchone()
        body = {
            "through": through,
            "hash": end[0].hex(),
            "rows": found[0],
            "from": found[1],
            "to": found[2],
            "pid": os.getpid(),
        }
        append(connection, [Part(now, "", 0, "dropped", json.dumps(body, separators=(",", ":")))])
        connection.execute("DELETE FROM rows WHERE seq <= ?", (through,))
    connection.execute("PRAGMA incremental_vacuum").fetchall()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return Dropped(found[0], through)


def _last(connection: sqlite3.Connection, folder: Path, before: str, keep: int | None) -> int:
    """Return the place of the last row to go."""
    last = int(connection.execute("SELECT coalesce(max(seq), 0) FROM rows").fetchone()[0])
    ends = [last]
    if before:
        # By place, not by time alone: a clock that was set back must not tear a hole.
        kept = connection.execute("SELECT min(seq) FROM rows WHERE time >= ?", (before,)).fetchone()
        ends.append(last if kept[0] is None else kept[0] - 1)
    if keep is not None:
        ends.append(last - keep)
    for session in live_sessions(connection, folder):
        ends.extend(seq - 1 for seq, _ in open_calls(connection, session)[:1])
    return max(min(ends), 0)
