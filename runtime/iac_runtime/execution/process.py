"""Running one process to its end: the only module that starts `osascript`."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from typing import NamedTuple, Protocol

__all__ = ["Completed", "Runner", "run_process"]


class Completed(NamedTuple):
    """What a process left behind; `status` is negative for the signal that ended it."""

    stdout: bytes
    stderr: bytes
    status: int
    timed_out: bool = False


class Runner(Protocol):
    """Something that behaves like the command `argv` with `stdin` (seconds for `timeout`)."""

    def __call__(self, argv: Sequence[str], stdin: bytes, timeout: float) -> Completed: ...


def run_process(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
    """Run `argv` in a session of its own; at the deadline the whole process group is killed.

    Raises:
        OSError: The program could not be started.
    """
    with subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        try:
            stdout, stderr = child.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            stdout, stderr = child.communicate()
            return Completed(stdout, stderr, child.returncode, timed_out=True)
    return Completed(stdout, stderr, child.returncode)
