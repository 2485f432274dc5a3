"""What a call brings about is judged by every road to it: `[never]`, and a deny by app, hold."""

import keyword
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from simulated import permissions_under
from ui_memory import APP, Memory, node, tree

from iac_accessibility.toolset import UiToolset
from iac_accessibility.toolset import open_toolset as interfaces
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import open_simulation, read_nested_code
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.policy.decide import BEYOND_SCOPE
from iac_runtime.policy.effects import identify_from_catalogue
from iac_runtime.policy.facts import CallFacts, Decision
from iac_runtime.policy.permissions import Requester
from iac_runtime.serve.call import unwrap_call_tool
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import added_tools

FILE: Final = "~/Documents/a.txt"
MAIL: Final = "inbox.messages[0]"
CELL: Final = "documents[0].sheets[0].tables[0].cells[0]"
JAVASCRIPT: Final = {"URL": "javascript:alert(1)"}
PAGE: Final = {"URL": "https://a.example/x"}
SHORTCUT: Final = "shortcuts://run-shortcut?name=x"
FORMULA: Final = '=IMAGE("https://e.example/x")'
LOGIN: Final = {"path": "/Applications/Foo.app"}


class Deed(NamedTuple):
    """One thing that is done to an app: the tools that do it, and the scripts."""

    verb: str
    app: str
    tools: Sequence[tuple[str, Mapping[str, Any]]] = ()
    applescript: str = ""
    javascript: str = ""
    press: str = ""


