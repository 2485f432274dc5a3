"""Keys, text, pointer and windows on real apps: what was meant happens, or nothing does."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import ui_stack as stack
from simulated import permissions_under
from ui_calls import perform, prepare
from ui_user import User

from iac_accessibility.model import AcceptedValue, ActionFailed

pytestmark = pytest.mark.process

LINE = "é ñ ê ß @#^~ zyqw 山田 😀 ÄÖ\"'`"


@pytest.fixture
def hands(start: Any) -> User:
    """The GTK app with what needs keys and the pointer."""
    user: User = start("gtk", "--hands")
    return user


def at(user: User, title: str) -> str:
    """Return the id of the first element of just that title."""
    found = user("find_element", title=title)["elements"]
    return next(row["id"] for row in found if row["title"] == title)


def told(user: User) -> str:
    """Return what the app's label says."""
    found = user("find_element", role="static_text")["elements"]
    return str(found[0]["title"])


def says(user: User, text: str) -> None:
    stack.wait_until(lambda: told(user) == text, f"{text!r}, not {told(user)!r}")


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("road", "layout"), [("value", "us"), ("paste", "de"), ("keys", "us"), ("keys", "fr")]
)
def test_a_text_of_all_languages_is_exact_by_every_road(
    hands: User, desk: stack.Desktop, monkeypatch: pytest.MonkeyPatch, road: str, layout: str
) -> None:
    bridge = hands.toolset.session.bridge
    screen = ["setxkbmap", "-display", desk.env["DISPLAY"]]
    if road != "value":
        monkeypatch.setattr(bridge, "accepted_value", lambda _handle, _timeout: AcceptedValue(None))
    if road == "keys":

        def refuse(_text: str) -> None:
            raise ActionFailed("not here")

        monkeypatch.setattr(bridge.input_devices, "paste_text", refuse)
    subprocess.run([*screen, layout], check=True)
    try:
        for title, text in (("Name", LINE), ("Notes", f"{LINE}\nzwei 山\n")):
            answer = hands("set_value", element=at(hands, title), value=text, timeout=20)
            assert (answer["success"], answer["method"]) == (True, road)
            assert answer["new_value"].strip() == text.strip()
    finally:
        subprocess.run([*screen, "us"], check=True)


@pytest.mark.parametrize("text", ["long " * 2_000, "hidden\u200b and\u00a0more", "\n\nfirst"])
def test_a_text_that_stands_there_exactly_is_not_called_failed(hands: User, text: str) -> None:
    answer = hands("set_value", element=at(hands, "Notes"), value=text)
    assert answer["success"], answer


def test_a_text_is_put_behind_what_is_there(hands: User) -> None:
    answer = hands("type_text", element=at(hands, "Name"), text=" 山田")
    assert answer["element_state"]["value"] == "first 山田"


def test_the_clipboard_holds_after_a_paste_what_it_held(hands: User) -> None:
    screen = hands.toolset.session.bridge.input_devices
    field, notes = at(hands, "Name"), at(hands, "Notes")
    hands("press_keys", element=field, keys=["ctrl+a", "ctrl+c"])
    hands("press_keys", element=notes, keys=["End"])
    screen.paste_text("lent ")
    hands("press_keys", element=notes, keys=["ctrl+v"])
    stack.wait_until(
        lambda: hands("find_element", value="lent first")["result_count"], "both texts"
    )


def test_what_does_not_stand_there_exactly_is_taken_back_and_that_is_said(hands: User) -> None:
    facts = hands.fails("set_value", element=at(hands, "Upper"), value="small", timeout=20)
    assert facts["reason"] == "not_exact"
    assert "was set back to its old text" in facts["message"]
    assert not hands("find_element", value="small")["result_count"]


def test_keys_end_where_another_window_takes_the_keyboard(hands: User, start: Any) -> None:
    plan = prepare(
        hands.toolset,
        "press_keys",
        {"app": hands.app.pid, "element": at(hands, "Name"), "keys": ["a"] * 40},
    )
    screen = hands.toolset.session.bridge.input_devices
    mine = next(one.number for one in screen.list_windows() if one.pid == hands.app.pid)
    other = start("gtk", "--title", "Other")
    theirs = next(one.number for one in screen.list_windows() if one.pid == other.app.pid)
    stroke, given = screen.press_stroke, []

    def steals(one: Any) -> None:
        stroke(one)
        given.append(one)
        if len(given) == 3:
            screen.raise_window(theirs)
            stack.wait_until(lambda: screen.front_window().number == theirs, "the other window")

    screen.press_stroke = steals
    try:
        with pytest.raises(Exception, match="a, a, a was given; then nothing more") as caught:
            perform(plan)
    finally:
        del screen.press_stroke
    assert caught.value.facts()["reason"] == "focus_lost"
    assert mine != theirs
    assert not other("find_element", value="a", role="text_area")["result_count"]


