"""What a person is asked, as plain text, over MCP in both eras, and as a dialog of this Mac.

Every way of asking answers with a `Verdict`. Only `decline` is a no; with what is neither a yes
nor a no the gate goes on to the next way.

The arguments are the ones that will run (the approval is bound to them), with everything in them
visible: what would act or hide on a screen is written as an escape.

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
import hashlib
import json
import os
import secrets
import sys
import time
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.files import write_whole
from iac_base.text import escaped
from iac_runtime.execution.answers import framed
from iac_runtime.execution.process import Runner
from iac_runtime.execution.streams import run_process
from iac_runtime.policy.effects import in_words
from iac_runtime.policy.facts import CallFacts, Decision, Shown, Verdict

ONCE: Final = "Allow once"
ALWAYS: Final = "Always allow"
DENY: Final = "Deny"
ANSWERS: Final[Mapping[str, Verdict]] = {ONCE: "once", ALWAYS: "always", DENY: "decline"}

VALUE_LIMIT: Final = 300
TEXT_LIMIT: Final = 4000
"""Characters of one value and of a whole question; a dialog grows past the screen beyond."""

LINE_LIMIT: Final = 12
"""Lines of a question; what is longer is in a file that it names."""

_LINE: Final = 600
"""Characters of a line."""


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

    def verdict(self, answer: str | None) -> Verdict:
        """Return what an answer means; one that was not offered is an error of who gave it."""
        return ANSWERS[answer] if answer in self.answers else "error"


def question_for(
    facts: CallFacts,
    decision: Decision,
    keep: Callable[[str], str] | None = None,
) -> Question:
    """Return the question about a call: what, to what, where to, why, and how it is undone.

    Args:
        facts, decision: The call.
        keep: Writes what does not fit to a file, and returns its path.
    """
    whole = _lines(facts, decision, times=10**6)
    lines = _lines(facts, decision)
    path = keep("\n".join(whole)) if keep is not None and lines != whole else ""
    if path:
        lines.append(f"All of it: {escaped(path)}")
    answers = (DENY, ONCE, ALWAYS) if decision.offers_always else (DENY, ONCE)
    text = _cut("\n".join(lines), TEXT_LIMIT)
    app = escaped(facts.whom)
    return Question(app, facts.tool, decision.level, text, facts.line, answers, decision.scope)


def keep(folder: Path, text: str) -> str:
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


def _lines(facts: CallFacts, decision: Decision, times: int = 1) -> list[str]:
    """Return the lines of a question; what has many rows takes the lines that others leave.

    `times` says how much more there is room for.
    """

    def line(*parts: str) -> list[str]:
        said = " ".join(parts)
        return [_cut(escaped(said), _LINE * times)] if said else []

    effects = [in_words(effect) for effect in facts.effects]
    one = f": {effects[0]}" if len(effects) == 1 else ""
    before = line(f"{facts.client or 'A program'} wants to use {facts.tool}{one}.")
    changed = facts.story.changed
    before += line(*(["It has changed since you were asked:", *changed] if changed else ()))
    told = {effect.reference for effect in facts.effects} if one else set()
    most = VALUE_LIMIT * times
    # Of a long script its worst lines are shown, not its head.
    script = facts.event is None and facts.shown
    given = "; ".join(
        f"{escaped(key)}: {shown(value, most)}"
        for key, value in facts.arguments.items()
        if value not in (*told,) and not (script and len(str(value)) > most)
    )
    after = [_cut(f"With {given}", 2 * _LINE * times)] if given else []
    if facts.event is None and facts.line:
        after += line(f"It runs: {facts.line}")
    after += line(*(["Asked because:", *decision.reasons] if decision.reasons else ()))
    after += line(f"{decision.level}:", _undone(facts, decision))
    if decision.offers_always:
        after += line(f'"{ALWAYS}" covers {decision.scope}, until the tool changes.')
    left = (LINE_LIMIT - 1) * times - len(before) - len(after)
    things, above = [], " "
    for name, says in facts.shown:
        inside = name.startswith(above)
        things.append(f"  {'…' + name.removeprefix(above) if inside else name}: {says}")
        above = above if inside else name
    rows = [f"  {effect}" for effect in effects] if not one else []
    rows = _some(rows, left - min(len(things), left // 2))
    return [*before, *rows, *_some([*chain(*map(line, things))], left - len(rows)), *after]


def _some(rows: list[str], most: int) -> list[str]:
    """Return so many of some rows; where some are left out, the last says how many."""
    if len(rows) <= most:
        return rows
    kept = max(most - 1, 0)
    return [*rows[:kept], f"  and {len(rows) - kept} more"]


def _undone(facts: CallFacts, decision: Decision) -> str:
    """Return whether what a call does can be undone, and how, as far as a table knows."""
    table = json.loads(Path(__file__).with_name("undo.json").read_text("utf-8"))
    event, verbs = facts.event, {effect.verb for effect in facts.effects if not effect.looks}
    known = table["events"].get(f"{event.code} {event.app}") if event else None
    if known is None and len(verbs) == 1:
        known = table["effects"].get(f"{verbs.pop()} {decision.level}")
    return str(known or table["levels"][decision.level])


def differences(before: tuple[Shown, ...], now: tuple[Shown, ...]) -> tuple[str, ...]:
    """Return what is otherwise than when a person was asked, a sentence each."""
    was, new = dict(before), dict(now)
    found = (
        f"{name} was {was.get(name, 'not there')}, and is {new.get(name, 'not there')} now."
        for name in dict.fromkeys([*was, *new])
        if was.get(name) != new.get(name)
    )
    return tuple(found) or ("More of it has changed than is shown here.",)


def shown(value: Any, limit: int = VALUE_LIMIT) -> str:
    """Return a value as JSON on one line, with nothing in it hidden, cut in the middle.

    Of a value that is cut, its length and its SHA-256 are told.
    """
    return _cut(escaped(json.dumps(value, ensure_ascii=False, default=str)), limit)


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    head, tail = limit * 3 // 4, limit // 8
    left_out = len(text) - head - tail
    return f"{text[:head]} … [{left_out} characters left out, SHA-256 {digest}] … {text[-tail:]}"


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
    if not declared:
        return "unable"
    if action in ("decline", "cancel"):
        return "decline" if action == "decline" else "cancel"
    answer = content.get(_FIELD) if action == "accept" and isinstance(content, Mapping) else None
    return Question("", "", "", "", "", answers).verdict(answer if type(answer) is str else None)


def read_responses(
    responses: Mapping[str, Any] | None, answers: tuple[str, ...], *, declared: bool
) -> Verdict:
    """Return what the `inputResponses` of a repeated call say."""
    found = (responses or {}).get(KEY)
    said = found if isinstance(found, Mapping) else {}
    action, content = said.get("action"), said.get("content")
    return read_answer(str(action), content, answers, declared=declared)


SECONDS: Final = 45
"""Until it closes by itself."""

_CANCELLED: Final = -128

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
        return "unable"
    answer = framed(done, mark).answer or {"message": ""}
    if "message" in answer:
        return "cancel" if answer.get("number") == _CANCELLED else "error"
    if answer.get("gaveUp") is True:
        return "timeout"
    button = answer.get("button") if answer.get("gaveUp") is False else None
    return question.verdict(button if isinstance(button, str) else None)
