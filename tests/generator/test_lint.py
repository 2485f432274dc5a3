"""Lint: each rule on a small dictionary that has just that fault, and on real ones."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner, Result
from dictionaries import DICTIONARIES
from golden import standard
from hypothesis import given
from hypothesis import strategies as st
from making import sdef, source

from iac_gen.cli_lint import lint_command
from iac_gen.diagnostics import Diagnostic
from iac_gen.discover import from_bundled_snapshots, from_paths, includes
from iac_gen.lint import RULES, Finding, lint
from iac_gen.lint_rules_codes import is_code
from iac_gen.lint_rules_names import is_sure
from iac_gen.load import LoadError, parse
from iac_gen.model import Dictionary
from iac_gen.quirks import known_apps

# Sound items on lines 3 to 6; those of a case follow from line 7.
SOUND = """<class name="application" code="capp"><element type="entry"/></class>
<class name="entry" code="entr" plural="entries"><property name="body" code="body" type="text"/>
<responds-to command="reread"/></class>
<command name="reread" code="diarrere"><direct-parameter type="entry"/></command>
"""
INCLUDE = (
    '<xi:include xmlns:xi="http://www.w3.org/2003/XInclude" href="file:///{}"'
    ' xpointer="xpointer(/dictionary/suite/node())"/>'
)


class Case(NamedTuple):
    """Items that have one fault, and the finding without the name of the file."""

    rule: str
    items: str
    found: str


CASES = [
    Case(
        "shared-code",
        '<command name="read again" code="diarrere"/>',
        "7: note: command read again: has the code 'diarrere' of command reread."
        " Both tools send the same event.",
    ),
    Case(
        "shared-code",
        '<class-extension extends="entry"><element type="leaf"/></class-extension>\n'
        '<class name="leaf" code="entr"/>',
        "8: note: class leaf: has the code 'entr' of class entry."
        " An object of one may come back under the name of the other.",
    ),
    Case(
        "several-codes",
        '<class-extension extends="application">\n'
        '<property name="body" code="bodi" type="text"/></class-extension>',
        "8: note: property body of application: has the code 'bodi', property body of entry has"
        " 'body'. A script that names the property may send the other code.",
    ),
    Case(
        "duplicate-code",
        '<class-extension extends="entry"><property name="mood" code="mood" type="mood"/>'
        "</class-extension>\n"
        '<enumeration name="mood" code="mood"><enumerator name="glad" code="glad"/>\n'
        '<enumerator name="happy" code="glad"/></enumeration>',
        "9: warning: enumerator happy of mood: has the code 'glad' of glad."
        " It can never be told from the other in a result.",
    ),
    Case(
        "duplicate-code",
        '<class-extension extends="entry">\n<property name="text" code="body" type="text"/>'
        "</class-extension>",
        "8: warning: property text of entry: has the code 'body' of body."
        " Both names read and set the same value.",
    ),
    Case(
        "duplicate-parameter",
        '<command name="stitch" code="diarbind"><parameter name="cover" code="covr" type="text"/>\n'
        '<parameter name="cover" code="kovr" type="text"/></command>',
        "8: warning: parameter cover of stitch: has the code 'kovr' and also 'covr'."
        " A script that gives the name fills only one.",
    ),
    Case(
        "duplicate-parameter",
        '<command name="stitch" code="diarbind"><parameter name="cover" code="covr" type="text"/>\n'
        '<parameter name="covers" code="covr" type="text"/></command>',
        "8: warning: parameter covers of stitch: has the code 'covr' of parameter cover."
        " Both arrive in the app as one; give only one.",
    ),
    Case(
        "synonym",
        '<command name="stitch" code="diarbind"><synonym code="bind"/></command>',
        "7: warning: command stitch: has a synonym with the code 'bind', not 8 characters."
        " What the app sends under it is not recognised.",
    ),
    Case(
        "synonym",
        '<class-extension extends="application">\n<property name="mood" code="mood" type="text">'
        "<synonym/></property></class-extension>",
        "8: warning: property mood of application: has a synonym without name and code."
        " It says nothing.",
    ),
    Case(
        "member-clash",
        '<class-extension extends="application">\n'
        '<property name="entry" code="cent" type="entry"/></class-extension>',
        "8: warning: property entry of application: is the term of an element too."
        " Alone the name means the property; the elements answer to their plural.",
    ),
    Case(
        "member-clash",
        '<class-extension extends="application">\n'
        '<property name="Entries" code="cent" type="text"/></class-extension>',
        "8: warning: property Entries of application: has the JavaScript name of the elements"
        " entry. One of the two cannot be reached in a reference.",
    ),
    Case(
        "type-clash",
        '<value-type name="entry" code="entv"/>',
        "7: warning: value type entry: has the name of class entry. As a type, it means class"
        " entry.",
    ),
    Case(
        "type-clash",
        '<class-extension extends="application"><element type="file"/></class-extension>\n'
        '<class name="file" code="file"/><value-type name="file" code="filv" hidden="yes"/>',
        "8: warning: value type file: has the name of class file. As a type, it means the simple"
        " type file.",
    ),
    Case(
        "command-clash",
        '<command name="body" code="diarbody"/>',
        "7: warning: command body: has the JavaScript name of property body of entry."
        " Which of the two a script reaches is not known without a Mac.",
    ),
    Case(
        "identifier-clash",
        '<command name="Reread" code="diarRere"/>',
        "7: warning: command Reread: is reread in Python, as reread is."
        " The name of the later tool gets a number.",
    ),
    Case(
        "identifier-clash",
        '<command name="stitch" code="diarbind"><parameter name="New" code="new1" type="text"/>\n'
        '<parameter name="new" code="new2" type="text"/></command>',
        "8: warning: parameter new of stitch: is new in Python, as New is."
        " The name of the later one gets a number.",
    ),
    Case(
        "identifier-clash",
        '<class-extension extends="entry">\n<property name="Body" code="bod2" type="text"/>'
        "</class-extension>",
        "8: warning: property Body of entry: is body in JavaScript, as body is."
        " Only one of them can be reached in a reference.",
    ),
    Case(
        "python-keyword",
        '<command name="import" code="diarimpt"/>',
        "7: note: command import: is a Python keyword. In Python it is import_.",
    ),
    Case(
        "python-keyword",
        '<command name="stitch" code="diarbind"><parameter name="in" code="kfil" type="file"/>'
        "</command>",
        "7: note: parameter in of stitch: is a Python keyword. In Python it is in_.",
    ),
    Case(
        "javascript-member",
        '<class-extension extends="entry">\n<property name="length" code="leng" type="integer"/>'
        "</class-extension>",
        "8: warning: property length of entry: is length in JavaScript, which every object has."
        " In a reference JavaScript's own member is likely to win.",
    ),
    Case(
        "javascript-member",
        '<class-extension extends="entry"><element type="part"/></class-extension>\n'
        '<class name="part" code="part" plural="where"/>',
        "8: warning: class part: has the plural where, which every object has in JavaScript."
        " In a reference JavaScript's own member is likely to win.",
    ),
    Case(
        "javascript-member",
        '<command name="apply" code="diarappl"/>',
        "7: warning: command apply: is apply in JavaScript, which every function has."
        " In a reference JavaScript's own member is likely to win.",
    ),
    Case(
        "missing-plural",
        '<class-extension extends="entry"><element type="diary"/></class-extension>\n'
        '<class name="diary" code="diry"/>',
        "8: note: class diary: is contained by another class and declares no plural."
        " In a reference its objects are called diarys.",
    ),
    Case(
        "unverified-name",
        '<command name="read/write" code="diarrewr"/>',
        "7: note: command read/write: may not be read/write in JavaScript."
        " If it is not, a call that uses the name fails on a Mac.",
    ),
    Case(
        "hidden-characters",
        '<command name="stitch" code="diarbind" description="Binds \u202ereversed\u200b."/>',
        "7: warning: command stitch: has characters in its description that are not seen"
        " (U+200B, U+202E). They are removed; read what the text says without them.",
    ),
    Case(
        "undefined-type",
        '<command name="stitch" code="diarbind">'
        '<parameter name="cover" code="covr" type="leather"/>'
        '<parameter name="back" code="back" type="leather"/></command>',
        "7: warning: parameter cover of stitch: has the type leather, which is declared nowhere"
        " (2 places in all). Any value goes; no tool can say what is expected.",
    ),
    Case(
        "missing-type",
        '<command name="stitch" code="diarbind"><direct-parameter/></command>',
        "7: warning: direct parameter of stitch: declares no type."
        " Any value goes; no tool can say what is expected.",
    ),
    Case(
        "undefined-superclass",
        '<class-extension extends="entry"><element type="leaf"/></class-extension>\n'
        '<class name="leaf" code="leaf" inherits="plant"/>',
        "8: warning: class leaf: inherits from plant, which is declared nowhere."
        " What it would inherit is missing from its properties and elements.",
    ),
    Case(
        "undefined-element",
        '<class-extension extends="entry">\n<element type="leaf"/></class-extension>',
        "8: warning: element leaf of entry: is of a class that is declared nowhere."
        " It cannot be listed or counted.",
    ),
    Case(
        "undefined-element",
        '<class-extension extends="entry">\n<element type="document"/></class-extension>',
        "8: warning: element document of entry: is of a class that is declared nowhere."
        " A class without properties stands in for it.",
    ),
    Case(
        "undefined-extension",
        '<class-extension extends="leaf"/>',
        "7: warning: class leaf: is extended but declared nowhere."
        " Its properties and elements are left out.",
    ),
    Case(
        "unknown-command",
        '<class-extension extends="entry"><responds-to name="burn"/></class-extension>',
        "7: warning: class entry: responds to burn, which no command declares."
        " The name alone makes no tool.",
    ),
    Case(
        "required-after-optional",
        '<command name="stitch" code="diarbind">\n'
        '<parameter name="cover" code="covr" type="text" optional="yes"/>\n'
        '<parameter name="back" code="back" type="text"/></command>',
        "9: note: parameter back of stitch: is required and stands behind an optional one."
        " It is given by name; its place says nothing.",
    ),
    Case(
        "empty-enumeration",
        '<command name="stitch" code="diarbind"><parameter name="cover" code="covr" type="cover"/>'
        '</command>\n<enumeration name="cover" code="covr"/>',
        "8: warning: enumeration cover: has no enumerators. Any value goes where it is asked.",
    ),
    Case(
        "unreachable-class",
        '<class name="leaf" code="leaf"/>',
        "7: note: class leaf: is reached from neither the application nor a command."
        " No reference of the tools leads to an object of it.",
    ),
    Case(
        "unused-enumeration",
        '<enumeration name="mood" code="mood"><enumerator name="glad" code="glad"/></enumeration>',
        "7: note: enumeration mood: is the type of nothing. No tool offers its values.",
    ),
    Case(
        "unused-record-type",
        '<record-type name="margins" code="marg"><property name="left" code="left" type="real"/>'
        "</record-type>",
        "7: note: record type margins: is the type of nothing. No tool takes or returns it.",
    ),
    Case(
        "unused-value-type",
        '<value-type name="paper" code="papr"/>',
        "7: note: value type paper: is the type of nothing. No tool takes or returns it.",
    ),
    Case(
        "invalid-code",
        '<command name="stitch" code="bind"/>',
        "7: error: suite Diary: command stitch has the code 'bind', not 8 characters."
        " No event can carry it, so the item is left out.",
    ),
    Case(
        "nameless",
        '<command code="diarbind"/>',
        "7: error: suite Diary: a command without a name is left out."
        " Nobody can ask for it, so it is left out.",
    ),
    Case(
        "stray-item",
        '<property name="body" code="body" type="text"/>',
        "7: error: suite Diary: <property> is no item of a suite and is left out."
        " Nothing is made of it.",
    ),
    Case(
        "self-inheritance",
        '<class name="application" code="capp" inherits="application"/>',
        "7: note: class application: inherits from itself; taken as an extension."
        " Its members are added to the class; other readers may take it for a cycle.",
    ),
    Case(
        "missing-include",
        INCLUDE.format("Library/Leaves.sdef"),
        "7: warning: suite Diary: /Library/Leaves.sdef is not at hand; its terms are missing."
        " Commands, classes and types of that file are not among the tools.",
    ),
    Case(
        "overload",
        '<command name="reread" code="diarrere"><direct-parameter type="text"/></command>',
        "7: note: command reread: is declared again; merged."
        " One tool takes the parameters of both; the app decides which go together.",
    ),
    Case(
        "repeated",
        '<class name="entry" code="entr"/>',
        "7: note: class entry: is declared again; merged. There is one row for all of them.",
    ),
]


def found(items: str, sound: str = SOUND) -> list[Finding]:
    dictionary, told = parse(sdef(sound + items), "app.sdef")
    return lint(source(dictionary), standard(), told)


def by_rule(items: str, rule: str, sound: str = SOUND) -> list[str]:
    return [str(one) for one in found(items, sound) if one.rule == rule]


def test_a_sound_dictionary_gives_no_findings() -> None:
    assert found("") == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_a_fault_is_told_once_with_its_place_and_consequence(case: Case) -> None:
    [one] = found(case.items)
    assert str(one) == f"app.sdef:{case.found} [{case.rule}]"


def test_a_command_with_two_codes_is_two_tools() -> None:
    assert by_rule('<command name="reread" code="diarRERE"/>', "overload-code") == [
        "app.sdef:7: warning: command reread: is declared again with the code 'diarRERE'; the"
        " second gets a number. There are two tools, and a script that uses the name may send the"
        " other event. [overload-code]"
    ]


def test_a_cycle_of_classes_is_an_error_of_one_of_them() -> None:
    items = (
        '<class-extension extends="entry"><element type="hen"/></class-extension>'
        '<class name="hen" code="henn" inherits="egg"/>\n'
        '<class name="egg" code="eggg" inherits="hen"/>'
    )
    assert by_rule(items, "inheritance-cycle") == [
        "app.sdef:7: error: class hen: inherits from itself; cut."
        " What it would inherit through the cycle is missing. [inheritance-cycle]"
    ]


def test_items_outside_a_suite_are_errors() -> None:
    content = sdef(SOUND).replace(b"</dictionary>", b'<class name="a" code="aaaa"/></dictionary>')
    dictionary, told = parse(content, "app.sdef")
    assert [one.rule for one in lint(source(dictionary), {}, told)] == ["stray-item"]


def test_a_suite_code_is_four_characters() -> None:
    content = sdef(SOUND, 'name="Diary" code="diary"')
    [one] = lint(source(parse(content, "app.sdef")[0]), {})
    assert (one.rule, one.place, one.line) == ("suite-code", "suite Diary", 2)


def test_an_app_with_classes_needs_a_class_application() -> None:
    items = '<class name="leaf" code="leaf"/><command name="rustle" code="leafrust">'
    items += '<direct-parameter type="leaf"/></command>'
    [one] = found(items, "")
    assert str(one).startswith("app.sdef: note: dictionary: has classes and no class application.")


def test_a_library_of_suites_reaches_nothing_and_is_told_nothing() -> None:
    assert by_rule('<class name="leaf" code="leaf"/>', "unreachable-class", "") == []


def test_classes_are_reached_through_records_and_subclasses() -> None:
    items = """<class name="leaf" code="leaf" inherits="part"/><class name="part" code="part"/>
