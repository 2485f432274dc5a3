"""One call at a time for an app, a few at a time in all, over all servers of this user.

Between processes the locks are `flock`s on files of the state folder: the system lets go of them
when a process dies, however it dies. Within a process they are kept in order of arrival by
turnstiles, so that at most one thread asks for a file. A file is never removed: another process
may be about to lock it.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from iac_base.files import try_lock
from iac_runtime.errors import SetupError
from iac_runtime.execution.cancellation import Cancellation
from iac_runtime.execution.turnstile import Turnstile
from iac_runtime.state import private_folder

__all__ = ["Locks", "NoTurnError"]

_LONGEST: Final = 120
"""Characters of a file name; longer bundle ids are told apart by a digest."""

_FIRST_PAUSE: Final = 0.001
_LAST_PAUSE: Final = 0.02
"""Seconds between two looks at a lock that another process holds."""


class NoTurnError(Exception):
    """The call got no turn.

    Attributes:
        full: Too many were waiting already; otherwise its time ran out, or it was cancelled.
    """

    def __init__(self, *, full: bool) -> None:
        super().__init__("the queue is full" if full else "no turn in time")
        self.full = full


class Locks:
    """The locks of an executor; safe to share between threads.

    Args:
        folder: Where the lock files lie; made, private to the user, on first need.
        running: Calls at once over all processes that use the folder.
        waiting: Calls of this process that may wait.
    """

    def __init__(self, folder: Path, running: int, waiting: int) -> None:
        self._folder = folder
        self._ready = False
        self._slots = [folder / f"slot-{number}.lock" for number in range(running)]
        self._slot_line = Turnstile(running)
        self._app_lines: dict[str, Turnstile] = {}
        self._lock = threading.Lock()
        self._waiting = 0
        self._most = waiting

    @contextlib.contextmanager
    def turn(self, app: str, deadline: float, cancel: Cancellation) -> Iterator[None]:
        """Hold the app's lock, then one of the slots, for the length of the block.

        Args:
            app: A bundle id.
            deadline: Until when to wait, on the monotonic clock.

        Raises:
            NoTurnError: At once when too many wait, at the deadline, or when it is cancelled.
            SetupError: The lock files cannot be made.
        """
        with contextlib.ExitStack() as held:
            with self._place() as full:
                until = 0.0 if full else deadline
                got = (
                    self._enter(held, self._line(app), until, cancel)
                    and self._flock(held, [self._folder / _file_name(app)], until, cancel)
                    and self._enter(held, self._slot_line, until, cancel)
                    and self._flock(held, self._slots, until, cancel)
                )
                if not got:
                    raise NoTurnError(full=full)
            yield

    @contextlib.contextmanager
    def _place(self) -> Iterator[bool]:
        """Take a place among those who wait; True if there is none, so that one must not."""
        with self._lock:
            self._waiting += 1
            full = self._waiting > self._most
        try:
            yield full
        finally:
            with self._lock:
                self._waiting -= 1

    def _line(self, app: str) -> Turnstile:
        with self._lock:
            return self._app_lines.setdefault(app.casefold(), Turnstile(1))

    def _enter(
        self, held: contextlib.ExitStack, line: Turnstile, deadline: float, cancel: Cancellation
    ) -> bool:
        if not line.enter(deadline, cancel):
            return False
        held.callback(line.leave)
        return True

    def _flock(
        self,
        held: contextlib.ExitStack,
        files: Sequence[Path],
        deadline: float,
        cancel: Cancellation,
    ) -> bool:
        """Lock one of the files."""
        self._prepare()
        pause = _FIRST_PAUSE
        while True:
            for file in files:
                descriptor = _locked(file)
                if descriptor is not None:
                    held.callback(os.close, descriptor)
                    return True
            left = deadline - time.monotonic()
            if left <= 0 or cancel.wait(min(pause, left)):
                return False
            pause = min(pause * 2, _LAST_PAUSE)

    def _prepare(self) -> None:
        if not self._ready:
            private_folder(self._folder)
            self._ready = True


def _locked(file: Path) -> int | None:
    """Return a descriptor that holds the lock of `file`, None if another one has it."""
    try:
        return try_lock(file)
    except OSError as error:
        raise SetupError(f"{file} cannot be opened: {error.strerror}.") from error


def _file_name(app: str) -> str:
    """Return the name of an app's lock file: the bundle id as it is, if it may be one."""
    plain = quote(app.casefold(), safe="", errors="surrogatepass")
    if len(plain) > _LONGEST:
        import hashlib

        plain = hashlib.sha256(plain.encode()).hexdigest()
    return f"app-{plain}.lock"
