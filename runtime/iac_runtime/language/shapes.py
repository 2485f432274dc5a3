"""Colours and rectangles in JXA's units, which are not AppleScript's.

A colour is red, green and blue from 0 to 1 (AppleScript: 0 to 65535). Bounds are
`{x, y, width, height}` in points from the top left of the main screen (AppleScript: left, top,
right, bottom). Source: WWDC 2014 session 306; for bounds working scripts.
"""

from collections.abc import Sequence
from typing import Any, Final

from iac_runtime.errors import InvalidParameterError, quoted
from iac_runtime.language.steps import RecordValue, Value

__all__ = ["color", "rectangle"]

_BOUNDS: Final = ("x", "y", "width", "height")


def color(value: Sequence[Any], where: str) -> Value:
    """Return a colour: three numbers from 0 to 1.

    Raises:
        InvalidParameterError: It is something else.
    """
    if len(value) != 3 or not all(_is_number(part) and 0 <= part <= 1 for part in value):
        raise InvalidParameterError(
            f"{where}: {quoted(str(value))} is no colour.",
            "Give red, green and blue from 0 to 1, as in [1, 0.5, 0].",
        )
    return tuple(value)


def rectangle(value: Any, where: str) -> Value:
    """Return a rectangle: x, y, width and height.

    Raises:
        InvalidParameterError: It is something else.
    """
    fields = value if isinstance(value, dict) else {}
    if set(fields) != set(_BOUNDS) or not all(_is_number(part) for part in fields.values()):
        raise InvalidParameterError(
            f"{where}: {quoted(str(value))} is no rectangle.",
            'Write {"x": 0, "y": 0, "width": 400, "height": 300}.',
        )
    return RecordValue(tuple((key, fields[key]) for key in _BOUNDS))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**53
