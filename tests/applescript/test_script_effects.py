"""What a script does, beside the plan of the tool that does the same: one effect by either road."""

from typing import Any

import pytest
from script_calls import plan_of
from script_cases import read_cases
from simulated import permissions_under

from iac_applescript.toolset import ScriptToolset
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import open_simulation
from iac_runtime.gate.plans import Call
from iac_runtime.policy.effects import identify_from_catalogue
from iac_runtime.policy.facts import OWN_APP, CallFacts, Effect, Flow
from iac_runtime.tool import highest
from iac_runtime.tools.catalogue import Catalogue


@pytest.fixture(scope="module")
def gate(catalogue: Catalogue):
    executor = Executor(open_simulation(catalogue, None))
    permissions = permissions_under(home=None, identify=identify_from_catalogue(catalogue))
    found = Gate(catalogue, executor, permissions=permissions)
    yield found
    found.close()
    executor.close()


def done(toolset: ScriptToolset, script: str, language: str = "") -> CallFacts:
    found = language or ("javascript" if "Application" in script else "applescript")
    return plan_of(toolset, "execute_applescript", script=script, language=found).facts


def tell(app: str, *lines: str) -> str:
    return "\n".join((f'tell application "{app}"', *lines, "end tell"))


def acts(effects: tuple[Effect, ...]) -> set[tuple[str, str]]:
    return {(effect.verb, effect.app) for effect in effects}


BESIDE: list[tuple[str, dict[str, Any], str, str]] = [
    ("notes_make_note", {"name": "x"}, tell("Notes", 'make new note with properties {name:"x"}'),
     'Application("Notes").make({new: "note", withProperties: {name: "x"}})'),
    ("notes_make", {"element": "note"}, tell("Notes", 'tell folder "Work" to make new note'),
     'const n = Application("Notes"); n.notes.push(n.Note({name: "x"}))'),
    ("notes_delete", {"target": "notes[0]"}, tell("Notes", "delete note 1"),
     'const n = Application("Notes"); n.delete(n.notes[0])'),
    ("notes_set", {"target": "notes[0]", "properties": {"name": "y"}},
     'set name of note 1 of application "Notes" to "y"',
     'Application("Notes").notes[0].name = "y"'),
    ("notes_list", {"element": "note", "properties": ["name"]},
     tell("Notes", "get name of every note"), 'Application("Notes").notes.name()'),
    ("notes_count", {"element": "note"}, tell("Notes", "count notes"), ""),
    ("notes_show", {"target": "notes[0]"}, tell("Notes", "show note 1"), ""),
    ("mail_send", {"target": "outgoingMessages[0]"}, tell("Mail", "send outgoing message 1"),
     'Application("Mail").outgoingMessages[0].send()'),
    ("mail_set", {"target": "inbox.messages[0]", "properties": {"read status": True}},
     tell("Mail", "set read status of message 1 of inbox to true"),
     'Application("Mail").inbox.messages[0].readStatus = true'),
    ("finder_delete", {"target": 'home.files["x.txt"]'},
     tell("Finder", 'delete file "x.txt" of home'),
     'const f = Application("Finder"); f.delete(f.home.files["x.txt"])'),
    ("finder_make_folder", {"name": "x", "at": "desktop"},
     tell("Finder", 'make new folder at desktop with properties {name:"x"}'),
     'const f = Application("Finder"); f.make({new: "folder", at: f.desktop})'),
    ("finder_move", {"target": "desktop.files[0]", "to": "home"},
     tell("Finder", "move file 1 of desktop to home"), ""),
    ("finder_duplicate", {"target": "desktop.files[0]", "to": "home"},
     tell("Finder", "duplicate file 1 of desktop to home"), ""),
    ("finder_reveal", {"target": "home"}, tell("Finder", "reveal home"), ""),
    ("finder_empty", {}, tell("Finder", "empty trash"), ""),
    ("finder_activate", {}, tell("Finder", "activate"), 'Application("Finder").activate()'),
    ("app_quit", {"app": "Music"}, tell("Music", "quit"), 'Application("Music").quit()'),
    ("music_play", {}, tell("Music", "play"), 'Application("Music").play()'),
    ("music_delete", {"target": "playlists[0]"}, tell("Music", "delete playlist 1"),
     'const p = Application("Music").playlists[0]; p.delete()'),
    ("safari_open_url", {"url": "https://a.example/x"},
     tell("Safari", 'make new document with properties {URL:"https://a.example/x"}'),
     'const s = Application("Safari"); s.Document({url: "https://a.example/x"}).make()'),
    ("safari_set", {"target": "documents[0]", "properties": {"URL": "https://a.example/x"}},
     tell("Safari", 'set URL of front document to "https://a.example/x"'),
     'Application("Safari").documents[0].url = "https://a.example/x"'),
    ("safari_close", {"target": "windows[0]"}, tell("Safari", "close window 1"), ""),
    ("calendar_list", {"element": "calendar", "properties": ["name"]},
     tell("Calendar", "get name of every calendar"), 'Application("Calendar").calendars.name()'),
    ("reminders_set", {"target": "reminders[0]", "properties": {"completed": True}},
     tell("Reminders", "set completed of reminder 1 to true"),
     'Application("Reminders").reminders[0].completed = true'),
    ("system_events_get", {"target": 'processes["Notes"]', "properties": ["name"]},
     tell("System Events", 'get name of process "Notes"'),
     'Application("System Events").processes["Notes"].name()'),
    ("standard_additions_display_dialog", {"target": "x"}, 'display dialog "x"',
     "const a = Application.currentApplication(); a.includeStandardAdditions = true;"
     ' a.displayDialog("x")'),
    ("standard_additions_set_the_clipboard_to", {"target": "x"}, 'set the clipboard to "x"',
     'const a = Application.currentApplication(); a.setTheClipboardTo("x")'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "given", "apple", "java"), BESIDE, ids=[tool for tool, *_ in BESIDE]
)
def test_a_script_has_the_effects_of_the_tool_that_does_the_same(
    gate: Gate, toolset: ScriptToolset, tool: str, given: dict[str, Any], apple: str, java: str
) -> None:
    facts = gate.plan_call(Call(tool, given)).facts
    script = done(toolset, apple)
    assert acts(script.effects) == acts(facts.effects)
    assert script.level == facts.level
    assert not script.doubt
    hosts = [flow for effect in facts.effects for flow in effect.flow if flow.kind == "host"]
    assert [flow for effect in script.effects for flow in effect.flow] == hosts
    if java:
        script = done(toolset, java)
        assert acts(script.effects) == acts(facts.effects)
        assert script.level == highest((facts.level, "MODIFY"))
        assert not script.doubt


