"""Over HTTP: each client is judged, limited, asked, answered and recorded as itself."""

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import mcp_types as types
import pytest
from over_http import Wire, events, over_http, target
from real_clients import ERAS, ask, build_sdk_server, facts_of

from iac_mcp.http import clients
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.gate.plans import Call, PendingCall
from iac_runtime.policy.permissions import Requester
from iac_runtime.policy.prompts import ALWAYS, DENY, ONCE
from iac_runtime.serve.call import read_requester
from iac_runtime.serve.http_sdk import tell_sessions
from iac_runtime.serve.listing import Choice, Listings
from iac_runtime.serve.rebuild import Changes, LazyGate
from iac_runtime.serve.stdio import server_identity

MAKE = ("notes_make_note", {"name": "Milk"})


class Served(NamedTuple):
    url: str
    tokens: dict[str, str]
    gate: Gate
    changes: Changes

    def client(self, name: str) -> Wire:
        return Wire(self.url, self.tokens[name]).open()


@pytest.fixture
def served(tools: Path, request: pytest.FixtureRequest) -> Iterator[Served]:
    said = getattr(request, "param", {})
    tokens = {
        name: clients.add_client(name, level)
        for name, level in (("ada", "DANGEROUS"), ("bob", "DANGEROUS"), ("eve", "SAFE"))
    }
    lines = Listings([tools], Choice(("all",)))
    lines()
    gate = build_gate(GateOptions([tools], ""))
    with (
        closing(LazyGate(lines, lambda: gate)) as behind,
        over_http(told(behind), said) as settings,
    ):
        yield Served(settings.url, tokens, gate, behind.changes)


def told(behind: LazyGate) -> Any:
    """Return the server as `serve --http` makes it."""
    server = build_sdk_server(behind, server_identity(), 54.0)
    tell_sessions(server, behind.changes)
    return server


def answering(label: str) -> Any:
    async def person(_context: Any, _params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"answer": label})

    return person


def call(served: Served, name: str, era: str, tool: str, given: Any, answer: str = "") -> Any:
    """Return the result of a call, made by the SDK's own client."""
    found: list[Any] = []

    async def question(client: Any) -> None:
        found.append(await client.call_tool(tool, given))

    more = {"elicitation_callback": answering(answer)} if answer else {}
    ask(target(served.url, served.tokens[name]), question, era, **more)
    return found[0]


@pytest.mark.parametrize("era", ERAS)
def test_what_one_client_is_allowed_no_other_is(served: Served, era: str) -> None:
    assert not call(served, "ada", era, *MAKE, answer=ALWAYS).is_error
    # What it would answer now is a no, if it were asked.
    assert not call(served, "ada", era, *MAKE, answer=DENY).is_error
    assert call(served, "bob", era, *MAKE, answer=DENY).is_error
    for other in ("bob", "eve"):
        refused = call(served, other, era, *MAKE)
        assert refused.is_error
        assert facts_of(refused)["type"] == ("UNANSWERED" if other == "bob" else "REFUSED")
    # Nor a program of this user, whatever it calls itself.
    program = Call(*MAKE, caller=Requester("a program", ("client",)))
    assert isinstance(served.gate.call(program), PendingCall)
    local = read_requester(type("Peer", (), {"name": " HTTP:ada", "remote": None})())
    assert (local.client, local.token_client) == ("local  HTTP:ada", "")
    entries = call(served, "ada", era, "audit_tail", {}).structured_content["calls"]
    assert {entry["client"] for entry in entries} == {"http:ada"}
    assert [entry["result"] for entry in entries if entry["tool"] == MAKE[0]] == ["done", "done"]


@pytest.mark.parametrize("era", ERAS)
def test_a_no_that_comes_at_once_is_nobodys(served: Served, era: str) -> None:
    found: list[Any] = []
    waits = [0.01] * 6 + [0.6]

    async def person(_context: Any, _params: Any) -> types.ElicitResult:
        await anyio.sleep(waits.pop(0))
        return types.ElicitResult(action="decline")

    async def question(client: Any) -> None:
        found.extend([facts_of(await client.call_tool(*MAKE)) for _ in range(7)])

    where = target(served.url, served.tokens["ada"])
    ask(where, question, era, elicitation_callback=person)
    assert [facts["type"] for facts in found] == ["UNANSWERED"] * 6 + ["REFUSED"]
    assert "the client showed no prompt" in found[0]["message"]


