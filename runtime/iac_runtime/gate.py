"""The gate: every call, whoever makes it, goes through here, in this order.

    find -> check -> bind -> compose -> level -> policy -> execute -> clean

Synchronous and safe to share between threads. Nothing else sends anything to an app.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from iac_runtime.apptools import OWN_TOOLS, OwnTool, app_event, list_apps
from iac_runtime.binding import Tool, bind
from iac_runtime.catalogue import Catalogue
from iac_runtime.checking import check_arguments
from iac_runtime.compose import compose
from iac_runtime.errors import CallRefusedError, ToolError, UnknownToolError, nearest, quoted
from iac_runtime.execution.executor import Executor
from iac_runtime.language.references import contains
from iac_runtime.language.text import text_literal
from iac_runtime.levels import at_most, effective_level
from iac_runtime.line import jxa_line
from iac_runtime.request import Event
from iac_runtime.results import cap, plain_result
from iac_runtime.tables import APPLICATION
from iac_runtime.tool import Level

__all__ = ["Call", "Done", "Gate", "Refused"]

RESULT_LIMIT: Final = 100_000
"""Characters of JSON in an answer to a client; larger ones are refused by some."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it was asked for: a tool by its name on the wire, and its arguments."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Done:
    """The call was carried out, or with `dry_run` would have been.

    Attributes:
        value: The result as plain values; a reference is a `RefText`.
        line: The same request as one line of JXA; empty where no event is sent.
        level: What the call needed.
        note: What is missing from the value, one line; empty if nothing is.
        output: The tool's output schema, if it has one.
    """

    value: Any
    line: str
    level: Level
    note: str = ""
    output: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """The policy did not let the call run; nothing was sent. `line` is what would have been."""

    tool: str
    app: str
    level: Level
    reason: str
    suggestion: str
    line: str

    @property
    def error(self) -> CallRefusedError:
        """The refusal as an error."""
        return CallRefusedError(self.reason, self.suggestion, app=self.app, tool=self.tool)


@dataclass(frozen=True, slots=True)
class _Plan:
    """A call that is ready to be judged and sent."""

    tool: str
    app: str
    level: Level
    event: Event


Outcome: TypeAlias = Done | Refused


class Gate:
    """Carries out calls on the tools of a catalogue.

    Args:
        catalogue: Which tools there are; None for a gate that is handed its tools (the library).
        executor: How events are sent.
        allow: The highest level that runs without asking.
        home: The user's home folder, for `~` in paths.
        limit: Characters of JSON in a result, or None for no limit.
        way: How a person allows more, for refusals.
    """

    def __init__(
        self,
        catalogue: Catalogue | None,
        executor: Executor,
        allow: Level = "SAFE",
        *,
        home: str | None = None,
        limit: int | None = RESULT_LIMIT,
        way: str = "The user can allow it by starting iac-mcp with --allow {level}.",
    ) -> None:
        self.catalogue = catalogue
        self.allow: Level = allow
        self._executor = executor
        self._home = os.path.expanduser("~") if home is None else home  # noqa: PTH111 (a text)
        self._limit = limit
        self._way = way

    def call(self, call: Call, *, dry_run: bool = False) -> Outcome:
        """Carry out a call by the tool's name.

        Raises:
            ToolError: It failed, or an argument is wrong; the error carries the facts.
            SetupError: The tool's module cannot be read.
        """
        own = OWN_TOOLS.get(call.tool)
        if own is not None:
            return self._own(own, call.arguments, dry_run=dry_run)
        if self.catalogue is None:
            raise UnknownToolError(call.tool)
        if call.tool not in self.catalogue.tools:
            raise UnknownToolError(
                call.tool, nearest(call.tool, [*self.catalogue.tools, *OWN_TOOLS])
            )
        row = self.catalogue.find(call.tool)
        return self.run(self.catalogue.tool(row), call.arguments, dry_run=dry_run)

    def run(self, tool: Tool, arguments: Mapping[str, Any], *, dry_run: bool = False) -> Outcome:
        """Carry out a call of a tool that was found already. Raises as `call` does."""
        try:
            checked = check_arguments(arguments, tool.schema)
            operation = bind(tool.spec, checked)
            event = compose(tool, operation, self._home)
            level = effective_level(tool, operation, self._home)
        except ToolError as error:
            _hint(error, tool, arguments)
            raise _named(error, tool.name, tool.tables.app.name) from None
        plan = _Plan(tool.name, tool.tables.app.name, level, event)
        refused = self._judge(plan)
        if refused is not None and not dry_run:
            return refused
        if dry_run:
            return Done(None, jxa_line(event), level, output=tool.output)
        answer = self._executor.execute(event, app=plan.app, tool=plan.tool)
        value = plain_result(answer, event, tool)
        notes = list(answer.notes)
        if answer.listing is not None:
            notes += _listed(answer.listing["total"], event.offset, len(value))
        if self._limit is not None:
            before = len(value) if isinstance(value, list) else 0
            value, cut = cap(value, self._limit)
            if cut:
                notes.append(_cut(before, value, self._limit))
        return Done(value, jxa_line(event), level, "; ".join(notes), tool.output)

    def _own(self, own: OwnTool, arguments: Mapping[str, Any], *, dry_run: bool) -> Outcome:
        if self.catalogue is None:
            raise UnknownToolError(own.name)
        try:
            checked = check_arguments(arguments, own.schema)
            if own.op is None:
                return Done(list_apps(self.catalogue, self.allow), "", own.level)
            app, event = app_event(own, checked["app"], self.catalogue)
        except ToolError as error:
            raise _named(error, own.name, "") from None
        plan = _Plan(own.name, app.name, own.level, event)
        refused = self._judge(plan)
        if dry_run:
            return Done(None, jxa_line(event), own.level, output=own.output)
        if refused is not None:
            return refused
        answer = self._executor.execute(event, app=app.name, tool=own.name)
        return Done(answer.value, jxa_line(event), own.level, output=own.output)

    def _judge(self, plan: _Plan) -> Refused | None:
        """Return why a call may not run, or None if it may."""
        if at_most(plan.level, self.allow):
            return None
        return Refused(
            plan.tool,
            plan.app,
            plan.level,
            f"This call is {plan.level}; here calls run up to {self.allow}.",
            self._way.format(level=plan.level),
            jxa_line(plan.event),
        )


def _named(error: ToolError, tool: str, app: str) -> ToolError:
    error.tool = error.tool or tool
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


def _listed(total: int, offset: int, shown: int) -> list[str]:
    if offset + shown >= total:
        return []
    return [f"{shown} of {total} items; ask with offset {offset + shown} for the next"]


def _cut(before: int, value: Any, limit: int) -> str:
    if isinstance(value, list) and len(value) < before:
        shown = f"{len(value)} of {before} items"
        return f"truncated at {limit} characters: {shown}; ask for fewer or less"
    return f"truncated at {limit} characters; ask for less"
