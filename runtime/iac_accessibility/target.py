"""An element that an act goes to, and the ways to reach it: its own means, keys, pointer, text.

Keys go wherever the keyboard is: so before each the window system says whose window has it, and
the app says which element; where either has changed, nothing more is given. Before a click the
window system and the app say what lies under the pointer. A text goes in by the toolkit's own
interface first, is pasted second and typed key by key last; what does not stand there exactly is
taken back.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, NamedTuple

from iac_accessibility.arguments import ScreenPoint, UiCall
from iac_accessibility.bridge import Bridge, InputDevices, Stroke, parse_stroke, wait_until
from iac_accessibility.element_identity import ElementFound
from iac_accessibility.errors import LOOK_AGAIN, UiError
from iac_accessibility.locate import path_of
from iac_accessibility.model import (
    MENU_ROLES,
    SCREEN,
    TEXT_ROLES,
    ActionFailed,
    AppNotResponding,
    Detail,
    Frame,
    Handle,
    PathStep,
    Scalar,
    ScreenWindow,
    UiApp,
    UiFault,
    UiNode,
    is_screen,
    takes_typing,
    window_node,
)
from iac_accessibility.outline import is_active
from iac_accessibility.risk import holds_secret, return_does
from iac_accessibility.session import UiSession
from iac_base.errors import quote_text
from iac_base.text import escape_hidden

STEP: Final = 0.02
_HOLD: Final = 0.03
_LOOK: Final = 0.5
"""Seconds that a single look at an element may take."""

_TAKE: Final = 1.5
"""Seconds that a window or an element may take until it has the keyboard."""

_SHOWN: Final = 1.5
"""Seconds until what was typed or put in has to stand there."""

_FAR: Final = 30_000
"""Farther out no screen reaches; toolkits put there what they do not show."""

_LEVELS: Final = 40
_BESIDE: Final = 500
_EDGE: Final = 60
"""Pixels that a title bar or a shadow takes at most."""

_MOST: Final = 0.8
_ASKS_MORE: Final = ("…", "...")
_PICKED: Final = frozenset(("cell", "row", "list_item", "tree_item"))
"""What a click picks, and its own action may open."""

_MOVES: Final = frozenset(("up", "down", "left", "right", "home", "end", "page_up", "page_down"))
_DELETE: Final = parse_stroke("delete")
ESCAPE: Final = parse_stroke("escape")
_HIDDEN: Final = "The text is hidden, so it was not read back."
UNREAD: Final = (
    "What was typed cannot be read back here. IAC checked only that no other program held the"
    " keyboard."
)


class Focus(NamedTuple):
    """Where the keyboard is to be: a window by its number, and an element; None where any is."""

    window: int
    handle: Handle = None


class Aim(NamedTuple):
    """A point of the screen that is in an element.

    Attributes:
        window: The window system's number of its window.
        x, y: The point on the screen.
        shift: What the frames of the window's elements are short of, to be on the screen.
    """

    window: int
    x: float
    y: float
    shift: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Target:
    """An element as it is now, in its app; every act reaches it through here.

    Attributes:
        seconds: What a single act may take.
    """

    session: UiSession
    app: UiApp
    found: ElementFound
    seconds: float

    @property
    def node(self) -> UiNode:
        """The element."""
        return self.found.node

    @property
    def bridge(self) -> Bridge:
        """The platform."""
        return self.session.bridge

    @property
    def devices(self) -> InputDevices:
        """Keys, pointer and windows, as `open_devices`."""
        return open_devices(self.session)

    @property
    def name(self) -> str:
        """It in words: its role and title, its window, its app."""
        node, found = self.node, self.found
        name = f" {quote_text(node.title, 60)}" if node.title else f" at {found.path[-80:]}"
        place = f"window {quote_text(found.window.title, 60)} of " if len(found.way) > 1 else ""
        texts = " ".join(found.row.texts) if found.row else ""
        row = f"the row {quote_text(texts, 80)}, " if texts else ""
        role = node.role.replace("_", " ")
        return escape_hidden(f"{role}{name} in {row}{place}{describe_app(self.app)}")

    @property
    def asks(self) -> bool:
        """Whether its title says that a dialog follows."""
        return self.node.title.rstrip().endswith(_ASKS_MORE)

    def read(self, handle: Handle, want: Detail = Detail.FRAME) -> UiNode:
        """Return an element of the app as it is now; its fault is raised."""
        return self.session.read_node(self.app, handle, want, _LOOK)

    def own_action(self, *names: str) -> str:
        """Return the first of these actions that the element has; empty if none."""
        return next((name for name in names if name in self.node.actions), "")

    def perform(self, action: str) -> None:
        """Carry out one of the element's own actions."""
        self.bridge.perform_action(self.node.handle, action, self.seconds)

    def screen_window(self) -> ScreenWindow:
        """Return the window of the screen that the element's window is.

        Raises:
            UiError: The app has none there, or several are alike.
        """
        own, front = own_windows(self.session, self.app)
        window = self.found.window
        if is_screen(window.handle):
            alike = [one for one in own if (SCREEN, one.number) == window.handle]
        else:
            alike = self._windows_like(own, front)
            if not alike and front is not None:
                return front
        if len(alike) == 1:
            return alike[0]
        rows = [{"number": one.number, "title": one.title, **one.frame._asdict()} for one in alike]
        raise UiError(
            "NOT_SUPPORTED",
            f"{self.app.name} has several windows that may be {quote_text(window.title, 60)}.",
            "Close or rename the others, or bring this window to the front.",
            reason="no_window",
            more={"candidates": rows},
        )

    def _windows_like(
        self, own: list[ScreenWindow], front: ScreenWindow | None
    ) -> list[ScreenWindow]:
        """Return what the element's window may be: by its title, its place, its keyboard."""
        titled = [one for one in own if len(own) == 1 or one.title == self.found.window.title]
        if len(titled) == 1:
            return titled
        now = self.read(self.found.window.handle)
        placed = [
            one
            for one in titled or own
            if now.frame
            and all(abs(a - b) <= _EDGE for a, b in zip(now.frame, one.frame, strict=True))
        ]
        if len(placed) == 1:
            return placed
        # GTK 4 does not say where its windows are, but which of them has the keyboard.
        number = front.number if front else None
        active = "active" in now.states
        return [one for one in placed or titled if (one.number == number) == active]

    def bring_window(self) -> ScreenWindow:
        """Bring the element's window to the front, until it has the keyboard.

        Raises:
            UiError: It does not take it.
        """
        wanted = self.screen_window()
        number = wanted.number
        self._ask_for_keyboard(Focus(number), lambda: self.devices.raise_window(number))
        return wanted

    def take_keyboard(self) -> Focus:
        """Bring its window to the front and give the element the keyboard.

        A text that does not take the keyboard when it is asked to (GTK 4) is clicked.

        Raises:
            UiError: One of them does not take it.
        """
        number = self.bring_window().number
        if is_screen(self.node.handle):
            return Focus(number)
        focus = Focus(number, self.node.handle)

        def grab_focus() -> None:
            try:
                self.bridge.grab_focus(self.node.handle, _LOOK)
            except UiFault:
                if self.node.role in TEXT_ROLES:
                    self.click()

        self._ask_for_keyboard(focus, grab_focus)
        return focus

    def _ask_for_keyboard(self, focus: Focus, ask: Callable[[], None]) -> None:
        """Ask for the keyboard once, and wait for it; what `check_keyboard` raises is raised."""
        end = time.monotonic() + _TAKE
        asked = False
        while True:
            try:
                return self.check_keyboard(focus)
            except UiError:
                if time.monotonic() > end:
                    raise
            if not asked:
                # A fault is none of the act, which an element that ends may end with.
                with suppress(UiFault):
                    ask()
                asked = True
            time.sleep(STEP)

    def check_keyboard(self, focus: Focus) -> None:
        """Raise a `UiError` where another window, element or program has the keyboard."""
        front = self.devices.front_window()
        if front is None or (front.number, front.pid) != (focus.window, self.app.pid):
            now = f"{quote_text(front.title, 60)} has" if front else "no window has"
            raise _focus_lost(f"{now} the keyboard now, not {self.app.name}")
        try:
            self.devices.check_grab(self.app.pid)
        except ActionFailed as fault:
            raise _focus_lost(str(fault)) from None
        self.devices.check_modifiers()
        if focus.handle is not None and not self.bridge.has_focus(focus.handle, _LOOK):
            raise _focus_lost("another element now has the keyboard focus")

    def press_strokes(self, strokes: Sequence[Stroke], focus: Focus, *, read: bool = False) -> int:
        """Press combinations one after the other; return how many were given.

        Args:
            read: Whether the first character has to show before anything is given after it.
        """
        for number, stroke in enumerate(strokes):
            first = read and stroke.is_character and number + 1 < len(strokes)
            read = read and not first
            text = partial(self.bridge.full_text, focus.handle, _LOOK)
            before = text() if first else None
            given = strokes[:number]
            try:
                self.check_keyboard(focus)
                self.devices.press_stroke(stroke)
                given = strokes[: number + 1]
                if before is not None:
                    _wait_for_change(text, before)
            except UiError as error:
                if given:
                    names = ", ".join(one.text for one in given)
                    rest = f"{error.message[0].lower()}{error.message[1:]}"
                    error.message = f"{names} was given; then {rest}"
                raise
            time.sleep(STEP)
            if stroke.key in _MOVES and focus.handle is not None and number + 1 < len(strokes):
                focus = self._after_move(focus)
        return len(strokes)

    def _after_move(self, focus: Focus) -> Focus:
        """Return where the keyboard is after a key that goes from one part of a list to another."""
        with suppress(UiFault, UiError):
            now = self.bridge.focused_element(self.app, _LOOK)
            ways = [
                path_of(self.bridge, self.app, one, seconds=_LOOK).way
                for one in (now, focus.handle)
            ]
            if min(map(len, ways)) > 1 and ways[0][-2].handle == ways[1][-2].handle:
                return focus._replace(handle=now)
        return focus

    def aim(self, offset: ScreenPoint | None = None) -> Aim:
        """Return a point in the element: its middle, or so far from its top left corner.

        Raises:
            UiError: The element is not in sight, the point is not in it, or another window
                covers it.
        """
        with suppress(UiFault):
            self.bridge.scroll_to(self.node.handle, _LOOK)
        window = self.bring_window()
        frame = self.read(self.node.handle).frame
        around = self.read(self.found.window.handle).frame
        if frame is None or frame.width <= 0 or frame.height <= 0:
            raise _not_shown_error("The element is not shown on the screen.")
        x, y = _point_in(frame, offset)
        if not frame.holds(x, y):
            raise _not_shown_error(
                f"The point is outside the element (size {frame.width:g} x {frame.height:g})."
            )
        shift = 0.0, 0.0
        if around is not None and (around.x, around.y) == (0, 0) != window.frame[:2]:
            # Some toolkits (GTK 4) count from their window.
            shift = window.frame.x + window.margin[0], window.frame.y + window.margin[1]
        x, y = x + shift[0], y + shift[1]
        if max(abs(x), abs(y)) > _FAR:
            raise _not_shown_error(
                "The element is not shown: it may be on a tab or a page that is hidden."
            )
        aim = Aim(window.number, x, y, shift)
        self.check_point(aim)
        return aim

    def check_point(self, aim: Aim, *, carrying: bool = False) -> None:
        """Raise a `UiError` where another window or element lies at the point now.

        Args:
            carrying: Whether something is dragged; its picture is a window of its own.
        """
        top = self.devices.window_at(aim.x, aim.y, listed=carrying)
        if top is None or top.pid != self.app.pid or not self._is_own(top, aim):
            raise _not_shown_error(
                "The element is covered by another window, or is scrolled out of sight."
            )
        place = (aim.x - aim.shift[0], aim.y - aim.shift[1])
        hit = self.bridge.element_at(self.found.window.handle, *place, _LOOK)
        if hit == self.node.handle:
            return
        way = [] if hit is None else self.bridge.ancestor_handles(self.app, hit, _LOOK)
        # A browser has nothing smaller than the whole of a control.
        whole = next((one for one in self.found.way if one.handle == hit), None)
        if self.node.handle not in way and not (whole is not None and is_active(whole)):
            raise moved_error()

    def _is_own(self, top: ScreenWindow, aim: Aim) -> bool:
        """Say whether a window is that of the element: its window, or the menu that it is in."""
        if top.number == aim.window:
            return True
        if any(one.number == top.number for one in self.devices.list_windows()):
            return False
        way = [one.handle for one in self.found.way]
        around = self.session.read_nodes(self.app, way, Detail.FRAME, _LOOK)
        return any(isinstance(one, UiNode) and _fills(one.frame, top.frame) for one in around)

    def point_at(self, aim: Aim) -> None:
        """Move the pointer to a point, and prove that the element is still there."""
        self.devices.check_modifiers()
        self.devices.move_pointer(aim.x, aim.y)
        # What shows itself under the pointer takes a moment.
        time.sleep(_HOLD)
        self.check_point(aim)

    def click(
        self, button: str = "left", count: int = 1, aim: Aim | None = None
    ) -> Mapping[str, Any]:
        """Click the element, in its middle or where an aim is."""
        self.point_at(aim or self.aim())
        self.devices.click_button(button, count)
        return {"method": "pointer"}

    def press(self, action: str) -> Mapping[str, Any] | None:
        """Press it: by its own action, but by the pointer where that may open a dialog.

        An app may not answer before the dialog is closed.
        """
        late = (self.app.pid, self.node.handle) in self.session.opened_dialogs or (
            self.asks and self.bridge.answers_late(self.app, _LOOK)
        )
        if self.asks or late or self.node.role in _PICKED:
            with suppress(UiError, UiFault):
                through_menus = late and self.node.role in MENU_ROLES
                return self._click_through_menus() if through_menus else self.click()
        self.perform(action)
        return None

    def _click_through_menus(self) -> Mapping[str, Any]:
        """Open the menus on the way and click it; each has to be marked by the pointer."""
        way = self.found.way
        first = next(at for at, one in enumerate(way, 1) if one.role in ("menu", "menu_bar_item"))
        replace(self, found=self.found._replace(way=way[:first])).click()
        try:
            for one in way[first:]:
                if not wait_until(partial(self._point_at_item, one.handle), _LOOK):
                    raise moved_error()
                self.devices.click_button("left")
        except (UiError, UiFault):
            self.devices.press_stroke(ESCAPE)
            raise
        return {"method": "pointer"}

    def _point_at_item(self, handle: Handle) -> bool:
        """Move the pointer to an item of an open menu; say whether a click would reach it."""
        node = self.read(handle)
        if node.frame is None or "showing" not in node.states:
            return False
        x, y = _point_in(node.frame)
        top = self.devices.window_at(x, y)
        if top is None or top.pid != self.app.pid or "selected" not in node.states:
            self.devices.move_pointer(x, y)
            return False
        return True

    def show_tab(self) -> Mapping[str, Any]:
        """Show a tab: as the choice of its group, by its own action, or by the pointer."""
        group, handle = self.found.way[-2].handle, self.node.handle
        children = self.read(group, Detail.CHILDREN).children
        with suppress(UiFault, UiError, ValueError):
            self.bridge.select_child(group, [*children].index(handle), self.seconds)
            if "selected" in self.read(handle, Detail.VALUE).states:
                return {"method": "action"}
        if own := self.own_action("press", "toggle"):
            self.perform(own)
            return {"method": "action"}
        return self.click()

    def elements_at(self, offset: ScreenPoint | None) -> tuple[tuple[Handle, str], ...]:
        """Return what is below the element at a point of it (its middle), each with its name."""
        want = Detail.FRAME | Detail.CHILDREN
        node = self.read(self.node.handle, want)
        if node.frame is None or not node.children:
            return ()
        point = _point_in(node.frame, offset)
        hit: list[tuple[Handle, str]] = []
        for _ in range(_LEVELS):
            below = self.session.read_nodes(
                self.app, node.children[:_BESIDE], want | Detail.DESCRIPTION, self.seconds
            )
            inside = [one for one in below if isinstance(one, UiNode) and one.covers(*point)]
            if not inside:
                break
            hit += [(one.handle, f"{one.title} {one.description}".strip()) for one in inside]
            # The last of those that overlap is drawn above the others.
            node = inside[-1]
        return tuple(hit)

    def put_text(self, text: str, *, whole: bool) -> Mapping[str, Any]:
        """Put a text in place of all (`whole`) or behind what is there; return how, and notes.

        Raises:
            UiError: It did not stand there exactly, and was taken back (or not, which is said).
        """
        node = self.node
        read = partial(self.bridge.full_text, node.handle, self.seconds)
        # What a terminal shows is not what was typed into it.
        before = None if node.role == "terminal" else read()
        end = time.monotonic() + self.seconds
        tried: list[str] = []
        for how in ("value", "paste", "keys"):
            road = "its text interface" if how == "value" else how
            if how == "value":
                if self.bridge.accepted_value(node.handle, self.seconds).kind != "text":
                    continue
            elif how == "keys" and "\n" in text and (does := return_does(self.found.way)):
                tried.append(f"keys: a line break there is Return, which {does}")
                continue
            try:
                self._enter_text(text, how, before, whole=whole)
            except UiFault as fault:
                if how != "value" and not isinstance(fault, ActionFailed):
                    raise
                tried.append(f"{road}: {fault}")
                continue
            if before is None:
                return {"method": how, "notes": [_HIDDEN if how == "value" else UNREAD]}
            if self._holds_text(text if whole else before + text):
                return {"method": how}
            tried.append(road)
            now = read()
            if now != before:
                back = "value" if how == "value" else "paste"
                with suppress(UiFault):
                    self._enter_text(before, back, now, whole=True)
                if back == "paste" and not self._holds_text(before):
                    break
            if how != "value" and time.monotonic() > end:
                break
        now = read()
        result = (
            "was set back to its old text"
            if now == before
            else "could not be set back"
            if holds_secret(node)
            else f"could not be set back; its text is now {quote_text(now or '', 80)}"
        )
        raise UiError(
            "EXECUTION_ERROR",
            f"The element did not accept the exact text, and it {result}.",
            f"Tried: {', '.join(tried)}. The element may forbid some characters, or change its"
            " text.",
            reason="not_exact",
        )

    def _enter_text(self, text: str, how: str, before: str | None, *, whole: bool) -> None:
        """Put a text in by one road, over what is there or behind it."""
        bridge, handle = self.bridge, self.node.handle
        if how == "value":
            enter = bridge.set_value if whole else bridge.insert_text
            return enter(handle, text, self.seconds)
        devices = self.devices
        focus = self.take_keyboard()
        selected = False
        if whole:
            with suppress(UiFault):
                selected = bridge.select_all(handle, _LOOK)
        if not selected:
            devices.press_stroke(bridge.select_all_keys if whole else bridge.text_end_keys)
        time.sleep(STEP)
        self.check_keyboard(focus)
        if how == "paste" and text:
            return devices.paste_text(text)
        if not text or (whole and before == text[:1]):
            devices.press_stroke(_DELETE)
            before = before and ""
        return self._type_text(text, focus, partial(bridge.full_text, handle, _LOOK), before)

    def _type_text(
        self, text: str, focus: Focus, read: Callable[[], object], before: object
    ) -> None:
        """Type a text; its first character has to show before the second is sent."""
        check = partial(self.check_keyboard, focus)
        self.devices.type_text(text[:1], check)
        if before is not None and text[1:]:
            _wait_for_change(read, before)
        self.devices.type_text(text[1:], check)

    def _holds_text(self, text: str) -> bool:
        return wait_until(lambda: self.bridge.full_text(self.node.handle, _LOOK) == text, _SHOWN)

    def put_number(self, value: float) -> Mapping[str, Any] | None:
        """Set a number; where that does nothing (a date in Chromium), type it."""

        def value_now() -> tuple[Scalar]:
            return (self.read(self.node.handle, Detail.VALUE).value,)

        self.bridge.set_value(self.node.handle, value, self.seconds)
        holds = partial(wait_until, lambda: value_now() == (value,), _SHOWN)
        if holds() or "focusable" not in self.node.states:
            return None
        focus, text, before = self.take_keyboard(), f"{value:.15g}", value_now()
        shows = text[:1].isdigit() and before != (float(text[:1]),)
        self._type_text(text, focus, value_now, before if shows else None)
        holds()
        return {"method": "keys"}


