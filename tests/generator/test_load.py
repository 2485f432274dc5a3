"""Loading: what has one reading is mended, what has none is said in one line and costs one item."""

import os
from pathlib import Path

import pytest
from golden import standard
from hypothesis import given
from hypothesis import strategies as st
from making import module, read, sdef, source

from iac_gen import xml as loading
from iac_gen.ir import Module
from iac_gen.model import Dictionary, Enumeration, Include, SdefClass, SdefCommand, Suite, TypeRef
from iac_gen.resolve import STANDARD, find_include, path_of_url, resolve_dictionary, select_included
from iac_gen.text import sanitize_dictionary
from iac_gen.types import AppTypes, item_terms
from iac_gen.verify_output import verify_schema
from iac_gen.xml import (
    LoadError,
    load_dictionary,
    normalize_line_ends,
    parse_dictionary,
    repair_xml,
)

DOCTYPE = '<!DOCTYPE dictionary SYSTEM "file://localhost/System/Library/DTDs/sdef.dtd"'


def fault(content: bytes) -> str:
    with pytest.raises(LoadError) as caught:
        parse_dictionary(content, "app.sdef")
    text = str(caught.value)
    assert "\n" not in text
    return text


def only(dictionary: Dictionary) -> list[object]:
    return list(dictionary.declared_items())


@pytest.mark.parametrize(("content", "expected"), [
    (b"", "app.sdef: error: is empty"), (b" \n\t ", "app.sdef: error: is empty"),
    (b"<dictionary>\n<suite name='a'>\n<command", "app.sdef:3: error: is not well-formed XML"),
    (b"<dictionary>\n<suite>\n</dictionary>", "app.sdef:3: error: is not well-formed XML"),
    (b"just text", "app.sdef:1: error: is not well-formed XML"),
    (b"\n\n<html/>", "contains <html> instead of <dictionary>"),
    (b"<dictionary/>", "app.sdef:1: error: declares no suite"),
    (b"<dictionary><documentation/></dictionary>", "declares no suite"),
    (b"<dictionary xmlns:a='x'><xi:other/></dictionary>", "is not well-formed XML"),
    (b"\xff\xfe\x00", "is not well-formed XML"),
])  # fmt: skip
def test_what_is_no_dictionary_is_refused_in_one_line(content: bytes, expected: str) -> None:
    assert expected in fault(content)


@pytest.mark.parametrize("entity", [
    '<!ENTITY a "b">', '<!ENTITY a SYSTEM "file:///etc/hosts">',
    '<!ENTITY % a SYSTEM "file:///etc/hosts">', '<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">',
])  # fmt: skip
def test_a_declared_entity_is_refused(entity: str) -> None:
    text = f'{DOCTYPE} [{entity}]>\n<dictionary><suite name="&a;" code="diar"/></dictionary>'
    assert "entit" in fault(text.replace("&a;", "a").encode()).lower()
    assert "app.sdef" in fault(text.encode())


def test_a_document_type_with_an_internal_subset_is_accepted() -> None:
    subset = "[<!ELEMENT class (property | type)*> <!ATTLIST class id ID #IMPLIED>]"
    text = f'{DOCTYPE} {subset}>\n<dictionary title="T"><suite name="S" code="diar"/></dictionary>'
    assert read(text.encode()).title == "T"


def test_files_that_cannot_be_read_are_told_apart(tmp_path: Path) -> None:
    for path, expected in (
        (tmp_path / "none.sdef", "is not a file; check the path"),
        (tmp_path, "is not a file; check the path"),
    ):
        with pytest.raises(LoadError, match=expected):
            load_dictionary(path)
    good = tmp_path / "good.sdef"
    good.write_bytes(sdef())
    assert load_dictionary(good)[0].file == str(good)


def test_a_file_over_the_limit_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "MAX_BYTES", 20)
    big = tmp_path / "big.sdef"
    big.write_bytes(sdef())
    with pytest.raises(LoadError, match="the limit is 20"):
        load_dictionary(big)


def test_a_file_that_fails_to_be_read_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "locked.sdef"
    path.write_bytes(sdef())
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(LoadError, match="cannot be read: Permission denied"):
        load_dictionary(path)


