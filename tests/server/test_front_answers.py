"""What the front answers itself is what the SDK would have written, byte for byte.

The sessions are those of real clients, as they were recorded on the simulated apps. Each is played
to the front and to the SDK alone, which have apps of their own.
"""

import json
import queue
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from real_clients import backing_of, build_sdk_server
from sdk_sessions import SdkSessions, era_of
from talking import CLIENT, ENVELOPE, HANDSHAKE, Talk

from iac_runtime.serve.stdio import Router, server_identity
from iac_runtime.serve.workers import RequestPool

# Claude Code was recorded as it connects, the inspector at four starts.
RECORDED = json.loads(Path(__file__).with_name("recorded_sessions.json").read_bytes())
MODERN = {"_meta": ENVELOPE}
YES = {"action": "accept", "content": {"answer": "Allow once"}}


class Side:
    """The front with what lies behind it, or the SDK alone, and what they say."""

    def __init__(self, tools: Path) -> None:
        self.backing = backing_of(tools)
        self.heard: queue.Queue[bytes] = queue.Queue()
        say = self.heard.put
        build = partial(build_sdk_server, self.backing, server_identity(), 54.0)
        self.sessions = SdkSessions(build, say)
        self.pool = RequestPool(
            lambda: self.backing.open_methods(54.0).by_name(), server_identity(), say
        )
        lists = self.backing.lines.by_method()
        self.router = Router(server_identity(), lists, self.pool, say)

    def say(self, message: Any, era: str | None = None) -> None:
        """Send a message to the front, or with `era` to a session of the SDK."""
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        if era is None:
            self.router.handle_line(line)
        else:
            self.sessions.feed(era, line)

    def ask(self, message: Any, era: str | None = None) -> list[bytes]:
        """Send a request and return all that answers it; a person says yes meanwhile."""
        self.say(message, era)
        said: list[bytes] = []
        while True:
            line = self.heard.get(timeout=30)
            heard = json.loads(line)
            asked = heard.get("params", {})
            if heard.get("method") == "elicitation/create":
                self.say({"jsonrpc": "2.0", "id": heard["id"], "result": YES}, era)
                said.append(json.dumps(asked).encode())
                continue
            if "method" in heard:
                continue
            state = heard.get("result", {}).get("requestState")
            if state is None:
                return [*said, line]
            said.append(line.replace(state.encode(), b"STATE"))
            (key,) = heard["result"]["inputRequests"]
            more = {"inputResponses": {key: YES}, "requestState": state}
            message = {**message, "params": {**message["params"], **more}}
            self.say(message, era)

    def close(self) -> None:
        self.pool.close(0.5)
        self.sessions.close()
        self.backing.close()


@pytest.fixture
def sides(tools: Path) -> Iterator[tuple[Side, Side]]:
    found = Side(tools), Side(tools)
    yield found
    for side in found:
        side.close()


def play(sides: tuple[Side, Side], messages: list[Any], of: str = "") -> None:
    """Play a session to both, and compare; `of` is its era, where not each message tells."""
    front, sdk = sides
    for message in messages:
        era = of or era_of(message)
        if "id" not in message:
            front.say(message)
            sdk.say(message, era)
            continue
        if message.get("params", {}).get("uri") == "iac://audit/tail":
            # Both write to one log, and each answer has at least the rows of its own side.
            sdk.ask(message, era)
            front.ask(message)
        ours, theirs = front.ask(message), sdk.ask(message, era)
        if message["method"] in ("tools/call", "resources/read", "prompts/get"):
            assert ours == theirs, message
        else:
            assert list(map(json.loads, ours)) == list(map(json.loads, theirs)), message


@pytest.mark.parametrize("client", RECORDED)
def test_a_recorded_session_is_answered_as_by_the_sdk(
    sides: tuple[Side, Side], client: str
) -> None:
    play(sides, RECORDED[client])


