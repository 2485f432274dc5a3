"""The server of the SDK, for HTTP: what `methods` answers, and the listings, as its handlers."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Any, Final

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
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
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value

from iac_base.errors import Cancellation, IacError
from iac_runtime.policy.facts import Verdict
from iac_runtime.serve.call import Method, RemoteClient
from iac_runtime.serve.listing import Listings, app_resources
from iac_runtime.serve.methods import Methods, protocol_error
from iac_runtime.serve.protocol import (
    CLIENT_INFO,
    LIST_TTL_MS,
    LISTS,
    MODERN_VERSION,
    SKILL_EXTENSION,
    TASK_EXTENSION,
    ProtocolError,
    ServerIdentity,
    extension_fault,
    modern_result,
    shows_views,
    takes_tasks,
)
from iac_runtime.serve.rebuild import Changes
from iac_runtime.serve.resources import with_views

THREADS: Final = 80
"""Requests at once: all calls that the executor lets run or wait (4 and 64), and some that it
answers with BUSY at once. Without room for these, a client would wait for that answer too."""

SHARE: Final = 8
"""Of these, requests of one client that a token proved; its others wait in its own line."""

REMOTE: Final = "iac.remote"
"""Where the scope of an HTTP request says which client its token proved: a `RemoteClient`."""

_CACHED: Final[tuple[CacheableMethod, ...]] = (
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "tools/list",
)
_OF_TASKS: Final = "tasks/"
_EVENTS: Final = (ToolsListChanged(), PromptsListChanged(), ResourcesListChanged())


def build_server(
    methods: Methods,
    lines: Listings,
    identity: ServerIdentity,
    changes: Changes | None = None,
    threads: int = THREADS,
) -> Server[Any]:
    """Return the server of the methods; it is not started.

    Args:
        methods: Answer what leads behind the listings.
        lines: What is listed.
        identity: What the server says of itself.
        changes: Tells of tools that were built anew.
        threads: Requests at work at once.
    """
    slots = RequestSlots(threads)
    answers = {
        name: partial(handle_request, method, slots) for name, method in methods.by_name().items()
    }
    lists = {
        method: partial(_answer_listing, method, rows) for method, rows in lines.by_method().items()
    }
    server = ExtendedServer(
        identity.name,
        version=identity.version,
        instructions=identity.instructions,
        cache_hints=dict.fromkeys(_CACHED, CacheHint(ttl_ms=LIST_TTL_MS)),
        on_list_tools=lists["tools/list"],
        on_list_prompts=lists["prompts/list"],
        on_list_resources=lists["resources/list"],
        on_list_resource_templates=lists["resources/templates/list"],
        on_call_tool=answers.pop("tools/call"),
        on_read_resource=answers.pop("resources/read"),
        on_get_prompt=answers.pop("prompts/get"),
        on_completion=answers.pop("completion/complete"),
        on_subscriptions_listen=ListenHandler(_ChangeBus(changes or Changes(), lines)),
    )
    for method, answer in answers.items():
        server.add_request_handler(method, types.RequestParams, answer)
    return server


class ExtendedServer(Server[Any]):
    """A server that declares the extensions of skills and tasks, which the SDK does not know."""

    def get_capabilities(self, *options: Any, **named: Any) -> types.ServerCapabilities:
        declared = super().get_capabilities(*options, **named)
        return declared.model_copy(update={"extensions": {SKILL_EXTENSION: {}, TASK_EXTENSION: {}}})


def tell_sessions(server: Server[Any], changes: Changes) -> None:
    """Have the sessions of the older era over HTTP hear of changes, on the stream each holds open.

    Over standard input and output the front does so, which has begun before any server.
    """
    begun = partial(server.create_initialization_options, NotificationOptions(True, True, True))
    server.create_initialization_options = begun  # type: ignore[method-assign]
    hearing: set[str] = set()

    async def hear(context: Any, _params: Any) -> None:
        ident = context.request.headers.get(MCP_SESSION_ID_HEADER, "")
        if ident in hearing:
            return
        loop, changed, session = asyncio.get_running_loop(), asyncio.Event(), context.session

        def tell() -> None:
            # The loop is closed once the server has ended.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(changed.set)

        leave = changes.subscribe(tell)
        hearing.add(ident)
        try:
            # Until the session ends, and this with it.
            while await changed.wait():
                changed.clear()
                await session.send_tool_list_changed()
                await session.send_prompt_list_changed()
                await session.send_resource_list_changed()
        finally:
            hearing.discard(ident)
            leave()

    server.add_notification_handler("notifications/initialized", types.NotificationParams, hear)


async def _answer_listing(
    method: str, read: Callable[[], list[bytes]], context: Any, _params: Any
) -> Any:
    """Answer a listing with what the front would have sent."""
    try:
        rows = await anyio.to_thread.run_sync(read)
    except IacError as error:
        raise _sdk_error(protocol_error(error)) from None
    if _shows_views(context):
        rows = with_views(method, rows)
    return {LISTS[method]: [json.loads(row) for row in rows], "resultType": "complete"}


def _sdk_error(error: ProtocolError) -> MCPError:
    return MCPError(error.code, str(error), error.data)


async def handle_request(
    method: Method,
    slots: "RequestSlots",
    context: Any,
    _params: Any,
) -> Any:
    """Answer in a thread; when the client cancels, what runs is ended, then the thread."""
    cancel, peer = Cancellation(), _SessionPeer(context, asyncio.get_running_loop())
    if peer.modern and (wrong := extension_fault(context.method, context.params or {})):
        raise _sdk_error(wrong)
    _check_task_header(context)

    async def watch_cancel() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            cancel.cancel()

    answer = partial(method, context.params or {}, peer, cancel)
    result: Any = None
    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(watch_cancel)
        try:
            # What is asked about a task takes no time, and must not wait for calls.
            quick = context.method.startswith(_OF_TASKS)
            async with slots.slot_for(None if quick else peer.remote):
                # Shielded: it returns when the thread is done, which the watcher hastens.
                result = await anyio.to_thread.run_sync(answer, limiter=slots.all)
        except ProtocolError as error:
            failure = _sdk_error(error)
        except Exception as error:
            # It must leave the group as itself, not in an exception group.
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return modern_result(result, context.method) if peer.modern else result


def _check_task_header(context: Any) -> None:
    """Refuse a request about another task than its header names: whoever routes reads that."""
    if context.request is not None and context.method.startswith(_OF_TASKS):
        named = decode_header_value(context.request.headers.get(MCP_NAME_HEADER))
        if named != (context.params or {}).get("taskId"):
            text = f"The header {MCP_NAME_HEADER} must be the taskId of the request."
            raise MCPError(types.HEADER_MISMATCH, text)


class RequestSlots:
    """The places for requests at work: all that there are, and the share of each client."""

    def __init__(self, threads: int) -> None:
        self.all = anyio.CapacityLimiter(threads)
        self._shares: dict[str, anyio.CapacityLimiter] = {}

    def slot_for(self, remote: RemoteClient | None) -> contextlib.AbstractAsyncContextManager[Any]:
        """Return what a request waits for first."""
        if remote is None:
            return contextlib.nullcontext()
        return self._shares.setdefault(remote.holder, anyio.CapacityLimiter(SHARE))


class _SessionPeer:
    """The client of a request of the SDK, for the thread that answers it."""

    def __init__(self, context: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._context = context
        self._loop = loop
        self.name = _client_name(context)
        self.modern = context.protocol_version >= MODERN_VERSION
        scope = getattr(context.request, "scope", None) or {}
        self.remote: RemoteClient | None = scope.get(REMOTE)
        self.declared = _declares_elicitation(context) and (self.remote is None or self.remote.asks)
        self.views, self.tasks = _shows_views(context), takes_tasks(_extensions(context))

    def report(self, seconds: float, said: str) -> None:
        # Without a token of the client's, the session sends nothing.
        self._run_in_loop(self._context.session.report_progress(seconds, None, said))

    def elicit(
        self, params: Mapping[str, Any], cancel: Cancellation, seconds: float
    ) -> Verdict | tuple[str, Mapping[str, Any] | None]:
        asked = self._run_in_loop(
            self._context.session.elicit_form(
                params["message"], params["requestedSchema"], self._context.request_id
            )
        )
        try:
            with cancel.on_cancel(asked.cancel):
                elicited = asked.result(seconds)
        except TimeoutError:
            asked.cancel()
            return "timeout"
        except MCPError as error:
            return "unable" if error.error.code == types.METHOD_NOT_FOUND else "error"
        except (CancelledError, ValueError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            # What it answered is not of the protocol, or it is going.
            return "error"
        return elicited.action, elicited.content

    def _run_in_loop(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)


def _declares_elicitation(context: Any) -> bool:
    capabilities = context.session.client_capabilities
    elicitation = getattr(capabilities, "elicitation", None)
    if elicitation is None:
        return False
    # One that names kinds must name forms; an empty object stands for forms.
    return elicitation.form is not None or elicitation.url is None


def _shows_views(context: Any) -> bool:
    return shows_views(_extensions(context))


def _extensions(context: Any) -> Mapping[str, Any]:
    """Return the part of a client's capabilities that names extensions."""
    return {"extensions": getattr(context.session.client_capabilities, "extensions", None)}


def _client_name(context: Any) -> str:
    params = context.session.client_params
    if params is not None:
        return str(params.client_info.name)
    info = (context.meta or {}).get(CLIENT_INFO)
    return str(info.get("name", "")) if isinstance(info, Mapping) else ""


class _ChangeBus(InMemorySubscriptionBus):
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
                for event in (*_EVENTS, *self._updated_resources()):
                    loop.call_soon_threadsafe(listener, event)

        leave, unhear = super().subscribe(listener), self._changes.subscribe(tell)

        def stop() -> None:
            leave()
            unhear()

        return stop

    def _updated_resources(self) -> list[ServerEvent]:
        """Return the resources that depend on the tools; only what is subscribed is sent."""
        return [ResourceUpdated(uri=uri) for uri in app_resources(self._lines.resource_lines())]
