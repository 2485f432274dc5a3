"""Rows that come, go, move or are reused: the element that was meant is acted on, or none is."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import ui_stack as stack
from ui_calls import answered, perform, prepare
from ui_memory import APP, Memory, node, tree
from ui_user import User

from iac_accessibility.element_identity import PathMemory
from iac_accessibility.toolset import UiToolset, open_toolset
from iac_base.errors import ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CallAnswer, CompletedCall, PendingCall, RefusedCall
from iac_runtime.policy.permissions import Requester
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import added_tools

ASKED = Requester("tester", ("client",))
KINDS = [("gtk", ("--items", "list")), ("gtk", ("--items", "box")), ("qt", ("--items",))]
NAMES = ["gtk-list", "gtk-box", "qt"]
CHANGES = ["Row above", "Row gone", "Rows swapped", "Rows reused"]
MOVES = ["Row above", "Rows swapped"]
ACTS = ["Open", "Delete"]


@pytest.fixture(params=KINDS, ids=NAMES)
def user(request: Any, start: Any) -> User:
    """An app with three rows, each with the same two buttons."""
    kind, arguments = request.param
    if kind == "qt":
        pytest.importorskip("PySide6.QtWidgets")
    found: User = start(kind, *arguments)
    stack.wait_until(lambda: found.sees("Item 2"), "the rows")
    return found


def second(user: User, act: str) -> str:
    """Return the path of the button of that name in the second row."""
    found = user("find_element", role="button", title=act)["elements"]
    # The app has another button of that name; it is not in a row, and comes first.
    path: str = [row["path"] for row in found if row["title"] == act][-3:][1]
    return path


def done(user: User) -> str:
    """Return what the app says was done to which row."""
    found = user("find_element", role="static_text")["elements"]
    (told,) = [
        row["title"] for row in found if row["title"].startswith(("nothing", "Open", "Delete"))
    ]
    return str(told)


def change(user: User, name: str) -> None:
    """Press one of the buttons that move rows, and wait until it is seen."""
    # By another memory, so that what this one remembers stays as it was.
    other = User(UiToolset(user.toolset.session.bridge), user.app, user.folder, user.process)
    sign = {"Row above": "New", "Rows reused": "Other 1"}.get(name, "")
    assert other.press(name)["success"]
    if sign:
        stack.wait_until(lambda: other.sees(sign), name)
    elif name == "Row gone":
        stack.wait_until(lambda: not other.sees("Item 1"), name)


def follows_or_refuses(user: User, name: str, act: str, call: Callable[[], object]) -> None:
    """Act on the button of the second row: it is followed where it moved, or refused."""
    try:
        outcome = call()
    except ToolError as error:
        assert error.facts()["reason"] == "stale", error.facts()
        assert "Nothing was done" in error.message
        assert done(user) == "nothing done"
        # The widgets of GTK move with their rows.
        assert name not in MOVES or "gtk" not in user.app.name
    else:
        assert name in MOVES
        if isinstance(outcome, PendingCall | RefusedCall):
            assert done(user) == "nothing done"
            return
        stack.wait_until(lambda: done(user) != "nothing done", "what was done")
        assert done(user) == f"{act} Item 1"


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize("reader", ["find", "tree"])
@pytest.mark.parametrize("name", CHANGES)
def test_between_finding_and_acting(user: User, name: str, reader: str) -> None:
    path = second(user, "Open")
    if reader == "tree":
        user("get_ui_tree", depth=50)
    change(user, name)
    act = partial(user, "perform_action", element_path=path, action="press")
    follows_or_refuses(user, name, "Open", act)


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize("name", CHANGES)
def test_between_planning_and_acting(user: User, name: str) -> None:
    path = second(user, "Delete")
    user.toolset.session.memory = PathMemory()
    plan = prepare(
        user.toolset,
        "perform_action",
        {"app": user.app.pid, "element": path, "action": "press"},
    )
    change(user, name)
    follows_or_refuses(user, name, "Delete", partial(perform, plan))


class Asking:
    """Calls through a gate, with a person who says yes later."""

    def __init__(self, toolset: UiToolset, pid: int, tools: Path) -> None:
        self.gate = Gate(
            Catalogue([tools]),
            Executor(),
            home="/Users/me",
            added=added_tools,
            kept={open_toolset: toolset},
        )
        self.pid = pid

    def press(self, path: str, token: str = "") -> CallAnswer:
        arguments = {"app": self.pid, "element": path, "action": "press"}
        call = Call("perform_action", arguments, ASKED, token=token)
        return self.gate.call(call._replace(verdict="once") if token else call)

    def asked(self, path: str) -> str:
        outcome = self.press(path)
        assert isinstance(outcome, PendingCall)
        return outcome.token

    def stale(self, path: str, token: str) -> None:
        with pytest.raises(ToolError) as caught:
            self.press(path, token)
        assert caught.value.facts()["reason"] == "stale"


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize("again", [False, True], ids=["", "read again meanwhile"])
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("name", CHANGES)
def test_between_question_and_answer(
    user: User, name: str, act: str, again: bool, generated: Path
) -> None:
    path = second(user, act)
    asking = Asking(user.toolset, user.app.pid, generated)
    token = asking.asked(path)
    change(user, name)
    if again:
        # What the path means to whoever reads now is not what the person was asked about.
        second(user, act)
        user("get_ui_tree", depth=50)
    follows_or_refuses(user, name, act, partial(asking.press, path, token))


@pytest.mark.sweep
@pytest.mark.process
def test_a_path_that_was_never_read_is_bound_by_the_question(user: User, generated: Path) -> None:
    path = second(user, "Delete")
    user.toolset.session.memory = PathMemory()
    asking = Asking(user.toolset, user.app.pid, generated)
    token = asking.asked(path)
    change(user, "Row above")
    follows_or_refuses(user, "Row above", "Delete", partial(asking.press, path, token))


@pytest.mark.sweep
@pytest.mark.process
def test_what_did_not_change_is_acted_on_after_the_answer(user: User, generated: Path) -> None:
    path = second(user, "Delete")
    asking = Asking(user.toolset, user.app.pid, generated)
    assert isinstance(asking.press(path, asking.asked(path)), CompletedCall)
    assert done(user) == "Delete Item 1"


def listed(*names: str) -> dict[str, Any]:
    """Return a window with a list: a row of each name with a button, in an app in memory."""
    return {
        "app": node("app", "application", "", "w"),
        "w": node("w", "window", "A", "l"),
        "l": node("l", "list", "", *(f"r{name}" for name in names)),
        **{f"r{name}": node(f"r{name}", "list_item", "", f"t{name}", f"b{name}") for name in names},
        **{f"t{name}": node(f"t{name}", "static_text", name) for name in names},
        **{f"b{name}": node(f"b{name}", "button", "Delete", actions=("press",)) for name in names},
    }


SECOND = "window[@title='A']/list[0]/list_item[1]/button[@title='Delete']"


def test_an_answer_to_an_older_question_is_none_to_a_newer_one(generated: Path) -> None:
    rows = listed("one", "two")
    bridge = Memory(lambda handle: tree(rows)(handle))
    asking = Asking(UiToolset(bridge), APP.pid, generated)
    first = asking.asked(SECOND)
    rows.update(listed("new", "one"))
    second = asking.asked(SECOND)
    assert isinstance(asking.press(SECOND, first), RefusedCall)
    assert bridge.done == []
    assert isinstance(asking.press(SECOND, second), CompletedCall)
    assert bridge.done == [("perform", "bone", "press")]


def test_an_answer_that_comes_to_another_process_is_none(generated: Path) -> None:
    rows = listed("one", "two")
    bridge = Memory(lambda handle: tree(rows)(handle))
    token = Asking(UiToolset(bridge), APP.pid, generated).asked(SECOND)
    rows.update(listed("new", "one"))
    assert isinstance(
        Asking(UiToolset(bridge), APP.pid, generated).press(SECOND, token), RefusedCall
    )
    assert bridge.done == []


def test_a_handle_that_stands_for_another_row_now_is_noticed() -> None:
    rows = listed("one", "two")
    bridge = Memory(lambda handle: tree(rows)(handle))
    toolset = UiToolset(bridge)
    arguments = {"app": APP.pid, "element": SECOND, "action": "press"}
    answered(toolset, "find_element", {"app": APP.pid, "role": "button"})
    plan = prepare(toolset, "perform_action", arguments)
    rows["ttwo"] = node("ttwo", "static_text", "three")
    for act in (
        lambda: perform(plan),
        lambda: prepare(toolset, "perform_action", arguments),
    ):
        with pytest.raises(ToolError) as caught:
            act()
        facts = caught.value.facts()
        assert facts["reason"] == "stale"
        assert '"three"' in facts["message"]
        assert "fresh_path" not in facts
    assert bridge.done == []


def test_the_only_one_that_is_left_is_not_offered_for_the_one_that_went() -> None:
    rows = listed("one", "two")
    bridge = Memory(lambda handle: tree(rows)(handle))
    toolset = UiToolset(bridge)
    answered(toolset, "find_element", {"app": APP.pid, "role": "button"})
    rows["l"] = node("l", "list", "", "rone")
    arguments = {"app": APP.pid, "element": SECOND, "action": "press"}
    with pytest.raises(ToolError) as caught:
        prepare(toolset, "perform_action", arguments)
    assert caught.value.facts()["reason"] == "stale"
    assert "fresh_path" not in caught.value.facts()


def ids(toolset: UiToolset) -> list[str]:
    """Return the ids of the Delete buttons, in the order of their rows."""
    found = answered(toolset, "find_element", {"app": APP.pid, "role": "button"})["elements"]
    return [row["id"] for row in found]


def test_an_id_means_its_element_wherever_that_has_moved(generated: Path) -> None:
    rows = listed("one", "two")
    bridge = Memory(lambda handle: tree(rows)(handle))
    toolset = UiToolset(bridge)
    one, two = ids(toolset)
    rows.update(listed("new", "one", "two"))
    assert ids(toolset)[1:] == [one, two]
    plan = prepare(toolset, "perform_action", {"element": two, "action": "press"})
    assert 'in the row "two"' in plan.facts.line
    perform(plan)
    assert bridge.done == [("perform", "btwo", "press")]


@pytest.mark.parametrize(
    ("names", "acts"), [(("one", "two", "three"), True), (("one", "one"), False)]
)
def test_a_row_is_known_by_its_name_and_its_neighbours(names: tuple[str, ...], acts: bool) -> None:
    rows = listed(*map(str, range(len(names))))
    for at, name in enumerate(names):
        rows[f"t{at}"] = node(f"t{at}", "static_text", name)
        rows[f"r{at}"] = node(f"r{at}", "list_item", "", f"t{at}", f"s{at}", f"b{at}")
        rows[f"s{at}"] = node(f"s{at}", "static_text", "unread")
    bridge = Memory(lambda handle: tree(rows)(handle))
    toolset = UiToolset(bridge)
    second = ids(toolset)[1]
    rows["s1"] = node("s1", "static_text", "read")
    if acts:
        assert answered(toolset, "perform_action", {"element": second, "action": "press"})[
            "success"
        ]
    else:
        # Of rows with one name nobody can tell whether it is the same.
        with pytest.raises(ToolError, match="its row has changed"):
            prepare(toolset, "perform_action", {"element": second, "action": "press"})
    assert bridge.done == [("perform", "b1", "press")] * acts


def test_an_id_of_what_is_in_another_row_now_is_refused_until_it_is_read_again() -> None:
    rows = listed("one", "two")
    bridge = Memory(lambda handle: tree(rows)(handle))
    toolset = UiToolset(bridge)
    one, two = ids(toolset)
    rows["ttwo"] = node("ttwo", "static_text", "three")
    for _ in range(2):
        with pytest.raises(ToolError) as caught:
            prepare(toolset, "perform_action", {"element": two, "action": "press"})
        assert caught.value.facts()["reason"] == "stale"
        assert '"three"' in caught.value.message
    same, fresh = ids(toolset)
    assert (same, fresh) == (one, "e3")
    answered(toolset, "perform_action", {"element": fresh, "action": "press"})
    assert bridge.done == [("perform", "btwo", "press")]


def test_a_reading_without_rows_does_not_loosen_what_an_id_means() -> None:
    rows = listed("one", "two")
    rows["w"] = node("w", "window", "A", "l", "g0")
    rows |= {f"g{at}": node(f"g{at}", "group", "", f"g{at + 1}") for at in range(5)}
    rows["g5"] = node("g5", "group")
    bridge = Memory(lambda handle: tree(rows)(handle))
    toolset = UiToolset(bridge)
    two = ids(toolset)[1]
    rows["ttwo"] = node("ttwo", "static_text", "three")
    assert two in answered(toolset, "get_ui_tree", {"app": APP.pid, "depth": 4})["tree"]
    with pytest.raises(ToolError) as caught:
        prepare(toolset, "perform_action", {"element": two, "action": "press"})
    assert caught.value.facts()["reason"] == "stale"


@pytest.mark.parametrize("text", ["e99", "e0"])
def test_an_id_that_no_answer_gave_is_unknown(text: str) -> None:
    toolset = UiToolset(Memory(tree(listed("one"))))
    with pytest.raises(ToolError) as caught:
        prepare(toolset, "perform_action", {"element": text, "action": "press"})
    assert caught.value.facts()["reason"] == "no_element"


def test_an_act_says_what_has_changed_since_the_app_was_read(gtk: User) -> None:
    assert "changes" not in gtk.press("Press")
    gtk("get_ui_tree")
    assert any(
        '"count 2", was: static_text "count 1"' in line for line in gtk.press("Press")["changes"]
    )
    asked = gtk.press("Ask")["changes"]
    assert asked[0].startswith("+ e")
    assert any('static_text "Sure?"' in line for line in asked)
    ok = next(line.split()[1] for line in asked if 'button "OK"' in line)
    done = gtk("perform_action", element=ok, action="press")["changes"]
    assert [line for line in done if line.startswith("- ")] == [
        f"- {asked[0].split(maxsplit=2)[2]}"
    ]
    assert any('static_text "yes"' in line for line in done)
