"""The pipeline as a whole: no dictionary breaks a build, and a poisoned part is lost alone."""

import ast
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from builds import Built
from click.testing import CliRunner
from dictionaries import DICTIONARIES
from golden import standard
from hypothesis import given
from making import COCOA, DIARY, build, inputs, module, read, sdef, source
from metadata import DIARY as INTENTS
from metadata import loaded

from iac_gen import pipeline, xml
from iac_gen.build_tools import build_module
from iac_gen.cli import cli
from iac_gen.intents import read as intents_read
from iac_gen.model import Include, SdefCommand, Suite
from iac_gen.pipeline import BuildInputs, build_folder
from iac_gen.report import BuildReport
from iac_gen.resolve import STANDARD, ResolvedDictionary, select_included
from iac_gen.xml import LoadedDictionary, parse_dictionary


@given(DICTIONARIES)
def test_any_dictionary_becomes_a_module_or_costs_that_app(dictionary: Any) -> None:
    files, report = build_folder(inputs(source(dictionary), source(name="Ledger")))
    assert "ledger.py" in files
    if "diary.py" in files:
        ast.parse(files["diary.py"])
    else:
        assert {one.code for one in report.failed} == {"proof"}


def stumble(monkeypatch: pytest.MonkeyPatch, app: str, term: str = "") -> None:
    """Make the stage that lowers fail for one app, or for one command of it."""

    def fails(resolved: ResolvedDictionary, *rest: Any, **more: Any) -> Any:
        terms = {one.name for one in resolved.commands}
        if resolved.source.name == app and (not term or term in terms):
            raise KeyError("nobody thought of this")
        return build_module(resolved, *rest, **more)

    monkeypatch.setattr("iac_gen.pipeline.build_module", fails)


def test_an_error_that_nobody_foresaw_costs_its_item(monkeypatch: pytest.MonkeyPatch) -> None:
    stumble(monkeypatch, "Diary", "reread")
    files, report = build_folder(inputs(source(), source(name="Ledger")))
    tools = json.loads(files["catalogue.json"])["tools"]
    assert "ledger_reread" in tools
    assert "diary_reread" not in tools
    assert "diary_make" in tools
    said = "command reread cannot be built: KeyError: 'nobody thought of this'; it is left out"
    assert [str(one) for one in report.lost] == [f"app.sdef:16: error: {said} [unforeseen]"]
    assert BuildReport.from_data(report.to_data()).lost == report.lost


def test_an_error_that_no_item_makes_costs_its_app(monkeypatch: pytest.MonkeyPatch) -> None:
    stumble(monkeypatch, "Diary")
    files, report = build_folder(inputs(source(), source(name="Ledger")))
    assert "ledger.py" in files
    assert "diary.py" not in files
    said = "Diary: error: cannot be built: KeyError: 'nobody thought of this' [unforeseen]"
    assert [str(one) for one in report.lost] == [said]


def test_the_order_of_the_input_changes_nothing() -> None:
    sources = [source(name=name) for name in ("Diary", "Ledger", "Almanac")]
    (one, *others) = [build(*order) for order in permutations(sources)]
    assert all(other == one for other in others)


def test_the_report_as_data_says_what_was_built() -> None:
    progress: list[str] = []
    _, report = build_folder(inputs(source()), progress.append)
    (app,) = report.to_data()["apps"]
    assert progress == ["Diary"]
    assert app["key"] == "diary"
    assert app["declared"] == app["built"]
    assert app["declared"] == {"commands": 3, "classes": 2, "properties": 3, "elements": 1}
    assert sum(app["levels"].values()) == app["tools"] == 6
    assert app["skipped"] == 0


def test_no_input_gives_no_files() -> None:
    assert build_folder(inputs()) == ({}, BuildReport(()))


def included(xpointer: str, items: str = "", href: str = f"file://{STANDARD}") -> list[str]:
    text = (
        '<dictionary xmlns:xi="http://www.w3.org/2003/XInclude"><suite name="S" code="diar">'
        f'\n<xi:include href="{href}" xpointer="{xpointer}"/>{items}</suite></dictionary>'
    )
    return module(source(read(text.encode())))[1]


