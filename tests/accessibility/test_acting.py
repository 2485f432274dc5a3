"""Changing real apps: what a user would see of it."""

import os
import signal
import time

import pytest
import ui_stack as stack
from ui_calls import answered, perform, prepare
from ui_user import User

from iac_base.errors import Cancellation, ToolError

pytestmark = pytest.mark.process
ROW = "window[@title='Fixture']/group[0]/group[0]"


def test_find_act_verify(gtk: User) -> None:
    assert gtk.press("Press")["success"]
    assert gtk.press("Press")["element_state"]["enabled"]
    assert gtk.sees("count 2")


def test_values_of_all_kinds(gtk: User) -> None:
    answer = gtk("set_value", element=gtk.path(title="Name", role="text_field"), value="Zoë")
    assert (answer["success"], answer["previous_value"], answer["new_value"]) == (
        True,
        "first",
        "Zoë",
    )
    assert gtk("set_value", element=gtk.path(role="slider"), value="42")["new_value"] == 42
    check = gtk.path(role="check_box")
    assert gtk("set_value", element=check, value="yes")["new_value"] is True
    assert gtk("set_value", element=check, value=True)["new_value"] is True
    assert gtk("set_value", element=gtk.path(role="text_area"), value="a\nb")["success"]
    assert gtk("set_value", element=gtk.path(role="incrementor"), value=3)["new_value"] == 3


def test_values_that_do_not_fit_are_refused_with_what_would(gtk: User) -> None:
    slider = gtk.path(role="slider")
    assert "from 0 to 100" in gtk.fails("set_value", element=slider, value=420)["message"]
    assert "a number" in gtk.fails("set_value", element=slider, value="big")["message"]
    name = gtk.path(role="text_field")
    assert "a text" in gtk.fails("set_value", element=name, value=True)["message"]
    check = gtk.path(role="check_box")
    assert "true or false" in gtk.fails("set_value", element=check, value="maybe")["message"]
    label = gtk.path(title="count 0")
    assert gtk.fails("set_value", element=label, value="x")["reason"] == "not_settable"


def test_a_secret_is_set_at_the_highest_level_only_and_never_shown(gtk: User) -> None:
    path = gtk.path(title="Passphrase")
    answer = gtk("set_value", element=path, value="correct horse")
    assert gtk.plan is not None
    assert gtk.plan.facts.level == "DANGEROUS"
    assert "correct horse" not in gtk.plan.facts.line
    assert "correct horse" not in str(answer)
    assert answer["previous_value"] == answer["new_value"] == "[secret]"


def test_a_menu_item_writes_its_file(gtk: User) -> None:
    answer = gtk("click_menu", menu_path="file > save as...")
    assert answer["success"]
    stack.wait_until((gtk.folder / "out.txt").exists, "the file")
    assert (gtk.folder / "out.txt").read_text() == "Save As…: first\n"
    gtk("click_menu", menu_path="Edit > Transform > Upper Case")
    assert gtk.fails("click_menu", menu_path="File > Sav")["guidance"].startswith("Nearest: Save")
    assert gtk.fails("click_menu", menu_path="Fil > Save")["reason"] == "no_menu"
    assert gtk.fails("click_menu", menu_path="File")["reason"] == "bad_path"
    assert gtk.fails("click_menu", menu_path="File > Off")["reason"] == "disabled"


def test_levels_say_what_is_dangerous_and_why(gtk: User) -> None:
    def level(tool: str, **arguments: str) -> tuple[str, str]:
        plan = prepare(gtk.toolset, tool, {"app": gtk.app.pid, **arguments})
        assert plan.facts.app == (gtk.app.id, gtk.app.name)
        return plan.facts.level, "; ".join(row.reason for row in plan.facts.raised)

    press = {"action": "press"}
    path = gtk.path(title="Press", role="button")
    assert level("perform_action", element=path, **press) == ("MODIFY", "")
    path = gtk.path(title="Delete")
    assert level("perform_action", element=path, **press)[0] == "DANGEROUS"
    assert level("click_menu", menu_path="File > Quit")[0] == "DANGEROUS"
    assert level("get_ui_tree") == ("SAFE", "")


