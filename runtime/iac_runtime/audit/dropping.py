"""Dropping the front of the audit for good, and giving its room back to the file system.

First a row says how far and with which hash; from then on what it names counts as gone, though it
be still there. Then rows go a slice at a time, with pauses for those who write, and the file
shrinks with each. Where that is cut short, the next drop goes on.
"""

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from iac_base.errors import SetupError
from iac_base.files import StateFileError
from iac_base.sqlite import transaction
from iac_runtime.audit import index
from iac_runtime.audit.chain import LastDrop, verify_chain
from iac_runtime.audit.reading import iterate_links
from iac_runtime.audit.store import (
    FILE,
    UnplacedRow,
    append_rows,
    last_drop,
    last_place,
    live_sessions,
    open_calls,
    open_for_upkeep,
    read_forwarded,
    store_id,
    upkeep_rows,
)

SLICE: Final = 5_000
"""Rows that go in one transaction, of about 20 ms."""

PAUSE_SECONDS: Final = 0.01


@dataclass(frozen=True, slots=True)
class DropResult:
    """What was dropped.

    Attributes:
        rows, through: How many rows went, and the place of the last of them; 0 and 0 for none.
        freed: Bytes that the file system has back.
        held: Whether another program still reads what was there; the file shrinks after it.
    """

    rows: int = 0
    through: int = 0
    freed: int = 0
    held: bool = False


def drop_rows(folder: Path, now: str, *, before: str = "", keep: int | None = None) -> DropResult:
    """Remove rows from the front: those older than a time, or all but the last `keep`.

    Rows from the first call on that still runs are kept, and those that another record of a team
    does not have yet. What was removed is overwritten.

    Args:
        folder: The state folder.
        now: The time of the row that tells of it, UTC.
        before: The first row of this time or later is kept, and all after it.
        keep: How many rows are kept at least.

    Raises:
        SetupError: There is no audit, it cannot be written, or its chain does not hold (to drop
            the broken part would hide it).
    """
    path, done = folder / FILE, DropResult()
    size = _disk_size(path)
    try:
        with open_for_upkeep(folder) as connection:
            done = _append_drop_row(connection, folder, now, before, keep)
            held = _remove_dropped_rows(connection)
    except StateFileError as error:
        what, way = "Nothing was dropped", error.way
        if done.rows:
            what, way = "The rows are dropped, but still take up room", f"{way} Then drop again."
        raise SetupError(f"{what} ({error.why}). {way}") from error
    return DropResult(done.rows, done.through, max(size - _disk_size(path), 0), held)


def _disk_size(path: Path) -> int:
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _append_drop_row(
    connection: sqlite3.Connection, folder: Path, now: str, before: str, keep: int | None
) -> DropResult:
    """Append the row that says what is dropped, if anything is."""
    # Looked at as it was at one moment, so that nobody waits while the chain is followed.
    connection.execute("BEGIN")
    old = last_drop(connection)
    through = _last_dropped_place(connection, folder, before, keep)
    body = _drop_body(connection, old, through)
    if body is not None:
        found = verify_chain(
            iterate_links(connection), {old.through: old.hash}, last_place(connection)
        )
        if not found.is_intact:
            raise SetupError(
                f"The chain is broken ({found.faults[0]}), so nothing was dropped. To begin a new"
                f" log, move {folder / FILE} to a safe place."
            )
    connection.execute("COMMIT")
    if body is None:
        return DropResult()
    with transaction(connection):
        if last_drop(connection) != old:
            raise SetupError("Another program is dropping rows; try again later.")
        append_rows(
            connection,
            [UnplacedRow(now, "", 0, "dropped", json.dumps(body, separators=(",", ":")))],
        )
    return DropResult(body["rows"], through)


def _drop_body(
    connection: sqlite3.Connection, old: LastDrop, through: int
) -> dict[str, Any] | None:
    count, first, last = connection.execute(
        "SELECT count(*), min(time), max(time) FROM rows WHERE seq > ? AND seq <= ?",
        (old.through, through),
    ).fetchone()
    if not count:
        return None
    (end,) = connection.execute("SELECT hash FROM rows WHERE seq = ?", (through,)).fetchone()
    anchored = upkeep_rows(connection, "anchored")
    heads = {str(seq): row.hex() for seq, _, _, row in anchored if seq <= through}
    return {
        "through": through,
        "hash": end.hex(),
        "rows": count,
        "from": first,
        "to": last,
        "pid": os.getpid(),
        "store": store_id(connection),
        "heads": {**old.heads, **heads},
    }


def _last_dropped_place(
    connection: sqlite3.Connection, folder: Path, before: str, keep: int | None
) -> int:
    """Return the place of the last row to go."""
    last = int(connection.execute("SELECT coalesce(max(seq), 0) FROM rows").fetchone()[0])
    ends = [last]
    if before:
        # By place, not by time alone: a clock that was set back must not tear a hole.
        kept = connection.execute("SELECT min(seq) FROM rows WHERE time >= ?", (before,)).fetchone()
        ends.append(last if kept[0] is None else kept[0] - 1)
    if keep is not None:
        ends.append(last - keep)
    told = read_forwarded(folder)
    if told is not None:
        ends.append(told[0])
    for session in live_sessions(connection, folder):
        ends.extend(seq - 1 for seq, _ in open_calls(connection, session)[:1])
    return max(min(ends), 0)


def _remove_dropped_rows(connection: sqlite3.Connection) -> bool:
    """Remove what was dropped, and return whether a reader keeps the file from shrinking."""
    through = last_drop(connection).through
    first = connection.execute("SELECT min(seq) FROM rows").fetchone()[0] or 1
    # What a crash undoes here, the next drop does again.
    connection.execute("PRAGMA synchronous = NORMAL")
    # The end of a transaction then moves pages from the end of the file into the gaps and cuts it.
    # Bit by bit (incremental_vacuum), SQLite would seek each page in the list of free ones.
    connection.execute("PRAGMA auto_vacuum = FULL")
    if first <= through:
        connection.execute("PRAGMA secure_delete = ON")
        with _paused_transaction(connection):
            index.clear_index(connection)
        for end in range(first + SLICE - 1, through + SLICE, SLICE):
            with _paused_transaction(connection):
                connection.execute("DELETE FROM rows WHERE seq <= ?", (min(end, through),))
        connection.execute("PRAGMA secure_delete = OFF")
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    more = True
    while more:
        with _paused_transaction(connection):
            more = index.extend_index(connection)
    connection.execute("PRAGMA auto_vacuum = FULL")
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    return bool(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])


@contextmanager
def _paused_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Hold one transaction, and leave others a moment to write: they look every few."""
    with transaction(connection):
        yield
    time.sleep(PAUSE_SECONDS)
