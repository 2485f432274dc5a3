"""Keys, pointer, clipboard and windows of a Mac.

Which key gives a character is asked of the keyboard layout in force: an event of each key, made
and never posted, says what it would type. The codes of keys that type nothing (Return, arrows) do
not depend on the layout (Carbon, Events.h). Text is posted as Unicode, at most 20 UTF-16 units an
event. Source: Quartz Event Services, CGEvent.h, CGEventSource.h; NSPasteboard.
Only a Mac can confirm that an event that was not posted knows its text, and that an app takes
events that are posted to its process.
"""

import time
from collections.abc import Callable
from typing import Any, Final

from iac_accessibility.bridge import HELD, Stroke
from iac_accessibility.macos import workspace
from iac_accessibility.macos.frameworks import (
    AppKit,
    Quartz,
    pool_methods,
    raise_for_error,
    read_attribute,
    secure_input_enabled,
    with_timeout,
)
from iac_accessibility.macos.frameworks import HIServices as Ax
from iac_accessibility.model import (
    ActionFailed,
    ElementGone,
    Frame,
    ScreenWindow,
    UiFault,
    clean_foreign_text,
)

_NAMED: Final = {
    name: int(code)
    for name, _, code in (
        row.partition(":")
        for row in (
            "return:36 tab:48 space:49 backspace:51 escape:53 delete:117 home:115 end:119"
            " page_up:116 page_down:121 insert:114 menu:110 left:123 right:124 down:125 up:126"
            " f1:122 f2:120 f3:99 f4:118 f5:96 f6:97 f7:98 f8:100 f9:101 f10:109 f11:103 f12:111"
            " f13:105 f14:107 f15:113 f16:106 f17:64 f18:79 f19:80 f20:90"
        ).split()
    )
}
_FLAGS: Final = {
    "shift": Quartz.kCGEventFlagMaskShift,
    "control": Quartz.kCGEventFlagMaskControl,
    "option": Quartz.kCGEventFlagMaskAlternate,
    "command": Quartz.kCGEventFlagMaskCommand,
}
_EVENTS: Final = {
    ("left", True): Quartz.kCGEventLeftMouseDown,
    ("left", False): Quartz.kCGEventLeftMouseUp,
    ("right", True): Quartz.kCGEventRightMouseDown,
    ("right", False): Quartz.kCGEventRightMouseUp,
    ("middle", True): Quartz.kCGEventOtherMouseDown,
    ("middle", False): Quartz.kCGEventOtherMouseUp,
}
_BUTTONS: Final = {"left": 0, "right": 1, "middle": 2}
_HOLDER: Final = "kCGSSessionSecureInputPID"
"""Key of the session for the process that enabled secure event input; not among the constants."""

_KEYS: Final = 128
_CHUNK: Final = 20
_SECONDS: Final = 1.0
_SETTLE: Final = 0.3
_PASTE: Final = Stroke(frozenset(("command",)), "v")


