"""The database of a team: its schema, what hosts send to it, and what is asked of it.

The schema is plain SQL in numbered files: it is functions, policies and partitions, which no tool
that compares models knows. Whoever owns the database migrates it; a host only calls functions.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, Final, Literal, LiteralString, TypeAlias

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.json import Jsonb

from iac_base.errors import SetupError
from iac_runtime.audit.store import AuditRow

_OPTIONS: Final[dict[str, Any]] = {
    "application_name": "iac-fleet",
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "tcp_user_timeout": 20_000,
    "options": "-c search_path=fleet -c statement_timeout=60s -c lock_timeout=30s",
}
_LOCK: Final = 0x69616346  # "iacF"


@contextmanager
def open_connection(address: str) -> Iterator[psycopg.Connection[Any]]:
    """Give a connection; each statement is a transaction of its own.

    Raises:
        SetupError: The database cannot be reached or does not do what is asked; one line, without
            the password.
    """
    try:
        where = conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        message = "The database's address is wrong. Write it like postgresql://mac@server/fleet."
        raise SetupError(message) from None
    place = f"{where.get('host', 'this machine')}/{where.get('dbname', '')}"
    try:
        with psycopg.connect(address, autocommit=True, **_OPTIONS) as connection:
            yield connection
    except (psycopg.errors.UndefinedFunction, psycopg.errors.UndefinedTable):
        raise SetupError(
            f"The database {place} has no tables yet. Its owner must run: iac-fleet migrate"
        ) from None
    except psycopg.errors.InsufficientPrivilege as error:
        message = f"The database {place} does not allow this: {_first_line(error)}."
        raise SetupError(message) from None
    except psycopg.Error as error:
        raise SetupError(f"The database {place} cannot be used: {_first_line(error)}.") from None


def address_without_user(address: str) -> str:
    """Return an address as others may use it: without the user and the password."""
    parts = conninfo_to_dict(address)
    return make_conninfo("", **{k: v for k, v in parts.items() if k not in ("user", "password")})


def _first_line(error: psycopg.Error) -> str:
    message = error.diag.message_primary or str(error).strip() or type(error).__name__
    return message.splitlines()[0].rstrip(".")


def run_migrations(connection: psycopg.Connection[Any]) -> list[str]:
    """Bring the schema up to date, each step whole or not at all; return the steps that ran."""
    ran = []
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        connection.execute("CREATE SCHEMA IF NOT EXISTS fleet")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS steps (name text PRIMARY KEY, at timestamptz)"
        )
        done = {name for (name,) in connection.execute("SELECT name FROM steps")}
        for file in sorted(files("iac_fleet").iterdir(), key=lambda file: file.name):
            if file.name.endswith(".sql") and file.name not in done:
                connection.execute(file.read_text("utf-8").encode())
                connection.execute("INSERT INTO steps VALUES (%s, now())", (file.name,))
                ran.append(file.name)
    return ran


Duty: TypeAlias = Literal["mac", "reader", "lead"]
"""What a role of the database does: send as a Mac, read, or read, publish and answer."""


def add_team(
    connection: psycopg.Connection[Any],
    team: str,
    role: str,
    duty: Duty = "mac",
    host: str | None = None,
) -> None:
    """Give a role of the database its team and its duty, and take what it had before.

    With `host` a Mac writes under that name alone.
    """
    name = sql.Identifier(role)
    with connection.transaction():
        connection.execute(
            "INSERT INTO teams VALUES (%s, %s, %s)"
            " ON CONFLICT (role) DO UPDATE SET (team, host) = (excluded.team, excluded.host)",
            (role, team, host),
        )
        # An owner may do everything, and would lose that.
        taken = _REVOKES if role != connection.info.user else ()
        for line in (*taken, *_USES, *_GRANTS[duty]):
            connection.execute(sql.SQL(line).format(name))


_REVOKES: Final = (
    "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA fleet FROM {}",
    "REVOKE SELECT ON ALL TABLES IN SCHEMA fleet FROM {}",
)
_USES: Final = ("GRANT USAGE ON SCHEMA fleet TO {}", "GRANT EXECUTE ON FUNCTION my_team TO {}")
_READS: Final = (
    "GRANT SELECT ON hosts, chains, rows, faults, versions, questions, answers, counts TO {}",
    "GRANT EXECUTE ON FUNCTION calls_that TO {}",
)
_GRANTS: Final[dict[Duty, tuple[LiteralString, ...]]] = {
    "mac": (
        "GRANT EXECUTE ON FUNCTION arrive, last_of, tell, shortened, newest, ask TO {}",
        "GRANT EXECUTE ON FUNCTION use_enrolment TO {}",
    ),
    "reader": _READS,
    "lead": (*_READS, "GRANT EXECUTE ON FUNCTION publish, give TO {}"),
}


def send_rows(
    connection: psycopg.Connection[Any],
    host: str,
    store: str,
    rows: Sequence[AuditRow],
    before: bytes | None,
) -> int:
    """Send rows of a chain in order; return the last place that the database has.

    `before` is the hash of the row before them, as this Mac has it. What is there already is passed
    over, so rows may be sent again after an answer was lost.
    """
    # One text, which both sides read in C; seven arrays take the time of twenty.
    given = json.dumps([row._asdict() | {"hash": row.hash.hex()} for row in rows])
    answer = connection.execute(
        "SELECT arrive(%s, %s, %s, %s::json)", (host, store, before, given)
    ).fetchone()
    assert answer is not None
    return int(answer[0])


def last_sent(connection: psycopg.Connection[Any], host: str, store: str) -> int:
    """Return the last place of a chain that the database has; 0 for none."""
    row = connection.execute("SELECT last_of(%s, %s)", (host, store)).fetchone()
    assert row is not None
    return int(row[0])


def report_host(connection: psycopg.Connection[Any], host: str, facts: dict[str, Any]) -> None:
    """Say what a host has: version, apps, tools and levels."""
    connection.execute("SELECT tell(%s, %s)", (host, Jsonb(facts)))


def report_shortened(connection: psycopg.Connection[Any], host: str, store: str, seq: int) -> None:
    """Say that a host's own audit ends at a place before the last that it sent."""
    connection.execute("SELECT shortened(%s, %s, %s)", (host, store, seq))


