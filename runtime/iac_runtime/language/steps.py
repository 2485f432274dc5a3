"""Object specifiers and values as data: what crosses to the app, each thing with its type.

Positions count from 0, negative ones from the end. Names are JXA's. Whether `[-1]` reaches the
last object is not documented by Apple; only a Mac can confirm it.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

from iac_base.errors import InvalidParameterError, quote_text

_EPOCH: Final = datetime(1970, 1, 1)
_STEP: Final = timedelta(milliseconds=1)
_FIRST: Final = (datetime.min - _EPOCH) // _STEP
_LAST: Final = (datetime.max - _EPOCH) // _STEP
_CYCLE: Final = timedelta(days=146_097)
"""400 years: the Gregorian calendar repeats after them."""

Operator = Literal["=", ">", ">=", "<", "<=", "_contains", "_beginsWith", "_endsWith"]


class ObjectText(str):
    """The reference of an object that a script gives: it is never taken for a text."""

    __slots__ = ()


class Term(str):
    """A name as JXA spells it, or an enumerator or class as a value, with its code.

    Attributes:
        code: Its four characters; empty where nothing declares it.
        form: What the code names where the term is a value.
        word: The dictionary's own spelling.
    """

    __slots__ = ("code", "form", "word")
    code: str
    form: Literal["property", "enum", "type"]
    word: str

    def __new__(
        cls,
        name: str,
        code: str = "",
        word: str = "",
        form: Literal["property", "enum", "type"] = "property",
    ) -> "Term":
        """Return the name with its code."""
        made = super().__new__(cls, name)
        made.code, made.form, made.word = code, form, word or name
        return made


@dataclass(frozen=True, slots=True)
class PropertyStep:
    """To the property `name`."""

    name: str


@dataclass(frozen=True, slots=True)
class AllElements:
    """To the collection of elements called `name` (a plural)."""

    name: str


@dataclass(frozen=True, slots=True)
class ByIndex:
    """The object at a position of a collection."""

    index: int


@dataclass(frozen=True, slots=True)
class ByName:
    """The object of a collection with this name."""

    name: str


@dataclass(frozen=True, slots=True)
class ById:
    """The object of a collection with this id."""

    id: str | int


@dataclass(frozen=True, slots=True)
class Span:
    """The objects of a collection from `start` up to, and without, `stop`, as Python slices."""

    start: int | None
    stop: int | None


@dataclass(frozen=True, slots=True)
class MiddleOrSome:
    """The object in the middle of a collection, or one that the app picks."""

    which: Literal["middle", "some"]


@dataclass(frozen=True, slots=True)
class RelativeTo:
    """The object after or before an object, of the class `kind`."""

    way: Literal["next", "previous"]
    kind: str


@dataclass(frozen=True, slots=True)
class Boundary:
    """A place to insert at: an end of a collection or an object, or beside an object."""

    place: Literal["end", "beginning", "before", "after"]


@dataclass(frozen=True, slots=True)
class Compare:
    """A test of something of the item: `path` leads there from it, `value` is a tagged value."""

    path: tuple["Step", ...]
    operator: Operator
    value: "Value"


@dataclass(frozen=True, slots=True)
class Join:
    """Tests taken together. `and` and `or` hold two at least, `not` (none of them) one."""

    word: Literal["and", "or", "not"]
    tests: tuple["Filter", ...]


Filter: TypeAlias = Compare | Join


@dataclass(frozen=True, slots=True)
class Whose:
    """The objects of a collection that pass a filter."""

    filter: Filter


_DAYS: Final = {"yesterday": -1, "today": 0, "tomorrow": 1}
_WEEK: Final = "monday tuesday wednesday thursday friday saturday sunday".split()
_WORDED: Final = re.compile(r"([A-Za-z]+?)(?:(?:T|\s+)(\d.*))?")
_DATES: Final = (
    "Write it in local time, like 2026-03-09T14:30, 2026-03-09, today or tomorrow 14:30."
)


@dataclass(frozen=True, slots=True)
class PreviouslyRead:
    """An object of the exchange itself: `made` is what its write answered with; `id` and `name` are
    the object of a collection with the id or the name that was read before the write."""

    by: Literal["id", "name", "made"]


Step: TypeAlias = (
    PropertyStep
    | AllElements
    | ByIndex
    | ByName
    | ById
    | Whose
    | Span
    | MiddleOrSome
    | RelativeTo
    | Boundary
    | PreviouslyRead
)


@dataclass(frozen=True, slots=True)
class PathValue:
    """A file: an absolute path."""

    path: str


@dataclass(frozen=True, slots=True)
class DateValue:
    """A moment: milliseconds since 1970 in UTC; within the years 1 to 9999."""

    ms: int

    @property
    def iso(self) -> str:
        """The moment as JavaScript's `toISOString` writes it."""
        moment = _EPOCH + self.ms * _STEP
        return f"{moment.isoformat(timespec='milliseconds')}Z"


