"""The audit's file: tables, the chain of rows, the runs that write to it, a group of rows at once.

Each hash covers its row and the hash before it. Without a key that shows accident and clumsy edits:
a row that was changed, removed or put in. Who can write the file and knows this page can make a new
chain that holds.

Each run holds a lock on a file of its own; the kernel lets go of it when the process ends, however
it ends. That needs no clock and cannot take a new process with an old number for the old one. The
number and the time of the start are kept beside it, for people.

The index of calls is made of the rows and is no part of the record. It is brought forward a batch
at a time while no write waits, so that a durable write does not pay for it.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from iac_base.errors import SetupError, ToolError
from iac_base.files import StateFileError, try_lock
from iac_base.sqlite import (
    Database,
    DatabaseSchema,
    list_damaged_files,
    open_database,
    open_to_read,
    state_file_error,
)

START: Final = bytes(32)
"""The hash before the first row."""

MOST_FAULTS: Final = 100


class AuditRow(NamedTuple):
    """A row of the audit.

    Attributes:
        seq: Its place; places have no gap. Order is by place, never by time.
        time: UTC, ISO 8601 with milliseconds.
        session: The run of a program that the row tells of, 16 hexadecimal digits.
        call: The number of the call in the session; 0 for rows about the session.
        event: `opened`, `intent`, `outcome`, `interrupted`, `lost`, `closed`, `anchored`,
            `dropped` or `replaced` (the chain before this one was damaged, and is kept elsewhere).
        body: JSON on one line, ASCII.
        hash: 32 bytes.
    """

    seq: int
    time: str
    session: str
    call: int
    event: str
    body: str
    hash: bytes


class LastDrop(NamedTuple):
    """What the last row about a drop says; all empty without one.

    Attributes:
        seq, time: The place of that row, and when.
        through, hash: The last row that went.
        store: The id of the store, if the row says it.
        heads: Place -> hash, as hexadecimal digits, of the rows that went and were anchored.
    """

    seq: int = 0
    time: str = ""
    through: int = 0
    hash: bytes = b""
    store: str = ""
    heads: Mapping[str, str] = MappingProxyType({})


NO_DROP: Final = LastDrop()


@dataclass(frozen=True, slots=True)
class ChainCheck:
    """What verifying found: how many rows, from which to which, and one line a fault.

    `hashes` are those of the places that were asked for, `kept` the names of damaged files of an
    earlier chain, as the rows tell; `store` names the chain, and `drop` is the last.
    """

    rows: int
    first: int
    last: int
    faults: tuple[str, ...]
    hashes: Mapping[int, bytes] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    store: str = ""
    drop: LastDrop = NO_DROP

    @property
    def is_intact(self) -> bool:
        """Whether the chain holds."""
        return not self.faults


def hashed_text(seq: int, time: str, session: str, call: int, event: str, body: str) -> bytes:
    """Return what a row's hash covers beside the hash before: a JSON array without spaces."""
    return json.dumps([seq, time, session, call, event, body], separators=(",", ":")).encode()


def row_hash(before: bytes, text: bytes) -> bytes:
    """Return the hash of a row that stands after the hash `before`."""
    return hashlib.sha256(before + text).digest()


def verify_chain(
    links: Iterable[tuple[int, bytes, bytes]],
    dropped: Mapping[int, bytes],
    counter: int,
    places: Collection[int] = (),
) -> ChainCheck:
    """Follow the chain.

    Args:
        links: Of all rows, by place: the place, the text that the hash covers, the hash.
        dropped: Place -> hash of the last row of each part that was dropped from the front, as
            later rows of the chain say.
        counter: The highest place ever given.
        places: Those whose hashes are asked for.
    """
    hashes: dict[int, bytes] = {}
    faults: list[str] = []
    first = last = count = 0
    before: bytes | None = START
    for seq, text, stored in links:
        count += 1
        if count == 1:
            first = seq
            before = START if seq == 1 else dropped.get(seq - 1)
            if before is None:
                faults.append(f"{_row_range(1, seq - 1)} missing, and no row records a drop")
        elif seq != last + 1:
            faults.append(f"{_row_range(last + 1, seq - 1)} missing")
            before = None
        # Where the row before is missing, this one's hash cannot be made again.
        if before is not None and row_hash(before, text) != stored:
            faults.append(f"row {seq} was changed, or the row before it was")
        before, last = stored, seq
        if seq in places:
            hashes[seq] = stored
        if len(faults) >= MOST_FAULTS:
            break
    else:
        if counter > last:
            faults.append(f"{_row_range(last + 1, counter)} missing from the end")
    return ChainCheck(count, first, last, tuple(faults), hashes)


