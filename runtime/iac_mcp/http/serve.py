"""`iac-mcp serve --http`: the tools over Streamable HTTP, for clients with tokens.

On this machine's loopback a client has a token of `iac-mcp clients`. On any other address the
server wants TLS and tokens of an issuer (OAuth), or does not start.
"""

import asyncio
import logging
import re
import resource
import signal
import socket
import ssl
import sys
import time
from asyncio import constants as asyncio_constants
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager, closing, suppress
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import h11
import uvicorn
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from iac_base.errors import SetupError, quote_text
from iac_base.logs import LOGGER, start_logging
from iac_mcp.http.card import CARD_PATHS, card_routes
from iac_mcp.http.clients import SCOPES, LocalTokenVerifier, read_clients
from iac_mcp.http.guard import (
    Admission,
    HttpLimits,
    HttpSessions,
    Issuer,
    RequestGuard,
    open_verifier,
)
from iac_mcp.http.negotiation import FormNegotiation
from iac_runtime.policy.policy_file import load_policy
from iac_runtime.serve.http_sdk import build_server, tell_sessions
from iac_runtime.serve.stdio import prepare_server

_HEAD_SECONDS: Final = 10.0
"""Seconds until a connection has sent the head of a request."""

_STALLED_SECONDS: Final = 60.0
"""Seconds that a reader has to make room for what is written to it."""

_REST_SECONDS: Final = 2.0
"""Seconds for the rest of a body that was answered before it was there: a client that closes with
less would lose the answer."""

_MOST: Final = 320
"""Connections of one address: one client may have 256 requests at once (`HttpLimits`)."""

_SPARE: Final = 96
"""Descriptors that connections leave free, for files, workers and the audit."""

_QUIET_SECONDS: Final = 60.0
"""Seconds until the same trouble is told again."""

_FULL: Final = "Nobody can connect: the process has no file descriptor left."
_log: Final = logging.getLogger(f"{LOGGER}.http")


