"""Starting processes (`osascript` nowhere else), and ending one with everything that it started.

The order: what it reads is closed; TERM to its group; a grace; KILL to the group; then whatever
left the group (setsid) is swept, found as a descendant before anything was killed, or by the mark
in its environment. A process is told by number and start time together (psutil), for numbers are
given again. No pipe is waited on: a grandchild can hold it open for ever.

On macOS the environment of Apple's own programs cannot be read, so that an orphan among them is
found only while its parents live; a Mac can confirm how far the sweep reaches.
"""

import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from iac_base.errors import Cancellation

if TYPE_CHECKING:
    import psutil

REQUESTS: Final = 3
ANSWERS: Final = 4
"""The descriptors on which a worker reads requests and writes answers."""

MARK: Final = "IAC_CALL"
"""The environment variable by which a process and all that it starts can be told."""

_CLEAR: Final = 16
"""Above every descriptor that a child is given, so that no dup2 hits another's source."""

_UNKNOWN_STATUS: Final = 255

_ROUNDS: Final = 20
"""How often the sweep looks again: what forks without end gets so many chances."""

_REAPED: Final = 1.0
"""Seconds in which a killed process is expected to be gone."""


class Completed(NamedTuple):
    """What a process left behind; `status` is negative for the signal that ended it.

    Attributes:
        timed_out: It was killed at the deadline.
        cancelled: It was killed because the call was cancelled.
        too_large: It was killed because it wrote more than the cap to standard output.
    """

    stdout: bytes
    stderr: bytes
    status: int
    timed_out: bool = False
    cancelled: bool = False
    too_large: bool = False


class Runner(Protocol):
    """Something that behaves like the command `argv` with `stdin` (seconds for `timeout`)."""

    def __call__(self, argv: Sequence[str], stdin: bytes, timeout: float) -> Completed: ...


class RunInTurns(Protocol):
    """Runs a command in the turns of apps, as `executor.Executor.run` does."""

    def __call__(
        self,
        argv: Sequence[str],
        stdin: bytes,
        timeout: float,
        *,
        apps: Collection[str] = (),
        cancel: Cancellation | None = None,
    ) -> Completed: ...


class Child:
    """A process in a session of its own. One thread at a time may use it.

    Attributes:
        pid: Its number, and that of its session and group.
        token: What it and its descendants carry in their environment under `MARK`.
        feed: The descriptor that it reads from: standard input, or a worker's requests.
        stdout, stderr: The descriptors of its output; all descriptors are non-blocking.
        answers: The descriptor of a worker's answers, else None.
        status: Its exit status once it was reaped.
    """

    def __init__(self, pid: int, token: str, ours: dict[int, int]) -> None:
        self.pid = pid
        self.token = token
        self.stdout = ours[1]
        self.stderr = ours[2]
        self.feed = ours[REQUESTS] if REQUESTS in ours else ours[0]
        self.answers = ours.get(ANSWERS)
        self.status: int | None = None
        self._open = set(ours.values())

    def reap(self) -> bool:
        """Say whether it has ended, and let go of its number if so; never waits."""
        if self.status is None:
            try:
                pid, raw = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                # Where the host ignores SIGCHLD, the system reaps.
                self.status = _UNKNOWN_STATUS
            else:
                if pid:
                    self.status = os.waitstatus_to_exitcode(raw)
        return self.status is not None

    def hang_up(self) -> None:
        """Close what it reads from: a worker that is well ends at that."""
        self._close_descriptor(self.feed)

    def close(self) -> None:
        """Close all descriptors."""
        for descriptor in tuple(self._open):
            self._close_descriptor(descriptor)

    def _close_descriptor(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.remove(descriptor)
            os.close(descriptor)


def spawn_child(argv: Sequence[str], *, channel: bool = False) -> Child:
    """Start `argv` as the leader of a new session, with pipes to this process.

    With `channel` the child reads requests on descriptor 3 and answers on 4, and its standard
    input is empty. (posix_spawn places descriptors without running Python in a forked child,
    which threads make unsafe. POSIX_SPAWN_SETSID needs macOS 10.15.)

    Raises:
        OSError: The program could not be started, or there are no descriptors left.
    """
    token = os.urandom(16).hex()
    read_by_child = (REQUESTS,) if channel else (0,)
    written_by_child = (1, 2, ANSWERS) if channel else (1, 2)
    ours: dict[int, int] = {}
    with contextlib.ExitStack() as theirs, contextlib.ExitStack() as on_failure:
        actions: list[tuple[int, int, int] | tuple[int, int, str, int, int]] = []
        if channel:
            actions.append((os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0))
        for number in (*read_by_child, *written_by_child):
            reading, writing = os.pipe()
            mine, its = (writing, reading) if number in read_by_child else (reading, writing)
            ours[number] = mine
            on_failure.callback(os.close, mine)
            try:
                clear = fcntl.fcntl(its, fcntl.F_DUPFD_CLOEXEC, _CLEAR)
            finally:
                os.close(its)
            theirs.callback(os.close, clear)
            os.set_blocking(mine, False)
            actions.append((os.POSIX_SPAWN_DUP2, clear, number))
        pid = os.posix_spawnp(
            argv[0],
            list(argv),
            {**os.environ, MARK: token},
            file_actions=actions,
            setsid=True,
            # Python ignores these, and what is ignored is inherited.
            setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),
        )
        on_failure.pop_all()
    return Child(pid, token, ours)


