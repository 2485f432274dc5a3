"""Many D-Bus calls at once on one connection, answers in the order of the calls.

Calls are sent ahead of their answers, so that a hundred attributes cost about one round trip. An
answer that comes after its time is dropped. A tree is thousands of short answers (a text, a number,
a list of references) or one long one (the snapshot of a whole app). Decoding those through a
general parser is most of the time that reading a tree takes, so these few forms are read here; all
else goes through jeepney: calls, signals, errors, other byte orders.
Source: D-Bus specification, "Message Protocol", "Marshaling" and "Message Format"; at-spi2-core,
Cache.xml.
"""

import select
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from math import ceil
from typing import Any, Final, NamedTuple

from jeepney import DBusAddress, HeaderFields, MessageFlag, MessageType, new_method_call
from jeepney.io.blocking import DBusConnection, prep_socket
from jeepney.low_level import Message, Parser, calc_msg_size

from iac_accessibility.model import (
    AccessDenied,
    ActionFailed,
    AppNotResponding,
    ElementGone,
    UiFault,
    Unsupported,
)

ITEMS: Final = "a((so)(so)(so)iiassusau)"
"""Reference, app, parent, index, number of children, interfaces, name, role, description,
states."""

_LITTLE: Final = ord("l")
_RETURN: Final = 2
_WORD: Final = struct.Struct("<I").unpack_from
_SIZES: Final = struct.Struct("<I4xI").unpack_from
_PAIR: Final = struct.Struct("<II").unpack_from
_NUMBERS: Final = struct.Struct("<iiI").unpack_from
_INTEGER: Final = struct.Struct("<i").unpack_from
_DOUBLE: Final = struct.Struct("<d").unpack_from


class BusReply(NamedTuple):
    """An answer: the serial number of its call, and its body."""

    serial: int
    body: tuple[Any, ...]


class ReplyParser(Parser):  # type: ignore[misc]
    """The library's parser, with a short cut for the commonest answers."""

    def __init__(self) -> None:
        super().__init__()
        self._held = bytearray()
        self._at = 0

    def add_data(self, data: bytes, fds: Sequence[Any] = ()) -> None:  # noqa: ARG002
        """Take what came over the connection; it carries no file descriptors."""
        del self._held[: self._at]
        self._at = 0
        self._held += data

    def get_next_message(self) -> Any:
        """Return the next message (`Message` or `BusReply`), or None if not all of it is there."""
        data, at = self._held, self._at
        if len(data) - at < 16:
            return None
        if data[at] == _LITTLE:
            body, fields = _SIZES(data, at + 4)
            size = 16 + fields + -fields % 8 + body
        else:
            size = calc_msg_size(data[at : at + 16])
        if len(data) - at < size:
            return None
        self._at = at + size
        raw = bytes(memoryview(data)[at : self._at])
        return decode_reply(raw) or Message.from_buffer(raw)


def decode_reply(raw: bytes) -> BusReply | None:
    """Return a message as an answer, or None for one that the library is to read."""
    if raw[0] != _LITTLE or raw[1] != _RETURN:
        return None
    end = 16 + _WORD(raw, 12)[0]
    at, serial, signature = 16, 0, b""
    while at < end:
        at += -at % 8
        code, kind = raw[at], raw[at + 2]
        at += 4
        if kind == _U:
            at += -at % 4
            if code == _REPLY_SERIAL:
                serial = _WORD(raw, at)[0]
            at += 4
        elif kind == _G:
            if code == _SIGNATURE:
                signature = raw[at + 1 : at + 1 + raw[at]]
            at += 2 + raw[at]
        else:
            at += -at % 4
            at += 5 + _WORD(raw, at)[0]
    decode = _BODIES.get(signature)
    if decode is None:
        return None
    body = decode(raw, end + -end % 8)
    return None if body is None else BusReply(serial, body)


_U, _G = ord("u"), ord("g")
_REPLY_SERIAL, _SIGNATURE = 5, 8


def _decode_text(raw: bytes, at: int) -> tuple[str]:
    return (raw[at + 4 : at + 4 + _WORD(raw, at)[0]].decode("utf-8", "replace"),)


def _decode_words(raw: bytes, at: int) -> tuple[list[int]]:
    return (list(struct.unpack_from(f"<{_WORD(raw, at)[0] // 4}I", raw, at + 4)),)


def _decode_variant(raw: bytes, at: int) -> tuple[tuple[str, Any]] | None:
    # One byte of length, the type, a zero; then the value, aligned.
    kind = raw[at + 1 : at + 1 + raw[at]]
    if kind == b"s":
        return (("s", _decode_text(raw, at + 4)[0]),)
    if kind == b"i":
        return (("i", _INTEGER(raw, at + 4)[0]),)
    if kind == b"d":
        return (("d", _DOUBLE(raw, at + 8)[0]),)
    return None


def _decode_references(raw: bytes, at: int) -> tuple[list[tuple[str, str]]]:
    size = _WORD(raw, at)[0]
    at += 4 + -(at + 4) % 8
    end = at + size
    references: list[tuple[str, str]] = []
    while at < end:
        row, at = _decode_reference(raw, at)
        references.append(row)
    return (references,)


def _decode_relations(raw: bytes, at: int) -> tuple[list[tuple[int, list[tuple[str, str]]]]]:
    end = at + 8 + _WORD(raw, at)[0]
    at += 8
    rows: list[tuple[int, list[tuple[str, str]]]] = []
    while at < end:
        at += -at % 8
        kind, size = _PAIR(raw, at)
        rows.append((kind, *_decode_references(raw, at + 4)))
        at += 8 + size
    return (rows,)


