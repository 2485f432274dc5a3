"""A failure names the call to make next, and that call works."""

from typing import Any

import pytest
from player import Answer
from test_row_texts import asker

from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import GateOptions, build_gate

OF_INBOX = {"element": "message", "of": "inbox"}
FIRST = "inbox.messages[0]"

WRONG: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    # What holds it.
    ("calendar_list", {"element": "event"}, "", {"element": "event", "of": "calendars[0]"}),
    ("mail_list", {"element": "message"}, "", OF_INBOX),
    ("safari_count", {"element": "tab"}, "", {"element": "tab", "of": "windows[0]"}),
    ("calendar_list", {"element": "calendar", "of": "calendars[0]"}, "", {"element": "calendar"}),
    # Words for it, and slips.
    (
        "mail_list",
        {**OF_INBOX, "properties": ["from", "title"], "order": ["-received"]},
        "",
        {**OF_INBOX, "properties": ["sender", "subject"], "order": ["-date received"]},
    ),
    ("mail_list", {**OF_INBOX, "where": {"unread": True}}, "",
     {**OF_INBOX, "where": {"read status": False}}),
    ("mail_list", {**OF_INBOX, "where": {"subject": {"contain": "x", "begns with": "y"}}}, "",
     {**OF_INBOX, "where": {"subject": {"contain": "x", "begins with": "y"}}}),
    ("mail_get", {"target": "inbox.mesages[0].subjct"}, "", {"target": f"{FIRST}.subject"}),
    ("mail_set", {"target": FIRST, "properties": {"flag": True}}, "",
     {"target": FIRST, "properties": {"flagged status": True}}),
    ("notes_list", {"element": "notte", "limmit": 3}, "", {"element": "note", "limit": 3}),
    ("reminders_set_due", {"reminder": "Milk", "due": "2026-03-09"}, "",
     {"reminder": 'reminders["Milk"]', "due": "2026-03-09"}),
    ("app_running", {"app": "Notez"}, "", {"app": "Notes"}),
    # What is missing.
    ("mail_list", {}, "", OF_INBOX),
    ("notes_get", {}, "", {"target": "notes[0]"}),
    # What is not there.
    ("mail_get", {"target": "inbox.messages[99]"}, "mail_list", OF_INBOX),
    ("notes_get", {"target": 'notes["No such"]'}, "notes_list", {"element": "note"}),
    ("notes_get", {"target": "notes.whose({name: 'No such'})[0]"}, "notes_list",
     {"element": "note"}),
    # What it is in stays, and what is given twice is given once.
    ("calendar_list", {"element": "reminder", "of": "calendars[0]"}, "",
     {"element": "event", "of": "calendars[0]"}),
    ("mail_list", {"element": "recipient"}, "", {"element": "recipient", "of": FIRST}),
    ("notes_get", {"target": "first note of application"}, "", {"target": "notes[0]"}),
    ("notes_list", {"element": "note", "properties": ["title", "nme"]}, "",
     {"element": "note", "properties": ["name"]}),
    # What cannot be set is shown as it is.
    ("mail_set", {"target": FIRST, "properties": {"id": 1}}, "mail_get", {"target": FIRST}),
]  # fmt: skip


def test_a_write_that_only_its_caller_can_put_right_says_what_to_decide(answer: Answer) -> None:
    failed = answer("mail_set", {"target": FIRST, "properties": {"qqq": 1}})
    assert "next" not in failed
    assert failed["suggestion"]


def test_the_next_call_of_several_keeps_the_others(gate: Gate) -> None:
    calls = [{"element": "note"}, {"element": "notte"}, {"element": "folder"}]
    answer = asker(gate)("read_tool", name="notes_list", calls=calls)[0]
    then = answer["next"]
    assert then["tool"] == "read_tool"
    assert [row["element"] for row in then["arguments"]["calls"]] == ["note", "note", "folder"]
    assert not asker(gate)("read_tool", **then["arguments"])[1]["isError"]


def test_a_name_that_is_a_slip_leads_to_its_tool_with_what_was_given(gate: Gate) -> None:
    given = {"element": "note", "limit": 3}
    answer = asker(gate)("read_tool", name="notes_lisst", arguments=given)[0]
    wanted = {"name": "notes_list", "arguments": given}
    assert answer["next"] == {"tool": "read_tool", "arguments": wanted}


def test_a_tool_of_scripts_names_the_next_call_through_its_door() -> None:
    gate = build_gate(GateOptions(simulate=""))
    given = {"app": "Notizen", "term": "banana"}
    answer = asker(gate)("read_tool", name="get_app_dictionary", arguments=given)[0]
    wanted = {"name": "get_app_dictionary", "arguments": {"app": "Notes"}}
    assert answer["next"] == {"tool": "read_tool", "arguments": wanted}


@pytest.mark.parametrize(("tool", "given", "then", "wanted"), WRONG)
def test_the_next_call_is_the_one_that_was_meant(
    tool: str, given: dict[str, Any], then: str, wanted: dict[str, Any], answer: Answer
) -> None:
    failed = answer(tool, given)
    few = {"limit": 20} if (then or tool).endswith("_list") and "limit" not in wanted else {}
    assert failed["next"] == {"tool": then or tool, "arguments": {**wanted, **few}}
    told = answer(then or tool, wanted)
    assert "result" in told or "asks" in told


def test_a_missing_argument_lists_the_choices(answer: Answer) -> None:
    assert "event" in answer("calendar_list", {})["suggestion"]


EVENT = {"title": "A", "from": "2026-03-09T10:00", "until": "2026-03-09T11:00", "where": "Hall"}


@pytest.mark.parametrize(("tool", "given"), [
    ("notes_make_note", {"title": "A", "text": "B"}),
    ("calendar_make_event", {"in": "calendars[0]", **EVENT}),
    ("mail_list", {"class": "message", "of": "inbox", "columns": ["subject"]}),
    ("safari_go_to", {"link": "https://example.com"}),
])  # fmt: skip
def test_arguments_may_be_called_what_people_call_them(
    tool: str, given: dict[str, Any], answer: Answer
) -> None:
    told = answer(tool, given)
    assert "result" in told or "asks" in told, told


@pytest.mark.parametrize(
    "chosen",
    ["calendar mail safari textedit", pytest.param("", marks=pytest.mark.stress)],
    ids=["some", "all"],
)
def test_every_class_is_reached_by_following_next_calls(
    chosen: str, gate: Gate, answer: Answer
) -> None:
    assert gate.catalogue is not None
    stuck = []
    for app in gate.catalogue.apps.values():
        tables = gate.catalogue.load_tables(app)
        for term in tables.classes if app.key in (chosen or app.key) else ():
            told = answer(f"{app.key}_list", {"element": term}) if "list" in tables.tools else {}
            for _ in range(4):
                # An object may be missing in this world: then comes what would hold it.
                if "next" in told:
                    told = answer(told["next"]["tool"], told["next"]["arguments"])
            if "message" in told:
                stuck.append((app.key, term, told["message"]))
    assert stuck == []
