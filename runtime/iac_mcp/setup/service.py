"""A program as a launchd agent of this user: started at log-in, and again where it failed.

An agent, not a daemon: Apple events need the session of a person who is logged in. The server's
own log begins anew at 10 MB: newsyslog, which could do that, wants a file of root's. What launchd
writes itself are the lines of a start that fails. Source: man launchd.plist, man launchctl.
"""

import os
import plistlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.errors import SetupError
from iac_base.files import write_whole
from iac_mcp.setup.interpreter import PythonInterpreter, launch_arguments, server_environment
from iac_runtime.execution.process import Completed, Runner
from iac_runtime.execution.workers import run_process

LABEL: Final = "iac-for-mac.server"
"""The agent of the server."""


class AgentKind(NamedTuple):
    """An agent: its label, the program that installs it, what to do without launchd, its log."""

    label: str
    program: str
    start: str
    log: str


SERVER: Final = AgentKind(
    LABEL, "iac-mcp", "start the server with: iac-mcp serve --http", "start.log"
)
_LAUNCHCTL: Final = "/bin/launchctl"
_SECONDS: Final = 20.0


def agent_plist(
    python: PythonInterpreter, options: Sequence[str], environ: Mapping[str, str]
) -> bytes:
    """Return the plist of the agent; `options` are those of `iac-mcp serve` besides --http."""
    own = () if "--log-file" in options else ("--log-file", str(_log_folder() / "server.log"))
    return make_plist(SERVER, python, launch_arguments(("--http", *own, *options)), environ, {
        "KeepAlive": {"SuccessfulExit": False},  # An end that was asked for stays.
        "ProcessType": "Interactive",  # People wait for its answers.
        # Each client's connections are files; launchd gives 256.
        "SoftResourceLimits": {"NumberOfFiles": 8192},
    })  # fmt: skip


def make_plist(
    agent: AgentKind,
    python: PythonInterpreter,
    arguments: Sequence[str],
    environ: Mapping[str, str],
    more: Mapping[str, Any],
) -> bytes:
    log = str(_log_folder() / agent.log)
    keys: dict[str, Any] = {
        "Label": agent.label,
        "ProgramArguments": [python.path, *arguments],
        "RunAtLoad": True,
        "ThrottleInterval": 30,
        "LimitLoadToSessionType": "Aqua",
        "StandardOutPath": log,
        "StandardErrorPath": log,
        "WorkingDirectory": "/",
        "Umask": 0o077,
        **more,
    }
    if variables := server_environment(python, environ):
        keys["EnvironmentVariables"] = variables
    return plistlib.dumps(keys)


def _log_folder() -> Path:
    return Path.home() / "Library" / "Logs" / "iac"


def install_agent(
    plist: bytes,
    run: Runner = run_process,
    system: str = sys.platform,
    agent: AgentKind = SERVER,
) -> Path:
    """Write the agent's file and start the agent; one that runs is started anew. Return the file.

    Raises:
        SetupError: This is no Mac, the file cannot be written, or launchd refuses it.
    """
    _require_mac(system, agent)
    path = agent_path(agent)
    try:
        _log_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, plist, mode=0o644)
    except OSError as error:
        raise SetupError(f"{path} cannot be written: {error.strerror}.") from error
    _run_launchctl(run, "bootout", _launchd_target(agent))
    done = _run_launchctl(run, "bootstrap", _launchd_domain(), str(path))
    if done.status:
        reason = done.stderr.decode(errors="replace").strip()
        raise SetupError(f"launchd did not start the service: {reason or f'status {done.status}'}.")
    return path


def uninstall_agent(
    run: Runner = run_process, system: str = sys.platform, agent: AgentKind = SERVER
) -> bool:
    """End the agent and remove its file; False if there is none. Raises as `install`."""
    _require_mac(system, agent)
    _run_launchctl(run, "bootout", _launchd_target(agent))
    try:
        agent_path(agent).unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise SetupError(f"{agent_path(agent)} cannot be removed: {error.strerror}.") from error
    return True


def agent_status(
    run: Runner = run_process, system: str = sys.platform, agent: AgentKind = SERVER
) -> str:
    """Return how the agent stands, one line. Raises SetupError where this is no Mac."""
    _require_mac(system, agent)
    if not agent_path(agent).exists():
        return f"The service is not installed; install it with: {agent.program} service install"
    done = _run_launchctl(run, "print", _launchd_target(agent))
    if done.status:
        return (
            "The service is installed but not loaded; load it with:"
            f" {agent.program} service install"
        )
    lines = done.stdout.decode(errors="replace").splitlines()
    rows = (line.strip().partition(" = ") for line in lines)
    facts = {key: value for key, _, value in rows if value}
    if "pid" in facts:
        return f"The service is running, pid {facts['pid']}."
    ended = facts.get("last exit code", "unknown")
    return f"The service is loaded but not running; it ended with {ended}."


def agent_path(agent: AgentKind = SERVER) -> Path:
    """Return where the agent's file is."""
    return Path.home() / "Library" / "LaunchAgents" / f"{agent.label}.plist"


def _require_mac(system: str, agent: AgentKind) -> None:
    if system != "darwin":
        raise SetupError(
            f"A service needs a Mac (launchd). Here, {agent.start}"
            f" ({agent.program} service install --print shows the agent's file)."
        )


def _launchd_domain() -> str:
    return f"gui/{os.getuid()}"


def _launchd_target(agent: AgentKind) -> str:
    return f"{_launchd_domain()}/{agent.label}"


def _run_launchctl(run: Runner, *words: str) -> Completed:
    try:
        return run([_LAUNCHCTL, *words], b"", _SECONDS)
    except OSError as error:
        raise SetupError(f"{_LAUNCHCTL} cannot be started: {error.strerror}.") from error
