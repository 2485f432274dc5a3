"""A request to an app as data, and its JSON for the harness.

In that JSON an object is always a tagged value, so that no data can be taken for a tag.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from iac_runtime.language.steps import (
    Boundary,
    ById,
    ByIndex,
    ByName,
    DateValue,
    Every,
    Filter,
    Go,
    Join,
    PathValue,
    RecordValue,
    RefValue,
    Step,
    Value,
    Whose,
)
from iac_runtime.tool import Kind

__all__ = ["ABSENT", "Absent", "Column", "Event", "EventOp", "event_json"]

EventOp = Literal[
    "command",
    "get",
    "properties",
    "columns",
    "set",
    "list",
    "count",
    "activate",
    "launch",
    "quit",
    "running",
]
"""What the harness does. `get` reads one value, `properties` all of an object, `columns` some."""


class Absent:
    """The type of `ABSENT`."""


ABSENT = Absent()
"""Stands for a direct parameter that the command does not have."""


class Column(NamedTuple):
    """A property to read: the key of the answer, and JXA's name (empty: the object itself)."""

    label: str
    jxa: str


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
        columns: The properties to read.
        id_column, name_column: What names the items of a list: properties by JXA name, or empty.
        offset, limit: Which items of a list; no limit means all.
        id_classes: The classes that have an id, and the property that holds it, by JXA name.
        writes: Whether the call may change something: then it is never sent twice.
    """

    app: str
    kind: Kind
    op: EventOp
    code: str
    command: str = ""
    target: tuple[Step, ...] = ()
    direct: Value | Absent = ABSENT
    named: tuple[tuple[str, Value], ...] = ()
    columns: tuple[Column, ...] = ()
    id_column: str = ""
    name_column: str = ""
    offset: int = 0
    limit: int | None = None
    id_classes: tuple[tuple[str, str], ...] = ()
    writes: bool = True


Json: TypeAlias = Any


def event_json(event: Event, mark: str) -> dict[str, Json]:
    """Return the request as the harness reads it; `mark` frames the answer."""
    request: dict[str, Json] = {
        "mark": mark,
        "app": event.app,
        "kind": event.kind,
        "op": event.op,
        "command": event.command,
        "target": [_step(step) for step in event.target],
        "named": [[name, _value(value)] for name, value in event.named],
        "columns": [[column.label, column.jxa] for column in event.columns],
        "idColumn": event.id_column,
        "nameColumn": event.name_column,
        "offset": event.offset,
        "limit": event.limit,
        "idClasses": [list(pair) for pair in event.id_classes],
    }
    if not isinstance(event.direct, Absent):
        request["direct"] = _value(event.direct)
    return request


def _step(step: Step) -> Json:
    match step:
        case Go(name) | Every(name):
            return ["go", name]
        case ByIndex(index):
            return ["at", index]
        case ByName(name):
            return ["name", name]
        case ById(ident):
            return ["id", ident]
        case Boundary(place):
            return ["go", place]
        case Whose(test):
            return ["whose", _filter(test)]


def _filter(test: Filter) -> Json:
    if isinstance(test, Join):
        return [test.word, [_filter(part) for part in test.tests]]
    return ["test", list(test.path), test.operator, _value(test.value)]


def _value(value: Value) -> Json:
    match value:
        case PathValue(path):
            return {"path": path}
        case DateValue(ms):
            return {"date": ms}
        case RefValue(steps):
            return {"ref": [_step(step) for step in steps]}
        case RecordValue(fields):
            return {"record": [[name, _value(part)] for name, part in fields]}
        case tuple():
            return [_value(part) for part in value]
    return value
