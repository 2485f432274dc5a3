"""Keys given to one app, with the focus proven before every one.

Keys go wherever the keyboard is: so before each the window system says whose window has it, and
the app says which element; where either has changed, nothing more is given.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from iac_accessibility.apps import UiSession
from iac_accessibility.bridge import InputDevices, read_one
from iac_accessibility.errors import UiError
from iac_accessibility.keys import Stroke
from iac_accessibility.locate import path_of
from iac_accessibility.model import (
    ActionFailed,
    AppNotResponding,
    Detail,
    Frame,
    Handle,
    ScreenWindow,
    UiApp,
    UiFault,
    UiNode,
)
from iac_accessibility.paths import takes_typing
from iac_base.errors import quote_text

STEP: Final = 0.02
TAKE: Final = 1.5
"""Seconds that a window or an element may take until it has the keyboard."""

SHOWN: Final = 1.5
"""Seconds until what was typed or put in has to stand there."""

STATE_SECONDS: Final = 0.5


def require_input_devices(session: UiSession) -> InputDevices:
    """Return keys, pointer and windows.

    Raises:
        UiError: There are none here; it says why in one line.
    """
    try:
        return session.bridge.input_devices
    except AppNotResponding as fault:
        raise UiError(
            "UNAVAILABLE",
            f"Keys and clicks do not work on this machine: {fault}.",
            "Use perform_action, set_value or click_menu.",
            reason="no_interface",
        ) from None


@dataclass(frozen=True, slots=True)
class FocusProof:
    """That the keyboard is where it is meant to be; calling it raises where it is not.

    Attributes:
        window: The window system's number of the window.
        handle: The element; None where only the window counts.
    """

    session: UiSession
    app: UiApp
    window: int
    handle: Handle = None

    def __call__(self) -> None:
        """Raise a `UiError` where another window or element has the keyboard."""
        hands = require_input_devices(self.session)
        front = hands.front_window()
        if front is None or front.number != self.window or front.pid != self.app.pid:
            now = f"{quote_text(front.title, 60)} has" if front else "no window has"
            raise focus_lost(f"{now} the keyboard now, not {self.app.name}")
        try:
            hands.check_grab(self.app.pid)
        except ActionFailed as fault:
            raise focus_lost(str(fault)) from None
        hands.check_modifiers()
        if self.handle is None:
            return
        if not self.session.bridge.has_focus(self.handle, STATE_SECONDS):
            raise focus_lost("another element now has the keyboard focus")

    def after_move(self) -> "FocusProof":
        """Return the proof after a key that goes from one part of a list to the next."""
        if self.handle is None:
            return self
        bridge = self.session.bridge
        with suppress(UiFault, UiError):
            now = bridge.focused_element(self.app, STATE_SECONDS)
            both = (now, self.handle)
            ways = [path_of(bridge, self.app, one, seconds=STATE_SECONDS).way for one in both]
            if min(map(len, ways)) > 1 and ways[0][-2].handle == ways[1][-2].handle:
                return replace(self, handle=now)
        return self


_MOVES: Final = frozenset(("up", "down", "left", "right", "home", "end", "page_up", "page_down"))


def focus_lost(why: str) -> UiError:
    """Return the error of keys that would have gone elsewhere."""
    return UiError(
        "REFUSED",
        f"Nothing more was typed: {why}.",
        "Check the focus (get_focused_element), then start again.",
        reason="focus_lost",
    )


def is_screen_window(node: UiNode) -> bool:
    """Say whether an element is a window of which only the window system knows."""
    return isinstance(node.handle, tuple) and node.handle[0] == "screen"


def screen_window(session: UiSession, app: UiApp, window: UiNode | None) -> ScreenWindow:
    """Return the window of the screen that an app's window is; the one in front for None.

    What opens above a window (a menu) is none of the manager's; it belongs to the one in front.

    Raises:
        UiError: The app has none there, or several are alike.
    """
    hands = require_input_devices(session)
    own = [one for one in hands.list_windows() if one.pid == app.pid]
    front = hands.front_window()
    if front is not None and front.pid == app.pid and front not in own:
        own.append(front)
    if not own:
        raise UiError(
            "NOT_SUPPORTED",
            f"{app.name} has no window on this screen that accepts keys.",
            "Use perform_action or set_value.",
            reason="no_window",
        )
    if window is None:
        return front if front is not None and front in own else own[-1]
    alike = _windows_like(session, app, window, own, front)
    if len(alike) == 1:
        return alike[0]
    if not alike and front is not None and front in own:
        return front
    raise UiError(
        "NOT_SUPPORTED",
        f"{app.name} has several windows that may be {quote_text(window.title, 60)}.",
        "Close or rename the others, or bring this window to the front.",
        reason="no_window",
    )


def _windows_like(
    session: UiSession,
    app: UiApp,
    window: UiNode,
    own: list[ScreenWindow],
    front: ScreenWindow | None,
) -> list[ScreenWindow]:
    """Return the windows that an app's window may be: by its title, its place, its keyboard."""
    if is_screen_window(window):
        return [one for one in own if ("screen", one.number) == window.handle]
    if len(own) == 1:
        return own
    titled = [one for one in own if one.title == window.title]
    if len(titled) == 1:
        return titled
    reader = session.bridge.open_reader(app, whole=False, timeout=STATE_SECONDS)
    now = read_one(reader, window.handle, Detail.FRAME, STATE_SECONDS)
    placed = [one for one in titled or own if now.frame and _near(now.frame, one)]
    if len(placed) == 1:
        return placed
    # GTK 4 does not say where its windows are, but which of them has the keyboard.
    active = "active" in now.states
    number = front.number if front else None
    return [one for one in placed or titled if (one.number == number) == active]