@pytest.mark.parametrize("xpointer", [
    "xpointer(/dictionary/suite[)", "element(/1/2)", "xpointer(1 + 1)", f"xpointer({'/' * 2100})",
    "xpointer(document(&quot;/etc/hosts&quot;))",
])  # fmt: skip
def test_an_include_that_cannot_be_followed_is_a_warning(xpointer: str) -> None:
    (told,) = included(xpointer)
    assert told.startswith("app.sdef:2: warning: ")
    assert told.endswith("is not of a form that IAC knows; its terms are missing [include]")


def test_an_include_of_another_file_is_a_warning() -> None:
    (told,) = included("", href="file:///etc/hosts")
    assert told == (
        "app.sdef:2: warning: /etc/hosts was not found; its terms are missing [include]"
    )


def test_an_included_file_s_own_includes_are_not_followed() -> None:
    other = read(
        b'<dictionary xmlns:xi="http://www.w3.org/2001/XInclude"><suite name="S" code="diar">'
        b'<xi:include href="file:///other.sdef"/></suite></dictionary>'
    )
    one = read(
        b'<dictionary xmlns:xi="http://www.w3.org/2001/XInclude">'
        b'<xi:include href="file:///other.sdef"/></dictionary>'
    )
    given_ = replace(inputs(source(one)), includes={"/other.sdef": other})
    _, report = build_folder(given_)
    (app,) = report.apps
    assert any("is included by an included file" in str(found) for found in app.diagnostics)


LEFT_OUT = [
    "@name = 'move'", "(@name = 'move')", "((@name = 'delete') or (@name='move'))",
    "((@name = 'delete') or (@name = 'duplicate') or (@name = 'move') or (@name = 'save'))",
]  # fmt: skip


@pytest.mark.parametrize("condition", LEFT_OUT)
def test_an_include_may_leave_out_commands_by_name(condition: str) -> None:
    (suite,) = standard()[STANDARD].suites
    assert isinstance(suite, Suite)
    path = f"xpointer(/dictionary/suite/node()[not(self::command and {condition})])"
    found = select_included(standard()[STANDARD], Include("", path))
    gone = [item for item in suite.items if item not in found]
    assert {item.name for item in gone if isinstance(item, SdefCommand)} == {
        name for name in ("delete", "duplicate", "move", "save") if f"'{name}'" in condition
    }
    assert all(isinstance(item, SdefCommand) for item in gone)


def test_an_include_of_all_suites_takes_them_whole() -> None:
    whole = standard()[STANDARD]
    for xpointer in ("", "xpointer(/dictionary/suite)"):
        assert select_included(whole, Include("", xpointer)) == list(whole.suites)


@pytest.mark.parametrize(("items", "expected"), [
    ('<class name="a" code="aaaa" inherits="b"/><class name="b" code="bbbb" inherits="a"/>',
     "app.sdef:3: warning: class a inherits from itself, which is left out [cycle]"),
    ('<class name="a" code="aaaa" inherits="lost"/>',
     "class a inherits from lost, which is not declared [unknown-class]"),
    ('<class-extension extends="lost"/>',
     "class lost is extended but not declared; made from the extension"),
    ('<class-extension extends="document"><element type="window"/></class-extension>',
     "class window is used but not declared; an empty one was made [synthesised]"),
    ('<class-extension extends="document"/>',
     "class document is extended but not declared; made from the extension"),
    ('<record-type name="a" code="aaaa"/><record-type name="a" code="bbbb"/>',
     "record type a is declared again with the code 'bbbb'; 'aaaa' is kept, the rest merged"
     " [repeated]"),
    ('<class name="a" code="aaaa" id="i"/><class name="a" code="aaaa"/>',
     "class a is declared again; merged [class-again]"),
])  # fmt: skip
def test_what_had_to_be_mended_is_told(items: str, expected: str) -> None:
    assert any(expected in told for told in module(source(read(sdef(items))))[1])


