"""A new accessibility tool is one row and one function; the gate does the rest."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ui_memory import APP, Memory, node, tree

from iac_accessibility import tools
from iac_accessibility.apps import UiSession
from iac_accessibility.calls import UiCall
from iac_accessibility.changes import ElementChange, check_action, describe_element
from iac_accessibility.toolset import UiToolset, change_tool, open_toolset
from iac_base.errors import UnknownToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall
from iac_runtime.policy.permissions import Requester
from iac_runtime.tools import own
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.shape import Tool, import_later

ASKED = Requester("tester", ("client",))
ROWS = {
    "app": node("app", "application", "", "w"),
    "w": node("w", "window", "Doc", "keep", "delete"),
    "keep": node("keep", "button", "Keep", actions=("show_menu",)),
    "delete": node("delete", "button", "Delete", actions=("show_menu",)),
}

PATH = {"type": "string", "description": "Path of the element."}
ROW = Tool(
    "open_context_menu",
    "Open the menu of an element.",
    {
        "type": "object",
        "properties": {"app": {"type": "integer", "description": "Process id."}, "element": PATH},
        "required": ["app", "element"], "additionalProperties": False,
    },
    import_later("new_tool:open_context_menu"),
    level="MODIFY",
    ceiling="DANGEROUS",
    timeout=1.0,
)  # fmt: skip


@change_tool
def open_context_menu(session: UiSession, call: UiCall) -> ElementChange:
    """Open the menu of an element."""
    found = call.resolve_element(session)
    check_action(found.node, "show_menu")
    return ElementChange(
        found,
        f"open the menu of {describe_element(found, call.app)}",
        lambda now, seconds: session.bridge.perform_action(now.handle, "show_menu", seconds),
        action="show_menu",
    )


@pytest.fixture
def bridge() -> Memory:
    return Memory(tree(dict(ROWS)))


@pytest.fixture
def gate(generated: Path, bridge: Memory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """A gate with nine tools."""
    module: Any = ModuleType("new_tool")
    module.open_context_menu = open_context_menu
    monkeypatch.setitem(sys.modules, "new_tool", module)
    monkeypatch.setattr(tools, "TOOLS", (*tools.TOOLS, ROW))
    own.added_tools.cache_clear()
    yield Gate(
        Catalogue([generated]),
        Executor(),
        home="/Users/me",
        added=own.added_tools,
        kept={open_toolset: UiToolset(bridge)},
    )
    own.added_tools.cache_clear()


def test_a_new_tool_is_one_row_and_one_function(gate: Gate, bridge: Memory) -> None:
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
