"""Many D-Bus calls at once on one connection, answers in the order of the calls.

Calls are sent ahead of their answers, so that a hundred attributes cost about one round trip. An
answer that comes after its time is dropped. Source: D-Bus specification, "Message Protocol".
"""

import select
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from math import ceil
from typing import Any, Final, NamedTuple

from jeepney import DBusAddress, HeaderFields, MessageFlag, MessageType, new_method_call
from jeepney.io.blocking import DBusConnection, prep_socket
from jeepney.low_level import Message

from iac_accessibility.atspi.decode import BusReply, ReplyParser
from iac_accessibility.model import (
    AccessDenied,
    ActionFailed,
    AppNotResponding,
    ElementGone,
    UiFault,
    Unsupported,
)

AHEAD: Final = 100
"""Calls that may be under way at once; a bus refuses more than 128 of one client."""

_PIECE: Final = 1 << 18
"""Bytes that are taken from the connection at once."""

_SERIAL: Final = 8
"""Where in a message its serial number stands."""

_SERVICES: Final = ("org.a11y.Bus", "org.a11y.atspi.Registry")
_GONE: Final = ("UnknownObject", "ServiceUnknown", "NameHasNoOwner", "Disconnected")
_MISSING: Final = ("UnknownMethod", "UnknownInterface", "UnknownProperty", "InvalidArgs")


class BusCall(NamedTuple):
    """A method call; `body` fits `signature`."""

    destination: str
    path: str
    interface: str
    member: str
    signature: str = ""
    body: tuple[Any, ...] = ()

    def to_message(self) -> Message:
        """Return it as a message; one that starts nobody but the accessibility service itself."""
        address = DBusAddress(self.path, self.destination, self.interface)
        message = new_method_call(address, self.member, self.signature, self.body)
        if self.destination not in _SERVICES:
            message.header.flags |= MessageFlag.no_auto_start
        return message


def connect_bus(address: str, timeout: float) -> DBusConnection:
    """Return a connection to the bus at `address` (`unix:path=…,guid=…`).

    Raises:
        Silent: Nobody answers there.
    """
    from jeepney.bus import get_bus

    try:
        return DBusConnection(prep_socket(get_bus(address), timeout=timeout))
    except KeyError:
        raise AppNotResponding(
            "this session has no D-Bus (DBUS_SESSION_BUS_ADDRESS is not set)"
        ) from None
    except (OSError, ValueError, RuntimeError) as error:
        raise AppNotResponding(f"the desktop's D-Bus cannot be reached: {error}") from None


@lru_cache(maxsize=8_192)
def _encode_call(call: BusCall) -> bytes:
    return bytes(call.to_message().serialise(serial=1))


def _encode_numbered(call: BusCall, serial: int) -> bytes:
    """Return the message of a call; encoding the same call again costs next to nothing."""
    try:
        data = _encode_call(call)
    except TypeError:
        # An argument that is a list cannot be remembered.
        return bytes(call.to_message().serialise(serial=serial))
    return data[:_SERIAL] + struct.pack("<I", serial) + data[_SERIAL + 4 :]


class ConnectionPool:
    """Connections to one bus; each is used by one thread at a time.

    Args:
        address: Of the bus.
        limit: Connections that are kept.
    """

    def __init__(self, address: str, limit: int = 8) -> None:
        self.address = address
        self._limit = limit
        self._idle: list[DBusConnection] = []
        self._lock = threading.Lock()
        self._closed = False

    def call(self, call: BusCall, timeout: float) -> tuple[Any, ...]:
        """Return the body of the answer.

        Raises:
            UiFault: The call failed or was not answered.
        """
        answer = self.call_all((call,), timeout)[0]
        if isinstance(answer, UiFault):
            raise answer
        return answer

    def call_all(self, calls: Sequence[BusCall], timeout: float) -> list[tuple[Any, ...] | UiFault]:
        """Return the bodies of the answers in the order of the calls, a fault where one failed."""
        if not calls:
            return []
        with self._borrow_connection(timeout) as connection:
            return _exchange_calls(connection, calls, time.monotonic() + timeout)

    def close(self) -> None:
        """Close the connections that are not in use; the others close when they are returned."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _borrow_connection(self, timeout: float) -> Iterator[DBusConnection]:
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = connect_bus(self.address, max(timeout, 0.2))
            connection.parser = ReplyParser()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        with self._lock:
            if not self._closed and len(self._idle) < self._limit:
                self._idle.append(connection)
                return
        connection.close()


def _exchange_calls(
    connection: DBusConnection, calls: Sequence[BusCall], end: float
) -> list[tuple[Any, ...] | UiFault]:
    silent: UiFault = AppNotResponding("no answer in time")
    answers: list[tuple[Any, ...] | UiFault] = [silent] * len(calls)
    waiting: dict[int, int] = {}
    sent = 0
    # Made for each exchange: it costs less than the library's selector does for each message.
    ready = select.poll()
    ready.register(connection.sock, select.POLLIN)
    try:
        while sent < len(calls) or waiting:
            if sent < len(calls) and len(waiting) <= AHEAD // 2:
                batch = bytearray()
                for number in range(sent, min(sent + AHEAD - len(waiting), len(calls))):
                    serial = next(connection.outgoing_serial)
                    batch += _encode_numbered(calls[number], serial)
                    waiting[serial] = number
                    sent = number + 1
                connection.sock.sendall(batch)
            message = _next_message(connection, ready, end)
            if isinstance(message, BusReply):
                place = waiting.pop(message.serial, None)
                if place is not None:
                    answers[place] = message.body
                continue
            place = waiting.pop(message.header.fields.get(HeaderFields.reply_serial, -1), None)
            if place is not None:
                answers[place] = _parse_answer(message)
    except TimeoutError:
        pass
    return answers


def _next_message(connection: DBusConnection, ready: select.poll, end: float) -> Any:
    """Return the next message; what is there is taken in one piece, as the library does not.

    Raises:
        TimeoutError: None came until `end`.
    """
    while (message := connection.parser.get_next_message()) is None:
        left = max(end - time.monotonic(), 0.0)
        if not ready.poll(ceil(left * 1_000)):
            raise TimeoutError
        data = connection.sock.recv(_PIECE)
        if not data:
            raise ConnectionResetError("the desktop's message bus (D-Bus) closed the connection")
        connection.parser.add_data(data)
    return message


def _parse_answer(message: Message) -> tuple[Any, ...] | UiFault:
    if message.header.message_type is not MessageType.error:
        body: tuple[Any, ...] = message.body
        return body
    name = message.header.fields.get(HeaderFields.error_name, "")
    words = str(message.body[0]) if message.body else name
    kind = name.rpartition(".")[2]
    if kind in _GONE:
        return ElementGone(words)
    if kind in _MISSING:
        return Unsupported(words)
    if kind == "AccessDenied":
        return AccessDenied(words)
    if kind in ("NoReply", "Timeout", "TimedOut"):
        # The bus answers so for an app that ended with a call under way.
        return ElementGone(words) if "disconnect" in words.lower() else AppNotResponding(words)
    return ActionFailed(words)
