"""Which process macOS asks about when this one controls an app: the responsible process.

A permission belongs to the process that is responsible for the one that sends the event: the app
from which the whole tree was started. macOS knows it; the call that says so is private
(`responsibility_get_pid_responsible_for_pid`, libSystem), so where it is missing the process tree
is read instead. A child of Claude Desktop's helper `disclaimer` is responsible for itself. That
both give the name which System Settings shows, only a Mac can confirm.
"""

import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import psutil

__all__ = ["Process", "parents_of", "resolve", "responsible_name", "responsible_of", "shown_name"]

_SOMEONE: Final = "the program that started this one"
_DISCLAIMER: Final = "disclaimer"
_LAUNCHD: Final = 1


class Process(NamedTuple):
    """A process: its number, its name, and the path of its program (empty where not readable)."""

    pid: int
    name: str
    path: str


def responsible_of(chain: Sequence[Process]) -> Process | None:
    """Return the responsible process of `chain[0]`; None for an empty chain.

    Args:
        chain: A process, its parent, the parent's parent, and so on.

    Responsibility is inherited from parent to child, so it is the outermost app that counts, not
    the nearest: an editor, not the `Python.app` that a framework's interpreter runs in. Without
    an app above (a launch agent, SSH) the process answers for itself.
    """
    heirs: list[Process] = []
    for process in chain:
        if process.pid == _LAUNCHD:
            break
        if PurePosixPath(process.path).name == _DISCLAIMER or process.name == _DISCLAIMER:
            return heirs[-1] if heirs else process
        heirs.append(process)
    apps = [process for process in heirs if _bundle(process.path)]
    if apps:
        return apps[-1]
    return heirs[0] if heirs else None


def shown_name(process: Process) -> str:
    """Return the name under which System Settings lists a process: its app's, else its file's."""
    bundle = _bundle(process.path)
    return bundle or PurePosixPath(process.path).name or process.name


@cache
def responsible_name() -> str:
    """Return who must be allowed, as macOS will show it; off the Mac, words that say who."""
    return resolve(os.getpid(), _asked, parents_of) if sys.platform == "darwin" else _SOMEONE


def resolve(
    pid: int,
    ask: Callable[[int], int | None],
    parents: Callable[[int], Sequence[Process]],
) -> str:
    """Return the shown name of who is responsible for `pid`.

    Args:
        ask: What macOS says: the process responsible for one, or None.
        parents: A process and those above it, nearest first; empty where they cannot be read.
    """
    asked = ask(pid)
    if asked is not None:
        found = next(iter(parents(asked)), None)
    else:
        found = responsible_of(parents(pid))
    return (shown_name(found) if found is not None else "") or _SOMEONE


def _bundle(path: str) -> str:
    """Return the name of the outermost app that `path` lies in; empty for none."""
    for part in PurePosixPath(path).parts:
        if part.endswith(".app") and part != ".app":
            return part.removesuffix(".app")
    return ""


def _asked(pid: int) -> int | None:
    import ctypes

    try:
        ask = ctypes.CDLL(None).responsibility_get_pid_responsible_for_pid
    except (AttributeError, OSError):
        return None
    ask.argtypes, ask.restype = [ctypes.c_int], ctypes.c_int
    answer = int(ask(pid))
    return answer if answer > 0 else None


def parents_of(pid: int) -> list[Process]:
    """Return a process of this machine and those above it, nearest first; empty if it is gone."""
    import psutil

    try:
        process = psutil.Process(pid)
        rows = [process, *process.parents()]
    except psutil.Error:
        return []
    return [_row(row) for row in rows]


def _row(process: "psutil.Process") -> Process:
    import psutil

    try:
        with process.oneshot():
            return Process(process.pid, process.name(), process.exe())
    except psutil.Error:
        # The program of another user's process (login, sshd) cannot be read.
        return Process(process.pid, "", "")
