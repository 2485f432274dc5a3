"""Discover: which dictionaries there are. Reads files, decides nothing about their content."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path

from iac_gen.diagnostics import Diagnostic
from iac_gen.includes import STANDARD
from iac_gen.load import Loaded, LoadError, load, parse
from iac_gen.macos import Bundle, Unscriptable
from iac_gen.model import Dictionary, Source
from iac_gen.naming import app_key
from iac_gen.quirks import Known
from iac_gen.snapshot import read_snapshot

__all__ = [
    "Found",
    "UsageError",
    "from_bundled_snapshots",
    "from_bundles",
    "from_paths",
    "identify",
    "includes",
    "pick",
]

_BUNDLE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,254}")
_SUFFIXES = (".sdef", ".json")


class UsageError(Exception):
    """What was asked for cannot be done; the text is one line for the user."""


@dataclass(frozen=True, slots=True)
class Found:
    """The dictionaries that were read, and those that could not be."""

    sources: tuple[Loaded, ...]
    failed: tuple[Diagnostic, ...] = ()
    unscriptable: tuple[Unscriptable, ...] = field(default=())


def identify(dictionary: Dictionary, stem: str, known: Mapping[str, Known]) -> Source:
    """Return a bare dictionary as the app that its file stem names, else as `local.<key>`."""
    match = known.get(stem.lower())
    if match is None:
        return Source(dictionary, stem, f"local.{app_key(stem, '')}", stem, known=False)
    kind = "addition" if match.kind == "addition" else "application"
    return Source(dictionary, match.name, match.id, stem, kind=kind)  # type: ignore[arg-type]


def from_paths(paths: Iterable[Path], known: Mapping[str, Known]) -> Found:
    """Read dictionaries, snapshots, and folders of either.

    Raises:
        UsageError: A path is not there, is of no known kind, or is a folder without any.
    """
    sources: list[Loaded] = []
    failed: list[Diagnostic] = []
    for path in paths:
        for file in _files(path):
            try:
                sources.append(_read(file, known))
            except LoadError as error:
                failed.append(error.diagnostic)
    return Found(tuple(sources), tuple(failed))


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(p for p in path.iterdir() if p.suffix in _SUFFIXES and p.is_file())
        if not found:
            raise UsageError(f"{path} holds no .sdef file and no snapshot; name another folder")
        return found
    if not path.exists():
        raise UsageError(f"{path} does not exist; check the path")
    if path.suffix not in _SUFFIXES:
        raise UsageError(f"{path} is no .sdef file, no snapshot (.json) and no folder of them")
    return [path]


def _read(path: Path, known: Mapping[str, Known]) -> Loaded:
    if path.suffix == ".json":
        return Loaded(read_snapshot(path))
    dictionary, diagnostics = load(path)
    return Loaded(identify(dictionary, path.stem, known), tuple(diagnostics))


def from_bundled_snapshots() -> Found:
    """Read the snapshots that ship with the generator."""
    with as_file(files("iac_gen") / "snapshots") as folder:
        return from_paths([folder], {})


def from_bundles(bundles: Sequence[Bundle | Unscriptable]) -> Found:
    """Read the dictionaries of installed apps."""
    sources: list[Loaded] = []
    failed: list[Diagnostic] = []
    without: list[Unscriptable] = []
    for bundle in bundles:
        if isinstance(bundle, Unscriptable):
            without.append(bundle)
            continue
        try:
            dictionary, found = (
                parse(bundle.content, str(bundle.path))
                if bundle.content is not None
                else load(bundle.dictionary)
            )
        except LoadError as error:
            failed.append(error.diagnostic)
            continue
        valid = _BUNDLE_ID.fullmatch(bundle.id) is not None
        if not valid:
            text = f"the bundle id {bundle.id!r} is none; the app is built as a local one"
            found = [*found, Diagnostic(str(bundle.path), 0, "bundle-id", text)]
        source = Source(
            dictionary,
            bundle.name,
            bundle.id if valid else f"local.{app_key(bundle.name, '')}",
            bundle.path.stem,
            bundle.version,
            bundle.kind,
            known=valid,
        )
        sources.append(Loaded(source, tuple(found)))
    return Found(tuple(sources), tuple(failed), tuple(without))


def includes() -> dict[str, Dictionary]:
    """Return what may be included: the Mac's own file if there is one, else the bundled facts."""
    installed = Path(STANDARD)
    if installed.is_file():
        try:
            return {STANDARD: load(installed)[0]}
        except LoadError:
            pass  # An unreadable system file is as good as none: the bundled facts step in.
    with as_file(files("iac_gen") / "snapshots" / "standard" / "CocoaStandard.json") as path:
        return {STANDARD: read_snapshot(path).dictionary}


def pick(found: Found, names: Sequence[str], nearest: int = 3) -> Found:
    """Return only the apps called `names`: a key, a name, a file stem or a bundle id.

    Raises:
        UsageError: A name fits none of them.
    """
    if not names:
        return found

    chosen: list[Loaded] = []
    labels: dict[str, Loaded] = {}
    for loaded in found.sources:
        source = loaded.source
        for label in (source.id, source.stem, source.name, app_key(source.name, source.id)):
            labels.setdefault(label.lower(), loaded)
    for name in names:
        match = labels.get(name.lower())
        if match is None:
            near = difflib.get_close_matches(name.lower(), labels, nearest, 0.5)
            hint = f" Nearest: {', '.join(near)}." if near else " See iac-gen list."
            raise UsageError(f"no dictionary belongs to an app called {name}.{hint}")
        if match not in chosen:
            chosen.append(match)
    return Found(tuple(chosen), found.failed, found.unscriptable)
