"""A program that grabs the keyboard, as a prompt for a password does, gets no key of ours."""

from collections.abc import Iterator
from typing import Any

import pytest
import ui_stack as stack
from ui_calls import perform, prepare
from ui_user import User

from iac_accessibility.model import AcceptedValue, ActionFailed
from iac_base.errors import ToolError

pytestmark = [pytest.mark.process, pytest.mark.sweep(3)]


class Prompt:
    """Another program that can take the keyboard to itself, and what it got then."""

    def __init__(self, name: str) -> None:
        from Xlib import X, display

        self.x = X
        self.display = display.Display(name)
        self.root = self.display.screen().root

    def grab(self) -> None:
        mode = self.x.GrabModeAsync
        status = self.root.grab_keyboard(False, mode, mode, self.x.CurrentTime)
        assert status == self.x.GrabSuccess

    def keys(self) -> int:
        """Return how many keys came since the last time."""
        self.display.sync()
        number = self.display.pending_events()
        events = [self.display.next_event() for _ in range(number)]
        return sum(event.type == self.x.KeyPress for event in events)


@pytest.fixture
def prompt(desk: stack.Desktop) -> Iterator[Prompt]:
    pytest.importorskip("Xlib")
    made = Prompt(desk.env["DISPLAY"])
    yield made
    made.display.close()


@pytest.fixture
def keyed(start: Any, monkeypatch: pytest.MonkeyPatch) -> User:
    """An app whose fields can be set by paste and by keys only, as those of a browser."""
    user: User = start("gtk")
    bridge = user.toolset.session.bridge
    monkeypatch.setattr(bridge, "accepted_value", lambda _handle, _timeout: AcceptedValue(None))
    return user


def refuse_paste(user: User, monkeypatch: pytest.MonkeyPatch) -> Any:
    def refuse(_text: str) -> None:
        raise ActionFailed("not here")

    hands = user.toolset.session.bridge.input_devices
    monkeypatch.setattr(hands, "paste_text", refuse)
    return hands


@pytest.mark.sweep
@pytest.mark.parametrize(("tool", "arguments"), [
    ("set_value", {"value": "for the field"}), ("type_text", {"text": "for the field"}),
    ("press_keys", {"keys": ["f", "o", "r"]}),
])  # fmt: skip
def test_nothing_is_typed_while_another_program_holds_the_keyboard(
    keyed: User, prompt: Prompt, tool: str, arguments: dict[str, Any]
) -> None:
    field = keyed.path(title="Name", role="text_field")
    keyed("press_keys", element=field, keys=["End"])
    prompt.grab()
    facts = keyed.fails(tool, element=field, **arguments)
    assert facts["reason"] == "focus_lost"
    assert "another program holds the keyboard" in facts["message"]
    assert prompt.keys() == 0
    prompt.display.ungrab_keyboard(prompt.x.CurrentTime)
    prompt.display.sync()
    assert keyed("find_element", value="first")["result_count"]
    assert keyed("press_keys", element=field, keys=["x", "y"])["success"]


def test_keys_end_where_another_program_takes_the_keyboard(keyed: User, prompt: Prompt) -> None:
    field = keyed.path(title="Name", role="text_field")
    plan = prepare(
        keyed.toolset, "press_keys", {"app": keyed.app.pid, "element": field, "keys": ["a"] * 9}
    )
    screen = keyed.toolset.session.bridge.input_devices
    stroke, given = screen.press_stroke, []

    def grabs(one: Any) -> None:
        stroke(one)
        given.append(one)
        if len(given) == 3:
            prompt.grab()

    screen.press_stroke = grabs
    try:
        with pytest.raises(ToolError, match="a, a, a was given; then nothing more was typed: anot"):
            perform(plan)
    finally:
        del screen.press_stroke
    assert prompt.keys() == 0


@pytest.mark.sweep
@pytest.mark.parametrize("tool", ["set_value", "press_keys"])
def test_the_first_character_has_to_show_before_the_second_is_sent(
    keyed: User, prompt: Prompt, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    hands = refuse_paste(keyed, monkeypatch)
    # A system that does not tell of grabs, and an app that does not notice them (Chromium).
    monkeypatch.setattr(keyed.toolset.session.bridge, "has_focus", lambda _handle, _timeout: True)
    monkeypatch.setattr(hands, "check_grab", lambda _pid: None)
    field = keyed.path(title="Name", role="text_field")
    keyed("press_keys", element=field, keys=["End"])
    prompt.grab()
    arguments = {"set_value": {"value": "secret"}, "press_keys": {"keys": list("secret")}}[tool]
    facts = keyed.fails(tool, element=field, **arguments)
    assert facts["reason"] == "focus_lost"
    assert "the first character does not show" in facts["message"]
    assert prompt.keys() == 1


def test_what_cannot_be_read_back_is_typed_and_that_is_said(
    keyed: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_paste(keyed, monkeypatch)
    said = "IAC checked only that no other program held the keyboard."
    field = keyed.path(title="Passphrase")
    for tool, arguments in (
        ("set_value", {"value": "correct horse"}),
        ("press_keys", {"keys": ["a", "b"]}),
    ):
        answer = keyed(tool, element=field, **arguments)
        assert any(said in note for note in answer["notes"]), answer
    answer = keyed(
        "press_keys", element=keyed.path(title="Name", role="text_field"), keys=["a", "b"]
    )
    assert "notes" not in answer


def test_a_menu_of_the_app_itself_may_hold_the_keyboard(start: Any) -> None:
    user: User = start("gtk", "--hands")
    user("click", element=user.path(title="Spot"), button="right")
    assert user("wait_for", title="Copied", timeout=5)["met"]
    user("press_keys", keys=["Down", "Return"])
    stack.wait_until(lambda: user.sees("from the menu"), "the choice")


def test_asking_for_a_grab_is_noticed_by_nobody(start: Any, desk: stack.Desktop) -> None:
    user: User = start("gtk")
    from Xlib import X, display

    seen = display.Display(desk.env["DISPLAY"])
    hands = user.toolset.session.bridge.input_devices
    stack.wait_until(lambda: hands.is_front(user.app.pid), "the window in front")
    window = seen.create_resource_object("window", hands.front_window().number)
    window.change_attributes(event_mask=X.FocusChangeMask)
    seen.sync()
    for _ in range(20):
        hands.check_grab(user.app.pid)
    seen.sync()
    assert seen.pending_events() == 0
    seen.close()
