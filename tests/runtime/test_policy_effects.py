"""What a call does, as the policy sees it, as the audit keeps it and as a person reads it."""

import importlib
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from policy_calls import CAUTIOUS, DISK, HOME, facts_of, settings_of

from iac_runtime.language.reader import AppReader
from iac_runtime.language.steps import Event
from iac_runtime.policy import places
from iac_runtime.policy.decide import decide_call, find_approval_scope
from iac_runtime.policy.effects import hidden_texts_read, identify_from_catalogue
from iac_runtime.policy.escalation import RuleContext
from iac_runtime.policy.facts import CallFacts, Effect, Flow, call_digest
from iac_runtime.policy.places import (
    FINDER,
    SYSTEM_EVENTS,
    find_protected_place,
    find_specifier_path,
    is_document,
    is_executable,
    mailbox_role,
    parse_file_url,
    path_identity,
)
from iac_runtime.policy.requests import class_term, request_object
from iac_runtime.policy.verbs import command_verb
from iac_runtime.policy.wording import describe_deeds
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.tables import tables_of

D = "host d.example"
WINDOW = "windows[0]"
RUNS = "the code can reach any app"
MILK = 'notes["Milk"]'


@pytest.mark.parametrize(("tool", "arguments", "verb", "row", "says"), [
    ("notes get", {"target": f"{MILK}.body"}, "read", f"note {MILK}.body",
     f"read the note {MILK}.body in Notes"),
    ("notes make", {"element": "note", "properties": {"name": "notes[0]"}}, "create", "note",
     "make a note in Notes"),
    ("notes make", {"element": "attachment", "at": "notes[0].attachments.end"}, "create",
     "attachment", "make an attachment in Notes"),
    ("notes delete", {"target": ['notes["a"]', 'notes["b"]']}, "delete", 'note notes["a"]',
     'delete the note notes["a"] in Notes'),
    ("finder empty", {}, "delete", "", "empty the Trash in Finder"),
    ("finder activate", {}, "view", "", "show Finder"),
    ("textedit quit", {}, "end", "", "quit TextEdit"),
    ("mail send", {"target": "outgoingMessages[0]"}, "send", "outgoing message outgoingMessages[0]",
     "send the outgoing message outgoingMessages[0] in Mail"),
    ("safari do_javascript", {"in": "documents[0]", "code": "x"}, "run", "",
     "run JavaScript in a page in Safari"),
    ("system_events click", {"target": "menuBars[0]"}, "unknown", "menu bar menuBars[0]",
     "click the menu bar menuBars[0] as if you did on this Mac"),
])  # fmt: skip
def test_what_a_tool_does(
    tool: str, arguments: dict[str, Any], verb: str, row: str, says: str
) -> None:
    effect = facts_of(tool, arguments).effects[0]
    assert effect.verb == verb
    assert effect.audit_row() == (verb, effect.app, row, "")
    assert describe_deeds(CallFacts("t", (effect,)))[0] == says


@pytest.mark.parametrize(("tool", "arguments", "flows"), [
    ("safari open_url", {"url": "https://a.example/x"}, ["host a.example"]),
    ("safari set", {"target": "documents[0]", "properties": {"URL": "b.example/c"}},
     ["host b.example"]),
    ("standard_additions open_location", {"target": "c.example"}, ["host c.example"]),
    ("textedit save", {"target": "documents[0]", "in": "~/x"}, ["file /Users/me/x"]),
    ("mail make",
     {"element": "to recipient", "at": "outgoingMessages[0].toRecipients.end",
      "properties": {"address": "a@b.example"}}, ["recipient a@b.example"]),
    ("notes set", {"target": MILK, "properties": {"body": "http://d.example/"}},
     ["host d.example"]),
    ("notes set", {"target": MILK, "properties": {"body": "see http://d.example/"}}, []),
    ("notes set", {"target": MILK, "properties": {"body": "note: x"}}, []),
    ("notes set", {"target": MILK, "properties": {"body": "note:x"}}, []),
    ("notes set", {"target": MILK, "properties": {"body": "MAILTO:x"}}, ["host mailto"]),
    ("notes list", {"element": "note", "where": {"body": "http://d.example/"}}, []),
])  # fmt: skip
def test_where_it_goes(tool: str, arguments: dict[str, Any], flows: list[str]) -> None:
    effect = facts_of(tool, arguments).effects[0]
    assert effect.audit_row()[3] == ", ".join(flows)


