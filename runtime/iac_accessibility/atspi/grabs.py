"""Whether a client of an X server has grabbed the keyboard or the pointer.

Source: X Window System Protocol, GrabKeyboard and GrabPointer; GrabDevice of the X.Org server,
which looks for another grab first and at the window next.
"""

from typing import Any, Literal

from Xlib import X


class Grabs:
    """Asks for grabs through a window that is not shown.

    Such a window is no place for a grab. So the server tells of another client's, and grants
    none, which every client would notice as a change of focus.
    """

    def __init__(self, display: Any) -> None:
        self._display = display
        root = display.screen().root
        self._window = root.create_window(-1, -1, 1, 1, 0, 0, X.InputOnly, X.CopyFromParent)

    def holds(self, what: Literal["keyboard", "pointer"]) -> bool:
        """Say whether another client has grabbed it."""
        modes = (X.GrabModeAsync, X.GrabModeAsync)
        if what == "keyboard":
            status = self._window.grab_keyboard(False, *modes, X.CurrentTime)
        else:
            status = self._window.grab_pointer(False, 0, *modes, X.NONE, X.NONE, X.CurrentTime)
        if status == X.GrabSuccess:
            release = {"keyboard": "ungrab_keyboard", "pointer": "ungrab_pointer"}[what]
            getattr(self._display, release)(X.CurrentTime)
        return bool(status == X.AlreadyGrabbed)