def test_a_click_lands_in_its_element_or_nowhere(hands: User, start: Any) -> None:
    spot = at(hands, "Spot")
    assert hands("click", element=spot, count=2)["method"] == "pointer"
    says(hands, "twice")
    facts = hands.fails("click", element=spot, point={"x": 2_000, "y": 5})
    assert facts["reason"] == "not_shown"
    assert hands("click", element=at(hands, "Press"))["method"] == "action"
    says(hands, "count 1")


def test_a_click_at_a_point_is_judged_by_what_lies_there(hands: User) -> None:
    rows = hands("list_windows")["windows"]
    delete = hands("find_element", title="Delete")["elements"][0]["position"]
    place = rows[0]["position"]
    point = {"x": delete["x"] + 9 - place["x"], "y": delete["y"] + 9 - place["y"]}
    arguments = {"element": rows[0]["id"], "point": point}
    plan = prepare(hands.toolset, "click", arguments)
    assert plan.facts.level == "DANGEROUS"
    perform(plan)
    says(hands, "count 1")


def test_a_context_menu_is_opened_and_chosen_from(hands: User) -> None:
    hands("click", element=at(hands, "Spot"), button="right")
    item = hands("wait_for", title="Copied", timeout=5)
    assert item["met"]
    hands("press_keys", keys=["Down", "Return"])
    says(hands, "from the menu")


def test_an_option_is_chosen_by_its_title(hands: User) -> None:
    combo = hands.path(role="combo_box")
    assert hands("select_option", element=combo, option="green")["option"] == "Green"
    says(hands, "Green")
    combo = hands.path(role="combo_box")
    facts = hands.fails("select_option", element=combo, option="Violet")
    assert facts["reason"] == "no_element"
    assert "Blue" in facts["guidance"]


def test_an_element_is_dragged_onto_another(hands: User) -> None:
    hands("drag", element=at(hands, "Grab"), to=at(hands, "Name"))
    stack.wait_until(lambda: hands("find_element", value="dragged")["result_count"], "the drop")


def test_a_form_is_filled_with_one_question(hands: User) -> None:
    rows = {"Name": "Zoë", "Size": 42, "Bold": True, "Notes": "a\nb"}
    fields = [{"element": at(hands, title), "value": row} for title, row in rows.items()]
    answer = hands("fill_form", fields=fields)
    assert answer["success"]
    assert [row["new_value"] for row in answer["fields"]][:3] == ["Zoë", 42, True]
    assert hands.plan is not None
    assert hands.plan.facts.line.count("; set ") == 3
    # One that does not fit ends it before anything is set.
    fields = [{"element": fields[0]["element"], "value": "no"}, {**fields[1], "value": 4_000}]
    assert hands.fails("fill_form", fields=fields)["reason"] == "bad_value"
    assert hands("find_element", value="Zoë")["result_count"]


def test_a_form_is_filled_and_told_of_after_its_app_was_looked_at(hands: User) -> None:
    hands("get_ui_tree")
    answer = hands("fill_form", fields=[{"element": at(hands, "Name"), "value": "Zoë"}])
    assert [row["new_value"] for row in answer["fields"]] == ["Zoë"]
    assert any("Zoë" in line for line in answer["changes"])


def test_waiting_ends_when_it_appears_goes_or_changes(hands: User) -> None:
    assert not hands("wait_for", title="Nowhere", timeout=0.3)["met"]
    assert hands("wait_for", title="Nowhere", until="goes", timeout=0.3)["met"]
    field = at(hands, "Name")
    began = time.monotonic()
    assert not hands("wait_for", element=field, until="changes", timeout=0.3)["met"]
    assert time.monotonic() - began >= 0.3
    assert hands("wait_for", title="count", timeout=5)["element"]["title"] == "count 0"


def test_a_window_is_moved_and_sized(hands: User) -> None:
    window = hands("list_windows")["windows"][0]["id"]
    hands("place_window", element=window, position={"x": 40, "y": 50})
    stack.wait_until(
        lambda: hands("list_windows")["windows"][0]["position"] == {"x": 40, "y": 50}, "the place"
    )
    assert hands("place_window", element=window, show="minimize")["success"]
    stack.wait_until(lambda: not hands("list_windows")["windows"], "minimized")
    assert hands("place_window", element=window, show="raise")["success"]
    stack.wait_until(lambda: hands("list_windows")["windows"], "shown again")


def test_a_dialog_of_its_own_that_keeps_an_app_silent_is_named(hands: User) -> None:
    arguments = {"element": at(hands, "Block"), "action": "press", "timeout": 1.5}
    answer = hands("perform_action", **arguments)
    assert (answer["success"], answer["dialog"]) == (False, "Blocking")
    facts = hands.fails("get_ui_tree", timeout=1)
    assert (facts["reason"], facts["dialog"]) == ("app_modal", "Blocking")


