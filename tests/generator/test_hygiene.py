"""Hygiene: nothing that cannot be seen gets past loading, and each loss is told and counted."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from dictionaries import ANY_TEXT, DICTIONARIES, HOSTILE
from hypothesis import given
from hypothesis import strategies as st
from making import sdef

from iac_gen.model import (
    Dictionary,
    Enumeration,
    Enumerator,
    RecordType,
    SdefClass,
    SdefCommand,
    SdefParameter,
    SdefProperty,
    Source,
    Suite,
    Synonym,
    TypeRef,
)
from iac_gen.resolve import ResolvedDictionary
from iac_gen.text import (
    clean_text,
    count_invisible,
    is_plain,
    on_one_line,
    sanitize_dictionary,
)
from iac_gen.types import AppTypes
from iac_gen.xml import parse_dictionary

CODES = ("code", "file", "digest", "href", "xpointer")


def texts(value: Any) -> list[str]:
    """Return every text of a dictionary that is no code."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, tuple):
        return [text for item in value for text in texts(item)]
    if not hasattr(value, "__dataclass_fields__"):
        return []
    slots = (one.name for one in fields(value))
    return [text for slot in slots if slot not in CODES for text in texts(getattr(value, slot))]


def count_removed(dictionary: Dictionary) -> int:
    """Return how many characters of a dictionary cannot be seen."""
    return sum(count_invisible(text) for text in texts(dictionary))


@given(DICTIONARIES)
def test_a_screened_dictionary_is_clean_throughout(dictionary: Dictionary) -> None:
    found, told = sanitize_dictionary(dictionary)
    assert [text for text in texts(found) if clean_text(text) != text] == []
    assert sanitize_dictionary(found) == (found, [])
    assert count_removed(found) == 0
    assert all("\n" not in str(one) and clean_text(str(one)) == str(one) for one in told)
    counts = [int(one.message.split()[0]) for one in told if one.code == "cleaned"]
    assert sum(counts) == count_removed(dictionary)
    assert (found == dictionary) or told or any(clean_text(t) != t for t in texts(dictionary))


SLOTS = (
    '<command name="go" code="diargogo" description="@">\n'
    '<direct-parameter type="text" description="@"/>\n'
    '<parameter name="aloud" code="alou" type="text" description="@"/>\n'
    '<synonym name="run@"/></command>\n'
    '<class name="en@try" code="entr" plural="entri@es" description="@">\n'
    '<property name="mo@od" code="mood" type="te@xt" description="@"/></class>\n'
    '<enumeration name="mo@od" code="mood">\n<enumerator name="gl@ad" code="glad"/></enumeration>'
)


def test_each_item_is_told_once_with_its_line_and_its_count() -> None:
    dictionary, told = parse_dictionary(sdef(SLOTS.replace("@", "&#x200b;&#x202e;")), "app.sdef")
    warnings = [one for one in told if one.code == "cleaned"]
    assert [(one.line, one.level, one.message) for one in warnings] == [
        (3, "warning", "4 invisible characters removed from command go"),
        (4, "warning", "2 invisible characters removed from the direct parameter"),
        (5, "warning", "2 invisible characters removed from parameter aloud"),
        (7, "warning", "6 invisible characters removed from class entry"),
        (8, "warning", "6 invisible characters removed from property mood"),
        (9, "warning", "2 invisible characters removed from enumeration mood"),
        (10, "warning", "2 invisible characters removed from enumerator glad"),
    ]
    raw, _ = parse_dictionary(
        sdef(SLOTS.replace("@", "&#x200b;&#x202e;")), "app.sdef", as_written=True
    )
    assert count_removed(raw) == 24
    assert sanitize_dictionary(raw)[0] == dictionary


def test_the_title_counts_too_and_one_is_no_plural() -> None:
    text = sdef().replace(b"<dictionary>", '<dictionary title="A\u200b">'.encode())
    dictionary, (told,) = parse_dictionary(text, "app.sdef")
    assert dictionary.title == "A"
    assert str(told) == "app.sdef: warning: 1 invisible character removed from the title [cleaned]"


