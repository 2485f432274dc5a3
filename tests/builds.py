"""Builds that many tests look at: made once for all workers of a run."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest

from iac_base.files import hold_lock
from iac_gen.discover import (
    DiscoveredSources,
    from_bundled_snapshots,
    from_paths,
    load_includes,
    read_sources,
)
from iac_gen.pipeline import BuildInputs, build_folder
from iac_gen.quirks import known_apps, load_quirks
from iac_gen.report import BuildReport
from iac_gen.xml import LoadedDictionary

T = TypeVar("T")


class Built(NamedTuple):
    """What a build gave: the files of the folder, the report, and what went in."""

    files: dict[str, str]
    report: BuildReport
    loaded: list[LoadedDictionary]


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[], T]) -> T:
    """Return what `make` gives; the first worker that needs it makes it, the others read it."""
    base = factory.getbasetemp()
    kept = (base.parent if base.name.startswith("popen-") else base) / f"{name}.pickle"
    with hold_lock(kept.with_suffix(".lock")):
        if not kept.exists():
            kept.write_bytes(pickle.dumps(make()))
    found: T = pickle.loads(kept.read_bytes())
    return found


def build(found: DiscoveredSources, *, shipped: bool = False) -> Built:
    """Return the build of what was found, by our quirks."""
    quirks, faults = load_quirks()
    loaded, failed = read_sources(found)
    given = BuildInputs(found.sources, load_includes(), quirks, [*failed, *faults], shipped=shipped)
    return Built(*build_folder(given), loaded)


def of_corpus(corpus: Path) -> Built:
    """Build every real dictionary."""
    return build(from_paths([corpus / "sdef"], known_apps()))


def of_snapshots() -> Built:
    """Build the bundled snapshots, as `nox -s regen` does."""
    return build(from_bundled_snapshots(), shipped=True)
