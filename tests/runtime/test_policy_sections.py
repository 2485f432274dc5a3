"""The words of a policy: only, never and read-only mean what they say; unknown ones are told."""

import logging
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from policy_calls import also, facts_of, on, settings_of

from iac_mcp.cli.main import main
from iac_mcp.setup.checks import DoctorContext
from iac_mcp.setup.checks import check_policy as policy_check
from iac_runtime.execution.executor import Executor
from iac_runtime.policy.decide import decide_call
from iac_runtime.policy.facts import Action, CallFacts, Decision, Effect, Flow, RaisedLevel
from iac_runtime.policy.policy_file import parse_policy, unknown_words
from iac_runtime.policy.settings import PRESETS
from iac_runtime.policy.verbs import command_verb
from iac_runtime.serve import stdio
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import added_tools

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


@pytest.fixture(scope="module")
def catalogue(generated: Path) -> Catalogue:
    return Catalogue([generated])


def words(text: str, catalogue: Catalogue) -> list[str]:
    return unknown_words(parse_policy(text), catalogue, added_tools())


@pytest.mark.parametrize(("text", "expected"), [
    ("[only]\napps = ['Calender']", 'line 2: there is no app "Calender". Nearest: Calendar'),
    ("[[deny]]\nlevel = 'SAFE'\napp = 'Nots'", 'line 3: there is no app "Nots". Nearest: Notes'),
    ("[[deny]]\ntool = ['*', 'mail_snd*']", 'line 2: there is no tool "mail_snd*". Nearest:'),
    ("[[deny]]\ntool = 'mail_mark_read'\nargument = { mesage = 'x' }",
     'line 3: there is no argument "mesage" of mail_mark_read. Nearest: message'),
    ("[[allow]]\napp = 'Mail'\n[allow.argument]\nproperties = { 'reed status' = true }",
     'line 4: there is no property "reed status" in properties. Nearest: read status'),
    ("[[allow]]\ntool = 'mail_*'\nargument = { properties = { property = 'subjekt' } }",
     'line 3: there is no property "subjekt" in properties. Nearest: subject'),
    ("[[ask]]\ntool = 'textedit_close'\nargument = { saving = { enumerator = 'mo' } }",
     'line 3: there is no enumerator "mo" in saving. Nearest: no.'),
    ("[[ask]]\ntool = 'textedit_close'\nargument = { saving = 'yess' }",
     'line 3: there is no enumerator "yess" in saving. Nearest: yes.'),
    ("[[rule]]\nlevel = 'SAFE'\ntool = 'finder_move'\nargument = { to = { foldr = '~/x' } }",
     'line 4: there is no matcher "foldr" for to. Nearest: folder'),
])  # fmt: skip
def test_an_unknown_word_is_told_with_its_line_and_the_nearest(
    text: str, expected: str, catalogue: Catalogue
) -> None:
    (found,) = words(text, catalogue)
    assert found.startswith(f"policy.toml {expected}")


@pytest.mark.parametrize(
    "text",
    [
        "[only]\napps = ['Notes', 'com.apple.*', 'com.1password.1password']",
        "[[deny]]\ntool = ['mail_*', 'app_quit', 'execute_applescript', 'find_element']",
        # A recipe's own argument, and one of the operation behind it.
        "[[deny]]\ntool = 'mail_mark_read'\nargument = { message = 'x', target = 'y' }",
        "[[allow]]\ntool = 'mail_set'\nargument = { properties = { readStatus = true } }",
        "[[ask]]\nargument = { saving = { enumerator = 'no' }, limit = { at_most = 3 } }",
        "[[ask]]\ntool = 'textedit_close'\nargument = { saving = ['n*', 'yes'] }",
        "[[ask]]\ntool='finder_move'\nargument = { to = { folder = '~/x' } }\nhours='08:00-09:00'",
    ],
)
def test_what_is_known_is_not_told(text: str, catalogue: Catalogue) -> None:
    assert words(text, catalogue) == []


