"""Sections that read like intent: only these apps, never this, writing in these folders alone."""

from dataclasses import replace
from typing import Any

import pytest
from policy_calls import also, facts_of, on, settings_of

from iac_runtime.policy.decide import decide_call
from iac_runtime.policy.facts import Action, CallFacts, Decision
from iac_runtime.policy.policy_file import parse_policy

READ = facts_of("notes list", {"element": "note"})
WRITE = facts_of("notes make_note", {"name": "Milk"})
DELETE = facts_of("notes delete", {"target": "notes[0]"})
SEND = facts_of("mail send", {"target": "outgoingMessages[0]"})
NOTES = '[only]\napps = ["Notes", "com.apple.iCal"]'


def judged(facts: CallFacts, rules: str) -> Decision:
    policy = parse_policy(rules)
    return decide_call(facts, policy, settings_of(policy))


def told(facts: CallFacts, rules: str) -> Action:
    return judged(facts, rules).action


def test_only_denies_whatever_reaches_another_app() -> None:
    assert told(READ, NOTES) == "allow"
    assert told(on(READ, "com.apple.iCal", name="Calendar"), NOTES) == "allow"
    assert told(on(READ, "com.apple.mail", name="Mail"), NOTES) == "deny"
    assert told(also(READ, ("com.apple.mail", "Mail")), NOTES) == "deny"
    assert (
        judged(SEND, f"{NOTES}\nwhy = 'Work.'").reasons[-1]
        == "policy.toml line 1 denies this call: Work."
    )
    # A name alone is none: it may be any app's.
    assert told(on(READ, "", name="Notes"), NOTES) == "deny"
    assert told(CallFacts("list_apps"), NOTES) == "allow"


def test_what_cannot_be_told_to_be_among_the_apps_is_asked_about() -> None:
    hidden = also(READ, doubt="a script makes it up")
    assert told(hidden, f"{NOTES}\n[[allow]]\ntool = '*'") == "ask"
    assert told(hidden, "[[allow]]\ntool = '*'") == "allow"


@pytest.mark.parametrize(("facts", "verb"), [
    (SEND, "send"), (DELETE, "delete"), (WRITE, "create"),
    (on(WRITE, "com.apple.Notes", verb="run"), "run"),
])  # fmt: skip
def test_never_denies_by_what_is_done(facts: CallFacts, verb: str) -> None:
    assert judged(facts, f"[never]\n{verb} = true").source == "policy.toml line 2"
    assert told(facts, f"[never]\n{verb} = true") == "deny"
    assert told(READ, f"[never]\n{verb} = true") == "allow"
    assert "line" not in judged(facts, f"[never]\n{verb} = false").source


def test_what_is_done_and_not_known_is_asked_about() -> None:
    unknown = on(WRITE, "com.apple.Notes", verb="unknown")
    free = "[[allow]]\ntool = '*'\n"
    assert told(unknown, free) == "allow"
    found = judged(unknown, f"{free}[never]\nsend = true")
    assert found.action == "ask"
    assert (
        "IAC cannot know everything that this does, and policy.toml line 4 may deny it."
        in found.reasons
    )
    # What is not known of a look is no sending.
    assert told(also(READ, doubt="any app"), f"{free}[never]\nsend = true") == "allow"


@pytest.mark.parametrize(("tool", "arguments", "expected"), [
    ("finder move", {"target": "~/Projects/a.txt", "to": "~/Projects/b"}, "ask"),
    ("finder move", {"target": "~/Documents/a.txt", "to": "~/Projects/b"}, "deny"),
    ("finder move", {"target": "~/Projects/a.txt", "to": "~/Documents"}, "deny"),
    ("finder duplicate", {"target": "~/Documents/a.txt", "to": "~/Projects/b"}, "ask"),
    ("finder delete", {"target": "~/Projects/a/a.txt"}, "ask"),
    ("finder delete", {"target": ["~/Projects/a.txt", "~/Documents/a.txt"]}, "deny"),
    ("finder delete", {"target": 'home.folders["Documents"].files["a"]'}, "deny"),
    ("finder make", {"element": "folder", "at": "~/Projects"}, "ask"),
    ("finder make", {"element": "folder", "at": "~/Documents"}, "deny"),
    ("finder open", {"target": "~/Documents/a.txt"}, "ask"),
    ("textedit save", {"target": "documents[0]", "in": "~/Projects/a.txt"}, "ask"),
    ("textedit save", {"target": "documents[0]", "in": "~/Projects/../a.txt"}, "deny"),
    ("finder list", {"element": "file", "of": "~/Documents"}, "allow"),
    ("notes make_note", {"name": "x"}, "ask"),
])  # fmt: skip
def test_files_elsewhere_are_not_written(
    tool: str, arguments: dict[str, Any], expected: Action
) -> None:
    rule = '[folders]\nwrite = ["~/Projects"]'
    assert told(facts_of(tool, arguments), rule) == expected


