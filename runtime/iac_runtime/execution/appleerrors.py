"""The failures that Apple events and osascript report, by number.

Numbers and causes: AppleScript Language Guide, error tables B-1 to B-4, and MacErrors.h. Texts are
localised by the system, so the number decides; only -2700, which covers every JavaScript
exception, is told apart by its words. That a silent status 1 is a denied permission is known from
reports of macOS 27 only; a Mac can confirm it.
"""

import re
from typing import Final, NamedTuple

from iac_runtime.errors import ErrorType, ToolError

__all__ = ["KNOWN", "Known", "describe", "script_error", "silent_failure"]


class Known(NamedTuple):
    """What a number means; `{app}` stands for the app's name."""

    type: ErrorType
    message: str
    suggestion: str
    retryable: bool = False


_ALLOW: Final = (
    "Allow it in System Settings > Privacy & Security > Automation, under the program that starts "
    "this one, then call again."
)
_ACCESSIBILITY: Final = "Allow it in System Settings > Privacy & Security > Accessibility."
_VALUE: Final = "Check the types of the arguments; a file is an absolute path, a date is ISO 8601."
_LOOK: Final = "Read the list again and use a reference that it gives."

_NO_VALUE: Final = Known("INVALID_PARAMETER", "{app} could not use a value.", _VALUE)
_NO_ACCESS: Final = Known(
    "NOT_SUPPORTED", "{app} does not let this be changed or read.", "Try another property."
)
_DENIED: Final = Known("PERMISSION_DENIED", "macOS does not allow control of {app}.", _ALLOW)
_FILE: Final = Known(
    "EXECUTION_ERROR", "The file system refused it.", "Check the path, the disk and your rights."
)
_LAUNCH: Final = Known(
    "APP_NOT_FOUND", "{app} cannot be found or started.", "Check that it is installed."
)
_LOST: Final = Known(
    "APP_NOT_RUNNING", "{app} quit or crashed.", "Launch it, see what was done, then call again."
)
_MODEL: Final = Known(
    "NOT_SUPPORTED", "{app} cannot do this with this object.", "Try another object or property."
)

KNOWN: Final[dict[int, Known]] = {
    -43: Known("NOT_FOUND", "{app} did not find the file.", "Check the path."),
    -50: _NO_VALUE,
    **dict.fromkeys((-34, -35, -37, -39, -48, -49, -54, -61, -108, -120), _FILE),
    -128: Known(
        "USER_CANCELLED", "{app}: the user cancelled.", "Ask the user before you try again."
    ),
    -192: Known("NOT_SUPPORTED", "{app} has no scripting dictionary.", ""),
    -600: Known(
        "APP_NOT_RUNNING",
        "{app} is not running.",
        "Launch it with app_launch, then call again.",
        True,
    ),
    -609: _LOST,
    **dict.fromkeys(
        (-610, -1713),
        Known("BUSY", "{app} needs a person to answer a dialog.", "Answer it in the app."),
    ),
    **dict.fromkeys((-1700, -1703, -1704, -1705, -10001, -10023), _NO_VALUE),
    **dict.fromkeys(
        (-1701, -1715, -1721),
        Known("INVALID_PARAMETER", "{app} misses a parameter.", "Give the optional ones too."),
    ),
    -1708: Known(
        "NOT_SUPPORTED",
        "{app} does not understand this here.",
        "The object may be of another class.",
    ),
    -1712: Known(
        "TIMEOUT",
        "{app} did not answer in time.",
        "It may show a dialog, or still be at work; look before you try again.",
    ),
    **dict.fromkeys(
        (-1719, -10007), Known("NOT_FOUND", "{app} has nothing at this position.", _LOOK)
    ),
    **dict.fromkeys((-1720, -1723, -1725, -1726, -1727, -1729, -1730, -1731), _MODEL),
    -1728: Known("NOT_FOUND", "{app} cannot find this object.", _LOOK),
    **dict.fromkeys((-1743, -1744), _DENIED),
    -10000: Known(
        "EXECUTION_ERROR", "{app} failed at it.", "Check the values; the app gives no reason."
    ),
    -10002: Known(
        "INVALID_PARAMETER",
        "{app} does not name this object that way.",
        "Name it by id or by index.",
    ),
    **dict.fromkeys((-10003, -10005, -10006), _NO_ACCESS),
    -10004: Known(
        "PERMISSION_DENIED",
        "{app} lacks the right to do this.",
        "The app's own settings or its sandbox refuse it.",
    ),
    **dict.fromkeys((-10008, -10009, -10010, -10014, -10015, -10016), _MODEL),
    -10011: Known("BUSY", "{app} is in another transaction.", "Try again later.", True),
    -10013: Known("NOT_FOUND", "{app} has no selection.", "Select something first."),
    -10024: Known("INVALID_PARAMETER", "{app} cannot put that there.", "Give another place in at."),
    -10025: Known(
        "INVALID_PARAMETER", "{app}: these properties exclude each other.", "Set fewer of them."
    ),
    -10810: Known("APP_NOT_FOUND", "{app} could not be launched.", "Open it by hand once.", True),
    **dict.fromkeys((-10814, -10827), _LAUNCH),
    -25211: Known("PERMISSION_DENIED", "macOS does not allow assistive access.", _ACCESSIBILITY),
    1002: Known("PERMISSION_DENIED", "macOS does not allow keystrokes to be sent.", _ACCESSIBILITY),
}

_WORDS: Final = (
    ("can't be found", _LAUNCH),
    (
        "is not a function",
        Known(
            "NOT_SUPPORTED",
            "{app}'s dictionary could not be loaded.",
            "Check that the app is installed and opens.",
        ),
    ),
)
_LINE = re.compile(r"execution error: (.*) \((-?\d+)\)\s*$", re.DOTALL)


def describe(number: int | None, original: str, *, app: str, tool: str, writes: bool) -> ToolError:
    """Return the error for a failure that the harness caught.

    Args:
        number: The Apple event error number; None for a JavaScript exception.
        original: The text that came with it.
        writes: Whether the call may have changed something; then it is never called retryable.
    """
    known = KNOWN.get(number) if number is not None else None
    if number in (None, -2700):
        plain = original.replace("’", "'").lower()
        known = next((row for words, row in _WORDS if words in plain), None)
    if known is None:
        reason = original.strip() or "no reason was given"
        shown = f" ({number})" if number is not None else ""
        known = Known(
            "EXECUTION_ERROR" if number is None else "UNKNOWN",
            f"{{app}} failed: {reason}{shown}.",
            "",
        )
    retryable = known.retryable and (not writes or number in (-600, -10810))
    return ToolError(
        known.type,
        known.message.replace("{app}", app),
        known.suggestion,
        retryable=retryable,
        app=app,
        tool=tool,
        number=number,
        original=original,
    )


def script_error(stderr: str, *, app: str, tool: str, writes: bool) -> ToolError | None:
    """Return the error of osascript's own error line, or None if there is no such line."""
    found = _LINE.search(stderr.strip())
    if found is None:
        return None
    return describe(int(found.group(2)), found.group(1), app=app, tool=tool, writes=writes)


def silent_failure(app: str, tool: str) -> ToolError:
    """Return the error for a status of 1 without a word: on some hosts a denied permission."""
    return ToolError(
        "PERMISSION_DENIED",
        f"osascript ended without a word; most likely macOS does not allow control of {app}.",
        _ALLOW,
        app=app,
        tool=tool,
    )
