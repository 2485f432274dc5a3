"""What stands before and behind the SDK's HTTP transport: who may come in, and how much of it.

    RequestGuard (Host, Origin, TLS) -> the token (SDK) -> Admission (limits, revocation)
    -> FormNegotiation (Accept) -> transport

Everything here is bounded: requests and sessions of each client, the time for a body, and what is
kept of a stream that may be taken up again. Silence and slow readers are the protocol's (`serve`).
"""

import asyncio
import gc
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from re import sub
from typing import Any, ClassVar, Final, NamedTuple
from urllib.parse import urlsplit
from weakref import WeakSet

import anyio
import httpx2
import jwt
import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.streamable_http import (
    MCP_SESSION_ID_HEADER,
    EventCallback,
    EventMessage,
    EventStore,
)
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from iac_base.errors import Cancellation, SetupError, quote_text
from iac_base.files import StateFileError, require_private_file
from iac_mcp.http.clients import HOLDER, SCOPES
from iac_mcp.http.negotiation import JSON, accepted_forms, error_response
from iac_runtime.serve.call import RemoteClient
from iac_runtime.serve.http_sdk import REMOTE


class RequestGuard:
    """Lets in what is meant for this server, before anything of it is read.

    Host and Origin are compared because a name of somebody else's may lead here, and a page in a
    browser may send here (DNS rebinding). Source: MCP 2026-07-28, "Security Warning".

    Args:
        public: Paths that a page of any origin may read.
    """

    def __init__(
        self,
        app: ASGIApp,
        hosts: Collection[str],
        origins: Collection[str],
        *,
        behind_proxy: bool,
        public: Collection[str] = (),
    ) -> None:
        self._app = app
        self._hosts, self._origins = hosts, origins
        self._behind_proxy, self._public = behind_proxy, public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] == "http" and (refused := self._check_request(scope)) is not None:
            await refused(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _check_request(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        # Names of hosts have no case (RFC 9110, 4.2.3); a browser writes an Origin in one way.
        host, origin = headers.get("host", "").lower(), headers.get("origin")
        if host not in self._hosts:
            return _setting_response("host", "hosts", host, 421)
        # A page that loads this as a script or a picture names no origin, and sees whether it is
        # there (W3C, Fetch Metadata).
        elsewhere = not origin and headers.get("sec-fetch-site") in _OTHER_SITES
        foreign = elsewhere or (origin and origin not in self._origins)
        if foreign and scope["path"] not in self._public:
            return _setting_response("origin", "origins", origin or "", 403)
        if self._behind_proxy and scope["scheme"] != "https":
            # The scheme is what the proxy says, where it is one that is believed.
            return PlainTextResponse("Send this request to the proxy, over TLS.", 403)
        return None


_OTHER_SITES: Final = ("cross-site", "same-site")


def _setting_response(what: str, key: str, given: str, status: int) -> PlainTextResponse:
    name = quote_text(given)
    return PlainTextResponse(
        f"This server does not answer to the {what} {name}. To allow it, add it to {key} under"
        " [http] in policy.toml on the server's machine, and start the server again.",
        status,
    )


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
        self._revoked: dict[tuple[str, str | None], tuple[AccessToken, Cancellation]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a client whose token was verified."""
        user = scope["user"]
        assert isinstance(user, AuthenticatedUser)
        holder = str((user.access_token.claims or {})[HOLDER])
        most = SCOPES[next(word for word in reversed(SCOPES) if word in user.scopes)]
        headers = Headers(scope=scope)
        session = headers.get(MCP_SESSION_ID_HEADER)
        version = headers.get(MCP_PROTOCOL_VERSION_HEADER)
        older = version is None or version in HANDSHAKE_PROTOCOL_VERSIONS
        begins = session is None and older
        mine = self._requests.setdefault(holder, set())
        if len(mine) >= self._limits.requests:
            await _busy_response("Too many requests at once.")(scope, receive, send)
            return
        if begins and self._count_sessions(holder) >= self._limits.sessions:
            await _busy_response("Too many open sessions.")(scope, receive, send)
            return
        # In the older era a question is an event of the stream that ends with the answer.
        asks = self._asks and not (older and accepted_forms(scope) == JSON)
        ident = holder, user.access_token.subject
        revoked = self._revoked.setdefault(ident, (user.access_token, Cancellation()))[1]
        scope[REMOTE] = RemoteClient(holder, most, asks, revoked)
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
        for key, (token, revoked) in [*self._revoked.items()]:
            if not holds(token):
                del self._revoked[key]
                revoked.cancel()
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
    return error_response(text, 429, types.INTERNAL_ERROR, **{"retry-after": "1"})


class SessionEvents(EventStore):
    """What one session sent lately, for a stream that is taken up again; the oldest goes first.

    The SDK has one store for all sessions, and a stream's id is the id of a request, which two
    sessions may share; one for each keeps their messages apart.
    """

    MOST: Final = 256
    BYTES: Final = 2_000_000
    ALL: Final = 64_000_000
    """Bytes of all sessions; of the session that has most the oldest goes first."""

    _kept: ClassVar["WeakSet[SessionEvents]"] = WeakSet()

    def __init__(self) -> None:
        self._kept.add(self)
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
            self._drop_oldest()
        while sum(store._bytes for store in self._kept) > self.ALL:
            max(self._kept, key=lambda store: store._bytes)._drop_oldest()
        self._stored.set()
        self._stored = anyio.Event()
        return str(self._last)

    def _drop_oldest(self) -> None:
        self._bytes -= self._rows.popitem(last=False)[1][2]

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

    async def end_session(self, ident: str, user: AuthenticatedUser) -> None:
        """End a session as its client would."""
        scope = {
            "type": "http",
            "method": "DELETE",
            "path": "/mcp",
            "query_string": b"",
            "headers": [(MCP_SESSION_ID_HEADER.encode(), ident.encode())],
            "user": user,
        }

        async def empty_request() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def discard_message(_message: Message) -> None:
            pass

        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self.handle_request(scope, empty_request, discard_message)


ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
ALGORITHMS_EC: Final = ("ES256", "ES384", "ES512", "EdDSA")
"""How tokens may be signed: with a key that only the issuer has, never with a shared one."""

_LEEWAY: Final = 30
"""Seconds by which two clocks may differ."""

_FRESH: Final = 300.0
_PAUSE: Final = 30.0
_LONGEST: Final = 3600.0
"""Seconds for which keys are taken as they are, between two looks for one that is not among them,
and for which they count where they cannot be had again."""

_ANSWER: Final = 5.0
_QUESTIONS: Final = 16
"""Tokens that an issuer is asked about at once: strangers send as many as they like."""

_LARGEST: Final = 1_000_000

_log = logging.getLogger("iac.http")


class Issuer(NamedTuple):
    """Who makes the tokens, and for what address: `url` is the audience that they must name."""

    url: str
    issuer: str
    jwks: str = ""
    introspection: str = ""
    introspection_client: str = ""
    introspection_secret_file: str = ""


def open_verifier(issuer: Issuer) -> TokenVerifier:
    """Return what verifies the tokens of an issuer.

    Raises:
        SetupError: An address is not https (or this machine's), or the secret cannot be read.
    """
    named = {"url": issuer.url, "issuer": issuer.issuer}
    named |= {key: getattr(issuer, key) for key in ("jwks", "introspection")}
    for key, address in named.items():
        if address and not _is_safe(address):
            raise SetupError(f"[http] {key} must be an https:// address, not {address}.")
    if bool(issuer.jwks) == bool(issuer.introspection):
        raise SetupError("[http] needs jwks or introspection, to check the issuer's tokens.")
    return _IntrospectionVerifier(issuer) if issuer.introspection else _JwtVerifier(issuer)


def _is_safe(address: str) -> bool:
    parts = urlsplit(address)
    here = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")
    return bool(parts.hostname) and not parts.fragment and (parts.scheme == "https" or here)


def _http_client() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(timeout=_ANSWER, follow_redirects=False, trust_env=False)


def _accept_claims(claims: Mapping[str, Any], issuer: Issuer) -> AccessToken | None:
    """Return whose token these claims are of; None where one is missing or of another kind."""
    meant = claims.get("aud")
    audience = [meant] if isinstance(meant, str) else meant
    client = claims.get("client_id") or claims.get("azp")
    subject, expires = claims.get("sub"), claims.get("exp")
    if not (
        claims.get("iss", issuer.issuer) == issuer.issuer
        and isinstance(audience, list)
        and issuer.url in audience
        and isinstance(client, str)
        and isinstance(expires, int | float)
        and not isinstance(expires, bool)
        and expires > time.time() - _LEEWAY
        and (subject is None or isinstance(subject, str))
    ):
        return None
    said = claims.get("scope", claims.get("scp", ()))
    words = said.split() if isinstance(said, str) else said if isinstance(said, list) else []
    whose = "\0".join((issuer.issuer, client, subject or ""))
    # Two clients never have one name: what is unusual in theirs is left out, the digest is not.
    shown = sub(r"[^a-z0-9._-]+", "-", f"{client}.{subject or ''}".casefold()).strip("-.")[:40]
    return AccessToken(
        token="",
        client_id=client,
        scopes=[scope for scope in SCOPES if scope in words],
        # The leeway is for our clock, not for the token's life.
        expires_at=int(expires) + _LEEWAY,
        resource=issuer.url,
        subject=subject,
        claims={
            "iss": issuer.issuer,
            HOLDER: f"oauth:{shown}-{sha256(whose.encode()).hexdigest()[:12]}",
        },
    )


class _JwtVerifier:
    """Verifies signed tokens (JWT) by the keys that the issuer publishes."""

    def __init__(self, issuer: Issuer) -> None:
        self._issuer = issuer
        self._keys: dict[str, jwt.PyJWK] = {}
        self._asked = self._had = -_LONGEST
        self._asking = asyncio.Lock()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return whose token it is; None for one that is not good."""
        try:
            key = await self._find_key(jwt.get_unverified_header(token).get("kid"))
            if key is None:
                return None
            claims = jwt.decode(
                token,
                key,
                algorithms=[*ALGORITHMS, *ALGORITHMS_EC],
                audience=self._issuer.url,
                issuer=self._issuer.issuer,
                leeway=_LEEWAY,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError):
            return None
        return _accept_claims(claims, self._issuer)

    async def _find_key(self, ident: Any) -> jwt.PyJWK | None:
        now = time.monotonic()
        if (now - self._had > _FRESH or ident not in self._keys) and now - self._asked > _PAUSE:
            async with self._asking:
                if time.monotonic() - self._asked > _PAUSE:
                    self._asked = time.monotonic()
                    await self._load_keys()
        stale = time.monotonic() - self._had > _LONGEST
        return None if stale or not isinstance(ident, str) else self._keys.get(ident)

    async def _load_keys(self) -> None:
        try:
            async with _http_client() as client:
                answer = await client.get(self._issuer.jwks)
            answer.raise_for_status()
            if len(answer.content) > _LARGEST:
                raise ValueError("the answer is too large")
            rows = answer.json()["keys"]
            keys: dict[str, jwt.PyJWK] = {}
            for row in rows:
                # A key of a kind that is not known here leaves the others.
                with suppress(jwt.PyJWTError, ValueError, TypeError, KeyError):
                    if row.get("kty") != "oct" and row.get("use", "sig") == "sig":
                        keys[str(row["kid"])] = jwt.PyJWK(row)
            self._keys, self._had = keys, time.monotonic()
        except (httpx2.HTTPError, ValueError, TypeError, KeyError, AttributeError) as error:
            # The keys that are known stay good meanwhile.
            _log.warning("the keys of %s cannot be fetched: %s", self._issuer.issuer, error)


class _IntrospectionVerifier:
    """Asks the issuer about each token, each time: what it revokes ends with the next request."""

    def __init__(self, issuer: Issuer) -> None:
        self._issuer = issuer
        path = Path(issuer.introspection_secret_file).expanduser()
        try:
            require_private_file(path)
            secret = path.read_text("utf-8").strip()
        except StateFileError as error:
            raise SetupError(str(error)) from None
        except (OSError, UnicodeDecodeError):
            raise SetupError(
                "[http] introspection_secret_file must be a file with the secret, chmod 600."
            ) from None
        self._auth = (issuer.introspection_client, secret)
        self._questions = anyio.CapacityLimiter(_QUESTIONS)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return whose token it is; None for one that the issuer does not vouch for."""
        try:
            async with self._questions, _http_client() as client:
                body = {"token": token, "token_type_hint": "access_token"}
                answer = await client.post(self._issuer.introspection, data=body, auth=self._auth)
            answer.raise_for_status()
            claims = answer.json() if len(answer.content) <= _LARGEST else {}
        except (httpx2.HTTPError, ValueError) as error:
            _log.warning("%s cannot be reached: %s", self._issuer.introspection, error)
            return None
        if not isinstance(claims, dict) or claims.get("active") is not True:
            return None
        return _accept_claims(claims, self._issuer)