def test_a_class_that_may_be_passed_as_a_value_of_its_own_name_ends() -> None:
    items = (
        '<class name="text" code="ctxt"><type type="text"/></class>'
        '<class name="a" code="aaaa"><type type="b"/></class>'
        '<class name="b" code="bbbb"><type type="a"/></class>'
        '<command name="go" code="diargogo"><direct-parameter type="a"/></command>'
    )
    made, _ = module(source(read(sdef(items))))
    assert made.tools[-1].parameters[0].row.type == "a | b"


def test_a_result_that_is_only_nothing_takes_any_value() -> None:
    items = (
        '<command name="go" code="diargogo"><direct-parameter type="missing value"/>'
        '<result type="missing value"/></command>'
    )
    (tool,) = module(source(read(sdef(items))))[0].tools
    assert (tool.returns, tool.output) == ("Any", None)


def test_names_too_long_for_an_identifier_still_get_numbers() -> None:
    long = "word " * 30
    items = "".join(
        f'<command name="{long}{n}" code="diargog{n}">'
        f'<parameter name="{long}" code="par{n}" type="text"/>'
        f'<parameter name="{long}x" code="pax{n}" type="text"/></command>'
        f'<enumeration name="{long}{n}" code="enu{n}"><enumerator name="a" code="aaaa"/>'
        "</enumeration>"
        for n in range(3)
    )
    files = build(source(read(sdef(items))))
    assert files["diary.py"].count("@tool") == 3


def test_every_level_of_a_real_tool_has_its_reason(corpus_build: Built) -> None:
    assert len(corpus_build.report.apps) == 60
    for line in corpus_build.files["listing.jsonl"].splitlines():
        assert any(f" {level}" in line for level in ("SAFE", "MODIFY", "DANGEROUS"))


# `iac-gen show --why`: the evidence of a level, in the order in which it counted.


MADE = """
<class name="page" code="page" inherits="entry"/>
<class name="rule" code="dirl"/>
<command name="get weather" code="diargogo">
<access-group identifier="diary.run"/>
<parameter name="password" code="pass" type="text"/><result type="text"/></command>
"""


@pytest.fixture
def diary(tmp_path: Path) -> Path:
    path = tmp_path / "Diary.sdef"
    path.write_bytes(sdef(DIARY + MADE))
    return path


