"""From what an app or osascript reported to an error with its facts.

The number decides, because texts are in the language of the system. Only -2700, which covers every
JavaScript exception, is told apart by its words, and in another language it stays what it is: a
script that failed. That a silent status 1 is a denied permission is known from reports of
macOS 27 only; a Mac can confirm it.
"""

import re
from typing import Final, NamedTuple

from iac_base.errors import ToolError
from iac_runtime.execution.errortable import (
    APP_ERROR,
    APP_GONE,
    DENIED,
    KNOWN,
    UNLOADED,
    Again,
    Known,
)

__all__ = [
    "KNOWN",
    "OUTCOME_UNKNOWN",
    "ErrorLine",
    "Known",
    "describe",
    "parse_error_line",
    "script_error",
    "silent_failure",
    "timed_out",
]

OUTCOME_UNKNOWN: Final = "Whether it was done is not known: look before you try again."

_SCRIPT_ERROR: Final = -2700
_WORDS: Final = (
    ("application can't be found", APP_GONE),
    ("is not a function", UNLOADED),
)
_UNKNOWN: Final = Known("UNKNOWN", APP_ERROR.message, "")
_LINE: Final = re.compile(
    r"(?:(?P<start>\d+):(?P<end>\d+): )?(?:execution|syntax) error: (?P<text>.*) "
    r"\((?P<number>-?\d+)\)\s*\Z",
    re.DOTALL,
)
# The words "execution error" may be of another language too; the number at the end is not.
_BARE_LINE: Final = re.compile(r"^(?P<text>.*) \((?P<number>-?\d+)\)\s*\Z", re.MULTILINE)
_SCRIPT_LINE: Final = re.compile(r"Error on line (?P<line>\d+): (?P<text>.*)\Z", re.DOTALL)


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


def parse_error_line(stderr: str) -> ErrorLine | None:
    """Return the error line at the end of what osascript wrote, or None if there is none.

    Understands the forms of every macOS, with the path of a script file before them or without.
    """
    text = stderr.strip()
    found = _LINE.search(text)
    if found is None:
        bare = _BARE_LINE.search(text)
        if bare is None or int(bare["number"]) not in KNOWN:
            return None
        return ErrorLine(bare["text"], int(bare["number"]))
    start, end = (None if found[name] is None else int(found[name]) for name in ("start", "end"))
    placed = _SCRIPT_LINE.match(found["text"])
    if placed is None:
        return ErrorLine(found["text"], int(found["number"]), None, start, end)
    return ErrorLine(placed["text"], int(found["number"]), int(placed["line"]), start, end)


def describe(
    number: int | None, original: str, *, app: str, command: str, writes: bool
) -> ToolError:
    """Return the error for a failure that the harness caught.

    Args:
        number: The Apple event error number; None for a JavaScript exception.
        original: The text that came with it.
        app, command: The names of the app and of the tool.
        writes: Whether the call may have changed something.
    """
    known = _known(number, original)
    suggestion = known.suggestion
    if writes and known.retryable == "read":
        suggestion = f"{suggestion} {OUTCOME_UNKNOWN}"
    return ToolError(
        known.type,
        _filled(known.message, app, _reason(number, original)),
        _filled(suggestion, app),
        retryable=_retryable(known.retryable, writes=writes),
        app=app,
        command=command,
        number=number,
        original=original,
    )


def script_error(stderr: str, *, app: str, command: str, writes: bool) -> ToolError | None:
    """Return the error of osascript's own error line, or None if there is no such line."""
    found = parse_error_line(stderr)
    if found is None:
        return None
    return describe(found.number, found.text, app=app, command=command, writes=writes)


def silent_failure(app: str, command: str) -> ToolError:
    """Return the error for a status of 1 without a word: on some hosts a denied permission."""
    return ToolError(
        DENIED.type,
        f"osascript ended without a word; most likely permission to control {app} was denied.",
        _filled(DENIED.suggestion, app),
        app=app,
        command=command,
    )


def timed_out(app: str, command: str, seconds: float, *, writes: bool) -> ToolError:
    """Return the error for a call that did not end within `seconds`."""
    unit = "second" if seconds == 1 else "seconds"
    suggestion = KNOWN[-1712].suggestion
    return ToolError(
        "TIMEOUT",
        f"The command timed out after {seconds:g} {unit}.",
        _filled(f"{suggestion} {OUTCOME_UNKNOWN}" if writes else suggestion, app),
        retryable=not writes,
        app=app,
        command=command,
    )


def _known(number: int | None, original: str) -> Known:
    if number is None or number == _SCRIPT_ERROR:
        plain = original.replace("’", "'").lower()
        return next((row for words, row in _WORDS if words in plain), APP_ERROR)
    # Positive numbers are an app's own; what they mean is in its words.
    return KNOWN.get(number) or (APP_ERROR if number > 0 else _UNKNOWN)


def _retryable(again: Again, *, writes: bool) -> bool:
    return again == "always" or (again == "read" and not writes)


def _reason(number: int | None, original: str) -> str:
    reason = original.strip().rstrip(".") or "no reason was given"
    return reason if number is None or number == _SCRIPT_ERROR else f"{reason} ({number})"


def _filled(text: str, app: str, reason: str = "") -> str:
    if "{process}" in text:
        # The walk over processes is paid for by a denied call only.
        from iac_runtime.execution.mac import responsible_name

        text = text.replace("{process}", responsible_name())
    return text.replace("{app}", app).replace("{reason}", reason)