def test_check_of_the_whole_file_says_what_is_not_known(
    capsys: pytest.CaptureFixture[str], own_data_folder: Path, generated: Path
) -> None:
    own_data_folder.mkdir(mode=0o700)
    file = own_data_folder / "policy.toml"
    file.write_text("[[deny]]\ntool = 'notes_delte'\n", encoding="utf-8")
    file.chmod(0o600)
    tools = ("--tools", str(generated))
    assert main(["policy", "check", *tools]) == 1
    says = f'{file} line 2: there is no tool "notes_delte". Nearest: notes_delete'
    assert capsys.readouterr().out.startswith(says)
    warned = list(policy_check(DoctorContext(Executor(), (generated,))))
    assert [row.state for row in warned] == ["ok", "warning"]
    assert warned[1].says.startswith(says)
    file.write_text("[[deny]]\ntool = 'notes_delete'\n", encoding="utf-8")
    assert main(["policy", "check", *tools]) == 0
    known = "Every app, tool, argument and enumerator in the policy is known.\n"
    assert capsys.readouterr().out == known


def test_the_server_logs_what_is_not_known_and_serves(
    own_data_folder: Path,
    generated: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    own_data_folder.mkdir(mode=0o700)
    file = own_data_folder / "policy.toml"
    file.write_text("[[deny]]\ntool = 'notes_delte'\n", encoding="utf-8")
    file.chmod(0o600)
    monkeypatch.setattr(stdio, "_LATER", 0.0)
    with caplog.at_level(logging.WARNING, "iac.policy"):
        gate = stdio._open_gate({"tools": [str(generated)]})
        end = time.monotonic() + 20
        while not caplog.messages and time.monotonic() < end:
            time.sleep(0.01)
        gate.close()
    assert 'line 2: there is no tool "notes_delte"' in caplog.messages[0]


START = facts_of("music run", {})
CHANGE = Effect("change", "com.apple.Music", "Music", level="MODIFY")
HIGH = RaisedLevel("high", "A place.", "DANGEROUS")
POLICIES = ["preset = 'read-only'", *(f"preset = '{name}'\nread_only = true" for name in PRESETS)]


@pytest.mark.parametrize("policy", POLICIES)
def test_starting_an_app_is_asked_about_as_a_change_is_elsewhere(policy: str) -> None:
    found = judged(START, policy)
    assert (found.action, found.level) == ("ask", "MODIFY")
    assert found.source in ("policy.toml line 2", "preset read-only")
    alone = judged(replace(START, ways=()), policy)
    assert (alone.action, alone.requires_prompt) == ("deny", True)
    assert judged(START, f"{policy}\n[[allow]]\ntool = 'music_run'").action == "allow"
    assert judged(replace(START, preapproved_level="MODIFY"), policy).action == "ask"
    assert judged(START, f"{policy}\n[[deny]]\napp = 'Music'").action == "deny"


@pytest.mark.parametrize("policy", POLICIES)
def test_what_does_more_than_start_an_app_stays_refused(policy: str) -> None:
    for facts in (
        on(START, ""),
        on(START, "com.apple.Terminal"),
        also(START, doubt="x"),
        replace(START, effects=(*START.effects, CHANGE)),
        replace(START, raised=(HIGH,)),
        on(START, "com.apple.Music", flow=(Flow("host", "example.com"),)),
        on(START, "com.apple.Music", level="DANGEROUS"),
        facts_of("system_events begin_transaction", {}),
    ):
        assert judged(facts, policy).action == "deny"
    words = ("start", "launch", "reopen", "boot", "record", "resume")
    assert "start" not in {command_verb("", word, "MODIFY", answers=True) for word in words}
    raised = f"{policy}\n[[rule]]\ntool = '*'\nlevel = 'MODIFY'"
    assert judged(READ, raised).action == "deny"
