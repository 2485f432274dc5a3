"""Apps that no tool writes to: they hold secrets, give consent, or run whatever they are told.

The list goes by bundle id, compared without case. A call whose target cannot be identified counts
as blocked. Bundle ids of Apple's agents, and the identity that macOS gives to a dialog of
osascript, are from Apple's own Info.plist files as published; only a Mac can confirm them.
"""

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

__all__ = ["BUILT_IN", "FIXED", "Blocked", "blocked", "is_identity"]

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