DEEDS: Final = (
    Deed("delete", "Notes", [("notes_delete", {"target": "notes[0]"})],
         "delete note 1", "app.delete(app.notes[0])", press="Delete"),
    Deed("delete", "Notes",
         [("notes_move", {"target": "notes[0]", "to": 'folders["Recently Deleted"]'})]),
    Deed("delete", "Finder",
         [("finder_move", {"target": FILE, "to": "trash"}), ("finder_delete", {"target": FILE}),
          ("finder_move_to", {"item": FILE, "folder": "~/.Trash"})],
         'move file "a.txt" of home to trash',
         'app.move(app.home.files["a.txt"], {to: app.trash})'),
    Deed("delete", "Finder", [("finder_empty", {})], "empty trash", "app.empty()"),
    Deed("delete", "Mail",
         [("mail_move", {"target": MAIL, "to": "trash mailbox"}),
          ("mail_move", {"target": MAIL, "to": 'accounts[0].mailboxes["Papierkorb"]'}),
          ("mail_move_message", {"message": MAIL, "mailbox": "trash mailbox"}),
          ("mail_set", {"target": MAIL, "properties": {"mailbox": "trash mailbox"}})],
         "move message 1 of inbox to trash mailbox",
         "app.move(app.inbox.messages[0], {to: app.trashMailbox})"),
    Deed("delete", "Mail",
         [("mail_set", {"target": MAIL, "properties": {"deleted status": True}})],
         "repeat with m in messages of inbox\nset deleted status of m to true\nend repeat",
         "app.inbox.messages().forEach(m => { m.deletedStatus = true })"),
    Deed("delete", "Numbers",
         [("numbers_remove", {"target": "documents[0].sheets[0].tables[0].rows[0]"})]),
    Deed("delete", "Calendar", [("calendar_delete", {"target": "calendars[0].events[0]"})],
         "delete event 1 of calendar 1", "app.delete(app.calendars[0].events[0])"),
    Deed("delete", "Notes",
         [("system_events_click", {"target": 'processes["Notes"].windows[0].buttons["Delete"]'})]),
    Deed("run", "Safari",
         [("safari_do_javascript", {"script": "1", "in": "documents[0]"})],
         'do JavaScript "1" in document 1', 'app.doJavaScript("1", {in: app.documents[0]})'),
    Deed("run", "Safari",
         [("safari_set", {"target": "documents[0]", "properties": JAVASCRIPT}),
          ("safari_go_to", {"url": "javascript:alert(1)"}),
          ("safari_open_url", {"url": SHORTCUT}),
          ("safari_make", {"element": "document", "properties": JAVASCRIPT})],
         'set URL of document 1 to "javascript:alert(1)"',
         'app.documents[0].url = "javascript:alert(1)"'),
    Deed("run", "Google Chrome",
         [("google_chrome_set", {"target": "windows[0].tabs[0]", "properties": JAVASCRIPT}),
          ("google_chrome_make",
           {"element": "tab", "at": "windows[0].tabs", "properties": JAVASCRIPT})]),
    Deed("run", "Standard Additions",
         [("standard_additions_open_location", {"target": SHORTCUT}),
          ("standard_additions_open_url", {"url": SHORTCUT}),
          ("standard_additions_open_location",
           {"target": "x-apple.systempreferences:com.apple.preference.security"}),
          ("standard_additions_open_location",
           {"target": "file:///Applications/Utilities/Terminal.app"})],
         f'open location "{SHORTCUT}"', f'app.openLocation("{SHORTCUT}")'),
    Deed("run", "Standard Additions",
         [("standard_additions_do_shell_script", {"command": "ls"}),
          ("standard_additions_run_shell_command", {"command": "ls"})],
         'do shell script "ls"', 'app.doShellScript("ls")'),
    Deed("run", "Standard Additions", [("standard_additions_run_script", {"target": "beep"})],
         'run script "beep"', 'app.runScript("beep")'),
    Deed("run", "Finder",
         [("finder_open", {"target": "/Applications/Foo.app"}),
          ("finder_open_item", {"item": "~/Documents/a.command"})],
         'open file "a.command" of home', 'app.open(app.home.files["a.command"])'),
    Deed("run", "Mail",
         [("mail_make", {"element": "rule", "properties": {"run script": "/tmp/a.scpt"}}),
          ("mail_set", {"target": "rules[0]", "properties": {"run script": "/tmp/a.scpt"}})],
         'make new rule with properties {name:"x", run script:"/tmp/a.scpt"}',
         'app.Rule({name: "x", runScript: "/tmp/a.scpt"}).make()'),
    Deed("run", "Numbers",
         [("numbers_set", {"target": CELL, "properties": {"value": FORMULA}}),
          ("numbers_write_cell", {"cell": CELL, "value": FORMULA})],
         'tell table 1 of sheet 1 of document 1 to set value of cell 1 to "=STOCK(\\"A\\")"',
         "app.documents[0].sheets[0].tables[0].cells[0].value = '=STOCK(\"A\")'"),
    Deed("run", "Shortcuts", [("shortcuts_run", {"shortcut": "shortcuts[0]"})]),
    Deed("end", "System Events",
         [("system_events_log_out", {})], "log out", "app.logOut()"),
    Deed("end", "System Events", [("system_events_sleep", {})], "sleep", "app.sleep()"),
    Deed("end", "Finder", [("finder_restart", {}), ("finder_shut_down", {})],
         "restart", "app.restart()"),
    Deed("end", "Music", [("music_quit", {}), ("app_quit", {"app": "Music"})],
         "quit", "app.quit()"),
    Deed("end", "Music", applescript="«event aevtquit»"),
    Deed("open", "Safari",
         [("safari_set", {"target": "documents[0]", "properties": PAGE}),
          ("safari_make", {"element": "document", "properties": PAGE}),
          ("safari_open_url", {"url": PAGE["URL"]})],
         'set URL of document 1 to "https://a.example/x"',
         'app.documents[0].url = "https://a.example/x"'),
    Deed("open", "Google Chrome", [("google_chrome_open_tab", {"url": PAGE["URL"]})]),
    Deed("open", "Standard Additions",
         [("standard_additions_open_location", {"target": PAGE["URL"]})],
         'open location "https://a.example/x"', 'app.openLocation("https://a.example/x")'),
    Deed("open", "TextEdit", [("textedit_open", {"target": FILE})],
         'open "/Users/me/Documents/a.txt"', 'app.open("/Users/me/Documents/a.txt")'),
    Deed("send", "Mail",
         [("mail_send", {"target": "outgoingMessages[0]"}),
          ("mail_send_message", {"message": "outgoingMessages[0]"})],
         "send outgoing message 1", "app.send(app.outgoingMessages[0])", press="Send"),
    Deed("send", "Safari", [("safari_search_the_web", {"in": "documents[0]", "for": "x"})],
         'search the web in document 1 for "x"',
         'app.searchTheWeb({in: app.documents[0], for: "x"})'),
    Deed("send", "TextEdit", [("textedit_print", {"target": FILE})],
         "print document 1", "app.print(app.documents[0])"),
    Deed("create", "Notes",
         [("notes_make", {"element": "note", "properties": {"name": "x"}}),
          ("notes_make_note", {"name": "x"})],
         'make new note with properties {name:"x"}', 'app.Note({name: "x"}).make()'),
    Deed("create", "Finder",
         [("finder_duplicate", {"target": FILE}),
          ("finder_make", {"element": "folder", "at": "~/Documents"})],
         'duplicate file "a.txt" of home', 'app.duplicate(app.home.files["a.txt"])'),
    Deed("move", "Mail",
         [("mail_set",
           {"target": MAIL, "properties": {"mailbox": 'accounts[0].mailboxes["Work"]'}}),
          ("mail_move", {"target": MAIL, "to": 'accounts[0].mailboxes["Work"]'})],
         'set mailbox of message 1 of inbox to mailbox "Work" of account 1',
         'app.inbox.messages[0].mailbox = app.accounts[0].mailboxes["Work"]'),
    Deed("move", "Notes",
         [("notes_move", {"target": "notes[0]", "to": "folders[0]"}),
          ("notes_move_note", {"note": "notes[0]", "folder": "folders[0]"})],
         "move note 1 to folder 1", "app.move(app.notes[0], {to: app.folders[0]})"),
    Deed("change", "Notes", [("notes_set", {"target": "notes[0]", "properties": {"name": "x"}})],
         'set name of note 1 to "x"', 'app.notes[0].name = "x"'),
    Deed("change", "Mail",
         [("mail_mark_read", {"message": MAIL}),
          ("mail_set",
           {"target": MAIL, "properties": {"read status": True, "deleted status": True}})],
         "set read status of message 1 of inbox to true",
         "app.inbox.messages[0].readStatus = true"),
    Deed("close", "TextEdit", [("textedit_close", {"target": "documents[0]"})],
         "close document 1", "app.close(app.documents[0])"),
    Deed("close", "Safari", [("safari_close_tab", {"tab": "windows[0].tabs[0]"})]),
    Deed("start", "Music", [("app_launch", {"app": "Music"}), ("music_run", {})],
         "launch", "app.launch()"),
    Deed("install", "System Events",
         [("system_events_add_login_item", LOGIN),
          ("system_events_make", {"element": "login item", "properties": LOGIN})],
         'make new login item with properties {path:"/Applications/Foo.app"}',
         'app.LoginItem({path: "/Applications/Foo.app"}).make()'),
    Deed("ask-person", "Standard Additions",
         [("standard_additions_display_dialog", {"target": "x"})],
         'display dialog "x"', 'app.displayDialog("x")'),
)  # fmt: skip