@pytest.mark.parametrize(("written", "code"), [
    ("ID  ", "ID  "), ("yes ", "yes "), (" a b", " a b"), ("0x00000001", "\x00\x00\x00\x01"),
    ("0x72696e67", "ring"), ("0X80818283", "ÄÅÇÉ"), ("¶Fcn", "¶Fcn"), ("?ß??", "?ß??"),
    ("&lt;&gt;&amp;'", "<>&'"), ("****", "****"),
])  # fmt: skip
def test_codes_are_kept_byte_for_byte(written: str, code: str) -> None:
    (found,) = only(read(sdef(f'<class name="entry" code="{written}"/>')))
    assert isinstance(found, SdefClass)
    assert found.code == code
    assert len(code.encode("mac_roman")) == 4


BAD = (
    ('<command name="bad" code="short"/>', "command bad has the code 'short', not 8 characters"),
    ('<event name="bad" code=""/>', "event bad has the code '', not 8 characters"),
    ('<class name="bad" code="toolong"/>', "class bad has the code 'toolong'"),
    ('<class name="bad" code="漢字漢字"/>', "class bad has the code"),
    ('<class name="bad" code="0xzzz"/>', "class bad has the code '0xzzz'"),
    ('<enumeration name="bad" code="x"/>', "enumeration bad has the code 'x'"),
    ('<record-type name="bad" code="x"/>', "record type bad has the code 'x'"),
    ('<command code="diarrere"/>', "a command without a name is left out"),
    ("<class-extension/>", "a class-extension that extends nothing is left out"),
    ("<gadget/>", "<gadget> is no item of a suite and is left out"),
)


@pytest.mark.parametrize(("item", "expected"), BAD)
def test_a_bad_item_costs_that_item_and_names_its_line(item: str, expected: str) -> None:
    good = '<class name="entry" code="entr"/>'
    dictionary, found = parse_dictionary(sdef(f"{good}\n{item}\n"), "app.sdef")
    assert [one.name for one in dictionary.declared_items() if isinstance(one, SdefClass)] == [
        "entry"
    ]
    (told,) = found
    assert told.line == 4
    assert told.level == "error"
    assert expected in told.message


@pytest.mark.parametrize(("inner", "expected"), [
    ('<property name="p" code="x" type="text"/>', "property p of entry has the code 'x'"),
    ('<property code="prop" type="text"/>', "a property of entry without a name"),
    ("<element/>", "an element of entry without a type"),
])  # fmt: skip
def test_a_bad_part_of_a_class_costs_that_part(inner: str, expected: str) -> None:
    rest = '<property name="kept" code="kept" type="text"/>'
    dictionary, (told,) = parse_dictionary(
        sdef(f'<class name="entry" code="entr">\n{inner}{rest}</class>'), "app.sdef"
    )
    (found,) = only(dictionary)
    assert isinstance(found, SdefClass)
    assert [one.name for one in found.properties] == ["kept"]
    assert (told.line, told.message.startswith(expected)) == (4, True)


@pytest.mark.parametrize(
    "inner", ['<parameter name="p" code="x" type="text"/>', '<parameter code="parm" type="text"/>']
)
def test_a_bad_parameter_costs_that_parameter(inner: str) -> None:
    dictionary, (told,) = parse_dictionary(
        sdef(f'<command name="go" code="diargogo">\n{inner}</command>'), "app.sdef"
    )
    (found,) = only(dictionary)
    assert isinstance(found, SdefCommand)
    assert found.parameters == ()
    assert told.line == 4


def test_a_bad_enumerator_costs_that_enumerator() -> None:
    values = '<enumerator name="a" code="aaaa"/><enumerator name="b" code="b"/><enumerator/>'
    dictionary, found = parse_dictionary(
        sdef(f'<enumeration name="e" code="enum">{values}</enumeration>'), "app.sdef"
    )
    (row,) = only(dictionary)
    assert isinstance(row, Enumeration)
    assert [one.name for one in row.enumerators] == ["a"]
    assert len(found) == 2


def test_a_stray_element_beside_the_suites_is_told() -> None:
    text = b'<dictionary><suite name="S" code="diar"/>\n<class name="c" code="clas"/></dictionary>'
    (told,) = parse_dictionary(text, "app.sdef")[1]
    assert str(told) == "app.sdef:2: error: <class> outside any suite is left out [stray]"


