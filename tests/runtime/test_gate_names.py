"""A name that several objects bear: a write is refused with them, a read answers and says so."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pinned_places import catalogue

from iac_base.errors import SharedNameError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall
from iac_runtime.library import connect
from iac_runtime.policy.permissions import Requester, open_permissions
from iac_simulator import Simulator
from iac_simulator.simulator import demo_state
from iac_simulator.values import SentEvent
from iac_tools import notes

TOOLS = Path(notes.__file__).parent
ASKED = Requester("Claude", ("client",))


class Names:
    """Two notes "Ideas", one in each of two folders, and what is sent about them."""

    def __init__(self, second: str = "Work") -> None:
        known = catalogue()
        world = demo_state()
        folders = world["notes"]["accounts"][0]["folders"]
        folders[1]["name"] = second
        for ident, folder in zip(("a", "b"), folders, strict=True):
            folder["notes"].append({"id": ident, "name": "Ideas", "body": ident})
        self.simulator = Simulator([known.load_tables(app) for app in known.apps.values()], world)
        executor = Executor(self.simulator)
        self.gate = Gate(
            known, executor, "DANGEROUS", home="/Users/me", permissions=open_permissions()
        )
        self.asking = Gate(known, executor, home="/Users/me", permissions=open_permissions())

    def call(self, tool: str, **arguments: Any) -> CompletedCall:
        done = self.gate.call(Call(tool, arguments))
        assert isinstance(done, CompletedCall), done
        return done

    def refused(self, tool: str, **arguments: Any) -> SharedNameError:
        """Return the error of a call that is to change nothing."""
        before = self.notes()
        with pytest.raises(SharedNameError) as caught:
            self.gate.call(Call(tool, arguments))
        assert self.notes() == before
        return caught.value

    def rename(self, target: str, name: str) -> None:
        self.call("notes_set", target=target, properties={"name": name})

    def notes(self) -> list[Any]:
        listed = self.call("notes_list", element="note", properties=["name", "body"]).value
        return [(str(row["ref"]), row["name"], row["body"]) for row in listed]

    def sent(self) -> list[SentEvent]:
        """Return the events since the last look."""
        events = [*self.simulator.events]
        self.simulator.events.clear()
        return events


@pytest.fixture
def names() -> Iterator[Names]:
    made = Names()
    yield made
    made.gate.close()
    made.asking.close()


IDEAS = 'notes["Ideas"]'


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("notes_delete", {"target": IDEAS}),
        ("notes_delete", {"target": ["notes[0]", IDEAS]}),
        ("notes_set", {"target": IDEAS, "properties": {"body": "gone"}}),
        ("notes_move", {"target": IDEAS, "to": "accounts[0].folders[1]"}),
        ("notes_write_note", {"note": IDEAS, "body": "gone"}),
        ("notes_make", {"element": "attachment", "at": f"{IDEAS}.attachments"}),
    ],
)
def test_a_write_to_a_name_that_two_objects_bear_is_refused_with_both(
    names: Names, tool: str, arguments: dict[str, Any]
) -> None:
    facts = names.refused(tool, **arguments).facts()
    assert facts["message"] == f"2 notes have the name of {IDEAS}. Nothing was sent."
    assert [row["ref"] for row in facts["candidates"]] == ['notes.byId("a")', 'notes.byId("b")']
    assert ['container "Notes"' in row["is"] for row in facts["candidates"]] == [True, False]
    assert 'container "Work"' in facts["candidates"][1]["is"]
    assert facts["next"]["arguments"] == {"element": "note", "where": {"name": "Ideas"}}
    # What is proposed names one of them.
    names.call("notes_delete", target=facts["candidates"][1]["ref"])
    assert [row[2] for row in names.notes() if row[1] == "Ideas"] == ["a"]


def test_a_name_on_the_way_and_in_a_place_to_put_something_counts_too() -> None:
    names = Names("Notes")
    way = 'accounts[0].folders["Notes"]'
    calls: dict[str, dict[str, Any]] = {
        "notes_set": {"target": f"{way}.notes[0]", "properties": {"body": "gone"}},
        "notes_move": {"target": "notes[0]", "to": way},
        "notes_make_note": {"name": "New", "folder": way},
    }
    for tool, arguments in calls.items():
        message = names.refused(tool, **arguments).message
        assert message.startswith(f"2 folders have the name of {way}")


def test_a_person_is_not_asked_about_a_name_of_two(names: Names) -> None:
    with pytest.raises(SharedNameError):
        names.asking.call(Call("notes_delete", {"target": IDEAS}, ASKED))
    asks = names.asking.call(Call("notes_delete", {"target": 'notes["Gift ideas"]'}, ASKED))
    assert isinstance(asks, PendingCall)


def test_a_name_that_came_to_be_shared_after_the_answer_is_refused(names: Names) -> None:
    names.rename('notes.byId("b")', "Thoughts")
    asks = names.asking.call(Call("notes_delete", {"target": IDEAS}, ASKED))
    assert isinstance(asks, PendingCall)
    names.rename('notes.byId("b")', "Ideas")
    call = Call("notes_delete", {"target": IDEAS}, ASKED, token=asks.token, verdict="once")
    with pytest.raises(SharedNameError):
        names.asking.call(call)
    assert len(names.notes()) == 5


def test_a_read_by_such_a_name_answers_and_says_so(names: Names) -> None:
    done = names.call("notes_get", target=IDEAS, properties=["body"])
    assert done.value == {"body": "a"}
    assert done.note == f"2 notes have the name of {IDEAS}; this is of the first"
    assert not names.call("notes_get", target='notes["Gift ideas"]').note
    listed = Names("Notes").call("notes_list", element="note", of='accounts[0].folders["Notes"]')
    assert "2 folders have the name" in listed.note


def test_a_name_of_one_costs_a_write_one_event_and_an_id_none(names: Names) -> None:
    names.call("notes_set", target='notes.byId("a")', properties={"body": "x"})
    without = len(names.sent())
    names.call("notes_set", target='notes["Gift ideas"]', properties={"body": "x"})
    events = names.sent()
    assert [row.event for row in events][:1] == ["corecnte"]
    assert len(events) == without + 1


def test_a_file_has_its_name_alone_and_is_not_counted(names: Names) -> None:
    names.call("finder_set", target="/Users/me/Desktop", properties={"comment": "x"})
    assert not [row for row in names.sent() if row.event == "corecnte"]


def test_typed_objects_are_held_to_names_of_one(tmp_path: Path) -> None:
    world = demo_state()
    for ident, folder in zip(("a", "b"), world["notes"]["accounts"][0]["folders"], strict=True):
        folder["notes"].append({"id": ident, "name": "Ideas", "body": ident})
    state = tmp_path / "world.json"
    state.write_text(json.dumps(world))
    with connect(simulate=state, tools=TOOLS), pytest.raises(SharedNameError):
        notes.app.notes["Ideas"].delete()
