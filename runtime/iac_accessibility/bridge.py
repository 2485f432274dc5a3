"""What a platform's accessibility interface has to offer, the only door to it; keys by name.

    "ctrl+shift+s", "cmd+q", "Return", "F5", "a", "+"

The key stands last, the modifiers before it. A key is one character or a name of `KEYS`; case of
names does not matter, that of a character does not either where a modifier is beside it.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Final, Literal, NamedTuple, Protocol

from iac_accessibility.errors import UiError
from iac_accessibility.model import (
    AcceptedValue,
    ChangeKind,
    Detail,
    Frame,
    Handle,
    ScreenPicture,
    ScreenWindow,
    UiApp,
    UiEvent,
    UiFault,
    UiNode,
)
from iac_base.errors import near_text, quote_text
from iac_base.interface import load_meanings

Modifier = Literal["shift", "control", "option", "command"]

_MODIFIERS: Final[dict[str, Modifier]] = {
    "shift": "shift",
    **dict.fromkeys(("ctrl", "control", "strg"), "control"),
    **dict.fromkeys(("alt", "option", "opt"), "option"),
    **dict.fromkeys(("cmd", "command", "super", "meta", "win"), "command"),
}

_NAMES: Final = {
    "return": "enter",
    "escape": "esc",
    "backspace": "",
    "delete": "del forward_delete",
    "tab": "",
    "space": "spacebar",
    **{name: f"arrow_{name} {name}_arrow" for name in ("up", "down", "left", "right")},
    "home": "",
    "end": "",
    "page_up": "pageup pgup prior",
    "page_down": "pagedown pgdn next",
    "insert": "ins",
    "menu": "context_menu",
    **{f"f{number}": "" for number in range(1, 21)},
}
KEYS: Final = {other: name for name, others in _NAMES.items() for other in (name, *others.split())}
"""Every name of a key that is no character -> the one name that bridges know."""


class Stroke(NamedTuple):
    """A key, and what is held down with it; `key` is one character or a value of `KEYS`."""

    modifiers: frozenset[Modifier]
    key: str

    @property
    def text(self) -> str:
        """The combination as it is shown."""
        names = [
            name for name in ("control", "option", "shift", "command") if name in self.modifiers
        ]
        return "+".join((*names, self.key))

    @property
    def is_character(self) -> bool:
        """Whether it types a character."""
        return len(self.key) == 1 and not self.modifiers - {"shift"}


def parse_stroke(text: str) -> Stroke:
    """Return the combination that a text names.

    Raises:
        UiError: A part of it is no modifier, or the last no key.
    """
    plain = text.strip()
    # A plus sign is a key as well: "ctrl++", "+".
    last = "+" if plain.endswith("+") else plain.rpartition("+")[2].strip()
    before = plain[: len(plain) - len(last)].rstrip("+ ")
    modifiers: list[Modifier] = []
    for part in filter(None, (one.strip().lower() for one in before.split("+"))):
        if part not in _MODIFIERS:
            raise _unknown_key_error(text, part, tuple(_MODIFIERS))
        modifiers.append(_MODIFIERS[part])
    key = last if len(last) == 1 else KEYS.get(last.lower().replace(" ", "_").replace("-", "_"), "")
    if not key or not key.isprintable():
        raise _unknown_key_error(text, last, tuple(KEYS))
    if len(key) == 1 and frozenset(modifiers) - {"shift"}:
        key = key.lower()
    return Stroke(frozenset(modifiers), "space" if key == " " else key)


def _unknown_key_error(text: str, part: str, known: tuple[str, ...]) -> UiError:
    return UiError(
        "INVALID_PARAMETER",
        f"{quote_text(text, 60)} is not a key combination: there is no key {quote_text(part, 30)}.",
        near_text(part, known) or 'Write combinations like "ctrl+shift+s", "Return" or "F5".',
        reason="bad_value",
    )


@cache
def _known_strokes() -> dict[Stroke, str]:
    """Return the combinations that do harm, each with what it does."""
    rows = ((what, row.get("keys", "")) for what, row in load_meanings().items())
    return {parse_stroke(one): what for what, keys in rows for one in keys.split()}


def stroke_effect(stroke: Stroke, *, in_text: bool) -> str:
    """Return what a combination does, in the words of the levels; empty where nothing is known.

    Args:
        in_text: Whether a text has the keyboard: what destroys elsewhere takes characters there.
    """
    does = _known_strokes().get(stroke, "")
    return "" if in_text and does == "destroys" else does


class ElementReader(Protocol):
    """Reads elements of one app, for the length of one call; may hold what it read in bulk."""

    def read(
        self, handles: Sequence[Handle], want: Detail, timeout: float
    ) -> list[UiNode | UiFault]:
        """Return one node or fault per handle, in order, within `timeout` seconds.

        An element that was not reached in that time is a `AppNotResponding`.
        """
        ...


def wait_until(holds: Callable[[], object], seconds: float, step: float = 0.02) -> bool:
    """Ask until something holds, for so many seconds at most; say whether it does."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(step)
    return True


