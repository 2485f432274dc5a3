"""What happens in a run, in order, as values, and what is told of failures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from iac_scenario.model import InjectedFailure
from iac_scenario.results import CallResult, MissedExpectation


class ApiError(NamedTuple):
    """The kind of error as the Messages API names it, and its message.

    `status` is that of HTTP; without one the connection or the answer breaks. `word` is what
    Claude Code's messages call it.
    """

    kind: str
    message: str
    status: int | None = None
    word: str = "unknown"


_TELL: Final = {
    "network_unreachable": ApiError("connection_error", "The network cannot be reached."),
    "connection_timeout": ApiError("timeout_error", "No answer within {after_ms:,} ms."),
    "auth_error": ApiError(
        "authentication_error", "The key is not valid.", 401, "authentication_failed"
    ),
    "rate_limit": ApiError(
        "rate_limit_error", "Too many requests. Try again in {retry_after} s.", 429, "rate_limit"
    ),
    "out_of_credits": ApiError(
        "billing_error", "The credit balance is used up.", 402, "billing_error"
    ),
    "partial_response": ApiError("connection_error", "The answer was cut off."),
    "malformed_json": ApiError("api_error", "The answer is not JSON.", word="server_error"),
    "tool_error": ApiError("tool_error", "The tool failed.", 500),
}
_WORDED: Final = ("auth_error", "tool_error")
"""Failures whose message a scenario may give."""


def describe_failure(failure: InjectedFailure) -> ApiError:
    """Return what is told of a failure."""
    known = _TELL[failure.kind]
    if failure.kind in _WORDED and "message" in failure.facts:
        return known._replace(message=failure.facts["message"])
    facts = {"after_ms": 0, "retry_after": 60, **failure.facts}
    return known._replace(message=known.message.format_map(facts))


def failure_text(failure: InjectedFailure) -> str:
    """Return the text of the error result that a failed call answers."""
    partial = failure.facts.get("partial_text") or failure.facts.get("raw")
    message = describe_failure(failure).message
    return f"{message}\n{partial}" if partial else message


@dataclass(frozen=True, slots=True)
class TextEvent:
    """The assistant's text."""

    text: str


@dataclass(frozen=True, slots=True)
class CallEvent:
    """A call that the assistant makes."""

    id: str
    tool: str
    input: Any


@dataclass(frozen=True, slots=True)
class ResultEvent:
    """The result of a call, the expectations that it misses, and how many it had."""

    id: str
    tool: str
    outcome: CallResult
    misses: tuple[MissedExpectation, ...]
    checks: int


@dataclass(frozen=True, slots=True)
class FailureEvent:
    """A failure of the model's service instead of a reply."""

    failure: InjectedFailure
    error: ApiError


@dataclass(frozen=True, slots=True)
class EndEvent:
    """The end of what one prompt led to: scripted time in milliseconds, and tokens."""

    prompt: str
    duration_ms: int
    usage: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Violation:
    """What fails a run besides a missed expectation; `line` 0 is nowhere in the file."""

    kind: str
    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"FAILED {self.file}{f':{self.line}' if self.line else ''}: {self.text}"


@dataclass(frozen=True, slots=True)
class NoteEvent:
    """Something to know that fails nothing."""

    text: str


Event: TypeAlias = (
    TextEvent | CallEvent | ResultEvent | FailureEvent | EndEvent | Violation | NoteEvent
)
