"""The path of the file that an object of Finder or System Events is, as far as its steps tell.

Both take more than a plain name where a name is due: a path with colons, from a disk on or from
the folder at hand, in which an empty part climbs; System Events also one with slashes, or with a
tilde (Apple, System Events dictionary, "disk item"). `container` and `disk` climb too. What
cannot be told ends in `?`, or has no path.
"""

import posixpath
from collections.abc import Mapping
from typing import Final

from iac_runtime.language.steps import Boundary, ByIndex, ByName, Every, Go, Step, Whose

__all__ = ["FILE_APPS", "FINDER", "SYSTEM_EVENTS", "path_of_steps"]

FINDER: Final = "com.apple.finder"
SYSTEM_EVENTS: Final = "com.apple.systemevents"
FILE_APPS: Final = frozenset({FINDER, SYSTEM_EVENTS, "com.apple.imageevents"})
"""The apps whose objects are files; Image Events has the file suite of System Events."""

_ROOTS: Final[Mapping[str, str]] = {
    "applicationsFolder": "/Applications",
    "applicationSupportFolder": "~/Library/Application Support",
    "desktop": "~/Desktop",
    "desktopFolder": "~/Desktop",
    "documentsFolder": "~/Documents",
    "downloadsFolder": "~/Downloads",
    "folderActionScriptsFolder": "~/Library/Scripts/Folder Action Scripts",
    "home": "~",
    "homeFolder": "~",
    "libraryFolder": "~/Library",
    "moviesFolder": "~/Movies",
    "musicFolder": "~/Music",
    "picturesFolder": "~/Pictures",
    "preferencesFolder": "~/Library/Preferences",
    "publicFolder": "~/Public",
    "scriptingAdditionsFolder": "~/Library/ScriptingAdditions",
    "scriptsFolder": "~/Library/Scripts",
    "startupDisk": "",
    "startupItemsFolder": "/Library/StartupItems",
    "trash": "~/.Trash",
    "utilitiesFolder": "/Applications/Utilities",
    "workflowsFolder": "~/Library/Workflows",
}
"""Properties that name a folder, by JXA name; of a domain those under the tilde are its own."""

_DOMAINS: Final[Mapping[str, str]] = {
    "localDomain": "",
    "networkDomain": "/Network",
    "systemDomain": "/System",
    "userDomain": "~",
}

_FILES: Final = frozenset(
    "aliases aliasFiles applicationFiles audioFiles clippings containers disks diskItems"
    " documentFiles files filePackages folders internetLocationFiles items movieFiles packages"
    " propertyListFiles quicktimeFiles xmlFiles".split()
)
_ELSEWHERE: Final = frozenset({"originalItem", "target"})
"""Properties of a file that lead to another one, nobody here knows where."""

_BOOT: Final = frozenset("applications library private system users volumes".split())
"""Folders at the root of a startup disk, whatever it is called."""


def path_of_steps(steps: tuple[Step, ...], app: str, home: str) -> str | None:
    """Return the absolute path of what `steps` name in `app` (a bundle id), None if it has none.

    Of something inside a file, as an item of a property list, it is the path of the file.
    """
    finder = app.casefold() == FINDER
    if not steps or app.casefold() not in FILE_APPS:
        return None
    path: str | None = None
    base = home
    for at, step in enumerate(steps):
        match step:
            case Every(name) if name not in _FILES:
                return path
            case Every(name) if at == 0:
                # What Finder itself holds are the disks, and the items of the desktop.
                path = "/Volumes" if name == "disks" else f"{home}/Desktop" if finder else "?"
            case Every() | Boundary():
                pass
            case Go(name) if name in _DOMAINS:
                path = base = _DOMAINS[name].replace("~", home)
            case Go(name) if name in _ROOTS:
                path = _ROOTS[name].replace("~", base, 1)
            case Go(name) if path is None or name in _ELSEWHERE:
                return None
            case Go("container") if path is not None:
                path = posixpath.dirname(path)
            case Go("disk") if path is not None:
                path = "/".join(path.split("/")[:3]) if path.startswith("/Volumes/") else ""
            case Go():
                pass
            case ByName(name) if path is not None:
                path = _named(path, name, home, first=at == 1, finder=finder)
                if path.startswith("?"):
                    return None
            case ByIndex() | Whose() if path not in (None, "?"):
                path = f"{path}/?"
            case _:
                return None
    return "/" if path == "" else path if path != "?" else None


def _named(path: str, name: str, home: str, *, first: bool, finder: bool) -> str:
    if not finder and name.startswith(("/", "~")):
        return posixpath.normpath(home + name[1:] if name.startswith("~") else name)
    if ":" not in name:
        # Finder shows a slash where the file system has a colon.
        return f"{path}/{name.replace('/', ':') if finder else name}"
    head, *rest = name.rstrip(":").split(":")
    if first and head:
        boot = rest and rest[0].casefold() in _BOOT
        return posixpath.normpath("/" + "/".join(rest if boot else ["Volumes", head, *rest]))
    for part in (head, *rest) if head else rest:
        path = f"{path}/{part}" if part else posixpath.dirname(path)
    return path
