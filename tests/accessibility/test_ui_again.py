"""Paths that were made here are used again without following them, and are as safe as before."""

import subprocess
from typing import Any

import pytest
import ui_stack as stack
from ui_calls import answered, perform, prepare
from ui_memory import APP, Memory, node, tree
from ui_user import User

from iac_accessibility import locate
from iac_accessibility.atspi.apps import process_start_time, program_identity
from iac_accessibility.element_identity import ElementFound, PathMemory
from iac_accessibility.model import Handle, UiApp, UiNode
from iac_accessibility.toolset import UiToolset
from iac_accessibility.traverse import WalkLimits, walk_tree
from iac_base.errors import ToolError
from iac_runtime.gate.plans import Plan


def unfollowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a path is followed from the app down."""

    def resolve(*_: object, **__: object) -> None:
        raise AssertionError("the path was followed")

    monkeypatch.setattr(locate, "follow_path", resolve)


@pytest.mark.process
@pytest.mark.parametrize("kind", ["gtk", "qt"])
def test_a_path_from_any_reading_tool_is_acted_on_at_once(
    kind: str, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "qt":
        pytest.importorskip("PySide6.QtWidgets")
    user: User = start(kind)
    found = user.path(title="Press", role="button")
    field = user.path(role="text_field")
    user("get_ui_tree", depth=20)
    slider = user.path(role="slider")
    unfollowed(monkeypatch)
    for _ in range(2):
        assert user("perform_action", element=found, action="press")["success"]
    assert user.sees("count 2")
    assert user("set_value", element=slider, value=7)["new_value"] == 7
    answer = user("set_value", element=field, value="Zoë")
    assert answer["success"]
    assert user("set_value", element=field, value="Ada")["previous_value"] == "Zoë"


@pytest.mark.process
def test_an_app_that_is_gone_is_told_and_looked_for_anew(gtk: User, start: Any) -> None:
    path = gtk.path(title="Press", role="button")
    gtk.process.kill()
    gtk.process.wait()
    facts = gtk.fails("perform_action", element=path, action="press")
    assert facts["reason"] == "app_not_running"
    again: User = start("gtk")
    assert again.press("Press")["success"]


@pytest.mark.process
def test_a_process_that_became_another_program_is_another_app(bridge: Any) -> None:
    with subprocess.Popen(
        ["sh", "-c", "read line; exec sleep 60"], stdin=subprocess.PIPE
    ) as process:
        try:
            began = process_start_time(process.pid)
            assert began is not None
            app = UiApp(process.pid, "x", program_identity(process.pid), began)
            assert bridge.is_alive(app)
            assert process.stdin is not None
            process.stdin.write(b"go\n")
            process.stdin.flush()
            stack.wait_until(lambda: program_identity(process.pid) != app.id, "the other program")
            assert process_start_time(process.pid) == began
            assert not bridge.is_alive(app)
        finally:
            process.kill()


class Counting(Memory):
    """A bridge in memory that counts how often apps are listed and elements are read."""

    def __init__(self, rows: dict[str, UiNode]) -> None:
        super().__init__(tree(rows))
        self.rows = rows
        self.listed = 0
        self.reads: list[Handle] = []

    def running_apps(self, timeout: float) -> list[UiApp]:
        self.listed += 1
        return super().running_apps(timeout)

    def one(self, handle: Handle, timeout: float) -> UiNode:
        self.reads.append(handle)
        return super().one(handle, timeout)


def rows() -> dict[str, UiNode]:
    """Return a window with two pages, each with a button."""
    return {
        "app": node("app", "application", "", "w"), "w": node("w", "window", "Doc", "p", "q"),
        "p": node("p", "group", "Alice", "go", *(f"x{number}" for number in range(50))),
        "q": node("q", "group", "Bob"), "go": node("go", "button", "Go", actions=("press",)),
        **{f"x{number}": node(f"x{number}", "image") for number in range(50)},
    }  # fmt: skip


def prepared(bridge: Memory, toolset: UiToolset, path: str) -> Plan:
    return prepare(toolset, "perform_action", {"app": 100, "element": path, "action": "press"})


def path_to_go(toolset: UiToolset) -> str:
    answer = answered(toolset, "find_element", {"app": 100, "title": "Go"})
    path: str = answer["elements"][0]["path"]
    return path


def test_elements_beside_the_way_are_not_read_again() -> None:
    bridge = Counting(rows())
    toolset = UiToolset(bridge)
    path = path_to_go(toolset)
    listed = bridge.listed
    bridge.reads.clear()
    perform(prepared(bridge, toolset, path))
    assert set(bridge.reads) == {"app", "w", "p", "go"}
    assert bridge.listed == listed
    assert bridge.done == [("perform", "go", "press")]


@pytest.mark.parametrize("change", [
    {"p": node("p", "group", "Carol", "go")},
    {"p": node("p", "group", "Alice", "other", "go"), "other": node("other", "button", "Go")},
    {"go": node("go", "button", "Delete", actions=("press",))},
    {"go": node("go", "check_box", "Go", actions=("press",))},
    {"p": node("p", "group", "Alice"), "q": node("q", "group", "Bob", "go")},
    {"w": node("w", "window", "Other", "p", "q")},
])  # fmt: skip
def test_whatever_changed_on_the_way_ends_in_a_refusal(change: dict[str, UiNode]) -> None:
    bridge = Counting(rows())
    toolset = UiToolset(bridge)
    path = path_to_go(toolset)
    plan = prepared(bridge, toolset, path)
    bridge.rows.update(change)
    with pytest.raises(ToolError) as caught:
        perform(plan)
    assert caught.value.facts()["reason"] == "stale"
    with pytest.raises(ToolError) as caught:
        prepared(bridge, toolset, path)
    assert caught.value.facts()["reason"] == "stale"
    assert bridge.done == []


def test_a_path_that_was_not_made_here_is_followed_each_time() -> None:
    bridge = Counting(rows())
    toolset = UiToolset(bridge)
    path = "window[0]/group[0]/button[0]"
    prepared(bridge, toolset, path)
    bridge.rows["p"] = node("p", "group", "Alice", "new", "go")
    bridge.rows["new"] = node("new", "button", "New", actions=("press",))
    plan = prepared(bridge, toolset, path)
    assert plan.facts.line.startswith('press button "New"')


def test_a_path_that_was_made_anew_means_the_newer_element() -> None:
    bridge = Counting(
        {
            "app": node("app", "application", "", "w"),
            "w": node("w", "window", "Doc", "text", "old", "more"),
            "text": node("text", "static_text", "Sure?"),
            "old": node("old", "button", "Go", actions=("press",)),
            "more": node("more", "button", "Go", actions=("press",)),
        }
    )
    toolset = UiToolset(bridge)
    path = "window[@title='Doc']/button[0]"
    answered(toolset, "find_element", {"app": 100, "title": "Go"})
    perform(prepared(bridge, toolset, path))
    bridge.rows["text"] = node("text", "button", "Go", actions=("press",))
    answered(toolset, "get_ui_tree", {"app": 100})
    perform(prepared(bridge, toolset, path))
    assert [handle for _, handle, _ in bridge.done] == ["old", "text"]


def test_an_app_that_stops_answering_costs_its_time_once() -> None:
    bridge = Counting(rows())
    toolset = UiToolset(bridge)
    path = path_to_go(toolset)
    bridge.hangs.add("app")
    bridge.reads.clear()
    with pytest.raises(ToolError) as caught:
        prepare(
            toolset,
            "perform_action",
            {"app": 100, "element": path, "action": "press", "timeout": 0.2},
        )
    assert caught.value.facts()["reason"] == "app_silent"
    assert bridge.reads == ["app"]


def test_an_app_whose_interface_went_is_listed_again() -> None:
    bridge = Counting(rows())
    toolset = UiToolset(bridge)
    path_to_go(toolset)
    whole = dict(bridge.rows)
    bridge.rows.clear()
    with pytest.raises(ToolError) as caught:
        path_to_go(toolset)
    assert caught.value.facts()["reason"] == "app_gone"
    bridge.rows.update(whole)
    listed = bridge.listed
    path_to_go(toolset)
    assert bridge.listed == listed + 1


def test_which_app_is_in_front_is_true_when_windows_are_listed() -> None:
    bridge = Counting({**rows(), "w": node("w", "window", "Doc", "p", "q", states=["active"])})
    toolset = UiToolset(bridge)
    plan = prepare(toolset, "list_windows", {"app": 100})
    assert perform(plan)["windows"][0]["frontmost"]
    bridge.running = [APP._replace(frontmost=False)]
    assert not perform(plan)["windows"][0]["frontmost"]


def test_what_is_remembered_is_bounded_and_the_oldest_go() -> None:
    memory = PathMemory(limit=3)
    found = ElementFound(node("app", "application"), (node("w", "window"),), "window[0]")
    for name in "abcdbe":
        memory.remember_element(APP, found._replace(path=name))
    assert [name for name in "abcde" if memory.known_fingerprint(APP, name)] == ["b", "d", "e"]
    for number in range(1_001):
        memory.remember_way(APP, found._replace(path=str(number)))
    assert memory.last_element(APP, "0") is None
    assert memory.last_element(APP, "1000") == found._replace(path="1000")
    walks = [APP._replace(pid=pid) for pid in range(5)]
    bridge = Memory(tree(rows()))
    for app in walks:
        memory.remember_walk(
            app, walk_tree(bridge, bridge.grow("app"), bridge.free, WalkLimits(1.0, 9))
        )
    path = "window[@title='Doc']/group[@title='Bob']"
    kept = [memory.last_element(app, path) for app in walks]
    assert kept[0] is None
    assert [one.node.handle for one in kept[1:] if one] == ["q"] * 4
