"""A request to an app as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from iac_runtime.language.steps import Step, Value
from iac_runtime.tool import Kind

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
        before, after: Requests that read.
        seen: Whether `after` goes by what the first of `before` gave (`steps.Seen`): the first
            property of an object, or the id of each item of a list, for each of which it is read.
    """

    before: "tuple[Event, ...]" = ()
    after: "tuple[Event, ...]" = ()
    seen: bool = False


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
