"""What stands before and behind the SDK's HTTP transport: who may come in, and how much of it.

    Entrance (TLS, Host, Origin) -> the token (SDK) -> Admission (limits, revocation) -> transport

Everything here is bounded: requests and sessions of each client, the time for a body, and what is
kept of a stream that may be taken up again. Silence and slow readers are the protocol's (`serve`).
"""

import gc
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import (
    MCP_SESSION_ID_HEADER,
    EventCallback,
    EventMessage,
    EventStore,
)
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from iac_mcp.http.clients import HOLDER, SCOPES
from iac_runtime.serve.deadline import RemoteClient
from iac_runtime.serve.handlers import REMOTE


class RequestGuard:
    """Lets in what is meant for this server, before anything of it is read.

    Host and Origin are compared because a name of somebody else's may lead here, and a page in a
    browser may send here (DNS rebinding). Source: MCP 2026-07-28, "Security Warning".
    """

    def __init__(
        self, app: ASGIApp, security: TransportSecuritySettings, *, behind_proxy: bool
    ) -> None:
        self._app = app
        self._check = TransportSecurityMiddleware(security)
        self._behind_proxy = behind_proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] == "http":
            refused = await self._check.validate_request(Request(scope))
            if refused is None and self._behind_proxy and scope["scheme"] != "https":
                # The scheme is what the proxy says, where it is one that is believed.
                refused = PlainTextResponse("Send this request to the proxy, over TLS.", 403)
            if refused is not None:
                await refused(scope, receive, send)
                return
        await self._app(scope, receive, send)


@dataclass(frozen=True)
class HttpLimits:
    """What one client may take; times are seconds.

    Attributes:
        requests: At once, streams that are open included.
        sessions: Sessions.
        body: Until a request's body is there.
        idle: After which a session without a request ends.
    """

    requests: int = 256
    sessions: int = 100
    body: float = 30.0
    idle: float = 1800.0


@dataclass(eq=False)
class _OpenRequest:
    """A request that is being answered."""

    token: AccessToken
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


@dataclass
class _ClientSession:
    """A session: the user that it belongs to, its open requests, and since when it has none."""

    user: AuthenticatedUser
    open: int = 0
    since: float = 0.0


