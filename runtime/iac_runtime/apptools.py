"""The runtime's own tools: which apps there are, and starting, showing and ending one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from iac_runtime.catalogue import AppRow, Catalogue
from iac_runtime.errors import InvalidParameterError, near_text, quoted
from iac_runtime.levels import at_most
from iac_runtime.request import Event, EventOp
from iac_runtime.tool import Level

__all__ = ["OWN_TOOLS", "OwnTool", "app_event", "list_apps", "own_entry"]

_APP: Final = {
    "type": "string",
    "description": "The app: its key, name or bundle id, as list_apps gives them.",
}


@dataclass(frozen=True, slots=True)
class OwnTool:
    """One tool; `op` is empty where no event is sent."""

    name: str
    description: str
    level: Level
    op: EventOp | None = None
    event: str = ""
    output: Mapping[str, Any] | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """The input schema."""
        if self.op is None:
            return {"type": "object", "properties": {}, "additionalProperties": False}
        return {
            "type": "object",
            "properties": {"app": _APP},
            "required": ["app"],
            "additionalProperties": False,
        }


_BOOLEAN: Final = {
    "type": "object",
    "properties": {"result": {"type": "boolean"}},
    "required": ["result"],
    "additionalProperties": False,
}

OWN_TOOLS: Final[Mapping[str, OwnTool]] = {
    tool.name: tool
    for tool in (
        OwnTool(
            "app_activate",
            "Bring an app to the front; it is started if need be.",
            "SAFE",
            "activate",
            "miscactv",
        ),
        OwnTool(
            "app_launch", "Start an app without opening a document.", "MODIFY", "launch", "ascrnoop"
        ),
        OwnTool(
            "app_quit", "Quit an app. Unsaved work may be lost.", "DANGEROUS", "quit", "aevtquit"
        ),
        OwnTool(
            "app_running",
            "Say whether an app is running, without starting it.",
            "SAFE",
            "running",
            "",
            _BOOLEAN,
        ),
        OwnTool(
            "list_apps",
            "List the apps that can be controlled, and how many tools of each level.",
            "SAFE",
        ),
    )
}


def own_entry(tool: OwnTool) -> dict[str, Any]:
    """Return the entry of tools/list for one of the runtime's own tools."""
    entry: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.schema,
        "annotations": {
            "readOnlyHint": tool.level == "SAFE",
            "destructiveHint": tool.level == "DANGEROUS",
            "openWorldHint": False,
        },
    }
    if tool.output is not None:
        entry["outputSchema"] = dict(tool.output)
    return entry


def list_apps(catalogue: Catalogue, limit: Level) -> dict[str, Any]:
    """Return `{"apps": [{key, name, id, tools: {level: count}}]}`; the level is a tool's least.

    Tools that need more than `limit` from their first call on are left out.
    """
    rows: dict[str, dict[str, Any]] = {
        app.key: {"key": app.key, "name": app.name, "id": app.id, "tools": {}}
        for app in catalogue.apps.values()
    }
    for tool in catalogue.tools.values():
        if at_most(tool.level, limit):
            counts = rows[tool.app.key]["tools"]
            counts[tool.level] = counts.get(tool.level, 0) + 1
    return {"apps": [rows[key] for key in sorted(rows)]}


def app_event(tool: OwnTool, name: str, catalogue: Catalogue) -> tuple[AppRow, Event]:
    """Return the app that `name` means, and what to ask of it.

    Raises:
        InvalidParameterError: There is no such app; the nearest are named.
    """
    app = catalogue.find_app(name)
    if app is None or app.kind != "application":
        known = [row.name for row in catalogue.apps.values() if row.kind == "application"]
        raise InvalidParameterError(f"There is no app {quoted(name)}.", near_text(name, known))
    assert tool.op is not None
    event = Event(app.id, app.kind, tool.op, tool.event, writes=tool.level != "SAFE")
    return app, event
