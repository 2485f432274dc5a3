"""Apps that no tool writes to: they hold secrets, give consent, or run whatever they are told.

The list goes by bundle id, compared without case. A call whose target cannot be identified counts
as blocked. Bundle ids of Apple's agents, and the identity that macOS gives to a dialog of
osascript, are from Apple's own Info.plist files as published; only a Mac can confirm them.
"""

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from iac_runtime.language.request import Event
from iac_runtime.language.steps import ByName, Every, Filter, Go, Join, Step, Whose
from iac_runtime.policy.call_view import steps_in

__all__ = ["BUILT_IN", "FIXED", "Blocked", "TargetProcess", "blocked", "is_identity", "processes"]

FIXED: Final[Mapping[str, str]] = {
    "com.apple.SecurityAgent": "SecurityAgent",
    "com.apple.LocalAuthentication.UIAgent": "the Touch ID dialog",
    "com.apple.UserNotificationCenter": "the dialogs of macOS",
    "com.apple.coreservices.uiagent": "the dialogs of macOS",
    "com.apple.loginwindow": "the login window",
    "com.apple.osascript": "the questions of this program",
    "osascript": "the questions of this program",
    "iac*": "this program",
}
"""What no file, flag or variable takes off the list: bundle id or glob -> what it is."""

BUILT_IN: Final[Mapping[str, str]] = {
    "com.apple.keychainaccess": "Keychain Access",
    "com.apple.Passwords": "Passwords",
    "com.apple.Passwords.MenuBarExtra": "Passwords",
    "com.apple.Terminal": "Terminal",
    "com.googlecode.iterm2": "iTerm2",
    "com.apple.systempreferences": "System PolicySettings",
    "com.apple.systempreferences.*": "System PolicySettings",
    "com.1password.*": "1Password",
    "com.agilebits.*": "1Password",
    "com.bitwarden.*": "Bitwarden",
    "com.callpod.*": "Keeper",
    "com.dashlane.*": "Dashlane",
    "com.hicknhacksoftware.MacPass": "MacPass",
    "com.lastpass.*": "LastPass",
    "com.markmcguill.*": "Strongbox",
    "com.nordpass.*": "NordPass",
    "com.nordsec.nordpass": "NordPass",
    "com.outercorner.*": "Secrets",
    "in.sinew.*": "Enpass",
    "me.proton.pass.*": "Proton Pass",
    "org.keepassx.keepassx": "KeePassX",
    "org.keepassxc.keepassxc": "KeePassXC",
}
"""What is on the list unless the policy file takes it off: bundle id or glob -> the app's name."""

_IDENTITY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")


class Blocked(NamedTuple):
    """Why an app is blocked: the entry that matched, what it is, and whether it can be removed."""

    entry: str
    what: str
    fixed: bool


def is_identity(text: str) -> bool:
    """Say whether a text is the identity of an app: a bundle id, or `local.<key>`."""
    return _IDENTITY.match(text) is not None


def blocked(app: str, added: Iterable[str] = (), removed: Iterable[str] = ()) -> Blocked | None:
    """Return why `app` (a bundle id) may not be written to, or None if it may.

    Args:
        app: The identity; empty or malformed counts as blocked.
        added: Bundle ids or globs that extend the list.
        removed: Entries of `BUILT_IN` that are off the list.
    """
    if not is_identity(app):
        return Blocked("without identity", "an app whose identity could not be read", True)
    wanted = app.casefold()
    off = {entry.casefold() for entry in removed}
    for entry, what in FIXED.items():
        if fnmatchcase(wanted, entry.casefold()):
            return Blocked(entry, what, True)
    for entry, what in BUILT_IN.items():
        if entry.casefold() not in off and fnmatchcase(wanted, entry.casefold()):
            return Blocked(entry, what, False)
    for entry in added:
        if fnmatchcase(wanted, entry.casefold()):
            return Blocked(entry, entry, False)
    return None


_PROCESSES: Final = frozenset(
    {"applicationProcesses", "deskAccessoryProcesses", "processes", "uiElements"}
)
"""Where the application has processes; a process is an interface element too."""


class TargetProcess(NamedTuple):
    """A process that a request of System Events goes through.

    Attributes:
        name, bundle: As the request chooses it; both empty for one that is chosen otherwise.
        inside: Whether the request goes on to its windows or elements.
    """

    name: str
    bundle: str
    inside: bool


def processes(event: Event) -> list[TargetProcess]:
    """Return the processes that a request of System Events reaches into.

    A process that is chosen by position, id or any other filter has no name that could be judged.
    """
    found: list[TargetProcess] = []
    if event.app.casefold() != "com.apple.systemevents":
        return found
    for steps in steps_in(event):
        found += _chosen(steps)
    return found


def _chosen(steps: tuple[Step, ...]) -> list[TargetProcess]:
    found: list[TargetProcess] = []
    for at, step in enumerate(steps):
        inner = step == Every("uiElements") and at > 0
        if isinstance(step, Every | Go) and step.name in _PROCESSES and not inner:
            after = steps[at + 1] if at + 1 < len(steps) else None
            name, bundle = "", ""
            if isinstance(after, ByName):
                name = after.name
            elif isinstance(after, Whose):
                name, bundle = _filtered(after.filter)
            found.append(TargetProcess(name, bundle, any(map(_inside, steps[at + 1 :]))))
    return found


def _filtered(test: Filter) -> tuple[str, str]:
    """Return the name and the bundle id that a filter wants; empty where it takes others too."""
    if isinstance(test, Join):
        parts = [_filtered(part) for part in test.tests] if test.word == "and" else []
        return next((part for part in parts if any(part)), ("", ""))
    if test.operator != "=" or not isinstance(test.value, str):
        return "", ""
    name = test.value if test.path == (Go("name"),) else ""
    return name, test.value if test.path == (Go("bundleIdentifier"),) else ""


def _inside(step: Step) -> bool:
    """Say whether a step behind a process leads to what it shows, or looks there to choose."""
    if isinstance(step, Whose):
        return _looks(step.filter)
    return isinstance(step, Every) or step == Go("entireContents")


def _looks(test: Filter) -> bool:
    if isinstance(test, Join):
        return any(map(_looks, test.tests))
    return any(map(_inside, test.path))