@pytest.mark.parametrize(("steps", "app", "name", "doubt"), [
    (f'processes["Notes"].{WINDOW}', "com.apple.Notes", "Notes", ""),
    (f'processes["Nots"].{WINDOW}', "", "Nots",
     "it goes through the process Nots, whose app IAC does not know"),
    (f"processes[0].{WINDOW}", "", "",
     "it goes through a process without a name, whose app IAC does not know"),
    (f'processes.whose({{bundleIdentifier: "com.a.B"}})[0].{WINDOW}', "com.a.B", "", ""),
])  # fmt: skip
def test_what_goes_through_a_process_is_on_its_app(
    steps: str, app: str, name: str, doubt: str
) -> None:
    looked = facts_of("system_events get", {"target": steps})
    first, *others = looked.effects
    # A window is asked for many properties; that is one thing on one app.
    assert others == [first._replace(app=app, name=name, doubt=doubt)]
    assert looked.object_count <= 2
    clicked = facts_of("system_events click", {"target": steps})
    first, *others = clicked.effects
    named = name or ("" if app else "a process")
    assert others == [first._replace(app=app, name=named or "a process", files=(), doubt=doubt)]


def test_a_process_that_is_only_shown_may_be_any() -> None:
    assert len(facts_of("system_events get", {"target": "processes[0]"}).effects) == 1
    two = 'processes.whose({_or: [{name: "A"}, {name: "B"}]})'
    assert len(facts_of("system_events get", {"target": two}).effects) == 1


@pytest.mark.parametrize(("tool", "arguments", "doubt"), [
    ("safari do_javascript", {"in": "documents[0]", "code": "x"}, "the code can reach any app"),
    ("standard_additions open_location", {"target": "https://a.example"},
     "the app that opens it is not known"),
])  # fmt: skip
def test_code_and_addresses_may_reach_any_app(
    tool: str, arguments: dict[str, Any], doubt: str
) -> None:
    _, beyond = facts_of(tool, arguments).effects
    assert beyond._replace(given=None) == Effect("unknown", level="DANGEROUS", doubt=doubt)
    assert beyond.audit_row() == ("unknown", "unknown", "", "")


def test_an_effect_on_an_app_without_identity_keeps_its_name() -> None:
    effect = Effect("read", "", "Nots", "window", flow=(Flow("host", "a"), Flow("file", "b")))
    assert effect.audit_row() == ("read", "Nots", "window", "host a, file b")
    asks = effect._replace(verb="ask-person")
    assert describe_deeds(CallFacts("t", (effect,))) == ["read windows in Nots"]
    assert describe_deeds(CallFacts("t", (asks,))) == ["ask you a question in Nots"]


@pytest.mark.parametrize(("code", "name", "level", "answers", "verb"), [
    ("coredelo", "show", "MODIFY", False, "delete"),
    ("xxxxyyyy", "deleteAll", "MODIFY", True, "delete"),
    ("xxxxyyyy", "delete all", "SAFE", True, "read"),
    ("xxxxyyyy", "delete all", "SAFE", False, "view"), ("coregetd", "get", "SAFE", False, "read"),
    ("miscmvis", "reveal", "SAFE", True, "view"), ("coregetd", "get", "MODIFY", True, "unknown"),
    ("xxxxyyyy", "", "MODIFY", True, "unknown"),
])  # fmt: skip
def test_a_verb_goes_by_code_then_name_and_level(
    code: str, name: str, level: Any, answers: bool, verb: str
) -> None:
    assert command_verb(code, name, level, answers=answers) == verb


def test_what_has_no_tables_is_named_in_words(catalogue: Catalogue) -> None:
    assert class_term("toRecipients", None) == "to recipients"
    made = Event("x", "application", "command", "corecrel", named=(("new", "toDo"),))
    assert request_object(made, None) == ("to do", "")
    assert request_object(replace(made, named=(("new", "toDo"), ("x", "y"))), None) == ("to do", "")
    assert request_object(replace(made, code="coremove"), None) == ("", "")
    assert identify_from_catalogue(catalogue)("diary") == ("com.example.Diary", "Diary")
    assert identify_from_catalogue(catalogue)("notes") == ("", "")


