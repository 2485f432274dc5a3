"""A write and its undo, over all committed apps: the world as before, or an honest "cannot"."""

import copy
from typing import Any

import pytest
from drawn_writes import CATALOGUE, Write, differs, pristine, writes
from hypothesis import given
from hypothesis import strategies as st
from unguarded import unguarded

from iac_base.errors import ToolError
from iac_runtime.gate.plans import Call, CompletedCall
from iac_simulator import Simulator

pytestmark = pytest.mark.uncounted


@given(st.deferred(lambda: st.sampled_from(writes())), st.booleans())
def test_an_undo_gives_the_world_before_or_changes_nothing(write: Write, meddled: bool) -> None:
    check(write, meddled=meddled)


def check(write: Write, *, meddled: bool) -> str:
    app = CATALOGUE.apps[write.app]
    tables = CATALOGUE.load_tables(app)
    simulator = Simulator([tables], {})
    gate = unguarded(CATALOGUE, simulator)

    def world() -> Any:
        return simulator.state().get(write.app) or pristine(write.app)

    before = world()
    try:
        done = gate.call(Call(write.tool, copy.deepcopy(write.arguments)))
    except ToolError as error:
        return f"refused {error}"
    assert isinstance(done, CompletedCall)
    if done.outcome is None:
        return "only looks"
    if meddled:
        if write.foreign is None:
            return "nobody else"
        theirs = copy.deepcopy(write.foreign)
        theirs["target"] = theirs["target"] or done.value
        if not isinstance(theirs["target"], str):
            return "nobody else"
        at = world()
        try:
            gate.call(Call(f"{write.app}_set", theirs, confirm=False))
        except ToolError:
            return "nobody else"
        meddled = bool(differs(at, world()))
    now = world()
    try:
        undone = gate.call(Call("undo_call", {"call": done.outcome.call}))
    except ToolError as error:
        assert world() == now, "an undo that failed has changed something"
        if not meddled and error.type == "STALE" and "not the only one" not in error.message:
            raise AssertionError(f"{write}: {error}") from None
        return f"cannot: {error}"
    assert isinstance(undone, CompletedCall)
    assert undone.outcome is not None
    assert not meddled, f"{write}: what somebody changed is gone"
    left = differs(before, world())
    assert not left or undone.outcome.state != "confirmed", (write, left)
    return f"undone, {undone.outcome.state}"


@pytest.mark.parametrize("tool", ["mail_reply", "mail_forward", "mail_redirect"])
def test_a_reply_is_a_draft_that_can_be_taken_back(tool: str) -> None:
    tables = CATALOGUE.load_tables(CATALOGUE.apps["mail"])
    gate = unguarded(CATALOGUE, Simulator([tables]))

    def call(name: str, **arguments: Any) -> CompletedCall:
        found = gate.call(Call(name, arguments))
        assert isinstance(found, CompletedCall)
        return found

    def drafts() -> Any:
        return call("mail_count", element="outgoing message").value

    before = drafts()
    made = call(tool, target="inbox.messages[0]")
    assert made.outcome is not None
    assert made.outcome.state == "confirmed"
    assert drafts() == before + 1
    call("undo_call")
    assert drafts() == before