SLOTS = sdef(
    '<command name="@" code="@" description="@"><direct-parameter type="@" optional="@"/>'
    '<parameter name="@" code="@" type="@"><type type="@" list="@"/></parameter>'
    '<result type="@"/><synonym name="@" code="@"/><access-group identifier="@"/></command>'
    '<class name="@" code="@" inherits="@" plural="@" id="@"><contents type="@"/>'
    '<property name="@" code="@" type="@" access="@"/><element type="@"/></class>'
    '<class-extension extends="@"/><value-type name="@" code="@"/>'
    '<enumeration name="@" code="@"><enumerator name="@" code="@"/></enumeration>'
    '<record-type name="@" code="@"><property name="@" code="@" type="@"/></record-type>'
    '<event name="@" code="@"/>@',
    suite='name="@" code="@" hidden="@" description="@"',
).decode()


@given(st.text(max_size=40), st.booleans())
def test_any_text_in_any_slot_parses_or_is_refused(text: str, escaped: bool) -> None:
    if escaped:
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    content = SLOTS.replace("@", text).encode("utf-8", "surrogatepass")
    try:
        dictionary, found = parse_dictionary(content, "app.sdef")
    except LoadError as error:
        assert "\n" not in str(error)
    else:
        assert sanitize_dictionary(dictionary) == (dictionary, [])
        assert dictionary.suites
        assert {one.file for one in found} <= {"app.sdef"}


@given(st.binary(max_size=200))
def test_any_bytes_parse_or_are_refused(content: bytes) -> None:
    for prefix in (b"", b"<dictionary><suite>"):
        try:
            parse_dictionary(prefix + content, "app.sdef")
        except LoadError as error:
            assert "\n" not in str(error)


def test_what_has_one_reading_is_mended_and_told_with_its_line() -> None:
    bare = sdef('<command name="a & b" code="diargogo"/>')
    dictionary, (told,) = parse_dictionary(bare, "app.sdef")
    assert [getattr(one, "name", "") for one in dictionary.declared_items()] == ["a & b"]
    assert str(told).startswith("app.sdef:3: warning: an ampersand")
    include = sdef('<class name="a" code="aaaa"/>\r\r<xi:include href="file:///x"/>')
    dictionary, (told,) = parse_dictionary(include, "app.sdef")
    assert len(list(dictionary.declared_items())) == 2
    assert (told.line, told.code) == (5, "recovered")


# What reading makes of odd spellings: types as one string, names by many roads, merged rows.


ZOO = """
<class name="animal" code="anml" id="an.imal">
  <synonym name="beast"/><synonym code="bst "/><synonym name="brute" code="brut"/>
</class>
<class name="rich text" code="ctxt"><type type="text"/></class>
<enumeration name="hunger" code="hngr">
  <synonym name="appetite"/>
  <enumerator name="low" code="loww"/>
</enumeration>
<enumeration name="empty" code="empt"/>
<record-type name="meal" code="meal" id="me.al">
  <property name="size" code="size" type="integer"/>
</record-type>
<value-type name="shade" code="cRGB"><synonym name="tint"/></value-type>
"""


def types(items: str = ZOO) -> AppTypes:
    return AppTypes(resolve_dictionary(source(read(sdef(items))), standard())[0], {})


def one(name: str, **facts: bool) -> list[TypeRef]:
    return [TypeRef(name, **facts)]


def built(items: str) -> tuple[Module, list[str]]:
    return module(source(read(sdef(items))))


@pytest.mark.parametrize(("name", "kind"), [
    ("animal", "animal"), ("an.imal", "animal"), ("beast", "animal"), ("bst ", "animal"),
    ("brut", "animal"), ("anml", "animal"), ("Animal", "animal"), ("hngr", "hunger"),
    ("appetite", "hunger"), ("me.al", "meal"), ("meal", "meal"), ("tint", "color"),
    ("rich text", "rich text | text"), ("Unicode text", "text"), ("list", "list of any"),
    ("list of beast", "list of animal"), ("animal | text", "animal | text"),
    ("list of text | list of animal", "list of text | list of animal"), ("ldt ", "date"),
    ("empty", "any"), ("nonsense", "any"),
])  # fmt: skip
def test_a_type_is_found_by_every_name_that_the_dictionary_gives_it(name: str, kind: str) -> None:
    found = types()
    assert found.type_string(one(name)) == kind
    assert found.unknown == ({name} if name == "nonsense" else set())


