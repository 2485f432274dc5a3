"""Places: where the bundles of a Mac lie, from its own databases and from a bounded walk.

LaunchServices and Spotlight know apps wherever they are, but not each Mac lets them answer. So the
folders where apps belong are walked too: vendors' folders in them, and the apps inside Xcode.
What is not looked into comes back with the reason.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from iac_gen.text import on_one_line

APPLICATIONS: Final = (
    "/System/Applications", "/Applications", "/System/Library/CoreServices",
    "/System/Cryptexes/App/System/Applications", "~/Applications",
)  # fmt: skip
ADDITIONS: Final = tuple(
    f"{place}/{folder}"
    for place in ("/System/Library", "/Library", "~/Library")
    for folder in ("ScriptingAdditions", "Script Libraries")
)
INNER: Final = ("Contents/Applications", "Contents/Developer/Applications")
"""Where an app has apps that a person starts, as Xcode has."""
PACKAGES: Final = frozenset(
    ".app .appex .bundle .framework .osax .plugin .prefpane .scptd .xpc".split()
)
"""Folders that are one thing to a person."""
DEEPEST: Final = 6
MOST_FOLDERS: Final = 20_000
_SECONDS: Final = 20

Ask: TypeAlias = Callable[[Sequence[str]], str]
"""Runs a program of macOS and returns what it prints. Raises OSError or SubprocessError."""

_REGISTER: Final = (
    "/System/Library/Frameworks/CoreServices.framework/Frameworks/LaunchServices.framework"
    "/Support/lsregister"
)
DATABASES: Final[Mapping[str, tuple[Sequence[str], re.Pattern[str]]]] = {
    "LaunchServices": (
        (_REGISTER, "-dump", "Bundle"),
        re.compile(r"^path: +(/.*?)(?: \(0x\w+\))?$", re.M),
    ),
    "Spotlight": (
        ("/usr/bin/mdfind", "kMDItemContentTypeTree == 'com.apple.application-bundle'"),
        re.compile(r"^(/.*)$", re.M),
    ),
}
"""What is asked, and where a path stands in the answer."""


@dataclass(frozen=True, slots=True)
class Unreached:
    """A folder or a database that was not looked into, and why."""

    name: str
    reason: str


def ask_program(command: Sequence[str]) -> str:
    """Return what a program of macOS prints."""
    done = subprocess.run(
        command, capture_output=True, check=True, timeout=_SECONDS, stdin=subprocess.DEVNULL
    )
    return done.stdout.decode("utf-8", "replace")


@dataclass(slots=True)
class BundleSearch:
    """Finds each bundle once, by its real path; `unreached` grows while it looks."""

    unreached: list[Unreached] = field(default_factory=list)
    _seen: set[tuple[str, ...]] = field(default_factory=set)
    _left: int = MOST_FOLDERS

    def walk(self, folders: Iterable[Path], suffixes: Sequence[str]) -> Iterator[Path]:
        """Yield the bundles of these kinds in folders that are there, and in folders of those."""
        for folder in folders:
            if os.path.lexists(folder):
                yield from self._look_into(folder, suffixes, 0)

    def known_apps(self, ask: Ask | None = None) -> Iterator[Path]:
        """Yield the apps that the databases know and the walk has not met."""
        if ask is None and sys.platform != "darwin":
            return
        for name, (command, pattern) in DATABASES.items():
            try:
                answer = (ask or ask_program)(command)
            except (OSError, subprocess.SubprocessError) as error:
                self._miss(name, f"did not answer: {error}")
                continue
            for found in sorted({*pattern.findall(answer)}):
                path = Path(found)
                if _is_app_of_a_person(path) and self._is_new(path) and path.is_dir():
                    yield path

    def _look_into(self, folder: Path, suffixes: Sequence[str], depth: int) -> Iterator[Path]:
        # A link may lead out and back: each real folder is looked at once.
        if not self._is_new(folder, *suffixes):
            return
        if depth > DEEPEST or self._left == 0:
            limit = f"deeper than {DEEPEST}" if self._left else f"beyond {MOST_FOLDERS:,}"
            self._miss(str(folder), f"lies {limit} folders")
            return
        self._left -= 1
        try:
            names = folder_names(folder)
        except OSError as error:
            self._miss(str(folder), f"cannot be read: {error.strerror}")
            return
        for name in names:
            path = folder / name
            if path.suffix.lower() in suffixes:
                if self._is_new(path):
                    yield path
                    yield from self.walk((path / inner for inner in INNER), suffixes)
            elif path.suffix.lower() not in PACKAGES and not name.startswith("."):
                yield from self._look_into(path, suffixes, depth + 1)

    def _is_new(self, path: Path, *sought: str) -> bool:
        """Say whether a bundle, or a folder in which something is `sought`, is met at first."""
        key = (os.path.realpath(path), *sought)
        new = key not in self._seen
        self._seen.add(key)
        return new

    def _miss(self, name: str, reason: str) -> None:
        self.unreached.append(Unreached(on_one_line(name, 300), on_one_line(reason, 200)))


def folder_names(path: Path) -> list[str]:
    """Return the names of the folders in a folder. Raises OSError: it cannot be read."""
    with os.scandir(path) as entries:
        # Of a link that leads to itself `is_dir` of the entry raises.
        return sorted(entry.name for entry in entries if Path(entry.path).is_dir())


def _is_app_of_a_person(path: Path) -> bool:
    """Say whether a path that a database names is an app that is no part of another, or trash."""
    if path.suffix.lower() != ".app" or ".." in path.parts:
        return False
    outer = next((one for one in path.parents if one.suffix.lower() in PACKAGES), None)
    inside = outer is None or path.parent in [outer / inner for inner in INNER]
    return inside and not any(part.startswith(".") for part in path.parts)