@pytest.mark.parametrize(
    ("script", "effects"),
    [
        (
            tell("Notes", "set t to name of note 1")
            + "\n"
            + tell("Mail", "make new outgoing message with properties {subject:t}")
            + "\n"
            + tell("Finder", "reveal home", "delete file 1 of desktop"),
            {
                ("read", "com.apple.Notes", "note", "SAFE"),
                ("create", "com.apple.mail", "outgoing message", "MODIFY"),
                ("view", "com.apple.finder", "", "SAFE"),
                ("delete", "com.apple.finder", "file", "DANGEROUS"),
            },
        ),
        (
            'const n = Application("Notes"), m = Application("Mail"), f = Application("Finder");'
            " m.delete(m.inbox.messages[0]); f.reveal(f.home); n.notes[0].name()",
            {
                ("read", "com.apple.Notes", "", "MODIFY"),
                ("delete", "com.apple.mail", "message", "DANGEROUS"),
                ("view", "com.apple.finder", "", "MODIFY"),
            },
        ),
        # A variable may hold an object of either.
        (
            tell("Notes", "set x to note 1") + "\n" + tell("Mail", "delete x"),
            {
                ("read", "com.apple.Notes", "note", "SAFE"),
                ("delete", "com.apple.Notes", "", "DANGEROUS"),
                ("delete", "com.apple.mail", "", "DANGEROUS"),
            },
        ),
        (
            'const a = [Application("Notes"), Application("Mail")]; a.map(x => x.quit())',
            {
                ("end", "com.apple.Notes", "", "DANGEROUS"),
                ("end", "com.apple.mail", "", "DANGEROUS"),
            },
        ),
        (
            # Values are not followed: one name stands for all that it is given.
            'const n = Application("Notes"); [Application("Mail")].map(n => n.quit())',
            {
                ("end", "com.apple.Notes", "", "DANGEROUS"),
                ("end", "com.apple.mail", "", "DANGEROUS"),
            },
        ),
        (
            'set x to {message 1 of inbox of application "Mail"}\n'
            + tell("Notes", "delete item 1 of x"),
            {
                ("read", "com.apple.mail", "message", "SAFE"),
                ("delete", "com.apple.Notes", "", "DANGEROUS"),
                ("delete", "com.apple.mail", "", "DANGEROUS"),
            },
        ),
        # A text is no object of another app.
        (
            tell("Mail", 'set t to "x"', "activate")
            + "\n"
            + tell("Notes", "delete every note whose name is t"),
            {
                ("view", "com.apple.mail", "", "SAFE"),
                ("delete", "com.apple.Notes", "note", "DANGEROUS"),
            },
        ),
        # A call that is given something may answer what is another app's.
        (
            'const n = Application("Notes"), m = Application("Mail");'
            " n.notes().map(() => m)[0]?.quit()",
            {
                ("end", "com.apple.Notes", "note", "DANGEROUS"),
                ("end", "com.apple.mail", "", "DANGEROUS"),
            },
        ),
        # The object says which app is told.
        (
            tell("Finder", 'delete note 1 of application "Notes"'),
            {
                ("delete", "com.apple.Notes", "note", "DANGEROUS"),
                ("read", "com.apple.finder", "note", "SAFE"),
            },
        ),
        # What shows alone is a view, whatever level a script needs for it.
        (
            tell("Finder", "set bounds of front window to {0, 0, 9, 9}"),
            {("view", "com.apple.finder", "window", "MODIFY")},
        ),
        # A pattern sets too.
        (
            'const n = Application("Notes").notes[0]; [n.name] = ["x"]',
            {("change", "com.apple.Notes", "note", "MODIFY")},
        ),
        (
            tell("TextEdit", "close document 1 saving no"),
            {("close", "com.apple.TextEdit", "document", "DANGEROUS")},
        ),
        (
            tell("Mail", "get password of account 1"),
            {
                ("read", "com.apple.mail", "account", "SAFE"),
                ("unknown", "com.apple.mail", "account", "DANGEROUS"),
            },
        ),
        # What System Events does to a process it does to its app.
        (
            tell("System Events", 'tell process "Mail" to get name of every window'),
            {
                ("read", "com.apple.systemevents", "window", "SAFE"),
                ("read", "com.apple.mail", "window", "SAFE"),
            },
        ),
        (
            tell("System Events", 'tell process "Mail" to click button 1 of window 1'),
            {
                ("unknown", "com.apple.systemevents", "button", "DANGEROUS"),
                ("unknown", "com.apple.mail", "button", "DANGEROUS"),
            },
        ),
        ("return 1 + 1", {("read", OWN_APP, "", "SAFE")}),
    ],
)
def test_each_app_has_its_own_effects(
    toolset: ScriptToolset, script: str, effects: set[tuple[str, ...]]
) -> None:
    found = done(toolset, script).effects
    assert {(row.verb, row.app, row.kind, row.level) for row in found} == effects
    assert len(found) == len(effects)


