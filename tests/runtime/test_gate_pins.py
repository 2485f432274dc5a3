"""An approval holds the things that were shown: nothing else is acted on, whatever changes."""

import copy
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pinned_places import CHANGES, PLACES, Change, Desk, Place, calls, happen, named

from iac_base.errors import ToolError
from iac_runtime.gate import targets
from iac_runtime.gate.plans import Call, CallAnswer, CompletedCall, PendingCall
from iac_runtime.policy.permissions import Requester

ASKED = Requester("Claude", ("client",))
NOTES, DRAFTS = PLACES[:2]


@pytest.fixture(scope="module", autouse=True)
def unhurried() -> Iterator[None]:
    """On a busy machine too, what is looked at is seen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(targets, "SECONDS", 60.0)
        yield


def answer(desk: Desk, asked: Call, pending: PendingCall, *, resumed: bool) -> CallAnswer:
    """Say yes, where the call waits in this process or where it comes again with its token."""
    if resumed:
        return desk.gate.answer(pending, "once")
    return desk.gate.call(asked._replace(token=pending.token, verdict="once"))


@given(calls(), st.lists(CHANGES, max_size=3), st.lists(CHANGES, max_size=2), st.booleans())
@example((NOTES, f"{NOTES.target}[0]"), [("delete", 0)], [], True)
@example((NOTES, f"{NOTES.target}[0]"), [("delete", 0)], [], False)
@example((DRAFTS, f"{DRAFTS.target}[0]"), [("rewrite", 0)], [], True)
@example((DRAFTS, f"{DRAFTS.target}[0]"), [("rewrite", 0)], [], False)
@example((DRAFTS, f"{DRAFTS.target}[0]"), [], [("rewrite", 0)], True)
@example((DRAFTS, f"{DRAFTS.target}[0]"), [], [("rewrite", 0)], False)
def test_nothing_is_acted_on_but_what_a_person_was_shown(
    call: tuple[Place, str], thinking: list[Change], meanwhile: list[Change], resumed: bool
) -> None:
    place, reference = call
    desk = Desk(place, [place.new(n) for n in range(3)], list(meanwhile))
    asked = Call(place.tool, {"target": reference}, ASKED)
    outcome = desk.gate.call(asked)
    rounds = 0
    while isinstance(outcome, PendingCall):
        rounds += 1
        assert rounds <= 3, "nothing changes any more, and it is asked about again"
        shown = named(place, reference, desk.items)
        # Of several, as many are described as eight lines hold.
        assert all(one[1] in outcome.question.text for one in shown[:2])
        assert (rounds > 1) == ("This has changed since the last prompt:" in outcome.question.text)
        for change in thinking:
            happen(place, desk.items, change)
        thinking = []
        try:
            outcome = answer(desk, asked, outcome, resumed=resumed)
        except ToolError as error:
            # There is no such object any more, and nothing was done to another.
            assert error.type == "NOT_FOUND", error
            assert named(place, reference, desk.items) == []
            assert desk.acted == 0 or shown == []
            return
        if isinstance(outcome, PendingCall):
            assert desk.acted == 0
    assert isinstance(outcome, CompletedCall)
    assert shown == named(place, reference, desk.before)


@given(calls(), st.booleans())
def test_where_nothing_changes_one_yes_is_enough(call: tuple[Place, str], resumed: bool) -> None:
    place, reference = call
    desk = Desk(place, [place.new(n) for n in range(3)], [])
    asked = Call(place.tool, {"target": reference}, ASKED)
    outcome = desk.gate.call(asked)
    assert isinstance(outcome, PendingCall)
    before = copy.deepcopy(desk.items)
    assert isinstance(answer(desk, asked, outcome, resumed=resumed), CompletedCall)
    gone = [one for one in before if one not in desk.items]
    if place != DRAFTS:
        assert len(gone) == len(named(place, reference, before))


@pytest.mark.parametrize("resumed", [True, False])
def test_of_a_long_list_of_references_the_last_is_held_too(resumed: bool) -> None:
    desk = Desk(NOTES, [NOTES.new(n) for n in range(31)], [])
    targets = [f"{NOTES.target}[{n}]" for n in range(30)]
    asked = Call(NOTES.tool, {"target": targets}, ASKED)
    first = desk.gate.call(asked)
    assert isinstance(first, PendingCall)
    desk.items[29], desk.items[30] = desk.items[30], desk.items[29]
    anew = answer(desk, asked, first, resumed=resumed)
    assert isinstance(anew, PendingCall)
    assert "More has changed than is shown here." in anew.question.text
    assert desk.acted == 0
