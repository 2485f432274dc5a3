"""The pointer: what lies under it, a click at a point, and a tab that is shown."""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from iac_accessibility.apps import UiSession
from iac_accessibility.bridge import read_one
from iac_accessibility.errors import LOOK_AGAIN, UiError
from iac_accessibility.hands import (
    STATE_SECONDS,
    TAKE,
    bring_window,
    require_input_devices,
    screen_window,
)
from iac_accessibility.identity import ElementFound
from iac_accessibility.model import Detail, Frame, ScreenWindow, UiApp, UiFault, UiNode
from iac_accessibility.overview import is_active

_HOLD: Final = 0.03


@dataclass(frozen=True, slots=True)
class Aim:
    """A point of the screen that is in an element; calling it raises where a click misses that.

    Attributes:
        found: The element as it is now.
        window: The window system's number of its window.
        x, y: The point on the screen.
        shift: What the frames of the window's elements are short of, to be on the screen.
    """

    session: UiSession
    app: UiApp
    found: ElementFound
    window: int
    x: float
    y: float
    shift: tuple[float, float]

    def __call__(self, *, carrying: bool = False) -> None:
        """Raise a `UiError` where another window or element lies at the point now.

        Args:
            carrying: Whether something is dragged; its picture is a window of its own.
        """
        top = require_input_devices(self.session).window_at(self.x, self.y, listed=carrying)
        if top is None or top.pid != self.app.pid or not self._is_own(top):
            raise _not_shown_error(
                "The element is covered by another window, or is scrolled out of sight."
            )
        bridge, node = self.session.bridge, self.found.node
        place = (self.x - self.shift[0], self.y - self.shift[1])
        window = self.found.window.handle
        hit = bridge.element_at(window, *place, STATE_SECONDS)
        if hit == node.handle:
            return
        way = [] if hit is None else bridge.ancestor_handles(self.app, hit, STATE_SECONDS)
        # A browser has nothing smaller than the whole of a control.
        whole = next((one for one in self.found.way if one.handle == hit), None)
        if node.handle not in way and not (whole is not None and is_active(whole)):
            raise UiError(
                "NOT_FOUND",
                "Another element is now at that point. Nothing was done.",
                LOOK_AGAIN,
                reason="stale",
            )

    def _is_own(self, top: ScreenWindow) -> bool:
        """Say whether a window is that of the element: its window, or the menu that it is in."""
        hands = require_input_devices(self.session)
        if top.number == self.window:
            return True
        if any(one.number == top.number for one in hands.list_windows()):
            return False
        reader = self.session.bridge.open_reader(self.app, whole=False, timeout=STATE_SECONDS)
        around = reader.read([one.handle for one in self.found.way], Detail.FRAME, STATE_SECONDS)
        return any(isinstance(one, UiNode) and _fills(one.frame, top.frame) for one in around)


def _fills(frame: Frame | None, window: Frame) -> bool:
    """Say whether an element takes up nearly all of a window."""
    if frame is None or not window.holds(frame.x, frame.y):
        return False
    return _MOST * window.width <= frame.width <= window.width and (
        _MOST * window.height <= frame.height <= window.height
    )


_MOST: Final = 0.8


def point_at(aim: Aim) -> None:
    """Move the pointer to a point, and prove that the element is still there."""
    hands = require_input_devices(aim.session)
    hands.check_modifiers()
    hands.move_pointer(aim.x, aim.y)
    # What shows itself under the pointer takes a moment.
    time.sleep(_HOLD)
    aim()


def click_at(aim: Aim, button: str = "left", count: int = 1) -> None:
    """Click the element that an aim is at."""
    point_at(aim)
    require_input_devices(aim.session).click_button(button, count)


