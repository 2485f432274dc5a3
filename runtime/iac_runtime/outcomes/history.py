"""Which writes there were and how each is taken back: a week of them, 50 MB at most.

One SQLite file in the private state folder, shared by all servers of the user. What was done to
simulated apps is kept beside the file of their state as long as that, or else for their process
alone, and is never taken back in a real app.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.files import open_state
from iac_base.secrets import without_secrets
from iac_base.sqlite import Database, DatabaseSchema
from iac_runtime.outcomes.inverse import Inverse, InverseCall, StateToCheck
from iac_runtime.outcomes.outcome import ExpectedValue, Outcome, State

FILE: Final = "history.db"

AGE: Final = 7 * 86_400.0
"""Seconds that a call is kept."""

ROOM: Final = 50_000_000
"""Bytes of the file."""

_SCHEMA: Final = DatabaseSchema(
    (
        (
            """CREATE TABLE calls (
                id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, client TEXT NOT NULL,
                tool TEXT NOT NULL, app TEXT NOT NULL, key TEXT NOT NULL, about TEXT NOT NULL,
                state TEXT NOT NULL, body TEXT NOT NULL, undone INTEGER NOT NULL DEFAULT 0,
                undoes INTEGER NOT NULL DEFAULT 0
            )""",
            "CREATE INDEX calls_at ON calls (at)",
            """CREATE TABLE points (
                name TEXT PRIMARY KEY, at REAL NOT NULL, call INTEGER NOT NULL
            ) WITHOUT ROWID""",
        ),
    ),
    application=0x69616368,
    durable=False,
    vacuum=True,
)


class LaterCheck(NamedTuple):
    """What is looked at when somebody asks again what came of a call.

    Attributes:
        deed: What the call did.
        reference: Its object; empty where it is not known.
        wanted: What its properties should be; none where it should be gone, or there.
    """

    operation: str
    reference: str = ""
    wanted: tuple[ExpectedValue, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptCall:
    """A write that was carried out, or may have been.

    Attributes:
        tool, app, key: The tool on the wire, its app's bundle id, and the key of its tables.
        about: What it did, one line.
        outcome: What came of it, as `Outcome.facts` has it.
        inverse: How it is taken back.
        later: How its outcome is looked at again.
        client: Who called.
        undoes: The call that it takes back; 0 for none.
        at: When, in seconds.
        id: Its number; 0 before it is kept.
        undone: The call that took it back; 0 for none.
    """

    tool: str
    app: str
    key: str
    about: str
    outcome: Outcome
    inverse: Inverse
    later: LaterCheck
    client: str = ""
    undoes: int = 0
    at: float = field(default_factory=time.time)
    id: int = 0
    undone: int = 0

    @property
    def is_undoable(self) -> bool:
        """Whether there is a way to take it back, and nobody has."""
        return bool(self.inverse.steps) and not self.undone

    def facts(self) -> dict[str, Any]:
        """Return it as one JSON object for a person or a model; a copy is shown whole."""
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(self.at))
        row = {"call": self.id, "at": when, "tool": self.tool, "did": self.about}
        row |= {"client": self.client, "outcome": self.outcome.state}
        row |= {"undone_by": self.undone, "undoes": self.undoes, "copy": self.inverse.copy}
        if not self.undone:
            why = self.inverse.says.removeprefix("No: ")
            row["undo"] = "yes" if self.inverse.steps else f"no: {why}"
        return {name: value for name, value in row.items() if value}


class CallSelection(NamedTuple):
    """Which calls are meant; those that take others back only where one is named by its number.

    Attributes:
        call: One, by its number.
        last: So many of the newest.
        since: Those at or after this moment, in seconds.
        after: Those with a greater number: of a restore point.
        client: Only calls of this client.
    """

    call: int = 0
    last: int = 0
    since: float = 0.0
    after: int | None = None
    client: str = ""


class UndoHistory:
    """The file of the history. Safe to share between threads.

    Args:
        folder: Where it lies, asked for when it is needed; None for one that is not kept.
        name: What it is called there.
        age: Seconds that a call is kept.
    """

    def __init__(
        self,
        folder: Callable[[], Path] | None = open_state,
        name: str = FILE,
        age: float = AGE,
    ) -> None:
        self._folder, self._name, self._age = folder, name, age
        self._made: Database | None = None

    @property
    def _database(self) -> Database:
        if self._made is None:
            self._made = Database(self._folder() / self._name if self._folder else None, _SCHEMA)
        return self._made

    def keep_call(self, call: KeptCall) -> int:
        """Keep a call, and make room for it; return its number.

        Raises:
            SetupError: The state folder is not safe, or the file cannot be used.
        """
        held = {
            "outcome": asdict(call.outcome), "inverse": asdict(call.inverse), "later": call.later
        }  # fmt: skip
        body = _redacted_json(held)
        values = (
            *(call.at, call.client, call.tool, call.app, call.key, call.about),
            *(call.outcome.state, body, call.undoes),
        )
        with self._database.begin_transaction() as connection:
            number = connection.execute(
                "INSERT INTO calls (at, client, tool, app, key, about, state, body, undoes)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            ).lastrowid
            if call.undoes:
                connection.execute(
                    "UPDATE calls SET undone = ? WHERE id = ?", (number, call.undoes)
                )
                # What is taken back a second time stands again.
                connection.execute("UPDATE calls SET undone = 0 WHERE undone = ?", (call.undoes,))
            connection.execute("DELETE FROM calls WHERE at < ?", (call.at - self._age,))
            connection.execute("DELETE FROM points WHERE at < ?", (call.at - self._age,))
            if _used_bytes(connection) > ROOM:
                # The oldest quarter, so that room is not made at each call.
                connection.execute(
                    "DELETE FROM calls WHERE id <= (SELECT id FROM calls ORDER BY id LIMIT 1"
                    " OFFSET (SELECT COUNT(*) / 4 FROM calls))"
                )
                connection.execute("PRAGMA incremental_vacuum")
        return int(number or 0)

    def settle_outcome(self, number: int, outcome: Outcome) -> None:
        """Keep what a later look at a call showed. Raises as `keep`."""
        with self._database.begin_transaction() as connection:
            row = connection.execute("SELECT body FROM calls WHERE id = ?", (number,)).fetchone()
            if row is None:
                return
            body = _redacted_json({**json.loads(row[0]), "outcome": asdict(outcome)})
            connection.execute(
                "UPDATE calls SET state = ?, body = ? WHERE id = ?",
                (outcome.state, body, number),
            )

    def find_calls(self, wanted: CallSelection, most: int = 1000) -> list[KeptCall]:
        """Return the calls that are meant, the newest first. Raises as `keep`."""
        rows: Sequence[tuple[str, Any]] = (
            ("at >= ?", max(time.time() - self._age, wanted.since)),
            ("id = ?", wanted.call or None),
            ("id > ?", wanted.after),
            ("client = ?", wanted.client or None),
            ("undoes = ?", None if wanted.call else 0),
        )
        tests = {test: value for test, value in rows if value is not None}
        query = f"SELECT * FROM calls WHERE {' AND '.join(tests)} ORDER BY id DESC LIMIT ?"  # noqa: S608 (constant tests)
        with self._database.hold_connection() as connection:
            found = connection.execute(query, (*tests.values(), wanted.last or most)).fetchall()
        return [_parse_row(row) for row in found]

    def name_point(self, name: str) -> int:
        """Name this moment, in place of an earlier one of the name; return the last call's number.

        Raises as `keep`.
        """
        with self._database.begin_transaction() as connection:
            (last,) = connection.execute("SELECT COALESCE(MAX(id), 0) FROM calls").fetchone()
            connection.execute(
                "INSERT OR REPLACE INTO points VALUES (?, ?, ?)",
                (name, time.time(), last),
            )
        return int(last)

    def restore_points(self) -> dict[str, int]:
        """Return the last call before each restore point, by name. Raises as `keep`."""
        query = "SELECT name, call FROM points WHERE at >= ? ORDER BY at"
        with self._database.hold_connection() as connection:
            rows = connection.execute(query, (time.time() - self._age,)).fetchall()
        return {str(name): int(call) for name, call in rows}

    def close(self) -> None:
        """Close the file."""
        if self._made is not None:
            self._made.close()


def _redacted_json(held: Mapping[str, Any]) -> str:
    """Return what is kept, without what has the shape of a secret."""
    return json.dumps(without_secrets(json.loads(json.dumps(held, default=str))))


def _used_bytes(connection: Any) -> int:
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _parse_row(row: tuple[Any, ...]) -> KeptCall:
    number, at, client, tool, app, key, about, _state, body, undone, undoes = row
    said = json.loads(body)
    steps = tuple(
        InverseCall(
            step[0],
            step[1],
            StateToCheck(step[2][0], step[2][1], _as_pairs(step[2][2]), _as_pairs(step[2][3])),
            step[3],
        )
        for step in said["inverse"]["steps"]
    )
    deed, reference, wanted = said["later"]
    state: State = said["outcome"]["state"]
    return KeptCall(
        *(tool, app, key, about),
        Outcome(**{**said["outcome"], "state": state}),
        Inverse(steps, said["inverse"]["copy"], said["inverse"]["says"]),
        LaterCheck(deed, reference, tuple(ExpectedValue(*row) for row in wanted)),
        *(client, undoes, at, number, undone),
    )


def _as_pairs(rows: Any) -> tuple[tuple[Any, Any], ...]:
    return tuple((name, value) for name, value in rows)