def list_hosts(connection: psycopg.Connection[Any]) -> list[dict[str, Any]]:
    """Return each host: name, when it was last heard, version, apps, rows and alarms."""
    rows = connection.execute(
        """SELECT h.host, h.seen, h.revoked, h.facts,
            (SELECT coalesce(sum(last_seq), 0) FROM chains c WHERE c.host = h.host) AS sent,
            (SELECT count(*) FROM faults f WHERE f.host = h.host) AS faults
        FROM hosts h ORDER BY h.host"""
    )
    return [
        {
            "host": host,
            "seen": seen,
            "revoked": revoked,
            **_checked_facts(facts),
            "rows": sent,
            "alarms": faults,
        }
        for host, seen, revoked, facts, sent, faults in rows
    ]


def _checked_facts(facts: Any) -> dict[str, Any]:
    """Return what a host says of itself, in the form that it should have: it may say anything."""
    told = facts if isinstance(facts, dict) else {}
    apps, levels, team = (told.get(key) for key in ("apps", "levels", "team"))
    return {
        "version": str(told.get("version", "?"))[:40],
        "team": team if type(team) is int else 0,
        "levels": [
            {key: str(row.get(key, ""))[:300] for key in ("name", "accepted", "here")}
            for row in (levels if isinstance(levels, list) else ())
            if isinstance(row, dict)
        ],
        "apps": [
            {
                "key": str(app.get("key", ""))[:100],
                "levels": str(app.get("levels", ""))[:16],
                "name": str(app.get("name", ""))[:100],
                "tools": {str(k)[:20]: v for k, v in tools.items() if type(v) is int},
            }
            for app in (apps if isinstance(apps, list) else ())
            if isinstance(app, dict) and isinstance(tools := app.get("tools"), dict)
        ],
    }


def find_calls(
    connection: psycopg.Connection[Any], wanted: dict[str, str], limit: int
) -> list[dict[str, Any]]:
    """Return the newest calls of all hosts that fit, newest first.

    `wanted` has keys of host, app, tool, client, level, decision, since, until (UTC, as in a row)
    and text.
    """
    asked = {name: value for name, value in wanted.items() if value}
    if "text" in asked:
        # As a body holds it.
        asked["text"] = json.dumps(asked["text"])[1:-1]
    names = ("host", "time", "client", "app", "tool", "level", "decision", "body")
    rows = connection.execute("SELECT * FROM calls_that(%s, %s)", (Jsonb(asked), limit))
    return [dict(zip(names, row, strict=True)) for row in rows]


def count_by_level(connection: psycopg.Connection[Any], since: str) -> dict[str, dict[str, int]]:
    """Return day -> level -> how many calls of all hosts, from a day on; UTC, as in a row."""
    found: dict[str, dict[str, int]] = {}
    query = "SELECT day, level, sum(calls) FROM counts WHERE day >= %s GROUP BY 1, 2 ORDER BY 1"
    for day, level, number in connection.execute(query, (since[:10],)):
        found.setdefault(str(day), {})[str(level)] = int(number)
    return found
