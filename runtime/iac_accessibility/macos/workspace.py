"""Which apps of a Mac run, which is in front, what changes in one and what a window shows.

What NSWorkspace and NSRunningApplication say of changing things stays as it was until the main run
loop turns, which a server's never does (Apple, "NSRunningApplication", Overview). So what changes
is asked of others: the window server for processes with windows and their order, the
accessibility interface for the app with the keyboard, the kernel for processes that ended. An
AXObserver is on the run loop of a thread of its own; that notifications arrive on one that is not
the main one, only a Mac can confirm. `screencapture` takes the window itself, whatever lies before
it, and answers with nothing where this program may not record the screen; only a Mac can confirm.
Source: HIServices, AXUIElement.h and AXNotificationConstants.h; screencapture(1); CGWindow.h.
"""

import os
import plistlib
import tempfile
import threading
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from iac_accessibility.bridge import ChangeQueue
from iac_accessibility.macos.frameworks import (
    AppKit,
    CoreFoundation,
    Quartz,
    fault_of,
    in_autorelease_pool,
    objc,
    raise_for_error,
    read_attribute,
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
    UiApp,
    UiEvent,
    UiFault,
    Unsupported,
    clean_foreign_text,
)
from iac_runtime.toolkit import run_process

_PROBE: Final = 0.3
_STEP: Final = 0.02


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
    found: list[UiApp] = []
    for pid, app in known.items():
        if app.activationPolicy() == AppKit.NSApplicationActivationPolicyProhibited:
            continue
        if pid <= 0 or pid == os.getpid() or not is_process(pid):
            continue
        identifier = str(app.bundleIdentifier() or "")
        name = clean_foreign_text(app.localizedName()) or identifier or str(pid)
        found.append(UiApp(pid, name, identifier, launch_time(app), pid == front))
    return found


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
    found = _running_application(app.pid) if is_process(app.pid) else None
    return found is not None and launch_time(found) == app.started


def activate_process(pid: int, timeout: float) -> None:
    """Bring an app to the front, and wait until it is there.

    Since macOS 14 activating another app is a request that the system may leave unheard, and what
    the call answers says nothing of it (Apple, "Passing control from one app to another with
    cooperative activation"), so the app is asked for it itself as well.

    Raises:
        Gone: It has ended.
        ActionFailed: It did not come to the front in time.
    """
    end = time.monotonic() + timeout
    found = _running_application(pid)
    if found is None:
        raise ElementGone("the app has ended")
    if frontmost_pid() == pid:
        return
    found.activateWithOptions_(0)
    element = with_timeout(Ax.AXUIElementCreateApplication(pid), timeout)
    Ax.AXUIElementSetAttributeValue(element, Ax.kAXFrontmostAttribute, True)
    while frontmost_pid() != pid:
        if time.monotonic() > end:
            raise ActionFailed("macOS did not bring the app to the front")
        time.sleep(_STEP)


def runs_input(app: UiApp) -> bool:
    """Say whether an app is a shell: it declares itself one for executables in its Info.plist."""
    found = _running_application(app.pid)
    bundle = found.bundleURL() if found is not None else None
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
    number, place = _find_window(pid, frame)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "window.png")
        run_process(["/usr/sbin/screencapture", "-x", "-o", f"-l{number}", str(file)], b"", timeout)
        if not file.exists():
            raise Unsupported("screencapture returned no picture")
        with Image.open(file) as image:
            whole = image.convert("RGBA")
    scale = whole.width / max(place.width, 1)
    box = (frame.x - place.x, frame.y - place.y)
    area = tuple(
        round(one * scale) for one in (box[0], box[1], box[0] + frame.width, box[1] + frame.height)
    )
    part = whole.crop(
        (max(area[0], 0), max(area[1], 0), min(area[2], whole.width), min(area[3], whole.height))
    )
    return ScreenPicture(part.size, part.tobytes(), "RGBA", frame)


def _find_window(pid: int, frame: Frame) -> tuple[int, Frame]:
    """Return the number and the place of the topmost window that holds a frame."""
    for row in window_rows(Quartz.kCGWindowListOptionOnScreenOnly):
        bounds: Any = row.get(Quartz.kCGWindowBounds)
        if int(row[Quartz.kCGWindowOwnerPID]) != pid or bounds is None:
            continue
        place = Frame(*(float(bounds[key]) for key in ("X", "Y", "Width", "Height")))
        inside = place.x <= frame.x + 1 and place.y <= frame.y + 1
        if inside and frame.x + frame.width <= place.x + place.width + 1:
            return int(row[Quartz.kCGWindowNumber]), place
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
        fault = fault_of(error)
        if fault is not None:
            raise fault
        self._thread = threading.Thread(target=self._run, name="ax-watch", daemon=True)
        self._thread.start()

    def _wanted_notifications(self) -> list[str]:
        kinds = self._kinds | ({"window_created"} if "window_closed" in self._kinds else set())
        return [name for name, kind in _NOTIFICATIONS.items() if kind in kinds]

    @in_autorelease_pool
    def _run(self) -> None:
        loop = CoreFoundation.CFRunLoopGetCurrent()
        mode = CoreFoundation.kCFRunLoopDefaultMode
        source = Ax.AXObserverGetRunLoopSource(self._observer)
        CoreFoundation.CFRunLoopAddSource(loop, source, mode)
        for name in self._wanted_notifications():
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
