"""One call at a time for an app, a few at a time in all, over all servers and threads of this user.

Between processes the locks are `flock`s on files of the state folder: the system lets go of them
when a process dies, however it dies. Within a process they are kept in order of arrival by
turnstiles, so that at most one thread asks for a file. A file is never removed: another process
may be about to lock it.
"""

import contextlib
import math
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from iac_base.errors import Cancellation, SetupError
from iac_base.files import ensure_private_folder, try_lock

DEFAULT_TIMEOUT: Final = 30.0
"""Seconds. Below the 60 after which some clients give up on a call."""

WAITING: Final = 64
"""Calls that may wait for their turn."""

_LONGEST: Final = 120
"""Characters of a file name; longer bundle ids are told apart by a digest."""

_FIRST_PAUSE: Final = 0.001
_LAST_PAUSE: Final = 0.02
"""Seconds between two looks at a lock that another process holds."""


@dataclass(frozen=True, slots=True)
class ExecutionLimits:
    """Times are seconds.

    Attributes:
        timeout: For the app's answer, from the moment that it is the call's turn; and no longer
            than that for the turn.
        grace: Between TERM and KILL.
        hello: For a new worker to report.
        pause: Until a worker is tried again that could not be had; doubled each time.
        idle: After which a worker without work is ended.
        calls: After which a worker is replaced.
        memory: Bytes that a worker may hold; it is looked at from time to time.
        kept: Workers that wait for work; the one unused for longest goes first.
        running: Calls at once, those of this user's other servers included.
        waiting: Calls that may wait for their turn, in one executor; `KEPT` more for each app.
        share: Of these, calls of one app.
        answer: Bytes of one answer.
    """

    timeout: float = DEFAULT_TIMEOUT
    grace: float = 2.0
    hello: float = 5.0
    pause: float = 10.0
    idle: float = 60.0
    calls: int = 500
    memory: int = 300 * 1024 * 1024
    kept: int = 8
    running: int = 4
    waiting: int = WAITING
    share: int = WAITING
    answer: int = 64 * 1024 * 1024


KEPT: Final = 4
"""Calls of an app that may wait whatever waits for others: a busy app never shuts others out."""


class Turnstile:
    """Lets `capacity` threads through at once, first come, first served."""

    def __init__(self, capacity: int) -> None:
        self._lock = threading.Lock()
        self._free = capacity
        self._queue: deque[threading.Event] = deque()

    def enter(self, deadline: float, cancel: Cancellation) -> bool:
        """Wait for a turn until `deadline` (monotonic clock); say whether it came.

        Whoever got a turn has to `leave`. A cancelled call gives up its wait at once.
        """
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            turn = threading.Event()
            self._queue.append(turn)
        with cancel.on_cancel(turn.set):
            turn.wait(max(0.0, deadline - time.monotonic()))
        with self._lock:
            if turn in self._queue:
                self._queue.remove(turn)
                return False
        # Whoever left took the turn out of the queue: it was handed over.
        return True

    def leave(self) -> None:
        """Hand the turn to the next one."""
        with self._lock:
            if self._queue:
                self._queue.popleft().set()
            else:
                self._free += 1


class NoTurnError(Exception):
    """The call got no turn.

    Attributes:
        full: Too many were waiting already; otherwise its time ran out, or it was cancelled.
    """

    def __init__(self, *, full: bool) -> None:
        super().__init__("the queue is full" if full else "no turn in time")
        self.full = full


class ExecutionLocks:
    """The locks of an executor; safe to share between threads.

    Args:
        folder: Where the lock files lie; made, private to the user, on first need.
        running: Calls at once over all processes that use the folder.
        waiting: Calls of this process that may wait.
        share: Those for one app among them; all if left out.
    """

    def __init__(self, folder: Path, running: int, waiting: int, share: float = math.inf) -> None:
        self._folder = folder
        self._ready = False
        self._slots = [folder / f"slot-{number}.lock" for number in range(running)]
        self._slot_line = Turnstile(running)
        self._app_lines: dict[str, Turnstile] = {}
        self._lock = threading.Lock()
        self._waiting: Counter[str] = Counter()
        self._most = waiting
        self._share = share

    @contextlib.contextmanager
    def hold_turn(self, app: str, deadline: float, cancel: Cancellation) -> Iterator[None]:
        """Hold the app's lock, then one of the slots, for the length of the block.

        Args:
            app: A bundle id.
            deadline: Until when to wait, on the monotonic clock.

        Raises:
            NoTurnError: At once when too many wait, at the deadline, or when it is cancelled.
            SetupError: The lock files cannot be made.
        """
        with contextlib.ExitStack() as exit_stack:
            with self._take_place(app.casefold()) as full:
                until = 0.0 if full else deadline
                got = (
                    self._enter_turnstile(exit_stack, self._app_turnstile(app), until, cancel)
                    and self._lock_any_file(
                        exit_stack, [self._folder / _lock_file_name(app)], until, cancel
                    )
                    and self._enter_turnstile(exit_stack, self._slot_line, until, cancel)
                    and self._lock_any_file(exit_stack, self._slots, until, cancel)
                )
                if not got:
                    raise NoTurnError(full=full)
            yield

    @contextlib.contextmanager
    def _take_place(self, app: str) -> Iterator[bool]:
        """Take a place among those who wait; True if there is none, so that one must not."""
        with self._lock:
            others = self._waiting.total() - self._waiting[app]
            self._waiting[app] += 1
            kept = KEPT if others else 0
            over = self._waiting.total() > self._most and self._waiting[app] > kept
            full = over or self._waiting[app] > self._share
        try:
            yield full
        finally:
            with self._lock:
                self._waiting[app] -= 1
                if not self._waiting[app]:
                    del self._waiting[app]

    def _app_turnstile(self, app: str) -> Turnstile:
        with self._lock:
            return self._app_lines.setdefault(app.casefold(), Turnstile(1))

    def _enter_turnstile(
        self, held: contextlib.ExitStack, line: Turnstile, deadline: float, cancel: Cancellation
    ) -> bool:
        if not line.enter(deadline, cancel):
            return False
        held.callback(line.leave)
        return True

    def _lock_any_file(
        self,
        held: contextlib.ExitStack,
        files: Sequence[Path],
        deadline: float,
        cancel: Cancellation,
    ) -> bool:
        """Lock one of the files."""
        if not self._ready:
            ensure_private_folder(self._folder)
            self._ready = True
        pause = _FIRST_PAUSE
        while True:
            for file in files:
                descriptor = _try_lock_file(file)
                if descriptor is not None:
                    held.callback(os.close, descriptor)
                    return True
            left = deadline - time.monotonic()
            if left <= 0 or cancel.wait(min(pause, left)):
                return False
            pause = min(pause * 2, _LAST_PAUSE)


def _try_lock_file(file: Path) -> int | None:
    """Return a descriptor that holds the lock of `file`, None if another one has it."""
    try:
        return try_lock(file)
    except OSError as error:
        raise SetupError(f"{file} cannot be opened: {error.strerror}.") from error


def _lock_file_name(app: str) -> str:
    """Return the name of an app's lock file: the bundle id as it is, if it may be one."""
    plain = quote(app.casefold(), safe="", errors="surrogatepass")
    if len(plain) > _LONGEST:
        import hashlib

        plain = hashlib.sha256(plain.encode()).hexdigest()
    return f"app-{plain}.lock"