def test_a_stored_answer_fits_what_was_asked_by_an_earlier_version() -> None:
    facts = facts_of("notes delete", {"target": ['notes["a"]', 'notes["b"]']})
    assert call_digest(facts) == "e7cc50fb6de0e647426e1fb22f1ec73542963afe04b2e001ee087023771e0247"
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    line = CallFacts("ui_click", (Effect("unknown", "a.b"),), {"z": moment, "a": 1}, line="x")
    assert call_digest(line) == "878064ebe5dd1ab1c6779ffe8698297f39f84428569407567529873ca32ea361"
    for other in (
        replace(line, line="y"),
        replace(line, digest="d"),
        replace(line, tool="ui_set"),
        replace(line, arguments={"a": 1}),
        replace(line, effects=()),
    ):
        assert call_digest(other) != call_digest(line)
    assert call_digest(replace(facts, line="y")) == call_digest(facts)


@pytest.mark.parametrize(("tool", "arguments", "files", "flow"), [
    ("finder move", {"target": ['home.files["a"]', "files[0]"], "to": "~/Documents"},
     ("/Users/me/a", "/Users/me/Desktop/?"),
     "file /Users/me/Documents, file /Users/me/Documents/a, file /Users/me/Documents/?"),
    ("finder duplicate", {"target": 'home.files["a"]', "to": "~/Documents"}, (),
     "file /Users/me/Documents, file /Users/me/Documents/a"),
    ("finder delete", {"target": 'home.files["a"]'}, ("/Users/me/a",), ""),
    ("finder empty", {}, ("?",), ""), ("finder open", {"target": 'home.files["a"]'}, (), ""),
    ("finder get", {"target": 'home.files["a"]'}, (), ""),
    ("finder set", {"target": 'home.files["a"]', "properties": {"name": "b"}}, ("/Users/me/a",),
     "file /Users/me/b"),
    ("notes delete", {"target": MILK}, (), ""),
])  # fmt: skip
def test_which_files_change_where_they_lie(
    tool: str, arguments: dict[str, Any], files: tuple[str, ...], flow: str
) -> None:
    effect = facts_of(tool, arguments).effects[0]
    assert effect.files == files
    assert effect.audit_row()[3] == flow


def test_a_process_that_is_brought_to_the_front_is_shown() -> None:
    shown = {"target": 'processes["Notes"]', "properties": {"frontmost": True}}
    rows = [effect.audit_row()[:2] for effect in facts_of("system_events set", shown).effects]
    assert rows == [("view", "com.apple.systemevents"), ("view", "com.apple.Notes")]


@pytest.mark.parametrize(
    "target", ['processes["Vault"].windows', 'processes.whose({name: "Vault"})[0].windows']
)
def test_a_process_of_an_app_that_keeps_secrets_is_known_by_its_identity(target: str) -> None:
    event = facts_of("system_events get", {"target": target}).event
    assert event is not None
    apps = {"Vault": ("com.1password.1password", "Vault"), "": ("", "")}
    assert hidden_texts_read(event, lambda name: apps[name]) == ("what Vault shows",)
    by_id = 'processes.whose({bundleIdentifier: "com.1password.1password"})[0].windows'
    event = facts_of("system_events get", {"target": by_id}).event
    assert event is not None
    assert hidden_texts_read(event, lambda _: ("", "")) == ("what com.1password.1password shows",)


# Files that Finder and System Events name by steps have the path that they lie at.


AGENTS = "/Users/me/Library/LaunchAgents"


def path(app: str, text: str) -> str | None:
    key = {FINDER: "finder", SYSTEM_EVENTS: "system_events"}[app]
    tables = tables_of(importlib.import_module(f"iac_tools.{key}"))
    return find_specifier_path(AppReader(tables).read_reference(text).steps, app, HOME)