def _near(frame: Frame, window: ScreenWindow) -> bool:
    """Say whether a window is at a place, but for what is around its content."""
    pairs = zip(frame, window.frame, strict=True)
    return all(abs(told - held) <= _EDGE for told, held in pairs)


_EDGE: Final = 60
"""Pixels that a title bar or a shadow takes at most."""


def bring_window(
    session: UiSession, app: UiApp, window: UiNode | None, seconds: float
) -> FocusProof:
    """Bring a window to the front; return the proof that it has the keyboard.

    Raises:
        UiError: It does not take it.
    """
    hands = require_input_devices(session)
    wanted = screen_window(session, app, window)
    proof = FocusProof(session, app, wanted.number)
    ask_until(proof, lambda: hands.raise_window(wanted.number), min(seconds, TAKE))
    return proof


def ask_until(proof: FocusProof, ask: Callable[[], None], seconds: float) -> None:
    """Ask for what a proof is of, once, and wait for it; what it raises in the end is raised."""
    end = time.monotonic() + seconds
    asked = False
    while True:
        try:
            proof()
        except UiError:
            if time.monotonic() > end:
                raise
            if not asked:
                # A fault is none of the act, which an element that ends may end with.
                with suppress(UiFault):
                    ask()
                asked = True
            time.sleep(STEP)
        else:
            return


UNREAD: Final = (
    "What was typed cannot be read back here. IAC checked only that no other program held the"
    " keyboard."
)


def is_readable(node: UiNode) -> bool:
    """Say whether what is typed into an element shows in its text."""
    return takes_typing(node.role, node.states) and "secure" not in node.states


def wait_for_change(read: Callable[[], object], before: object) -> None:
    """Wait until what is read is another than before: until what was typed first is there.

    Raises:
        UiError: It stays as it is, so that keys go elsewhere.
    """
    end = time.monotonic() + SHOWN
    while read() == before:
        if time.monotonic() > end:
            raise focus_lost("the first character does not show in the element")
        time.sleep(STEP)


def press_strokes(
    hands: InputDevices, proof: FocusProof, strokes: list[Stroke], *, read: bool = False
) -> int:
    """Press combinations one after the other; return how many were given before it had to end.

    Args:
        read: Whether the first character has to show before anything is given after it.
    """
    text = partial(proof.session.bridge.full_text, proof.handle, STATE_SECONDS)
    for number, stroke in enumerate(strokes):
        first = read and stroke.is_character and number + 1 < len(strokes)
        read = read and not first
        before = text() if first else None
        try:
            proof()
        except UiError as error:
            raise _after(error, strokes[:number]) from None
        hands.press_stroke(stroke)
        if first and before is not None:
            try:
                wait_for_change(text, before)
            except UiError as error:
                raise _after(error, strokes[: number + 1]) from None
        time.sleep(STEP)
        if stroke.key in _MOVES and number + 1 < len(strokes):
            proof = proof.after_move()
    return len(strokes)


def _after(error: UiError, given: list[Stroke]) -> UiError:
    """Return an error that says which combinations were given before it."""
    if given:
        names = ", ".join(one.text for one in given)
        error.message = f"{names} was given; then {error.message[0].lower()}{error.message[1:]}"
    return error
