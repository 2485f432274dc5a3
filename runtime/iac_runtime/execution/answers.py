"""What came back from the harness or from osascript, and the error it means where it is no result.

The number decides, because texts are in the language of the system. Of -2700, which covers every
JavaScript exception, what the system knows of the app tells more. That a silent status 1 is a
denied permission is known from reports of macOS 27 only; a Mac can confirm it.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from iac_base.errors import ErrorType, ToolError
from iac_runtime.apple_errors import APP_ERROR, APP_GONE, APPLE_ERRORS, UNLOADED, AppleError
from iac_runtime.execution.process import Completed

OUTCOME_UNKNOWN: Final = "It is unknown whether the change happened. Check before you try again."

_NOT_RUNNING: Final = "not-running"
"""The kind of the harness's answer for an app that may not be started for a read."""

_STALE: Final = "stale"
"""The same where what was approved is not what there is now."""

_CHANGED: Final = "changed"
"""The same where a list did not hold still while it was read."""

_LOST_BYTES: Final = "the answer has bytes that are not text; they are shown as �"
_SCRIPT_ERROR: Final = -2700
_LINE: Final = re.compile(
    r"(?:(?P<start>\d+):(?P<end>\d+): )?(?:execution|syntax) error: (?P<text>.*) "
    r"\((?P<number>-?\d+)\)\s*\Z",
    re.DOTALL,
)
# The words "execution error" may be of another language too; the number at the end is not.
_BARE_LINE: Final = re.compile(r"^(?P<text>.*) \((?P<number>-?\d+)\)\s*\Z", re.MULTILINE)
_SCRIPT_LINE: Final = re.compile(r"Error on line (?P<line>\d+): (?P<text>.*)\Z", re.DOTALL)


class AppAnswer(NamedTuple):
    """What the harness answered: a tagged value or a list, and remarks on what is missing.

    Attributes:
        around: What was read before and after a write; None where nothing was.
    """

    value: Any
    listing: dict[str, Any] | None
    notes: tuple[str, ...]
    around: "SurroundingAnswers | None" = None


class SurroundingAnswers(NamedTuple):
    """The answers of what was read before and after a write, each as `each` has them."""

    before: tuple[dict[str, Any], ...]
    after: tuple[dict[str, Any], ...]


def _surrounding_answers(answer: Mapping[str, Any]) -> SurroundingAnswers | None:
    before, after = answer.get("before"), answer.get("after", [])
    if not (isinstance(before, list) and isinstance(after, list)):
        return None
    return SurroundingAnswers(tuple(before), tuple(after))


class ExchangeReply(NamedTuple):
    """How an exchange went.

    Attributes:
        how: `answered` with a JSON object; `stray`: that of another request; `gone`: the process
            ended without an answer; `damaged`: what it answered is none; or why it was ended.
        answer: The JSON object: all lines of it together.
        left: What a process that is gone left behind.
        lost: Whether bytes of the answer were not UTF-8.
        said: Without an answer, the lines of it that came.
        sent: Whether a write may have been sent: its first line comes before it.
    """

    how: Literal["answered", "stray", "gone", "damaged", "timeout", "cancelled", "too large"]
    answer: dict[str, Any] | None = None
    left: Completed | None = None
    lost: bool = False
    said: Mapping[str, Any] = {}
    sent: bool = True


class SentCall(NamedTuple):
    """What an error says of the call: the names of the app and of the tool, what may have happened.

    Attributes:
        app, command: The names.
        writes: Whether the call may have changed something.
        timeout: The seconds that it had.
    """

    app: str
    command: str
    writes: bool
    timeout: float

    def make_error(
        self,
        kind: ErrorType,
        message: str,
        suggestion: str = "",
        *,
        retryable: bool = False,
        original: str = "",
    ) -> ToolError:
        """Return an error of this call, of no number."""
        return ToolError(
            kind,
            message,
            suggestion,
            retryable=retryable,
            app=self.app,
            command=self.command,
            original=original,
        )


class ErrorLine(NamedTuple):
    """osascript's own error line: its text, its number, and where in the script (macOS 10.10-13).

    `line` counts from 1; `start` and `end` are offsets in characters. macOS 10.14 and later give
    none of them.
    """

    text: str
    number: int
    line: int | None = None
    start: int | None = None
    end: int | None = None


def parse_worker_line(body: bytes, mark: str, said: dict[str, Any]) -> ExchangeReply | None:
    """Return the reply that a worker's line completes; None where more is to come.

    Args:
        said: The lines before it; it is added to them.
    """
    reply = _parse_reply(body.decode("utf-8", "replace"), body)
    if reply.answer is not None and reply.answer.get("mark") != mark:
        return ExchangeReply("stray")
    return _joined(reply, said)


