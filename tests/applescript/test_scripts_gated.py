"""Scripts behind the gate's plan, over simulated apps: what runs decides what reading may do."""

from pathlib import Path

import pytest

from iac_applescript.gated import Gated, open_toolset
from iac_runtime.catalogue import Catalogue
from iac_runtime.execution.executor import Executor
from iac_runtime.plans import Call, Plan
from iac_runtime.request import Event
from iac_runtime.simulation import simulation

READS = 'tell application "Music" to get name of current track'
ASKS = f'if application "Music" is running then {READS}'
PLAYER = "com.apple.Music"


@pytest.fixture
def executor(catalogue: Catalogue) -> Executor:
    return Executor(simulation(catalogue, None))


@pytest.fixture
def gated(
    catalogue: Catalogue, executor: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("IAC_DATA", str(tmp_path / "data"))
    found = open_toolset(catalogue, executor)
    yield found
    found.close()
    executor.close()


def plan(gated: Gated, script: str) -> Plan:
    return gated.plan(Call("execute_applescript", {"script": script}))


def test_a_script_that_reads_is_safe_while_its_app_runs(gated: Gated, executor: Executor) -> None:
    running = plan(gated, READS)
    assert (running.levels, running.raised) == (("SAFE", "DANGEROUS"), ())
    executor.execute(
        Event(PLAYER, "application", "quit", "aevtquit"), app="Music", command="app_quit"
    )
    stopped = plan(gated, READS)
    assert stopped.levels[0] == "MODIFY"
    assert [row.says for row in stopped.raised] == ["would start Music (com.apple.Music)"]
    assert stopped.targets == (PLAYER,)
    assert "would start Music" in stopped.line
    assert executor.test_app(PLAYER).running == "no"
    assert plan(gated, ASKS).levels[0] == "SAFE"


def test_what_cannot_be_known_to_run_is_asked_about(gated: Gated, executor: Executor) -> None:
    executor.close()
    assert plan(gated, READS).levels[0] == "MODIFY"
    assert plan(gated, "return 1 + 1").levels[0] == "SAFE"


def test_nothing_is_confined_among_simulated_apps(gated: Gated) -> None:
    found = plan(gated, READS)
    assert "not held to these apps by macOS" in found.line
    assert (
        "osacompile"
        not in gated.plan(Call("validate_applescript", {"script": READS}))
        .perform(None)
        .value["data"]["checks"]
    )
