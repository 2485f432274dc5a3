"""Tools that are not generated, behind the same gate and in the same listings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from iac_base.errors import ToolError, UnknownToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall, Plan, RefusedCall, ToolResult
from iac_runtime.policy.facts import CallFacts, Effect, Verb
from iac_runtime.policy.permissions import Requester
from iac_runtime.serve.listing import Choice, own_tools
from iac_runtime.tool import Level
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import TOOLSETS, added_tools, toolset_tools
from iac_runtime.tools.shape import Tool

ASKED = Requester("tester", ("client",))


@pytest.mark.parametrize("name", TOOLSETS)
def test_a_toolset_is_listed_where_it_is_chosen_and_not_elsewhere(name: str) -> None:
    def names(choice: Choice) -> set[str]:
        return {tool.name for tool in own_tools(choice)}

    tools = {tool.name for tool in toolset_tools((name,))}
    assert names(Choice((name,))) >= tools
    assert names(Choice(pins=(name,))) >= tools | {"find_tools"}
    assert not names(Choice()) & tools
    assert not names(Choice(("all",))) & tools
    read_only = names(Choice((name,), read_only=True))
    assert read_only & tools
    assert not read_only & {"perform_action", "set_value", "click_menu", "execute_applescript"}


class Windows:
    """A toolset of one tool that writes to a window of an app."""

    def __init__(self, app: str, level: Level, memory: str = "") -> None:
        self._app, self._level, self._memory = app, level, memory
        self.pressed = 0
        schema = {"type": "object", "properties": {}, "additionalProperties": False}
        row = Tool("press", "Press it.", schema, self.plan, level="SAFE", ceiling="DANGEROUS")
        self.tools = {row.name: row}

    def plan(self, tool: Tool, call: Call, _context: Any) -> Plan:
        def perform(_cancel: Any) -> ToolResult:
            self.pressed += 1
            return ToolResult({"pressed": self.pressed})

        verb: Verb = "read" if self._level == "SAFE" else "unknown"
        effect = Effect(verb, self._app, "An app", level=self._level)
        line = "press it"
        facts = CallFacts(tool.name, (effect,), call.arguments, line=line, memory=self._memory)
        return Plan(tool, facts, perform)


@pytest.fixture
def gate_of(generated: Path) -> Callable[..., Gate]:
    def make(toolset: Any) -> Gate:
        return Gate(
            Catalogue([generated]), Executor(), home="/Users/me", added=lambda: toolset.tools
        )

    return make


@pytest.mark.parametrize("app", ["com.apple.Terminal", "com.apple.SecurityAgent", ""])
def test_nothing_is_pressed_in_an_app_of_the_blocklist_or_without_identity(
    gate_of: Callable[..., Gate], app: str
) -> None:
    toolset = Windows(app, "MODIFY")
    outcome = gate_of(toolset).call(Call("press", {}, ASKED))
    assert isinstance(outcome, RefusedCall)
    assert "blocklist" in outcome.source
    assert toolset.pressed == 0


def test_an_approval_holds_for_the_window_and_for_no_other(gate_of: Callable[..., Gate]) -> None:
    toolset = Windows("com.example.app", "MODIFY", "window 1")
    gate = gate_of(toolset)
    asked = gate.call(Call("press", {}, ASKED))
    assert isinstance(asked, PendingCall)
    answered = gate.call(Call("press", {}, ASKED, token=asked.token, verdict="once"))
    assert isinstance(answered, CompletedCall)
    assert isinstance(gate.call(Call("press", {}, ASKED)), CompletedCall)
    toolset._memory = "window 2"
    assert isinstance(gate.call(Call("press", {}, ASKED)), PendingCall)
    toolset._memory, toolset._level = "window 1", "DANGEROUS"
    assert isinstance(gate.call(Call("press", {}, ASKED)), PendingCall)
    assert toolset.pressed == 2


def test_reading_needs_no_question(gate_of: Callable[..., Gate]) -> None:
    assert isinstance(
        gate_of(Windows("com.apple.Terminal", "SAFE")).call(Call("press", {})), CompletedCall
    )


def test_an_unknown_name_is_looked_for_among_them_too(gate_of: Callable[..., Gate]) -> None:
    with pytest.raises(UnknownToolError, match="press"):
        gate_of(Windows("x.y", "SAFE")).call(Call("pres", {}))


@pytest.fixture
def scripts(generated: Path) -> Gate:
    catalogue, executor = Catalogue([generated]), Executor()
    return Gate(catalogue, executor, home="/Users/me", added=added_tools)


@pytest.mark.parametrize(
    ("script", "level"),
    [
        ("return 1 + 1", "SAFE"),
        # It would start Notes, which does not run.
        ('tell application "Notes" to count notes', "MODIFY"),
        ('do shell script "id"', "DANGEROUS"),
        ('tell application "Mail" to delete message 1 of inbox', "DANGEROUS"),
    ],
)
def test_a_script_is_judged_by_what_it_says(scripts: Gate, script: str, level: str) -> None:
    outcome = scripts.call(Call("execute_applescript", {"script": script}), dry_run=True)
    assert isinstance(outcome, CompletedCall)
    assert outcome.level == level


def test_a_script_that_writes_to_a_blocked_app_is_refused(scripts: Gate) -> None:
    script = 'tell application "Terminal" to close window 1'
    outcome = scripts.call(Call("execute_applescript", {"script": script}, ASKED))
    assert isinstance(outcome, RefusedCall)
    assert "blocklist" in outcome.source


def test_a_wrong_argument_is_told_before_anything_runs(scripts: Gate) -> None:
    with pytest.raises(ToolError, match="script"):
        scripts.call(Call("execute_applescript", {"scrip": "x"}))
