"""Keeping the audit in order: anchors of its head, and dropping its front.

An anchor is one line of JSON, kept where who can write to the audit cannot. What it fixes, with its
hash, are all rows up to its own; whether the audit still holds them is judged by hashes that were
made anew, whatever the file says of itself.

To drop the front, first a row says how far and with which hash; from then on what it names counts
as gone, though it be still there. Then rows go a slice at a time, with pauses for those who write,
and the file shrinks with each. Where that is cut short, the next drop goes on.
"""

import json
import os
import re
import sqlite3
import subprocess
import syslog
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.errors import SetupError
from iac_base.files import PRIVATE, StateFileError
from iac_base.sqlite import transaction
from iac_base.text import escape_hidden
from iac_runtime.audit.reading import verify_open_chain
from iac_runtime.audit.store import (
    FILE,
    ChainCheck,
    LastDrop,
    UnplacedRow,
    append_rows,
    clear_index,
    extend_index,
    last_drop,
    live_sessions,
    open_calls,
    open_for_upkeep,
    read_forwarded,
    store_id,
    upkeep_rows,
)

COMMAND_SECONDS: Final = 60.0


class Anchor(NamedTuple):
    """The head of the chain at one moment.

    Attributes:
        store: What names the chain for good.
        row, hash, time: The place of the last row, its hash as hexadecimal digits, its time.
    """

    store: str
    row: int
    hash: str
    time: str

    @property
    def json_line(self) -> str:
        """The anchor as it is kept: JSON, without a line end."""
        return json.dumps({"iac_audit_anchor": 1} | self._asdict(), separators=(",", ":"))


# As above; other words of a log may stand before and after it.
_LINE: Final = re.compile(
    r'\{"iac_audit_anchor":1,"store":"([0-9a-f]{32})","row":([1-9][0-9]{0,17}),'
    r'"hash":"([0-9a-f]{64})","time":"([0-9TZ:.-]{1,40})"\}'
)


def append_anchor(folder: Path, now: str) -> Anchor:
    """Return the head of the audit in a state folder: a row `anchored`, appended here.

    By that row a later drop knows which hashes it has to hand on.

    Raises:
        SetupError: There is no audit, or it cannot be written.
    """
    anchored = UnplacedRow(now, "", 0, "anchored", json.dumps({"pid": os.getpid()}))
    try:
        with open_for_upkeep(folder) as connection, transaction(connection):
            append_rows(connection, [anchored])
            row, time, _, head = upkeep_rows(connection, "anchored")[-1]
            return Anchor(store_id(connection), row, head.hex(), time)
    except StateFileError as error:
        raise SetupError(f"No anchor was made ({error.why}). {error.way}") from error


def append_to_file(path: Path, line: str) -> None:
    """Append a line to a file and wait until it is on the disk. Raises OSError."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, PRIVATE)
    with os.fdopen(handle, "wb") as file:
        file.write(f"{line}\n".encode("ascii"))
        file.flush()
        os.fsync(handle)


def send_to_syslog(line: str) -> None:
    """Hand a line to the system's log; whether it is kept, that does not say."""
    syslog.openlog("iac-mcp", syslog.LOG_PID, syslog.LOG_USER)
    syslog.syslog(syslog.LOG_NOTICE, line)


def send_to_command(command: Sequence[str], line: str) -> None:
    """Give a line to a command on its standard input.

    Raises:
        SetupError: It cannot be started, does not end, or ends with another status than 0.
    """
    failed, text = f"The anchor was not stored: {escape_hidden(command[0])}", f"{line}\n".encode()
    pipe, seconds = subprocess.PIPE, COMMAND_SECONDS
    try:
        done = subprocess.run(command, input=text, stderr=pipe, timeout=seconds, check=False)
    except OSError as error:
        raise SetupError(f"{failed} cannot be started ({error.strerror}).") from error
    except subprocess.TimeoutExpired:
        raise SetupError(f"{failed} did not end within {COMMAND_SECONDS:.0f} seconds.") from None
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        why = "".join(f": {escape_hidden(words)}" for words in last)
        raise SetupError(f"{failed} ended with status {done.returncode}{why}")


