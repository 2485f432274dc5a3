"""Ending a process and everything that it started, whatever they do.

The order: what it reads is closed; TERM to its group; a grace; KILL to the group; then whatever
left the group (setsid) is swept, found as a descendant before anything was killed, or by the mark
in its environment. A process is told by number and start time together (psutil), for numbers are
given again. No pipe is waited on: a grandchild can hold it open for ever.

On macOS the environment of Apple's own programs cannot be read, so that an orphan among them is
found only while its parents live; a Mac can confirm how far the sweep reaches.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from iac_runtime.execution.process import MARK, Child

if TYPE_CHECKING:
    import psutil

__all__ = ["NO_GRACE", "Grace", "end", "has_ended", "see_off"]

_ROUNDS: Final = 20
"""How often the sweep looks again: what forks without end gets so many chances."""

_REAPED: Final = 1.0
"""Seconds in which a killed process is expected to be gone."""


class Grace:
    """The seconds between TERM and KILL; cutting them short holds for a wait under way too."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def cut(self, seconds: float) -> None:
        """Let nobody have more than `seconds` from now on."""
        self.seconds = min(self.seconds, seconds)


NO_GRACE: Final = Grace(0.0)


def end(child: Child, grace: Grace) -> None:
    """End `child` and all that it started, and close its descriptors; at most `grace` + 1 s."""
    import psutil

    child.close()
    found: list[psutil.Process] = []
    if child.status is None:
        # Its number is held until it is reaped, so the group is surely its own.
        found = _family(child.pid)
        if not all(map(_is_gone, found)):
            _signal(child.pid, signal.SIGTERM)
            _wait(lambda: all(map(_is_gone, found)), lambda: grace.seconds)
        _signal(child.pid, signal.SIGKILL)
    _kill(found)
    for _ in range(_ROUNDS):
        left = _marked(child.token)
        if not left:
            break
        _kill(left)
    _wait(child.reap, lambda: _REAPED)


def see_off(child: Child, patience: float, grace: Grace) -> None:
    """Let `child` end by itself within `patience` seconds of the end of its input, else end it."""
    child.hang_up()
    if _wait(child.reap, lambda: patience):
        child.close()
    else:
        end(child, grace)


def has_ended(child: Child) -> bool:
    """Say whether `child` has ended, without letting go of its number."""
    import psutil

    if child.status is not None:
        return True
    try:
        return _is_gone(psutil.Process(child.pid))
    except psutil.Error:
        return True


def _is_gone(process: "psutil.Process") -> bool:
    import psutil

    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True


def _family(pid: int) -> "list[psutil.Process]":
    """Return the process and its descendants."""
    import psutil

    try:
        leader = psutil.Process(pid)
        return [leader, *leader.children(recursive=True)]
    except psutil.Error:
        return []


def _marked(token: str) -> "list[psutil.Process]":
    """Return the living processes that carry the token."""
    import psutil

    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == token and not _is_gone(process):
                found.append(process)
    return found


def _signal(group: int, number: signal.Signals) -> None:
    # macOS answers EPERM where only zombies are left in the group.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _kill(processes: "Iterable[psutil.Process]") -> None:
    import psutil

    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()


def _wait(done: Callable[[], bool], seconds: Callable[[], float]) -> bool:
    """Ask until `done` says yes, at most for `seconds`; return what it said last."""
    begun = time.monotonic()
    pause = 0.0005
    while not done():
        left = begun + seconds() - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(pause, left))
        pause = min(pause * 2, 0.02)
    return True
