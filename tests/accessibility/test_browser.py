"""A browser: its tree is built on demand, and its fields cannot be set but by typing."""

import shutil
from typing import Any

import pytest
import ui_stack as stack
from ui_user import User

from iac_accessibility.toolset import UiToolset

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed"),
]


@pytest.fixture
def browser(desk: stack.Desktop, bridge: Any, toolset: UiToolset, tmp_path: Any) -> Any:
    """Chromium with a page, asleep as far as accessibility goes."""
    process = stack.chromium(desk, tmp_path)

    def titled() -> Any:
        app = next((one for one in bridge.running_apps(2.0) if "hrom" in one.name), None)
        if app is None:
            return None
        user = User(toolset, app, tmp_path, process)
        rows = user("list_windows")["windows"]
        return user if any("Web fixture" in row["title"] for row in rows) else None

    yield stack.wait_until(titled, "the page")
    desk.end(process)


def test_a_page_is_woken_pressed_and_typed_into(browser: User) -> None:
    first = browser("get_ui_tree", depth=40)
    # It may have been woken by an earlier reader of this desktop; if not, that is said.
    assert any("was empty" in note for note in first["notes"]) or "web_area" in first["tree"]
    stack.wait_until(lambda: browser.sees("Order 199"), "the whole page")
    tree = browser("get_ui_tree", depth=40)
    assert tree["result_count"] > 800
    assert stack.tokens(tree) <= stack.TOKENS
    assert browser.press("Press")["success"]
    stack.wait_until(lambda: browser.sees("count 1"), "the press")
    path = browser.path(title="Name", role="text_field")
    answer = browser("set_value", element=path, value="typed web")
    assert browser.plan is not None
    assert browser.plan.facts.level == "MODIFY"
    assert (answer["success"], answer["method"]) == (True, "paste")
    stack.wait_until(lambda: browser.sees("got typed web"), "the text")
    check = browser.path(role="check_box")
    assert browser("set_value", element=check, value=True)["success"]
    assert "hunter2" not in browser("get_ui_tree", depth=40)["tree"]
    # What the page hides beside itself is left out, what is below is counted.
    page = browser("get_ui_tree", part="page")
    assert "Skip" not in page["tree"]
    assert " more, from offset " in page["tree"]
    assert 'combo_box "Sort by" = "Price"' in page["tree"]
    assert 'text_field "Coupon code"' in page["tree"]
    assert "Address and search bar" not in page["tree"]
    assert "Address and search bar" in browser("get_ui_tree", part="controls")["tree"]
    log = browser("find_element", title="Log", role="text_area")["elements"][0]["id"]
    assert "END" in browser("get_ui_tree", element=log, offset=5990)["tree"]


def test_a_form_takes_an_option_and_a_date_beside_texts(browser: User) -> None:
    browser("get_ui_tree", depth=40)
    stack.wait_until(lambda: browser.sees("Order 199"), "the whole page")

    def named(role: str, title: str) -> str:
        found = browser("find_element", role=role, title=title)["elements"]
        return str(next(one["id"] for one in found if one["title"].startswith(title)))

    values = {
        named("text_field", "Coupon code"): "SPRING", named("combo_box", "Sort by"): "Name",
        named("incrementor", "Month Due"): 5, named("incrementor", "Day Due"): 7,
        named("incrementor", "Year Due"): 1990,
    }  # fmt: skip
    fields = [{"element": element, "value": value} for element, value in values.items()]
    answer = browser("fill_form", fields=fields)
    assert answer["success"], answer
    page = browser("get_ui_tree", part="page")["tree"]
    assert 'combo_box "Sort by" = "Name"' in page
    told = [one["element_state"].get("value") for one in answer["fields"]]
    assert told == ["SPRING", "Name", 5.0, 7.0, 1990.0]
