"""Running apps on a Mac. Only a Mac can confirm these selectors: wheels say nothing of them."""

import os
from pathlib import Path
from typing import Any

from iac_accessibility.macos.frameworks import AppKit
from iac_accessibility.model import App, cleaned

__all__ = ["is_installed", "running", "still_runs"]

_FOLDERS = ("/Applications", "/System/Applications", "/System/Applications/Utilities")


def running() -> list[App]:
    """Return the apps with an interface: those in the Dock, and those of the menu bar."""
    found: list[App] = []
    for app in AppKit.NSWorkspace.sharedWorkspace().runningApplications():
        if app.activationPolicy() == AppKit.NSApplicationActivationPolicyProhibited:
            continue
        pid = int(app.processIdentifier())
        if pid <= 0 or pid == os.getpid():
            continue
        identifier = str(app.bundleIdentifier() or "")
        name = cleaned(app.localizedName()) or identifier or str(pid)
        found.append(App(pid, name, identifier, _launched(app), bool(app.isActive())))
    return found


def still_runs(app: App) -> bool:
    """Say whether the process runs and is the one that was launched then."""
    try:
        os.kill(app.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    cls = AppKit.NSRunningApplication
    found = cls.runningApplicationWithProcessIdentifier_(app.pid)
    return found is not None and not found.isTerminated() and _launched(found) == app.started


def is_installed(name: str) -> bool:
    """Say whether an app of that bundle id, or in a usual folder under that name, is there."""
    workspace = AppKit.NSWorkspace.sharedWorkspace()
    if workspace.URLForApplicationWithBundleIdentifier_(name) is not None:
        return True
    if "/" in name:
        return False
    folders = [*map(Path, _FOLDERS), Path.home() / "Applications"]
    return any((folder / f"{name}.app").exists() for folder in folders)


def _launched(app: Any) -> float:
    date = app.launchDate()
    return 0.0 if date is None else float(date.timeIntervalSince1970())
