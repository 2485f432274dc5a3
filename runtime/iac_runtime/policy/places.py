"""Files as the policy sees them: one identity for a path, and what kind of place it is.

macOS compares names without case and without regard to composed accents (APFS, the default), and
shows the data volume under two roots: `/System/Volumes/Data/Users` is `/Users`, `/private/var` is
`/var` (Apple, "Role of Apple File System", firmlinks). Finder's alias files are files of their own
format: only a Mac can resolve one.

Both take more than a plain name where a name is due: a path with colons, from a disk on or from
the folder at hand, in which an empty part climbs; System Events also one with slashes, or with a
tilde (Apple, System Events dictionary, "disk item"). `container` and `disk` climb too. What
cannot be told ends in `?`, or has no path.

The places, suffixes and names themselves are in places.json.
"""

import json
import os
import posixpath
import stat
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from iac_runtime.language.steps import (
    AllElements,
    Boundary,
    ByIndex,
    ByName,
    MiddleOrSome,
    PropertyStep,
    RelativeTo,
    Span,
    Step,
    Whose,
)

FileKind = Literal["none", "file", "folder", "special", "unknown"]


class FileSystem(Protocol):
    """What the rules ask of a file system."""

    def file_kind(self, path: str) -> FileKind:
        """Say what is at `path`; `special` is a device, a pipe or a socket."""
        ...

    def resolve_links(self, path: str) -> str:
        """Return `path` with its links resolved, as far as it exists."""
        ...


class LocalFileSystem:
    """The file system of this machine."""

    def file_kind(self, path: str) -> FileKind:
        """Say what is at `path`; links are followed."""
        try:
            mode = Path(path).stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return "none"
        except (OSError, ValueError):
            return "unknown"
        if stat.S_ISDIR(mode):
            return "folder"
        return "file" if stat.S_ISREG(mode) else "special"

    def resolve_links(self, path: str) -> str:
        """Return `path` with its links resolved, as far as it exists."""
        try:
            return os.path.realpath(path)
        except (OSError, ValueError):
            return path


_FIRMLINKS: Final = ("/System/Volumes/Data", "/private")
"""Second names of what lies at the root; `/private` holds `etc`, `tmp` and `var`."""


def path_identity(path: str) -> str:
    """Return the one form in which paths are compared: composed, without case, without firmlinks.

    `path` is absolute. Every step is compared whole (`/allowed_evil` is not under `/allowed`).
    """
    text = posixpath.normpath("/" + unicodedata.normalize("NFC", path).lstrip("/"))
    for root in _FIRMLINKS:
        if text.casefold().startswith(root.casefold() + "/"):
            text = text[len(root) :]
    return unicodedata.normalize("NFC", text.casefold())


def parse_file_url(url: str) -> str | None:
    """Return the path of a `file:` URL, decoded once; None for another URL."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return None
    return unquote(parts.path) if parts.scheme.lower() == "file" else None


class ProtectedPlace(NamedTuple):
    """A place that runs what lies in it, or that decides what may run.

    `parts` is a run of path components anywhere in a path, compared like `path_identity`.
    """

    parts: tuple[str, ...]
    description: str


_DATA: Final = json.loads(Path(__file__).with_suffix(".json").read_bytes())

_PLACES: Final = tuple(
    ProtectedPlace(tuple(path.casefold().split("/")), says)
    for says, paths in _DATA["protected"].items()
    for path in paths
)


def find_protected_place(path: str) -> ProtectedPlace | None:
    """Return the protected place that an absolute path lies in, or that it is."""
    names = tuple(path_identity(path).split("/"))
    for place in _PLACES:
        count = len(place.parts)
        if any(names[at : at + count] == place.parts for at in range(len(names))):
            return place
    return None


_EXECUTABLE: Final = frozenset(f".{suffix}" for suffix in _DATA["executable"])
"""Suffixes of what runs, installs, configures or leads on when it is opened."""

_DOCUMENT: Final = frozenset(f".{suffix}" for suffix in _DATA["document"])
"""Suffixes of what is only read or shown when it is opened."""


def _name_suffixes(path: str) -> list[str]:
    """Return the suffix of each name in a path with its dot; of one without, the name."""
    names = (name.rstrip(". \u00a0") for name in path_identity(path).split("/"))
    return ["".join(name.rpartition(".")[1:]) for name in names]


def is_executable(path: str) -> bool:
    """Say whether the name of a file is that of something that runs when it is opened.

    A bundle counts for all that lies in it.
    """
    return not _EXECUTABLE.isdisjoint(_name_suffixes(path))


def is_document(path: str) -> bool:
    """Say whether a file is of a kind that is only read or shown."""
    return _name_suffixes(path)[-1] in _DOCUMENT


def is_in_documents(path: str, home: str) -> bool:
    """Say whether a path lies among the user's documents, below the home folder."""
    inside = path_identity(path)
    return any(
        inside.startswith(path_identity(f"{home}/{name}") + "/") for name in _DATA["of the user"]
    )


