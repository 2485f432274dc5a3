"""A request to an app as data, its JSON for the harness, and the line of JXA a person would write.

In that JSON an object is always a tagged value, so that no data can be taken for a tag.

The line is for reading (dry runs, refusals, a client's display); it is never run. It sends the
same Apple events as the harness, but for what the harness asks afterwards to name a result.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from iac_base.words import text_literal
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
from iac_runtime.language.text import member, object_text, steps_text, value_text
from iac_runtime.tool import Kind

__all__ = ["ABSENT", "Absent", "Column", "Event", "EventOp", "Order", "event_json", "jxa_line"]

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
        id_classes: The classes that have an id, and the property that holds it, by JXA name.
        parts: The requests of `each`.
        writes: Whether the call may change something: then it is never sent twice.
        may_launch: Whether an app that is not running may be started by it.
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
    id_classes: tuple[tuple[str, str], ...] = ()
    parts: tuple["Event", ...] = ()
    writes: bool = True
    may_launch: bool = True


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
        "more": [[name, _value(value)] for name, value in event.more],
        "columns": [[column.label, column.jxa] for column in event.columns],
        "idColumn": event.id_column,
        "nameColumn": event.name_column,
        "order": [list(row) for row in event.order],
        "offset": event.offset,
        "limit": event.limit,
        "idClasses": [list(pair) for pair in event.id_classes],
        "parts": [event_json(part, mark) for part in event.parts],
    }
    if not isinstance(event.direct, Absent):
        request["direct"] = _value(event.direct)
    if event.kind == "application" and not event.may_launch:
        request["needRunning"] = True
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
    return ["test", [_step(step) for step in test.path], test.operator, _value(test.value)]


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


def jxa_line(event: Event) -> str:
    """Return the request as one line of JavaScript."""
    if event.kind == "addition":
        root, before = (
            "app",
            "const app = Application.currentApplication(); app.includeStandardAdditions = true; ",
        )
    else:
        root, before = f"Application({text_literal(event.app)})", ""
    return before + _line(event, root)


def _line(event: Event, root: str) -> str:
    target = steps_text(event.target, root)
    more = {name: value_text(value, root) for name, value in event.more}
    match event.op:
        case "command":
            return f"{root}{member(event.command)}({', '.join(_arguments(event, root))})"
        case "get":
            return _read(target, root, more)
        case "properties":
            return _read(f"{target}.properties", root, more)
        case "count":
            return f"{root}.count({target}, {object_text(more)})" if more else f"{target}.length"
        case "columns":
            return _columns(event, target, root, more)
        case "each":
            return f"[{', '.join(_line(part, root) for part in event.parts)}]"
        case "list":
            return _list(event, target, root, more)
        case "set":
            return _set(event, target, root, more)
        case "activate" | "launch" | "quit" | "running":
            return f"{root}.{event.op}()"
        case "test":
            return f"{root}.running()"


def _columns(event: Event, target: str, root: str, more: Mapping[str, str]) -> str:
    if len(event.columns) == 1:
        return _read(f"{target}{member(event.columns[0].jxa)}", root, more)
    reads = {c.label: _read(f"x{member(c.jxa)}", root, more) for c in event.columns}
    return f"const x = {target}; ({object_text(reads)})"


def _list(event: Event, target: str, root: str, more: Mapping[str, str]) -> str:
    names = [column.jxa for column in event.columns] + [row.jxa for row in event.order]
    names += [name for name in (event.id_column or event.name_column,) if name]
    names = list(dict.fromkeys(names))
    if not names:
        return f"{root}.count({target}, {object_text(more)})" if more else f"{target}.length"
    if len(names) == 1:
        return _read(f"{target}{_dot(names[0])}", root, more)
    reads = (_read(f"x{_dot(name)}", root, more) for name in names)
    return f"const x = {target}; [{', '.join(reads)}]"


def _set(event: Event, target: str, root: str, more: Mapping[str, str]) -> str:
    sets = [(member(name), value_text(value, root)) for name, value in event.named]
    one = len(sets) == 1
    begin = "" if one else f"const x = {target}; "
    owner = target if one else "x"
    if more:
        calls = (f"{root}.set({owner}{n}, {object_text({'to': v, **more})})" for n, v in sets)
        return begin + "; ".join(calls)
    return begin + "; ".join(f"{owner}{name} = {value}" for name, value in sets)


def _read(specifier: str, root: str, more: Mapping[str, str]) -> str:
    return f"{root}.get({specifier}, {object_text(more)})" if more else f"{specifier}()"


def _dot(name: str) -> str:
    return member(name) if name else ""


def _arguments(event: Event, root: str) -> list[str]:
    arguments: list[str] = []
    named = {name: value_text(value, root) for name, value in event.named}
    if not isinstance(event.direct, Absent) and (event.direct is not None or named):
        arguments.append(value_text(event.direct, root))
    if named:
        arguments.append(object_text(named))
    return arguments
