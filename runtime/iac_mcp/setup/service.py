"""The server as a launchd agent of this user: started at log-in, and again where it failed.

An agent, not a daemon: Apple events need the session of a person who is logged in. The server's
own log begins anew at 10 MB: newsyslog, which could do that, wants a file of root's. What launchd
writes itself are the lines of a start that fails. Source: man launchd.plist, man launchctl.
"""

import os
import plistlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from iac_base.errors import SetupError
from iac_base.files import write_whole
from iac_mcp.setup.interpreter import PythonInterpreter, launch_arguments, server_environment
from iac_runtime.execution.process import Completed, Runner
from iac_runtime.execution.workers import run_process

LABEL: Final = "iac-for-mac.server"
_LAUNCHCTL: Final = "/bin/launchctl"
_SECONDS: Final = 20.0


def agent_plist(
    python: PythonInterpreter, options: Sequence[str], environ: Mapping[str, str]
) -> bytes:
    """Return the plist of the agent; `options` are those of `iac-mcp serve` besides --http."""
    logs = Path.home() / "Library" / "Logs" / "iac"
    own = () if "--log-file" in options else ("--log-file", str(logs / "server.log"))
    variables = server_environment(python, environ)
    keys: dict[str, Any] = {
        "Label": LABEL,
        "ProgramArguments": [python.path, *launch_arguments(("--http", *own, *options))],
        "RunAtLoad": True,
        # An end that was asked for is none to be put right.
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 30,
        # People wait for its answers.
        "ProcessType": "Interactive",
        "LimitLoadToSessionType": "Aqua",
        "StandardOutPath": str(logs / "start.log"),
        "StandardErrorPath": str(logs / "start.log"),
        "WorkingDirectory": "/",
        "Umask": 0o077,
        # Each client's connections are files; launchd gives 256.
        "SoftResourceLimits": {"NumberOfFiles": 8192},
    }
    if variables:
        keys["EnvironmentVariables"] = variables
    return plistlib.dumps(keys)


def install_agent(plist: bytes, run: Runner = run_process, system: str = sys.platform) -> Path:
    """Write the agent's file and start the agent; one that runs is started anew. Return the file.

    Raises:
        SetupError: This is no Mac, the file cannot be written, or launchd refuses it.
    """
    _require_mac(system)
    path = agent_path()
    try:
        (Path.home() / "Library" / "Logs" / "iac").mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, plist, mode=0o644)
    except OSError as error:
        raise SetupError(f"{path} cannot be written: {error.strerror}.") from error
    _run_launchctl(run, "bootout", _launchd_target())
    done = _run_launchctl(run, "bootstrap", _launchd_domain(), str(path))
    if done.status:
        reason = done.stderr.decode(errors="replace").strip()
        raise SetupError(f"launchd did not start the service: {reason or f'status {done.status}'}.")
    return path


def uninstall_agent(run: Runner = run_process, system: str = sys.platform) -> bool:
    """End the agent and remove its file; False if there is none. Raises as `install`."""
    _require_mac(system)
    _run_launchctl(run, "bootout", _launchd_target())
    try:
        agent_path().unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise SetupError(f"{agent_path()} cannot be removed: {error.strerror}.") from error
    return True


def agent_status(run: Runner = run_process, system: str = sys.platform) -> str:
    """Return how the agent stands, one line. Raises SetupError where this is no Mac."""
    _require_mac(system)
    if not agent_path().exists():
        return "The service is not installed; install it with: iac-mcp service install"
    done = _run_launchctl(run, "print", _launchd_target())
    if done.status:
        return "The service is installed but not loaded; load it with: iac-mcp service install"
    lines = done.stdout.decode(errors="replace").splitlines()
    rows = (line.strip().partition(" = ") for line in lines)
    facts = {key: value for key, _, value in rows if value}
    if "pid" in facts:
        return f"The service is running, pid {facts['pid']}."
    ended = facts.get("last exit code", "unknown")
    return f"The service is loaded but not running; it ended with {ended}."


def agent_path() -> Path:
    """Return where the agent's file is."""
    return Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"


def _require_mac(system: str) -> None:
    if system != "darwin":
        raise SetupError(
            "A service needs a Mac (launchd). Here, start the server with: iac-mcp serve --http"
            " (iac-mcp service install --print shows the agent's file)."
        )


def _launchd_domain() -> str:
    return f"gui/{os.getuid()}"


def _launchd_target() -> str:
    return f"{_launchd_domain()}/{LABEL}"


def _run_launchctl(run: Runner, *words: str) -> Completed:
    try:
        return run([_LAUNCHCTL, *words], b"", _SECONDS)
    except OSError as error:
        raise SetupError(f"{_LAUNCHCTL} cannot be started: {error.strerror}.") from error
