"""The table of types: what it says of a type holds wherever a value of it is read or checked."""

import json
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from language_helpers import HOME, marshal
from simulated import TOOLS

from iac_base.errors import InvalidParameterError
from iac_base.secrets import OPEN_TYPES, is_secret
from iac_runtime.execution.executor import Executor
from iac_runtime.language.steps import (
    AllElements,
    Boundary,
    ByIndex,
    ByName,
    Column,
    DateValue,
    Event,
    EventOp,
    PathValue,
    PropertyStep,
    RecordValue,
    RefValue,
    Step,
)
from iac_runtime.language.text import jxa_line
from iac_runtime.tool import App, Class, Element, Property
from iac_runtime.tools.checking import accepts_value
from iac_runtime.tools.own import META_TOOLS, OWN_TOOLS, added_tools
from iac_runtime.tools.tables import Tables
from iac_runtime.types import CODES, SPELLINGS, TYPES, Alternative, find_type, parse_type
from iac_simulator import Simulator

ROWS = (Property("name", "pnam", "name", "text", "rw", "MODIFY"),)
TABLES = Tables(
    "notes",
    App("com.apple.Notes", "Notes"),
    {"application": Class("capp", "application", "applications", None, "SAFE", "SAFE", ROWS)},
    {},
    {},
    {},
)


@pytest.mark.parametrize("name", [name for name, row in TYPES.items() if row.example is not None])
def test_the_example_of_a_type_is_read(name: str) -> None:
    marshal(TYPES[name].example, name, TABLES)


@pytest.mark.parametrize("name", [*TYPES, *(a for row in TYPES.values() for a in row.aliases)])
def test_every_type_is_read_or_refused_in_one_line(name: str) -> None:
    for value in ("name", 1, True, [1, 0, 0], {}):
        try:
            marshal(value, name, TABLES)
        except InvalidParameterError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("name", TYPES)
def test_what_cannot_hold_a_secret_is_not_taken_for_one(name: str) -> None:
    assert is_secret("password", name) is (name not in OPEN_TYPES)


def test_types_that_hold_no_secret_are_types() -> None:
    assert TYPES.keys() >= OPEN_TYPES


def test_spellings_and_codes_mean_types_that_there_are() -> None:
    meant = {*SPELLINGS.values(), *CODES.values()}
    assert {kind.name for text in meant for kind in parse_type(text)} <= TYPES.keys()
    assert all(len(code) == 4 for code in CODES)


def test_an_older_module_may_call_a_type_otherwise() -> None:
    assert find_type("alias") is TYPES["file"]
    assert find_type("note") is None


def test_one_grammar_names_alternatives_and_lists() -> None:
    assert parse_type("list of note | missing value") == (
        Alternative("note", many=True),
        Alternative("missing value"),
    )
    assert parse_type("list of text|number")[:2] == (
        Alternative("text", many=True),
        Alternative("number", many=True),
    )
    assert parse_type("") == (Alternative("any"),)


# Arguments to tagged values: by declared type, and in unions by form.


WORK = RefValue((AllElements("journals"), ByName("Work")))


@pytest.mark.parametrize(
    ("value", "kind", "tagged"),
    [
        ("hi", "text", "hi"),
        (3, "integer", 3),
        (3.0, "integer", 3),
        (3.5, "real", 3.5),
        (True, "boolean", True),
        (None, "text", None),
        (None, "missing value", None),
        ("2026-03-09T14:30:00Z", "date", DateValue(1773066600000)),
        ("2026-03-09T14:30:00+02:00", "date", DateValue(1773059400000)),
        ("~/a.txt", "file", PathValue("/Users/me/a.txt")),
        ("/tmp//x/../y/", "alias", PathValue("/tmp/y")),
        ("~", "file", PathValue("/Users/me")),
        ('journals["Work"]', "specifier", WORK),
        ('journals["Work"]', "journal", WORK),
        ("journals", "location specifier", RefValue((AllElements("journals"), Boundary("end")))),
        ("/tmp/x", "location specifier", PathValue("/tmp/x")),
        ("Not So Happy", "mood", "not so happy"),
        ("nhap", "mood", "not so happy"),
        ("quicktimeMovie", "mood", "QuickTime movie"),
        ("day book", "type", "dayBook"),
        ("DayBooks", "class", "dayBook"),
        ("TIFF", "type", "TIFF"),
        ("creation date", "property", "creationDate"),
        (["a", "b"], "list of text", ("a", "b")),
        (
            [["/a"], ["/b", "/c"]],
            "list of list of file",
            ((PathValue("/a"),), (PathValue("/b"), PathValue("/c"))),
        ),
        ("a", "list of text", ("a",)),
        (["/a", "/b"], "file", (PathValue("/a"), PathValue("/b"))),
        ([1, [2, "x"]], "any", (1, (2, "x"))),
        ({"x": 1, "y": 2}, "point", RecordValue((("x", 1), ("y", 2)))),
        ([10, 20], "point", (10, 20)),
        ([0, 0.5, 1], "RGB color", (0, 0.5, 1)),
        (
            {"height": 4, "x": 1, "y": 2.5, "width": 3},
            "rectangle",
            RecordValue((("x", 1), ("y", 2.5), ("width", 3), ("height", 4))),
        ),
        (["HAPPY", "nhap"], "list of mood", ("happy", "not so happy")),
        ({"a": {"b": None}}, "any", RecordValue((("a", RecordValue((("b", None),))),))),
        (2**53, "integer", 2**53),
        (1e300, "real", 1e300),
        ("raw", "data", "raw"),
        ({"read It": "x"}, "record", RecordValue((("readIt", "x"),))),
        ({"creation date": 1}, "record", RecordValue((("creationDate", 1),))),
        (
            {"page count": 2, "mood": "HAPPY"},
            "export settings",
            RecordValue((("pageCount", 2), ("mood", "happy"))),
        ),
        # Unions, by form.
        ("~/x", "text | file", PathValue("/Users/me/x")),
        ("x", "text | file", "x"),
        ("2026-03-09T00:00:00Z", "text | date", DateValue(1773014400000)),
        ("tomorrow", "text | date", "tomorrow"),
        ('journals["Work"]', "text | journal", WORK),
        ("today", "text | journal", RefValue((PropertyStep("today"),))),
        ("name", "text | specifier", "name"),
        ("happy", "text | mood", "happy"),
        ("HAPPY", "mood | journal", "happy"),
        ('journals["Work"]', "mood | journal", WORK),
        ("/x", "journal | file", PathValue("/x")),
        ('journals["Work"]', "journal | file", WORK),
        ("2026-03-09T00:00:00Z", "date | journal", DateValue(1773014400000)),
        (3, "text | integer", 3),
        (["a"], "text | list of text", ("a",)),
        ("a", "text | list of text", "a"),
        ([1, 2], "list of text | list of integer", (1, 2)),
    ],
)
def test_a_value_is_read_as_its_type_says(
    value: Any, kind: str, tagged: Any, tables: Tables
) -> None:
    assert marshal(value, kind, tables, HOME) == tagged


