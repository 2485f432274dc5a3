"""A gate on simulated apps, with a state folder of its own."""

from pathlib import Path

import pytest
from plans_desk import Desk


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("IAC_DATA", str(tmp_path))
    return Desk()
