"""Windows of one title: the one that is meant is moved, or none; and where it is, is read back."""

from typing import Any

import pytest
import ui_stack as stack
from ui_user import User

from iac_accessibility.model import ScreenWindow

pytestmark = [pytest.mark.process, pytest.mark.sweep(3)]


@pytest.fixture
def twins(start: Any) -> User:
    """An app with two windows of one title."""
    user: User = start("gtk", "--twin")
    stack.wait_until(lambda: len(user("list_windows")["windows"]) == 2, "both windows")
    return user


def windows(user: User) -> list[ScreenWindow]:
    screen = user.toolset.session.bridge.input_devices
    return [one for one in screen.list_windows() if one.pid == user.app.pid]


def test_of_two_windows_of_one_title_the_one_that_is_meant_is_moved(twins: User) -> None:
    for at, row in enumerate(twins("list_windows")["windows"]):
        others = [one for one in twins("list_windows")["windows"] if one["id"] != row["id"]]
        place = {"x": 40 + 300 * at, "y": 50}
        assert twins("place_window", element=row["id"], position=place)["success"]
        now = {one["id"]: one for one in twins("list_windows")["windows"]}
        assert now[row["id"]]["position"] == place
        assert all(now[one["id"]]["position"] == one["position"] for one in others)


def test_of_windows_that_are_alike_in_all_none_is_touched(twins: User, start: Any) -> None:
    screen = twins.toolset.session.bridge.input_devices
    first, second = windows(twins)
    screen.place_window(first.number, second.frame)
    stack.wait_until(lambda: len({one.frame for one in windows(twins)}) == 1, "the same place")
    start("gtk", "--title", "In front")
    before = windows(twins)
    for row in twins("list_windows")["windows"]:
        for more in ({"show": "raise"}, {"position": {"x": 7, "y": 70}}):
            facts = twins.fails("place_window", element=row["id"], **more)
            assert facts["reason"] == "no_window"
            assert 'several windows that may be "Fixture"' in facts["message"]
            assert {row["number"] for row in facts["candidates"]} == {
                one.number for one in before if one.title == "Fixture"
            }
    assert windows(twins) == before


def test_a_size_that_the_app_does_not_take_is_told(twins: User) -> None:
    large = max(twins("list_windows")["windows"], key=lambda row: row["size"]["width"])
    answer = twins("place_window", element=large["id"], size={"width": 20, "height": 20})
    assert not answer["success"]
    assert "not as asked" in answer["notes"][0]
