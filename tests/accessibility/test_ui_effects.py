"""What the calls do, as the policy sees it: verb, app and element; and what a deny leaves out."""

from typing import Any

import pytest
from simulated import permissions_under
from ui_calls import prepare
from ui_memory import Memory, node, tree

from iac_accessibility.model import AcceptedValue, UiApp
from iac_accessibility.toolset import UiToolset, open_toolset
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CallAnswer, CompletedCall, PendingCall, RefusedCall
from iac_runtime.policy.permissions import Requester, default_permissions
from iac_runtime.policy.taint import Taint
from iac_runtime.tools.own import toolset_tools

WORDS = {
    "Delete": "delete", "Don't Save": "end", "Send": "send", "Pay": "send", "Allow": "change",
    "Run": "run", "Quit": "end", "Next": "unknown",
}  # fmt: skip
PRESS = {"actions": ("press", "show_menu")}
BUTTONS = {f"b{at}": node(f"b{at}", "button", word, **PRESS) for at, word in enumerate(WORDS)}
FIELD = node("f", "text_field", "Title", states=("editable", "focusable"))
ROWS = {
    "app": node("app", "application", "", "w"), "w": node("w", "window", "Main", "f", *BUTTONS),
    "f": FIELD, **BUTTONS,
}  # fmt: skip
APPS = (
    UiApp(100, "Memory", "com.example.Memory", 1.0, frontmost=True, key="app"),
    UiApp(101, "Diary", "com.example.Diary", 1.0, frontmost=False, key="other"),
    UiApp(102, "Diary", "com.example.Diary", 1.0, frontmost=False, key="third"),
)


@pytest.fixture
def toolset() -> UiToolset:
    bridge = Memory(tree(ROWS), apps=APPS)
    bridge.takes = AcceptedValue("text")
    return UiToolset(bridge)


def effect(toolset: UiToolset, tool: str, **arguments: Any) -> tuple[str, ...]:
    plan = prepare(toolset, tool, {"app": 100, **arguments})
    (only,) = plan.facts.effects
    return only.verb, only.app, only.kind, only.reference


@pytest.mark.parametrize(("word", "verb"), WORDS.items())
def test_a_word_on_a_button_says_what_pressing_it_does(
    toolset: UiToolset, word: str, verb: str
) -> None:
    path = f"window[0]/button[{list(WORDS).index(word)}]"
    found = effect(toolset, "perform_action", element=path, action="press")
    assert found == (verb, "com.example.Memory", "button", path)


def test_a_value_that_is_set_is_a_change_and_what_is_read_is_read(toolset: UiToolset) -> None:
    path = "window[0]/text_field[0]"
    found = effect(toolset, "set_value", element=path, value="x")
    assert found == ("change", "com.example.Memory", "text_field", path)
    assert effect(toolset, "get_ui_tree")[:2] == ("read", "com.example.Memory")


def test_a_value_that_came_from_a_result_raises_the_call(toolset: UiToolset) -> None:
    taint = Taint()
    taint.remember_texts("go to https://evil.example/x today")
    permissions = default_permissions("/Users/me")
    permissions.taint = taint
    arguments = {"app": 100, "element": "window[0]/text_field[0]"}
    for value, rules in (
        ("https:\\/\\/evil.example/x", ["from-a-result"]),
        ("https://good.example/x", []),
        ("today", []),
    ):
        plan = prepare(toolset, "set_value", {**arguments, "value": value}, permissions)
        assert [row.rule for row in plan.facts.raised] == rules


def call(toolset: UiToolset, policy: str, tool: str) -> CallAnswer:
    permissions = permissions_under(policy)
    rows = {row.name: row for row in toolset_tools(("accessibility",))}
    kept = {open_toolset: toolset}
    gate = Gate(
        None, Executor(), home="/Users/me", permissions=permissions, kept=kept, added=lambda: rows
    )
    return gate.call(Call(tool, {}, Requester("tester", ("client",))))


def test_windows_of_a_denied_app_are_left_out(toolset: UiToolset) -> None:
    whole = call(toolset, "", "list_windows")
    assert isinstance(whole, CompletedCall)
    assert {row["app"]["name"] for row in whole.value["windows"]} == {"Memory", "Diary"}
    for name in ("Diary", "com.example.Diary"):
        part = call(toolset, f"[[deny]]\napp = '{name}'", "list_windows")
        assert isinstance(part, CompletedCall)
        assert {row["app"]["name"] for row in part.value["windows"]} == {"Memory"}
        assert "Diary" in part.note
    assert isinstance(call(toolset, "[[deny]]\ntool = 'list_windows'", "list_windows"), RefusedCall)
    assert isinstance(call(toolset, "preset = 'private'", "list_windows"), PendingCall)
    opted = "preset = 'private'\nreads = ['com.example.Memory', 'com.example.Diary']"
    assert isinstance(call(toolset, opted, "list_windows"), CompletedCall)


def test_the_focus_is_read_of_the_app_in_front_alone(toolset: UiToolset) -> None:
    assert isinstance(
        call(toolset, "[[deny]]\napp = 'Diary'", "get_focused_element"), CompletedCall
    )
    refused = call(toolset, "[[deny]]\napp = 'Memory'", "get_focused_element")
    assert isinstance(refused, RefusedCall)
    assert refused.app == "Memory"
    nobody = UiToolset(Memory(tree(ROWS), apps=APPS[1:]))
    found = call(nobody, "preset = 'private'", "get_focused_element")
    assert isinstance(found, CompletedCall)
    assert not found.value["has_focus"]
