"""The server object of the SDK: tools listed and called, and what goes with them."""

from functools import partial
from typing import Any, Final

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from iac_runtime.care.status import Board, status_facts
from iac_runtime.catalogue import Catalogue
from iac_runtime.cleaning import clean_text
from iac_runtime.errors import IacError, ToolError
from iac_runtime.front.answers import LIST_TTL_MS, Identity
from iac_runtime.gate import Gate
from iac_runtime.plans import Call, Done
from iac_runtime.server.asking import call_gate, caller_of
from iac_runtime.server.completion import completion_handler
from iac_runtime.server.progress import PATIENCE, Vigil
from iac_runtime.server.prompts import prompt_handlers
from iac_runtime.server.resources import Sources, resource_handlers
from iac_runtime.server.results import done_result, failure_result, outcome_result
from iac_runtime.server.subscriptions import listen_handler
from iac_runtime.server.threads import THREADS
from iac_runtime.surface.changes import Changes
from iac_runtime.surface.lines import Lines
from iac_runtime.surface.meta import Finder, through_door

__all__ = ["build_server"]

FIND: Final = "find_tools"


_CACHED: Final[tuple[CacheableMethod, ...]] = (
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "tools/list",
)


def build_server(
    gate: Gate,
    lines: Lines,
    identity: Identity,
    *,
    changes: Changes | None = None,
    board: Board | None = None,
    patience: float = PATIENCE,
) -> Server[Any]:
    """Return the server of a gate with a catalogue; it is not started.

    Args:
        gate: Carries out calls.
        lines: What is listed.
        identity: What the server says of itself.
        changes: Tells of tools that were built anew.
        board: Counts the calls.
        patience: Seconds after which a call is ended.
    """
    limiter = anyio.CapacityLimiter(THREADS)
    read_only = gate.read_only
    named: set[str] = set()

    def catalogue() -> Catalogue:
        return lines.catalogue(gate)

    finder = Finder(catalogue, read_only=read_only)
    sources = Sources(catalogue, read_only, partial(status_facts, board))

    async def list_tools(
        _ctx: Any, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        try:
            entries = await anyio.to_thread.run_sync(lines.entries)
        except IacError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from None
        return types.ListToolsResult(tools=[types.Tool.model_validate(row) for row in entries])

    async def call_tool(
        context: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        result = await answer_call(context, params)
        if board is not None:
            board.count(failed=isinstance(result, types.CallToolResult) and bool(result.is_error))
        return result

    def name_client(name: str) -> None:
        if board is not None and name and name not in named:
            named.add(name)
            board.update(client=clean_text(name, 100))

    async def answer_call(
        context: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        call = Call(params.name, params.arguments or {}, caller_of(context, gate))
        name_client(call.caller.client)
        vigil = Vigil(context, call.tool, patience)
        try:
            if call.tool == FIND:
                find = partial(finder.find, call.arguments)
                found = await anyio.to_thread.run_sync(find, limiter=limiter)
                return done_result(Done(found, "", "SAFE"))
            call = through_door(call)
            outcome = await call_gate(gate, call, context, params, limiter, vigil)
        except ToolError as error:
            return failure_result(vigil.meaning(error))
        except Exception as error:
            return failure_result(error)
        if isinstance(outcome, types.InputRequiredResult):
            return outcome
        return outcome_result(outcome)

    return Server(
        identity.name,
        version=identity.version,
        instructions=identity.instructions,
        cache_hints=dict.fromkeys(_CACHED, CacheHint(ttl_ms=LIST_TTL_MS)),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_completion=completion_handler(catalogue, read_only=read_only),
        on_subscriptions_listen=listen_handler(changes or Changes(), lines),
        **resource_handlers(lines, sources),
        **prompt_handlers(lines),
    )
