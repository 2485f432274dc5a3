"""The pointer: what lies under it, a click at a point, and a tab that is shown."""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from iac_accessibility.apps import UiSession
from iac_accessibility.bridge import read_one
from iac_accessibility.errors import UiError
from iac_accessibility.hands import (
    STATE_SECONDS,
    TAKE,
    bring_window,
    hands_of,
    screen_window,
)
from iac_accessibility.identity import ElementFound
from iac_accessibility.model import Frame, ScreenWindow, UiApp, UiFault, UiNode, Want

_HOLD: Final = 0.03


def click_at(session: UiSession, place: tuple[float, float], button: str, count: int) -> None:
    hands = hands_of(session)
    hands.check_modifiers()
    hands.point(*place)
    time.sleep(_HOLD)
    hands.click(button, count)


def show_tab(
    session: UiSession, app: UiApp, found: ElementFound, now: UiNode, seconds: float
) -> Mapping[str, Any] | None:
    """Show a tab: as the choice of its group, by its own action, or by the pointer."""
    group = found.way[-2]
    reader = session.bridge.reader(app, whole=False, timeout=seconds)
    children = read_one(reader, group.handle, Want.CHILDREN, seconds).children
    with suppress(UiFault, UiError, ValueError):
        session.bridge.select(group.handle, [*children].index(now.handle), seconds)
        if "selected" in read_one(reader, now.handle, Want.VALUE, seconds).states:
            return {"method": "action"}
    own = next((name for name in ("press", "toggle") if name in now.actions), "")
    if own:
        session.bridge.perform(now.handle, own, seconds)
        return {"method": "action"}
    click_at(session, point_in(session, app, found.window, now, None), "left", 1)
    return {"method": "pointer"}


def under(
    session: UiSession,
    app: UiApp,
    found: ElementFound,
    point: Mapping[str, float] | None,
    seconds: float,
) -> tuple[tuple[Any, str], ...]:
    """Return what is below an element at a point of it (its middle), each with its name."""
    reader = session.bridge.reader(app, whole=False, timeout=seconds)
    want = Want.FRAME | Want.CHILDREN
    node = read_one(reader, found.node.handle, want, seconds)
    if node.frame is None or not node.children:
        return ()
    x = node.frame.x + (float(point["x"]) if point else node.frame.width / 2)
    y = node.frame.y + (float(point["y"]) if point else node.frame.height / 2)
    hit: list[tuple[Any, str]] = []
    for _ in range(_LEVELS):
        below = reader.read(node.children[:_BESIDE], want | Want.DESCRIPTION, seconds)
        inside = [one for one in below if isinstance(one, UiNode) and _holds(one, x, y)]
        if not inside:
            break
        hit += [(one.handle, f"{one.title} {one.description}".strip()) for one in inside]
        # The last of those that overlap is drawn above the others.
        node = inside[-1]
    return tuple(hit)


_LEVELS: Final = 40
_BESIDE: Final = 500


def _holds(node: UiNode, x: float, y: float) -> bool:
    frame = node.frame
    if frame is None or not node.visible:
        return False
    return frame.x <= x < frame.x + frame.width and frame.y <= y < frame.y + frame.height


def point_in(
    session: UiSession, app: UiApp, window: UiNode, node: UiNode, offset: Mapping[str, float] | None
) -> tuple[float, float]:
    """Return a point of the screen in an element: its middle, or so far from its top left corner.

    Raises:
        UiError: The element is not in sight, the point is not in it, or another window covers it.
    """
    bridge, hands = session.bridge, hands_of(session)
    with suppress(UiFault):
        bridge.scroll_to(node.handle, STATE_SECONDS)
    on_screen = screen_window(session, app, window)
    bring_window(session, app, window, TAKE)
    reader = bridge.reader(app, whole=False, timeout=STATE_SECONDS)
    frame = read_one(reader, node.handle, Want.FRAME, STATE_SECONDS).frame
    around = read_one(reader, window.handle, Want.FRAME, STATE_SECONDS).frame
    if frame is None or frame.width <= 0 or frame.height <= 0:
        raise _unseen("The element is not shown on the screen.")
    x, y = frame.width / 2, frame.height / 2
    if offset is not None:
        x, y = float(offset["x"]), float(offset["y"])
        if not (0 <= x < frame.width and 0 <= y < frame.height):
            raise _unseen(
                f"The point is outside the element (size {frame.width:g} x {frame.height:g})."
            )
    left, top = _shift(around, on_screen)
    x, y = frame.x + x + left, frame.y + y + top
    if max(abs(x), abs(y)) > _FAR:
        raise _unseen("The element is not shown: it may be on a tab or a page that is hidden.")
    if hands.owner_at(x, y) != app.pid:
        raise _unseen("The element is covered by another window, or is scrolled out of sight.")
    return x, y


_FAR: Final = 30_000
"""Farther out no screen reaches; toolkits put there what they do not show."""


def _shift(around: Frame | None, window: ScreenWindow) -> tuple[float, float]:
    """Return what positions are short of: some toolkits (GTK 4) count them from their window."""
    if around is None or (around.x, around.y) != (0, 0):
        return 0.0, 0.0
    if (window.frame.x, window.frame.y) == (0, 0):
        return 0.0, 0.0
    return window.frame.x + window.margin[0], window.frame.y + window.margin[1]


def _unseen(message: str) -> UiError:
    way = "Scroll the element into view, or read it again."
    return UiError("NOT_SUPPORTED", message, way, reason="not_shown")
