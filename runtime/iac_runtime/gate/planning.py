"""From a call by name to a plan: arguments checked, the request composed, the level found."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Final

from iac_base.cancellation import Cancellation
from iac_base.errors import InvalidParameterError, ToolError, UnknownToolError, near_text, quoted
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.plans import Found, Perform, Plan
from iac_runtime.gate.results import look_again, plain_result
from iac_runtime.language.checking import check_arguments
from iac_runtime.language.compose import compose
from iac_runtime.language.levels import at_most, effective_level
from iac_runtime.language.request import Event, EventOp, jxa_line
from iac_runtime.language.terms import contains
from iac_runtime.language.text import text_literal
from iac_runtime.policy.permissions import Permissions
from iac_runtime.tool import Level
from iac_runtime.tools.binding import Tool, bind
from iac_runtime.tools.catalogue import AppRow, Catalogue
from iac_runtime.tools.entries import OWN_ENTRIES
from iac_runtime.tools.tables import APPLICATION

__all__ = ["OWN_TOOLS", "OwnTool", "Planner", "app_event", "list_apps"]


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


_STARTERS: Final = frozenset(("miscactv", "ascrnoop", "aevtoapp", "aevtrapp"))
"""Events that are sent to start an app or to show it: activate, launch, run, reopen."""

_SLICE: Final = 100_000
"""Characters of a slice where results have no limit of their own."""


class Planner:
    """Makes plans; each says itself how it is carried out.

    Args:
        catalogue: The apps that our own tools can name.
        executor: How events are sent.
        permissions: Takes the secrets out of what is read.
        home: The user's home folder.
        limit: Characters of JSON in a result, or None for no limit.
        launch: Bundle ids, or globs, of the apps that a SAFE call may start.
        stale: Says which apps are newer than their tools, a line each.
    """

    def __init__(
        self,
        catalogue: Catalogue | None,
        executor: Executor,
        permissions: Permissions,
        home: str,
        limit: int | None,
        launch: Collection[str],
        stale: Callable[[], Sequence[str]],
    ) -> None:
        self.catalogue = catalogue
        self._executor = executor
        self._permissions = permissions
        self._home = home
        self._limit = limit
        self._stale = stale
        self._launch = frozenset(app.casefold() for app in launch)

    def generated(self, tool: Tool, arguments: Mapping[str, Any], digest: str = "") -> Plan:
        """Return the plan of a call of a generated tool.

        Raises:
            ToolError: An argument is wrong.
        """
        app = tool.tables.app
        try:
            checked = check_arguments(arguments, tool.schema)
            operation = bind(tool.spec, checked)
            event = self._permissions.guarded(compose(tool, operation, self._home), tool)
            level = effective_level(tool, operation, self._home)
        except ToolError as error:
            _hint(error, tool, arguments)
            raise _named(error, tool.name, app.name) from None
        if not self._may_launch(event, level):
            event = replace(event, may_launch=False)

        def perform(cancel: Cancellation | None) -> Found:
            try:
                answer = self._executor.execute(
                    event, app=app.name, command=tool.name, cancel=cancel
                )
            except ToolError as error:
                raise look_again(error, event, tool) from None
            return self._kept(Found(*plain_result(answer, event, tool)))

        return Plan(
            tool.name,
            (app.id, app.name),
            operation,
            (level, tool.spec.ceiling or tool.spec.level),
            perform,
            event,
            tool,
            jxa_line(event),
            digest,
            tool.output,
        )

    def own(self, own: OwnTool, arguments: Mapping[str, Any], *, read_only: bool) -> Plan:
        """Return the plan of a call of one of the runtime's own tools.

        Raises:
            ToolError: An argument is wrong.
        """
        catalogue = self.catalogue
        if catalogue is None:
            raise UnknownToolError(own.name)
        levels = (own.level, own.level)
        try:
            checked = check_arguments(arguments, own.schema)
            if own.op is None:
                inward = self._inward(own, checked, catalogue, read_only=read_only)
                return Plan(own.name, ("", ""), checked, levels, inward)
            row, event = app_event(own, checked["app"], catalogue)
        except ToolError as error:
            raise _named(error, own.name, "") from None

        def perform(cancel: Cancellation | None) -> Found:
            answer = self._executor.execute(event, app=row.name, command=own.name, cancel=cancel)
            return Found(answer.value)

        line = jxa_line(event)
        app = (row.id, row.name)
        return Plan(own.name, app, checked, levels, perform, event, line=line, output=own.output)

    def _inward(
        self, own: OwnTool, checked: Mapping[str, Any], catalogue: Catalogue, *, read_only: bool
    ) -> Perform:
        def perform(_cancel: Cancellation | None) -> Found:
            if own.name == "read_more":
                from iac_runtime.gate.stored import read_on

                limit = self._limit or _SLICE
                return Found(read_on(checked["result"], checked["offset"], limit))
            most: Level = "SAFE" if read_only else "DANGEROUS"
            return Found(list_apps(catalogue, most), tuple(self._stale()))

        return perform

    def _kept(self, found: Found) -> Found:
        """Return a result that is short enough; of a longer one the rest is kept."""
        if self._limit is None:
            return found
        # Needed by results that are too large, and by no other.
        from iac_runtime.gate.stored import shorten

        value, cut = shorten(found.value, self._limit)
        return Found(value, (*found.notes, cut)) if cut else found

    def _may_launch(self, event: Event, level: Level) -> bool:
        """Say whether a call may start its app: a change may, a look only where it is listed."""
        return (
            level != "SAFE"
            or event.kind != "application"
            or event.code in _STARTERS
            or any(fnmatchcase(event.app.casefold(), glob) for glob in self._launch)
        )


def _named(error: ToolError, tool: str, app: str) -> ToolError:
    error.command = error.command or tool
    error.app = error.app or app
    return error


def _hint(error: ToolError, tool: Tool, arguments: Mapping[str, Any]) -> None:
    """Say how an object is named, to a caller who gave its mere name where a reference is due."""
    for key, row in tool.spec.params.items():
        given = arguments.get(key)
        if not isinstance(given, str) or quoted(given) not in error.message:
            continue
        found = tool.tables.classes.get(row.type)
        if found is not None and contains((APPLICATION,), row.type, tool.tables):
            example = f"{found.plural}[{text_literal(given)}]"
            error.suggestion = f"To name a {row.type} of that name, write {example}."