def _row_range(first: int, last: int) -> str:
    return f"row {first} is" if first == last else f"rows {first} to {last} are"


def chain_rows(
    before: bytes, seq: int, parts: Iterable[tuple[str, str, int, str, str]]
) -> Iterator[AuditRow]:
    """Yield rows after the row `seq` with the hash `before`; parts are time to body."""
    for time, session, call, event, body in parts:
        seq += 1
        before = row_hash(before, hashed_text(seq, time, session, call, event, body))
        yield AuditRow(seq, time, session, call, event, body, before)


class AuditError(ToolError):
    """The audit cannot be written, so a call that changes something may not run; none was sent.

    Attributes:
        why: The cause in a few words.
    """

    def __init__(self, why: str, way: str) -> None:
        message = (
            f"The audit log cannot be written ({why})."
            " Until this is fixed, no tool changes anything."
        )
        super().__init__("UNAVAILABLE", message, way, retryable=True)
        self.why = why


FILE: Final = "audit.db"
FORWARDED: Final = "forwarded.json"
"""`{"sent": place, "behind": rows}`: how much another record has, and how much may wait for it."""


BUSY_SECONDS: Final = 5.0
"""How long a write waits for another program's."""

_INDEX_TABLES: Final = (
    # The facts of calls are few sets that come again and again: a call names its set.
    """CREATE TABLE kinds (
        kind INTEGER PRIMARY KEY,
        client TEXT NOT NULL,
        tool TEXT NOT NULL,
        level TEXT NOT NULL,
        apps TEXT NOT NULL,
        UNIQUE (client, tool, level, apps)
    )""",
    "CREATE TABLE calls (seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL, time TEXT NOT NULL)",
    """CREATE VIRTUAL TABLE texts USING
        fts5(body, content='', columnsize=0, detail=none, tokenize='trigram')""",
    """CREATE INDEX rows_of_upkeep ON rows (event, seq)
        WHERE event IN ('anchored', 'dropped', 'replaced')""",
)


BATCH: Final = 500
"""Rows that are indexed in one transaction, of about 25 ms; fewer are left to be read."""


LAG: Final = 5_000
"""Rows that may wait until a busy program stops to index them; reading them takes 30 ms."""


# `apps` are between commas: what the call was made for, and what its effects reach.
SCHEMA: Final = DatabaseSchema(
    migrations=(
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
            # Which sessions may still be open; a help for the next start, no part of the record.
            """CREATE TABLE sessions (
                session TEXT PRIMARY KEY,
                pid INTEGER NOT NULL,
                started TEXT NOT NULL
            ) WITHOUT ROWID""",
        ),
        _INDEX_TABLES,
    ),
    application=0x69616341,  # "iacA"
    vacuum=True,
)


def connect_read(path: Path) -> sqlite3.Connection:
    """Open the file for reading alone.

    Raises:
        FileNotFoundError: It is not there, or is empty yet.
        StateFileError: It cannot be read.
    """
    return open_to_read(path, SCHEMA, wait=BUSY_SECONDS)


def no_audit_error(folder: Path) -> SetupError:
    """Return the error of a state folder that has no audit."""
    return SetupError(f"There is no audit log in {folder} yet; the first call creates it.")


