"""A write that is ended half-way: what is known of it by then, however it was sent.

Each case holds up one event of a `set`: one that reads before it, its own, one that reads it back.
"""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from diary_world import WORLD, call, gate_of

from iac_base.errors import Cancellation, ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.gate.verify import open_history
from iac_runtime.outcomes.history import UndoHistory
from iac_runtime.tools.catalogue import Catalogue
from iac_simulator.scenario import FaultScenario, InjectedFault

pytestmark = pytest.mark.process

MONDAY = 'journals.byId("j1").entries.byId("e1")'
WRITE = Call("diary_set", {"target": MONDAY, "properties": {"body": "Snow"}})
BEFORE = {"event": "coregetd", "nth": 1}
ITSELF = {"event": "coresetd"}
BACK = {"event": "coregetd", "nth": 3}

MakeGate = Callable[..., Gate]


@pytest.fixture(params=["worker", "process", "runner"])
def made(
    request: pytest.FixtureRequest,
    catalogue: Catalogue,
    output: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[MakeGate]:
    """Make a gate whose app has a fault: by a worker, a process a call, or in this process."""
    gates: list[Gate] = []

    def make(**fault: Any) -> Gate:
        scenario = FaultScenario((InjectedFault(**fault),))
        if request.param == "runner":
            gates.append(gate_of(catalogue, WORLD, faults=scenario))
            return gates[-1]
        state, faults, program = (tmp_path / name for name in ("state.json", "f.json", "osascript"))
        state.write_text(json.dumps({"diary": WORLD}), "utf-8")
        faults.write_text(json.dumps({"fault": [asdict(scenario.faults[0])]}), "utf-8")
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m iac_simulator.osascript "$@"\n')
        program.chmod(0o755)
        for name, path in (("TOOLS", output), ("STATE", state), ("FAULTS", faults)):
            monkeypatch.setenv(f"IAC_SIMULATOR_{name}", str(path))
        workers = request.param == "worker"
        executor = Executor(program=str(program), workers=workers, state=tmp_path / "locks")
        kept = {open_history: UndoHistory(None)}
        gates.append(Gate(catalogue, executor, "DANGEROUS", home="/Users/me", kept=kept))
        call(gates[-1], "diary_count", element="journal")
        return gates[-1]

    yield make
    for gate in gates:
        gate.close()


def ended(gate: Gate) -> ToolError:
    with pytest.raises(ToolError) as caught:
        gate.call(WRITE._replace(timeout=4.0))
    return caught.value


def body(gate: Gate) -> Any:
    return call(gate, "diary_get", target=f"{MONDAY}.body")


@pytest.mark.sweep
def test_before_it_was_sent_nothing_happened_and_it_may_be_called_again(made: MakeGate) -> None:
    gate = made(delay=600.0, **BEFORE)
    error = ended(gate)
    assert (error.type, error.retryable, error.outcome) == ("TIMEOUT", True, None)
    assert error.suggestion.startswith("Nothing was sent.")
    assert error.next is not None
    assert (error.next.tool, dict(error.next.arguments)) == WRITE[:2]
    assert call(gate, "history") == {"calls": []}
    assert body(gate) == "Rain"


@pytest.mark.sweep
def test_without_an_answer_its_outcome_is_unknown_and_the_old_state_is_kept(made: MakeGate) -> None:
    gate = made(delay=600.0, **ITSELF)
    error = ended(gate)
    assert (error.type, error.retryable) == ("TIMEOUT", False)
    assert "unknown whether the change happened" in error.suggestion
    lost = {"state": "unknown", "ref": MONDAY, "says": "the answer was lost", "call": 1}
    assert error.facts()["outcome"] == lost
    assert call(gate, "outcome", call=1)["outcome"]["state"] == "confirmed"
    call(gate, "undo_call", call=1)
    assert body(gate) == "Rain"


@pytest.mark.sweep
@pytest.mark.parametrize("end", [{"delay": 600.0}, {"exit": 3}])
def test_an_answer_counts_though_it_could_not_be_read_back(
    made: MakeGate, end: dict[str, Any]
) -> None:
    gate = made(**BACK, **end)
    answer = gate.call(WRITE._replace(timeout=4.0))
    assert isinstance(answer, CompletedCall)
    assert answer.outcome is not None
    says = "the app acknowledged it, but there was no time to read it back"
    assert answer.outcome.facts() == {"state": "unknown", "ref": MONDAY, "says": says, "call": 1}
    assert body(gate) == "Snow"
    call(gate, "undo_call")
    assert body(gate) == "Rain"


@pytest.mark.sweep
def test_an_end_of_the_process_says_the_same_as_a_deadline(made: MakeGate) -> None:
    gate = made(exit=3, **BEFORE)
    error = ended(gate)
    assert (error.type, error.retryable) == ("EXECUTION_ERROR", True)
    assert error.suggestion.startswith("Nothing was sent.")
    assert gate.call(WRITE)
    assert body(gate) == "Snow"


@pytest.mark.sweep
def test_a_call_that_never_happened_is_not_taken_back(made: MakeGate) -> None:
    gate = made(error=-1712, **ITSELF)
    assert ended(gate).outcome is not None
    with pytest.raises(ToolError, match=r'now "Rain", and not "Snow", as the call requested'):
        call(gate, "undo_call")
    assert body(gate) == "Rain"


@pytest.mark.sweep
def test_a_cancelled_call_says_whether_it_was_sent(made: MakeGate) -> None:
    gate = made(delay=600.0, **BEFORE)
    if gate.executor.simulated:
        pytest.skip("nothing can end it")
    cancel = Cancellation()
    threading.Timer(3.0, cancel.cancel).start()
    with pytest.raises(ToolError, match="cancelled before it was sent"):
        gate.call(WRITE, cancel=cancel)
    assert body(gate) == "Rain"
