"""How a person is asked: over MCP in both eras, and by a dialog of this Mac.

Legacy: the server sends `elicitation/create`. 2026-07-28: the result of the call is an
`InputRequiredResult` that carries the question and the sealed token; the client calls again with
both. A decline, a cancel and an answer that does not fit are final: asking again would loop until
the client's cap of rounds. Source: MCP 2025-11-25 and 2026-07-28, "Elicitation".

Dialog: a constant script, its data on standard input. It comes to the front, Return means Deny,
and after 45 seconds without an answer the call does not run, nor where anything goes wrong; only
the button counts as a no. That it comes to the front, and that macOS shows it over a client in
full screen, only a Mac can confirm.
Source: AppleScript Language Guide, "display dialog".
"""

import json
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from iac_runtime.execution.answers import framed
from iac_runtime.execution.process import Runner
from iac_runtime.execution.streams import run_process

Verdict = Literal["once", "always", "denied", "unanswered"]
"""What a person said; `unanswered` where he said nothing: it was closed, timed out or failed."""

ONCE: Final = "Allow once"
ALWAYS: Final = "Always allow"
DENY: Final = "Deny"
ANSWERS: Final[Mapping[str, Verdict]] = {ONCE: "once", ALWAYS: "always", DENY: "denied"}

ROUNDS: Final = 3
"""Times that a person is asked about one call, where what it names changes meanwhile."""


CHANGING: Final = "What the call names kept changing while you were asked; nothing was sent."


class Question(NamedTuple):
    """A question; `answers` are the labels to choose from, Deny first."""

    app: str
    tool: str
    level: str
    text: str
    line: str
    answers: tuple[str, ...]
    scope: str = ""

    def verdict(self, answer: str | None) -> Verdict:
        """Return what an answer means; one that was not offered is none."""
        return ANSWERS[answer] if answer in self.answers else "unanswered"


KEY: Final = "approval"
"""The name of the question among the input requests of a result."""

_FIELD: Final = "answer"


def form(question: Question) -> dict[str, Any]:
    """Return the parameters of `elicitation/create`: a flat form with one choice."""
    choice = {"type": "string", "title": "Your answer", "enum": list(question.answers)}
    return {
        "mode": "form",
        "message": question.text,
        "requestedSchema": {
            "type": "object",
            "properties": {_FIELD: choice},
            "required": [_FIELD],
        },
    }


def input_required(question: Question, token: str) -> dict[str, Any]:
    """Return the result that asks, for clients of 2026-07-28."""
    return {
        "resultType": "input_required",
        "inputRequests": {KEY: {"method": "elicitation/create", "params": form(question)}},
        "requestState": token,
    }


def read_answer(
    action: str, content: Mapping[str, Any] | None, answers: tuple[str, ...], *, declared: bool
) -> Verdict:
    """Return what a client answered.

    Args:
        action: `accept`, `decline` or `cancel`.
        content: The filled-in form.
        answers: The labels that were offered (`Question.answers`).
        declared: Whether the client said that it can ask; an answer of one that cannot is forged.
    """
    if declared and action == "decline":
        return "denied"
    if not declared or action != "accept" or not isinstance(content, Mapping):
        return "unanswered"
    answer = content.get(_FIELD)
    if not isinstance(answer, str):
        return "unanswered"
    return Question("", "", "", "", "", answers).verdict(answer)


def read_responses(
    responses: Mapping[str, Any] | None, answers: tuple[str, ...], *, declared: bool
) -> Verdict:
    """Return what the `inputResponses` of a repeated call say."""
    found = (responses or {}).get(KEY)
    if not isinstance(found, Mapping):
        return "unanswered"
    action, content = found.get("action"), found.get("content")
    return read_answer(str(action), content, answers, declared=declared)


SECONDS: Final = 45
"""Until it closes by itself; the call does not run then."""

SCRIPT: Final = Path(__file__).parent / "jxa" / "dialog.js"
_SLACK: Final = 10.0


def dialog_at_hand() -> bool:
    """Say whether this machine can show a dialog."""
    return sys.platform == "darwin" or "IAC_OSASCRIPT" in os.environ


def ask_dialog(
    question: Question, runner: Runner = run_process, program: str | None = None
) -> Verdict:
    """Show a question and return the answer."""
    mark = secrets.token_hex(8)
    # Dialogs put the last button first from the right; the default one is named in any case.
    buttons = [label for label in reversed(question.answers) if label != DENY] + [DENY]
    request = {
        "mark": mark,
        "title": f"IAC: {question.level}",
        "text": question.text,
        "buttons": buttons,
        "deny": DENY,
        "seconds": SECONDS,
    }
    chosen = program or os.environ.get("IAC_OSASCRIPT") or "osascript"
    argv = [chosen, "-l", "JavaScript", str(SCRIPT)]
    try:
        done = runner(argv, json.dumps(request).encode(), SECONDS + _SLACK)
    except OSError:
        return "unanswered"
    answer = framed(done, mark).answer
    if answer is None or answer.get("gaveUp") is not False or "message" in answer:
        return "unanswered"
    button = answer.get("button")
    return question.verdict(button if isinstance(button, str) else None)
