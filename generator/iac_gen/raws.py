"""Raws: dictionaries that were found and not yet read.

What a build needs to know before it parses anything: whose they are and whether they changed.
"""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from iac_gen.diagnostics import Diagnostic
from iac_gen.limits import LimitError, read_file
from iac_gen.load import Loaded, LoadError, load, parse
from iac_gen.model import Source
from iac_gen.snapshot import load_snapshot

__all__ = ["Raw", "raw_file"]


@dataclass(frozen=True, slots=True)
class Raw:
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
    kind: Literal["application", "addition"] = "application"
    known: bool = True
    content: bytes | None = None
    notes: tuple[Diagnostic, ...] = ()

    def read(self, *, as_written: bool = False) -> Loaded:
        """Parse it; `as_written` keeps texts that a build would clean (for lint).

        Raises:
            LoadError: It holds no dictionary.
        """
        path = Path(self.file)
        if path.suffix == ".json":
            taken = load_snapshot(path, as_written=as_written)
            return Loaded(taken.source, (*self.notes, *taken.diagnostics))
        if self.content is not None:
            dictionary, found = parse(self.content, self.file, as_written=as_written)
        else:
            dictionary, found = load(path, as_written=as_written)
        source = Source(
            dictionary, self.name, self.id, self.stem, self.version, self.kind, self.known
        )
        return Loaded(source, (*self.notes, *found))


def raw_file(path: Path, name: str, identifier: str) -> Raw:
    """Return the dictionary or snapshot at `path`, of an app with this name and bundle id.

    A file that cannot be read has an empty digest; `read` says what is wrong with it.
    """
    try:
        content = read_file(path)
    except LimitError:
        content = b""
    raw = Raw(
        str(path),
        hashlib.sha256(content).hexdigest() if content else "",
        name,
        identifier,
        path.stem,
    )
    return _named(raw) if path.suffix == ".json" else raw


def _named(raw: Raw) -> Raw:
    """Return a snapshot's raw under the name that the snapshot gives."""
    try:
        source = load_snapshot(Path(raw.file)).source
    except LoadError:
        return raw
    return replace(
        raw,
        name=source.name,
        id=source.id,
        stem=source.stem,
        version=source.version,
        kind=source.kind,
    )