def test_the_default_button_of_a_dialog_is_dangerous_and_cancel_is_not(gtk: User) -> None:
    gtk.press("Ask")
    stack.wait_until(lambda: gtk.sees("Sure?"), "the dialog")
    ok = gtk.path(title="OK", role="button")
    plan = prepare(
        gtk.toolset, "perform_action", {"app": gtk.app.pid, "element": ok, "action": "press"}
    )
    assert plan.facts.level == "DANGEROUS"
    assert [row.reason for row in plan.facts.raised] == ["It is the default button of a dialog."]
    cancel = gtk.path(title="Cancel", role="button")
    answer = gtk("perform_action", element=cancel, action="press")
    assert gtk.plan is not None
    assert gtk.plan.facts.level == "MODIFY"
    assert answer["success"]
    stack.wait_until(lambda: gtk.sees("no"), "the answer of the dialog")


def test_what_is_no_action_of_the_element_is_refused(gtk: User) -> None:
    path = gtk.path(title="Press", role="button")
    facts = gtk.fails("perform_action", element=path, action="explode")
    assert (facts["reason"], facts["actions"]) == ("no_action", ["press"])
    assert {"operation", "type", "message", "app", "element_path", "guidance"} <= set(facts)
    off = gtk.path(title="Off", role="button")
    assert gtk.fails("perform_action", element=off, action="press")["reason"] == "disabled"
    bad = gtk.fails("perform_action", element="button[", action="press")
    assert bad["reason"] == "bad_path"


def test_an_element_that_took_anothers_place_is_never_acted_on(gtk: User) -> None:
    gtk("get_ui_tree", depth=20)
    path = f"{ROW}/button[0]"
    plan = prepare(
        gtk.toolset, "perform_action", {"app": gtk.app.pid, "element": path, "action": "press"}
    )
    assert plan.facts.line.startswith('press button "Press"')
    gtk.press("Shift")
    with pytest.raises(ToolError) as caught:
        perform(plan)
    facts = caught.value.facts()
    assert facts["reason"] == "stale"
    assert facts["fresh_path"] == f"{ROW}/button[@title='Press']"
    assert gtk.sees("count 0")
    assert gtk("perform_action", element=facts["fresh_path"], action="press")["success"]


def test_an_element_that_was_renamed_or_is_gone_is_stale(gtk: User) -> None:
    path = gtk.path(title="Press", role="button")
    vanish = gtk.path(title="Vanish", role="button")
    gtk.press("Rename")
    assert gtk.fails("perform_action", element=path, action="press")["reason"] == "stale"
    answer = gtk("perform_action", element=vanish, action="press")
    assert answer["element_state"]["gone"]
    facts = gtk.fails("perform_action", element=vanish, action="press")
    assert (facts["reason"], facts["element_path"]) == ("stale", vanish)


def test_a_path_of_an_earlier_process_is_stale(gtk: User, start) -> None:
    path = gtk.path(title="Press", role="button")
    os.kill(gtk.process.pid, signal.SIGKILL)
    gtk.process.wait()
    again = start("gtk")
    facts = again.fails("perform_action", element=path, action="press")
    assert (facts["reason"], "started anew" in facts["message"]) == ("stale", True)
    # It was found again, so now it is of this process.
    fresh = facts["fresh_path"]
    assert again("perform_action", element=fresh, action="press")["success"]