def show_tab(
    session: UiSession, app: UiApp, found: ElementFound, now: UiNode, seconds: float
) -> Mapping[str, Any] | None:
    """Show a tab: as the choice of its group, by its own action, or by the pointer."""
    group = found.way[-2]
    reader = session.bridge.open_reader(app, whole=False, timeout=seconds)
    children = read_one(reader, group.handle, Detail.CHILDREN, seconds).children
    with suppress(UiFault, UiError, ValueError):
        session.bridge.select_child(group.handle, [*children].index(now.handle), seconds)
        if "selected" in read_one(reader, now.handle, Detail.VALUE, seconds).states:
            return {"method": "action"}
    own = next((name for name in ("press", "toggle") if name in now.actions), "")
    if own:
        session.bridge.perform_action(now.handle, own, seconds)
        return {"method": "action"}
    click_at(aim_at(session, app, found.now(now)))
    return {"method": "pointer"}


def elements_under_point(
    session: UiSession,
    app: UiApp,
    found: ElementFound,
    point: Mapping[str, float] | None,
    seconds: float,
) -> tuple[tuple[Any, str], ...]:
    """Return what is below an element at a point of it (its middle), each with its name."""
    reader = session.bridge.open_reader(app, whole=False, timeout=seconds)
    want = Detail.FRAME | Detail.CHILDREN
    node = read_one(reader, found.node.handle, want, seconds)
    if node.frame is None or not node.children:
        return ()
    x = node.frame.x + (float(point["x"]) if point else node.frame.width / 2)
    y = node.frame.y + (float(point["y"]) if point else node.frame.height / 2)
    hit: list[tuple[Any, str]] = []
    for _ in range(_LEVELS):
        below = reader.read(node.children[:_BESIDE], want | Detail.DESCRIPTION, seconds)
        inside = [one for one in below if isinstance(one, UiNode) and one.covers(x, y)]
        if not inside:
            break
        hit += [(one.handle, f"{one.title} {one.description}".strip()) for one in inside]
        # The last of those that overlap is drawn above the others.
        node = inside[-1]
    return tuple(hit)


_LEVELS: Final = 40
_BESIDE: Final = 500


def aim_at(
    session: UiSession,
    app: UiApp,
    found: ElementFound,
    offset: Mapping[str, float] | None = None,
) -> Aim:
    """Return a point in an element: its middle, or so far from its top left corner.

    Raises:
        UiError: The element is not in sight, the point is not in it, or another window covers it.
    """
    bridge, window, node = session.bridge, found.window, found.node
    with suppress(UiFault):
        bridge.scroll_to(node.handle, STATE_SECONDS)
    on_screen = screen_window(session, app, window)
    bring_window(session, app, window, TAKE)
    reader = bridge.open_reader(app, whole=False, timeout=STATE_SECONDS)
    frame = read_one(reader, node.handle, Detail.FRAME, STATE_SECONDS).frame
    around = read_one(reader, window.handle, Detail.FRAME, STATE_SECONDS).frame
    if frame is None or frame.width <= 0 or frame.height <= 0:
        raise _not_shown_error("The element is not shown on the screen.")
    x, y = frame.width / 2, frame.height / 2
    if offset is not None:
        x, y = float(offset["x"]), float(offset["y"])
        if not (0 <= x < frame.width and 0 <= y < frame.height):
            raise _not_shown_error(
                f"The point is outside the element (size {frame.width:g} x {frame.height:g})."
            )
    left, top = _window_offset(around, on_screen)
    x, y = frame.x + x + left, frame.y + y + top
    if max(abs(x), abs(y)) > _FAR:
        raise _not_shown_error(
            "The element is not shown: it may be on a tab or a page that is hidden."
        )
    aim = Aim(session, app, found, on_screen.number, x, y, (left, top))
    aim()
    return aim


_FAR: Final = 30_000
"""Farther out no screen reaches; toolkits put there what they do not show."""


def _window_offset(around: Frame | None, window: ScreenWindow) -> tuple[float, float]:
    """Return what positions are short of: some toolkits (GTK 4) count them from their window."""
    if around is None or (around.x, around.y) != (0, 0):
        return 0.0, 0.0
    if (window.frame.x, window.frame.y) == (0, 0):
        return 0.0, 0.0
    return window.frame.x + window.margin[0], window.frame.y + window.margin[1]


def _not_shown_error(message: str) -> UiError:
    way = "Scroll the element into view, or read it again."
    return UiError("NOT_SUPPORTED", message, way, reason="not_shown")
