"""Memory: what the last build into a folder was made of, so that nothing is built twice.

Kept in the user's cache folder, one file an output folder; losing it costs time and nothing
else. An output folder is trusted only while its files are those that the build wrote.
"""

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from iac_gen.includes import STANDARD
from iac_gen.limits import MAX_OUTPUT, LimitError, read_file

__all__ = ["Memory", "digest_of_files", "generator_digest", "recall", "remember"]

_FORMAT = 1
_LIBRARIES = ("jinja2", "lxml")


@dataclass(frozen=True, slots=True)
class Memory:
    """The last build: `stamp` of all that went in, the report, a report a job, the files."""

    generator: str
    stamp: str
    report: Mapping[str, Any]
    jobs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def stands(self, folder: Path) -> bool:
        """Say whether every file that the build wrote is still as it wrote it."""
        return bool(self.files) and self.files == digest_of_files(folder, self.files)


def digest_of_files(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return name -> sha256 in hex of the files of `folder`; missing ones are left out."""
    found = {}
    for name in names:
        with contextlib.suppress(LimitError):
            content = read_file(folder / name, MAX_OUTPUT, follow=False)
            found[name] = hashlib.sha256(content).hexdigest()
    return found


def generator_digest() -> str:
    """Return a digest of the generator: its source, templates, quirks, libraries, includes."""
    here = Path(__file__).parent
    roots = (
        here,
        here.parent.parent / "templates" / "iac_templates",
        here.parent / "iac_templates",
    )
    digest = hashlib.sha256(f"{_FORMAT} {sys.version_info[:2]}".encode())
    for name in _LIBRARIES:
        digest.update(f"{name} {version(name)}".encode())
    paths = sorted(
        path
        for root in roots
        if root.is_dir()
        for pattern in (
            "**/*.py",
            "*.js",
            "classify/*.json",
            "*.jinja",
            "quirks/*.toml",
            "snapshots/standard/*.json",
        )
        for path in root.glob(pattern)
    )
    for path in (*paths, Path(STANDARD)):
        with contextlib.suppress(OSError):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def _file(folder: Path) -> Path:
    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:24]
    return user_cache_path("iac", appauthor=False) / "builds" / f"{name}.json"


def recall(folder: Path) -> Memory | None:
    """Return what is remembered of the last build into `folder`, if anything."""
    try:
        data = json.loads(_file(folder).read_text(encoding="utf-8"))
        if data["format"] != _FORMAT:
            return None
        names = Memory.__slots__
        return Memory(**{name: data[name] for name in names})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember(folder: Path, memory: Memory) -> None:
    """Keep `memory`; a cache that cannot be written is done without."""
    path = _file(folder)
    data = {"format": _FORMAT, **{name: getattr(memory, name) for name in Memory.__slots__}}
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(data, file)
        Path(name).replace(path)
