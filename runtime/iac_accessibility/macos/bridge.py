"""The bridge to the accessibility interface of macOS.

Proven on Linux over a look-alike of the frameworks; what only a Mac can confirm is named where it
stands and listed in docs/accessibility.md.
"""

import time
from collections.abc import Collection
from typing import Any, Final

from iac_accessibility.faults import Denied, Failed, Gone, Silent, Unsupported
from iac_accessibility.macos.calls import attribute, many, raised, timed
from iac_accessibility.macos.frameworks import AppKit
from iac_accessibility.macos.frameworks import HIServices as Ax
from iac_accessibility.macos.keys import select_all, type_text
from iac_accessibility.macos.observer import MacWatch
from iac_accessibility.macos.reading import MacReader
from iac_accessibility.macos.workspace import is_installed, running, still_runs
from iac_accessibility.model import App, ChangeKind, Handle, Settable, Want
from iac_accessibility.roles import BOOLEAN_ROLES, action_name, role_name

__all__ = ["MacBridge"]

_DEFAULT_SECONDS: Final = 1.0
_MAX_DEPTH: Final = 200

# Not among the constants of PyObjC: what Electron and Chromium listen to.
_MANUAL: Final = "AXManualAccessibility"
_ENHANCED: Final = "AXEnhancedUserInterface"


class MacBridge:
    """Apps of this Mac."""

    free = Want.IDENTIFIER

    def __init__(self) -> None:
        # On the system-wide element it is the default of this process; macOS would wait 6 s.
        timed(Ax.AXUIElementCreateSystemWide(), _DEFAULT_SECONDS)

    def close(self) -> None:
        """Nothing is held."""

    def apps(self, timeout: float) -> list[App]:  # noqa: ARG002 (the workspace answers at once)
        """Return the apps with an interface."""
        return running()

    def installed(self, name: str) -> bool:
        """Say whether there is such an app."""
        return is_installed(name)

    def alive(self, app: App) -> bool:
        """Say whether the process still runs and is the same."""
        return still_runs(app)

    def root(self, app: App, timeout: float) -> Handle:
        """Return the app's own element, having asked it for its role: that shows permission."""
        element: Handle = Ax.AXUIElementCreateApplication(app.pid)
        try:
            attribute(timed(element, timeout), Ax.kAXRoleAttribute)
        except Silent:
            if not Ax.AXIsProcessTrusted():
                raise Denied("this process is not trusted") from None
            raise
        except Unsupported as fault:
            raise Gone(str(fault)) from None
        return element

    def reader(self, app: App, *, whole: bool, timeout: float) -> MacReader:  # noqa: ARG002
        """Return a reader; macOS has nothing to read in bulk but an element's attributes."""
        return MacReader()

    def ancestors(self, app: App, handle: Handle, timeout: float) -> list[Handle]:  # noqa: ARG002
        """Return the way from the window to the element."""
        end = time.monotonic() + timeout
        way = [handle]
        while len(way) < _MAX_DEPTH:
            left = end - time.monotonic()
            if left <= 0:
                raise Silent("the way up was not followed in time")
            parent = attribute(timed(way[-1], left), Ax.kAXParentAttribute)
            role = attribute(timed(parent, left), Ax.kAXRoleAttribute)
            if role == Ax.kAXApplicationRole or parent in way:
                break
            way.append(parent)
        return way[::-1]

    def focused(self, app: App, timeout: float) -> Handle | None:
        """Return the app's element that has the keyboard, or None."""
        element = timed(Ax.AXUIElementCreateApplication(app.pid), timeout)
        try:
            found: Handle | None = attribute(element, Ax.kAXFocusedUIElementAttribute)
        except Unsupported:
            return None
        return found

    def settable(self, handle: Handle, timeout: float) -> Settable:
        """Return what the element takes: what its value is now says the kind."""
        element = timed(handle, timeout)
        error, can = Ax.AXUIElementIsAttributeSettable(element, Ax.kAXValueAttribute, None)
        try:
            raised(error)
        except Unsupported:
            return Settable(None)
        if not can:
            return Settable(None)
        names = [
            Ax.kAXRoleAttribute,
            Ax.kAXValueAttribute,
            Ax.kAXMinValueAttribute,
            Ax.kAXMaxValueAttribute,
        ]
        role, value, low, high = many(element, names)
        if role_name(str(role)) in BOOLEAN_ROLES:
            return Settable("boolean")
        if isinstance(value, int | float):
            return Settable("number", _number(low), _number(high))
        return Settable("text")

    def is_default(self, handle: Handle, window: Handle, timeout: float) -> bool:
        """Say whether the element is the window's default button."""
        try:
            found = attribute(timed(window, timeout), Ax.kAXDefaultButtonAttribute)
        except Unsupported:
            return False
        return bool(found == handle)

    def perform(self, handle: Handle, action: str, timeout: float) -> None:
        """Carry out an action."""
        element = timed(handle, timeout)
        error, names = Ax.AXUIElementCopyActionNames(element, None)
        raised(error)
        for name in names or ():
            if action_name(str(name)) == action:
                raised(Ax.AXUIElementPerformAction(element, name))
                return
        raise Unsupported(f"no action {action}")

    def set_value(self, handle: Handle, value: str | float | bool, timeout: float) -> None:
        """Set the value."""
        element = timed(handle, timeout)
        raised(Ax.AXUIElementSetAttributeValue(element, Ax.kAXValueAttribute, value))

    def type_text(self, app: App, handle: Handle, text: str, timeout: float) -> None:
        """Bring the app to the front, focus the element, check that, and type."""
        end = time.monotonic() + timeout
        element = timed(handle, timeout)
        found = AppKit.NSRunningApplication.runningApplicationWithProcessIdentifier_(app.pid)
        if found is None:
            raise Gone("the app has ended")
        found.activateWithOptions_(AppKit.NSApplicationActivateIgnoringOtherApps)
        raised(Ax.AXUIElementSetAttributeValue(element, Ax.kAXFocusedAttribute, True))
        while not attribute(element, Ax.kAXFocusedAttribute):
            if time.monotonic() > end:
                raise Failed("the element did not take the keyboard")
            time.sleep(0.02)
        select_all(app.pid)
        type_text(app.pid, text)

    def watch(self, app: App, kinds: Collection[ChangeKind]) -> MacWatch:
        """Begin to collect changes in the app."""
        return MacWatch(app, kinds)

    def wake(self, app: App) -> str:
        """Switch on what Electron and Chromium listen to; they may answer with an error and do it.

        Users report that an app woken so reacts more slowly to typing.
        """
        element = timed(Ax.AXUIElementCreateApplication(app.pid), _DEFAULT_SECONDS)
        answers = [
            Ax.AXUIElementSetAttributeValue(element, name, True) for name in (_MANUAL, _ENHANCED)
        ]
        took = any(answer == Ax.kAXErrorSuccess for answer in answers)
        sure = "" if took else " (it did not confirm)"
        return f"{app.name} builds its tree on demand, so it was asked for it{sure}"


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None
