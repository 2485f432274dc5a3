"""Return in a field runs what was typed: no press does it, and what does it is asked about."""

import pytest
import ui_stack as stack
from ui_calls import prepare
from ui_memory import node
from ui_user import User

from iac_accessibility.model import AcceptedValue, ActionFailed
from iac_accessibility.risk import return_does

pytestmark = pytest.mark.process


@pytest.fixture
def runner(start) -> User:
    """A window with a field for a command."""
    user: User = start("gtk", "--run")
    return user


def test_a_command_is_not_run_by_a_press_and_a_confirm_is_asked_about(runner: User) -> None:
    field = runner.path(title="Command")
    assert runner("set_value", element=field, value="true")["success"]
    assert runner.plan is not None
    assert runner.plan.facts.level == "MODIFY"
    facts = runner.fails("perform_action", element=field, action="press")
    assert (facts["reason"], facts["actions"]) == ("no_action", ["confirm"])
    assert not runner.sees("ran true")
    runner("perform_action", element=field, action="confirm")
    facts = runner.plan.facts
    assert (facts.level, facts.memory) == ("DANGEROUS", "")
    said = [row.reason for row in facts.raised]
    assert said == ["This confirms the text, and what follows is unknown."]
    assert facts.line.startswith('confirm text field "Command"')
    stack.wait_until(lambda: runner.sees("ran true"), "the command")


def test_the_return_key_in_a_field_of_one_line_is_judged_like_a_confirm(runner: User) -> None:
    def level(keys: list[str], **criteria: str) -> str:
        found = runner("find_element", **criteria)["elements"]
        arguments = {"element": found[0]["id"], "keys": keys}
        return prepare(runner.toolset, "press_keys", arguments).facts.level

    assert level(["a", "Return"], title="Command") == "DANGEROUS"
    assert level(["a", "Tab"], title="Command") == "MODIFY"
    assert level(["Return"], role="text_area") == "MODIFY"


def test_a_line_break_is_not_typed_where_it_would_confirm(
    runner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    bridge = runner.toolset.session.bridge

    def refuse(_text: str) -> None:
        raise ActionFailed("not here")

    monkeypatch.setattr(bridge, "accepted_value", lambda _handle, _timeout: AcceptedValue(None))
    monkeypatch.setattr(bridge.input_devices, "paste_text", refuse)
    field = runner.path(title="Command")
    facts = runner.fails("type_text", element=field, text="true\n")
    assert facts["reason"] == "not_exact"
    assert "a line break there is Return" in facts["guidance"]
    assert not runner.sees("ran true")


@pytest.mark.parametrize(("role", "around", "does"), [
    ("text_field", "window", "confirms the text, and what follows is unknown"),
    ("search_field", "window", "confirms the text, and what follows is unknown"),
    ("text_field", "dialog", "confirms a dialog"), ("button", "dialog", "confirms a dialog"),
    ("text_field", "web_area", "sends"), ("text_area", "window", ""), ("combo_box", "window", ""),
])  # fmt: skip
def test_what_return_does_where_the_keyboard_is(role: str, around: str, does: str) -> None:
    assert return_does([node("w", around), node("n", role)]) == does


def test_a_window_that_presses_its_default_itself_is_asked_about(start) -> None:
    if not stack.has_gtk4():
        pytest.skip("GTK 4 is not installed")
    user: User = start("gtk4")
    window = user("list_windows")["windows"][0]["id"]
    arguments = {"element": window, "action": "default.activate"}
    assert prepare(user.toolset, "perform_action", arguments).facts.level == "DANGEROUS"
