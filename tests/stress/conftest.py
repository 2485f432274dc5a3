"""Stress tests take minutes; the small versions of them run in tests/runtime."""

import sys
from pathlib import Path

import pytest
import warm
from scripted import Scripted, scripted


@pytest.fixture
def osascript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """The scripted osascript, and a state folder of its own."""
    return scripted(tmp_path, monkeypatch)


@pytest.fixture(autouse=True)
def cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs are started as anywhere: a process that is measured is the program itself."""
    monkeypatch.setattr(warm, "command", lambda code, *more: [sys.executable, "-c", code, *more])
