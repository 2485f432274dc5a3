"""Finding calls without reading them all: by their facts, and by three letters that they hold.

The index is made of the rows and is no part of the record. It is brought forward a batch at a time
while no write waits, so that a durable write does not pay for it; calls that it does not hold yet
are read themselves. It narrows what is read, and each call that is found is looked at itself.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

TABLES: Final = (
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

FEW: Final = 30_000
"""So many calls are read sooner than they are looked up by their letters."""

# `apps` are between commas: what the call was made for, and what its effects reach.
_FACTS: Final = """
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

_KINDS: Final = "SELECT kind FROM kinds WHERE {tests}"

_COUNT: Final = "SELECT count(*), min(seq), max(seq) FROM calls AS call WHERE {tests}"

_FOUND: Final = """
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
    indexed = _last_indexed_place(connection)
    holds = [SqlCondition("instr(lower(intent.body), lower(?))", (text,))] if text else []
    recent = f"({_FACTS.format(start=indexed)}) AS call"
    yield from _select_calls(connection, recent, [*kinds, *times, *holds])
    if not indexed:
        return
    calls, order, tests = "calls AS call", "call.seq", list(times)
    if kinds:
        every = _join_conditions(kinds)
        known = connection.execute(_KINDS.format(tests=every.sql), every.values).fetchall()
        if not known:
            return
        tests.insert(
            0, SqlCondition(f"call.kind IN ({','.join(str(kind) for (kind,) in known)})", ())
        )
    if len(text) >= 3:
        count, ends = indexed, [0, indexed]
        if tests:
            every = _join_conditions(tests)
            found = connection.execute(_COUNT.format(tests=every.sql), every.values)
            count, *ends = found.fetchone()
        if count > FEW:
            calls = "texts CROSS JOIN calls AS call ON call.seq = texts.rowid"
            order = "texts.rowid"
            match = "texts MATCH ? AND texts.rowid BETWEEN ? AND ?"
            tests.insert(0, SqlCondition(match, (_trigram_query(text), *ends)))
    yield from _select_calls(connection, calls, [*tests, *holds], order)


def count_by_day(connection: sqlite3.Connection, since: str) -> Iterator[tuple[str, str, int]]:
    """Yield how many calls there were: day, the apps between commas, number."""
    indexed = _last_indexed_place(connection)
    recent = _FACTS.format(start=indexed)
    statement = _DAYS.format(recent=recent)
    if not indexed:
        statement = statement.partition("UNION ALL")[2]
    yield from connection.execute(statement, {"since": since})


def _select_calls(
    connection: sqlite3.Connection,
    calls: str,
    tests: Sequence[SqlCondition],
    order: str = "call.seq",
) -> Iterator[IndexedCall]:
    every = _join_conditions(tests)
    return connection.execute(
        _FOUND.format(calls=calls, tests=every.sql, order=order), every.values
    )


def _join_conditions(tests: Sequence[SqlCondition]) -> SqlCondition:
    values = tuple(value for test in tests for value in test.values)
    return SqlCondition(" AND ".join(test.sql for test in tests) or "1", values)


def _trigram_query(text: str) -> str:
    """Return what FTS5 looks for: each three letters of a text, one after the other."""
    starts = {*range(0, len(text) - 2, 3), len(text) - 3}
    parts = (text[start : start + 3].replace('"', '""') for start in sorted(starts))
    return " AND ".join(f'"{part}"' for part in parts)


def _last_indexed_place(connection: sqlite3.Connection) -> int:
    """Return the place of the last call that the index holds; 0 in a file that has none yet."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'calls'").fetchone():
        return 0
    return int(connection.execute("SELECT coalesce(max(seq), 0) FROM calls").fetchone()[0])


def count_unindexed(connection: sqlite3.Connection) -> int:
    """Return how many places there are after the last call that the index holds."""
    last = connection.execute("SELECT coalesce(max(seq), 0) FROM rows").fetchone()[0]
    return int(last) - _last_indexed_place(connection)


def extend_index(connection: sqlite3.Connection, rows: int = BATCH) -> bool:
    """Index the next calls, inside a transaction; return whether there were any."""
    start = _last_indexed_place(connection)
    (end,) = connection.execute(_END, (start, rows // 2)).fetchone()
    if end is None:
        return False
    facts = _FACTS.format(start=start)
    connection.execute(_NEW_KINDS.format(facts=facts), (end,))
    connection.execute(_NEW_CALLS.format(facts=facts), (end,))
    connection.execute(_NEW_TEXTS, (start, end))
    return True


def clear_index(connection: sqlite3.Connection) -> None:
    """Empty the index, inside a transaction: letters of one call cannot be taken out alone."""
    connection.execute("INSERT INTO texts (texts) VALUES ('delete-all')")
    connection.execute("DELETE FROM calls")
    connection.execute("DELETE FROM kinds")
