"""The grammar of references on class tables that nobody wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from language_helpers import parse_reference, read_filter
from random_tables import chains, tables

from iac_base.errors import InvalidParameterError
from iac_base.text import escape_hidden
from iac_runtime.language.reader import AppReader
from iac_runtime.language.steps import (
    AllElements,
    ById,
    ByIndex,
    ByName,
    Compare,
    DateValue,
    Join,
    PropertyStep,
    Step,
)
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


# References: what is accepted, what it means, and that its text comes back as the same.


@pytest.mark.parametrize(("text", "canonical"), [
    ("", "application"), ("application", "application"), ('Application("Diary")', "application"),
    ('Application("com.example.Diary").journals[0]', "journals[0]"),
    ("Application.currentApplication().journals[0]", "journals[0]"),
    ("application.journals[0]", "journals[0]"), ("journals", "journals"),
    ("journal[0]", "journals[0]"), ("JOURNALS['Work']", 'journals["Work"]'),
    ('journals.byName("Work").entries.at(2)', 'journals["Work"].entries[2]'),
    ("journals.byId('j1')", 'journals.byId("j1")'), ("entries.byId(3)", "entries.byId(3)"),
    ("entries.first", "entries[0]"), ("entries.last", "entries[-1]"),
    ("entries[-1]", "entries[-1]"), ("entries[0].creation date", "entries[0].creationDate"),
    ("entries[0].creationDate()", "entries[0].creationDate"), ("entries[0].URL", "entries[0].url"),
    ("entries[0].container.entries", "entries[0].container.entries"),
    ("journals.entries.name", "journals.entries.name"), ("today.entries.end", "today.entries.end"),
    ("today.end", "today.end"), ("journals[0].entries.beginning", "journals[0].entries.beginning"),
    ("entries[0].class", "entries[0].class"),
    ("entries.whose({'is private': false})", "entries.whose({isPrivate: false})"),
    ("entries.where({mood: 'HAPPY'})[0]", 'entries.whose({mood: "happy"})[0]'),
    ("entries.whose({name: {_beginsWith: 'a'}, words: {'>': 3}})",
     'entries.whose({_and: [{name: {_beginsWith: "a"}}, {words: {">": 3}}]})'),
    ("entries.whose({_match: [ObjectSpecifier().container.name, 'x']})",
     'entries.whose({_match: [ObjectSpecifier().container.name, "x"]})'),
    ("entries.whose({_match: [ObjectSpecifier().creationDate, "
     "{'<': new Date('2026-01-01T00:00:00Z')}]})",
     'entries.whose({creationDate: {"<": new Date("2026-01-01T00:00:00.000Z")}})'),
    ("entries.whose({_not: [{name: 'x'}]})", 'entries.whose({_not: [{name: "x"}]})'),
    ("entries.whose({name: 'x'}).entries.at(0)", 'entries.whose({name: "x"})[0]'),
    ("frontItem.anything at all[3].more", "frontItem.anythingAtAll[3].more"),
    ('journals["a\\"b\\n"]', 'journals["a\\"b\\n"]'),
    (" journals [ 0 ] . name ", "journals[0].name"), ("dayBooks[0]", "dayBooks[0]"),
])  # fmt: skip
def test_a_reference_is_understood_and_printed_as_jxa(
    text: str, canonical: str, tables: Tables
) -> None:
    found = parse_reference(text, tables)
    assert found.text == canonical
    assert parse_reference(canonical, tables).steps == found.steps


@pytest.mark.parametrize(("text", "words"), [
    ("entrys[0]", ['"entrys" is not a property or element of application', "entries"]),
    ("entries[0].nam", ["of entry", "Nearest: name"]),
    ("entries[0].name.first", ["nothing can follow", "name", "text"]),
    ("journals[0][1]", ["journals[0] is one object"]),
    ("selection[0]", ["selection is a list", "Read it with get"]),
    ("journals[", ["character 10", "expected"]), ("journals[1.5]", ["whole number"]),
    ('journals["x', ["quote is not closed"]), ("journals[0]]", ["character 12"]),
    ("journals..name", ["character 10"]), ("journals.byId({})", ["byId", "text or a whole number"]),
    ("journals.at('x')", ["whole number"]), ("journals.byName(1)", ["needs a text"]),
    ("journals.eval('x')", [".whose("]), ("journals.end.name", ["Nothing can follow"]),
    ("journals.whose({})", ["at least one property"]),
    ("journals.whose({nam: 'x'})", ['"nam" is not a property of journal', "name"]),
    ("journals.whose({name: {like: 'x'}})", ['"like" is not a comparison']),
    ("journals.whose({_and: []})", ["contains no condition"]),
    ("journals.whose({_match: 3})", ["_match must be"]),
    ("journals.whose({name: new Date(3)})", ["date in quotes"]),
    ("journals.whose({name: process})", ["a value"]),
    ("entries.whose({creationDate: 'soon'})", ["not a date"]),
    ("entries.whose({mood: 'sad'})", ["not a mood", "Known"]), ("#", ["out of place"]),
    ("x" * 10_001, ["longer than"]), ("a" + ".b" * 70, ["64 steps"]),
    ("entries.whose(" + "[" * 20 + "]" * 20 + ")", ["nested deeper"]),
    ("Application(x)", ["name in quotes"]),
])  # fmt: skip
def test_a_wrong_reference_is_told_in_one_line_with_the_way_out(
    text: str, words: list[str], tables: Tables
) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        parse_reference(text, tables)
    said = str(caught.value)
    assert "\n" not in said
    for word in words:
        assert word in said


def test_what_follows_an_object_of_any_class_is_not_checked(tables: Tables) -> None:
    found = parse_reference('front item.strange things["x"].wild', tables)
    assert found.steps == (
        PropertyStep("frontItem"), AllElements("strangeThings"), ByName("x"), PropertyStep("wild"),
    )  # fmt: skip
    assert found.classes is None


def test_a_property_of_a_subclass_is_known_where_the_class_may_be_it(tables: Tables) -> None:
    assert parse_reference("journals[0].owner", tables).classes == ()
    assert parse_reference("entries[0].container.owner", tables).steps[-1] == PropertyStep("owner")


def test_an_answer_may_name_what_the_dictionary_lacks(tables: Tables) -> None:
    found = parse_reference("secrets.byId(7).thing", tables, strict=False)
    assert found.steps == (AllElements("secrets"), ById(7), PropertyStep("thing"))


def test_filters_take_json_in_either_spelling(tables: Tables) -> None:
    raw = {"or": [{"Name": {"starts with": "a"}}, {"words": {"!=": 3}}], "not": {"isPrivate": True}}
    assert read_filter(raw, ("entry",), tables) == Join(
        "and",
        (
            Join(
                "or",
                (
                    Compare((PropertyStep("name"),), "_beginsWith", "a"),
                    Join("not", (Compare((PropertyStep("words"),), "=", 3),)),
                ),
            ),
            Join("not", (Compare((PropertyStep("isPrivate"),), "=", True),)),
        ),
    )


def test_a_key_of_a_filter_may_lead_on(tables: Tables) -> None:
    found = read_filter({"Pictures[0].name": "x", "container.owner": "y"}, ("entry",), tables)
    assert found == Join(
        "and",
        (
            Compare((AllElements("pictures"), ByIndex(0), PropertyStep("name")), "=", "x"),
            Compare((PropertyStep("container"), PropertyStep("owner")), "=", "y"),
        ),
    )
    for key in ("container.nam", "pictures[0", "pictures.end", "nam.x", "entries[0]"):
        with pytest.raises(InvalidParameterError) as caught:
            read_filter({key: 1}, ("entry",), tables)
        assert "\n" not in str(caught.value)


def test_a_filter_compares_dates_as_dates(tables: Tables) -> None:
    found = read_filter({"creation date": {"after": "2026-03-09T00:00:00Z"}}, ("entry",), tables)
    assert found == Compare((PropertyStep("creationDate"),), ">", DateValue(1773014400000))


def problem(text: str, tables: Tables) -> str:
    """Return what is said of a text that is no reference; empty for one that is."""
    try:
        parse_reference(text, tables)
    except InvalidParameterError as error:
        return str(error)
    return ""


@given(text=st.text())
def test_any_text_is_a_reference_or_one_clear_line(text: str, tables: Tables) -> None:
    assert "\n" not in problem(text, tables)


def test_a_number_with_zeros_before_it_is_refused_in_one_line(tables: Tables) -> None:
    assert problem("entries[00]", tables).startswith('"00" is not a number.')


@given(text=st.text(alphabet="entris[]().\"'{}0-1 :_,$\\u"))
def test_near_references_never_escape_as_another_error(text: str, tables: Tables) -> None:
    assert "\n" not in problem("entries" + text, tables)


@pytest.mark.parametrize(
    "app", ["Diary", "diary", "com.example.Diary", "/Applications/Diary.app", "DIARY"]
)
def test_a_reference_may_begin_with_its_own_app(tables: Tables, app: str) -> None:
    found = AppReader(tables).read_reference(f'Application("{app}").journals[0]')
    assert found.text == "journals[0]"


def test_a_reference_of_another_app_is_not_taken_for_one_of_this(tables: Tables) -> None:
    with pytest.raises(
        InvalidParameterError, match='belongs to "Ledger", and this call goes to Diary'
    ):
        AppReader(tables).read_reference("Application('Ledger').journals[0]")
    # What the app itself answers may call it by the name of another language.
    own = AppReader(tables, strict=False).read_reference('Application("Tagebuch").journals[0]')
    assert own.text == "journals[0]"
