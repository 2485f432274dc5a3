"""The pointer presses what was approved, or nothing: whatever lies above it."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import ui_stack as stack
from ui_calls import perform, prepare
from ui_user import User

from iac_accessibility.model import Frame
from iac_accessibility.toolset import UiToolset
from iac_base.errors import ToolError

pytestmark = [pytest.mark.process, pytest.mark.sweep(3)]


@pytest.fixture
def layered(start: Any) -> User:
    """A window with a button below another one, and a window above it."""
    user: User = start("gtk", "--cover", "--hands")
    return user


def element(user: User, title: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = user("find_element", title=title)["elements"]
    return next(row for row in found if row["title"] == title)


def label(user: User) -> str:
    return str(user("find_element", role="static_text")["elements"][0]["title"])


def cover(user: User, place: dict[str, Any]) -> None:
    """Put the window that stays above over a place."""
    screen = user.toolset.session.bridge.input_devices
    stack.wait_until(lambda: "Above" in [one.title for one in screen.list_windows()], "the window")
    above = next(one for one in screen.list_windows() if one.title == "Above")
    at, size = place["position"], place["size"]
    wanted = Frame(at["x"], at["y"], size["width"], size["height"])
    screen.place_window(above.number, wanted)
    middle = (at["x"] + size["width"] / 2, at["y"] + size["height"] / 2)
    stack.wait_until(lambda: screen.window_at(*middle).number == above.number, "the cover")


@pytest.mark.parametrize(
    ("tool", "more"),
    [("click", {"count": 2}), ("click", {"button": "right"}), ("scroll", {"pages": 1})],
)
def test_another_window_of_the_same_app_above_the_element_is_not_pressed(
    layered: User, tool: str, more: dict[str, Any]
) -> None:
    press = element(layered, "Press")
    cover(layered, press)
    facts = layered.fails(tool, element=press["id"], **more)
    assert facts["reason"] == "not_shown"
    assert "covered by another window" in facts["message"]
    assert label(layered) == "count 0"


def test_what_comes_above_the_element_when_the_pointer_is_there_is_not_pressed(
    layered: User,
) -> None:
    press = element(layered, "Press")
    plan = prepare(layered.toolset, "click", {"element": press["id"], "count": 2})
    screen = layered.toolset.session.bridge.input_devices
    point = screen.move_pointer

    def covers(x: float, y: float) -> None:
        point(x, y)
        cover(layered, press)

    screen.move_pointer = covers
    try:
        with pytest.raises(ToolError, match="covered by another window"):
            perform(plan)
    finally:
        del screen.move_pointer
    assert label(layered) == "count 0"


def test_an_element_above_another_in_one_window_is_told_from_it(layered: User) -> None:
    facts = layered.fails("click", element=element(layered, "Under")["id"], count=2)
    assert facts["reason"] == "stale"
    assert "Another element is now at that point" in facts["message"]
    assert label(layered) == "count 0"
    layered("click", element=element(layered, "Over")["id"], count=2)
    stack.wait_until(lambda: label(layered) == "hit Over", "the press")


def test_nothing_is_dropped_on_what_came_above(layered: User) -> None:
    name = element(layered, "Name")
    arguments = {"element": element(layered, "Grab")["id"], "to": name["id"]}
    plan = prepare(layered.toolset, "drag", arguments)
    screen = layered.toolset.session.bridge.input_devices
    button = screen.set_button

    def covers(which: str, *, down: bool) -> None:
        button(which, down=down)
        if down:
            cover(layered, name)

    screen.set_button = covers
    try:
        with pytest.raises(ToolError, match="covered by another window"):
            perform(plan)
    finally:
        del screen.set_button
    # The window above takes what is dropped on it.
    assert label(layered) == "count 0"
    assert element(layered, "Name")["value"] == "first"


LAYERS = """<!doctype html><title>Layers</title>
<button id=b onmousedown="out.textContent='pressed below'">Below</button><p id=out>untouched</p>
<div style="position:fixed;inset:0;z-index:9" onmousedown="out.textContent='pressed above'"></div>
"""


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_page_that_lies_above_its_own_button_gets_no_click(
    desk: stack.Desktop, bridge: Any, toolset: UiToolset, tmp_path: Path
) -> None:
    page = tmp_path / "layers.html"
    page.write_text(LAYERS)
    process = stack.chromium(desk, tmp_path / "profile", page.as_uri())

    def titled() -> User | None:
        app = next((one for one in bridge.running_apps(2.0) if "hrom" in one.name), None)
        user = app and User(toolset, app, tmp_path, process)
        rows = user("list_windows")["windows"] if user else []
        return user if any("Layers" in row["title"] for row in rows) else None

    try:
        user = stack.wait_until(titled, "the page")
        assert isinstance(user, User)
        # The tree of a page is built once it is asked for.
        user("get_ui_tree", depth=40)
        stack.wait_until(lambda: user.sees("untouched"), "what is on the page")
        facts = user.fails("click", element=element(user, "Below")["id"], count=2)
        assert facts["reason"] == "stale"
        assert user.sees("untouched")
    finally:
        desk.end(process)
