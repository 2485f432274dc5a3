"""Dates as text: ISO 8601, with an offset or in the user's own time."""

from datetime import datetime, timedelta
from typing import Final

from iac_runtime.errors import InvalidParameterError, quoted
from iac_runtime.language.steps import DateValue

__all__ = ["read_date"]

_EPOCH: Final = datetime(1970, 1, 1)
_STEP: Final = timedelta(milliseconds=1)
_FIRST: Final = (datetime.min - _EPOCH) // _STEP
_LAST: Final = (datetime.max - _EPOCH) // _STEP
_CYCLE: Final = timedelta(days=146_097)
"""400 years: the Gregorian calendar repeats after them."""


def read_date(text: str, where: str = "date") -> DateValue:
    """Return the moment that an ISO 8601 text names, to the millisecond.

    Without an offset it is local time of the user, and a date alone is its midnight. A year has
    four digits, 0001 to 9999, and the moment must lie in them in UTC too.

    Raises:
        InvalidParameterError: The text is no such date.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
        shift = moment.utcoffset()
        if shift is None:
            shift = _local_offset(moment)
    except (ValueError, OverflowError, OSError):
        raise InvalidParameterError(
            f"{where}: {quoted(text)} is no date.", "Write it like 2026-03-09T14:30 or 2026-03-09."
        ) from None
    ms = (moment.replace(tzinfo=None) - _EPOCH - shift) // _STEP
    if not _FIRST <= ms <= _LAST:
        raise InvalidParameterError(f"{where}: {quoted(text)} lies outside the years 1 to 9999.")
    return DateValue(ms)


def _local_offset(moment: datetime) -> timedelta:
    """Return the offset of local time; at the ends of the calendar that of 400 years away."""
    try:
        offset = moment.astimezone().utcoffset()
    except (ValueError, OverflowError, OSError):
        nearer = moment + _CYCLE if moment.year < 5000 else moment - _CYCLE
        offset = nearer.astimezone().utcoffset()
    return offset or timedelta(0)
