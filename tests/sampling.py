"""Draws one row in ten of long sweeps, so that `nox -s tests` takes three minutes and not ten.

A commit always draws the same tests; the next one draws others. Nothing is left out of a module
that the last commit or the working tree changed, nor what the command line names.
"""

import hashlib
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SHARE = 10
"""One row in so many runs, and at least one of each function; `sweep(3)` asks for one in three."""
MOST_CHANGED = 20
"""A change of more modules is one of all, such as a new name, and runs what is drawn."""


def ask_git(*command: str) -> str:
    """Return what git says of the checkout; nothing outside of one."""
    try:
        done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return ""
    return "" if done.returncode else done.stdout.strip()


def read_seed() -> str:
    """Return the commit that is checked out."""
    return ask_git("rev-parse", "--short=12", "HEAD") or "no commit"


def read_changed() -> set[Path]:
    """Return the test modules that the last commit or the working tree changed."""
    names = ask_git("diff", "--name-only", "HEAD~1", "--", "tests/**/test_*.py").splitlines()
    return {ROOT / name for name in names} if len(names) <= MOST_CHANGED else set()


def draw_left_out(
    items: Iterable[pytest.Item], seed: str, named: Iterable[str], changed: Iterable[Path]
) -> set[pytest.Item]:
    """Return the tests that are left out: what is slow, and most rows of each sweep."""
    left: set[pytest.Item] = set()
    sweeps: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.path in changed or _is_named(item, named):
            continue
        if item.get_closest_marker("slow"):
            left.add(item)
        elif marker := item.get_closest_marker("sweep"):
            # On a module the marker makes one sweep of the tests in it.
            of_function = marker in item.own_markers
            name = item.nodeid.partition("[")[0] if of_function else str(item.path)
            sweeps[name, marker.args[0] if marker.args else SHARE].append(item)
    for (_, share), rows in sweeps.items():
        rows.sort(key=lambda item: hashlib.sha256(f"{seed} {item.nodeid}".encode()).digest())
        left.update(rows[-(-len(rows) // share) :])
    return left


def _is_named(item: pytest.Item, named: Iterable[str]) -> bool:
    """Say whether a test, its function or its class stands on the command line."""
    own = item.nodeid.partition("::")[2]
    return any(
        inner
        and (own == inner or own.startswith((f"{inner}[", f"{inner}::")))
        and item.path == Path(path).resolve()
        for path, _, inner in (name.partition("::") for name in named)
    )
