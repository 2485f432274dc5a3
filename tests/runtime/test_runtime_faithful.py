"""What Python gets and what it sends back is what the app has; a model reads it cleaned."""

import enum
import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import PurePosixPath
from typing import Any

import pytest
from diary_world import gate_of
from language_helpers import parse_reference, read_filter

from iac_base.errors import InvalidParameterError
from iac_runtime import ref
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.library import Session
from iac_runtime.serve.call import done_result
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.checking import to_json_types
from iac_runtime.tools.tables import Tables

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
