"""One connection of `iac-mcp serve --http`: how long it may take, and how many an address may have.

Whoever can reach the port can open connections, and each takes one of the few descriptors that the
process has: those of strangers are bounded before anything is read from them.
"""

import asyncio
import logging
import resource
import time
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from iac_base.logs import LOGGER

_HEAD_SECONDS: Final = 10.0
"""Seconds until a connection has sent the head of a request."""

_STALLED_SECONDS: Final = 60.0
"""Seconds that a reader has to make room for what is written to it."""

_REST_SECONDS: Final = 2.0
"""Seconds for the rest of a body that was answered before it was there: a client that closes with
less would lose the answer."""

_MOST: Final = 320
"""Connections of one address: one client may have 256 requests at once (`HttpLimits`)."""

_SPARE: Final = 96
"""Descriptors that connections leave free, for files, workers and the audit."""

_QUIET_SECONDS: Final = 60.0
"""Seconds until the same trouble is told again."""

_told: Final[dict[str, float]] = {}


class GuardedConnection(H11Protocol):
    """A connection that is in time, and one of not too many.

    It must send the head of a request soon, read what it asked for (what nobody reads would be held
    in memory for good), and end with an answer that came before the end of its body.
    """

    _stalled: asyncio.TimerHandle | None = None
    _made = 0.0

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request; of too many, one that asked for nothing goes."""
        super().connection_made(transport)
        self._made = self.loop.time()
        self.loop.call_later(_HEAD_SECONDS, self._close_without_head)
        if crowd := self._crowd():
            host = self.client[0] if self.client else "an unknown address"
            _tell_once("Connections of %s are closed: it has too many open.", host)
            silent = [other for other in crowd if other.cycle is None and other is not self]
            min(silent, key=lambda other: other._made, default=self).transport.abort()

    def pause_writing(self) -> None:
        """Begin to wait for a reader whose answers pile up."""
        super().pause_writing()
        self._stalled = self.loop.call_later(_STALLED_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: it has read."""
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()

    def on_response_complete(self) -> None:
        """Wait a little for the rest of a body that was answered early."""
        super().on_response_complete()
        if not self.transport.is_closing() and self.conn.their_state is h11.SEND_BODY:
            self.loop.call_later(_REST_SECONDS, self._close_without_rest, self.cycle)

    def _crowd(self) -> "list[GuardedConnection]":
        """Return the connections of this address where they are too many, of all where all are."""
        others = [row for row in self.connections if isinstance(row, GuardedConnection)]
        descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        room = max(descriptors - _SPARE, descriptors // 2)
        host = self.client[0] if self.client else ""
        same = [row for row in others if row.client and row.client[0] == host]
        trusted = self.config.proxy_headers and host in self.config.forwarded_allow_ips
        if not trusted and len(same) > min(_MOST, room * 2 // 3):
            return same
        return others if len(others) > room else []

    def _close_without_head(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()

    def _close_without_rest(self, answered: object) -> None:
        if self.cycle is answered and self.conn.their_state is h11.SEND_BODY:
            self.transport.close()


def allow_descriptors() -> None:
    """Take as many descriptors as the system lets this process have, up to 4,096."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4_096 if hard == resource.RLIM_INFINITY else min(4_096, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def quiet_full_table(row: logging.LogRecord) -> bool:
    """Filter of asyncio's log: that no descriptor is left is told by one line a minute.

    asyncio tells it a thousand times a second, each time with a traceback.
    """
    if "out of system resource" not in row.getMessage():
        return True
    _tell_once("Nobody can connect: the process has no file descriptor left.")
    return False


def _tell_once(message: str, *facts: str) -> None:
    now = time.monotonic()
    if now - _told.get(message, -_QUIET_SECONDS) >= _QUIET_SECONDS:
        _told[message] = now
        logging.getLogger(f"{LOGGER}.http").warning(message, *facts)
