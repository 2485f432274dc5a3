"""The suite's tools of the tasks extension, called as the product calls its own."""

from collections.abc import Mapping
from typing import Any, Final

from fixture_data import TASK_ROUNDS

from iac_base.errors import Cancellation
from iac_runtime.serve.call import Method, Peer, Result
from iac_runtime.serve.tasks import TaskCalls, missing_tasks

DIRECT: Final = 0.2
"""Seconds before a client gets a handle."""

LONG: Final = 0.6


def _said(text: str, *, failed: bool = False) -> Result:
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def _call_tool(params: Mapping[str, Any], peer: Peer, cancel: Cancellation) -> Result:
    name, arguments = params["name"], params.get("arguments") or {}
    if name == "greet":
        return _said(f"Hello, {arguments['name']}!")
    if name == "slow_compute":
        return _said("Computed.", failed=cancel.wait(arguments["seconds"]))
    if name in TASK_ROUNDS:
        answers = params.get("inputResponses")
        # This one asks before it has become a task, the others in it.
        if (name == "test_tool_with_task") == bool(answers):
            cancel.wait(LONG)
        asked = {"resultType": "input_required", "inputRequests": TASK_ROUNDS[name]}
        return _said(f"Answered: {answers}") if answers else asked
    if not peer.tasks:
        raise missing_tasks()
    cancel.wait(LONG)
    if name == "protocol_error_job":
        raise RuntimeError("This tool intentionally raises.")
    return _said("This tool intentionally fails.", failed=True)


def task_methods() -> Mapping[str, Method]:
    """Return the methods, by the names that the protocol gives them."""
    calls = TaskCalls(_call_tool, DIRECT)

    def call_tool(params: Mapping[str, Any], peer: Peer, cancel: Cancellation) -> Result:
        return (calls.call_tool if peer.tasks else _call_tool)(params, peer, cancel)

    return {
        "tools/call": call_tool,
        "tasks/get": calls.get_task,
        "tasks/update": calls.update_task,
        "tasks/cancel": calls.cancel_task,
    }
