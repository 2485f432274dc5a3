"""`doctor`: every check in order; none of them changes anything or starts an app."""

import os
import platform
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Final

from iac_base.errors import SetupError, near_text, quoted
from iac_base.files import open_state
from iac_mcp.setup import checks as checks_around
from iac_mcp.setup import checks as checks_here
from iac_mcp.setup import checks as checks_mac
from iac_mcp.setup.clients import CLIENTS, MERGED, installed_entry, place
from iac_mcp.setup.findings import Check, Finding, Place, State, server_processes
from iac_mcp.setup.interpreter import better, examine, framework_program, judged, signature
from iac_runtime.execution.mac import AppState, responsible_name
from iac_runtime.policy.file import load_policy, policy_path
from iac_runtime.policy.settings import Flags, read_settings
from iac_runtime.serve.status import servers as told
from iac_runtime.tools.catalogue import AppRow, Catalogue
from iac_runtime.tools.folders import tool_folders
from iac_runtime.tools.freshness import freshness
from iac_runtime.version import VERSION

__all__ = [
    "CHECKS",
    "accessibility",
    "automation",
    "clients",
    "examined",
    "fresh",
    "osascript",
    "policy",
    "python",
    "sdk",
    "servers",
    "state",
    "tools",
    "trusted",
]

_SHIMS: Final = ("shims",)
"""The folders of pyenv's and asdf's shims."""


def clients(around: Place) -> Iterator[Finding]:
    """Look at each client's file: whether the server is in it, and whether it would start."""
    known = 0
    for key in MERGED:
        client = CLIENTS[key]
        path = place(client, around.environ, around.system)
        try:
            entry = installed_entry(client, path, around.name)
        except SetupError as error:
            yield Finding("clients", "warning", str(error), f"iac-mcp install {key} --print")
            continue
        if entry is None:
            continue
        known += 1
        command = entry.get("command")
        fault = _fault(command if isinstance(command, str) else "")
        if fault:
            yield Finding(
                "clients", fault[0], f"{client.name}: {fault[1]}", f"iac-mcp install {key}"
            )
        else:
            yield Finding("clients", "ok", f"{client.name} starts {command}")
    if not known:
        yield Finding(
            "clients",
            "warning",
            "No client knows this server.",
            f"iac-mcp install {'|'.join(MERGED)}",
        )


def _fault(command: str) -> tuple[State, str] | None:
    path = Path(command)
    if not path.is_absolute():
        return "problem", f'it starts "{command}", which an app does not find; a path is needed.'
    if not path.is_file() or not os.access(path, os.X_OK):
        return "problem", f"{command} is not there or cannot be started."
    if any(part in _SHIMS for part in path.parts):
        return "warning", f"{command} is a shim, which starts slowly and may start another Python."
    if path.name.startswith("python"):
        try:
            examine(command)
        except SetupError as error:
            return "problem", str(error)
    if path.parent.resolve() != Path(sys.executable).parent.resolve():
        return "warning", f"it starts {command}, not the Python of this command."
    return None


def servers(_around: Place) -> Iterator[Finding]:
    """Look for servers whose client is gone, of an older version, or many of one client."""
    running = server_processes()
    for server in running:
        if server.orphan:
            says = f"Server {server.pid} runs on although what started it is gone."
            yield Finding("servers", "warning", says, f"kill {server.pid}")
    try:
        older = [row for row in told() if row.version != VERSION]
    except SetupError:
        older = []  # `state` has said so.
    for row in older:
        says = f"Server {row.pid} is of version {row.version}; this is {VERSION}."
        yield Finding("servers", "warning", says, "Start its client again.")
    counts = Counter(server.parent for server in running if not server.orphan)
    for parent, count in counts.items():
        if count > 1:
            says = f"{parent} started {count} servers; they take turns at each app."
            yield Finding("servers", "ok", says)
    if not older and not any(server.orphan for server in running):
        yield Finding("servers", "ok", f"{len(running)} running")


_SDK: Final = (2, 3)


def python(place: Place) -> Iterator[Finding]:
    """Look at the Python that runs this, and whether macOS will let it control apps."""
    said = f"{platform.python_version()} at {sys.executable}"
    if not place.is_mac:
        yield Finding("python", "ok", said)
        return
    program = framework_program(sys.base_prefix, os.path.realpath(sys.executable))
    verdict, words = judged(signature(program, place.run, place.system))
    mend = ""
    if verdict == "problem":
        other = better(place.run, place.system) or "a Python of python.org"
        mend = f"Make an environment with {other}, install IAC in it, then iac-mcp install again."
    yield Finding("python", verdict, f"{said}. {words}", mend)


