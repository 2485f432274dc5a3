"""Requests, object specifiers and values as data: what crosses to the app, each with its type.

Positions count from 0, negative ones from the end. Names are JXA's. Whether `[-1]` reaches the
last object is not documented by Apple; only a Mac can confirm it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from iac_base.errors import InvalidParameterError, quote_text
from iac_runtime.tool import Kind

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


class AppendedText(str):
    """What is added at the end of a text that a property has."""

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
        # Needed by what is no date, and by no other.
        from iac_runtime.language.dates import date_readings

        meant = date_readings(text, expand_day_words)
        way = f"Write {' or '.join(meant)}." if meant else _DATES
        raise InvalidParameterError(
            f"{where}: {quote_text(text)} is not a date.", way, said=text, key=where, meanings=meant
        ) from None
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


EventOp = Literal[
    "command",
    "get",
    "properties",
    "columns",
    "each",
    "set",
    "list",
    "count",
    "activate",
    "launch",
    "quit",
    "running",
    "test",
]
"""What the harness does.

`get` reads one value, `properties` all of an object, `columns` some, `each` does several requests
in one call. `set`, `list` and `count` are what they say. `test` says how things stand with the app,
without an event to it.
"""


class Absent:
    """The type of `ABSENT`."""


ABSENT = Absent()
"""Stands for a direct parameter that the command does not have."""


class Order(NamedTuple):
    """A property to sort by, by JXA name."""

    jxa: str
    descending: bool = False


class Column(NamedTuple):
    """A property to read: the key of the answer, and JXA's name (empty: the object itself)."""

    label: str
    jxa: str


@dataclass(frozen=True, slots=True)
class RawForm:
    """That a request goes out as raw Apple events, and what codes in their answers mean.

    Attributes:
        seconds: How long each event may take.
        properties, elements, words: Code -> JXA's name of properties, of collections (by the code
            of their class), and of enumerators and classes as values.
    """

    seconds: float
    properties: Mapping[int, str]
    elements: Mapping[int, str]
    words: Mapping[int, str]


class SurroundingReads(NamedTuple):
    """What is read around a write, in its exchange; the write is carried out whatever it gives.

    Attributes:
        before: Requests that read.
        after: Requests that read then, by what the first of `before` gave where they name it
            (`PreviouslyRead`): the first property of an object, or the id of each item of a list,
            for each of which it is read.
    """

    before: "tuple[Event, ...]" = ()
    after: "tuple[Event, ...]" = ()


class IntentRequest(NamedTuple):
    """A request to an App Intent: no event, but a shortcut that the person installed.

    Attributes:
        app: The bundle id.
        action: The identifier of the action.
        parameters: Values of JSON by the names of the metadata; a date as `toISOString` writes it.
    """

    app: str
    action: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """One request.

    Attributes:
        app: The bundle id.
        kind: An application, or a scripting addition (run by the current application).
        op: What to do.
        code: The eight characters of the Apple event.
        command: JXA's name of the command, for `command`.
        target: The object, or for `list` and `count` the collection.
        direct: The direct parameter; None where it is optional and left out.
        named: Named parameters, or for `set` the new values, by JXA name.
        more: Parameters that go along with each event of get, set, list or count, by JXA name.
        columns: The properties to read.
        id_column, name_column: What names the items of a list: properties by JXA name, or empty.
        nested: Whether the items of a list can lie in each other: a name may be the end of a path.
        order: What to sort a list by, the first before the second.
        offset, limit: Which items of a list; no limit means all.
        after: The id of the item that comes before them, as text: where it is now, they begin.
        id_classes: The classes that have an id, and the property that holds it, by JXA name.
        parts: The requests of `each`.
        writes: Whether the call may change something: then it is never sent twice.
        may_launch: Whether an app that is not running may be started by it.
        pin: A request that reads, and its answer: nothing is sent where it answers otherwise.
        around: What is read before and after a write.
        raw: How it is sent by codes, where JXA has no form for it; None for JXA's own form.
        ranges: How a part of a list is read, by codes; None where it is read whole.
        holders: How many steps of the target lead to objects in each of which a list looks, and
            the properties that hold their id and their name, by JXA name; none for a list of one.
        costs: What reads are taken to cost (see execution/jxa/plans.js); empty for the defaults.
        filter_here: Why the harness decides the filter of a list or count, not the app: that took
            too long, or a whole column is the proof.
    """

    app: str
    kind: Kind
    op: EventOp
    code: str
    command: str = ""
    target: tuple[Step, ...] = ()
    direct: Value | Absent = ABSENT
    named: tuple[tuple[str, Value], ...] = ()
    more: tuple[tuple[str, Value], ...] = ()
    columns: tuple[Column, ...] = ()
    id_column: str = ""
    name_column: str = ""
    nested: bool = False
    order: tuple[Order, ...] = ()
    offset: int = 0
    limit: int | None = None
    after: str = ""
    id_classes: tuple[tuple[str, str], ...] = ()
    parts: tuple["Event", ...] = ()
    writes: bool = True
    may_launch: bool = True
    pin: tuple["Event", Any] | None = None
    around: SurroundingReads | None = None
    raw: RawForm | None = field(default=None, compare=False)
    ranges: RawForm | None = field(default=None, compare=False)
    holders: tuple[int, str, str] | None = None
    costs: Mapping[str, Any] = field(default_factory=dict, compare=False)
    filter_here: Literal["", "slow", "proof"] = ""
