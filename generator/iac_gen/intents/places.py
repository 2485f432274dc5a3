"""Places: where App Intents metadata lies, whose it is, and the texts that its titles name.

Apps, their extensions and frameworks each carry a file; links are followed, because Safari's lies
behind one. Nothing in a bundle is believed beyond its place: a file says at most whose actions it
has, and an app takes those of others only where they name it.
"""

import hashlib
import os
import plistlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

from iac_gen.intents.facts import action_owner, attributed_apps
from iac_gen.intents.read import FILE, Words
from iac_gen.limits import LimitError, read_file
from iac_gen.macos import MAX_PLIST, Unscriptable, read_info
from iac_gen.naming import app_key, is_bundle_id
from iac_gen.text import on_one_line

PLACES: Final = (
    "/System/Applications",
    "/System/Library/CoreServices",
    "/System/Library/ExtensionKit/Extensions",
    "/System/Library/Frameworks",
    "/System/Library/PrivateFrameworks",
    "/System/iOSSupport/System/Library",
    "/System/Cryptexes/App/System",
    "/Library/Apple/System/Library",
    "/Applications",
    "~/Applications",
)
BUNDLES: Final = (".app", ".appex", ".framework", ".bundle", ".xpc")
_RESOURCES: Final = ("Contents/Resources", "", "Versions/A/Resources", "Resources")
_INFO: Final = (
    "Contents/Info.plist",
    "Info.plist",
    *(f"{one}/Info.plist" for one in _RESOURCES[2:]),
)
_HELD: Final = (
    "Contents/PlugIns", "Contents/Extensions", "Contents/Frameworks", "Contents/XPCServices",
    "PlugIns", "Extensions", "Frameworks", "Versions/A/Frameworks", "Versions/A/PlugIns",
)  # fmt: skip
_METADATA: Final = ("Metadata.appintents", "Link.data")
_DEEPEST: Final = 5
"""Folders below a place; Utilities and the parts of a system lie two or three deep."""

