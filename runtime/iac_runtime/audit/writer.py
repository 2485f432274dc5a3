"""The audit as the gate uses it: what is written of a call, by any thread, through one that writes.

The intent of a call that changes something is on the disk when `intent` returns. All other rows
are written together, at the latest 100 ms later; a process that dies before loses these alone, and
a call whose outcome is lost reads "interrupted".
"""

import atexit
import hashlib
import json
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, Self

from iac_base.files import ensure_private_folder
from iac_base.secrets import redact_arguments, redact_text, without_secrets
from iac_runtime.audit.store import AuditError, AuditStore, UnplacedRow
from iac_runtime.tool import Level

Decision = Literal["allow", "ask", "deny"]

TEXT_LIMIT: Final = 2_000
"""Characters kept of a line of JXA or of an error."""

NAME_LIMIT: Final = 200

MOST_EFFECTS: Final = 50

AUDIT_LOG: Final = "audit log"
"""What a call reads whose effects name it: it waits for the rows before it, and finds them."""


@dataclass(frozen=True, slots=True)
class AuditIntent:
    """A call that was decided.

    Attributes:
        tool: Its name on the wire.
        level: What this call needs.
        app: The bundle id of the app; several are joined with a comma.
        client: Who asked, as the client named itself.
        reasons: The rules that set or raised the level.
        decision: What came of it; only an allowed call is sent.
        source: What decided: a rule, a preset, a flag, a person's answer.
        arguments: As they were checked; secrets in them are redacted before they are stored.
        types: Parameter -> type, where the type tells more than the name.
        line: The request as a line of JXA; redacted too.
        effects: What it does, each as verb, app, object and flow; all apps are kept, and object
            and flow are redacted.
        story: Joins the rows of one call that was asked about; empty where it was not.
        asked: Each way of asking so far and what it came back with, nothing while it waits.
        simulated: Whether no app was reached.
    """

    tool: str
    level: Level
    app: str = ""
    client: str = ""
    reasons: tuple[str, ...] = ()
    decision: Decision = "allow"
    source: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    line: str = ""
    effects: tuple[tuple[str, str, str, str], ...] = ()
    story: str = ""
    asked: tuple[tuple[str, str], ...] = ()
    simulated: bool = False

    @property
    def is_durable(self) -> bool:
        """Whether it must be on the disk before anything is sent."""
        reads_log = any(thing == AUDIT_LOG for _, _, thing, _ in self.effects)
        return (self.level != "SAFE" or reads_log) and self.decision == "allow"


@dataclass(frozen=True, slots=True)
class AuditOutcome:
    """What came of a call.

    Attributes:
        result: `done`, `refused`, `cancelled`, or the type of the error.
        duration: Seconds from the intent to the answer.
        error: The message of the error, if there was one; redacted.
        delay: Seconds that the limiter made it wait.
    """

    result: str
    duration: float
    error: str = ""
    delay: float = 0.0


def intent_body(intent: AuditIntent) -> tuple[str, tuple[str, ...]]:
    """Return an intent as JSON on one line, and the secrets that were taken out of it."""
    arguments, secrets = redact_arguments(intent.arguments, intent.types)
    texts = {
        "client": intent.client,
        "app": intent.app,
        "tool": intent.tool,
        "level": intent.level,
        "reasons": intent.reasons,
        "decision": intent.decision,
        "source": intent.source,
        "line": intent.line,
        "effects": _kept_effects(intent.effects),
    }
    more = {"story": intent.story, "asked": intent.asked, "simulated": intent.simulated}
    # The whole, with what the arguments tell of: a reason or a line may quote a part of one.
    told = without_secrets(texts | {key: part for key, part in more.items() if part}, secrets)
    cut = {key: shorten_value(part, _LIMITS.get(key, TEXT_LIMIT)) for key, part in told.items()}
    effects = [[shorten_value(part, NAME_LIMIT) for part in row] for row in told["effects"]]
    kept = {"arguments": shorten_value(arguments), "digest": arguments_digest(arguments)}
    return _compact_json({**cut, **kept, "effects": effects}), secrets


_LIMITS: Final = {"client": NAME_LIMIT, "tool": NAME_LIMIT}
"""Characters kept of a text of a field, where they are fewer."""


