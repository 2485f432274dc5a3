"""What a Mac sends to the team's database: the rows of its audit, and questions to approvers.

What the Mac's own audit has goes there in order, once. The database says what it has, so nothing is
kept here that could be wrong: after an outage, a lost answer or an older database the rows after
its last are sent again, and it passes over what it has.

Questions of a Mac where nobody sits are answered by approvers of the team. The Mac's own settings
name them by their public keys. An answer is signed together with the text that the approver saw, so
the database can neither forge one nor show another question. It reaches the waiting call as an
answer of the page does; "always" is never given from afar.
"""

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from iac_base.errors import SetupError
from iac_base.files import write_whole
from iac_fleet import database
from iac_fleet.versions import FleetSettings, adopt_version, is_signed, public_key, record_outcome
from iac_runtime.audit.reading import open_audit_database
from iac_runtime.audit.store import (
    FILE,
    FORWARDED,
    AuditRow,
    last_drop,
    last_place,
    read_forwarded,
    store_id,
)
from iac_runtime.policy import prompts
from iac_runtime.policy.prompts import close_page


class FleetQuestion(NamedTuple):
    """A question that waits for an approver: the host, its id there, what it says, its answers."""

    host: str
    id: str
    text: str
    answers: tuple[str, ...]


def sync_questions(
    connection: Any, settings: FleetSettings, state: Path, refused: set[bytes]
) -> None:
    """Show the team what waits on this Mac, and take over what its approvers answered.

    An answer that no approver of this Mac signed is refused and written into the audit, once:
    `refused` keeps the signatures of those.
    """
    if not settings.approvers:
        return
    if not prompts.is_page_open():
        prompts.open_page(state)
    asked = {row.id: row for row in prompts.read_waiting_questions(state)}
    rows = [
        {"id": row.id, "text": _question_text(row), "answers": _remote_answers(row)}
        for row in asked.values()
    ]
    query = "SELECT id, answer, approver, signature FROM ask(%s, %s::json)"
    for ident, answer, approver, signature in connection.execute(
        query, (settings.host, json.dumps(rows))
    ).fetchall():
        row = asked.get(ident)
        if row is None or bytes(signature) in refused:
            continue
        given = FleetQuestion(settings.host, ident, _question_text(row), _remote_answers(row))
        told = {"question": ident, "answer": str(answer)[:40], "approver": str(approver)[:44]}
        known = approver in settings.approvers
        if not (known and is_signed(signed_text(given, answer), bytes(signature), approver)):
            refused.add(bytes(signature))
            record_outcome(state, told, "refused", "no approver of this Mac signed it")
        elif answer in given.answers and prompts.write_answer(state, ident, answer):
            record_outcome(state, told, "done", "an approver of the team answered")


def waiting_questions(connection: Any) -> list[FleetQuestion]:
    """Return the questions of the team's Macs that wait, the oldest first."""
    rows = connection.execute("SELECT host, id, text, answers FROM questions ORDER BY since")
    return [FleetQuestion(host, ident, text, tuple(answers)) for host, ident, text, answers in rows]


def find_question(connection: Any, host: str, ident: str) -> FleetQuestion:
    """Return a question that waits. Raises SetupError."""
    for row in waiting_questions(connection):
        if (row.host, row.id) == (host, ident):
            return row
    raise SetupError(
        f"{host} has no waiting approval prompt {ident}. iac-fleet questions lists them."
    )


def submit_answer(connection: Any, key: Ed25519PrivateKey, seen: FleetQuestion, reply: str) -> None:
    """Answer a question as the approver saw it.

    Raises:
        SetupError: It has no such answer.
    """
    if reply not in seen.answers:
        raise SetupError(f"Give one of these answers: {', '.join(seen.answers)}.")
    told = (seen.host, seen.id, reply, public_key(key), key.sign(signed_text(seen, reply)))
    connection.execute("SELECT give(%s, %s, %s, %s, %s)", told)


def _question_text(row: prompts.WaitingQuestion) -> str:
    return f"{row.question.text}\n{row.question.line}"


def _remote_answers(row: prompts.WaitingQuestion) -> tuple[str, ...]:
    return tuple(one for one in row.question.answers if one != prompts.ALWAYS)


def signed_text(asked: FleetQuestion, answer: str) -> bytes:
    """Return what the signature of an answer covers."""
    seen = hashlib.sha256(asked.text.encode()).hexdigest()
    return json.dumps(["iac-fleet answer", asked.host, asked.id, seen, answer]).encode()


