"""Workers, each an osascript that carries out request after request: one an app, replaced in time.

It reads requests from descriptor 3, a JSON line each, and answers on descriptor 4, so that neither
its own output nor that of an app can disturb them. Each request carries a mark that nobody can
guess, and its answer repeats it. A read is answered in one line; a write, and a read that has
another before it, in one as it is sent, one as the app answers, one with what was read after it.

An app's lock is held around all use of its worker, so no two calls meet in one.

A process is talked with over its pipes until an answer, a deadline or its end.
"""

import contextlib
import os
import select
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from iac_base.errors import Cancellation
from iac_runtime.apple_errors import APPLE_ERRORS
from iac_runtime.execution.answers import ExchangeReply, parse_worker_line
from iac_runtime.execution.locks import ExecutionLimits
from iac_runtime.execution.process import (
    ANSWERS,
    NO_GRACE,
    REQUESTS,
    Child,
    Completed,
    Grace,
    end_child,
    has_ended,
    let_child_end,
    resident_memory,
    spawn_child,
    wait_for,
)

_LONGEST_PAUSE: Final = 600.0
"""Seconds until a worker is tried again, at most: each failure doubles the pause."""

_PATIENCE: Final = 1.0
"""Seconds that a worker has to end by itself."""

_LOST: Final = frozenset(n for n, row in APPLE_ERRORS.items() if row.type == "APP_NOT_RUNNING")
"""The numbers after which a worker's connection to the app is gone for good."""

_WEIGHED: Final = 25
"""Calls between two looks at the memory of a worker."""

_HELLO: Final = "hello"
"""The mark of the line by which a worker says that it is there."""


class Worker:
    """One osascript with the harness in its loop. One thread at a time may use it.

    Args:
        argv: The command that runs the harness, without the descriptors.
        cap: Bytes of an answer.
        frees: Whether it frees what it holds of one request before the next.

    Raises:
        OSError: It could not be started.
    """

    def __init__(self, argv: Sequence[str], cap: int, *, frees: bool = True) -> None:
        words = [str(REQUESTS), str(ANSWERS), *([] if frees else ["unfreed"])]
        self.child: Child = spawn_child([*argv, *words], channel=True)
        assert self.child.answers is not None
        self._answers = self.child.answers
        self._cap = cap
        self._stdout, self._stderr = StreamTail(WORDS_KEPT), StreamTail(WORDS_KEPT)
        self._heard = bytearray()
        self._lines = 0
        self._said: dict[str, Any] = {}
        self.calls = 0
        self.rested = time.monotonic()

    def send_request(
        self, request: bytes, mark: str, deadline: float, cancel: Cancellation
    ) -> ExchangeReply:
        """Send a request (a line) and return its answer; with none, wait for one more."""
        child = self.child
        if request:
            self.calls += 1
            self._said = {}
        reply: ExchangeReply | None = None

        def enough(still_open: set[int]) -> bool:
            nonlocal reply
            while self._lines and reply is None:
                reply = self._next(mark)
            over = self._answers not in still_open or len(self._heard) > self._cap
            return over or reply is not None

        how: ConversationEnd = "answered"
        if request or not enough({self._answers}):
            how = communicate_until(
                child,
                request,
                {self._answers: self._receive_bytes, child.stdout: self._stdout.add}
                | {child.stderr: self._stderr.add},
                enough,
                deadline,
                cancel,
            )
        self.rested = time.monotonic()
        if how != "answered":
            return ExchangeReply(how)
        return reply or self._next(mark) or ExchangeReply("gone")

    def end(self, reply: ExchangeReply, mark: str, grace: Grace) -> ExchangeReply:
        """End it after a request without an answer; return the reply, with all that it said."""
        end_child(self.child, grace, lambda: drain(self._answers, self._receive_bytes))
        damaged = reply.how in ("damaged", "too large")
        while self._lines and not damaged:
            # It may have answered while it was ended.
            line = self._next(mark)
            if line is not None and line.how == "answered":
                return line
            damaged = line is not None and line.how != "stray"
        sent = damaged or bool(self._said or self._heard)
        return reply._replace(left=self._left(), said=self._said, sent=sent)

    def _next(self, mark: str) -> ExchangeReply | None:
        """Take the next line that was heard; return the reply, None where more is to come."""
        size = self._heard.find(b"\n") + 1
        if size > self._cap or (not size and len(self._heard) > self._cap):
            return ExchangeReply("too large")
        if not size:
            return ExchangeReply("gone")
        body = bytes(self._heard[:size])
        del self._heard[:size]
        self._lines -= 1
        return parse_worker_line(body, mark, self._said)

    def _left(self) -> Completed:
        """Return the last of what one that has ended wrote, and its exit status."""
        status = 255 if self.child.status is None else self.child.status
        return Completed(self._stdout.content(), self._stderr.content(), status)

    def is_silent(self) -> bool:
        """Say whether it lives and has said nothing unasked; otherwise it is of no more use."""
        if self._heard:
            return False
        try:
            os.read(self._answers, 1)
        except BlockingIOError:
            return True
        return False

    def _receive_bytes(self, data: bytes) -> None:
        self._heard += data
        self._lines += data.count(b"\n")


