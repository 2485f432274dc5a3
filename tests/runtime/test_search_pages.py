"""The page of a tool: enough to call it, and an example that can be called."""

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from iac_base.errors import UnknownToolError
from iac_runtime.gate.planning import expand_recipe
from iac_runtime.language.compose import compose_request
from iac_runtime.search import Index, SearchHit, count_tokens, tool_page
from iac_runtime.serve.listing import Choice, relevant_instructions
from iac_runtime.serve.stdio import INSTRUCTIONS
from iac_runtime.serve.tool_pages import ToolSearch, any_page
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import OWN_TOOLS

ROOT = Path(__file__).parent.parent.parent
TOOLS = ROOT / "generated" / "iac_tools"
CATALOGUE = Catalogue([TOOLS])
ENTRIES = {entry["name"]: entry for entry in CATALOGUE.read_listing()}


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted([*CATALOGUE.tools, *OWN_TOOLS]))
def test_the_example_of_every_tool_fits_its_schema(name: str) -> None:
    found = any_page(CATALOGUE, name)
    assert found.tool == name
    assert "\n" not in found.purpose
    assert found.purpose
    assert not found.purpose.endswith(("SAFE, reads.", "MODIFY."))
    Draft202012Validator(dict(found.schema)).validate(dict(found.example))


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(CATALOGUE.tools))
def test_the_example_of_every_tool_is_a_call_that_can_be_sent(name: str) -> None:
    tool = CATALOGUE.load_operation(name)
    example = tool_page(CATALOGUE, name).example
    assert (
        compose_request(tool, expand_recipe(tool.spec, example), "/Users/me").app
        == tool.tables.app.id
    )


def test_the_schema_is_the_one_that_is_listed() -> None:
    assert tool_page(CATALOGUE, "mail_list").schema == ENTRIES["mail_list"]["inputSchema"]


def test_the_example_of_a_hit_is_about_what_was_asked() -> None:
    index = Index(CATALOGUE)
    hits = {hit.tool: hit for hit in index.find("list mail messages by sender", limit=8)}
    example = tool_page(CATALOGUE, hits["mail_list"]).example
    assert example["element"] == "message"
    assert "sender" in example["properties"]


@pytest.mark.parametrize("op", ["get", "set", "list", "count", "make"])
def test_the_example_of_a_hit_fits_too(op: str) -> None:
    hit = SearchHit(f"notes_{op}", 1.0, "", op, "note", ("name",), "SAFE")  # type: ignore[arg-type]
    found = tool_page(CATALOGUE, hit)
    Draft202012Validator(dict(found.schema)).validate(dict(found.example))
    tool = CATALOGUE.load_operation(hit.tool)
    compose_request(tool, found.example, "/Users/me")


def test_an_unknown_tool_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownToolError, match="mail_list"):
        tool_page(CATALOGUE, "mail_lists")


