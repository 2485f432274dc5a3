"""How a real app is brought to each reason of an error."""

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
import ui_stack as stack
from ui_calls import perform, prepare
from ui_user import User

from iac_base.errors import ToolError

ROW = "window[@title='Fixture']/group[0]/group[0]"
Facts = dict[str, Any]
Case = Callable[[User, Any], Facts]


def raised(does: Callable[[], object]) -> Facts:
    """Return the facts of the error that something ends with."""
    with pytest.raises(ToolError) as caught:
        does()
    return caught.value.facts()


def act(user: User, path: str, action: str = "press") -> Facts:
    """Return how an action fails."""
    return user.fails("perform_action", element=path, action=action)


def ambiguous(user: User, start: Any) -> Facts:
    other = start("gtk", "--title", "Other")
    facts = user.fails("get_ui_tree", app=user.app.name)
    assert {row["pid"] for row in facts["matches"]} == {user.app.pid, other.app.pid}
    return facts


def silent(user: User, _start: Any) -> Facts:
    os.kill(user.process.pid, signal.SIGSTOP)
    return user.fails("get_ui_tree", timeout=0.5)


def gone(user: User, _start: Any) -> Facts:
    plan = prepare(user.toolset, "get_ui_tree", {"app": user.app.pid})
    os.kill(user.process.pid, signal.SIGKILL)
    user.process.wait()
    return raised(lambda: perform(plan))


def stale(user: User, _start: Any) -> Facts:
    path = user.path(title="Press", role="button")
    user.press("Rename")
    return act(user, path)


def rose(user: User, _start: Any) -> Facts:
    user.press("Ask")
    stack.wait_until(lambda: user.sees("Sure?"), "the dialog")
    path = user.path(title="Cancel", role="button")
    plan = prepare(
        user.toolset,
        "perform_action",
        {"app": user.app.pid, "element": path, "action": "press"},
    )
    assert plan.facts.level == "MODIFY"
    check = user.path(title="Prefer Cancel")
    assert user("set_value", element=check, value=True)["success"]
    facts = raised(lambda: perform(plan))
    assert user.sees("Sure?")
    return facts


def no_menu_bar(_user: User, start: Any) -> Facts:
    facts: Facts = start("gtk", "--bare").fails("click_menu", menu_path="File > Save")
    return facts


def not_settable(user: User, _start: Any) -> Facts:
    return user.fails("set_value", element=user.path(title="count 0"), value="x")


def bad_value(user: User, _start: Any) -> Facts:
    return user.fails("set_value", element=user.path(role="slider"), value="big")


CASES: dict[tuple[str, str], Case] = {
    ("app_not_running", "APP_NOT_RUNNING"): lambda u, _: u.fails("get_ui_tree", app="galculator"),
    ("app_ambiguous", "INVALID_PARAMETER"): ambiguous,
    ("app_unknown", "APP_NOT_FOUND"): lambda u, _: u.fails("get_ui_tree", app="No Such App"),
    ("app_silent", "TIMEOUT"): silent, ("app_gone", "APP_NOT_RUNNING"): gone,
    ("no_element", "NOT_FOUND"): lambda u, _: act(u, f"{ROW}/button[@title='Nowhere']"),
    ("stale", "NOT_FOUND"): stale,
    ("bad_path", "INVALID_PARAMETER"): lambda u, _: act(u, "button["),
    ("bad_value", "INVALID_PARAMETER"): bad_value,
    ("bad_cursor", "INVALID_PARAMETER"): lambda u, _: u.fails("observe_changes", cursor="watch-9"),
    ("no_action", "NOT_SUPPORTED"): lambda u, _: act(u, f"{ROW}/button[@title='Press']", "explode"),
    ("not_settable", "NOT_SUPPORTED"): not_settable,
    ("disabled", "NOT_SUPPORTED"): lambda u, _: act(u, f"{ROW}/button[@title='Off']"),
    ("no_menu", "NOT_FOUND"): lambda u, _: u.fails("click_menu", menu_path="File > Sav"),
    ("no_menu", "NOT_SUPPORTED"): no_menu_bar, ("level_rose", "REFUSED"): rose,
}  # fmt: skip
"""Reason and type -> what brings it about; called with a user of the app and with `start`."""