def time_left(end: float, least: float = 0.05) -> float:
    """Return the seconds until `end`, but `least` in any case: what is late is asked once more."""
    return max(end - time.monotonic(), least)


def read_one(reader: ElementReader, handle: Handle, want: Detail, timeout: float) -> UiNode:
    """Return one element; its fault is raised."""
    answer = reader.read([handle], want, timeout)[0]
    if isinstance(answer, UiFault):
        raise answer
    return answer


HELD: Final = "another program holds the keyboard, as a prompt for a password does"


class InputDevices(Protocol):
    """Keys, pointer, clipboard and windows as the window system has them.

    Nothing here knows of apps' trees; who calls proves first where the keys and clicks will go.
    Points and frames are of the screen. All raise a `UiFault`.
    """

    def list_windows(self) -> list[ScreenWindow]:
        """Return the windows of all apps."""
        ...

    def front_window(self) -> ScreenWindow | None:
        """Return the window that has the keyboard now, or None."""
        ...

    def window_at(self, x: float, y: float, *, listed: bool = False) -> ScreenWindow | None:
        """Return the window that is on top at a point, or None.

        Args:
            listed: Look past what `windows` does not list: menus, the picture of what is dragged.
        """
        ...

    def raise_window(self, number: int) -> None:
        """Bring a window to the front and give it the keyboard."""

    def place_window(self, number: int, frame: Frame) -> None:
        """Move and resize a window."""

    def minimize_window(self, number: int) -> None:
        """Minimize a window."""

    def check_modifiers(self) -> None:
        """Raise where a person holds a modifier key down."""

    def check_grab(self, pid: int) -> None:
        """Raise where another program than a process has grabbed the keyboard.

        Keys go to whoever has, whatever window has the focus.
        """

    def press_stroke(self, stroke: Stroke) -> None:
        """Press and release a combination."""

    def type_text(self, text: str, check: Callable[[], None]) -> None:
        """Type a text key by key; `check` is called before each, and ends it by raising."""

    def paste_text(self, text: str) -> None:
        """Paste a text; the clipboard holds afterwards what it held before."""

    def move_pointer(self, x: float, y: float) -> None:
        """Move the pointer."""

    def set_button(self, name: str, *, down: bool) -> None:
        """Press or release a button: left, middle, right."""

    def click_button(self, name: str, count: int = 1) -> None:
        """Click a button where the pointer is; several clicks are one gesture."""

    def turn_wheel(self, right: int, down: int) -> None:
        """Turn the wheel by so many notches; negative is left and up."""

    def close(self) -> None:
        """Let go."""


