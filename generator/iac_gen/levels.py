"""Levels over time: a tool's level falls only where a person can have meant it.

The lock of the last build is an input. A level that would fall without a reviewed quirk or a
new version of the classifier stays where it was; one that may fall is told, and the lock keeps
the old level until somebody accepts the new one.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from iac_gen.ir import Module, Tool
from iac_runtime.tool import LEVELS, Level

__all__ = ["CLASSIFIER", "Fall", "Locked", "hold", "pending"]

CLASSIFIER: Final = 2
"""Raise it with every change of `classify` that lowers a level on purpose."""


@dataclass(frozen=True, slots=True)
class Locked:
    """What the lock says of a tool."""

    level: Level
    ceiling: Level


@dataclass(frozen=True, slots=True, order=True)
class Fall:
    """A tool whose level or ceiling is lower than the lock's."""

    tool: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.tool} fell from {self.before} to {self.after}"


def hold(
    module: Module, locked: Mapping[str, Locked], reviewed: Collection[str], classifier: int
) -> Module:
    """Return `module` with levels that must not fall kept.

    `reviewed` are the functions whose level a quirk decided; `classifier` is the version that
    wrote the lock.
    """
    if classifier != CLASSIFIER:
        return module
    tools = tuple(
        tool if tool.function in reviewed else _held(tool, locked.get(tool.name))
        for tool in module.tools
    )
    return replace(module, tools=tools)


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
        before = locked.get(name)
        if before and (
            LEVELS.index(row.level) < LEVELS.index(before.level)
            or LEVELS.index(row.ceiling) < LEVELS.index(before.ceiling)
        ):
            falls.append(Fall(name, _span(before), _span(row)))
    return sorted(falls)


def _span(row: Locked) -> str:
    return row.level if row.level == row.ceiling else f"{row.level} to {row.ceiling}"
