"""A small app of our own, Diary, as an output folder, and a world for it in the simulator."""

import json
from pathlib import Path

import pytest
from diary_world import DIARY, WORLD, write_output
from scripted import Scripted, scripted

from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.tables import Tables, tables_of


@pytest.fixture(scope="session")
def tables() -> Tables:
    return tables_of(DIARY)


@pytest.fixture(scope="session")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_output(tmp_path_factory.mktemp("out") / "tools")


@pytest.fixture
def catalogue(output: Path) -> Catalogue:
    return Catalogue([output])


@pytest.fixture
def state_file(tmp_path: Path) -> Path:
    path = tmp_path / "state.json"
    path.write_text(json.dumps({"diary": WORLD}), encoding="utf-8")
    return path


@pytest.fixture
def osascript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    return scripted(tmp_path, monkeypatch)


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    monkeypatch.setenv("IAC_DATA", str(folder))
    monkeypatch.delenv("IAC_OSASCRIPT", raising=False)
    monkeypatch.setattr("iac_runtime.tools.catalogue.shipped_folder", lambda: None)
    return folder
