"""What the analysis says of scripts: no harm below DANGEROUS, little harmless called so."""

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from script_cases import read_cases
from script_variations import variations

from iac_applescript.analysis.analyser import ScriptAnalyzer

DANGEROUS = [*read_cases("dangerous.txt"), *read_cases("dangerous_more.txt")]
CHANGING = read_cases("changing.txt")
HARMLESS = [*read_cases("harmless.txt"), *read_cases("harmless_more.txt")]


def test_every_dangerous_script_is_dangerous_with_a_reason_and_its_place(
    analyser: ScriptAnalyzer,
) -> None:
    hidden = 0
    for case in DANGEROUS:
        found = analyser.analyze_script(case.script, case.language)
        assert found.level != "SAFE", case.script
        if case.language == "javascript" and found.level == "MODIFY":
            # What its text does not show the bridge holds: test_script_predicted.py.
            hidden += 1
            continue
        assert found.level == "DANGEROUS", case.script
        first = found.reasons[0]
        assert first.level == "DANGEROUS"
        assert first.message
        assert first.place.line <= case.script.count("\n") + case.script.count("\r") + 1
    assert hidden <= len(DANGEROUS) * 0.05


@pytest.mark.slow
@pytest.mark.uncounted
def test_no_variation_gets_below(analyser: ScriptAnalyzer) -> None:
    below = [
        changed.script
        for case in DANGEROUS
        if case.language == "applescript"
        or analyser.analyze_script(case.script, case.language).level == "DANGEROUS"
        for changed in variations(case)
        if analyser.analyze_script(changed.script, changed.language).level != "DANGEROUS"
    ]
    assert below == []


@pytest.mark.uncounted
def test_no_change_is_called_safe(analyser: ScriptAnalyzer) -> None:
    safe = [
        changed.script
        for case in CHANGING
        for changed in (case, *variations(case))
        if analyser.analyze_script(changed.script, changed.language).level == "SAFE"
    ]
    assert safe == []


def test_few_harmless_scripts_are_called_dangerous(analyser: ScriptAnalyzer) -> None:
    called = [
        case.script
        for case in HARMLESS
        if analyser.analyze_script(case.script, case.language).level == "DANGEROUS"
    ]
    assert len(HARMLESS) >= 180
    assert len(called) <= len(HARMLESS) * 0.05, called


