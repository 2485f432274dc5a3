"""The bridge to the accessibility interface of macOS.

Proven on Linux over a look-alike of the frameworks; what only a Mac can confirm is named where it
stands and listed in docs/accessibility.md. Keys: text as Unicode, posted to the process that is
meant; a key event holds at most 20 UTF-16 units of text.
Source: Quartz Event Services, CGEvent.h.
"""

import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from iac_accessibility.bridge import parse_stroke
from iac_accessibility.macos import desktop
from iac_accessibility.macos.desktop import MacInputDevices, MacWatch
from iac_accessibility.macos.frameworks import (
    AppKit,
    CoreFoundation,
    pool_methods,
    raise_for_error,
    read_attribute,
    read_attributes,
    with_timeout,
)
from iac_accessibility.macos.frameworks import HIServices as Ax
from iac_accessibility.macos.reading import MacReader, children_of
from iac_accessibility.model import (
    BOOLEAN_ROLES,
    TEXT_MARGIN,
    AcceptedValue,
    AccessDenied,
    ActionFailed,
    AppNotResponding,
    ChangeKind,
    Detail,
    ElementGone,
    Frame,
    Handle,
    ScreenPicture,
    UiApp,
    UiFault,
    Unsupported,
    action_name,
    clean_text_part,
    role_name,
)
from iac_accessibility.risk import hidden_in

_DEFAULT_SECONDS: Final = 1.0
_MAX_DEPTH: Final = 200
_FOLDERS: Final = ("/Applications", "/System/Applications", "/System/Applications/Utilities")

# Not among the constants of PyObjC: what Electron and Chromium listen to.
_MANUAL: Final = "AXManualAccessibility"
_ENHANCED: Final = "AXEnhancedUserInterface"

_SCROLL_TO: Final = "AXScrollToVisible"
"""An action of web areas and of what is in them; not among the constants either."""


