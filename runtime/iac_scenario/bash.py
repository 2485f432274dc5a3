"""The Bash of a scenario: real bash, confined, bounded in time, output, processes and memory.

Grep and Glob run in the same confinement.

Each call is a process group of its own and ends whole; the folder lasts for the session.
"""

import os
import re
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final, NamedTuple

import psutil

from iac_scenario.confinement import WAY_OUT, choose_confinement, clock_option
from iac_scenario.model import CallError
from iac_scenario.permissions import LONGEST
from iac_scenario.sandbox import Sandbox

_TICK: Final = 0.05
"""Seconds between two looks at the processes of a call."""


class BashLimits(NamedTuple):
    """What one command may use: bytes of output, processes, bytes of one file and of memory."""

    output: int = 1_000_000
    processes: int = 64
    file: int = 100_000_000
    memory: int = 4_000_000_000


_LIMITS: Final = BashLimits()


class BashResult(NamedTuple):
    """What a command left; `stopped` says which limit ended it, or is empty.

    `notice` is what is told of the session behind the output.
    """

    out: bytes
    errors: bytes
    status: int
    stopped: str
    timed_out: bool = False
    notice: str = ""


_SCRIPT: Final = (
    Path(__file__).with_name("bash_session.sh").read_text(encoding="utf-8").replace("\n", " ")
)
"""Takes the command and the folder to begin in.

It is one line: Bash counts those of the command after it. The folder for the next call goes into a
file without a name.
"""


class BashSession:
    """Bash in the folder of a sandbox, call after call.

    Args:
        now: The session's clock, which `date` on a line shows.
        unconfined: Run with the caller's own rights.
        guarded: Keep Git folders, start-up files and the like from being changed.
        variables: More of the environment of each command.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        now: Callable[[], datetime],
        *,
        unconfined: bool = False,
        guarded: bool = False,
        limits: BashLimits = _LIMITS,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._now = now
        self._confinement = choose_confinement(sandbox, unconfined=unconfined, guarded=guarded)
        self._limits = limits
        self._variables = dict(variables or {})
        self._home = self.folder = self._confinement.home
        self._ending = threading.Event()
        self._running = threading.Lock()

    def close(self) -> None:
        """End the call that runs, and remove what the session kept beside the sandbox."""
        self._ending.set()
        with self._running:
            pass
        self._confinement.close()

    def run(self, command: str, timeout: float) -> BashResult:
        """Run one line; `timeout` in seconds. Raises CallError where nothing can run."""
        if len(command) > LONGEST:
            raise CallError(f"the command has more than {LONGEST:,} characters.")
        with self._running:
            return self._run_command(command, timeout)

    def search(
        self, program: str, options: Sequence[str], limits: BashLimits, timeout: float
    ) -> BashResult:
        """Run a program that only reads, from the top of the sandbox; as `run` otherwise.

        Whoever exchanges a folder for a link while it walks leads it nowhere else.
        """
        program = os.path.realpath(program)
        with self._running:
            words = [*self._confinement.words((), program), program, *options]
            place = self._confinement.start
            return run_bounded(words, place, {}, limits, timeout, ending=self._ending)

    def _run_command(self, command: str, timeout: float) -> BashResult:
        watched = self._confinement.is_watched
        before = self._sandbox.protected_entries() if watched else {}
        with TemporaryFile() as state:
            words = [
                *self._confinement.words(list(before)),
                *("bash", "-c", self._wrapper_script(state.fileno()), "/bin/bash"),
                *(command, self.folder),
            ]
            own = {"HOME": self._home, "LANG": "C.UTF-8", "TERM": "dumb", **self._variables}
            own |= self._confinement.variables
            facts = (words, self._confinement.start, own, self._limits, timeout)
            result = run_bounded(
                *facts, ending=self._ending, pass_fds=(state.fileno(),), merged=True
            )
            told = self._store_state(state, result)
        if watched:
            told += self._sandbox.set_aside(before)
        return result._replace(notice="".join(told).rstrip())

    def _wrapper_script(self, state: int) -> str:
        seconds = self._now().timestamp()
        values = {
            "STATE": str(state),
            "FILE": str(self._limits.file // 1024),
            "MEMORY": str(self._limits.memory // 1024),
            # The system counts all processes of a user, not only those of this call.
            "PROCESSES": str(len(psutil.pids()) + 2 * self._limits.processes),
            "CLOCK": clock_option(seconds),
        }
        return re.sub("|".join(values), lambda match: values[match[0]], _SCRIPT)

    def _store_state(self, state: IO[bytes], result: BashResult) -> list[str]:
        """Remember the folder for the next call; return what is to be said.

        The command can write to the file too: what Bash would not have written is passed over.
        """
        state.seek(0)
        written = state.read(2 * LONGEST)
        if not written and not result.stopped:
            lines = result.out.decode("utf-8", "replace").strip().splitlines()
            raise CallError(
                f"Bash cannot run in a sandbox here: {lines[-1] if lines else 'nothing ran'}. Allow"
                f" user namespaces, or {WAY_OUT}."
            )
        begun, *left = written.split(b"\0")
        if begun != b"begun" or len(left) != 2 or left[1] or len(left[0]) > LONGEST:
            return []
        self.folder = os.fsdecode(left[0])
        tops = (self._home, self._sandbox.root)
        if any(self.folder == top or self.folder.startswith(f"{top}/") for top in tops):
            return []
        self.folder = self._home
        return [f"Shell cwd was reset to {self._home}\n"]


def run_bounded(
    words: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    limits: BashLimits,
    timeout: float,
    *,
    given: bytes = b"",
    ending: threading.Event | None = None,
    pass_fds: Sequence[int] = (),
    merged: bool = False,
) -> BashResult:
    """Run a program to its end or to a limit; `timeout` in seconds. Raises CallError.

    `given` is its standard input. Whatever it started ends with it. `merged` takes errors into the
    output, each where it was printed.
    """
    with TemporaryFile() as stdin:
        stdin.write(given)
        stdin.seek(0)
        try:
            child = subprocess.Popen(
                words,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if merged else subprocess.PIPE,
                cwd=folder,
                env=dict(environment),
                start_new_session=True,
                pass_fds=pass_fds,
            )
        except OSError as error:
            name = Path(words[0]).name
            raise CallError(f"{name} cannot be started: {error.strerror}.") from None
        except ValueError:
            raise CallError(
                "a NUL byte or a lone surrogate cannot be given to a program."
            ) from None
    return _collect_output(child, limits, timeout, ending or threading.Event())


def _collect_output(
    child: "subprocess.Popen[bytes]", limits: BashLimits, timeout: float, ending: threading.Event
) -> BashResult:
    """Read what a process prints until it has ended or passes a limit, then end all of it."""
    streams = [*filter(None, (child.stdout, child.stderr))]
    kept = {stream.fileno(): bytearray() for stream in streams}
    below: set[psutil.Process] = set()
    deadline, timed_out = time.monotonic() + timeout, False
    look, stopped = time.monotonic() + _TICK, ""
    with selectors.DefaultSelector() as selector, ExitStack() as stack:
        for pipe in streams:
            stack.enter_context(pipe)
        for stream in kept:
            selector.register(stream, selectors.EVENT_READ)
        while not stopped:
            # Seen before the streams are read: what it wrote is there by then.
            ended = child.poll() is not None
            ready = selector.select(0 if ended else _TICK) if selector.get_map() else []
            for key, _ in ready:
                piece, room = os.read(key.fd, 65536), limits.output - len(kept[key.fd])
                kept[key.fd] += piece[:room]
                if not piece:
                    selector.unregister(key.fd)
                elif len(piece) > room:
                    stopped = f"it printed more than {limits.output:,} bytes"
            if ended and not ready:
                break
            if not selector.get_map():
                with suppress(subprocess.TimeoutExpired):
                    child.wait(_TICK)
            if stopped or time.monotonic() < look:
                continue
            look = time.monotonic() + _TICK
            below |= (now := _child_processes(child.pid))
            if ending.is_set():
                stopped = "the session ended"
            elif time.monotonic() > deadline:
                stopped, timed_out = f"it took more than {timeout:g} s", True
            elif len(now) > limits.processes:
                stopped = f"it had more than {limits.processes} processes"
        _kill_processes(child, below)
    status = child.returncode if child.returncode >= 0 else 128 - child.returncode
    # What ends a command in the client is SIGTERM.
    status = 128 + signal.SIGTERM if timed_out else status
    out, errors = [*map(bytes, kept.values()), b""][:2]
    return BashResult(out, errors, status, stopped, timed_out)


def _child_processes(top: int) -> set[psutil.Process]:
    with suppress(psutil.Error):
        return set(psutil.Process(top).children(recursive=True))
    return set()


def _kill_processes(child: "subprocess.Popen[bytes]", below: set[psutil.Process]) -> None:
    """End the call's group, and what left the group; the namespace of bubblewrap ends whole."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    for process in below:
        with suppress(psutil.Error):
            process.kill()
    child.wait()