@pytest.mark.parametrize(("text", "expected"), [
    ("home", HOME), ("desktop.files[0]", "/Users/me/Desktop/?"),
    ('files["a"]', "/Users/me/Desktop/a"), ('disks["USB"].folders["a"]', "/Volumes/USB/a"),
    ('disks["USB"].folders["a"].disk', "/Volumes/USB"), ("home.folders[0].disk", "/"),
    ("startupDisk", "/"), ('home.folders["a/b"]', "/Users/me/a:b"),
    ('home.folders["Documents"].container', HOME), ("home.folders[3].container", HOME),
    ('home.folders["Documents"].container.folders["Library"]', "/Users/me/Library"),
    ('folders["Macintosh HD:Users:me:Library:LaunchAgents:"]', AGENTS),
    ('folders["USB:a"]', "/Volumes/USB/a"), ('home.folders["Library:LaunchAgents"]', AGENTS),
    ('home.folders["Documents::Library:LaunchAgents"]', AGENTS),
    ('home.folders[":Library:LaunchAgents"]', AGENTS),
    ('home.folders["Library"].folders["LaunchAgents"].items.end', AGENTS),
    ('home.files["a"].name', "/Users/me/a"), ('home.folders["Library:X:"]', "/Users/me/Library/X"),
    ("files", "/Users/me/Desktop"), ("disks", "/Volumes"), ("windows[0].target", None),
    ("selection", None), ("aliasFiles[0].originalItem", None), ("folders.byId(3)", None),
    ("application", None),
])  # fmt: skip
def test_of_finder(text: str, expected: str | None) -> None:
    assert path(FINDER, text) == expected


@pytest.mark.parametrize(("text", "expected"), [
    (f'folders["{AGENTS}"]', AGENTS), ('folders["~/Library/LaunchAgents"]', AGENTS),
    ('folders["~/Documents/../Library/LaunchAgents"]', AGENTS),
    ('diskItems["Macintosh HD:Users:me:Library:LaunchAgents"]', AGENTS),
    ('homeFolder.folders["Library/LaunchAgents"]', AGENTS),
    ("userDomain.libraryFolder", "/Users/me/Library"), ("localDomain.libraryFolder", "/Library"),
    ("systemDomain.libraryFolder", "/System/Library"),
    (f'propertyListFiles["{AGENTS}/a.plist"].contents.propertyListItems["x"]', f"{AGENTS}/a.plist"),
    ('folders["a"]', None), ("files[0]", None), ("files", None),
    ('processes["Notes"].windows[0]', None),
])  # fmt: skip
def test_of_system_events(text: str, expected: str | None) -> None:
    assert path(SYSTEM_EVENTS, text) == expected


@pytest.mark.parametrize("to", [f'folders["{AGENTS}"]', 'folders["~/Library/LaunchAgents"].items'])
def test_a_path_in_the_place_of_a_name_is_judged_as_a_path(to: str) -> None:
    given = {"target": "~/Documents/a.txt", "to": to}
    raised = facts_of("system_events move", given, RuleContext(DISK)).raised
    assert "protected-place" in [row.rule for row in raised]


def test_other_apps_have_no_files() -> None:
    steps = (
        AppReader(tables_of(importlib.import_module("iac_tools.finder")))
        .read_reference("home")
        .steps
    )
    assert find_specifier_path(steps, "COM.apple.FINDER", HOME) == HOME
    assert find_specifier_path(steps, "com.apple.Notes", HOME) is None


@pytest.mark.parametrize(("url", "expected"), [
    ("file:///Users/me/a%20b", "/Users/me/a b"), (" FILE://localhost/a%2541 ", "/a%41"),
    ("https://example.org/etc/passwd", None), ("/etc/passwd", None), ("file://[", None),
])  # fmt: skip
def test_only_a_file_url_has_a_path(url: str, expected: str | None) -> None:
    assert parse_file_url(url) == expected


@pytest.mark.parametrize(("path", "one"), [
    ("/Xcode/X", "/xcode/x"), ("//a/./b/../c/", "/a/c"), ("/private/var/x", "/var/x"),
    ("/System/Volumes/Data/private/tmp/x", "/tmp/x"), ("/privateer/x", "/privateer/x"),
])  # fmt: skip
def test_a_path_is_compared_in_one_form(path: str, one: str) -> None:
    assert path_identity(path) == one