def test_a_dialog_that_an_action_runs_is_closed_by_escape_and_the_app_answers(hands: User) -> None:
    # What has read the whole tree was told of every key, and the app waited for its answer.
    button = at(hands, "Block")
    began = time.monotonic()
    answer = hands("perform_action", element=button, action="press")
    assert (answer["success"], answer["dialog"]) == (False, "Blocking")
    assert "gone" not in answer["element_state"]
    assert time.monotonic() - began < 3
    hands("press_keys", keys=["Escape"])
    says(hands, "escaped")
    assert hands("click", element=button)["method"] == "pointer"
    stack.wait_until(lambda: hands.sees("Wait?"), "the dialog")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("click_menu", {"menu_path": "Edit > Transform > Replace…"}),
        ("click", {"title": "Replace…"}),
    ],
)
def test_a_dialog_that_a_click_opens_can_be_worked_in(
    hands: User, tool: str, arguments: dict[str, str]
) -> None:
    if "title" in arguments:
        arguments = {"element": at(hands, arguments["title"])}
    answer = hands(tool, **arguments)
    assert (answer["success"], answer["method"]) == (True, "pointer")
    stack.wait_until(lambda: hands.sees("Wait?"), "the dialog")
    hands("click", element=at(hands, "OK"))
    says(hands, "confirmed")


@pytest.mark.parametrize(("title", "reads"), [("Choose file…", False), ("Pick", True)])
def test_a_dialog_of_another_program_is_named_and_the_next_act_reaches_it(
    start: Any, title: str, reads: bool
) -> None:
    user: User = start("gtk", "--picker")
    button = at(user, title)
    if reads:
        # What has read the tree sees that nothing happened in the app itself.
        user("get_ui_tree")
    answer = user("click", element=button)
    picker = answer["dialog_app"]
    assert (answer["success"], answer["dialog"]) == (True, "Picker")
    assert picker != user.app.pid
    assert f"give app {picker}" in answer["notes"][-1]
    user("click", app=picker, element=user.path(app=picker, title="Press"))
    stack.wait_until(
        lambda: user("find_element", app=picker, title="count 1")["result_count"], "the press"
    )


def test_a_window_of_an_app_that_the_policy_denies_is_not_named(start: Any) -> None:
    user: User = start("gtk", "--picker")
    denying = permissions_under('[[deny]]\napp = "*"')
    arguments = {"element": at(user, "Choose file…")}
    answer = perform(prepare(user.toolset, "click", arguments, denying))
    screen = user.toolset.session.bridge.input_devices
    stack.wait_until(lambda: screen.front_window().title == "Picker", "the other window")
    assert answer["success"]
    assert not answer.keys() & {"dialog", "dialog_app", "notes"}


def test_keys_close_a_dialog_that_a_click_opened(hands: User) -> None:
    hands("click", element=at(hands, "Block"), point={"x": 9, "y": 9})
    screen = hands.toolset.session.bridge.input_devices
    stack.wait_until(lambda: screen.front_window() and screen.front_window().dialog, "the dialog")
    arguments = {"app": hands.app.pid, "keys": ["Return"], "timeout": 3}
    assert prepare(hands.toolset, "press_keys", arguments).facts.level == "DANGEROUS"
    hands("press_keys", keys=["Escape"], timeout=3)
    says(hands, "escaped")


def test_a_window_without_a_tree_is_listed_and_takes_keys_and_clicks(
    hands: User, desk: stack.Desktop, tmp_path: Path
) -> None:
    script = tmp_path / "plain.py"
    script.write_text(PLAIN.format(file=str(tmp_path / "keys")))
    process = desk.start(sys.executable, str(script))
    try:
        plain = stack.wait_until(
            lambda: [
                row for row in hands_windows(hands) if row["title"] == "A window of plain X11"
            ],
            "the window",
        )
        assert isinstance(plain, list)
        name = "A window of plain X11"
        hands("press_keys", app=name, keys=["a", "b"])
        hands("click", app=name, element=plain[0]["id"], point={"x": 10, "y": 20})
        stack.wait_until(
            lambda: (tmp_path / "keys").read_text() == "key key button 10 20 ", "what it got"
        )
        assert "A window" in hands("get_ui_tree", app=name)["tree"]
    finally:
        desk.end(process)


def hands_windows(user: User) -> list[dict[str, Any]]:
    """Return the windows of all apps."""
    plan = prepare(user.toolset, "list_windows", {"timeout": 5})
    windows: list[dict[str, Any]] = perform(plan)["windows"]
    return windows


PLAIN = """
from Xlib import X, display
d = display.Display()
w = d.screen().root.create_window(300, 300, 200, 100, 0, X.CopyFromParent,
    event_mask=X.KeyPressMask | X.ButtonPressMask)
w.set_wm_name("A window of plain X11")
w.map()
file = open({file!r}, "w")
while True:
    e = d.next_event()
    if e.type == X.KeyPress:
        file.write("key ")
    elif e.type == X.ButtonPress:
        file.write(f"button {{e.event_x}} {{e.event_y}} ")
    file.flush()
"""


def test_an_app_with_a_terminal_open_runs_what_is_typed(hands: User) -> None:
    bridge = hands.toolset.session.bridge
    assert not bridge.runs_input(hands.app)
    master, slave = os.openpty()
    try:
        here = hands.app._replace(pid=os.getpid())
        assert bridge.runs_input(here)
    finally:
        os.close(master)
        os.close(slave)
