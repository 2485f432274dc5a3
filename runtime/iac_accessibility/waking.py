"""Browsers and Electron apps build their tree only when somebody asks; here they are asked.

Reports say that on macOS the switches often answer with an error and work all the same, and that
what counts is the time since the app got the focus; only a Mac can confirm that. So an app is
asked once per process, given a short while, and read again.
"""

import re
import threading
import time
from typing import Final

from iac_accessibility.faults import Fault
from iac_accessibility.model import App, Want
from iac_accessibility.session import Session
from iac_accessibility.traverse import Limits, Walk, walk
from iac_base.errors import ToolError

__all__ = ["sleeps", "woken"]

_BROWSERS: Final = re.compile(
    r"chrom|electron|brave|vivaldi|opera|msedge|slack|discord|vscode|signal|notion|figma|spotify"
    r"|teams|obsidian|postman|firefox|webkit|safari",
    re.IGNORECASE,
)
_STEP: Final = 0.15
_SHORT: Final = 0.6
_asked: set[tuple[int, float]] = set()
_lock = threading.Lock()


def sleeps(app: App, seen: Walk) -> bool:
    """Say whether a tree looks as if it had not been built: windows without anything in them."""
    areas = [branch for branch in seen.order if branch.node.role == "web_area"]
    if areas:
        return not any(branch.node.children for branch in areas)
    windows = [branch for branch in seen.order if branch.depth == 1]
    # Chromium counts children that it does not hand out yet.
    empty = not any(branch.node.children for branch in windows)
    return empty and (bool(windows) or bool(_BROWSERS.search(f"{app.name} {app.id}")))


def woken(session: Session, app: App, seen: Walk, end: float) -> str:
    """Wake an app whose tree is empty, and wait for it until `end` at most.

    Returns:
        What was done, as a sentence; empty where nothing was.
    """
    if not sleeps(app, seen):
        return ""
    with _lock:
        first = (app.pid, app.started) not in _asked
        _asked.add((app.pid, app.started))
    try:
        done = session.bridge.wake(app) if first else ""
    except Fault as fault:
        done = f"it could not be asked to build its tree ({fault})"
    if not first:
        return ""
    if not _BROWSERS.search(f"{app.name} {app.id}"):
        # Most likely a window with nothing in it.
        end = min(end, time.monotonic() + _SHORT)
    grown = _wait(session, app, end)
    state = "" if grown else "; it is still empty, so try again in a few seconds"
    return f"The tree was empty: {done}{state}." if done else ""


def _wait(session: Session, app: App, end: float) -> bool:
    while time.monotonic() + _STEP < end:
        time.sleep(_STEP)
        try:
            reader, root = session.open(app, max(end - time.monotonic(), 0.1), whole=False)
        except ToolError:
            continue
        limits = Limits(max(end - time.monotonic(), 0.1), 4, nodes=300)
        again = walk(reader, root, Want.NOTHING, limits)
        if not sleeps(app, again):
            return True
    return False
