"""The grammar of references on class tables that nobody wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from language_helpers import parse_reference
from random_tables import chains, tables

from iac_base.errors import InvalidParameterError
from iac_base.text import escape_hidden
from iac_runtime.language.steps import AllElements, PropertyStep, Step
from iac_runtime.language.terms import code_key, find_properties
from iac_runtime.language.text import format_reference
from iac_runtime.tool import Class, Element, Property
from iac_runtime.tools.tables import Tables


@given(data=st.data(), known=tables())
def test_every_reference_survives_printing_and_parsing(data: st.DataObject, known: Tables) -> None:
    steps: tuple[Step, ...] = data.draw(chains(known))
    text = format_reference(steps)
    assert parse_reference(text, known).steps == steps
    assert parse_reference(format_reference(steps, 'Application("Random")'), known).steps == steps
    # What leaves for a model has hidden characters as escapes, and still means the same.
    assert parse_reference(escape_hidden(text), known).steps == steps
    assert text.isprintable() or not any(ch in text for ch in "\n\r\0")


@given(data=st.data(), known=tables(), junk=st.text("[](){}.,:\"'\\x0 -", max_size=6))
def test_a_damaged_reference_is_one_clear_line(
    data: st.DataObject, known: Tables, junk: str
) -> None:
    text = format_reference(data.draw(chains(known)))
    at = data.draw(st.integers(0, len(text)))
    try:
        parse_reference(text[:at] + junk + text[at:], known)
    except InvalidParameterError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize(
    "text",
    [
        "entries.whose(" * 2000,
        "entries.whose({a:" * 600 + "1" + "})" * 600,
        "entries.whose({_match:[ObjectSpecifier()"
        + ".entries.whose({_match:[ObjectSpecifier()" * 200,
        "entries[" + "9" * 9000 + "]",
        "entries.byId(" + "9" * 9000 + ")",
        "entries.whose({words: " + "9" * 9000 + "})",
        "entries.whose({words: 1e999})",
        "entries[1099511627776]",
        "entries.byId(9007199254740993)",
        "frontItem.__proto__",
        'frontItem[""].x',
        'entries.whose({container: "' + "journals.whose({owner: '\\\\\\\"" * 300,
        "\ud800",
        "entries['\ud800']x",
    ],
)
def test_what_is_meant_to_break_a_parser_is_one_clear_line(text: str, tables: Tables) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        parse_reference(text, tables)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("number", [2**31 - 1, -(2**31 - 1), 0, -1])
def test_positions_count_from_either_end(number: int, tables: Tables) -> None:
    assert parse_reference(f"entries[{number}]", tables).text == f"entries[{number}]"


def test_a_left_side_may_pick_and_filter_on_its_way(tables: Tables) -> None:
    text = (
        'journals.whose({_match: [ObjectSpecifier().entries[0].name, "x"]})'
        '.entries.whose({_match: [ObjectSpecifier().pictures.whose({name: "p"})[-1].name, "y"]})'
    )
    assert parse_reference(text, tables).text == text


class Named(Class):
    """A class as its table has it once the generator writes synonyms."""

    synonyms = ("item",)


def test_a_synonym_of_a_class_is_taken_and_printed_as_the_class() -> None:
    disk_item = Named("ditm", "diskItem", "diskItems", None, "SAFE", "SAFE")
    application = Class(
        "capp",
        "application",
        "applications",
        None,
        "SAFE",
        "SAFE",
        (),
        (Element("disk item", "r"),),
    )
    known = Tables(
        "files",
        None,  # type: ignore[arg-type]
        {"application": application, "disk item": disk_item},
        {},
        {},
        {},
    )
    for text in ("items[0]", "item[0]", "Items[0]", "diskItems[0]", "disk item[0]"):
        assert parse_reference(text, known).text == "diskItems[0]"


def test_a_term_without_letters_is_known_by_its_code_key() -> None:
    row = Property("%", "prct", "%", "integer", "rw", "SAFE")
    plain = Property("size", "ptsz", "size", "integer", "rw", "SAFE")
    application = Class("capp", "application", "applications", None, "SAFE", "SAFE", (plain, row))
    known = Tables("t", None, {"application": application}, {}, {}, {})  # type: ignore[arg-type]
    assert code_key("prct") == "code_70726374"
    for name in ("%", "code_70726374"):
        assert find_properties(("application",), name, known) == (row,)
    assert parse_reference('["%"]', known).steps == (PropertyStep("%"),)
    assert find_properties(("application",), "&", known) == ()


def test_names_are_taken_in_either_spelling_and_any_case(tables: Tables) -> None:
    for text in ("day books", "dayBooks", "DAYBOOKS", "Day Book", "journals"):
        steps = parse_reference(text, tables).steps
        assert isinstance(steps[0], AllElements)
