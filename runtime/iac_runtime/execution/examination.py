"""How things stand with an app and with this Mac, as plain values."""

import platform
from dataclasses import dataclass
from typing import Any, Literal

from iac_runtime.execution.permission import Permitted, permitted

__all__ = ["AppState", "Permitted", "Version", "app_state", "read_version"]

Known = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Version:
    """The version of macOS (empty elsewhere), and the path of the osascript, None if none."""

    macos: str
    osascript: str | None


@dataclass(frozen=True, slots=True)
class AppState:
    """How things stand with an app.

    Attributes:
        bundle_id: The app.
        installed: Whether the system knows an app of this bundle id.
        scriptable: Whether its dictionary could be loaded.
        running: Whether it runs.
        permitted: Whether macOS lets this process send it events.
        reason: One line on what stands in the way of a call; empty if nothing does.
    """

    bundle_id: str
    installed: Known
    scriptable: Known
    running: Known
    permitted: Permitted
    reason: str


def read_version(osascript: str | None) -> Version:
    """Return the versions of this machine."""
    return Version(platform.mac_ver()[0], osascript)


def app_state(facts: Any, bundle_id: str, failure: str = "") -> AppState:
    """Return the state of an app.

    Args:
        facts: The harness's record `[[name, true, false or null], ...]`; anything else is
            taken for unknown.
        failure: Why there are no facts, one line.
    """
    fields = facts.get("record") if isinstance(facts, dict) else None
    found = {
        str(field[0]): field[1]
        for field in (fields if isinstance(fields, list) else [])
        if isinstance(field, list) and len(field) == 2
    }
    installed = _known(found.get("installed"))
    scriptable, running = _known(found.get("scriptable")), _known(found.get("running"))
    may = permitted(bundle_id)
    reason = failure or _reason(installed, scriptable, running, may)
    return AppState(bundle_id, installed, scriptable, running, may, reason)


def _known(value: Any) -> Known:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "unknown"


def _reason(installed: Known, scriptable: Known, running: Known, may: Permitted) -> str:
    if installed == "no":
        return "It is not installed."
    if scriptable == "no":
        return "Its scripting dictionary could not be loaded."
    if may == "no":
        return "macOS does not allow it to be controlled: Privacy & Security > Automation."
    if running == "no":
        return "It is not running; app_launch starts it."
    if may == "would ask":
        return "macOS will ask for permission at the first call."
    return ""
