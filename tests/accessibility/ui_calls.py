"""Calls of the tools without a gate: what a call would do, and doing it."""

from collections.abc import Mapping
from typing import Any

from iac_accessibility.toolset import UiToolset
from iac_base.errors import Cancellation
from iac_runtime.gate.plans import Call, Plan
from iac_runtime.policy.permissions import Permissions, default_permissions
from iac_runtime.tools.checking import check_arguments
from iac_runtime.tools.own import toolset_tools

ROWS = {tool.name: tool for tool in toolset_tools(("accessibility",))}


class Context:
    """As much of the gate's side of a call as the tools use."""

    def __init__(self, toolset: UiToolset, permissions: Permissions | None) -> None:
        self._toolset = toolset
        self.permissions = permissions or default_permissions("/Users/me")

    def get_or_create(self, _make: object) -> UiToolset:
        return self._toolset


def prepare(
    toolset: UiToolset,
    name: str,
    arguments: Mapping[str, Any],
    permissions: Permissions | None = None,
) -> Plan:
    """Return the plan of a call, as the gate asks for it."""
    row = ROWS[name]
    assert row.perform is not None
    checked = check_arguments(arguments, row.input)
    context: Any = Context(toolset, permissions)
    return row.perform(row, Call(name, checked), context)


def perform(plan: Plan, cancel: Cancellation | None = None) -> dict[str, Any]:
    """Carry out a plan and return the answer."""
    answer: dict[str, Any] = plan.perform(cancel).value
    return answer


def answered(toolset: UiToolset, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a call."""
    return perform(prepare(toolset, name, arguments))
