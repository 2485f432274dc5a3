"""Loading: what is no dictionary is said in one line; one bad item costs that item."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import read, sdef

from iac_gen import xml as loading
from iac_gen.model import Dictionary, Enumeration, SdefClass, SdefCommand
from iac_gen.text import sanitize_dictionary
from iac_gen.xml import LoadError, load_dictionary, parse_dictionary

DOCTYPE = '<!DOCTYPE dictionary SYSTEM "file://localhost/System/Library/DTDs/sdef.dtd"'


def fault(content: bytes) -> str:
    with pytest.raises(LoadError) as caught:
        parse_dictionary(content, "app.sdef")
    text = str(caught.value)
    assert "\n" not in text
    return text


def only(dictionary: Dictionary) -> list[object]:
    return list(dictionary.declared_items())


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "app.sdef: error: is empty"),
        (b" \n\t ", "app.sdef: error: is empty"),
        (b"<dictionary>\n<suite name='a'>\n<command", "app.sdef:3: error: is not well-formed XML"),
        (b"<dictionary>\n<suite>\n</dictionary>", "app.sdef:3: error: is not well-formed XML"),
        (b"just text", "app.sdef:1: error: is not well-formed XML"),
        (b"\n\n<html/>", "contains <html> instead of <dictionary>"),
        (b"<dictionary/>", "app.sdef:1: error: declares no suite"),
        (b"<dictionary><documentation/></dictionary>", "declares no suite"),
        (b"<dictionary xmlns:a='x'><xi:other/></dictionary>", "is not well-formed XML"),
        (b"\xff\xfe\x00", "is not well-formed XML"),
    ],
)
def test_what_is_no_dictionary_is_refused_in_one_line(content: bytes, expected: str) -> None:
    assert expected in fault(content)


@pytest.mark.parametrize(
    "entity",
    [
        '<!ENTITY a "b">',
        '<!ENTITY a SYSTEM "file:///etc/hosts">',
        '<!ENTITY % a SYSTEM "file:///etc/hosts">',
        '<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">',
    ],
)
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


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("ID  ", "ID  "),
        ("yes ", "yes "),
        (" a b", " a b"),
        ("0x00000001", "\x00\x00\x00\x01"),
        ("0x72696e67", "ring"),
        ("0X80818283", "ÄÅÇÉ"),
        ("¶Fcn", "¶Fcn"),
        ("?ß??", "?ß??"),
        ("&lt;&gt;&amp;'", "<>&'"),
        ("****", "****"),
    ],
)
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


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ('<property name="p" code="x" type="text"/>', "property p of entry has the code 'x'"),
        ('<property code="prop" type="text"/>', "a property of entry without a name"),
        ("<element/>", "an element of entry without a type"),
    ],
)
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
