"""Which Python a client is to start: its real path, and whether the server is in it."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from iac_runtime.errors import SetupError
from iac_runtime.execution.single import run_process

__all__ = ["Interpreter", "examine", "framework_program", "launch_arguments"]

OLDEST: Final = (3, 11)

_SECONDS: Final = 20.0

# Without the environment's settings and the folder of the call: so a client starts it. It must
# run on any Python, to say that one is too old.
_SCRIPT: Final = """\
import sys
sys.path[:] = [p for p in sys.path if p]
import json, os
try:
    from importlib.util import find_spec
    has = find_spec("iac_runtime") is not None and find_spec("mcp") is not None
except Exception:
    has = False
real = os.path.realpath(sys.executable)
print(json.dumps([sys.executable, list(sys.version_info[:3]), has, sys.base_prefix, real]))
"""


class Interpreter(NamedTuple):
    """A Python.

    Attributes:
        path: Its own absolute path: that of an environment, not of a shim.
        version: As in (3, 12, 4).
        env: What the server needs in its environment to be found there.
        real: The program file behind `path`, the one that macOS knows.
    """

    path: str
    version: tuple[int, ...]
    env: Mapping[str, str]
    real: str


def examine(path: str = "", environ: Mapping[str, str] | None = None) -> Interpreter:
    """Return the Python at `path` (this one, if left out), as it says of itself.

    A pyenv or asdf shim is a script that starts another program; that program is what is returned.

    Raises:
        SetupError: It cannot be started, is too old, or has no server in it; one line.
    """
    chosen = path or sys.executable
    found = _ask(chosen, "-E")
    if found is None:
        raise SetupError(f"{chosen} is no Python that can be started; give another with --python.")
    executable, version, has, base, real = found
    if tuple(version) < OLDEST:
        spoken = ".".join(str(part) for part in version[:2])
        raise SetupError(f"{chosen} is Python {spoken}; IAC needs 3.11 or newer.")
    env: dict[str, str] = {}
    if not has:
        # A checkout that is run in place is found by PYTHONPATH, so the client has to say it too.
        ways = (os.environ if environ is None else environ).get("PYTHONPATH", "")
        again = _ask(chosen) if ways else None
        if again is None or not again[2]:
            raise SetupError(
                f"IAC is not installed in {chosen}; do it with: {chosen} -m pip install iac"
            )
        env["PYTHONPATH"] = os.pathsep.join(
            str(Path(way).absolute()) for way in ways.split(os.pathsep) if way
        )
    return Interpreter(executable, tuple(version), env, framework_program(base, real))


def launch_arguments(options: tuple[str, ...]) -> tuple[str, ...]:
    """Return the arguments that start the server.

    -P keeps the folder that a client starts it in off the import path: a project may have a file
    of the name of one of our modules.
    """
    return ("-P", "-m", "iac_runtime", "serve", *options)


def _ask(path: str, *flags: str) -> tuple[str, list[int], bool, str, str] | None:
    try:
        done = run_process([path, *flags, "-c", _SCRIPT], b"", _SECONDS)
    except OSError:
        return None
    try:
        executable, version, has, base, real = json.loads(done.stdout)
        return str(executable), [int(part) for part in version], bool(has), str(base), str(real)
    except (ValueError, TypeError):
        return None


def framework_program(base: str, real: str) -> str:
    """Return the program that runs: a framework build starts the one in its Python.app."""
    app = Path(base, "Resources", "Python.app", "Contents", "MacOS", "Python")
    return str(app) if app.is_file() else real
