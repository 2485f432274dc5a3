"""The server object of the SDK: tools, prompts, resources and completion, as protocol handlers.

A handler answers every failure with a result that says what it was; only an unknown tool is an
error of the protocol, as the protocol wants it.
"""

import asyncio
import contextlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

from iac_base.errors import CallRefusedError, IacError, ToolError, nearest
from iac_base.text import clean_text
from iac_base.words import fold
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, Done, Refused
from iac_runtime.gate.results import clean
from iac_runtime.policy.permissions import Requester
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
from iac_runtime.serve.changes import Changes
from iac_runtime.serve.listing import Listings
from iac_runtime.serve.pages import ToolSearch, by_door, known_names, reach, through_door
from iac_runtime.serve.prompts import PROMPTS, find_prompt, prompt_text
from iac_runtime.serve.resources import (
    TEMPLATES,
    Sources,
    guide_names,
    guide_text,
    read_resource,
)
from iac_runtime.serve.routing import LIST_TTL_MS, ServerIdentity
from iac_runtime.serve.status import StatusFile, status_facts
from iac_runtime.tool import Level, at_most
from iac_runtime.tools.catalogue import Catalogue

MOST: Final = 100
"""Values of one answer, as the protocol limits them."""

FIND: Final = "find_tools"

_CACHED: Final[tuple[CacheableMethod, ...]] = (
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "tools/list",
)
_EVENTS: Final = (ToolsListChanged(), PromptsListChanged(), ResourcesListChanged())
_ABSENT: Final = ("INVALID_PARAMETER", "NOT_FOUND", "UNKNOWN_TOOL")

T = TypeVar("T")


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

    def catalogue() -> Catalogue:
        assert gate.catalogue is not None
        return gate.catalogue

    sources = Sources(
        catalogue, gate.read_only, partial(status_facts, status), partial(_through_gate, gate, "")
    )
    return Server(
        identity.name,
        version=identity.version,
        instructions=identity.instructions,
        cache_hints=dict.fromkeys(_CACHED, CacheHint(ttl_ms=LIST_TTL_MS)),
        on_list_tools=_listed(lines, "tools", types.ListToolsResult),
        on_list_prompts=_listed(lines.prompts, "prompts", types.ListPromptsResult),
        on_list_resources=_listed(lines.resources, "resources", types.ListResourcesResult),
        on_list_resource_templates=_listed(
            lines.templates, "resourceTemplates", types.ListResourceTemplatesResult
        ),
        on_call_tool=_calls(gate, catalogue, status, patience),
        on_get_prompt=_prompts(lines),
        on_read_resource=_resources(gate, sources),
        on_completion=_completions(sources),
        on_subscriptions_listen=ListenHandler(_Bus(changes or Changes(), lines)),
    )


def _listed(read: Callable[[], list[bytes]], key: str, result: Any) -> Any:
    """Return the handler of a listing: what the front would have sent, as the SDK's result."""

    async def answer(_context: Any, _params: Any) -> Any:
        rows = await _in_worker(read)
        return result.model_validate({key: [json.loads(row) for row in rows]})

    return answer


async def _in_worker(read: Callable[[], T]) -> T:
    """Read in a thread; what cannot be read is an error of the protocol."""
    try:
        return await anyio.to_thread.run_sync(read)
    except IacError as error:
        # What is not there is the caller's mistake in both eras; the code of its own that older
        # versions had was withdrawn. Source: MCP 2026-07-28, "Resources".
        absent = isinstance(error, ToolError) and error.type in _ABSENT
        code = types.INVALID_PARAMS if absent else types.INTERNAL_ERROR
        raise MCPError(code, str(clean(str(error)))) from None