@pytest.mark.parametrize(("script", "verb", "flow"), [
    (tell("Mail", "set m to make new outgoing message",
      'tell m to make new to recipient with properties {address:"a@b.example"}'), "create",
     Flow("recipient", "a@b.example")),
    ('const m = Application("Mail"); m.ToRecipient({address: "a@b.example"})', "create",
     Flow("recipient", "a@b.example")),
    (tell("TextEdit", 'save document 1 in file "/tmp/x.txt"'), "change",
     Flow("file", "/tmp/x.txt")),
    ('Application("TextEdit").documents[0].save({in: Path("/tmp/x.txt")})', "change",
     Flow("file", "/tmp/x.txt")),
    ('open location "https://a.example/x"', "open", Flow("host", "a.example")),
    ('Application("Safari").documents[0].url.set("https://a.example/x")', "open",
     Flow("host", "a.example")),
])  # fmt: skip
def test_what_goes_out_is_said_where_it_is_written_out(
    toolset: ScriptToolset, script: str, verb: str, flow: Flow
) -> None:
    found = [row for row in done(toolset, script).effects if row.flow]
    assert [(row.verb, row.flow) for row in found] == [(verb, (flow,))]


@pytest.mark.parametrize(("script", "own"), [
    ('do shell script "ls"', True), ('run script "1"', True),
    ('eval("1"); Application("Notes")', True), (tell("System Events", 'keystroke "a"'), False),
    (tell("Finder", "frobnicate the window"), False),
    ('Application("Mus" + new Date()).play()', False),
    ('const n = Application("Notes"); n.send()', False),
    ('tell application "Frobnicator" to activate', False),
])  # fmt: skip
def test_what_is_not_known_may_be_done_anywhere(
    toolset: ScriptToolset, script: str, own: bool
) -> None:
    found = done(toolset, script)
    lost = [row for row in found.effects if row.target_unknown]
    assert [(row.verb, row.level) for row in lost] == [("unknown", "DANGEROUS")]
    assert ("run" in {row.verb for row in found.effects}) == own
    for app, _ in found.apps:
        assert not all(row.is_read_only for row in found.effects if row.app == app)


def test_the_effects_need_what_the_script_needs(toolset: ScriptToolset) -> None:
    cases = [
        case
        for kind in ("dangerous", "dangerous_more", "changing", "harmless", "harmless_more")
        for case in read_cases(f"{kind}.txt")
    ]
    for case in cases:
        found = toolset.analyser.analyze_script(case.script, case.language)
        facts = done(toolset, case.script, case.language)
        assert facts.level == found.level, case.script
        assert {toolset.resolve_app(app)[0] for app in found.targets} <= {
            app for app, _ in facts.apps
        }


def test_starting_an_app_is_an_effect(toolset: ScriptToolset) -> None:
    toolset.runs = lambda _app: False
    found = done(toolset, tell("Music", "get name of current track")).effects
    assert ("start", "com.apple.Music", "MODIFY") in {
        (row.verb, row.app, row.level) for row in found
    }