def sdk(_place: Place) -> Iterator[Finding]:
    """Look at the version of the MCP SDK."""
    try:
        version = metadata.version("mcp")
    except metadata.PackageNotFoundError:
        yield Finding("sdk", "problem", "The MCP SDK is not installed.", _pip("mcp>=2.3,<3"))
        return
    parts = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if parts[:1] == _SDK[:1] and parts >= _SDK:
        yield Finding("sdk", "ok", f"mcp {version}")
    else:
        says = f"mcp {version} is not one that this server was made for (2.3 or newer, below 3)."
        yield Finding("sdk", "problem", says, _pip("mcp>=2.3,<3"))


def _pip(what: str) -> str:
    return f"{sys.executable} -m pip install '{what}'"


def tools(place: Place) -> Iterator[Finding]:
    """Look whether there are tools, and whether every folder of them can be read."""
    try:
        catalogue = Catalogue(tool_folders(place.tools))
    except SetupError as error:
        yield Finding("tools", "problem", str(error), "iac-gen build")
        return
    levels = [row.level for row in catalogue.tools.values()]
    split = ", ".join(f"{levels.count(level)} {level}" for level in ("SAFE", "MODIFY", "DANGEROUS"))
    yield Finding("tools", "ok", f"{len(levels)} tools of {len(catalogue.apps)} apps: {split}")


def fresh(place: Place) -> Iterator[Finding]:
    """Look for apps that were installed or updated since their tools were built."""
    try:
        catalogue = Catalogue(tool_folders(place.tools))
    except SetupError:
        return  # `tools` has said so.
    found = freshness(catalogue.tool_folders, place.folders)
    for app in found.stale:
        yield Finding("fresh", "warning", app.line.partition(";")[0] + ".", app.command)
    if not found.fresh and not found.without and not found.stale:
        yield Finding("fresh", "ok", "No installed app to compare the tools with")
    elif not found.stale:
        more = f"; scriptable apps without tools: {found.without}" if found.without else ""
        yield Finding("fresh", "ok", f"Installed apps whose tools fit: {found.fresh}{more}")


def state(_place: Place) -> Iterator[Finding]:
    """Look whether the state folder is safe and can be written."""
    try:
        folder = open_state()
    except SetupError as error:
        yield Finding("state", "problem", str(error), _mend_of(error))
        return
    if os.access(folder, os.W_OK | os.X_OK):
        yield Finding("state", "ok", str(folder))
    else:
        yield Finding("state", "problem", f"{folder} cannot be written.", f"chmod 700 '{folder}'")


def policy(place: Place) -> Iterator[Finding]:
    """Look whether the policy and the settings are right."""
    path = policy_path()
    try:
        found = load_policy()
        settings = read_settings(Flags(), place.environ, found)
    except SetupError as error:
        yield Finding("policy", "problem", str(error), "iac-mcp policy edit")
        return
    where = str(path) if path.exists() else "no file, so defaults hold"
    reads = ", read-only" if settings.read_only.value else ""
    yield Finding("policy", "ok", f"preset {settings.preset.value}{reads} ({where})")


def _mend_of(error: SetupError) -> str:
    """Return the command that an error ends with, else its own words."""
    return str(error).rpartition(": ")[2] if ": " in str(error) else "See the line before."


_SIMULATE: Final = "Try it with simulated apps: iac-mcp serve --simulate"
_AT_ONCE: Final = 4
_SECONDS: Final = 10.0
_SERVICES: Final = "/System/Library/Frameworks/ApplicationServices.framework/ApplicationServices"
_AUTOMATION: Final = "System Settings > Privacy & Security > Automation"


def osascript(place: Place) -> Iterator[Finding]:
    """Look whether there is an osascript to run."""
    found = place.examiner.version()
    if found.osascript:
        where = f" on macOS {found.macos}" if found.macos else ""
        yield Finding("osascript", "ok", f"{found.osascript}{where}")
    elif place.is_mac:
        yield Finding(
            "osascript",
            "problem",
            "There is no osascript on the PATH.",
            "Unset IAC_OSASCRIPT, or put /usr/bin on the PATH.",
        )
    else:
        yield Finding("osascript", "warning", "This is not a Mac: no app can be asked.", _SIMULATE)


