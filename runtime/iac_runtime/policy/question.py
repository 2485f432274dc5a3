"""How a person is asked: over MCP in both eras, and by a dialog of this Mac.

Every way of asking answers with a `Verdict`. Only `decline` is a no; with what is neither a yes
nor a no the gate goes on to the next way. A client that declines or cancels before a person can
have read a word did not show the question, whatever it says: `unshown`.

Legacy: the server sends `elicitation/create`. 2026-07-28: the result of the call is an
`InputRequiredResult` that carries the question and the sealed token; the client calls again with
both. A client is asked once for each state of what the call names: asking again would loop until
its cap of rounds. Source: MCP 2025-11-25 and 2026-07-28, "Elicitation".

Dialog: a constant script, its data on standard input. It comes to the front, Return means Deny,
and it closes after 45 seconds without an answer; only the button counts as a no. That it comes to
the front, and that macOS shows it over a client in full screen, only a Mac can confirm.
Source: AppleScript Language Guide, "display dialog" and "Error numbers" (-128, user cancelled).
"""

import contextlib
import json
import os
import secrets
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.files import write_whole
from iac_runtime.execution.answers import parse_process_output
from iac_runtime.execution.process import Runner
from iac_runtime.execution.workers import run_process
from iac_runtime.policy.effects import Verdict

ONCE: Final = "Allow once"
ALWAYS: Final = "Always allow"
DENY: Final = "Deny"
ANSWERS: Final[Mapping[str, Verdict]] = {ONCE: "once", ALWAYS: "always", DENY: "decline"}

LIFETIME: Final = 600.0
"""Seconds from the question to the answer."""


class Question(NamedTuple):
    """A question; `answers` are the labels to choose from, Deny first."""

    app: str
    tool: str
    level: str
    text: str
    line: str
    answers: tuple[str, ...]
    scope: str = ""

    def verdict_for(self, answer: str | None) -> Verdict:
        """Return what an answer means; one that was not offered is an error of who gave it."""
        return ANSWERS[answer] if answer in self.answers else "error"


def paragraphs(text: str) -> list[str | list[str]]:
    """Return the lines of a question, the rows that stand together as one list.

    A row is indented (`policy.wording`); no value of a call begins a line.
    """
    found: list[str | list[str]] = []
    for line in text.split("\n"):
        if not line.startswith("  "):
            found.append(line)
        elif found and isinstance(found[-1], list):
            found[-1].append(line.strip())
        else:
            found.append([line.strip()])
    return found


def keep_full_text(folder: Path, text: str) -> str:
    """Write all of a question to a file of a state folder, for this user alone.

    Returns:
        Its path, empty where it cannot be written. Files of questions that nobody can answer any
        more are removed.
    """
    folder /= "questions"
    path = folder / f"{secrets.token_hex(8)}.txt"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        for old in folder.iterdir():
            if old.stat().st_mtime < time.time() - LIFETIME:
                old.unlink(missing_ok=True)
        write_whole(path, text + "\n", mode=0o600)
        return str(path)
    return ""


KEY: Final = "approval"
"""The name of the question among the input requests of a result."""

_FIELD: Final = "answer"

QUICKEST: Final = 0.5
"""Seconds after which a person can have declined or closed a question, however short it is."""


def elicitation_form(question: Question) -> dict[str, Any]:
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


def input_required_result(question: Question, token: str) -> dict[str, Any]:
    """Return the result that asks, for clients of 2026-07-28, with its keys as the SDK has them."""
    asked = elicitation_form(question)
    schema = {key: asked["requestedSchema"][key] for key in ("properties", "required", "type")}
    params = {"message": asked["message"], "mode": asked["mode"], "requestedSchema": schema}
    return {
        "inputRequests": {KEY: {"method": "elicitation/create", "params": params}},
        "requestState": token,
        "resultType": "input_required",
    }


def read_answer(
    action: str,
    content: Mapping[str, Any] | None,
    answers: tuple[str, ...],
    *,
    declared: bool,
    seconds: float = QUICKEST,
) -> Verdict:
    """Return what a client answered.

    Args:
        action: `accept`, `decline` or `cancel`.
        content: The filled-in form.
        answers: The labels that were offered (`Question.answers`).
        declared: Whether the client said that it can ask; an answer of one that cannot is forged.
        seconds: How long the client had the question.
    """
    if not declared:
        return "unable"
    if action in ("decline", "cancel"):
        if seconds < QUICKEST:
            return "unshown"
        return "decline" if action == "decline" else "cancel"
    answer = content.get(_FIELD) if action == "accept" and isinstance(content, Mapping) else None
    return Question("", "", "", "", "", answers).verdict_for(
        answer if type(answer) is str else None
    )


def read_responses(
    responses: Mapping[str, Any] | None,
    answers: tuple[str, ...],
    *,
    declared: bool,
    seconds: float = QUICKEST,
) -> Verdict:
    """Return what the `inputResponses` of a repeated call say."""
    found = (responses or {}).get(KEY)
    said = found if isinstance(found, Mapping) else {}
    action, content = said.get("action"), said.get("content")
    return read_answer(str(action), content, answers, declared=declared, seconds=seconds)


DIALOG_SECONDS: Final = 45
"""Until it closes by itself."""

_CANCELLED: Final = -128

SCRIPT: Final = Path(__file__).parent / "jxa" / "dialog.js"
_SLACK: Final = 10.0


def can_show_dialog() -> bool:
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
        "seconds": DIALOG_SECONDS,
    }
    chosen = program or os.environ.get("IAC_OSASCRIPT") or "osascript"
    argv = [chosen, "-l", "JavaScript", str(SCRIPT)]
    try:
        done = runner(argv, json.dumps(request).encode(), DIALOG_SECONDS + _SLACK)
    except OSError:
        return "unable"
    answer = parse_process_output(done, mark).answer or {"message": ""}
    if "message" in answer:
        return "cancel" if answer.get("number") == _CANCELLED else "error"
    if answer.get("gaveUp") is True:
        return "timeout"
    button = answer.get("button") if answer.get("gaveUp") is False else None
    return question.verdict_for(button if isinstance(button, str) else None)
