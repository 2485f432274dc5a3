"""What a question promises of undo is what undo does, over writes drawn from all committed apps."""

import copy
from typing import Any, NamedTuple

import pytest
from drawn_writes import CATALOGUE, Draw, demo_world, differs, draw_writes, pristine

from iac_base.errors import ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate import targets
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CallAnswer, CompletedCall, PendingCall
from iac_runtime.policy.permissions import Requester, open_permissions
from iac_simulator import Simulator

pytestmark = pytest.mark.uncounted

ASKED = Requester("Claude", ("client",))
DRAWS = draw_writes(400)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "SECONDS", 30.0)


class Told(NamedTuple):
    """What the question said of undo, what came of the call, and what it was asked about."""

    line: str
    done: CompletedCall


def make_call(gate: Gate, tool: str, arguments: dict[str, Any], **more: Any) -> Told | None:
    """Return how a call went that a person was asked about and allowed; None for any other."""
    line = ""
    try:
        found: CallAnswer = gate.call(Call(tool, copy.deepcopy(arguments), ASKED, **more))
        while isinstance(found, PendingCall):
            rows = found.question.text.splitlines()
            line = next(row for row in rows if row.startswith(("Undo: ", "Cannot be undone: ")))
            found = gate.answer(found, "once")
    except ToolError:
        return None
    return Told(line, found) if line and isinstance(found, CompletedCall) else None


def check_promise(draw: Draw, *, meddled: bool = False, **more: Any) -> None:
    app, tool, arguments, foreign = draw.write
    tables = CATALOGUE.load_tables(CATALOGUE.apps[app])
    first = demo_world(app) if draw.demo else {}
    simulator = Simulator([tables], {app: first} if first else {})
    gate = Gate(CATALOGUE, Executor(simulator), home="/Users/me", permissions=open_permissions())

    def world() -> Any:
        return simulator.state().get(app) or pristine(app)

    before = world()
    told = make_call(gate, tool, arguments, **more)
    if told is None or (meddled and not foreign):
        return
    promised = told.line.startswith("Undo: ") and "not needed" not in told.line
    call = told.done.outcome.call if told.done.outcome else 0
    if meddled:
        theirs: dict[str, Any] = copy.deepcopy(foreign or {})
        theirs["target"] = theirs["target"] or told.done.value
        at = world()
        if make_call(gate, f"{app}_set", theirs, confirm=False) is None or at == world():
            return
    now = world()
    undone = make_call(gate, "undo_call", {"call": call}) if call else None
    if undone is None:
        assert world() == now, "an undo that failed has changed something"
        assert meddled or not promised or not differs(before, now), told.line
        return
    assert not meddled, "what somebody changed is gone"
    assert promised, f"{told.line} But it could be."
    assert differs(before, world()) == [], told.line


@pytest.mark.sweep
@pytest.mark.parametrize("draw", DRAWS, ids=str)
def test_undo_does_what_the_question_promised(draw: Draw) -> None:
    check_promise(draw)


@pytest.mark.sweep(40)
@pytest.mark.parametrize("draw", DRAWS, ids=str)
def test_a_call_without_a_read_back_keeps_the_undo_that_was_promised(draw: Draw) -> None:
    check_promise(draw, confirm=False)


@pytest.mark.sweep(40)
@pytest.mark.parametrize("draw", DRAWS, ids=str)
def test_an_undo_that_was_promised_leaves_what_others_changed(draw: Draw) -> None:
    check_promise(draw, meddled=True)
