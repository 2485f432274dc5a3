"""The script tools behind the gate of `iac_runtime`."""

from collections.abc import Sequence
from typing import Any

from iac_applescript.confinement import Confinement
from iac_applescript.toolrows import TOOLS
from iac_applescript.tools import Toolset
from iac_runtime.catalogue import Catalogue
from iac_runtime.checking import check_arguments
from iac_runtime.execution.cancellation import Cancellation
from iac_runtime.execution.executor import Executor
from iac_runtime.execution.process import Completed
from iac_runtime.plans import Call, Found, Plan
from iac_runtime.policy.facts import Raised
from iac_runtime.search import Index
from iac_runtime.state import open_state

__all__ = ["Gated", "entries", "open_toolset"]


class Gated:
    """Plans of the tools; scripts run through the executor, in the turns of their apps."""

    names = frozenset(TOOLS)

    def __init__(self, toolset: Toolset, executor: Executor) -> None:
        self._toolset = toolset
        self._executor = executor

    def plan(self, call: Call) -> Plan:
        """Return what a call would do.

        Raises:
            ToolError: An argument is wrong.
        """
        row = TOOLS[call.tool]
        checked = check_arguments(call.arguments, row.input)
        prepared = self._toolset.prepare(call.tool, checked)
        targets = [self._identity(name) for name in prepared.targets]

        def perform(cancel: Cancellation | None) -> Found:
            def run(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
                apps = [app for app in targets if app]
                return self._executor.run(argv, stdin, timeout, apps=apps, cancel=cancel)

            return Found(self._toolset.perform(prepared, run))

        raised: tuple[Raised, ...] = ()
        if prepared.level != "SAFE":
            raised = tuple(
                Raised("script", f"{reason.says} ({reason.text})", prepared.level)
                for reason in prepared.reasons[:5]
            )
        writes = prepared.level != "SAFE"
        return Plan(
            call.tool,
            ("", ""),
            checked,
            (prepared.level, row.ceiling),
            perform,
            line=prepared.line,
            output=row.output,
            raised=raised,
            targets=tuple(targets) if writes else tuple(app for app in targets if app),
        )

    def close(self) -> None:
        """Close what was learned."""
        self._toolset.close()

    def _identity(self, name: str) -> str:
        """Return the bundle id of a target; empty for an app that is not known."""
        found = self._toolset.catalogue.find_app(name)
        if found is not None:
            return found.id
        return name if "." in name else ""


def open_toolset(catalogue: Catalogue, executor: Executor) -> Gated:
    """Return the toolset over a catalogue and this user's state.

    Raises:
        SetupError: The state folder is not safe.
    """

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


def entries(*, read_only: bool) -> list[dict[str, Any]]:
    """Return the listing entries."""
    return [
        {
            "name": row.name,
            "description": row.description,
            "inputSchema": dict(row.input),
            "outputSchema": dict(row.output),
            "annotations": {
                "readOnlyHint": row.ceiling == "SAFE",
                "destructiveHint": row.ceiling == "DANGEROUS",
                "openWorldHint": row.ceiling == "DANGEROUS",
            },
        }
        for row in TOOLS.values()
        if not (read_only and row.ceiling != "SAFE")
    ]
