"""`doctor`: every check in order; none of them changes anything or starts an app."""

import os
import platform
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from iac_applescript.library import own_scripts
from iac_base.errors import SetupError, near_text, quote_text
from iac_base.files import open_state
from iac_base.text import escape_hidden
from iac_mcp.setup.clients import (
    CLIENTS,
    bundle_versions,
    client_file,
    installed_entry,
    is_former,
    is_ours,
    is_serve_command,
    server_entries,
)
from iac_mcp.setup.interpreter import (
    examine_python,
    find_better_python,
    framework_program,
    judge_signature,
    read_signature,
)
from iac_runtime.execution.mac import AppState, responsible_name
from iac_runtime.execution.process import Runner
from iac_runtime.execution.workers import run_process
from iac_runtime.policy.approvals import (
    MAX_UNAPPROVED,
    describe_unshown,
    paused_clients,
    unapproved_counts,
    unshown,
)
from iac_runtime.policy.policy_file import load_policy, policy_path, unknown_words
from iac_runtime.policy.settings import PolicyFlags, read_settings
from iac_runtime.serve.status import running_servers
from iac_runtime.tool import LEVELS
from iac_runtime.tools.app_names import FOLDERS
from iac_runtime.tools.catalogue import AppRow, Catalogue, tool_folders
from iac_runtime.tools.freshness import check_freshness as find_stale_tools
from iac_runtime.tools.own import added_tools
from iac_runtime.version import VERSION

if TYPE_CHECKING:
    from iac_runtime.execution.executor import Executor

State = Literal["ok", "warning", "problem"]

_FOSTER: Final = frozenset({"init", "launchd", "systemd"})
"""Who takes over a process whose parent is gone."""


class DoctorFinding(NamedTuple):
    """One line of `doctor`.

    Attributes:
        says: What was found, one line.
        mend: The command or the step that mends it; empty for what is right.
        check: Which check found it; `examined` fills it in.
    """

    state: State
    says: str
    mend: str = ""
    check: str = ""

    def facts(self) -> dict[str, Any]:
        """Return it as one JSON object; without `mend` where there is nothing to mend."""
        facts = {"check": self.check, "state": self.state, "says": self.says}
        return {**facts, "mend": self.mend} if self.mend else facts


def ok(says: str) -> DoctorFinding:
    """Return the finding that something is right."""
    return DoctorFinding("ok", says)


def warning(says: str, mend: str) -> DoctorFinding:
    """Return the finding that something could be better."""
    return DoctorFinding("warning", says, mend)


def problem(says: str, mend: str) -> DoctorFinding:
    """Return the finding that something does not work."""
    return DoctorFinding("problem", says, mend)


@dataclass(frozen=True, slots=True)
class DoctorContext:
    """What is looked at: this machine, unless a test says otherwise.

    Attributes:
        examiner: Answers for osascript and the apps.
        tools: Folders of tools to look in first.
        apps: Only these apps are asked about (keys, names or bundle ids); all, if empty.
        name: The server's name in clients.
        folders: Where apps lie.
        run: Starts the programs that are asked, `codesign` among them.
    """

    examiner: "Executor"
    tools: tuple[Path, ...] = ()
    apps: tuple[str, ...] = ()
    name: str = "iac"
    system: str = sys.platform
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    folders: tuple[str, ...] = FOLDERS
    run: Runner = run_process

    @property
    def is_mac(self) -> bool:
        """Whether apps can be controlled at all."""
        return self.system == "darwin"


class ServerProcess(NamedTuple):
    """A process that serves.

    Attributes:
        orphan: Whether the client which started it is gone.
        home: Where its state lies; servers of one home take turns at each app.
    """

    pid: int
    orphan: bool
    parent: str
    command: tuple[str, ...]
    home: str = ""


def server_processes() -> list[ServerProcess]:
    """Return the running servers of this user, but for this process, by number."""
    import psutil

    servers: list[ServerProcess] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid == os.getpid() or process.uids().real != os.getuid():
                continue
            command = tuple(process.cmdline())
            if is_serve_command(command):
                parent = process.parent()
                name = parent.name() if parent is not None else ""
                orphan = not name or name in _FOSTER
                home = data_home(process.environ())
                servers.append(ServerProcess(process.pid, orphan, name, command, home))
    return sorted(servers)


def data_home(environ: Mapping[str, str]) -> str:
    """Return what says where the state of a process lies."""
    return environ.get("IAC_DATA") or environ.get("HOME", "")