def is_in_programs(path: str, home: str) -> bool:
    """Say whether a path lies where programs lie, or what they go by; not the user's own iCloud."""
    if is_in_documents(path, home):
        return False
    inside = path_identity(path) + "/"
    roots = (*_DATA["programs"], f"{home}/Applications", f"{home}/Library")
    return any(inside.startswith(path_identity(root) + "/") for root in roots)


FINDER: Final = "com.apple.finder"
SYSTEM_EVENTS: Final = "com.apple.systemevents"
FILE_APPS: Final = frozenset({FINDER, SYSTEM_EVENTS, "com.apple.imageevents"})
"""The apps whose objects are files; Image Events has the file suite of System Events."""

_ROOTS: Final[Mapping[str, str]] = _DATA["folders"]
"""Properties that name a folder, by JXA name; of a domain those under the tilde are its own."""

_DOMAINS: Final[Mapping[str, str]] = _DATA["domains"]
FILES: Final = frozenset(_DATA["collections"])
"""Collections whose items are files, by JXA name."""

_ELSEWHERE: Final = frozenset({"originalItem", "target"})
"""Properties of a file that lead to another one, nobody here knows where."""

_BOOT: Final = frozenset("applications library private system users volumes".split())
"""Folders at the root of a startup disk, whatever it is called."""


def find_specifier_path(steps: tuple[Step, ...], app: str, home: str) -> str | None:
    """Return the absolute path of what `steps` name in `app` (a bundle id), None if it has none.

    Of something inside a file, as an item of a property list, it is the path of the file.
    """
    finder = app.casefold() == FINDER
    if app.casefold() not in FILE_APPS:
        return None
    path: str | None = None
    base = home
    for at, step in enumerate(steps):
        match step:
            case AllElements(name) if name not in FILES:
                return path
            case AllElements(name) if at == 0:
                # What Finder itself holds are the disks, and the items of the desktop.
                path = "/Volumes" if name == "disks" else f"{home}/Desktop" if finder else "?"
            case AllElements() | Boundary():
                pass
            case PropertyStep(name) if name in _DOMAINS:
                path = base = _DOMAINS[name].replace("~", home)
            case PropertyStep(name) if name in _ROOTS:
                path = _ROOTS[name].replace("~", base)
            case PropertyStep(name) if path is None or name in _ELSEWHERE:
                return None
            case PropertyStep("container") if path is not None:
                path = posixpath.dirname(path)
            case PropertyStep("disk") if path is not None:
                path = "/".join(path.split("/")[:3]) if path.startswith("/Volumes/") else ""
            case PropertyStep():
                pass
            case ByName(name) if path is not None:
                path = _named_item_path(path, name, home, first=at == 1, finder=finder)
                if path.startswith("?"):
                    return None
            case ByIndex() | Whose() | Span() | MiddleOrSome() | RelativeTo() if path not in (
                None,
                "?",
            ):
                path = f"{path}/?"
            case _:
                return None
    return "/" if path == "" else path if path != "?" else None


def _named_item_path(path: str, name: str, home: str, *, first: bool, finder: bool) -> str:
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
