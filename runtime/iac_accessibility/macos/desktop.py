"""The desktop of a Mac: its apps, what changes in one, keys, pointer, clipboard, windows, pictures.

What NSWorkspace and NSRunningApplication say of changing things stays as it was until the main run
loop turns, which a server's never does (Apple, "NSRunningApplication", Overview). So what changes
is asked of others: the window server for processes with windows and their order, the
accessibility interface for the app with the keyboard, the kernel for processes that ended. An
AXObserver is on the run loop of a thread of its own. `screencapture` takes the window itself,
whatever lies before it, and answers with nothing where this program may not record the screen.

Which key gives a character is asked of the keyboard layout in force: an event of each key, made
and never posted, says what it would type. The codes of keys that type nothing (Return, arrows) do
not depend on the layout (Carbon, Events.h). Text is posted as Unicode, at most 20 UTF-16 units an
event.

Only a Mac can confirm that an event that was not posted knows its text, that an app takes events
that are posted to its process, that notifications arrive on a run loop that is not the main one,
and what screencapture answers.
Source: HIServices, AXUIElement.h and AXNotificationConstants.h; Quartz Event Services, CGEvent.h,
CGEventSource.h; CGWindow.h; NSPasteboard; screencapture(1).
"""

import os
import plistlib
import tempfile
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from iac_accessibility.bridge import HELD, ChangeQueue, Stroke, wait_until
from iac_accessibility.macos.frameworks import (
    AppKit,
    CoreFoundation,
    Quartz,
    in_autorelease_pool,
    objc,
    pool_methods,
    raise_for_error,
    read_attribute,
    secure_input_enabled,
    with_timeout,
)
from iac_accessibility.macos.frameworks import HIServices as Ax
from iac_accessibility.model import (
    AccessDenied,
    ActionFailed,
    ChangeKind,
    ElementGone,
    Frame,
    ScreenPicture,
    ScreenWindow,
    UiApp,
    UiEvent,
    UiFault,
    Unsupported,
    clean_foreign_text,
)
from iac_runtime.toolkit import run_process

_PROBE: Final = 0.3


def running_apps() -> list[UiApp]:
    """Return the apps with an interface: those in the Dock, and those of the menu bar."""
    workspace = AppKit.NSWorkspace.sharedWorkspace()
    rows = window_rows(Quartz.kCGWindowListOptionAll)
    # Apps that were started since the list was made are known by their windows.
    known = {int(app.processIdentifier()): app for app in workspace.runningApplications()}
    for pid in dict.fromkeys(int(row[Quartz.kCGWindowOwnerPID]) for row in rows):
        if pid not in known and (app := _running_application(pid)) is not None:
            known[pid] = app
    front = frontmost_pid()
    apps: list[UiApp] = []
    for pid, app in known.items():
        if app.activationPolicy() == AppKit.NSApplicationActivationPolicyProhibited:
            continue
        if pid <= 0 or pid == os.getpid() or not is_process(pid):
            continue
        identifier = str(app.bundleIdentifier() or "")
        name = clean_foreign_text(app.localizedName()) or identifier or str(pid)
        apps.append(UiApp(pid, name, identifier, launch_time(app), pid == front))
    return apps


def frontmost_pid() -> int:
    """Return the process that has the keyboard; 0 where nobody says."""
    everything = with_timeout(Ax.AXUIElementCreateSystemWide(), _PROBE)
    try:
        error, pid = Ax.AXUIElementGetPid(
            read_attribute(everything, Ax.kAXFocusedApplicationAttribute), None
        )
        raise_for_error(error)
        return int(pid)
    except UiFault:
        pass
    # The first window of the ordinary layer is that of the app in front.
    rows = window_rows(Quartz.kCGWindowListOptionOnScreenOnly)
    first = (row for row in rows if int(row[Quartz.kCGWindowLayer]) == 0)
    return next((int(row[Quartz.kCGWindowOwnerPID]) for row in first), 0)


def window_rows(option: int) -> list[Any]:
    """Return what the window server says of windows, the topmost first."""
    option |= Quartz.kCGWindowListExcludeDesktopElements
    return list(Quartz.CGWindowListCopyWindowInfo(option, Quartz.kCGNullWindowID) or ())


