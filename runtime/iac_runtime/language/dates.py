"""What a text can mean by a date that is not written as ISO 8601.

Only proposed, never taken: `9/3/2026` is a day in March or in September.
"""

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Final

_DAYS: Final = (
    *("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%Y/%m/%d", "%Y.%m.%d", "%m-%d-%Y", "%d-%m-%Y"),
    *("%d %B %Y", "%B %d %Y", "%d %b %Y", "%b %d %Y", "%d %B", "%B %d", "%d %b", "%b %d"),
)
"""How people write a day, as `strptime` reads it."""

_TIME: Final = re.compile(
    r"(?:^|\s+(?:at\s+)?|at\s+)(?:(noon|midnight)|(\d{1,2})(?:[:.](\d\d))?\s*(?:([ap])\.?m\.?)?)$"
)
_SHIFT: Final = re.compile(r"(in )?(\d+|an?) (minute|hour|day|week)s?( ago| from now)?")
_FILLERS: Final = re.compile(r"\b(?:on|of|the|this|next|coming)\s+|,|(?<=\d)(?:st|nd|rd|th)\b")


def date_readings(text: str, expand: Callable[[str], str]) -> list[str]:
    """Return the dates and times that a text can mean, as ISO 8601 in local time.

    `expand` returns the date for the word for a day, and another text as it is.
    """
    plain = " ".join(_FILLERS.sub(" ", text.casefold()).split())
    shift = _SHIFT.fullmatch(plain)
    if shift is not None and (shift[1] or shift[4]):
        count = int(shift[2]) if shift[2].isdigit() else 1
        try:
            apart = timedelta(**{f"{shift[3]}s": -count if shift[4] == " ago" else count})
            moment = datetime.now() + apart
        except OverflowError:
            return []
        days = shift[3] in ("day", "week")
        return [moment.date().isoformat() if days else moment.isoformat(timespec="minutes")]
    found = list(_days_of(plain, expand))
    if not found and (time := _TIME.search(plain)) and (clock := _clock_time(time)):
        days_of = _days_of(plain[: time.start()].strip() or "today", expand)
        found = [f"{day}T{clock}" for day in days_of]
    return list(dict.fromkeys(found))


def _days_of(text: str, expand: Callable[[str], str]) -> Iterator[str]:
    word = expand(text)
    if word != text and len(word) == len("2026-03-09"):
        yield word
    for form in _DAYS:
        # A day of February wants to know its year.
        year = "" if "%Y" in form else f" {datetime.now().year}"
        try:
            yield datetime.strptime(text + year, f"{form} %Y" if year else form).date().isoformat()
        except ValueError:
            continue


def _clock_time(found: re.Match[str]) -> str:
    """Return a time of the day as `14:30`; empty where there is no such time."""
    if found[1]:
        return {"noon": "12:00", "midnight": "00:00"}[found[1]]
    hour, minute = int(found[2]), int(found[3] or 0)
    if found[4]:
        hour = hour % 12 + (12 if found[4] == "p" else 0) if 1 <= hour <= 12 else 24
    return f"{hour:02}:{minute:02}" if hour < 24 and minute < 60 else ""
