"""Serving over standard input and output, from the first byte to the last."""

import os
import signal
import time
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, Final

from iac_runtime.front.answers import Identity
from iac_runtime.front.routing import Router
from iac_runtime.front.sdk import Sessions
from iac_runtime.front.wire import Wire, claim

__all__ = ["GRACE", "serve"]

GRACE: Final = 0.45
"""Seconds that calls have to end when the client closes its end or a signal arrives."""


class _StopError(Exception):
    """A signal asked for the end."""


def serve(
    identity: Identity,
    lines: Callable[[], list[bytes]],
    build: Callable[[], Any],
    close: Callable[[], None] = lambda: None,
    options: Callable[[], Any] = lambda: None,
    *,
    others: Mapping[str, Callable[[], list[bytes]]] = {},
    hear: Callable[[Callable[[], None]], object] = lambda _tell: None,
) -> None:
    """Serve until the client closes its end, or TERM or INT arrives; over within a second.

    Args:
        identity: What the server says of itself.
        lines: Returns the finished entries of tools/list.
        build: Makes the SDK's server on first need, in another thread.
        close: Ends what the server began (children, files); called once, at the end.
        options: The SDK's options of the notifications that the server can send.
        others: Returns the finished entries of other listings, by method.
        hear: Is given what to call, in any thread, when the lists are others.
    """
    wire = claim()
    sessions = Sessions(build, wire.write, options)
    router = Router(identity, lines, sessions, wire.write, others)
    hear(router.changed)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _stop)
    # The system may hand a signal to any thread; the one that reads must see it.
    signal.set_wakeup_fd(wire.alarm, warn_on_full_buffer=False)
    grace = GRACE
    try:
        _read(wire, router)
    except _StopError:
        grace = 0.0
    _end(sessions, close, grace)


def _read(wire: Wire, router: Router) -> None:
    for line in wire:
        router.take(line)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _StopError


def _end(sessions: Sessions, close: Callable[[], None], grace: float) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    started = time.monotonic()
    sessions.close(grace)
    try:
        close()
    finally:
        if time.monotonic() - started > 2 * GRACE or sessions.failure is not None:
            # A thread that does not end must not keep the process.
            os._exit(0 if sessions.failure is None else 1)
