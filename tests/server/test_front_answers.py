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
from talking import ENVELOPE, HANDSHAKE

from iac_runtime.serve.stdio import Router, server_identity
from iac_runtime.serve.workers import RequestPool

# Claude Code was recorded as it connects, the inspector at four starts.
RECORDED = json.loads(Path(__file__).with_name("recorded_sessions.json").read_bytes())
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


def play(sides: tuple[Side, Side], messages: list[Any]) -> None:
    """Play a session to both, and compare."""
    front, sdk = sides
    for message in messages:
        if "id" not in message:
            front.say(message)
            sdk.say(message, era_of(message))
            continue
        if message.get("params", {}).get("uri") == "iac://audit/tail":
            # Both write to one log, and each answer has at least the rows of its own side.
            sdk.ask(message, era_of(message))
            front.ask(message)
        ours, theirs = front.ask(message), sdk.ask(message, era_of(message))
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
