"""The script tools behind the gate of `iac_runtime`."""

from collections.abc import Iterable, Sequence
from typing import Final

from iac_applescript.confinement import Confinement
from iac_applescript.script_toolset import Toolset
from iac_base.cancellation import Cancellation
from iac_base.files import open_state
from iac_runtime.execution.executor import Executor
from iac_runtime.execution.process import Completed
from iac_runtime.gate.plans import Call, Plan, ToolContext, ToolResult
from iac_runtime.policy.facts import Raised
from iac_runtime.search import Index
from iac_runtime.tools.shape import Tool

__all__ = ["Gated", "open_toolset", "plan"]


_OUTWARD: Final = frozenset(("execute_applescript", "get_system_state"))
"""Tools that reach beyond this program; the others look into what is stored."""


class Gated:
    """Plans of the tools; scripts run through the executor, in the turns of their apps."""

    def __init__(self, toolset: Toolset, executor: Executor) -> None:
        self._toolset = toolset
        self._executor = executor

    def plan(self, tool: Tool, call: Call) -> Plan:
        """Return what a call would do.

        Raises:
            ToolError: An argument is wrong.
        """
        prepared = self._toolset.prepare(tool.name, call.arguments)
        told = [self._app(name) for name in prepared.targets]
        reached = dict.fromkeys((*told, *map(self._app, prepared.reached)))

        def perform(cancel: Cancellation | None) -> ToolResult:
            def run(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
                apps = [app for app, _ in told if app]
                return self._executor.run(argv, stdin, timeout, apps=apps, cancel=cancel)

            return ToolResult(self._toolset.perform(prepared, run))

        raised: tuple[Raised, ...] = ()
        if prepared.level != "SAFE":
            raised = tuple(
                Raised("script", f"{reason.says} ({reason.text})", prepared.level)
                for reason in prepared.reasons[:5]
            )
        return Plan(
            tool,
            ("", ""),
            call.arguments,
            prepared.level,
            perform,
            line=prepared.line,
            raised=raised,
            targets=tuple(app for app, _ in reached),
            names=tuple(name for _, name in reached),
            unsure=prepared.unsure or _unknown(reached),
            outward=tool.name in _OUTWARD,
        )

    def close(self) -> None:
        """Close what was learned."""
        self._toolset.close()

    def _app(self, name: str) -> tuple[str, str]:
        """Return bundle id and name of a target; the id is empty for an app that is not known."""
        found = self._toolset.catalogue.find_app(name)
        if found is not None:
            return found.id, found.name
        return name if "." in name else "", name


def _unknown(reached: Iterable[tuple[str, str]]) -> str:
    name = next((name for app, name in reached if not app), "")
    return f"{name} is not known here" if name else ""


def open_toolset(context: ToolContext) -> Gated:
    """Return the toolset over a gate's catalogue and this user's state.

    Raises:
        SetupError: The state folder is not safe.
    """

    catalogue, executor = context.catalogue, context.executor
    assert catalogue is not None

    def runs(app: str) -> bool:
        return executor.test_app(app).running == "yes"

    toolset = Toolset(
        catalogue,
        open_state(),
        find=Index.open(catalogue).find,
        runs=runs,
        real=executor.version().osascript is not None,
        confinement=Confinement(executor.run),
    )
    return Gated(toolset, executor)


def plan(tool: Tool, call: Call, context: ToolContext) -> Plan:
    """Return what a call would do. Raises as `Gated.plan` does."""
    return context.kept(open_toolset).plan(tool, call)
