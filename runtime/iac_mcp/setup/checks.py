"""`doctor`: every check in order; none of them changes anything or starts an app."""

import os
import platform
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from importlib import metadata
from typing import Final

from iac_applescript.library import own_scripts
from iac_base.errors import SetupError, near_text, quote_text
from iac_base.files import open_state
from iac_base.text import escape_hidden
from iac_mcp.setup.client_checks import check_clients
from iac_mcp.setup.findings import (
    DoctorContext,
    DoctorFinding,
    data_home,
    ok,
    problem,
    server_processes,
    warning,
)
from iac_mcp.setup.interpreter import (
    find_better_python,
    framework_program,
    judge_signature,
    read_signature,
)
from iac_runtime.execution.mac import AppState, responsible_name
from iac_runtime.policy.approvals import MAX_UNAPPROVED, paused_clients, unapproved_counts, unshown
from iac_runtime.policy.policy_file import load_policy, policy_path, unknown_words
from iac_runtime.policy.settings import PolicyFlags, read_settings
from iac_runtime.serve.status import running_servers as told
from iac_runtime.tool import LEVELS
from iac_runtime.tools.catalogue import AppRow, Catalogue
from iac_runtime.tools.folders import tool_folders
from iac_runtime.tools.freshness import check_freshness as find_stale_tools
from iac_runtime.tools.own import added_tools
from iac_runtime.version import VERSION

_SDK: Final = ("mcp>=2.3,<3", (2, 3))
"""The MCP SDK that the server was made for: as pip takes it, and the oldest."""

_AT_ONCE: Final = 4
_SECONDS: Final = 10.0
"""How many apps are asked at a time, and how long one may take."""

_PRIVACY: Final = "System Settings > Privacy & Security >"
_SERVICES: Final = "/System/Library/Frameworks/ApplicationServices.framework/ApplicationServices"


def check_python(around: DoctorContext) -> Iterator[DoctorFinding]:
    """Look at the Python that runs this, and whether macOS will let it control apps."""
    said = f"{platform.python_version()} at {sys.executable}"
    if not around.is_mac:
        yield ok(said)
        return
    program = framework_program(sys.base_prefix, os.path.realpath(sys.executable))
    verdict, words = judge_signature(read_signature(program, around.run, around.system))
    mend = ""
    if verdict == "problem":
        other = find_better_python(around.run, around.system) or "a Python of python.org"
        mend = f"Create an environment with {other}, install IAC in it, then iac-mcp install again."
    yield DoctorFinding(verdict, f"{said}. {words}", mend)


def check_sdk(_around: DoctorContext) -> Iterator[DoctorFinding]:
    """Look at the version of the MCP SDK."""
    wanted, oldest = _SDK
    mend = f"{sys.executable} -m pip install '{wanted}'"
    try:
        version = metadata.version("mcp")
    except metadata.PackageNotFoundError:
        yield problem("The MCP SDK is not installed.", mend)
        return
    parts = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if parts[:1] == oldest[:1] and parts >= oldest:
        yield ok(f"mcp {version}")
    else:
        says = f"mcp {version} does not fit this server, which needs 2.3 or newer, below 3."
        yield problem(says, mend)


def check_tools(around: DoctorContext) -> Iterator[DoctorFinding]:
    """Look whether there are tools, and whether every folder of them can be read."""
    try:
        catalogue = Catalogue(tool_folders(around.tools))
    except SetupError as error:
        yield problem(str(error), "iac-gen build")
        return
    levels = [row.level for row in catalogue.tools.values()]
    split = ", ".join(f"{levels.count(level)} {level}" for level in LEVELS)
    yield ok(f"{len(levels)} tools of {len(catalogue.apps)} apps: {split}")


def check_freshness(around: DoctorContext) -> Iterator[DoctorFinding]:
    """Look for apps that were installed or updated since their tools were built."""
    try:
        catalogue = Catalogue(tool_folders(around.tools))
    except SetupError:
        return  # `tools` has said so.
    found = find_stale_tools(catalogue.tool_folders, around.folders)
    for app in found.stale:
        yield warning(app.line.partition(";")[0] + ".", app.build_command)
    if not found.fresh and not found.without and not found.stale:
        yield ok("No installed app to compare the tools with")
    elif not found.stale:
        more = f"; scriptable apps without tools: {found.without}" if found.without else ""
        yield ok(f"Installed apps with matching tools: {found.fresh}{more}")


