"""A gate on simulated apps of our own, with all levels run unasked."""

from typing import Any

from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.tool import Level
from iac_runtime.tools.catalogue import Catalogue
from iac_simulator import Simulator
from iac_simulator.scenario import FaultScenario


def gate_of(
    catalogue: Catalogue,
    world: dict[str, Any],
    allow: Level = "DANGEROUS",
    *,
    faults: FaultScenario | None = None,
    **more: Any,
) -> Gate:
    tables = [catalogue.load_tables(app) for app in catalogue.apps.values()]
    simulator = Simulator(tables, {"diary": world}, faults=faults)
    gate = Gate(catalogue, Executor(simulator), allow, home="/Users/me", **more)
    gate.simulator = simulator  # type: ignore[attr-defined]
    return gate


def call(gate: Gate, tool: str, **arguments: Any) -> Any:
    outcome = gate.call(Call(tool, arguments))
    assert isinstance(outcome, CompletedCall), outcome
    return outcome.value
