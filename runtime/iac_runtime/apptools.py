"""The runtime's own tools: which apps there are, starting, showing and ending one, reading on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from iac_runtime.catalogue import AppRow, Catalogue
from iac_runtime.entries import OWN_ENTRIES
from iac_runtime.errors import InvalidParameterError, near_text, quoted
from iac_runtime.levels import at_most
from iac_runtime.request import Event, EventOp
from iac_runtime.tool import Level

__all__ = ["OWN_TOOLS", "OwnTool", "app_event", "list_apps"]


@dataclass(frozen=True, slots=True)
class OwnTool:
    """One tool; `op` is empty where no event is sent. What a client is told lies in `entries`."""

    name: str
    level: Level
    op: EventOp | None = None
    event: str = ""

    @property
    def description(self) -> str:
        """What it does."""
        return str(OWN_ENTRIES[self.name]["description"])

    @property
    def schema(self) -> dict[str, Any]:
        """The input schema."""
        return dict(OWN_ENTRIES[self.name]["inputSchema"])

    @property
    def output(self) -> Mapping[str, Any] | None:
        """The output schema, if it has one."""
        return OWN_ENTRIES[self.name].get("outputSchema")


OWN_TOOLS: Final[Mapping[str, OwnTool]] = {
    tool.name: tool
    for tool in (
        OwnTool("app_activate", "SAFE", "activate", "miscactv"),
        OwnTool("app_launch", "MODIFY", "launch", "ascrnoop"),
        OwnTool("app_quit", "DANGEROUS", "quit", "aevtquit"),
        OwnTool("app_running", "SAFE", "running"),
        OwnTool("list_apps", "SAFE"),
        OwnTool("read_more", "SAFE"),
    )
}


def list_apps(catalogue: Catalogue, limit: Level) -> dict[str, Any]:
    """Return `{"apps": [{key, name, id, tools: {level: count}}]}`; the level is a tool's least.

    Tools whose calls can need more than `limit` are left out.
    """
    rows: dict[str, dict[str, Any]] = {
        app.key: {"key": app.key, "name": app.name, "id": app.id, "tools": {}}
        for app in catalogue.apps.values()
    }
    for tool in catalogue.tools.values():
        if at_most(tool.ceiling, limit):
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
