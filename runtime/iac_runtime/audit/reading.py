"""Reading the audit: calls with outcomes, rows as they are, whether their chain holds.

Calls are found by the index, without reading them all: by their facts, and by three letters that
they hold. It narrows what is read, and each call that is found is looked at itself; calls that it
does not hold yet are read themselves.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.errors import SetupError
from iac_base.files import StateFileError
from iac_base.sqlite import state_file_error
from iac_runtime.audit.store import (
    CALL_FACTS,
    FILE,
    AuditRow,
    ChainCheck,
    connect_read,
    last_drop,
    last_indexed_place,
    last_place,
    live_sessions,
    no_audit_error,
    store_id,
    upkeep_rows,
    verify_chain,
)


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """Which calls to find; an empty field asks nothing.

    Attributes:
        text: Occurs in what was written of the intent, in any case.
        app, client, level, result, decision: Exactly this, in any case; of several apps any one,
            those of its effects included.
        tool: A name with `*` and `?`.
        without: A tool whose calls are left out.
        simulated: Only calls of simulated apps, or only others.
        since, until: From this time on, and before that one; UTC as in a row.
        seq: The place of its intent.
        before: Its intent stands before this place.
    """

    text: str = ""
    app: str = ""
    client: str = ""
    tool: str = ""
    level: str = ""
    result: str = ""
    since: str = ""
    until: str = ""
    seq: int = 0
    without: str = ""
    simulated: bool | None = None
    before: int = 0
    decision: str = ""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A call and what came of it; one that was asked about is one, over all its questions.

    Attributes:
        seq: The place of its intent, the last one of a story.
        story: Joins the rows of a call that was asked about; empty where it was not.
        asked: Each way of asking, and what it came back with; nothing while it waits.
        simulated: Whether no app was reached.
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
    effects: list[list[str]]
    story: str
    asked: list[list[str]]
    simulated: bool
    result: str
    ms: float | None
    error: str
    delay_ms: float

    def to_json_object(self) -> dict[str, Any]:
        """Return the entry as one JSON object."""
        return asdict(self)


_OF_INTENT: Final = tuple(row.name for row in fields(AuditEntry))[2:16]
"""What an entry takes from the body of its intent: `client` to `simulated`."""

_OF_OUTCOME: Final = ("result", "ms", "error", "delay_ms")

# Each condition with the field of the query that it takes.
_KINDS: Final = (
    ("app", "instr(apps, ',' || lower(?) || ',')"),
    ("client", "client = lower(?)"),
    ("tool", "tool GLOB ?"),
    ("level", "level = upper(?)"),
    ("without", "tool != ?"),
)
_TIMES: Final = (
    ("seq", "call.seq = ?"),
    ("since", "call.time >= ?"),
    ("until", "call.time < ?"),
    ("before", "call.seq < ?"),
)


@contextmanager
def open_audit_database(folder: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection that reads the audit of a state folder.

    Raises:
        SetupError: There is none, or it cannot be read; one line with the way out.
    """
    path = folder / FILE
    try:
        connection = connect_read(path)
    except FileNotFoundError:
        raise no_audit_error(folder) from None
    except StateFileError as error:
        raise _unreadable_error(error) from error
    try:
        yield connection
    except sqlite3.Error as error:
        raise _unreadable_error(state_file_error(error, path)) from error
    finally:
        connection.close()


def _unreadable_error(error: StateFileError) -> SetupError:
    return SetupError(f"The audit log cannot be read ({error.why}). {error.way}")


def find_calls(folder: Path, query: AuditQuery, limit: int) -> list[AuditEntry]:
    """Return the newest calls that fit, at most `limit`, oldest first. Raises SetupError."""
    kinds, times = (
        [SqlCondition(sql, (getattr(query, name),)) for name, sql in tests if getattr(query, name)]
        for tests in (_KINDS, _TIMES)
    )
    # A body is ASCII: what is not stands in it as an escape.
    text = json.dumps(query.text)[1:-1]
    wanted, decided = query.result.casefold(), query.decision.casefold()
    decision = f'"decision":{json.dumps(decided)}' if decided else ""
    found: list[AuditEntry] = []
    told: set[str] = set()
    with open_audit_database(folder) as connection:
        connection.execute("BEGIN")
        live = live_sessions(connection, folder)
        through = last_drop(connection).through
        for row in search_calls(connection, kinds, times, text):
            seq, time, session, body, event, outcome = row
            if seq <= through:
                break
            # Bodies are ASCII without spaces: what has no such key is not parsed for it.
            if decision and decision not in body:
                continue
            came = _parse_outcome(event, outcome, running=session in live)
            intent = json.loads(body) if '"story":' in body else None
            if intent and intent.get("story"):
                # The last of its rows holds all that was asked before.
                if intent["story"] in told:
                    continue
                told.add(intent["story"])
            if wanted and came["result"].casefold() != wanted:
                continue
            entry = _build_entry(seq, time, intent or json.loads(body), came)
            if decided in ("", entry.decision) and query.simulated in (None, entry.simulated):
                found.append(entry)
            if len(found) >= limit:
                break
    return found[::-1]


