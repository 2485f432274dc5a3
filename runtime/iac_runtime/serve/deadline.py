"""Word of how long a request runs, to a client that wants it, and its end before the client's own.

Some clients drop a call after 60 seconds without a word; what would last longer, its wait for a
turn included, is ended here before that, with an answer that says how to go on.
"""

import sched
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple, Protocol

from iac_base.cancellation import Cancellation
from iac_base.errors import ToolError
from iac_runtime.execution.answers import OUTCOME_UNKNOWN
from iac_runtime.gate.results import MOST_SECONDS
from iac_runtime.policy.facts import Verdict
from iac_runtime.serve.options import CALL_SECONDS
from iac_runtime.tool import Level

EVERY: Final = 3.0
"""Seconds between two reports."""

_AFTER: Final = 4.0
"""Seconds for what follows the end of a call, before it is ended from here."""


class RemoteClient(NamedTuple):
    """A client that a token proved.

    Attributes:
        holder, most: As `CallFacts` has them; the holder begins with one of `PROVEN`.
        asks: Whether it may put questions to a person itself.
    """

    holder: str
    most: Level
    asks: bool = True


PROVEN: Final = ("http:", "oauth:")
"""How the names of clients begin that a token proved; no other is called so."""


class Peer(Protocol):
    """The client of one request.

    Attributes:
        name: As it names itself.
        modern: Whether it speaks the version without a handshake.
        declared: Whether it said that it can ask a person.
        views: Whether it shows views beside results.
        remote: What its token proved; None for a program of this user.
    """

    name: str
    modern: bool
    declared: bool
    views: bool
    remote: "RemoteClient | None"

    def report(self, seconds: float, said: str) -> None:
        """Tell how long the request has run; without a token of the client's, nothing."""

    def elicit(
        self, params: Mapping[str, Any], cancel: Cancellation, seconds: float
    ) -> Verdict | tuple[str, Mapping[str, Any] | None]:
        """Send `elicitation/create`; return the action and the content, or why there are none."""
        ...


class Deadline:
    """Watches over the calls of one request.

    Args:
        peer: Whom to tell.
        tool: The tool's name, for what is told.
        patience: Seconds for one call of the gate.
        every: Seconds between two reports.
    """

    def __init__(
        self, peer: Peer, tool: str, patience: float = CALL_SECONDS, every: float = EVERY
    ) -> None:
        self._peer = peer
        self._tool = tool
        self._patience = patience
        self._every = every
        self._began = time.monotonic()
        self._over = False

    def allow_longer(self, seconds: Any) -> None:
        """Wait longer for a call that asks for more time; what is no time changes nothing."""
        number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if number and self._patience < seconds <= MOST_SECONDS:
            self._patience = seconds + _AFTER

    @contextmanager
    def with_progress(
        self, cancel: Cancellation, *, patient: bool = False
    ) -> Iterator[Cancellation]:
        """Report while the block runs, and end what takes too long; yield what ends the block.

        Args:
            cancel: Ends the whole request.
            patient: Whether the block may take any time, for a person is asked in it.
        """
        inner = Cancellation()
        most = float("inf") if patient else self._patience
        until = time.monotonic() + most

        def check_time() -> float | None:
            left = until - time.monotonic()
            if left <= 0:
                self._over = True
                inner.cancel()
                return None
            self._report_progress(inner)
            return min(self._every, left)

        with cancel.on_cancel(inner.cancel), _call_repeatedly(check_time, min(self._every, most)):
            yield inner

    def _report_progress(self, cancel: Cancellation) -> None:
        seconds = time.monotonic() - self._began
        said = f"{self._tool}: running for {seconds:.0f} seconds"
        self._peer.report(round(seconds, 1), f"{said}; {cancel.word}" if cancel.word else said)

    def explain_error(self, error: ToolError) -> ToolError:
        """Return what to say of an error: of one that is due to the end that was made, another."""
        if not self._over or error.type != "USER_CANCELLED":
            return error
        said = f"The call did not finish in {self._patience:g} seconds, and was stopped."
        way = "Ask for less: a limit, a filter, fewer properties, or one object."
        if error.suggestion == OUTCOME_UNKNOWN:
            way = OUTCOME_UNKNOWN
        elif not error.suggestion:
            way = "Nothing was sent, because the app was busy. Call again a little later."
        return ToolError(
            "TIMEOUT",
            said,
            way,
            retryable=way != OUTCOME_UNKNOWN,
            app=error.app,
            command=error.command or self._tool,
        )


_clock: Final = sched.scheduler(time.monotonic)
_sooner: Final = threading.Event()
_only: Final = threading.Lock()
"""One thread looks after all blocks; held for good once it runs."""


@contextmanager
def _call_repeatedly(look: Callable[[], float | None], first: float) -> Iterator[None]:
    """Call `look` (not raising) after `first` seconds, and after those that it returned.

    It is called in another thread, one at a time, and never after the block.
    """
    lock, running = threading.Lock(), True

    event: sched.Event | None = None

    def call_again() -> None:
        nonlocal event
        with lock:
            seconds = look() if running else None
            event = None if seconds is None else _clock.enter(seconds, 0, call_again)

    event = _clock.enter(first, 0, call_again)
    if _only.acquire(blocking=False):
        threading.Thread(target=_run_clock, name="iac-clock", daemon=True).start()
    elif _clock.queue[:1] == [event]:
        _sooner.set()
    try:
        yield
    finally:
        with lock:
            running = False
            # It may be at work already.
            with suppress(ValueError):
                if event is not None:
                    _clock.cancel(event)


def _run_clock() -> None:
    while True:
        _sooner.clear()
        _sooner.wait(_clock.run(blocking=False))
