"""A call of a script tool as the gate makes it, held to the tool's schemas."""

import json
from typing import Any

import jsonschema

from iac_applescript.script_toolset import ROWS, Toolset
from iac_runtime.execution.streams import run_process


def call(
    toolset: Toolset, tool: str, runner: Any = run_process, **arguments: Any
) -> dict[str, Any]:
    """Call a tool as the gate does, and hold the answer and arguments to their schemas."""
    row = ROWS[tool]
    jsonschema.validate(arguments, row.input)
    found = toolset.perform(toolset.prepare(tool, arguments), runner)
    jsonschema.validate(found, row.output)
    json.dumps(found)
    return found


def data(toolset: Toolset, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the data of a call that has to succeed."""
    found = call(toolset, tool, **arguments)
    assert found["success"], found
    return dict(found["data"])
