"""One process a call: the plain way, and the one that is left where a worker cannot be had."""

import time
from collections.abc import Sequence
from typing import Final

from iac_runtime.execution.cancellation import Cancellation
from iac_runtime.execution.ending import NO_GRACE, Grace, end
from iac_runtime.execution.limits import Limits
from iac_runtime.execution.process import Child, Completed, spawn
from iac_runtime.execution.streams import Ended, Tail, converse

__all__ = ["WORDS_KEPT", "run_process"]

WORDS_KEPT: Final = 64 * 1024
"""Bytes of standard error that are kept: the last ones, where the reason stands."""

_LIMITS: Final = Limits()


def run_process(
    argv: Sequence[str],
    stdin: bytes,
    timeout: float,
    *,
    cancel: Cancellation | None = None,
    grace: Grace | None = None,
    cap: int = _LIMITS.answer,
) -> Completed:
    """Run `argv` in a session of its own until it ends.

    Past `timeout` seconds, when the call is cancelled, or when standard output grows past `cap`
    bytes, the process and all that it started are ended (with `grace` between TERM and KILL); what
    is left of a process that failed is swept too. What one that did its work left running is not
    waited for and lives on: the user may have asked for it.

    Raises:
        OSError: The program could not be started.
    """
    wanted = cancel or Cancellation()
    deadline = time.monotonic() + timeout
    stdout, stderr = Tail(cap), Tail(WORDS_KEPT)
    child = spawn(argv)
    try:
        how = converse(
            child,
            stdin,
            {child.stdout: stdout.add, child.stderr: stderr.add},
            lambda still_open: stdout.overflowed or not still_open,
            deadline,
            wanted,
            hang_up=True,
        )
        if how in ("answered", "gone") and not stdout.overflowed:
            how = _wait(child, deadline, wanted)
    except BaseException:
        end(child, NO_GRACE)
        raise
    if how == "answered" and child.status == 0 and not stdout.overflowed:
        child.close()
    else:
        end(child, grace or Grace(_LIMITS.grace))
    status = -9 if child.status is None else child.status
    return Completed(
        stdout.content(),
        stderr.content(),
        status,
        timed_out=how == "timeout",
        cancelled=how == "cancelled",
        too_large=stdout.overflowed,
    )


def _wait(child: Child, deadline: float, cancel: Cancellation) -> Ended:
    """Wait for the end of a process that has closed its output."""
    pause = 0.0005
    while not child.reap():
        left = deadline - time.monotonic()
        if left <= 0:
            return "timeout"
        if cancel.wait(min(pause, left)):
            return "cancelled"
        pause = min(pause * 2, 0.02)
    return "answered"
