"""What the field book knows: told with a failure that it explains, and where a person is asked."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from simulated import shipped_catalogue

from iac_base.errors import ToolError
from iac_base.words import STANDARD_VERBS, fold_name
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.known_cases import CallTerms, describe_case, find_failure_case, known_cases
from iac_runtime.gate.plans import Call, PendingCall
from iac_runtime.policy.permissions import Requester, open_permissions
from iac_runtime.policy.prompts import LINE_LIMIT
from iac_runtime.tools import field
from iac_simulator import Simulator
from iac_simulator.scenario import FaultScenario, InjectedFault
from iac_simulator.simulator import demo_state

KNOWN = shipped_catalogue()
MODULES = {app.id: KNOWN.load_tables(app) for app in KNOWN.apps.values()}
TABLE = [
    json.loads(row)
    for row in Path(field.__file__).with_suffix(".jsonl").read_text("utf-8").splitlines()
]


def rows_of(use: str) -> list[Any]:
    return [
        pytest.param(app, row, id=row["id"]) for app, uses in TABLE for row in uses.get(use, ())
    ]


def fitting_call(app: str, row: Mapping[str, Any]) -> CallTerms:
    """Return what a call does that the row is about."""
    play = row.get("play", {})
    terms = [play[key] for key in ("verb", "of", "property") if key in play] or row["terms"]
    verbs = {*STANDARD_VERBS}
    if app in MODULES:
        verbs |= {spec.jxa for spec in MODULES[app].tools.values() if spec.op == "command"}
    parts = {part for term in terms for part in term.split(".")}
    folded = frozenset(map(fold_name, parts))
    return CallTerms(app or "com.example.Diary", folded, folded, frozenset(map(fold_name, verbs)))


def told(app: str, row: Mapping[str, Any], number: int | None) -> Mapping[str, Any] | None:
    return find_failure_case(fitting_call(app, row), "EXECUTION_ERROR", number)


@pytest.mark.parametrize(("app", "row"), rows_of("hint"))
def test_each_row_about_failures_fits_the_failure_that_it_tells_of(
    app: str, row: dict[str, Any]
) -> None:
    play = row.get("play", {})
    number = play.get("number", -1712 if play.get("fault") in ("hang", "dialog") else None)
    assert row in known_cases(fitting_call(app, row), "hint")
    found = told(app, row, number)
    assert found is not None
    assert found.get("play", {}).get("number", number) == number
    # A row that knows a number is about no other.
    assert number is None or told(app, row, 4711) != row


@pytest.mark.parametrize(("app", "row"), rows_of("question"))
def test_each_row_for_a_question_fits_the_call_that_it_tells_of(
    app: str, row: dict[str, Any]
) -> None:
    assert row in known_cases(fitting_call(app, row), "question")


def test_what_is_told_is_one_line() -> None:
    rows = [row for _, uses in TABLE for use in ("hint", "question") for row in uses.get(use, ())]
    assert max(map(len, map(describe_case, rows))) < 400
    assert all("\n" not in describe_case(row) for row in rows)


def failure(tool: str, arguments: Mapping[str, Any], **fault: Any) -> str:
    """Return what a call that fails suggests."""
    faults = FaultScenario((InjectedFault(times=0, **fault),))
    simulator = Simulator(list(MODULES.values()), demo_state(), faults=faults)
    gate = Gate(KNOWN, Executor(simulator), "DANGEROUS", home="/Users/me")
    with pytest.raises(ToolError) as caught:
        gate.call(Call(tool, arguments))
    return caught.value.suggestion


BY_KIND = {"element": "account", "where": {"account type": "imap"}}
CONTENT = {"target": "outgoingMessages[0]", "properties": {"content": "Hi"}}


@pytest.mark.parametrize(("tool", "arguments", "number", "expected"), [
    ("safari_do_javascript", {"script": "1", "in": "documents[0]"}, 8, "must be on in the Develop"),
    ("reminders_delete", {"target": "lists[0]"}, -10000, "Offer to move them to a list for old"),
    ("finder_delete", {"target": "/Users/me/Documents/plan.txt"}, -10010, "a file that is gone"),
    ("notes_list", {"element": "note"}, -600, "Ask for the count of accounts to find out."),
    ("mail_list", BY_KIND, -1700, "Read the column and compare it yourself."),
    ("mail_set", CONTENT, -1700, "Give the text when the message is made"),
    ("mail_list", {"element": "mailbox"}, -1743, "Known case (send events from a background"),
    ("reminders_list", {"element": "list"}, -10004, "no setting helps"),
])  # fmt: skip
def test_a_failed_call_says_what_is_known_of_it(
    tool: str, arguments: dict[str, Any], number: int, expected: str
) -> None:
    assert expected in failure(tool, arguments, error=number)


@pytest.mark.parametrize(("tool", "arguments", "number"), [
    ("notes_list", {"element": "note"}, -1728),
    ("reminders_delete", {"target": "lists[0].reminders[0]"}, -10000),
    ("reminders_list", {"element": "list"}, -10000),
    ("safari_list", {"element": "window"}, 8),
])  # fmt: skip
def test_a_failure_that_no_row_is_about_is_told_as_before(
    tool: str, arguments: dict[str, Any], number: int
) -> None:
    assert "Known case" not in failure(tool, arguments, error=number)


def test_what_failed_before_a_change_was_sent_changed_nothing() -> None:
    """The count of the name fails, and with it the call."""
    named = {"target": 'notes["Groceries"]', "properties": {"body": "x"}}
    told = failure("notes_set", named, event="corecnte", error=-609)
    assert "Nothing was sent." in told
    assert "unknown whether" not in told


def test_an_app_that_is_seen_not_to_run_is_told_of_as_before() -> None:
    world = {**demo_state(), "notes": {**demo_state()["notes"], "@running": False}}
    gate = Gate(KNOWN, Executor(Simulator(list(MODULES.values()), world)), home="/Users/me")
    with pytest.raises(ToolError) as caught:
        gate.call(Call("notes_list", {"element": "note"}))
    assert caught.value.type == "APP_NOT_RUNNING"
    assert "Known case" not in caught.value.suggestion


def question(tool: str, arguments: Mapping[str, Any], **more: Any) -> str:
    """Return what a person is asked about a call."""
    simulator = Simulator(list(MODULES.values()), demo_state())
    gate = Gate(KNOWN, Executor(simulator), home="/Users/me", permissions=open_permissions())
    asked = gate.call(Call(tool, arguments, Requester("Claude", ("client",)), **more))
    assert isinstance(asked, PendingCall), asked
    assert len(asked.question.text.splitlines()) <= LINE_LIMIT
    return asked.question.text


def undo_line(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(("Undo: ", "Cannot be undo")))


@pytest.mark.parametrize(("tool", "arguments", "expected"), [
    ("reminders_delete", {"target": "lists[0].reminders[0]"}, "(delete a reminder with subtasks)"),
    ("reminders_delete", {"target": "lists[0]"}, "deleted reminders cannot be listed or put back"),
    ("notes_set", {"target": "notes[0]", "properties": {"body": "A"}}, "ordinary bullets"),
    ("finder_empty", {}, "It can run past the limit"),
])  # fmt: skip
def test_the_question_tells_beside_the_undo_what_is_known_of_the_call(
    tool: str, arguments: dict[str, Any], expected: str
) -> None:
    line = undo_line(question(tool, arguments))
    assert expected in line
    assert line.count("Known case") == 1


@pytest.mark.parametrize(("tool", "arguments", "expected"), [
    ("notes_set", {"target": "notes[0]", "properties": {"body": "A"}}, "; but what was ticked"),
    ("reminders_delete", {"target": "lists[0]"}, "Cannot be undone: "),
])  # fmt: skip
def test_the_undo_says_what_it_cannot_bring_back(
    tool: str, arguments: dict[str, Any], expected: str
) -> None:
    assert expected in undo_line(question(tool, arguments))


@pytest.mark.parametrize(("app", "row"), rows_of("undo"))
def test_each_row_about_undo_fits_the_call_that_it_tells_of(app: str, row: dict[str, Any]) -> None:
    assert row in known_cases(fitting_call(app, row), "undo")


@pytest.mark.parametrize(("tool", "arguments"), [
    ("notes_delete", {"target": "notes[0]"}),
    ("calendar_delete", {"target": 'calendars["Home"]'}),
    ("finder_delete", {"target": "/Users/me/Desktop/Todo.txt"}),
    ("mail_delete", {"target": "signatures[0]"}),
])  # fmt: skip
def test_a_question_about_what_no_row_is_about_is_as_before(
    tool: str, arguments: dict[str, Any]
) -> None:
    assert "Known case" not in question(tool, arguments)


def test_a_question_about_several_calls_tells_what_is_known_of_one() -> None:
    every = tuple({"target": f"lists[0].reminders[{at}]"} for at in range(2))
    assert undo_line(question("reminders_delete", {}, calls=every)).count("Known case") == 1