def find_target(call: UiCall, element: str, at: int = 0) -> Target:
    """Return an element of a call as a target, as `UiCall.resolve_element`."""
    found = call.resolve_element(call.session, element, at)
    return Target(call.session, call.app, found, call.seconds)


def open_devices(session: UiSession) -> InputDevices:
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


def own_windows(session: UiSession, app: UiApp) -> tuple[list[ScreenWindow], ScreenWindow | None]:
    """Return an app's windows on the screen, and which of them has the keyboard, if any.

    What opens above a window (a menu) is none of the manager's; it counts where it is in front.

    Raises:
        UiError: It has none.
    """
    devices = open_devices(session)
    own = [one for one in devices.list_windows() if one.pid == app.pid]
    front = devices.front_window()
    if front is not None and front.pid != app.pid:
        front = None
    if front is not None and front not in own:
        own.append(front)
    if own:
        return own, front
    message = f"{app.name} has no window on this screen that accepts keys."
    guidance = "Use perform_action or set_value."
    raise UiError("NOT_SUPPORTED", message, guidance, reason="no_window")


def find_screen_window(
    session: UiSession, app: UiApp, before: ElementFound | None = None
) -> ElementFound:
    """Return a window of the screen as an element, for an app whose tree does not answer.

    Args:
        before: What it was found as; the one in front is meant where it is left out.

    Raises:
        UiError: It is closed.
    """
    own, front = own_windows(session, app)
    window = front or own[-1]
    if before is not None:
        same = [one for one in own if (SCREEN, one.number) == before.node.handle]
        if not same:
            message = "The window is closed."
            raise UiError("NOT_FOUND", message, LOOK_AGAIN, reason="stale", app=app.name)
        window = same[0]
    node = window_node(window)
    if before is not None:
        return before.now(node)
    return ElementFound(node, (node,), PathStep(node.role, title=window.title).text)


