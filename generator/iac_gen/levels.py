"""Levels over time: a tool's level falls only where a person can have meant it.

The lock of the last build is an input. A level that would fall without a reviewed quirk or a
new version of the classifier stays where it was; one that may fall is told, and the lock keeps
the old level until somebody accepts the new one. A command that an update calls by another name
is known by its event.
"""

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, replace
from typing import Final

from iac_gen.ir import Module, Tool
from iac_runtime.tool import LEVELS, Level

__all__ = ["CLASSIFIER", "Fall", "Locked", "event_of", "hold", "pending"]

CLASSIFIER: Final = 3
"""Raise it with every change of `classify` that lowers a level on purpose."""


@dataclass(frozen=True, slots=True)
class Locked:
    """What the lock says of a tool; `app` is its module, `event` is empty for no command."""

    level: Level
    ceiling: Level
    app: str = ""
    event: str = ""


@dataclass(frozen=True, slots=True)
class Fall:
    """A tool whose level or ceiling is lower than the lock's."""

    tool: str
    before: Locked
    after: Locked

    def __str__(self) -> str:
        return f"{self.tool} fell from {_span(self.before)} to {_span(self.after)}"


def event_of(tool: Tool) -> str:
    """Return the event by which a tool is known under any name; empty for no command."""
    return tool.event if tool.op == "command" and not tool.bind else ""


def hold(
    module: Module, locked: Mapping[str, Locked], reviewed: Collection[str], classifier: int
) -> Module:
    """Return `module` with levels that must not fall kept.

    `reviewed` are the functions whose level a quirk decided; `classifier` is the version that
    wrote the lock.
    """
    if classifier != CLASSIFIER:
        return module
    names = {tool.name for tool in module.tools}
    tools = tuple(
        tool
        if tool.function in reviewed
        else _held(tool, _before(tool.name, module.key, event_of(tool), locked, names))
        for tool in module.tools
    )
    return replace(module, tools=tools)


def _before(
    name: str, app: str, event: str, locked: Mapping[str, Locked], names: Set[str]
) -> Locked | None:
    """Return what the lock says of a tool: by its name, else by its event under a name now gone."""
    if name in locked or not event:
        return locked.get(name)
    former = [
        row
        for other, row in locked.items()
        if (row.app, row.event) == (app, event) and other not in names
    ]
    if not former:
        return None
    levels = (LEVELS.index(row.level) for row in former)
    ceilings = (LEVELS.index(row.ceiling) for row in former)
    return Locked(LEVELS[max(levels)], LEVELS[max(ceilings)], app, event)


def _held(tool: Tool, locked: Locked | None) -> Tool:
    if locked is None:
        return tool
    level, ceiling = _higher(tool.level, locked.level), _higher(tool.ceiling, locked.ceiling)
    if (level, ceiling) == (tool.level, tool.ceiling):
        return tool
    words = f"{tool.level}, {tool.reason}."
    summary = f"{tool.summary.removesuffix(words).rstrip()} {level}, as it was before."
    return replace(tool, level=level, ceiling=ceiling, reason="as it was before", summary=summary)


def _higher(one: Level, other: Level) -> Level:
    return one if LEVELS.index(one) >= LEVELS.index(other) else other


def pending(locked: Mapping[str, Locked], now: Mapping[str, Locked]) -> list[Fall]:
    """Return the tools that are lower `now` than in the lock."""
    falls = []
    for name, row in now.items():
        before = _before(name, row.app, row.event, locked, now.keys())
        if before and (
            LEVELS.index(row.level) < LEVELS.index(before.level)
            or LEVELS.index(row.ceiling) < LEVELS.index(before.ceiling)
        ):
            falls.append(Fall(name, before, row))
    return sorted(falls, key=lambda fall: fall.tool)


def _span(row: Locked) -> str:
    return row.level if row.level == row.ceiling else f"{row.level} to {row.ceiling}"