BATCH: Final = 1_000
"""Rows of one transaction."""

PAUSE: Final = 2.0
"""Seconds between two looks at the audit."""

LONGEST: Final = 60.0
"""Seconds until the next try, at most, after the database was not there."""

_TELLING: Final = 3600.0
"""Seconds after which a host says anew what it has; that it is there, it says with each look."""


class ForwardResult(NamedTuple):
    """What was done: rows sent, the last place that the database has, rows that wait."""

    sent: int
    last: int
    waiting: int


def forward_once(settings: FleetSettings, state: Path, connection: Any) -> ForwardResult:
    """Send what the database does not have yet.

    Raises:
        SetupError: The audit is gone, or the database does not take the rows.
    """
    if not (state / FILE).exists() and not (read_forwarded(state) or (0,))[0]:
        return ForwardResult(0, 0, 0)  # No call was made here yet.
    sent = 0
    with open_audit_database(state) as audit:
        store = store_id(audit)
        last = database.last_sent(connection, settings.host, store)
        end = last_place(audit)
        if end < last:
            database.report_shortened(connection, settings.host, store, end)
        while last < end:
            rows_after = audit.execute(
                "SELECT seq, time, session, call, event, body, hash FROM rows"
                " WHERE seq >= ? AND seq > ? ORDER BY seq LIMIT ?",
                (last, last_drop(audit).through, BATCH + 1),
            )
            rows = [AuditRow._make(row) for row in rows_after]
            before = rows[0].hash if rows and rows[0].seq == last else None
            rows = rows[1:] if before is not None else rows
            if not rows:
                break
            last = database.send_rows(connection, settings.host, store, rows[:BATCH], before)
            sent += len(rows[:BATCH])
            save_progress(state, settings, last)
        end = last_place(audit)
    save_progress(state, settings, last)
    return ForwardResult(sent, last, max(end - last, 0))


def save_progress(state: Path, settings: FleetSettings, last: int) -> None:
    """Say how much the database has: writes stop where too much waits, and drops keep the rest."""
    write_whole(
        state / FORWARDED, json.dumps({"sent": last, "behind": settings.behind}), mode=0o600
    )


def run_forwarder(
    settings: FleetSettings,
    state: Path,
    facts: Callable[[], dict[str, Any]],
    tell: Callable[[str], None],
    ended: Callable[[float], bool],
) -> None:
    """Send until `ended(seconds)`, which waits that long, says so; an outage is told once.

    Args:
        facts: Returns what this host says of itself.
        tell: Is given lines for a person.
    """
    try:
        _forward_rows(settings, state, facts, tell, ended)
    finally:
        close_page(state)


def _forward_rows(
    settings: FleetSettings,
    state: Path,
    facts: Callable[[], dict[str, Any]],
    tell: Callable[[str], None],
    ended: Callable[[float], bool],
) -> None:
    wait, out = PAUSE, False
    refused: set[bytes] = set()
    while True:
        try:
            with database.open_connection(settings.database) as connection:
                told = -_TELLING
                while True:
                    if time.monotonic() - told >= _TELLING:
                        database.report_host(connection, settings.host, facts())
                        told = time.monotonic()
                    done = forward_once(settings, state, connection)
                    sync_questions(connection, settings, state, refused)
                    if news := adopt_version(connection, settings, state):
                        tell(news)
                        told = -_TELLING
                    if out:
                        tell("The database can be reached again.")
                    wait, out = PAUSE, False
                    if ended(0.0 if done.waiting else PAUSE):
                        return
        except SetupError as error:
            if not out:
                tell(f"{error} Rows of the audit log stay on this Mac until they can be sent.")
            out = True
        wait = min(wait * 2, LONGEST)
        if ended(wait):
            return


def host_facts(catalogue: Any, version: str) -> dict[str, Any]:
    """Return what a host says of itself: `{"version", "apps": [{"key", "tools", "levels"}]}`.

    `levels` of an app changes with the level or ceiling of any tool.
    """
    from iac_runtime.gate.planning import list_apps

    told = {"version": version, **list_apps(catalogue, "DANGEROUS")}
    for app in told["apps"]:
        tools = (row for row in catalogue.tools.items() if row[1].app.key == app["key"])
        own = sorted((name, tool.level, tool.ceiling) for name, tool in tools)
        app["levels"] = hashlib.sha256(json.dumps(own).encode()).hexdigest()[:16]
    return told
