"""A data folder of each test's own, and output folders of some committed apps."""

import shutil
from pathlib import Path

import pytest
from real_clients import write_tools


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    monkeypatch.setenv("IAC_DATA", str(folder))
    monkeypatch.delenv("IAC_OSASCRIPT", raising=False)
    monkeypatch.setattr("iac_runtime.tools.catalogue.shipped_folder", lambda: None)
    # So that the answers of two servers can be compared.
    monkeypatch.setattr("iac_runtime.gate.handles.new_mark", lambda: "mark")
    return folder


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tools(tmp_path_factory.mktemp("some") / "tools", ("notes", "mail", "finder"))


@pytest.fixture
def tools(written: Path, tmp_path: Path) -> Path:
    """Notes, Mail and Finder."""
    return Path(shutil.copytree(written, tmp_path / "tools"))
