"""Builds that several tests look at, made once a session."""

from pathlib import Path

import pytest
from making import Built

from iac_gen.discover import from_bundled_snapshots, from_paths, includes, read
from iac_gen.pipeline import Inputs, generate
from iac_gen.quirks import known_apps, load_quirks


@pytest.fixture(scope="session")
def corpus_build(corpus: Path) -> Built:
    """Every real dictionary, built."""
    found = from_paths([corpus / "sdef"], known_apps())
    quirks, faults = load_quirks()
    loaded, failed = read(found)
    given = Inputs(found.sources, includes(), quirks, [*failed, *faults])
    return Built(*generate(given), loaded)


@pytest.fixture(scope="session")
def bundled_build() -> Built:
    """The bundled snapshots, built as `nox -s regen` builds them."""
    found = from_bundled_snapshots()
    quirks, faults = load_quirks()
    loaded, failed = read(found)
    given = Inputs(found.sources, includes(), quirks, [*failed, *faults], shipped=True)
    return Built(*generate(given), loaded)
