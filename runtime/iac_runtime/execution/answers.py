"""What came back from the harness, and the error it means where it is not a result."""

import json
from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

from iac_base.errors import ToolError
from iac_runtime.execution.appleerrors import (
    OUTCOME_UNKNOWN,
    describe,
    script_error,
    silent_failure,
    timed_out,
)
from iac_runtime.execution.process import Completed

__all__ = ["Answer", "Caller", "Reply", "answer_of", "framed", "parsed"]

NOT_RUNNING: Final = "not-running"
"""The kind of the harness's answer for an app that may not be started for a read."""

_LOST_BYTES: Final = "the answer held bytes that are no text; they are shown as �"


class Answer(NamedTuple):
    """What the harness answered: a tagged value or a list, and remarks on what is missing."""

    value: Any
    listing: dict[str, Any] | None
    notes: tuple[str, ...]


class Reply(NamedTuple):
    """How an exchange went.

    Attributes:
        how: `answered` with a JSON object; `stray`: that of another request; `gone`: the process
            ended without an answer; `damaged`: what it answered is none; or why it was ended.
        answer: The JSON object.
        left: What a process that is gone left behind.
        lost: Whether bytes of the answer were not UTF-8.
    """

    how: Literal["answered", "stray", "gone", "damaged", "timeout", "cancelled", "too large"]
    answer: dict[str, Any] | None = None
    left: Completed | None = None
    lost: bool = False


class Caller(NamedTuple):
    """Who asked: the names for errors, and what may be said of the outcome.

    Attributes:
        app, command: The names of the app and of the tool.
        writes: Whether the call may have changed something.
        timeout: The seconds that it had.
    """

    app: str
    command: str
    writes: bool
    timeout: float


def parsed(body: bytes, mark: str) -> Reply:
    """Return the reply that a worker's line is."""
    text = body.decode("utf-8", "replace")
    answer = _json_object(text)
    if answer is None:
        return Reply("damaged")
    if answer.get("mark") != mark:
        return Reply("stray")
    return Reply("answered", answer, lost=_lost(text, body))


def framed(done: Completed, mark: str) -> Reply:
    """Return the reply of a process of its own: between the marks, whatever else was printed."""
    if done.cancelled:
        return Reply("cancelled")
    if done.timed_out:
        return Reply("timeout")
    if done.too_large:
        return Reply("too large")
    text = done.stdout.decode("utf-8", "replace")
    _, opening, rest = text.partition(f"<iac:{mark}>")
    body, closing, _ = rest.rpartition(f"</iac:{mark}>")
    if not opening or not closing:
        return Reply("gone", left=done)
    answer = _json_object(body)
    if answer is None:
        return Reply("damaged")
    return Reply("answered", answer, lost=_lost(body, done.stdout))


def _json_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object, or None; a depth or a number past Python's limits is none either."""
    try:
        answer = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _lost(text: str, body: bytes) -> bool:
    return "\ufffd" in text and "\ufffd".encode() not in body


def answer_of(reply: Reply, caller: Caller) -> Answer:
    """Return the result that a reply holds.

    Raises:
        ToolError: It holds none; the error says why, and what is known of the outcome.
    """
    if reply.how != "answered" or reply.answer is None:
        raise _FAILURES[reply.how](reply, caller)
    answer = reply.answer
    if not answer.get("ok"):
        raise _failure(answer, caller)
    notes = tuple(str(note) for note in _list(answer.get("notes")))
    if reply.lost:
        notes += (_LOST_BYTES,)
    listing = answer.get("list")
    return Answer(answer.get("value"), listing if isinstance(listing, dict) else None, notes)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _failure(answer: dict[str, Any], caller: Caller) -> ToolError:
    app, command = caller.app, caller.command
    if answer.get("kind") == NOT_RUNNING:
        return ToolError(
            "APP_NOT_RUNNING",
            f"{app} is not running, and reading does not start it.",
            "Launch it with app_launch, then call again.",
            retryable=True,
            app=app,
            command=command,
        )
    number = answer.get("number")
    return describe(
        number if isinstance(number, int) else None,
        str(answer.get("message", "")),
        app=app,
        command=command,
        writes=caller.writes,
    )


def _gone(reply: Reply, caller: Caller) -> ToolError:
    """Return the error for a process that left no answer."""
    done = reply.left or Completed(b"", b"", 255)
    stderr = done.stderr.decode("utf-8", "replace")
    app, command = caller.app, caller.command
    found = script_error(stderr, app=app, command=command, writes=caller.writes)
    if found is not None:
        return found
    if done.status == 1 and not stderr.strip() and not done.stdout.strip():
        return silent_failure(app, command)
    how = (
        f"was ended by signal {-done.status}"
        if done.status < 0
        else f"ended with status {done.status}"
    )
    return _no_result(
        f"osascript {how} and gave no answer to {command}.",
        "Call again; if it stays so, the app may not take these values.",
        caller,
        stderr.strip()[-500:],
    )


def _damaged(_reply: Reply, caller: Caller) -> ToolError:
    return _no_result(
        f"osascript gave no answer to {caller.command} that can be read.",
        "Call again; if it stays so, ask for less at once.",
        caller,
    )


def _too_large(_reply: Reply, caller: Caller) -> ToolError:
    error = _no_result(
        f"The answer of {caller.app} was too large to be read.",
        "Ask for fewer items, or for fewer of their properties.",
        caller,
    )
    error.retryable = False
    return error


def _timeout(_reply: Reply, caller: Caller) -> ToolError:
    return timed_out(caller.app, caller.command, caller.timeout, writes=caller.writes)


def _cancelled(_reply: Reply, caller: Caller) -> ToolError:
    error = _no_result("The call was cancelled.", "Call again if it is still wanted.", caller)
    error.type = "USER_CANCELLED"
    return error


def _no_result(message: str, suggestion: str, caller: Caller, original: str = "") -> ToolError:
    """Return the error of a call that may have been carried out or not."""
    return ToolError(
        "EXECUTION_ERROR",
        message,
        OUTCOME_UNKNOWN if caller.writes else suggestion,
        retryable=not caller.writes,
        app=caller.app,
        command=caller.command,
        original=original,
    )


_FAILURES: Final[dict[str, Callable[[Reply, Caller], ToolError]]] = {
    "gone": _gone,
    "damaged": _damaged,
    "timeout": _timeout,
    "cancelled": _cancelled,
    "too large": _too_large,
    "stray": _damaged,
    "answered": _damaged,
}
