"""Discover: which dictionaries there are and whose they are; nothing about content."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path

from iac_base.errors import nearest_names
from iac_gen import macos
from iac_gen.intents.read import FILE, read_intents, read_part
from iac_gen.limits import LimitError, read_file
from iac_gen.model import Diagnostic, Dictionary, GeneratorError, Kind, Source
from iac_gen.naming import app_key, is_bundle_id
from iac_gen.places import Unreached
from iac_gen.quirks import KnownApp
from iac_gen.resolve import STANDARD
from iac_gen.snapshot import load_snapshot, read_snapshot
from iac_gen.xml import LoadedDictionary, LoadError, load_dictionary, parse_dictionary
from iac_runtime.tool import INTENTS

_SUFFIXES = (".sdef", ".json")
_METADATA = Path(FILE).suffix
_TOLD = 10


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A dictionary or snapshot at `file`, of the app that the other fields name.

    `digest` is the sha256 of the bytes, in hex; `content` holds them where the file is not the
    dictionary itself (macOS made it). A snapshot names its app itself.
    """

    file: str
    digest: str
    name: str
    id: str
    stem: str
    version: str = ""
    kind: Kind = "application"
    known: bool = True
    content: bytes | None = None
    notes: tuple[Diagnostic, ...] = ()
    parts: tuple[tuple[str, str], ...] = ()
    """Of intents: each file, and the app that it lies in."""
    titles: tuple[tuple[str, str], ...] = ()
    """Of intents: what the tool database calls them, by identifier."""

    def read(self, *, as_written: bool = False) -> LoadedDictionary:
        """Parse it; `as_written` keeps texts that a build would clean (for lint).

        Raises:
            LoadError: It holds no dictionary.
        """
        path = Path(self.file)
        if path.suffix == ".json":
            taken = load_snapshot(path, as_written=as_written)
            return LoadedDictionary(taken.source, (*self.notes, *taken.diagnostics))
        if self.kind == "intents":
            files = [(Path(file), owner) for file, owner in self.parts] or [(path, "")]
            whole = [read_part(*one) for one in files]
            words = macos.text_lookup([file for file, _ in files], dict(self.titles))
            dictionary, notes = read_intents(whole, self.id if self.parts else "", words)
        elif self.content is not None:
            dictionary, notes = parse_dictionary(self.content, self.file, as_written=as_written)
        else:
            dictionary, notes = load_dictionary(path, as_written=as_written)
        source = Source(
            dictionary, self.name, self.id, self.stem, self.version, self.kind, self.known
        )
        return LoadedDictionary(source, (*self.notes, *notes))


def source_file(path: Path, name: str, identifier: str) -> SourceFile:
    """Return the dictionary or snapshot at `path`, of an app with this name and bundle id.

    A file that cannot be read has an empty digest; `read` says what is wrong with it.
    """
    try:
        digest = hashlib.sha256(read_file(path)).hexdigest()
    except LimitError:
        digest = ""
    file = SourceFile(str(path), digest, name, identifier, path.stem)
    if path.suffix != ".json":
        return file
    try:
        source = load_snapshot(path).source
    except LoadError:
        return file
    facts = (source.name, source.id, source.stem, source.version, source.kind)
    return SourceFile(file.file, digest, *facts)


@dataclass(frozen=True, slots=True)
class DiscoveredSources:
    """The dictionaries that there are, and the apps that have none."""

    sources: tuple[SourceFile, ...]
    unscriptable: tuple[macos.Unscriptable, ...] = ()
    unreached: tuple[Unreached, ...] = ()
    searched: bool = False
    """Whether a Mac was searched, and not only what somebody named was read."""

    def search_result(self) -> str:
        """Return in a line what the search of a Mac came to; empty where there was none."""
        if not self.searched:
            return ""
        missed = "; ".join(f"{one.name} {one.reason}" for one in self.unreached[:_TOLD])
        more = len(self.unreached) - _TOLD
        why = f": {missed}" + (f"; and {more} more" if more > 0 else "") if missed else ""
        return (
            f"{len(self.sources)} found, {len(self.unscriptable)} without a dictionary,"
            f" {len(self.unreached)} not reached{why}"
        )