def parse_process_output(done: Completed, mark: str) -> ExchangeReply:
    """Return the reply of a process of its own: between the marks, whatever else was printed."""
    if done.too_large:
        # Its beginning is lost.
        return ExchangeReply("too large")
    opening, closing = f"<iac:{mark}>", f"</iac:{mark}>"
    said: dict[str, Any] = {}
    printed, *parts = done.stdout.decode("utf-8", "replace").split(opening)
    for part in parts:
        body, closed, more = part.rpartition(closing)
        printed += more
        reply = _joined(_parse_reply(body, done.stdout), said) if closed else None
        if reply is not None:
            return reply
    if done.cancelled:
        return ExchangeReply("cancelled", said=said, sent=bool(parts))
    if done.timed_out:
        return ExchangeReply("timeout", said=said, sent=bool(parts))
    left = done._replace(stdout=printed.encode())
    return ExchangeReply("gone", left=left, said=said, sent=bool(parts))


def _joined(reply: ExchangeReply, said: dict[str, Any]) -> ExchangeReply | None:
    """Add a line to those before it; return the reply if it is the last one."""
    if reply.answer is None:
        return reply._replace(said=said)
    said |= reply.answer
    more = "step" in reply.answer
    return None if more else reply._replace(answer=said)


def _parse_reply(text: str, body: bytes) -> ExchangeReply:
    """Read the JSON object; a depth or a number past Python's limits is none either."""
    try:
        answer = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        return ExchangeReply("damaged")
    lost = "\ufffd" in text and "\ufffd".encode() not in body
    return ExchangeReply("answered", answer, lost=lost)


def _refuse_constant(constant: str) -> None:
    raise ValueError(constant)


def answer_from_reply(reply: ExchangeReply, call: SentCall) -> AppAnswer:
    """Return the result that a reply holds.

    Raises:
        ToolError: It holds none; the error says why, and what is known of the outcome.
    """
    answer = reply.answer if reply.how == "answered" else None
    if answer is None and reply.said.get("step") == "answered":
        # What is missing is what was read after it.
        answer = dict(reply.said)
    if answer is None:
        lost = _missing_answer_error(reply, call) if reply.sent else _unsent_call(reply, call)
        lost.around = _surrounding_answers(reply.said)
        raise lost
    if not answer.get("ok"):
        error = _failure_error(answer, call)
        error.around = _surrounding_answers(answer)
        raise error
    notes = answer.get("notes")
    told = tuple(str(note) for note in notes) if isinstance(notes, list) else ()
    if reply.lost:
        told += (_LOST_BYTES,)
    listing = answer.get("list")
    listed = listing if isinstance(listing, dict) else None
    return AppAnswer(answer.get("value"), listed, told, _surrounding_answers(answer))


def _failure_error(answer: dict[str, Any], call: SentCall) -> ToolError:
    if answer.get("kind") == _NOT_RUNNING:
        message = f"{call.app} is not running, and a call that only reads does not start it."
        return call.make_error(
            "APP_NOT_RUNNING", message, APPLE_ERRORS[-600].suggestion, retryable=True
        )
    if answer.get("kind") == _STALE:
        message = "An object of the call has changed since it was approved; nothing was sent."
        return call.make_error(
            "STALE", message, "Read the object again, then call again.", retryable=True
        )
    if answer.get("kind") == _CHANGED:
        message = f"The list changed while IAC read it from {call.app}."
        return call.make_error(
            "LIST_CHANGED", message, "Call again, or ask for fewer items.", retryable=True
        )
    number = answer.get("number")
    # The first line of a write comes as it is sent; what failed before it did nothing.
    is_sent = "step" in answer
    error = describe_failure(
        number if isinstance(number, int) else None,
        str(answer.get("message", "")),
        answer.get("about"),
        app=call.app,
        command=call.command,
        writes=call.writes and is_sent,
    )
    if call.writes and not is_sent:
        error.suggestion = f"Nothing was sent. {error.suggestion}"
    return error


def _error_for_number(number: int, original: str, call: SentCall) -> ToolError:
    return describe_failure(
        number, original, app=call.app, command=call.command, writes=call.writes
    )


def _presumed_error(number: int, message: str, call: SentCall) -> ToolError:
    """Return the error that `number` would be, where nobody has told it."""
    error = _error_for_number(number, "", call)
    return call.make_error(error.type, message, error.suggestion, retryable=error.retryable)


def _unsent_call(reply: ExchangeReply, call: SentCall) -> ToolError:
    """Return the error of a call that ended before it was sent: as of a read, nothing was done."""
    if reply.how == "cancelled" and call.writes:
        return call.make_error("USER_CANCELLED", "The call was cancelled before it was sent.")
    error = _missing_answer_error(reply, call._replace(writes=False))
    if call.writes:
        error.suggestion = f"Nothing was sent. {error.suggestion}"
    return error


