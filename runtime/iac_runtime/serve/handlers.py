"""The server object of the SDK: tools, prompts and completion, as handlers of the protocol.

A handler answers every failure with a result that says what it was; only an unknown tool is an
error of the protocol, as the protocol wants it.
"""

import json
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any, Final

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from iac_base.errors import IacError, ToolError, nearest
from iac_base.text import clean_text
from iac_base.words import fold
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, Done
from iac_runtime.gate.results import clean
from iac_runtime.language.levels import at_most
from iac_runtime.serve.calling import (
    PATIENCE,
    THREADS,
    Deadline,
    call_gate,
    caller_of,
    done_result,
    failure_result,
    outcome_result,
)
from iac_runtime.serve.changes import Changes, listen_handler
from iac_runtime.serve.listing import Listings
from iac_runtime.serve.pages import ToolSearch, guide_names, guide_text, through_door
from iac_runtime.serve.prompts import PROMPTS, find_prompt, prompt_text
from iac_runtime.serve.resource_texts import TEMPLATES
from iac_runtime.serve.resources import Sources, resource_handlers
from iac_runtime.serve.routing import LIST_TTL_MS, ServerIdentity
from iac_runtime.serve.status import StatusFile, status_facts
from iac_runtime.tool import Level
from iac_runtime.tools.catalogue import Catalogue

__all__ = ["MOST", "build_server", "completed", "completion_handler", "prompt_handlers"]


MOST: Final = 100
"""Values of one answer, as the protocol limits them."""


def completed(begun: str, values: Iterable[str]) -> list[str]:
    """Return the values that begin like `begun`, then those that hold it, else the nearest."""
    known = sorted(set(values))
    wanted = fold(begun)
    if not wanted:
        return known
    first = [value for value in known if fold(value).startswith(wanted)]
    within = [value for value in known if wanted in fold(value) and value not in first]
    return [*first, *within] or nearest(begun, known)


def completion_handler(catalogue: Callable[[], Catalogue], *, read_only: bool) -> Any:
    """Return the handler of completion/complete; what it does not know has no values.

    Args:
        catalogue: Returns the tools as they are now.
        read_only: Leave out what can change something.
    """

    async def complete(_context: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
        name, begun = params.argument.name, params.argument.value
        values: Collection[str] = ()
        if isinstance(params.ref, types.PromptReference):
            values = _of_prompt(params.ref.name, name)
        else:
            try:
                values = _of_template(params.ref.uri, name, catalogue(), read_only=read_only)
            except IacError:
                # What is wrong with the tools is said where one is asked for.
                values = ()
        found = completed(begun, values)
        return types.CompleteResult(
            completion=types.Completion(
                values=found[:MOST], total=len(found), has_more=len(found) > MOST
            )
        )

    return complete


def _of_prompt(prompt: str, argument: str) -> Collection[str]:
    recipe = next((found for found in PROMPTS if found.name == prompt), None)
    if recipe is None:
        return ()
    if argument == recipe.guide:
        return guide_names()
    return next((row.values for row in recipe.arguments if row.name == argument), ())


def _of_template(
    uri: str, argument: str, catalogue: Catalogue, *, read_only: bool
) -> Collection[str]:
    known = {row["uriTemplate"]: row["name"] for row in TEMPLATES}
    kind = known.get(uri)
    if kind == "model" and argument == "key":
        return list(catalogue.apps)
    if kind == "tool" and argument == "name":
        from iac_runtime.serve.pages import known_names, reach

        most: Level = "SAFE" if read_only else "DANGEROUS"
        return [name for name in known_names(catalogue) if at_most(reach(catalogue, name), most)]
    if kind == "skill" and argument == "name":
        return guide_names()
    return ()


def prompt_handlers(lines: Listings) -> dict[str, Any]:
    """Return the handlers of the SDK's server for prompts, by its keywords."""

    async def list_prompts(_context: Any, _params: Any) -> types.ListPromptsResult:
        try:
            rows = await anyio.to_thread.run_sync(lines.prompts)
        except IacError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from None
        return types.ListPromptsResult(
            prompts=[types.Prompt.model_validate(json.loads(row)) for row in rows]
        )

    async def get_prompt(
        _context: Any, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        try:
            prompt = find_prompt(params.name, await anyio.to_thread.run_sync(lines.app_ids))
            given = clean(params.arguments or {})
            text = prompt_text(prompt, given)
            if prompt.guide:
                guide = await anyio.to_thread.run_sync(guide_text, given[prompt.guide])
                text = f"{text}\n\n{guide}"
        except ToolError as error:
            raise MCPError(types.INVALID_PARAMS, str(clean(str(error)))) from None
        except IacError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from None
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=prompt.description, messages=[message])

    return {"on_list_prompts": list_prompts, "on_get_prompt": get_prompt}


FIND: Final = "find_tools"


_CACHED: Final[tuple[CacheableMethod, ...]] = (
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "tools/list",
)


def build_server(
    gate: Gate,
    lines: Listings,
    identity: ServerIdentity,
    *,
    changes: Changes | None = None,
    status: StatusFile | None = None,
    patience: float = PATIENCE,
) -> Server[Any]:
    """Return the server of a gate with a catalogue; it is not started.

    Args:
        gate: Carries out calls.
        lines: What is listed.
        identity: What the server says of itself.
        changes: Tells of tools that were built anew.
        status: Counts the calls.
        patience: Seconds after which a call is ended.
    """
    limiter = anyio.CapacityLimiter(THREADS)
    read_only = gate.read_only
    named: set[str] = set()

    def catalogue() -> Catalogue:
        return lines.catalogue(gate)

    search = ToolSearch(catalogue, read_only=read_only)
    sources = Sources(catalogue, read_only, partial(status_facts, status))

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
        if status is not None:
            status.count(failed=isinstance(result, types.CallToolResult) and bool(result.is_error))
        return result

    def name_client(name: str) -> None:
        if status is not None and name and name not in named:
            named.add(name)
            status.update(client=clean_text(name, 100))

    async def answer_call(
        context: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        call = Call(params.name, params.arguments or {}, caller_of(context, gate))
        name_client(call.caller.client)
        deadline = Deadline(context, call.tool, patience)
        try:
            if call.tool == FIND:
                find = partial(search.find, call.arguments)
                found = await anyio.to_thread.run_sync(find, limiter=limiter)
                return done_result(Done(found, "", "SAFE"))
            call = through_door(call)
            outcome = await call_gate(gate, call, context, params, limiter, deadline)
        except ToolError as error:
            return failure_result(deadline.meaning(error))
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
