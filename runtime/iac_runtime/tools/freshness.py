"""Which apps were installed or updated since their tools were built, and what builds them.

The generator finds apps with more care, and at build time; this runs at each start of the server,
where the generator may not be installed. Keys of Info.plist: Apple, "Information Property List".
"""

import hashlib
import plistlib
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from iac_base.text import escape_hidden
from iac_runtime.tools.app_names import FOLDERS, app_bundles
from iac_runtime.tools.catalogue import ToolFolder, shipped_folder
from iac_runtime.tools.lock import read_lock

_MOST: Final = 32 * 1024 * 1024
"""Bytes of a dictionary; larger ones are not built either."""


class ScriptableApp(NamedTuple):
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

    def dictionary_digest(self) -> str:
        """Return the sha256 of its dictionary as hex, empty if that cannot be read."""
        try:
            if self.dictionary.stat().st_size > _MOST:
                return ""
            return hashlib.sha256(self.dictionary.read_bytes()).hexdigest()
        except OSError:
            return ""


def scriptable_apps(folders: Iterable[str] = FOLDERS) -> list[ScriptableApp]:
    """Return the apps of the folders that have a dictionary file, the first of each bundle id."""
    found: dict[str, ScriptableApp] = {}
    for path in app_bundles(folders):
        app = _read_app(path)
        if app is not None:
            found.setdefault(app.id.casefold(), app)
    return list(found.values())


def _read_app(path: Path) -> ScriptableApp | None:
    try:
        info = plistlib.loads((path / "Contents" / "Info.plist").read_bytes())
        arrived = path.stat().st_ctime
    except Exception:  # plistlib lets through whatever its parsers raise
        return None
    identifier, declared = (
        _text_value(info, "CFBundleIdentifier"),
        _text_value(info, "OSAScriptingDefinition"),
    )
    if not identifier or not declared:
        return None
    for name in (declared, f"{declared}.sdef"):
        file = path / "Contents" / "Resources" / name
        if Path(name).name == name and file.is_file():
            version = _text_value(info, "CFBundleShortVersionString")
            return ScriptableApp(identifier, path.stem, version, arrived, file)
    return None


def _text_value(info: Any, key: str) -> str:
    value = info.get(key) if isinstance(info, dict) else None
    return value if isinstance(value, str) else ""


class StaleApp(NamedTuple):
    """An app whose tools do not fit what is installed.

    Attributes:
        why: `updated` (its dictionary is another than the one that was built), or `new`.
        key: The key of its tools; empty for a new one.
        built, installed: Versions, empty where not known.
    """

    why: Literal["updated", "new"]
    id: str
    name: str
    key: str = ""
    built: str = ""
    installed: str = ""

    @property
    def build_command(self) -> str:
        """The command that builds its tools."""
        return f"iac-gen build {shlex.quote(self.id)}"

    @property
    def line(self) -> str:
        """One line for a person or a model."""
        if self.why == "new":
            says = f"{self.name} was installed after the tools were built"
        else:
            version = f" (now {self.installed})" if self.installed != self.built else ""
            says = f"the dictionary of {self.name}{version} has changed since its tools were built"
        return escape_hidden(f"{says}; build them with: {self.build_command}")


class Freshness(NamedTuple):
    """How the tools stand to what is installed.

    Attributes:
        stale: The apps to build, by name.
        fresh: How many installed apps have tools that fit.
        without: How many scriptable apps have no tools and were there when tools were built.
    """

    stale: tuple[StaleApp, ...]
    fresh: int = 0
    without: int = 0


def check_freshness(
    tool_folders: Sequence[ToolFolder], folders: Iterable[str] = FOLDERS
) -> Freshness:
    """Compare the tools of `tool_folders` with the apps installed in `folders`.

    An app is `updated` if the digest of its dictionary is not the one that its tools were built
    from: an update that leaves the dictionary alone needs no build. It is `new` if it came after
    the newest catalogue of the user was written and has no tools. Nothing is started or parsed.
    """
    built = {
        str(row.get("id", "")).casefold(): (key, row, tool_folder)
        for tool_folder in reversed(tool_folders)
        for key, row in tool_folder.apps.items()
    }
    since = _last_build_time(tool_folders)
    stale: list[StaleApp] = []
    fresh = without = 0
    for app in scriptable_apps(folders):
        found = built.get(app.id.casefold())
        if found is None:
            if app.arrived > since:
                stale.append(StaleApp("new", app.id, app.name, installed=app.version))
            else:
                without += 1
        elif _is_current(app, found[1]):
            fresh += 1
        else:
            key, _, tool_folder = found
            version = _built_version(tool_folder.folder, key)
            stale.append(StaleApp("updated", app.id, app.name, key, version, app.version))
    return Freshness(tuple(sorted(stale, key=lambda app: app.name.casefold())), fresh, without)


def _is_current(app: ScriptableApp, row: dict[str, Any]) -> bool:
    digest = app.dictionary_digest()
    return not digest or digest == row.get("digest")


def _last_build_time(tool_folders: Sequence[ToolFolder]) -> float:
    """Return when tools were built here last; shipped ones alone say nothing of this Mac."""
    shipped = shipped_folder()
    times: list[float] = []
    for tool_folder in tool_folders:
        if tool_folder.folder == shipped:
            continue
        try:
            times.append((tool_folder.folder / "catalogue.json").stat().st_mtime)
        except OSError:
            continue
    return max(times, default=float("inf"))


def _built_version(folder: Path, key: str) -> str:
    try:
        return str(read_lock(folder)["apps"][key]["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
