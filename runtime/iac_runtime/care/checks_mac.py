"""Checks of what macOS allows: osascript, each app, the accessibility permission."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from iac_runtime.care.findings import Finding, Place
from iac_runtime.catalogue import AppRow, Catalogue
from iac_runtime.errors import SetupError, near_text, quoted
from iac_runtime.execution.examination import AppState
from iac_runtime.execution.responsible import responsible_name
from iac_runtime.folders import tool_folders

__all__ = ["accessibility", "automation", "osascript", "trusted"]

_SIMULATE: Final = "Try it with simulated apps: iac-mcp serve --simulate"
_AT_ONCE: Final = 4
_SECONDS: Final = 10.0
_SERVICES: Final = "/System/Library/Frameworks/ApplicationServices.framework/ApplicationServices"
_AUTOMATION: Final = "System Settings > Privacy & Security > Automation"


def osascript(place: Place) -> Iterator[Finding]:
    """Look whether there is an osascript to run."""
    found = place.examiner.version()
    if found.osascript:
        where = f" on macOS {found.macos}" if found.macos else ""
        yield Finding("osascript", "ok", f"{found.osascript}{where}")
    elif place.is_mac:
        yield Finding(
            "osascript",
            "problem",
            "There is no osascript on the PATH.",
            "Unset IAC_OSASCRIPT, or put /usr/bin on the PATH.",
        )
    else:
        yield Finding("osascript", "warning", "This is not a Mac: no app can be asked.", _SIMULATE)


def automation(place: Place) -> Iterator[Finding]:
    """Ask macOS, for each app with tools, whether this process may control that very app.

    No app is started and nobody is asked. macOS answers for running apps only, and for the program
    that it holds responsible for this one: the terminal here, in a client another.
    """
    if not place.examiner.version().osascript:
        return  # `osascript` has said so.
    try:
        apps = _wanted(Catalogue(tool_folders(place.tools)), place.apps)
    except SetupError as error:
        yield Finding("automation", "problem", str(error), "iac-mcp tools")
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        states = list(pool.map(lambda app: place.examiner.test_app(app.id, _SECONDS), apps))
    resting: list[str] = []
    absent: list[str] = []
    for app, state in zip(apps, states, strict=True):
        if state.installed == "no":
            absent.append(app.name)
        elif state.running == "no" and state.permitted == "unknown":
            resting.append(app.name)
        else:
            yield _judged(app, state)
    if resting:
        names = ", ".join(resting)
        yield Finding("automation", "ok", f"Not running, so macOS cannot say: {names}")
    if absent:
        yield Finding("automation", "ok", f"Not installed here: {', '.join(absent)}")


def _wanted(catalogue: Catalogue, names: tuple[str, ...]) -> list[AppRow]:
    if not names:
        return [app for app in catalogue.apps.values() if app.kind == "application"]
    found: list[AppRow] = []
    for name in names:
        app = catalogue.find_app(name)
        if app is None:
            near = near_text(name, sorted(catalogue.apps))
            raise SetupError(f"There are no tools of {quoted(name)}. {near}".strip())
        found.append(app)
    return found


def _judged(app: AppRow, state: AppState) -> Finding:
    if state.permitted == "no":
        mend = f"{_AUTOMATION}: switch on {app.name} under {responsible_name()}"
        return Finding("automation", "problem", f"macOS does not let {app.name} be asked.", mend)
    if state.scriptable == "no":
        says = f"The dictionary of {app.name} could not be loaded."
        return Finding("automation", "problem", says, f"Open {app.name} once by hand.")
    if state.permitted == "yes":
        return Finding("automation", "ok", f"{app.name} may be asked")
    if state.permitted == "would ask":
        says = f"{app.name}: macOS asks you at the first call"
        return Finding("automation", "ok", says)
    if state.reason:
        return Finding("automation", "warning", f"{app.name}: {state.reason}", "iac-mcp doctor")
    return Finding("automation", "ok", f"{app.name} answers; only macOS knows the permission")


def accessibility(place: Place) -> Iterator[Finding]:
    """Look whether this process may use the accessibility interface, as windows and keys need."""
    if not place.is_mac:
        return
    found = trusted(place.system)
    if found:
        yield Finding("accessibility", "ok", "Windows and buttons of other apps can be reached")
    elif found is None:
        yield Finding("accessibility", "warning", "macOS did not say.", "iac-mcp doctor")
    else:
        yield Finding(
            "accessibility",
            "warning",
            "Windows and buttons of other apps cannot be reached; the apps' own tools can.",
            f"System Settings > Privacy & Security > Accessibility: switch on {responsible_name()}",
        )


def trusted(system: str = sys.platform) -> bool | None:
    """Say whether macOS trusts this process with accessibility; None where it cannot be asked.

    AXIsProcessTrusted (ApplicationServices, AXUIElement.h), which asks nobody. Not confirmed on a
    Mac yet.
    """
    if system != "darwin":
        return None
    import ctypes

    try:
        ask = ctypes.CDLL(_SERVICES).AXIsProcessTrusted
    except (OSError, AttributeError):
        return None
    ask.argtypes, ask.restype = (), ctypes.c_ubyte
    return bool(ask())
