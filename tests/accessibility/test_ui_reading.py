"""What a model sees of real apps."""

import re
from typing import Any

import pytest
import ui_stack as stack
from ui_calls import answered
from ui_user import User

from iac_runtime.search.page import count_tokens
from iac_runtime.tools.own import OWN_TOOLS, toolset_tools
from iac_runtime.tools.shape import listing_entry

pytestmark = [pytest.mark.process, pytest.mark.sweep(3)]


def test_a_tree_reads_as_an_outline_whose_lines_make_paths(gtk: User) -> None:
    answer = gtk("get_ui_tree", depth=20)
    ids = {line.lstrip().partition(" ")[0] for line in answer["tree"].splitlines()}
    assert len(ids) == answer["result_count"]
    lines = [re.sub(r"^( *)e\d+ ", r"\1", line) for line in answer["tree"].splitlines()]
    assert lines[0] == "window[@title='Fixture'] active"
    assert "  text_field[@title='Name'] = \"first\" focused" in lines
    assert "   button[@title='Off'] disabled" in lines
    assert answer["result_count"] == len(lines)
    assert not answer["incomplete"]
    assert not answer["has_more_results"]


def test_the_depth_ends_a_tree_and_the_answer_says_so(gtk: User) -> None:
    answer = gtk("get_ui_tree", depth=1)
    assert answer["tree"] == "e1 window[@title='Fixture'] active"
    assert answer["depth"] == 1
    assert answer["has_more_results"]
    assert not answer["incomplete"]
    assert "depth 1" in answer["cuts"][0]["why"]


def test_what_is_hidden_is_not_shown_and_does_not_move_the_numbers(gtk: User) -> None:
    assert "Unseen" not in gtk("get_ui_tree", depth=20)["tree"]
    assert not gtk.sees("Unseen")


def test_attributes_and_roles_on_request(gtk: User) -> None:
    roles = gtk("get_ui_tree", depth=20, filter_roles=["AXSlider", "check box"])
    assert roles["result_count"] == 2
    assert (
        roles["tree"]
        .splitlines()[0]
        .partition(" ")[2]
        .startswith("window[@title='Fixture']/group[0]/slider")
    )
    more = gtk("get_ui_tree", depth=20, include_attributes=["actions", "position", "states"])
    assert re.search(
        r"button\[@title='Press'\] .*enabled.* at=\d+,\d+ .*actions=press", more["tree"]
    )


def test_a_secret_is_never_read_by_any_tool(gtk: User) -> None:
    assert "hunter2" not in gtk("get_ui_tree", depth=20, include_attributes=["value"])["tree"]
    assert "= [secret]" in gtk("get_ui_tree", depth=20)["tree"]
    found = gtk("find_element", title="Passphrase")["elements"][0]
    assert found["value"] == "[secret]"
    assert not gtk("find_element", value="hunter2")["elements"]
    assert not gtk("find_element", value="●")["elements"]


def test_elements_are_found_by_every_criterion(gtk: User) -> None:
    assert gtk("find_element", title="SHIF")["elements"][0]["title"] == "Shift"
    assert gtk("find_element", value="first")["elements"][0]["role"] == "text_field"
    assert gtk("find_element", role="push button", max_results=3)["has_more_results"]
    assert gtk("find_element", role="button", identifier="none")["result_count"] == 0
    assert gtk.fails("find_element")["type"] == "INVALID_PARAMETER"


def test_the_windows_and_the_focus_of_all_apps(gtk: User) -> None:
    windows = answered(gtk.toolset, "list_windows", {})["windows"]
    (mine,) = [row for row in windows if row["app"]["pid"] == gtk.app.pid]
    assert (mine["title"], mine["frontmost"], mine["minimized"]) == ("Fixture", True, False)
    assert mine["size"]["width"] > 100
    focus = answered(gtk.toolset, "get_focused_element", {})
    assert focus["element"]["title"] == "Name"
    assert focus["has_focus"]
    assert gtk("list_windows")["result_count"] == 1


