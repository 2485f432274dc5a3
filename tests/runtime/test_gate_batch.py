"""Several calls of one tool: planned together, asked about once, and no more than was asked."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from simulated import permissions_under, run_tool, shipped_catalogue, simulate_apps

import iac_runtime
from iac_base.errors import CallRefusedError, InvalidParameterError, SharedNameError, ToolError
from iac_runtime.audit.writer import Audit
from iac_runtime.execution.executor import Executor
from iac_runtime.gate import batch
from iac_runtime.gate.batch import BatchError
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.limiter import Limiter, RateLimits, RateWindow
from iac_runtime.gate.opening import open_audit
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall, RefusedCall
from iac_runtime.library import connect
from iac_runtime.policy.permissions import Requester, open_permissions
from iac_runtime.policy.prompts import LINE_LIMIT
from iac_simulator.simulator import demo_state
from iac_simulator.values import SentEvent
from iac_tools import notes

ASKED = Requester("Claude", ("client",))
DELETE, MAKE = "notes_delete", "notes_make_note"


def world(count: int = 6) -> dict[str, Any]:
    notes = [{"id": f"n{at}", "name": f"Note {at}", "plaintext": "x"} for at in range(count)]
    folder = {"id": "f", "name": "Notes", "notes": notes}
    return {"notes": {"accounts": [{"id": "a", "name": "Mac", "folders": [folder]}]}}


def note(at: int) -> dict[str, str]:
    return {"target": f'accounts[0].folders[0].notes.byId("n{at}")'}


class Desk:
    """A gate on simulated notes, and what is in them."""

    def __init__(self, policy: str = "", count: int = 6, **more: Any) -> None:
        known, permissions = shipped_catalogue(), permissions_under(policy)
        self.simulator = simulate_apps(known, world(count))
        executor = Executor(self.simulator)
        self.gate = Gate(known, executor, home="/Users/me", permissions=permissions, **more)

    @property
    def names(self) -> list[str]:
        read = {"element": "note", "of": "accounts[0].folders[0]", "properties": ["name"]}
        return [row["name"] for row in run_tool(self.gate, "notes_list", **read).value]

    def call(self, tool: str, calls: Sequence[Mapping[str, Any]], **more: Any) -> Any:
        return self.gate.call(Call(tool, {}, ASKED, calls=tuple(calls), **more))

    def allowed(self, tool: str, calls: Sequence[Mapping[str, Any]]) -> Any:
        asked = self.call(tool, calls)
        assert isinstance(asked, PendingCall), asked
        return self.call(tool, calls, token=asked.token, verdict="once")


def test_one_question_is_a_table_of_all_the_calls() -> None:
    asked = Desk().call(DELETE, [note(1), note(3)])
    assert isinstance(asked, PendingCall)
    one, two, three, *_ = asked.question.text.splitlines()
    assert one == "Claude wants to delete 2 notes in Notes:"
    assert two.startswith('  1. note "Note 1"')
    assert '"Note 1"' in two
    assert '"Note 3"' in three
    assert "Always allow" not in asked.question.answers
    assert asked.level == "DANGEROUS"


def test_a_long_table_is_counted_and_whole_in_a_file() -> None:
    asked = Desk(count=30).call(MAKE, [{"name": f"New {at}"} for at in range(30)])
    assert isinstance(asked, PendingCall)
    lines = asked.question.text.splitlines()
    assert len(lines) <= LINE_LIMIT
    assert any(line.startswith("  and ") and line.endswith(" more") for line in lines)
    path = lines[-1].rpartition("All of it: ")[2]
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 (a path as it is shown)
        whole = file.read()
    assert all(f'"New {at}"' in whole for at in range(30))


def test_a_yes_runs_exactly_these_calls_in_order() -> None:
    desk = Desk()
    done = desk.allowed(DELETE, [note(4), note(0)])
    assert isinstance(done, CompletedCall)
    assert len(done.value["results"]) == 2
    assert desk.names == ["Note 1", "Note 2", "Note 3", "Note 5"]
    made = desk.allowed(MAKE, [{"name": "a"}, {"name": "b"}])
    read = [{"target": f"{ref}.name"} for ref in made.value["results"]]
    found = desk.call("notes_get", read)
    assert found.value == {"results": ["a", "b"]}


@pytest.mark.parametrize(
    "other", [[note(1)], [note(1), note(2), note(3)], [note(2), note(1)], [note(1), note(3)]]
)
def test_a_yes_holds_for_no_other_calls(other: list[dict[str, str]]) -> None:
    desk = Desk()
    asked = desk.call(DELETE, [note(1), note(2)])
    refused = desk.call(DELETE, other, token=asked.token, verdict="once")
    assert not isinstance(refused, CompletedCall)
    assert len(desk.names) == 6


def test_a_no_runs_none() -> None:
    desk = Desk()
    asked = desk.call(DELETE, [note(1), note(2)])
    assert isinstance(asked, PendingCall)
    assert not isinstance(
        desk.call(DELETE, [note(1), note(2)], token=asked.token, verdict="decline"), CompletedCall
    )
    assert len(desk.names) == 6


def test_a_wrong_call_refuses_all_before_anything_is_sent_and_is_named() -> None:
    desk = Desk("preset = 'trusted'")
    for wrong in ({"nam": "x"}, {}):
        with pytest.raises(ToolError, match=r"Call 2 of 3: .* No call was sent\."):
            desk.call(MAKE, [{"name": "a"}, wrong, {"name": "c"}])
    assert len(desk.names) == 6


def test_a_denied_call_refuses_all_and_is_named() -> None:
    deny = "preset = 'trusted'\n[[deny]]\ntool = 'notes_make_note'\nargument = { name = 'c' }"
    desk = Desk(deny)
    found = desk.call(MAKE, [{"name": "a"}, {"name": "b"}, {"name": "c"}])
    assert isinstance(found, RefusedCall)
    assert "This is about call 3 of 3." in found.reason
    assert len(desk.names) == 6
    assert isinstance(desk.call(MAKE, [{"name": "a"}, {"name": "b"}]), CompletedCall)


def test_one_call_that_asks_asks_about_all() -> None:
    rule = "preset = 'trusted'\n[[ask]]\ntool = 'notes_make_note'\nargument = { name = 'c' }"
    desk = Desk(rule)
    assert isinstance(desk.call(MAKE, [{"name": "a"}, {"name": "c"}]), PendingCall)
    assert len(desk.names) == 6


def test_what_changes_before_the_answer_is_asked_about_anew() -> None:
    desk = Desk()
    calls = [note(1), note(2)]
    asked = desk.call(DELETE, calls)
    rename = {"target": note(2)["target"], "properties": {"name": "Other"}}
    desk.gate.call(Call("notes_set", rename, Requester(preapproved_level="DANGEROUS")))
    again = desk.call(DELETE, calls, token=asked.token, verdict="once")
    assert isinstance(again, PendingCall)
    assert '"Other"' in again.question.text
    assert len(desk.names) == 6
    assert isinstance(desk.call(DELETE, calls, token=again.token, verdict="once"), CompletedCall)
    assert desk.names == ["Note 0", "Note 3", "Note 4", "Note 5"]


def test_an_answer_is_held_to_as_many_looks_as_its_question(monkeypatch: Any) -> None:
    desk = Desk()
    calls = [note(1), note(2), note(3)]
    # The apps were too slow for the question, and are not for the answer.
    monkeypatch.setattr(batch, "SECONDS", -1)
    asked = desk.call(DELETE, calls)
    monkeypatch.undo()
    assert isinstance(desk.call(DELETE, calls, token=asked.token, verdict="once"), CompletedCall)
    assert desk.names == ["Note 0", "Note 4", "Note 5"]


def test_a_failure_in_the_middle_says_what_was_done_and_what_was_not() -> None:
    desk = Desk("preset = 'trusted'")
    gone = {"target": 'accounts[0].folders[0].notes.byId("none")', "to": "accounts[0].folders[0]"}
    here = {**gone, "target": note(1)["target"]}
    with pytest.raises(BatchError) as caught:
        desk.call("notes_move", [here, gone, here, here])
    facts = caught.value.facts()
    assert "Call 2 of 4 failed" in facts["message"]
    assert "Before that, call 1 was done; calls 3 to 4 were not sent." in facts["message"]
    assert (len(facts["results"]), facts["failed"], facts["not_sent"]) == (1, 2, [3, 4])


@pytest.mark.parametrize("policy", ["", "preset = 'trusted'\n[[allow]]\ntool = 'notes_*'"])
def test_positions_mean_what_is_there_before_the_first_call(policy: str) -> None:
    desk = Desk(policy)
    calls = [{"target": f"accounts[0].folders[0].notes[{at}]"} for at in (0, 1)]
    asked = desk.call(DELETE, calls)
    if isinstance(asked, PendingCall):
        desk.call(DELETE, calls, token=asked.token, verdict="once")
    assert desk.names == ["Note 2", "Note 3", "Note 4", "Note 5"]


def test_a_text_that_looks_like_a_position_is_kept() -> None:
    desk = Desk("preset = 'trusted'")
    desk.call(MAKE, [{"name": "See notes[0]"}, {"name": "notes[1]"}])
    assert {"See notes[0]", "notes[1]"} <= {*desk.names}


def test_each_call_has_a_row_in_the_audit_beside_that_of_the_question() -> None:
    audits: list[Audit] = []

    def opened() -> Audit:
        audits.append(open_audit())
        return audits[-1]

    desk = Desk(audit=opened)
    desk.allowed(DELETE, [note(1), note(2)])
    desk.gate.close()
    tail = Desk(audit=open_audit).gate.call(Call("audit_tail", {}))
    assert isinstance(tail, CompletedCall)
    rows = [row for row in tail.value["calls"] if row["tool"] == DELETE]
    said = sorted(
        reason for row in rows for reason in row["reasons"] if "approved together" in reason
    )
    assert said == [f"This is call {at} of 2 that were approved together." for at in (1, 2)]
    assert len(rows) == 3


class Clock:
    """A clock that goes on as long as is waited."""

    now = 0.0

    def __call__(self) -> float:
        type(self).now += 0.25
        return self.now


def test_every_effect_counts_for_the_limits() -> None:
    limits = RateLimits(writes=RateWindow(2, 0.2), dangerous=RateWindow(3, 60.0))
    desk = Desk("preset = 'trusted'", limiter=Limiter(limits=limits, clock=Clock()))
    assert isinstance(desk.call(MAKE, [{"name": str(at)} for at in range(5)]), CompletedCall)
    with pytest.raises(InvalidParameterError, match="at most 3 effects"):
        desk.call(DELETE, [note(at) for at in range(4)])
    assert isinstance(desk.allowed(DELETE, [note(0), note(1)]), CompletedCall)
    with pytest.raises(ToolError, match="Too many calls"):
        desk.allowed(DELETE, [note(2), note(3)])
    assert len([name for name in desk.names if name.startswith("Note")]) == 4


def test_the_library_calls_a_tool_several_times(generated: Path) -> None:
    with iac_runtime.connect(simulate=True, tools=generated) as session:
        made = session.call_all(MAKE, [{"name": "a"}, {"name": "b"}])
        names = session.call_all("notes_get", [{"target": f"{ref}.name"} for ref in made])
        assert names == ["a", "b"]
        assert session.call_all(MAKE, []) == []
        with pytest.raises(ToolError, match="Call 2 of 2"):
            session.call_all(MAKE, [{"name": "c"}, {"nam": "d"}])
        before = session.call("notes_count", element="note")
    with iac_runtime.connect(simulate=True, tools=generated, allow="SAFE") as session:
        with pytest.raises(CallRefusedError):
            session.call_all(MAKE, [{"name": "a"}])
        assert session.call("notes_count", element="note") == before - 2


# A name that several objects bear: a write is refused with them, a read answers and says so.


TOOLS = Path(notes.__file__).parent


class Names:
    """Two notes "Ideas", one in each of two folders, and what is sent about them."""

    def __init__(self, second: str = "Work") -> None:
        known = shipped_catalogue()
        world = demo_state()
        folders = world["notes"]["accounts"][0]["folders"]
        folders[1]["name"] = second
        for ident, folder in zip(("a", "b"), folders, strict=True):
            folder["notes"].append({"id": ident, "name": "Ideas", "body": ident})
        self.simulator = simulate_apps(known, world)
        executor = Executor(self.simulator)
        self.gate = Gate(
            known, executor, "DANGEROUS", home="/Users/me", permissions=open_permissions()
        )
        self.asking = Gate(known, executor, home="/Users/me", permissions=open_permissions())

    def call(self, tool: str, **arguments: Any) -> CompletedCall:
        return run_tool(self.gate, tool, **arguments)

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


@pytest.mark.parametrize(("tool", "arguments"), [
    ("notes_delete", {"target": IDEAS}), ("notes_delete", {"target": ["notes[0]", IDEAS]}),
    ("notes_set", {"target": IDEAS, "properties": {"body": "gone"}}),
    ("notes_move", {"target": IDEAS, "to": "accounts[0].folders[1]"}),
    ("notes_write_note", {"note": IDEAS, "body": "gone"}),
    ("notes_make", {"element": "attachment", "at": f"{IDEAS}.attachments"}),
])  # fmt: skip
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
    assert done.note == f"body is HTML; 2 notes have the name of {IDEAS}; this is of the first"
    assert names.call("notes_get", target='notes["Gift ideas"]').note == "body is HTML"
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
