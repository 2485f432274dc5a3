"""Any text is judged within a second, and answers keep their size and their form."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from script_calls import ROWS, call, data, in_turns, plan_of

from iac_applescript.analysis.analyser import ScriptAnalysis, ScriptAnalyzer, script_reach
from iac_applescript.analysis.findings import Language
from iac_applescript.dictionary import PAGE, dictionary_page, text_weight
from iac_applescript.toolset import ScriptToolset
from iac_base.errors import ToolError
from iac_base.script_tokens import MAX_SCRIPT
from iac_gen.discover import from_paths, load_includes, read_sources
from iac_gen.pipeline import BuildInputs, build_folder
from iac_gen.quirks import known_apps, load_quirks
from iac_runtime.execution.process import Completed
from iac_runtime.tool import App, Class, Element, Property
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.tables import Tables

TOKENS = 1_500


def tokens(value: Any) -> float:
    """Return how many tokens an answer takes at most: three ASCII characters each, or one other."""
    return text_weight(json.dumps(value, ensure_ascii=False)) / 3


def questions(tables: Tables) -> Iterator[dict[str, str]]:
    """Yield what can be asked of a dictionary: suites, terms, searches."""
    properties = {prop.term for row in tables.classes.values() for prop in row.properties}
    yield {}
    for term in ("own", "standard", "classes", *tables.classes, *tables.enums, *tables.records):
        yield {"term": term}
    for term in sorted(properties)[::4]:
        yield {"term": term}
    for letter in "aeinst":
        yield {"search": letter}


@pytest.fixture(scope="module")
def real(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    """The tools of every real dictionary."""
    found = from_paths([corpus / "sdef"], known_apps())
    quirks, faults = load_quirks()
    _, failed = read_sources(found)
    files, _ = build_folder(BuildInputs(found.sources, load_includes(), quirks, [*failed, *faults]))
    folder = tmp_path_factory.mktemp("real")
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return Catalogue([folder])


def too_large(catalogue: Catalogue, state: Path) -> list[tuple[str, dict[str, str], float]]:
    """Return the questions whose answer breaks the bound, over every app and page."""
    toolset = ScriptToolset(catalogue, state, in_turns(lambda *_: Completed(b"", b"", 1)))
    found = []
    for app in catalogue.apps.values():
        tables = catalogue.load_tables(app)
        for asked in questions(tables):
            page, pages = 1, 1
            while page <= pages:
                given = {"app": app.key, "page": page, **asked}
                answer = plan_of(toolset, "get_app_dictionary", **given).perform(None).value
                assert answer["success"], (app.key, asked, answer)
                pages = answer["data"]["pages"]
                if tokens(answer) >= TOKENS:
                    found.append((app.key, asked, tokens(answer)))
                page += 1
    return found


def test_every_answer_about_our_dictionaries_is_short(catalogue: Catalogue, tmp_path: Path) -> None:
    assert too_large(catalogue, tmp_path) == []


@pytest.mark.slow
def test_every_answer_about_real_dictionaries_is_short(real: Catalogue, tmp_path: Path) -> None:
    assert len(real.apps) >= 40
    assert too_large(real, tmp_path) == []


TERM = st.text("abc ß日語\\\"'\n", min_size=1, max_size=40)


@st.composite
def dictionaries(draw: st.DrawFn) -> Tables:
    terms = draw(st.lists(TERM, min_size=1, max_size=60, unique=True))
    properties = tuple(Property(term, "xxxx", term, term, "rw", "SAFE") for term in terms)
    elements = tuple(Element(term, "rw") for term in terms)
    classes = {
        term: Class("xxxx", term, term, None, "SAFE", "SAFE", properties, elements)
        for term in terms[:5]
    }
    enums = {"kind": tuple((term, "xxxx") for term in terms)}
    return Tables("odd", App("com.example.odd", "Odd"), classes, enums, {}, {})


@given(dictionaries())
def test_no_dictionary_breaks_the_bound(tables: Tables) -> None:
    for asked in ({}, {"term": "classes"}, {"term": "kind"}, {"search": "a"}):
        shown = dictionary_page(tables, **asked)
        for page in range(1, shown.pages + 1):
            text = dictionary_page(tables, **asked, page=page).text
            assert 0 < text_weight(text) <= PAGE


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": (st.text(min_size=1, max_size=60) | st.sampled_from(["finder", "Mail", "own",
       "messag", "x" * 200, "return 1", 'tell app "Mail"'])),
    "integer": st.integers(-30000, 30000), "number": st.floats(1, 300), "boolean": st.booleans(),
    "object": st.dictionaries(st.text(max_size=5), st.integers(), max_size=3),
}  # fmt: skip


def arguments(tool: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return arguments that a tool's schema allows."""
    schema = ROWS[tool].input
    fields = {name: value_of(row) for name, row in schema["properties"].items()}
    required = {name: fields.pop(name) for name in schema.get("required", ())}
    return st.fixed_dictionaries(required, optional=fields)


def value_of(row: dict[str, Any]) -> st.SearchStrategy[Any]:
    if "enum" in row:
        return st.sampled_from(row["enum"])
    if "anyOf" in row:
        return st.one_of([value_of(one) for one in row["anyOf"]])
    if row["type"] == "array":
        return st.lists(value_of(row["items"]), max_size=3)
    found = VALUES[row["type"]]
    if row["type"] == "string":
        return found.map(lambda text: text[: row.get("maxLength", 60)])
    if row["type"] == "integer" and "minimum" in row:
        return st.integers(row["minimum"], row["maximum"])
    return found


ENDS = st.builds(
    Completed,
    st.binary(max_size=40) | st.sampled_from([b'"x"\n', b"{1, 2}\n", b'{"a": 1}\n', b""]),
    st.binary(max_size=40)
    | st.sampled_from(
        [
            b"execution error: Finder got an error: x (-1728)\n",
            b"0:3: syntax error: Expected end. (-2741)\n",
            "Ausführungsfehler: „x“ (-1743)".encode(),
        ]
    ),
    st.sampled_from([0, 1, 2, -9]),
    timed_out=st.booleans(),
    cancelled=st.booleans(),
    too_large=st.booleans(),
)


@given(st.data())
def test_every_answer_has_the_form_that_its_schema_says(
    catalogue: Catalogue, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    state = tmp_path_factory.getbasetemp() / "form"
    state.mkdir(mode=0o700, exist_ok=True)
    toolset = ScriptToolset(catalogue, state, in_turns(lambda *_: Completed(b"", b"", 1)))
    tool = data.draw(st.sampled_from(sorted(ROWS)))
    end = data.draw(ENDS)
    try:
        found = call(toolset, tool, lambda *_: end, **data.draw(arguments(tool)))
    except ToolError as error:
        # No one script, or one that cannot be had: that is said before anything is planned.
        assert tool == "execute_applescript"
        assert error.type in ("INVALID_PARAMETER", "NOT_FOUND", "REFUSED")
        return
    finally:
        toolset.close()
    assert set(found) - {"next"} == {"success", "data", "error"}
    if found["success"]:
        assert found["error"] == {}
    else:
        assert found["data"] == {}
        assert found["error"]["message"]
        assert found["error"]["type"]


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
