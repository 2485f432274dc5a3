"""Approvals: sealed tokens of questions, answers that are remembered, how often a person is asked.

The file is a SQLite file of the state folder. Every change is one transaction that takes the write
lock first, so two processes lose nothing. A file that is damaged is set aside and a new one begun:
then nothing is remembered, and all is asked again. Seals are HMAC-SHA256 (RFC 2104) over fields
with their lengths, so that no two rows of fields give the same bytes. Whoever can read the key can
forge approvals: it lies in the state folder, mode 0600.

What counts are questions that a person declined, or saw and left alone, for each client by
itself: after five within ten minutes it asks no more for ten minutes. One that a client closed,
failed at, never answered, or declined before anybody could read it counts nothing, for nobody may
have seen it; a yes ends the stop. Which clients do the last is kept for a week, or until a person
answers there.

A token travels through the client (the `requestState` of MCP 2026-07-28), which is not trusted:
it is sealed, it expires, and it works once, in whichever process of the same state folder.

What is remembered is what a call would do (`decide.ApprovalScope`), by whatever tool. A row is void
when the tools of the app were built anew, by tools.lock, and when its seal does not fit: then it is
asked again. A seal does not show that a revoked row was brought back: who can write there can read
the key.
"""

import base64
import contextlib
import hashlib
import hmac
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.errors import SetupError
from iac_base.files import hold_lock, open_state, read_bounded, require_private_file, write_whole
from iac_base.secrets import without_secrets
from iac_base.sqlite import Database, DatabaseSchema
from iac_base.text import escape_hidden
from iac_runtime.policy.decide import find_approval_scope
from iac_runtime.policy.facts import ACCEPTED, Approver, CallFacts, Decision, Verdict, call_digest
from iac_runtime.policy.prompts import LIFETIME
from iac_runtime.tool import Level

KEY_FILE: Final = "approvals.key"
_KEY_SIZE: Final = 32


def load_key(folder: Path) -> bytes:
    """Return the key of a state folder (32 bytes); it is made on first need.

    Two processes that make it at once get the same one.

    Raises:
        SetupError: The file is a link, is open to others or another user's, or is damaged.
    """
    path = folder / KEY_FILE
    with contextlib.suppress(FileNotFoundError):
        return _read_key(path)
    try:
        with hold_lock(path.with_name(f"{KEY_FILE}.lock")):
            if not os.path.lexists(path):
                write_whole(path, secrets.token_bytes(_KEY_SIZE), sync=True)
    except OSError as error:
        raise SetupError(f"{path} cannot be made: {error.strerror}.") from error
    return _read_key(path)


def _read_key(path: Path) -> bytes:
    if require_private_file(path).st_size != _KEY_SIZE:
        raise SetupError(f"{path} is damaged; remove it, and give your approvals again.")
    try:
        return read_bounded(path, _KEY_SIZE, follow=False)[0]
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror}.") from error


def seal_fields(key: bytes, purpose: str, fields: Iterable[str]) -> str:
    """Return the MAC (hex) of some fields for a purpose; order and borders count."""
    parts = [text.encode(errors="surrogatepass") for text in (purpose, *fields)]
    body = b"".join(len(part).to_bytes(8) + part for part in parts)
    return hmac.new(key, body, hashlib.sha256).hexdigest()


def matches_seal(mac: str, given: str) -> bool:
    """Say whether `given` is the MAC that is due; the time it takes tells nothing of it."""
    return hmac.compare_digest(mac.encode(), given.encode(errors="surrogatepass"))


FILE: Final = "approvals.db"

_VERSIONS: Final = Path(__file__).with_suffix(".sql").read_text("utf-8").split("\n\n")
"""The statements that lead from each version of the file to the next."""

_SCHEMA: Final = DatabaseSchema(tuple(tuple(part.split(";")[:-1]) for part in _VERSIONS))


