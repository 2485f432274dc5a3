"""In which form a client is answered: JSON, or a stream of events, as its Accept header says.

The protocol wants both in each header, and the SDK refuses a request that names one. Many clients
do: Gemini CLI and Antigravity accept JSON alone (google-gemini/gemini-cli#20018,
vercel/vercel-mcp-overview#1), the Java SDK events alone (honojs/middleware#1799). Each gets what it
can read here.
"""

from typing import Final

import mcp_types as types
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.inbound import MCP_METHOD_HEADER
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"
BOTH: Final = f"{JSON}, {EVENTS}"
_ENDED: Final = "The session ended before the answer was there."
_BATCH: Final = "This server takes one message at a time over HTTP, no batches."


def accepted_forms(scope: Scope) -> str:
    """Return `BOTH`, `JSON` or `EVENTS`; an empty text where a client can read neither."""
    request = Request(scope)
    if not request.headers.get("accept", "").strip():
        return BOTH
    return {
        (True, True): BOTH,
        (True, False): JSON,
        (False, True): EVENTS,
    }.get(check_accept_headers(request), "")


def error_response(text: str, status: int, code: int, **headers: str) -> JSONResponse:
    """Return an answer that refuses a request whose id was not read."""
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}}
    return JSONResponse(body, status, headers=headers)


class FormNegotiation:
    """Has the transport answer requests that name one form, and puts its answers into that form."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        form, headers = accepted_forms(scope), MutableHeaders(scope=scope)
        # This answer has no end, and no form but events.
        endless = headers.get(MCP_METHOD_HEADER) == "subscriptions/listen"
        if scope["method"] == "GET" and form == BOTH:
            headers["accept"] = EVENTS
        elif scope["method"] == "POST" and form and not (endless and form == JSON):
            headers["accept"] = BOTH
            first = await receive()
            if first.get("body", b"").lstrip().startswith(b"["):
                refused = error_response(_BATCH, 400, types.INVALID_REQUEST)
                await refused(scope, receive, send)
                return
            receive = _begin_with(first, receive)
            send = send if form == BOTH else _AnswerForm(send, form).send
        await self._app(scope, receive, send)


def _begin_with(first: Message, receive: Receive) -> Receive:
    waiting = [first]

    async def receive_next() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_next


class _AnswerForm:
    """Sends an answer in the one form that its client accepts; refusals stay as they are."""

    def __init__(self, send: Send, form: str) -> None:
        self._send, self._form = send, form
        self._start: Message | None = None
        self._answer = b""

    async def send(self, message: Message) -> None:
        """Send a part of the answer, or keep it until the whole is there."""
        if message["type"] == "http.response.start":
            said = MutableHeaders(scope=message).get("content-type", "").partition(";")[0]
            if message["status"] == 200 and said in (JSON, EVENTS) and said != self._form:
                self._start = message
                return
        elif self._start is not None:
            await self._add_part(self._start, message)
            return
        await self._send(message)

    async def _add_part(self, start: Message, message: Message) -> None:
        part = message.get("body", b"")
        if self._form == EVENTS:
            self._answer += part
        elif events := [line for line in part.splitlines() if line.startswith(b"data: {")]:
            # What came before it was progress: the last event is the answer.
            self._answer = events[-1].removeprefix(b"data: ")
        if message.get("more_body"):
            return
        if not self._answer:
            start["status"] = 500
            self._answer = bytes(error_response(_ENDED, 500, types.INTERNAL_ERROR).body)
        elif self._form == EVENTS:
            self._answer = b"event: message\r\ndata: " + self._answer + b"\r\n\r\n"
        headers = MutableHeaders(scope=start)
        headers.update({"content-type": self._form, "content-length": str(len(self._answer))})
        await self._send(start)
        await self._send({"type": "http.response.body", "body": self._answer})
