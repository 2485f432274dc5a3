"""Reading answers faster than the D-Bus library does: the few forms that thousands come in.

A tree is thousands of short answers (a text, a number, a list of references) or one long one (the
snapshot of a whole app). Decoding those through a general parser is most of the time that reading
a tree takes. Everything else goes through jeepney: calls, signals, errors, other byte orders.
Source: D-Bus specification, "Marshaling" and "Message Format"; at-spi2-core, Cache.xml.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from jeepney.low_level import Message, Parser, calc_msg_size

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
        held, at = self._held, self._at
        if len(held) - at < 16:
            return None
        if held[at] == _LITTLE:
            body, fields = _SIZES(held, at + 4)
            size = 16 + fields + -fields % 8 + body
        else:
            size = calc_msg_size(held[at : at + 16])
        if len(held) - at < size:
            return None
        self._at = at + size
        raw = bytes(memoryview(held)[at : self._at])
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
    end = at + 8 + _WORD(raw, at)[0]
    at += 8
    found: list[tuple[str, str]] = []
    while at < end:
        row, at = _decode_reference(raw, at)
        found.append(row)
    return (found,)


def _decode_triples(raw: bytes, at: int) -> tuple[list[tuple[str, ...]]]:
    end = at + 8 + _WORD(raw, at)[0]
    at += 8
    found: list[tuple[str, ...]] = []
    while at < end:
        at += -at % 8
        row: list[str] = []
        for _ in range(3):
            at += -at % 4
            row += _decode_text(raw, at)
            at += 5 + _WORD(raw, at)[0]
        found.append(tuple(row))
    return (found,)


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
        found = known.get(key)
        if found is None:
            found = known[key] = _decode_reference(raw, at)[0]
        return found, after

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
    b"a(sss)": _decode_triples,
    ITEMS.encode(): lambda raw, at: (decode_items(raw, at),),
}
"""Signature -> what reads a body that begins at a place; None from it leaves it to the library."""