_LINE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"\s*=\s*"((?:[^"\\]|\\.)*)"\s*;')


@dataclass(frozen=True, slots=True)
class MetadataFile:
    """A file of metadata in a bundle: an app, or a framework that lies in none.

    What an app's extensions and frameworks have is the app's. `owner` is the id of the bundle. A
    bundle itself is the first of its files: it claims its id, whether it has metadata or not.
    """

    path: Path
    bundle: Path
    owner: str
    version: str


@dataclass(frozen=True, slots=True)
class IntentsOfApp:
    """The files that have intents of one app, its own first, with the owner of each."""

    id: str
    name: str
    version: str
    files: tuple[tuple[str, str], ...]
    digest: str


def metadata_files(places: Iterable[Path]) -> Iterator[MetadataFile]:
    """Yield the bundles in `places` and their files, each once; a place may be a bundle itself."""
    seen: set[str] = set()
    for place in places:
        yield from _find_below(place.expanduser(), None, 0, seen)


def bundle_of(file: Path) -> Path | None:
    """Return the innermost bundle that a file lies in."""
    return next((folder for folder in file.parents if folder.suffix in BUNDLES), None)


def _find_below(
    path: Path, inside: MetadataFile | None, depth: int, seen: set[str]
) -> Iterator[MetadataFile]:
    # A link may lead out and back: each real folder is looked at once.
    real = os.path.realpath(path)
    if real in seen or depth > _DEEPEST or not Path(real).is_dir():
        return
    seen.add(real)
    if path.suffix in BUNDLES:
        yield from _files_of_bundle(path, inside or _bundle_file(path), depth, seen)
        return
    for name in _folder_names(path):
        if not name.startswith("."):
            yield from _find_below(path / name, inside, depth + 1, seen)


def _folder_names(path: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(path) if entry.is_dir())
    except OSError:
        return []


def _files_of_bundle(
    path: Path, outer: MetadataFile, depth: int, seen: set[str]
) -> Iterator[MetadataFile]:
    if outer.path == path:
        yield outer
    for resources in _RESOURCES:
        for folder in _METADATA:
            if (file := path / resources / folder / FILE).is_file():
                yield replace(outer, path=file)
    for folder in _HELD:
        for name in _folder_names(path / folder):
            yield from _find_below(path / folder / name, outer, depth + 1, seen)


def _bundle_file(path: Path) -> MetadataFile:
    found = next((read_info(path / name) for name in _INFO if (path / name).is_file()), {})
    info = found if isinstance(found, dict) else {}
    owner, version = info.get("CFBundleIdentifier"), info.get("CFBundleShortVersionString")
    known = isinstance(owner, str) and is_bundle_id(owner)
    return MetadataFile(
        path,
        path,
        str(owner) if known else f"local.{app_key(path.stem, '')}",
        version if isinstance(version, str) else "",
    )


def group_by_app(found: Iterable[MetadataFile]) -> tuple[list[IntentsOfApp], list[Unscriptable]]:
    """Return the intents of each app: its own, and what names it in files that may.

    The first bundle of an id is the app; another one that claims the id is told and left out.
    """
    files: dict[str, list[MetadataFile]] = defaultdict(list)
    owners: dict[str, Path] = {}
    refused: dict[Path, Unscriptable] = {}
    for one in found:
        first = owners.setdefault(one.owner.casefold(), one.bundle)
        if first != one.bundle:
            reason = f"uses {one.owner}, which is the bundle id of {first}"
            refused[one.bundle] = Unscriptable(one.bundle, one.bundle.stem, on_one_line(reason))
        if first != one.bundle or one.path == one.bundle:
            continue
        for owner in sorted(
            {
                action_owner(named, one.owner, str(one.path))
                for named in _attribution(*_file_stamp(one.path))[0]
            }
        ):
            files[owner].append(one)
    return [_intents_of_app(owner, rows) for owner, rows in sorted(files.items())], [
        *refused.values()
    ]


def _intents_of_app(owner: str, rows: list[MetadataFile]) -> IntentsOfApp:
    rows = sorted(
        rows, key=lambda row: (row.owner != owner, row.path.parts[:-2] != row.bundle.parts)
    )
    first = rows[0]
    own = first.owner == owner
    digest = hashlib.sha256(
        "".join(_attribution(*_file_stamp(row.path))[1] for row in rows).encode()
    )
    return IntentsOfApp(
        owner,
        first.bundle.stem if own else owner.rpartition(".")[2],
        first.version if own else "",
        tuple((str(row.path), row.owner) for row in rows),
        digest.hexdigest(),
    )


def _file_stamp(path: Path) -> tuple[str, int, int]:
    try:
        found = path.stat()
    except OSError:
        return str(path), 0, 0
    return str(path), found.st_mtime_ns, found.st_size


@lru_cache(maxsize=4096)
def _attribution(path: str, _changed: int, _size: int) -> tuple[frozenset[str], str]:
    """Return to whom the actions of a file are attributed, and its digest; read once."""
    try:
        content = read_file(Path(path))
    except LimitError:
        return frozenset(), ""
    return frozenset(attributed_apps(content)), hashlib.sha256(content).hexdigest()


def text_lookup(files: Sequence[Path], titles: Mapping[str, str]) -> Words:
    """Return how to find a text in the tables beside the metadata: English, of the first bundle.

    `titles` are those of actions, for whose keys there is no table.
    """
    folders = [file.parent.parent for file in files if file.name == FILE]

    @cache
    def localized_table(name: str) -> dict[str, str]:
        # A name is foreign: it may be that of any file.
        if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) is None:
            return {}
        found: dict[str, str] = {}
        for folder in folders:
            for rows in _localized_tables(folder, name):
                found = {**rows, **found}
        return found

    return lambda name, key: localized_table(name).get(key, "") if name else titles.get(key, "")


def _localized_tables(folder: Path, name: str) -> Iterator[dict[str, str]]:
    for file in (folder / f"{name}.loctable", *(
        folder / f"{language}.lproj" / f"{name}.strings" for language in ("en", "Base", "English")
    )):  # fmt: skip
        try:
            content = read_file(file, 8 * MAX_PLIST)
        except LimitError:
            continue
        rows = _parse_strings(content)
        if file.suffix == ".loctable":
            rows = rows.get("en", {})
        yield (
            {k: v for k, v in rows.items() if isinstance(v, str)} if isinstance(rows, dict) else {}
        )


def _parse_strings(content: bytes) -> dict[str, Any]:
    try:
        found = plistlib.loads(content)
        return found if isinstance(found, dict) else {}
    except Exception:  # plistlib lets through whatever its parsers raise
        text = content.decode(
            "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace"
        )
        return {key: re.sub(r"\\(.)", r"\1", value) for key, value in _LINE.findall(text)}
