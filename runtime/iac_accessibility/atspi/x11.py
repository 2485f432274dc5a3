"""Keys, pointer, windows and pictures of an X server (python-xlib: XTEST, EWMH, X-Resource).

Characters that the layout in force does not have are lent spare keys, all of a text at once:
clients read a changed mapping in order with the keys, so that nothing is typed as its successor.
Source: XTEST 2.2; Extended Window Manager Hints 1.5 (_NET_WM_PID); X Resource 1.2; X11 keysyms,
Appendix A; X Window System Protocol: GrabKeyboard and GrabPointer, GetImage (it gives what is seen,
windows before it included), QueryTree (children in stacking order, the lowest first); GrabDevice of
the X.Org server, which looks for another grab first and at the window next.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, Final, Literal

import Xlib.threaded  # noqa: F401 (one display is used by several threads)
from Xlib import X, display, error
from Xlib.ext import res, xtest
from Xlib.protocol import event

from iac_accessibility.atspi.clipboard import Clipboard
from iac_accessibility.bridge import HELD, Stroke
from iac_accessibility.model import (
    ActionFailed,
    AppNotResponding,
    Frame,
    ScreenPicture,
    ScreenWindow,
    Unsupported,
    clean_foreign_text,
    frames_overlap,
)

_HELD: Final = {"shift": 0xFFE1, "control": 0xFFE3, "option": 0xFFE9, "command": 0xFFEB}
_BUTTONS: Final = {"left": 1, "middle": 2, "right": 3}
_GROUPS: Final = 0x6000
"""Bits of the modifier state that say which layout of several is in force (XKB)."""

_PACE: Final = 0.004
_MAPPED: Final = 0.15
"""Seconds between strokes, and after keys were lent, so that clients have read the mapping."""

_GRABBED: Final = 0.3
"""Seconds that the keyboard may be held for a moment."""

_MENUS: Final = ("MENU", "POPUP_MENU", "DROPDOWN_MENU", "COMBO")
_DIALOG: Final = "_NET_WM_WINDOW_TYPE_DIALOG"
_PASTE: Final = Stroke(frozenset(("control",)), "v")


def _open_display(name: str | None = None) -> Any:
    try:
        return display.Display(name)
    except (error.DisplayError, OSError) as fault:
        raise AppNotResponding(f"the X display cannot be reached: {fault}") from None


class XDisplay:
    """The screen that the apps of this session are on. Safe to share between threads.

    Args:
        name: Of the display; the environment's own where it is left out.

    Raises:
        Silent: There is no X display here.
    """

    def __init__(self, name: str | None = None) -> None:
        if not (name or os.environ.get("DISPLAY")):
            raise AppNotResponding(
                "there is no X display, and Wayland does not let this program press keys"
            )
        self._display = _open_display(name)
        if not self._display.query_extension("XTEST"):
            raise AppNotResponding("this X server has no XTEST, so keys cannot be sent")
        self._root = self._display.screen().root
        self._lock = threading.RLock()
        self._grabs = Grabs(self._display)
        self._name = self._display.get_display_name()
        self._clipboard: Clipboard | None = None

    def close(self) -> None:
        """Let go of the display."""
        with self._lock, suppress(OSError, error.ConnectionClosedError):
            if self._clipboard is not None:
                self._clipboard.close()
            self._display.close()

    # Windows

    def list_windows(self) -> list[ScreenWindow]:
        """Return the windows that the window manager lists, the oldest first."""
        with self._lock:
            return [
                one for one in map(self._read_window, self._client_windows()) if one is not None
            ]

    def window_pids(self) -> list[int]:
        """Return the processes of the windows; 0 for what is not known."""
        with self._lock:
            make = self._display.create_resource_object
            return [
                self._window_pid(make("window", number)) or 0 for number in self._client_windows()
            ]

    def is_front(self, pid: int) -> bool:
        """Say whether a window of a process has the keyboard."""
        front = self.front_window()
        return front is not None and front.pid == pid

    def front_window(self) -> ScreenWindow | None:
        """Return the window that has the keyboard now; None where no app's window has."""
        with self._lock:
            focus = self._display.get_input_focus().focus
            clients = set(self._client_windows())
            while not isinstance(focus, int):
                if focus.id in clients:
                    return self._read_window(focus.id)
                tree = self._query_tree(focus)
                if tree is None or not tree.parent or tree.parent == self._root:
                    # Menus and windows that no manager keeps have the keyboard themselves.
                    return self._read_window(focus.id) if focus != self._root else None
                focus = tree.parent
            return None

    def window_at(self, x: float, y: float, *, listed: bool = False) -> ScreenWindow | None:
        """Return the window on top at a point: one of the manager's, else that of a menu."""
        with self._lock:
            clients = self._client_windows()
            if listed:
                order = self._read_property(self._root, "_NET_CLIENT_LIST_STACKING") or clients
                rows = filter(None, map(self._read_window, reversed(order)))
                shown = (one for one in rows if not one.minimized)
                return next((one for one in shown if one.frame.holds(x, y)), None)
            top = None
            below = self._root.translate_coords(self._root, int(x), int(y)).child
            for _ in range(20):
                if isinstance(below, int) or not below:
                    break
                top = top or below.id
                if below.id in clients:
                    return self._read_window(below.id)
                below = below.translate_coords(self._root, int(x), int(y)).child
            return None if top is None else self._read_window(top)

    def raise_window(self, number: int) -> None:
        """Bring a window to the front, and give it the keyboard."""
        with self._lock:
            window = self._display.create_resource_object("window", number)
            self._ask_manager(window, "_NET_ACTIVE_WINDOW", [2, X.CurrentTime, 0, 0, 0])
            window.configure(stack_mode=X.Above)
            self._display.sync()

    def place_window(self, number: int, frame: Frame) -> None:
        """Move and resize a window; the frame is that of its content."""
        with self._lock:
            window = self._display.create_resource_object("window", number)
            # Static gravity: the content is at that place, whatever frame is around it.
            flags = 10 | 0xF << 8 | 2 << 12
            self._ask_manager(
                window, "_NET_MOVERESIZE_WINDOW", [flags, *(int(one) & 0xFFFFFFFF for one in frame)]
            )
            self._display.sync()

    def minimize_window(self, number: int) -> None:
        """Minimize a window."""
        with self._lock:
            window = self._display.create_resource_object("window", number)
            self._ask_manager(window, "WM_CHANGE_STATE", [3, 0, 0, 0, 0])

    def _ask_manager(self, window: Any, name: str, data: Sequence[int]) -> None:
        message = event.ClientMessage(
            window=window, client_type=self._display.intern_atom(name), data=(32, list(data))
        )
        mask = X.SubstructureRedirectMask | X.SubstructureNotifyMask
        self._root.send_event(message, event_mask=mask)
        self._display.flush()

    def _client_windows(self) -> list[int]:
        listed = self._read_property(self._root, "_NET_CLIENT_LIST")
        if listed is not None:
            return list(listed)
        tree = self._query_tree(self._root)
        return [one.id for one in tree.children if self._is_viewable(one)] if tree else []

    def _is_viewable(self, window: Any) -> bool:
        with suppress(error.XError):
            return bool(window.get_attributes().map_state == X.IsViewable)
        return False

    def _read_window(self, number: int) -> ScreenWindow | None:
        window = self._display.create_resource_object("window", number)
        try:
            title = self._read_property(window, "_NET_WM_NAME") or window.get_wm_name() or ""
            if isinstance(title, bytes):
                title = title.decode("utf-8", "replace")
            kinds = self._read_property(window, "_NET_WM_WINDOW_TYPE") or ()
            states = self._read_property(window, "_NET_WM_STATE") or ()
            atom = self._display.intern_atom
            size = window.get_geometry()
            at = window.translate_coords(self._root, 0, 0)
            place = Frame(-at.x, -at.y, size.width, size.height)
            modal = atom("_NET_WM_STATE_MODAL") in states
            dialog = modal or atom(_DIALOG) in kinds
            hidden = atom("_NET_WM_STATE_HIDDEN") in states
            edges = self._read_property(window, "_GTK_FRAME_EXTENTS") or (0, 0, 0, 0)
            named = self._read_property(window, "WM_CLASS") or b""
            kind = bytes(named).rstrip(b"\0").rpartition(b"\0")[2].decode("utf-8", "replace")
        except error.XError:
            return None
        pid = self._window_pid(window) or 0
        left, top = int(edges[0]), int(edges[2])
        return ScreenWindow(
            number, pid, clean_foreign_text(title), kind, place, dialog, hidden, (left, top)
        )

    def _window_pid(self, window: Any) -> int | None:
        """Return the process that a window's connection belongs to, as the server knows it.

        Asked each time: the number of a window that is gone is given to another's.
        """
        pid: int | None = None
        with suppress(error.XError, AttributeError, IndexError):
            spec = [{"client": window.id, "mask": res.LocalClientPIDMask}]
            for row in self._display.res_query_client_ids(spec).ids:
                if row.value:
                    pid = int(row.value[0])
        if not pid and (owner := self._read_property(window, "_NET_WM_PID")) is not None:
            pid = int(owner[0])
        return pid

    def _read_property(self, window: Any, name: str) -> Any:
        try:
            got = window.get_full_property(self._display.intern_atom(name), X.AnyPropertyType)
        except error.XError:
            return None
        return None if got is None else got.value

    def _query_tree(self, window: Any) -> Any:
        try:
            return window.query_tree()
        except error.XError:
            return None

    # Keys

    def check_modifiers(self) -> None:
        """Raise where a person holds a modifier down, since it would change what is typed."""
        with self._lock:
            state = self._root.query_pointer().mask
        if state & (X.ShiftMask | X.ControlMask | X.Mod1Mask | X.Mod4Mask):
            raise ActionFailed("a modifier key is held down on the keyboard")

    def check_grab(self, pid: int) -> None:
        """Raise where a program holds the keyboard; a menu of the process itself may.

        What is held for a moment (by a window manager, for its own keys) is waited for.
        """
        with self._lock:
            end = time.monotonic() + _GRABBED
            while self._grabs.holds("keyboard"):
                # A menu takes the pointer too, a prompt for a password the keyboard alone.
                if self._grabs.holds("pointer") and self._has_menu(pid):
                    return
                if time.monotonic() > end:
                    raise ActionFailed(HELD)
                time.sleep(_PACE)

    def _has_menu(self, pid: int) -> bool:
        """Say whether a menu of a process is open."""
        menus = {self._display.intern_atom(f"_NET_WM_WINDOW_TYPE_{kind}") for kind in _MENUS}
        tree = self._query_tree(self._root)
        return any(
            menus & set(self._read_property(one, "_NET_WM_WINDOW_TYPE") or ())
            and self._is_viewable(one)
            and self._window_pid(one) == pid
            for one in (tree.children if tree else ())
        )

    def press_stroke(self, stroke: Stroke) -> None:
        """Press and release a combination."""
        symbol = KEYSYMS.get(stroke.key) or keysym_of(stroke.key)
        with self._lock, self._lend_keys([symbol]) as keys:
            code, shifted = keys[symbol]
            modifiers = [
                _HELD[name]
                for name in ("control", "option", "command", "shift")
                if name in stroke.modifiers or (name == "shift" and shifted)
            ]
            self._press_keys(code, [self._display.keysym_to_keycode(one) for one in modifiers])

    def type_text(self, text: str, check: Callable[[], None]) -> None:
        """Type a text key by key; `check` is called before each, and ends it by raising."""
        shift = self._display.keysym_to_keycode(_HELD["shift"])
        waiting = list(text)
        while waiting:
            with self._lock:
                spare = max(len(self._spare_keys()), 1)
                part: list[str] = []
                lent: set[int] = set()
                known = self._known_keys()
                while waiting:
                    symbol = keysym_of(waiting[0])
                    if symbol not in known and symbol not in lent:
                        if len(lent) == spare:
                            break
                        lent.add(symbol)
                    part.append(waiting.pop(0))
                with self._lend_keys([keysym_of(char) for char in part]) as keys:
                    for char in part:
                        check()
                        code, shifted = keys[keysym_of(char)]
                        self._press_keys(code, [shift] if shifted else [])
                        time.sleep(_PACE)

    def paste_text(self, text: str) -> None:
        """Paste a text; the clipboard holds afterwards what it held before."""
        with self._lock:
            if self._clipboard is None:
                self._clipboard = Clipboard(self._name)
            self._clipboard.paste_text(text, lambda: self.press_stroke(_PASTE))

    def _press_keys(self, code: int, modifiers: Sequence[int]) -> None:
        down: list[int] = []
        try:
            for one in (*modifiers, code):
                xtest.fake_input(self._display, X.KeyPress, one)
                down.append(one)
        finally:
            for one in reversed(down):
                xtest.fake_input(self._display, X.KeyRelease, one)
            self._display.sync()

    def _keyboard_mapping(self) -> list[list[int]]:
        info = self._display.display.info
        count = info.max_keycode - info.min_keycode + 1
        return list(map(list, self._display.get_keyboard_mapping(info.min_keycode, count)))

    def _known_keys(self) -> dict[int, tuple[int, bool]]:
        """Return keysym -> key and whether with Shift, in the layout that is in force."""
        state = self._root.query_pointer().mask
        group = 2 if state & _GROUPS else 0
        first = self._display.display.info.min_keycode
        caps = bool(state & X.LockMask)
        keys: dict[int, tuple[int, bool]] = {}
        for number, row in enumerate(self._keyboard_mapping()):
            plain, shifted = [*row, 0, 0, 0, 0][group : group + 2]
            pair = ((plain, False), (shifted, True))
            # With the caps lock on, Shift makes letters small.
            turned = caps and plain != shifted and 0 < plain <= 0xFF and chr(plain).isalpha()
            for symbol, with_shift in pair:
                if symbol:
                    keys.setdefault(symbol, (first + number, with_shift is not turned))
        return keys

    def _spare_keys(self) -> list[int]:
        first = self._display.display.info.min_keycode
        rows = enumerate(self._keyboard_mapping())
        return [first + number for number, row in rows if not any(row)]

    @contextmanager
    def _lend_keys(self, symbols: Sequence[int]) -> Iterator[dict[int, tuple[int, bool]]]:
        """Give keysyms that no key has a spare key each, and take it back after the block."""
        known = self._known_keys()
        lacking = list(dict.fromkeys(one for one in symbols if one not in known))
        if not lacking:
            yield known
            return
        spare = self._spare_keys()
        if len(spare) < len(lacking):
            raise ActionFailed("this keyboard has no spare key for a character of the text")
        lent = dict(zip(lacking, reversed(spare), strict=False))
        width = max(len(self._keyboard_mapping()[0]), 1)
        try:
            for symbol, code in lent.items():
                self._display.change_keyboard_mapping(code, [[symbol] * width])
            self._display.sync()
            time.sleep(_MAPPED)
            yield known | {symbol: (code, False) for symbol, code in lent.items()}
        finally:
            # Whoever is late still has to read what was typed by the mapping of then.
            time.sleep(_MAPPED)
            for code in lent.values():
                self._display.change_keyboard_mapping(code, [[0] * width])
            self._display.sync()

    # Pointer

    def move_pointer(self, x: float, y: float) -> None:
        """Move the pointer to a point of the screen."""
        with self._lock:
            xtest.fake_input(self._display, X.MotionNotify, x=int(x), y=int(y))
            self._display.sync()

    def set_button(self, name: str, *, down: bool) -> None:
        """Press or release a button: left, middle, right."""
        with self._lock:
            kind = X.ButtonPress if down else X.ButtonRelease
            xtest.fake_input(self._display, kind, _BUTTONS[name])
            self._display.sync()

    def click_button(self, name: str, count: int = 1) -> None:
        """Click a button, all in one request: apart, they are no double click on a busy machine."""
        with self._lock:
            for kind in (X.ButtonPress, X.ButtonRelease) * count:
                xtest.fake_input(self._display, kind, _BUTTONS[name])
            self._display.sync()

    def turn_wheel(self, right: int, down: int) -> None:
        """Turn the wheel by so many notches; negative is left and up."""
        with self._lock:
            for count, ahead, back in ((right, 7, 6), (down, 5, 4)):
                for kind in (X.ButtonPress, X.ButtonRelease) * abs(count):
                    xtest.fake_input(self._display, kind, ahead if count > 0 else back)
            self._display.sync()


