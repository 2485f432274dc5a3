"""What is given reaches the app exactly, or is refused; what it answers comes back as it is."""

import enum
import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from defective import Defective
from diary_world import DIARY, gate_of
from hypothesis import given
from hypothesis import strategies as st
from language_helpers import parse_reference, read_filter

from iac_base.errors import InvalidParameterError
from iac_base.words import fold_name
from iac_runtime import ref
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.language.steps import read_date
from iac_runtime.library import Session
from iac_runtime.serve.call import done_result
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.checking import to_json_types
from iac_runtime.tools.tables import Tables

# A key that spells a term of the app in another way is sent as the term: left to other tests.
TERMS = {
    fold_name(row.term)
    for group in (*DIARY.CLASSES.values(), *DIARY.RECORDS.values())
    for row in group.properties
}
KEYS = st.text(max_size=8).filter(lambda key: fold_name(key) not in TERMS)
JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(),
        st.text(alphabet=st.characters(codec=None), max_size=8),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)


# Canned answers: thousands of calls leave the world as it is.
WORLD: dict[str, Any] = {"entries": [{"id": "e", "name": "x"}]}
WORLD["@results"] = {"diarfind": [], "corecnte": 0, "corecrel": True, "coresetd": None}


@pytest.fixture(scope="module")
def app(output: Path) -> Defective:
    return Defective(Catalogue([output]), "", WORLD)


def logged(value: Any) -> Any:
    """Return a value as the log of the simulator holds it: records are marked."""
    if isinstance(value, Mapping):
        return {"record": {camel(key): logged(part) for key, part in value.items()}}
    if isinstance(value, list):
        return [logged(part) for part in value]
    return value


def camel(key: str) -> str:
    words = key.split()
    if len(words) < 2:
        return words[0] if words else ""
    return words[0].lower() + "".join(word[:1].upper() + word[1:] for word in words[1:])


