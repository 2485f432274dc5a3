"""Windows of apps that show no tree (plain X11, Tk): elements that can be raised, keyed, clicked.

A handle is `("screen", number)` for a window and `("screen", "pid")` for what stands for its app.
"""

from collections.abc import Sequence
from typing import Any, Final

from iac_accessibility.bridge import InputDevices
from iac_accessibility.model import Detail, ElementGone, Handle, ScreenWindow, UiFault, UiNode

SCREEN: Final = "screen"


def is_screen(handle: Any) -> bool:
    """Say whether a handle is that of a window or app of the screen."""
    return isinstance(handle, tuple) and handle[0] == SCREEN


def window_node(window: ScreenWindow, *, active: bool = False) -> UiNode:
    """Return a window of the screen as an element."""
    states = {"enabled", "visible"}
    for state, holds in (
        ("modal", window.dialog),
        ("minimized", window.minimized),
        ("active", active),
    ):
        if holds:
            states.add(state)
    role = "dialog" if window.dialog else "window"
    handle = (SCREEN, window.number)
    return UiNode(handle, role, window.title, "", frozenset(states), frame=window.frame)


class ScreenReader:
    """Reads windows of the screen."""

    def __init__(self, hands: InputDevices) -> None:
        self._hands = hands

    def read(
        self,
        handles: Sequence[Handle],
        want: Detail,  # noqa: ARG002
        timeout: float,  # noqa: ARG002
    ) -> list[UiNode | UiFault]:
        """Return one node or fault per handle."""
        windows = self._hands.list_windows()
        front = self._hands.front_window()
        return [self._screen_node(handle, windows, front) for handle in handles]

    def _screen_node(
        self, handle: Any, windows: Sequence[ScreenWindow], front: ScreenWindow | None
    ) -> UiNode | UiFault:
        if isinstance(handle[1], str):
            own = tuple((SCREEN, one.number) for one in windows if str(one.pid) == handle[1])
            states = frozenset(("enabled", "visible"))
            return UiNode(handle, "application", "", "", states, own, len(own))
        for one in windows:
            if one.number == handle[1]:
                return window_node(one, active=front is not None and front.number == one.number)
        return ElementGone("the window is gone")