@pytest.mark.parametrize(("value", "kind", "words"), [
    (3, "text", "must be a text"), ("3", "integer", "must be a number"),
    (True, "integer", "must be a number"), (2.5, "integer", "whole number"),
    (float("inf"), "real", "a number"), ("yes", "boolean", "true or false"),
    ("03/09/2026", "date", "Write 2026-03-09 or 2026-09-03"), ("0001-01-01", "text | date", ""),
    ("a.txt", "file", "not an absolute path"), ("/a\0b", "file", "NUL"),
    ("sad", "mood", "is not a mood"), ("happi", "mood", "Nearest: happy"),
    ("jornal", "class", "Nearest: journal"), ("jornals[0]", "journal", "Nearest: journals"),
    ({"pages": 1}, "export settings", "Nearest: page count"),
    ("x", "export settings", "must be an object"), ("x", "missing value", "must be null"),
    ({"__proto__": 1}, "record", "not the name of a field"), (["x"], "text", "must be a text"),
    ([0, 1], "RGB color", "is not a colour"), ([65535, 0, 0], "RGB color", "from 0 to 1"),
    ([True, 0, 0], "color", "from 0 to 1"), ([0, 0, 1, 1], "rectangle", "is not a rectangle"),
    ({"x": 0, "y": 0, "width": 1}, "rectangle", "Write"), (2**53 + 1, "integer", "2\\^53"),
    (float(2**60), "integer", "2\\^53"), (10**400, "any", "2\\^53"),
    (float("nan"), "any", "a number"), ({"a b": 1, "aB": 1}, "record", "given twice"),
    ({"": 1}, "record", "not the name of a field"), ("sad", "mood | journal", "Known"),
])  # fmt: skip
def test_a_value_that_cannot_be_read_is_refused_in_one_line(
    value: Any, kind: str, words: str, tables: Tables
) -> None:
    if not words:
        marshal(value, kind, tables, HOME)
        return
    with pytest.raises(InvalidParameterError, match=words) as caught:
        marshal(value, kind, tables, HOME, where="argument")
    assert "\n" not in str(caught.value)


def test_a_value_nested_too_deep_is_refused(tables: Tables) -> None:
    value: Any = 1
    for _ in range(40):
        value = [value]
    with pytest.raises(InvalidParameterError, match="deeper"):
        marshal(value, "any", tables, HOME)


@given(moment=st.datetimes(min_value=datetime(1800, 1, 1), max_value=datetime(9000, 1, 1)))
def test_a_date_means_the_same_moment_whatever_the_zone(moment: datetime, tables: Tables) -> None:
    aware = moment.replace(microsecond=0, tzinfo=UTC)
    found = marshal(aware.isoformat(), "date", tables)
    assert isinstance(found, DateValue)
    assert datetime.fromisoformat(found.iso) == aware