KEYSYMS: Final = {
    "backspace": 0xFF08,
    "tab": 0xFF09,
    "return": 0xFF0D,
    "escape": 0xFF1B,
    "insert": 0xFF63,
    "menu": 0xFF67,
    "delete": 0xFFFF,
    "space": 0x20,
    **{
        name: 0xFF50 + number
        for number, name in enumerate("home left up right down page_up page_down end".split())
    },
    **{f"f{number}": 0xFFBD + number for number in range(1, 21)},
}
_SPECIAL: Final = {"\n": 0xFF0D, "\t": 0xFF09}


def keysym_of(char: str) -> int:
    """Return the keysym of a character."""
    code = ord(char)
    return _SPECIAL.get(char) or (code if code <= 0xFF else 0x1000000 + code)


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


_LEVELS: Final = 3
"""Levels below a top window at which a window manager keeps the app's own."""


def capture_window(pid: int, frame: Frame) -> ScreenPicture:
    """Return the part of the screen at `frame`, and what is before the windows of `pid` there.

    A window of which nobody knows whose it is counts as another's.

    Raises:
        Unsupported: There is no X display here, or the part is not on the screen.
        Silent: The display does not answer.
    """
    if not os.environ.get("DISPLAY"):
        raise Unsupported(
            "there is no X display, and Wayland does not let a program see other programs' windows"
        )
    with closing(_open_display()) as opened:
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
    frames: list[Frame] = []
    for window in reversed(root.query_tree().children):
        try:
            attributes, at = window.get_attributes(), window.get_geometry()
            if attributes.map_state != X.IsViewable or attributes.win_class != X.InputOutput:
                continue
            place = Frame(at.x, at.y, at.width + 2 * at.border_width, at.height)
            if _owner_pid(opened, window, _LEVELS) != pid:
                if frames_overlap(place, shown):
                    frames.append(place)
            elif _fills_most(place, shown):
                return tuple(frames)
        except error.XError:
            # It went meanwhile.
            continue
    # None of ours fills the place: what is there is not known to be of the app.
    return (*frames, shown)


def _owner_pid(opened: Any, window: Any, levels: int) -> int:
    owner = window.get_full_property(opened.intern_atom("_NET_WM_PID"), 0)
    if owner is not None and len(owner.value):
        return int(owner.value[0])
    below = window.query_tree().children if levels else ()
    return next(filter(None, (_owner_pid(opened, one, levels - 1) for one in below)), 0)


def _fills_most(place: Frame, shown: Frame) -> bool:
    """Say whether a window fills most of a place: its frame and its shadow may differ."""
    width = min(place.x + place.width, shown.x + shown.width) - max(place.x, shown.x)
    height = min(place.y + place.height, shown.y + shown.height) - max(place.y, shown.y)
    return width > 0 < height and width * height >= shown.width * shown.height * 0.9
