"""Unbound: what nothing is made of is listed, and nothing else is missing."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from builds import Built
from dictionaries import DICTIONARIES
from golden import standard
from hypothesis import given
from lxml import etree
from making import COCOA, read_cases, sdef, source, whole

from iac_gen.build_tools import build_module
from iac_gen.discover import from_paths, load_includes
from iac_gen.model import Diagnostic, Dictionary, Enumeration, SdefCommand, TypeRef
from iac_gen.object_tools import OBJECT_EVENTS
from iac_gen.quirks import QuirkDecisions, known_apps
from iac_gen.report import AppReport, BuildReport
from iac_gen.resolve import resolve_dictionary
from iac_gen.types import AppTypes
from iac_gen.unsupported import UnsupportedTerm, find_unsupported
from iac_gen.xml import LoadedDictionary, parse_dictionary

SOUND = """<class name="application" code="capp"><element type="entry"/></class>
<class name="entry" code="entr" plural="entries"><property name="body" code="body" type="text"/>
</class>
"""


def found(items: str, suite: str = 'name="Diary" code="diar"') -> list[UnsupportedTerm]:
    dictionary, told = parse_dictionary(sdef(SOUND + items, suite), "app.sdef")
    resolved, merged = resolve_dictionary(source(dictionary), standard())
    return find_unsupported(resolved, [*told, *merged])


def lines(items: str) -> list[str]:
    return [str(one) for one in found(items)]


def test_a_dictionary_that_is_bound_whole_has_nothing_to_list() -> None:
    items = """<command name="stitch" code="diarstch"><direct-parameter type="entry"/>
