"""Keys, pointer and texts given to one app, with the focus proven before every one.

Keys go wherever the keyboard is: so before each the window system says whose window has it, and
the app says which element; where either has changed, nothing more is given. Before a click the
window system and the app say what lies under the pointer. A text goes in by the toolkit's own
interface first, is pasted second and typed key by key last; what does not stand there exactly is
taken back.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from iac_accessibility.bridge import InputDevices, Stroke, parse_stroke, wait_until
from iac_accessibility.element_identity import ElementFound
from iac_accessibility.errors import LOOK_AGAIN, UiError
from iac_accessibility.locate import path_of
from iac_accessibility.model import (
    MENU_ROLES,
    TEXT_ROLES,
    ActionFailed,
    AppNotResponding,
    Detail,
    Frame,
    Handle,
    Scalar,
    ScreenWindow,
    UiApp,
    UiFault,
    UiNode,
    takes_typing,
)
from iac_accessibility.outline import is_active
from iac_accessibility.risk import holds_secret, return_does
from iac_accessibility.session import UiSession
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
        message = f"Keys and clicks do not work on this machine: {fault}."
        guidance = "Use perform_action, set_value or click_menu."
        raise UiError("UNAVAILABLE", message, guidance, reason="no_interface") from None


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
    guidance = "Check the focus (get_focused_element), then start again."
    return UiError("REFUSED", f"Nothing more was typed: {why}.", guidance, reason="focus_lost")


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
        message = f"{app.name} has no window on this screen that accepts keys."
        guidance = "Use perform_action or set_value."
        raise UiError("NOT_SUPPORTED", message, guidance, reason="no_window")
    if window is None:
        return front if front is not None and front in own else own[-1]
    alike = _windows_like(session, app, window, own, front)
    if len(alike) == 1:
        return alike[0]
    if not alike and front is not None and front in own:
        return front
    message = f"{app.name} has several windows that may be {quote_text(window.title, 60)}."
    guidance = "Close or rename the others, or bring this window to the front."
    rows = [{"number": one.number, "title": one.title, **one.frame._asdict()} for one in alike]
    more = {"candidates": rows}
    raise UiError("NOT_SUPPORTED", message, guidance, reason="no_window", more=more)


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
    now = session.read_node(app, window.handle, Detail.FRAME, STATE_SECONDS)
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
    return all(abs(told - other) <= _EDGE for told, other in pairs)


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
    if not wait_until(lambda: read() != before, SHOWN):
        raise focus_lost("the first character does not show in the element")


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
        hit = bridge.element_at(self.found.window.handle, *place, STATE_SECONDS)
        if hit == node.handle:
            return
        way = [] if hit is None else bridge.ancestor_handles(self.app, hit, STATE_SECONDS)
        # A browser has nothing smaller than the whole of a control.
        whole = next((one for one in self.found.way if one.handle == hit), None)
        if node.handle not in way and not (whole is not None and is_active(whole)):
            raise moved_error()

    def _is_own(self, top: ScreenWindow) -> bool:
        """Say whether a window is that of the element: its window, or the menu that it is in."""
        hands = require_input_devices(self.session)
        if top.number == self.window:
            return True
        if any(one.number == top.number for one in hands.list_windows()):
            return False
        way = [one.handle for one in self.found.way]
        around = self.session.read_nodes(self.app, way, Detail.FRAME, STATE_SECONDS)
        return any(isinstance(one, UiNode) and _fills(one.frame, top.frame) for one in around)


def _fills(frame: Frame | None, window: Frame) -> bool:
    """Say whether an element takes up nearly all of a window."""
    if frame is None or not window.holds(frame.x, frame.y):
        return False
    return _MOST * window.width <= frame.width <= window.width and (
        _MOST * window.height <= frame.height <= window.height
    )


_MOST: Final = 0.8


def moved_error() -> UiError:
    """Return the error of a click that would reach something else."""
    message = "Another element is now at that point. Nothing was done."
    return UiError("NOT_FOUND", message, LOOK_AGAIN, reason="stale")


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


_ASKS_MORE: Final = ("…", "...")
_PICKED: Final = frozenset(("cell", "row", "list_item", "tree_item"))
"""What a click picks, and its own action may open."""


def press_element(
    session: UiSession, app: UiApp, element: ElementFound, action: str, seconds: float
) -> Mapping[str, Any] | None:
    """Press an element: by its own action, but by the pointer where that may open a dialog.

    An app may not answer before the dialog is closed.
    """
    node = element.node
    asks = node.title.rstrip().endswith(_ASKS_MORE)
    late = (app.pid, node.handle) in session.opened_dialogs or (
        asks and session.bridge.answers_late(app, STATE_SECONDS)
    )
    if asks or late or node.role in _PICKED:
        with suppress(UiError, UiFault):
            if late and node.role in MENU_ROLES:
                _click_through_menus(session, app, element)
            else:
                click_at(aim_at(session, app, element))
            return {"method": "pointer"}
    session.bridge.perform_action(node.handle, action, seconds)
    return None


def _click_through_menus(session: UiSession, app: UiApp, item: ElementFound) -> None:
    """Open the menus on the way to an item and click it; each has to be marked by the pointer."""
    hands = require_input_devices(session)
    first = next(at for at, one in enumerate(item.way, 1) if one.role in ("menu", "menu_bar_item"))
    click_at(aim_at(session, app, item._replace(way=item.way[:first])))
    try:
        for one in item.way[first:]:
            if not wait_until(partial(_point_at_item, session, app, one.handle), STATE_SECONDS):
                raise moved_error()
            hands.click_button("left")
    except (UiError, UiFault):
        hands.press_stroke(_ESCAPE)
        raise


def _point_at_item(session: UiSession, app: UiApp, handle: Handle) -> bool:
    """Move the pointer to an item of an open menu; say whether it is what a click would reach."""
    hands = require_input_devices(session)
    node = session.read_node(app, handle, Detail.FRAME, STATE_SECONDS)
    if node.frame is None or "showing" not in node.states:
        return False
    x, y = node.frame.x + node.frame.width / 2, node.frame.y + node.frame.height / 2
    top = hands.window_at(x, y)
    if top is None or top.pid != app.pid or "selected" not in node.states:
        hands.move_pointer(x, y)
        return False
    return True


def show_tab(
    session: UiSession, app: UiApp, element: ElementFound, now: UiNode, seconds: float
) -> Mapping[str, Any] | None:
    """Show a tab: as the choice of its group, by its own action, or by the pointer."""
    group = element.way[-2]
    children = session.read_node(app, group.handle, Detail.CHILDREN, seconds).children
    with suppress(UiFault, UiError, ValueError):
        session.bridge.select_child(group.handle, [*children].index(now.handle), seconds)
        if "selected" in session.read_node(app, now.handle, Detail.VALUE, seconds).states:
            return {"method": "action"}
    own = next((name for name in ("press", "toggle") if name in now.actions), "")
    if own:
        session.bridge.perform_action(now.handle, own, seconds)
        return {"method": "action"}
    click_at(aim_at(session, app, element.now(now)))
    return {"method": "pointer"}


def elements_under_point(
    session: UiSession,
    app: UiApp,
    element: ElementFound,
    point: Mapping[str, float] | None,
    seconds: float,
) -> tuple[tuple[Any, str], ...]:
    """Return what is below an element at a point of it (its middle), each with its name."""
    want = Detail.FRAME | Detail.CHILDREN
    node = session.read_node(app, element.node.handle, want, seconds)
    if node.frame is None or not node.children:
        return ()
    x = node.frame.x + (float(point["x"]) if point else node.frame.width / 2)
    y = node.frame.y + (float(point["y"]) if point else node.frame.height / 2)
    hit: list[tuple[Any, str]] = []
    for _ in range(_LEVELS):
        below = session.read_nodes(app, node.children[:_BESIDE], want | Detail.DESCRIPTION, seconds)
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
    session: UiSession, app: UiApp, element: ElementFound, offset: Mapping[str, float] | None = None
) -> Aim:
    """Return a point in an element: its middle, or so far from its top left corner.

    Raises:
        UiError: The element is not in sight, the point is not in it, or another window covers it.
    """
    bridge, window, node = session.bridge, element.window, element.node
    with suppress(UiFault):
        bridge.scroll_to(node.handle, STATE_SECONDS)
    on_screen = screen_window(session, app, window)
    bring_window(session, app, window, TAKE)
    frame = session.read_node(app, node.handle, Detail.FRAME, STATE_SECONDS).frame
    around = session.read_node(app, window.handle, Detail.FRAME, STATE_SECONDS).frame
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
    aim = Aim(session, app, element, on_screen.number, x, y, (left, top))
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


_HIDDEN: Final = "The text is hidden, so it was not read back."
_DELETE: Final = parse_stroke("delete")
_ESCAPE: Final = parse_stroke("escape")


def focus_element(
    session: UiSession, app: UiApp, element: ElementFound, seconds: float
) -> FocusProof:
    """Bring a window to the front and give an element the keyboard; return the proof of it.

    A text that does not take the keyboard when it is asked to (GTK 4) is clicked.

    Raises:
        UiError: One of them does not take it.
    """
    node = element.node
    proof = replace(bring_window(session, app, element.window, seconds), handle=node.handle)

    def grab_focus() -> None:
        try:
            session.bridge.grab_focus(node.handle, STATE_SECONDS)
        except UiFault:
            if node.role in TEXT_ROLES:
                click_at(aim_at(session, app, element))

    ask_until(proof, grab_focus, min(seconds, TAKE))
    return proof


@dataclass(frozen=True, slots=True)
class TextEntry:
    """A text that is to stand in an element: `whole` in place of all, else behind what is there."""

    app: UiApp
    found: ElementFound
    text: str
    whole: bool

    def expected_text(self, before: str) -> str:
        """Return what the element is to hold."""
        return self.text if self.whole else before + self.text


def put_text(session: UiSession, given: TextEntry, seconds: float) -> Mapping[str, Any]:
    """Put a text in; return `method` and `notes`.

    Raises:
        UiError: It did not stand there exactly, and was taken back (or not, which is said).
    """
    bridge, handle = session.bridge, given.found.node.handle
    # What a terminal shows is not what was typed into it.
    is_terminal = given.found.node.role == "terminal"
    before = None if is_terminal else bridge.full_text(handle, seconds)
    end = time.monotonic() + seconds
    tried: list[str] = []
    if bridge.accepted_value(handle, seconds).kind == "text":
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
            if _holds_text(session, handle, given.expected_text(before)):
                return {"method": "value"}
            tried.append("its text interface")
            with suppress(UiFault):
                bridge.set_value(handle, before, seconds)
    hands = require_input_devices(session)
    proof = focus_element(session, given.app, given.found, seconds)
    for name in ("paste", "keys"):
        if name == "keys" and "\n" in given.text and (does := return_does(given.found.way)):
            tried.append(f"keys: a line break there is Return, which {does}")
            continue
        try:
            _enter_text(hands, proof, given.text, name, before, whole=given.whole)
        except ActionFailed as fault:
            tried.append(f"{name}: {fault}")
            continue
        if before is None:
            return {"method": name, "notes": [UNREAD]}
        if _holds_text(session, handle, given.expected_text(before)):
            return {"method": name}
        tried.append(name)
        now = bridge.full_text(handle, seconds)
        if now != before:
            with suppress(ActionFailed):
                _enter_text(hands, proof, before, "paste", now, whole=True)
            if not _holds_text(session, handle, before):
                break
        if time.monotonic() > end:
            break
    now = bridge.full_text(handle, STATE_SECONDS)
    back = (
        "was set back to its old text"
        if now == before
        else "could not be set back"
        if holds_secret(given.found.node)
        else f"could not be set back; its text is now {quote_text(now or '', 80)}"
    )
    raise UiError(
        "EXECUTION_ERROR",
        f"The element did not accept the exact text, and it {back}.",
        f"Tried: {', '.join(tried)}. The element may forbid some characters, or change its text.",
        reason="not_exact",
    )


def put_number(
    session: UiSession, app: UiApp, element: ElementFound, value: float, seconds: float
) -> Mapping[str, Any] | None:
    """Set a number; where that does nothing (a date in Chromium), type it."""
    bridge, handle = session.bridge, element.node.handle

    def value_now() -> Scalar:
        return session.read_node(app, handle, Detail.VALUE, seconds).value

    bridge.set_value(handle, value, seconds)
    if wait_until(lambda: value_now() == value, SHOWN) or "focusable" not in element.node.states:
        return None
    proof = focus_element(session, app, element, seconds)
    hands, text = require_input_devices(session), f"{value:.15g}"
    before = value_now()
    hands.type_text(text[:1], proof)
    if text[:1].isdigit() and before != float(text[:1]):
        wait_for_change(value_now, before)
    hands.type_text(text[1:], proof)
    wait_until(lambda: value_now() == value, SHOWN)
    return {"method": "keys"}


def _enter_text(
    hands: InputDevices, proof: FocusProof, text: str, how: str, before: str | None, *, whole: bool
) -> None:
    """Paste or type, over what is there or behind it.

    Of what is typed the first character has to show before the second is sent.
    """
    bridge, handle = proof.session.bridge, proof.handle
    read = partial(bridge.full_text, handle, STATE_SECONDS)
    proof()
    if whole:
        done = False
        with suppress(UiFault):
            done = bridge.select_all(handle, STATE_SECONDS)
        if not done:
            hands.press_stroke(bridge.select_all_keys)
    else:
        hands.press_stroke(bridge.text_end_keys)
    time.sleep(STEP)
    proof()
    if how == "paste" and text:
        hands.paste_text(text)
        return
    if not text or (whole and before == text[:1]):
        hands.press_stroke(_DELETE)
        before = before and ""
    hands.type_text(text[:1], proof)
    if before is not None and text[1:]:
        wait_for_change(read, before)
    hands.type_text(text[1:], proof)


def _holds_text(session: UiSession, handle: Handle, text: str) -> bool:
    return wait_until(lambda: session.bridge.full_text(handle, STATE_SECONDS) == text, SHOWN)
