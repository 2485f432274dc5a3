"""Who may see the page: this machine, by the address that was opened, with its one-time token.

The token of the address works once and becomes a cookie that no script and no other site has.
Every answer forbids scripts, frames and addresses that are not the page's own. Host and Origin are
compared, since a name of somebody else's may lead to 127.0.0.1 (DNS rebinding); a change needs the
token of its form as well. Source: OWASP, "Cross-Site Request Forgery Prevention".
"""

import hmac
import secrets
import time
from collections.abc import Mapping
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE: Final = "iac_page"
HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Without any a form's Origin would be "null".
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class PageKeys:
    """The secrets of one run of the page, and when somebody last looked."""

    def __init__(self) -> None:
        self.entry = secrets.token_urlsafe(24)
        self.session = secrets.token_urlsafe(24)
        self.form = hmac.digest(self.session.encode(), b"form", "sha256").hex()
        self.looked = time.monotonic()
        self.watching = 0

    def redeem_token(self, token: str) -> bool:
        """Use the token of the address up; False if it is not the one, or was used before."""
        fits = bool(self.entry) and secrets.compare_digest(token.encode(), self.entry.encode())
        if fits:
            self.entry = ""
        return fits

    def idle_seconds(self) -> float:
        """Return for how many seconds nobody has looked."""
        return 0.0 if self.watching else time.monotonic() - self.looked


class PageGuard:
    """Lets through what the page itself asked for, and forbids the browser everything else."""

    def __init__(self, app: ASGIApp, keys: PageKeys, port: int) -> None:
        self._app, self._keys = app, keys
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refused = self._check_request(Request(scope))
        await (refused or self._app)(scope, receive, send_guarded)

    def _check_request(self, request: Request) -> Response | None:
        headers: Headers = request.headers
        if headers.get("host", "") not in self._hosts:
            return _refusal_response("You can open this page only at the address 127.0.0.1.")
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self._hosts}:
            return _refusal_response("This request came from another web site, so it was refused.")
        path = request.url.path
        if path == "/enter":
            return self._start_session(request)
        known = request.cookies.get(COOKIE, "")
        if not secrets.compare_digest(known.encode(), self._keys.session.encode()):
            return _refusal_response("Open the page with: iac-mcp open", 401)
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return _refusal_response("This request came from another web site, so it was refused.")
        if path != "/events":
            self._keys.looked = time.monotonic()
        return None

    def _start_session(self, request: Request) -> Response:
        if request.method != "GET" or not self._keys.redeem_token(
            request.query_params.get("token", "")
        ):
            return _refusal_response(
                "This address was used before. Open the page with: iac-mcp open", 401
            )
        answer = RedirectResponse("/now", 303)
        answer.set_cookie(COOKIE, self._keys.session, httponly=True, samesite="strict")
        return answer


def _refusal_response(text: str, status: int = 403) -> Response:
    return PlainTextResponse(f"{text}\n", status)
