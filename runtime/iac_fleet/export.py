"""The record of a team as an auditor takes it: rows as JSON Lines, or calls as OCSF events.

JSON Lines hold each row whole, so that its hash can be reckoned again without the database. OCSF
(Open Cybersecurity Schema Framework 1.3, class 6003, API Activity) is what SIEMs read; a call and
what came of it are one event.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import psycopg

from iac_runtime.version import VERSION

_NAMES: Final = ("host", "store", "seq", "arrived", "time", "session", "call", "event", "body",
                 "hash", "seal")  # fmt: skip
_SEVERITIES: Final = {"SAFE": 1, "MODIFY": 2, "DANGEROUS": 4}
_OPEN_CALLS: Final = 10_000
"""Calls of a chain whose end is awaited; the oldest is given without one."""


def export_rows(
    connection: psycopg.Connection[Any], host: str = "", since: str = "", until: str = ""
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a team, chain by chain in order; times are UTC, as in a row."""
    query = """SELECT host, store, seq, to_char(arrived AT TIME ZONE 'UTC',
            'YYYY-MM-DD HH24:MI:SS.US'), time, session, call, event, body, encode(hash, 'hex'),
            encode(seal, 'hex')
        FROM rows WHERE (%(host)s = '' OR host = %(host)s) AND (%(since)s = '' OR time >= %(since)s)
            AND (%(until)s = '' OR time < %(until)s) ORDER BY host, store, seq"""
    with connection.transaction(), connection.cursor("export", scrollable=False) as cursor:
        cursor.itersize = 2_000
        cursor.execute(query, {"host": host, "since": since, "until": until})
        for row in cursor:
            yield dict(zip(_NAMES, row, strict=True))


def to_ocsf(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a call of each intent, in the order in which calls end."""
    waiting: dict[tuple[str, str, int], dict[str, Any]] = {}
    chain: tuple[str, str] = ("", "")
    for row in rows:
        if chain != (chain := (row["host"], row["store"])):
            yield from (_ocsf_event(one, {}) for one in waiting.values())
            waiting.clear()
        key = (row["store"], row["session"], row["call"])
        if row["event"] == "intent":
            waiting[key] = row
            if len(waiting) > _OPEN_CALLS:
                yield _ocsf_event(waiting.pop(next(iter(waiting))), {})
        elif row["event"] == "outcome" and key in waiting:
            yield _ocsf_event(waiting.pop(key), _said_in(row))
    yield from (_ocsf_event(one, {}) for one in waiting.values())


def _ocsf_event(row: dict[str, Any], outcome: dict[str, Any]) -> dict[str, Any]:
    said, result = _said_in(row), outcome.get("result")
    activity = _activity(said)
    return {
        "category_uid": 6,
        "class_uid": 6003,
        "activity_id": activity,
        "type_uid": 600300 + activity,
        "severity_id": _SEVERITIES.get(str(said.get("level")), 0),
        "time": _milliseconds(row["time"]),
        "duration": outcome.get("ms"),
        "status_id": 0 if result is None else 1 if result == "done" else 2,
        "status_detail": result,
        "actor": {"app_name": said.get("client") or "unknown"},
        "api": {"operation": said.get("tool") or "unknown", "service": {"name": said.get("app")}},
        "src_endpoint": {"hostname": row["host"]},
        "metadata": {
            "version": "1.3.0",
            "product": {"name": "IAC", "version": VERSION},
            "log_name": row["store"],
            "sequence": row["seq"],
            "uid": row["hash"],
            "correlation_uid": f"{row['session']}:{row['call']}",
        },
        "unmapped": {"level": said.get("level"), "decision": said.get("decision")},
        "raw_data": row["body"],
    }


_ACTIVITIES: Final = {"create": 1, "read": 2, "change": 3, "delete": 4}


def _activity(said: dict[str, Any]) -> int:
    """Return 1 to 4 where a call does one such thing, 99 where it does another or many."""
    effects = said.get("effects")
    kinds = {row[0] for row in effects if row} if isinstance(effects, list) else set()
    return _ACTIVITIES.get(str(kinds.pop()), 99) if len(kinds) == 1 else 99


def _milliseconds(time: str) -> int:
    try:
        return int(datetime.fromisoformat(time).timestamp() * 1000)
    except ValueError:
        return 0


def _said_in(row: dict[str, Any]) -> dict[str, Any]:
    """Return what a body says; what no audit wrote says nothing."""
    try:
        said = json.loads(row["body"])
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
