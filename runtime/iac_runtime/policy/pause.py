"""The pause of everything: while it lasts, every call of every program of this user is refused.

It is a file of the private state folder, so that all servers see it at once, and one that starts
later too. A person begins and ends it, on the page or with `iac-mcp policy pause` and `resume`.
"""

import time
from pathlib import Path
from typing import Final

from iac_base.files import write_whole
from iac_runtime.policy.facts import TIME

_FILE: Final = "paused"


def pause_path(state: Path) -> Path:
    """Return the file that is there while everything is paused."""
    return state / _FILE


def pause_calls(state: Path) -> None:
    """Refuse all calls from now on. Raises OSError."""
    write_whole(pause_path(state), time.strftime(TIME), mode=0o600)


def resume_calls(state: Path) -> bool:
    """End the pause; say whether there was one. Raises OSError."""
    path = pause_path(state)
    was = path.exists()
    path.unlink(missing_ok=True)
    return was


def paused_since(state: Path) -> str:
    """Return since when everything is paused, in local time; empty where nothing is."""
    try:
        return pause_path(state).read_text("utf-8")
    except FileNotFoundError:
        return ""