ASKED: Final = Requester("tester", ("client",))
SCREEN: Final = {
    "app": node("app", "application", "", "w"),
    "w": node("w", "window", "Main", "b1", "b2"),
    "b1": node("b1", "button", "Delete", actions=("press",)),
    "b2": node("b2", "button", "Send", actions=("press",)),
}


def script_calls(deed: Deed) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the roads of a script: as it is, kept in a file, within others, by a shell."""
    addition = deed.app == "Standard Additions"
    told = f'tell application "{deed.app}"\n{deed.applescript}\nend tell'
    written = {"applescript": deed.applescript if addition else told, "javascript": ""}
    if deed.javascript:
        app = (
            "Application.currentApplication(); app.includeStandardAdditions = true"
            if addition
            else f'Application("{deed.app}")'
        )
        written["javascript"] = f"const app = {app}; {deed.javascript}"
    for language, text in written.items() if deed.applescript else ():
        if not text:
            continue
        named = {"language": language}
        yield language, "execute_applescript", {"script": text, **named}
        yield f"file {language}", "execute_applescript", {"script_path": text, **named}
        inner = {"in": "JavaScript"} if language == "javascript" else {}
        yield f"run_script {language}", "standard_additions_run_script", {"target": text, **inner}
        lines = " ".join(f"-e {shlex.quote(line)}" for line in text.split("\n"))
        shell = f"/usr/bin/osascript -l {language} {lines}"
        yield f"shell {language}", "standard_additions_do_shell_script", {"command": shell}
        given = f"cd /tmp && osascript -l {language} <<'END'\n{text}\nEND"
        yield f"heredoc {language}", "terminal_do_script", {"command": given}
        quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        if language == "applescript":
            outer = {"script": f'run script "{quoted}"', "language": "applescript"}
            yield "script in a script", "execute_applescript", outer


KEYS: Final = (
    *("notes", "finder", "mail", "numbers", "calendar", "system_events", "safari"),
    *("google_chrome", "standard_additions", "shortcuts", "music", "textedit"),
)
"""Keys of the apps: the beginnings of their tools' names."""


