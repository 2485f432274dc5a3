"""A question as a dialog of this Mac, for clients that cannot ask.

A constant script, its data on standard input. The dialog comes to the front, Return means Deny,
and after 45 seconds without an answer the call does not run, nor where anything goes wrong; only
the button counts as a no. That it comes to
the front, and that macOS shows it over a client in full screen, only a Mac can confirm.
Source: AppleScript Language Guide, "display dialog".
"""

import json
import os
import secrets
import sys
from pathlib import Path
from typing import Final

from iac_runtime.execution.answers import framed
from iac_runtime.execution.process import Runner
from iac_runtime.execution.single import run_process
from iac_runtime.policy.question import DENY, Question, Verdict

__all__ = ["SCRIPT", "SECONDS", "ask_dialog", "dialog_at_hand"]

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
