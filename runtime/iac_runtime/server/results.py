"""What came of a call as results of the protocol."""

import json
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from iac_runtime.cleaning import escaped
from iac_runtime.errors import IacError, ToolError, UnknownToolError
from iac_runtime.plans import Asks, Done, Refused
from iac_runtime.results import clean, structured

__all__ = ["done_result", "error_result", "failure_result", "outcome_result"]


def outcome_result(outcome: Done | Refused | Asks) -> types.CallToolResult:
    """Return the result for an outcome; a question that nobody could be asked is a refusal."""
    if isinstance(outcome, Done):
        return done_result(outcome)
    if isinstance(outcome, Refused):
        facts = outcome.facts()
        return error_result({**facts, "line": escaped(facts.get("line", ""))})
    message = f"This call is {outcome.level}, and its question was not answered."
    return error_result({"type": "REFUSED", "message": message, "requires_prompt": True})


def done_result(done: Done) -> types.CallToolResult:
    """Return a result as structured content and the same as text, with the JXA line aside.

    `_meta["iac/from"]` names the app whose data it is.
    """
    if isinstance(done.value, Mapping) and done.value.get("success") is False:
        # A tool that answers with what went wrong: the model is to see it as a failure.
        return error_result(done.value)
    content = structured(done.value, done.output, clean(done.note))
    meta: dict[str, Any] = {"iac/level": done.level}
    if done.app[0]:
        meta["iac/from"] = {"app": clean(done.app[1]), "bundle": done.app[0]}
    if done.line:
        meta["iac/jxa"] = escaped(done.line)
    if done.note:
        meta["iac/note"] = clean(done.note)
    if done.reasons:
        meta["iac/reasons"] = clean(list(done.reasons))
    text = types.TextContent(text=json.dumps(content, ensure_ascii=False))
    return types.CallToolResult(content=[text], structured_content=content, _meta=meta)


def error_result(facts: Mapping[str, Any]) -> types.CallToolResult:
    """Return a failure: one JSON object in the text, and no structured content."""
    text = json.dumps(clean(dict(facts)), ensure_ascii=False)
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def failure_result(error: Exception) -> types.CallToolResult:
    """Return the result for an exception of a call.

    Raises:
        MCPError: No tool has the name, which is an error of the protocol.
    """
    if isinstance(error, UnknownToolError):
        raise MCPError(types.INVALID_PARAMS, str(clean(str(error)))) from None
    if isinstance(error, ToolError):
        return error_result(error.facts())
    if isinstance(error, IacError):
        return error_result({"type": "UNAVAILABLE", "message": str(error), "retryable": False})
    message = f"The call failed inside iac: {type(error).__name__}: {error}."
    return error_result({"type": "EXECUTION_ERROR", "message": message, "retryable": False})
