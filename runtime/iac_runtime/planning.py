"""From a call by name to a plan: arguments checked, the request composed, the level found."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, Final

from iac_runtime.apptools import OwnTool, app_event, list_apps
from iac_runtime.binding import Tool, bind
from iac_runtime.catalogue import Catalogue
from iac_runtime.checking import check_arguments
from iac_runtime.compose import compose
from iac_runtime.errors import ToolError, UnknownToolError, quoted
from iac_runtime.execution.cancellation import Cancellation
from iac_runtime.execution.executor import Executor
from iac_runtime.language.terms import contains
from iac_runtime.language.text import text_literal
from iac_runtime.levels import effective_level
from iac_runtime.line import jxa_line
from iac_runtime.plans import Found, Perform, Plan
from iac_runtime.policy.desk import Desk
from iac_runtime.request import Event
from iac_runtime.results import plain_result
from iac_runtime.stale import look_again
from iac_runtime.tables import APPLICATION
from iac_runtime.tool import Level

__all__ = ["Planner"]

_STARTERS: Final = frozenset(("miscactv", "ascrnoop", "aevtoapp", "aevtrapp"))
"""Events that are sent to start an app or to show it: activate, launch, run, reopen."""

_SLICE: Final = 100_000
"""Characters of a slice where results have no limit of their own."""


class Planner:
    """Makes plans; each says itself how it is carried out.

    Args:
        catalogue: The apps that our own tools can name.
        executor: How events are sent.
        desk: Takes the secrets out of what is read.
        home: The user's home folder.
        limit: Characters of JSON in a result, or None for no limit.
        launch: Bundle ids, or globs, of the apps that a SAFE call may start.
        stale: Says which apps are newer than their tools, a line each.
    """

    def __init__(
        self,
        catalogue: Catalogue | None,
        executor: Executor,
        desk: Desk,
        home: str,
        limit: int | None,
        launch: Collection[str],
        stale: Callable[[], Sequence[str]],
    ) -> None:
        self.catalogue = catalogue
        self._executor = executor
        self._desk = desk
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
            event = self._desk.guarded(compose(tool, operation, self._home), tool)
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
                from iac_runtime.stored import read_on

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
        from iac_runtime.stored import shorten

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