def read_anchors(path: Path) -> tuple[dict[int, Anchor], int]:
    """Return the anchors of a file by the number of their line, and how many lines hold none.

    Raises:
        SetupError: The file cannot be read, or holds no anchor.
    """
    anchors, others = {}, 0
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for number, text in enumerate(file, 1):
                if match := _LINE.search(text):
                    store, row, head, time = match.groups()
                    anchors[number] = Anchor(store, int(row), head, time)
                else:
                    others += bool(text.strip())
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror}.") from error
    if not anchors:
        raise SetupError(
            f"{path} has no anchor. To write one, run: iac-mcp audit anchor --file PATH"
        )
    return anchors, others


def find_anchor_fault(anchor: Anchor, check: ChainCheck) -> str:
    """Return what an anchor that fails means; empty for one that holds.

    Args:
        anchor: What was kept.
        check: What following the chain found, with the hash of the anchor's place.
    """
    found, drop = check.hashes.get(anchor.row), check.drop
    if found is not None and found.hex() == anchor.hash:
        return ""
    dropped = anchor.row <= drop.through
    if dropped and drop.heads.get(str(anchor.row)) == anchor.hash:
        # The row that says so is in the chain, and every later anchor fixes it too.
        return ""
    if anchor.store != check.store:
        return "the audit log was replaced by another one"
    if anchor.row > check.last:
        return f"the audit log was rolled back: it ends at row {check.last}"
    if dropped:
        return (
            f"the audit log was rolled back and continued; row {drop.seq} then dropped this"
            " part, with no record of this anchor"
        )
    if found is None:
        return "the row is missing"
    return "the audit log was rolled back and continued, or rewritten: the row has another hash"


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
    faults = () if body is None else verify_open_chain(connection).faults
    if faults:
        raise SetupError(
            f"The chain is broken ({faults[0]}), so nothing was dropped. To begin a new log,"
            f" move {folder / FILE} to a safe place."
        )
    connection.execute("COMMIT")
    if body is None:
        return DropResult()
    row = UnplacedRow(now, "", 0, "dropped", json.dumps(body, separators=(",", ":")))
    with transaction(connection):
        if last_drop(connection) != old:
            raise SetupError("Another program is dropping rows; try again later.")
        append_rows(connection, [row])
    return DropResult(body["rows"], through)


def _drop_body(
    connection: sqlite3.Connection, old: LastDrop, through: int
) -> dict[str, Any] | None:
    query = "SELECT count(*), min(time), max(time) FROM rows WHERE seq > ? AND seq <= ?"
    count, first, last = connection.execute(query, (old.through, through)).fetchone()
    if not count:
        return None
    (end,) = connection.execute("SELECT hash FROM rows WHERE seq = ?", (through,)).fetchone()
    anchored = upkeep_rows(connection, "anchored")
    heads = {str(seq): row.hex() for seq, _, _, row in anchored if seq <= through}
    what = {"through": through, "hash": end.hex(), "rows": count, "from": first, "to": last}
    by = {"pid": os.getpid(), "store": store_id(connection)}
    return what | by | {"heads": {**old.heads, **heads}}


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
            clear_index(connection)
        for end in range(first + SLICE - 1, through + SLICE, SLICE):
            with _paused_transaction(connection):
                connection.execute("DELETE FROM rows WHERE seq <= ?", (min(end, through),))
        connection.execute("PRAGMA secure_delete = OFF")
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    more = True
    while more:
        with _paused_transaction(connection):
            more = extend_index(connection)
    connection.execute("PRAGMA auto_vacuum = FULL")
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    return bool(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])


@contextmanager
def _paused_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Hold one transaction, and leave others a moment to write: they look every few."""
    with transaction(connection):
        yield
    time.sleep(PAUSE_SECONDS)