def request(id_: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


ODD: list[tuple[str, dict[str, Any]]] = [
    ("tools/call", {"name": "notes_count", "arguments": {"element": "nöte\u2028"}}),
    ("tools/call", {"name": "notes_count", "arguments": {"element": "note", "where": None}}),
    ("tools/call", {"name": "notes_count", "arguments": None}),
    ("tools/call", {"name": "notes_count"}),
    ("tools/call", {"name": "notes_count", "arguments": [1]}), ("tools/call", {"name": 5}),
    ("tools/call", {"name": "notes_count", "task": {}, "arguments": {"element": "note"}}),
    ("tools/call", {"name": "notes_count", "_meta": {"progressToken": True}}),
    ("tools/call", {"name": "find_tools", "arguments": {"query": "count notes", "limit": 1}}),
    ("tools/call",
     {"name": "read_tool",
      "arguments": {"name": "mail_list",
       "arguments": {"element": "message",
        "properties": ["subject", "date received", "message size"]}}}),
    ("resources/read", {"uri": "iac://apps/notes/model"}),
    ("resources/read", {"uri": "iac://audit/tail"}), ("resources/read", {"uri": 5}),
    ("resources/read", {}), ("prompts/get", {"name": "script_app", "arguments": {"app": "notes"}}),
    ("prompts/get", {"name": "nothing"}),
    ("prompts/get", {"name": "nothing", "arguments": {"x": 5}}),
    ("completion/complete",
     {"ref": {"type": "ref/resource", "uri": "iac://tools/{name}"},
      "argument": {"name": "name", "value": "notes_"}}),
    ("completion/complete",
     {"ref": {"type": "ref/prompt", "name": "triage_inbox"},
      "argument": {"name": "limit", "value": ""}, "context": {"arguments": {}}}),
    ("completion/complete", {"ref": {"type": "ref/odd"}, "argument": {}}),
]  # fmt: skip


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2026-07-28"])
def test_what_is_odd_is_answered_as_by_the_sdk(sides: tuple[Side, Side], version: str) -> None:
    modern = version == "2026-07-28"
    handshake = {**HANDSHAKE, "protocolVersion": version}
    opening = [] if modern else [request(1, "initialize", **handshake)]
    envelope = ENVELOPE if modern else {}
    rest = [
        request(number, method, **{**params, "_meta": {**envelope, **params.get("_meta", {})}})
        for number, (method, params) in enumerate(ODD, 2)
    ]
    play(sides, [*opening, *rest])


REQUESTS: list[tuple[str, str, Any]] = [
    ("legacy", "ping", None),
    ("legacy", "ping", {}),
    ("legacy", "tools/list", None),
    ("legacy", "tools/list", {}),
    ("legacy", "tools/list", {"_meta": {"progressToken": 3}}),
    ("legacy", "tools/list", {"_meta": {"progressToken": 1.5}}),
    ("legacy", "tools/list", {"_meta": 5}),
    ("legacy", "tools/list", {"cursor": 5}),
    ("legacy", "tools/call", {"name": "nothing", "arguments": {"x": "é"}}),
    ("legacy", "tools/call", None),
    ("legacy", "server/discover", {}),
    *(
        (era, f"{kind}/list", params)
        for era, params in (("legacy", None), ("modern", MODERN))
        for kind in ("prompts", "resources", "resources/templates")
    ),
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
    ("modern", "tools/call", {**MODERN, "name": "nothing"}),
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


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_any_request_is_answered_as_by_the_sdk(sides: tuple[Side, Side], era: str) -> None:
    opening = [request(1, "initialize", **HANDSHAKE)] if era == "legacy" else []
    chosen = [row[1:] for row in REQUESTS if row[0] == era]
    rows = [
        {"jsonrpc": "2.0", "id": at, "method": method}
        | ({} if params is None else {"params": params})
        for at, (method, params) in enumerate(chosen, 2)
    ]
    play(sides, [*opening, *rows], era)


@pytest.mark.parametrize("params", [
    *({**HANDSHAKE, "protocolVersion": version} for version in ("2024-11-05", "2025-03-26",
      "2025-06-18", "2026-07-28", "x", 5)),
    {**HANDSHAKE, "capabilities": {"roots": {"listChanged": True}, "elicitation": {}}},
    {**HANDSHAKE, "capabilities": {"roots": 1}}, {**HANDSHAKE, "capabilities": None},
    {**HANDSHAKE, "clientInfo": {"name": "x"}},
    {**HANDSHAKE, "clientInfo": {**CLIENT, "title": "T"}},
    {**HANDSHAKE, "clientInfo": {**CLIENT, "title": 4}}, {**HANDSHAKE, "_meta": {"x": 1}}, {}, None,
])  # fmt: skip
def test_a_handshake_is_answered_as_by_the_sdk(sides: tuple[Side, Side], params: Any) -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    play(sides, [asked if params is None else {**asked, "params": params}], "legacy")


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


def test_a_listener_hears_what_the_sdk_would_tell(sides: tuple[Side, Side]) -> None:
    uris = ["iac://apps", "iac://apps/notes/model", "iac://status"]
    wanted = {"toolsListChanged": True, "promptsListChanged": False, "resourcesListChanged": True}
    listen = request(
        9,
        "subscriptions/listen",
        _meta=ENVELOPE,
        notifications={**wanted, "resourceSubscriptions": uris},
    )
    sides[0].backing.changes.subscribe(sides[0].router.notify_changed)
    heard: list[list[bytes]] = []
    for side, era in zip(sides, (None, "modern"), strict=True):
        side.say(listen, era)
        acknowledged = side.heard.get(timeout=30)
        side.backing.changes.notify_listeners()
        heard.append([acknowledged, *(side.heard.get(timeout=30) for _ in range(4))])
        side.say(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}
        )
    assert heard[0] == heard[1]
    sides[0].backing.changes.notify_listeners()
    assert sides[0].heard.empty()


def router_of(write: Callable[[bytes], None], pool: RequestPool | None = None) -> Router:
    """Return a front with nothing behind it."""
    identity = server_identity()
    return Router(identity, {"tools/list": list}, pool or RequestPool(dict, identity, write), write)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["\ud800", "x", "é"]),
    lambda part: (
        st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=4), part, max_size=3)
    ),
    max_leaves=6,
)
IDS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4)
FRAMES = st.fixed_dictionaries(
    {"id": IDS},
    optional={
        "jsonrpc": st.just("2.0") | JSON,
        "method": st.sampled_from(["ping", "tools/call", "tools/list", "x"]) | JSON,
        "params": st.sampled_from([{}, {"name": "a"}, {"_meta": ENVELOPE}]) | JSON,
    },
)


