"""Other spellings of one call: none of them gets round a rule or the blocklist."""

from typing import Any

import pytest
from policy_calls import HOME, facts_of, settings_of
from test_policy_escalation import rules_of, world

from iac_runtime.policy.decide import decide_call
from iac_runtime.policy.escalation import RuleContext
from iac_runtime.policy.places import is_in_programs
from iac_runtime.policy.settings import Policy

__all__ = ["world"]

LIBRARY = 'home.folders["Library"]'
INBOX = "inbox.messages[0]"


def rules(tool: str, given: dict[str, Any], world: RuleContext) -> list[str]:
    return rules_of((tool, given), world)


@pytest.mark.parametrize(("tool", "given"), [
    ("finder set", {"target": "~/a.txt", "properties": {"name": ".zshrc"}}),
    ("finder set", {"target": 'home.files["a.txt"]', "properties": {"Name": ".ZSHRC"}}),
    ("finder set", {"target": "~/a.txt", "properties": {"properties": {"name": ".zshrc"}}}),
    ("finder set", {"target": "~/Library/x", "properties": {"name": "LaunchAgents"}}),
    ("finder make", {"element": "file", "at": "home", "properties": {"name": ".zshrc"}}),
    ("finder make",
     {"element": "folder", "at": "~/Library", "properties": {"name": "LaunchAgents"}}),
    ("finder move", {"target": "~/Documents/LaunchAgents", "to": "~/Library"}),
    ("finder duplicate", {"target": ["~/x/a", "~/x/LaunchAgents"], "to": "~/Library"}),
    ("system_events set", {"target": "~/a.txt", "properties": {"name": ".zshrc"}}),
])  # fmt: skip
def test_a_name_that_makes_a_place_protected_is_refused(
    tool: str, given: dict[str, Any], world: RuleContext
) -> None:
    assert "protected-place" in rules(tool, given, world)


@pytest.mark.parametrize(("to", "told"), [
    ("/Applications", True), ("~/applications", True),
    ("/System/Volumes/Data/Applications/Utilities", True), (f"{LIBRARY}.folders[3]", True),
    (f'{LIBRARY}.folders.whose({{name: "LaunchAgents"}})[0]', True), ("home.folders[0]", True),
    ("windows[0].target", True), ("insertionLocation", True), ("desktop.folders[0]", False),
    ("~/Projects", False), ("~/Library/Mobile Documents/com~apple~CloudDocs", False),
])  # fmt: skip
def test_a_folder_of_programs_or_one_that_cannot_be_told_needs_a_question(
    to: str, told: bool, world: RuleContext
) -> None:
    for tool in ("finder move", "finder duplicate"):
        found = rules(tool, {"target": "~/Documents/a.txt", "to": to}, world)
        assert ("program-place" in found) is told


def test_what_is_no_file_needs_no_place(world: RuleContext) -> None:
    given = {"element": "Finder window", "to": "home"}
    assert "program-place" not in rules("finder make", given, world)
    given = {"element": "folder", "at": "windows[0].target"}
    assert "program-place" in rules("finder make", given, world)


@pytest.mark.parametrize(("tool", "given", "told"), [
    ("mail move", {"target": INBOX, "to": "trashMailbox"}, "to-trash"),
    ("mail move", {"target": INBOX, "to": "junk mailbox"}, "to-trash"),
    ("mail set", {"target": INBOX, "properties": {"mailbox": "trashMailbox"}}, "to-trash"),
    ("mail move", {"target": INBOX, "to": 'accounts["Work"].mailboxes["Deleted Messages"]'},
     "to-trash"),
    ("finder move", {"target": "~/Documents/a.txt", "to": "trash"}, "to-trash"),
    ("system_events move", {"target": "~/Documents/a.txt", "to": "~/.Trash"}, "to-trash"),
    ("notes move", {"target": "notes[0]", "to": 'folders["Recently Deleted"]'}, "to-trash"),
    ("notes move", {"target": "notes[0]", "to": 'folders["Binders"]'}, ""),
    ("mail move",
     {"target": 'accounts["Home"].mailboxes["INBOX"].messages[0]',
      "to": 'accounts["Work"].mailboxes["Filed"]'}, "other-account"),
    ("mail move",
     {"target": 'accounts["Work"].mailboxes["INBOX"].messages[0]',
      "to": 'accounts["Work"].mailboxes["Filed"]'}, ""),
])  # fmt: skip
def test_throwing_away_by_a_move_is_throwing_away(
    tool: str, given: dict[str, Any], told: str, world: RuleContext
) -> None:
    found = [rule for rule in rules(tool, given, world) if rule in ("to-trash", "other-account")]
    assert found == ([told] if told else [])