def from_paths(paths: Iterable[Path], known: Mapping[str, KnownApp]) -> DiscoveredSources:
    """Return the dictionaries and snapshots at `paths`, folders of them included.

    A bundle and a file of App Intents metadata stand for the intents that they hold.

    A bare dictionary belongs to the app that its file stem names in `known`, else to
    `local.<key>`.

    Raises:
        GeneratorError: A path is not there, is of no known kind, or is a folder without any.
    """
    named = list(paths)
    intents = [path for path in named if path.suffix in (*macos.BUNDLES, _METADATA)]
    files = (file for path in named if path not in intents for file in _dictionary_files(path))
    sources = tuple(_source_of_file(file, known) for file in files)
    return DiscoveredSources((*sources, *(from_intents(intents).sources if intents else ())))


def _dictionary_files(path: Path) -> list[Path]:
    if path.is_dir():
        dictionaries = sorted(p for p in path.iterdir() if p.suffix in _SUFFIXES and p.is_file())
        if not dictionaries:
            raise GeneratorError(
                f"{path} contains no .sdef file and no snapshot; give another folder"
            )
        return dictionaries
    if not path.exists():
        raise GeneratorError(f"{path} does not exist; check the path")
    if path.suffix not in _SUFFIXES:
        raise GeneratorError(f"{path} is not an .sdef file, a snapshot (.json) or a folder of them")
    return [path]


def _source_of_file(path: Path, known: Mapping[str, KnownApp]) -> SourceFile:
    match = known.get(path.stem.lower())
    local = f"local.{app_key(path.stem, '')}"
    file = source_file(path, match.name if match else path.stem, match.id if match else local)
    if path.suffix == ".json":
        return file
    addition = match is not None and match.kind == "addition"
    return replace(file, kind="addition" if addition else "application", known=match is not None)


def from_intents(paths: Iterable[Path]) -> DiscoveredSources:
    """Return App Intents metadata: files of it, folders of such files, bundles, folders of bundles.

    A bare file belongs to `local.<key>` of its stem: whose it is stands in the bundle alone. A copy
    of the tool database among `paths` gives words to actions whose titles are keys.

    Raises:
        GeneratorError: A path is not there or holds none, or a database is none.
    """
    sources: list[SourceFile] = []
    places: list[Path] = []
    titles: dict[str, Mapping[str, str]] = {}
    for path in paths:
        if path.suffix == macos.SUFFIX:
            titles |= macos.titles_in(path)
            continue
        bare = [path] if path.is_file() else sorted(path.glob(f"*{_METADATA}"))
        own = [
            (file, macos.bundle_of(file.absolute())) for file in bare if file.suffix == _METADATA
        ]
        sources += [_metadata_source(file) for file, bundle in own if bundle is None]
        places += [bundle for _, bundle in own if bundle is not None] or ([] if own else [path])
    apps, refused = macos.group_by_app(macos.metadata_files(places))
    sources += (_app_intents_source(app, titles.get(app.id, {})) for app in apps)
    if not sources:
        named = ", ".join(map(str, places)) or "the given place"
        raise GeneratorError(f"{named} contains no App Intents metadata ({FILE}); check the path")
    return DiscoveredSources(tuple(sources), tuple(refused))


def _metadata_source(path: Path) -> SourceFile:
    stem = path.parent.parent.stem if path.name == FILE else path.stem
    file = source_file(path, stem, f"local.{app_key(stem, '')}")
    return replace(file, stem=stem, kind="intents", known=False)