@pool_methods
class MacInputDevices:
    """What a person's hands do on a Mac; see `InputDevices`."""

    def __init__(self) -> None:
        self._at = (0.0, 0.0)
        self._held = ""

    def close(self) -> None:
        """Nothing is held."""

    def list_windows(self) -> list[ScreenWindow]:
        """Return the ordinary windows on the screen, the topmost first."""
        return [_to_screen_window(row) for row in _ordinary_window_rows()]

    def front_window(self) -> ScreenWindow | None:
        """Return the topmost window of the app that has the keyboard."""
        pid = workspace.frontmost_pid()
        return next(
            (one for one in map(_to_screen_window, _ordinary_window_rows()) if one.pid == pid), None
        )

    def window_at(self, x: float, y: float, *, listed: bool = False) -> ScreenWindow | None:  # noqa: ARG002
        """Return the window on top at a point."""
        return next(
            (
                one
                for one in map(_to_screen_window, _ordinary_window_rows())
                if one.frame.holds(x, y)
            ),
            None,
        )

    def raise_window(self, number: int) -> None:
        """Bring a window's app to the front, and the window before its others."""
        pid, element = self._window_element(number)
        workspace.activate_process(pid, _SECONDS)
        raise_for_error(Ax.AXUIElementPerformAction(element, Ax.kAXRaiseAction))

    def place_window(self, number: int, frame: Frame) -> None:
        """Move and resize a window."""
        _, element = self._window_element(number)
        place = Quartz.CGPointMake(frame.x, frame.y)
        size = Quartz.CGSizeMake(frame.width, frame.height)
        for name, kind, held in (
            (Ax.kAXPositionAttribute, Ax.kAXValueTypeCGPoint, place),
            (Ax.kAXSizeAttribute, Ax.kAXValueTypeCGSize, size),
        ):
            value = Ax.AXValueCreate(kind, held)
            raise_for_error(Ax.AXUIElementSetAttributeValue(element, name, value))

    def minimize_window(self, number: int) -> None:
        """Minimize a window."""
        _, element = self._window_element(number)
        raise_for_error(Ax.AXUIElementSetAttributeValue(element, Ax.kAXMinimizedAttribute, True))

    def _window_element(self, number: int) -> tuple[int, Any]:
        """Return process and element of a window; the interface knows them by their place."""
        row = next((one for one in self.list_windows() if one.number == number), None)
        if row is None:
            raise ElementGone("the window is gone")
        app = with_timeout(Ax.AXUIElementCreateApplication(row.pid), _SECONDS)
        for element in read_attribute(app, Ax.kAXWindowsAttribute) or ():
            try:
                place = read_attribute(element, Ax.kAXPositionAttribute)
            except UiFault:
                continue
            _, at = Ax.AXValueGetValue(place, Ax.kAXValueTypeCGPoint, None)
            if (at.x, at.y) == (row.frame.x, row.frame.y):
                return row.pid, element
        raise ElementGone("the window is not in the app's interface")

    def check_modifiers(self) -> None:
        """Raise where a person holds a modifier key down."""
        state = Quartz.CGEventSourceFlagsState(Quartz.kCGEventSourceStateHIDSystemState)
        if any(state & flag for flag in _FLAGS.values()):
            raise ActionFailed("a modifier key is held down on the keyboard")

    def check_grab(self, pid: int) -> None:
        """Raise where a process but this one has the keyboard to itself (secure event input)."""
        if not secure_input_enabled():
            return
        session = Quartz.CGSessionCopyCurrentDictionary() or {}
        if session.get(_HOLDER) != pid:
            raise ActionFailed(HELD)

    def press_stroke(self, stroke: Stroke) -> None:
        """Press and release a combination, in the app that has the keyboard."""
        pid = workspace.frontmost_pid()
        flags = 0
        for name in stroke.modifiers:
            flags |= _FLAGS[name]
        code = _NAMED.get(stroke.key)
        if code is None:
            code, shifted = _key_of(stroke.key)
            flags |= _FLAGS["shift"] if shifted else 0
        for down in (True, False):
            event = Quartz.CGEventCreateKeyboardEvent(None, code, down)
            Quartz.CGEventSetFlags(event, flags)
            Quartz.CGEventPostToPid(pid, event)

    def type_text(self, text: str, check: Callable[[], None]) -> None:
        """Type a text; line breaks and tabs by their keys."""
        for part in _split_text(text):
            check()
            if part in ("\n", "\t"):
                self.press_stroke(Stroke(frozenset(), "return" if part == "\n" else "tab"))
            else:
                self._type_part(part)

    def _type_part(self, part: str) -> None:
        pid = workspace.frontmost_pid()
        for down in (True, False):
            event = Quartz.CGEventCreateKeyboardEvent(None, 0, down)
            units = len(part.encode("utf-16-le")) // 2
            Quartz.CGEventKeyboardSetUnicodeString(event, units, part)
            Quartz.CGEventPostToPid(pid, event)

    def paste_text(self, text: str) -> None:
        """Paste a text; what the clipboard held is put back, in all its forms."""
        board = AppKit.NSPasteboard.generalPasteboard()
        before = [
            [(kind, data) for kind in item.types() if (data := item.dataForType_(kind)) is not None]
            for item in board.pasteboardItems() or ()
        ]
        board.clearContents()
        board.setString_forType_(text, AppKit.NSPasteboardTypeString)
        count = board.changeCount()
        try:
            self.press_stroke(_PASTE)
            time.sleep(_SETTLE)
        finally:
            # Whoever copied something meanwhile keeps it.
            if board.changeCount() == count:
                _restore_clipboard(board, before)

    def move_pointer(self, x: float, y: float) -> None:
        """Move the pointer; with a button held down it drags."""
        self._at = (x, y)
        kind = Quartz.kCGEventLeftMouseDragged if self._held else Quartz.kCGEventMouseMoved
        event = Quartz.CGEventCreateMouseEvent(None, kind, Quartz.CGPointMake(x, y), 0)
        Quartz.CGEventPost(Quartz.kCGHIDEventTap, event)

    def set_button(self, name: str, *, down: bool) -> None:
        """Press or release a button where the pointer is."""
        self._held = name if down else ""
        self._post_click(name, down=down, clicks=1)

    def click_button(self, name: str, count: int = 1) -> None:
        """Click a button; the events say which click of the gesture they are."""
        for clicks in range(1, count + 1):
            for down in (True, False):
                self._post_click(name, down=down, clicks=clicks)

    def _post_click(self, name: str, *, down: bool, clicks: int) -> None:
        x, y = self._at
        at = Quartz.CGPointMake(x, y)
        event = Quartz.CGEventCreateMouseEvent(None, _EVENTS[name, down], at, _BUTTONS[name])
        Quartz.CGEventSetIntegerValueField(event, Quartz.kCGMouseEventClickState, clicks)
        Quartz.CGEventPost(Quartz.kCGHIDEventTap, event)

    def turn_wheel(self, right: int, down: int) -> None:
        """Turn the wheel by so many lines."""
        unit = Quartz.kCGScrollEventUnitLine
        event = Quartz.CGEventCreateScrollWheelEvent(None, unit, 1, -down)
        axis = Quartz.kCGScrollWheelEventDeltaAxis2
        Quartz.CGEventSetIntegerValueField(event, axis, -right)
        Quartz.CGEventPost(Quartz.kCGHIDEventTap, event)


