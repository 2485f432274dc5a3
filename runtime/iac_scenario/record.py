"""Records a session between a real client and real servers as a scenario file."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import Any, Final

from iac_scenario.errors import SetupError
from iac_scenario.mcp_config import read_config, remote_servers
from iac_scenario.model import Server
from iac_scenario.proxy import pass_on
from iac_scenario.recording import Recorded, document, recorded
from iac_scenario.redact import secrets_of

__all__ = ["record_client", "record_server"]

_PLACE: Final = "{mcp-config}"
_VARIABLE: Final = "IAC_SCENARIO_MCP_CONFIG"


def record_client(command: Sequence[str], config: Path, output: Path) -> tuple[int, int]:
    """Run a client with recorded servers; return its status and the number of calls.

    The client gets the path of the other configuration wherever `config` or `{mcp-config}` is
    among its arguments, and in IAC_SCENARIO_MCP_CONFIG. Raises SetupError where it cannot start.
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
            raise SetupError(f"{command[0]}: {error.strerror}.") from None
        calls = [call for key, log in logs.items() for call in recorded(key, _entries(log))]
    return status, _written(calls, servers, output)


def record_server(command: Sequence[str], output: Path) -> tuple[int, int]:
    """Stand in a server's place on standard input and output; then as `record_client`."""
    name = Path(command[0]).stem
    with TemporaryDirectory(prefix="iac-scenario-") as folder:
        log = Path(folder, "log.jsonl")
        status = pass_on(command, log)
        calls = recorded(name, _entries(log))
    return status, _written(calls, {name: Server(command[0], tuple(command[1:]))}, output)


def _proxied(server: Server, log: Path) -> dict[str, Any]:
    words = ["-m", "iac_scenario", "proxy", str(log), "--", server.command, *server.args]
    table: dict[str, Any] = {"command": sys.executable, "args": words, "env": dict(server.env)}
    return table if server.cwd is None else {**table, "cwd": server.cwd}


def _entries(log: Path) -> list[dict[str, Any]]:
    if not log.is_file():
        return []
    return [json.loads(line) for line in log.read_bytes().splitlines()]


def _written(calls: list[Recorded], servers: Mapping[str, Server], output: Path) -> int:
    """Write the scenario at once or not at all, and return how many calls it has."""
    secrets = secrets_of({**os.environ, **_variables(servers)})
    # The servers ran where the client did, and must again.
    here = os.path.relpath(Path.cwd(), output.parent.resolve())
    placed = {
        key: server if here == "." or server.cwd is not None else replace(server, cwd=here)
        for key, server in servers.items()
    }
    calls = sorted(calls, key=lambda call: call.at)
    table = document(output.stem, calls, placed, secrets)
    text = _as_json(table) if output.suffix == ".json" else _as_toml(table)
    try:
        with NamedTemporaryFile(
            "w", dir=output.parent, prefix=f".{output.name}.", delete=False, encoding="utf-8"
        ) as draft:
            draft.write(text)
        Path(draft.name).replace(output)
    except OSError as error:
        raise SetupError(f"--output {output}: {error.strerror}.") from None
    return len(calls)


def _variables(servers: Mapping[str, Server]) -> dict[str, str]:
    return {name: value for server in servers.values() for name, value in server.env.items()}


def _as_json(table: Mapping[str, Any]) -> str:
    return json.dumps(table, ensure_ascii=False, indent=2) + "\n"


def _as_toml(table: Mapping[str, Any]) -> str:
    import tomlkit

    try:
        return tomlkit.dumps(table)
    # TOML has no null, and arguments may have one.
    except (ValueError, TypeError) as error:
        raise SetupError(
            f"The session holds what TOML cannot write ({error}); record it to a .json file."
        ) from None
