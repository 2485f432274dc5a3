"""The scriptable apps of this Mac, as far as freshness needs them: no dictionary is parsed.

The generator finds apps with more care, and at build time; this runs at each start of the server,
where the generator may not be installed. Keys of Info.plist: Apple, "Information Property List".
"""

import hashlib
import plistlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

__all__ = ["FOLDERS", "Scriptable", "scriptable"]

FOLDERS: Final = (
    "/System/Applications",
    "/System/Applications/Utilities",
    "/Applications",
    "/Applications/Utilities",
    "~/Applications",
    "/System/Library/CoreServices",
)
_MOST: Final = 32 * 1024 * 1024
"""Bytes of a dictionary; larger ones are not built either."""


class Scriptable(NamedTuple):
    """An app that has a dictionary file.

    Attributes:
        id: Its bundle id.
        version: CFBundleShortVersionString, empty if it has none.
        arrived: When it came to its place, in seconds since 1970.
    """

    id: str
    name: str
    version: str
    arrived: float
    dictionary: Path

    def digest(self) -> str:
        """Return the sha256 of its dictionary as hex, empty if that cannot be read."""
        try:
            if self.dictionary.stat().st_size > _MOST:
                return ""
            return hashlib.sha256(self.dictionary.read_bytes()).hexdigest()
        except OSError:
            return ""


def scriptable(folders: Iterable[str] = FOLDERS) -> list[Scriptable]:
    """Return the apps of the folders that have a dictionary file, the first of each bundle id."""
    found: dict[str, Scriptable] = {}
    for path in _paths(folders):
        app = _app(path)
        if app is not None:
            found.setdefault(app.id.casefold(), app)
    return list(found.values())


def _paths(folders: Iterable[str]) -> Iterator[Path]:
    for folder in folders:
        try:
            yield from sorted(Path(folder).expanduser().glob("*.app"))
        except (OSError, RuntimeError):
            continue


def _app(path: Path) -> Scriptable | None:
    try:
        info = plistlib.loads((path / "Contents" / "Info.plist").read_bytes())
        arrived = path.stat().st_ctime
    except Exception:  # plistlib lets through whatever its parsers raise
        return None
    identifier, declared = _text(info, "CFBundleIdentifier"), _text(info, "OSAScriptingDefinition")
    if not identifier or not declared:
        return None
    for name in (declared, f"{declared}.sdef"):
        file = path / "Contents" / "Resources" / name
        if Path(name).name == name and file.is_file():
            version = _text(info, "CFBundleShortVersionString")
            return Scriptable(identifier, path.stem, version, arrived, file)
    return None


def _text(info: Any, key: str) -> str:
    value = info.get(key) if isinstance(info, dict) else None
    return value if isinstance(value, str) else ""
