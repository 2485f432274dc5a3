"""Hostile payloads about interfaces end in their safe outcome, a test a row, behind the gate."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ui_memory import APP, Memory, node, tree

from iac_accessibility.model import UiApp
from iac_accessibility.toolset import UiToolset, open_toolset
from iac_base.errors import ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CallAnswer, CompletedCall, PendingCall, RefusedCall
from iac_runtime.policy.permissions import Requester
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import added_tools

ASKED = Requester("tester", ("client",))
GO, SAVE = "window[@title='A']/button[@title='Go']", "window[@title='A']/button[@title='Save']"
CONSENT = (
    "com.apple.SecurityAgent",
    "com.apple.UserNotificationCenter",
    "com.apple.systempreferences",
    "com.apple.keychainaccess",
    "com.apple.Passwords",
    "com.1password.1password",
    "com.apple.osascript",
    # An app whose identity cannot be read may be any of them.
    "",
)


class World:
    """A window with two buttons and a password field in an app in memory, behind a gate."""

    def __init__(self, tools: Path, app: UiApp = APP) -> None:
        self.rows = {
            "app": node("app", "application", "", "w"),
            "w": node("w", "window", "A", "b", "s", "p"),
            "b": node("b", "button", "Go", actions=("press",)),
            "s": node("s", "button", "Save", actions=("press",)),
            "p": node("p", "secure_text_field", "Code", states=("secure",), value="hunter2"),
        }
        self.bridge = Memory(lambda handle: tree(self.rows)(handle), apps=[app])
        gated = UiToolset(self.bridge)
        self.gate = Gate(
            Catalogue([tools]),
            Executor(),
            home="/Users/me",
            added=added_tools,
            kept={open_toolset: gated},
        )

    def call(self, tool: str, token: str = "", **arguments: Any) -> CallAnswer:
        call = Call(tool, {"app": APP.pid, **arguments}, ASKED, token=token)
        return self.gate.call(call._replace(verdict="once") if token else call)

    def press(self, path: str = GO, token: str = "") -> CallAnswer:
        return self.call("perform_action", token, element=path, action="press")

    def asked(self, path: str = GO) -> str:
        outcome = self.press(path)
        assert isinstance(outcome, PendingCall)
        return outcome.token

    def read(self) -> "World":
        assert isinstance(self.call("get_ui_tree", depth=2), CompletedCall)
        return self

    def stale(self, token: str, path: str = GO) -> None:
        with pytest.raises(ToolError) as caught:
            self.press(path, token=token)
        assert caught.value.facts()["reason"] == "stale"


def u02(tools: Path) -> None:
    """Windows of consent and of secrets are never pressed, and never asked about."""
    for name in CONSENT:
        world = World(tools, APP._replace(id=name))
        assert isinstance(world.press(), RefusedCall), name
        assert not world.bridge.done


def u03(tools: Path) -> None:
    """Another case and another name change nothing: the bundle id of the process counts."""
    world = World(tools, APP._replace(id="COM.Apple.KeychainAccess", name="Notes"))
    assert isinstance(world.press(), RefusedCall)
    assert not world.bridge.done


def u04(tools: Path) -> None:
    """A process id that is another process by now is not the one that was asked about."""
    world = World(tools)
    token = world.read().asked()
    world.bridge.running = [APP._replace(started=2.0)]
    world.stale(token)
    assert not world.bridge.done


def u05(tools: Path) -> None:
    """An element in the place of another is not pressed for it."""
    world = World(tools)
    token = world.read().asked()
    world.rows["b"] = world.rows["b"]._replace(title="Apply")
    world.stale(token)
    assert not world.bridge.done
    # Nor where the path is not from an answer of ours: it is bound from the question on.
    world = World(tools)
    token = world.asked("window[0]/button[0]")
    world.rows["b"] = world.rows["b"]._replace(title="Apply")
    world.stale(token, "window[0]/button[0]")
    assert not world.bridge.done


def u07(tools: Path) -> None:
    """What is typed in a password field is nowhere in an answer, nor what a manager shows."""
    world = World(tools)
    for tool, more in (
        ("get_ui_tree", {"depth": 9, "include_attributes": ["value"]}),
        ("find_element", {"role": "secure_text_field"}),
    ):
        outcome = world.call(tool, **more)
        assert isinstance(outcome, CompletedCall)
        assert "hunter2" not in str(outcome.value)
        assert "[secret]" in str(outcome.value)
    world = World(tools, APP._replace(id="com.1password.1password"))
    world.rows["b"] = node("b", "text_field", "Note", value="my other secret")
    outcome = world.call("get_ui_tree", depth=9)
    assert isinstance(outcome, CompletedCall)
    assert "my other secret" not in str(outcome.value)


def u11(tools: Path) -> None:
    """A yes to a button of a window is none to one that deletes, nor to another window."""
    world = World(tools)
    assert isinstance(world.press(token=world.asked()), CompletedCall)
    assert isinstance(world.press(SAVE), CompletedCall)
    world.rows["s"] = world.rows["s"]._replace(title="Delete")
    outcome = world.press("window[@title='A']/button[@title='Delete']")
    assert isinstance(outcome, PendingCall)
    assert outcome.level == "DANGEROUS"
    world.rows["w"] = world.rows["w"]._replace(title="B")
    outcome = world.press("window[@title='B']/button[@title='Go']")
    assert isinstance(outcome, PendingCall)


def u18(tools: Path) -> None:
    """What was asked about is what runs: an answer is none to another element."""
    world = World(tools)
    outcome = world.press()
    assert isinstance(outcome, PendingCall)
    assert '"Go" in window "A"' in outcome.question.text
    assert isinstance(world.press(SAVE, token=outcome.token), RefusedCall)
    assert not world.bridge.done


ROWS: dict[str, Callable[[Path], None]] = {
    "U02": u02, "U03": u03, "U04": u04, "U05": u05, "U07": u07, "U11": u11, "U18": u18,
}  # fmt: skip
ELSEWHERE = {"U09", "U10", "U12", "U13", "U14", "U16"}
"""Of the limiter, the policy, the audit and the learned patterns."""


@pytest.mark.parametrize("row", ROWS)
def test_a_hostile_interface_ends_in_its_safe_outcome(row: str, generated: Path) -> None:
    ROWS[row](generated)


def test_every_row_of_the_sample_has_its_test(corpus: Path) -> None:
    with (corpus / "hostile-inputs.tsv").open(encoding="utf-8", newline="") as file:
        rows = {row["id"] for row in csv.DictReader(file, delimiter="\t")}
    assert {row for row in rows if row.startswith("U")} <= set(ROWS) | ELSEWHERE
