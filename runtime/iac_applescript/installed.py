"""Which apps with a dictionary are on this Mac, from their bundles; on other systems none.

Folders: where macOS keeps apps. A bundle is scriptable if its Info.plist names a dictionary or says
so (`OSAScriptingDefinition`, `NSAppleScriptEnabled`; Cocoa Scripting Guide).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from iac_base.text import clean_text

__all__ = ["FOLDERS", "Bundle", "running_bundles", "scriptable"]

FOLDERS: Final = (
    Path("/Applications"),
    Path("/System/Applications"),
    Path("/System/Library/CoreServices"),
    Path("~/Applications"),
)
_LARGEST: Final = 1024 * 1024
_MOST: Final = 2_000


class Bundle(NamedTuple):
    """An app on disk."""

    name: str
    id: str
    path: Path


def scriptable(folders: Sequence[Path] = FOLDERS) -> list[Bundle]:
    """Return the apps that say they can be scripted, by name; unreadable ones are left out."""
    found: dict[str, Bundle] = {}
    for path in _bundles(folders):
        bundle = _read(path)
        if bundle is not None:
            found.setdefault(bundle.id.casefold(), bundle)
    return sorted(found.values(), key=lambda bundle: bundle.name.casefold())


def _bundles(folders: Sequence[Path]) -> Iterator[Path]:
    count = 0
    for folder in folders:
        base = folder.expanduser()
        for pattern in ("*.app", "*/*.app"):
            for path in sorted(base.glob(pattern)):
                count += 1
                if count > _MOST:
                    return
                yield path


def _read(path: Path) -> Bundle | None:
    import plistlib

    info = path / "Contents" / "Info.plist"
    try:
        if not info.is_file() or info.stat().st_size > _LARGEST:
            return None
        facts = plistlib.loads(info.read_bytes())
    except Exception:
        return None
    if not isinstance(facts, dict) or not isinstance(facts.get("CFBundleIdentifier"), str):
        return None
    if not (facts.get("OSAScriptingDefinition") or _yes(facts.get("NSAppleScriptEnabled"))):
        return None
    return Bundle(clean_text(path.stem, 100), clean_text(facts["CFBundleIdentifier"], 200), path)


def _yes(value: object) -> bool:
    return value is True or (isinstance(value, str) and value.casefold() in ("yes", "true", "1"))


def running_bundles() -> set[str]:
    """Return the paths of the app bundles that a process of this user runs from."""
    import contextlib

    import psutil

    found = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            head, mark, _ = process.exe().partition(".app/")
            if mark:
                found.add(f"{head}.app")
    return found