def _missing_answer_error(reply: ExchangeReply, call: SentCall) -> ToolError:
    """Return the error of a call without an answer: it may have been carried out or not."""
    if reply.how == "timeout":
        unit = "second" if call.timeout == 1 else "seconds"
        return _presumed_error(-1712, f"The command timed out after {call.timeout:g} {unit}.", call)
    kind: ErrorType = "EXECUTION_ERROR"
    retryable, original = not call.writes, ""
    if reply.how == "gone":
        done = reply.left or Completed(b"", b"", 255)
        stderr = done.stderr.decode("utf-8", "replace")
        error_line = parse_error_line(stderr)
        if error_line is not None:
            return _error_for_number(error_line.number, error_line.text, call)
        original = stderr.strip()[-500:]
        if done.status == 1 and not original and not done.stdout.strip():
            # On some hosts this is a denied permission.
            denied = f"most likely permission to control {call.app} was denied"
            return _presumed_error(-1743, f"osascript ended without a message; {denied}.", call)
        how = "was ended by signal" if done.status < 0 else "ended with status"
        message = f"osascript {how} {abs(done.status)} and gave no answer to {call.command}."
        suggestion = "Call again. If it fails again, the app may not accept these values."
    elif reply.how == "too large":
        message = f"The answer of {call.app} was too large to read."
        suggestion = "Ask for fewer items, or for fewer of their properties."
        retryable = False
    elif reply.how == "cancelled":
        kind, message = "USER_CANCELLED", "The call was cancelled."
        suggestion = "Call again if you still need it."
    else:
        message = f"osascript gave no readable answer to {call.command}."
        suggestion = "Call again. If it fails again, ask for fewer items."
    suggestion = OUTCOME_UNKNOWN if call.writes else suggestion
    return call.make_error(kind, message, suggestion, retryable=retryable, original=original)


def parse_error_line(stderr: str) -> ErrorLine | None:
    """Return the error line at the end of what osascript wrote, or None if there is none.

    Understands the forms of every macOS, with the path of a script file before them or without.
    """
    text = stderr.strip()
    found = _LINE.search(text)
    if found is None:
        bare = _BARE_LINE.search(text)
        if bare is None or int(bare["number"]) not in APPLE_ERRORS:
            return None
        return ErrorLine(bare["text"], int(bare["number"]))
    start, end = (None if found[name] is None else int(found[name]) for name in ("start", "end"))
    placed = _SCRIPT_LINE.match(found["text"])
    if placed is None:
        return ErrorLine(found["text"], int(found["number"]), None, start, end)
    return ErrorLine(placed["text"], int(found["number"]), int(placed["line"]), start, end)


def describe_failure(
    number: int | None, original: str, about: Any = None, *, app: str, command: str, writes: bool
) -> ToolError:
    """Return the error for a failure that the harness caught.

    Args:
        number: The Apple event error number; None for a JavaScript exception.
        original: The text that came with it.
        about: How things stand with the app, as `test` answers it, where the harness looked.
        app, command: The names of the app and of the tool.
        writes: Whether the call may have changed something.
    """
    row = _error_row(number, dict(about) if isinstance(about, list) else {})
    suggestion = row.suggestion
    if writes and row.retryable == "read":
        suggestion = f"{suggestion} {OUTCOME_UNKNOWN}"
    reason = original.strip().rstrip(".") or "no reason was given"
    if number is not None and number != _SCRIPT_ERROR:
        reason = f"{reason} ({number})"
    return ToolError(
        row.type,
        _fill_message(row.message, app, reason),
        _fill_message(suggestion, app),
        retryable=row.retryable == "always" or (row.retryable == "read" and not writes),
        app=app,
        command=command,
        number=number,
        original=original,
    )


def _error_row(number: int | None, about: Mapping[str, Any]) -> AppleError:
    if number is None or number == _SCRIPT_ERROR:
        if about.get("installed") is False:
            return APP_GONE
        return UNLOADED if about.get("scriptable") is False else APP_ERROR
    # Positive numbers are an app's own; what they mean is in its words.
    unknown = APP_ERROR if number > 0 else APP_ERROR._replace(type="UNKNOWN")
    return APPLE_ERRORS.get(number, unknown)


def _fill_message(text: str, app: str, reason: str = "") -> str:
    if "{process}" in text:
        # The walk over processes is paid for by a denied call only.
        from iac_runtime.execution.mac import responsible_name

        text = text.replace("{process}", responsible_name())
    return text.replace("{app}", app).replace("{reason}", reason)