def _app_intents_source(app: macos.IntentsOfApp, titles: Mapping[str, str]) -> SourceFile:
    named = tuple(sorted(titles.items()))
    digest = app.digest
    if named:
        digest = hashlib.sha256(f"{digest}{named}".encode()).hexdigest()
    known = not app.id.startswith("local.")
    kind: Kind = "intents"
    facts = (app.name, app.id, app.name, app.version, kind, known)
    return SourceFile(app.files[0][0], digest, *facts, parts=app.files, titles=named)


def read_sources(
    discovered: DiscoveredSources, *, as_written: bool = False
) -> tuple[list[LoadedDictionary], list[Diagnostic]]:
    """Parse what was found; return it, and what could not be read."""
    loaded: list[LoadedDictionary] = []
    failed: list[Diagnostic] = []
    for file in discovered.sources:
        try:
            loaded.append(file.read(as_written=as_written))
        except LoadError as error:
            failed.append(error.diagnostic)
    return loaded, failed


def from_bundled_snapshots() -> DiscoveredSources:
    """Return the snapshots that ship with the generator."""
    with as_file(files("iac_gen") / "snapshots") as folder:
        return from_paths([folder], {})


def from_bundles(
    bundles: Sequence[macos.AppBundle | macos.Unscriptable], unreached: Sequence[Unreached] = ()
) -> DiscoveredSources:
    """Return the dictionaries of installed apps."""
    sources = [_bundle_source(bundle) for bundle in bundles if isinstance(bundle, macos.AppBundle)]
    without = [bundle for bundle in bundles if isinstance(bundle, macos.Unscriptable)]
    return DiscoveredSources(tuple(sources), tuple(without), tuple(unreached), searched=True)


def _bundle_source(bundle: macos.AppBundle) -> SourceFile:
    notes: tuple[Diagnostic, ...] = ()
    identifier = bundle.id
    valid = is_bundle_id(identifier)
    if not valid:
        text = f"{identifier!r} is not a valid bundle id; the app gets a local one"
        notes = (Diagnostic(str(bundle.path), 0, "bundle-id", text),)
        identifier = f"local.{app_key(bundle.name, '')}"
    if bundle.content is None:
        digest = source_file(bundle.dictionary, "", "").digest
    else:
        digest = hashlib.sha256(bundle.content).hexdigest()
    facts = (bundle.name, identifier, bundle.path.stem, bundle.version, bundle.kind, valid)
    return SourceFile(str(bundle.dictionary), digest, *facts, bundle.content, notes)


def load_includes() -> dict[str, Dictionary]:
    """Return what may be included: the Mac's own file if there is one, else the bundled facts."""
    installed = Path(STANDARD)
    if installed.is_file():
        try:
            return {STANDARD: load_dictionary(installed)[0]}
        except LoadError:
            pass  # An unreadable system file is as good as none: the bundled facts step in.
    with as_file(files("iac_gen") / "snapshots" / "standard" / "CocoaStandard.json") as path:
        return {STANDARD: read_snapshot(path).dictionary}


def pick_sources(discovered: DiscoveredSources, names: Sequence[str]) -> DiscoveredSources:
    """Return only the apps called `names`: a key, a name, a file stem or a bundle id.

    Raises:
        GeneratorError: A name fits none of them.
    """
    if not names:
        return discovered
    chosen: list[SourceFile] = []
    labels: dict[str, SourceFile] = {}
    for file in discovered.sources:
        key = app_key(file.name, file.id)
        key += INTENTS if file.kind == "intents" else ""
        for label in (key, file.id, file.stem, file.name):
            labels.setdefault(label.lower(), file)
    for name in names:
        match = labels.get(name.lower())
        if match is None:
            near = nearest_names(name, labels)
            hint = f" Nearest: {', '.join(near)}." if near else " Run iac-gen list to see the apps."
            if "/" in name:
                hint = " To read a file or a folder, use --dictionary PATH."
            raise GeneratorError(f"there is no dictionary for an app called {name}.{hint}")
        if match not in chosen:
            chosen.append(match)
    return replace(discovered, sources=tuple(chosen))
