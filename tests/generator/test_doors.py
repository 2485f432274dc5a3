"""The three doors: whatever a dictionary says, a module stays a module of the same shape."""

import ast
import json
import unicodedata
from typing import Any

import jinja2
import pytest
from dictionaries import ANY_TEXT, HOSTILE
from hypothesis import example, given
from hypothesis import strategies as st
from making import build, is_black, source

from iac_gen.descriptions import docstring, end_sentence
from iac_gen.model import (
    Dictionary,
    Enumeration,
    Enumerator,
    RecordType,
    SdefClass,
    SdefCommand,
    SdefElement,
    SdefParameter,
    SdefProperty,
    Source,
    Suite,
    TypeRef,
)
from iac_gen.text import (
    SourceText,
    clean_json,
    clean_text,
    exact_literal,
    finalize,
    identifier,
    literal,
)
from iac_gen.text import (
    count_invisible as removed,
)
from iac_gen.verify_output import verify_source

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(ANY_TEXT, inner, max_size=3)
    ),
    max_leaves=8,
)
INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def expected(value: Any) -> Any:
    """Return `value` with all its text cleaned, tuples kept."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(key): expected(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(expected(item) for item in value)
    return value


def hostile(test: Any) -> Any:
    for text in HOSTILE:
        test = example(text)(test)
    return test


@hostile
@given(ANY_TEXT)
def test_a_text_literal_evaluates_to_the_cleaned_text(text: str) -> None:
    door = literal(text)
    assert door.isascii()
    assert door.isprintable()
    assert ast.literal_eval(door) == clean_text(text)


@given(VALUES)
def test_any_literal_evaluates_to_the_cleaned_value(value: Any) -> None:
    assert ast.literal_eval(literal(value)) == expected(value)


def test_a_number_with_a_point_is_a_literal_too() -> None:
    assert literal(0.5) == "0.5"


@pytest.mark.parametrize("value", [object(), {1, 2}, lambda: 1, 1j, [object()]])
def test_what_has_no_literal_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="has no literal"):
        literal(value)


@hostile
@given(ANY_TEXT)
def test_cleaned_text_holds_nothing_invisible(text: str) -> None:
    assert not [ch for ch in clean_text(text) if unicodedata.category(ch) in INVISIBLE]
    assert clean_json({text: [text, 1]}) == {clean_text(text): [clean_text(text), 1]}


@pytest.mark.parametrize(
    "ch",
    "\u200b\u200f\u202e\u2060\u2066\u00ad\ufeff\u180e\u061c\u115f\u1160\u3164\uffa0\ufe0f"
    "\U000e0100\U000e0041\ud800\x00\x1b\n\t\u2028",
)
def test_each_invisible_character_is_dropped(ch: str) -> None:
    assert clean_text(f"a{ch}b") == "ab"


@hostile
@given(ANY_TEXT)
def test_what_is_clean_stays_as_it_is(text: str) -> None:
    assert clean_text(clean_text(text)) == clean_text(text)
    assert removed(clean_text(text)) == 0
    assert unicodedata.is_normalized("NFC", clean_text(text))


def test_what_is_dropped_is_counted() -> None:
    assert removed("plain text") == removed("G\u00f6del") == removed("e\u0301") == 0
    assert removed("a\u200bb\u202e\n") == 3
    # A letter and its accent meet when what stood between them is gone.
    assert clean_text("e\u200b\u0301") == "\u00e9"
    assert clean_text("o" + "\u0323\u0323\u0323\u0323\u0323\u0323\u0323") == "\u1ecd" + "\u0323" * 4


@hostile
@given(ANY_TEXT)
def test_codes_are_byte_exact(text: str) -> None:
    door = exact_literal(text)
    assert door.isascii()
    assert ast.literal_eval(door) == text


@hostile
@example('"""')
@example("ends in \\")
@example('"quoted"')
@example("Gr\u00f6\u00dfenrechner \u65e5\u672c\u8a9e (100 = 100%) {x} *y* `z` </b>")
@given(ANY_TEXT)
def test_a_docstring_has_its_words_character_for_character(text: str) -> None:
    words = end_sentence(" ".join(clean_text(" ".join(text.split())).split()))
    code = f"def tool():\n    {docstring(words)}\n"
    tree = ast.parse(code)
    assert isinstance(tree.body[0], ast.FunctionDef)
    assert " ".join((ast.get_docstring(tree.body[0]) or "").split()) == words
    # Where a word is longer than a line, black itself lays it out (`render`).
    assert is_black(code) or max(map(len, words.split())) > 90


