"""What lies where on a Mac: apps, scripting additions and App Intents metadata, without Xcode.

A bundle's dictionary is the file that `OSAScriptingDefinition` names; an app that has only an
`aete` or the old suites is asked through `OSACopyScriptingDefinitionFromURL`
(OpenScripting framework), which also resolves includes. That call runs on a Mac only.

Apps, their extensions and frameworks each carry a file of metadata; links are followed, because
Safari's lies behind one. Nothing in a bundle is believed beyond its place: a file says at most
whose actions it has, and an app takes those of others only where they name it. A copy of the tool
database of Shortcuts, which a person makes, gives words to actions whose titles are keys, and
nothing else: its names are not always the metadata's.
"""

import contextlib
import ctypes
import hashlib
import os
import plistlib
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from iac_gen.intents.read import FILE, SAID, Words, action_owner, attributed_apps
from iac_gen.limits import LimitError, open_file, read_file
from iac_gen.model import GeneratorError
from iac_gen.naming import app_key, is_bundle_id
from iac_gen.places import ADDITIONS, APPLICATIONS, Ask, BundleSearch, Unreached, folder_names
from iac_gen.text import on_one_line

_FRAMEWORKS: Final = "/System/Library/Frameworks"
MAX_PLIST: Final = 512 * 1024
_IDENTITY: Final = ("Identifier", "ShortVersionString")
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
    ask: Ask | None = None,
) -> tuple[list[AppBundle | Unscriptable], list[Unreached]]:
    """Return every app and scripting addition, in a stable order, and what was not looked into.

    An app in the user's own folders or in `search` that has the bundle id of one in the
    system's does not take its place: it comes back as `Unscriptable` with the conflict. One that
    only a database knows takes nobody's place. `ask` runs the programs of macOS that have one.
    """
    places = list(applications)
    shared = [Path(place) for place in places if not place.startswith("~")]
    own = [*(Path(place).expanduser() for place in places if place.startswith("~")), *search]
    found = BundleSearch()
    apps: list[AppBundle | Unscriptable] = []
    owners: dict[str, Path] = {}
    for paths in (found.walk(shared, [".app"]), found.walk(own, [".app"]), found.known_apps(ask)):
        apps += [_refuse_claimed(_read_bundle(path, "application"), owners) for path in paths]
        scriptable = [one for one in apps if isinstance(one, AppBundle) and one.id]
        owners = {one.id.casefold(): one.path for one in reversed(scriptable)}
    libraries = [Path(place).expanduser() for place in additions]
    more = found.walk(libraries, [".osax", ".scptd"])
    return [*apps, *(_read_bundle(path, "addition") for path in more)], found.unreached


def _refuse_claimed(
    bundle: AppBundle | Unscriptable, owners: Mapping[str, Path]
) -> AppBundle | Unscriptable:
    if isinstance(bundle, AppBundle) and bundle.id.casefold() in owners:
        reason = f"uses {bundle.id}, which is the bundle id of {owners[bundle.id.casefold()]}"
        return Unscriptable(bundle.path, bundle.name, on_one_line(reason))
    return bundle


def _read_bundle(path: Path, kind: _Kind) -> AppBundle | Unscriptable:
    if (path / "WrappedBundle").exists() or (path / "Wrapper").is_dir():
        return Unscriptable(path, path.stem, "is an iOS app, which has no scripting dictionary")
    if path.suffix.lower() == ".scptd":
        return Unscriptable(path, path.stem, "is a script library, which only a script can load")
    info = read_info(path / "Contents" / "Info.plist")
    if isinstance(info, str):
        return Unscriptable(path, path.stem, info)
    identifier, version = (_info_text(info, f"CFBundle{key}") for key in _IDENTITY)
    declared = _info_text(info, "OSAScriptingDefinition")
    if declared:
        file = _resource_path(path, declared)
        if file is None:
            reason = f"its dictionary {on_one_line(declared, 80)} is not in its Resources folder"
            return Unscriptable(path, path.stem, reason)
        return AppBundle(path, path.stem, identifier, version, kind, file)
    if not (_is_scriptable(info) or _has_old_dictionary(path)) and kind == "application":
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
        languages = sorted(resources.glob("*.lproj"), key=_language_rank)
        names = declared, f"{declared}.sdef"
        for place in (folder / name for folder in [resources, *languages] for name in names):
            file = place.resolve()
            if file.is_relative_to(resources) and file.is_file():
                return file
    except (OSError, ValueError, RuntimeError):
        # Too long, not encodable, or a link that leads to itself.
        return None
    return None


def _language_rank(folder: Path) -> tuple[bool, str]:
    return folder.stem not in ("Base", "English", "en"), folder.name


def _is_scriptable(info: Mapping[str, Any]) -> bool:
    # The key is a boolean in new bundles and the string YES in old ones.
    value = info.get("NSAppleScriptEnabled", "")
    return isinstance(value, str | bool | int) and str(value).lower() in ("true", "yes", "1")


def _has_old_dictionary(path: Path) -> bool:
    """Say whether a bundle has suites or a resource file, in which an `aete` may lie."""
    resources = path / "Contents" / "Resources"
    return any(resources.glob("*.scriptSuite")) or any(resources.glob("*.rsrc"))


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