_SHIMS: Final = "shims"
"""The folder of pyenv's and asdf's shims."""


def check_clients(around: DoctorContext) -> Iterator[DoctorFinding]:
    """Look at each client's file: whether the server is in it, and whether it would start."""
    known = 0
    for key in CLIENTS:
        client = CLIENTS[key]
        path = client_file(client, around.environ, around.system)
        try:
            entry = installed_entry(client, path, around.name)
        except SetupError as error:
            yield warning(str(error), f"iac-mcp install {key} --print")
            continue
        ours = [name for name, said in server_entries(client, path).items() if is_ours(said)]
        others = [name for name in ours if name != around.name]
        if entry is None and around.name in server_entries(client, path):
            says = f'{client.name} has another server called "{around.name}".'
            yield warning(says, f"iac-mcp install {key} --name NAME")
        for name in others:
            says = f'{client.name} has this server under the name "{name}" too.'
            yield warning(says, f"iac-mcp uninstall {key} --name {name}")
        if entry is None:
            continue
        known += 1
        state, says = _check_entry(entry)
        mend = "" if state == "ok" else f"iac-mcp install {key}"
        yield DoctorFinding(state, f"{client.name}{says}", mend)
    bundles = bundle_versions(around.environ, around.system)
    yield from _check_bundles(around, bundles)
    if not known and not bundles:
        yield warning("No client has this server.", f"iac-mcp install {'|'.join(CLIENTS)}")


def _check_bundles(around: DoctorContext, bundles: Sequence[str]) -> Iterator[DoctorFinding]:
    for version in bundles:
        if version != VERSION:
            says = f"The bundle in Claude Desktop has version {version}; this is {VERSION}."
            yield warning(says, "iac-mcp bundle, and open it with Claude Desktop")
        else:
            yield ok(f"Claude Desktop has the bundle, version {version}")
    desktop = CLIENTS["claude-desktop"]
    path = client_file(desktop, around.environ, around.system)
    with suppress(SetupError):  # Said before.
        if bundles and installed_entry(desktop, path, around.name) is not None:
            says = "Claude Desktop has this server twice: as a bundle and in its file."
            yield warning(says, "iac-mcp uninstall claude-desktop")


def _check_entry(entry: Mapping[str, Any]) -> tuple[State, str]:
    """Say whether an entry starts this server, and what to say of that after the client's name."""
    command = entry.get("command")
    path = Path(command if isinstance(command, str) else "")
    if not path.is_absolute():
        missing = f': it starts "{path}", which an app cannot find; give the full path.'
        return "problem", missing
    if not path.is_file() or not os.access(path, os.X_OK):
        return "problem", f": {path} does not exist or cannot be started."
    if is_former(entry):
        return "problem", ": it starts the server from the place that an earlier version used."
    if _SHIMS in path.parts:
        return "warning", f": {path} is a shim, which starts slowly and may start another Python."
    if path.name.startswith("python"):
        try:
            examine_python(str(path))
        except SetupError as error:
            return "problem", f": {error}"
    if path.parent.resolve() != Path(sys.executable).parent.resolve():
        return "warning", f": it starts {path}, not the Python of this command."
    return "ok", f" starts {path}"


_SDK: Final = ("mcp>=2.3,<3", (2, 3))
"""The MCP SDK that the server was made for: as pip takes it, and the oldest."""

_AT_ONCE: Final = 4
_SECONDS: Final = 10.0
"""How many apps are asked at a time, and how long one may take."""

_PRIVACY: Final = "System Settings > Privacy & Security >"
_SERVICES: Final = "/System/Library/Frameworks/ApplicationServices.framework/ApplicationServices"


