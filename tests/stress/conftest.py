"""Stress tests take minutes; the small versions of them run in tests/runtime."""

from pathlib import Path

import pytest
from scripted import Scripted, scripted


@pytest.fixture
def osascript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """The scripted osascript, and a state folder of its own."""
    return scripted(tmp_path, monkeypatch)
