"""What a person is asked, in plain text: who, what, why, with which arguments.

The arguments are the ones that will run (the approval is bound to them), with everything in them
visible: what would act or hide on a screen is written as an escape.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from iac_runtime.cleaning import escaped
from iac_runtime.policy.facts import Decision, Facts

__all__ = ["ALWAYS", "ANSWERS", "DENY", "ONCE", "Question", "Verdict", "question_for", "shown"]

Verdict = Literal["once", "always", "denied", "unanswered"]
"""What a person said; `unanswered` where he said nothing: it was closed, timed out or failed."""

ONCE: Final = "Allow once"
ALWAYS: Final = "Always allow"
DENY: Final = "Deny"
ANSWERS: Final[Mapping[str, Verdict]] = {ONCE: "once", ALWAYS: "always", DENY: "denied"}

VALUE_LIMIT: Final = 800
TEXT_LIMIT: Final = 4000
"""Characters of one value and of a whole question; a dialog grows past the screen beyond."""

_HEADS: Final = {
    "SAFE": "Reads.",
    "MODIFY": "Changes something that can be put right again.",
    "DANGEROUS": "Cannot be taken back, or reaches others.",
}


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


def question_for(facts: Facts, decision: Decision) -> Question:
    """Return the question about a call."""
    app, who = escaped(facts.whom), escaped(facts.client) or "A program"
    head = (
        f"{who} wants to use {facts.tool} ({app})." if app else f"{who} wants to use {facts.tool}."
    )
    parts = [head, f"{decision.level}: {_HEADS[decision.level]}"]
    if decision.reasons:
        parts.append("\n".join(f"- {_cut(escaped(reason), 300)}" for reason in decision.reasons))
    parts.append(_arguments(facts.arguments))
    parts.append(f"It runs: {_cut(escaped(facts.line), VALUE_LIMIT)}")
    if decision.offers_always:
        parts.append(f'"{ALWAYS}" covers {escaped(decision.scope)}, until the tool changes.')
    answers = (DENY, ONCE, ALWAYS) if decision.offers_always else (DENY, ONCE)
    text = _cut("\n\n".join(part for part in parts if part), TEXT_LIMIT)
    return Question(app, facts.tool, decision.level, text, facts.line, answers, decision.scope)


def _arguments(arguments: Mapping[str, Any]) -> str:
    if not arguments:
        return "It takes no arguments."
    rows = [f"  {escaped(key)}: {shown(value)}" for key, value in arguments.items()]
    return "\n".join(("With:", *rows))


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
