"""Running a blocking call of the gate in a thread that a client's cancel ends."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from iac_runtime.execution.cancellation import Cancellation

__all__ = ["THREADS", "in_thread"]

THREADS: Final = 80
"""Calls at once: all that the executor lets run or wait (4 and 64), and some that it answers with
BUSY at once. Without room for these, a client would wait for that answer too."""

T = TypeVar("T")


def _tamed(call: Callable[[Cancellation], T], cancel: Cancellation) -> T:
    """Carry out a call; one that wants to end the program ends itself alone."""
    try:
        return call(cancel)
    except (SystemExit, KeyboardInterrupt) as error:
        raise RuntimeError(f"the call raised {type(error).__name__}") from error


async def in_thread(
    call: Callable[[Cancellation], T],
    limiter: anyio.CapacityLimiter,
    beside: Callable[[Cancellation], Awaitable[object]] | None = None,
) -> T:
    """Run a call in a thread; when the client cancels it, its process is ended, then the thread.

    Args:
        call: What to run.
        limiter: How many threads there may be.
        beside: Runs beside the call until that is over; it may cancel it, and does not raise.

    Raises:
        Exception: What the call raised, as itself.
    """
    cancel = Cancellation()

    async def watch() -> None:
        try:
            if beside is not None:
                await beside(cancel)
            await anyio.sleep_forever()
        finally:
            cancel.cancel()

    outcome: list[T] = []
    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        try:
            # Shielded: it returns when the thread is done, which the watcher hastens.
            outcome.append(await anyio.to_thread.run_sync(_tamed, call, cancel, limiter=limiter))
        except Exception as error:
            # It must leave the group as itself, not in an exception group.
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return outcome[0]