def test_the_sample_of_hostile_scripts(analyser: ScriptAnalyzer, corpus: Path) -> None:
    with (corpus / "hostile-inputs.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    scripts = [row for row in rows if row["class"] == "script"]
    assert scripts
    for row in scripts:
        text = json.loads(row["payload_json"]).removesuffix(" (text only)")
        language = "javascript" if text.startswith("JXA: ") else "applescript"
        found = analyser.analyze_script(text.removeprefix("JXA: "), language)
        harmless = row["expected"].startswith("NOT dangerous")
        assert (found.level == "SAFE") == harmless, row["id"]


@pytest.mark.parametrize(("script", "targets", "tool"), [
    ('tell application "Finder" to reveal home', ("com.apple.finder",), "finder_reveal"),
    ('tell application id "com.apple.mail" to check for new mail', ("com.apple.mail",),
     "mail_check_for_new_mail"),
    ('tell app "safari" to get URL of every document', ("com.apple.Safari",), "safari_list"),
    ('tell application "Notes" to make new note with properties {name:"x"}', ("com.apple.Notes",),
     "notes_make"),
])  # fmt: skip
def test_targets_and_the_tool_that_does_the_same(
    analyser: ScriptAnalyzer, script: str, targets: tuple[str, ...], tool: str
) -> None:
    found = analyser.analyze_script(script, "applescript")
    assert found.targets == targets
    assert tool in found.tools


@pytest.mark.parametrize(("script", "level"), [
    ('const f = Application("Finder"); f.make({new: "folder", at: f.desktop})', "MODIFY"),
    ('const f = Application("Finder"); f.make({new: "fldr", at: f.desktop})', "DANGEROUS"),
    ('const k = "x"; Application("Finder").make({new: k})', "DANGEROUS"),
    ('Application("Mail").Rule({name: "x"}).make()', "DANGEROUS"),
    ('Application("Music").soundVolume = 30', "MODIFY"),
    ('Application("Music").soundVolume.set(30)', "MODIFY"),
    ('Application("Music").nonsense = 30', "DANGEROUS"),
    ('Application("Safari").documents[0].url = "https://a.example/"', "MODIFY"),
    ('Application("Safari").documents[0].url = next', "DANGEROUS"),
    ('const s = Application("Safari"); s.Document({url: "https://a.example/"}).make()', "MODIFY"),
    ('const s = Application("Safari"); s.Document({url: s.name()}).make()', "DANGEROUS"),
    ('Application("TextEdit").documents[0].save({in: Path("/x")})', "DANGEROUS"),
    ('Application("TextEdit").documents[0].path = "/x"', "DANGEROUS"),
    ('Application("TextEdit").documents[0].properties = {}', "DANGEROUS"),
    ('Application("Music").run({x: 1})', "DANGEROUS"),
    ('Application("Finder").files[0].duplicate({to: 1, replacing: true})', "DANGEROUS"),
    ('Application("Finder").home["delete"]()', "DANGEROUS"),
    ('Application("System Events").processes["SecurityAgent"].name()', "DANGEROUS"),
    ('x.Application("Finder")', "DANGEROUS"),
    ('const {keystroke} = Application("System Events")', "DANGEROUS"),
    ('const o = {["a" + "b"]: 1}', "MODIFY"), ("const a = [1, 2]; a[a.length - 1]", "MODIFY"),
    ('const t = {a: 1}; const k = "a"; t[k] = 2', "MODIFY"),
    ('Application("Safari").open("https://a.example/")', "MODIFY"),
    ('const p = "/Library/Launch" + "Agents/x"; p', "DANGEROUS"),
    ('const a = Application("Finder"); a.displayDialog("PIN?", {defaultAnswer: ""})', "DANGEROUS"),
    ('Application.currentApplication().displayDialog("x", {"hiddenAnswer": true})', "DANGEROUS"),
    ("const o = {a: 1}, m = $.NSFileManager.defaultManager; m.fileExistsAtPath(o.a)", "MODIFY"),
    ("const o = {removeItemAtPathError: 1}, m = $.NSFileManager.defaultManager;"
     " m.removeItemAtPathError('/x', null)", "DANGEROUS"),
    ("const m = $.NSFileManager.defaultManager; const {removeItemAtPathError: f} = m; f('/x')",
     "DANGEROUS"),
    ("const o = {$: 1}; o.$", "MODIFY"), ("let a = 1, b = 2; a + b", "MODIFY"),
    ("const f = ({x, y: [z]}) => x + z; try { f({x: 1, y: [2]}) } catch { f }", "MODIFY"),
    ("`a ${`b ${1}`} c`", "MODIFY"), ("4 / 2 / 1; /a[/]b/g.test('x')", "MODIFY"),
])  # fmt: skip
def test_levels_of_javascript(analyser: ScriptAnalyzer, script: str, level: str) -> None:
    found = analyser.analyze_script(script, "javascript")
    assert found.level == level, found.reasons


@pytest.mark.parametrize(("script", "level"), [
    ('tell application "Mail" to forward message 1 of inbox with opening window', "MODIFY"),
    ('tell application "System Events" to get value of text field 1 of window 1', "MODIFY"),
    ('tell application "Terminal" to get history of tab 1 of window 1', "MODIFY"),
    ('tell application "Music" to set x to name of current track', "SAFE"),
    ('tell application "Music" to set sound volume to 10', "MODIFY"),
    ('tell application "Finder" to set locked of file "x" of home to true', "MODIFY"),
    ('tell application "Finder" to set owner privileges of home to read write', "DANGEROUS"),
    ('set x to "do shell script"', "SAFE"),
    ("set |do shell script| to 1\nreturn |do shell script|", "SAFE"),
    ('return {"run script", "load script"}', "SAFE"),
    ("set x to {1}\nset end of x to 2\nset item 1 of x to 3\nreturn x", "SAFE"),
    ('tell application "Finder" to run', "MODIFY"),
    ('tell application "TextEdit" to print document 1', "MODIFY"),
    ('tell application "TextEdit" to save document 1', "MODIFY"),
    ('tell application "System Events" to set p to (path of music folder) as string\n'
     'tell application "Finder" to open p', "MODIFY"),
    ('tell application "System Events" to set p to (path of preferences folder) as string\n'
     'tell application "Finder" to open p', "DANGEROUS"),
    ('tell application "System Events" to set p to (path of music folder) as string\n'
     'tell application "Finder" to open (p & "x.command")', "DANGEROUS"),
    ('tell application "TextEdit" to open', "MODIFY"), ('copy "x" to y', "SAFE"),
    ("copy", "DANGEROUS"), ("set to 1", "DANGEROUS"),
])  # fmt: skip
def test_levels_of_applescript(analyser: ScriptAnalyzer, script: str, level: str) -> None:
    found = analyser.analyze_script(script, "applescript")
    assert found.level == level, found.reasons


def test_a_reason_says_where(analyser: ScriptAnalyzer) -> None:
    found = analyser.analyze_script('set x to 1\n\tdo shell script "id"', "applescript")
    reason = found.reasons[0]
    assert (reason.place.line, reason.place.column) == (2, 2)
    assert reason.text == "do shell script"


def test_an_unknown_app_is_named(analyser: ScriptAnalyzer) -> None:
    found = analyser.analyze_script('tell application "Frobnicator" to activate', "applescript")
    assert found.level == "DANGEROUS"
    assert found.unknown == ("Frobnicator",)


@pytest.mark.parametrize("language", ["applescript", "javascript"])
def test_javascript_is_never_safe_and_nothing_is_too_long_to_refuse(
    analyser: ScriptAnalyzer, language: str
) -> None:
    found = analyser.analyze_script("1 + 1", language)  # type: ignore[arg-type]
    assert found.level == ("SAFE" if language == "applescript" else "MODIFY")
    assert analyser.analyze_script("1 " * 40_000, language).level == "DANGEROUS"  # type: ignore[arg-type]


@pytest.mark.parametrize(("script", "language"), [
    ('tell application "Finder"', "applescript"), ("end tell", "applescript"),
    ("(* open", "applescript"), ("|open", "applescript"), ("x ` y", "javascript"),
    ("'open", "javascript"), ("`open", "javascript"), ("a \\u0062", "javascript"),
    ('const {]quit: q} = Application("Mail"); q()', "javascript"),
    ("function ]pad(n) { return n }", "javascript"), ("set x to 1\x0b", "applescript"),
    ("// a\u2028b", "javascript"),
    ("tell " * 8 + 'application "Finder" to get name', "applescript"),
    ('tell application "Finder" to end tell', "applescript"),
    ('if application "Finder" is running then tell application "Finder" to end', "applescript"),
    ('tell application "Finder" to ' * 80 + "get name", "applescript"),
])  # fmt: skip
def test_what_cannot_be_read_is_dangerous(
    analyser: ScriptAnalyzer, script: str, language: str
) -> None:
    assert analyser.analyze_script(script, language).level == "DANGEROUS"  # type: ignore[arg-type]


@pytest.mark.sweep
@pytest.mark.parametrize(("language", "piece"), [
    ("javascript", "`${"), ("javascript", "("), ("javascript", "a["), ("javascript", "x.open();"),
    ("javascript", "const {a:b}=c;b();"), ("javascript", ")/"), ("javascript", '"a"+'),
    ("applescript", 'tell app "Finder"\n'), ("applescript", "set a to a & a\n"),
    ("applescript", "name "), ("applescript", "if ("), ("applescript", "(* "),
])  # fmt: skip
@pytest.mark.uncounted
def test_the_longest_script_of_one_piece_is_judged(
    analyser: ScriptAnalyzer, language: str, piece: str
) -> None:
    script = (piece * 65536)[:65536]
    assert analyser.analyze_script(script, language).level in ("SAFE", "MODIFY", "DANGEROUS")  # type: ignore[arg-type]


@pytest.mark.sweep
@pytest.mark.parametrize("declares", ["let N=0;", "let N='x';", "const N={};N[k]=1;"])
@pytest.mark.uncounted
def test_a_script_of_many_names_is_judged(analyser: ScriptAnalyzer, declares: str) -> None:
    script = "".join(declares.replace("N", f"a{number}") for number in range(2500))
    assert analyser.analyze_script(script, "javascript").level in ("MODIFY", "DANGEROUS")


PIECES = (
    *("tell", "application", '"Finder"', '"Terminal"', "to", "end", "set", "x", "of", "name", "do"),
    *("shell", "script", "run", "(*", "*)", "--", "\n", "¬", "«event sysoexec»", "|", '"', "{",
     "}"),
    *("(", ")", "&", "if", "then", "repeat", "every", "file", "'s", "my", "const", "=", "=>", "`"),
    *("Application", "[", "]", ".", "/", "${", "ObjC", "delete", "1", "\\", ";", "a", "use", "on"),
)  # fmt: skip
SOUP = st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join) | st.text(max_size=80)