def check_state_folder(_around: DoctorContext) -> Iterator[DoctorFinding]:
    """Look whether the state folder is safe and can be written."""
    try:
        folder = open_state()
    except SetupError as error:
        yield problem(str(error), _fix_from(error))
        return
    if os.access(folder, os.W_OK | os.X_OK):
        yield ok(str(folder))
    else:
        yield problem(f"{folder} cannot be written.", f"chmod 700 '{folder}'")


def check_policy(around: DoctorContext) -> Iterator[DoctorFinding]:
    """Look whether the policy and the settings are right."""
    path = policy_path()
    try:
        found = load_policy()
        settings = read_settings(PolicyFlags(), around.environ, found)
    except SetupError as error:
        yield problem(str(error), "iac-mcp policy edit")
        return
    where = str(path) if path.exists() else "no file, so the defaults apply"
    reads = ", read-only" if settings.read_only.value else ""
    yield ok(f"preset {settings.preset.value}{reads} ({where})")
    with suppress(SetupError):  # `tools` has said so.
        catalogue = Catalogue(tool_folders(around.tools))
        for line in unknown_words(found, catalogue, added_tools()):
            yield warning(line, "iac-mcp policy edit")


def check_approval_prompts(_around: DoctorContext) -> Iterator[DoctorFinding]:
    """Look whether every client can show approval prompts."""
    try:
        found, without = paused_clients(open_state()), unapproved_counts(open_state())
        quick = unshown(open_state())
    except SetupError as error:
        yield problem(str(error), _fix_from(error))
        return
    for row in found:
        yield warning(row.description, row.lift)
    for client, times in without.items():
        who = escape_hidden(client) or "a program without a name"
        yield ok(f"{who} got no approval for {times} prompts; after {MAX_UNAPPROVED} it is paused")
    for one in quick:
        yield warning(one.says, "Look in the client's settings for a way to show MCP prompts.")
    if not found and not without and not quick:
        yield ok("every client can show approval prompts")


def _fix_from(error: SetupError) -> str:
    """Return the command that an error ends with, else its own words."""
    return str(error).rpartition(": ")[2] if ": " in str(error) else "See the line above."


def check_scripts(_around: DoctorContext) -> Iterator[DoctorFinding]:
    """Look whether the user's own scripts can be read."""
    found, faults = own_scripts()
    for says in faults:
        yield warning(says, "Correct it; docs/applescript.md describes the format.")
    if not faults:
        yield ok(f"own scripts: {len(found)}")


def check_search(_around: DoctorContext) -> Iterator[DoctorFinding]:
    """Look whether SQLite has the full-text search that finding tools and the audit stand on."""
    version = f"SQLite {sqlite3.sqlite_version}"
    with closing(sqlite3.connect(":memory:")) as base:
        try:
            base.execute("CREATE VIRTUAL TABLE words USING fts5(word, tokenize='trigram')")
        except sqlite3.Error:
            mend = "Use a Python whose SQLite is 3.34 or newer and has FTS5: python.org's has."
            yield problem(f"{version} has no full-text search (FTS5 with trigrams).", mend)
            return
    yield ok(f"{version} with full-text search")


def check_osascript(around: DoctorContext) -> Iterator[DoctorFinding]:
    """Look whether there is an osascript to run."""
    found = around.examiner.installed_versions()
    if found.osascript:
        where = f" on macOS {found.macos}" if found.macos else ""
        yield ok(f"{found.osascript}{where}")
    elif around.is_mac:
        yield problem(
            "osascript is not in any folder of PATH.",
            "Unset IAC_OSASCRIPT, or put /usr/bin on the PATH.",
        )
    else:
        yield warning(
            "This is not a Mac, so apps cannot be checked.",
            "Try it with simulated apps: iac-mcp serve --simulate",
        )


def check_automation(around: DoctorContext) -> Iterator[DoctorFinding]:
    """Ask macOS, for each app with tools, whether this process may control that very app.

    No app is started and nobody is asked. macOS answers for running apps only, and for the program
    that it holds responsible for this one: the terminal here, in a client another.
    """
    if not around.examiner.installed_versions().osascript:
        return  # `osascript` has said so.
    try:
        apps = _wanted_apps(Catalogue(tool_folders(around.tools)), around.apps)
    except SetupError as error:
        yield problem(str(error), "iac-mcp tools")
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        states = list(pool.map(lambda app: around.examiner.test_app(app.id, _SECONDS), apps))
    resting: list[str] = []
    absent: list[str] = []
    for app, state in zip(apps, states, strict=True):
        if state.installed == "no":
            absent.append(app.name)
        elif state.running == "no" and state.permitted == "unknown":
            resting.append(app.name)
        else:
            yield _judge_app(app, state)
    if resting:
        names = ", ".join(resting)
        yield ok(f"Not running, so the permission is unknown: {names}")
    if absent:
        yield ok(f"Not installed: {', '.join(absent)}")


