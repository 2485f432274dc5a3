"""A long list page by page: counted first, and gone on behind the item that came last."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import iac_runtime
from iac_base.errors import InvalidParameterError
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall
from iac_tools import notes


class Pages:
    """Notes with a folder of 1,300 notes and one more elsewhere."""

    def __init__(self, session: iac_runtime.Session, file: Path) -> None:
        self.session, self._file = session, file
        state = session.simulator.state()
        first, second = state["notes"]["accounts"][0]["folders"][:2]
        first["notes"] = [{"name": f"n{i}", "id": f"i{i}", "body": "x"} for i in range(1300)]
        second["notes"] = [{"name": "last", "id": "z", "body": "y"}]
        self.change(state)

    def change(self, state: dict[str, Any]) -> None:
        self._file.write_text(json.dumps(state), "utf-8")
        self.session.simulator.load(self._file)

    def names(self, **given: Any) -> list[Any]:
        self.session.simulator.events.clear()
        return [row["name"] for row in notes.list("note", properties=["name"], **given)]

    def note(self, **given: Any) -> str:
        gate: Gate = self.session._gate
        done = gate.call(Call("notes_list", {"element": "note", **given}))
        assert isinstance(done, CompletedCall)
        return done.note

    def events(self) -> int:
        return len(self.session.simulator.events)


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pages]:
    monkeypatch.setenv("IAC_DATA", str(tmp_path / "data"))
    with iac_runtime.connect(simulate=True) as session:
        yield Pages(session, tmp_path / "state.json")


def test_each_yields_every_row_once(pages: Pages) -> None:
    for page in (499, 5000):
        rows = iac_runtime.each(notes.list, "note", properties=["name"], page=page)
        assert [row["name"] for row in rows] == [*(f"n{i}" for i in range(1300)), "last"]


def test_a_page_of_a_long_list_is_counted_and_read_alone(pages: Pages) -> None:
    assert pages.names(limit=3) == ["n0", "n1", "n2"]
    # How many there are, the ids of the range, its names, and the ids once more.
    assert pages.events() == 4
    assert pages.names(limit=3, cursor="3:i2") == ["n3", "n4", "n5"]
    # One more: whether the item of the cursor is where it was.
    assert pages.events() == 5


@pytest.mark.sweep
@pytest.mark.parametrize(("gone", "cursor", "expected", "said"), [
    (0, "3:i2", ["n3", "n4"], ""), (2, "3:i2", ["n3", "n4"], "is gone"),
    (None, "3:", ["n3", "n4"], ""), (None, "900:i2", ["n3", "n4"], ""), (None, "1301:z", [], ""),
])  # fmt: skip
def test_a_cursor_goes_on_behind_its_item_wherever_that_is(
    pages: Pages, gone: int | None, cursor: str, expected: list[str], said: str
) -> None:
    state = pages.session.simulator.state()
    if gone is not None:
        del state["notes"]["accounts"][0]["folders"][0]["notes"][gone]
        pages.change(state)
    assert pages.names(limit=2, cursor=cursor) == expected
    assert said in pages.note(limit=2, cursor=cursor)


def test_a_cursor_goes_on_in_the_order_that_was_asked_for(pages: Pages) -> None:
    first = pages.names(limit=2, order=["-name"])
    assert first == ["n999", "n998"]
    assert 'cursor "2:i998"' in pages.note(limit=2, order=["-name"])
    assert pages.names(limit=2, order=["-name"], cursor="2:i998") == ["n997", "n996"]
    assert pages.names(limit=2, where={"name": {"begins with": "n12"}}, cursor="1:i12") == [
        "n120",
        "n121",
    ]


def test_a_block_gives_its_calls_their_time_and_a_call_may_say_another(pages: Pages) -> None:
    with iac_runtime.timeout(300):
        pages.names(limit=2)
        # What can be read another way leaves half of its time for that.
        assert {event.timeout for event in pages.session.simulator.events} == {150, 300}
        pages.names(limit=2, timeout=60)
        assert {event.timeout for event in pages.session.simulator.events} == {None}


def test_a_reader_of_pages_is_given_a_page(pages: Pages) -> None:
    gate: Gate = pages.session._gate
    gate.context.limit = 1_000_000
    done = gate.call(Call("notes_list", {"element": "note"}))
    assert isinstance(done, CompletedCall)
    assert len(done.value) == 50
    assert 'cursor "50:i49"' in done.note


@pytest.mark.parametrize(
    "given", [{"cursor": "x"}, {"cursor": "-1:x"}, {"cursor": "1:x", "offset": 1}]
)
def test_what_is_no_cursor_is_refused(pages: Pages, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match="not come from an answer"):
        pages.names(**given)
