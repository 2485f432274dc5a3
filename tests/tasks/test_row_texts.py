"""Lists as a model reads them: columns once, rows behind handles, and what a handle does."""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from simulated import simulate_apps

from iac_base.errors import Cancellation
from iac_runtime.audit import Audit
from iac_runtime.audit.reading import AuditQuery, find_calls
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import HOME
from iac_runtime.language.reader import DateText, RefText
from iac_runtime.policy.prompts import ONCE
from iac_runtime.serve.call import CallMethod, RemoteClient
from iac_runtime.serve.row_text import concise_text
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import added_tools
from iac_simulator.simulator import demo_state

REMINDERS = {"element": "reminder"}
FIRST = 'reminders.byId("x-apple-reminder://R-0001")'
Ask = Callable[..., tuple[Any, dict[str, Any]]]


class Person:
    """A client whose person says yes once to whatever is asked."""

    name = "tests"
    modern = views = tasks = False
    declared = True

    def __init__(self, holder: str = "") -> None:
        self.remote = RemoteClient(holder, "DANGEROUS") if holder else None
        self.asked: list[str] = []

    def report(self, *_said: Any) -> None:
        """Hear how long a call has run."""

    def elicit(self, params: Mapping[str, Any], *_more: Any) -> tuple[str, dict[str, str]]:
        self.asked.append(str(params["message"]))
        return "accept", {"answer": ONCE}


@pytest.fixture
def own_gate(generated: Path) -> Iterator[Gate]:
    """Simulated apps with 162 reminders."""
    catalogue = Catalogue([generated])
    state = demo_state()
    reminders = state["reminders"]["accounts"][0]["lists"][0]["reminders"]
    reminders += [
        {"id": f"x-apple-reminder://{number:08d}", "name": f"Reminder {number}", "completed": False,
         "priority": 0, "flagged": False, "dueDate": None, "modificationDate": None}
        for number in range(157)
    ]  # fmt: skip
    executor = Executor(simulate_apps(catalogue, state))
    gate = Gate(catalogue, executor, home=HOME, added=added_tools)
    yield gate
    gate.close()