<record-type name="find" code="find"><property name="what" code="what" type="part"/></record-type>
<command name="dig" code="diardig "><result type="find"/></command>"""
    assert found(items) == []


def test_types_are_used_in_lists_and_unions_of_every_form() -> None:
    items = """<enumeration name="mood" code="mood"><enumerator name="a" code="aaaa"/></enumeration>
<enumeration name="ink" code="inks"><enumerator name="red" code="redd"/></enumeration>
<enumeration name="pen" code="penn"><enumerator name="quill" code="quil"/></enumeration>
<command name="ask" code="diarask "><parameter name="by" code="byby" type="list of mood | text"/>
<parameter name="ink" code="inks" type="inks"/>
<result><type list="yes"><type type="pen"/><type type="text"/></type></result></command>"""
    assert found(items) == []


def test_a_class_is_known_by_its_synonym() -> None:
    items = """<class-extension extends="entry"><element type="page"/></class-extension>
<class name="leaf" code="leaf"><synonym name="page"/></class>"""
    assert by_rule(items, "undefined-element") == []


def test_an_include_that_is_not_understood_is_told() -> None:
    items = INCLUDE.format("System/Library/ScriptingDefinitions/CocoaStandard.sdef")
    [one] = found(items.replace("xpointer(/", "element(/"))
    assert (one.rule, one.line) == ("missing-include", 7)


def test_what_an_include_brings_is_known_and_not_judged() -> None:
    items = INCLUDE.format("System/Library/ScriptingDefinitions/CocoaStandard.sdef")
    items += '\n<class-extension extends="document"><element type="window"/></class-extension>'
    # The file and the include both declare a class application.
    assert {one.rule for one in found(items)} == {"repeated"}


def test_hidden_terms_are_not_called_unused() -> None:
    items = """<class name="leaf" code="leaf" hidden="yes"/>
