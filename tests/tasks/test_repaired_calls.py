"""Calls as models really send them do what the call does that they stand for."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from player import ABLE, Answer

from iac_base.errors import InvalidParameterError, ToolError
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.gate.repair import meant_tools, repair_arguments
from iac_runtime.serve.call import done_result, unwrap_call_tool
from iac_runtime.types import parse_type

UNREAD = {"element": "message", "of": "inbox", "where": {"read status": False}, "limit": 2}
HOSTILE = ["true", "null", "2", "[1]", '{"a": 1}', '"x"', "None", "gte", "{", "mcp__iac__mail"]
ANY_TEXT = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=30))
QUICK = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

MEANT: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("mail_list", {**UNREAD, "limit": "2"}, UNREAD),
    ("mail_list", {**UNREAD, "where": '{"read status": false}'}, UNREAD),
    ("mail_list", {**UNREAD, "where": {"read status": "false"}}, UNREAD),
    ("mail_list", {**UNREAD, "where": {"readStatus": {"$ne": "true"}}, "order": "null"},
     {**UNREAD, "where": {"readStatus": {"!=": True}}}),
    ("mail_list", {**UNREAD, "element": "messages"}, UNREAD),
    ("mail_list", {**UNREAD, "properties": '["subject"]'}, {**UNREAD, "properties": ["subject"]}),
    ("mail_list", {**UNREAD, "order": "-date received"}, {**UNREAD, "order": ["-date received"]}),
    ("mail_list", {**UNREAD, "filter": UNREAD["where"], "where": None}, UNREAD),
    ("calendar_list", {"element": "calendar", "of": "null"}, {"element": "calendar"}),
    ("reminders_make_reminder", {"name": "null", "due_date": "2026-03-09"},
     {"name": "null", "due": "2026-03-09"}),
    ("reminders_set", {"target": "reminders[0]", "properties": {"completed": "True"}},
     {"target": "reminders[0]", "properties": {"completed": True}}),
    ("reminders_list", {"name": "reminders_list", "arguments": '{"element": "reminder"}'},
     {"element": "reminder"}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "sent", "meant"), MEANT)
def test_what_was_sent_is_the_call_that_was_meant(
    tool: str, sent: dict[str, Any], meant: dict[str, Any], gate: Gate
) -> None:
    plan, wanted = gate.plan_call(Call(tool, sent)), gate.plan_call(Call(tool, meant))
    assert plan.facts.line == wanted.facts.line
    assert plan.facts.repairs
    assert not wanted.facts.repairs


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("mcp__iac__mail_count_unread", "mail_count_unread"),
        ("iac.notes_list", "notes_list"),
        ("notesList", "notes_list"),
        ("calendar_create_event", "calendar_make_event"),
        ("notes_remove", "notes_delete"),
        ("list_notes", "notes_list"),
    ],
)
def test_a_tool_is_found_by_every_way_of_writing_its_name(name: str, tool: str, gate: Gate) -> None:
    assert gate.find_tool(name).name == tool


def test_a_name_of_two_tools_is_none() -> None:
    known = ["notes_make_note", "notes_note_make"]
    assert meant_tools("make_notes_note", known) == known


@pytest.mark.parametrize(
    "sent",
    [
        {"name": "notes_list", "arguments": '{"element": "note"}'},
        {"name": "notes_list", "element": "note"},
        {"name": "notes_list", "args": {"element": "note"}},
        {"Name": "notes_list", "arguments": "{}", "element": "note"},
    ],
)
def test_arguments_of_a_call_by_name_are_found_wherever_they_stand(sent: dict[str, Any]) -> None:
    call = unwrap_call_tool(Call("read_tool", sent))
    assert (call.tool, call.arguments) == ("notes_list", {"element": "note"})
    assert call.repairs


def test_an_argument_inside_and_beside_is_refused_with_both_readings() -> None:
    sent = {"name": "notes_list", "limit": 2, "arguments": {"limit": 3}}
    with pytest.raises(InvalidParameterError, match=r'"limit" is "3" inside .* and "2" beside'):
        unwrap_call_tool(Call("read_tool", sent))


def test_two_words_for_one_argument_are_refused(answer: Answer) -> None:
    given = {"name": "x", "due": "2026-03-09", "due_date": "2026-03-10"}
    assert answer("reminders_make_reminder", given)["type"] == "INVALID_PARAMETER"


def test_what_was_put_right_stands_beside_the_answer_and_in_the_audit(gate: Gate) -> None:
    done = gate.call(Call("notes_list", {"element": "note", "limit": "1"}))
    assert isinstance(done, CompletedCall)
    assert done_result(done)["_meta"]["iac/repairs"] == ["limit: a number was read from a text"]


def test_a_person_is_asked_about_the_repaired_call(answer: Answer) -> None:
    given = {"target": "reminders[0]", "properties": {"completed": "true"}}
    question = answer("reminders_set", given)["asks"]
    whole = {"target": "reminders[0]", "properties": {"completed": True}}
    assert question == answer("reminders_set", whole)["asks"]


def _examples(gate: Gate) -> list[tuple[str, dict[str, Any]]]:
    assert gate.catalogue is not None
    found = []
    for name in sorted(gate.catalogue.tools):
        operation = gate.find_tool(name).operation
        if operation is not None and operation.spec.example:
            found.append((name, dict(operation.spec.example)))
    return found


@pytest.fixture(scope="module")
def examples(gate: Gate) -> list[tuple[str, dict[str, Any]]]:
    return _examples(gate)


@QUICK
@given(data=st.data())
def test_every_tool_takes_its_example_encoded_twice_and_leaves_a_valid_one_alone(
    data: st.DataObject, gate: Gate, examples: list[tuple[str, dict[str, Any]]]
) -> None:
    name, example = data.draw(st.sampled_from(examples))
    try:
        wanted = gate.plan_call(Call(name, example))
    except ToolError:
        return
    assert not wanted.facts.repairs
    chosen = data.draw(st.sets(st.sampled_from(sorted(example))))
    sent: Any = {
        key: json.dumps(value) if key in chosen and not isinstance(value, str) else value
        for key, value in example.items()
    }
    sent = json.dumps(sent) if data.draw(st.booleans()) else sent
    plan = gate.plan_call(Call(name, sent))
    assert plan.facts.arguments == wanted.facts.arguments
    assert plan.facts.level == wanted.facts.level


@QUICK
@given(data=st.data(), text=ANY_TEXT)
def test_a_text_is_never_read_as_anything_else(
    data: st.DataObject, text: str, gate: Gate, examples: list[tuple[str, dict[str, Any]]]
) -> None:
    name, example = data.draw(st.sampled_from(examples))
    tool = gate.find_tool(name)
    assert tool.operation is not None
    rows = tool.operation.spec.params
    texts = [
        key for key, row in rows.items() if "text" in [one.name for one in parse_type(row.type)]
    ]
    # A second thing is wrong, so that the call is looked at.
    given = {**example, **dict.fromkeys(texts, text), "no such argument": 1}
    found = repair_arguments(given, tool).arguments
    assert {key: found[key] for key in texts} == dict.fromkeys(texts, text)


@QUICK
@given(text=ANY_TEXT)
def test_a_written_text_arrives_as_it_was_sent(text: str, gate: Gate) -> None:
    sent = {"element": "note", "properties": {"name": text}, "timeout": "30"}
    whole = {**sent, "timeout": 30}
    try:
        wanted = gate.plan_call(Call("notes_make", whole, ABLE))
    except ToolError:
        return
    assert gate.plan_call(Call("notes_make", sent, ABLE)).facts.line == wanted.facts.line
