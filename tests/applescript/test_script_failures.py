"""Why scripts fail: the right cause for real error texts, and repairs that are certain."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iac_applescript.failures import explain, number_in
from iac_runtime.apple_errors import APPLE_ERRORS

TEXTS = [
    line.split("\t")
    for name in ("errors.tsv", "errors_more.tsv")
    for line in Path(__file__).with_name(name).read_text("utf-8").splitlines()
]


def test_real_error_texts_get_their_cause() -> None:
    wrong = [(text, explain(text).cause) for text, cause in TEXTS if explain(text).cause != cause]
    assert len(TEXTS) >= 300
    assert len(wrong) <= len(TEXTS) * 0.05, wrong


def test_every_known_number_is_explained() -> None:
    for number in APPLE_ERRORS:
        found = explain("", number)
        if number not in (0, -2700):
            assert found.cause != "unknown", number
            assert found.says.endswith("."), number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("execution error: x (-1728)", -1728),
        ("fehlgeschlagen（-600）", -600),
        ("error number −1712", -1712),
        ("errAEEventNotPermitted", -1743),
        ("something 12 happened", None),
        ("it ended with -1708 again", -1708),
    ],
)
def test_the_number_is_found_in_any_form(text: str, number: int | None) -> None:
    assert number_in(text) == number


@pytest.mark.parametrize(
    ("error", "language", "script", "corrected"),
    [
        (
            "Error: TypeError: console.error is not a function. (-2700)",
            "javascript",
            'console.error("x"); console.warn("y")',
            'console.log("x"); console.log("y")',
        ),
        (
            "Error: TypeError: app.displayDialog is not a function. (-2700)",
            "javascript",
            'const app = Application.currentApplication();\napp.displayDialog("x")',
            "const app = Application.currentApplication();\napp.includeStandardAdditions = true;\n"
            'app.displayDialog("x")',
        ),
        (
            'TypeError: Application("Notes").notes.whose is not a function. (-2700)',
            "javascript",
            'Application("Notes").notes.name()',
            'Application("com.apple.Notes").notes.name()',
        ),
        (
            "syntax error: Expected end of line but found unknown token. (-2741)",
            "applescript",
            "return “x”",
            'return "x"',
        ),
        (
            "syntax error: Expected “end” but found end of script. (-2741)",
            "applescript",
            'tell application "Finder"\n\tget name',
            'tell application "Finder"\n\tget name\nend tell',
        ),
        (
            "Error: Application can't be found. (-2700)",
            "javascript",
            'Application("Calender").name()',
            'Application("com.apple.iCal").name()',
        ),
        (
            'Can’t get application "Calender". (-1728)',
            "applescript",
            'tell application "Calender" to activate',
            'tell application id "com.apple.iCal" to activate',
        ),
        (
            "AppleEvent timed out. (-1712)",
            "applescript",
            'tell application "Mail" to count messages of inbox',
            "with timeout of 300 seconds\n"
            'tell application "Mail" to count messages of inbox\nend timeout',
        ),
    ],
)
def test_certain_repairs(error: str, language: str, script: str, corrected: str) -> None:
    found = explain(error, None, script, language, lambda _name: "com.apple.iCal")
    assert found.corrected == corrected
    assert found.change


@pytest.mark.parametrize(
    ("error", "language", "script"),
    [
        ("Error: Can't get object. (-1728)", "javascript", "x"),
        ("TypeError: x is not a function (-2700)", "javascript", "x()"),
        ("syntax error: x (-2741)", "applescript", 'return "x"'),
        ("Expected “end” but found end of script", "applescript", "tell x\nrepeat"),
        ("Application can't be found. (-2700)", "javascript", 'Application("A"); Application("B")'),
        ("AppleEvent timed out. (-1712)", "javascript", "1"),
        ("Application can't be found. (-2700)", "javascript", 'Application("Zzz")'),
    ],
)
def test_nothing_is_corrected_that_is_not_certain(error: str, language: str, script: str) -> None:
    assert explain(error, None, script, language).corrected is None


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
"""  # noqa: E501


@pytest.mark.parametrize("row", TRAPS.strip().splitlines())
def test_error_and_script_together_say_why(row: str) -> None:
    error, script, says = row.replace(" ¶ ", "\n").split(" | ")
    language = "javascript" if "TypeError" in error else "applescript"
    found = explain(error, None, script, language)
    assert says in found.says, found.says
    assert found.fixes


@given(st.text(max_size=120), st.none() | st.integers(-20000, 20000))
def test_any_error_is_explained(text: str, number: int | None) -> None:
    found = explain(text, number, text, "javascript")
    assert found.says
    assert found.cause
