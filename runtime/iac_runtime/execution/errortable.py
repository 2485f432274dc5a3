"""What each Apple event error number means, as rows.

Numbers and causes: AppleScript Language Guide, error tables B-1 to B-4; MacErrors.h; what is seen
of JXA in public reports. In the words of a row `{app}` stands for the app's name and `{process}`
for the program that macOS asks about.
"""

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from iac_base.errors import ErrorType

__all__ = ["APP_ERROR", "APP_GONE", "DENIED", "KNOWN", "UNLOADED", "Again", "Known", "Retry"]

Retry = Literal["never", "read", "launch"]
"""Whether the runner itself may send the event again, once: a read as it is; or, with `launch`,
a read or a change that did not reach the app, right after the app was launched for it."""

Again = Literal["never", "read", "always"]
"""Whether a caller may send the same call again without harm: never, if it only reads, or any."""


class Known(NamedTuple):
    """What a number means to whoever called."""

    type: ErrorType
    message: str
    suggestion: str
    retryable: Again = "never"
    retry: Retry = "never"


_PANE: Final = "System Settings > Privacy & Security"
_LOOK: Final = "List again and use a reference that the answer gives."
_VALUES: Final = "Check the types of the arguments; a file is an absolute path, a date is ISO 8601."
_OTHER: Final = "Try another object or property."
_REASON: Final = "Check the values; the app gives no reason."
_LAUNCH: Final = "Launch it with app_launch, then call again."
_HEALTH: Final = "Quit the app and open it again, then look whether it was done."

DENIED: Final = Known(
    "PERMISSION_DENIED",
    "Permission to control {app} was denied.",
    f"Allow it under {_PANE} > Automation: switch on {{app}} under {{process}}, then call again.",
)
APP_GONE: Final = Known(
    "APP_NOT_FOUND",
    "{app} could not be found.",
    "Is it installed? If so, open it once by hand, then call again.",
)
UNLOADED: Final = Known(
    "NOT_SUPPORTED",
    "The dictionary of {app} could not be loaded.",
    "Check that the app opens and that it is the version the tools were built for.",
)
APP_ERROR: Final = Known("EXECUTION_ERROR", "{app} failed: {reason}.", "")

_ASSISTIVE: Final = (
    f"Allow it under {_PANE} > Accessibility: switch on {{process}}, then call again."
)
_CANNOT_FILTER: Final = Known(
    "NOT_SUPPORTED",
    "{app} cannot make this comparison.",
    "Filter by another property, or list without a filter.",
)
_DIALOG: Final = Known(
    "BUSY", "{app} needs a person to answer a dialog.", "Answer it in the app, then call again."
)
_MISSING: Final = Known(
    "INVALID_PARAMETER", "{app} misses a parameter.", "Give the optional ones too."
)
_NO_VALUE: Final = Known("INVALID_PARAMETER", "{app} could not use a value.", _VALUES)
_MALFORMED: Final = Known("EXECUTION_ERROR", "The exchange with {app} was malformed.", _HEALTH)
_MEMORY: Final = Known(
    "EXECUTION_ERROR",
    "{app} could not be launched or reached.",
    "Open it by hand, then call again.",
)
_REMOTE: Final = Known(
    "EXECUTION_ERROR",
    "{app} could not be reached on the other computer.",
    "Check Remote Apple Events.",
)
_SCRIPT: Final = Known(
    "EXECUTION_ERROR", "The script for {app} could not be compiled or run.", "Check the script."
)


def _rows(numbers: Iterable[int], row: Known) -> dict[int, Known]:
    return dict.fromkeys(numbers, row)


_ENVIRONMENT: Final[dict[int, Known]] = {
    -34: Known("EXECUTION_ERROR", "{app}: the disk is full.", "Free some space, then call again."),
    -35: Known("NOT_FOUND", "{app} did not find the disk.", "Check the path; list the disks."),
    -37: Known("INVALID_PARAMETER", "{app}: this is no name for a file.", "Give another name."),
    -39: Known("EXECUTION_ERROR", "{app} met the end of the file.", "Check the file."),
    -43: Known("NOT_FOUND", "{app} did not find the file.", "Check the path."),
    -48: Known(
        "INVALID_PARAMETER", "{app}: a file of this name is there already.", "Give another name."
    ),
    -49: Known(
        "BUSY", "{app}: the file is open already.", "Close it where it is open, then call again."
    ),
    -50: _NO_VALUE,
    -54: Known(
        "PERMISSION_DENIED",
        "{app} may not open this file.",
        f"Check its rights; for a protected folder see {_PANE} > Files and Folders.",
    ),
    -61: Known("EXECUTION_ERROR", "{app}: the file is not open for writing.", "Check its rights."),
    -108: Known("EXECUTION_ERROR", "{app} ran out of memory.", "Ask for less at a time."),
    -120: Known("NOT_FOUND", "{app} did not find the folder.", "Check the path."),
    -128: Known(
        "USER_CANCELLED", "{app}: the user cancelled.", "Ask the user before you try again."
    ),
    -192: Known(
        "NOT_SUPPORTED", "{app} has no scripting dictionary.", "It cannot be controlled this way."
    ),
    **_rows((-601, -602, -605, -606, -607, -608), _MEMORY),
    **_rows((-904, -905, -906, -915), _REMOTE),
    -10810: Known(
        "APP_NOT_FOUND", "{app} could not be launched.", "Open it once by hand.", "always", "launch"
    ),
    **_rows((-10814, -10827), APP_GONE),
}