PLACES: Final = tuple(
    "/System/Applications /System/Library/CoreServices /System/Library/ExtensionKit/Extensions"
    " /System/Library/Frameworks /System/Library/PrivateFrameworks"
    " /System/iOSSupport/System/Library /System/Cryptexes/App/System /Library/Apple/System/Library"
    " /Applications ~/Applications".split()
)
BUNDLES: Final = (".app", ".appex", ".framework", ".bundle", ".xpc")
_RESOURCES: Final = ("Contents/Resources", "", "Versions/A/Resources", "Resources")
_INFO: Final = (
    "Contents/Info.plist",
    "Info.plist",
    "WrappedBundle/Info.plist",
    *(f"{one}/Info.plist" for one in _RESOURCES[2:]),
)
_HELD: Final = (
    "Contents/PlugIns", "Contents/Extensions", "Contents/Frameworks", "Contents/XPCServices",
    "Wrapper", "PlugIns", "Extensions", "Frameworks", "Versions/A/Frameworks", "Versions/A/PlugIns",
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
        return folder_names(path)
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
    content = next((read_info(path / name) for name in _INFO if (path / name).is_file()), {})
    info = content if isinstance(content, dict) else {}
    owner, version = (_info_text(info, f"CFBundle{key}") for key in _IDENTITY)
    if not is_bundle_id(owner):
        owner = f"local.{app_key(path.stem, '')}"
    return MetadataFile(path, path, owner, version)


def group_by_app(metadata: Iterable[MetadataFile]) -> tuple[list[IntentsOfApp], list[Unscriptable]]:
    """Return the intents of each app: its own, and what names it in files that may.

    The first bundle of an id is the app; another one that claims the id is told and left out.
    """
    files: dict[str, list[MetadataFile]] = defaultdict(list)
    owners: dict[str, Path] = {}
    refused: dict[Path, Unscriptable] = {}
    for one in metadata:
        first = owners.setdefault(one.owner.casefold(), one.bundle)
        if first != one.bundle:
            reason = f"uses {one.owner}, which is the bundle id of {first}"
            refused[one.bundle] = Unscriptable(one.bundle, one.bundle.stem, on_one_line(reason))
        if first != one.bundle or one.path == one.bundle:
            continue
        named = _attribution(*_file_stamp(one.path))[0]
        for owner in sorted({action_owner(app, one.owner, str(one.path)) for app in named}):
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
    digests = "".join(_attribution(*_file_stamp(row.path))[1] for row in rows)
    name = first.bundle.stem if own else owner.rpartition(".")[2]
    version = first.version if own else ""
    files = tuple((str(row.path), row.owner) for row in rows)
    return IntentsOfApp(owner, name, version, files, hashlib.sha256(digests.encode()).hexdigest())


def _file_stamp(path: Path) -> tuple[str, int, int]:
    try:
        facts = path.stat()
    except OSError:
        return str(path), 0, 0
    return str(path), facts.st_mtime_ns, facts.st_size


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
        texts: dict[str, str] = {}
        for folder in folders:
            for rows in _localized_tables(folder, name):
                texts = {**rows, **texts}
        return texts

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
        kept = rows.items() if isinstance(rows, dict) else ()
        yield {key: value for key, value in kept if isinstance(value, str)}


def _parse_strings(content: bytes) -> dict[str, Any]:
    try:
        strings = plistlib.loads(content)
        return strings if isinstance(strings, dict) else {}
    except Exception:  # plistlib lets through whatever its parsers raise
        wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
        text = content.decode("utf-16" if wide else "utf-8", "replace")
        return {key: re.sub(r"\\(.)", r"\1", value) for key, value in _LINE.findall(text)}


Titles: TypeAlias = Mapping[str, Mapping[str, str]]
"""Bundle id -> identifier of an action -> its name and description."""

SUFFIX: Final = ".sqlite"
_MAX_BYTES: Final = 256 * 1024 * 1024
_MOST: Final = 50_000
_STEPS: Final = 50_000_000
"""Of SQLite's machine; the statement takes some 100,000 on a database of a Mac."""

_NAMES: Final = """
SELECT c.id, l.identifier, n.name, n.descriptionSummary
FROM Tools t
JOIN LinkActionIdentifiers l ON l.toolId = t.rowId
JOIN ContainerMetadata c ON c.rowId = t.sourceContainerId
JOIN ToolLocalizations n ON n.toolId = t.rowId AND n.locale = 'en'
ORDER BY c.id, l.identifier
"""


def titles_in(path: Path) -> Titles:
    """Return the names in a copy of the database, of the versions 78 to 80.

    Raises:
        GeneratorError: It cannot be read, or is of a form that is not known.
    """
    import sqlite3  # Few builds have a copy.

    titles: dict[str, dict[str, str]] = defaultdict(dict)
    left = [_STEPS // 1000]

    def tick() -> int:
        left[0] -= 1
        return left[0] < 0

    try:
        with open_file(path, _MAX_BYTES):
            pass
        # Immutable: a copy has no journal, and nothing is written beside it.
        address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = off")
            connection.set_progress_handler(tick, 1000)
            for row in connection.execute(_NAMES).fetchmany(_MOST):
                bundle, identifier, *names = row
                if isinstance(bundle, str) and isinstance(identifier, str):
                    texts = [one[:SAID].rstrip(". ") for one in names if isinstance(one, str)]
                    titles[bundle].setdefault(identifier, ". ".join(filter(None, texts)))
    except LimitError as error:
        raise GeneratorError(f"{path} {error}") from None
    except sqlite3.Error as error:
        reason = on_one_line(str(error), 120)
        raise GeneratorError(
            f"{path} is not a tool database in a form that IAC knows: {reason}"
        ) from None
    return titles
