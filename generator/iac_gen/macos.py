"""Installed apps and scripting additions, found without Xcode.

A bundle's dictionary is the file that `OSAScriptingDefinition` names; an app that has only an
`aete` or the old suites is asked through `OSACopyScriptingDefinitionFromURL`
(OpenScripting framework), which also resolves includes. That call runs on a Mac only.
"""

import ctypes
import plistlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

__all__ = ["ADDITIONS", "APPLICATIONS", "Bundle", "Unscriptable", "installed"]

APPLICATIONS: Final = (
    "/System/Applications",
    "/System/Applications/Utilities",
    "/Applications",
    "/Applications/Utilities",
    "~/Applications",
    "/System/Library/CoreServices",
)
ADDITIONS: Final = (
    "/System/Library/ScriptingAdditions",
    "/Library/ScriptingAdditions",
    "~/Library/ScriptingAdditions",
)
_FRAMEWORKS: Final = "/System/Library/Frameworks"


@dataclass(frozen=True, slots=True)
class Bundle:
    """A scriptable bundle: its dictionary is the file `dictionary`, or `content`."""

    path: Path
    name: str
    id: str
    version: str
    kind: Literal["application", "addition"]
    dictionary: Path
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class Unscriptable:
    """A bundle without a dictionary, and why."""

    path: Path
    name: str
    reason: str


def installed(
    search: Sequence[Path] = (),
    applications: Iterable[str] = APPLICATIONS,
    additions: Iterable[str] = ADDITIONS,
) -> list[Bundle | Unscriptable]:
    """Return every app and scripting addition of the folders, in a stable order."""
    folders = [*(Path(folder).expanduser() for folder in applications), *search]
    libraries = [Path(folder).expanduser() for folder in additions]
    return [
        *(_bundle(path, "application") for path in _bundles(folders, ".app")),
        *(_bundle(path, "addition") for path in _bundles(libraries, ".osax")),
    ]


def _bundles(folders: Iterable[Path], suffix: str) -> Iterator[Path]:
    seen: set[Path] = set()
    for folder in folders:
        if not folder.is_dir():
            continue
        for path in sorted(folder.glob(f"*{suffix}")):
            real = path.resolve()
            if real not in seen and path.is_dir():
                seen.add(real)
                yield path


def _bundle(path: Path, kind: Literal["application", "addition"]) -> Bundle | Unscriptable:
    info = _info(path)
    if isinstance(info, str):
        return Unscriptable(path, path.stem, info)
    identifier = str(info.get("CFBundleIdentifier", ""))
    version = str(info.get("CFBundleShortVersionString", ""))
    declared = info.get("OSAScriptingDefinition")
    if isinstance(declared, str) and declared:
        file = _inside(path, declared)
        if file is None:
            return Unscriptable(path, path.stem, f"names {declared}, which is not in its Resources")
        return Bundle(path, path.stem, identifier, version, kind, file)
    if not _enabled(info) and kind == "application":
        return Unscriptable(path, path.stem, "has no scripting dictionary")
    content = copy_definition(path)
    if content is None:
        return Unscriptable(path, path.stem, "has no scripting dictionary that macOS can give")
    return Bundle(path, path.stem, identifier, version, kind, path, content)


def _info(path: Path) -> dict[str, Any] | str:
    try:
        with (path / "Contents" / "Info.plist").open("rb") as file:
            info = plistlib.load(file)
    except FileNotFoundError:
        return "has no Info.plist"
    except Exception as error:  # plistlib lets through whatever its parsers raise
        return f"has an Info.plist that cannot be read: {error}"
    return info if isinstance(info, dict) else "has an Info.plist that is no dictionary"


def _inside(path: Path, declared: str) -> Path | None:
    """Return the named resource, None where it is missing or lies outside the bundle."""
    resources = (path / "Contents" / "Resources").resolve()
    for name in (declared, f"{declared}.sdef"):
        file = (resources / name).resolve()
        if file.is_relative_to(resources) and file.is_file():
            return file
    return None


def _enabled(info: dict[str, Any]) -> bool:
    # The key is a boolean in new bundles and the string YES in old ones.
    return str(info.get("NSAppleScriptEnabled", "")).lower() in ("true", "yes", "1")


def copy_definition(path: Path) -> bytes | None:
    """Return the dictionary that macOS makes for a bundle, None where there is none.

    Not confirmed on a Mac yet; elsewhere there is no such call and the answer is None.
    """
    if sys.platform != "darwin":
        return None
    core = ctypes.CDLL(f"{_FRAMEWORKS}/CoreFoundation.framework/CoreFoundation")
    carbon = ctypes.CDLL(f"{_FRAMEWORKS}/Carbon.framework/Carbon")
    core.CFURLCreateFromFileSystemRepresentation.restype = ctypes.c_void_p
    core.CFURLCreateFromFileSystemRepresentation.argtypes = [
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_long,
        ctypes.c_bool,
    ]
    core.CFDataGetLength.restype = ctypes.c_long
    core.CFDataGetLength.argtypes = [ctypes.c_void_p]
    core.CFDataGetBytePtr.restype = ctypes.c_void_p
    core.CFDataGetBytePtr.argtypes = [ctypes.c_void_p]
    core.CFRelease.argtypes = [ctypes.c_void_p]
    copy = carbon.OSACopyScriptingDefinitionFromURL
    copy.restype = ctypes.c_int32
    copy.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)]
    encoded = str(path).encode()
    url = core.CFURLCreateFromFileSystemRepresentation(None, encoded, len(encoded), True)
    data = ctypes.c_void_p()
    try:
        if copy(url, 0, ctypes.byref(data)) != 0 or not data.value:
            return None
        length = core.CFDataGetLength(data)
        content = ctypes.string_at(core.CFDataGetBytePtr(data), length)
        core.CFRelease(data)
        return content
    finally:
        core.CFRelease(url)