def test_a_list_of_a_union_may_mix() -> None:
    found = types()
    mixed = [TypeRef("", True, items=(TypeRef("text"), TypeRef("number")))]
    kind = found.type_string(mixed)
    assert kind == "list of text|number"
    assert found.json_schema(kind) == {
        "type": "array",
        "items": {"anyOf": [{"type": "string"}, {"type": "number"}]},
    }
    assert found.parameter_annotation(kind) == "ListOf[str | float]"
    assert found.bare_terms(kind) == ["text", "number"]
    assert item_terms("list of list of text") == ["text"]


@pytest.mark.parametrize(("items", "kind"), [
    ((TypeRef("text"),), "list of text"), ((TypeRef("text"), TypeRef("nonsense")), "list of any"),
    ((TypeRef("text", True), TypeRef("number")), "list of any"),
    ((TypeRef("text", True),), "list of list of text"),
    ((TypeRef("text", hidden=True), TypeRef("number")), "list of number"),
    ((TypeRef("hunger"), TypeRef("animal")), "list of hunger|animal"),
])  # fmt: skip
def test_nested_lists(items: tuple[TypeRef, ...], kind: str) -> None:
    found = types()
    assert found.type_string([TypeRef("", True, items=items)]) == kind
    assert found.type_string([TypeRef("", False, items=items)]) != ""
    assert found.type_string([TypeRef("x", True), TypeRef("text", hidden=True)]) == "list of any"


def test_values_of_classes_that_name_each_other_end() -> None:
    items = (
        '<class name="a" code="aaaa"><type><type type="b"/><type type="text"/></type></class>'
        '<class name="b" code="bbbb"><type><type type="a"/><type type="b"/></type></class>'
    )
    assert types(items).type_string(one("a")) == "a | b | text"


_NAMES = st.sampled_from(["text", "animal", "hunger", "meal", "any", "a | b", "list of text", "?"])
_REFS = st.recursive(
    st.builds(TypeRef, _NAMES, st.booleans(), st.booleans()),
    lambda inner: st.builds(
        TypeRef, st.just(""), st.booleans(), st.booleans(), st.lists(inner, min_size=1).map(tuple)
    ),
    max_leaves=6,
)


@given(st.lists(_REFS, max_size=4))
def test_every_type_has_a_string_that_reads_back(refs: list[TypeRef]) -> None:
    found = types()
    kind = found.type_string(refs)
    for part in kind.split(" | "):
        for term in item_terms(part):
            assert term in ("any", "text", "animal", "hunger", "meal")
    schema = found.json_schema(kind)
    root = {"type": "object", "properties": {"x": schema}, "additionalProperties": False}
    assert verify_schema(root) == []
    assert found.parameter_annotation(kind)


def test_records_are_closed_but_where_nothing_is_known() -> None:
    chain = "".join(
        f'<record-type name="r{n}" code="rec{n}">'
        f'<property name="next" code="next" type="r{n + 1}"/>'
        '<property name="Next" code="nxt2" type="text"/></record-type>'
        for n in range(5)
    )
    schema = types(chain + '<record-type name="r5" code="rec5"/>').json_schema("r0")
    depth = 0
    while "properties" in schema:
        assert schema["additionalProperties"] is False
        assert schema["properties"].keys() == {"next"}
        schema, depth = schema["properties"]["next"], depth + 1
    assert (schema, depth) == ({"type": "object"}, 3)


@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_a_cycle_of_any_length_ends(length: int) -> None:
    items = "".join(
        f'<class name="c{n}" code="cls{n}" inherits="c{(n + 1) % length}">'
        f'<property name="p{n}" code="prp{n}" type="text"/></class>'
        for n in range(length)
    )
    made, told = built(items)
    for name in made.classes:
        seen: list[str] = []
        term: str | None = name
        while term is not None:
            assert term not in seen
            seen.append(term)
            term = made.classes[term].inherits
    assert sum("[cycle]" in line for line in told) == (length > 1)
    assert {f"c{n}" for n in range(length)} <= made.classes.keys()


def test_an_application_under_another_name_is_the_base_of_ours() -> None:
    made, told = built(
        '<class name="Program" code="capp"><property name="name" code="pnam" type="text"/></class>'
    )
    assert made.classes["application"].inherits == "Program"
    assert any("IAC made one that inherits from Program" in line for line in told)