def _calls(
    gate: Gate, catalogue: Callable[[], Catalogue], status: StatusFile | None, patience: float
) -> Any:
    """Return the handler of tools/call."""
    limiter = anyio.CapacityLimiter(THREADS)
    search = ToolSearch(catalogue, read_only=gate.read_only)
    named: set[str] = set()

    async def counted(
        context: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        call = Call(params.name, params.arguments or {}, caller_of(context))
        client = call.caller.client
        if status is not None and client and client not in named:
            named.add(client)
            status.update(client=clean_text(client, 100))
        result = await answer(call, context, params)
        if status is not None:
            status.count(failed=isinstance(result, types.CallToolResult) and bool(result.is_error))
        return result

    async def answer(
        call: Call, context: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        deadline = Deadline(context, call.tool, patience)
        try:
            if call.tool == FIND:
                find = partial(search.find, call.arguments)
                found = await anyio.to_thread.run_sync(find, limiter=limiter)
                return done_result(Done(found, "", "SAFE"))
            call = through_door(call)
            deadline.allow(call.arguments.get("timeout"))
            outcome = await call_gate(gate, call, context, params, limiter, deadline)
        except ToolError as error:
            error.next = by_door(error.next, params.name, call.tool)
            return failure_result(deadline.meaning(error))
        except Exception as error:
            return failure_result(error)
        if isinstance(outcome, types.InputRequiredResult):
            return outcome
        if isinstance(outcome, Refused):
            outcome = replace(outcome, next=by_door(outcome.next, params.name, call.tool))
        return outcome_result(outcome)

    return counted


def _prompts(lines: Listings) -> Any:
    """Return the handler of prompts/get."""

    def read(name: str, given: dict[str, str]) -> types.GetPromptResult:
        prompt = find_prompt(name, lines.app_ids())
        text = prompt_text(prompt, given)
        if prompt.guide:
            text = f"{text}\n\n{guide_text(given[prompt.guide])}"
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=prompt.description, messages=[message])

    async def answer(_context: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return await _in_worker(partial(read, params.name, clean(params.arguments or {})))

    return answer


def _through_gate(gate: Gate, client: str, tool: str, given: Mapping[str, Any]) -> Any:
    """Return what a tool answers; nobody is asked, for a resource has no way to.

    Raises:
        ToolError: It was refused or failed; what would ask names the tool to call instead.
    """
    outcome = gate.call(Call(tool, given, Requester(client)))
    if isinstance(outcome, Done):
        return outcome.value
    assert isinstance(outcome, Refused)
    if not outcome.requires_prompt:
        raise outcome.error
    raise CallRefusedError(
        "This needs approval, and a resource cannot ask.",
        f"Call the tool {tool} with {json.dumps(given)} instead.",
        app=outcome.app,
        command=tool,
        kind=outcome.kind,
    )


def _resources(gate: Gate, sources: Sources) -> Any:
    """Return the handler of resources/read."""

    async def answer(
        context: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        call = partial(_through_gate, gate, caller_of(context).client)
        read = partial(read_resource, uri, sources._replace(call=call))
        text, mime, said = await _in_worker(read)
        contents = types.TextResourceContents(
            uri=uri, text=text, mime_type=mime, _meta={"iac/note": said} if said else None
        )
        return types.ReadResourceResult(contents=[contents])

    return answer


def _completions(sources: Sources) -> Any:
    """Return the handler of completion/complete; what it does not know has no values."""

    async def answer(_context: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
        name, begun = params.argument.name, params.argument.value
        values: Collection[str] = ()
        if isinstance(params.ref, types.PromptReference):
            values = _of_prompt(params.ref.name, name)
        else:
            # What is wrong with the tools is said where one is asked for.
            with contextlib.suppress(IacError):
                values = _of_template(params.ref.uri, name, sources)
        found = _completed(begun, values)
        return types.CompleteResult(
            completion=types.Completion(
                values=found[:MOST], total=len(found), has_more=len(found) > MOST
            )
        )

    return answer


def _completed(begun: str, values: Iterable[str]) -> list[str]:
    """Return the values that begin like `begun`, then those that hold it, else the nearest."""
    known = sorted(set(values))
    wanted = fold(begun)
    if not wanted:
        return known
    first = [value for value in known if fold(value).startswith(wanted)]
    within = [value for value in known if wanted in fold(value) and value not in first]
    return [*first, *within] or nearest(begun, known)


def _of_prompt(prompt: str, argument: str) -> Collection[str]:
    recipe = next((found for found in PROMPTS if found.name == prompt), None)
    if recipe is None:
        return ()
    if argument == recipe.guide:
        return guide_names()
    return next((row.values for row in recipe.arguments if row.name == argument), ())


def _of_template(uri: str, argument: str, sources: Sources) -> Collection[str]:
    kind = next((row["name"] for row in TEMPLATES if row["uriTemplate"] == uri), None)
    catalogue = sources.catalogue()
    match kind, argument:
        case "model", "key":
            return list(catalogue.apps)
        case "tool", "name":
            most: Level = "SAFE" if sources.read_only else "DANGEROUS"
            names = known_names(catalogue)
            return [name for name in names if at_most(reach(catalogue, name), most)]
        case "skill", "name":
            return guide_names()
    return ()


class _Bus(InMemorySubscriptionBus):
    """A bus that hears of changes from whatever thread has seen them."""

    def __init__(self, changes: Changes, lines: Listings) -> None:
        super().__init__()
        self._changes = changes
        self._lines = lines

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Register a listener of the loop that runs; it is called there."""
        loop = asyncio.get_running_loop()

        def tell() -> None:
            # The loop is closed once the session has ended.
            with contextlib.suppress(RuntimeError):
                for event in (*_EVENTS, *self._updates()):
                    loop.call_soon_threadsafe(listener, event)

        leave, unhear = super().subscribe(listener), self._changes.subscribe(tell)

        def stop() -> None:
            leave()
            unhear()

        return stop

    def _updates(self) -> list[ServerEvent]:
        """Return the resources that depend on the tools; only what is subscribed is sent."""
        rows = [json.loads(line) for line in self._lines.resources()]
        return [ResourceUpdated(uri=row["uri"]) for row in rows if "/apps" in row["uri"]]