def _decode_texts(raw: bytes, at: int, count: int) -> tuple[list[tuple[str, ...]]]:
    end = at + 8 + _WORD(raw, at)[0]
    at += 8
    rows: list[tuple[str, ...]] = []
    while at < end:
        at += -at % 8
        row: list[str] = []
        for _ in range(count):
            at += -at % 4
            row += _decode_text(raw, at)
            at += 5 + _WORD(raw, at)[0]
        rows.append(tuple(row))
    return (rows,)


def _decode_attributes(raw: bytes, at: int) -> tuple[dict[str, str]]:
    return ({row[0]: row[1] for row in _decode_texts(raw, at, 2)[0]},)


def _decode_reference(raw: bytes, at: int) -> tuple[tuple[str, str], int]:
    at += -at % 8
    middle = at + 4 + _WORD(raw, at)[0]
    bus = raw[at + 4 : middle].decode()
    at = middle + 1
    at += -at % 4
    end = at + 4 + _WORD(raw, at)[0]
    return (bus, raw[at + 4 : end].decode()), end + 1


def decode_items(raw: bytes, at: int) -> list[tuple[Any, ...]]:
    """Return the rows of a snapshot whose body begins at `at`; interfaces are left out (empty).

    Raises:
        ValueError: The message is not of that form.
    """
    try:
        return _decode_rows(raw, at)
    except (struct.error, IndexError) as error:
        raise ValueError(f"the snapshot cannot be read: {error}") from None


def _decode_rows(raw: bytes, at: int) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    size = _WORD(raw, at)[0]
    at += 4
    at += -at % 8
    end = at + size
    # Each element is named by itself and by each of its children: one object for all of them.
    known: dict[bytes, tuple[str, str]] = {}

    def decode_known_reference(at: int) -> tuple[tuple[str, str], int]:
        at += -at % 8
        path = at + 5 + _WORD(raw, at)[0]
        path += -path % 4
        after = path + 5 + _WORD(raw, path)[0]
        key = raw[at:after]
        reference = known.get(key)
        if reference is None:
            reference = known[key] = _decode_reference(raw, at)[0]
        return reference, after

    while at < end:
        itself, at = decode_known_reference(at)
        app, at = decode_known_reference(at)
        parent, at = decode_known_reference(at)
        at += -at % 4
        index, count, interfaces = _NUMBERS(raw, at)
        at += 12 + interfaces
        at += -at % 4
        after = at + 4 + _WORD(raw, at)[0]
        name = raw[at + 4 : after].decode("utf-8", "replace")
        at = after + 1
        at += -at % 4
        role, length = _PAIR(raw, at)
        after = at + 8 + length
        description = raw[at + 8 : after].decode("utf-8", "replace") if length else ""
        at = after + 1
        at += -at % 4
        length = _WORD(raw, at)[0]
        states = (
            _PAIR(raw, at + 4)
            if length == 8
            else struct.unpack_from(f"<{length // 4}I", raw, at + 4)
        )
        at += 4 + length - length % 4
        rows.append((itself, app, parent, index, count, (), name, role, description, states))
    return rows


_BODIES: Final[dict[bytes, Callable[[bytes, int], Any]]] = {
    b"": lambda _raw, _at: (),
    b"s": _decode_text,
    b"u": lambda raw, at: (_WORD(raw, at)[0],),
    b"i": lambda raw, at: (_INTEGER(raw, at)[0],),
    b"b": lambda raw, at: (bool(_WORD(raw, at)[0]),),
    b"au": _decode_words,
    b"v": _decode_variant,
    b"(so)": lambda raw, at: (_decode_reference(raw, at)[0],),
    b"a(so)": _decode_references,
    b"a(sss)": lambda raw, at: _decode_texts(raw, at, 3),
    b"a{ss}": _decode_attributes,
    b"a(ua(so))": _decode_relations,
    ITEMS.encode(): lambda raw, at: (decode_items(raw, at),),
}
"""Signature -> what reads a body that begins at a place; None from it leaves it to the library."""


AHEAD: Final = 100
"""Calls that may be under way at once; a bus refuses more than 128 of one client."""

_PIECE: Final = 1 << 18
"""Bytes that are taken from the connection at once."""

_SERIAL: Final = 8
"""Where in a message its serial number stands."""

_SERVICES: Final = ("org.a11y.Bus", "org.a11y.atspi.Registry")
_FAULTS: Final[dict[str, type[UiFault]]] = {
    "UnknownObject": ElementGone,
    "ServiceUnknown": ElementGone,
    "NameHasNoOwner": ElementGone,
    "UnknownMethod": Unsupported,
    "UnknownInterface": Unsupported,
    "InvalidArgs": Unsupported,
    "UnknownProperty": Unsupported,
    "Disconnected": ElementGone,
    "AccessDenied": AccessDenied,
}


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
    if kind in ("NoReply", "Timeout", "TimedOut"):
        # The bus answers so for an app that ended with a call under way.
        return ElementGone(words) if "disconnect" in words.lower() else AppNotResponding(words)
    if kind == "UnknownInterface" and "atspi.Accessible " in words:
        # Qt says so of an element that it let go.
        return ElementGone("the element no longer exists")
    return _FAULTS.get(kind, ActionFailed)(words)
