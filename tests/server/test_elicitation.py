"""Asking a person through a real client of either era, and what cannot be forged or used twice."""

from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from real_clients import ERAS, ask, backing_of, build_sdk_server, facts_of

from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.gate.plans import Call
from iac_runtime.policy.permissions import Requester
from iac_runtime.policy.prompts import ALWAYS, KEY, ONCE
from iac_runtime.serve.http_sdk import build_server
from iac_runtime.serve.listing import Choice, Listings
from iac_runtime.serve.methods import build_methods
from iac_runtime.serve.stdio import server_identity
from iac_runtime.tools.own import STARTERS

MAKE = ("notes_make_note", {"name": "Milk"})
DELETE = ("notes_delete", {"target": "notes[0]"})


class Person:
    """Somebody at a client, who answers every question in the same way."""

    def __init__(self, action: Any, answer: str | None = None) -> None:
        self._answer = types.ElicitResult(
            action=action, content=None if answer is None else {"answer": answer}
        )
        # Less than half a second is too short for a person to say no.
        self._seconds = 0.0 if action == "accept" else 0.6
        self.asked: list[str] = []
        self.offered: list[Any] = []

    async def __call__(self, _context: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params.message)
        self.offered.append(params.requested_schema["properties"]["answer"]["enum"])
        await anyio.sleep(self._seconds)
        return self._answer


def talk(tools: Path, era: str, question: Any, person: Person | None = None) -> None:
    backing = backing_of(tools)
    more = {} if person is None else {"elicitation_callback": person}
    try:
        ask(build_sdk_server(backing, server_identity(), 54.0), question, era, **more)
    finally:
        backing.close()


async def notes(client: Client) -> int:
    found = await client.call_tool("notes_find_notes", {"text": "Milk"})
    listed = await client.call_tool("notes_list", {"element": "note", "where": {"name": "Milk"}})
    assert not found.is_error
    return len((listed.structured_content or {})["result"])


@pytest.mark.sweep
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("action", "answer", "kind"), [
    ("accept", "Sure", "UNANSWERED"), ("accept", None, "UNANSWERED"), ("decline", ONCE, "REFUSED"),
])  # fmt: skip
def test_anything_but_a_yes_runs_nothing_and_only_a_decline_is_a_no(
    tools: Path, era: str, action: str, answer: str | None, kind: str
) -> None:
    person = Person(action, answer)

    async def question(client: Client) -> None:
        refused = await client.call_tool(*MAKE)
        facts = facts_of(refused)
        assert refused.is_error
        assert (facts["type"], facts["retryable"]) == (kind, kind != "REFUSED")
        assert ("The user declined." in facts["message"]) == (kind == "REFUSED")
        assert "Milk" in facts["line"]
        assert await notes(client) == 0

    talk(tools, era, question, person)
    assert len(person.asked) == 1


@pytest.mark.parametrize("era", ERAS)
def test_always_is_remembered_for_what_can_be_put_right(tools: Path, era: str) -> None:
    person = Person("accept", ALWAYS)

    async def question(client: Client) -> None:
        for _ in range(3):
            made = await client.call_tool(*MAKE)
            assert not made.is_error, made.content
        assert await notes(client) == 3

    talk(tools, era, question, person)
    assert len(person.asked) == 1
    assert ALWAYS in person.offered[0]


@pytest.mark.parametrize("era", ERAS)
def test_what_cannot_be_taken_back_is_asked_each_time(tools: Path, era: str) -> None:
    person = Person("accept", ONCE)

    async def question(client: Client) -> None:
        for _ in range(2):
            await client.call_tool(*DELETE)

    talk(tools, era, question, person)
    assert len(person.asked) == 2
    assert ALWAYS not in person.offered[0]


@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_cannot_ask_is_told_what_would_have_run(tools: Path, era: str) -> None:
    async def question(client: Client) -> None:
        facts = facts_of(await client.call_tool(*MAKE))
        assert (facts["type"], facts["level"]) == ("UNANSWERED", "MODIFY")
        assert facts["retryable"] is True
        assert facts["requires_prompt"] is True
        assert "Application(" in facts["line"]
        assert "--allow" not in str(facts)

    talk(tools, era, question)


YES: types.InputResponses = {KEY: types.ElicitResult(action="accept", content={"answer": ONCE})}