def test_a_direct_parameter_of_any_type_is_an_object_where_it_names_one(tables: Tables) -> None:
    assert marshal("journals[0]", "any", tables, direct=True) == RefValue(
        (AllElements("journals"), marshal_index(0))
    )
    assert marshal("hello", "any", tables, direct=True) == "hello"
    assert marshal("name", "any", tables, direct=True) == "name"
    # A mere name may be any text elsewhere; what picks an object is one, and quotes say text.
    assert marshal("journals", "any", tables) == "journals"
    for kind in ("any", "mood | any"):
        assert marshal("journals[0]", kind, tables) == marshal("journals[0]", "specifier", tables)
        assert marshal('"journals[0]"', kind, tables) == "journals[0]"
        assert marshal('"hello"', kind, tables) == '"hello"'
        assert marshal("see list[0]", kind, tables) == "see list[0]"
    assert marshal("journals[0]", "data", tables) == "journals[0]"


def marshal_index(index: int) -> Any:
    from iac_runtime.language.steps import ByIndex

    return ByIndex(index)


# Properties whose names JavaScript for Automation has a use of its own for.


NAMES: Final = (
    "length", "name", "class", "count", "get", "set", "make", "constructor", "then", "prototype",
    "at", "first", "end", "push", "whose", "toString", "call", "valueOf",
)  # fmt: skip
APP: Final = "com.example.clash"
THINGS: Final = (AllElements("things"),)


def simulator() -> Simulator:
    rows = [Property(name, f"p{n:03}", name, "text", "r", "SAFE") for n, name in enumerate(NAMES)]
    rows.append(Property("id", "ID  ", "id", "text", "r", "SAFE"))
    classes = {
        "application": Class("capp", "application", "applications", None, "SAFE", "SAFE", (),
         (Element("thing", "rw"),)),
        "thing": Class("thng", "thing", "things", None, "SAFE", "SAFE", tuple(rows)),
    }  # fmt: skip
    items = [{"id": f"i{n}", **{name: f"{name} {n}" for name in NAMES}} for n in range(8)]
    return Simulator(
        [Tables("clash", App(APP, "Clash"), classes, {}, {}, {})], {"clash": {"things": items}}
    )


def event(op: EventOp, target: tuple[Step, ...], *names: str, ident: str = "") -> Event:
    columns = tuple(Column(name, name) for name in names)
    return Event(
        APP,
        "application",
        op,
        "coregetd",
        target=target,
        columns=columns,
        id_column=ident,
        writes=False,
    )


def answer(wanted: Event) -> Any:
    found = Executor(simulator()).execute(wanted, app="Clash", command="read")
    return found.listing["rows"] if found.listing else found.value


def line(wanted: Event) -> str:
    done = simulator()(
        ["osascript", "-l", "JavaScript", "-s", "s", "-e", jxa_line(wanted)], b"", 10
    )
    assert done.status == 0, done.stderr
    return done.stdout.decode().strip()


@pytest.mark.parametrize("name", NAMES)
def test_a_property_of_an_object_reads_as_itself(name: str) -> None:
    thing = (*THINGS, ByIndex(3))
    one = event("columns", thing, name)
    assert answer(one) == {"record": [[name, f"{name} 3"]]}
    assert line(one) == f'"{name} 3"'
    value = event("get", (*thing, PropertyStep(name)))
    assert answer(value) == f"{name} 3"
    assert line(value) == f'"{name} 3"'


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ident", ["", "id"])
def test_a_property_of_each_of_a_list_reads_as_itself(name: str, ident: str) -> None:
    rows = answer(event("list", THINGS, name, ident=ident))
    assert [row[2] for row in rows] == [[f"{name} {n}"] for n in range(8)]
    assert f'"{name} 7"' in line(event("list", THINGS, name, ident=ident))


PARTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2000)
    | st.sampled_from([0.5, 5.0, float("nan")])
    | st.text("ab note", max_size=6),
    lambda part: (
        st.lists(part, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "contains", "and"]), part, max_size=3)
    ),
    max_leaves=6,
)
LIKELY = st.sampled_from(
    ["note", "mailbox", "SAFE", "name", 3, ["name"], {"name": "x"}, [], {}, ""]
)


@cache
def schemas() -> list[Any]:
    lines = (TOOLS / "listing.jsonl").read_text("utf-8").splitlines()
    own = [*OWN_TOOLS.values(), *META_TOOLS.values(), *added_tools().values()]
    whole = [json.loads(line) for line in lines]
    found = [tool.input for tool in own] + [tool.output for tool in own if tool.output]
    return found + [
        row[key] for row in whole for key in ("inputSchema", "outputSchema") if key in row
    ]


@given(st.data())
def test_what_is_accepted_at_once_fits(data: st.DataObject) -> None:
    schema = data.draw(st.sampled_from(schemas()))
    keys = st.sampled_from([*schema.get("properties", {"x": {}}), "other"])
    value = data.draw(st.dictionaries(keys, LIKELY | PARTS, max_size=4) | PARTS)
    if accepts_value(value, schema):
        assert Draft202012Validator(schema).is_valid(value), (value, schema)


def test_the_examples_of_all_tools_are_accepted_at_once() -> None:
    for tool in (*OWN_TOOLS.values(), *META_TOOLS.values(), *added_tools().values()):
        assert accepts_value(dict(tool.example), tool.input), tool.name
