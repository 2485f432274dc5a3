"""What is written down of a call: before it is sent, and after."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from iac_runtime.audit.redact import digest, redact, redact_text, shorten
from iac_runtime.tool import Level

__all__ = ["Decision", "Intent", "Outcome", "intent_body", "outcome_body"]

Decision = Literal["allow", "ask", "deny"]

TEXT_LIMIT: Final = 2_000
"""Characters kept of a line of JXA or of an error."""

NAME_LIMIT: Final = 200


@dataclass(frozen=True, slots=True)
class Intent:
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

    @property
    def durable(self) -> bool:
        """Whether it must be on the disk before anything is sent."""
        return self.level != "SAFE" and self.decision == "allow"


@dataclass(frozen=True, slots=True)
class Outcome:
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


def intent_body(intent: Intent) -> tuple[str, tuple[str, ...]]:
    """Return an intent as JSON on one line, and the secrets that were taken out of it."""
    arguments, secrets = redact(intent.arguments, intent.types)
    body = {
        "client": shorten(intent.client, NAME_LIMIT),
        "app": shorten(intent.app, TEXT_LIMIT),
        "tool": shorten(intent.tool, NAME_LIMIT),
        "level": intent.level,
        "reasons": [redact_text(reason, secrets) for reason in intent.reasons],
        "decision": intent.decision,
        "source": intent.source,
        "arguments": shorten(arguments),
        "digest": digest(arguments),
        "line": shorten(redact_text(intent.line, secrets), TEXT_LIMIT),
    }
    return _json(body), secrets


def outcome_body(outcome: Outcome, secrets: tuple[str, ...]) -> str:
    """Return an outcome as JSON on one line, without the secrets of its intent."""
    body: dict[str, Any] = {"result": outcome.result, "ms": round(outcome.duration * 1000, 3)}
    if outcome.error:
        body["error"] = shorten(redact_text(outcome.error, secrets), TEXT_LIMIT)
    if outcome.delay:
        body["delay_ms"] = round(outcome.delay * 1000, 3)
    return _json(body)


def _json(body: Any) -> str:
    # ASCII only: what is hidden, and what would begin a new line in a log, shows as an escape.
    return json.dumps(body, separators=(",", ":"))