def _wanted_apps(catalogue: Catalogue, names: tuple[str, ...]) -> list[AppRow]:
    if not names:
        return [app for app in catalogue.apps.values() if app.kind == "application"]
    found: list[AppRow] = []
    for name in names:
        app = catalogue.find_app(name)
        if app is None:
            near = near_text(name, sorted(catalogue.apps))
            raise SetupError(f"There are no tools for {quote_text(name)}. {near}".strip())
        found.append(app)
    return found


def _judge_app(app: AppRow, state: AppState) -> DoctorFinding:
    if state.permitted == "no":
        mend = f"{_PRIVACY} Automation: switch on {app.name} under {responsible_name()}"
        return problem(f"macOS does not allow control of {app.name}.", mend)
    if state.scriptable == "no":
        says = f"The dictionary of {app.name} could not be loaded."
        return problem(says, f"Open {app.name} once yourself.")
    if state.permitted == "yes":
        return ok(f"{app.name} can be controlled")
    if state.permitted == "would ask":
        says = f"{app.name}: macOS asks for permission at the first call"
        return ok(says)
    if state.reason:
        return warning(f"{app.name}: {state.reason}", "iac-mcp doctor")
    return ok(f"{app.name} answers; the permission is unknown")


def check_accessibility(around: DoctorContext) -> Iterator[DoctorFinding]:
    """Look whether this process may use the accessibility interface, as windows and keys need."""
    if not around.is_mac:
        return
    found = is_accessibility_trusted(around.system)
    if found:
        yield ok("Tools can reach the windows and buttons of other apps")
    elif found is None:
        yield warning("macOS did not answer.", "iac-mcp doctor")
    else:
        yield warning(
            "Tools cannot reach the windows and buttons of other apps; the apps' own tools work.",
            f"{_PRIVACY} Accessibility: switch on {responsible_name()}",
        )


def is_accessibility_trusted(system: str = sys.platform) -> bool | None:
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


def check_servers(_around: DoctorContext) -> Iterator[DoctorFinding]:
    """Look for servers whose client is gone, of an older version, or many of one client."""
    every = server_processes()
    here = data_home(os.environ)
    running = [server for server in every if server.home in ("", here)]
    for server in running:
        if server.orphan:
            says = (
                f"Server {server.pid} is still running, but the program that started it has ended."
            )
            yield warning(says, f"kill {server.pid}")
    try:
        older = [row for row in told() if row.version != VERSION]
    except SetupError:
        older = []  # `state` has said so.
    for row in older:
        says = f"Server {row.pid} has version {row.version}; this is {VERSION}."
        yield warning(says, "Start its client again.")
    counts = Counter(server.parent for server in running if not server.orphan)
    for parent, count in counts.items():
        if count > 1:
            says = f"{parent} started {count} servers; they take turns with each app."
            yield ok(says)
    if not older and not any(server.orphan for server in running):
        away = len(every) - len(running)
        yield ok(f"{len(running)} running" + (f"; {away} of other homes" if away else ""))


CHECKS: Final[Mapping[str, Callable[[DoctorContext], Iterable[DoctorFinding]]]] = {
    "python": check_python,
    "sdk": check_sdk,
    "tools": check_tools,
    "fresh": check_freshness,
    "state": check_state_folder,
    "policy": check_policy,
    "questions": check_approval_prompts,
    "scripts": check_scripts,
    "search": check_search,
    "osascript": check_osascript,
    "automation": check_automation,
    "accessibility": check_accessibility,
    "clients": check_clients,
    "servers": check_servers,
}


def run_checks(around: DoctorContext) -> Iterator[DoctorFinding]:
    """Yield what every check finds, as soon as it does.

    A check that fails for a reason of its own is a problem of its line, not of the others.
    """
    for name, look in CHECKS.items():
        try:
            for finding in look(around):
                yield finding._replace(check=name)
        except Exception as error:
            says = f"This check failed: {type(error).__name__}: {error}"
            yield problem(says, "Report this line.")._replace(check=name)
