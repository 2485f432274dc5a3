"""An object that is not there any more: which one was meant, and how to look again."""

from collections.abc import Iterator
from typing import Final

from iac_runtime.binding import Tool
from iac_runtime.errors import InvalidParameterError, ToolError
from iac_runtime.language.reader import Reader
from iac_runtime.language.steps import ById, ByIndex, ByName, RefValue, Step, Value
from iac_runtime.language.text import steps_text, text_literal
from iac_runtime.request import Absent, Event

__all__ = ["look_again"]

_PICKS: Final = (ById, ByIndex, ByName)


def look_again(error: ToolError, event: Event, tool: Tool) -> ToolError:
    """Return `error`; one that says NOT_FOUND names the object and the call that lists its like."""
    if error.type != "NOT_FOUND":
        return error
    picked = list(dict.fromkeys(_picked(event)))
    if not picked:
        return error
    names = ", ".join(steps_text(steps) for steps in picked[:3])
    lists = dict.fromkeys(filter(None, (_list_call(steps, tool) for steps in picked[:2])))
    error.message = (
        f"{tool.tables.app.name} has no {names} (any more)."
        if len(picked) == 1
        else f"{tool.tables.app.name} lacks one of {names}."
    )
    error.suggestion = "It may be deleted, renamed or moved. " + (
        f"Look again with {' or '.join(lists)}." if lists else "Look again for it."
    )
    return error


def _picked(event: Event) -> Iterator[tuple[Step, ...]]:
    """Yield what the request names by id, name or position, up to the last pick of each."""
    values: list[Value] = [] if isinstance(event.direct, Absent) else [event.direct]
    values += [value for _, value in event.named]
    targets = [event.target, *(steps for value in values for steps in _references(value))]
    for steps in targets:
        last = max((n for n, step in enumerate(steps) if isinstance(step, _PICKS)), default=-1)
        if last >= 0:
            yield steps[: last + 1]


def _references(value: Value) -> Iterator[tuple[Step, ...]]:
    if isinstance(value, RefValue):
        yield value.steps
    elif isinstance(value, tuple):
        for part in value:
            yield from _references(part)


def _list_call(steps: tuple[Step, ...], tool: Tool) -> str:
    """Return the call that lists the collection that `steps` picks from, if there is one."""
    if "list" not in tool.tables.tools:
        return ""
    collection = steps[:-1]
    try:
        found = Reader(tool.tables, strict=False).reference(steps_text(collection))
    except InvalidParameterError:
        return ""
    if not found.selectable or not found.classes:
        return ""
    of = steps_text(collection[:-1])
    within = f", of {text_literal(of)}" if of else ""
    return f"{tool.tables.key}_list (element {text_literal(found.classes[0])}{within})"