def test_a_second_window_is_listed_and_has_paths_of_its_own(gtk: User) -> None:
    gtk.press("Second")
    assert gtk("list_windows")["result_count"] == 2
    paths = [row["path"] for row in gtk("find_element", title="Press")["elements"]]
    assert len(set(paths)) == 2
    assert any(path.startswith("window[@title='Second window']") for path in paths)


def test_arguments_out_of_bounds_are_told(gtk: User) -> None:
    assert "depth must be 1 or more" in gtk.fails("get_ui_tree", depth=0)["message"]
    assert "max_results" in gtk.fails("find_element", title="x", max_results=0)["message"]
    assert gtk.fails("get_ui_tree", include_attributes=["colour"])["type"] == "INVALID_PARAMETER"


def test_the_three_errors_about_apps(start, gtk: User) -> None:
    unknown = gtk.fails("get_ui_tree", app="gtk_ap.py")
    assert (unknown["reason"], unknown["guidance"]) == ("app_unknown", "Nearest: gtk_app.py.")
    assert gtk.fails("get_ui_tree", app="galculator")["reason"] == "app_not_running"
    assert gtk.fails("get_ui_tree", app=1)["reason"] == "app_not_running"
    other = start("gtk", "--title", "Other")
    several = gtk.fails("get_ui_tree", app="gtk_app.py")
    assert several["reason"] == "app_ambiguous"
    assert {row["pid"] for row in several["matches"]} == {gtk.app.pid, other.app.pid}


def test_qt_reads_the_same(qt: User) -> None:
    tree = qt("get_ui_tree", depth=20)["tree"]
    assert "text_field[@title='Name'] = \"first\"" in tree
    assert "secure_text_field[@title='Passphrase'] = [secret]" in tree
    assert qt("get_focused_element")["element"]["title"] == "Name"