@pool_methods
class MacBridge:
    """Apps of this Mac."""

    free = Detail.IDENTIFIER | Detail.VALUE
    # A static text is called by its value.
    select_all_keys = parse_stroke("cmd+a")
    text_end_keys = parse_stroke("cmd+down")

    def __init__(self) -> None:
        # On the system-wide element it is the default of this process; macOS would wait 6 s.
        with_timeout(Ax.AXUIElementCreateSystemWide(), _DEFAULT_SECONDS)
        self._prompted = False
        self.input_devices = MacInputDevices()
        self._woken: dict[int, UiApp] = {}

    def close(self) -> None:
        """Switch back what was switched on in apps that still run."""
        for app in self._woken.values():
            if desktop.is_alive(app):
                element = with_timeout(Ax.AXUIElementCreateApplication(app.pid), _DEFAULT_SECONDS)
                Ax.AXUIElementSetAttributeValue(element, _ENHANCED, False)
        self._woken.clear()

    def running_apps(self, timeout: float) -> list[UiApp]:  # noqa: ARG002 (the workspace answers at once)
        """Return the apps with an interface: those in the Dock, and those of the menu bar."""
        return desktop.running_apps()

    def is_installed(self, name: str) -> bool:
        """Say whether an app of that bundle id, or in a usual folder under that name, is there."""
        shared = AppKit.NSWorkspace.sharedWorkspace()
        if shared.URLForApplicationWithBundleIdentifier_(name) is not None:
            return True
        if "/" in name:
            return False
        folders = [*map(Path, _FOLDERS), Path.home() / "Applications"]
        return any((folder / f"{name}.app").exists() for folder in folders)

    def is_alive(self, app: UiApp) -> bool:
        """Say whether the process runs and is the one that was launched then."""
        return desktop.is_alive(app)

    def app_element(self, app: UiApp, timeout: float) -> Handle:
        """Return the app's own element, having asked it for its role: that shows permission."""
        element: Handle = Ax.AXUIElementCreateApplication(app.pid)
        try:
            read_attribute(with_timeout(element, timeout), Ax.kAXRoleAttribute)
        except (AppNotResponding, AccessDenied):
            self._check_trusted()
            raise
        except Unsupported as fault:
            raise ElementGone(str(fault)) from None
        return element

    def _check_trusted(self) -> None:
        """Raise if this process is not trusted; macOS puts its own question about it up once.

        Source: AXUIElement.h, AXIsProcessTrustedWithOptions.
        """
        if Ax.AXIsProcessTrusted():
            return
        if not self._prompted:
            self._prompted = True
            Ax.AXIsProcessTrustedWithOptions({Ax.kAXTrustedCheckOptionPrompt: True})
        raise AccessDenied("this process has no Accessibility permission")

    def open_reader(self, app: UiApp, *, whole: bool, timeout: float) -> MacReader:  # noqa: ARG002
        """Return a reader; macOS has nothing to read in bulk but an element's attributes."""
        return MacReader(hides=hidden_in(app.id))

    def ancestor_handles(self, app: UiApp, handle: Handle, timeout: float) -> list[Handle]:  # noqa: ARG002
        """Return the way from the window to the element."""
        end = time.monotonic() + timeout
        way = [handle]
        while len(way) < _MAX_DEPTH:
            left = end - time.monotonic()
            if left <= 0:
                raise AppNotResponding("the element's containers could not be read in time")
            parent = read_attribute(with_timeout(way[-1], left), Ax.kAXParentAttribute)
            role = read_attribute(with_timeout(parent, left), Ax.kAXRoleAttribute)
            if role == Ax.kAXApplicationRole or parent in way:
                break
            way.append(parent)
        return way[::-1]

    def focused_element(self, app: UiApp, timeout: float) -> Handle | None:
        """Return the app's element that has the keyboard, or None."""
        element = with_timeout(Ax.AXUIElementCreateApplication(app.pid), timeout)
        try:
            focused: Handle | None = read_attribute(element, Ax.kAXFocusedUIElementAttribute)
        except Unsupported:
            return None
        return focused

    def take_picture(self, app: UiApp, frame: Frame, timeout: float) -> ScreenPicture:
        """Return what the window server shows of the window that holds a frame."""
        # Needed for pictures only.
        from iac_accessibility.macos.desktop import capture_window

        return capture_window(app.pid, frame, timeout)

    def accepted_value(self, handle: Handle, timeout: float) -> AcceptedValue:
        """Return what the element takes: what its value is now says the kind."""
        element = with_timeout(handle, timeout)
        error, can = Ax.AXUIElementIsAttributeSettable(element, Ax.kAXValueAttribute, None)
        try:
            raise_for_error(error)
        except Unsupported:
            return AcceptedValue(None)
        if not can:
            return AcceptedValue(None)
        names = [Ax.kAXRoleAttribute, Ax.kAXMinValueAttribute, Ax.kAXMaxValueAttribute]
        role, low, high, value = read_attributes(element, [*names, Ax.kAXValueAttribute])
        if role_name(str(role)) in BOOLEAN_ROLES:
            return AcceptedValue("boolean")
        if isinstance(value, int | float):
            return AcceptedValue("number", _to_number(low), _to_number(high))
        return AcceptedValue("text")

    def is_default(self, handle: Handle, window: Handle, timeout: float) -> bool:
        """Say whether the element is the default button of what holds it: a sheet, its window.

        A sheet is an element inside its window, and has a default button of its own.
        """
        element = with_timeout(handle, timeout)
        holders = [window]
        with suppress(Unsupported):
            holders.insert(0, read_attribute(element, Ax.kAXTopLevelUIElementAttribute))
        for holder in dict.fromkeys(holders):
            with suppress(Unsupported):
                return bool(
                    read_attribute(with_timeout(holder, timeout), Ax.kAXDefaultButtonAttribute)
                    == handle
                )
        return False

    def read_children(
        self, handle: Handle, start: int, most: int, timeout: float
    ) -> tuple[list[Handle], int]:
        """Return children from a number on, in one exchange."""
        children, total = children_of(with_timeout(handle, timeout), start, most)
        return list(children), total

    def read_text(self, handle: Handle, start: int, most: int, timeout: float) -> tuple[str, int]:
        """Return a part of a text, by its range; of an element without ranges, of its value."""
        element = with_timeout(handle, timeout)
        try:
            total = int(read_attribute(element, Ax.kAXNumberOfCharactersAttribute))
        except Unsupported:
            value = read_attribute(element, Ax.kAXValueAttribute)
            whole = value if isinstance(value, str) else ""
            return clean_text_part(whole, start, start + most), len(whole)
        count = min(most, total - start)
        if count <= 0:
            return "", total
        first = max(start - TEXT_MARGIN, 0)
        length = min(count + TEXT_MARGIN, total - start) + start - first
        part = Ax.AXValueCreate(Ax.kAXValueTypeCFRange, CoreFoundation.CFRangeMake(first, length))
        name = Ax.kAXStringForRangeParameterizedAttribute
        error, text = Ax.AXUIElementCopyParameterizedAttributeValue(element, name, part, None)
        raise_for_error(error)
        return clean_text_part(str(text), start - first, start - first + count), total

    def perform_action(self, handle: Handle, action: str, timeout: float) -> None:
        """Carry out an action."""
        element = with_timeout(handle, timeout)
        error, names = Ax.AXUIElementCopyActionNames(element, None)
        raise_for_error(error)
        for name in names or ():
            if action_name(str(name)) == action:
                raise_for_error(Ax.AXUIElementPerformAction(element, name))
                return
        raise Unsupported(f"no action {action}")

    def set_value(self, handle: Handle, value: str | float | bool, timeout: float) -> None:
        """Set the value."""
        element = with_timeout(handle, timeout)
        raise_for_error(Ax.AXUIElementSetAttributeValue(element, Ax.kAXValueAttribute, value))

    def other_names(self, app: UiApp) -> Sequence[str]:
        """Return the titles of the app's windows."""
        return [
            one.title
            for one in self.input_devices.list_windows()
            if one.pid == app.pid and one.title
        ]

    def runs_input(self, app: UiApp) -> bool:
        """Say whether the app declares itself a shell."""
        return desktop.runs_input(app)

    def answers_late(self, app: UiApp, timeout: float) -> bool:  # noqa: ARG002
        """Say no: an app answers while its dialog is open."""
        return False

    def grab_focus(self, handle: Handle, timeout: float) -> None:
        """Give an element the keyboard."""
        element = with_timeout(handle, timeout)
        raise_for_error(Ax.AXUIElementSetAttributeValue(element, Ax.kAXFocusedAttribute, True))

    def has_focus(self, handle: Handle, timeout: float) -> bool:
        """Say whether an element has the keyboard."""
        return bool(read_attribute(with_timeout(handle, timeout), Ax.kAXFocusedAttribute))

    def insert_text(self, handle: Handle, text: str, timeout: float) -> None:
        """Put a text in behind all that is there: over an empty selection at the end."""
        element = with_timeout(handle, timeout)
        count = int(read_attribute(element, Ax.kAXNumberOfCharactersAttribute))
        self._select_range(element, count, 0)
        raise_for_error(Ax.AXUIElementSetAttributeValue(element, Ax.kAXSelectedTextAttribute, text))

    def select_all(self, handle: Handle, timeout: float) -> bool:
        """Select what a text holds."""
        element = with_timeout(handle, timeout)
        self._select_range(
            element, 0, int(read_attribute(element, Ax.kAXNumberOfCharactersAttribute))
        )
        return True

    def _select_range(self, element: Any, start: int, count: int) -> None:
        part = Ax.AXValueCreate(Ax.kAXValueTypeCFRange, CoreFoundation.CFRangeMake(start, count))
        name = Ax.kAXSelectedTextRangeAttribute
        raise_for_error(Ax.AXUIElementSetAttributeValue(element, name, part))

    def select_child(self, handle: Handle, index: int, timeout: float) -> None:
        """Select a child by its place."""
        children, _ = children_of(with_timeout(handle, timeout), index, 1)
        if not children:
            raise ElementGone("the option is gone")
        raise_for_error(Ax.AXUIElementSetAttributeValue(children[0], Ax.kAXSelectedAttribute, True))

    def element_at(self, window: Handle, x: float, y: float, timeout: float) -> Handle | None:  # noqa: ARG002
        """Return what lies at a point of the screen, whatever window or app it is of."""
        system = with_timeout(Ax.AXUIElementCreateSystemWide(), timeout)
        error, handle = Ax.AXUIElementCopyElementAtPosition(system, x, y, None)
        with_timeout(system, _DEFAULT_SECONDS)
        raise_for_error(error)
        innermost: Handle | None = handle
        return innermost

    def scroll_to(self, handle: Handle, timeout: float) -> bool:
        """Bring an element into view, where it has that action."""
        try:
            raise_for_error(Ax.AXUIElementPerformAction(with_timeout(handle, timeout), _SCROLL_TO))
        except (Unsupported, ActionFailed):
            return False
        return True

    def full_text(self, handle: Handle, timeout: float) -> str | None:
        """Return the whole text; None where it is a secret, or the element has none."""
        element = with_timeout(handle, timeout)
        subrole, value = read_attributes(element, [Ax.kAXSubroleAttribute, Ax.kAXValueAttribute])
        if subrole == Ax.kAXSecureTextFieldSubrole:
            return None
        return str(value) if isinstance(value, str) else None

    def watch_changes(self, app: UiApp, kinds: Collection[ChangeKind]) -> MacWatch:
        """Begin to collect changes in the app."""
        return MacWatch(app, kinds)

    def request_tree(self, app: UiApp) -> str:
        """Switch on what Electron and Chromium listen to; they may answer with an error and do it.

        Users report that an app woken so reacts more slowly to typing, and that its windows move
        with an animation (Hammerspoon #3836), so the second switch is put back in the end if it
        was off.
        """
        element = with_timeout(Ax.AXUIElementCreateApplication(app.pid), _DEFAULT_SECONDS)
        try:
            before = bool(read_attribute(element, _ENHANCED))
        except UiFault:
            before = False
        answers = [
            Ax.AXUIElementSetAttributeValue(element, name, True) for name in (_MANUAL, _ENHANCED)
        ]
        if not before:
            self._woken[app.pid] = app
        took = any(answer == Ax.kAXErrorSuccess for answer in answers)
        sure = "" if took else " (it did not confirm)"
        return f"{app.name} builds its tree on demand, so it was asked for it{sure}"


def _to_number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None
