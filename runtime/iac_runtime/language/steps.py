"""Object specifiers and values as data: what crosses to the app, each thing with its type.

Positions count from 0, negative ones from the end. Names are JXA's. Whether `[-1]` reaches the
last object is not documented by Apple; only a Mac can confirm it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

__all__ = [
    "Boundary",
    "ById",
    "ByIndex",
    "ByName",
    "Compare",
    "DateValue",
    "Every",
    "Filter",
    "Go",
    "Join",
    "Operator",
    "PathValue",
    "RecordValue",
    "RefValue",
    "Step",
    "Value",
    "Whose",
]

Operator = Literal["=", ">", ">=", "<", "<=", "_contains", "_beginsWith", "_endsWith"]


@dataclass(frozen=True, slots=True)
class Go:
    """To the property `name`."""

    name: str


@dataclass(frozen=True, slots=True)
class Every:
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
class Boundary:
    """A place to insert at."""

    place: Literal["end", "beginning"]


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


Step: TypeAlias = Go | Every | ByIndex | ByName | ById | Whose | Boundary


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
        moment = datetime(1970, 1, 1) + timedelta(milliseconds=self.ms)
        return f"{moment.isoformat(timespec='milliseconds')}Z"


@dataclass(frozen=True, slots=True)
class RefValue:
    """An object specifier; no steps mean the application itself."""

    steps: tuple[Step, ...]


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
