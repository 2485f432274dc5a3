"""The tools that no dictionary declares, read from the files that `nox -s regen` writes.

The front prints them before anything heavy is imported: their modules are imported when one is
called.
"""

import json
import os
from collections.abc import Collection, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from iac_runtime.tool import Level, level_to_call
from iac_runtime.tools.shape import Tool, import_later

_FOLDER: Final = Path(__file__).with_name("toolsets")

CALL_TOOLS: Final[Mapping[Level, str]] = {
    "SAFE": "read_tool",
    "MODIFY": "write_tool",
    "DANGEROUS": "dangerous_tool",
}
"""The tools that call others by name, by the highest level that each takes."""

MAX_LEVEL: Final[Mapping[str, Level]] = {name: level for level, name in CALL_TOOLS.items()}


def call_tool_for(level: Level, *, acts: bool) -> str:
    """Return which of them takes a call."""
    return CALL_TOOLS[level_to_call(level, acts=acts)]


STARTERS: Final = ("app_activate", "app_launch")
"""What a read asks for where its app does not run: listed where nothing else that changes is."""


@cache
def _read_rows(toolset: str) -> list[dict[str, Any]]:
    lines = (_FOLDER / f"{toolset}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def tool_of_row(row: dict[str, Any], toolset: str = "") -> Tool:
    """Return the tool of a row of a file."""
    place = row.get("perform")
    return Tool(**{**row, "perform": place and import_later(place)}, toolset=toolset)


def _tools_of(toolset: str) -> list[Tool]:
    return [tool_of_row(row, toolset) for row in _read_rows(toolset)[1:]]


def _function_at(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


_OWN: Final = {tool.name: tool for tool in _tools_of("own")}

OWN_TOOLS: Final = {name: tool for name, tool in _OWN.items() if tool.perform}
"""Tools of every surface: apps as such, and large results."""

META_TOOLS: Final = {name: tool for name, tool in _OWN.items() if not tool.perform}
"""Tools of the surface `search`, which it answers itself: they find and call the others."""

TOOLSETS: Final = tuple(
    name.removesuffix(".jsonl")
    for name in sorted(os.listdir(_FOLDER))  # noqa: PTH208
    if name.endswith(".jsonl") and name != "own.jsonl"
)
"""Packages that add tools, by the word for them in `--expose`."""


def entry_places(group: str) -> Mapping[str, str]:
    """Return what a package above adds: the places of the entry points of a group, by name."""
    places: Mapping[str, str] = json.loads((_FOLDER / "entry_points.json").read_text())[group]
    return places


def toolset_guides() -> Mapping[str, Any]:
    """Return the guides of apps by their names; each has a title, a text and `is_for`."""
    places = filter(None, (_read_rows(name)[0]["guides"] for name in TOOLSETS))
    return {name: guide for place in places for name, guide in _function_at(place)().items()}


def toolset_offers(query: str, app: str, catalogue: Any) -> list[dict[str, Any]]:
    """Return what toolsets offer for a request beside tools, each with the call that does it."""
    places = (_read_rows(name)[0]["offers"] for name in TOOLSETS)
    return [row for place in places if place for row in _function_at(place)(query, app, catalogue)]


def toolset_tools(names: Collection[str]) -> list[Tool]:
    """Return the tools of toolsets, in the order of `TOOLSETS`, and those that files add."""
    tools: list[Tool] = []
    for name in TOOLSETS:
        if name in names:
            tools += _tools_of(name)
            if added := _read_rows(name)[0]["added"]:
                tools += _function_at(added)()
    return tools


@cache
def added_tools() -> Mapping[str, Tool]:
    """Return every tool of every toolset by its name."""
    return {tool.name: tool for tool in toolset_tools(TOOLSETS)}
