"""Questions of a Mac where nobody sits, answered by approvers of the team.

The Mac's own settings name the approvers by their public keys. An answer is signed together with
the text that the approver saw, so the database can neither forge one nor show another question. It
reaches the waiting call as an answer of the page does; "always" is never given from afar.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from iac_base.errors import SetupError
from iac_fleet.settings import FleetSettings
from iac_fleet.versions import is_signed, public_key, record_outcome
from iac_runtime.policy import prompts


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
    for ident, said, approver, signature in connection.execute(
        query, (settings.host, json.dumps(rows))
    ).fetchall():
        row = asked.get(ident)
        if row is None or bytes(signature) in refused:
            continue
        given = FleetQuestion(settings.host, ident, _question_text(row), _remote_answers(row))
        told = {"question": ident, "answer": str(said)[:40], "approver": str(approver)[:44]}
        known = approver in settings.approvers
        if not (known and is_signed(signed_text(given, said), bytes(signature), approver)):
            refused.add(bytes(signature))
            record_outcome(state, told, "refused", "no approver of this Mac signed it")
        elif said in given.answers and prompts.write_answer(state, ident, said):
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
    raise SetupError(f"{host} has no waiting question {ident}. iac-fleet questions lists them.")


def submit_answer(connection: Any, key: Ed25519PrivateKey, seen: FleetQuestion, said: str) -> None:
    """Answer a question as the approver saw it.

    Raises:
        SetupError: It has no such answer.
    """
    if said not in seen.answers:
        raise SetupError(f"Give one of these answers: {', '.join(seen.answers)}.")
    told = (seen.host, seen.id, said, public_key(key), key.sign(signed_text(seen, said)))
    connection.execute("SELECT give(%s, %s, %s, %s, %s)", told)


def _question_text(row: prompts.WaitingQuestion) -> str:
    return f"{row.question.text}\n{row.question.line}"


def _remote_answers(row: prompts.WaitingQuestion) -> tuple[str, ...]:
    return tuple(one for one in row.question.answers if one != prompts.ALWAYS)


def signed_text(asked: FleetQuestion, said: str) -> bytes:
    """Return what the signature of an answer covers."""
    seen = hashlib.sha256(asked.text.encode()).hexdigest()
    return json.dumps(["iac-fleet answer", asked.host, asked.id, seen, said]).encode()