@pytest.mark.parametrize(
    ("program", "arguments"),
    [("gtk", ()), ("gtk", ("--rows", "50")), ("qt", ()), ("galculator", ())],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_an_element_takes_few_tokens(start, program: str, arguments: tuple[str, ...]) -> None:
    if program == "qt":
        pytest.importorskip("PySide6.QtWidgets", reason="PySide6-Essentials is not installed")
    user = start(program, *arguments)
    plain = user("get_ui_tree", depth=100)
    assert not plain["has_more_results"]
    assert stack.tokens(plain) <= stack.TOKENS
    more = user("get_ui_tree", depth=100, include_attributes=["actions", "position"])
    assert more["result_count"] == plain["result_count"]
    assert stack.tokens(more) > stack.tokens(plain)


def test_a_minimized_window_is_listed_on_request_and_can_be_worked(gtk: User) -> None:
    gtk.press("Minimize")

    def minimized() -> bool:
        rows = gtk("list_windows", include_minimized=True)["windows"]
        return [row["minimized"] for row in rows] == [True]

    stack.wait_until(minimized, "the window is minimized")
    assert gtk("list_windows")["windows"] == []
    assert not gtk("list_windows", include_minimized=True)["windows"][0]["frontmost"]
    assert ' window "Fixture" minimized\n' in gtk("get_ui_tree")["tree"]
    assert gtk.press("Press")["success"]
    assert gtk.sees("count 1")


def test_qt_does_not_say_that_a_window_is_minimized(qt: User) -> None:
    qt.press("Minimize")
    stack.wait_until(lambda: not qt("list_windows")["windows"][0]["frontmost"], "it is minimized")
    (row,) = qt("list_windows")["windows"]
    assert not row["minimized"]


def test_gtk_4_is_read_and_worked(start) -> None:
    if not stack.has_gtk4():
        pytest.skip("gir1.2-gtk-4.0 is not installed")
    user = start("gtk4")
    answer = user("get_ui_tree", depth=50, timeout=30)
    assert "window[@title='GTK 4 fixture']" in answer["tree"].partition("\n")[0]
    assert stack.tokens(answer) <= stack.TOKENS
    (window,) = user("list_windows", timeout=30)["windows"]
    assert window["title"] == "GTK 4 fixture"
    path = user.path(title="Press", role="button", timeout=30)
    assert user("perform_action", element=path, action="press", timeout=30)["success"]
    stack.wait_until(lambda: user.sees("count 1"), "the press")
    # GTK 4.8 says that it took a text and did not; only what is read back is believed.
    field = user.path(role="text_field", timeout=30)
    done = user("set_value", element=field, value="Zoë", timeout=30)
    assert done["success"] == (done["new_value"] == "Zoë")


def test_a_hit_says_in_which_row_and_window_it_is(start: Any) -> None:
    user = start("gtk", "--items", "box")
    found = user("find_element", title="Delete", role="button")["elements"]
    held = [row for row in found if row.get("row")]
    assert [row["row"].split(" | ")[0] for row in held] == ["Item 0", "Item 1", "Item 2"]
    assert {row["window"] for row in found} == {"Fixture"}


def test_what_was_acted_on_is_told_with_its_path_and_its_actions(gtk: User) -> None:
    path = gtk.path(title="Press", role="button")
    state = gtk("perform_action", element=path, action="press")["element_state"]
    assert state["path"] == path
    assert "press" in state["actions"]


def test_an_argument_that_is_lacking_is_told_with_operation_and_guidance(gtk: User) -> None:
    for tool, arguments in (("find_element", {}), ("get_ui_tree", {"offset": 1})):
        facts = gtk.fails(tool, **arguments)
        assert facts["operation"] == tool
        assert facts["guidance"]


def test_the_list_of_the_tools_stays_small() -> None:
    shown = ("name", "description", "inputSchema")
    rows = [listing_entry(tool) for tool in toolset_tools(("accessibility",))]
    every = [*map(listing_entry, OWN_TOOLS.values()), *rows]
    assert count_tokens({key: row[key] for key in shown} for row in every) <= 3_900
    assert count_tokens(row["outputSchema"] for row in rows) <= 4_000


@pytest.mark.skipif(not stack.has_gtk4(), reason="gir1.2-gtk-4.0 is not installed")
def test_the_class_of_an_element_is_not_its_name(start: Any) -> None:
    user: User = start("gtk4")
    tree = user("get_ui_tree", max_tokens=10_000)
    assert 'button "Press"' in tree["tree"]
    assert "Gtk" not in tree["tree"].replace("GTK 4", "")
    assert "Gtk" not in user("get_ui_tree", depth=40)["tree"]
    assert tree["app"]["id"] == "local.gtk4_app"


@pytest.mark.skipif(not stack.has_gtk4(), reason="gir1.2-gtk-4.0 is not installed")
def test_a_button_around_a_label_is_called_and_judged_by_it(start: Any) -> None:
    user: User = start("gtk4", "--labels")
    (row,) = user("find_element", title="delete everything", role="button")["elements"]
    assert row["label"] == "Delete everything"
    assert f'{row["id"]} button ("Delete everything")' in user("get_ui_tree")["tree"]
    state = user("perform_action", element=row["id"], action=row["actions"][0])["element_state"]
    assert user.plan is not None
    assert user.plan.facts.level == "DANGEROUS"
    assert state["path"] == row["path"]


@pytest.mark.skipif(not stack.has_gtk4(), reason="gir1.2-gtk-4.0 is not installed")
def test_a_field_is_called_by_the_text_to_its_left_but_not_by_any_text_above(start: Any) -> None:
    user: User = start("gtk4", "--labels")
    tree = user("get_ui_tree", max_tokens=10_000)["tree"]
    assert 'text_field ("Street") = "second"' in tree
    assert 'text_field = "first"' in tree
    (row,) = user("find_element", title="street", role="text_field")["elements"]
    assert row["value"] == "second"
