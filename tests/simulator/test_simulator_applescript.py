"""AppleScript on the simulated apps, as a caller of osascript meets it."""
# ruff: noqa: E501 - a script and what it gives stand in one line

import pytest

from iac_runtime.tools.catalogue import shipped_folder
from iac_simulator import Simulator
from iac_simulator.osascript import load_tables

RESULTS = [
    ("6 / 2", "3.0"),
    ("7 div 2 & 7 mod 2", "{3, 1}"),
    ("2 ^ 3 + 1", "9.0"),
    ("-7 mod 3", "-1"),
    ('"a" & 1 & "b"', '"a1b"'),
    ('1 & "a"', '{1, "a"}'),
    ("{a:1} & {b:2}", "{a:1, b:2}"),
    ('"Abc" = "aBC"', "true"),
    ('considering case\n"Abc" = "aBC"\nend considering', "false"),
    ('"abc" contains "B" and not ("x" is in {"y"})', "true"),
    ('text 2 thru 3 of "hello"', '"el"'),
    ('characters 1 thru 2 of "hello"', '{"h", "e"}'),
    ('last word of "one two"', '"two"'),
    ('set text item delimiters to ","\ntext items of "a,b"', '{"a", "b"}'),
    ('set text item delimiters to "-"\n{1, 2} as text', '"1-2"'),
    ("reverse of rest of {1, 2, 3}", "{3, 2}"),
    ("set {a, b} to {1, 2}\nb", "2"),
    ("set x to {}\nset end of x to 1\nset beginning of x to 0\nx", "{0, 1}"),
    ("set x to {1}\nset y to x\nset end of y to 2\nx", "{1, 2}"),
    ("set x to {1}\ncopy x to y\nset end of y to 2\nx", "{1}"),
    ("536870911 + 1", "5.36870912E+8"),
    ('"12" as integer', "12"),
    ("3.5 as integer", "4"),
    ("class of 1.5", "real"),
    ("month of (current date) as integer", "3"),
    ('date string of (date "March 1, 2026")', '"Sunday, March 1, 2026"'),
    ('set d to date "January 31, 2026"\nset month of d to 2\nmonth of d', "March"),
    ("((current date) + 2 * days) - (current date)", "172800"),
    ("try\nerror \"no\" number 42\non error m number n\nreturn {m, n}\nend try", '{"no", 42}'),
    ("on fact(n)\nif n ≤ 1 then return 1\nreturn n * (fact(n - 1))\nend fact\nfact(6)", "720"),
    ('to greet of p given title:t\nreturn t & p\nend greet\ngreet of "B" given title:"Mr "', '"Mr B"'),
    ("repeat with i from 10 to 1 by -4\nend repeat\ni", "2"),
    ("set n to 0\nrepeat\nset n to n + 1\nif n > 4 then exit repeat\nend repeat\nn", "5"),
    ("script c\nproperty n : 0\non up()\nset n to n + 1\nend up\nend script\nc's up()\ntell c to up()\nn of c", "2"),
    ('offset of "c" in "abc"', "3"),
    ("round 2.5", "2"),
    ('quoted form of "it\'s"', '"\'it\'\\\\\'\'s\'"'),
    ('POSIX path of file "Macintosh HD:Users:me"', '"/Users/me"'),
]  # fmt: skip

ERRORS = [
    ("x", "The variable x is not defined. (-2753)"),
    ('"a" as integer', 'Can’t make "a" into type integer. (-1700)'),
    ("item 3 of {1}", "Can’t get item 3 of {1}. (-1728)"),
    ("1 / 0", "Can’t divide 1 by zero. (-2701)"),
    ("foo()", "doesn’t understand the “foo” message. (-1708)"),
    ('error "gone" number -128', "gone (-128)"),
    ('tell application "Nowhere" to quit', "Can’t get application “Nowhere”. (-1728)"),
    ("on f()\nf()\nend f\nf()", "Stack overflow. (-2706)"),
    ("if 1 then", "syntax error"),
    ("\nload script 1", "the simulator does not run load script (line 2)"),
    ("«event coregetd»", "the simulator does not run «event coregetd» (line 1)"),
    ("repeat\nend repeat", "the simulator does not run more than"),
    ("current application's NSFileManager's fileExistsAtPath:1", "does not run the Objective-C call"),
    ('set x to "ab"\nrepeat\nset x to x & x\nend repeat', "Out of memory. (-108)"),
]  # fmt: skip

SAME_EVENTS = [
    ('tell application "Notes" to get name of every note', 'Application("Notes").notes.name()'),
    ('tell application "Notes" to count notes', 'Application("Notes").notes.length'),
    (
        'tell application "Notes" to get name of every note whose name contains "e"',
        'Application("Notes").notes.whose({name: {_contains: "e"}}).name()',
    ),
    (
        'tell application "Notes"\nset name of note 1 to "New"\nend tell',
        'Application("Notes").notes[0].name = "New"',
    ),
    (
        'tell application "Notes" to make new note with properties {name:"A", body:"b"}',
        'Application("Notes").make({new: "note", withProperties: {name: "A", body: "b"}})',
    ),
    (
        'tell application "Notes" to delete note "Gift ideas"',
        'const a = Application("Notes"); a.delete(a.notes.byName("Gift ideas"))',
    ),
    (
        'tell application "Reminders" to set completed of first reminder of list 1 to true',
        'Application("Reminders").lists[0].reminders[0].completed = true',
    ),
    (
        'tell application "Notes"\nwith timeout of 20 seconds\nget name of note -1\nend timeout\nend tell',
        'Application("Notes").notes[-1].name({timeout: 20})',
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def simulator() -> Simulator:
    folder = shipped_folder()
    assert folder is not None
    return Simulator(load_tables([folder]))


def run(simulator: Simulator, script: str, language: str = "AppleScript") -> tuple[str, str]:
    done = simulator(["osascript", "-l", language, "-s", "s", "-"], script.encode(), 20)
    return done.stdout.decode().strip(), done.stderr.decode().strip()


@pytest.mark.parametrize(("script", "result"), RESULTS)
def test_what_a_script_gives(simulator: Simulator, script: str, result: str) -> None:
    assert run(simulator, script) == (result, "")


@pytest.mark.parametrize(("script", "error"), ERRORS)
def test_how_a_script_fails(simulator: Simulator, script: str, error: str) -> None:
    printed, said = run(simulator, script)
    assert (printed, error in said) == ("", True), said


@pytest.mark.parametrize(("script", "same"), SAME_EVENTS)
def test_both_languages_send_the_same_events(script: str, same: str) -> None:
    folder = shipped_folder()
    assert folder is not None
    sent = []
    for text, language in ((script, "AppleScript"), (same, "JavaScript")):
        simulator = Simulator(load_tables([folder]))
        assert run(simulator, text, language)[1] == ""
        sent.append(list(simulator.events))
    assert sent[0] == sent[1] != []


def test_an_error_says_where_it_arose(simulator: Simulator) -> None:
    assert run(simulator, "set a to 1\nb")[1].startswith("11:12: execution error:")


def test_people_get_plain_text(simulator: Simulator) -> None:
    done = simulator(["osascript", "-e", 'return {"a", 1}'], b"", 5)
    assert done.stdout == b"a, 1\n"
