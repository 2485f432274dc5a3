"""What the fixture's tools do when they are called."""

import warnings
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import anyio
import mcp_types as types
from fixture_data import ASKING, CONTENTS, ROUNDS, STATEFUL
from mcp.server.subscriptions import InMemorySubscriptionBus, PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError

BUS: Final = InMemorySubscriptionBus()
MODERN: Final = "2026-07-28"
PAUSE: Final = 0.05
"""Seconds between two notifications, as the suite wants them."""

# Logging and sampling are on their way out of the protocol; the suite still asks for them.
warnings.simplefilter("ignore")


def said(text: str, *, failed: bool = False) -> types.CallToolResult:
    """Return a result of one text."""
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=failed)


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> Any:
    """Answer a call."""
    name = params.name
    if name in CONTENTS:
        return types.CallToolResult.model_validate({"content": CONTENTS[name]})
    if name in ASKING:
        return await _elicited(ctx, params)
    if name in ROUNDS:
        asked = next_round(ctx, params, name)
        return asked or said(f"state-ok: {_answers(params)}")
    if name in DOERS:
        return await DOERS[name](ctx, params.arguments or {})
    raise MCPError(types.INVALID_PARAMS, f"No tool is called {name}.")


def next_round(ctx: Any, params: Any, name: str) -> types.InputRequiredResult | None:
    """Return what is still to be asked, or None when everything was answered.

    The state is the number of the round; the SDK's boundary seals it.
    """
    state = params.request_state
    number = int(state) if state else 0
    wanted = _declared(ctx, ROUNDS[name][number])
    given = params.input_responses or {}
    if wanted.keys() <= given.keys():
        number += 1
        if number == len(ROUNDS[name]):
            return None
        wanted = _declared(ctx, ROUNDS[name][number])
    raw = {"resultType": "input_required", "inputRequests": wanted}
    if name in STATEFUL:
        raw["requestState"] = str(number)
    return types.InputRequiredResult.model_validate(raw)


def _declared(ctx: Any, requests: Mapping[str, Any]) -> dict[str, Any]:
    """Return the requests that the client says it can answer."""
    has = ctx.session.client_capabilities
    able = {
        "elicitation/create": has.elicitation,
        "sampling/createMessage": has.sampling,
        "roots/list": has.roots,
    }
    return {key: row for key, row in requests.items() if able[row["method"]] is not None}


def _answers(params: Any) -> str:
    found = params.input_responses or {}
    return str({key: part.model_dump(mode="json") for key, part in found.items()})


async def _elicited(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    if ctx.protocol_version >= MODERN:
        raise MCPError(types.INVALID_PARAMS, "This tool asks in the middle of a call.")
    message, schema = ASKING[params.name]
    message = message or str((params.arguments or {}).get("message", ""))
    found = await ctx.session.elicit_form(message, schema, ctx.request_id)
    return said(f"Elicitation completed: action={found.action}, content={found.content}")


async def _fail(_ctx: Any, _arguments: Any) -> types.CallToolResult:
    return said("This tool intentionally returns an error for testing", failed=True)


async def _progress(ctx: Any, _arguments: Any) -> types.CallToolResult:
    for part in (0, 50, 100):
        await ctx.session.report_progress(part, 100)
        await anyio.sleep(PAUSE)
    return said("Done.")


async def _log(ctx: Any, _arguments: Any) -> types.CallToolResult:
    for text in ("started", "processing data", "completed"):
        await ctx.session.send_log_message("info", f"Tool execution {text}")
        await anyio.sleep(PAUSE)
    return said("Done.")


async def _sample(ctx: Any, arguments: Mapping[str, Any]) -> types.CallToolResult:
    content = types.TextContent(text=str(arguments["prompt"]))
    message = types.SamplingMessage(role="user", content=content)
    found = await ctx.session.create_message(
        [message], max_tokens=100, related_request_id=ctx.request_id
    )
    return said(f"LLM response: {getattr(found.content, 'text', '')}")


async def _need_sampling(ctx: Any, _arguments: Any) -> types.CallToolResult:
    if ctx.session.client_capabilities.sampling is None:
        data = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "Sampling is needed.", data)
    return said("Done.")


async def _change_tools(ctx: Any, _arguments: Any) -> types.CallToolResult:
    await BUS.publish(ToolsListChanged())
    return said("Done.")


async def _change_prompts(ctx: Any, _arguments: Any) -> types.CallToolResult:
    await BUS.publish(PromptsListChanged())
    return said("Done.")


DOERS: Final[dict[str, Callable[[Any, Mapping[str, Any]], Awaitable[types.CallToolResult]]]] = {
    "test_error_handling": _fail, "test_tool_with_progress": _progress,
    "test_tool_with_logging": _log, "test_logging_tool": _log, "test_sampling": _sample,
    "test_missing_capability": _need_sampling, "test_trigger_tool_change": _change_tools,
    "test_trigger_prompt_change": _change_prompts,
}  # fmt: skip
