"""Talking to a front in this process: what a client would send, and what it would hear."""

import json
import queue
from collections.abc import Callable, Mapping
from typing import Any

from iac_runtime.serve.protocol import ServerIdentity
from iac_runtime.serve.stdio import Router
from iac_runtime.serve.workers import RequestPool

CLIENT = {"name": "tester", "version": "1"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
HANDSHAKE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
CAPABILITIES = {
    "legacy": {"tools": {"listChanged": True}},
    "modern": {"tools": {"listChanged": False}},
}
IDENTITY = ServerIdentity("fixture", "9.8", "How to work.", CAPABILITIES)
ENTRIES: list[dict[str, Any]] = [
    {
        "name": f"tool_{number}",
        "description": "Do a thing: “quoted”, ünïcode.",
        "inputSchema": {"type": "object", "properties": {"x": {"type": "string"}}},
        "annotations": {"readOnlyHint": number % 2 == 0},
    }
    for number in range(5)
]
LINES = [json.dumps(entry, ensure_ascii=False).encode() for entry in ENTRIES]


def answer_call(params: Mapping[str, Any], _peer: Any, _cancel: Any) -> dict[str, Any]:
    """Answer as the tools of the fixture do."""
    text = json.dumps([params["name"], params.get("arguments")])
    return {"content": [{"text": text, "type": "text"}], "isError": False}


def fixture_methods() -> Mapping[str, Any]:
    """Return what lies behind a front of the fixture."""
    return {"tools/call": answer_call}


class Talk:
    """A front on the fixture, and the messages that came back."""

    def __init__(self, *, methods: Callable[[], Mapping[str, Any]] = fixture_methods):
        self.heard: queue.Queue[dict[str, Any]] = queue.Queue()
        self.raw: list[bytes] = []
        self.pool = RequestPool(methods, IDENTITY, self._hear)
        self.router = Router(IDENTITY, {"tools/list": lambda: LINES}, self.pool, self._hear)

    def _hear(self, line: bytes) -> None:
        self.raw.append(line)
        self.heard.put(json.loads(line))

    def say(self, message: Any) -> None:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.router.handle_line(line + b"\n")

    def ask(self, method: str, params: Any = None, id_: str | int = 1) -> dict[str, Any]:
        """Send a request and return the answer to it."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": id_, "method": method}
        if params is not None:
            message["params"] = params
        self.say(message)
        while (found := self.heard.get(timeout=30)).get("id") != id_ or "method" in found:
            pass
        return found

    def close(self) -> None:
        self.pool.close(1.0)
