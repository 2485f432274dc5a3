"""Which Python a client is to start, and whether macOS will let it control apps.

A program with the hardened runtime but without the entitlement for Apple events is refused without
a question (-1743); one with no signature, or one made on this machine (ad hoc), is asked about,
but the answer is bound to that very file and lost with the next update. Sources: Apple, "Apple
Events Entitlement"; man codesign. That the answers below read right, only a Mac can confirm.
"""

import json
import os
import plistlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from iac_base.errors import SetupError, pip_install
from iac_mcp.setup.clients import Launch
from iac_runtime.execution.process import Completed, Runner
from iac_runtime.execution.workers import run_process
from iac_runtime.version import VERSION

_OLDEST: Final = (3, 11)
_SECONDS: Final = 20.0
_BUILD_SECONDS: Final = 900.0

_CODESIGN: Final = "/usr/bin/codesign"
_ENTITLEMENT: Final = "com.apple.security.automation.apple-events"

_KNOWN: Final = (
    "Library/Frameworks/Python.framework/Versions",
    "opt/homebrew/opt",
    "usr/local/opt",
)
"""Where python.org and Homebrew put theirs; searched for a Python that works."""

_MINORS: Final = ("3.14", "3.13", "3.12", "3.11")

# Without the environment's settings and the folder of the call: so a client starts it. It must
# run on any Python, to say that one is too old.
_SCRIPT: Final = """\
import sys
sys.path[:] = [p for p in sys.path if p]
import json, os
try:
    from importlib.util import find_spec
    has = find_spec("iac_mcp") is not None and find_spec("mcp") is not None
except Exception:
    has = False
real = os.path.realpath(sys.executable)
print(json.dumps([sys.executable, list(sys.version_info[:3]), has, sys.base_prefix, real]))
"""


class PythonInterpreter(NamedTuple):
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


def examine_python(path: str = "") -> PythonInterpreter:
    """Return the Python at `path` (this one, if left out), as it says of itself.

    A pyenv or asdf shim is a script that starts another program; that program is what is returned.

    Raises:
        SetupError: It cannot be started, is too old, or has no server in it; one line.
    """
    chosen = path or sys.executable
    answer = _ask_python(chosen, "-E")
    if answer is None:
        raise SetupError(
            f"{chosen} is not a Python that can start; name another one with --python."
        )
    executable, version, has, base, real = answer
    if tuple(version) < _OLDEST:
        spoken = ".".join(str(part) for part in version[:2])
        raise SetupError(f"{chosen} is Python {spoken}; IAC needs 3.11 or newer.")
    env: dict[str, str] = {}
    if not has:
        # A checkout that is run in place is found by PYTHONPATH, so the client has to say it too.
        ways = os.environ.get("PYTHONPATH", "")
        again = _ask_python(chosen) if ways else None
        if again is None or not again[2]:
            raise SetupError(
                f"IAC is not installed in {chosen}; install it with: {chosen} -m {pip_install()}"
            )
        env["PYTHONPATH"] = os.pathsep.join(
            str(Path(way).absolute()) for way in ways.split(os.pathsep) if way
        )
    return PythonInterpreter(executable, tuple(version), env, framework_program(base, real))


def launch_arguments(options: tuple[str, ...]) -> tuple[str, ...]:
    """Return the arguments that start the server.

    -P keeps the folder that a client starts it in off the import path: a project may have a file
    of the name of one of our modules.
    """
    return ("-P", "-m", "iac_mcp", "serve", *options)