_CONNECTION: Final[dict[int, Known]] = {
    # Some apps (Finder: move, duplicate) answer 0 with words after they did what was asked.
    0: Known("UNKNOWN", "{app} answered with words but no error.", "Look whether it was done."),
    -600: Known("APP_NOT_RUNNING", "{app} is not running.", _LAUNCH, "always", "launch"),
    -609: Known(
        "APP_NOT_RUNNING",
        "{app} quit or crashed during the call.",
        "Launch it with app_launch and see what was done, then call again.",
        "read",
        "read",
    ),
    **_rows((-610, -1713), _DIALOG),
    -1712: Known(
        "TIMEOUT", "The command timed out.", "Check whether {app} is showing a dialog.", "read"
    ),
    -1743: DENIED,
    -1744: Known(
        "PERMISSION_DENIED",
        "Permission to control {app} has not been given yet.",
        "Answer the question of macOS at the screen, or allow it under "
        f"{_PANE} > Automation: switch on {{app}} under {{process}}, then call again.",
    ),
    -25211: Known("PERMISSION_DENIED", "Permission for assistive access was denied.", _ASSISTIVE),
    1002: Known("PERMISSION_DENIED", "Permission to send keystrokes was denied.", _ASSISTIVE),
}

_EVENTS: Final[dict[int, Known]] = {
    -1700: _NO_VALUE,
    -1701: _MISSING,
    **_rows((-1703, -1704, -1705), _NO_VALUE),
    **_rows((-1702, -1706, -1707, -1709, -1710), _MALFORMED),
    # An app that is still starting refuses commands that it understands a moment later.
    -1708: Known(
        "NOT_SUPPORTED",
        "{app} does not understand this here.",
        "The object may be of another class.",
        retry="launch",
    ),
    -1711: Known(
        "USER_CANCELLED", "{app}: the wait was cancelled.", "Look whether it was done, then ask."
    ),
    -1715: _MISSING,
    -1717: Known("NOT_SUPPORTED", "{app} has no handler for this.", _OTHER),
    -1719: Known("NOT_FOUND", "{app} has nothing at this position.", _LOOK),
    -1720: Known("INVALID_PARAMETER", "{app} cannot make this range.", "Check its ends."),
    -1721: Known("INVALID_PARAMETER", "{app} wants another number of values.", _VALUES),
    -1723: Known("NOT_SUPPORTED", "{app} does not offer this property or element here.", _OTHER),
    **_rows((-1725, -1726, -1727), _CANNOT_FILTER),
    -1728: Known("NOT_FOUND", "{app} could not find this object.", _LOOK),
    -1729: Known("EXECUTION_ERROR", "{app} miscounted its own objects.", _HEALTH),
    -1730: Known("NOT_FOUND", "{app} has nothing in this list.", _LOOK),
    -1731: Known("NOT_SUPPORTED", "{app} does not know objects of this type.", _OTHER),
}

_SCRIPTING: Final[dict[int, Known]] = {
    **_rows(range(-1757, -1749), _SCRIPT),
    -2700: APP_ERROR,
    **_rows(range(-2763, -2700), _SCRIPT),
    -2705: Known(
        "NOT_SUPPORTED",
        "The dictionary of {app} is damaged.",
        "Install the app again, or ask its maker.",
    ),
}

_OBJECTS: Final[dict[int, Known]] = {
    -10000: Known("EXECUTION_ERROR", "{app} failed at it.", _REASON, "read", "read"),
    -10001: _NO_VALUE,
    -10002: Known(
        "INVALID_PARAMETER",
        "{app} does not name this object that way.",
        "Name it by id or by index.",
    ),
    -10003: Known("NOT_SUPPORTED", "{app} does not let this be changed.", "Set another property."),
    -10004: Known(
        "PERMISSION_DENIED",
        "{app} lacks the right to do this.",
        "Its own settings, its sandbox or a protected file refuse it.",
    ),
    -10005: Known("NOT_SUPPORTED", "{app} does not let this be read.", "Read another property."),
    -10006: Known("NOT_SUPPORTED", "{app} does not let this be set.", "Set another property."),
    -10007: Known("NOT_FOUND", "{app} has nothing at so high a position.", _LOOK),
    -10008: Known("NOT_SUPPORTED", "{app}: this is no element.", _OTHER),
    -10009: Known("NOT_SUPPORTED", "{app} cannot give this type.", _OTHER),
    -10010: Known("NOT_SUPPORTED", "{app} cannot do this with an object of this class.", _OTHER),
    -10011: Known("BUSY", "{app} is in another transaction.", "Try again later.", "always"),
    -10012: Known("EXECUTION_ERROR", "{app} knows no such transaction.", "Begin again."),
    -10013: Known("NOT_FOUND", "{app} has no selection.", "Select something first."),
    -10014: Known("NOT_SUPPORTED", "{app} does this to one object at a time.", "Pass one a call."),
    -10015: Known("NOT_SUPPORTED", "{app} cannot undo this.", ""),
    -10016: Known("NOT_SUPPORTED", "{app} does this on its own computer only.", ""),
    -10023: Known(
        "INVALID_PARAMETER",
        "{app} does not take this enumerator here.",
        "Use one that the tool's schema lists.",
    ),
    -10024: Known("INVALID_PARAMETER", "{app} cannot put that there.", "Give another place in at."),
    -10025: Known(
        "INVALID_PARAMETER", "{app}: these properties exclude each other.", "Set fewer of them."
    ),
}

KNOWN: Final[dict[int, Known]] = {
    **_ENVIRONMENT,
    **_CONNECTION,
    **_EVENTS,
    **_SCRIPTING,
    **_OBJECTS,
}
"""Error number -> what it means. The number decides; words are in the language of the system."""
