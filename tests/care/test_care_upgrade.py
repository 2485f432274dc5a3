"""`iac-mcp upgrade`: the changes since the version that was last used, once."""

import json
from pathlib import Path

import pytest

from iac_base.files import open_state
from iac_mcp.cli.doctor import changes_since, record_version, recorded_version
from iac_mcp.cli.main import main
from iac_runtime.version import VERSION

LOG = """# Changelog

## 0.1.0 (2026-11-01)

### Added
- A tool that
  waits.

## 0.0.9

- Older.
"""


def test_only_newer_versions_are_shown_with_whole_entries() -> None:
    assert list(changes_since(LOG, "0.0.9")) == [("0.1.0 (2026-11-01)", ["A tool that waits."])]
    assert [title for title, _ in changes_since(LOG, "0.0.1")] == ["0.1.0 (2026-11-01)", "0.0.9"]
    assert list(changes_since(LOG, VERSION)) == []


def test_an_upgrade_shows_the_changes_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IAC_DATA", str(tmp_path / "data"))
    assert recorded_version() == ""
    record_version()
    assert recorded_version() == VERSION
    (open_state() / "version").write_text("0.0.1\n")
    assert main(["upgrade"]) == 0
    shown = capsys.readouterr().out
    assert f"This is version {VERSION}. You last used version 0.0.1." in shown
    assert "\n- " in shown
    assert main(["upgrade", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["from"], facts["to"], facts["changes"]) == (VERSION, VERSION, {})
