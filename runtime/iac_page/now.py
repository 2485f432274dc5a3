"""What waits for the person, what runs, and what just changed, with the way back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.errors import SetupError, ToolError
from iac_page.calls import CallLine, View, call_lines, days_ago, read_audit
from iac_page.marks import AppMark, AppMarks
from iac_page.previews import Preview, read_preview
from iac_runtime.audit.reading import AuditQuery
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall, RefusedCall
from iac_runtime.gate.verify import open_history
from iac_runtime.outcomes.history import CallSelection, KeptCall
from iac_runtime.policy.prompts import (
    ALWAYS,
    PAGE_SECONDS,
    Question,
    build_question,
    read_waiting_questions,
)
from iac_runtime.serve.status import status_facts
from iac_runtime.tool import LEVELS

_RECENT: Final = 8
_KEPT: Final = 200


class QuestionCard(NamedTuple):
    """A question as a card: `until` is when it no longer waits, in seconds since 1970.

    `always` says that the answer may be remembered.
    """

    id: str
    until: float
    app: AppMark
    question: Question
    things: Sequence[Preview]
    always: bool


def now_view(state: Path, gate: Gate, marks: AppMarks) -> View:
    """Return what waits for an answer, what runs, and what changed last."""
    facts = status_facts()
    entries = read_audit(state, AuditQuery(result="running", since=days_ago(1)), 100)
    asked = [
        question_card(one.question, marks, one.id, one.since + PAGE_SECONDS)
        for one in read_waiting_questions(state)
    ]
    pids = {server["client"]: server["pid"] for server in facts["servers"]}
    return {
        "servers": facts["servers"],
        "paused_clients": facts["paused"],
        "asked": asked[::-1],
        "running": list(call_lines(entries, marks)),
        "pids": pids,
        "changes": _recent_changes(state, gate, marks),
        "points": restore_points(gate),
    }


def _recent_changes(state: Path, gate: Gate, marks: AppMarks) -> list[CallLine]:
    """Return the newest calls that changed something, each with the way back."""
    query = AuditQuery(result="done", since=days_ago(7))
    entries = (read_audit(state, replace(query, level=level), _RECENT) for level in LEVELS[1:])
    newest = sorted((one for rows in entries for one in rows), key=lambda one: -one.seq)
    return list(call_lines(newest[:_RECENT], marks, kept_calls(gate)))


def question_card(
    question: Question, marks: AppMarks, ident: str = "", until: float = 0.0
) -> QuestionCard:
    """Return a question as a card."""
    things = [read_preview(line) for line in question.parts.things]
    always = ALWAYS in question.answers
    return QuestionCard(ident, until, marks.find(question.app), question, things, always)


def kept_calls(gate: Gate) -> list[KeptCall]:
    """Return the newest calls of the undo history; none where it cannot be read."""
    try:
        return gate.context.get_or_create(open_history).find_calls(CallSelection(last=_KEPT))
    except SetupError:
        return []


def restore_points(gate: Gate) -> Mapping[str, int]:
    """Return the restore points, each with the call before it."""
    try:
        return gate.context.get_or_create(open_history).restore_points()
    except SetupError:
        return {}


class UndoReview(NamedTuple):
    """What an undo would do, as a question; `seen` stands for all of it.

    `wrong` says why it cannot be done, `done` what came of it.
    """

    arguments: Mapping[str, Any]
    card: QuestionCard | None = None
    seen: str = ""
    wrong: str = ""
    done: Any = None


def review_undo(gate: Gate, marks: AppMarks, call: Call) -> UndoReview:
    """Return what an undo would restore; nothing is sent but reads."""
    try:
        plan = gate.plan_call(call)
        facts, decision = gate.judge_plan(plan, call.caller)
        if plan.look is not None:
            facts = plan.look(facts).facts
    except ToolError as error:
        return UndoReview(call.arguments, wrong=f"{error.message} {error.suggestion}".strip())
    question = build_question(facts, decision)
    return UndoReview(call.arguments, question_card(question, marks), _seen_digest(question))


def perform_undo(gate: Gate, marks: AppMarks, call: Call, seen: str) -> UndoReview:
    """Undo what was shown; where it has changed since, return the new review and do nothing."""
    review = review_undo(gate, marks, call)
    if review.wrong or review.seen != seen:
        return review
    try:
        outcome = gate.call(call)
        if isinstance(outcome, PendingCall):
            if _seen_digest(outcome.question) != seen:
                return review
            outcome = gate.answer(outcome, "once")
    except ToolError as error:
        return review._replace(wrong=f"{error.message} {error.suggestion}".strip())
    if isinstance(outcome, RefusedCall):
        return review._replace(wrong=str(outcome.error))
    done = outcome.value if isinstance(outcome, CompletedCall) else None
    return review._replace(done=done)


def _seen_digest(question: Question) -> str:
    """Return the digest of what a question says was found, without why it is asked."""
    parts = question.parts
    text = json.dumps([parts.wants, list(parts.things), list(parts.says)])
    return sha256(text.encode()).hexdigest()