def is_readable(node: UiNode) -> bool:
    """Say whether what is typed into an element shows in its text."""
    return takes_typing(node.role, node.states) and "secure" not in node.states


def describe_app(app: UiApp) -> str:
    """Return an app in words: its name, its identity, its process."""
    return escape_hidden(f"{app.name} ({app.id or 'identity unknown'}, process {app.pid})")


def moved_error() -> UiError:
    """Return the error of a click that would reach something else."""
    message = "Another element is now at that point. Nothing was done."
    return UiError("NOT_FOUND", message, LOOK_AGAIN, reason="stale")


def _not_shown_error(message: str) -> UiError:
    way = "Scroll the element into view, or read it again."
    return UiError("NOT_SUPPORTED", message, way, reason="not_shown")


def _focus_lost(why: str) -> UiError:
    guidance = "Check the focus (get_focused_element), then start again."
    return UiError("REFUSED", f"Nothing more was typed: {why}.", guidance, reason="focus_lost")


def _wait_for_change(read: Callable[[], object], before: object) -> None:
    """Wait until what was typed first shows; it went elsewhere where all stays as it is."""
    if not wait_until(lambda: read() != before, _SHOWN):
        raise _focus_lost("the first character does not show in the element")


def _point_in(frame: Frame, offset: ScreenPoint | None = None) -> tuple[float, float]:
    """Return a point of a frame: its middle, or so far from its top left corner."""
    if offset is None:
        return frame.x + frame.width / 2, frame.y + frame.height / 2
    return frame.x + offset["x"], frame.y + offset["y"]


def _fills(frame: Frame | None, window: Frame) -> bool:
    """Say whether an element takes up nearly all of a window."""
    return (
        frame is not None
        and window.holds(frame.x, frame.y)
        and _MOST * window.width <= frame.width <= window.width
        and _MOST * window.height <= frame.height <= window.height
    )