class Admission:
    """Hands a client's requests to the transport, within its limits, as long as its token is good.

    Args:
        app: The transport.
        end: Ends a session of a user, by its id.
        asks: Whether clients may put questions to a person themselves.
        limits: What one client may take.
    """

    def __init__(
        self,
        app: ASGIApp,
        end: Callable[[str, AuthenticatedUser], Awaitable[None]],
        *,
        asks: bool,
        limits: HttpLimits,
    ) -> None:
        self._app = app
        self._end = end
        self._asks = asks
        self._limits = limits
        self._requests: dict[str, set[_OpenRequest]] = {}
        self._sessions: dict[str, _ClientSession] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a client whose token was verified."""
        user = scope["user"]
        assert isinstance(user, AuthenticatedUser)
        holder = str((user.access_token.claims or {})[HOLDER])
        most = SCOPES[next(word for word in reversed(SCOPES) if word in user.scopes)]
        headers = Headers(scope=scope)
        session = headers.get(MCP_SESSION_ID_HEADER)
        version = headers.get(MCP_PROTOCOL_VERSION_HEADER)
        begins = session is None and (version is None or version in HANDSHAKE_PROTOCOL_VERSIONS)
        mine = self._requests.setdefault(holder, set())
        if len(mine) >= self._limits.requests:
            await _busy_response("Too many requests at once.")(scope, receive, send)
            return
        if begins and self._count_sessions(holder) >= self._limits.sessions:
            await _busy_response("Too many open sessions.")(scope, receive, send)
            return
        scope[REMOTE] = RemoteClient(holder, most, self._asks)
        opened = _OpenRequest(user.access_token)
        if user.access_token.expires_at is not None:
            left = user.access_token.expires_at - time.time()
            opened.scope.deadline = anyio.current_time() + left
        mine.add(opened)
        entered = self._enter_session(session, user)
        try:
            with opened.scope:
                await self._app(
                    scope,
                    _with_deadline(receive, self._limits.body, opened.scope),
                    self._track_session(send, user, session if entered else None, scope["method"]),
                )
        finally:
            mine.discard(opened)
            if not mine:
                self._requests.pop(holder, None)
            self._leave_session(entered)

    async def end_invalid(self, holds: Callable[[AccessToken], bool]) -> None:
        """End what is open by tokens that are not good any more."""
        for opened in [row for rows in self._requests.values() for row in rows]:
            if not holds(opened.token):
                opened.scope.cancel()
        for ident, session in [*self._sessions.items()]:
            if not holds(session.user.access_token):
                del self._sessions[ident]
                await self._end(ident, session.user)

    def _count_sessions(self, holder: str) -> int:
        """Return how many sessions a client has; those that ended by themselves are forgotten."""
        past = time.monotonic() - self._limits.idle - 1
        for ident, session in [*self._sessions.items()]:
            if not session.open and session.since < past:
                del self._sessions[ident]
        rows = (row.user.access_token.claims or {} for row in self._sessions.values())
        return sum(claims.get(HOLDER) == holder for claims in rows)

    def _enter_session(self, ident: str | None, user: AuthenticatedUser) -> _ClientSession | None:
        session = self._sessions.get(ident or "")
        if session is None or _user_identity(session.user) != _user_identity(user):
            return None
        session.open += 1
        return session

    def _leave_session(self, session: _ClientSession | None) -> None:
        if session is not None:
            session.open -= 1
            session.since = time.monotonic()

    def _track_session(
        self, send: Send, user: AuthenticatedUser, ident: str | None, how: str
    ) -> Send:
        """Return what sends an answer, and notes a session that began, or that is over."""

        async def send_tracked(message: Message) -> None:
            if message["type"] == "http.response.start":
                status = message["status"]
                if ident is not None and (status == 404 or (how == "DELETE" and status < 400)):
                    self._sessions.pop(ident, None)
                begun = Headers(raw=message["headers"]).get(MCP_SESSION_ID_HEADER)
                if ident is None and begun is not None and status < 400:
                    self._sessions.setdefault(begun, _ClientSession(user, since=time.monotonic()))
            await send(message)

        return send_tracked


def _user_identity(user: AuthenticatedUser) -> object:
    return user.access_token.claims, user.access_token.subject


def _with_deadline(receive: Receive, seconds: float, ends: anyio.CancelScope) -> Receive:
    """Return what receives a request: one whose body does not come in time is given up."""
    until, whole = anyio.current_time() + seconds, False

    async def receive_in_time() -> Message:
        nonlocal whole
        message: Message = {"type": "http.disconnect"}
        with anyio.CancelScope(deadline=math.inf if whole else until) as waiting:
            message = await receive()
        if waiting.cancelled_caught:
            ends.cancel()
        whole = whole or not message.get("more_body", False)
        return message

    return receive_in_time


def _busy_response(text: str) -> JSONResponse:
    error = {"code": types.INTERNAL_ERROR, "message": text}
    body = {"jsonrpc": "2.0", "id": None, "error": error}
    return JSONResponse(body, 429, headers={"retry-after": "1"})


class SessionEvents(EventStore):
    """What one session sent lately, for a stream that is taken up again; the oldest goes first.

    The SDK has one store for all sessions, and a stream's id is the id of a request, which two
    sessions may share; one for each keeps their messages apart.
    """

    MOST: Final = 256
    BYTES: Final = 2_000_000

    def __init__(self) -> None:
        self._rows: OrderedDict[int, tuple[str, Any, int]] = OrderedDict()
        self._stored = anyio.Event()
        self._bytes = 0
        self._last = 0

    async def store_event(self, stream_id: str, message: types.JSONRPCMessage | None) -> str:
        """Keep a message, and make room for it; return its number."""
        size = 0 if message is None else len(message.model_dump_json())
        self._last += 1
        self._rows[self._last] = (stream_id, message, size)
        self._bytes += size
        while len(self._rows) > self.MOST or (self._bytes > self.BYTES and len(self._rows) > 1):
            self._bytes -= self._rows.popitem(last=False)[1][2]
        self._stored.set()
        self._stored = anyio.Event()
        return str(self._last)

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        """Send what came after an event of a stream, and what still comes, to its answer.

        All from here: between a replay and what comes live, the SDK would lose what comes.
        Nothing is sent where the event is not kept.
        """
        last = int(last_event_id) if last_event_id.isdecimal() else 0
        stream = self._rows[last][0] if last in self._rows else None
        while stream is not None:
            stored = self._stored
            for at, (of, message, _) in [*self._rows.items()]:
                if at > last and of == stream and message is not None:
                    last = at
                    await send_callback(EventMessage(message, str(at)))
                    if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
                        return None
            await stored.wait()
        return None


_COLLECTED: Final = 100
"""Sessions that begin until what ended ones left is collected."""


class HttpSessions(StreamableHTTPSessionManager):
    """The SDK's sessions, each with a store of its own."""

    _begun = 0

    @property
    def event_store(self) -> EventStore:
        """A new store: the SDK asks for it once, for each session that begins."""
        self._begun += 1
        if not self._begun % _COLLECTED:
            # An ended session is a circle of 20 KB, and the interpreter puts a whole collection
            # off until a quarter of what there is is new.
            gc.collect()
        return SessionEvents()

    @event_store.setter
    def event_store(self, _store: EventStore | None) -> None:
        pass

    async def end_session(self, ident: str, user: AuthenticatedUser, host: str) -> None:
        """End a session as its client would."""
        headers = {"host": host, MCP_SESSION_ID_HEADER: ident}
        scope = {
            "type": "http",
            "method": "DELETE",
            "path": "/mcp",
            "query_string": b"",
            "headers": [(key.encode(), value.encode()) for key, value in headers.items()],
            "user": user,
        }

        async def empty_request() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def discard_message(_message: Message) -> None:
            pass

        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self.handle_request(scope, empty_request, discard_message)
