"""Lint as a whole: every dictionary, real ones and the command."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from dictionaries import DICTIONARIES
from golden import standard
from hypothesis import given
from hypothesis import strategies as st
from making import COCOA, SOUND, read_cases, sdef, source, whole

from iac_gen.cli.show import lint_command
from iac_gen.discover import from_bundled_snapshots, from_paths, load_includes
from iac_gen.lint.facts import LintFinding
from iac_gen.lint.rules import RULES, lint_source
from iac_gen.lint.rules import is_written_code as is_code
from iac_gen.model import Diagnostic, Dictionary
from iac_gen.naming import has_verified_name
from iac_gen.quirks import known_apps
from iac_gen.xml import LoadError, parse_dictionary


@given(DICTIONARIES)
def test_lint_takes_every_dictionary(dictionary: Dictionary) -> None:
    for one in lint_source(source(dictionary), standard()):
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
        "hidden": st.just("yes"), "optional": st.just("yes"), "list": st.just("yes"),
    },
)  # fmt: skip


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
        dictionary, told = parse_dictionary(sdef("".join(nodes)), "app.sdef")
    except LoadError:
        return
    errors = sum(one.level == "error" for one in told)
    findings = lint_source(source(dictionary), standard(), told)
    # Nothing that load left out is kept from the reader, though two may read the same.
    assert bool(errors) <= any(one.severity == "error" for one in findings)


def test_real_dictionaries_give_findings_and_no_more_than_can_be_read(corpus: Path) -> None:
    loaded = whole(from_paths([corpus / "sdef"], known_apps()))
    counts = [len(lint_source(one.source, load_includes(), one.diagnostics)) for one in loaded]
    assert len(counts) == 60
    assert sum(counts) < 1000


def test_snapshots_give_the_findings_of_their_dictionaries(corpus: Path) -> None:
    bundled = {one.source.stem: one.source for one in whole(from_bundled_snapshots())}
    for loaded in whole(from_paths([corpus / "sdef"], known_apps())):
        twin = bundled.get(loaded.source.stem)
        if twin is not None and twin.dictionary.digest == loaded.source.dictionary.digest:
            real = lint_source(loaded.source, standard(), loaded.diagnostics)
            facts = lint_source(twin, standard())
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
        f"{path}:7: note: command import: is a Python keyword. In Python it is written import_."
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
            "rule": "python-keyword", "severity": "note", "file": str(path), "line": 7,
            "place": "command import", "message": "is a Python keyword",
            "consequence": "In Python it is written import_.",
        }
    ]  # fmt: skip
    assert [one["code"] for one in data["failed"]] == ["empty"]


def test_the_command_says_nothing_of_a_sound_dictionary(tmp_path: Path) -> None:
    result = run(saved(tmp_path, ""), saved(tmp_path, "", "Other.sdef"))
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "iac-gen: 0 findings in 2 dictionaries\n"


@pytest.mark.parametrize(("arguments", "said"), [
    (["missing.sdef"], "missing.sdef does not exist; check the path"),
    (["--rule", "shared-cod", "x.sdef"], "there is no rule shared-cod; nearest: shared-code"),
    (["--rule", "%%%", "x.sdef"], "there is no rule %%%; the rules are shared-code"),
    ([], "Missing argument 'PATH...'"),
])  # fmt: skip
def test_wrong_usage_is_one_line_and_the_code_2(arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr


# The rules of lint: each on a small dictionary that has just that fault.


def found(items: str, sound: str = SOUND) -> list[LintFinding]:
    dictionary, told = parse_dictionary(sdef(sound + items), "app.sdef", as_written=True)
    return lint_source(source(dictionary), standard(), told)


def by_rule(items: str, rule: str, sound: str = SOUND) -> list[str]:
    return [str(one) for one in found(items, sound) if one.rule == rule]


def test_a_sound_dictionary_gives_no_findings() -> None:
    assert found("") == []


@pytest.mark.parametrize(("items", "told"), read_cases("lint_cases.txt"))
def test_a_fault_is_told_once_with_its_place_and_consequence(items: str, told: list[str]) -> None:
    assert [str(one) for one in found(items)] == [f"app.sdef:{line}" for line in told]


def test_a_command_with_two_codes_is_two_tools() -> None:
    assert by_rule('<command name="reread" code="diarRERE"/>', "overload-code") == [
        "app.sdef:7: warning: command reread: is declared again with the code 'diarRERE'; the"
        " second gets a number. IAC makes two tools. A script that uses the name may send the"
        " other command. [overload-code]"
    ]


def test_a_cycle_of_classes_is_an_error_of_one_of_them() -> None:
    items = (
        '<class-extension extends="entry"><element type="hen"/></class-extension>'
        '<class name="hen" code="henn" inherits="egg"/>\n'
        '<class name="egg" code="eggg" inherits="hen"/>'
    )
    assert by_rule(items, "inheritance-cycle") == [
        "app.sdef:7: error: class hen: inherits from itself, which is left out."
        " The class lacks what it should inherit. [inheritance-cycle]"
    ]


def test_items_outside_a_suite_are_errors() -> None:
    content = sdef(SOUND).replace(b"</dictionary>", b'<class name="a" code="aaaa"/></dictionary>')
    dictionary, told = parse_dictionary(content, "app.sdef")
    assert [one.rule for one in lint_source(source(dictionary), {}, told)] == ["stray-item"]


def test_a_suite_code_is_four_characters() -> None:
    content = sdef(SOUND, 'name="Diary" code="diary"')
    [one] = lint_source(source(parse_dictionary(content, "app.sdef")[0]), {})
    assert (one.rule, one.place, one.line) == ("suite-code", "suite Diary", 2)


def test_an_app_with_classes_needs_a_class_application() -> None:
    items = '<class name="leaf" code="leaf"/><command name="rustle" code="leafrust">'
    items += '<direct-parameter type="leaf"/></command>'
    [one] = found(items, "")
    assert str(one).startswith("app.sdef: note: dictionary: has classes, but no class application.")


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
    [one] = found(COCOA.replace("xpointer(/", "element(/"))
    assert (one.rule, one.line) == ("missing-include", 7)


def test_what_an_include_brings_is_known_and_not_judged() -> None:
    items = (
        COCOA + '\n<class-extension extends="document"><element type="window"/></class-extension>'
    )
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
            "is": "Suite", "name": "Diary", "code": "diar",
            "items": [{"is": "Command", "name": "stitch", "code": "",
              "parameters": [{"name": "cover", "code": "c", "types": [{"name": "text"}]}]},
             {"is": "ValueType", "name": "paper", "code": "\u2014\U0001f4a5ab", "hidden": True}],
        }
    ]  # fmt: skip
    head = {"format": 1, "name": "Diary", "id": "com.example.Diary", "stem": "Diary"}
    text = {**head, "version": "", "kind": "application", "digest": "0", "title": ""}
    path = tmp_path / "Diary.json"
    path.write_text(json.dumps({**text, "suites": suites}))
    [loaded] = whole(from_paths([path], {}), as_written=True)
    findings = lint_source(loaded.source, {})
    assert [(one.rule, one.line, one.place) for one in findings] == [
        ("unsound-code", 0, "command stitch"),
        ("unsound-code", 0, "parameter cover of stitch"),
        ("unsound-code", 0, "value type paper"),
    ]


def test_diagnostics_without_a_rule_of_their_own_are_passed_on() -> None:
    dictionary, _ = parse_dictionary(sdef(SOUND), "app.sdef")
    told = [
        Diagnostic("app.sdef", 6, "new", "command reread is odd", "warning"),
        Diagnostic("app.sdef", 6, "new", "something is lost", "error"),
        Diagnostic("app.sdef", 6, "new", "all is well", "note"),
    ]
    lines = [str(one) for one in lint_source(source(dictionary), {}, told)]
    assert lines == [
        "app.sdef:6: warning: command reread: is odd."
        " The tools may differ from the dictionary. [doubtful]",
        "app.sdef:6: error: command reread: something is lost. No tool is made from it. [left-out]",
    ]


def test_a_message_on_a_crowded_line_names_its_own_place() -> None:
    items = '<class name="a" code="aaaa" hidden="yes"/><class name="entry" code="entr"/>'
    assert by_rule(items, "repeated")[0].startswith("app.sdef:7: note: class entry: is declared")


def test_hostile_names_are_shown_in_plain_characters() -> None:
    lines = [str(one) for one in found('<command name="a\u202eb&#9;c" code="diarabcd"/>')]
    assert lines
    assert all("\u202e" not in line and "\t" not in line for line in lines)


@pytest.mark.parametrize(("code", "size", "sound"), [
    ("yes ", 4, True), ("¶Fcn", 4, True), ("0x00000001", 4, True), ("0x0000000", 4, False),
    ("0xZZZZZZZZ", 4, False), ("0x0000000100000002", 8, True), ("abc", 4, False), ("", 4, False),
    ("\U0001f4a5abc", 4, False),
])  # fmt: skip
def test_codes_are_counted_in_macroman(code: str, size: int, sound: bool) -> None:
    assert is_code(code, size) is sound


@pytest.mark.parametrize(("term", "sure"), [
    ("URL", True), ("POSIX path", True), ("AirPlay device", True), ("Finder window", True),
    ("band 1", True), ("do JavaScript", True), ("GetURL", False), ("iCloud account", False),
    ("openVirtualLocation", False), ("360p", False), ("computer-object", False), ("été", False),
    ("", False),
])  # fmt: skip
def test_javascript_names_are_sure_where_scripts_show_them(term: str, sure: bool) -> None:
    assert has_verified_name(term) is sure
