"""What an editor offers: completions of pyright's language server, over its own protocol."""

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["Editor"]

ROOT = Path(__file__).parents[2]


class Editor:
    """A language server with one open document after the other; use it in a `with` block."""

    def __init__(self, folder: Path) -> None:
        settings = {"extraPaths": [str(ROOT / name) for name in ("runtime", "generated")]}
        (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
        self._folder = folder
        self._sent = 0
        self._server = subprocess.Popen(
            [sys.executable, "-m", "pyright.langserver", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
        )
        folders = [{"uri": folder.as_uri(), "name": "samples"}]
        self._ask(
            "initialize",
            {
                "processId": None, "rootUri": folder.as_uri(), "capabilities": {},
                "workspaceFolders": folders,
            },
        )  # fmt: skip
        self._send({"method": "initialized", "params": {}})

    def offers(self, text: str) -> set[str]:
        """Return what is offered at the mark `|` in `text`."""
        before, _, after = text.partition("|")
        uri = (self._folder / f"sample{self._sent}.py").as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1, "text": before + after}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        place = {"line": before.count("\n"), "character": len(before.rpartition("\n")[2])}
        found = self._ask(
            "textDocument/completion", {"textDocument": {"uri": uri}, "position": place}
        )
        rows = found["items"] if isinstance(found, dict) else found or []
        return {row["label"] for row in rows}

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        self._sent += 1
        ident = self._sent
        self._send({"id": ident, "method": method, "params": params})
        while True:
            message = self._receive()
            if "method" in message and "id" in message:
                # The server asks for settings; it has them from the file.
                rows = message.get("params", {}).get("items", [])
                self._send({"id": message["id"], "result": [{} for _ in rows] or None})
            elif message.get("id") == ident:
                assert "error" not in message, message
                return message["result"]

    def _send(self, message: dict[str, Any]) -> None:
        assert self._server.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._server.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self._server.stdout is not None
        length = 0
        while line := self._server.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            raise EOFError("the language server ended")
        message: dict[str, Any] = json.loads(self._server.stdout.read(length))
        return message

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.kill()
        self._server.communicate()
