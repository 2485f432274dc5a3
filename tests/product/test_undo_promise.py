"""A write and its undo over all committed apps: what a question promises is what happens."""

import copy
import json
from typing import Any, NamedTuple

import pytest
from drawn_writes import CATALOGUE, Draw, Write, demo_world, differs, draw_writes, pristine, writes
from hard_profile import open_app
from hypothesis import given
from hypothesis import strategies as st
from remainder import read_remainder
from unguarded import unguarded

from iac_base.errors import ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate import targets
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CallAnswer, CompletedCall, PendingCall
from iac_runtime.policy.permissions import Requester, open_permissions
from iac_simulator import Simulator, parse_profile

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
            # What is known of such calls stands behind the promise.
            line = line.partition(" Known case")[0]
            found = gate.answer(found, "once")
    except ToolError:
        return None
    return Told(line, found) if line and isinstance(found, CompletedCall) else None


def settled(state: Any) -> Any:
    """Return a state without what no undo restores: places in a list, a mail's number, a bin."""
    if isinstance(state, dict):
        mail = "messageId" in state
        return {key: settled(part) for key, part in state.items() if not (mail and key == "id")}
    if not isinstance(state, list):
        return state
    rows = [settled(row) for row in state if not is_bin(row)]
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def is_bin(row: Any) -> bool:
    return isinstance(row, dict) and row.get("name") == "Recently Deleted"


def check_promise(
    draw: Draw,
    *,
    meddled: bool = False,
    first: Any = None,
    profile: str = "friendly",
    **more: Any,
) -> str:
    """Hold the promise of a question to what undo does; return it, or nothing if none was asked."""
    app, tool, arguments, foreign = draw.write
    tables = CATALOGUE.load_tables(CATALOGUE.apps[app])
    first = first or (demo_world(app) if draw.demo else {}) or pristine(app)
    simulator = Simulator([tables], {app: first}, faults=parse_profile(profile))
    open_app(simulator, tables.app.id)
    gate = Gate(CATALOGUE, Executor(simulator), home="/Users/me", permissions=open_permissions())

    def world() -> Any:
        return simulator.state()[app]

    before = world()
    told = make_call(gate, tool, arguments, **more)
    if told is None or (meddled and not foreign):
        return ""
    promised = told.line.startswith("Undo: ") and "not needed" not in told.line
    call = told.done.outcome.call if told.done.outcome else 0
    if meddled:
        theirs: dict[str, Any] = copy.deepcopy(foreign or {})
        theirs["target"] = theirs["target"] or told.done.value
        at = world()
        if make_call(gate, f"{app}_set", theirs, confirm=False) is None or at == world():
            return ""
    now = world()
    undone = make_call(gate, "undo_call", {"call": call}) if call else None
    if undone is None:
        assert world() == now, "an undo that failed has changed something"
        assert meddled or not promised or not differs(before, now), told.line
        return told.line
    assert not meddled, "what somebody changed is gone"
    # Where an app is slow, what could be taken back may not be looked at in time.
    assert promised or profile == "hard", f"{told.line} But it could be."
    assert differs(settled(before), settled(world())) == [], told.line
    return told.line


@pytest.mark.sweep
@pytest.mark.parametrize("draw", DRAWS, ids=str)
def test_undo_does_what_the_question_promised(draw: Draw, profile: str) -> None:
    # A tool that fails in one draw may keep its promise in another.
    if profile == "friendly" or draw.write.tool not in read_remainder()["undo"]:
        check_promise(draw, profile=profile)


def keeps_promise(draw: Draw) -> bool:
    try:
        check_promise(draw, profile="hard")
    except AssertionError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("tool", sorted(read_remainder()["undo"]))
def test_a_promise_that_is_kept_by_now_is_no_remainder(tool: str) -> None:
    assert not all(keeps_promise(draw) for draw in DRAWS if draw.write.tool == tool)


@pytest.mark.sweep(40)
@pytest.mark.parametrize("draw", DRAWS, ids=str)
def test_a_call_without_a_read_back_keeps_the_undo_that_was_promised(draw: Draw) -> None:
    check_promise(draw, confirm=False)


