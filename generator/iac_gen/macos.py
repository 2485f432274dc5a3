"""Installed apps and scripting additions, found without Xcode.

A bundle's dictionary is the file that `OSAScriptingDefinition` names; an app that has only an
`aete` or the old suites is asked through `OSACopyScriptingDefinitionFromURL`
(OpenScripting framework), which also resolves includes. That call runs on a Mac only.
"""

import ctypes
import plistlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from iac_gen.limits import LimitError, read_file
from iac_gen.text import on_one_line

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
MAX_PLIST: Final = 512 * 1024
_Kind = Literal["application", "addition"]


@dataclass(frozen=True, slots=True)
class AppBundle:
    """A scriptable bundle: its dictionary is the file `dictionary`, or `content`."""

    path: Path
    name: str
    id: str
    version: str
    kind: _Kind
    dictionary: Path
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class Unscriptable:
    """A bundle without a dictionary, and why."""

    path: Path
    name: str
    reason: str


def installed_bundles(
    search: Sequence[Path] = (),
    applications: Iterable[str] = APPLICATIONS,
    additions: Iterable[str] = ADDITIONS,
) -> list[AppBundle | Unscriptable]:
    """Return every app and scripting addition of the folders, in a stable order.

    An app in the user's own folders or in `search` that has the bundle id of one in the
    system's does not take its place: it comes back as `Unscriptable` with the conflict.
    """
    places = list(applications)
    shared = [Path(place) for place in places if not place.startswith("~")]
    own = [*(Path(place).expanduser() for place in places if place.startswith("~")), *search]
    libraries = [Path(place).expanduser() for place in additions]
    seen: set[Path] = set()
    first = [_read_bundle(path, "application") for path in _bundle_paths(shared, ".app", seen)]
    owners = {one.id.casefold(): one.path for one in first if isinstance(one, AppBundle) and one.id}
    return [
        *first,
        *(
            _refuse_claimed(_read_bundle(path, "application"), owners)
            for path in _bundle_paths(own, ".app", seen)
        ),
        *(_read_bundle(path, "addition") for path in _bundle_paths(libraries, ".osax", seen)),
    ]


def _refuse_claimed(
    found: AppBundle | Unscriptable, owners: Mapping[str, Path]
) -> AppBundle | Unscriptable:
    if isinstance(found, AppBundle) and found.id.casefold() in owners:
        reason = f"uses {found.id}, which is the bundle id of {owners[found.id.casefold()]}"
        return Unscriptable(found.path, found.name, on_one_line(reason))
    return found


def _bundle_paths(folders: Iterable[Path], suffix: str, seen: set[Path]) -> Iterator[Path]:
    for folder in folders:
        if not folder.is_dir():
            continue
        for path in sorted(folder.glob(f"*{suffix}")):
            # A link that leads to itself is no folder, and must not be followed.
            real = path.resolve() if path.is_dir() else path
            if real not in seen and path.is_dir():
                seen.add(real)
                yield path


def _read_bundle(path: Path, kind: _Kind) -> AppBundle | Unscriptable:
    info = read_info(path / "Contents" / "Info.plist")
    if isinstance(info, str):
        return Unscriptable(path, path.stem, info)
    identifier = _info_text(info, "CFBundleIdentifier")
    version = _info_text(info, "CFBundleShortVersionString")
    declared = _info_text(info, "OSAScriptingDefinition")
    if declared:
        file = _resource_path(path, declared)
        if file is None:
            reason = f"its dictionary {on_one_line(declared, 80)} is not in its Resources folder"
            return Unscriptable(path, path.stem, reason)
        return AppBundle(path, path.stem, identifier, version, kind, file)
    if not _is_scriptable(info) and kind == "application":
        return Unscriptable(path, path.stem, "has no scripting dictionary")
    content = copy_definition(path)
    if content is None:
        return Unscriptable(path, path.stem, "has no scripting dictionary that macOS can read")
    return AppBundle(path, path.stem, identifier, version, kind, path, content)


def _info_text(info: Mapping[str, Any], key: str) -> str:
    # A binary plist can hold itself: only a text is looked at, nothing is turned into one.
    value = info.get(key)
    return value if isinstance(value, str) else ""


def read_info(file: Path) -> dict[str, Any] | str:
    """Return what an Info.plist says, or in words why it says nothing."""
    try:
        info = plistlib.loads(read_file(file, MAX_PLIST))
    except LimitError as error:
        if error.code == "missing":
            return "has no Info.plist"
        return f"has an Info.plist that {error}"
    except Exception as error:  # plistlib lets through whatever its parsers raise
        return f"has an Info.plist that cannot be read: {on_one_line(str(error)) or 'is broken'}"
    return info if isinstance(info, dict) else "has an Info.plist that is not a dictionary"


def _resource_path(path: Path, declared: str) -> Path | None:
    """Return the named resource, None where it is missing or lies outside the bundle."""
    try:
        resources = (path / "Contents" / "Resources").resolve()
        if not resources.is_relative_to(path.resolve()):
            return None
        for name in (declared, f"{declared}.sdef"):
            file = (resources / name).resolve()
            if file.is_relative_to(resources) and file.is_file():
                return file
    except (OSError, ValueError, RuntimeError):
        # Too long, not encodable, or a link that leads to itself.
        return None
    return None


def _is_scriptable(info: Mapping[str, Any]) -> bool:
    # The key is a boolean in new bundles and the string YES in old ones.
    value = info.get("NSAppleScriptEnabled", "")
    return isinstance(value, str | bool | int) and str(value).lower() in ("true", "yes", "1")


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
        ctypes.c_void_p, ctypes.c_char_p, ctypes.c_long, ctypes.c_bool,
    ]  # fmt: skip
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
