"""Lines that no good client sends, by kind, and ways to make more of them.

The kinds are rows of the hostile sample (class `protocol`); each function is one row.
"""

import json
from typing import Any

from hypothesis import strategies as st
from piped import COUNT, MODERN_COUNT, message
from talking import ENVELOPE, HANDSHAKE


def no_message() -> list[bytes]:
    """M01: what is no JSON, or JSON that is no message."""
    whole = message(1, "tools/call", COUNT)
    return [
        *(b"", b" ", b"\t", b"hello", b"{", b"}", b"{]", b'"', b"\x00", b"\xff\xfe\x00",
         b"\xef\xbb\xbf{}"),
        *(b"null", b"true", b"0", b"-1.5e300", b'"text"', b"[]", b"{}", b"[{}]", b"NaN",
         b"Infinity"),
        *(whole[:cut] for cut in range(1, len(whole), 7)), b"[" + whole + b"," + whole + b"]",
        whole + whole, whole.replace(b"tools", b"to\x00ols"),
        whole.replace(b"mail", b"\xed\xa0\x80"), whole.replace(b"mail", b"\\ud800"),
        whole.replace(b'"2.0"', b'"1.0"'), whole.replace(b'"2.0"', b"2.0"),
        whole.replace(b'"jsonrpc"', b'"json"'),
    ]  # fmt: skip


def depth() -> list[bytes]:
    """M03: nested deeper than anybody reads."""
    deep = b"[" * 5_000 + b"]" * 5_000
    return [
        b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
        message(2, "tools/call", {"name": "mail_count", "arguments": {"element": 1}}).replace(b"1}",
         deep + b"}"),
        message(3, "tools/list", {"_meta": {"x": 1}}).replace(b"1}", deep + b"}"),
    ]  # fmt: skip


def ids() -> list[bytes]:
    """M05: ids that are none, and two in one message."""
    digits = "9" * 400
    raw = ["null", "1.5", "1e400", "{}", "[]", "true", digits, f'"{digits}"', '""', "-0", "NaN"]
    lines = [
        f'{{"jsonrpc":"2.0","id":{id_},"method":"{method}","params":{params}}}'.encode()
        for id_ in raw
        for method, params in (
            ("ping", "{}"), ("tools/list", "{}"), ("tools/list", json.dumps({"_meta": ENVELOPE})),
            ("server/discover", json.dumps({"_meta": ENVELOPE})), ("tools/call", json.dumps(COUNT)),
            ("initialize", json.dumps(HANDSHAKE)),
        )
    ]  # fmt: skip
    twice = b'{"jsonrpc":"2.0","id":4,"id":5,"method":"ping","method":"tools/list"}'
    return [*lines, twice]


def names() -> list[bytes]:
    """M07 and M08: tools that are not there, by names that look like it or like a path."""
    wrong = [
        "", " ", "../../etc/passwd", "mail_count\n", "ma\u0456l_count", "x" * 10_240, "\x1b[31m",
    ]  # fmt: skip
    return [
        message(6, "tools/call", {"name": name, "arguments": {}, **more})
        for name in [*wrong, None, 5, [], {}]
        for more in ({}, {"_meta": ENVELOPE})
    ]


def cancels() -> list[bytes]:
    """M09: cancels of what is not running."""
    return [
        message(None, "notifications/cancelled", params)
        for params in (
            {"requestId": 404}, {"requestId": 404}, {"requestId": "404", "reason": "x" * 1000},
            {"requestId": None}, {"requestId": {}}, {"requestId": 1.5},
            {"_meta": ENVELOPE, "requestId": 404}, {}, None, [],
        )
    ]  # fmt: skip


def params() -> list[bytes]:
    """Parameters of the wrong kind for every method that the front knows."""
    methods = (
        "initialize", "ping", "tools/list", "tools/call", "server/discover", "resources/read",
    )  # fmt: skip
    kinds: list[Any] = [None, [], {}, 5, "x", {"_meta": 5}, {"_meta": {}}, {"_meta": None}]
    broken = [
        {"_meta": {**ENVELOPE, key: value}} for key in ENVELOPE for value in (None, 5, [], "x")
    ]
    return [
        *(message(8, method, kind) for method in methods for kind in (*kinds, *broken)),
        *(message(None, f"notifications/{name}", []) for name in ("initialized", "x", "progress")),
        b'{"jsonrpc":"2.0","id":9,"result":{}}',
        b'{"jsonrpc":"2.0","id":9,"error":{"code":1,"message":"x"}}',
        b'{"jsonrpc":"2.0","error":5}',
        b'{"jsonrpc":"2.0","method":5}',
        b'{"jsonrpc":"2.0","id":1,"method":null}',
    ]


KINDS = {kind.__name__: kind for kind in (no_message, depth, ids, names, cancels, params)}

GOOD = [
    message(1, "initialize", HANDSHAKE), message(None, "notifications/initialized"),
    message(2, "tools/call", COUNT), message(3, "tools/call", MODERN_COUNT),
    message(4, "tools/list", {}), message(5, "server/discover", {"_meta": ENVELOPE}),
    message(None, "notifications/cancelled", {"requestId": 2, "reason": "x"}),
]  # fmt: skip
PIECES = [
    b'"', b"{", b"}", b"[", b"]", b":", b",", b"\\", b"\x00", b"\xff", b"null", b"-1", b'"id":7,',
]  # fmt: skip


@st.composite
def mutations(draw: st.DrawFn) -> bytes:
    """A line that was good, or one of the kinds, with bytes cut, doubled, swapped or put in."""
    kinds = [line for kind in (no_message, ids, cancels, params) for line in kind()]
    line = bytearray(draw(st.sampled_from([*GOOD, *kinds])))
    for _ in range(draw(st.integers(1, 4))):
        at, to = sorted(draw(st.tuples(*[st.integers(0, len(line))] * 2)))
        what = draw(st.sampled_from(["cut", "double", "put", "flip"]))
        if what == "cut":
            del line[at : min(to, at + 40)]
        elif what == "double":
            line[at:at] = line[at : min(to, at + 40)]
        elif what == "put":
            line[at:at] = draw(st.sampled_from(PIECES))
        elif at < len(line):
            line[at] ^= 1 << draw(st.integers(0, 7))
    return bytes(line)
