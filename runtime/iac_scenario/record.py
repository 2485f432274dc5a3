"""Records a session between a real client and real servers as a scenario file.

A program between the two passes each line on as it came, byte for byte, and notes it first: so an
answer never stands before what it answers.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Final, Literal

from iac_base.files import write_whole
from iac_base.secrets import secrets_of, without_secrets
from iac_scenario.errors import PlayError
from iac_scenario.mcp_config import read_config, remote_servers
from iac_scenario.model import StdioServer, public

PROMPT: Final = "replay"
"""The prompt that a recorded scenario answers."""

_CHANGING: Final = re.compile(
    r"""(?x)
    \d{4}-\d\d-\d\d[T\ ]\d\d:\d\d | \b\d\d:\d\d:\d\d\b             # times
    | \b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}- | \b[0-9a-fA-F]{16,}\b
    | \b\d{10,}\b | /tmp/ | \b\d+(?:\.\d+)?\ ?(?:ms|seconds)\b
    """
)
"""What will be another text next time: then the text itself is not expected."""
_PLACE: Final = "{mcp-config}"
_VARIABLE: Final = "IAC_SCENARIO_MCP_CONFIG"
Side = Literal["client", "server"]


@dataclass(slots=True)
class Recorded:
    """A call as it was made, what came of it, and what the server asked during it."""

    server: str
    tool: str
    input: Any
    at: int
    text: str = ""
    is_error: bool = False
    done: bool = False
    elicitations: list[dict[str, Any]] = field(default_factory=list)


def recorded(server: str, entries: Iterable[Mapping[str, Any]]) -> list[Recorded]:
    """Return the calls of one server's log that were answered, in the order they were made."""
    calls: list[Recorded] = []
    open_calls: dict[Any, Recorded] = {}
    questions: dict[Any, str] = {}
    waiting: Recorded | None = None
    for entry in entries:
        message, side = entry["message"], entry["from"]
        if not isinstance(message, dict):
            continue
        method, params = message.get("method"), message.get("params") or {}
        key = message.get("id")
        if side == "client" and method == "tools/call":
            if waiting is not None and "inputResponses" in params:
                waiting.elicitations += [
                    _elicited(questions.get(name, ""), answer)
                    for name, answer in params["inputResponses"].items()
                    if isinstance(answer, dict) and "action" in answer
                ]
                call, waiting = waiting, None
            else:
                call = Recorded(
                    server, params.get("name", ""), params.get("arguments") or {}, entry["at"]
                )
                calls.append(call)
            open_calls[key] = call
        elif side == "server" and method == "elicitation/create":
            questions[key] = params.get("message", "")
        elif side == "client" and key in questions and "result" in message and open_calls:
            last = list(open_calls.values())[-1]
            last.elicitations.append(_elicited(questions.pop(key), message["result"]))
        elif side == "server" and key in open_calls and ("result" in message or "error" in message):
            call = open_calls.pop(key)
            result = message.get("result") or {}
            if result.get("resultType") == "input_required":
                asked = result.get("inputRequests") or {}
                questions = {
                    name: (request.get("params") or {}).get("message", "")
                    for name, request in asked.items()
                }
                waiting = call
            else:
                _finish(call, message)
    return [call for call in calls if call.done]


def _elicited(question: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"action": answer.get("action", "cancel")}
    if answer.get("content"):
        found["content"] = answer["content"]
    if question:
        found["message"] = {"type": "exact", "text": question}
    return found


def _finish(call: Recorded, message: Mapping[str, Any]) -> None:
    call.done = True
    if "error" in message:
        error = message["error"]
        call.is_error = True
        call.text = f"MCP error {error.get('code')}: {error.get('message')}"
        return
    result = message["result"]
    call.is_error = bool(result.get("isError"))
    call.text = "\n".join(
        block.get("text", "")
        for block in result.get("content") or ()
        if block.get("type") == "text"
    )


def document(
    name: str,
    calls: Iterable[Recorded],
    servers: Mapping[str, StdioServer],
    secrets: Collection[str],
) -> dict[str, Any]:
    """Return the scenario as the tables of its file."""
    return {
        "name": name,
        "prompts": [PROMPT],
        "tool_execution": {"mode": "real_mcp"},
        "mcp_servers": {key: _server(server, secrets) for key, server in sorted(servers.items())},
        "responses": [
            {
                "pattern": {"type": "exact", "text": PROMPT},
                "response": {"tool_calls": [_call(call, secrets) for call in calls]},
            }
        ],
    }


def _call(call: Recorded, secrets: Collection[str]) -> dict[str, Any]:
    text = without_secrets(call.text, secrets)
    given = without_secrets(call.input, secrets)
    table: dict[str, Any] = {
        "tool": f"mcp__{public(call.server)}__{public(call.tool)}",
        "input": given,
        "error" if call.is_error else "result": text,
        "expect": {"is_error": call.is_error},
    }
    # With other arguments than the recorded ones, another text is to be expected.
    if text == call.text and given == call.input and _CHANGING.search(text) is None:
        table["expect"]["equals"] = text
    if call.elicitations:
        table["elicitations"] = without_secrets(call.elicitations, secrets)
    return table