def test_merged_rows_keep_what_each_says() -> None:
    made, told = built(
        '<class name="pen" code="penn"><property name="ink" code="inkk" type="text" access="r"/>'
        '<element type="nib" access="r"/><element type="nib"/></class>'
        '<class name="nib" code="nibb"/>'
        '<class-extension extends="pen"><property name="ink" code="ink2" type="integer"/>'
        "</class-extension>"
        '<enumeration name="tip" code="tipp"><enumerator name="fine" code="fine"/></enumeration>'
        '<enumeration name="tip" code="tip2"><enumerator name="fine" code="fin2"/>'
        '<enumerator name="broad" code="brod"/></enumeration>'
        '<command name="write" code="penswrit"><direct-parameter type="tip2"/>'
        '<direct-parameter type="text"/></command>'
    )
    (ink,) = made.classes["pen"].properties
    assert (ink.code, ink.type, ink.access) == ("inkk", "text | integer", "rw")
    assert made.classes["pen"].elements == (("nib", "rw"),)
    assert made.enums["tip"] == (("fine", "fine"), ("broad", "brod"))
    (write,) = (tool for tool in made.tools if tool.event == "penswrit")
    assert write.parameters[0].row.type == "tip | text"
    assert [line for line in told if "warning" in line] == [
        "app.sdef:3: warning: property ink of pen is declared again with the code 'ink2';"
        " 'inkk' is kept and the types are merged [repeated]",
        "app.sdef:3: warning: enumerator fine of tip is declared again with the code 'fin2';"
        " 'fine' is kept [repeated]",
    ]


def test_a_hidden_form_of_a_command_adds_nothing_whichever_comes_first() -> None:
    shown = '<command name="ring" code="bellring"><parameter name="a" code="aaaa" type="text"/>'
    hidden = '<command name="ring" code="bellring" hidden="yes"><direct-parameter type="text"/>'
    for items in (f"{shown}</command>{hidden}</command>", f"{hidden}</command>{shown}</command>"):
        made, _ = built(items)
        (ring,) = made.tools
        assert [p.key for p in ring.parameters] == ["a"]
        assert ring.parameters[0].required


@pytest.mark.parametrize(("href", "path"), [
    (f"file://{STANDARD}", STANDARD), (f"file://localhost{STANDARD}", STANDARD),
    (f"FILE://LOCALHOST{STANDARD}", STANDARD), (f"file:{STANDARD}", STANDARD), (STANDARD, STANDARD),
    ("file:///My%20Suites/a.sdef", "/My Suites/a.sdef"),
])  # fmt: skip
def test_a_file_url_has_many_spellings(href: str, path: str) -> None:
    assert path_of_url(href) == path


def test_the_standard_suites_step_in_for_their_name_elsewhere() -> None:
    include = Include("file:///Developer/CocoaStandard.sdef")
    path, found, told = find_include(include, standard())
    assert (path, found) == (STANDARD, standard()[STANDARD])
    assert told == f"/Developer/CocoaStandard.sdef was not found; {STANDARD} is used instead"
    assert find_include(include, {})[1] is None
    assert find_include(Include(""), standard())[2].startswith("an include without href")


def test_what_is_taken_in_is_told_at_the_line_of_the_include() -> None:
    path = "/suites.sdef"
    content = sdef(
        '\n\n\n<class name="a" code="aaaa"><property name="p" code="pppp" type="text"/>'
        '<property name="p" code="pppp" type="text"/></class>'
    )
    include = f'<xi:include href="file://{path}"/>'
    whole = sdef("").replace(
        b"<dictionary>",
        f'<dictionary xmlns:xi="http://www.w3.org/2001/XInclude">{include}'.encode(),
    )
    _, found = resolve_dictionary(source(read(whole)), {path: read(content, path)})
    assert [(one.file, one.line) for one in found if one.code == "repeated"] == [("app.sdef", 2)]


@pytest.mark.parametrize("xpointer", [
    "xpointer(//*[.//*[.//*[.//*]]])", f"xpointer({'/' * 2000})", "element(/1)",
    "xpointer(count(/dictionary))", "xpointer(/dictionary/suite[)", "xpointer($x)",
    "xpointer(\x00)", "xpointer(/dictionary)", "xpointer(/dictionary/suite/node())",
    "xpointer(/dictionary/suite/class[@name='window'])",
    "xpointer(/dictionary/suite/node()[not(self::command and @name = 'a')][1])",
    "xpointer(/dictionary/suite/node()[not(self::command and @code = 'a')])",
    "xpointer(/dictionary/suite/node()[not(self::class and @name = 'a')])",
    f"xpointer(/dictionary/suite/node()[not(self::command and @name = '{'a' * 1000}')])",
])  # fmt: skip
def test_an_xpointer_that_no_dictionary_needs_is_refused(xpointer: str) -> None:
    with pytest.raises(ValueError, match="xpointer"):
        select_included(read(sdef()), Include("", xpointer))


