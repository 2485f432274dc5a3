"""Records a session between a real client and real servers as a scenario file.

A program between the two passes each line on as it came, byte for byte, and notes it first: so an
answer never stands before what it answers.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Final, Literal

from iac_base.files import write_whole
from iac_base.secrets import secrets_of
from iac_scenario.errors import PlayError
from iac_scenario.likeness import map_leaves
from iac_scenario.mcp_config import read_config, remote_servers
from iac_scenario.model import StdioServer
from iac_scenario.recording import RecordedCall, recorded_calls, scenario_document

_PLACE: Final = "{mcp-config}"
_VARIABLE: Final = "IAC_SCENARIO_MCP_CONFIG"
_EVERY: Final = 0.3
"""Seconds between two looks at what was said."""
Side = Literal["client", "server"]


def relay_messages(command: Sequence[str], log: Path) -> int:
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
            target=_relay_stream,
            args=(sys.stdin.buffer, server.stdin, notes, "client"),
            daemon=True,
        )
        upward.start()
        _relay_stream(server.stdout, sys.stdout.buffer, notes, "server")
        return server.wait()


def _relay_stream(source: IO[bytes], target: IO[bytes], notes: IO[bytes], side: Side) -> None:
    try:
        while line := source.readline():
            _log_message(notes, side, line)
            target.write(line)
            target.flush()
    except (BrokenPipeError, ValueError):
        # The other side is gone; the server's end is seen by its status.
        pass
    finally:
        if side == "client":
            target.close()


def _log_message(notes: IO[bytes], side: Side, line: bytes) -> None:
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
    servers = {key: server for key, server in read_config(config).items() if server.command}
    with TemporaryDirectory(prefix="iac-scenario-") as name:
        folder = Path(name)
        logs = {server: folder / f"{number}.jsonl" for number, server in enumerate(servers)}
        proxied = folder / "servers.json"
        table = {key: _proxy_server(server, logs[key]) for key, server in servers.items()}
        # A remote server cannot be recorded; the client has it all the same.
        proxied.write_text(json.dumps({"mcpServers": {**remote_servers(config), **table}}))
        words = [word.replace(_PLACE, str(proxied)) for word in command]
        words = [str(proxied) if word == str(config) else word for word in words]

        def calls() -> list[RecordedCall]:
            return [
                call
                for key, log in logs.items()
                for call in recorded_calls(key, _read_entries(log))
            ]

        try:
            client = subprocess.Popen(words, env={**os.environ, _VARIABLE: str(proxied)})
        except OSError as error:
            raise PlayError(f"{command[0]}: {error.strerror}.") from None
        with _save_continuously(calls, servers, output) as count:
            status = client.wait()
    return status, count[0]


def record_server(command: Sequence[str], output: Path) -> tuple[int, int]:
    """Stand in a server's place on standard input and output; then as `record_client`."""
    name = Path(command[0]).stem
    servers = {name: StdioServer(command[0], tuple(command[1:]))}
    with TemporaryDirectory(prefix="iac-scenario-") as folder:
        log = Path(folder, "log.jsonl")
        with _save_continuously(
            lambda: recorded_calls(name, _read_entries(log)), servers, output
        ) as count:
            status = relay_messages(command, log)
    return status, count[0]


@contextmanager
def _save_continuously(
    calls: Callable[[], list[RecordedCall]], servers: Mapping[str, StdioServer], output: Path
) -> Iterator[list[int]]:
    """Write the scenario anew whenever a call was answered, so that no end of it loses any.

    Yields a list that holds the number of its calls at the end.
    """
    count = [-1]
    ended = threading.Event()

    def write_changes() -> None:
        found = calls()
        if len(found) != count[0]:
            count[0] = _write_scenario(found, servers, output)

    def write_repeatedly() -> None:
        while not ended.wait(_EVERY):
            # What cannot be written is told at the end.
            with suppress(PlayError):
                write_changes()

    keeper = threading.Thread(target=write_repeatedly, daemon=True)
    keeper.start()
    try:
        yield count
    finally:
        ended.set()
        keeper.join()
    write_changes()


def _proxy_server(server: StdioServer, log: Path) -> dict[str, Any]:
    words = ["-m", "iac_scenario", "proxy", str(log), "--", server.command, *server.args]
    table: dict[str, Any] = {"command": sys.executable, "args": words, "env": dict(server.env)}
    return table if server.cwd is None else {**table, "cwd": server.cwd}


def _read_entries(log: Path) -> list[dict[str, Any]]:
    """Return the entries that are whole; the last line may still be written."""
    if not log.is_file():
        return []
    return [json.loads(line) for line in log.read_bytes().rpartition(b"\n")[0].splitlines()]


def _write_scenario(
    calls: list[RecordedCall], servers: Mapping[str, StdioServer], output: Path
) -> int:
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
    table = scenario_document(output.stem, calls, placed, secrets)
    if output.suffix == ".json":
        text = json.dumps(table, ensure_ascii=False, indent=2) + "\n"
    else:
        text = _as_toml(table)
    try:
        write_whole(output, text)
    except OSError as error:
        raise PlayError(f"--output {output}: {error.strerror}.") from None
    return len(calls)


def _as_toml(table: dict[str, Any]) -> str:
    import tomlkit

    # TOML has no null.
    return tomlkit.dumps(
        map_leaves(table, lambda leaf: {"$json": "null"} if leaf is None else leaf)
    )
