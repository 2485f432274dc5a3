"""Errors: those an app answers with, and those of a world that is not as its dictionary says."""

from collections.abc import Mapping
from typing import Final

__all__ = ["TEXTS", "AppError", "StateError", "Unreachable", "text_of"]

TEXTS: Final[Mapping[int, str]] = {
    -43: "File wasn't found.",
    -128: "User canceled.",
    -600: "Application isn't running.",
    -609: "Connection is invalid.",
    -610: "No user interaction allowed.",
    -1700: "Can't convert types.",
    -1701: "Some parameter is missing.",
    -1708: "Message not understood.",
    -1712: "AppleEvent timed out.",
    -1713: "No user interaction allowed.",
    -1715: "Required parameter is missing.",
    -1719: "Invalid index.",
    -1723: "Access not allowed.",
    -1728: "Can't get object.",
    -1743: "Not authorized to send Apple events to {app}.",
    -10000: "AppleEvent handler failed.",
    -10002: "Invalid key form.",
    -10003: "Access not allowed.",
    -10004: "A privilege error occurred.",
    -10006: "Can't set object.",
    -10010: "Handler can't handle objects of this class.",
    -10023: "Enumerator not allowed here.",
    -10024: "Can't make class.",
    -25211: "osascript is not allowed assistive access.",
}
"""Error number -> Apple's English text (AppleScript Language Guide, error tables; JXA)."""


def text_of(number: int, app: str) -> str:
    """Return what JXA says for `number` from the app called `app`."""
    return TEXTS.get(number, "An error occurred.").format(app=app)


class AppError(Exception):
    """An app refused an event with this number."""

    def __init__(self, number: int) -> None:
        super().__init__(f"{TEXTS.get(number, 'An error occurred.')} ({number})")
        self.number = number


class Unreachable(Exception):  # noqa: N818 - the name of the condition
    """JXA itself gives up before an event: a plain JavaScript error, without a number."""


class StateError(ValueError):
    """A world cannot be used; the text is one line that says where and what would be right."""

    def __init__(self, text: str) -> None:
        # Keys and values of a state file are foreign and may hold line breaks of any kind.
        super().__init__(" ".join(text.splitlines()))