<record-type name="mood" code="mood" hidden="yes"/>
<value-type name="a" code="aaaa" hidden="yes"/>"""
    assert found(items) == []


def test_a_snapshot_may_hold_codes_that_load_would_refuse(tmp_path: Path) -> None:
    suites = [
        {
            "is": "Suite",
            "name": "Diary",
            "code": "diar",
            "items": [
                {
                    "is": "Command",
                    "name": "stitch",
                    "code": "",
                    "parameters": [{"name": "cover", "code": "c", "types": [{"name": "text"}]}],
                },
                {"is": "ValueType", "name": "paper", "code": "\u2014\U0001f4a5ab", "hidden": True},
            ],
        }
    ]
    head = {"format": 1, "name": "Diary", "id": "com.example.Diary", "stem": "Diary"}
    text = {**head, "version": "", "kind": "application", "digest": "0", "title": ""}
    path = tmp_path / "Diary.json"
    path.write_text(json.dumps({**text, "suites": suites}))
    [loaded] = from_paths([path], {}).sources
    findings = lint(loaded.source, {})
    assert [(one.rule, one.line, one.place) for one in findings] == [
        ("unsound-code", 0, "command stitch"),
        ("unsound-code", 0, "parameter cover of stitch"),
        ("unsound-code", 0, "value type paper"),
    ]


def test_diagnostics_without_a_rule_of_their_own_are_passed_on() -> None:
    dictionary, _ = parse(sdef(SOUND), "app.sdef")
    told = [
        Diagnostic("app.sdef", 6, "new", "command reread is odd", "warning"),
        Diagnostic("app.sdef", 6, "new", "something is lost", "error"),
        Diagnostic("app.sdef", 6, "new", "all is well", "note"),
    ]
    lines = [str(one) for one in lint(source(dictionary), {}, told)]
    assert lines == [
        "app.sdef:6: warning: command reread: is odd."
        " The tools may differ from what is declared. [doubtful]",
        "app.sdef:6: error: command reread: something is lost. Nothing is made of it. [left-out]",
    ]


def test_a_message_on_a_crowded_line_names_its_own_place() -> None:
    items = '<class name="a" code="aaaa" hidden="yes"/><class name="entry" code="entr"/>'
    assert by_rule(items, "repeated")[0].startswith("app.sdef:7: note: class entry: is declared")


def test_hostile_names_are_shown_in_plain_characters() -> None:
    lines = [str(one) for one in found('<command name="a\u202eb&#9;c" code="diarabcd"/>')]
    assert lines
    assert all("\u202e" not in line and "\t" not in line for line in lines)


@pytest.mark.parametrize(
    ("code", "size", "sound"),
    [
        ("yes ", 4, True),
        ("¶Fcn", 4, True),
        ("0x00000001", 4, True),
        ("0x0000000", 4, False),
        ("0xZZZZZZZZ", 4, False),
        ("0x0000000100000002", 8, True),
        ("abc", 4, False),
        ("", 4, False),
        ("\U0001f4a5abc", 4, False),
    ],
)
def test_codes_are_counted_in_macroman(code: str, size: int, sound: bool) -> None:
    assert is_code(code, size) is sound


@pytest.mark.parametrize(
    ("term", "sure"),
    [
        ("URL", True),
        ("POSIX path", True),
        ("AirPlay device", True),
        ("Finder window", True),
        ("band 1", True),
        ("do JavaScript", True),
        ("GetURL", False),
        ("iCloud account", False),
        ("openVirtualLocation", False),
        ("360p", False),
        ("computer-object", False),
        ("été", False),
        ("", False),
    ],
)
def test_javascript_names_are_sure_where_scripts_show_them(term: str, sure: bool) -> None:
    assert is_sure(term) is sure


@given(DICTIONARIES)
def test_lint_takes_every_dictionary(dictionary: Dictionary) -> None:
    for one in lint(source(dictionary), standard()):
        assert one.rule in RULES
        assert "\n" not in str(one)
        assert one.consequence.endswith(".")


WORDS = st.sampled_from(["", "application", "entry", "leaf", "list of leaf | text", "name", "in"])
TAGS = st.sampled_from(
    "class class-extension command event enumeration record-type value-type property element"
    " parameter direct-parameter result enumerator type synonym responds-to contents".split()
)
ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys("name id plural inherits extends type command".split(), WORDS),
        "code": st.sampled_from(["", "leaf", "entr", "diarleaf", "0x00000001"]),
        "hidden": st.just("yes"),
        "optional": st.just("yes"),
        "list": st.just("yes"),
    },
)


def _xml(tag: str, attributes: dict[str, str], inner: list[str]) -> str:
    given = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<{tag}{given}>{''.join(inner)}</{tag}>"


NODES = st.recursive(
    st.builds(_xml, TAGS, ATTRIBUTES, st.just([])),
    lambda inner: st.builds(_xml, TAGS, ATTRIBUTES, st.lists(inner, max_size=3)),
    max_leaves=12,
)


@given(st.lists(NODES, max_size=4))
def test_lint_takes_whatever_load_takes(nodes: list[str]) -> None:
    try:
        dictionary, told = parse(sdef("".join(nodes)), "app.sdef")
    except LoadError:
        return
    errors = sum(one.level == "error" for one in told)
    findings = lint(source(dictionary), standard(), told)
    # Nothing that load left out is kept from the reader, though two may read the same.
    assert bool(errors) <= any(one.severity == "error" for one in findings)


def test_real_dictionaries_give_findings_and_no_more_than_can_be_read(corpus: Path) -> None:
    read = from_paths([corpus / "sdef"], known_apps())
    assert not read.failed
    counts = [len(lint(one.source, includes(), one.diagnostics)) for one in read.sources]
    assert len(counts) == 60
    assert sum(counts) < 1000


def test_snapshots_give_the_findings_of_their_dictionaries(corpus: Path) -> None:
    bundled = {one.source.stem: one.source for one in from_bundled_snapshots().sources}
    for loaded in from_paths([corpus / "sdef"], known_apps()).sources:
        twin = bundled.get(loaded.source.stem)
        if twin is not None and twin.dictionary.digest == loaded.source.dictionary.digest:
            real = lint(loaded.source, standard(), loaded.diagnostics)
            facts = lint(twin, standard())
            assert {one.rule for one in facts} == {one.rule for one in real}, twin.stem


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(lint_command, [str(one) for one in arguments])


def saved(folder: Path, items: str, name: str = "Diary.sdef") -> Path:
    path = folder / name
    path.write_bytes(sdef(SOUND + items))
    return path


def test_the_command_prints_a_line_a_finding_and_their_number(tmp_path: Path) -> None:
    path = saved(tmp_path, '<command name="import" code="diarimpt"/>')
    result = run(path)
    assert result.exit_code == 0
    assert result.stdout == (
        f"{path}:7: note: command import: is a Python keyword. In Python it is import_."
        " [python-keyword]\n"
    )
    assert result.stderr == "iac-gen: 1 finding (1 note) in 1 dictionary\n"


def test_the_command_fails_for_an_error_and_for_what_it_cannot_read(tmp_path: Path) -> None:
    saved(tmp_path, '<command name="stitch" code="bind"/><value-type name="a" code="aaaa"/>')
    assert run(tmp_path).exit_code == 1
    assert run(tmp_path, "--rule", "unused-value-type").exit_code == 0
    (tmp_path / "Torn.sdef").write_text("<dictionary>")
    result = run(tmp_path, "--rule", "unused-value-type", "--rule", "shared-code")
    assert result.exit_code == 1
    assert "skipped" in result.stderr
    assert "Torn.sdef" in result.stderr
    assert "1 finding (1 note) in 1 dictionary" in result.stderr


def test_the_command_prints_json(tmp_path: Path) -> None:
    path = saved(tmp_path, '<command name="import" code="diarimpt"/>')
    (tmp_path / "Torn.sdef").write_text("")
    data = json.loads(run(tmp_path, "--json").stdout)
    assert data["findings"] == [
        {
            "rule": "python-keyword",
            "severity": "note",
            "file": str(path),
            "line": 7,
            "place": "command import",
            "message": "is a Python keyword",
            "consequence": "In Python it is import_.",
        }
    ]
    assert [one["code"] for one in data["failed"]] == ["empty"]


def test_the_command_says_nothing_of_a_sound_dictionary(tmp_path: Path) -> None:
    result = run(saved(tmp_path, ""), saved(tmp_path, "", "Other.sdef"))
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "iac-gen: 0 findings in 2 dictionaries\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.sdef"], "missing.sdef does not exist; check the path"),
        (["--rule", "shared-cod", "x.sdef"], "no rule is called shared-cod; nearest: shared-code"),
        (["--rule", "%%%", "x.sdef"], "no rule is called %%%; there are shared-code"),
        ([], "Missing argument 'PATH...'"),
    ],
)
def test_wrong_usage_is_one_line_and_the_code_2(arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