class WorkerPool:
    """Workers by app; safe to share between threads that hold the locks of their apps.

    Args:
        argv: The command that runs the harness.
        limits: When a worker is replaced or given up.
        grace: How long one that must be ended has.
    """

    def __init__(self, argv: Sequence[str], limits: ExecutionLimits, grace: Grace) -> None:
        self._argv = tuple(argv)
        self._grace = grace
        self._limits = limits
        self._change = threading.Condition()
        self._idle: dict[str, Worker] = {}
        self._leaving: list[Worker] = []
        self._without: dict[str, tuple[float, float]] = {}
        """App -> when a worker is tried again, and how long the pause before that is."""
        self._keeper: threading.Thread | None = None
        self._closed = False
        self._frees = True
        self._owner = os.getpid()

    def send_request(
        self, app: str, request: bytes, mark: str, deadline: float, cancel: Cancellation
    ) -> ExchangeReply | None:
        """Have a request carried out by the worker of an app; its lock is the caller's to hold.

        Args:
            app: The bundle id.
            request: One line.
            mark: What the request carries and its answer has to repeat.
            deadline: On the monotonic clock.

        Returns:
            The reply; None where no worker can be had for this app: nothing was sent.

        Raises:
            OSError: The program could not be started.
        """
        worker = self._take_worker(app)
        if worker is None:
            until, pause = self._without.get(app, (0.0, self._limits.pause / 2))
            if time.monotonic() < until:
                return None
            started = self._start_worker(app, deadline, cancel)
            if started is None:
                pause = min(2 * pause, _LONGEST_PAUSE)
                self._without[app] = (time.monotonic() + pause, pause)
            if not isinstance(started, Worker):
                return started
            self._without.pop(app, None)
            worker = started
        strays = 0
        try:
            reply = worker.send_request(request, mark, deadline, cancel)
            while reply.how == "stray":
                # The answer to an earlier request is no answer to this one, nor a fault of it.
                strays += 1
                reply = worker.send_request(b"", mark, deadline, cancel)
        except BaseException:
            end_child(worker.child, NO_GRACE)
            raise
        if reply.answer is None:
            return worker.end(reply, mark, self._grace)
        lost = reply.answer.get("number") in _LOST
        worn = worker.calls >= self._limits.calls or (
            worker.calls % _WEIGHED == 0 and resident_memory(worker.child.pid) > self._limits.memory
        )
        self._return_worker(app, worker, keep=not (strays or lost or worn))
        return reply

    def close(self) -> None:
        """End all workers that wait for work; those at work are ended by their calls."""
        with self._change:
            self._closed = True
            keeper = self._keeper
            self._retire_workers(list(self._idle))
            self._change.notify_all()
        if keeper is not None and self._owner == os.getpid():
            keeper.join()

    def worker_states(self) -> dict[str, str]:
        """Return the bundle ids of the apps whose worker waits, or that do without one."""
        with self._change:
            found = dict.fromkeys(self._without, "one process a call")
            return found | {
                app: "idle" if worker.is_silent() else "ended" for app, worker in self._idle.items()
            }

    def _take_worker(self, app: str) -> Worker | None:
        """Return the app's worker, if there is one that is still good."""
        with self._change:
            if self._owner != os.getpid():
                # A forked copy of this process: the workers are those of the original.
                self._idle, self._leaving, self._keeper = {}, [], None
                self._owner = os.getpid()
            worker = self._idle.pop(app, None)
        if worker is not None and not worker.is_silent():
            end_child(worker.child, self._grace)
            return None
        return worker

    def _start_worker(
        self, app: str, deadline: float, cancel: Cancellation
    ) -> Worker | ExchangeReply | None:
        """Return a worker that said hello; else why the call ends, or None to do without."""
        worker = Worker(self._argv, self._limits.answer, frees=self._frees)
        patience = time.monotonic() + self._limits.hello
        try:
            reply = worker.send_request(b"", _HELLO, min(patience, deadline), cancel)
        except BaseException:
            end_child(worker.child, NO_GRACE)
            raise
        if reply.how == "answered":
            return worker
        end_child(worker.child, self._grace)
        if reply.how == "cancelled" or (reply.how == "timeout" and deadline <= patience):
            return reply._replace(sent=False)
        if reply.how == "gone" and self._frees:
            self._frees = False
            found = self._start_worker(app, deadline, cancel)
            self._frees = not isinstance(found, Worker)
            return found
        import logging

        logging.getLogger("iac.workers").warning(
            "no worker is available for %s: each call starts a separate process", app
        )
        return None

    def _return_worker(self, app: str, worker: Worker, *, keep: bool) -> None:
        """Let a worker wait for the next call, or see it off."""
        with self._change:
            if keep and not self._closed:
                self._idle[app] = worker
                if len(self._idle) > self._limits.kept:
                    self._retire_workers([min(self._idle, key=lambda key: self._idle[key].rested)])
            else:
                self._leaving.append(worker)
            if self._keeper is None:
                self._keeper = threading.Thread(
                    target=self._retire_idle, name="iac-workers", daemon=True
                )
                self._keeper.start()
            elif self._leaving:
                self._change.notify_all()

    def _retire_workers(self, apps: list[str]) -> None:
        for app in apps:
            self._leaving.append(self._idle.pop(app))

    def _retire_idle(self) -> None:
        """See workers off when it is time, away from the calls; ends when there are none."""
        while True:
            with self._change:
                while not self._leaving:
                    now = time.monotonic()
                    due = [
                        app
                        for app, worker in self._idle.items()
                        if now - worker.rested >= self._limits.idle
                    ]
                    self._retire_workers(due)
                    if due:
                        break
                    if self._closed:
                        self._keeper = None
                        return
                    rested = [worker.rested for worker in self._idle.values()]
                    wait = min(rested, default=now) + self._limits.idle - now
                    self._change.wait(wait)
                leaving, self._leaving = self._leaving, []
            for worker in leaving:
                worker.child.hang_up()
            for worker in leaving:
                let_child_end(worker.child, _PATIENCE, self._grace)


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
