"""XML that has exactly one reading is mended; what has several is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import sdef

from iac_gen.model import Include, Suite
from iac_gen.xml import normalize_line_ends, parse_dictionary, repair_xml

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