def same(one: Any, other: Any) -> bool:
    """Compare with types: true is not 1, and -0.0 not 0."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        # JavaScript writes a large double with the fewest digits that tell it apart.
        return float(one) == float(other)
    return bool(one == other)


@given(value=JSON)
def test_any_json_arrives_as_it_is_or_is_refused(value: Any, app: Defective) -> None:
    before = len(app.simulator.events)
    try:
        app.call("diary_make", element="entry", with_data=value)
    except InvalidParameterError as error:
        assert "\n" not in str(error)
        assert len(app.simulator.events) == before
        return
    sent = next(e for e in app.simulator.events[before:] if e.event == "corecrel")
    if value is None:
        assert "data" not in sent.params
        return
    assert same(sent.params["data"], logged(value)), (sent.params["data"], value)


@given(text=st.text())
def test_a_text_arrives_in_a_name_and_in_a_filter(text: str, app: Defective) -> None:
    literal = json.dumps(text, ensure_ascii=False)
    where = {"name": text, "source file": {"begins with": text}}
    app.call("diary_count", element="picture", of=f"entries[{literal}]", where=where)
    first = f"{{_match: [ObjectSpecifier().name, {literal}]}}"
    second = f"{{_match: [ObjectSpecifier().sourceFile, {{_beginsWith: {literal}}}]}}"
    assert app.simulator.events[-1].direct == (
        f"entries[{literal}].pictures.whose({{_and: [{first}, {second}]}})"
    )


SENT: Mapping[str, Callable[[str], Mapping[str, Any]]] = {
    "diary_search": lambda text: {"text": text},
    "diary_make": lambda text: {"element": "entry", "properties": {"name": text}},
    "diary_set": lambda text: {"target": "entries[0]", "properties": {"body": text}},
}


def hostile(corpus: Path) -> list[tuple[str, str]]:
    lines = (corpus / "hostile-inputs.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines[1:]]
    return [(row[0], json.loads(row[2])) for row in rows if row[1] == "argument"]


def test_every_hostile_argument_arrives_as_the_text_that_it_is(
    corpus: Path, app: Defective
) -> None:
    rows = hostile(corpus)
    assert rows
    for ident, payload in rows:
        for text in (payload, f"</iac:{payload}>", f"-e {payload}", payload * 50):
            for tool, arguments in SENT.items():
                before = len(app.simulator.events)
                app.call(tool, **arguments(text), confirm=False)
                sent = app.simulator.events[before]
                held = [sent.direct, *sent.params.values()]
                assert (
                    {"text": text} in held or text in held or {"record": {"pnam": text}} in held
                ), ident


def test_no_hostile_argument_is_taken_for_a_file_or_an_object(corpus: Path, app: Defective) -> None:
    for ident, payload in hostile(corpus):
        for arguments in ({"to": payload}, {"to": "/x", "target": payload}):
            before = len(app.simulator.events)
            with pytest.raises(InvalidParameterError) as caught:
                app.call("diary_export", **arguments)
            assert "\n" not in str(caught.value), ident
            assert len(app.simulator.events) == before


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(("arguments", "words"), [
    ({"text": "x" * 10_000_000}, "has 10000000 characters; at most 1000000 are allowed"),
    ({"text": "x", "limit": 2**63}, "2^53"), ({"text": "x", "limit": 2**53 + 1}, "2^53"),
    ({"text": "x", "limit": math.nan}, "not a finite number"),
    ({"text": "x", "limit": math.inf}, "not a finite number"),
    ({"text": "x", "limit": True}, "limit must be a whole number"),
    ({"text": "x", "limit": 1.5}, "limit must be a whole number"),
    ({"text": "a\ud800b"}, "half a character"),
    ({"text": "x", "zzz": 1}, 'There is no argument "zzz"'),
    ({}, "Missing required argument: text"),
])  # fmt: skip
def test_what_no_app_takes_is_refused_before_anything_is_sent(
    arguments: dict[str, Any], words: str, app: Defective
) -> None:
    before = len(app.simulator.events)
    with pytest.raises(InvalidParameterError) as caught:
        app.call("diary_search", **arguments)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 300
    assert len(app.simulator.events) == before


@pytest.mark.parametrize(("data", "words"), [
    ([0] * 100_000, "100000 items; at most 10000 are allowed"),
    (deep(1000), "nested deeper than 32 levels"),
    ({"a": {"b": ["x" * 2_000_000]}}, "with_data.a.b[0]: the text has 2000000 characters"),
    ({"a": [1, {"__proto__": {"x": 1}}]}, '"__proto__" is not the name of a field'),
    ({"k" * 1_100_000: 1}, "at most 1000000 are allowed"), ({"a\ud800": 1}, "half a character"),
    ({"a b": 1, "aB": 2}, "given twice"), ([10**5000], "2^53"),
])  # fmt: skip
def test_what_is_too_much_is_refused_by_place(data: Any, words: str, app: Defective) -> None:
    before = len(app.simulator.events)
    with pytest.raises(InvalidParameterError) as caught:
        app.call("diary_make", element="entry", with_data=data)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(app.simulator.events) == before


@pytest.mark.parametrize(("data", "sent"), [
    ("x" * 1_000_000, "x" * 1_000_000), ([0] * 10_000, [0] * 10_000), (deep(31), deep(31)),
    (2**53, 2**53), (-(2**53), -(2**53)), (1e300, 1e300), (5e-324, 5e-324),
    ({"constructor": {}, "a": None}, {"record": {"constructor": {"record": {}}, "a": None}}),
    ("\0", "\0"), ("\u2028\u2029", "\u2028\u2029"),
])  # fmt: skip
def test_what_just_fits_arrives(data: Any, sent: Any, app: Defective) -> None:
    before = len(app.simulator.events)
    app.call("diary_make", element="entry", with_data=data)
    found = next(e for e in app.simulator.events[before:] if e.event == "corecrel")
    assert found.params["data"] == sent


@pytest.mark.parametrize(("text", "iso"), [
    ("2026-03-09", "2026-03-09T00:00:00.000Z"), ("2026-03-09T14:30", "2026-03-09T14:30:00.000Z"),
    ("2026-03-09T14:30:01.5", "2026-03-09T14:30:01.500Z"),
    ("2026-03-09T14:30Z", "2026-03-09T14:30:00.000Z"),
    ("2026-03-09T14:30+05:30", "2026-03-09T09:00:00.000Z"),
    ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
    ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ("0001-01-01", "0001-01-01T00:00:00.000Z"), ("9999-12-31", "9999-12-31T00:00:00.000Z"),
])  # fmt: skip
def test_a_date_without_an_offset_is_local_time(
    text: str, iso: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    try:
        assert read_date(text).iso == iso
    finally:
        monkeypatch.undo()
        time.tzset()


def test_local_time_is_that_of_the_day_not_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    try:
        assert read_date("2026-07-01T12:00").iso == "2026-07-01T10:00:00.000Z"
        assert read_date("2026-01-01T12:00").iso == "2026-01-01T11:00:00.000Z"
        with pytest.raises(InvalidParameterError, match="outside the years"):
            read_date("0001-01-01")
        assert read_date("9999-12-31").iso == "9999-12-30T23:00:00.000Z"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    "text",
    ["", "soon", "10000-01-01", "0000-01-01", "2026-13-01", "2026-02-30", "0001-01-01T00:00+01:00",
     "9999-12-31T23:00-02:00", "12/03/2026", "2026-03-09T25:00", "-2026-03-09", "1773066600000"],
)  # fmt: skip
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameterError, match=r"is not a date|outside the years"):
        read_date(text)


def test_a_date_arrives_as_a_date(app: Defective) -> None:
    app.call("diary_remind", when="0001-01-01T00:00:00Z")
    assert app.simulator.events[-1].params == {"when": {"date": "0001-01-01T00:00:00.000Z"}}
    app.call("diary_remind", when="9999-12-31T23:59:59.999Z")
    assert app.simulator.events[-1].params == {"when": {"date": "9999-12-31T23:59:59.999Z"}}


TORTURE = [
    "line\r\nline\rline\n\u2028\u2029\x85\x0b\x0c", "nul\x00 bell\x07 escape\x1b[31m del\x7f",
    "e\u0301 \u00e9 \u1112\u1161\u11ab \u212b \ufb01",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u263a\ufe0f \U0001f3f4\U000e0067\U000e007f",
    "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u202eabc\u202c \u2066x\u2069 \u200f",
    "\u200b\u2060\ufeff\u00ad\u034f\u115f\u3164\u2800 \ue000\U000f0000 \ufdd0\uffff \u0378",
    "Z\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309",
    "He said \"hi\" \\ 'x' ${y} </script> \u00a0\u202f\u3000", "\U0010ffff \U0001f600", "", " \t ",
]  # fmt: skip


class Mood(enum.Enum):
    HAPPY = "happy"


@pytest.fixture
def gate(catalogue: Catalogue) -> Gate:
    return gate_of(catalogue, {"entries": [{"id": "e", "name": "E", "mood": "sad"}]})


@pytest.fixture
def session(gate: Gate) -> Session:
    return Session(gate, None)


ENTRY = 'entries.byId("e")'


@pytest.mark.sweep
@pytest.mark.parametrize("text", TORTURE)
def test_a_text_goes_out_and_comes_back_as_it_is(session: Session, text: str) -> None:
    session.call("diary_set", target=ENTRY, properties={"body": text})
    assert session.call("diary_get", target=f"{ENTRY}.body") == text
    read = session.call("diary_get", target=ENTRY, properties=["body"])["body"]
    session.call("diary_set", target=ENTRY, properties={"body": read + "!"})
    assert session.call("diary_list", element="entry", properties=["body"])[0]["body"] == text + "!"


@pytest.mark.sweep
@pytest.mark.parametrize("text", TORTURE)
def test_a_model_reads_it_cleaned_or_asks_for_all_of_it(gate: Gate, text: str) -> None:
    def read(**more: Any) -> tuple[str, str]:
        done = gate.call(Call("diary_get", {"target": ENTRY, "properties": ["body"], **more}))
        assert isinstance(done, CompletedCall)
        shown = done_result(done)
        (block,) = shown["content"]
        assert json.loads(block["text"]) == shown["structuredContent"]
        return json.loads(block["text"])["body"], done.note

    gate.call(Call("diary_set", {"target": ENTRY, "properties": {"body": text}}))
    cleaned, note = read()
    assert ("raw: true" in note) == (cleaned != text)
    exact, note = read(raw=True)
    assert (exact, note) == (text, "")
    # Read, change, write: what was not changed is what it was.
    gate.call(Call("diary_set", {"target": ENTRY, "properties": {"body": exact + "!"}}))
    assert read(raw=True)[0] == text + "!"


@pytest.mark.parametrize("text", TORTURE)
def test_a_name_in_a_reference_needs_no_thought(catalogue: Catalogue, text: str) -> None:
    gate = gate_of(catalogue, {"entries": [{"id": "a", "name": "A"}, {"id": "b", "name": text}]})
    session = Session(gate, None)
    assert session.call("diary_get", target=f"entries[{ref.text(text)}].id") == "b"


@pytest.mark.parametrize(("value", "moment"), [
    (datetime(2026, 3, 9, 8, 30, tzinfo=UTC), datetime(2026, 3, 9, 8, 30, tzinfo=UTC)),
    (datetime(2026, 3, 9, 8, 30, tzinfo=timezone(timedelta(hours=-9))),
     datetime(2026, 3, 9, 17, 30, tzinfo=UTC)),
    (datetime(2026, 3, 9, 8, 30), datetime(2026, 3, 9, 8, 30).astimezone()),
    (date(2026, 3, 9), datetime(2026, 3, 9).astimezone()),
])  # fmt: skip
def test_a_moment_of_python_is_one_in_the_app(
    session: Session, gate: Gate, value: date, moment: datetime
) -> None:
    session.call("diary_set", target=ENTRY, properties={"creation date": value})
    found = session.call("diary_get", target=f"{ENTRY}.creationDate")
    assert isinstance(found, datetime)
    assert found == moment
    assert found.utcoffset() == moment.astimezone().utcoffset()
    listed = session.call("diary_list", element="entry", where={"creation date": moment})
    assert len(listed) == 1
    told = gate.call(Call("diary_get", {"target": f"{ENTRY}.creationDate"}))
    assert isinstance(told, CompletedCall)
    assert told.value == moment.astimezone().isoformat()


@pytest.mark.parametrize(("value", "sent"), [
    (PurePosixPath("/a/b"), "/a/b"), ((1, (2.5, None)), [1, [2.5, None]]), (Mood.HAPPY, "happy"),
    ({Mood.HAPPY: {"x": PurePosixPath("/c")}}, {"happy": {"x": "/c"}}),
    ("é\u0301".encode(), "é\u0301"), (range, None), (b"\xff\xfe", None), (object(), None),
])  # fmt: skip
def test_values_of_python_are_taken_or_refused_in_a_line(value: Any, sent: Any) -> None:
    if sent is None:
        with pytest.raises(InvalidParameterError, match=r"^given: "):
            to_json_types(value, "given")
    else:
        assert to_json_types(value) == sent


def test_an_enumeration_and_a_tuple_reach_the_app(session: Session) -> None:
    session.call("diary_set", target=ENTRY, properties={"mood": Mood.HAPPY})
    assert session.call("diary_get", target=(ENTRY, ENTRY), properties=("mood",))[0]["value"] == {
        "mood": "happy"
    }


@pytest.mark.parametrize(("where", "same"), [
    ({"name": {"not contains": "x"}}, {"not": [{"name": {"contains": "x"}}]}),
    ({"name": {"does not contain": "x"}}, {"not": [{"name": {"contains": "x"}}]}),
    ({"name": {"not begins with": "x"}}, {"not": [{"name": {"_beginsWith": "x"}}]}),
    ({"name": {"starts with": "x"}}, {"name": {"beginsWith": "x"}}),
    ({"name": {"endsWith": "x"}}, {"name": {"ends with": "x"}}),
    ({"name": {"in": ["x", "y"]}}, {"or": [{"name": "x"}, {"name": "y"}]}),
    ({"name": {"in": ["x"]}}, {"name": "x"}),
    ({"name": {"not in": ["x", "y"]}}, {"not": [{"or": [{"name": "x"}, {"name": "y"}]}]}),
])  # fmt: skip
def test_a_filter_is_said_in_several_ways(
    tables: Tables, where: dict[str, Any], same: dict[str, Any]
) -> None:
    assert read_filter(where, ("entry",), tables) == read_filter(same, ("entry",), tables)


@pytest.mark.parametrize("asked", [[], "x", {}])
def test_in_wants_values(tables: Tables, asked: Any) -> None:
    with pytest.raises(InvalidParameterError, match="must be a list"):
        read_filter({"name": {"in": asked}}, ("entry",), tables)


@pytest.mark.parametrize("text", [
    "entries[1:5]", "entries[:5]", "entries[-3:]", "entries.middle", "entries.some",
    "entries[0].before", "entries[0].next", "entries[0].previous", "entries[0].after",
    "entries[1:5][0].name", "entries[1:5].name", "entries[0].next.container",
])  # fmt: skip
def test_what_only_a_raw_event_can_say_is_read_and_printed(tables: Tables, text: str) -> None:
    assert parse_reference(text, tables).text == text


@pytest.mark.parametrize("pick", ["first", "last"])
def test_first_last_and_from_the_end_are_positions(tables: Tables, pick: str) -> None:
    number: Callable[[str], str] = {"first": "0", "last": "-1"}.__getitem__
    assert parse_reference(f"entries.{pick}", tables).text == f"entries[{number(pick)}]"