@pytest.mark.parametrize(("tool", "given"), [
    ("mail set", {"target": "selection", "properties": {"read status": True}}),
    ("mail set",
     {"target": "messageViewers[0].selectedMessages", "properties": {"read status": True}}),
    ("finder move", {"target": "selection", "to": "~/Desktop"}),
    ("finder move", {"target": "selection.files", "to": "~/Desktop"}),
    ("finder move", {"target": "~/Documents", "to": "~/Desktop"}),
    ("finder move", {"target": 'home.folders["Documents"].entireContents', "to": "~/Desktop"}),
])  # fmt: skip
def test_many_objects_by_another_name_are_many(
    tool: str, given: dict[str, Any], world: RuleContext
) -> None:
    plain = given["target"] == "~/Documents"
    assert ("many-objects" in rules(tool, given, world)) is not plain


@pytest.mark.parametrize(("url", "told"), [
    ("https://example.com", False), (" HTTPS://example.com/a?b#c \n", False),
    ("https://example.com@evil.example", True), ("https://example.com\\@evil.example", True),
    ("https://example.com\njavascript:x", True), ("https://\u202emoc.elpmaxe", True),
    ("https://exam\u200bple.com", True), ("https:example.com", True),
    ("java\tscript:alert(1)", True),
])  # fmt: skip
def test_only_a_plain_https_address_is_one(url: str, told: bool, world: RuleContext) -> None:
    given = {"target": "windows[0].tabs[0]", "properties": {"URL": url}}
    assert ("url-scheme" in rules("safari set", given, world)) is told


def test_a_program_is_not_renamed_unasked(world: RuleContext) -> None:
    for target, told in (("/Applications/X.app", True), ("~/Documents/x.txt", False)):
        given = {"target": target, "properties": {"name": "y"}}
        assert ("executable-name" in rules("finder set", given, world)) is told


def test_a_dialog_that_takes_a_text_is_asked_about(world: RuleContext) -> None:
    assert "hidden-answer" not in rules("standard_additions display_dialog", {"target": "?"}, world)
    given = {"target": "?", "default_answer": ""}
    assert "hidden-answer" in rules("standard_additions display_dialog", given, world)


@pytest.mark.parametrize("target", [
    'uiElements["Terminal"].windows[0].buttons[0]',
    'UI elements.whose({name: "Terminal"})[0].buttons[0]', "uiElements[0].buttons[0]",
    'application processes["Terminal"].uiElements[0].buttons[0]',
])  # fmt: skip
def test_a_process_is_an_interface_element_too(target: str) -> None:
    facts = facts_of("system_events click", {"target": target}, preapproved_level="DANGEROUS")
    assert decide_call(facts, Policy(), settings_of()).source.startswith("blocklist entry")


def test_an_element_of_an_element_is_no_process() -> None:
    target = 'processes["Notes"].windows[0].uiElements["Terminal"]'
    facts = facts_of("system_events click", {"target": target}, preapproved_level="DANGEROUS")
    assert decide_call(facts, Policy(), settings_of()).action == "allow"


def test_where_programs_lie() -> None:
    assert is_in_programs("/library/x", HOME)
    assert not is_in_programs("/LibraryX/x", HOME)
    assert not is_in_programs(f"{HOME}/Documents/Applications", HOME)
