"""What a person is asked, as plain text, over MCP in both eras, and as a dialog of this Mac.

The arguments are the ones that will run (the approval is bound to them), with everything in them
visible: what would act or hide on a screen is written as an escape.

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

import hashlib
import json
import os
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from iac_base.text import escaped
from iac_runtime.execution.answers import framed
from iac_runtime.execution.process import Runner
from iac_runtime.execution.streams import run_process
from iac_runtime.policy.effects import in_words
from iac_runtime.policy.facts import CallFacts, Decision, Shown, undo_of

Verdict = Literal["once", "always", "denied", "unanswered"]
"""What a person said; `unanswered` where he said nothing: it was closed, timed out or failed."""

ONCE: Final = "Allow once"
ALWAYS: Final = "Always allow"
DENY: Final = "Deny"
ANSWERS: Final[Mapping[str, Verdict]] = {ONCE: "once", ALWAYS: "always", DENY: "denied"}

VALUE_LIMIT: Final = 300
TEXT_LIMIT: Final = 4000
"""Characters of one value and of a whole question; a dialog grows past the screen beyond."""

LINE_LIMIT: Final = 12
"""Lines of a question; what is longer is in a file that it names."""

_LINE: Final = 600
"""Characters of a line."""


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


def question_for(
    facts: CallFacts,
    decision: Decision,
    changed: Sequence[str] = (),
    keep: Callable[[str], str] | None = None,
) -> Question:
    """Return the question about a call: what, to what, where to, why, and how it is undone.

    Args:
        facts, decision: The call.
        changed: What is otherwise than when the same was asked before, a sentence each.
        keep: Writes what does not fit to a file, and returns its path.
    """
    whole = _lines(facts, decision, changed, times=10**6)
    lines = _lines(facts, decision, changed)
    path = keep("\n".join(whole)) if keep is not None and lines != whole else ""
    if path:
        lines.append(f"All of it: {escaped(path)}")
    answers = (DENY, ONCE, ALWAYS) if decision.offers_always else (DENY, ONCE)
    text = _cut("\n".join(lines), TEXT_LIMIT)
    app = escaped(facts.whom)
    return Question(app, facts.tool, decision.level, text, facts.line, answers, decision.scope)


def _lines(
    facts: CallFacts, decision: Decision, changed: Sequence[str], times: int = 1
) -> list[str]:
    """Return the lines of a question; what has many rows takes the lines that others leave.

    `times` says how much more there is room for.
    """

    def line(*parts: str) -> list[str]:
        said = " ".join(parts)
        return [_cut(escaped(said), _LINE * times)] if said else []

    effects = [in_words(effect) for effect in facts.effects]
    one = f": {effects[0]}" if len(effects) == 1 and not facts.parts else ""
    often = f" {len(facts.parts)} times" if len(facts.parts) > 1 else ""
    before = line(f"{facts.client or 'A program'} wants to use {facts.tool}{often}{one}.")
    before += line(*(["It has changed since you were asked:", *changed] if changed else ()))
    told = {effect.reference for effect in facts.effects} if one else set()
    most = VALUE_LIMIT * times
    # Of a long script its worst lines are shown, not its head.
    script = facts.event is None and facts.shown
    given = "; ".join(
        f"{escaped(key)}: {shown(value, most)}"
        for key, value in (() if facts.parts else facts.arguments.items())
        if value not in (*told,) and not (script and len(str(value)) > most)
    )
    after = [_cut(f"With {given}", 2 * _LINE * times)] if given else []
    if facts.event is None and facts.line and not facts.parts:
        after += line(f"It runs: {facts.line}")
    after += line(*(["Asked because:", *decision.reasons] if decision.reasons else ()))
    after += line(f"{decision.level}:", undo_of(facts, decision.level).says)
    if decision.offers_always:
        after += line(f'"{ALWAYS}" would cover: {decision.scope}.')
    left = (LINE_LIMIT - 1) * times - len(before) - len(after)
    things, above = [], " "
    for name, says in facts.shown:
        inside = name.startswith(above)
        things.append(f"  {'…' + name.removeprefix(above) if inside else name}: {says}")
        above = above if inside else name
    rows = [f"  {effect}" for effect in effects] if not one else []
    if facts.parts:
        rows, things = _table(facts.parts, _LINE * times), []
    rows = _some(rows, left - min(len(things), left // 2))
    return [*before, *rows, *_some([*chain(*map(line, things))], left - len(rows)), *after]


def _table(parts: Sequence[CallFacts], most: int) -> list[str]:
    """Return a row for each of several calls: what it does, to what, and with what."""
    rows = []
    for at, part in enumerate(parts, 1):
        told = {effect.reference for effect in part.effects}
        seen = "; ".join(says for _, says in part.shown)
        given = "; ".join(
            f"{key}: {shown(value, VALUE_LIMIT)}"
            for key, value in part.arguments.items()
            if value not in (*told,)
        )
        said = "; ".join(in_words(effect) for effect in part.effects)
        more = (f": {seen}" if seen else "") + (f" - with {given}" if given else "")
        rows.append(_cut(escaped(f"  {at}. {said}{more}"), most))
    return rows


def _some(rows: list[str], most: int) -> list[str]:
    """Return so many of some rows; where some are left out, the last says how many."""
    if len(rows) <= most:
        return rows
    kept = max(most - 1, 0)
    return [*rows[:kept], f"  and {len(rows) - kept} more"]


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
