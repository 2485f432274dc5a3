"""What an X server shows of a window, and what other programs' windows lie before it.

Source: X Window System Protocol, GetImage (it gives what is seen, windows before it included) and
QueryTree (children in stacking order, the lowest first); EWMH 1.5, _NET_WM_PID.
"""

import os
from contextlib import closing
from typing import Any, Final

from iac_accessibility.model import (
    AppNotResponding,
    Frame,
    ScreenPicture,
    Unsupported,
    frames_overlap,
)

_LEVELS: Final = 3
"""Levels below a top window at which a window manager keeps the app's own."""


def capture_window(pid: int, frame: Frame) -> ScreenPicture:
    """Return the part of the screen at `frame`, and what is before the windows of `pid` there.

    A window of which nobody knows whose it is counts as another's.

    Raises:
        Unsupported: There is no X display here, or the part is not on the screen.
        Silent: The display does not answer.
    """
    from Xlib import X, display, error

    if not os.environ.get("DISPLAY"):
        raise Unsupported(
            "there is no X display, and Wayland does not let a program see other programs' windows"
        )
    try:
        opened = display.Display()
    except (error.DisplayError, OSError) as fault:
        raise AppNotResponding(f"the X display cannot be reached: {fault}") from None
    with closing(opened):
        root = opened.screen().root
        whole = root.get_geometry()
        left, top = max(int(frame.x), 0), max(int(frame.y), 0)
        width = min(int(frame.x + frame.width), whole.width) - left
        height = min(int(frame.y + frame.height), whole.height) - top
        if width < 1 or height < 1:
            raise Unsupported("the window is not on the screen")
        shown = Frame(left, top, width, height)
        try:
            image = root.get_image(left, top, width, height, X.ZPixmap, 0xFFFFFFFF)
            covered = _covering_frames(opened, root, pid, shown)
        except error.XError as fault:
            raise AppNotResponding(f"the X server refused: {fault}") from None
        if image.depth not in (24, 32):
            raise Unsupported(f"IAC does not support a screen with {image.depth} bits")
        return ScreenPicture((width, height), image.data, "BGRX", shown, covered)


def _covering_frames(opened: Any, root: Any, pid: int, shown: Frame) -> tuple[Frame, ...]:
    """Return the places of windows of others that are before the first of ours, and beside it."""
    from Xlib import X, error

    found: list[Frame] = []
    for window in reversed(root.query_tree().children):
        try:
            held, at = window.get_attributes(), window.get_geometry()
            if held.map_state != X.IsViewable or held.win_class != X.InputOutput:
                continue
            place = Frame(at.x, at.y, at.width + 2 * at.border_width, at.height)
            if _owner_pid(opened, window, _LEVELS) != pid:
                if frames_overlap(place, shown):
                    found.append(place)
            elif _fills_most(place, shown):
                return tuple(found)
        except error.XError:
            # It went meanwhile.
            continue
    # None of ours fills the place: what is there is not known to be of the app.
    return (*found, shown)


def _owner_pid(opened: Any, window: Any, levels: int) -> int:
    said = window.get_full_property(opened.intern_atom("_NET_WM_PID"), 0)
    if said is not None and len(said.value):
        return int(said.value[0])
    below = window.query_tree().children if levels else ()
    return next(filter(None, (_owner_pid(opened, one, levels - 1) for one in below)), 0)


def _fills_most(place: Frame, shown: Frame) -> bool:
    """Say whether a window fills most of a place: its frame and its shadow may differ."""
    width = min(place.x + place.width, shown.x + shown.width) - max(place.x, shown.x)
    height = min(place.y + place.height, shown.y + shown.height) - max(place.y, shown.y)
    return width > 0 < height and width * height >= shown.width * shown.height * 0.9
