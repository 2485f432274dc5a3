"""A stdio server behind one HTTP endpoint, for a suite that speaks nothing else. Test-only.

    python tests/conformance/bridge.py PORT -- COMMAND...

Messages pass through unchanged, so what the suite judges of them is the server's. What belongs to
HTTP alone is answered here and says nothing about the server: the Host and Origin guard, sessions
and their ids, statuses, the agreement of the Mcp-* headers with the body, and a handshake where
the headers say that there is none.

With a handshake, a session is a process. Without one (2026-07-28), requests share a process;
another is started only for an id that is in use there.
"""

import contextlib
import json
import queue
import subprocess
import sys
import threading
import uuid
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import urlsplit

from fixture_data import HEADED, HEADED_SCHEMA
from mcp.shared.inbound import NAME_BEARING_METHODS, validate_mcp_param_headers

MODERN: Final = "2026-07-28"
VERSION: Final = "io.modelcontextprotocol/protocolVersion"
SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
LOCAL: Final = frozenset(("localhost", "127.0.0.1", "::1"))
STATUS: Final = {
    **dict.fromkeys((-32700, -32600, -32602, -32020, -32021, -32022), 400),
    -32601: 404,
}
"""Error code -> status (2026-07-28); anything else is carried by a 200."""

HEADER_MISMATCH: Final = -32020
NAMED: Final = {
    **NAME_BEARING_METHODS,
    **dict.fromkeys(("tasks/get", "tasks/update", "tasks/cancel"), "taskId"),
}
"""Method -> the parameter that the header Mcp-Name repeats."""

Message = dict[str, Any]


class Child:
    """A server process, and the requests that are open there."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.open: dict[str | int, queue.Queue[Message | None]] = {}
        self._tokens: dict[str | int, str | int] = {}
        self._listening: set[str | int] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def say(self, line: bytes) -> None:
        """Hand a message to the server; one that has ended takes none."""
        with self._lock, contextlib.suppress(OSError, ValueError):
            assert self.process.stdin
            self.process.stdin.write(line.replace(b"\n", b" ") + b"\n")
            self.process.stdin.flush()

    def begin(self, message: Message, line: bytes) -> "queue.Queue[Message | None]":
        """Send a request and return where what belongs to it will arrive."""
        id_ = message["id"]
        heard = self.open[id_] = queue.Queue()
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        if token is not None:
            self._tokens[token] = id_
        if message["method"] == "subscriptions/listen":
            self._listening.add(id_)
        self.say(line)
        return heard

    def forget(self, id_: str | int) -> None:
        """Close a request."""
        self.open.pop(id_, None)
        self._listening.discard(id_)

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            message = json.loads(line)
            heard = self.open.get(self._owner(message))
            if heard is not None:
                heard.put(message)
        for heard in list(self.open.values()):
            heard.put(None)

    def _owner(self, message: Message) -> Any:
        """Return the id of the request to which a message belongs."""
        if "method" not in message:
            return message.get("id")
        params = message.get("params") or {}
        subscription = (params.get("_meta") or {}).get(SUBSCRIPTION)
        if subscription is not None:
            return subscription
        if "progressToken" in params:
            return self._tokens.get(params["progressToken"])
        calls = [id_ for id_ in list(self.open) if id_ not in self._listening]
        return calls[-1] if calls else None


class Children:
    """The processes behind the bridge."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._sessions: dict[str, Child] = {}
        self._shared: list[Child] = []
        self._lock = threading.Lock()

    def start(self) -> tuple[str, Child]:
        """Begin a session."""
        name, child = uuid.uuid4().hex, Child(self._command)
        self._sessions[name] = child
        return name, child

    def session(self, name: str | None) -> Child | None:
        """Return the process of a session."""
        return self._sessions.get(name or "")

    def end(self, name: str | None) -> bool:
        """End a session; False if there is none."""
        child = self._sessions.pop(name or "", None)
        if child is not None:
            child.close()
        return child is not None

    def shared(self, id_: str | int) -> Child:
        """Return a process for a request without a session."""
        with self._lock:
            for child in self._shared:
                if id_ not in child.open:
                    return child
            self._shared.append(Child(self._command))
            return self._shared[-1]

    def close(self) -> None:
        """End them all."""
        for child in (*self._sessions.values(), *self._shared):
            child.close()


