"""Start the server as a client starts it, with nothing of this shell, and see it answer."""

import json
import os
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from iac_base.errors import SetupError
from iac_mcp.setup.clients import Launch
from iac_runtime.execution.process import Runner
from iac_runtime.execution.streams import run_process
from iac_runtime.version import VERSION

_SECONDS: Final = 60.0
_PATH: Final = "/usr/bin:/bin:/usr/sbin:/sbin"
"""What an app that is started from the Dock has as its PATH (launchd's default)."""

_KEPT: Final = ("HOME", "USER", "LOGNAME", "TMPDIR", "LANG")


class ServerTrial(NamedTuple):
    """What a server answered.

    Attributes:
        tools: How many tools it lists.
        answer: The result of the call that was made; None without one.
    """

    tools: int
    answer: Mapping[str, Any] | None = None


def try_launch(launch: Launch, tool: str = "", run: Runner = run_process) -> ServerTrial:
    """Start a server, have it list its tools and, where one is named, call a tool; it ends then.

    Raises:
        SetupError: It does not start, or does not answer; one line with its own last words.
    """
    own = {name: os.environ[name] for name in _KEPT if name in os.environ}
    given = {**own, "PATH": _PATH, **launch.env}
    words = [f"{name}={value}" for name, value in given.items()]
    argv = ["/usr/bin/env", "-i", *words, launch.command, *launch.args]
    done = run(argv, _client_messages(tool), _SECONDS)
    answers = dict(_parse_answers(done.stdout))
    failed = answers.get("2", {}).get("error")
    if "2" not in answers or failed:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        why = f"It did not answer in {_SECONDS:.0f} s." if done.timed_out else "It printed nothing."
        why = str(failed["message"]) if failed else said[-1] if said else why
        shown = " ".join([launch.command, *launch.args])
        raise SetupError(
            f"The server does not start: {why.removeprefix('iac-mcp: ')} Tried: {shown}"
        )
    return ServerTrial(len(answers["2"]["result"]["tools"]), answers.get("3", {}).get("result"))


def _client_messages(tool: str) -> bytes:
    """Return what a client sends: the beginning, the listing, one call."""
    about = {"name": "iac-mcp install", "version": VERSION}
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about}
    rows: list[dict[str, Any]] = [
        {"id": "1", "method": "initialize", "params": begin},
        {"method": "notifications/initialized"},
        {"id": "2", "method": "tools/list"},
    ]
    if tool:
        params = {"name": tool, "arguments": {}}
        rows.append({"id": "3", "method": "tools/call", "params": params})
    return b"".join(json.dumps({"jsonrpc": "2.0", **row}).encode() + b"\n" for row in rows)


def _parse_answers(output: bytes) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for line in output.splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict) and "id" in said:
            found.append((str(said["id"]), said))
    return found