@dataclass(frozen=True, slots=True)
class RefValue:
    """An object specifier; no steps mean the application itself."""

    steps: tuple[Step, ...]


class Rgb(tuple[float, float, float]):
    """Red, green and blue from 0 to 1, as JXA has them."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class RecordValue:
    """A record: fields by JXA name, in order."""

    fields: tuple[tuple[str, "Value"], ...]


Value: TypeAlias = (
    bool
    | int
    | float
    | str
    | PathValue
    | DateValue
    | RefValue
    | RecordValue
    | tuple["Value", ...]
    | None
)
"""A tagged value. Enumerators and class names travel as text, a missing value as None."""


def read_date(text: str, where: str = "date") -> DateValue:
    """Return the moment that an ISO 8601 text names, to the millisecond.

    Without an offset it is local time of the user, and a date alone is its midnight. A year has
    four digits, 0001 to 9999, and the moment must lie in them in UTC too. `today`, `tomorrow`,
    `yesterday` and the name of a day of the week (the next one) stand for their date, alone or
    before a time (`tomorrow 14:30`); `now` is now.

    Raises:
        InvalidParameterError: The text is no such date.
    """
    try:
        moment = datetime.fromisoformat(expand_day_words(text.strip()))
        shift = moment.utcoffset()
        if shift is None:
            shift = _local_offset(moment)
    except (ValueError, OverflowError, OSError):
        raise InvalidParameterError(f"{where}: {quote_text(text)} is not a date.", _DATES) from None
    ms = (moment.replace(tzinfo=None) - _EPOCH - shift) // _STEP
    if not _FIRST <= ms <= _LAST:
        raise InvalidParameterError(f"{where}: {quote_text(text)} is outside the years 1 to 9999.")
    return DateValue(ms)


def expand_day_words(text: str) -> str:
    """Return a text that begins with the word for a day with its date instead; others as it is."""
    found = _WORDED.fullmatch(text)
    if found is None:
        return text
    now, day, time = datetime.now(), found[1].casefold(), found[2]
    if day == "now" and not time:
        return now.isoformat()
    shift = _DAYS.get(day)
    if shift is None and day in _WEEK:
        shift = (_WEEK.index(day) - now.weekday() - 1) % 7 + 1
    if shift is None:
        return text
    date = (now + timedelta(days=shift)).date().isoformat()
    return f"{date}T{time:0>5}" if time else date


def local_day(text: str, later: int = 0, where: str = "date") -> str:
    """Return the local day on which a moment falls, or one some days later, as ISO 8601.

    Raises:
        InvalidParameterError: The text is not a date.
    """
    moment = datetime.fromtimestamp(read_date(text, where).ms / 1000)
    return (moment + timedelta(days=later)).date().isoformat()


def _local_offset(moment: datetime) -> timedelta:
    """Return the offset of local time; at the ends of the calendar that of 400 years away."""
    try:
        offset = moment.astimezone().utcoffset()
    except (ValueError, OverflowError, OSError):
        nearer = moment + _CYCLE if moment.year < 5000 else moment - _CYCLE
        offset = nearer.astimezone().utcoffset()
    return offset or timedelta(0)
