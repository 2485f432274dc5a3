"""Reading the audit: calls with outcomes, rows as they are; exporting them, dropping old ones."""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from iac_base.errors import SetupError
from iac_base.files import StateFileError
from iac_base.sqlite import explain, open_database, transaction
from iac_runtime.audit.chain import AuditRow, ChainCheck, verify
from iac_runtime.audit.store import (
    BUSY_SECONDS,
    FILE,
    SCHEMA,
    Part,
    append,
    connect_read,
    last_place,
    live_sessions,
    open_calls,
)


@dataclass(frozen=True, slots=True)
class Query:
    """Which calls to find; an empty field asks nothing.

    Attributes:
        text: Occurs in what was written of the intent, in any case.
        app, client, level, result: Exactly this, in any case; of several apps any one.
        tool: A name with `*` and `?`.
        without: A tool whose calls are left out.
        since, until: From this time on, and before that one; UTC as in a row.
    """

    text: str = ""
    app: str = ""
    client: str = ""
    tool: str = ""
    level: str = ""
    result: str = ""
    since: str = ""
    until: str = ""
    without: str = ""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A call and what came of it.

    Attributes:
        seq: The place of its intent.
        result: As in the outcome; `interrupted` without one, `running` while its program lives.
        ms: Milliseconds from the intent to the answer, if one came.
    """

    seq: int
    time: str
    client: str
    app: str
    tool: str
    level: str
    reasons: list[str]
    decision: str
    source: str
    arguments: Any
    digest: str
    line: str
    result: str
    ms: float | None
    error: str
    delay_ms: float

    def facts(self) -> dict[str, Any]:
        """Return the entry as one JSON object."""
        return asdict(self)


_OF_INTENT: Final = tuple(row.name for row in fields(AuditEntry))[2:12]
"""What an entry takes from the body of its intent: `client` to `line`."""

_ENTRIES = """
SELECT intent.seq, intent.time, intent.session, intent.body, outcome.event, outcome.body
FROM rows AS intent LEFT JOIN rows AS outcome ON outcome.seq = (
    SELECT seq FROM rows WHERE session = intent.session AND call = intent.call
    AND event IN ('outcome', 'interrupted') ORDER BY event DESC LIMIT 1)
WHERE intent.event = 'intent'"""

# Each condition with the field of the query that it takes.
_CONDITIONS = (
    ("text", "instr(lower(intent.body), lower(?))"),
    (
        "app",
        "0 < instr(',' || lower(json_extract(intent.body, '$.app')) || ',',"
        " ',' || lower(?) || ',')",
    ),
    ("client", "lower(json_extract(intent.body, '$.client')) = lower(?)"),
    ("tool", "json_extract(intent.body, '$.tool') GLOB ?"),
    ("level", "json_extract(intent.body, '$.level') = upper(?)"),
    ("since", "intent.time >= ?"),
    ("until", "intent.time < ?"),
    ("without", "json_extract(intent.body, '$.tool') != ?"),
)


@contextmanager
def opened(folder: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection that reads the audit of a state folder.

    Raises:
        SetupError: There is none, or it cannot be read; one line with the way out.
    """
    path = folder / FILE
    try:
        connection = connect_read(path)
    except FileNotFoundError:
        raise SetupError(f"There is no audit in {folder} yet; the first call begins it.") from None
    except StateFileError as error:
        raise _unreadable(error) from error
    try:
        yield connection
    except sqlite3.Error as error:
        raise _unreadable(explain(error, path)) from error
    finally:
        connection.close()


def _unreadable(error: StateFileError) -> SetupError:
    return SetupError(f"The audit cannot be read ({error.why}). {error.way}")


def find(folder: Path, query: Query, limit: int) -> list[AuditEntry]:
    """Return the newest calls that fit, at most `limit`, oldest first. Raises SetupError."""
    wanted = [(test, getattr(query, name)) for name, test in _CONDITIONS if getattr(query, name)]
    sql = _ENTRIES + "".join(f" AND {test}" for test, _ in wanted) + " ORDER BY intent.seq DESC"
    values = [
        # A body is ASCII: what is not stands in it as an escape.
        json.dumps(value)[1:-1] if test.startswith("instr") else value
        for test, value in wanted
    ]
    found: list[AuditEntry] = []
    with opened(folder) as connection:
        live = live_sessions(connection, folder)
        for seq, time, session, body, event, outcome in connection.execute(sql, values):
            entry = _entry(seq, time, body, event, outcome, running=session in live)
            if query.result and entry.result.casefold() != query.result.casefold():
                continue
            found.append(entry)
            if len(found) >= limit:
                break
    return found[::-1]


def _entry(
    seq: int, time: str, body: str, event: str | None, outcome: str | None, *, running: bool
) -> AuditEntry:
    came: dict[str, Any] = {"result": "running" if event is None and running else "interrupted"}
    if event == "outcome" and outcome:
        came = json.loads(outcome)
    intent = json.loads(body)
    return AuditEntry(
        seq,
        time,
        **{name: intent[name] for name in _OF_INTENT},
        result=came["result"],
        ms=came.get("ms"),
        error=came.get("error", ""),
        delay_ms=came.get("delay_ms", 0.0),
    )


def rows(connection: sqlite3.Connection) -> Iterator[AuditRow]:
    """Yield all rows by place."""
    found = connection.execute(
        "SELECT seq, time, session, call, event, body, hash FROM rows ORDER BY seq"
    )
    return map(AuditRow._make, found)


def dropped_places(connection: sqlite3.Connection) -> dict[int, bytes]:
    """Return the ends of the parts that were dropped, as the rows about it say."""
    found = connection.execute("SELECT body FROM rows WHERE event = 'dropped'")
    bodies = (json.loads(body) for (body,) in found)
    return {body["through"]: bytes.fromhex(body["hash"]) for body in bodies}


def verified(folder: Path) -> ChainCheck:
    """Follow the chain of the audit in a state folder. Raises SetupError."""
    with opened(folder) as connection:
        # One snapshot for the three reads: a server may write meanwhile.
        connection.execute("BEGIN")
        found = verify(rows(connection), dropped_places(connection), last_place(connection))
        kept = connection.execute("SELECT body FROM rows WHERE event = 'replaced' ORDER BY seq")
        return replace(found, kept=tuple(json.loads(body)["kept"] for (body,) in kept))


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
        # A damaged file is not set aside here: whoever drops rows wants them gone, not the rest.
        connection = open_database(path, SCHEMA, wait=BUSY_SECONDS, repair=False)
        try:
            return _drop(connection, folder, now, before, keep)
        except sqlite3.Error as error:
            raise explain(error, path) from error
        finally:
            connection.close()
    except StateFileError as error:
        raise SetupError(f"Nothing was dropped ({error.why}). {error.way}") from error


def _drop(
    connection: sqlite3.Connection, folder: Path, now: str, before: str, keep: int | None
) -> Dropped:
    connection.execute("PRAGMA secure_delete = ON")
    with transaction(connection):
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


def row_lines(folder: Path) -> Iterator[str]:
    """Yield every row as a line of JSON, ASCII, by place.

    `hash` is the SHA-256 of the hash before (32 zero bytes at first) and the JSON array of `seq`
    to `body` without spaces, where `body` is a text. Raises SetupError.
    """
    with opened(folder) as connection:
        for row in rows(connection):
            yield json.dumps(row._asdict() | {"hash": row.hash.hex()}, separators=(",", ":"))
