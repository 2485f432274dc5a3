"""Fixtures that all tests share."""

import gc
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from sampling import draw_left_out, read_changed, read_seed

if TYPE_CHECKING:
    from builds import Built

ROOT = Path(__file__).parent.parent
# Programs of ours and of our packages are found beside the interpreter: a shell that has not
# activated the environment has them nowhere else.
_OWN = str(Path(sys.executable).parent)
os.environ["PATH"] = os.pathsep.join(
    at for at in os.environ.get("PATH", os.defpath).split(os.pathsep) if at != _OWN
)
CORPUS = ROOT.parent / "shared" / "corpus"

# The same commit draws the same examples everywhere; new ones are the stress session's to find.
settings.register_profile(
    "house",
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("short", settings.get_profile("house"), max_examples=25)
settings.register_profile(
    "stress", settings.get_profile("house"), max_examples=2000, derandomize=False
)
# An answer of ours that does not fit its output schema is an error here, and in servers that tests
# start.
os.environ["IAC_STRICT"] = "1"
# What a test keeps without a folder of its own is not to meet the user's approvals and audit.
_DATA = tempfile.TemporaryDirectory(prefix="iac-tests-")
os.environ["IAC_DATA"] = _DATA.name
LEFT_OUT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that runs what a draw leaves out."""
    parser.addoption(
        "--all",
        action="store_true",
        help="run all rows of sweeps, slow tests, and properties with eight times the examples",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples a property is tried on, before the modules that say it are read."""
    given = "house" if config.getoption("--all") else "short"
    settings.load_profile(os.environ.get("IAC_HYPOTHESIS", given))


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    """Mark tests by their kind; of those that -m leaves, take away what the draw leaves out."""
    mark_kinds(items)
    yield
    if config.getoption("--all"):
        return
    left = draw_left_out(items, read_seed(), config.args, read_changed())
    config.stash[LEFT_OUT] = len(left)
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand the number of tests left out to the process that prints, if this is a worker of it."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the number of tests left out from a worker, all of which draw the same."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say how many tests the draw of this commit left out."""
    if count := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(
            f"{count} tests were left out, drawn by {read_seed()};"
            " `nox -s tests-all` (or --all) runs them too."
        )


def mark_kinds(items: list[pytest.Item]) -> None:
    """Mark property tests, and skip tests that read the corpus where there is none.

    Neither kind is counted in the coverage: they run the same lines hundreds of times, each for
    two to three times its price, and the corpus is not everywhere.
    """
    absent = pytest.mark.skip(reason=f"needs {CORPUS.parent.name}/corpus beside the checkout")
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("property")
            item.add_marker("uncounted")
        if "corpus_build" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")
        if "corpus" in getattr(item, "fixturenames", ()):
            item.add_marker("uncounted")
            if not CORPUS.is_dir():
                item.add_marker(absent)


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what is there for good, and come by less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Leave a test out of the coverage.

    A worker of pytest-xdist has two measurements running, and the marker `no_cover` of pytest-cov
    stops one of them.
    """
    tracer = sys.gettrace()
    if item.get_closest_marker("uncounted") is None or tracer is None:
        return (yield)
    sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracer)


@pytest.fixture(params=["friendly", "hard"])
def profile(request: pytest.FixtureRequest) -> str:
    """How simulated apps act: as they are told, or as the field book says of real ones."""
    return str(request.param)


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real dictionaries and samples; tests that use it are skipped without it."""
    return CORPUS


@pytest.fixture(scope="session")
def generated() -> Path:
    """The committed tools."""
    return ROOT / "generated" / "iac_tools"


@pytest.fixture(scope="session")
def corpus_build(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> "Built":
    """Every real dictionary, built."""
    from builds import of_corpus, once

    return once(tmp_path_factory, "corpus", lambda: of_corpus(corpus))


@pytest.fixture(scope="session")
def bundled_build(tmp_path_factory: pytest.TempPathFactory) -> "Built":
    """The bundled snapshots, built as `nox -s regen` builds them."""
    from builds import of_snapshots, once

    return once(tmp_path_factory, "bundled", of_snapshots)
