"""Discover: which dictionaries there are and whose they are; nothing about content."""

import difflib
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Literal

from iac_gen.diagnostics import Diagnostic
from iac_gen.includes import STANDARD
from iac_gen.load import Loaded, LoadError, load
from iac_gen.macos import Bundle, Unscriptable
from iac_gen.model import Dictionary
from iac_gen.naming import app_key, is_bundle_id
from iac_gen.quirks import Known
from iac_gen.raws import Raw, raw_file
from iac_gen.snapshot import read_snapshot

__all__ = [
    "Found",
    "UsageError",
    "from_bundled_snapshots",
    "from_bundles",
    "from_paths",
    "includes",
    "pick",
    "read",
]

_SUFFIXES = (".sdef", ".json")


class UsageError(Exception):
    """What was asked for cannot be done; the text is one line for the user."""


@dataclass(frozen=True, slots=True)
class Found:
    """The dictionaries that there are, and the apps that have none."""

    sources: tuple[Raw, ...]
    unscriptable: tuple[Unscriptable, ...] = ()


def from_paths(paths: Iterable[Path], known: Mapping[str, Known]) -> Found:
    """Return the dictionaries and snapshots at `paths`, folders of them included.

    A bare dictionary belongs to the app that its file stem names in `known`, else to
    `local.<key>`.

    Raises:
        UsageError: A path is not there, is of no known kind, or is a folder without any.
    """
    return Found(tuple(_bare(file, known) for path in paths for file in _files(path)))


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


def _bare(path: Path, known: Mapping[str, Known]) -> Raw:
    match = known.get(path.stem.lower())
    local = f"local.{app_key(path.stem, '')}"
    raw = raw_file(path, match.name if match else path.stem, match.id if match else local)
    if path.suffix == ".json":
        return raw
    kind: Literal["application", "addition"] = (
        "addition" if match and match.kind == "addition" else "application"
    )
    return Raw(raw.file, raw.digest, raw.name, raw.id, raw.stem, "", kind, match is not None)


def read(found: Found, *, as_written: bool = False) -> tuple[list[Loaded], list[Diagnostic]]:
    """Parse what was found; return it, and what could not be read."""
    loaded: list[Loaded] = []
    failed: list[Diagnostic] = []
    for raw in found.sources:
        try:
            loaded.append(raw.read(as_written=as_written))
        except LoadError as error:
            failed.append(error.diagnostic)
    return loaded, failed


def from_bundled_snapshots() -> Found:
    """Return the snapshots that ship with the generator."""
    with as_file(files("iac_gen") / "snapshots") as folder:
        return from_paths([folder], {})


def from_bundles(bundles: Sequence[Bundle | Unscriptable]) -> Found:
    """Return the dictionaries of installed apps."""
    found = [_installed(bundle) for bundle in bundles if isinstance(bundle, Bundle)]
    without = [bundle for bundle in bundles if isinstance(bundle, Unscriptable)]
    return Found(tuple(found), tuple(without))


def _installed(bundle: Bundle) -> Raw:
    notes: tuple[Diagnostic, ...] = ()
    identifier = bundle.id
    valid = is_bundle_id(identifier)
    if not valid:
        text = f"the bundle id {identifier!r} is none; the app is built as a local one"
        notes = (Diagnostic(str(bundle.path), 0, "bundle-id", text),)
        identifier = f"local.{app_key(bundle.name, '')}"
    digest = (
        hashlib.sha256(bundle.content).hexdigest()
        if bundle.content is not None
        else raw_file(bundle.dictionary, "", "").digest
    )
    return Raw(
        str(bundle.dictionary),
        digest,
        bundle.name,
        identifier,
        bundle.path.stem,
        bundle.version,
        bundle.kind,
        valid,
        bundle.content,
        notes,
    )


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
    chosen: list[Raw] = []
    labels: dict[str, Raw] = {}
    for raw in found.sources:
        for label in (raw.id, raw.stem, raw.name, app_key(raw.name, raw.id)):
            labels.setdefault(label.lower(), raw)
    for name in names:
        match = labels.get(name.lower())
        if match is None:
            near = difflib.get_close_matches(name.lower(), labels, nearest, 0.5)
            hint = f" Nearest: {', '.join(near)}." if near else " See iac-gen list."
            raise UsageError(f"no dictionary belongs to an app called {name}.{hint}")
        if match not in chosen:
            chosen.append(match)
    return Found(tuple(chosen), found.unscriptable)