@pytest.mark.parametrize("name", ["a", "A", "in_", "n360p", "get_url", "a" * 64])
def test_an_identifier_passes(name: str) -> None:
    assert identifier(name) == name


@pytest.mark.parametrize(
    "name", ["", "_a", "1a", "a b", "a.b", "a-b", "é", "a\n", "\u0456mport", "a" * 65, *HOSTILE]
)
def test_what_is_no_identifier_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not an identifier"):
        identifier(name)


@given(ANY_TEXT)
def test_only_plain_names_are_identifiers(text: str) -> None:
    try:
        name = identifier(text)
    except ValueError:
        return
    assert name.isascii()
    assert name.isidentifier()


def test_a_template_prints_what_came_through_a_door_and_nothing_else() -> None:
    environment = jinja2.Environment(finalize=finalize, undefined=jinja2.StrictUndefined)
    template = environment.from_string("{{ value }}")
    assert template.render(value=SourceText("words")) == "words"
    for bare in ("words", 7, None):
        with pytest.raises(TypeError, match="was not made by"):
            template.render(value=bare)
    with pytest.raises(jinja2.UndefinedError, match="'value' is undefined"):
        template.render()


def app_that_says(text: str) -> Source:
    """Return an app whose every text slot holds `text`."""
    term = f"Ab {text} c"
    kinds = (TypeRef(term),)
    body = SdefProperty(term, "body", (TypeRef("text"),), description=text)
    entry = SdefClass(
        term,
        "entr",
        id=text,
        plural=f"Abs {text} c",
        properties=(
            body,
            SdefProperty("password", "pass", (TypeRef("text"),)),
            SdefProperty("bounds", "pbnd", (TypeRef("rectangle"),)),
        ),
        elements=(SdefElement(term),),
        description=text,
    )
    mood = f"Mood {text} c"
    record = f"Row {text} c"
    command = SdefCommand(
        term,
        "diargogo",
        id=text,
        direct=SdefParameter("", "----", kinds, description=text),
        parameters=(
            SdefParameter(term, "para", (TypeRef(mood),), True, description=text),
            SdefParameter(f"{term} d", "parb", (TypeRef(record),), True),
        ),
        result=kinds,
        access_groups=(text,),
        description=text,
    )
    make = SdefCommand("make", "corecrel", description=text)
    items = (
        entry, command, make,
        Enumeration(mood, "mood", enumerators=(Enumerator(term, "valu"),), description=text),
        RecordType(record, "reco", properties=(body,)),
    )  # fmt: skip
    dictionary = Dictionary("app.sdef", "0" * 64, text, (Suite(text, "diar", items),))
    return Source(dictionary, f"Ab {text}", f"com.example.{text}", text, text)


def shape(text: str) -> list[type]:
    """Return the node types of a module, without what may follow from a word.

    That is a ceiling, and the list of terms whose JavaScript name nobody has seen.
    """
    tree = ast.parse(text)
    tree.body = [one for one in tree.body if "UNVERIFIED" not in ast.unparse(one)[:10]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.keywords = [one for one in node.keywords if one.arg != "ceiling"]
    return [type(node) for node in ast.walk(tree)]


def module_that_says(text: str) -> tuple[str, str]:
    files = build(app_that_says(text))
    (name,) = (one for one in files if f"{one[:-3]}_objects.py" in files)
    return files[name], files["listing.jsonl"]


PLAIN = shape(module_that_says("a")[0])
# No schema offers a class or a value of a long name.
LONG = shape(module_that_says("a" * 5000)[0])


@pytest.mark.sweep
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_changes_no_shape(text: str) -> None:
    source_text, listing = module_that_says(text)
    assert clean_text(source_text) == source_text.replace("\n", "")
    assert list(verify_source(source_text)) == []
    compile(source_text, "app.py", "exec")
    assert shape(source_text) == (LONG if len(text) > 1000 else PLAIN)
    assert is_black(source_text)
    assert listing.isascii()
    for line in listing.splitlines():
        entry = json.loads(line)
        assert entry == clean_json(entry)


def names_a_type(text: str) -> bool:
    """Say whether a term of this text is another type by right: `list`, `record`, `a | b`."""
    return "|" in text or any(word in text.lower() for word in ("list", "any", "record", "point"))


@given(ANY_TEXT.filter(lambda text: not names_a_type(text)))
def test_no_text_changes_the_shape(text: str) -> None:
    assert shape(module_that_says(text)[0]) == PLAIN


def test_a_module_of_plain_text_is_what_the_shape_was_taken_from() -> None:
    assert PLAIN.count(ast.FunctionDef) == 6
    assert len(build(source())) == 7