class Bridge(Protocol):
    """A platform. Every method may be called from any thread; timeouts are in seconds.

    All but `close` raise a `UiFault`; times run from the call.
    """

    free: Detail
    """What is read without costing more, and so is always read."""

    select_all_keys: Stroke
    text_end_keys: Stroke
    """What selects all of a text, and what goes to its end, where its toolkit offers neither."""

    def running_apps(self, timeout: float) -> list[UiApp]:
        """Return the running apps that have an interface."""
        ...

    def is_installed(self, name: str) -> bool:
        """Say whether an app of that name or id is on this machine, running or not."""
        ...

    def is_alive(self, app: UiApp) -> bool:
        """Say whether the process of `app` still runs, and is not another one of its pid."""
        ...

    def app_element(self, app: UiApp, timeout: float) -> Handle:
        """Return the app's own element, whose children are its windows (and menu bar).

        Raises:
            Denied: The app was asked, and this process may not look into it.
            Gone, Silent: The app has ended, or does not answer.
        """
        ...

    def open_reader(self, app: UiApp, *, whole: bool, timeout: float) -> ElementReader:
        """Return a reader; `whole` says that most of the app is going to be read."""
        ...

    def ancestor_handles(self, app: UiApp, handle: Handle, timeout: float) -> list[Handle]:
        """Return the way to an element: its window first, itself last."""
        ...

    def focused_element(self, app: UiApp, timeout: float) -> Handle | None:
        """Return the app's element that has the keyboard, or None."""
        ...

    def read_children(
        self, handle: Handle, start: int, most: int, timeout: float
    ) -> tuple[list[Handle], int]:
        """Return children of an element from number `start` on, and how many there are in all."""
        ...

    def read_text(self, handle: Handle, start: int, most: int, timeout: float) -> tuple[str, int]:
        """Return characters of an element's text from `start` on, and how many there are in all."""
        ...

    def take_picture(self, app: UiApp, frame: Frame, timeout: float) -> ScreenPicture:
        """Return what the screen shows at a place of an app's window.

        Raises:
            UiFault: There are no pictures here, or the system refuses them; the text says why.
        """
        ...

    def accepted_value(self, handle: Handle, timeout: float) -> AcceptedValue:
        """Return what the element takes as its value."""
        ...

    def is_default(self, handle: Handle, window: Handle, timeout: float) -> bool:
        """Say whether Return presses this element of the window."""
        ...

    def perform_action(self, handle: Handle, action: str, timeout: float) -> None:
        """Carry out one of the element's own actions, by the name that `UiNode.actions` has."""

    def set_value(self, handle: Handle, value: str | float | bool, timeout: float) -> None:
        """Set the value of an element; of the kind that `accepted_value` says."""

    @property
    def input_devices(self) -> InputDevices:
        """Keys, pointer and windows.

        Raises:
            Silent: There are none here; the text says why.
        """
        ...

    def other_names(self, app: UiApp) -> Sequence[str]:
        """Return what else people call an app: its program, its desktop entry's name."""
        ...

    def runs_input(self, app: UiApp) -> bool:
        """Say whether an app is known by what it is to run what is typed there."""
        ...

    def answers_late(self, app: UiApp, timeout: float) -> bool:
        """Say whether an app answers only when the dialog is closed that an action opens."""
        ...

    def grab_focus(self, handle: Handle, timeout: float) -> None:
        """Give an element the keyboard, within its window."""

    def has_focus(self, handle: Handle, timeout: float) -> bool:
        """Say whether an element, or one below it, has the keyboard of its window."""
        ...

    def insert_text(self, handle: Handle, text: str, timeout: float) -> None:
        """Put a text in at the end of what is there, by the toolkit's own text interface."""

    def select_all(self, handle: Handle, timeout: float) -> bool:
        """Select what a text holds; False where its toolkit does not do that."""
        ...

    def select_child(self, handle: Handle, index: int, timeout: float) -> None:
        """Select a child of a list, a tab bar or a menu by its place."""

    def element_at(self, window: Handle, x: float, y: float, timeout: float) -> Handle | None:
        """Return the innermost element that a click at a point reaches; None where none is there.

        The point is in the unit and from the corner of the frames of the window's elements.
        """
        ...

    def scroll_to(self, handle: Handle, timeout: float) -> bool:
        """Bring an element into view; False where its toolkit does not do that."""
        ...

    def full_text(self, handle: Handle, timeout: float) -> str | None:
        """Return the whole text of an element, as it is; None where it has none."""
        ...

    def watch_changes(self, app: UiApp, kinds: Collection[ChangeKind]) -> "ChangeQueue":
        """Begin to collect changes in the app, until it is closed."""
        ...

    def request_tree(self, app: UiApp) -> str:
        """Ask an app that builds its tree on demand to build it.

        Returns:
            What was done, as a clause: "accessibility was switched on in Chromium"; empty where
            there is nothing to do.
        """
        ...

    def close(self) -> None:
        """Let go of the platform."""


KEPT: Final = 2_000
"""Changes that are kept until they are fetched; older ones are dropped."""


class ChangeQueue:
    """Holds changes until they are fetched; what a watch of a platform is.

    Attributes:
        closed: No more come in.
    """

    def __init__(self) -> None:
        self._changes: deque[UiEvent] = deque(maxlen=KEPT)
        self._news = threading.Condition()
        self.closed = False

    def add(self, change: UiEvent) -> None:
        """Put in a change."""
        with self._news:
            self._changes.append(change)
            self._news.notify_all()

    def wait_for_changes(self, seconds: float) -> list[UiEvent]:
        """Return what has come in since the last call; wait for the first up to `seconds`."""
        with self._news:
            if not self._changes and not self.closed:
                self._news.wait(seconds)
            changes = list(self._changes)
            self._changes.clear()
        return changes

    def close(self) -> None:
        """Wake whoever waits; no more come in. A second time does nothing."""
        with self._news:
            self.closed = True
            self._news.notify_all()
