"""Which apps run, which is in front, and bringing one there, without a main run loop.

What NSWorkspace and NSRunningApplication say of changing things stays as it was until the main run
loop turns, which a server's never does (Apple, "NSRunningApplication", Overview). So what changes
is asked of others: the window server for processes with windows and their order, the
accessibility interface for the app with the keyboard, the kernel for processes that ended.
"""

import os
import plistlib
import time
from pathlib import Path
from typing import Any, Final

from iac_accessibility.macos.frameworks import (
    AppKit,
    Quartz,
    raise_for_error,
    read_attribute,
    with_timeout,
)
from iac_accessibility.macos.frameworks import HIServices as Ax
from iac_accessibility.model import ActionFailed, ElementGone, UiApp, UiFault, clean_foreign_text

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