def _server(server: StdioServer, secrets: Collection[str]) -> dict[str, Any]:
    table: dict[str, Any] = {"command": server.command}
    if server.args:
        # A file that is there is no secret, however random its folder is called.
        table["args"] = [
            word if os.path.isfile(word) else without_secrets(word, secrets)  # noqa: PTH113
            for word in server.args
        ]
    if server.env:
        # A secret is read from the environment of whoever plays the scenario.
        table["env"] = {
            name: value
            if without_secrets({name: value}, secrets)[name] == value
            else f"${{{name}}}"
            for name, value in server.env.items()
        }
    if server.cwd is not None:
        table["cwd"] = server.cwd
    return table


def pass_on(command: Sequence[str], log: Path) -> int:
    """Run the server until one side ends, append JSON lines to `log`, return the server's status.

    A line of the log: `{"at": nanoseconds, "from": "client" or "server", "message": object}`.
    Raises PlayError where the server cannot be started.
    """
    try:
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as error:
        raise PlayError(f"{command[0]}: {error.strerror}.") from None
    assert server.stdin is not None
    assert server.stdout is not None
    # What was said may hold secrets until they are taken out.
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb", buffering=0) as notes:
        upward = threading.Thread(
            target=_pump, args=(sys.stdin.buffer, server.stdin, notes, "client"), daemon=True
        )
        upward.start()
        _pump(server.stdout, sys.stdout.buffer, notes, "server")
        return server.wait()


def _pump(source: IO[bytes], target: IO[bytes], notes: IO[bytes], side: Side) -> None:
    try:
        while line := source.readline():
            _note(notes, side, line)
            target.write(line)
            target.flush()
    except (BrokenPipeError, ValueError):
        # The other side is gone; the server's end is seen by its status.
        pass
    finally:
        if side == "client":
            target.close()


def _note(notes: IO[bytes], side: Side, line: bytes) -> None:
    try:
        message = json.loads(line)
    except ValueError:
        return
    entry = {"at": time.time_ns(), "from": side, "message": message}
    # One write a line: two servers never mix their lines.
    notes.write(json.dumps(entry, separators=(",", ":")).encode() + b"\n")


def record_client(command: Sequence[str], config: Path, output: Path) -> tuple[int, int]:
    """Run a client with recorded servers; return its status and the number of calls.

    The client gets the path of the other configuration wherever `config` or `{mcp-config}` is
    among its arguments, and in IAC_SCENARIO_MCP_CONFIG. Raises PlayError where it cannot start.
    """
    servers = read_config(config)
    with TemporaryDirectory(prefix="iac-scenario-") as name:
        folder = Path(name)
        logs = {server: folder / f"{number}.jsonl" for number, server in enumerate(servers)}
        proxied = folder / "servers.json"
        table = {key: _proxied(server, logs[key]) for key, server in servers.items()}
        # A remote server cannot be recorded; the client has it all the same.
        proxied.write_text(json.dumps({"mcpServers": {**remote_servers(config), **table}}))
        words = [word.replace(_PLACE, str(proxied)) for word in command]
        words = [str(proxied) if word == str(config) else word for word in words]
        try:
            status = subprocess.run(
                words, env={**os.environ, _VARIABLE: str(proxied)}, check=False
            ).returncode
        except OSError as error:
            raise PlayError(f"{command[0]}: {error.strerror}.") from None
        calls = [call for key, log in logs.items() for call in recorded(key, _entries(log))]
    return status, _written(calls, servers, output)


def record_server(command: Sequence[str], output: Path) -> tuple[int, int]:
    """Stand in a server's place on standard input and output; then as `record_client`."""
    name = Path(command[0]).stem
    with TemporaryDirectory(prefix="iac-scenario-") as folder:
        log = Path(folder, "log.jsonl")
        status = pass_on(command, log)
        calls = recorded(name, _entries(log))
    return status, _written(calls, {name: StdioServer(command[0], tuple(command[1:]))}, output)


def _proxied(server: StdioServer, log: Path) -> dict[str, Any]:
    words = ["-m", "iac_scenario", "proxy", str(log), "--", server.command, *server.args]
    table: dict[str, Any] = {"command": sys.executable, "args": words, "env": dict(server.env)}
    return table if server.cwd is None else {**table, "cwd": server.cwd}


def _entries(log: Path) -> list[dict[str, Any]]:
    if not log.is_file():
        return []
    return [json.loads(line) for line in log.read_bytes().splitlines()]


def _written(calls: list[Recorded], servers: Mapping[str, StdioServer], output: Path) -> int:
    """Write the scenario at once or not at all, and return how many calls it has."""
    given = {name: value for server in servers.values() for name, value in server.env.items()}
    secrets = secrets_of({**os.environ, **given})
    # The servers ran where the client did, and must again.
    here = os.path.relpath(Path.cwd(), output.parent.resolve())
    placed = {
        key: server if here == "." or server.cwd is not None else replace(server, cwd=here)
        for key, server in servers.items()
    }
    calls = sorted(calls, key=lambda call: call.at)
    table = document(output.stem, calls, placed, secrets)
    if output.suffix == ".json":
        text = json.dumps(table, ensure_ascii=False, indent=2) + "\n"
    else:
        text = _as_toml(table)
    try:
        write_whole(output, text)
    except OSError as error:
        raise PlayError(f"--output {output}: {error.strerror}.") from None
    return len(calls)


def _as_toml(table: Mapping[str, Any]) -> str:
    import tomlkit

    try:
        return tomlkit.dumps(table)
    # TOML has no null, and arguments may have one.
    except (ValueError, TypeError) as error:
        raise PlayError(
            f"The session holds what TOML cannot write ({error}); record it to a .json file."
        ) from None