def _kept_effects(
    effects: tuple[tuple[str, str, str, str], ...],
) -> list[tuple[str, str, str, str]]:
    """Return effects as they are stored: the first, and one of each app that others reach."""
    kept = [*effects[:MOST_EFFECTS], *{row[1]: row for row in effects[MOST_EFFECTS:]}.values()]
    if len(kept) < len(effects):
        kept.append((f"… [{len(effects)} effects]", "", "", ""))
    return kept


def outcome_body(outcome: AuditOutcome, secrets: tuple[str, ...]) -> str:
    """Return an outcome as JSON on one line, without the secrets of its intent."""
    body: dict[str, Any] = {"result": outcome.result, "ms": round(outcome.duration * 1000, 3)}
    if outcome.error:
        body["error"] = shorten_value(redact_text(outcome.error, secrets), TEXT_LIMIT)
    if outcome.delay:
        body["delay_ms"] = round(outcome.delay * 1000, 3)
    return _compact_json(body)


def _compact_json(body: Any) -> str:
    # ASCII only: what is hidden, and what would begin a new line in a log, shows as an escape.
    return json.dumps(body, separators=(",", ":"))


def arguments_digest(arguments: Mapping[str, Any]) -> str:
    """Return the SHA-256 of redacted arguments as hexadecimal digits.

    Of the redacted ones, for the digest of a short secret can be guessed.
    """
    text = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def shorten_value(value: Any, text: int = 1_000, items: int = 50, total: int = 16_384) -> Any:
    """Return a value cut for the store: its texts, its lists, and the whole in characters.

    What is missing is said in its place; a digest is made of the whole before.
    """
    cut = _shorten_part(value, text, items)
    return cut if (size := len(json.dumps(cut))) <= total else f"[{size} characters]"


