"""A new accessibility tool is a function and what it does; the gate does the rest."""

import sys
from pathlib import Path

import pytest
from ui_memory import APP, Memory, node, tree

from iac_accessibility.arguments import ChangeDone, ElementName, UiCall
from iac_accessibility.deliver import ElementChange, check_action
from iac_accessibility.target import find_target
from iac_accessibility.toolset import UiToolset, acting_tool, open_toolset
from iac_base.errors import NextCall, UnknownToolError
from iac_gen.toolsets import toolset_rows
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall
from iac_runtime.policy.permissions import Requester
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import added_tools, tool_of_row

ASKED = Requester("tester", ("client",))
ROWS = {
    "app": node("app", "application", "", "w"),
    "w": node("w", "window", "Doc", "keep", "delete"),
    "keep": node("keep", "button", "Keep", actions=("show_menu",)),
    "delete": node("delete", "button", "Delete", actions=("show_menu",)),
}


@acting_tool(words="menu", example={"element": "e12"}, answer=ChangeDone, named=True)
def open_context_menu(call: UiCall, element: ElementName) -> ElementChange:
    """Open the menu of an element."""
    target = find_target(call, element)
    check_action(target.node, "show_menu")
    line = f"open the menu of {target.name}"
    return ElementChange(target, line, lambda now: now.perform("show_menu"), action="show_menu")


@pytest.fixture
def bridge() -> Memory:
    return Memory(tree(dict(ROWS)))


@pytest.fixture
def gate(generated: Path, bridge: Memory) -> Gate:
    """A gate with a tool more."""
    rows = toolset_rows([sys.modules[__name__]])
    more = {row["name"]: tool_of_row(row) for row in rows}
    return Gate(
        Catalogue([generated]),
        Executor(),
        home="/Users/me",
        added=lambda: {**added_tools(), **more},
        kept={open_toolset: UiToolset(bridge)},
    )


def test_a_new_tool_is_a_function_and_what_it_does(gate: Gate, bridge: Memory) -> None:
    arguments = {"app": APP.pid, "element": "window[0]/button[0]"}
    call = Call("open_context_menu", arguments, ASKED)
    asked = gate.call(call)
    assert isinstance(asked, PendingCall)
    assert asked.level == "MODIFY"
    assert 'open the menu of button "Keep" in window "Doc" of Memory' in asked.question.line
    assert bridge.done == []
    done = gate.call(call._replace(token=asked.token, verdict="once"))
    assert isinstance(done, CompletedCall)
    assert bridge.done == [("perform", "keep", "show_menu")]
    assert done.value["element_state"]["title"] == "Keep"


def test_its_level_and_its_staleness_are_as_for_all(gate: Gate, bridge: Memory) -> None:
    arguments = {"app": APP.pid, "element": "window[0]/button[1]"}
    call = Call("open_context_menu", arguments, ASKED)
    asked = gate.call(call)
    assert isinstance(asked, PendingCall)
    assert asked.level == "DANGEROUS"
    bridge.grow = tree({**ROWS, "w": node("w", "window", "Doc", "delete", "keep")})
    with pytest.raises(Exception, match="out of date"):
        gate.call(call._replace(token=asked.token, verdict="once"))
    assert bridge.done == []


def test_a_tool_that_is_not_there_is_told_with_the_nearest(gate: Gate) -> None:
    with pytest.raises(UnknownToolError, match="get_ui_tree"):
        gate.call(Call("get_ui_three", {}, ASKED))


def test_a_call_of_a_tool_that_was_merged_is_told_the_call_to_use(gate: Gate) -> None:
    arguments = {"app": APP.pid, "element": "window[0]/button[0]"}
    with pytest.raises(UnknownToolError) as caught:
        gate.call(Call("context_menu", arguments, ASKED))
    assert caught.value.next == NextCall("click", {**arguments, "button": "right"})
