"""Apps as a person knows them: a name, and an icon from the bundle or a letter in a square."""

import hashlib
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from iac_base.files import data_folder
from iac_runtime.tools.catalogue import AppRow, Catalogue

_HUES: Final = 8
_OWN: Final = "IAC"
_SIZE: Final = "128"
_SECONDS: Final = 5.0
_FOLDERS: Final = ("/Applications", "/System/Applications", "/System/Library/CoreServices")


class AppMark(NamedTuple):
    """An app on the page; `key` is empty for one that has no tools here, `hue` is 0 to 7."""

    name: str
    letter: str
    hue: int
    key: str = ""


class AppMarks:
    """Knows apps by what the audit and questions call them: bundle ids and names."""

    def __init__(self, catalogue: Catalogue) -> None:
        rows = catalogue.apps.values()
        self._rows = {word.casefold(): row for row in rows for word in (row.name, row.id, row.key)}

    def find(self, app: str) -> AppMark:
        """Return the mark of an app, of the first of several with how many there are more."""
        first, *more = [part.strip() for part in app.split(",") if part.strip()] or [""]
        row = self._rows.get(first.casefold())
        name = row.name if row else _last_word(first) or _OWN
        mark = _mark_of(name, row.key if row else "")
        return mark._replace(name=f"{name} +{len(more)}") if more else mark

    def find_row(self, word: str) -> AppRow | None:
        """Return the app of a name, a key or a bundle id, in any case."""
        return self._rows.get(word.casefold())

    def names(self) -> Iterable[AppMark]:
        """Return all apps by name."""
        rows = {row.key: row for row in self._rows.values()}.values()
        found = (_mark_of(row.name, row.key) for row in rows)
        return sorted(found, key=lambda one: one.name.casefold())


def _last_word(app: str) -> str:
    return app.rpartition(".")[2] if app.count(".") >= 2 and " " not in app else app


def _mark_of(name: str, key: str) -> AppMark:
    hue = hashlib.sha256(name.encode(errors="replace")).digest()[0] % _HUES
    return AppMark(name, name[:1].upper(), hue, key)


def icon_file(row: AppRow, folders: Iterable[str] = _FOLDERS) -> Path | None:
    """Return the icon of an installed app as PNG, made by `sips` and kept; None without one.

    Source: Information Property List Key Reference, CFBundleIconFile. Only a Mac has both.
    """
    sips = shutil.which("sips")
    bundles = (Path(folder) / f"{row.name}.app" for folder in folders)
    bundle = next((one for one in bundles if one.is_dir()), None)
    if sips is None or bundle is None:
        return None
    try:
        info: Mapping[str, object] = plistlib.loads((bundle / "Contents/Info.plist").read_bytes())
    except (OSError, ValueError):
        return None
    named = str(info.get("CFBundleIconFile") or "AppIcon").removesuffix(".icns")
    source = bundle / "Contents/Resources" / f"{Path(named).name}.icns"
    kept = data_folder() / "cache" / "icons" / f"{row.key}-{_stamp(source)}.png"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        argv = [sips, "-s", "format", "png", "-Z", _SIZE, str(source), "--out", str(kept)]
        subprocess.run(argv, check=False, capture_output=True, timeout=_SECONDS)
    return kept if kept.exists() else None


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def has_icons() -> bool:
    """Say whether apps have icons on this machine."""
    return sys.platform == "darwin"