def test_an_answer_is_for_one_call_with_these_arguments(tools: Path) -> None:
    async def question(client: Client) -> None:
        async def call(name: str, arguments: Any, state: str | None, said: Any = YES) -> Any:
            return await client.session.call_tool(
                name,
                arguments,
                input_responses=said if state is not None else None,
                request_state=state,
                allow_input_required=True,
            )

        asked = await call(*MAKE, None)
        assert isinstance(asked, types.InputRequiredResult)
        state = asked.request_state or ""
        for forged in (
            await call(MAKE[0], {"name": "Bread"}, state),
            await call(*DELETE, state),
            await call(*MAKE, state[:-3] + "AAA"),
            await call(*MAKE, "made up"),
        ):
            assert facts_of(forged)["type"] == "REFUSED", forged
        assert await notes(client) == 0
        asked = await call(*MAKE, None)
        first = await call(*MAKE, asked.request_state)
        assert not first.is_error, first.content
        again = await call(*MAKE, asked.request_state)
        assert facts_of(again)["type"] == "REFUSED"
        assert await notes(client) == 1

    talk(tools, "auto", question, Person("cancel"))


def test_an_answer_of_a_client_that_cannot_ask_is_forged(tools: Path) -> None:
    backing = backing_of(tools, gate=build_gate(GateOptions([tools], "")))
    server = build_sdk_server(backing, server_identity(), 54.0)
    states: list[str] = []

    async def able(client: Client) -> None:
        asked = await client.session.call_tool(*MAKE, allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)
        states.append(asked.request_state or "")

    async def unable(client: Client) -> None:
        result = await client.session.call_tool(
            *MAKE, input_responses=YES, request_state=states[0], allow_input_required=True
        )
        assert facts_of(result)["type"] == "UNANSWERED"
        assert await notes(client) == 0

    ask(server, able, elicitation_callback=Person("cancel"))
    ask(server, unable)
    backing.close()


@pytest.mark.parametrize("era", ERAS)
def test_what_a_read_only_server_suggests_can_be_done(
    tools: Path, tmp_path: Path, era: str
) -> None:
    state = tmp_path / "state.json"
    state.write_text('{"notes": {"@running": false}}', encoding="utf-8")
    gate = build_gate(GateOptions([tools], str(state), read_only=True))
    person = Person("accept", ONCE)

    async def question(client: Client) -> None:
        names = {row.name for row in (await client.list_tools()).tools}
        count = {"name": "notes_count", "arguments": {"element": "note"}}
        refused = facts_of(await client.call_tool("read_tool", count))
        assert refused["type"] == "APP_NOT_RUNNING"
        for tool in STARTERS:
            door = facts_of(
                await client.call_tool("read_tool", {"name": tool, "arguments": {"app": "Notes"}})
            )
            assert f"Call the tool {tool} directly" in door["suggestion"]
        assert "app_launch" in refused["suggestion"]
        assert "app_launch" in names
        started = await client.call_tool("app_launch", {"app": "Notes"})
        assert not started.is_error
        assert "Notes" in person.asked[0]
        assert not (await client.call_tool("read_tool", count)).is_error
        assert not (await client.call_tool("app_activate", {"app": "Notes"})).is_error
        assert len(person.asked) == 1

    lines = Listings([tools], Choice(read_only=True))
    server = build_server(build_methods(gate, lines), lines, server_identity())
    ask(server, question, era, elicitation_callback=person)
    gate.close()


class Fickle(Person):
    """Somebody who says yes, while what he was asked about changes under his hands."""

    def __init__(self, gate: Gate, changes: int) -> None:
        super().__init__("accept", ONCE)
        self._gate, self._changes = gate, changes

    async def __call__(self, context: Any, params: Any) -> types.ElicitResult:
        if len(self.asked) < self._changes:
            body = {"target": "notes[0]", "properties": {"name": f"Changed {len(self.asked)}"}}
            self._gate.call(Call("notes_set", body, Requester(preapproved_level="DANGEROUS")))
        return await super().__call__(context, params)


@pytest.mark.sweep
@pytest.mark.parametrize(("era", "changes", "asked", "fails"), [
    ("auto", 0, 1, False), ("auto", 1, 2, False), ("legacy", 0, 1, False), ("legacy", 1, 2, False),
    ("auto", 9, 3, True), ("legacy", 9, 3, True),
])  # fmt: skip
def test_what_changes_while_a_person_thinks_is_asked_about_anew(
    tools: Path, era: str, changes: int, asked: int, fails: bool
) -> None:
    gate = build_gate(GateOptions([tools], ""))
    person = Fickle(gate, changes)

    async def question(client: Client) -> None:
        result = await client.call_tool("notes_delete", {"target": "notes[0]"})
        assert result.is_error == fails
        if fails:
            assert facts_of(result)["type"] == "STALE"

    backing = backing_of(tools, gate=gate)
    try:
        ask(
            build_sdk_server(backing, server_identity(), 54.0),
            question,
            era,
            elicitation_callback=person,
        )
    finally:
        backing.close()
    assert len(person.asked) == asked
    assert "Shopping list" in person.asked[0]
    for text in person.asked[1:]:
        assert "This has changed since the last prompt: notes[0] was note" in text
