"""The HTTP server in a thread of this process, and requests to it, written by hand."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx2
import uvicorn
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server

from iac_mcp.http.clients import LocalTokenVerifier
from iac_mcp.http.guard import HttpLimits, open_verifier
from iac_mcp.http.serve import HttpSettings, http_config, make_app, read_http_settings

BOTH = "application/json, text/event-stream"
HELLO = {
    "jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {"form": {}}},
     "clientInfo": {"name": "a test", "version": "1"}},
}  # fmt: skip


_WIRES: list[httpx2.Client] = []


@contextmanager
def over_http(
    server: Server[Any],
    said: Mapping[str, Any] = {},
    limits: HttpLimits = HttpLimits(),  # noqa: B008 (it is immutable)
    kind: type[socket.socket] = socket.socket,
    **raw: Any,
) -> Iterator[HttpSettings]:
    """Serve on any port of this machine; `said` is the table [http], `raw` are options."""
    with kind() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(256)
        settings = read_http_settings(raw, said, listener.getsockname()[1])
        tokens = open_verifier(settings.issuer) if settings.issuer else LocalTokenVerifier()
        app = make_app(server, settings, tokens, limits)
        serving = uvicorn.Server(http_config(app, settings))
        thread = threading.Thread(target=lambda: asyncio.run(serving.serve([listener])))
        thread.start()
        try:
            while not serving.started:
                assert thread.is_alive()
                time.sleep(0.005)
            yield settings
        finally:
            serving.should_exit = True
            thread.join(10)
            while _WIRES:
                _WIRES.pop().close()


class Wire:
    """Requests of one client, by hand."""

    def __init__(self, url: str, token: str = "", **headers: str) -> None:
        said = {"accept": BOTH, "content-type": "application/json"}
        said |= {"authorization": f"Bearer {token}"} if token else {}
        self.http = httpx2.Client(headers={**said, **headers}, timeout=10, trust_env=False)
        self.url = url
        self.session = ""
        _WIRES.append(self.http)

    def post(self, body: Any = HELLO, **headers: str) -> httpx2.Response:
        """Send a message, or bytes as they are."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.http.post(self.url, content=content, headers=self._with(headers))

    def open(self) -> "Wire":
        """Begin a session of the older era."""
        answer = self.post()
        assert answer.status_code == 200, answer.text
        self.session = answer.headers["mcp-session-id"]
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def call(self, tool: str, id_: int = 1, **arguments: Any) -> dict[str, Any]:
        """Call a tool, and return the result."""
        answer = self.post(call_of(tool, id_, **arguments))
        assert answer.status_code == 200, answer.text
        return events(answer.text)[-1]["result"]  # type: ignore[no-any-return]

    def stream(self, method: str = "GET", body: Any = None, **headers: str) -> Any:
        """Return a block that reads an answer as it comes."""
        content = None if body is None else json.dumps(body).encode()
        said = self._with({name.replace("_", "-"): value for name, value in headers.items()})
        return self.http.stream(method, self.url, content=content, headers=said)

    def _with(self, headers: Mapping[str, str]) -> dict[str, str]:
        mine = {"mcp-session-id": self.session, "mcp-protocol-version": "2025-11-25"}
        return {**(mine if self.session else {}), **headers}


def call_of(tool: str, id_: int = 1, **arguments: Any) -> dict[str, Any]:
    """Return the message that calls a tool."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


def events(text: str) -> list[Any]:
    """Return the messages of a stream of events."""
    lines = (line.removeprefix("data:").strip() for line in text.splitlines())
    return [json.loads(line) for line in lines if line.startswith("{")]


@asynccontextmanager
async def target(url: str, token: str) -> AsyncIterator[Any]:
    """Give what the SDK's client connects to."""
    headers = {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams
