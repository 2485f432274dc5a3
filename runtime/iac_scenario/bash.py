"""A real shell for a scenario's Bash: confined by bubblewrap, bounded in time, output, processes.

Inside there is the sandbox (writable), the system's programs (read-only), a /tmp of its own, no
network, no other process and no variable of the caller. The kernel does not hold the limit of
processes against root, so they are counted as well.
"""

import os
import resource
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, NamedTuple

from iac_scenario.errors import SetupError, ToolError
from iac_scenario.places import Parts
from iac_scenario.sandbox import Sandbox

__all__ = ["Limits", "RealBash"]

_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/etc/alternatives")
_TICK: Final = 0.05


class Limits(NamedTuple):
    """What one command may use: bytes of output, processes, bytes of one file and of memory."""

    output: int = 1_000_000
    processes: int = 64
    file: int = 100_000_000
    memory: int = 4_000_000_000


_LIMITS: Final = Limits()


class Ended(NamedTuple):
    """What a command left; `stopped` says which limit ended it, or is empty."""

    out: bytes
    errors: bytes
    status: int
    stopped: str


class RealBash:
    """Runs command lines in bash. Raises SetupError where no confinement is at hand."""

    def __init__(
        self, sandbox: Sandbox, *, confined: bool = True, limits: Limits = _LIMITS
    ) -> None:
        self._sandbox = sandbox
        self._limits = limits
        self._confiner = shutil.which("bwrap") if confined else None
        if confined and self._confiner is None:
            raise SetupError(
                "--allow-real-bash needs bubblewrap (bwrap), which is not here. Install it, or pass"
                " --unconfined to run commands with your own rights."
            )

    def run(self, command: str, cwd: Parts, timeout: float) -> Ended:
        """Run one command line; `timeout` in seconds. Raises ToolError where bash cannot start."""
        if "\0" in command:
            raise ToolError("the command holds a NUL byte.")
        if self._confiner is None:
            words = ["bash", "-c", command]
            folder = str(Path(self._sandbox.root, *cwd))
        else:
            words = [self._confiner, *self._confinement(cwd), "bash", "-c", command]
            folder = "/"
        try:
            child = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env=self._environment(),
                start_new_session=True,
                preexec_fn=self._limit,
            )
        except OSError as error:
            raise ToolError(f"bash cannot be started: {error.strerror}.") from None
        return _watched(child, self._limits, timeout)

    def _confinement(self, cwd: Parts) -> list[str]:
        mount = self._sandbox.mount
        shared = [word for path in _SYSTEM if Path(path).exists() for word in _bind(path)]
        return [
            "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
            *shared, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",  # noqa: S108
            "--bind", self._sandbox.root, mount, "--chdir", "/".join((mount, *cwd)),
        ]  # fmt: skip

    def _environment(self) -> dict[str, str]:
        home = self._sandbox.mount if self._confiner else self._sandbox.root
        path = os.environ.get("PATH", os.defpath) if self._confiner is None else "/usr/bin:/bin"
        return {"PATH": path, "HOME": home, "LANG": "C.UTF-8", "TERM": "dumb"}

    def _limit(self) -> None:
        bounds = {
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_FSIZE: self._limits.file,
            resource.RLIMIT_AS: self._limits.memory,
        }
        for kind, bound in bounds.items():
            # macOS does not know all of them.
            with suppress(OSError, ValueError):
                resource.setrlimit(kind, (bound, bound))


def _bind(path: str) -> Sequence[str]:
    if (link := Path(path)).is_symlink():
        return ("--symlink", str(link.readlink()), path)
    return ("--ro-bind", path, path)


def _watched(child: "subprocess.Popen[bytes]", limits: Limits, timeout: float) -> Ended:
    assert child.stdout is not None
    assert child.stderr is not None
    outs = [_Drain(child.stdout, limits.output), _Drain(child.stderr, limits.output)]
    deadline = time.monotonic() + timeout
    stopped = ""
    # The streams end when every process that holds them has: a job left behind is waited for too.
    while not stopped and (child.poll() is None or any(drain.is_alive() for drain in outs)):
        if time.monotonic() > deadline:
            stopped = f"it took more than {timeout:g} s"
        elif any(drain.full for drain in outs):
            stopped = f"it printed more than {limits.output:,} bytes"
        elif len(_descendants(child.pid)) > limits.processes:
            stopped = f"it had more than {limits.processes} processes"
        else:
            outs[0].join(_TICK)
    _end(child, _descendants(child.pid))
    for drain in outs:
        drain.join(5)
    return Ended(outs[0].taken(), outs[1].taken(), child.returncode, stopped)


class _Drain(threading.Thread):
    """Reads a stream to its end and keeps its first bytes."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        super().__init__(daemon=True)
        self.full = False
        self._stream = stream
        self._most = most
        self._pieces: list[bytes] = []
        self.start()

    def run(self) -> None:
        """Read until the last writer is gone."""
        size = 0
        with self._stream:
            while piece := self._stream.read1(65536):  # type: ignore[attr-defined]
                if size < self._most:
                    self._pieces.append(piece[: self._most - size])
                size += len(piece)
                self.full = size > self._most

    def taken(self) -> bytes:
        """Return what was kept."""
        return b"".join(self._pieces)


def _descendants(top: int) -> list[int]:
    """Return the processes below one, from /proc; none where there is no /proc."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            # The name in brackets may hold anything; what follows its last bracket is fixed.
            fields = entry.read_text(errors="replace").rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found, pending = [], [top]
    while pending:
        below = parents.get(pending.pop(), [])
        found += below
        pending += below
    return found


def _end(child: "subprocess.Popen[bytes]", below: list[int]) -> None:
    """End the command's group and, unconfined, what left the group; bwrap ends its own."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    for pid in below:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    child.wait()