@pytest.mark.parametrize(("path", "runs", "shows"), [
    ("/a/b.txt", False, True), ("/a.b.app/c.d.txt", True, True), ("/a/x.tar.command", True, False),
    ("/a/letter.v2.TXT", False, True), ("/a/.command", True, False), ("/a/command", False, False),
    ("/a/txt", False, False), ("/a/x.app. \u00a0", True, False), ("/a/x.applet", False, False),
    ("/a.txt/b", False, False),
])  # fmt: skip
def test_the_end_of_a_name_tells_what_opens(path: str, runs: bool, shows: bool) -> None:
    assert (is_executable(path), is_document(path)) == (runs, shows)


@pytest.mark.parametrize("path", ["/Users/me/.ssh", "/users/ME/.SSH/id", "/x/a/.git/hooks/y"])
def test_a_protected_place_is_one_wherever_it_lies(path: str) -> None:
    assert find_protected_place(path)
    assert not find_protected_place(path.replace(".", "x."))


TABLE = json.loads(Path(places.__file__).with_name("mailboxes.json").read_bytes())


def names() -> Iterator[tuple[str, str, str]]:
    for role, languages in TABLE.items():
        for language, row in languages.items():
            yield from ((role, language, name) for name in row.split("|"))


def moved(to: str) -> CallFacts:
    return facts_of("mail move", {"target": "inbox.messages[0]", "to": to})


def judged(to: str) -> tuple[str, str, tuple[str, ...]]:
    found = decide_call(moved(to), CAUTIOUS, settings_of())
    return found.action, found.level, found.rules


def test_every_role_has_names_in_the_languages_of_macos() -> None:
    assert [*TABLE] == ["trash", "junk", "archive"]
    languages = [set(row) for row in TABLE.values()]
    assert len(languages[0]) >= 40
    assert languages[0] == languages[1] == languages[2]


@pytest.mark.sweep
@pytest.mark.parametrize("role", [*TABLE])
def test_a_mailbox_is_its_role_in_every_language(role: str) -> None:
    english = judged(f'mailboxes["{role.capitalize()}"]')
    nested = judged(f'accounts["Work"].mailboxes["{role.capitalize()}"]')
    for _, language, name in (row for row in names() if row[0] == role):
        for box in (name, name.upper(), f"[Gmail]/{name}", f"INBOX.{name}"):
            assert judged(f'mailboxes["{box}"]') == english, (language, box)
        account = f'accounts["Work"].mailboxes["{name}"]'
        assert judged(account) == nested, (language, name)
        assert judged(f'mailboxes.byName("{name}")') == english


def test_an_archive_is_one_place_in_every_language_and_no_other_mailbox() -> None:
    scopes = {
        find_approval_scope(moved(f'mailboxes["{name}"]').effects)
        for role, _, name in names()
        if role == "archive"
    }
    (found,) = scopes
    assert found is not None
    assert found.description == "move messages to the archive in Mail"
    for other in ("Archive 2024", "Work", "Archived plans"):
        assert find_approval_scope(moved(f'mailboxes["{other}"]').effects) not in scopes
    nested = find_approval_scope(moved('accounts["Work"].mailboxes["Archiv"]').effects)
    assert nested is not None
    assert nested.description == 'move messages to the archive of accounts["Work"] in Mail'


@pytest.mark.parametrize(
    "name", ["Work", "Binders", "Junket", "Spammers", "Trashy", "Kosztorys", "Lixos", "Inbox", ""]
)
def test_other_names_have_no_role(name: str) -> None:
    assert mailbox_role(name) == ""


def test_the_trash_of_finder_is_known_however_it_is_named() -> None:
    for to in ("trash", "~/.Trash", 'folders["Papierkorb"]'):
        facts = facts_of("finder move", {"target": "~/Documents/a.txt", "to": to})
        assert decide_call(facts, CAUTIOUS, settings_of()).level == "DANGEROUS", to


def test_a_mailbox_that_is_set_is_a_mailbox_that_is_moved_to() -> None:
    row = {"mailbox": 'accounts["Arbeit"].mailboxes["Papierkorb"]'}
    facts = facts_of("mail set", {"target": "inbox.messages[0]", "properties": row})
    assert "to-trash" in [raised.rule for raised in facts.raised]