class ApprovalStore:
    """The file and the key of a state folder; safe to share between threads.

    Args:
        folder: The state folder; that of this user if left out.

    Raises:
        SetupError: The folder, the key or the file is not safe, or of a newer version.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = open_state() if folder is None else folder
        self.key = load_key(self.folder)
        self._database = Database(self.folder / FILE, _SCHEMA)
        # Opened now, so that what is wrong with it is said at once.
        with self._database.hold_connection():
            pass

    def open_transaction(self) -> contextlib.AbstractContextManager[sqlite3.Connection]:
        """Give a connection inside one transaction; it is committed at the end of the block.

        Raises:
            SetupError: The file cannot be read or written; nothing was changed.
        """
        return self._database.begin_transaction()

    def close(self) -> None:
        """Close the file; it is opened again by the next change."""
        self._database.close()


CHANGED: Final = "An object in the prompt has changed since; nothing was done."

MAX_UNAPPROVED: Final = 5
WINDOW_SECONDS: Final = 600.0
"""So many questions without a yes within so many seconds stop a client, for as long."""

_AGE: Final = (
    "UPDATE declined SET since = :now WHERE since > :now",
    "UPDATE stopped SET since = :now WHERE since > :now",
    "DELETE FROM declined WHERE since <= :old",
    "DELETE FROM stopped WHERE since <= :old",
    "DELETE FROM unshown WHERE since <= :now - 604800",
)


def remaining_pause(connection: sqlite3.Connection, client: str, now: float) -> float:
    """Return for how many seconds a client may not ask; 0 if it may.

    `now` is the time of day in seconds: only that is shared by processes and outlives them. A
    stored time that lies ahead is of before the clock was set back, and counts as now: so a stop
    never lasts longer than it should.
    """
    for statement in _AGE:
        connection.execute(statement, {"now": now, "old": now - WINDOW_SECONDS})
    row = connection.execute("SELECT since FROM stopped WHERE client = ?", (client,)).fetchone()
    return 0.0 if row is None else float(row[0]) + WINDOW_SECONDS - now


def record_answer(
    connection: sqlite3.Connection, client: str, way: Approver, verdict: Verdict, now: float
) -> None:
    """Count what a question of a client came back with; a yes begins the count anew."""
    if verdict in ACCEPTED:
        connection.execute("DELETE FROM declined WHERE client = ?", (client,))
        connection.execute("DELETE FROM stopped WHERE client = ?", (client,))
    if verdict == "unshown":
        connection.execute("INSERT OR REPLACE INTO unshown VALUES (?, ?)", (client, now))
    elif way == "client" and verdict in (*ACCEPTED, "decline"):
        connection.execute("DELETE FROM unshown WHERE client = ?", (client,))
    # Whether a client has shown what it did not answer is not known.
    if verdict != "decline" and (verdict != "timeout" or way == "client"):
        return
    remaining_pause(connection, client, now)
    connection.execute("INSERT INTO declined VALUES (?, ?)", (client, now))
    which = "SELECT count(*) FROM declined WHERE client = ?"
    (counted,) = connection.execute(which, (client,)).fetchone()
    if counted >= MAX_UNAPPROVED:
        connection.execute("DELETE FROM declined WHERE client = ?", (client,))
        connection.execute("INSERT OR REPLACE INTO stopped VALUES (?, ?)", (client, now))


class PausedClient(NamedTuple):
    """A client that may not ask; `until` is local time, `lift` ends it at once."""

    client: str
    until: str
    lift: str = "iac-mcp policy resume"

    @property
    def description(self) -> str:
        """It in words."""
        who = _client_words(self.client)
        return f"{who} cannot show approval prompts until {self.until} (too many were declined)."


def paused_clients(folder: Path, now: Callable[[], float] = time.time) -> list[PausedClient]:
    """Return the clients that may not ask. Raises SetupError."""
    query = "SELECT client, since FROM stopped ORDER BY since, client"
    rows = _fetch_client_rows(folder, now(), query)
    ends = ((client, time.localtime(since + WINDOW_SECONDS)) for client, since in rows)
    return [PausedClient(client, time.strftime("%Y-%m-%d %H:%M:%S", end)) for client, end in ends]


def unapproved_counts(folder: Path, now: Callable[[], float] = time.time) -> dict[str, int]:
    """Return how many questions of each client had no yes of late. Raises SetupError."""
    query = "SELECT client, count(*) FROM declined GROUP BY client"
    return dict(_fetch_client_rows(folder, now(), query))


def describe_unshown(client: str) -> str:
    """Return in words that a client answered a question before anybody could."""
    who = _client_words(client)
    return f"{who} answers approval prompts without showing them, so IAC asks in another place."


def _client_words(client: str) -> str:
    return escape_hidden(client) or "a program without a name"


def unshown(folder: Path, now: Callable[[], float] = time.time) -> list[str]:
    """Return the clients that answered a question before anybody could. Raises SetupError."""
    rows = _fetch_client_rows(folder, now(), "SELECT client, since FROM unshown ORDER BY client")
    return [client for client, _ in rows]


def _fetch_client_rows(folder: Path, moment: float, statement: str) -> list[tuple[str, Any]]:
    if not (folder / FILE).exists():
        return []
    with contextlib.closing(ApprovalStore(folder)) as store, store.open_transaction() as connection:
        remaining_pause(connection, "", moment)
        return connection.execute(statement).fetchall()


def resume_clients(store: ApprovalStore, now: Callable[[], float] = time.time) -> bool:
    """Let all clients ask again, the counts begun anew; say whether any was stopped."""
    with store.open_transaction() as connection:
        remaining_pause(connection, "", now())
        was = connection.execute("SELECT 1 FROM stopped").fetchone() is not None
        connection.execute("DELETE FROM declined")
        connection.execute("DELETE FROM stopped")
        return was


_QUESTION_PURPOSE: Final = "iac approval 2"


class TokenError(Exception):
    """A token is not good for this call; its text says why, one line."""


class PromptsPaused(NamedTuple):
    """The client may not ask, for so many seconds from now."""

    seconds: float


class ApprovalToken(NamedTuple):
    """What a token says; `pin`, `shown` and the story are those of what was asked about."""

    tool: str
    digest: str
    level: Level
    always: bool
    issued: float
    nonce: str
    way: Approver
    story: str
    asked: Sequence[Sequence[str]]
    pin: str = ""
    shown: Sequence[Sequence[str]] = ()


def issue_token(
    store: ApprovalStore,
    facts: CallFacts,
    decision: Decision,
    way: Approver,
    now: Callable[[], float] = time.time,
) -> str | PromptsPaused:
    """Return a token for one question, or for how long none is asked: too many had no yes.

    Raises:
        SetupError: The state cannot be written.
    """
    nonce, moment = secrets.token_hex(16), now()
    with store.open_transaction() as connection:
        seconds = remaining_pause(connection, facts.client, moment)
        if seconds > 0:
            return PromptsPaused(seconds)
        connection.execute("DELETE FROM questions WHERE asked <= ?", (moment - 2 * LIFETIME,))
        connection.execute("INSERT INTO questions VALUES (?, ?, 0)", (nonce, moment))
    call = (facts.tool, call_digest(facts), decision.level, decision.offers_always)
    # The client gets the token, and can read it.
    seen = (facts.pin, without_secrets(facts.shown) if facts.pin else ())
    body = ApprovalToken(*call, moment, nonce, way, *facts.story[:2], *seen)
    text = json.dumps(body, separators=(",", ":"))
    return f"{_encode_token_text(text)}.{seal_fields(store.key, _QUESTION_PURPOSE, [text])}"


def _encode_token_text(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_token(store: ApprovalStore, token: str) -> ApprovalToken:
    """Return what a token says, once its seal was checked.

    Raises:
        TokenError: It is not one of ours.
    """
    body, _, mac = token.partition(".")
    try:
        padded = body.encode("ascii") + b"=" * (-len(body) % 4)
        text = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
    except ValueError:
        raise TokenError("This approval is damaged.") from None
    # A decoder may take other bytes for the same text; only the one that was given counts.
    seal = seal_fields(store.key, _QUESTION_PURPOSE, [text])
    if _encode_token_text(text) != body or not matches_seal(seal, mac):
        raise TokenError("This approval does not come from this program.")
    return ApprovalToken(*json.loads(text))


def redeem_token(
    store: ApprovalStore,
    token: str,
    facts: CallFacts,
    decision: Decision,
    verdict: Verdict,
    now: Callable[[], float] = time.time,
) -> ApprovalToken:
    """Use a token up for one call, count its answer, and return what it said.

    It is used up even where it turns out to be for another call; then the answer counts nothing.

    Raises:
        TokenError: It is not one of ours, was used, is too old, or is for another call.
        SetupError: The state cannot be written.
    """
    approval = read_token(store, token)
    use = "UPDATE questions SET used = 1 WHERE nonce = ? AND NOT used"
    with store.open_transaction() as connection:
        if connection.execute(use, (approval.nonce,)).rowcount != 1:
            raise TokenError("This approval was already used, or was never requested here.")
        wrong = _find_mismatch(approval, facts, decision, now())
        if not wrong:
            record_answer(connection, facts.client, approval.way, verdict, now())
    if wrong:
        raise TokenError(wrong)
    return approval


def _find_mismatch(
    approval: ApprovalToken, facts: CallFacts, decision: Decision, now: float
) -> str:
    """Return why a token is not good for a call; empty where it is."""
    if not approval.issued - 1 <= now <= approval.issued + LIFETIME:
        return "This approval is too old; ask again."
    if approval.tool != facts.tool or not matches_seal(call_digest(facts), approval.digest):
        changed = approval.tool == facts.tool and approval.pin != facts.pin
        return CHANGED if changed else "This approval is for another call; ask again."
    if approval.level != decision.level:
        return "This call has a different level than was approved; ask again."
    return ""


def release_token(store: ApprovalStore, token: str) -> None:
    """Let a token be used again: its call could not run yet.

    Raises:
        SetupError: The state cannot be written.
    """
    with contextlib.suppress(TokenError), store.open_transaction() as connection:
        nonce = read_token(store, token).nonce
        connection.execute("UPDATE questions SET used = 0 WHERE nonce = ?", (nonce,))


_DECISION_PURPOSE: Final = "iac decision 2"
_COLUMNS: Final = "covers, tool, says, digest, made, client"


class RememberedApproval(NamedTuple):
    """One row; `valid` says whether its seal fits, `covers` has the keys of its scope as JSON.

    `tool` is the one that it was given by, `digest` that of the tools of its app.
    """

    id: int
    valid: bool
    covers: str
    tool: str
    says: str
    digest: str
    made: str
    client: str

    @property
    def source_name(self) -> str:
        """How decisions call the row."""
        return f"decision {self.id} ({self.says})"


def remember_approval(store: ApprovalStore, facts: CallFacts) -> None:
    """Keep "always" for what a call does; an earlier answer for the same is replaced.

    Only for calls that `decide` offered it for.

    Raises:
        SetupError: The state cannot be written.
    """
    scope = find_approval_scope(facts.effects, facts.token_client, simulated=facts.simulated)
    if scope is None:
        return
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    call = (json.dumps(scope.keys), facts.tool, scope.description, facts.digest)
    fields = (*call, made, escape_hidden(facts.client))
    mac = seal_fields(store.key, _DECISION_PURPOSE, fields)
    marks = ", ".join("?" * 7)
    keep = f"INSERT OR REPLACE INTO decisions ({_COLUMNS}, mac) VALUES ({marks})"  # noqa: S608
    with store.open_transaction() as connection:
        connection.execute(keep, (*fields, mac))


def find_approval(store: ApprovalStore, facts: CallFacts) -> RememberedApproval | None:
    """Return the row that covers all that a call does, or None if there is none that counts.

    What has no digest (the library, this program's own tools) was not built.
    """
    scope = find_approval_scope(facts.effects, facts.token_client, simulated=facts.simulated)
    for row in list_approvals(store) if scope is not None else ():
        built = {row.digest, facts.digest} - {""}
        if row.valid and len(built) < 2 and scope and scope.is_within(json.loads(row.covers)):
            return row
    return None


def list_approvals(store: ApprovalStore) -> list[RememberedApproval]:
    """Return all rows, the void ones too, oldest first."""
    with store.open_transaction() as connection:
        query = f"SELECT id, {_COLUMNS}, mac FROM decisions ORDER BY id"  # noqa: S608 (constants)
        rows = connection.execute(query).fetchall()
    approvals = []
    for ident, *fields, mac in rows:
        texts = [str(field) for field in fields]
        valid = matches_seal(seal_fields(store.key, _DECISION_PURPOSE, texts), str(mac))
        approvals.append(RememberedApproval(int(ident), valid, *texts))
    return approvals


def revoke_approvals(store: ApprovalStore, ident: int | None) -> int:
    """Forget one row, or all for None; return how many there were."""
    which = "DELETE FROM decisions WHERE :id IS NULL OR id = :id"
    with store.open_transaction() as connection:
        return connection.execute(which, {"id": ident}).rowcount
