"""Any text is judged within a second; one that takes too many steps is dangerous, and says so."""

import time

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from script_calls import data

from iac_applescript.analysis.analyser import ScriptAnalysis, ScriptAnalyzer, script_reach
from iac_applescript.analysis.findings import Language
from iac_applescript.toolset import ScriptToolset
from iac_base.script_tokens import MAX_SCRIPT

TELL = 'tell application "Mail"\n'
REASON = "takes more steps to judge than IAC follows"

LONG: dict[str, tuple[Language, str]] = {
    "two hundred functions that call each other": (
        "javascript",
        "".join(f"function f{i}(x) {{ return f{i + 1}(x) }}\n" for i in range(200)) + "f0(1)",
    ),
    "functions within functions": (
        "javascript",
        "var r = [];"
        + "".join(f"r = r.map(x => [x, r]).concat(r.filter(y => y.z{i}));\n" for i in range(1_100)),
    ),
    "objects that hold each other": (
        "javascript",
        "".join(f"var o{i} = {{m() {{ return this.x{i} }}, y: this}};\n" for i in range(1_300)),
    ),
    "texts that double": (
        "javascript",
        f'var s = "{"ab/ " * 8_000}";' + "".join(f's = s + "x{i}" + s;\n' for i in range(1_600)),
    ),
    "members, one after the other": ("javascript", "x.a;" * 15_000),
    "blanks": ("applescript", " " * MAX_SCRIPT),
    "commands of commands": ("applescript", TELL + "count messages of " * 3_500 + "\nend tell"),
    "a place of a place": (
        "applescript",
        TELL + f"save message 1 in {'file ' * 12_000}a\nend tell",
    ),
    "holders": ("applescript", f"set {'''a's ''' * 15_000}x to 1"),
    "a variable of variables": (
        "applescript",
        "set a to b\nset b to c\nset c to a\n" * 1_500 + "open location a",
    ),
    "one variable, many times": ("applescript", "set x to 1\n" * 5_900),
    "tells in a line": ("applescript", f"{TELL.strip()} to " * 2_300),
}

WORDS = [
    *" \n\t(){},:&\"'|¬«»-=+\\/#".split(" "),
    *"a b the my its it of in to set copy get count delete move save open make new every".split(),
    *"whose where is and not if then else end repeat with tell try on script return item".split(),
    *"message messages account mailbox password subject name content properties file".split(),
    *(" ", "\n", "(* ", " *)", "--", "'s ", '"x/y"', '"rm -rf ~"', "1 ", "x ", "y "),
    *("application ", 'application "Mail" ', "do shell script ", "display dialog "),
    *("with properties {", "set x to ", "set y to x & y\n", "on f(x)\n", "f(x) "),
    *("tell ", TELL, "end tell\n", "using terms from ", "as «class utf8»", "choose file "),
]
EXPRESSIONS = st.recursive(
    st.sampled_from(("x", "y", "f", "this", "o", '"a/b"', "1", 'Application("Mail")')),
    lambda inner: st.builds(
        lambda form, one, two: form.replace("%1", one).replace("%2", two),
        st.sampled_from(
            "(%1+%2) [%1,%2] {a:%1,b:%2} {...%1} %1.a %1.messages %1[%2] f(%1,%2) x=>(%1) (%1||%2)"
            " %1.map(%2) %1.concat(%2) %1.whose({a:%2}) %1() `a${%1}${%2}` (x=%1) (o.a=%2)"
            " (function(x){return%1;}) new(class{m(){return%1}}) [...%1] (o[%1]=%2)".split()
        ),
        inner,
        inner,
    ),
    max_leaves=6,
)
STATEMENTS = st.builds(
    lambda form, one: form.replace("%", one),
    st.sampled_from(
        ("x = %;\n", "var o = %;\n", "for (y of [%]) x = y;\n", "function f(x, y) { return % }\n")
    ),
    EXPRESSIONS,
)
PARTS: dict[Language, st.SearchStrategy[str]] = {
    "applescript": st.sampled_from(WORDS),
    "javascript": STATEMENTS,
}


def judged(
    analyser: ScriptAnalyzer, script: str, language: Language
) -> tuple[ScriptAnalysis, float]:
    """Return what is found of a script, and the seconds of reckoning that it took."""
    begun = time.thread_time()
    found = analyser.analyze_script(script, language)
    script_reach(script, language, found)
    return found, time.thread_time() - begun


@pytest.mark.sweep
@pytest.mark.parametrize("name", LONG)
def test_the_longest_scripts_are_judged_within_a_second(
    analyser: ScriptAnalyzer, name: str
) -> None:
    language, script = LONG[name]
    assert len(script) <= MAX_SCRIPT
    _, seconds = judged(analyser, script, language)
    assert seconds < 1


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["members, one after the other", "commands of commands"])
def test_a_script_that_is_too_much_is_dangerous_and_says_why(
    toolset: ScriptToolset, name: str
) -> None:
    language, script = LONG[name]
    script += '\nApplication("Mail").inbox.name();'
    found = data(toolset, "validate_applescript", script=script, language=language)
    assert found["level"] == "DANGEROUS"
    assert found["reasons"][0]["says"].startswith(REASON)
    assert found["targets"] == ["com.apple.mail"]


def test_a_long_script_that_goes_straight_is_judged_as_it_is(analyser: ScriptAnalyzer) -> None:
    steps = "".join(f"mail.messages[{i}].subject();\n" for i in range(1_900))
    long = f'const mail = Application("Mail");\n{steps}'
    assert analyser.analyze_script(long, "javascript").level == "MODIFY"
    lines = "".join(f"set x{i} to subject of message {i} of inbox\n" for i in range(1_000))
    assert analyser.analyze_script(f"{TELL}{lines}end tell", "applescript").level == "SAFE"


@pytest.mark.slow
@settings(max_examples=40, phases=[Phase.explicit, Phase.generate])
@given(st.data())
def test_any_text_is_judged_within_a_second(analyser: ScriptAnalyzer, data: st.DataObject) -> None:
    language = data.draw(st.sampled_from(sorted(PARTS)))
    parts = st.lists(PARTS[language], min_size=1, max_size=8).map("".join)
    first, again, last = (data.draw(parts) for _ in range(3))
    size = data.draw(st.sampled_from((1_000, MAX_SCRIPT)))
    times = (size - len(first) - len(last)) // max(len(again), 1)
    _, seconds = judged(analyser, first + again * times + last, language)
    assert seconds < 1
