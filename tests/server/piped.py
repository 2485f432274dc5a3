"""A server process and a client that writes and reads raw lines."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import warm
from talking import ENVELOPE, HANDSHAKE

SERVE = [sys.executable, "-m", "iac_mcp", "serve"]
PATIENCE = 60.0
"""Seconds after which a server that does not answer has failed the test."""


class Piped:
    """`iac-mcp serve` with a data folder of its own; every line of its output is checked."""

    def __init__(self, data: Path, *options: str, **env: str) -> None:
        data.mkdir(parents=True, exist_ok=True)
        self.log = data / "log"
        own = {key: value for key, value in os.environ.items() if not key.startswith("IAC_")}
        with self.log.open("wb") as errors:
            self.process = subprocess.Popen(
                self.command(*options),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**own, "IAC_DATA": str(data), **env},
            )
        self.heard: queue.Queue[bytes] = queue.Queue()
        self._asked = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def command(self, *options: str) -> list[str]:
        """Return the command that starts the server."""
        return warm.command(warm.IAC_MCP, "serve", *options)

    def write(self, *lines: bytes) -> None:
        """Send lines as they are."""
        assert self.process.stdin
        for line in lines:
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification."""
        self.write(message(None, method, params))

    def send(self, method: str, params: Any = None) -> str:
        """Send a request under an id of its own and return the id."""
        self._asked += 1
        id_ = f"valid-{self._asked}"
        self.write(message(id_, method, params))
        return id_

    def wait(self, *ids: str) -> dict[str, dict[str, Any]]:
        """Return the answers to these requests; whatever else comes must be an object."""
        found: dict[str, dict[str, Any]] = {}
        while found.keys() != set(ids):
            line = self.heard.get(timeout=PATIENCE)
            answer = json.loads(line)
            assert isinstance(answer, dict), line
            assert answer["jsonrpc"] == "2.0", line
            if answer.get("id") in ids and "method" not in answer:
                assert answer["id"] not in found, line
                found[answer["id"]] = answer
        return found

    def ask(self, method: str, params: Any = None) -> dict[str, Any]:
        """Send a request and return its answer."""
        id_ = self.send(method, params)
        return self.wait(id_)[id_]

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool in the era with a handshake and return the result."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        result: dict[str, Any] = answer["result"]
        return result

    def open(self) -> None:
        """Go through the handshake."""
        self.ask("initialize", HANDSHAKE)
        self.notify("notifications/initialized")

    def close(self) -> int:
        """End the input and return the exit status."""
        assert self.process.stdin
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join()
            assert self.process.stdout
            self.process.stdout.close()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.heard.put(line)


def message(id_: Any, method: str, params: Any = None) -> bytes:
    """Return a request, or with no id a notification."""
    found: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    found |= {} if id_ is None else {"id": id_}
    found |= {} if params is None else {"params": params}
    return json.dumps(found).encode()


COUNT = {"name": "mail_count", "arguments": {"element": "mailbox"}}
MODERN_COUNT = {**COUNT, "_meta": ENVELOPE}
