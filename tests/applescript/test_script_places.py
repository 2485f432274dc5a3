"""Where an AppleScript puts things, how many it changes, and what it asks."""

import pytest

from iac_applescript.analysis.analyser import ScriptAnalyzer

FINDER = 'tell application "Finder" to '
LOOP = """tell application "Reminders"
    repeat with r in {}
        set completed of r to true
    end repeat
end tell"""


@pytest.mark.parametrize("place", [
    'folder 37 of home', 'folder "LaunchAgents" of folder "Library" of home',
    '(first folder of home whose name starts with "LaunchA")', 'folder ".config" of home',
    'folder ("." & "ssh") of home', 'folder "Public" of home', 'disk "Backup"',
    'folder "com~apple~CloudDocs" of folder "Mobile Documents" of folder "Library" of home',
    'POSIX file "/etc/periodic/daily"', 'folder (name of folder 1 of home & "s") of home',
])  # fmt: skip
def test_a_place_that_is_not_the_users_own_is_dangerous(
    place: str, analyser: ScriptAnalyzer
) -> None:
    found = analyser.analyze_script(f'{FINDER}move file "x" of desktop to {place}', "applescript")
    assert found.level == "DANGEROUS"
    named = FINDER + 'move file "x" of desktop to folder "Bills" of folder "Documents" of home'
    assert analyser.analyze_script(named, "applescript").level == "MODIFY"


def test_a_loop_over_all_of_a_kind_is_what_every_is(analyser: ScriptAnalyzer) -> None:
    levels = {
        said: analyser.analyze_script(LOOP.replace("{}", said), "applescript").level
        for said in ("reminders", "(get every reminder)", "(reminders whose flagged is true)")
    }
    assert list(levels.values()) == ["DANGEROUS", "DANGEROUS", "MODIFY"]


@pytest.mark.parametrize(("script", "level"), [
    ('display dialog "Your name?" default answer ""', "MODIFY"),
    ('display dialog ("Pass" & "word?") default answer ""', "DANGEROUS"),
    ('display dialog (the clipboard) default answer ""', "DANGEROUS"),
    ("set d to current date\nset hours of d to 9\nset day of d to 1", "SAFE"),
    ('tell application "Mail" to set deleted status of message 1 of inbox to true', "DANGEROUS"),
    ('set ran to application "Music" is running\n'
     'tell application "Music"\nget name of playlist 1\nif not ran then quit\nend tell', "MODIFY"),
    ('tell application "Music" to quit', "DANGEROUS"),
    ('set f to (path to documents folder as text) & "log.txt"\n'
     "set h to open for access file f with write permission\nset eof of h to 0", "MODIFY"),
    ('set h to open for access file "x:.zshrc" with write permission\nset eof h to 0',
     "DANGEROUS"),
])  # fmt: skip
def test_levels_by_what_is_given(script: str, level: str, analyser: ScriptAnalyzer) -> None:
    found = analyser.analyze_script(script, "applescript")
    assert found.level == level, found.reasons


def test_what_the_parser_cannot_read_is_dangerous_with_its_line(analyser: ScriptAnalyzer) -> None:
    script = 'tell application "Notes"\nget name of note 1\nfrobnicate the widget 3\nend tell'
    found = analyser.analyze_script(script, "applescript")
    assert found.level == "DANGEROUS"
    assert [reason.place.line for reason in found.reasons if reason.rule == "shape"] == [3]
    assert found.targets == ("com.apple.Notes",)