@given(SOUP, st.sampled_from(["applescript", "javascript"]))
def test_any_text_is_judged(analyser: ScriptAnalyzer, text: str, language: str) -> None:
    found = analyser.analyze_script(text, language)  # type: ignore[arg-type]
    assert found.level in ("SAFE", "MODIFY", "DANGEROUS")
    assert all(reason.place.line >= 1 for reason in found.reasons)


@given(SOUP)
def test_what_runs_a_shell_makes_any_script_dangerous(analyser: ScriptAnalyzer, text: str) -> None:
    script = f'do shell script "id"\n{text}'
    assert analyser.analyze_script(script, "applescript").level == "DANGEROUS"


@given(st.sampled_from(HARMLESS), st.sampled_from(DANGEROUS))
def test_a_dangerous_statement_is_not_hidden_by_its_company(analyser, good, bad) -> None:
    if good.language == bad.language:
        # A line that begins with a bracket goes on with the line before it.
        end = ";" if good.language == "javascript" else ""
        both = f"{good.script}{end}\n{bad.script}"
        assert analyser.analyze_script(both, good.language).level == "DANGEROUS"


@pytest.mark.parametrize(
    "name", ["Trash", "Papierkorb", "ゴミ箱", "Корзина", "Thùng rác", "Werbung"]
)
def test_what_goes_to_a_trash_is_thrown_away_in_every_language(
    analyser: ScriptAnalyzer, name: str
) -> None:
    tell = 'tell application "Mail" to '
    for script in (
        f'{tell}move message 1 of inbox to mailbox "{name}" of account "Work"',
        f'{tell}set mailbox of message 1 of inbox to mailbox "{name}"',
    ):
        assert analyser.analyze_script(script, "applescript").level == "DANGEROUS", script
        other = script.replace(name, "Travel")
        assert analyser.analyze_script(other, "applescript").level == "MODIFY", other
    script = (
        'const m = Application("Mail"); const x = m.inbox.messages[0];'
        f' m.move(x, {{to: m.mailboxes["{name}"]}})'
    )
    assert analyser.analyze_script(script, "javascript").level == "DANGEROUS"
    assert analyser.analyze_script(script.replace(name, "Travel"), "javascript").level == "MODIFY"


def test_a_getter_may_begin_on_the_line_before(analyser: ScriptAnalyzer) -> None:
    script = 'class B { get\nh() { return Application("Finder").home } } new B().h.delete()'
    assert analyser.analyze_script(script, "javascript").level == "DANGEROUS"
