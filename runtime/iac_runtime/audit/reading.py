"""Reading the audit: calls with outcomes, rows as they are, whether their chain holds."""

import json
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from iac_base.errors import SetupError
from iac_base.files import StateFileError
from iac_base.sqlite import state_file_error
from iac_runtime.audit.index import SqlCondition, count_by_day, search_calls
from iac_runtime.audit.store import (
    FILE,
    AuditRow,
    ChainCheck,
    connect_read,
    last_drop,
    last_place,
    live_sessions,
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
        raise SetupError(
            f"There is no audit log in {folder} yet; the first call creates it."
        ) from None
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
        for seq, time, session, body, event, outcome in search_calls(
            connection, kinds, times, text
        ):
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
    found: dict[tuple[str, str], int] = {}
    with open_audit_database(folder) as connection:
        for day, apps, number in count_by_day(connection, since):
            app = next(filter(None, apps.split(",")), "")
            found[day, app] = found.get((day, app), 0) + number
    return found


def _parse_outcome(event: str | None, outcome: str | None, *, running: bool) -> dict[str, Any]:
    if event == "outcome" and outcome:
        return dict(json.loads(outcome))
    return {"result": "running" if event is None and running else "interrupted"}


def _build_entry(seq: int, time: str, intent: dict[str, Any], came: dict[str, Any]) -> AuditEntry:
    # An older version wrote no effects; the others are left out where there is nothing to say.
    intent = {"effects": [], "story": "", "asked": [], "simulated": False, **intent}
    return AuditEntry(
        seq,
        time,
        **{name: intent[name] for name in _OF_INTENT},
        result=came["result"],
        ms=came.get("ms"),
        error=came.get("error", ""),
        delay_ms=came.get("delay_ms", 0.0),
    )


def iterate_rows(connection: sqlite3.Connection) -> Iterator[AuditRow]:
    """Yield all rows by place, but for those that were dropped and still take up room."""
    found = connection.execute(
        "SELECT seq, time, session, call, event, body, hash FROM rows WHERE seq > ? ORDER BY seq",
        (last_drop(connection).through,),
    )
    return map(AuditRow._make, found)


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
        drop = last_drop(connection)
        ends = {drop.through: drop.hash}
        found = verify_chain(iterate_links(connection), ends, last_place(connection), places)
        names = tuple(json.loads(row[2])["kept"] for row in upkeep_rows(connection, "replaced"))
        return replace(found, kept=names, store=store_id(connection), drop=drop)


def row_lines(folder: Path) -> Iterator[str]:
    """Yield every row as a line of JSON, ASCII, by place.

    `hash` is the SHA-256 of the hash before (32 zero bytes at first) and the JSON array of `seq`
    to `body` without spaces, where `body` is a text. Raises SetupError.
    """
    with open_audit_database(folder) as connection:
        for row in iterate_rows(connection):
            yield json.dumps(row._asdict() | {"hash": row.hash.hex()}, separators=(",", ":"))