@pytest.mark.sweep(40)
@pytest.mark.parametrize("draw", DRAWS, ids=str)
def test_an_undo_that_was_promised_leaves_what_others_changed(draw: Draw, profile: str) -> None:
    check_promise(draw, meddled=True, profile=profile)


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        (
            "numbers_set",
            {
                "target": 'documents[0].sheets[0].tables[0].cells["B2"]',
                "properties": {"value": 99},
            },
            "Undo: restores B2 to 12.5.",
        ),
        (
            "notes_delete",
            {"target": "accounts[0].folders[0].notes[0]"},
            "Cannot be undone: Notes shows no place for what is deleted.",
        ),
        (
            "mail_delete",
            {"target": "inbox.messages[0]"},
            "Undo: moves it back to Mail / INBOX, unless you empty the trash.",
        ),
        (
            "calendar_delete",
            {"target": 'calendars["Home"].events[0]'},
            "Cannot be undone: it is gone for good, and IAC keeps what it could read of it as"
            " a copy.",
        ),
        (
            "finder_move",
            {"target": "~/Desktop/Todo.txt", "to": "~/Documents", "replacing": True},
            "Undo: moves it back to Finder / Desktop.",
        ),
        (
            "textedit_close",
            {"target": "documents[0]", "saving": "no"},
            "Cannot be undone: unsaved changes would be lost (saving: no).",
        ),
        (
            "safari_close",
            {"target": "windows[0].tabs[0]"},
            "Cannot be undone: IAC cannot open it again as it was, and unsaved changes may be"
            " lost.",
        ),
        (
            "mail_set",
            {"target": "inbox.messages", "properties": {"read status": True}},
            "Undo: restores read status of 2 messages.",
        ),
    ],
)
def test_a_promise_names_the_value_or_the_place(
    tool: str, arguments: dict[str, Any], says: str
) -> None:
    draw = Draw(0, Write(tool.partition("_")[0], tool, arguments), demo=True)
    assert check_promise(draw) == says


NOTE = "accounts[0].folders[0].notes[0]"


def world_of(app: str, place: str, *more: dict[str, Any]) -> Any:
    """Return the demo's world of an app with more objects in one of its lists."""
    world = demo_world(app)
    *steps, last = place.split(".")
    here = world
    for step in steps:
        here = here[int(step) if step.isdigit() else step]
    here.setdefault(last, []).extend(more)
    return world


@pytest.mark.parametrize(
    ("tool", "arguments", "place", "more", "says"),
    [
        (
            "notes_delete",
            {"target": NOTE},
            "accounts.0.folders",
            {"id": "F9", "name": "Recently Deleted", "notes": []},
            "Undo: moves it back to Notes / Notes, unless you empty the trash.",
        ),
        (
            "notes_delete",
            {"target": 'folders["Zuletzt gelöscht"].notes[0]'},
            "accounts.0.folders",
            {"id": "F9", "name": "Zuletzt gelöscht", "notes": [{"id": "N9", "name": "Old"}]},
            "Cannot be undone: it is in the trash already, and goes for good.",
        ),
        (
            "finder_move",
            {"target": "~/Desktop/Todo.txt", "to": "~/Documents", "replacing": True},
            "startupDisk.folders.1.folders.0.folders.1.files",
            {"name": "Todo.txt"},
            "Cannot be undone: what it replaces is lost.",
        ),
        (
            "notes_set",
            {"target": NOTE, "properties": {"body": "x"}},
            "accounts.0.folders.0.notes.0.attachments",
            {"id": "A9", "name": "Map.pdf"},
            "Cannot be undone: the attachments are lost.",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_lost_for_good_is_said_before(
    tool: str, arguments: dict[str, Any], place: str, more: dict[str, Any], says: str
) -> None:
    app = tool.partition("_")[0]
    draw = Draw(0, Write(app, tool, arguments), demo=True)
    assert check_promise(draw, first=world_of(app, place, more)) == says


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