def is_process(pid: int) -> bool:
    """Say whether a process of that number runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def launch_time(app: Any) -> float:
    """Return when an app was launched, in seconds; 0 where the system does not say."""
    date = app.launchDate()
    return 0.0 if date is None else float(date.timeIntervalSince1970())


def is_alive(app: UiApp) -> bool:
    """Say whether the process runs and is the one that was launched then."""
    process = _running_application(app.pid) if is_process(app.pid) else None
    return process is not None and launch_time(process) == app.started


def activate_process(pid: int, timeout: float) -> None:
    """Bring an app to the front, and wait until it is there.

    Since macOS 14 activating another app is a request that the system may leave unheard, and what
    the call answers says nothing of it (Apple, "Passing control from one app to another with
    cooperative activation"), so the app is asked for it itself as well.

    Raises:
        Gone: It has ended.
        ActionFailed: It did not come to the front in time.
    """
    process = _running_application(pid)
    if process is None:
        raise ElementGone("the app has ended")
    if frontmost_pid() == pid:
        return
    process.activateWithOptions_(0)
    element = with_timeout(Ax.AXUIElementCreateApplication(pid), timeout)
    Ax.AXUIElementSetAttributeValue(element, Ax.kAXFrontmostAttribute, True)
    if not wait_until(lambda: frontmost_pid() == pid, timeout):
        raise ActionFailed("macOS did not bring the app to the front")


def runs_input(app: UiApp) -> bool:
    """Say whether an app is a shell: it declares itself one for executables in its Info.plist."""
    process = _running_application(app.pid)
    bundle = process.bundleURL() if process is not None else None
    if bundle is None:
        return False
    try:
        facts = plistlib.loads(Path(bundle.path(), "Contents/Info.plist").read_bytes())
    except (OSError, ValueError, plistlib.InvalidFileException):
        return False
    kinds = facts.get("CFBundleDocumentTypes") or ()
    return any(kind.get("CFBundleTypeRole") == "Shell" for kind in kinds if isinstance(kind, dict))


def _running_application(pid: int) -> Any:
    return AppKit.NSRunningApplication.runningApplicationWithProcessIdentifier_(pid)


def capture_window(pid: int, frame: Frame, timeout: float) -> ScreenPicture:
    """Return the window of a process at a place.

    Raises:
        Denied: This program may not record the screen; macOS puts its question up once.
        Unsupported: There is no such window on the screen.
    """
    from PIL import Image

    if not Quartz.CGPreflightScreenCaptureAccess():
        Quartz.CGRequestScreenCaptureAccess()
        raise AccessDenied("this process may not record the screen")
    window = _find_window(pid, frame)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "window.png")
        run_process(
            ["/usr/sbin/screencapture", "-x", "-o", f"-l{window.number}", str(file)], b"", timeout
        )
        if not file.exists():
            raise Unsupported("screencapture returned no picture")
        with Image.open(file) as image:
            whole = image.convert("RGBA")
    place, scale = window.frame, whole.width / max(window.frame.width, 1)
    left, top = round((frame.x - place.x) * scale), round((frame.y - place.y) * scale)
    right = round((frame.x - place.x + frame.width) * scale)
    bottom = round((frame.y - place.y + frame.height) * scale)
    part = whole.crop(
        (max(left, 0), max(top, 0), min(right, whole.width), min(bottom, whole.height))
    )
    return ScreenPicture(part.size, part.tobytes(), "RGBA", frame)


def _find_window(pid: int, frame: Frame) -> ScreenWindow:
    """Return the topmost window of a process that holds a frame."""
    for row in window_rows(Quartz.kCGWindowListOptionOnScreenOnly):
        if int(row[Quartz.kCGWindowOwnerPID]) != pid or not row.get(Quartz.kCGWindowBounds):
            continue
        window = _to_screen_window(row)
        place = window.frame
        inside = place.x <= frame.x + 1 and place.y <= frame.y + 1
        if inside and frame.x + frame.width <= place.x + place.width + 1:
            return window
    raise Unsupported("the window is not on the screen")


_NOTIFICATIONS: Final[dict[str, ChangeKind]] = {
    Ax.kAXValueChangedNotification: "value_changed",
    Ax.kAXTitleChangedNotification: "title_changed",
    Ax.kAXFocusedUIElementChangedNotification: "focus_changed",
    Ax.kAXFocusedWindowChangedNotification: "focus_changed",
    Ax.kAXSelectedTextChangedNotification: "selection_changed",
    Ax.kAXSelectedChildrenChangedNotification: "selection_changed",
    Ax.kAXSelectedRowsChangedNotification: "selection_changed",
    Ax.kAXRowExpandedNotification: "state_changed",
    Ax.kAXRowCollapsedNotification: "state_changed",
    Ax.kAXWindowMiniaturizedNotification: "state_changed",
    Ax.kAXWindowDeminiaturizedNotification: "state_changed",
    Ax.kAXWindowCreatedNotification: "window_created",
    Ax.kAXSheetCreatedNotification: "window_created",
    Ax.kAXCreatedNotification: "element_created",
    Ax.kAXUIElementDestroyedNotification: "element_destroyed",
}
_LOOP_SECONDS: Final = 0.1


class MacWatch(ChangeQueue):
    """Collects the changes of one app until it is closed."""

    def __init__(self, app: UiApp, kinds: Collection[ChangeKind]) -> None:
        super().__init__()
        self._kinds = set(kinds)
        self._began = time.monotonic()
        self._windows: set[Any] = set()
        self._element = Ax.AXUIElementCreateApplication(app.pid)
        self._callback = objc.callbackFor(Ax.AXObserverCreate)(self._on_notification)
        error, self._observer = Ax.AXObserverCreate(app.pid, self._callback, None)
        raise_for_error(error)
        self._thread = threading.Thread(target=self._run, name="ax-watch", daemon=True)
        self._thread.start()

    @in_autorelease_pool
    def _run(self) -> None:
        loop = CoreFoundation.CFRunLoopGetCurrent()
        mode = CoreFoundation.kCFRunLoopDefaultMode
        source = Ax.AXObserverGetRunLoopSource(self._observer)
        CoreFoundation.CFRunLoopAddSource(loop, source, mode)
        kinds = self._kinds | ({"window_created"} if "window_closed" in self._kinds else set())
        for name in (name for name, kind in _NOTIFICATIONS.items() if kind in kinds):
            # What an app does not tell of is simply not heard of.
            Ax.AXObserverAddNotification(self._observer, self._element, name, None)
        if "window_closed" in self._kinds:
            with suppress(UiFault):
                for window in read_attribute(self._element, Ax.kAXWindowsAttribute) or ():
                    self._watch_window_end(window)
        while not self.closed:
            self._run_loop_once(mode)
        CoreFoundation.CFRunLoopRemoveSource(loop, source, mode)

    @in_autorelease_pool
    def _run_loop_once(self, mode: str) -> None:
        CoreFoundation.CFRunLoopRunInMode(mode, _LOOP_SECONDS, False)

    def _watch_window_end(self, window: Any) -> None:
        """Hear of the end of a window: an element's end is told to who asked that element."""
        self._windows.add(window)
        name = Ax.kAXUIElementDestroyedNotification
        Ax.AXObserverAddNotification(self._observer, window, name, None)

    def _on_notification(
        self, _observer: Any, element: Any, notification: str, _refcon: Any
    ) -> None:
        kind = _NOTIFICATIONS[notification]
        if kind == "window_created" and "window_closed" in self._kinds:
            self._watch_window_end(element)
        elif kind == "element_destroyed" and element in self._windows:
            self._windows.discard(element)
            kind = "window_closed"
        if kind in self._kinds:
            self.add(UiEvent(kind, element, time.monotonic() - self._began))

    def close(self) -> None:
        """End the thread."""
        super().close()
        self._thread.join(2.0)


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
        rows = window_rows(Quartz.kCGWindowListOptionOnScreenOnly)
        return [_to_screen_window(row) for row in rows if int(row[Quartz.kCGWindowLayer]) == 0]

    def front_window(self) -> ScreenWindow | None:
        """Return the topmost window of the app that has the keyboard."""
        pid = frontmost_pid()
        return next((one for one in self.list_windows() if one.pid == pid), None)

    def window_at(self, x: float, y: float, *, listed: bool = False) -> ScreenWindow | None:  # noqa: ARG002
        """Return the window on top at a point."""
        return next((one for one in self.list_windows() if one.frame.holds(x, y)), None)

    def raise_window(self, number: int) -> None:
        """Bring a window's app to the front, and the window before its others."""
        pid, element = self._window_element(number)
        activate_process(pid, _SECONDS)
        raise_for_error(Ax.AXUIElementPerformAction(element, Ax.kAXRaiseAction))

    def place_window(self, number: int, frame: Frame) -> None:
        """Move and resize a window."""
        _, element = self._window_element(number)
        place = Quartz.CGPointMake(frame.x, frame.y)
        size = Quartz.CGSizeMake(frame.width, frame.height)
        for name, kind, measure in (
            (Ax.kAXPositionAttribute, Ax.kAXValueTypeCGPoint, place),
            (Ax.kAXSizeAttribute, Ax.kAXValueTypeCGSize, size),
        ):
            value = Ax.AXValueCreate(kind, measure)
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
        pid = frontmost_pid()
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
        pid = frontmost_pid()
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
        event = Quartz.CGEventCreateScrollWheelEvent(None, Quartz.kCGScrollEventUnitLine, 1, -down)
        Quartz.CGEventSetIntegerValueField(event, Quartz.kCGScrollWheelEventDeltaAxis2, -right)
        Quartz.CGEventPost(Quartz.kCGHIDEventTap, event)


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
    for char in text:
        last = parts[-1] if parts else "\n"
        whole = len((last + char).encode("utf-16-le")) > 2 * _CHUNK
        if char in "\n\t" or last in "\n\t" or whole:
            parts.append(char)
        else:
            parts[-1] += char
    return parts