def why(*arguments: object, code: int = 0) -> list[str]:
    """Return what is printed; of a refusal the one line."""
    result = CliRunner().invoke(cli, ["show", "--why", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return (result.stderr if code else result.stdout).splitlines()


def test_all_evidence_of_a_tool_is_told_in_its_order(diary: Path) -> None:
    lines = [
        "diary_get_weather",
        "1. SAFE, reads (words)",
        "2. DANGEROUS, takes a password (parameter password [pass])",
        "3. DANGEROUS, the app requests the right to run things (access group diary.run)",
        "result: DANGEROUS, takes a password",
    ]
    assert why("diary", "diary_get_weather", "--dictionary", diary) == lines
    assert why("Diary", "get_weather", "--dictionary", diary) == lines


def test_a_tool_that_arguments_take_higher_says_with_what(diary: Path) -> None:
    told = why("diary", "set", "--dictionary", diary)
    assert told[-2:] == [
        "result: MODIFY to DANGEROUS, each property has its level",
        "DANGEROUS with entry.body",
    ]


def test_a_class_has_making_and_deleting(diary: Path) -> None:
    assert why("diary", "rule", "--dictionary", diary) == [
        "make diary.rule", "1. MODIFY, makes something new (event code corecrel)",
        "2. DANGEROUS, a rule acts later by itself (class)",
        "result: DANGEROUS, a rule acts later by itself", "delete diary.rule",
        "1. DANGEROUS, deletes a rule (event code coredelo)", "result: DANGEROUS, deletes a rule",
    ]  # fmt: skip


def test_an_inherited_property_is_that_of_the_class_that_declares_it(diary: Path) -> None:
    own = why("diary", "entry.body", "--dictionary", diary)
    assert own[0] == "set diary.entry.body"
    assert own[-1] == "result: DANGEROUS, replaces the whole content"
    assert why("diary", "page.body", "--dictionary", diary) == own


def test_a_quirk_is_told_with_its_place_and_its_reason() -> None:
    told = why("mail", "mail_send", "--bundled")
    place = next(line for line in told if "quirks/mail.toml:" in line)
    assert place.endswith("a quirk, which decides alone)")
    assert "leaves the machine" in place
    row = int(place.partition("mail.toml:")[2].partition(",")[0])
    text = (Path(__file__).parents[2] / "generator/iac_gen/quirks/mail.toml").read_text()
    assert text.splitlines()[row - 1] == "[[command]]"


@pytest.mark.parametrize(("app", "name", "expected"), [
    ("diary", "entry.bod", "Nearest: entry.body."),
    ("diary", "reread_it", "Nearest: diary_reread."), ("diry", "entry.body", "Nearest: diary."),
])  # fmt: skip
def test_a_wrong_name_gets_one_line_with_the_nearest(
    diary: Path, app: str, name: str, expected: str
) -> None:
    (line,) = why(app, name, "--dictionary", diary, code=2)
    assert line.startswith("iac-gen: ")
    assert expected.rstrip(".") in line


def test_a_dictionary_that_cannot_be_read_is_one_line(diary: Path) -> None:
    diary.write_bytes(sdef()[:100])
    (line,) = why("diary", "entry", "--dictionary", diary, code=1)
    assert line.startswith("iac-gen: skipped ")


def test_why_takes_one_app_and_one_name(diary: Path) -> None:
    (line,) = why("diary", "entry", "notes", "--dictionary", diary, code=2)
    assert "--why needs one app and one name" in line


ITEMS = """
<class name="application" code="capp"><element type="entry"/><element type="{element}"/></class>
<class name="entry" code="entr"><property name="body" code="body" type="text"/>
<property name="{property}" code="prop" type="text"/></class>
<class name="{class}" code="clas"><property name="ink" code="inkk" type="text"/></class>
<class name="leaf" code="leaf"/>
<enumeration name="{enumeration}" code="enum"><enumerator name="red" code="redd"/></enumeration>
<enumeration name="mood" code="mood"><enumerator name="glad" code="glad"/>
<enumerator name="{enumerator}" code="valu"/></enumeration>
<record-type name="{record type}" code="reco"><property name="a" code="aaaa" type="text"/>
</record-type>
<value-type name="{value type}" code="valt"/>
<command name="reread" code="diarrere"><direct-parameter type="entry"/>
<parameter name="{parameter}" code="para" type="boolean" optional="yes"/></command>
<command name="{command}" code="diarcomm"/>
<command name="make" code="corecrel"><parameter name="new" code="kocl" type="type"/></command>
"""
KINDS = (
    "class", "command", "element", "enumeration", "enumerator", "parameter", "property",
    "record type", "value type",
)  # fmt: skip
STAGES = (
    "resolve_dictionary", "apply_quirks", "build_module", "render_module", "render_objects",
    "verify_module", "prove_imports", "app_files",
)  # fmt: skip
POISON = "poison ivy"


def dictionary(kind: str = "", items: str = ITEMS) -> bytes:
    """Return a dictionary in which the term of one kind is the poisoned one."""
    names = {one: POISON if one == kind else f"good {one}" for one in KINDS}
    names["element"] = POISON if kind == "element" else "leaf"
    own = f'<class name="{POISON}" code="pois"/>' if kind == "element" else ""
    return sdef(items.format(**names) + own)


def told(error: type[Exception] = KeyError) -> Callable[..., Any]:
    """Return what stands for a function of a stage that cannot bear the poisoned term."""

    def fails(real: Any) -> Any:
        def stage(*given: Any, **more: Any) -> Any:
            if POISON in repr(given) or "poison_ivy" in repr(given):
                raise error("cannot bear it")
            return real(*given, **more)

        return stage

    return fails


def lost_and_kept(content: bytes) -> tuple[list[str], set[str]]:
    one, notes = parse_dictionary(content, "app.sdef")
    whole = LoadedDictionary(source(one), tuple(notes))
    files, report = build_folder(BuildInputs([whole], standard(), []))
    assert report.apps, report.failed
    return [row.message for row in report.lost], {*json.loads(files["catalogue.json"])["tools"]}


@pytest.mark.property
@pytest.mark.sweep
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("kind", [one for one in KINDS if one != "element"])
def test_a_part_that_a_stage_cannot_bear_is_lost_alone(
    kind: str, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = lost_and_kept(dictionary())[1]
    monkeypatch.setattr(pipeline, stage, told()(getattr(pipeline, stage)))
    lost, tools = lost_and_kept(dictionary(kind))
    if not lost:
        # A value type, or what a quirk does not look at, never gets to this stage.
        assert kind in ("value type", "enumeration", "enumerator", "record type", "property")
        return
    (line,) = lost
    assert line.startswith(f"{kind} {POISON}")
    assert line.endswith("cannot be built: KeyError: 'cannot bear it'; it is left out")
    owner = {"parameter": " of reread", "property": " of entry", "enumerator": " of mood"}
    assert line.startswith(f"{kind} {POISON}{owner.get(kind, '')} cannot")
    assert before - tools == ({"diary_good_command"} if kind == "command" else set())


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_that_cannot_be_read_is_lost_alone(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = xml._build_part

    def fails(what: Any, node: Any, **given: Any) -> Any:
        if POISON in (given.get("name"), given.get("type")) and node.get("code") != "pois":
            raise KeyError("cannot bear it")
        return real(what, node, **given)

    before = lost_and_kept(dictionary())[1]
    monkeypatch.setattr(xml, "_build_part", fails)
    lost, tools = lost_and_kept(dictionary(kind))
    (line,) = lost
    assert line.endswith("cannot be read: KeyError: 'cannot bear it'; it is left out")
    assert before - tools == ({"diary_good_command"} if kind == "command" else set())


@pytest.mark.parametrize("poisoned", ["GetEntryIntent", "EntryEntity", "MoodAppEnum"])
def test_an_action_that_cannot_be_read_is_lost_alone(
    poisoned: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_build_command", "_build_class", "_build_enumeration"):
        real = getattr(intents_read._IntentsReader, name)

        def fails(self: Any, key: str, row: Any, real: Any = real) -> Any:
            if key == poisoned:
                raise KeyError("cannot bear it")
            return real(self, key, row)

        monkeypatch.setattr(intents_read._IntentsReader, name, fails)
    raw = json.dumps(INTENTS).encode()
    files, report = build_folder(BuildInputs([loaded(raw)], standard(), []))
    (line,) = report.lost
    assert f"{poisoned} cannot be read: KeyError: 'cannot bear it'; it is left out" in str(line)
    tools = json.loads(files["catalogue.json"])["tools"]
    assert any("delete" in name for name in tools)


@pytest.mark.parametrize("what", ["suite", "include"])
def test_a_suite_and_an_include_are_lost_alone(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = pipeline.build_module

    def fails(resolved: Any, *rest: Any, **more: Any) -> Any:
        suites = resolved.source.dictionary.suites
        if POISON in {getattr(one, "name", POISON) for one in suites}:
            raise KeyError("cannot bear it")
        return real(resolved, *rest, **more)

    monkeypatch.setattr(pipeline, "build_module", fails)
    odd = f'<suite name="{POISON}" code="pois"/>' if what == "suite" else COCOA
    raw = dictionary().replace(b"</dictionary>", f"{odd}</dictionary>".encode())
    lost, tools = lost_and_kept(raw)
    assert len(lost) == 1
    assert lost[0].startswith(what)
    assert "diary_good_command" in tools


def test_what_only_fails_together_costs_the_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    real = pipeline.build_module

    def fails(resolved: Any, *rest: Any, **more: Any) -> Any:
        if {"reread", POISON} <= {one.name for one in resolved.commands}:
            raise KeyError("cannot bear both")
        return real(resolved, *rest, **more)

    monkeypatch.setattr(pipeline, "build_module", fails)
    lost, tools = lost_and_kept(dictionary("command"))
    assert [line.partition(" cannot")[0] for line in lost] == [f"command {POISON}"]
    assert "diary_reread" in tools