<parameter name="with" code="with" type="thread"/><result type="length"/></command>
<enumeration name="thread" code="thrd"><enumerator name="silk" code="silk"/></enumeration>
<record-type name="length" code="leng"><property name="feet" code="feet" type="real"/></record-type>
<value-type name="color" code="cRGB"/><value-type name="number" code="nmbr"/>
<value-type name="heap" code="list"/>
<class-extension extends="entry"><contents type="text"/></class-extension>"""
    assert lines(items) == []


@pytest.mark.parametrize(("items", "said"), read_cases("unbound_cases.txt"))
def test_a_term_without_a_trace_is_listed_with_the_reason(items: str, said: Sequence[str]) -> None:
    assert lines(items) == said


def test_terms_keep_their_lines_and_codes() -> None:
    [one] = found('<command name="burn" code="diar\u00b6  n" hidden="yes"/>')
    assert one == UnsupportedTerm("command", "burn", "", "diar\u00b6  n", "it is hidden", 6)


def test_a_hidden_suite_hides_its_commands() -> None:
    items = '<command name="burn" code="diarburn"/>'
    assert [one.term for one in found(items, 'name="D" code="diar" hidden="yes"')] == ["burn"]


def test_a_command_that_a_quirk_hides_is_told_apart() -> None:
    dictionary, _ = parse_dictionary(
        sdef(f'{SOUND}<command name="burn" code="diarburn"/>'), "app.sdef"
    )
    resolved, _ = resolve_dictionary(source(dictionary), {})
    hidden = replace(resolved, commands=tuple(replace(c, hidden=True) for c in resolved.commands))
    assert [str(one) for one in find_unsupported(hidden, [])] == [
        "command burn 'diarburn': a quirk hides it"
    ]


def test_what_an_include_brought_has_no_line_and_comes_last() -> None:
    listed = found(
        f'{COCOA}<class-extension extends="window"><responds-to command="close"/>'
        '<responds-to command="fold"/><synonym name="pane"/></class-extension>'
        '<command name="burn" code="diarburn" hidden="yes"/>'
    )
    own = [one for one in listed if one.line]
    assert [(one.kind, one.term) for one in own] == [
        ("responds-to", "close"), ("responds-to", "fold"), ("synonym", "pane"), ("command", "burn"),
    ]  # fmt: skip
    assert listed[: len(own)] == own
    assert len(listed) > len(own)


def test_faults_of_quirk_files_are_no_terms() -> None:
    dictionary, _ = parse_dictionary(sdef(SOUND), "app.sdef")
    resolved, _ = resolve_dictionary(source(dictionary), {})
    fault = Diagnostic("quirks/diary.toml", 3, "quirk-unused", "matches nothing", "error")
    assert find_unsupported(resolved, [fault]) == []


@given(DICTIONARIES)
def test_every_dictionary_has_a_list(dictionary: Dictionary) -> None:
    resolved, told = resolve_dictionary(source(dictionary), standard())
    for one in find_unsupported(resolved, told):
        assert one.reason
        assert "\n" not in str(one)


# Completeness over the real dictionaries, counted in the raw XML. Includes are left out, so
# that what is made comes from the file alone.

# Not counted: class-extensions, which are merged without a word, and what an include brings.


def quietly_merged(dictionary: Dictionary) -> Counter[str]:
    """Return the terms that a second declaration repeats; its own diagnostic stands for all.

    A command that is declared again brings parameters, by code; an enumeration values, by name.
    """
    found: Counter[str] = Counter()
    seen: dict[tuple[str, str], set[str]] = {}
    for item in dictionary.declared_items():
        if isinstance(item, SdefCommand) and not item.event:
            kind, key, terms = "parameter", item.code, {one.code for one in item.parameters}
        elif isinstance(item, Enumeration):
            kind, key, terms = "enumerator", "", {one.name for one in item.enumerators}
        else:
            continue
        known = seen.setdefault((item.name, key), set())
        found[kind] += len(known & terms)
        known |= terms
    return found


def accounted(loaded: LoadedDictionary) -> Counter[str]:
    """Return per kind how many terms were made, merged or listed as unbound."""
    resolved, told = resolve_dictionary(loaded.source, {})
    module, _ = build_module(resolved, QuirkDecisions(), "app")
    listed = Counter(one.kind for one in find_unsupported(resolved, [*loaded.diagnostics, *told]))
    codes = Counter(one.code for one in told)
    repeated = Counter(one.message.split()[0] for one in told if one.code == "repeated")
    ops = {tool.op: tool for tool in module.tools if tool.op != "command"}
    merged: dict[str, SdefCommand] = {}
    for command in resolved.commands:
        op = OBJECT_EVENTS.get(command.code)
        if op in ops and not command.hidden:
            merged.setdefault(op, command)
    rows = [tool for tool in module.tools if tool.op == "command"]
    parameters = sum(1 for tool in rows for one in tool.parameters if one.row.term)
    for tool in ops.values():
        sent = {one.row.code for one in tool.parameters}
        declaring = merged.get(tool.op)
        parameters += sum(one.code in sent for one in declaring.parameters) if declaring else 0
    fields = sum(len(row.properties) for row in module.records.values())
    synthesised = codes["synthesised"]
    quiet = quietly_merged(loaded.source.dictionary)
    return Counter(
        {
            "command": len(rows) + len(merged) + codes["overload"] + listed["command"],
            "parameter": parameters + repeated["parameter"] + quiet["parameter"]
            + listed["parameter"],
            "event": listed["event"],
            "class": len(module.classes) - synthesised + codes["class-again"]
            + codes["self-inherits"],
            "property": fields + sum(len(row.properties) for row in module.classes.values())
            + repeated["property"] + listed["property"],
            "element": sum(len(row.elements) for row in module.classes.values())
            + repeated["element"] + listed["element"],
            "enumeration": len(module.enums) + repeated["enumeration"],
            "enumerator": sum(len(values) for values in module.enums.values())
            + quiet["enumerator"],
            "record-type": len(module.records),
            "synonym": listed["synonym"],
            "responds-to": listed["responds-to"],
        }
    )  # fmt: skip


def declared(file: Path, raw: Counter[str]) -> Counter[str]:
    """Return per kind how many terms the XML of `file` declares; `raw` are its elements."""
    root = etree.parse(file, etree.XMLParser(load_dtd=False, no_network=True)).getroot()
    # A synonym of an element or a parameter is outside the format; it is not read.
    odd = len(root.xpath("//element/synonym | //parameter/synonym | //record-type/synonym"))
    kinds = "command parameter event class element enumeration enumerator record-type".split()
    return Counter(
        {
            **{kind: raw[kind] for kind in kinds},
            "property": raw["property"] + raw["contents"],
            "synonym": raw["synonym"] - odd,
            "responds-to": raw["responds-to"] + raw["responds-to-command"],
        }
    )


def test_every_declared_term_is_bound_merged_or_listed(corpus: Path) -> None:
    raw = json.loads((corpus / "counts.json").read_text())
    for loaded in whole(from_paths([corpus / "sdef"], known_apps())):
        file = Path(loaded.source.dictionary.file)
        got, expected = accounted(loaded), declared(file, Counter(raw[file.name]))
        assert {kind: got[kind] for kind in expected} == dict(expected), file.name


def test_hidden_values_are_listed_though_they_have_a_row(corpus: Path) -> None:
    [mail] = whole(from_paths([corpus / "sdef" / "Mail.sdef"], known_apps()))
    resolved, told = resolve_dictionary(mail.source, load_includes())
    listed = {one.term for one in find_unsupported(resolved, told) if one.kind == "enumerator"}
    rows = [row for one in resolved.enumerations for row in one.enumerators]
    assert listed == {row.name for row in rows if row.hidden}


def test_value_types_are_atoms_or_listed(corpus: Path) -> None:
    atoms = {"any", "color", "data", "date", "file", "list of any", "point", "rectangle", "text"}
    atoms |= {"boolean", "integer", "real", "number", "type", "record", "specifier", "property"}
    atoms |= {"list of real", "location specifier", "missing value"}
    for loaded in whole(from_paths([corpus / "sdef"], known_apps())):
        resolved, told = resolve_dictionary(loaded.source, {})
        listed = {one.term for one in find_unsupported(resolved, told) if one.kind == "value-type"}
        types = AppTypes(resolved, {})
        for row in resolved.values:
            kind = types.type_string((TypeRef(row.name),))
            assert (kind in atoms - {"any"} or row.name == "any") != (row.name in listed), row


# The corpus of real dictionaries: every one builds, and nothing is lost without a reason.


# Why the tables of a module hold other numbers than the file: what each diagnostic stands for.
REASONS = {
    "class-again": "a class that is declared twice is one row",
    "contents": "what a class contains counts as a property of it",
    "hidden": "hidden commands are no tools",
    "included": "the standard suites come on top",
    "overload": "overloads of a command are one tool",
    "hook": "what the app calls in a script is no tool",
    "repeated": "what is declared twice in one place is one row",
    "self-inherits": "a class that inherits itself extends the one that was there",
    "synthesised": "a class that is used and not declared was made",
    "unknown-class": "an element of a class that nobody declares has no row",
}


@pytest.fixture
def report(corpus_build: Built) -> BuildReport:
    return corpus_build.report


def by_file(report: BuildReport, corpus: Path) -> dict[str, AppReport]:
    found = from_paths([corpus / "sdef"], known_apps())
    ids = {one.id: Path(one.file).name for one in found.sources}
    return {ids[app.id]: app for app in report.apps}


def test_every_real_dictionary_becomes_a_module(report: BuildReport) -> None:
    assert report.failed == ()
    assert len(report.apps) == 60


def test_what_is_declared_is_what_the_raw_files_hold(report: BuildReport, corpus: Path) -> None:
    raw = json.loads((corpus / "counts.json").read_text())
    for file, app in by_file(report, corpus).items():
        expected = [raw[file].get(k, 0) for k in ("command", "class", "property", "element")]
        got = app.declared
        assert [got.commands, got.classes, got.properties, got.elements] == expected, file


def test_what_is_built_differs_only_for_a_reason_that_is_told(
    report: BuildReport, corpus: Path
) -> None:
    for file, app in by_file(report, corpus).items():
        reasons = {one.code for one in app.diagnostics} & REASONS.keys()
        if not reasons:
            assert app.built == app.declared, file
        elif reasons == {"hidden"}:
            hidden = sum(one.code == "hidden" for one in app.diagnostics)
            assert app.built.commands == app.declared.commands - hidden, file
            assert app.built.classes == app.declared.classes, file
            assert app.built.properties == app.declared.properties, file
            assert app.built.elements == app.declared.elements, file
        elif reasons == {"contents"}:
            extra = sum(one.code == "contents" for one in app.diagnostics)
            assert app.built.properties == app.declared.properties + extra, file


def test_most_dictionaries_need_no_reason(report: BuildReport) -> None:
    same = [app.key for app in report.apps if app.built == app.declared]
    assert len(same) >= 20


def test_a_tool_costs_few_tokens(report: BuildReport) -> None:
    tools = sum(app.tools for app in report.apps)
    assert sum(app.tokens for app in report.apps) / tools <= 165