class Grace:
    """The seconds between TERM and KILL; cutting them short holds for a wait under way too."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def cut_short(self, seconds: float) -> None:
        """Let nobody have more than `seconds` from now on."""
        self.seconds = min(self.seconds, seconds)


NO_GRACE: Final = Grace(0.0)


def end_child(child: Child, grace: Grace, hear: Callable[[], object] | None = None) -> None:
    """End `child` and all that it started, and close its descriptors; at most `grace` + 1 s.

    Args:
        hear: Called once it can say no more; its output is open until then.
    """
    child.hang_up()
    if hear is None:
        child.close()
    process_family: list[psutil.Process] = []
    if child.status is None:
        # Its number is held until it is reaped, so the group is surely its own.
        process_family = _process_family(child.pid)
        if not all(map(_is_gone, process_family)):
            _signal_group(child.pid, signal.SIGTERM)
            wait_for(lambda: all(map(_is_gone, process_family)), lambda: grace.seconds)
        _signal_group(child.pid, signal.SIGKILL)
    _kill_processes(process_family)
    for _ in range(_ROUNDS):
        left = _processes_with_token(child.token)
        if not left:
            break
        _kill_processes(left)
    wait_for(child.reap, lambda: _REAPED)
    if hear is not None:
        hear()
        child.close()


def let_child_end(child: Child, patience: float, grace: Grace) -> None:
    """Let `child` end by itself within `patience` seconds of the end of its input, else end it."""
    child.hang_up()
    if wait_for(child.reap, lambda: patience):
        child.close()
    else:
        end_child(child, grace)


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


def _process_family(pid: int) -> "list[psutil.Process]":
    """Return the process and its descendants."""
    import psutil

    try:
        leader = psutil.Process(pid)
        return [leader, *leader.children(recursive=True)]
    except psutil.Error:
        return []


def _processes_with_token(token: str) -> "list[psutil.Process]":
    """Return the living processes that carry the token."""
    import psutil

    processes_with_token = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == token and not _is_gone(process):
                processes_with_token.append(process)
    return processes_with_token


def _signal_group(group: int, number: signal.Signals) -> None:
    # macOS answers EPERM where only zombies are left in the group.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _kill_processes(processes: "Iterable[psutil.Process]") -> None:
    import psutil

    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()


def wait_for(
    done: Callable[[], bool], seconds: Callable[[], float], cancel: Cancellation | None = None
) -> bool:
    """Ask until `done` says yes, at most for `seconds`; say whether it did.

    Args:
        cancel: Ends the wait from another thread.
    """
    begun = time.monotonic()
    sleep = time.sleep if cancel is None else cancel.wait
    pause = 0.0005
    while not done():
        left = begun + seconds() - time.monotonic()
        if left <= 0 or sleep(min(pause, left)):
            return False
        pause = min(pause * 2, 0.02)
    return True


def resident_memory(pid: int) -> int:
    """Return the bytes of memory that a process holds; 0 where nobody knows."""
    import psutil

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0