@contextlib.contextmanager
def open_for_upkeep(folder: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection to one who keeps the audit in order, for no run of a program.

    A damaged file is not set aside: whoever drops rows wants them gone, not the rest.

    Raises:
        SetupError: There is no audit.
        StateFileError: It cannot be written.
    """
    path = folder / FILE
    if not path.exists():
        raise no_audit_error(folder)
    connection = open_database(path, SCHEMA, wait=BUSY_SECONDS, repair=False)
    try:
        yield connection
    except sqlite3.Error as error:
        raise state_file_error(error, path) from error
    finally:
        connection.close()


FOLDER: Final = "audit-sessions"


@dataclass(frozen=True, slots=True)
class AuditSession:
    """A run that holds its lock."""

    name: str
    lock: int
    path: Path

    def release_lock(self) -> None:
        """Let go of the lock and remove its file."""
        with contextlib.suppress(OSError):
            self.path.unlink()
        os.close(self.lock)


def begin_session(folder: Path) -> AuditSession:
    """Make the lock of a new run. Raises OSError."""
    locks = folder / FOLDER
    with contextlib.suppress(FileExistsError):
        locks.mkdir(mode=0o700)
    name = secrets.token_hex(8)
    path = locks / name
    lock = try_lock(path)
    assert lock is not None, "nobody else knows the name"
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


def sweep_sessions(connection: sqlite3.Connection, folder: Path) -> Iterator[tuple[str, list[int]]]:
    """Yield each run that is gone, with its calls that have no outcome; its entry is removed.

    To be called inside a write transaction: then two starts never sweep the same run.
    """
    for (name,) in connection.execute("SELECT session FROM sessions").fetchall():
        if not _is_live(folder, name):
            yield name, [call for _, call in open_calls(connection, name)]
            connection.execute("DELETE FROM sessions WHERE session = ?", (name,))
            with contextlib.suppress(OSError):
                (folder / FOLDER / name).unlink()


class UnplacedRow(NamedTuple):
    """A row that has no place yet."""

    time: str
    session: str
    call: int
    event: str
    body: str = "{}"


def read_forwarded(folder: Path) -> tuple[int, int] | None:
    """Return how much another record has, and how many rows may wait for it; None without one.

    Raises:
        AuditError: That cannot be read.
    """
    try:
        told = json.loads((folder / FORWARDED).read_bytes())
        return int(told["sent"]), int(told["behind"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise AuditError(f"{FORWARDED} is damaged", "Run iac-fleet forward --once.") from None


class AuditStore:
    """The file, for one run of a program. Nothing is opened before the first `write`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._database = Database(folder / FILE, SCHEMA, wait=BUSY_SECONDS)
        self._session: AuditSession | None = None
        self._begun_on: sqlite3.Connection | None = None
        # Rows that the index may lack; what an earlier program left is looked at once.
        self._waiting = LAG
        self._last = 0

    def write(self, parts: Sequence[UnplacedRow], now: str) -> None:
        """Add rows in one durable transaction; an empty `session` stands for this run.

        Raises:
            AuditError: Nothing of it was written.
        """
        with self._open_transaction(now) as (connection, run):
            append_rows(connection, (part._replace(session=part.session or run) for part in parts))
            self._last = last_place(connection)
        self._waiting += len(parts)

    def check_forwarded(self) -> None:
        """Raise AuditError where more rows wait for another record than may (`FORWARDED`)."""
        told = read_forwarded(self._folder)
        if told is None:
            return
        if not self._last:
            missing, path = contextlib.suppress(FileNotFoundError), self._folder / FILE
            with missing, contextlib.closing(connect_read(path)) as connection:
                self._last = last_place(connection)
        waiting, most = self._last - told[0], told[1]
        if waiting > most:
            way = "Make the database reachable again; iac-fleet forward then sends them."
            raise AuditError(f"{waiting} rows wait for the team's database", way)

    def extend_index(self, *, idle: bool) -> bool:
        """Bring the index forward by a batch, if it is worth it; return whether more may wait.

        Raises:
            StateFileError: It cannot be; nothing is lost, for the rows themselves are there.
        """
        least = BATCH if idle else LAG
        if self._waiting >= least:
            with self._database.begin_transaction() as connection:
                # Asked of the file, for others write and index too.
                self._waiting = count_unindexed(connection)
                if self._waiting >= least:
                    extend_index(connection)
                    self._waiting -= BATCH
        return self._waiting >= BATCH

    def close(self, now: str) -> None:
        """End the run: calls without an outcome are marked, and its lock goes.

        Raises:
            AuditError: The end could not be written.
        """
        try:
            if self._session is not None:
                with self._open_transaction(now) as (connection, run):
                    calls = [call for _, call in open_calls(connection, run)]
                    append_rows(connection, _closing_rows(run, calls, now))
                    connection.execute("DELETE FROM sessions WHERE session = ?", (run,))
        finally:
            self._database.close()
            if self._session is not None:
                self._session.release_lock()
                self._session = None

    @contextlib.contextmanager
    def _open_transaction(self, now: str) -> Iterator[tuple[sqlite3.Connection, str]]:
        """Give the connection in a transaction, and the run's name, which stands in the file."""
        try:
            with self._database.begin_transaction() as connection:
                session = self._session or begin_session(self._folder)
                self._session = session
                if connection is not self._begun_on:
                    self._record_start(connection, session.name, now)
                yield connection, session.name
            self._begun_on = connection
        except StateFileError as error:
            raise AuditError(error.why, error.way) from error

    def _record_start(self, connection: sqlite3.Connection, run: str, now: str) -> None:
        known = "SELECT 1 FROM sessions WHERE session = ?"
        if connection.execute(known, (run,)).fetchone() is not None:
            return
        parts: list[UnplacedRow] = []
        if last_place(connection) == 0:
            # Asked of the folder: a program that set the file aside may have ended right after.
            for name in list_damaged_files(self._database.path)[-1:]:
                body = json.dumps({"kept": name})
                parts.append(UnplacedRow(now, run, 0, "replaced", body))
        for name, calls in sweep_sessions(connection, self._folder):
            parts += _closing_rows(name, calls, now, '{"by":"the next start"}')
        pid = os.getpid()
        parts.append(UnplacedRow(now, run, 0, "opened", f'{{"pid":{pid}}}'))
        connection.execute("INSERT INTO sessions VALUES (?, ?, ?)", (run, pid, now))
        append_rows(connection, parts)


def append_rows(connection: sqlite3.Connection, parts: Iterable[UnplacedRow]) -> None:
    """Add rows to the chain, inside a transaction."""
    found = connection.execute("SELECT seq, hash FROM rows ORDER BY seq DESC LIMIT 1").fetchone()
    seq, before = found or (0, START)
    # Rows that were cut off at the end leave a gap that verifying finds.
    rows = chain_rows(before, max(seq, last_place(connection)), parts)
    connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def last_place(connection: sqlite3.Connection) -> int:
    """Return the highest place that was ever given."""
    found = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'rows'").fetchone()
    return int(found[0]) if found else 0


def upkeep_rows(connection: sqlite3.Connection, event: str) -> list[tuple[int, str, str, bytes]]:
    """Return (place, time, body, hash) of the rows of an event that keeps the audit in order."""
    return connection.execute(
        # The list is the condition of their index, word for word, or it is not used.
        """SELECT seq, time, body, hash FROM rows
        WHERE event IN ('anchored', 'dropped', 'replaced') AND event = ? ORDER BY seq""",
        (event,),
    ).fetchall()


def last_drop(connection: sqlite3.Connection) -> LastDrop:
    """Return what the last row about a drop says."""
    found = upkeep_rows(connection, "dropped")
    try:
        seq, time, text, _ = found[-1]
        body = json.loads(text)
        through, end = int(body["through"]), bytes.fromhex(body["hash"])
        store, heads = str(body.get("store", "")), dict(body.get("heads", {}))
    except (TypeError, ValueError, LookupError, AttributeError):
        # None; or one that was changed by hand, which verifying finds.
        return NO_DROP
    # What it says of itself, or of rows to come, it cannot mean.
    return LastDrop(seq, time, through, end, store, heads) if 0 < through < seq else NO_DROP


def store_id(connection: sqlite3.Connection) -> str:
    """Return what names this chain for good: the hash of its first row, 32 hexadecimal digits.

    A drop carries it on. In a file that an older version dropped the first row of, it is the hash
    with which the rest began.
    """
    drop = last_drop(connection)
    first = connection.execute("SELECT hash FROM rows WHERE seq = 1").fetchone()
    return drop.store or (first[0] if first else drop.hash).hex()[:32]


def _closing_rows(run: str, calls: Iterable[int], now: str, body: str = "{}") -> list[UnplacedRow]:
    marked = [UnplacedRow(now, run, call, "interrupted") for call in calls]
    return [*marked, UnplacedRow(now, run, 0, "closed", body)]


CALL_FACTS: Final = """
SELECT seq, time,
    lower(coalesce(json_extract(body, '$.client'), '')) AS client,
    coalesce(json_extract(body, '$.tool'), '') AS tool,
    coalesce(json_extract(body, '$.level'), '') AS level,
    ',' || lower(coalesce(json_extract(body, '$.app'), '')) || ',' || coalesce((
        SELECT group_concat(DISTINCT replace(lower(json_extract(value, '$[1]')), ',', ' ')) || ','
        FROM json_each(body, '$.effects')), '') AS apps
FROM rows WHERE event = 'intent' AND json_valid(body) AND seq > {start}"""


_NEW_KINDS: Final = """
INSERT OR IGNORE INTO kinds (client, tool, level, apps)
SELECT DISTINCT client, tool, level, apps FROM ({facts}) WHERE seq <= ?"""


_NEW_CALLS: Final = """
INSERT INTO calls SELECT seq, kind, time
FROM ({facts}) JOIN kinds USING (client, tool, level, apps) WHERE seq <= ?"""


_NEW_TEXTS: Final = """
INSERT INTO texts (rowid, body)
SELECT seq, rows.body FROM calls JOIN rows USING (seq) WHERE seq > ? AND seq <= ?"""


_END: Final = """
SELECT max(seq) FROM (SELECT seq FROM rows WHERE seq > ? AND event = 'intent'
AND json_valid(body) ORDER BY seq LIMIT ?)"""


def last_indexed_place(connection: sqlite3.Connection) -> int:
    """Return the place of the last call that the index holds; 0 in a file that has none yet."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'calls'").fetchone():
        return 0
    return int(connection.execute("SELECT coalesce(max(seq), 0) FROM calls").fetchone()[0])


def count_unindexed(connection: sqlite3.Connection) -> int:
    """Return how many places there are after the last call that the index holds."""
    last = connection.execute("SELECT coalesce(max(seq), 0) FROM rows").fetchone()[0]
    return int(last) - last_indexed_place(connection)


def extend_index(connection: sqlite3.Connection, rows: int = BATCH) -> bool:
    """Index the next calls, inside a transaction; return whether there were any."""
    start = last_indexed_place(connection)
    (end,) = connection.execute(_END, (start, rows // 2)).fetchone()
    if end is None:
        return False
    facts = CALL_FACTS.format(start=start)
    connection.execute(_NEW_KINDS.format(facts=facts), (end,))
    connection.execute(_NEW_CALLS.format(facts=facts), (end,))
    connection.execute(_NEW_TEXTS, (start, end))
    return True


def clear_index(connection: sqlite3.Connection) -> None:
    """Empty the index, inside a transaction: letters of one call cannot be taken out alone."""
    connection.execute("INSERT INTO texts (texts) VALUES ('delete-all')")
    connection.execute("DELETE FROM calls")
    connection.execute("DELETE FROM kinds")
