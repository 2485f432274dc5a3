"""A home folder of its own for every test, with the data folder in it."""

from pathlib import Path

import pytest

from iac_mcp.setup.clients import CLIENTS, client_file


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("IAC_DATA", str(tmp_path / "data"))
    for name in ("IAC_OSASCRIPT", "IAC_READ_ONLY", "IAC_RATE_LIMIT", "IAC_BLOCKLIST", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def desktop(home: Path) -> Path:
    """The file of Claude Desktop on this platform; it is not there yet."""
    path = client_file(CLIENTS["claude-desktop"], {"HOME": str(home)})
    path.parent.mkdir(parents=True)
    return path
