"""The simulated Mac beside its apps: which run, which is in front, how it looks, its displays.

What an app is told and what the system says agree: `activate` brings an app to the front for the
workspace, for its own `frontmost` and for its process in System Events; the dark look is that of
System Events' appearance preferences.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from iac_simulator.world import AppWorld

FRONT: Final = "@front"
"""Stands in the world of the app that is in front."""

_EVENTS: Final = "system_events"
_FIRST: Final = "com.apple.finder"
_DISPLAYS: Final = ({"width": 1440, "height": 900, "scale": 2},)


def activate_app(worlds: Mapping[str, AppWorld], front: AppWorld) -> None:
    """Bring an app to the front."""
    for world in worlds.values():
        world.data.pop(FRONT, None)
    front.data[FRONT] = True
    processes = _process_rows(worlds)
    if any(row.get("name") == front.tables.app.name for row in processes):
        for row in processes:
            row["frontmost"] = row.get("name") == front.tables.app.name


def machine_state(
    worlds: Mapping[str, AppWorld], runs: Callable[[AppWorld], bool]
) -> dict[str, Any]:
    """Return the apps as launch services know them, the look and the displays; sends no event."""
    apps = [world for world in worlds.values() if world.tables.app.kind == "application"]
    running = [world for world in apps if runs(world)]
    said = next((row.get("name") for row in _process_rows(worlds) if row.get("frontmost")), "")
    in_front = (
        [world for world in running if FRONT in world.data],
        [world for world in running if world.tables.app.name == said],
        [world for world in running if world.tables.app.id == _FIRST],
        running,
    )
    front = next((found[0] for found in in_front if found), None)
    events = worlds.get(_EVENTS)
    looks = events.data.get("appearancePreferences", {}) if events else {}
    rows = [
        {
            "id": world.tables.app.id,
            "name": world.tables.app.name,
            "running": world in running,
            "front": world is front,
            "pid": 500 + place,
        }
        for place, world in enumerate(apps)
    ]
    return {"apps": rows, "dark": looks.get("darkMode") is True, "displays": [*_DISPLAYS]}


def _process_rows(worlds: Mapping[str, AppWorld]) -> list[dict[str, Any]]:
    events = worlds.get(_EVENTS)
    rows = events.data.get("applicationProcesses", []) if events else []
    return [row for row in rows if isinstance(row, dict)]
