"""The servers of this user that run, as the system sees them: with whoever started them."""

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from iac_runtime.care.clients import serves

if TYPE_CHECKING:
    import psutil

__all__ = ["ServerProcess", "server_processes"]

_FOSTER: Final = frozenset({"init", "launchd", "systemd"})
"""Who takes over a process whose parent is gone."""


class ServerProcess(NamedTuple):
    """A process that serves; `orphan` says that the client which started it is gone."""

    pid: int
    orphan: bool
    parent: str
    command: tuple[str, ...]


def server_processes() -> list[ServerProcess]:
    """Return the running servers of this user, but for this process, by number."""
    import psutil

    found: list[ServerProcess] = []
    for process in psutil.process_iter():
        try:
            row = _row(process)
        except psutil.Error:
            continue
        if row is not None:
            found.append(row)
    return sorted(found)


def _row(process: "psutil.Process") -> ServerProcess | None:
    if process.pid == os.getpid() or process.uids().real != os.getuid():
        return None
    command = tuple(process.cmdline())
    if not serves(command):
        return None
    parent = process.parent()
    name = parent.name() if parent is not None else ""
    return ServerProcess(process.pid, not name or name in _FOSTER, name, command)