def _shorten_part(value: Any, text: int, items: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= text else f"{value[:text]}… [{len(value)} characters]"
    if isinstance(value, list | tuple):
        kept = [_shorten_part(part, text, items) for part in value[:items]]
        return kept if len(value) <= items else [*kept, f"… [{len(value)} items]"]
    if isinstance(value, Mapping):
        return {str(key)[:200]: _shorten_part(part, text, items) for key, part in value.items()}
    return value


GROUP_SECONDS: Final = 0.1
"""How long a row may wait for others."""

RETRY_SECONDS: Final = 1.0
MOST_WAITING: Final = 10_000
"""Rows kept in memory while the file cannot be written; the oldest go first, and are counted."""


@dataclass(slots=True, eq=False)
class _WaitingRow:
    """A row on its way; `done` is set once it is durable or was refused."""

    part: UnplacedRow
    since: float
    done: threading.Event | None = None
    error: AuditError | None = None


class Audit:
    """The audit of one run of a program. Thread-safe.

    Attributes:
        warning: Why rows cannot be written now, one line; empty if they can.
    """

    def __init__(self, folder: Path) -> None:
        self._store = AuditStore(folder)
        self.warning = ""
        # What the threads share, under one lock.
        self._wake = threading.Condition()
        self._rows: list[_WaitingRow] = []
        self._urgent = self._closing = False
        self._lost = 0
        self._calls = 0
        self._open: dict[int, tuple[str, ...]] = {}
        self._tried = 0.0
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._run_writer, name="iac-audit", daemon=True)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Begin to audit in a state folder. The file is opened by the writing thread.

        Raises:
            SetupError: The folder cannot be made or is not safe.
        """
        audit = cls(ensure_private_folder(folder))
        audit._thread.start()
        atexit.register(audit.close)
        return audit

    def record_intent(self, intent: AuditIntent) -> int:
        """Write down a call that was decided, and return its number in this run.

        Raises:
            AuditError: The call would change something and cannot be written down; it must not
                be sent. For other calls `warning` tells of it.
        """
        if os.getpid() != self._pid:
            # A fork has the queue and not the thread: what is put in it stays there.
            return _refuse_unwritten(intent, "this process was forked from the one that writes it")
        if intent.is_durable:
            self._store.check_forwarded()
        body, secrets = intent_body(intent)
        done = threading.Event() if intent.is_durable else None
        with self._wake:
            if self._closing:
                return _refuse_unwritten(intent, "it is closed")
            self._calls += 1
            call = self._calls
            self._open[call] = secrets
            row = self._queue_row(call, "intent", body, done)
        if done is not None:
            done.wait()
            if row.error is not None:
                self._open.pop(call, None)
                raise row.error
        return call

    def record_outcome(self, call: int, outcome: AuditOutcome) -> None:
        """Write down what came of a call; a second outcome of the same call is left out."""
        if os.getpid() != self._pid:
            return
        with self._wake:
            secrets = self._open.pop(call, None)
        body = "" if secrets is None else outcome_body(outcome, secrets)
        with self._wake:
            if body and not self._closing:
                self._queue_row(call, "outcome", body, None)

    def close(self) -> None:
        """Write what waits, mark calls without an outcome as interrupted, and end."""
        atexit.unregister(self.close)
        if os.getpid() != self._pid:
            return
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()

    def _queue_row(
        self, call: int, event: str, body: str, done: threading.Event | None
    ) -> _WaitingRow:
        row = _WaitingRow(UnplacedRow(_utc_now(), "", call, event, body), time.monotonic(), done)
        self._rows.append(row)
        self._urgent = self._urgent or done is not None
        self._drop_oldest()
        if done is not None or len(self._rows) == 1:
            self._wake.notify()
        return row

    def _run_writer(self) -> None:
        behind = False
        while True:
            with self._wake:
                self._wait_for_rows(behind=behind)
                rows, self._rows = self._rows, []
                self._urgent = False
                lost, closing = self._lost, self._closing
            self._write_rows(rows, lost)
            if closing:
                self._close_store()
                return
            behind = self._extend_index(idle=not rows)

    def _wait_for_rows(self, *, behind: bool) -> None:
        while not self._urgent and not self._closing:
            if not self._rows:
                if not self._wake.wait(GROUP_SECONDS if behind else None):
                    return
                continue
            # What could not be written is as old as it is; it is tried again in its own time.
            due = RETRY_SECONDS if self.warning else GROUP_SECONDS
            begun = self._tried if self.warning else self._rows[0].since
            left = begun + due - time.monotonic()
            if left <= 0:
                return
            self._wake.wait(left)

    def _write_rows(self, rows: list[_WaitingRow], lost: int) -> None:
        if not rows and not lost:
            return
        parts = [row.part for row in rows]
        if lost:
            parts.insert(0, UnplacedRow(_utc_now(), "", 0, "lost", f'{{"rows":{lost}}}'))
        try:
            self._store.write(parts, _utc_now())
        except AuditError as error:
            self._keep_failed_rows(rows, error)
        except Exception as error:
            # The thread must outlive a fault of ours, or every later write would hang.
            fault = AuditError(f"{type(error).__name__}: {error}", "Report this.")
            self._keep_failed_rows(rows, fault)
        else:
            self.warning = ""
            with self._wake:
                self._lost -= lost
            for row in rows:
                if row.done is not None:
                    row.done.set()

    def _extend_index(self, *, idle: bool) -> bool:
        try:
            return self._store.extend_index(idle=idle)
        except Exception:
            # Calls are then found by reading them; a file that is at fault fails the next write.
            return False

    def _keep_failed_rows(self, rows: list[_WaitingRow], error: AuditError) -> None:
        self._set_warning(error)
        self._tried = time.monotonic()
        # A refused intent is not tried again: its call is not sent.
        kept = [row for row in rows if row.done is None]
        with self._wake:
            self._rows = kept + self._rows
            self._drop_oldest()
        for row in rows:
            if row.done is not None:
                row.error = error
                row.done.set()

    def _drop_oldest(self) -> None:
        if len(self._rows) > MOST_WAITING:
            # A tenth at once, so that a long failure does not cost a pass over all rows a call.
            lost = [row for row in self._rows if row.done is None][: MOST_WAITING // 10]
            gone = set(map(id, lost))
            self._rows = [row for row in self._rows if id(row) not in gone]
            self._lost += len(lost)

    def _close_store(self) -> None:
        try:
            self._store.close(_utc_now())
        except AuditError as error:
            self._set_warning(error)

    def _set_warning(self, error: AuditError) -> None:
        self.warning = f"This call is not in the audit log yet: {error.why}."


def _refuse_unwritten(intent: AuditIntent, why: str) -> int:
    if intent.is_durable:
        raise AuditError(why, "Open a new session in this process.")
    return 0


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
