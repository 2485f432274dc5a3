"""`iac-mcp serve --http`: the tools over Streamable HTTP, for clients with tokens.

On this machine's loopback a client has a token of `iac-mcp clients`. On any other address the
server wants TLS and tokens of an issuer (OAuth), or does not start.
"""

import asyncio
import logging
import resource
import signal
import socket
import ssl
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager, closing, suppress
from functools import partial
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
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from iac_base.errors import SetupError, quote_text
from iac_base.logs import LOGGER, start_logging
from iac_mcp.http.clients import SCOPES, LocalTokenVerifier, read_clients
from iac_mcp.http.guard import (
    Admission,
    HttpLimits,
    HttpSessions,
    Issuer,
    RequestGuard,
    open_verifier,
)
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

_told: Final[dict[str, float]] = {}


class GuardedConnection(H11Protocol):
    """A connection that is in time, and one of not too many.

    It must send the head of a request soon, read what it asked for (what nobody reads would be held
    in memory for good), and end with an answer that came before the end of its body.
    """

    _stalled: asyncio.TimerHandle | None = None
    _made = 0.0

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request; of too many, one that asked for nothing goes."""
        super().connection_made(transport)
        self._made = self.loop.time()
        self.loop.call_later(_HEAD_SECONDS, self._close_without_head)
        if crowd := self._crowd():
            host = self.client[0] if self.client else "an unknown address"
            _tell_once("Connections of %s are closed: it has too many open.", host)
            silent = [other for other in crowd if other.cycle is None and other is not self]
            min(silent, key=lambda other: other._made, default=self).transport.abort()

    def pause_writing(self) -> None:
        """Begin to wait for a reader whose answers pile up."""
        super().pause_writing()
        self._stalled = self.loop.call_later(_STALLED_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: it has read."""
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()

    def on_response_complete(self) -> None:
        """Wait a little for the rest of a body that was answered early."""
        super().on_response_complete()
        if not self.transport.is_closing() and self.conn.their_state is h11.SEND_BODY:
            self.loop.call_later(_REST_SECONDS, self._close_without_rest, self.cycle)

    def _crowd(self) -> "list[GuardedConnection]":
        """Return the connections of this address where they are too many, of all where all are."""
        others = [row for row in self.connections if isinstance(row, GuardedConnection)]
        descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        room = max(descriptors - _SPARE, descriptors // 2)
        host = self.client[0] if self.client else ""
        same = [row for row in others if row.client and row.client[0] == host]
        trusted = self.config.proxy_headers and host in self.config.forwarded_allow_ips
        if not trusted and len(same) > min(_MOST, room * 2 // 3):
            return same
        return others if len(others) > room else []

    def _close_without_head(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
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


def quiet_full_table(row: logging.LogRecord) -> bool:
    """Filter of asyncio's log: that no descriptor is left is told by one line a minute.

    asyncio tells it a thousand times a second, each time with a traceback.
    """
    if "out of system resource" not in row.getMessage():
        return True
    _tell_once("Nobody can connect: the process has no file descriptor left.")
    return False


def _tell_once(message: str, *facts: str) -> None:
    now = time.monotonic()
    if now - _told.get(message, -_QUIET_SECONDS) >= _QUIET_SECONDS:
        _told[message] = now
        logging.getLogger(f"{LOGGER}.http").warning(message, *facts)


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


class HttpSettings(NamedTuple):
    """Where and how to serve.

    Attributes:
        url: The address as clients write it.
        hosts: What the Host header of a request may say.
        origins: What its Origin header may say.
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
    for name in ("uvicorn.error", "mcp", "sse_starlette"):
        # Their warnings quote what strangers sent: ours writes that harmlessly.
        logger = logging.getLogger(name)
        logger.parent, logger.propagate = logging.getLogger(LOGGER), True
        logger.setLevel(logging.WARNING)
    # A stream that ends with its token, or with the server, is no error.
    logging.getLogger("uvicorn.error").addFilter(lambda row: "without completing" not in row.msg)
    logging.getLogger("asyncio").addFilter(quiet_full_table)
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
    listener = stack.enter_context(socket.socket(family))
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
    hosts = {parts.netloc.lower(), *_with_default_port(parts.scheme, parts.netloc.lower())}
    if local:
        hosts |= {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
    schemes = {parts.scheme, "https" if cert else "http"} if local else {"https"}
    own = {f"{scheme}://{name}" for scheme in schemes for name in hosts}
    issuer = None
    if said.get("issuer"):
        fields = {key: said[key] for key in Issuer._fields if key in said}
        issuer = Issuer(**{**fields, "url": url})
    return HttpSettings(
        host,
        port,
        url,
        tuple(sorted(hosts)),
        (*sorted(own), *said.get("origins", ())),
        cert,
        key,
        proxies,
        issuer,
        said.get("clients_ask", True),
    )


def _with_default_port(scheme: str, netloc: str) -> list[str]:
    """Return a host with the port that it has without saying so."""
    bare = not netloc.rpartition("]")[2].count(":")
    return [f"{netloc}:{443 if scheme == 'https' else 80}"] if bare else []


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
    security = TransportSecuritySettings(
        allowed_hosts=[*settings.hosts], allowed_origins=[*settings.origins]
    )
    sessions = HttpSessions(
        server,
        security_settings=security,
        retry_interval=1_000,
        session_idle_timeout=limits.idle,
        max_request_body_size=LARGEST,
        max_sessions=MOST_SESSIONS,
    )
    end = partial(sessions.end_session, host=settings.hosts[0])
    admission = Admission(sessions.asgi_app, end, asks=settings.clients_ask, limits=limits)
    routes: list[BaseRoute] = []
    metadata = None
    if settings.issuer is not None:
        resource = AnyHttpUrl(settings.url)
        metadata = build_resource_metadata_url(resource)
        issuers = [AnyHttpUrl(settings.issuer.issuer)]
        routes += create_protected_resource_routes(resource, issuers, [*SCOPES], "IAC")
    guarded = RequireAuthMiddleware(admission, [next(iter(SCOPES))], metadata)
    routes.append(Route(PATH, endpoint=guarded))

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
    app = Starlette(routes=routes, middleware=middleware, lifespan=run_sessions)
    return RequestGuard(app, security, behind_proxy=bool(settings.proxies))


async def _watch_tokens(admission: Admission, holds: Callable[[AccessToken], bool]) -> None:
    while True:
        await asyncio.sleep(_LOOK)
        try:
            await admission.end_invalid(holds)
        except Exception:
            # One session that cannot be ended leaves the others to be looked at.
            logging.getLogger(f"{LOGGER}.http").exception("a session could not be ended")


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