def test_tokens_are_bytes_by_four() -> None:
    assert count_tokens([]) == 0
    assert count_tokens([{"name": "abc"}]) == len('{"name":"abc"}') // 4
    listing = (TOOLS / "listing.jsonl").read_bytes()
    assert abs(count_tokens(ENTRIES.values()) - len(listing) // 4) < len(ENTRIES)


SEARCH = ToolSearch(lambda: CATALOGUE, read_only=False)


@pytest.mark.parametrize("asked", [
    {"query": "unread mails"}, {"query": "move a window to the left"},
    {"query": "play something by a singer"}, {"query": "anything", "app": "Music"},
])  # fmt: skip
def test_an_answer_has_the_best_tools_and_names_and_keeps_its_budget(asked: dict[str, Any]) -> None:
    answer = SEARCH.find_pages(asked)
    assert 3 <= len(answer["tools"]) <= 5
    named = [name for group in answer["more"].values() for name in group]
    assert not {*named} & {row["name"] for row in answer["tools"]}
    assert named
    assert "app" in asked or count_tokens([answer]) <= 400


def test_all_tools_of_an_app_that_is_given_are_named() -> None:
    answer = SEARCH.find_pages({"query": "anything", "app": "Notes"})
    named = {name for group in answer["more"].values() for name in group}
    named |= {row["name"] for row in answer["tools"]}
    assert {name for name in CATALOGUE.tools if name.startswith("notes_")} <= named


def test_a_tool_that_was_only_named_has_its_page_alone_when_asked_for_by_name() -> None:
    answer = SEARCH.find_pages({"query": "textedit_set"})
    (row,) = answer["tools"]
    assert row["name"] == "textedit_set"
    assert row["arguments"]["properties"].startswith("object: ")
    assert "more" not in answer
    assert count_tokens([answer]) <= 200


def test_a_page_tells_of_each_argument_what_it_takes() -> None:
    (row,) = SEARCH.find_pages({"query": "notes_list"})["tools"]
    assert row["arguments"]["element"].startswith("document | window | account | folder | note")
    assert row["arguments"]["limit?"].startswith("integer")
    assert row["arguments"]["offset?"].startswith("integer = 0")


def test_the_door_is_that_of_the_example_and_the_page_says_what_needs_another() -> None:
    (row,) = SEARCH.find_pages({"query": "notes_set"})["tools"]
    assert row["example"]["properties"].keys() == {"name"}
    assert row["call_with"] == "write_tool"
    assert row["others"] == "dangerous_tool for: body"


@pytest.mark.parametrize(("asked", "tool", "example"), [
    ("which events are there tomorrow", "calendar_events_of_day", {"day": "tomorrow"}),
    ("find the mail from Ines about the lease", "mail_find_by_sender", {"sender": "Ines"}),
    ("find the mail from Ines about the lease", "mail_find_by_subject", {"subject": "lease"}),
    ("the five newest notes", "notes_newest_notes", {"limit": 5}),
    ('make a reminder called "Buy milk"', "reminders_make_reminder", {"name": "Buy milk"}),
    ("add a 20 minute alert to the event", "calendar_add_alert",
     {"event": "calendars[0].events[0]", "minutes": 20}),
    ("which events are there on friday at 23:30", "calendar_events_between",
     {"start": "friday 23:30", "end": "friday 23:59"}),
    # Next Friday means two days: nothing is guessed.
    ("which events are there next friday", "calendar_events_of_day",
     {"day": "2026-03-01"}),
    ('show the note called "Old"', "notes_show_note", {"note": 'notes["Old"]'}),
])  # fmt: skip
def test_an_example_is_filled_from_the_request(
    asked: str, tool: str, example: dict[str, Any]
) -> None:
    rows = {row["name"]: row["example"] for row in SEARCH.find_pages({"query": asked})["tools"]}
    assert rows[tool] == example


@pytest.mark.parametrize("asked", [
    "write an email to tom@example.com that I am late, but don't send it yet",
    "prepare a mail to the landlord without sending it", "draft a mail to Ines and do not send it",
])  # fmt: skip
def test_what_a_request_forbids_is_not_led_with(asked: str) -> None:
    first = SEARCH.find_pages({"query": asked})["tools"][0]["name"]
    assert first in ("mail_make_message", "mail_make")


@pytest.mark.parametrize(("asked", "app"), [
    ("what is the phone number of Ines", "Contacts"), ("show my photos of last summer", "Photos"),
    ("send a WhatsApp message to Lena", "WhatsApp"),
])  # fmt: skip
def test_an_app_without_tools_is_named_where_a_request_is_for_it(asked: str, app: str) -> None:
    answer = SEARCH.find_pages({"query": asked})
    assert answer["tools"] == []
    assert app in answer["note"]


def test_what_nothing_serves_is_told_so() -> None:
    answer = SEARCH.find_pages({"query": "will it rain in Oslo"})
    assert answer["tools"] == []
    assert "No tool matches" in answer["note"]


@pytest.mark.parametrize(("choice", "there", "gone"), [
    (Choice(), "find_tools write_tool perform_action", ""),
    (Choice(read_only=True), "find_tools read_tool", "write_tool perform_action Act:"),
    (Choice(("notes",)), "Verify: next", "find_tools read_tool execute_applescript"),
    (Choice(("notes", "applescript")), "execute_applescript", "find_tools perform_action"),
])  # fmt: skip
def test_instructions_speak_of_what_can_be_called(choice: Choice, there: str, gone: str) -> None:
    said = relevant_instructions(INSTRUCTIONS, choice)
    assert all(word in said for word in there.split())
    assert not any(word in said for word in gone.split())
