"""What the gate remembers and tells of a call: its stages, its failures, the texts it brought."""

import logging
import re
from pathlib import Path
from typing import Any

import pytest
from diary_world import WORLD, gate_of

from iac_base.errors import Cancellation, ToolError
from iac_base.files import open_state
from iac_runtime.audit.reading import AuditQuery, find_calls
from iac_runtime.gate.limiter import Limiter, RateLimits, RateWindow
from iac_runtime.gate.opening import open_audit
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.tools.catalogue import Catalogue
from iac_simulator.scenario import FaultScenario, InjectedFault

MONDAY = 'journals.byId("j1").entries.byId("e1")'
LONG = "https://weather.example/a-place-that-nobody-guesses"


def test_the_log_tells_how_long_each_stage_of_a_call_took(
    catalogue: Catalogue, own_data_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gate = gate_of(catalogue, WORLD, audit=open_audit)
    with caplog.at_level(logging.DEBUG, "iac.gate"):
        gate.call(Call("diary_get", {"target": f"{MONDAY}.name"}))
    gate.close()
    stages = "plan judge answer limit intent execute".split()
    shape = ", ".join(rf"{name} (\d+\.\d\d)" for name in stages)
    [said] = [row.getMessage() for row in caplog.records if row.name == "iac.gate"]
    took = re.fullmatch(rf"diary_get: {shape} ms", said)
    assert took is not None, said
    # Milliseconds: the simulated app takes one, and nothing here takes a minute.
    assert 0.05 < sum(map(float, took.groups())) < 60_000


def audited(gate: Any) -> list[Any]:
    gate.close()
    return find_calls(open_state(), AuditQuery(), 50)


def test_a_failure_is_recorded_as_what_it_was(catalogue: Catalogue, own_data_folder: Path) -> None:
    hung = FaultScenario((InjectedFault(error=-1743),))
    gate = gate_of(catalogue, WORLD, audit=open_audit, faults=hung)
    with pytest.raises(ToolError) as caught:
        gate.call(Call("diary_get", {"target": f"{MONDAY}.name"}))
    assert (caught.value.app, caught.value.command) == ("Diary", "diary_get")
    [row] = audited(gate)
    assert (row.result, row.error) == (caught.value.type, caught.value.message)
    assert row.ms is not None
    assert 0 <= row.ms < 60_000


def test_a_call_that_breaks_inside_is_an_execution_error(
    catalogue: Catalogue, own_data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = gate_of(catalogue, WORLD, audit=open_audit)

    def broken(*_args: Any, **_more: Any) -> Any:
        raise ValueError("broken")

    monkeypatch.setattr(gate.executor, "execute", broken)
    with pytest.raises(ValueError, match="broken"):
        gate.call(Call("diary_get", {"target": f"{MONDAY}.name"}))
    assert [row.result for row in audited(gate)] == ["EXECUTION_ERROR"]


def test_a_call_that_was_cancelled_is_recorded_so(
    catalogue: Catalogue, own_data_folder: Path
) -> None:
    gate = gate_of(catalogue, WORLD, audit=open_audit)
    cancel = Cancellation()
    cancel.cancel()
    with pytest.raises(ToolError):
        gate.call(Call("diary_get", {"target": f"{MONDAY}.name"}), cancel=cancel)
    assert [row.result for row in audited(gate)] == ["cancelled"]


def test_what_an_app_answers_is_remembered_as_text_of_strangers(catalogue: Catalogue) -> None:
    gate = gate_of(catalogue, WORLD)
    taint = gate.permissions.taint
    gate.call(Call("diary_set", {"target": MONDAY, "properties": {"body": LONG}}))
    gate.call(Call("diary_get", {"target": f"{MONDAY}.body"}))
    # What the caller wrote and the app gave back is still the caller's, to this caller.
    assert not taint.find_tainted_piece(LONG)
    assert taint.find_tainted_piece(LONG, holder="another")
    fresh = gate_of(catalogue, gate.simulator.state()["diary"])  # type: ignore[attr-defined]
    fresh.call(Call("diary_get", {"target": f"{MONDAY}.body"}))
    assert fresh.permissions.taint.find_tainted_piece(LONG)


def test_a_result_that_is_cut_is_remembered_whole(catalogue: Catalogue) -> None:
    gate = gate_of(catalogue, WORLD, limit=300)
    gate.call(Call("diary_set", {"target": MONDAY, "properties": {"body": "x" * 500 + LONG}}))
    fresh = gate_of(catalogue, gate.simulator.state()["diary"], limit=300)  # type: ignore[attr-defined]
    answer = fresh.call(Call("diary_get", {"target": f"{MONDAY}.body"}))
    assert isinstance(answer, CompletedCall)
    assert LONG not in str(answer.value)
    assert fresh.permissions.taint.find_tainted_piece(LONG)


def test_what_an_error_says_is_remembered_too(catalogue: Catalogue) -> None:
    says = FaultScenario((InjectedFault(error=-1743),))
    gate = gate_of(catalogue, WORLD, faults=says)
    with pytest.raises(ToolError) as caught:
        gate.call(Call("diary_get", {"target": f"{MONDAY}.name"}))
    assert gate.permissions.taint.find_tainted_piece(caught.value.original)


def test_several_calls_wait_for_their_places_one_by_one(
    catalogue: Catalogue, own_data_folder: Path
) -> None:
    limits = RateLimits(writes=RateWindow(1, 1.1))
    gate = gate_of(catalogue, WORLD, audit=open_audit, limiter=Limiter(limits=limits))
    given = tuple({"target": MONDAY, "properties": {"body": f"{n}"}} for n in range(2))
    answer = gate.call(Call("diary_set", {}, calls=given))
    assert isinstance(answer, CompletedCall)
    # A call of its own would be refused rather than wait for so long.
    assert len(answer.value["results"]) == 2
    assert [row.result for row in audited(gate)] == ["done", "done"]