def test_a_scope_bounds_what_a_call_does_by_whatever_tool(served: Served) -> None:
    eve, before = served.client("eve"), served.client("ada").call("notes_count", element="note")
    program = 'notes.make_note(name="Milk")'
    ways: list[tuple[str, dict[str, Any]]] = [
        MAKE,
        ("write_tool", {"name": MAKE[0], "arguments": MAKE[1]}),
        ("write_tool", {"name": MAKE[0], "calls": [MAKE[1], MAKE[1]]}),
        ("notes_set", {"target": "notes[0]", "properties": {"name": "x"}}),
        ("execute_applescript", {"script": 'tell application "Notes" to delete note 1'}),
        ("app_quit", {"app": "Notes"}),
    ]
    for tool, given in ways:
        refused = eve.call(tool, **given)
        facts = json.loads(refused["content"][0]["text"])
        assert (refused["isError"], facts["source"]) == (True, "insufficient_scope"), facts
    assert eve.call("run_plan", program=program)["isError"]
    assert (
        eve.call("notes_count", element="note")["structuredContent"] == before["structuredContent"]
    )
    # The user's own --allow does not widen a token.
    served.gate._vouched = "DANGEROUS"
    assert eve.call(*MAKE[:1], **MAKE[1])["isError"]
    assert not served.client("ada").call(MAKE[0], **MAKE[1])["isError"]


def test_a_question_is_answered_by_who_was_asked(served: Served) -> None:
    def modern(name: str, **more: Any) -> dict[str, Any]:
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "a test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        }
        params = {"name": MAKE[0], "arguments": MAKE[1], "_meta": meta, **more}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": MAKE[0],
        }
        return Wire(served.url, served.tokens[name]).post(body, **headers).json()["result"]  # type: ignore[no-any-return]

    asked = modern("ada")
    said = {"approval": {"action": "accept", "content": {"answer": ONCE}}}
    again = {"requestState": asked["requestState"], "inputResponses": said}
    stolen = modern("bob", **again)
    assert "another call" in stolen["content"][0]["text"]
    # Used up by the attempt; nothing was made of it.
    assert modern("ada", **again)["isError"]
    asked = modern("ada")
    assert not modern("ada", requestState=asked["requestState"], inputResponses=said)["isError"]


@pytest.mark.parametrize("served", [{"clients_ask": False}], indirect=True)
@pytest.mark.parametrize("era", ERAS)
def test_a_client_may_be_kept_from_answering_for_you(served: Served, era: str) -> None:
    refused = call(served, "ada", era, *MAKE, answer=ONCE)
    assert facts_of(refused)["type"] == "UNANSWERED"


def test_results_and_changes_of_others_are_not_there(served: Served) -> None:
    served.gate.context.limit = 300
    ada, bob = served.client("ada"), served.client("bob")
    served.gate._vouched = "MODIFY"
    assert not ada.call(MAKE[0], name="Milk", body="x" * 1000)["isError"]
    long = ada.call("notes_list", element="note", properties=["name", "body"])
    ident = json.dumps(long).partition('result \\\\\\"')[2].partition("\\")[0]
    assert ident
    assert not ada.call("read_more", result=ident, offset=0)["isError"]
    assert "NOT_FOUND" in bob.call("read_more", result=ident, offset=0)["content"][0]["text"]
    ada.call("restore_point", name="mine")
    served.gate.context.limit = None
    assert len(ada.call("history")["structuredContent"]["calls"]) == 1
    assert bob.call("history")["structuredContent"] == {"calls": []}
    number = ada.call("history")["structuredContent"]["calls"][0]["call"]
    for given in ({}, {"call": number}, {"client": "http:ada"}, {"last": 5}, {"point": "mine"}):
        assert bob.call("undo_call", **given)["isError"]
    assert bob.call("outcome", call=number)["isError"]
    tail = bob.call("audit_tail")["structuredContent"]["calls"]
    assert {entry["client"] for entry in tail} == {"http:bob"}
    status = bob.post(
        {"jsonrpc": "2.0", "id": 5, "method": "resources/read", "params": {"uri": "iac://status"}}
    ).text
    assert "ada" not in status
    served.gate._vouched = "DANGEROUS"
    assert not ada.call("undo_call", call=number)["isError"]


def test_a_client_uses_up_its_own_limits_alone(served: Served) -> None:
    ada, bob = served.client("ada"), served.client("bob")
    mine = served.gate._limiter
    assert mine is not None
    for _ in range(250):
        mine.for_client("http:ada").reserve_places("read")
    assert (
        json.loads(ada.call("notes_count", element="note")["content"][0]["text"])["type"] == "BUSY"
    )
    assert not bob.call("notes_count", element="note")["isError"]


def test_a_session_of_the_older_era_hears_that_the_tools_are_others(served: Served) -> None:
    ada, bob = served.client("ada"), Wire(served.url, served.tokens["bob"])
    said = events(bob.post().text)[-1]["result"]["capabilities"]
    assert {said[kind]["listChanged"] for kind in ("tools", "prompts", "resources")} == {True}
    # Sent again, it is heard once.
    ada.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    ada.call("list_apps")
    assert len(served.changes._listeners) == 1
    with ada.stream() as answer:
        served.changes.notify_listeners()
        heard: list[str] = []
        for line in answer.iter_lines():
            heard += [row["method"] for row in events(line)]
            if len(heard) == 3:
                break
    assert heard == [
        f"notifications/{kind}/list_changed" for kind in ("tools", "prompts", "resources")
    ]
    # It ends with its session.
    assert ada.http.delete(ada.url, headers=ada._with({})).status_code == 200
    while served.changes._listeners:
        time.sleep(0.01)