def test_a_frozen_app_costs_its_time_and_no_more(gtk: User) -> None:
    path = gtk.path(title="Press", role="button")
    os.kill(gtk.process.pid, signal.SIGSTOP)
    began = time.monotonic()
    facts = gtk.fails("get_ui_tree")
    assert (facts["type"], facts["reason"]) == ("TIMEOUT", "app_silent")
    facts = gtk.fails("perform_action", element=path, action="press", timeout=0.5)
    assert facts["type"] == "TIMEOUT"
    assert time.monotonic() - began < 20
    windows = answered(gtk.toolset, "list_windows", {})
    assert windows["incomplete"]
    os.kill(gtk.process.pid, signal.SIGCONT)
    stack.wait_until(lambda: gtk.sees("count"), "the app again")


def test_an_app_that_was_killed_is_told(gtk: User) -> None:
    path = gtk.path(title="Press", role="button")
    plan = prepare(
        gtk.toolset, "perform_action", {"app": gtk.app.pid, "element": path, "action": "press"}
    )
    os.kill(gtk.process.pid, signal.SIGKILL)
    gtk.process.wait()
    with pytest.raises(ToolError) as caught:
        perform(plan)
    assert caught.value.facts()["reason"] == "app_gone"
    assert gtk.fails("get_ui_tree")["reason"] == "app_not_running"


def test_changes_are_told_in_order_and_the_cursor_goes_on(gtk: User) -> None:
    cancel = Cancellation()
    plan = prepare(
        gtk.toolset,
        "observe_changes",
        {"app": gtk.app.pid, "duration": 0.3, "events": ["value_changed", "title_changed"]},
    )
    first = perform(plan, cancel)
    assert first["changes"] == []
    assert cancel.word == "0 changes so far"
    gtk("set_value", element=gtk.path(role="text_field"), value="typed")
    gtk.press("Press")
    seen = gtk("observe_changes", duration=0.3, cursor=first["cursor"])
    kinds = [row["event"] for row in seen["changes"]]
    assert kinds[0] == "value_changed"
    assert seen["changes"][0]["element"]["value"] == "typed"
    assert "title_changed" in kinds
    assert gtk.fails("observe_changes", cursor="watch-99")["reason"] == "bad_cursor"


def test_windows_that_come_and_go_are_told(gtk: User) -> None:
    begun = gtk("observe_changes", duration=0.1)
    gtk.press("Second")
    seen = gtk("observe_changes", duration=0.5, cursor=begun["cursor"])
    assert "window_created" in [row["event"] for row in seen["changes"]]


def test_a_qt_press_is_animated_and_every_one_counts(qt: User) -> None:
    path = qt.path(title="Press", role="button")
    for _ in range(3):
        assert qt("perform_action", element=path, action="press")["success"]
    assert qt.sees("count 3")


def test_qt_values_and_menus(qt: User) -> None:
    assert qt("set_value", element=qt.path(role="text_field"), value="Zoë")["success"]
    assert qt("set_value", element=qt.path(role="slider"), value=7)["new_value"] == 7
    assert qt("set_value", element=qt.path(role="check_box"), value=True)["new_value"] is True
    combo = qt.path(role="combo_box")
    assert qt.fails("set_value", element=combo, value="Green")["reason"] == "not_settable"
    qt("click_menu", menu_path="File > Save")
    stack.wait_until((qt.folder / "out.txt").exists, "the file")
    assert (qt.folder / "out.txt").read_text() == "Save: Zoë\n"
    answer = qt("click_menu", menu_path="File > Quit")
    assert answer["element_state"]["gone"]


def test_a_stock_calculator_adds(start) -> None:
    galculator = start("galculator")
    for key in ("1", "2", "+", "3", "0", "="):
        paths = [
            row["path"]
            for row in galculator("find_element", role="toggle_button", title=key)["elements"]
            if row["title"] == key
        ] or [
            row["path"]
            for row in galculator("find_element", role="button", title=key)["elements"]
            if row["title"] == key
        ]
        galculator("perform_action", element=paths[0], action="press")
    stack.wait_until(lambda: galculator("find_element", value="42")["result_count"], "42")
