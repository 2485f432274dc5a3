"""A call of a script tool as the gate makes it, held to the tool's schemas."""

import json
from types import SimpleNamespace
from typing import Any

import jsonschema

from iac_applescript.toolset import ScriptToolset
from iac_runtime.execution.process import Completed, RunInTurns, Runner
from iac_runtime.gate.plans import Call, Plan
from iac_runtime.policy.permissions import default_permissions
from iac_runtime.tools.own import toolset_tools

ROWS = {tool.name: tool for tool in toolset_tools(("applescript",))}


def in_turns(runner: Runner) -> RunInTurns:
    """Return a runner that has no turns to keep."""

    def run(argv: Any, stdin: bytes, timeout: float, **_turns: Any) -> Completed:
        return runner(argv, stdin, timeout)

    return run


def plan_of(toolset: ScriptToolset, tool: str, **arguments: Any) -> Plan:
    """Plan a call as the gate does, with a toolset that already exists."""
    row = ROWS[tool]
    assert row.perform is not None
    context: Any = SimpleNamespace(
        get_or_create=lambda _make: toolset,
        home="/Users/me",
        permissions=default_permissions("/Users/me"),
    )
    return row.perform(row, Call(tool, arguments), context)


def call(
    toolset: ScriptToolset, tool: str, runner: Runner | None = None, **arguments: Any
) -> dict[str, Any]:
    """Call a tool as the gate does, and hold the answer and arguments to their schemas."""
    row = ROWS[tool]
    jsonschema.validate(arguments, row.input)
    if runner is not None:
        toolset.run = in_turns(runner)
    found = plan_of(toolset, tool, **arguments).perform(None).value
    jsonschema.validate(found, row.output)
    json.dumps(found)
    return dict(found)


def data(toolset: ScriptToolset, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the data of a call that has to succeed."""
    found = call(toolset, tool, **arguments)
    assert found["success"], found
    return dict(found["data"])