def roads(deed: Deed) -> Iterator[tuple[str, Call]]:
    """Yield every road to a deed, and the call."""
    for name, arguments in deed.tools:
        yield name, Call(name, arguments, ASKED)
        yield f"{name}, twice", Call(name, {}, ASKED, calls=(arguments, arguments))
        door = Call("dangerous_tool", {"name": name, "arguments": arguments}, ASKED)
        yield f"{name}, by a door", door
        key = next((key for key in KEYS if name.startswith(key)), "")
        fields = (f"{one}_" if keyword.iskeyword(one) else one for one in arguments)
        given = ", ".join(map("{}={!r}".format, fields, arguments.values()))
        program = f"{key}.{name.removeprefix(f'{key}_')}({given})"
        if key:
            yield f"{name}, in a plan", Call("run_plan", {"program": program}, ASKED)
        yield f"{name}, in Python", Call(name, arguments, Requester(preapproved_level="DANGEROUS"))
    for name, tool, arguments in script_calls(deed):
        yield name, Call(tool, arguments, ASKED)
    if deed.press:
        given = {"app": deed.app, "element": f"window[0]/button[@title='{deed.press}']"}
        yield "interface", Call("perform_action", {**given, "action": "press"}, ASKED)


@pytest.fixture(scope="module", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what is kept in a folder of this module's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IAC_DATA", str(tmp_path_factory.mktemp("data") / "data"))
        yield


@pytest.fixture(scope="module")
def executor(generated: Path) -> Iterator[Executor]:
    found = Executor(open_simulation(Catalogue([generated]), None))
    yield found
    found.close()


def judged(
    policy: str, call: Call, executor: Executor, generated: Path, files: Path, button: str
) -> tuple[CallFacts, Decision]:
    """Return what a call is judged to be under a policy; a script of a file is written there."""
    catalogue = _catalogue(generated)
    permissions = permissions_under(
        policy,
        home=str(files),
        identify=identify_from_catalogue(catalogue),
        read_code=lambda view, hidden: read_nested_code(catalogue, view, hidden),
    )
    screen = Memory(tree(SCREEN), apps=(APP._replace(name=button, id=f"com.apple.{button}"),))
    kept = {interfaces: UiToolset(screen)}
    gate = Gate(catalogue, executor, home=str(files), permissions=permissions, added=added_tools,
                kept=kept, launch=["*"])  # fmt: skip
    if "script_path" in call.arguments:
        suffix = "js" if call.arguments["language"] == "javascript" else "applescript"
        path = files / "Library" / "Scripts" / f"kept.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(call.arguments["script_path"], encoding="utf-8")
        call = call._replace(arguments={**call.arguments, "script_path": str(path)})
    return gate.judge_plan(gate.plan_call(unwrap_call_tool(call)), call.caller)


@cache
def _catalogue(generated: Path) -> Catalogue:
    return Catalogue([generated])


CELLS: Final = [
    pytest.param(deed, call, id=f"{deed.verb} {deed.app} {at}, {name}")
    for at, deed in enumerate(DEEDS)
    for name, call in roads(deed)
]


@pytest.mark.sweep
@pytest.mark.parametrize(("deed", "call"), CELLS)
def test_never_and_a_deny_by_app_hold_on_every_road(
    deed: Deed, call: Call, executor: Executor, generated: Path, tmp_path: Path
) -> None:
    world = (executor, generated, tmp_path, deed.app)
    trusted = 'preset = "trusted"\n[blocklist]\nremove = ["com.apple.Terminal"]\n'
    _, decision = judged(f"{trusted}[never]\n{deed.verb} = true", call, *world)
    assert (decision.action, decision.source) == ("deny", "policy.toml line 5")
    _, decision = judged(f'{trusted}[[deny]]\napp = "{deed.app}"', call, *world)
    assert (decision.action, decision.source) == ("deny", "policy.toml line 4")
    if call.caller == ASKED:
        over_http = call._replace(caller=ASKED._replace(token_client="t", max_level="SAFE"))
        _, decision = judged(trusted, over_http, *world)
        assert (decision.action, decision.source) == ("deny", BEYOND_SCOPE)


def test_what_takes_a_call_back_is_judged_by_what_it_does(
    executor: Executor, generated: Path, tmp_path: Path
) -> None:
    policy = 'preset = "trusted"\n[never]\ndelete = true'
    permissions = permissions_under(policy, home=str(tmp_path))
    gate = Gate(_catalogue(generated), executor, home=str(tmp_path), permissions=permissions)
    made = gate.call(Call("notes_make_note", {"name": "Milk"}, ASKED))
    assert isinstance(made, CompletedCall)
    assert made.outcome is not None
    _, decision = gate.judge_plan(
        gate.plan_call(Call("undo_call", {"call": made.outcome.call}, ASKED)), ASKED
    )
    assert (decision.action, decision.source) == ("deny", "policy.toml line 3")