def test_files_that_are_not_known_are_asked_about() -> None:
    rule = '[folders]\nwrite = ["~/Projects"]\n[[rule]]\ntool = "*"\nlevel = "SAFE"'
    call = {"target": "selection", "properties": {"comment": "x"}}
    facts = facts_of("finder set", call, raised=())
    assert told(facts, rule[rule.index("[[") :]) == "allow"
    assert told(facts, rule) == "ask"


SCRIPT = replace(on(WRITE, "com.apple.Notes"), event=None)


@pytest.mark.parametrize(("facts", "condition"), [
    (SCRIPT, "tainted = true"), (SCRIPT, "objects = { at_least = 5 }"),
    (SCRIPT, 'sends_to = "*.evil.com"'), (SEND, 'sends_to = "*.evil.com"'),
    (on(WRITE, "com.apple.Notes", verb="run"), 'sends_to = "*"'),
])  # fmt: skip
def test_a_condition_that_cannot_be_told_asks_and_allows_nothing(
    facts: CallFacts, condition: str
) -> None:
    free = "[[rule]]\ntool = '*'\nlevel = 'MODIFY'\n[[allow]]\ntool = '*'"
    assert told(facts, free) == "allow"
    found = judged(facts, f"{free}\n[[deny]]\n{condition}")
    assert (found.action, found.source) == ("ask", "policy.toml line 6")
    loose = condition.replace("true", "false").replace("at_least", "at_most")
    assert told(facts, f"{free}\n{loose}") == "ask"


def test_a_script_that_changes_something_may_write_anywhere() -> None:
    rule = '[folders]\nwrite = ["~/Projects"]\n[[allow]]\ntool = "*"'
    assert told(SCRIPT, rule) == "ask"
    assert told(replace(READ, event=None), rule) == "allow"


UNDOABLE = [
    ("notes make_note", {"name": "x"}, True),
    ("notes set", {"target": "notes[0]", "properties": {"name": "x"}}, True),
    ("notes delete", {"target": "notes[0]"}, True),
    ("finder delete", {"target": "~/Documents/a.txt"}, True),
    ("mail delete", {"target": "inbox.messages[0]"}, True),
    ("mail delete", {"target": 'mailboxes["Work"]'}, False),
    ("mail send", {"target": "outgoingMessages[0]"}, False),
    ("finder empty", {"target": "trash"}, False),
    ("music set", {"target": "playlists[0].tracks", "properties": {"rating": 3}}, False),
]


@pytest.mark.parametrize(("tool", "given", "undoable"), UNDOABLE)
def test_what_cannot_be_undone_has_rules_of_its_own(
    tool: str, given: dict[str, Any], undoable: bool
) -> None:
    facts = facts_of(tool, given)
    assert (told(facts, "[[deny]]\nundoable = false") == "deny") is not undoable
    assert (told(facts, "[[deny]]\nundoable = true") == "deny") is undoable
    loose = "[[allow]]\ntool = '*'\nundoable = true\nlevel = ['SAFE', 'MODIFY']"
    allowed = undoable and facts.level == "MODIFY" and not facts.raised
    assert (told(facts, loose) == "allow") is allowed


def test_what_is_not_known_is_never_known_to_be_undoable() -> None:
    unsure = on(WRITE, "com.apple.Notes", verb="unknown")
    doubtful = on(WRITE, "com.apple.Notes", doubt="which app it is")
    for facts in (unsure, doubtful):
        assert told(facts, "[[deny]]\nundoable = false") == "deny"
        assert told(facts, "[[allow]]\ntool = '*'\nundoable = true") != "allow"