class Endpoint(ThreadingHTTPServer):
    """The server; a client that breaks off is no news."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a broken connection."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One HTTP exchange."""

    protocol_version = "HTTP/1.1"
    children: Children

    def log_message(self, *_args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """There is no stream of the server's own."""
        self._answer(405 if self._is_local() else 403, None)

    def do_DELETE(self) -> None:
        """End a session."""
        if not self._is_local():
            self._answer(403, None)
        else:
            self._answer(200 if self.children.end(self.headers["Mcp-Session-Id"]) else 404, None)

    def do_POST(self) -> None:
        """Carry one message."""
        line = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if not self._is_local():
            self._answer(403, None)
            return
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            self._refuse(None, -32700, "The body is no message.")
        elif self.headers["MCP-Protocol-Version"] == MODERN or _version(message) is not None:
            self._modern(message, line)
        else:
            self._legacy(message, line)

    def _legacy(self, message: Message, line: bytes) -> None:
        if message.get("method") == "initialize":
            name, child = self.children.start()
            self._carry(child, message, line, {"Mcp-Session-Id": name})
            return
        found = self.children.session(self.headers["Mcp-Session-Id"])
        if found is None:
            self._answer(404, None)
        elif "id" in message and "method" in message:
            self._carry(found, message, line, {})
        else:
            found.say(line)
            self._answer(202, None)

    def _modern(self, message: Message, line: bytes) -> None:
        id_ = message.get("id")
        if id_ is None:
            self._answer(202, None)
            return
        version, said = _version(message), self._header("MCP-Protocol-Version")
        if version is None:
            self._refuse(id_, -32602, f"_meta needs {VERSION}.")
        elif wrong := self._mismatch(message, version, said):
            self._refuse(id_, HEADER_MISMATCH, wrong)
        elif message.get("method") == "initialize":
            # Over stdio one connection serves both eras; an endpoint of this one has no handshake.
            self._refuse(id_, -32601, "There is no handshake in this version.")
        else:
            self._carry(self.children.shared(id_), message, line, {}, modern=True)

    def _mismatch(self, message: Message, version: Any, said: str | None) -> str:
        """Return what headers and body disagree about, or nothing."""
        if said != version:
            return f"MCP-Protocol-Version is {said}, the body says {version}."
        method = message.get("method")
        if (told := self._header("Mcp-Method")) != method:
            return f"Mcp-Method is {told}, the body says {method}."
        key = NAMED.get(str(method))
        if key is not None:
            name = (message.get("params") or {}).get(key)
            if (told := self._header("Mcp-Name")) != name:
                return f"Mcp-Name is {told}, the body says {name}."
        if method == "tools/call" and message["params"]["name"] == HEADED:
            arguments = message["params"].get("arguments") or {}
            if wrong := validate_mcp_param_headers(HEADED_SCHEMA, arguments, dict(self.headers)):
                return wrong.message
        return ""

    def _carry(
        self,
        child: Child,
        message: Message,
        line: bytes,
        headers: Mapping[str, str],
        *,
        modern: bool = False,
    ) -> None:
        """Send a request; answer with JSON, or with a stream if something comes before."""
        id_ = message["id"]
        heard = child.begin(message, line)
        try:
            first = heard.get()
            if first is None or "method" not in first:
                code = (first or {}).get("error", {}).get("code") if modern else None
                status = 502 if first is None else STATUS.get(code, 200)
                self._answer(status, first, headers)
                return
            self._stream(first, heard, headers)
        except OSError:
            # The client went away: what it asked for is called off.
            params = {"requestId": id_}
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            child.say(json.dumps(cancel).encode())
        finally:
            child.forget(id_)

    def _stream(
        self,
        first: Message,
        heard: "queue.Queue[Message | None]",
        headers: Mapping[str, str],
    ) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        self.close_connection = True
        message: Message | None = first
        while message is not None:
            self._event(f"data: {json.dumps(message)}\n\n")
            if "method" not in message:
                return
            message = self._next(heard)

    def _next(self, heard: "queue.Queue[Message | None]") -> Message | None:
        while True:
            try:
                return heard.get(timeout=0.5)
            except queue.Empty:
                # A comment, to notice a client that went away.
                self._event(":\n\n")

    def _event(self, text: str) -> None:
        self.wfile.write(text.encode())
        self.wfile.flush()

    def _header(self, name: str) -> str | None:
        """Return a header without the white space around it (RFC 9110, 5.5)."""
        value = self.headers[name]
        return None if value is None else value.strip()

    def _refuse(self, id_: Any, code: int, text: str) -> None:
        error = {"code": code, "message": text}
        self._answer(STATUS[code], {"jsonrpc": "2.0", "id": id_, "error": error})

    def _answer(
        self, status: int, body: Message | None, headers: Mapping[str, str] | None = None
    ) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(data)

    def _is_local(self) -> bool:
        """Say whether Host and Origin are this machine: another site's page must not get in."""
        origin = self.headers["Origin"]
        hosts = [f"//{self.headers['Host']}", *([origin] if origin else [])]
        return all(urlsplit(host).hostname in LOCAL for host in hosts)


def _version(message: Message) -> Any:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get(VERSION) if isinstance(meta, dict) else None


def serve(port: int, command: list[str]) -> tuple[Endpoint, Children]:
    """Return a bridge that listens (0: on any port), and the processes behind it."""
    children = Children(command)
    handler = type("Bound", (Handler,), {"children": children})
    server = Endpoint(("127.0.0.1", port), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, children


def main() -> None:
    """Serve until interrupted."""
    port, dashes, *command = sys.argv[1:]
    assert dashes == "--"
    server, children = serve(int(port), command)
    print(f"http://127.0.0.1:{server.server_address[1]}/mcp", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        children.close()


if __name__ == "__main__":
    main()
