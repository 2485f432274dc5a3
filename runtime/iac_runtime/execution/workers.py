"""Workers, each an osascript that carries out request after request: one an app, replaced in time.

It reads requests from descriptor 3, a JSON line each, and answers on descriptor 4, so that neither
its own output nor that of an app can disturb them. Each request carries a mark that nobody can
guess, and its answer repeats it. A read is answered in one line; a write, and a read that has
another before it, in one as it is sent, one as the app answers, one with what was read after it.

An app's lock is held around all use of its worker, so no two calls meet in one.
"""

import os
import threading
import time
from collections.abc import Sequence
from typing import Any, Final

from iac_base.cancellation import Cancellation
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
    let_child_end,
    spawn_child,
)
from iac_runtime.execution.streams import (
    WORDS_KEPT,
    ConversationEnd,
    StreamTail,
    communicate_until,
    drain,
)

_LONGEST_PAUSE: Final = 600.0
"""Seconds until a worker is tried again, at most: each failure doubles the pause."""

_PATIENCE: Final = 1.0
"""Seconds that a worker has to end by itself."""

_LOST: Final = frozenset(n for n, row in APPLE_ERRORS.items() if row.type == "APP_NOT_RUNNING")
"""The numbers after which a worker's connection to the app is gone for good."""

_HELLO: Final = "hello"
"""The mark of the line by which a worker says that it is there."""


class Worker:
    """One osascript with the harness in its loop. One thread at a time may use it.

    Args:
        argv: The command that runs the harness, without the descriptors.
        cap: Bytes of an answer.

    Raises:
        OSError: It could not be started.
    """

    def __init__(self, argv: Sequence[str], cap: int) -> None:
        self.child: Child = spawn_child([*argv, str(REQUESTS), str(ANSWERS)], channel=True)
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
        worn = worker.calls >= self._limits.calls
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
        worker = Worker(self._argv, self._limits.answer)
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