def check_python(around: DoctorContext) -> Iterator[DoctorFinding]:
    """Look at the Python that runs this, and whether macOS will let it control apps."""
    version = f"{platform.python_version()} at {sys.executable}"
    if not around.is_mac:
        yield ok(version)
        return
    program = framework_program(sys.base_prefix, os.path.realpath(sys.executable))
    verdict, words = judge_signature(read_signature(program, around.run, around.system))
    mend = ""
    if verdict == "problem":
        other = find_better_python(around.run, around.system) or "a Python of python.org"
        mend = f"Create an environment with {other}, install IAC in it, then iac-mcp install again."
    yield DoctorFinding(verdict, f"{version}. {words}", mend)


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
    freshness = find_stale_tools(catalogue.tool_folders, around.folders)
    for app in freshness.stale:
        yield warning(app.line.partition(";")[0] + ".", app.build_command)
    if not freshness.fresh and not freshness.without and not freshness.stale:
        yield ok("No installed app to compare the tools with")
    elif not freshness.stale:
        more = f"; scriptable apps without tools: {freshness.without}" if freshness.without else ""
        yield ok(f"Installed apps with matching tools: {freshness.fresh}{more}")


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
        policy = load_policy()
        settings = read_settings(PolicyFlags(), around.environ, policy)
    except SetupError as error:
        yield problem(str(error), "iac-mcp policy edit")
        return
    where = str(path) if path.exists() else "no file, so the defaults apply"
    reads = ", read-only" if settings.read_only.value else ""
    yield ok(f"preset {settings.preset.value}{reads} ({where})")
    with suppress(SetupError):  # `tools` has said so.
        catalogue = Catalogue(tool_folders(around.tools))
        for line in unknown_words(policy, catalogue, added_tools()):
            yield warning(line, "iac-mcp policy edit")


def check_approval_prompts(around: DoctorContext) -> Iterator[DoctorFinding]:
    """Look who shows the approval prompts of each client, and whether they got answers."""
    for known in CLIENTS.values():
        path = client_file(known, around.environ, around.system)
        with suppress(SetupError):  # `clients` has said so.
            if known.asks == "dialog" and installed_entry(known, path, around.name):
                says = f"{known.name} cannot show approval prompts"
                if around.is_mac:
                    yield ok(f"{says}; your Mac shows them in a dialog")
                else:
                    mend = "Use a client that can, or iac-mcp call in a terminal."
                    yield warning(f"{says}, and only a Mac has a dialog for them.", mend)
    try:
        paused, without = paused_clients(open_state()), unapproved_counts(open_state())
        quick = unshown(open_state())
    except SetupError as error:
        yield problem(str(error), _fix_from(error))
        return
    for row in paused:
        yield warning(row.description, row.lift)
    for client, times in without.items():
        who = escape_hidden(client) or "a program without a name"
        yield ok(f"{who} got no approval for {times} prompts; after {MAX_UNAPPROVED} it is paused")
    for one in map(describe_unshown, quick):
        yield warning(one, "Look in the client's settings for a way to show MCP prompts.")
    if not paused and not without and not quick:
        yield ok("every approval prompt was answered")


def _fix_from(error: SetupError) -> str:
    """Return the command that an error ends with, else its own words."""
    return str(error).rpartition(": ")[2] if ": " in str(error) else "See the line above."


def check_scripts(_around: DoctorContext) -> Iterator[DoctorFinding]:
    """Look whether the user's own scripts can be read."""
    scripts, faults = own_scripts()
    for says in faults:
        yield warning(says, "Correct it; docs/applescript.md describes the format.")
    if not faults:
        yield ok(f"own scripts: {len(scripts)}")


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
    versions = around.examiner.installed_versions()
    if versions.osascript:
        where = f" on macOS {versions.macos}" if versions.macos else ""
        yield ok(f"{versions.osascript}{where}")
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
    if around.is_mac:
        yield _judge_owner(responsible_name())


def _judge_owner(program: str) -> DoctorFinding:
    """Say whose the permissions are; those of a Python end with its updates."""
    if program.casefold().startswith(("python", "uv")):
        return warning(
            f"macOS asks for permission in the name of {program}: all its scripts share it, and an"
            " update may end it.",
            "sh distribution/helper/build.sh makes IAC.app, which keeps it (docs/mac.md)",
        )
    return ok(f"macOS asks for permission in the name of {program}")


def _wanted_apps(catalogue: Catalogue, names: tuple[str, ...]) -> list[AppRow]:
    if not names:
        return [app for app in catalogue.apps.values() if app.kind == "application"]
    rows: list[AppRow] = []
    for name in names:
        app = catalogue.named_app(name)
        if app is None:
            near = near_text(name, sorted(catalogue.apps))
            raise SetupError(f"There are no tools for {quote_text(name)}. {near}".strip())
        rows.append(app)
    return rows


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
    trusted = is_accessibility_trusted(around.system)
    if trusted:
        yield ok("Tools can reach the windows and buttons of other apps")
    elif trusted is None:
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
        older = [row for row in running_servers() if row.version != VERSION]
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