@given(FRAMES, st.booleans())
def test_a_request_that_the_sdk_would_pass_over_gets_an_error_under_its_id(
    frame: dict[str, Any], opened: bool
) -> None:
    said: queue.Queue[bytes] = queue.Queue()
    router = router_of(said.put)
    if opened:
        router.handle_line(json.dumps(request(0, "initialize", **HANDSHAKE)).encode())
        said.get(timeout=20)
    router.handle_line(json.dumps(frame).encode())
    answer = json.loads(said.get(timeout=20))
    assert answer["id"] == frame["id"]
    assert "result" in answer or answer["error"]["code"] in (-32600, -32601, -32602, -32022)
    assert said.empty()


NO_IDS = JSON.filter(lambda id_: id_ is None or isinstance(id_, bool | list | dict))


@given(st.binary(max_size=60) | st.builds(lambda frame, id_: {**frame, "id": id_}, FRAMES, NO_IDS))
def test_what_is_under_no_id_is_not_answered(message: bytes | dict[str, Any]) -> None:
    said: list[bytes] = []
    line = message if isinstance(message, bytes) else json.dumps(message).encode()
    router_of(said.append).handle_line(line)
    assert said == []


@pytest.mark.parametrize(("line", "code"), [
    (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"\\ud800"}}', -32600),
    (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[]}', -32602),
    (b'{"jsonrpc":"2.0","id":7,"method":5}', -32600),
    (b'{"jsonrpc":"2.0","id":7.5,"method":"ping"}', -32600),
    (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600),
    (b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', -32600),
])  # fmt: skip
def test_what_got_no_answer_gets_an_error(line: bytes, code: int) -> None:
    said: list[bytes] = []
    router_of(said.append).handle_line(line)
    (answer,) = map(json.loads, said)
    assert answer["error"]["code"] == code
    assert int(answer["id"]) == 7


def test_a_list_of_messages_is_taken_apart_in_the_version_that_has_them() -> None:
    said: list[bytes] = []
    router = router_of(said.append)
    handshake = {**HANDSHAKE, "protocolVersion": "2025-03-26"}
    router.handle_line(json.dumps(request(1, "initialize", **handshake)).encode())
    router.handle_line(json.dumps([request(2, "ping"), request(3, "tools/list")]).encode())
    assert [json.loads(line)["id"] for line in said] == [1, 2, 3]


def test_a_cancelled_request_is_not_answered_and_the_end_answers_the_others() -> None:
    said: queue.Queue[bytes] = queue.Queue()
    begun: queue.Queue[Any] = queue.Queue()

    def wait(params: Any, _peer: Any, cancel: Any) -> Any:
        begun.put(params)
        cancel.wait(30)
        return {"content": []}

    answering = RequestPool(lambda: {"tools/call": wait}, server_identity(), said.put)
    router = router_of(said.put, answering)
    router.handle_line(json.dumps(request(1, "initialize", **HANDSHAKE)).encode())
    said.get(timeout=20)
    for number in (2, 3):
        router.handle_line(json.dumps(request(number, "tools/call", name="x")).encode())
        begun.get(timeout=20)
    gone = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "2"}}
    router.handle_line(json.dumps(gone).encode())
    assert answering.close(0.05)
    last = json.loads(said.get(timeout=20))
    assert (last["id"], last["error"]["code"]) == (3, -32000)
    assert said.empty()
