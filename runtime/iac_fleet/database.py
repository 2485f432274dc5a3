"""The database of a team: its schema, what hosts send to it, and what is asked of it.

The schema is plain SQL in numbered files: it is functions, policies and partitions, which no tool
that compares models knows. Whoever owns the database migrates it; a host only calls functions.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from typing import Any, Final, Literal, LiteralString, NamedTuple, TypeAlias

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
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


class Alarm(NamedTuple):
    """Something that a person must look at: the host, its chain and place, and why."""

    host: str
    store: str
    seq: int
    why: str


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
_READS: Final = "GRANT SELECT ON hosts, chains, rows, faults, versions, questions, answers TO {}"
_GRANTS: Final[dict[Duty, tuple[LiteralString, ...]]] = {
    "mac": ("GRANT EXECUTE ON FUNCTION arrive, last_of, tell, shortened, newest, ask TO {}",),
    "reader": (_READS,),
    "lead": (_READS, "GRANT EXECUTE ON FUNCTION publish, give TO {}"),
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
        """SELECT h.host, h.seen, h.facts,
            (SELECT coalesce(sum(last_seq), 0) FROM chains c WHERE c.host = h.host) AS sent,
            (SELECT count(*) FROM faults f WHERE f.host = h.host) AS faults
        FROM hosts h ORDER BY h.host"""
    )
    return [
        {"host": host, "seen": seen, **_checked_facts(facts), "rows": sent, "alarms": faults}
        for host, seen, facts, sent, faults in rows
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


_FILTERS: Final = {
    "host": "host = %s",
    "app": "app = %s",
    "tool": "tool = %s",
    "client": "client = %s",
    "level": "level = upper(%s)",
    "decision": "decision = %s",
    "since": "time >= %s",
    "until": "time < %s",
    "text": "strpos(lower(body), lower(%s)) > 0",
}


def find_calls(
    connection: psycopg.Connection[Any], wanted: dict[str, str], limit: int
) -> list[dict[str, Any]]:
    """Return the newest calls of all hosts that fit, newest first.

    `wanted` has keys of host, app, tool, client, level, decision, since, until (UTC, as in a row)
    and text.
    """
    tests = [_FILTERS[name] for name, value in wanted.items() if value]
    where = " AND ".join(["event = 'intent'", *tests])
    query = (
        "SELECT host, time, client, app, tool, level, decision, body FROM rows"  # noqa: S608
        f" WHERE {where} ORDER BY time DESC, seq DESC LIMIT %s"
    )
    rows = connection.execute(query.encode(), (*filter(None, wanted.values()), limit))
    names = ("host", "time", "client", "app", "tool", "level", "decision", "body")
    return [dict(zip(names, row, strict=True)) for row in rows]


def count_by_level(connection: psycopg.Connection[Any], since: str) -> dict[str, dict[str, int]]:
    """Return day -> level -> how many calls of all hosts, from a day on; UTC, as in a row."""
    found: dict[str, dict[str, int]] = {}
    query = """SELECT substr(time, 1, 10), level, count(*) FROM rows
        WHERE event = 'intent' AND time >= %s GROUP BY 1, 2 ORDER BY 1"""
    for day, level, number in connection.execute(query, (since,)):
        found.setdefault(str(day), {})[str(level)] = number
    return found


_CHAINS: Final = """WITH RECURSIVE held AS (
    (SELECT host, store FROM rows ORDER BY host, store LIMIT 1)
    UNION ALL
    SELECT next.* FROM held, LATERAL (
        SELECT r.host, r.store FROM rows r WHERE (r.host, r.store) > (held.host, held.store)
        ORDER BY r.host, r.store LIMIT 1
    ) AS next
)
SELECT host, store, coalesce(last_seq, 0) FROM held FULL JOIN chains USING (host, store)
ORDER BY host, store"""

_FOLLOWED: Final = """SELECT count(*), coalesce(max(seq), 0),
    coalesce(json_agg(json_build_array(seq, why) ORDER BY seq) FILTER (WHERE why <> ''), '[]')
FROM (
    SELECT seq, CASE
        WHEN seq <> lag(seq, 1, 0::bigint) OVER w + 1 THEN 'rows are missing before it'
        WHEN sha256(lag(hash, 1, decode(repeat('00', 32), 'hex')) OVER w
            || text_of(seq, time, session, call, event, body)) <> hash
        THEN 'it was changed'
        WHEN next_seal(lag(seal) OVER w, NULL, hash, arrived) IS DISTINCT FROM seal
        THEN 'its time of arrival was changed'
        WHEN (r.app, r.tool, r.client, r.level, r.decision) IS DISTINCT FROM
            (said.app, said.tool, said.client, said.level, said.decision)
        THEN 'what searches look at was changed' END AS why
    FROM rows r LEFT JOIN LATERAL json_to_record(
        CASE WHEN event = 'intent' THEN {} END
    ) AS said(app text, tool text, client text, level text, decision text) ON true
    WHERE host = %s AND store = %s WINDOW w AS (ORDER BY seq)
) AS followed"""


def _follow(connection: psycopg.Connection[Any], host: str, store: str) -> tuple[int, int, Any]:
    """Return how many rows a chain has, the last place, and the places where it is wrong."""
    # A body that no audit wrote makes the quick reading fail, as in `keep`.
    for body in ("body::json", "said_in(body)"):
        with suppress(psycopg.DataError):
            query = _FOLLOWED.replace("{}", body)
            row = connection.execute(query.encode(), (host, store)).fetchone()
            assert row is not None
            count, end, wrong = row
            return count, end, wrong
    raise AssertionError("said_in raises nothing")


def check_chains(connection: psycopg.Connection[Any], silent: float) -> tuple[int, list[Alarm]]:
    """Follow every chain anew; return how many rows there are, and what is wrong.

    A host that was not heard of for `silent` hours is an alarm.
    """
    alarms = [
        Alarm(*row)
        for row in connection.execute("SELECT host, store, seq, why FROM faults ORDER BY 1, 2, 3")
    ]
    total = 0
    # Chain by chain: one question about all rows would run into the time that a statement has.
    for host, store, last in connection.execute(_CHAINS).fetchall():
        count, end, wrong = _follow(connection, host, store)
        total += count
        alarms += [Alarm(host, store, seq, why) for seq, why in wrong]
        if end != last:
            alarms.append(Alarm(host, store, last, f"the rows after {end} are missing"))
    late = connection.execute(
        "SELECT host, '', 0, to_char(seen, '\"no report since\" YYYY-MM-DD HH24:MI')"
        " FROM hosts WHERE seen < now() - make_interval(secs => %s) ORDER BY host",
        (silent * 3600,),
    )
    alarms += [Alarm(*row) for row in late]
    return total, list(dict.fromkeys(alarms))