INCLUDE = '<{0}:include href="file:///x.sdef"/>'


def told(content: bytes) -> list[str]:
    return [f"{line}: {text}" for line, text in repair_xml(content)[1]]


def test_an_undeclared_prefix_of_an_include_is_xinclude() -> None:
    content = sdef(INCLUDE.format("xi"))
    dictionary, found = parse_dictionary(content, "app.sdef")
    text = "the prefix xi is not declared; taken as XInclude"
    assert [(one.line, one.code, one.message) for one in found] == [(3, "recovered", text)]
    (suite,) = dictionary.suites
    assert isinstance(suite, Suite)
    assert suite.items == (Include("file:///x.sdef", "", 3),)


def test_a_prefix_in_a_comment_and_a_root_in_a_comment_count_for_nothing() -> None:
    comment = b"<!-- <dictionary> <xi:include/> -->"
    bare = sdef(INCLUDE.format("xi")).partition(b"\n")[2]
    assert told(comment + sdef()) == []
    mended, _ = repair_xml(comment + bare)
    assert mended.startswith(comment)
    parse_dictionary(mended, "app.sdef")


def test_a_declared_prefix_or_several_are_left_alone() -> None:
    assert told(sdef(INCLUDE.format("a") + INCLUDE.format("b"))) == []
    declared = sdef(INCLUDE.format("xi")).replace(b"<dictionary", b'<dictionary xmlns:xi="urn:x"')
    assert told(declared) == []
    assert told(b"<xi:include/>") == []


def test_an_ampersand_that_begins_no_reference_is_itself() -> None:
    content = sdef(
        '<command name="stop & go" code="aaaabbbb"/>\n'
        "<!-- a & b --><documentation><![CDATA[ c & d ]]></documentation>\n"
        '<command name="R&D &amp; &#38; &#x26;" code="aaaacccc"/>'
    )
    mended, found = repair_xml(content)
    assert [line for line, _ in found] == [3, 5]
    dictionary, _ = parse_dictionary(mended, "app.sdef")
    assert [one.name for one in dictionary.declared_items()] == ["stop & go", "R&D & & &"]
    assert b"<!-- a & b -->" in mended


def test_blanks_before_the_declaration_keep_their_lines() -> None:
    content = b"\n \r\n" + sdef('<class name="bad" code="x"/>')
    mended, found = repair_xml(content)
    assert found == [(3, "blanks stand before the XML declaration; ignored")]
    assert [one.line for one in parse_dictionary(mended, "app.sdef")[1]] == [5]
    latin = b'\n<?xml version="1.0" encoding="latin-1"?><dictionary/>'
    assert repair_xml(latin) == (latin, [])


@pytest.mark.parametrize("content", [
    b"<dictionary><suite></dictionary>", b"<!-- & <xi:include/>", b"<![CDATA[ &", b"",
    b"\n<?xml never ends", sdef(),
])  # fmt: skip
def test_what_has_no_one_reading_is_left_alone(content: bytes) -> None:
    assert repair_xml(content) == (content, [])


@given(st.text(st.sampled_from("<>&!-[]CDAT;x: \n?xmli#/\"'="), max_size=80))
def test_whatever_comes_is_mended_once_and_for_all(text: str) -> None:
    content = text.encode()
    mended, found = repair_xml(content)
    assert (mended == content) == (not found)
    assert mended.count(b"\n") == content.count(b"\n")
    assert repair_xml(mended) == (mended, [])


@pytest.mark.slow
def test_a_file_made_to_be_slow_is_not() -> None:
    for part in (b"<!--", b"<![CDATA[", b"&", b"<x:include ", b"<!---->"):
        repair_xml(part * (2_000_000 // len(part)))


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_line_ends_in_any_of_three_ways(end: bytes) -> None:
    content = sdef('\n\n<class name="bad" code="x"/>').replace(b"\n", end)
    assert [one.line for one in parse_dictionary(normalize_line_ends(content), "app.sdef")[1]] == [
        5
    ]
