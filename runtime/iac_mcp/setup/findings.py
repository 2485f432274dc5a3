"""What a check finds and what it looks at, the running servers of this user among it."""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from iac_mcp.setup.clients import is_serve_command
from iac_runtime.execution.process import Runner
from iac_runtime.execution.streams import run_process
from iac_runtime.tools.freshness import FOLDERS

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

    found: list[ServerProcess] = []
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
                found.append(ServerProcess(process.pid, orphan, name, command, home))
    return sorted(found)


def data_home(environ: Mapping[str, str]) -> str:
    """Return what says where the state of a process lies."""
    return environ.get("IAC_DATA") or environ.get("HOME", "")
