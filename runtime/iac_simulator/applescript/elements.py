"""Elements and properties of texts, lists, records and dates: the script's own values.

Sources: AppleScript Language Guide, "Class Reference" and "Reference Forms".
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from iac_simulator.applescript.values import (
    MONTHS,
    AppleScriptError,
    ClassName,
    Constant,
    Date,
    Path,
    ScriptRecord,
    as_integer,
    as_text,
    class_name,
    day_text,
    posix_path,
    source_text,
    time_text,
)

_WORDS: Final = re.compile(r"[^\W_]+(?:['’.,][^\W_]+)*")
_DATE_FORMS: Final = (
    "%A, %B %d, %Y at %I:%M:%S %p", "%A, %B %d, %Y %I:%M:%S %p", "%B %d, %Y at %I:%M:%S %p",
    "%B %d, %Y %I:%M:%S %p", "%B %d, %Y %I:%M %p", "%B %d, %Y %H:%M", "%A, %B %d, %Y", "%B %d, %Y",
    "%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %I:%M %p", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %H:%M", "%m/%d/%Y",
    "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d", "%d %B %Y", "%m/%d/%y",
)  # fmt: skip


def parse_date(text: str, like: datetime) -> datetime:
    """Return the date that a text says, read as the English locale does.

    Raises:
        AppleScriptError: -30720: it says none.
    """
    plain = " ".join(text.split())
    for form in _DATE_FORMS:
        try:
            return datetime.strptime(plain, form).replace(tzinfo=like.tzinfo)
        except ValueError:
            continue
    for form in ("%I:%M:%S %p", "%I:%M %p", "%H:%M:%S", "%H:%M"):
        try:
            time = datetime.strptime(plain, form).time()
        except ValueError:
            continue
        return datetime.combine(like.date(), time, like.tzinfo)
    raise AppleScriptError(-30720, f"Invalid date and time date {text}.")


class Delimiters(NamedTuple):
    """Text item delimiters, and whether their case counts."""

    marks: Sequence[str]
    exact: bool = False


def text_spans(text: str, term: str, delimiters: Delimiters) -> list[tuple[int, int]]:
    """Return where the elements of a class are in a text.

    Raises:
        AppleScriptError: -1728: it has none of this class.
    """
    marks = sorted((mark for mark in delimiters.marks if mark), key=len, reverse=True)
    if term in ("character", "item", "text") or (term == "text item" and not marks):
        return [(at, at + 1) for at in range(len(text))]
    if term == "word":
        return [match.span() for match in _WORDS.finditer(text)]
    if term == "paragraph":
        ends = re.compile(r"\r\n|[\r\n\u2028\u2029]")
    elif term == "text item":
        flags = 0 if delimiters.exact else re.IGNORECASE
        ends = re.compile("|".join(map(re.escape, marks)), flags)
    else:
        raise AppleScriptError(-1728, f"Can’t get every {term} of {source_text(text)}.")
    spans = [match.span() for match in ends.finditer(text)]
    starts, stops = [0, *(stop for _, stop in spans)], [*(start for start, _ in spans), len(text)]
    return list(zip(starts, stops, strict=True))


def items_of(value: Any, term: str, delimiters: Delimiters) -> list[Any]:
    """Return the elements of a value by their class.

    Raises:
        AppleScriptError: -1728: it has none of this class.
    """
    if isinstance(value, list):
        if term in ("item", "anything"):
            return value
        return [item for item in value if _is_of(item, term)]
    if isinstance(value, str):
        return [value[start:stop] for start, stop in text_spans(value, term, delimiters)]
    raise AppleScriptError(-1728, f"Can’t get every {term} of {source_text(value)}.")


def _is_of(item: Any, term: str) -> bool:
    name = class_name(item)
    return name == term or (term == "number" and name in ("integer", "real")) or (
        term == "string" and name == "text"
    )  # fmt: skip


def pick_element(
    value: Any, term: str, form: str, keys: Sequence[Any], delimiters: Delimiters
) -> Any:
    """Return what an element form names in a value of the script's own.

    Raises:
        AppleScriptError: -1728: there is none; -1700: an index is no number.
    """
    if form == "range" and isinstance(value, str) and term == "text":
        return _text_between(value, keys, delimiters)
    items = items_of(value, term, delimiters)
    if form == "every":
        return list(items)
    if form in ("some", "middle"):
        if not items:
            raise _missing(value, term, form)
        return items[0 if form == "some" else (len(items) - 1) // 2]
    if form == "range":
        first, last = (_index(items, key, value, term) for key in keys)
        return items[min(first, last) : max(first, last) + 1]
    if form in ("index", "name", "id"):
        return items[_index(items, keys[0], value, term)]
    raise _missing(value, term, form)


def _text_between(text: str, keys: Sequence[Any], delimiters: Delimiters) -> str:
    """Return the text between two ends: a number of a character, or a class and a number."""
    ends = [key if isinstance(key, tuple) else ("character", key) for key in keys]
    spans = [(text_spans(text, term, delimiters), term, key) for term, key in ends]
    places = [found[_index(found, key, text, term)] for found, term, key in spans]
    return text[min(place[0] for place in places) : max(place[1] for place in places)]


def _missing(value: Any, term: str, key: Any) -> AppleScriptError:
    return AppleScriptError(-1728, f"Can’t get {term} {key} of {source_text(value)}.")


def _index(items: Sequence[Any], key: Any, value: Any, term: str) -> int:
    number = as_integer(key)
    place = number - 1 if number > 0 else number + len(items)
    if number == 0 or not 0 <= place < len(items):
        raise _missing(value, term, number)
    return place


_OF_DATE: Final[dict[str, Callable[[datetime], Any]]] = {
    "year": lambda m: m.year,
    "month": lambda m: Constant(MONTHS[m.month]),
    "day": lambda m: m.day,
    "weekday": lambda m: Constant(f"{m:%A}"),
    "time": lambda m: m.hour * 3600 + m.minute * 60 + m.second,
    "hours": lambda m: m.hour,
    "minutes": lambda m: m.minute,
    "seconds": lambda m: m.second,
    "date string": day_text,
    "time string": time_text,
    "short date string": lambda m: f"{m.month}/{m.day}/{m:%y}",
}
_OF_TEXT: Final[dict[str, Callable[[str], Any]]] = {
    "length": len,
    "quoted form": lambda text: "'" + text.replace("'", "'\\''") + "'",
    "POSIX path": posix_path,
    "id": lambda text: ord(text) if len(text) == 1 else [ord(char) for char in text],
}
_OF_LIST: Final[dict[str, Callable[[list[Any]], Any]]] = {
    "length": len,
    "reverse": lambda items: items[::-1],
    "rest": lambda items: items[1:],
}


def property_of(value: Any, name: str) -> Any:
    """Return a property of a value of the script's own.

    Raises:
        AppleScriptError: -1728: it has none of this name.
    """
    if name == "class":
        return ClassName(class_name(value))
    if name in ("contents", "it"):
        return value
    if isinstance(value, ScriptRecord):
        key = name.casefold()
        if key in value.fields:
            return value.fields[key]
        if name == "length":
            return len(value.fields)
    elif isinstance(value, Date) and name in _OF_DATE:
        return _OF_DATE[name](value.moment)
    elif isinstance(value, str) and name in _OF_TEXT:
        return _OF_TEXT[name](value)
    elif isinstance(value, list) and name in _OF_LIST:
        return _OF_LIST[name](value)
    elif isinstance(value, Path) and name in ("POSIX path", "name"):
        return value.path if name == "POSIX path" else value.path.rstrip("/").rpartition("/")[2]
    raise AppleScriptError(-1728, f"Can’t get {name} of {source_text(value)}.")


def set_property(value: Any, name: str, given: Any) -> None:
    """Set a property of a record or a date.

    Raises:
        AppleScriptError: -10006: it has none that can be set.
    """
    if isinstance(value, ScriptRecord):
        value.fields[name.casefold()] = given
        return
    if not isinstance(value, Date):
        raise AppleScriptError(
            -10006, f"Can’t set {name} of {source_text(value)} to {as_text(given)}."
        )
    moment = value.moment
    if name == "month":
        term = given.term if isinstance(given, Constant) else None
        number = MONTHS.index(term) if term in MONTHS else as_integer(given)
        value.moment = _shift_days(moment, moment.year, number, moment.day)
    elif name == "day":
        value.moment = _shift_days(moment, moment.year, moment.month, as_integer(given))
    elif name == "year":
        value.moment = _shift_days(moment, as_integer(given), moment.month, moment.day)
    elif name in ("time", "hours", "minutes", "seconds"):
        parts = {"hours": moment.hour, "minutes": moment.minute, "seconds": moment.second}
        parts = (
            {"seconds": as_integer(given)} if name == "time" else parts | {name: as_integer(given)}
        )
        value.moment = datetime.combine(moment.date(), datetime.min.time(), moment.tzinfo)
        value.moment += timedelta(**parts)
    else:
        raise AppleScriptError(-10006, f"Can’t set {name} of {source_text(value)}.")


def _shift_days(moment: datetime, year: int, month: int, day: int) -> datetime:
    """Return a moment on another day; a day that the month does not have runs into the next."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    return moment.replace(year=year, month=month, day=1) + timedelta(days=day - 1)
