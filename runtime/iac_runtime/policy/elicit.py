"""A question over MCP, in both eras of the protocol, as plain data.

Legacy: the server sends `elicitation/create`. 2026-07-28: the result of the call is an
`InputRequiredResult` that carries the question and the sealed token; the client calls again with
both. A decline, a cancel and an answer that does not fit are final: asking again would loop until
the client's cap of rounds. Source: MCP 2025-11-25 and 2026-07-28, "Elicitation".
"""

from collections.abc import Mapping
from typing import Any, Final

from iac_runtime.policy.question import Question, Verdict

__all__ = ["KEY", "form", "input_required", "read_answer", "read_responses"]

KEY: Final = "approval"
"""The name of the question among the input requests of a result."""

_FIELD: Final = "answer"


def form(question: Question) -> dict[str, Any]:
    """Return the parameters of `elicitation/create`: a flat form with one choice."""
    choice = {
        "type": "string",
        "title": "Your answer",
        "enum": list(question.answers),
    }
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