def asker(gate: Gate, person: Person | None = None) -> Ask:
    """Return what makes a call of a client: what its text says, and the whole result."""
    send, who = CallMethod(gate, lambda: gate.catalogue), person or Person()  # type: ignore

    def ask(tool: str, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        result = send({"name": tool, "arguments": arguments}, who, Cancellation())
        return json.loads(result["content"][0]["text"]), result

    return ask


def rows_of(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {**told.get("in every row", {}), **dict(zip(told["columns"], row, strict=False))}
        for row in told["rows"]
    ]


def test_162_reminders_cost_less_than_half_and_structured_content_is_whole(own_gate: Gate) -> None:
    ask = asker(own_gate)
    told, result = ask("reminders_list", **REMINDERS, limit=200)
    whole = result["structuredContent"]
    assert [row["name"] for row in rows_of(told)] == [row["name"] for row in whole["result"]]
    assert len(told["rows"]) == 162
    assert whole["result"][0]["ref"] == FIRST
    assert {"completed": False, "flagged": False}.items() <= whole["result"][0].items()
    assert len(result["content"][0]["text"].encode()) / 4 <= 2_200
    full, _ = ask("reminders_list", **REMINDERS, limit=200, detail="full")
    assert full == whole


def test_a_list_without_a_limit_is_of_50_and_says_of_how_many(own_gate: Gate) -> None:
    told, _ = asker(own_gate)("reminders_list", **REMINDERS)
    assert len(told["rows"]) == 50
    assert told["note"].startswith("50 of 162 items")


def test_a_handle_names_its_row_wherever_a_reference_does(own_gate: Gate) -> None:
    ask = asker(own_gate)
    reminder, other = (row["ref"] for row in rows_of(ask("reminders_list", **REMINDERS)[0])[:2])
    assert ask("reminders_get", target=f"{reminder}.name")[0] == {"result": "Call the roofer"}
    both, result = ask("reminders_get", target=[reminder, other], properties=["name"])
    assert [row["target"] for row in rows_of(both)] == [reminder, other]
    assert result["structuredContent"]["result"][0]["target"] == FIRST
    inner, _ = ask("read_tool", name="reminders_get", arguments={"target": f"{other}.name"})
    assert inner == {"result": "Return library books"}
    several, _ = ask("read_tool", name="reminders_get",
                     calls=[{"target": f"{one}.name"} for one in (reminder, other)])  # fmt: skip
    assert several["results"] == ["Call the roofer", "Return library books"]
    lists = rows_of(ask("reminders_list", element="list")[0])
    held, _ = ask("reminders_list", **REMINDERS, of=lists[0]["ref"], limit="1")
    assert held["note"].startswith("1 of ")
    planned, _ = ask("run_plan", program=f"reminders.get({reminder!r} + '.name')")
    assert planned == {"result": "Call the roofer"}
    opened, _ = ask("reminders_list_open", list=lists[0]["ref"])
    assert opened["rows"]


def test_the_question_the_audit_and_the_change_are_of_the_object(
    own_gate: Gate, tmp_path: Path
) -> None:
    own_gate._open_audit = lambda: Audit.open(tmp_path)
    person = Person()
    ask = asker(own_gate, person)
    handle = ask("reminders_list", **REMINDERS)[0]["rows"][0][0]
    told, _ = ask("reminders_set", target=handle, properties={"name": handle})
    assert told["outcome"]["state"] == "confirmed"
    assert "Call the roofer" in person.asked[0]
    # What takes a text keeps its text.
    assert ask("reminders_get", target=FIRST, properties=["name"])[0] == {"name": handle}
    (entry,) = find_calls(tmp_path, AuditQuery(tool="reminders_set"), 9)
    assert FIRST in entry.line


def test_what_was_made_is_told_by_a_handle_that_works(own_gate: Gate) -> None:
    ask = asker(own_gate)
    made, result = ask("reminders_make_reminder", name="Salt")
    assert len(made["ref"]) < 12 < len(result["structuredContent"]["ref"])
    assert ask("reminders_get", target=f"{made['ref']}.name")[0]["result"] == "Salt"


def test_a_handle_means_nothing_after_a_restart_for_another_client_or_in_another_app(
    own_gate: Gate,
) -> None:
    ask = asker(own_gate, Person("http:ada"))
    handle = ask("reminders_list", **REMINDERS)[0]["rows"][0][0]
    fresh = Gate(own_gate.catalogue, own_gate.executor, home=HOME)
    asker(fresh)("reminders_list", **REMINDERS)
    for failing, tool in (
        (asker(fresh), "reminders_get"),
        (asker(own_gate, Person("http:ben")), "reminders_get"),
        (ask, "notes_get"),
    ):
        told, result = failing(tool, target=handle)
        assert result["isError"]
        assert told["message"] == f'"{handle}" is not a row that this app listed in this session.'
        assert "List the objects again" in told["suggestion"]


def test_a_row_that_only_its_position_names_keeps_its_reference(own_gate: Gate) -> None:
    told, _ = asker(own_gate)("safari_list", element="tab", of="windows[0]")
    assert told["rows"][0][0].startswith("windows[0].tabs[")


def test_a_table_tells_null_false_and_missing_apart_and_no_text_breaks_a_row() -> None:
    noon = datetime(2026, 3, 2, 12, 0, 41, tzinfo=UTC)
    rows: list[dict[str, Any]] = [
        {"ref": RefText('notes["a"]'), "name": '"],\n["r1', "seen": True,
         "sent": DateText(noon.isoformat())},
        {"ref": RefText('notes["b"]'), "name": "2026-03-02T12:00:00+00:00", "seen": False,
         "sent": None, "count": 0, "odd": None},
    ]  # fmt: skip
    rows = [{"read": False, "gone": None, **row} for row in rows]
    text = concise_text({"result": rows, "note": "2 of 9"}, str.upper)
    told = json.loads(text)
    assert told["in every row"] == {"read": False, "gone": None, "odd": None}
    assert told["times"] == "local, UTC+00:00"
    assert told["columns"] == ["ref", "name", "seen", "sent", "count"]
    assert told["rows"] == [
        ['NOTES["A"]', '"],\n["r1', True, "2026-03-02 12:00"],
        ['NOTES["B"]', "2026-03-02T12:00:00+00:00", None, None, 0],
    ]
    assert len(text.splitlines()) == 3


@pytest.mark.parametrize("mixed", [[True, None], [False, None], [1, True]])
def test_a_cell_is_left_out_only_where_what_it_was_is_clear(mixed: list[Any]) -> None:
    told = json.loads(concise_text({"result": [{"a": one} for one in mixed]}, str))
    assert [row[0] if row else None for row in told["rows"]] == mixed


def test_an_answer_that_is_no_list_stays_what_it_is() -> None:
    assert concise_text({"result": False}, str) == '{"result":false}'
    assert concise_text({"name": "x", "done": False, "due": None}, str) == (
        '{"name":"x","done":false}'
    )
    assert concise_text({"result": [], "note": "there is none"}, str) == (
        '{"result":[],"note":"there is none"}'
    )


def test_moments_of_two_offsets_say_both() -> None:
    moments = [DateText("2026-03-02T12:00:00+01:00"), DateText("2026-07-02T12:00:00+02:00")]
    told = json.loads(concise_text({"result": [{"at": one} for one in moments]}, str))
    assert told["times"] == "local, UTC+01:00 or UTC+02:00"
    assert told["rows"] == [["2026-03-02 12:00"], ["2026-07-02 12:00"]]
