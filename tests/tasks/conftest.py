"""The committed tools on simulated apps, as a model meets them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from player import ABLE, Answer

from iac_base.errors import ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import HOME, open_simulation
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall
from iac_runtime.tools.catalogue import Catalogue


@pytest.fixture(scope="session", autouse=True)
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IAC_DATA", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="session")
def gate(generated: Path) -> Iterator[Gate]:
    catalogue = Catalogue([generated])
    simulated = open_simulation(catalogue, None)
    found = Gate(catalogue, Executor(simulated), home=HOME)
    yield found
    found.close()


@pytest.fixture(scope="session")
def answer(gate: Gate) -> Answer:
    """Make a call: `{"result"}`, `{"asks"}`, or the facts of the failure."""

    def make(tool: str, given: Mapping[str, Any]) -> dict[str, Any]:
        try:
            outcome = gate.call(Call(tool, given, ABLE))
        except ToolError as error:
            return error.facts()
        if isinstance(outcome, CompletedCall):
            return {"result": outcome.value}
        return {"asks": outcome.question} if isinstance(outcome, PendingCall) else outcome.facts()

    return make
