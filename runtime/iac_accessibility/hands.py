"""Keys, text and pointer given to one app, with the focus proven before every event.

Keys go wherever the keyboard is: so before each the window system says whose window has it, and
the app says which element; where either has changed, nothing more is given. Text goes in by the
toolkit's own interface first, is pasted second and typed key by key last; what does not stand
there exactly is taken back.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from iac_accessibility.apps import UiSession
from iac_accessibility.bridge import Hands, read_one
from iac_accessibility.errors import UiError
from iac_accessibility.identity import ElementFound
from iac_accessibility.keys import Stroke, parse_stroke
from iac_accessibility.locate import path_of
from iac_accessibility.model import (
    ActionFailed,
    Frame,
    Handle,
    ScreenWindow,
    Silent,
    UiApp,
    UiFault,
    UiNode,
    Want,
)
from iac_accessibility.paths import TEXT_ROLES
from iac_base.errors import quoted

_STEP: Final = 0.02
_TAKE: Final = 1.5
"""Seconds that a window or an element may take until it has the keyboard."""

_SHOWN: Final = 1.5
"""Seconds until a text that was put in has to stand there."""

_STATE_SECONDS: Final = 0.5
_HIDDEN: Final = "The text is hidden, so it was not read back."
_DELETE: Final = parse_stroke("delete")


def hands_of(session: UiSession) -> Hands:
    """Return keys, pointer and windows.

    Raises:
        UiError: There are none here; it says why in one line.
    """
    try:
        return session.bridge.hands
    except Silent as fault:
        raise UiError(
            "UNAVAILABLE",
            f"Keys and clicks do not work on this machine: {fault}.",
            "Use perform_action, set_value or click_menu.",
            reason="no_interface",
        ) from None


@dataclass(frozen=True, slots=True)
class Proof:
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
        hands = hands_of(self.session)
        front = hands.front()
        if front is None or front.number != self.window or front.pid != self.app.pid:
            now = f"{quoted(front.title, 60)} has" if front else "no window has"
            raise _lost(f"{now} the keyboard now, not {self.app.name}")
        hands.check_modifiers()
        if self.handle is None:
            return
        if not self.session.bridge.has_focus(self.handle, _STATE_SECONDS):
            raise _lost("another element now has the keyboard focus")

    def moved(self) -> "Proof":
        """Return the proof after a key that goes from one part of a list to the next."""
        if self.handle is None:
            return self
        bridge = self.session.bridge
        with suppress(UiFault, UiError):
            now = bridge.focused(self.app, _STATE_SECONDS)
            both = (now, self.handle)
            ways = [path_of(bridge, self.app, one, seconds=_STATE_SECONDS).way for one in both]
            if min(map(len, ways)) > 1 and ways[0][-2].handle == ways[1][-2].handle:
                return replace(self, handle=now)
        return self


_MOVES: Final = frozenset(("up", "down", "left", "right", "home", "end", "page_up", "page_down"))


def _lost(why: str) -> UiError:
    return UiError(
        "REFUSED",
        f"Nothing more was typed: {why}.",
        "Check the focus (get_focused_element), then start again.",
        reason="focus_lost",
    )


def screen_window(session: UiSession, app: UiApp, window: UiNode | None) -> ScreenWindow:
    """Return the window of the screen that an app's window is.

    Raises:
        UiError: The app has none there.
    """
    hands = hands_of(session)
    own = [one for one in hands.windows() if one.pid == app.pid]
    front = hands.front()
    if front is not None and front.pid == app.pid and front not in own:
        own.append(front)
    if window is not None and len(own) > 1:
        own = [one for one in own if one.title == window.title] or own
    if front is not None and front in own:
        return front
    if not own:
        raise UiError(
            "NOT_SUPPORTED",
            f"{app.name} has no window on this screen that accepts keys.",
            "Use perform_action or set_value.",
            reason="no_window",
        )
    return own[-1]


def bring(
    session: UiSession, app: UiApp, window: UiNode | None, node: UiNode | None, seconds: float
) -> Proof:
    """Bring a window to the front and give an element the keyboard; return the proof of it.

    A text that does not take the keyboard when it is asked to (GTK 4) is clicked.

    Raises:
        UiError: One of them does not take it.
    """
    hands = hands_of(session)
    wanted = screen_window(session, app, window)
    proof = Proof(session, app, wanted.number)
    _until(proof, lambda: hands.raise_window(wanted.number), min(seconds, _TAKE))
    if node is None:
        return proof
    proof = Proof(session, app, wanted.number, node.handle)

    def grab() -> None:
        try:
            session.bridge.grab_focus(node.handle, _STATE_SECONDS)
        except UiFault:
            if node.role in TEXT_ROLES and window is not None:
                hands.point(*point_in(session, app, window, node, None))
                hands.click("left")

    _until(proof, grab, min(seconds, _TAKE))
    return proof


def _until(proof: Proof, ask: Callable[[], None], seconds: float) -> None:
    end = time.monotonic() + seconds
    asked = False
    while True:
        try:
            proof()
        except UiError:
            if time.monotonic() > end:
                raise
            if not asked:
                ask()
                asked = True
            time.sleep(_STEP)
        else:
            return


def give_strokes(hands: Hands, proof: Proof, strokes: list[Stroke]) -> int:
    """Press combinations one after the other; return how many were given before it had to end."""
    for number, stroke in enumerate(strokes):
        try:
            proof()
        except UiError as error:
            if number == 0:
                raise
            given = ", ".join(one.text for one in strokes[:number])
            error.message = f"{given} was given; then {error.message[0].lower()}{error.message[1:]}"
            raise
        hands.stroke(stroke)
        time.sleep(_STEP)
        if stroke.key in _MOVES and number + 1 < len(strokes):
            proof = proof.moved()
    return len(strokes)


@dataclass(frozen=True, slots=True)
class TextGiven:
    """A text that is to stand in an element: `whole` in place of all, else behind what is there."""

    app: UiApp
    window: UiNode
    node: UiNode
    text: str
    whole: bool

    def wanted(self, before: str) -> str:
        """Return what the element is to hold."""
        return self.text if self.whole else before + self.text


def put_text(session: UiSession, given: TextGiven, seconds: float) -> Mapping[str, Any]:
    """Put a text in; return `method` and `notes`.

    Raises:
        UiError: It did not stand there exactly, and was taken back (or not, which is said).
    """
    bridge, handle = session.bridge, given.node.handle
    before = bridge.full_text(handle, seconds)
    end = time.monotonic() + seconds
    tried: list[str] = []
    if bridge.settable(handle, seconds).kind == "text":
        try:
            if given.whole:
                bridge.set_value(handle, given.text, seconds)
            else:
                bridge.insert_text(handle, given.text, seconds)
        except (ActionFailed, UiFault) as fault:
            tried.append(f"its text interface: {fault}")
        else:
            if before is None:
                return {"method": "value", "notes": [_HIDDEN]}
            if _stands(session, handle, given.wanted(before)):
                return {"method": "value"}
            tried.append("its text interface")
            with suppress(UiFault):
                bridge.set_value(handle, before, seconds)
    hands = hands_of(session)
    proof = bring(session, given.app, given.window, given.node, seconds)
    for name in ("paste", "keys"):
        try:
            _enter(hands, proof, session, handle, given.text, name, whole=given.whole)
        except ActionFailed as fault:
            tried.append(f"{name}: {fault}")
            continue
        if before is None:
            return {"method": name, "notes": [_HIDDEN]}
        if _stands(session, handle, given.wanted(before)):
            return {"method": name}
        tried.append(name)
        now = bridge.full_text(handle, seconds)
        if now != before:
            with suppress(ActionFailed):
                _enter(hands, proof, session, handle, before, "paste", whole=True)
            if not _stands(session, handle, before):
                break
        if time.monotonic() > end:
            break
    now = bridge.full_text(handle, _STATE_SECONDS)
    back = (
        "was set back to its old text"
        if now == before
        else f"could not be set back; its text is now {quoted(now or '', 80)}"
    )
    raise UiError(
        "EXECUTION_ERROR",
        f"The element did not accept the exact text, and it {back}.",
        f"Tried: {', '.join(tried)}. The element may forbid some characters, or change its text.",
        reason="not_exact",
    )


def put_number(
    session: UiSession, app: UiApp, found: ElementFound, value: float, seconds: float
) -> Mapping[str, Any] | None:
    """Set a number; where that does nothing (a date in Chromium), type it."""
    bridge, handle = session.bridge, found.node.handle
    reader = bridge.reader(app, whole=False, timeout=seconds)

    def stands(end: float) -> bool:
        while read_one(reader, handle, Want.VALUE, seconds).value != value:
            if time.monotonic() > end:
                return False
            time.sleep(_STEP)
        return True

    bridge.set_value(handle, value, seconds)
    if stands(time.monotonic() + _SHOWN) or "focusable" not in found.node.states:
        return None
    proof = bring(session, app, found.window, found.node, seconds)
    hands_of(session).write(f"{value:.15g}", proof)
    stands(time.monotonic() + _SHOWN)
    return {"method": "keys"}


def _enter(
    hands: Hands,
    proof: Proof,
    session: UiSession,
    handle: Handle,
    text: str,
    how: str,
    *,
    whole: bool,
) -> None:
    """Paste or type, over what is there or behind it."""
    proof()
    if whole:
        done = False
        with suppress(UiFault):
            done = session.bridge.select_all(handle, _STATE_SECONDS)
        if not done:
            hands.stroke(session.bridge.select_all_keys)
    else:
        hands.stroke(session.bridge.text_end_keys)
    time.sleep(_STEP)
    proof()
    if not text:
        hands.stroke(_DELETE)
    elif how == "paste":
        hands.paste(text)
    else:
        hands.write(text, proof)


def _stands(session: UiSession, handle: Handle, text: str) -> bool:
    end = time.monotonic() + _SHOWN
    while True:
        now = session.bridge.full_text(handle, _STATE_SECONDS)
        if now == text:
            return True
        if time.monotonic() > end:
            return False
        time.sleep(_STEP)


def point_in(
    session: UiSession, app: UiApp, window: UiNode, node: UiNode, offset: Mapping[str, float] | None
) -> tuple[float, float]:
    """Return a point of the screen in an element: its middle, or so far from its top left corner.

    Raises:
        UiError: The element is not in sight, the point is not in it, or another window covers it.
    """
    bridge, hands = session.bridge, hands_of(session)
    with suppress(UiFault):
        bridge.scroll_to(node.handle, _STATE_SECONDS)
    on_screen = screen_window(session, app, window)
    bring(session, app, window, None, _TAKE)
    reader = bridge.reader(app, whole=False, timeout=_STATE_SECONDS)
    frame = read_one(reader, node.handle, Want.FRAME, _STATE_SECONDS).frame
    around = read_one(reader, window.handle, Want.FRAME, _STATE_SECONDS).frame
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