def count_calls(folder: Path, since: str) -> dict[tuple[str, str], int]:
    """Return how many calls there were, by day (UTC) and app. Raises SetupError."""
    counts: Counter[tuple[str, str]] = Counter()
    with open_audit_database(folder) as connection:
        for day, apps, number in count_by_day(connection, since):
            counts[day, next(filter(None, apps.split(",")), "")] += number
    return dict(counts)


def _parse_outcome(event: str | None, outcome: str | None, *, running: bool) -> dict[str, Any]:
    if event == "outcome" and outcome:
        return dict(json.loads(outcome))
    return {"result": "running" if event is None and running else "interrupted"}


def _build_entry(seq: int, time: str, intent: dict[str, Any], came: dict[str, Any]) -> AuditEntry:
    # An older version wrote no effects; the others are left out where there is nothing to say.
    intent = {"effects": [], "story": "", "asked": [], "simulated": False, **intent}
    facts = {name: intent[name] for name in _OF_INTENT}
    outcome = {"ms": None, "error": "", "delay_ms": 0.0} | came
    return AuditEntry(seq, time, **facts, **{name: outcome[name] for name in _OF_OUTCOME})


def iterate_rows(connection: sqlite3.Connection) -> Iterator[AuditRow]:
    """Yield all rows by place, but for those that were dropped and still take up room."""
    names = ", ".join(AuditRow._fields)
    query = f"SELECT {names} FROM rows WHERE seq > ? ORDER BY seq"  # noqa: S608 (constants)
    return map(AuditRow._make, connection.execute(query, (last_drop(connection).through,)))


def iterate_links(connection: sqlite3.Connection) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield of the same rows the place, the text that the hash covers, and the hash.

    SQLite writes that text as `hashed_text` does, for rows are ASCII, and in a third of the
    time. Casts let it write what was put there by hand, too.
    """
    return connection.execute(
        """SELECT seq, CAST(json_array(seq, CAST(time AS TEXT), CAST(session AS TEXT), call,
            CAST(event AS TEXT), CAST(body AS TEXT)) AS BLOB), CAST(hash AS BLOB)
        FROM rows WHERE seq > ? ORDER BY seq""",
        (last_drop(connection).through,),
    )


def verify_audit(folder: Path, places: Collection[int] = ()) -> ChainCheck:
    """Follow the chain of the audit in a state folder, and give the hashes of `places`.

    Raises SetupError.
    """
    with open_audit_database(folder) as connection:
        # One snapshot for all: a server may write meanwhile.
        connection.execute("BEGIN")
        check = verify_open_chain(connection, places)
        names = tuple(json.loads(row[2])["kept"] for row in upkeep_rows(connection, "replaced"))
        return replace(check, kept=names, store=store_id(connection))


def verify_open_chain(connection: sqlite3.Connection, places: Collection[int] = ()) -> ChainCheck:
    """Follow the chain of an open audit, inside a transaction."""
    drop = last_drop(connection)
    links, ends = iterate_links(connection), {drop.through: drop.hash}
    return replace(verify_chain(links, ends, last_place(connection), places), drop=drop)


def row_lines(folder: Path) -> Iterator[str]:
    """Yield every row as a line of JSON, ASCII, by place.

    `hash` is the SHA-256 of the hash before (32 zero bytes at first) and the JSON array of `seq`
    to `body` without spaces, where `body` is a text. Raises SetupError.
    """
    with open_audit_database(folder) as connection:
        for row in iterate_rows(connection):
            yield json.dumps(row._asdict() | {"hash": row.hash.hex()}, separators=(",", ":"))


FEW: Final = 30_000
"""So many calls are read sooner than they are looked up by their letters."""


_WANTED_KINDS: Final = "SELECT kind FROM kinds WHERE {tests}"


_COUNT: Final = "SELECT count(*), min(seq), max(seq) FROM calls AS call WHERE {tests}"


_CALLS: Final = """
SELECT intent.seq, intent.time, intent.session, intent.body, outcome.event, outcome.body
FROM {calls} CROSS JOIN rows AS intent ON intent.seq = call.seq
LEFT JOIN rows AS outcome ON outcome.seq = (
    SELECT seq FROM rows WHERE session = intent.session AND call = intent.call
    AND event IN ('outcome', 'interrupted') ORDER BY event DESC LIMIT 1)
