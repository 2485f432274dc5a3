"""Fixtures that all tests share."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent
CORPUS = ROOT.parent / "shared" / "corpus"

settings.register_profile(
    "house", max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("stress", settings.get_profile("house"), max_examples=2000)
settings.load_profile(os.environ.get("IAC_HYPOTHESIS", "house"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark property tests, and skip tests that read the corpus where there is none."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("property")
            # They call the same lines hundreds of times, each for two to three times its price.
            item.add_marker("no_cover")
    if CORPUS.is_dir():
        return
    reason = f"needs {CORPUS.parent.name}/corpus beside the checkout"
    for item in items:
        if "corpus" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real dictionaries and samples; tests that use it are skipped without it."""
    return CORPUS


@pytest.fixture(scope="session")
def generated() -> Path:
    """The committed tools."""
    return ROOT / "generated" / "iac_tools"
