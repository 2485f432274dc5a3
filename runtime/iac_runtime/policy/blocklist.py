"""Apps that no tool writes to: they hold secrets, give consent, or run whatever they are told.

The list goes by bundle id, compared without case. A call whose target cannot be identified counts
as blocked. Bundle ids of Apple's agents, and the identity that macOS gives to a dialog of
osascript, are from Apple's own Info.plist files as published; only a Mac can confirm them.
"""

import json
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple

_DATA: Final = json.loads(Path(__file__).with_suffix(".json").read_bytes())

FIXED: Final[Mapping[str, str]] = _DATA["fixed"]
"""What no file, flag or variable takes off the list: bundle id or glob -> what it is."""

BUILT_IN: Final[Mapping[str, str]] = _DATA["built in"]
"""What is on the list unless the policy file takes it off: bundle id or glob -> the app's name."""

_OPEN_TEXTS: Final = frozenset(_DATA["open texts"])
"""Entries whose texts may be read: they hold no secrets by trade."""

_IDENTITY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")


class BlockedApp(NamedTuple):
    """Why an app is blocked: the entry that matched, what it is, and whether it can be removed."""

    entry: str
    what: str
    fixed: bool


def is_app_identity(text: str) -> bool:
    """Say whether a text is the identity of an app: a bundle id, or `local.<key>`."""
    return _IDENTITY.match(text) is not None


def find_blocklist_entry(
    app: str, added: Iterable[str] = (), removed: Iterable[str] = ()
) -> BlockedApp | None:
    """Return why `app` (a bundle id) may not be written to, or None if it may.

    Args:
        app: The identity; empty or malformed counts as blocked.
        added: Bundle ids or globs that extend the list.
        removed: Entries of `BUILT_IN` that are off the list.
    """
    if not is_app_identity(app):
        return BlockedApp("without identity", "an app that could not be identified", True)
    wanted = app.casefold()
    off = {entry.casefold() for entry in removed}
    kept = {entry: what for entry, what in BUILT_IN.items() if entry.casefold() not in off}
    for entry, what in (*FIXED.items(), *kept.items(), *((glob, glob) for glob in added)):
        if fnmatchcase(wanted, entry.casefold()):
            return BlockedApp(entry, what, entry in FIXED)
    return None


def is_unreadable_app(app: str) -> bool:
    """Say whether what an app (a bundle id) shows is not read: it keeps secrets, or is unknown."""
    found = find_blocklist_entry(app)
    return found is not None and found.entry not in _OPEN_TEXTS


def is_unreadable_process(name: str) -> bool:
    """Say whether the process of a name is of an app whose texts are not read.

    It goes by the words that it begins with (`1Password 7`), or by the end of the bundle id.
    """
    words = name.casefold().split()
    for entry, what in {**FIXED, **BUILT_IN}.items():
        said = what.casefold().split()
        named = words[: len(said)] == said or words == [entry.casefold().rpartition(".")[2]]
        if named and entry not in _OPEN_TEXTS:
            return True
    return False
