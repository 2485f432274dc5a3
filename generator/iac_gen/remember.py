"""Remember: what the last build into a folder was made of, so that it is not made again."""

import contextlib
import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from iac_base.files import write_whole
from iac_gen.resolve import STANDARD
from iac_gen.write import digest_of_files

_FORMAT = 2
_LIBRARIES = ("black", "jinja2", "lxml")


@dataclass(frozen=True, slots=True)
class BuildCache:
    """The last build: `stamp` of all that went in, the report, the app of a job, the files."""

    generator: str
    stamp: str
    report: Mapping[str, Any]
    jobs: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def matches_files(self, folder: Path) -> bool:
        """Say whether every file that the build wrote is still as it wrote it."""
        return bool(self.files) and self.files == digest_of_files(folder, self.files)


def generator_digest(templates: Path | None = None) -> str:
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
            "**/*.toml",
            "*.js",
            "*.jinja",
            "classify/*.json",
            "snapshots/standard/*.json",
        )
        for path in root.glob(pattern)
    )
    own = sorted(templates.glob("*.jinja")) if templates else []
    digest.update(str(templates).encode())
    for path in (*paths, *own, Path(STANDARD)):
        with contextlib.suppress(OSError):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def _cache_file(folder: Path) -> Path:
    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:24]
    return user_cache_path("iac", appauthor=False) / "builds" / f"{name}.json"


def read_cache(folder: Path) -> BuildCache | None:
    """Return what is remembered of the last build into `folder`, if anything."""
    try:
        data = json.loads(_cache_file(folder).read_text(encoding="utf-8"))
        if data["format"] != _FORMAT:
            return None
        names = BuildCache.__slots__
        return BuildCache(**{name: data[name] for name in names})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_cache(folder: Path, memory: BuildCache) -> None:
    """Keep `memory`; a cache that cannot be written is done without."""
    path = _cache_file(folder)
    data = {"format": _FORMAT, **{name: getattr(memory, name) for name in BuildCache.__slots__}}
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(path, json.dumps(data))