def server_environment(python: PythonInterpreter, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what a server needs in its environment: to be found, and the data of this one."""
    data = environ.get("IAC_DATA")
    return {**python.env, **({"IAC_DATA": str(Path(data).absolute())} if data else {})}


def _ask_python(path: str, *flags: str) -> tuple[str, list[int], bool, str, str] | None:
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


class CodeSignature(NamedTuple):
    """What `codesign` says of a program.

    Attributes:
        by: `nobody`, `ad hoc`, or `a developer`; `unknown` where it cannot be asked.
        hardened: Whether the hardened runtime is on.
        events: Whether it is entitled to send Apple events.
    """

    signer: Literal["nobody", "ad hoc", "a developer", "unknown"]
    hardened: bool = False
    can_send_events: bool = False


def read_signature(
    path: str, run: Runner = run_process, system: str = sys.platform
) -> CodeSignature:
    """Return the signature of the program at `path`; `unknown` where this is no Mac."""
    if system != "darwin":
        return CodeSignature("unknown")
    try:
        shown = run([_CODESIGN, "-d", "--verbose=2", path], b"", _SECONDS)
        given = run([_CODESIGN, "-d", "--entitlements", "-", "--xml", path], b"", _SECONDS)
    except OSError:
        return CodeSignature("unknown")
    words = shown.stderr.decode("utf-8", "replace")
    if shown.status != 0:
        unsigned = "not signed" in words
        return CodeSignature("nobody" if unsigned else "unknown")
    flags = next((line for line in words.splitlines() if "flags=" in line), "")
    hardened, events = "runtime" in flags, _is_entitled(given.stdout)
    return CodeSignature("ad hoc" if "adhoc" in flags else "a developer", hardened, events)


def _is_entitled(answer: bytes) -> bool:
    try:
        entitlements = plistlib.loads(answer) if answer.strip() else {}
    except Exception:  # plistlib lets through whatever its parsers raise
        return False
    return isinstance(entitlements, dict) and entitlements.get(_ENTITLEMENT) is True


def judge_signature(found: CodeSignature) -> tuple[Literal["ok", "warning", "problem"], str]:
    """Return what a signature means for controlling apps, and one line that says so."""
    if found.signer == "unknown":
        return "ok", "Its signature was not checked, because this is not a Mac."
    if found.hardened and not found.can_send_events:
        return "problem", (
            "macOS refuses its Apple events without asking: it has the hardened runtime and not"
            " the entitlement for them."
        )
    if found.signer == "a developer":
        return "ok", "It is signed, so your permissions last."
    made = "unsigned" if found.signer == "nobody" else "signed on this machine only"
    return "warning", f"It is {made}: macOS asks you again after each update of it."


def find_better_python(
    run: Runner = run_process, system: str = sys.platform, top: Path = Path("/")
) -> str | None:
    """Return another Python of this Mac that can control apps, None if none is found."""
    for candidate in _candidate_pythons(top):
        real = framework_program(str(candidate.parents[1]), str(candidate.resolve()))
        if judge_signature(read_signature(real, run, system))[0] == "ok":
            return str(candidate)
    return None


def _candidate_pythons(top: Path) -> Iterator[Path]:
    for place, minor in ((place, minor) for place in _KNOWN for minor in _MINORS):
        folder: Sequence[str] = (minor,) if place.endswith("Versions") else (f"python@{minor}",)
        path = top.joinpath(place, *folder, "bin", f"python{minor}")
        if path.is_file():
            yield path


def run_generator(*arguments: str) -> Completed | None:
    """Run `iac-gen` with the Python that runs this; None where the generator is not installed."""
    if find_spec("iac_gen") is None or find_spec("jinja2") is None:
        return None
    return run_process([sys.executable, "-m", "iac_gen", *arguments], b"", _BUILD_SECONDS)


_TRIAL_SECONDS: Final = 60.0
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
    done = run(argv, _client_messages(tool), _TRIAL_SECONDS)
    answers = dict(_parse_answers(done.stdout))
    failed = answers.get("2", {}).get("error")
    if "2" not in answers or failed:
        errors = done.stderr.decode("utf-8", "replace").strip().splitlines()
        why = (
            f"It did not answer in {_TRIAL_SECONDS:.0f} s."
            if done.timed_out
            else "It printed nothing."
        )
        why = str(failed["message"]) if failed else errors[-1] if errors else why
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
    answers = []
    for line in output.splitlines():
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict) and "id" in message:
            answers.append((str(message["id"]), message))
    return answers
