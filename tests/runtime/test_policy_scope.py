"""What an "always" covers, in words, and which calls it does not cover."""

from typing import Any

import pytest
from policy_calls import DISK, HOME, facts_of

from iac_runtime.policy.decide import find_approval_scope
from iac_runtime.policy.escalation import RuleContext
from iac_runtime.policy.facts import Effect, Flow

NOTE = {"target": "notes[0]", "properties": {"name": "a"}}
PAGE = {"URL": "https://www.example.com/x"}


@pytest.mark.parametrize(
    ("tool", "given", "words"),
    [
        ("notes set", {**NOTE, "target": 'folders["x"].notes[0]'}, "change name of notes in Notes"),
        ("notes set", {**NOTE, "target": "folders[0]"}, "change name of folders in Notes"),
        (
            "notes set",
            {**NOTE, "target": "notes[0].container"},
            "change name of container of notes in Notes",
        ),
        ("notes make", {"element": "folder"}, "make folders in Notes"),
        (
            "notes make",
            {"element": "note", "at": 'folders["Work"]'},
            'make notes at folders["Work"] in Notes',
        ),
        (
            "mail set",
            {"target": "inbox.messages[0]", "properties": {"read status": True}},
            "change read status to true of messages in Mail",
        ),
        (
            "mail move",
            {"target": "inbox.messages[0]", "to": 'mailboxes["Work"]'},
            'move messages to mailboxes["Work"] in Mail',
        ),
        (
            "music set",
            {"target": "application", "properties": {"EQ enabled": True}},
            "change eq enabled to true of the app in Music",
        ),
        (
            "music set",
            {"target": "tracks[0]", "properties": {"rating": 3}},
            "change rating of tracks in Music",
        ),
        (
            "finder move",
            {"target": "~/Documents/a", "to": "~/Desktop"},
            "move items in ~/Documents to ~/Desktop in Finder",
        ),
        (
            "finder make",
            {"element": "folder", "at": "~/Documents"},
            "make folders at ~/Documents in Finder",
        ),
        ("textedit open", {"target": ["/tmp/a.txt"]}, "open files in /tmp in TextEdit"),
        (
            "notes save",
            {"target": "notes[0]", "in_": "~/Documents/a.txt"},
            "save notes in ~/Documents in Notes",
        ),
        (
            "safari set",
            {"target": "windows[0].tabs[0]", "properties": PAGE},
            "open pages of www.example.com in tabs in Safari",
        ),
        (
            "safari make",
            {"element": "document", "properties": PAGE},
            "open pages of www.example.com in new documents in Safari",
        ),
    ],
)
def test_a_scope_says_what_it_covers(tool: str, given: dict[str, Any], words: str) -> None:
    found = find_approval_scope(facts_of(tool, given).effects)
    assert found is not None
    assert found.description == words


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("notes get", {"target": "notes[0].name"}),
        ("terminal do_script", {"command": "ls"}),
        ("mail send", {"target": "outgoingMessages[0]"}),
        (
            "system_events set",
            {"target": 'processes["Notes"].windows[0]', "properties": {"value": "x"}},
        ),
        ("finder set", {"target": "selection", "properties": {"comment": "x"}}),
    ],
)
def test_what_is_read_sent_run_or_not_known_is_never_remembered(
    tool: str, given: dict[str, Any]
) -> None:
    facts = facts_of(tool, given)
    assert find_approval_scope(facts.effects) is None or facts.level == "DANGEROUS" or facts.raised


def test_a_link_is_where_it_leads() -> None:
    links = RuleContext(type(DISK)(DISK.kinds, {f"{HOME}/Documents/l": "/Volumes/Other"}))
    given = {"target": "~/Documents/l/a", "to": "~/Desktop"}
    found = find_approval_scope(facts_of("finder move", given, links).effects)
    assert found is not None
    assert found.description == "move items in /Volumes/Other to ~/Desktop in Finder"


def test_case_of_a_folder_does_not_count_and_that_of_a_name_does() -> None:
    def keys(tool: str, **given: Any) -> tuple[str, ...]:
        found = find_approval_scope(facts_of(tool, given).effects)
        assert found is not None
        return found.keys

    move = {"target": "~/documents/a", "to": "~/Desktop"}
    assert keys("finder move", **move) == keys("finder move", **{**move, "target": "~/Documents/b"})
    boxes = [keys("mail move", target="inbox.messages[0]", to=f'mailboxes["{n}"]') for n in "aA"]
    assert boxes[0] != boxes[1]


def test_what_is_too_long_to_show_is_not_remembered() -> None:
    given = tuple((f"property {number}", "") for number in range(40))
    effect = Effect("change", "a.b", "A", "note", level="MODIFY", event="coresetd", given=given)
    assert find_approval_scope([effect]) is None
    assert find_approval_scope([effect._replace(given=given[:3])]) is not None


def test_where_anything_goes_is_part_of_it() -> None:
    effect = Effect("change", "a.b", "A", "note", level="MODIFY", event="coresetd", given=())
    there = effect._replace(flow=(Flow("recipient", "a@b.org"),))
    scopes = [find_approval_scope([one]) for one in (effect, there)]
    assert scopes[0] is not None
    assert scopes[1] is not None
    assert scopes[0].keys != scopes[1].keys
    assert "a@b.org" in scopes[1].description
    assert not scopes[1].is_within(scopes[0].keys)
