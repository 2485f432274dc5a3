"""What one call through the gate takes of the limits, and what the audit holds of it."""

from pathlib import Path

import pytest
from diary_gate import gate_of
from diary_world import WORLD

from iac_base.errors import ToolError
from iac_base.files import open_state
from iac_runtime.audit.reading import AuditQuery, find_calls
from iac_runtime.gate.limiter import Limiter, Permit, RetryAfter
from iac_runtime.gate.opening import open_audit
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall, RefusedCall
from iac_runtime.policy.permissions import Requester
from iac_runtime.tools.catalogue import Catalogue

READ = ("diary_get", {"target": "entries[0].name"})
WRITE = ("diary_make_entry", {"title": "a"})
DELETE = ("diary_delete", {"target": "entries[0]"})
ASKED = Requester("tester", ("client",))


class Taken(Limiter):
    """A limiter that notes what was asked of it."""

    def __init__(self, answer: Permit | RetryAfter) -> None:
        super().__init__()
        self.answer = answer
        self.kinds: list[str] = []

    def reserve_places(self, kind: str, _places: int = 1) -> Permit | RetryAfter:
        self.kinds.append(kind)
        return self.answer


def test_each_call_takes_the_place_of_its_kind_and_a_refusal_none(catalogue: Catalogue) -> None:
    limiter = Taken(Permit(0.0))
    gate = gate_of(catalogue, WORLD, "MODIFY", limiter=limiter)
    for call in (READ, WRITE, DELETE, ("list_apps", {})):
        gate.call(Call(*call))
    assert limiter.kinds == ["read", "write"]
    asked = gate.call(Call(*DELETE, ASKED))
    assert isinstance(asked, PendingCall)
    assert limiter.kinds == ["read", "write"]
    done = gate.call(Call(*DELETE, ASKED, token=asked.token, verdict="once"))
    assert isinstance(done, CompletedCall)
    assert limiter.kinds == ["read", "write", "dangerous"]


def test_a_call_that_must_wait_says_how_long_and_its_answer_keeps(catalogue: Catalogue) -> None:
    limiter = Taken(RetryAfter(2.25))
    gate = gate_of(catalogue, WORLD, "SAFE", limiter=limiter)
    asked = gate.call(Call(*WRITE, ASKED))
    assert isinstance(asked, PendingCall)
    again = Call(*WRITE, ASKED, token=asked.token, verdict="once")
    with pytest.raises(ToolError) as caught:
        gate.call(again)
    error = caught.value
    assert (error.type, error.retryable) == ("BUSY", True)
    assert (error.app, error.command) == ("Diary", "diary_make_entry")
    assert error.message == "Too many calls: this one can run after 2.2 seconds."
    assert error.suggestion == "Wait, or do more in one call."
    assert gate.simulator.events == []  # type: ignore[attr-defined]
    limiter.answer = Permit(0.06)
    done = gate.call(again)
    assert isinstance(done, CompletedCall)
    assert "waited 0.1 seconds" in done.note


def test_the_audit_holds_who_called_what_was_decided_and_what_came_of_it(
    catalogue: Catalogue, own_data_folder: Path
) -> None:
    gate = gate_of(catalogue, WORLD, "SAFE", audit=open_audit)

    read = gate.call(Call(*READ, ASKED))
    assert isinstance(read, CompletedCall)
    asked = gate.call(Call(*DELETE, ASKED))
    assert isinstance(asked, PendingCall)
    denied = gate.call(Call(*DELETE, ASKED, token=asked.token, verdict="decline"))
    assert isinstance(denied, RefusedCall)
    with pytest.raises(ToolError) as caught:
        gate.call(Call("diary_get", {"target": "journals['No'].name"}, ASKED))
    failed = caught.value
    assert (failed.app, failed.command) == ("Diary", "diary_get")
    gate.close()

    rows = sorted(find_calls(open_state(), AuditQuery(), 10), key=lambda row: row.seq)
    assert {(row.client, row.app) for row in rows} == {("tester", "com.example.Diary")}
    assert [(row.tool, row.level, row.decision, row.source, row.result) for row in rows] == [
        ("diary_get", "SAFE", "allow", "preset cautious", "done"),
        ("diary_delete", "DANGEROUS", "deny", "the user", "refused"),
        ("diary_get", "SAFE", "allow", "preset cautious", "NOT_FOUND"),
    ]
    assert [row.error for row in rows] == ["", "", failed.message]
    assert rows[0].line == read.line
    # Both rows of the call that was asked about are one.
    always = "DANGEROUS calls always require approval."
    assert rows[1].reasons == [always, "The user declined."]
    assert [row.asked for row in rows] == [[], [["client", "decline"]], []]
    assert len(find_calls(open_state(), AuditQuery(simulated=True), 10)) == 3
    assert find_calls(open_state(), AuditQuery(simulated=False), 10) == []


def test_a_trial_and_another_door_run_nothing(catalogue: Catalogue) -> None:
    limiter = Taken(Permit(0.0))
    gate = gate_of(catalogue, WORLD, limiter=limiter)
    tried = gate.call(Call(*DELETE), dry_run=True)
    assert isinstance(tried, CompletedCall)
    assert (tried.value, tried.level) == (None, "DANGEROUS")
    other = gate.call(Call(*DELETE, most="MODIFY"))
    assert isinstance(other, RefusedCall)
    assert isinstance(gate.call(Call(*READ, most="SAFE")), CompletedCall)
    assert limiter.kinds == ["read"]
    assert len(gate.simulator.events) == 1  # type: ignore[attr-defined]
