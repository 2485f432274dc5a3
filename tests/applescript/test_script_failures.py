"""Why scripts fail, what repairs them for certain, and what the field book warns of."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from library_checks import ADDITIONS
from script_calls import data

from iac_applescript.analysis.constructs import find_known_traps
from iac_applescript.dictionary import field_skill, find_skill
from iac_applescript.failures import explain_failure, find_error_number
from iac_applescript.library import shipped_scripts
from iac_applescript.toolset import ScriptToolset
from iac_gen.quirks import known_apps, load_field_book, read_facts
from iac_runtime.apple_errors import APPLE_ERRORS

TEXTS = [
    line.split("\t")
    for name in ("errors.tsv", "errors_more.tsv")
    for line in Path(__file__).with_name(name).read_text("utf-8").splitlines()
]


def test_real_error_texts_get_their_cause() -> None:
    wrong = [
        (text, explain_failure(text).cause)
        for text, cause in TEXTS
        if explain_failure(text).cause != cause
    ]
    assert len(TEXTS) >= 300
    assert len(wrong) <= len(TEXTS) * 0.05, wrong


def test_every_known_number_is_explained() -> None:
    for number in APPLE_ERRORS:
        found = explain_failure("", number)
        if number not in (0, -2700):
            assert found.cause != "unknown", number
            assert found.message.endswith("."), number


@pytest.mark.parametrize(("text", "number"), [
    ("execution error: x (-1728)", -1728), ("fehlgeschlagen（-600）", -600),
    ("error number −1712", -1712), ("errAEEventNotPermitted", -1743),
    ("something 12 happened", None), ("it ended with -1708 again", -1708),
])  # fmt: skip
def test_the_number_is_found_in_any_form(text: str, number: int | None) -> None:
    assert find_error_number(text) == number


@pytest.mark.parametrize(("error", "language", "script", "corrected"), [
    ("Error: TypeError: console.error is not a function. (-2700)", "javascript",
     'console.error("x"); console.warn("y")', 'console.log("x"); console.log("y")'),
    ("Error: TypeError: app.displayDialog is not a function. (-2700)", "javascript",
     'const app = Application.currentApplication();\napp.displayDialog("x")',
     "const app = Application.currentApplication();\napp.includeStandardAdditions = true;\n"
     'app.displayDialog("x")'),
    ('TypeError: Application("Notes").notes.whose is not a function. (-2700)', "javascript",
     'Application("Notes").notes.name()', 'Application("com.apple.Notes").notes.name()'),
    ("syntax error: Expected end of line but found unknown token. (-2741)", "applescript",
     "return “x”", 'return "x"'),
    ("syntax error: Expected “end” but found end of script. (-2741)", "applescript",
     'tell application "Finder"\n\tget name', 'tell application "Finder"\n\tget name\nend tell'),
    ("Error: Application can't be found. (-2700)", "javascript", 'Application("Calender").name()',
     'Application("com.apple.iCal").name()'),
    ('Can’t get application "Calender". (-1728)', "applescript",
     'tell application "Calender" to activate', 'tell application id "com.apple.iCal" to activate'),
    ("AppleEvent timed out. (-1712)", "applescript",
     'tell application "Mail" to count messages of inbox',
     "with timeout of 300 seconds\n"
     'tell application "Mail" to count messages of inbox\nend timeout'),
])  # fmt: skip
def test_certain_repairs(error: str, language: str, script: str, corrected: str) -> None:
    found = explain_failure(error, None, script, language, lambda _name: "com.apple.iCal")
    assert found.corrected == corrected
    assert found.change


@pytest.mark.parametrize(("error", "language", "script"), [
    ("Error: Can't get object. (-1728)", "javascript", "x"),
    ("TypeError: x is not a function (-2700)", "javascript", "x()"),
    ("syntax error: x (-2741)", "applescript", 'return "x"'),
    ("Expected “end” but found end of script", "applescript", "tell x\nrepeat"),
    ("Application can't be found. (-2700)", "javascript", 'Application("A"); Application("B")'),
    ("AppleEvent timed out. (-1712)", "javascript", "1"),
    ("Application can't be found. (-2700)", "javascript", 'Application("Zzz")'),
])  # fmt: skip
def test_nothing_is_corrected_that_is_not_certain(error: str, language: str, script: str) -> None:
    assert explain_failure(error, None, script, language).corrected is None


TRAPS = r"""
„Mail“ hat einen Fehler erhalten: x „tidy“ (-1708) | on tidy(x) ¶ end tidy ¶ tell x ¶ tidy(1) | own handler
Expected “then” but found end of line. (-2741) | if a = 1 ¶ beep ¶ end if | no then
„end repeat“ wurde erwartet, aber „end tell“ gefunden. (-2741) | tell x ¶ repeat ¶ end tell | has the end of another
Expected expression but found “of”. (-2741) | set of to 3 | reserved word
Syntaxfehler (-2741) | if a == 1 then beep | does not have this operator
Can’t get item 1 of {}. (-1728) | return item 1 of {} | fewer items
Erreur dans Finder : x (-1728) | tell application "Finder" to open folder "/tmp" | slashes
execution error: x (-10004) | tell application "Photos" ¶ choose folder ¶ end tell | Standard Additions
Ungültige Datumsangabe (-30720) | date "31.31.2026" | region
execution error: grep (1) | do shell script "grep x y" | finds nothing
execution error: curl: (6) Could not resolve host (6) | do shell script "curl x" | server's name
La variable total n’est pas définie. (-2753) | on f() ¶ set total to 1 ¶ end f ¶ f() ¶ total | another handler
„"a"“ kann nicht in Typ „integer“ umgewandelt werden. (-1700) | "a" as integer | not a number
Anwendung läuft nicht. (-600) | tell app "Mail" to quit ¶ tell app "Mail" to count | told to quit
Error: TypeError: x.name.trim is not a function. (-2700) | x.name.trim() | until you call it
TypeError: undefined is not an object (evaluating '$.NSWorkspace.x') (-2700) | $.NSWorkspace.x | framework
Error: Application can't be found. (-2700) | Application("iTunes").play() | another name
Expected end of line but found “end tell”. (-2741) | tell app "Mail" to count messages of inbox ¶ end tell | has no end
Ausdruck erwartet, aber „var“ gefunden. (-2741) | var x = 3; ¶ x | is JavaScript
Expected end of line but found identifier. (-2741) | for x in theList ¶ end for | another programming language
„to“ wurde erwartet, aber „=“ gefunden. (-2741) | set x = 3 | equals sign
Fin de ligne attendue mais « ; » trouvé. (-2741) | set x to 3; | semicolon
Expected expression but found “/”. (-2741) | // counts ¶ beep | comment
Expected “"” but found unknown token. (-2741) | set p to "a\d" | backslash
Expected class name but found plural class name. (-2741) | tell app "Mail" to get first messages of inbox | singular
Expected “from” but found end of line. (-2741) | repeat with x ¶ end repeat | goes through
Expected “}” but found end of line. (-2741) | set l to {1, ¶ 2} | next line
Ausdruck erwartet, aber Zeilenende gefunden. (-2741) | set x to | line ends
Expected “,” or “)” but found identifier. (-2741) | on f(a b) ¶ end f | comma
Can’t make "Total: " into type number. (-1700) | return "Total: " + 3 | adds only numbers
Il est impossible de régler visible of process "Finder" à "non". (-10006) | tell app "System Events" to set visible of process "Finder" to "non" | true or false
Error: Typen können nicht konvertiert werden. (-1700) | cal.events.push(cal.Event({startDate: "2026-03-02"})) | needs a date
missing value versteht die Nachricht „sharedWorkspace“ nicht. (-1708) | use framework "Foundation" ¶ current application's NSWorkspace's sharedWorkspace() | framework
„URL of {tab 1 of window 1}“ kann nicht gelesen werden. (-1728) | tell app "Safari" ¶ set t to tabs ¶ end tell ¶ URL of t | finished list
Can’t get title of {name:"a"}. (-1728) | set r to {name:"a"} ¶ title of r | record
Can’t get name of "abc". (-1728) | set r to "abc" ¶ name of r | plain text
Error: Impossible d’obtenir l’objet. (-1728) | Application("Safari").window[0].name() | plural
Can’t set text item delimiters of application "Finder" to ",". (-10006) | tell app "Finder" ¶ set text item delimiters to "," ¶ end tell | AppleScript's own
Can’t make class event. (-2710) | tell app "Calendar" to make new event with properties {summary:"x"} | needs a calendar
Can’t make class message. (-2710) | tell app "Mail" to make new message | outgoing message
Es gibt bereits ein Objekt mit dem Namen. (-48) | tell app "Finder" to make new folder at home with properties {name:"x"} | folder already exists
An item with that name already exists. (-15267) | tell app "Finder" to move file "a" of desktop to home | destination already
Can’t get current track. (-1728) | tell app "Music" to get name of current track | playing
Can’t get pane id "x". (-1728) | tell app "System Settings" to reveal pane id "x" | panes have other ids
Parameter error. (-50) | display dialog "x" buttons {"a", "b", "c", "d"} | three buttons
Parameter error. (-50) | choose from list {} | at least one item
{1, 2} doesn’t match the parameters {a} for f. (-1721) | on f(a) ¶ end f ¶ f(1, 2) | more or fewer
Error: TypeError: s.split is not a function. (-2700) | const s = $.NSString.stringWithString("a"); s.split("b") | Objective-C object
Error: SyntaxError: Unexpected identifier 'application' (-2700) | tell application "Finder" to activate | is AppleScript
Error: SyntaxError: Return statements are only valid inside functions. (-2700) | return 3 | inside a function
Error: SyntaxError: Unexpected identifier 'fs' (-2700) | import fs from "fs" | modules
Error: SyntaxError: Unexpected identifier 'x' (-2700) | await x() | event loop
Error: SyntaxError: Can't create duplicate variable: 'a' (-2700) | let a; let a | twice
Error: TypeError: Attempted to assign to readonly property. (-2700) | const a = 1; a = 2 | constant
Error: SyntaxError: Unexpected end of script (-2700) | if (x) { | ends too early
Error: SyntaxError: Invalid character: '\u201c' (-2700) | x(“a”) | curly
Error: ReferenceError: Can't find variable: NSString (-2700) | NSString.alloc | without $
Error: ReferenceError: Can't find variable: displayDialog (-2700) | displayDialog("x") | unknown names
Error: TypeError: undefined is not an object (evaluating 'argv[0].length') (-2700) | function run(argv) { argv[0].length } | argument
Error: TypeError: undefined is not an object (evaluating 'found[0].name') (-2700) | found[0].name() | empty or shorter
Error: TypeError: app.notes.length is not a function (-2700) | app.notes.length() | length is a number
Error: TypeError: x.name is not a function. (In 'x.name()', 'x.name' is "abc") (-2700) | x.name() | value already
Error: TypeError: null is not an object (evaluating 'x.name') (-2700) | x.name() | null
Error: Error: Message not understood. (-1708) | app.inbox.messages.slice(0, 5) | until you call
Error: Error: File is already open. (-49) | app.openForAccess(Path("/tmp/a")) | still open
Fichier ouvert sans autorisation d’écriture. (-61) | write "x" to f | for writing
mkdir: /tmp/x: File exists (1) | do shell script "mkdir /tmp/x" | already exists
sh: -c: line 0: unexpected EOF while looking for matching `'' (2) | do shell script "echo it's" | the shell reads
ls: ~/x: No such file or directory (1) | do shell script "ls '~/x'" | home folder
date: illegal option -- d (1) | do shell script "date -d tomorrow" | Linux
sh: python: command not found (127) | do shell script "python a.py" | named python
could not create image from display (1) | do shell script "screencapture /tmp/a.png" | record the screen
Dateifehler. (-54) | read file ((path to documents folder as text) & "a") | protects
«script» doesn’t understand the “doIt” message. (-1708) | doIt(3) | does not have
Can’t get inbox of «script». (-1728) | return inbox | outside the tell
Can’t make "a" into type specifier. (-1700) | tell app "Notes" to show "a" | object of the app
AppleEvent timed out. (-1712) | tell app "Mail" ¶ display dialog "x" ¶ end tell | dialog
Error: TypeError: app.Note is not a constructor (-2700) | new app.Note({name: "x"}) | new before
Error: TypeError: app.folders is not a function (-2700) | app.folders("x") | not chosen with parentheses
Error: ReferenceError: Can't find variable: n (-2700) | function f() { const n = 1 } ¶ n | another function
Error: ReferenceError: Can't find variable: se (-2700) | se.processes() | did not name first
Error: TypeError: a.filter is not a function (-2700) | const a = ObjC.unwrap(b)[0]; a.filter(x => x) | inside
Error: TypeError: console.table is not a function (-2700) | console.table([1]) | except console.log
Expected end of line but found “[”. (-2741) | return l[1] | square brackets
Zeilenende erwartet, aber „.“ gefunden. (-2741) | return x.name | with dots
Expected end of line, etc. but found “"”. (-2741) | display dialog "a" "b" | follow each other
Expected end of line but found unknown token. (-2741) | return 7 % 2 | operator
Expected end of line but found “{”. (-2741) | if x then { ¶ beep ¶ } | another programming language
La variable « null » n’est pas définie. (-2753) | return null | nothing is missing value
Can’t make false into type text. (-1700) | set x to choose from list {"a"} ¶ x as text | when the user cancels
Can’t make {button returned:"OK"} into type text. (-1700) | (display dialog "x") as text | a record, not a text
„POSIX path of file "a" of folder "b"“ kann nicht gelesen werden. (-1728) | tell app "Finder" to POSIX path of first file of home | reference of Finder
Can’t make "3 days" into type number. (-1700) | (current date) + "3 days" | span of time
Can’t get day of "2026-01-01". (-1728) | set d to "2026-01-01" ¶ day of d | only a date
Can’t make {"1", "2"} into type integer. (-1700) | {"1", "2"} as integer | list or a record
Can’t get shortcut "x". (-1728) | tell app "Shortcuts Events" to run shortcut "x" | no shortcut
Can’t get cell "B2". (-1728) | tell app "Numbers" to get value of cell "B2" | belong to a table
Can’t get buddy "x". (-1728) | tell app "Messages" to send "x" to buddy "x" | participant
Can’t get person "Anna". Invalid index. (-1719) | tell app "Contacts" to get person "Anna" | with this name
Expected variable name or property but found string. (-2741) | set "x" to 3 | cannot be a name
„item 1 of selection“ kann nicht gelesen werden. (-1728) | tell app "Mail" to get item 1 of selection | Nothing is selected
Can’t make "100,100" into type point. (-1700) | tell app "Finder" to set position of window 1 to "100,100" | list of numbers
Can’t set bounds of window 1 to {0, 0, 800}. (-10006) | tell app "Safari" to set bounds of window 1 to {0, 0, 800} | four for bounds
Can’t make "a" into type integer. (-1700) | tell app "System Events" to key code "a" | number of a key
Error: SyntaxError: JSON Parse error: Unexpected EOF (-2700) | JSON.parse("") | not JSON
Error: TypeError: r.textReturned is not a function (-2700) | const r = app.displayDialog("x"); r.textReturned() | plain record
Error: Error: Can't convert types. (-1700) | app.notes.whose({name: {contains: "x"}})() | begins with an underscore
Error: Error: Invalid key form. (-10002) | app.reminders.whose({and: [{completed: false}]})() | begins with an underscore
Calendar got an error: A descriptor type mismatch occurred. (-10025) | tell app "Calendar" to set start date of event 1 of calendar 1 to later | before its start
Calendar got an error: A descriptor type mismatch occurred. (-10025) | set b to a - 2 * hours ¶ tell app "Calendar" to tell calendar 1 to make new event with properties {start date:a, end date:b} | before its start
Finder got an error: A privilege violation occurred. (-5000) | tell app "Finder" to get files of folder "Mail" of folder "Library" of home | Full Disk Access
„Finder“ hat einen Fehler erhalten: Berechtigungsfehler. (-5000) | tell app "Finder" to duplicate file "chat.db" of place | Full Disk Access
Expected “then”, etc. but found end of line. (-2741) | if x is 1 ¶ beep ¶ end if | no then
TypeError: the simulator has no $.NSTask (-2700) | tell app "Mail" to get item 1 of selection | simulator does not run
"""  # noqa: E501


@pytest.mark.sweep
@pytest.mark.parametrize("row", TRAPS.strip().splitlines())
def test_error_and_script_together_say_why(row: str) -> None:
    error, script, says = row.replace(" ¶ ", "\n").split(" | ")
    language = "javascript" if "Error: " in error else "applescript"
    found = explain_failure(error, None, script, language)
    assert says in found.message, found.message
    assert found.fixes


FREE = r"""
Expected end of line but found identifier. (-2741) | tell app "Mail" ¶ set x to (a = b) ¶ print mesage 1 ¶ end tell | does not know a word
Can’t get item 1 of {}. (-1728) | set x to {} ¶ item 1 of x | fewer items
Can’t get text item 2 of "a". (-1728) | text item 2 of "a" | parts
Can’t get window "No". (-1728) | tell app "Finder" to close window "No" | does not exist
ls: x: No such file or directory (1) | do shell script "ls ~/x" | shell command failed
Error: Error: Can't get object. (-1728) | Application("Notes").notes.byName("x").body() | does not exist
Error: TypeError: undefined is not an object (evaluating 'app.windows[0].x') (-2700) | app.windows[0].x() | no window
Error: TypeError: n.name.trim is not a function. (-2700) | const n = app.notes[0]; n.name.trim() | until you call it
"""  # noqa: E501


@pytest.mark.parametrize("row", FREE.strip().splitlines())
def test_a_trap_leaves_what_another_explains_better(row: str) -> None:
    error, script, says = row.replace(" ¶ ", "\n").split(" | ")
    language = "javascript" if "Error: " in error else "applescript"
    found = explain_failure(error, None, script, language)
    assert says in found.message, found.message


@given(st.text(max_size=120), st.none() | st.integers(-20000, 20000))
def test_any_error_is_explained(text: str, number: int | None) -> None:
    found = explain_failure(text, number, text, "javascript")
    assert found.message
    assert found.cause


def test_what_the_simulator_does_not_run_is_not_blamed_on_the_script() -> None:
    error = "0:1: execution error: the simulator does not run transactions (line 2) (-2700)"
    found = explain_failure(error)
    assert found.cause == "simulator"
    assert found.message.startswith("The simulator does not run this part")


CASES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("known_traps.toml").read_text())
BOOK = {fact.id: fact for fact in read_facts(load_field_book()[0])}


def traps(script: str, case: str) -> set[str]:
    language = "javascript" if "javascript" in CASES[case] else "applescript"
    return {str(row["id"]) for row in find_known_traps(script, language, [BOOK[case].app])}


@pytest.mark.parametrize("case", CASES)
def test_a_script_that_does_it_is_told_and_one_beside_it_is_not(case: str) -> None:
    assert all(case in traps(script, case) for script in CASES[case]["bad"])
    assert not any(case in traps(script, case) for script in CASES[case].get("good", ()))


def test_every_row_that_warns_of_scripts_has_its_case() -> None:
    assert CASES.keys() == {fact.id for fact in BOOK.values() if "lint" in fact.use}


def test_no_script_of_the_library_does_what_a_row_warns_of() -> None:
    ids = {app.name: app.id for app in known_apps().values()}
    found = {
        script.name: [str(row["id"]) for row in rows]
        for script in shipped_scripts()
        for apps in [[ids.get(name, name) for name in (*script.apps, ADDITIONS)]]
        if (rows := [*find_known_traps(script.script, script.language, apps)])
    }
    assert found == {}


def test_each_row_for_guides_stands_in_that_of_its_app(toolset: ScriptToolset) -> None:
    rows = [fact for fact in BOOK.values() if "guide" in fact.use]
    own = [fact for fact in rows if fact.app]
    assert len(own) >= 50
    for fact in own:
        guide = find_skill(fact.app) or field_skill(fact.app, fact.app)
        assert guide is not None
        assert f"- If you {fact.act}: {fact.happens} {fact.safe}".strip() in guide.whole_text
    mail = data(toolset, "get_app_skill", app="Mail")["text"]
    assert all(fact.happens in mail for fact in rows if not fact.app)
    assert "Use System Events." in data(toolset, "get_app_skill", app="Standard Additions")["text"]


def test_who_validates_a_script_is_told(toolset: ScriptToolset) -> None:
    script = 'tell application "Mail" to return (id of message 1 of inbox) as text'
    (told,) = data(toolset, "validate_applescript", script=script)["known_traps"]
    assert told.startswith("turn the number of a message into text in AppleScript: Large ones")
