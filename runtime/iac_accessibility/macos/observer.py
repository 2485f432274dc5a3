"""Changes in a Mac app: an AXObserver on the run loop of a thread of its own.

Source: HIServices, AXUIElement.h and AXNotificationConstants.h. That notifications arrive on a
run loop that is not the main one, only a Mac can confirm.
"""

import threading
import time
from collections.abc import Collection
from contextlib import suppress
from typing import Any, Final

from iac_accessibility.bridge import ChangeQueue
from iac_accessibility.macos.frameworks import (
    CoreFoundation,
    HIServices,
    fault_of,
    in_autorelease_pool,
    objc,
    read_attribute,
)
from iac_accessibility.model import ChangeKind, UiApp, UiEvent, UiFault

_NOTIFICATIONS: Final[dict[str, ChangeKind]] = {
    HIServices.kAXValueChangedNotification: "value_changed",
    HIServices.kAXTitleChangedNotification: "title_changed",
    HIServices.kAXFocusedUIElementChangedNotification: "focus_changed",
    HIServices.kAXFocusedWindowChangedNotification: "focus_changed",
    HIServices.kAXSelectedTextChangedNotification: "selection_changed",
    HIServices.kAXSelectedChildrenChangedNotification: "selection_changed",
    HIServices.kAXSelectedRowsChangedNotification: "selection_changed",
    HIServices.kAXRowExpandedNotification: "state_changed",
    HIServices.kAXRowCollapsedNotification: "state_changed",
    HIServices.kAXWindowMiniaturizedNotification: "state_changed",
    HIServices.kAXWindowDeminiaturizedNotification: "state_changed",
    HIServices.kAXWindowCreatedNotification: "window_created",
    HIServices.kAXSheetCreatedNotification: "window_created",
    HIServices.kAXCreatedNotification: "element_created",
    HIServices.kAXUIElementDestroyedNotification: "element_destroyed",
}
_STEP: Final = 0.1


class MacWatch(ChangeQueue):
    """Collects the changes of one app until it is closed."""

    def __init__(self, app: UiApp, kinds: Collection[ChangeKind]) -> None:
        super().__init__()
        self._kinds = set(kinds)
        self._began = time.monotonic()
        self._windows: set[Any] = set()
        self._element = HIServices.AXUIElementCreateApplication(app.pid)
        self._callback = objc.callbackFor(HIServices.AXObserverCreate)(self._on_notification)
        error, self._observer = HIServices.AXObserverCreate(app.pid, self._callback, None)
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
        source = HIServices.AXObserverGetRunLoopSource(self._observer)
        CoreFoundation.CFRunLoopAddSource(loop, source, mode)
        for name in self._wanted_notifications():
            # What an app does not tell of is simply not heard of.
            HIServices.AXObserverAddNotification(self._observer, self._element, name, None)
        if "window_closed" in self._kinds:
            with suppress(UiFault):
                for window in read_attribute(self._element, HIServices.kAXWindowsAttribute) or ():
                    self._watch_window_end(window)
        while not self.closed:
            self._run_loop_once(mode)
        CoreFoundation.CFRunLoopRemoveSource(loop, source, mode)

    @in_autorelease_pool
    def _run_loop_once(self, mode: str) -> None:
        CoreFoundation.CFRunLoopRunInMode(mode, _STEP, False)

    def _watch_window_end(self, window: Any) -> None:
        """Hear of the end of a window: an element's end is told to who asked that element."""
        self._windows.add(window)
        name = HIServices.kAXUIElementDestroyedNotification
        HIServices.AXObserverAddNotification(self._observer, window, name, None)

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