@pytest.mark.parametrize("bad", ["&#x7f;", "&#x85;x&#x9b;", "\x9f"])
def test_a_control_character_in_a_name_costs_the_item_with_its_line(bad: str) -> None:
    items = f'<class name="kept" code="kept"/>\n<class name="a{bad}b" code="lost"/>'
    dictionary, told = parse_dictionary(sdef(items), "app.sdef")
    assert [getattr(one, "code", "") for one in dictionary.declared_items()] == ["kept"]
    (error,) = (one for one in told if one.level == "error")
    assert (error.file, error.line, error.code) == ("app.sdef", 4, "name")
    assert error.message.endswith(
        "has a control character or half of one in its name; it is left out"
    )


def test_half_a_character_costs_what_it_stands_in() -> None:
    half = "a\ud800b"
    command = SdefCommand(
        "go",
        "diargogo",
        direct=SdefParameter("", "----", (TypeRef("text"),), description=half),
        parameters=(SdefParameter(half, "para", ()), SdefParameter("kept", "kept", ())),
        synonyms=(Synonym(half), Synonym("run")),
        description=half,
    )
    lost = SdefClass(half, "lost")
    (suite,) = sanitize_dictionary(_one(command, lost))[0].suites
    assert isinstance(suite, Suite)
    (kept,) = suite.items
    assert isinstance(kept, SdefCommand)
    assert kept.description == ""
    assert kept.direct is not None
    assert kept.direct.description == ""
    assert [one.name for one in kept.parameters] == ["kept"]
    assert kept.synonyms == (Synonym("run"),)


def test_a_suite_is_not_lost_for_its_title() -> None:
    dictionary = Dictionary("a", "0", "", (Suite("\x00", "diar", (SdefClass("row", "rowr"),)),))
    (suite,) = sanitize_dictionary(dictionary)[0].suites
    assert isinstance(suite, Suite)
    assert (suite.name, len(suite.items)) == ("", 1)


def _one(*items: Any) -> Dictionary:
    return Dictionary("app.sdef", "0", "", (Suite("S", "diar", items),))


def test_real_dictionaries_hold_nothing_to_remove(corpus: Path) -> None:
    for path in sorted((corpus / "sdef").glob("*.sdef")):
        dictionary, told = parse_dictionary(path.read_bytes(), path.name)
        assert count_removed(dictionary) == 0
        assert [one for one in told if one.code in ("cleaned", "name")] == []


@given(ANY_TEXT | st.sampled_from(HOSTILE))
def test_what_passes_for_plain_is_clean(text: str) -> None:
    content = text.encode("utf-8", "surrogatepass")
    if is_plain(content):
        assert clean_text(text) in (text, "".join(ch for ch in text if ch >= " "))
    assert not is_plain(b"&#x200b;")
    assert not is_plain("\u200b".encode())
    assert not is_plain(b"\xff")
    assert is_plain("caf\u00e9 \u65e5".encode())


@given(ANY_TEXT | st.sampled_from(HOSTILE))
def test_a_message_holds_foreign_text_on_one_short_line(text: str) -> None:
    line = on_one_line(text, 40)
    assert clean_text(line) == line
    assert len(line) <= 40


def test_long_and_doubled_values_leave_a_schema() -> None:
    values = ["a", "a\u200b", "b" * 61, "b" * 60, "\u202e"]
    some = Enumeration("some", "some", enumerators=tuple(Enumerator(one, "valu") for one in values))
    none = Enumeration("none", "none", enumerators=(Enumerator("c" * 61, "valu"),))
    fields = (SdefProperty("enum", "enum", (TypeRef("some"),)),)
    resolved = ResolvedDictionary(
        Source(Dictionary("app.sdef", ""), "App", "local.app", "app"),
        enumerations=(some, none),
        records=(RecordType("row", "rowr", properties=fields),),
    )
    types = AppTypes(resolved, {})
    short = {"type": "string", "enum": ["a", "b" * 60]}
    assert types.json_schema("some") == short
    listed = {"type": "array", "items": short}
    assert types.json_schema("list of some | number") == {"anyOf": [listed, {"type": "number"}]}
    assert types.json_schema("row")["properties"] == {"enum": short}
    assert types.json_schema("none") == {"type": "string"}