WHERE {tests} ORDER BY {order} DESC"""


_DAYS: Final = """
SELECT substr(call.time, 1, 10) AS day, kinds.apps, count(*) FROM calls AS call
JOIN kinds USING (kind) WHERE call.time >= :since GROUP BY day, kind
UNION ALL SELECT substr(time, 1, 10) AS day, apps, count(*) FROM ({recent})
WHERE time >= :since GROUP BY day, apps"""


IndexedCall = tuple[int, str, str, str, str | None, str | None]
"""Place, time, session and body of an intent, event and body of what came of it."""


class SqlCondition(NamedTuple):
    """A condition, and the values that it takes."""

    sql: str
    values: tuple[object, ...]


def search_calls(
    connection: sqlite3.Connection,
    kinds: Sequence[SqlCondition],
    times: Sequence[SqlCondition],
    text: str,
) -> Iterator[IndexedCall]:
    """Yield the calls that fit, newest first.

    Args:
        connection: In a transaction, so that rows and index are of one moment.
        kinds: Conditions on `client`, `tool`, `level` and `apps`, all of which hold.
        times: Conditions on `call.seq` and `call.time`.
        text: Occurs in the body, as it is written there, in any case; empty for any.
    """
    indexed = last_indexed_place(connection)
    holds = [SqlCondition("instr(lower(intent.body), lower(?))", (text,))] if text else []
    recent = f"({CALL_FACTS.format(start=indexed)}) AS call"
    yield from _select_calls(connection, recent, [*kinds, *times, *holds], "call.seq")
    if not indexed:
        return
    calls, order, tests = "calls AS call", "call.seq", list(times)
    if kinds:
        every = _join_conditions(kinds)
        known = connection.execute(_WANTED_KINDS.format(tests=every.sql), every.values).fetchall()
        if not known:
            return
        among = ",".join(str(kind) for (kind,) in known)
        tests.insert(0, SqlCondition(f"call.kind IN ({among})", ()))
    if len(text) >= 3:
        count, ends = indexed, [0, indexed]
        if tests:
            every = _join_conditions(tests)
            rows = connection.execute(_COUNT.format(tests=every.sql), every.values)
            count, *ends = rows.fetchone()
        if count > FEW:
            calls = "texts CROSS JOIN calls AS call ON call.seq = texts.rowid"
            order, match = "texts.rowid", "texts MATCH ? AND texts.rowid BETWEEN ? AND ?"
            tests.insert(0, SqlCondition(match, (_trigram_query(text), *ends)))
    yield from _select_calls(connection, calls, [*tests, *holds], order)


def count_by_day(connection: sqlite3.Connection, since: str) -> Iterator[tuple[str, str, int]]:
    """Yield how many calls there were: day, the apps between commas, number."""
    indexed = last_indexed_place(connection)
    statement = _DAYS.format(recent=CALL_FACTS.format(start=indexed))
    query = statement if indexed else statement.partition("UNION ALL")[2]
    yield from connection.execute(query, {"since": since})


def _select_calls(
    connection: sqlite3.Connection, calls: str, tests: Sequence[SqlCondition], order: str
) -> Iterator[IndexedCall]:
    every = _join_conditions(tests)
    query = _CALLS.format(calls=calls, tests=every.sql, order=order)
    return connection.execute(query, every.values)


def _join_conditions(tests: Sequence[SqlCondition]) -> SqlCondition:
    values = tuple(value for test in tests for value in test.values)
    return SqlCondition(" AND ".join(test.sql for test in tests) or "1", values)


def _trigram_query(text: str) -> str:
    """Return what FTS5 looks for: each three letters of a text, one after the other."""
    starts = {*range(0, len(text) - 2, 3), len(text) - 3}
    parts = (text[start : start + 3].replace('"', '""') for start in sorted(starts))
    return " AND ".join(f'"{part}"' for part in parts)
