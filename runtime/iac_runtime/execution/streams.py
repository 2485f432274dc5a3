"""Talking with a process over its pipes until an answer, a deadline or its end; one run a call."""

import contextlib
import os
import select
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal

from iac_base.cancellation import Cancellation
from iac_runtime.execution.locks import ExecutionLimits
from iac_runtime.execution.process import (
    NO_GRACE,
    Child,
    Completed,
    Grace,
    end_child,
    has_ended,
    spawn_child,
    wait_for,
)

ConversationEnd = Literal["answered", "gone", "timeout", "cancelled"]
"""How a conversation ended: with all that was wanted, because the process ended first, or by us."""

_CHUNK: Final = 1 << 16
_GLANCE: Final = 0.1
"""Seconds between looks at whether the process lives: its end shows on no pipe while a grandchild
holds them open."""

WORDS_KEPT: Final = 64 * 1024
"""Bytes of standard error that are kept: the last ones, where the reason stands."""

_LIMITS: Final = ExecutionLimits()

_LAST_READS: Final = 256
"""Reads of what an ended process left; a grandchild may go on writing for ever."""


class StreamTail:
    """The last `limit` bytes of a stream."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self.overflowed = False

    def add(self, data: bytes) -> None:
        """Take in what was read."""
        self._kept += data
        if len(self._kept) > self._limit:
            self.overflowed = True
            # Cut rarely: each cut moves what is kept.
            if len(self._kept) > 2 * self._limit:
                del self._kept[: -self._limit]

    def content(self) -> bytes:
        """Return what is kept."""
        return bytes(self._kept[-self._limit :])


def communicate_until(
    child: Child,
    message: bytes,
    sinks: Mapping[int, Callable[[bytes], object]],
    enough: Callable[[set[int]], bool],
    deadline: float,
    cancel: Cancellation,
    *,
    hang_up: bool = False,
) -> ConversationEnd:
    """Write `message` to the child and read its output until there is enough.

    Args:
        sinks: What to do with the bytes of each descriptor.
        enough: Asked after each round, with the descriptors that are still open.
        deadline: On the monotonic clock.
        hang_up: Close what the child reads from, once the message is written.
    """
    poller = select.poll()
    still_open = set(sinks)
    for descriptor in sinks:
        poller.register(descriptor, select.POLLIN)
    rest = memoryview(message)
    sending = True
    poller.register(child.feed, select.POLLOUT)
    glanced = time.monotonic()
    cancelled = False
    with _cancel_descriptor(cancel) as wake:
        poller.register(wake, select.POLLIN)
        while True:
            now = time.monotonic()
            if cancelled:
                return "cancelled"
            if now >= deadline:
                return "timeout"
            ready = poller.poll(min(deadline - now, _GLANCE) * 1000)
            for descriptor, _ in ready:
                if descriptor == wake:
                    cancelled = True
                elif descriptor in still_open:
                    data = _read_available(descriptor)
                    if data:
                        sinks[descriptor](data)
                    elif data is not None:
                        poller.unregister(descriptor)
                        still_open.discard(descriptor)
                elif descriptor == child.feed and sending:
                    rest = _write_available(descriptor, rest)
                    if not rest:
                        sending = False
                        poller.unregister(descriptor)
                        if hang_up:
                            child.hang_up()
            if enough(still_open):
                return "answered"
            if now - glanced >= _GLANCE:
                glanced = now
                if has_ended(child):
                    return _read_remainder(still_open, sinks, enough)


def _read_remainder(
    still_open: set[int],
    sinks: Mapping[int, Callable[[bytes], object]],
    enough: Callable[[set[int]], bool],
) -> ConversationEnd:
    for descriptor in still_open:
        drain(descriptor, sinks[descriptor])
    return "answered" if enough(set()) else "gone"


def drain(descriptor: int, sink: Callable[[bytes], object]) -> None:
    """Read what a process that has ended left in a pipe."""
    for _ in range(_LAST_READS):
        data = _read_available(descriptor)
        if not data:
            break
        sink(data)


def _read_available(descriptor: int) -> bytes | None:
    """Return what is there, nothing at the end, None if there is nothing yet."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None


def _write_available(descriptor: int, rest: memoryview) -> memoryview:
    """Write what fits and return the rest; a reader that is gone needs no more."""
    try:
        return rest[os.write(descriptor, rest) :]
    except BlockingIOError:
        return rest
    except BrokenPipeError:
        return rest[:0]


@contextlib.contextmanager
def _cancel_descriptor(cancel: Cancellation) -> Iterator[int]:
    """Give a descriptor that can be read once the call is cancelled."""
    reading, writing = os.pipe()
    try:
        with cancel.on_cancel(lambda: os.write(writing, b"x")):
            yield reading
    finally:
        os.close(reading)
        os.close(writing)


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
    stdout, stderr = StreamTail(cap), StreamTail(WORDS_KEPT)
    child = spawn_child(argv)
    try:
        how = communicate_until(
            child,
            stdin,
            {child.stdout: stdout.add, child.stderr: stderr.add},
            lambda still_open: stdout.overflowed or not still_open,
            deadline,
            wanted,
            hang_up=True,
        )
        if how in ("answered", "gone") and not stdout.overflowed:
            # It has closed its output; its end may be a little later.
            left = deadline - time.monotonic()
            ended = wait_for(child.reap, lambda: left, wanted)
            how = "answered" if ended else "cancelled" if wanted.is_cancelled else "timeout"
    except BaseException:
        end_child(child, NO_GRACE)
        raise
    if how == "answered" and child.status == 0 and not stdout.overflowed:
        child.close()
    else:
        # What it says while it is ended counts too: a write may be sent as late as that.
        end_child(child, grace or Grace(_LIMITS.grace), lambda: drain(child.stdout, stdout.add))
    status = -9 if child.status is None else child.status
    return Completed(
        stdout.content(),
        stderr.content(),
        status,
        timed_out=how == "timeout",
        cancelled=how == "cancelled",
        too_large=stdout.overflowed,
    )
