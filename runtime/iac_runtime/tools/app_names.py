"""What people call an app besides its name: in their language, with its maker, by a former name.

On a Mac a bundle says what its app is called in each language; for the apps of macOS a table says
it everywhere. A name that is given is taken apart before: who makes the app, and that it is one,
is said with it and not meant.
"""

import plistlib
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from iac_base.words import fold_name

FOLDERS: Final = (
    "/System/Applications",
    "/System/Applications/Utilities",
    "/Applications",
    "/Applications/Utilities",
    "~/Applications",
    "/System/Library/CoreServices",
)
BundleNames: TypeAlias = Callable[[str], Iterable[str]]
"""Answers a bundle id with the names that its app has on this machine."""

_AROUND: Final = re.compile(
    r"\A(?:the\s+|my\s+|apple(?:'s)?\s+)*(.+?)(?:\.app|\s+app(?:lication)?)?\s*\Z", re.IGNORECASE
)
_KEYS: Final = ("CFBundleDisplayName", "CFBundleName")
_LINE: Final = re.compile(rf'"?(?:{"|".join(_KEYS)})"?\s*=\s*"((?:[^"\\]|\\.)*)"\s*;')
_MOST: Final = 4 * 1024 * 1024
"""Bytes of a file of names; what is larger is none."""


def bare_name(name: str) -> str:
    """Return a name without `Apple`, `the` and `.app` around it."""
    found = _AROUND.match(name.strip())
    return found[1] if found else name


def is_name_of(name: str, app_id: str, bundle_names: BundleNames | None = None) -> bool:
    """Say whether the app with this bundle id is called `name`, in whatever language.

    Args:
        name, app_id: The name, and the app.
        bundle_names: Reads the names of this machine; those of its apps if left out.
    """
    wanted = {fold_name(name), fold_name(bare_name(name))} - {""}
    known = _table().get(app_id.casefold(), ())
    read = bundle_names or installed_names
    return any(wanted & {fold_name(one)} for names in (known, read(app_id)) for one in names)


@cache
def _table() -> dict[str, list[str]]:
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    return {app_id.casefold(): names for app_id, names in rows.items()}


@cache
def installed_names(app_id: str) -> tuple[str, ...]:
    """Return the names of an installed app in every language; none where this is no Mac."""
    return tuple(localised_names(path)) if (path := _bundles().get(app_id.casefold())) else ()


@cache
def _bundles() -> dict[str, Path]:
    found = ((_bundle_id(path), path) for path in app_bundles(FOLDERS))
    return {app_id: path for app_id, path in found if app_id} if sys.platform == "darwin" else {}


def _bundle_id(bundle: Path) -> str:
    info = _read_names(bundle / "Contents" / "Info.plist")
    return str(info.get("CFBundleIdentifier", "")).casefold() if isinstance(info, dict) else ""


def app_bundles(folders: Iterable[str]) -> Iterator[Path]:
    """Yield the apps that lie in folders."""
    for folder in folders:
        try:
            yield from sorted(Path(folder).expanduser().glob("*.app"))
        except (OSError, RuntimeError):
            continue


def localised_names(bundle: Path) -> Iterator[str]:
    """Yield the names that a bundle has: of `InfoPlist.loctable`, and of each `.lproj`."""
    resources = bundle / "Contents" / "Resources"
    table = _read_names(resources / "InfoPlist.loctable")
    rows = [*table.values()] if isinstance(table, dict) else []
    try:
        files = sorted(resources.glob("*.lproj/InfoPlist.strings"))
    except OSError:
        files = []
    for row in (*rows, *map(_read_names, files)):
        for key in _KEYS:
            if isinstance(row, dict) and isinstance(row.get(key), str):
                yield row[key]


def _read_names(path: Path) -> Any:
    """Return a property list as it is, and lines of `"key" = "value";` with the first name."""
    try:
        if path.stat().st_size > _MOST:
            return None
        raw = path.read_bytes()
    except OSError:
        return None
    try:
        return plistlib.loads(raw)
    except Exception:  # plistlib lets through whatever its parsers raise
        wide = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
        found = _LINE.search(raw.decode("utf-16" if wide else "utf-8", "replace"))
        return {_KEYS[0]: found[1]} if found else None