class GuardedConnection(H11Protocol):
    """A connection that is in time, and one of not too many.

    It must send the head of each request soon, read what it asked for (what nobody reads would be
    held in memory for good), and end with an answer that came before the end of its body.
    """

    _stalled: asyncio.TimerHandle | None = None
    _waiting: asyncio.TimerHandle | None = None
    _made = 0.0
    _place = ""

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request; of too many, one that asks for nothing goes."""
        super().connection_made(transport)
        self._made = self.loop.time()
        self._place = address_place(self.client[0] if self.client else "")
        self._wait_for_head()
        if crowd := self._crowd():
            _log.warning("Connections of %s are closed: it has too many open.", self._place)
            silent = [other for other in crowd if other is not self and other.is_silent()]
            min(silent, key=lambda other: other._made, default=self).transport.abort()

    def is_silent(self) -> bool:
        """Say whether nothing is being answered here."""
        return self.cycle is None or self.cycle.response_complete

    def pause_writing(self) -> None:
        """Begin to wait for a reader whose answers pile up."""
        super().pause_writing()
        self._stalled = self.loop.call_later(_STALLED_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: it has read."""
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        super().connection_lost(exc)
        for timer in (self._stalled, self._waiting):
            if timer is not None:
                timer.cancel()

    def on_response_complete(self) -> None:
        """Wait for the next head, and a little for the rest of a body that was answered early."""
        self._wait_for_head()
        super().on_response_complete()
        if not self.transport.is_closing() and self.conn.their_state is h11.SEND_BODY:
            self.loop.call_later(_REST_SECONDS, self._close_without_rest, self.cycle)

    def _crowd(self) -> "list[GuardedConnection]":
        """Return the connections of this address where they are too many, of all where all are."""
        others = [row for row in self.connections if isinstance(row, GuardedConnection)]
        room = descriptor_room()
        same = [row for row in others if row._place == self._place]
        if len(same) > min(_MOST, room * 2 // 3) and not self._is_proxy():
            return same
        return others if len(others) > room else []

    def _is_proxy(self) -> bool:
        if self.client is None or not self.config.proxy_headers:
            return False
        address = ip_address(self.client[0])
        proxies = self.config.forwarded_allow_ips or ()
        return any(address in ip_network(proxy) for proxy in proxies)

    def _wait_for_head(self) -> None:
        # After an answer too: uvicorn's own wait ends with the first byte of the next request.
        if self._waiting is not None:
            self._waiting.cancel()
        self._waiting = self.loop.call_later(_HEAD_SECONDS, self._close_without_head, self.cycle)

    def _close_without_head(self, last: object) -> None:
        if self.cycle is last and not self.transport.is_closing():
            self.transport.close()

    def _close_without_rest(self, answered: object) -> None:
        if self.cycle is answered and self.conn.their_state is h11.SEND_BODY:
            self.transport.close()


def allow_descriptors() -> None:
    """Take as many descriptors as the system lets this process have, up to 4,096."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4_096 if hard == resource.RLIM_INFINITY else min(4_096, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def descriptor_room() -> int:
    """Return how many connections leave the spare descriptors free."""
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return max(descriptors - _SPARE, descriptors // 2)


def address_place(host: str) -> str:
    """Return whose connections count as one's: an address, or a network that one owner has."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    # A host has a whole /64 (RFC 6177), and an address of version 4 may come in one of version 6.
    if address.version == 6 and address.ipv4_mapped is None:
        return str(ip_network((address, 64), strict=False))
    return str(getattr(address, "ipv4_mapped", None) or address)


class TlsListener(socket.socket):
    """A listening socket that bounds what has not finished TLS's handshake.

    Such a connection is no `GuardedConnection` yet, and would be counted by nobody.
    """

    _accepted: tuple[tuple[socket.socket, str], ...] = ()

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection; one too many is closed."""
        connection, address = super().accept()
        place = address_place(address[0])
        still_open = [row for row in self._accepted if row[0].fileno() >= 0]
        # More than the crowd of a `GuardedConnection`, which lets silent ones go first.
        most = min(_MOST * 5 // 4, descriptor_room())
        same = sum(row[1] == place for row in still_open)
        if same >= most or connection.fileno() > descriptor_room() + _SPARE // 2:
            _log.warning("A connection of %s is refused: too many are open.", place)
            connection.close()
            # The loop takes it for one that its client gave up.
            raise ConnectionAbortedError
        self._accepted = (*still_open, (connection, place))
        return connection, address


class RepeatFilter(logging.Filter):
    """Lets each line of the code warn once a minute, and says how often it would have.

    Strangers cause most of these warnings, as often as they like.
    """

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[tuple[str, int], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether to write a record."""
        if record.levelno < logging.WARNING:
            return True
        if "out of system resource" in record.getMessage():
            # asyncio tells it a thousand times a second, each time with a traceback.
            record.msg, record.args = _FULL, ()
            record.exc_info = record.exc_text = None
        place, now = (record.pathname, record.lineno), time.monotonic()
        since, left_out = self._told.get(place, (-_QUIET_SECONDS, 0))
        if now - since < _QUIET_SECONDS:
            self._told[place] = since, left_out + 1
            return False
        self._told[place] = now, 0
        if left_out:
            record.msg = f"{record.getMessage()} (and {left_out} more like this before)"
            record.args = ()
        return True


PORT: Final = 8722
PATH: Final = "/mcp"

THREADS: Final = 256
WAITING: Final = 128
"""Requests at work at once, of all clients; and those among them that wait for one app's turn."""

MOST_SESSIONS: Final = 1_000
LARGEST: Final = 1_000_000
"""Bytes of a request."""

_LOG: Final = 10_000_000
_LOOK: Final = 1.0
"""Seconds between two looks at which tokens are good."""

_LAST: Final = 3
"""Seconds for what is under way when the server ends."""


_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^\s/*@:\[\]]+)(:\d+)?")
_SITE: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/*@]+")


class HttpSettings(NamedTuple):
    """Where and how to serve.

    Attributes:
        url: The address as clients write it.
        hosts: What the Host header of a request may say.
        origins: What its Origin header may say.
        sites: The origins among them whose pages may send requests and read answers.
        cert, key: Of TLS; empty where there is none here.
        proxies: Addresses of proxies that are believed; empty without --behind-proxy.
        issuer: Who makes tokens; None for those of `iac-mcp clients`.
        clients_ask: Whether clients may put questions to a person themselves.
    """

    host: str
    port: int
    url: str
    hosts: tuple[str, ...]
    origins: tuple[str, ...]
    sites: tuple[str, ...] = ()
    cert: str = ""
    key: str = ""
    proxies: tuple[str, ...] = ()
    issuer: Issuer | None = None
    clients_ask: bool = True


def serve_http(raw: Mapping[str, Any]) -> int:
    """Serve until TERM or INT arrives; `raw` are the options by name, as texts.

    Raises:
        SetupError: What was asked for is not safe or not right; nothing was served.
    """
    start_logging(verbose=bool(raw.get("verbose")), file=raw.get("log_file"), most=_LOG)
    for handler in logging.getLogger(LOGGER).handlers:
        handler.addFilter(RepeatFilter())
    for name in ("uvicorn.error", "mcp", "sse_starlette", "asyncio"):
        # Their warnings quote what strangers sent: ours writes that harmlessly.
        logger = logging.getLogger(name)
        logger.parent, logger.propagate = logging.getLogger(LOGGER), True
        logger.setLevel(logging.WARNING)
    # A stream that ends with its token, or with the server, is no error.
    logging.getLogger("uvicorn.error").addFilter(lambda row: "without completing" not in row.msg)
    # A handshake has the time of a head; uvicorn has no setting for it.
    asyncio_constants.SSL_HANDSHAKE_TIMEOUT = _HEAD_SECONDS
    allow_descriptors()
    policy = Path(raw["policy"]) if raw.get("policy") else None
    policy_settings = dict(load_policy(policy).http)
    with ExitStack() as stack:
        listener = _open_listener(stack, raw)
        settings = read_http_settings(raw, policy_settings, listener.getsockname()[1])
        verifier = (
            LocalTokenVerifier() if settings.issuer is None else open_verifier(settings.issuer)
        )
        ready = prepare_server(
            {**raw, "log_file": None, "verbose": False, "waiting": (THREADS, WAITING)}
        )
        stack.callback(ready.gate.close)
        methods, changes = ready.gate.open_methods(ready.patience), ready.gate.changes
        server = build_server(methods, ready.lines, ready.identity, changes, THREADS)
        tell_sessions(server, changes)
        stack.enter_context(closing(ready.start_watch()))
        app = make_app(server, settings, verifier)
        # Not before: nobody is let in until all of it is right.
        listener.listen(1024)
        sys.stderr.write(f"iac-mcp: serving at {settings.url}\n")
        if settings.issuer is None and not read_clients():
            sys.stderr.write(
                "iac-mcp: no client has a token yet; add one with: iac-mcp clients add NAME\n"
            )
        # INT and TERM end it alike, and what is open is closed.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            asyncio.run(uvicorn.Server(http_config(app, settings)).serve([listener]))
    return 0


def _open_listener(stack: ExitStack, raw: Mapping[str, Any]) -> socket.socket:
    host, text = _listen_address(raw), str(raw.get("port") or PORT)
    if not (text.isdecimal() and int(text) < 65536):
        raise SetupError(f"--port must be a number from 0 to 65535, not {quote_text(text)}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    kind = TlsListener if raw.get("cert") else socket.socket
    listener = stack.enter_context(kind(family))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, int(text)))
    except OSError as error:
        raise SetupError(f"{host} port {text} cannot be used: {error.strerror}.") from None
    return listener


def _listen_address(raw: Mapping[str, Any]) -> str:
    host = str(raw.get("host") or "127.0.0.1").strip("[]")
    if host == "localhost":
        return "127.0.0.1"
    try:
        return str(ip_address(host))
    except ValueError:
        raise SetupError(
            f"--host must be an address of this machine, such as 127.0.0.1, not {quote_text(host)}."
        ) from None


def read_http_settings(raw: Mapping[str, Any], said: Mapping[str, Any], port: int) -> HttpSettings:
    """Return the settings, from the options and the table `[http]` of the policy.

    Raises:
        SetupError: They are not safe, or not right.
    """
    host = _listen_address(raw)
    local = ip_address(host).is_loopback and not raw.get("behind_proxy")
    cert, key = raw.get("cert") or "", raw.get("key") or ""
    if bool(cert) != bool(key):
        raise SetupError("Give both --cert and --key.")
    if cert and raw.get("behind_proxy"):
        raise SetupError(
            "Give --cert and --key, or --behind-proxy: this server handles TLS, or the proxy does."
        )
    if cert:
        _check_tls(cert, key)
    if not local and not (cert or raw.get("behind_proxy")):
        raise SetupError(
            f"Other machines can reach {host}, so it needs TLS: --cert and --key, or"
            " --behind-proxy. Without --host, only this machine can reach the server."
        )
    if not local and not (said.get("url") and said.get("issuer")):
        raise SetupError(
            "Clients on other machines need tokens of an OAuth issuer: set url, issuer and jwks"
            " under [http] in policy.toml."
        )
    proxies = tuple(said.get("proxies", ("127.0.0.1", "::1"))) if raw.get("behind_proxy") else ()
    for proxy in proxies:
        try:
            ip_network(proxy)
        except ValueError:
            raise SetupError(f"[http] proxies: {quote_text(proxy)} is not an address.") from None
    shown = f"[{host}]" if ":" in host else host
    here = f"{'https' if cert else 'http'}://{shown}:{port}{PATH}"
    url = str(said.get("url") or here)
    parts = urlsplit(url)
    if not local and parts.scheme != "https":
        raise SetupError(f"[http] url must be an https:// address, not {url}.")
    if (parts.path or "/") != PATH or not parts.hostname or parts.query or parts.fragment:
        raise SetupError(f"[http] url must end in {PATH}, such as https://mac.example.com{PATH}.")
    own_hosts = {parts.netloc.lower(), *_with_default_port(parts.scheme, parts.netloc.lower())}
    if local:
        own_hosts |= {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
    schemes = {parts.scheme, "https" if cert else "http"} if local else {"https"}
    own = {f"{scheme}://{name}" for scheme in schemes for name in own_hosts}
    sites = tuple(said.get("origins", ()))
    for site in sites:
        if not _SITE.fullmatch(site):
            raise SetupError(
                f"[http] origins: {quote_text(site)} is not an origin, such as https://example.com."
            )
    added = {name.lower() for name in said.get("hosts", ())}
    for name in added:
        if not _HOST.fullmatch(name):
            raise SetupError(
                f"[http] hosts: {quote_text(name)} is not a host, such as host.docker.internal."
            )
    hosts = own_hosts | added | {f"{name}:{port}" for name in added if not _has_port(name)}
    # Some clients leave the port out. Where a page comes from, its port is part of it.
    hosts |= {name.rpartition(":")[0] for name in hosts if _has_port(name)}
    issuer = None
    if said.get("issuer"):
        fields = {key: said[key] for key in Issuer._fields if key in said}
        issuer = Issuer(**{**fields, "url": url})
    return HttpSettings(
        host,
        port,
        url,
        tuple(sorted(hosts)),
        (*sorted(own), *sites),
        sites,
        cert,
        key,
        proxies,
        issuer,
        said.get("clients_ask", True),
    )


def _with_default_port(scheme: str, netloc: str) -> list[str]:
    """Return a host with the port that it has without saying so."""
    return [] if _has_port(netloc) else [f"{netloc}:{443 if scheme == 'https' else 80}"]


def _has_port(netloc: str) -> bool:
    return ":" in netloc.rpartition("]")[2]


def _check_tls(cert: str, key: str) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, lambda: "")
    except (OSError, ValueError) as error:
        why = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise SetupError(f"--cert and --key cannot be used: {why}.") from None


def make_app(
    server: Server[Any],
    settings: HttpSettings,
    verifier: TokenVerifier,
    limits: HttpLimits = HttpLimits(),  # noqa: B008 (it is immutable)
) -> ASGIApp:
    """Return the server as an ASGI application: the SDK's transport behind what guards it."""
    sessions = HttpSessions(
        server,
        retry_interval=1_000,
        session_idle_timeout=limits.idle,
        max_request_body_size=LARGEST,
        max_sessions=MOST_SESSIONS,
    )
    admission = Admission(
        FormNegotiation(sessions.asgi_app),
        sessions.end_session,
        asks=settings.clients_ask,
        limits=limits,
    )
    local_tokens = settings.issuer is None
    routes: list[BaseRoute] = [*card_routes(settings.url, local_tokens=local_tokens)]
    metadata = None
    if settings.issuer is not None:
        resource = AnyHttpUrl(settings.url)
        metadata = build_resource_metadata_url(resource)
        # As text: a URL of pydantic's own ends in a slash, and clients compare it with the issuer's
        # own name (RFC 8414, 3.3).
        issuers: list[Any] = [settings.issuer.issuer]
        routes += create_protected_resource_routes(resource, issuers, [*SCOPES], "IAC")
    guarded = RequireAuthMiddleware(admission, [next(iter(SCOPES))], metadata)
    routes += [Route(path, endpoint=guarded) for path in (PATH, f"{PATH}/")]

    @asynccontextmanager
    async def run_sessions(_app: Starlette) -> AsyncIterator[None]:
        async with sessions.run():
            holds = getattr(verifier, "is_still_valid", None)
            looking = asyncio.create_task(_watch_tokens(admission, holds)) if holds else None
            yield
            if looking is not None:
                looking.cancel()

    backend = BearerAuthBackend(verifier)
    middleware = [
        Middleware(AuthenticationMiddleware, backend=backend),
        Middleware(AuthContextMiddleware),
    ]
    if settings.sites:
        cors = Middleware(
            CORSMiddleware,
            allow_origins=settings.sites,
            allow_methods=("DELETE", "GET", "POST"),
            # Those of arguments (Mcp-Param-...) have names that are not known here.
            allow_headers=("*",),
            allow_private_network=True,
            expose_headers=(MCP_SESSION_ID_HEADER, "retry-after", "www-authenticate"),
        )
        middleware.insert(0, cors)
    app = Starlette(routes=routes, middleware=middleware, lifespan=run_sessions)
    # Where a client is to go is said in its settings, not by whatever Host it was sent to.
    app.router.redirect_slashes = False
    proxied = bool(settings.proxies)
    # On this machine, a page of somebody else's must not even learn that IAC runs.
    public = () if local_tokens else CARD_PATHS
    return RequestGuard(app, settings.hosts, settings.origins, behind_proxy=proxied, public=public)


async def _watch_tokens(admission: Admission, holds: Callable[[AccessToken], bool]) -> None:
    while True:
        await asyncio.sleep(_LOOK)
        try:
            await admission.end_invalid(holds)
        except Exception:
            # One session that cannot be ended leaves the others to be looked at.
            _log.exception("a session could not be ended")


def http_config(app: ASGIApp, settings: HttpSettings) -> uvicorn.Config:
    """Return how uvicorn serves the application."""
    return uvicorn.Config(
        app,
        http=GuardedConnection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=[*settings.proxies],
        ssl_certfile=settings.cert or None,
        ssl_keyfile=settings.key or None,
        timeout_graceful_shutdown=_LAST,
        # So many are accepted before the first of them can be refused.
        backlog=32,
    )
