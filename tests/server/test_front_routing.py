"""The front answers as the SDK would."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from talking import CLIENT, ENTRIES, ENVELOPE, HANDSHAKE, IDENTITY, LINES, Talk

from iac_runtime.serve.stdio import Router
from iac_runtime.serve.workers import RequestPool

MODERN = {"_meta": ENVELOPE}
NO_POOL = RequestPool(dict, IDENTITY, lambda _line: None)


@pytest.fixture
def talk() -> Iterator[Talk]:
    talk = Talk()
    yield talk
    talk.close()


def opened(talk: Talk, era: str) -> Talk:
    """Go through the handshake that an era wants."""
    if era == "legacy":
        talk.ask("initialize", HANDSHAKE, "open")
        talk.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return talk


REQUESTS: list[tuple[str, str, Any]] = [
    ("legacy", "ping", None),
    ("legacy", "ping", {}),
    ("legacy", "tools/list", None),
    ("legacy", "tools/list", {}),
    ("legacy", "tools/list", {"_meta": {"progressToken": 3}}),
    ("legacy", "tools/list", {"_meta": {"progressToken": 1.5}}),
    ("legacy", "tools/list", {"_meta": 5}),
    ("legacy", "tools/list", {"cursor": 5}),
    ("legacy", "tools/call", {"name": "tool_1", "arguments": {"x": "é"}}),
    ("legacy", "tools/call", None),
    ("legacy", "server/discover", {}),
    ("legacy", "resources/list", None),
    ("legacy", "nope", {}),
    *(
        ("legacy", method, params)
        for method in ("logging/setLevel", "resources/subscribe", "resources/unsubscribe")
        for params in (None, {}, {"level": "info"}, {"level": 5}, {"uri": "x"}, {"uri": None})
    ),
    ("legacy", "ping", {"_meta": {"progressToken": 1}}),
    ("legacy", "ping", {"_meta": 5}),
    ("legacy", "nope", {"_meta": {"progressToken": 1.5}}),
    ("legacy", "tools/list", {"_meta": {"io.modelcontextprotocol/logLevel": "x"}}),
    ("legacy", "subscriptions/listen", {"notifications": {}}),
    ("modern", "server/discover", MODERN),
    ("modern", "tools/list", MODERN),
    ("modern", "tools/list", {**MODERN, "cursor": None}),
    ("modern", "tools/list", {"_meta": {**ENVELOPE, "progressToken": "p"}}),
    ("modern", "tools/call", {**MODERN, "name": "tool_2"}),
    ("modern", "ping", MODERN),
    ("modern", "nope", MODERN),
    ("modern", "logging/setLevel", {**MODERN, "level": 5}),
    ("modern", "subscriptions/listen", MODERN),
    ("modern", "tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}),
    ("modern", "tools/list", {"_meta": {**ENVELOPE, "io.modelcontextprotocol/logLevel": "x"}}),
    *(
        ("modern", method, {"_meta": {**ENVELOPE, f"io.modelcontextprotocol/{key}": value}})
        for method in ("server/discover", "tools/list")
        for key, value in (
            ("protocolVersion", "1999-01-01"), ("protocolVersion", 7), ("clientInfo", "me"),
            ("clientInfo", {"name": "x"}), ("clientInfo", None), ("clientCapabilities", None),
            ("clientCapabilities", {"sampling": 5}),
            ("clientCapabilities", {"elicitation": {"form": {}}}),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("era", "method", "params"), REQUESTS)
def test_an_answer_equals_the_sdks_own(era: str, method: str, params: Any) -> None:
    front, sdk = opened(Talk(), era), opened(Talk(bare=True), era)
    try:
        assert front.ask(method, params, 7) == sdk.ask(method, params, 7)
    finally:
        front.close()
        sdk.close()


@pytest.mark.parametrize("params", [
    *({**HANDSHAKE, "protocolVersion": version} for version in ("2024-11-05", "2025-03-26",
      "2025-06-18", "2026-07-28", "x", 5)),
    {**HANDSHAKE, "capabilities": {"roots": {"listChanged": True}, "elicitation": {}}},
    {**HANDSHAKE, "capabilities": {"roots": 1}}, {**HANDSHAKE, "capabilities": None},
    {**HANDSHAKE, "clientInfo": {"name": "x"}},
    {**HANDSHAKE, "clientInfo": {**CLIENT, "title": "T"}},
    {**HANDSHAKE, "clientInfo": {**CLIENT, "title": 4}}, {**HANDSHAKE, "_meta": {"x": 1}}, {}, None,
])  # fmt: skip
def test_a_handshake_is_answered_as_by_the_sdk(params: Any) -> None:
    front, sdk = Talk(), Talk(bare=True)
    try:
        assert front.ask("initialize", params) == sdk.ask("initialize", params)
    finally:
        front.close()
        sdk.close()


def test_the_listing_follows_the_handshake(talk: Talk) -> None:
    talk.ask("initialize", HANDSHAKE)
    assert talk.ask("tools/list")["result"]["tools"] == ENTRIES


def test_a_listing_before_the_handshake_is_refused(talk: Talk) -> None:
    assert "error" in talk.ask("tools/list")


def test_one_connection_serves_both_eras_in_any_order(talk: Talk) -> None:
    assert talk.ask("server/discover", MODERN, "d")["result"]["supportedVersions"]
    assert talk.ask("tools/call", {**MODERN, "name": "a"}, "m")["result"]["content"]
    opened(talk, "legacy")
    assert talk.ask("tools/call", {"name": "b"}, 3)["result"]["content"][0]["text"] == '["b", null]'
    assert talk.ask("tools/list", MODERN, 4)["result"]["ttlMs"] > 0
    assert talk.ask("tools/call", {**MODERN, "name": "c"}, 5)["result"]["resultType"] == "complete"


def test_a_second_handshake_is_answered_too(talk: Talk) -> None:
    opened(talk, "legacy")
    talk.ask("tools/call", {"name": "b"}, 3)
    talk.ask("tools/call", {"name": "b"}, "open")
    assert [m["id"] for m in map(json.loads, talk.raw)] == ["open", 3, "open"]


def test_what_is_no_message_is_passed_over(talk: Talk) -> None:
    opened(talk, "legacy")
    for line in (b"{bad", b"[]", b"5", b"\xff\xfe", b"[" * 50_000, b'{"id": 3}', b'{"method": 1}'):
        talk.say(line)
    assert talk.ask("tools/call", {"name": "b"}, 9)["result"]
    talk.say({"jsonrpc": "2.0", "id": 77, "result": {}})
    assert talk.ask("ping", None, 10)["result"] == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda part: (
        st.lists(part, max_size=4) | st.dictionaries(st.text(max_size=8), part, max_size=4)
    ),
    max_leaves=12,
)


@given(
    st.lists(
        st.binary(max_size=60)
        | st.builds(
            lambda method, id_, params: {
                "jsonrpc": "2.0",
                "id": id_,
                "method": method,
                "params": params,
            },
            st.sampled_from(["initialize", "ping", "tools/list", "server/discover", "x"]) | JSON,
            JSON,
            JSON | st.just(MODERN) | st.just(HANDSHAKE),
        ),
        max_size=6,
    )
)
def test_every_request_is_answered_once(messages: list[Any]) -> None:
    for message in messages:
        said: list[bytes] = []
        router = Router(IDENTITY, {"tools/list": lambda: LINES}, NO_POOL, said.append)
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        router.handle_line(line)
        asked = isinstance(message, dict) and isinstance(message["id"], str | int | float)
        if asked and message["id"] == message["id"] and not isinstance(message["id"], bool):
            assert [json.loads(line)["id"] for line in said] == [message["id"]]
        else:
            assert said == []
