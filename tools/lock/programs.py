"""The programs of a tree, as people and clients reach them: command lines, and MCP over stdio."""

import contextlib
import importlib
import io
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_ENTRIES = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
MAY_PRINT = ("iac-fleet", "iac-gen", "iac-mcp", "iac-scenario")
"""The programs that are run by a person, who may ask them for help."""


def run_program(*words: str) -> str:
    """Run a program of the tree in this process; return its status and all that it printed."""
    module, _, name = _ENTRIES[words[0]].partition(":")
    main = getattr(importlib.import_module(module), name)
    old, sys.argv = sys.argv, [*words]
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = main()
            except SystemExit as ended:
                status = ended.code
    except Exception as error:
        status = repr(error)
    finally:
        sys.argv = old
    return f"{status or 0}\n{out.getvalue()}{err.getvalue()}"


def find_commands(*words: str) -> Iterator[tuple[str, ...]]:
    """Yield a program and all commands below it, as its help lists them."""
    yield words
    _, _, listed = run_program(*words, "--help").partition("\nCommands:\n")
    for line in listed.partition("\n\n")[0].splitlines():
        if line.startswith("  ") and line[2] != " ":
            yield from find_commands(*words, line.split()[0])


class Server:
    """`iac-mcp serve` in a process of its own, and a client that answers its questions."""

    def __init__(self, folder: Path, *words: str, answer: dict[str, Any]) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        module, _, name = _ENTRIES["iac-mcp"].partition(":")
        start = f"import sys; from {module} import {name} as main; sys.exit(main())"
        self._answer = answer
        self._process = subprocess.Popen(
            [sys.executable, "-c", start, "serve", "--simulate", *words],
            env={**os.environ, "IAC_DATA": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()

    def ask(self, message: dict[str, Any]) -> list[Any]:
        """Send a request; return the questions that came, and the answer."""
        self.send(message)
        heard: list[Any] = []
        assert self._process.stdout is not None
        for line in self._process.stdout:
            one = json.loads(line)
            if one.get("method") == "elicitation/create":
                heard.append(one["params"])
                self.send({"id": one["id"], "result": self._answer})
            elif "method" not in one and one.get("id") == message["id"]:
                result = one.get("result", {})
                heard.append(result or one)
                if not (state := result.get("requestState")):
                    return heard
                answers = dict.fromkeys(result["inputRequests"], self._answer)
                more = {"inputResponses": answers, "requestState": state}
                self.send({**message, "params": {**message["params"], **more}})
        return [*heard, "the server ended"]

    def play(self, messages: Iterable[dict[str, Any]]) -> Iterator[list[Any]]:
        """Send messages in turn; yield what was heard for each that is a request."""
        for message in messages:
            if "id" in message:
                yield self.ask(message)
            else:
                self.send(message)

    def close(self) -> None:
        """End the server, as a client does."""
        self._process.communicate(timeout=60)


def handshake() -> Sequence[dict[str, Any]]:
    """Return the messages with which a client that shows questions begins."""
    client = {"name": "lock", "version": "1"}
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": client,
    }
    return (
        {"id": 0, "method": "initialize", "params": params},
        {"method": "notifications/initialized"},
    )