def _ordinary_window_rows() -> list[Any]:
    rows = workspace.window_rows(Quartz.kCGWindowListOptionOnScreenOnly)
    return [row for row in rows if int(row[Quartz.kCGWindowLayer]) == 0]


def _to_screen_window(row: Any) -> ScreenWindow:
    bounds = row[Quartz.kCGWindowBounds]
    frame = Frame(*(float(bounds[name]) for name in ("X", "Y", "Width", "Height")))
    # Titles are told to those only that may record the screen.
    title = clean_foreign_text(row.get(Quartz.kCGWindowName, ""))
    pid, number = int(row[Quartz.kCGWindowOwnerPID]), int(row[Quartz.kCGWindowNumber])
    return ScreenWindow(number, pid, title, "", frame)


def _key_of(char: str) -> tuple[int, bool]:
    """Return which key of the layout in force types a character, and whether with Shift."""
    for shifted in (False, True):
        for code in range(_KEYS):
            event = Quartz.CGEventCreateKeyboardEvent(None, code, True)
            Quartz.CGEventSetFlags(event, _FLAGS["shift"] if shifted else 0)
            _, typed = Quartz.CGEventKeyboardGetUnicodeString(event, 4, None, None)
            if typed == char:
                return code, shifted
    raise ActionFailed(f"no key of this keyboard layout types {char}")


def _restore_clipboard(board: Any, before: list[list[tuple[Any, Any]]]) -> None:
    items = []
    for kinds in before:
        item = AppKit.NSPasteboardItem.alloc().init()
        for kind, data in kinds:
            item.setData_forType_(data, kind)
        items.append(item)
    board.clearContents()
    if items:
        board.writeObjects_(items)


def _split_text(text: str) -> list[str]:
    """Return the text in pieces of at most 20 UTF-16 units; line breaks and tabs alone."""
    parts: list[str] = []
    part, units = "", 0
    for char in text:
        size = 2 if ord(char) > 0xFFFF else 1
        alone = char in "\n\t"
        if part and (alone or units + size > _CHUNK):
            parts.append(part)
            part, units = "", 0
        if alone:
            parts.append(char)
        else:
            part, units = part + char, units + size
    return [*parts, part] if part else parts