def automation(place: Place) -> Iterator[Finding]:
    """Ask macOS, for each app with tools, whether this process may control that very app.

    No app is started and nobody is asked. macOS answers for running apps only, and for the program
    that it holds responsible for this one: the terminal here, in a client another.
    """
    if not place.examiner.version().osascript:
        return  # `osascript` has said so.
    try:
        apps = _wanted(Catalogue(tool_folders(place.tools)), place.apps)
    except SetupError as error:
        yield Finding("automation", "problem", str(error), "iac-mcp tools")
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        states = list(pool.map(lambda app: place.examiner.test_app(app.id, _SECONDS), apps))
    resting: list[str] = []
    absent: list[str] = []
    for app, state in zip(apps, states, strict=True):
        if state.installed == "no":
            absent.append(app.name)
        elif state.running == "no" and state.permitted == "unknown":
            resting.append(app.name)
        else:
            yield _judged(app, state)
    if resting:
        names = ", ".join(resting)
        yield Finding("automation", "ok", f"Not running, so macOS cannot say: {names}")
    if absent:
        yield Finding("automation", "ok", f"Not installed here: {', '.join(absent)}")


def _wanted(catalogue: Catalogue, names: tuple[str, ...]) -> list[AppRow]:
    if not names:
        return [app for app in catalogue.apps.values() if app.kind == "application"]
    found: list[AppRow] = []
    for name in names:
        app = catalogue.find_app(name)
        if app is None:
            near = near_text(name, sorted(catalogue.apps))
            raise SetupError(f"There are no tools of {quoted(name)}. {near}".strip())
        found.append(app)
    return found


def _judged(app: AppRow, state: AppState) -> Finding:
    if state.permitted == "no":
        mend = f"{_AUTOMATION}: switch on {app.name} under {responsible_name()}"
        return Finding("automation", "problem", f"macOS does not let {app.name} be asked.", mend)
    if state.scriptable == "no":
        says = f"The dictionary of {app.name} could not be loaded."
        return Finding("automation", "problem", says, f"Open {app.name} once by hand.")
    if state.permitted == "yes":
        return Finding("automation", "ok", f"{app.name} may be asked")
    if state.permitted == "would ask":
        says = f"{app.name}: macOS asks you at the first call"
        return Finding("automation", "ok", says)
    if state.reason:
        return Finding("automation", "warning", f"{app.name}: {state.reason}", "iac-mcp doctor")
    return Finding("automation", "ok", f"{app.name} answers; only macOS knows the permission")


def accessibility(place: Place) -> Iterator[Finding]:
    """Look whether this process may use the accessibility interface, as windows and keys need."""
    if not place.is_mac:
        return
    found = trusted(place.system)
    if found:
        yield Finding("accessibility", "ok", "Windows and buttons of other apps can be reached")
    elif found is None:
        yield Finding("accessibility", "warning", "macOS did not say.", "iac-mcp doctor")
    else:
        yield Finding(
            "accessibility",
            "warning",
            "Windows and buttons of other apps cannot be reached; the apps' own tools can.",
            f"System Settings > Privacy & Security > Accessibility: switch on {responsible_name()}",
        )


def trusted(system: str = sys.platform) -> bool | None:
    """Say whether macOS trusts this process with accessibility; None where it cannot be asked.

    AXIsProcessTrusted (ApplicationServices, AXUIElement.h), which asks nobody. Not confirmed on a
    Mac yet.
    """
    if system != "darwin":
        return None
    import ctypes

    try:
        ask = ctypes.CDLL(_SERVICES).AXIsProcessTrusted
    except (OSError, AttributeError):
        return None
    ask.argtypes, ask.restype = (), ctypes.c_ubyte
    return bool(ask())


CHECKS: Final = (
    Check("python", checks_here.python),
    Check("sdk", checks_here.sdk),
    Check("tools", checks_here.tools),
    Check("fresh", checks_here.fresh),
    Check("state", checks_here.state),
    Check("policy", checks_here.policy),
    Check("osascript", checks_mac.osascript),
    Check("automation", checks_mac.automation),
    Check("accessibility", checks_mac.accessibility),
    Check("clients", checks_around.clients),
    Check("servers", checks_around.servers),
)


def examined(place: Place) -> Iterator[Finding]:
    """Yield what every check finds, as soon as it does.

    A check that fails for a reason of its own is a problem of its line, not of the others.
    """
    for check in CHECKS:
        try:
            yield from check.look(place)
        except Exception as error:
            says = f"This could not be looked at: {type(error).__name__}: {error}"
            yield Finding(check.name, "problem", says, "Report it, with this line.")
