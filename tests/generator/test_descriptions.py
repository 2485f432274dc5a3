"""The app's own wording is in a build of its dictionary, and left out when somebody asks."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from making import DIARY, sdef

from iac_gen.cli import cli

SAID = "Looks for an entry from an earlier year"
FIND = f'<command name="find" code="diarfind" description="{SAID}"/>'


def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> Path:
    monkeypatch.setattr("iac_gen.write.user_cache_path", lambda *_, **__: tmp_path / "cache")
    path = tmp_path / "Diary.sdef"
    path.write_bytes(sdef(DIARY + FIND))
    folder = tmp_path / "tools"
    arguments = ["build", "--dictionary", str(path), "--output", str(folder), *options]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    return folder


def test_a_build_can_have_our_words_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = build(tmp_path, monkeypatch, "--descriptions", "own")
    assert not [path.name for path in folder.iterdir() if SAID in path.read_text()]


def test_the_app_s_words_stand_as_they_are_and_their_origin_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = build(tmp_path, monkeypatch)
    rows = [json.loads(line) for line in (folder / "listing.jsonl").read_text().splitlines()]
    (find,) = (row for row in rows if row["name"] == "diary_find")
    assert find["description"] == f"{SAID}. SAFE."
    assert find["_meta"] == {"iac/wording": "app"}
    assert not any("iac/wording" in row.get("_meta", {}) for row in rows if row is not find)


def test_asking_for_other_words_is_another_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = (build(tmp_path, monkeypatch) / "diary.py").read_text()
    build(tmp_path, monkeypatch, "--descriptions", "own")
    assert (build(tmp_path, monkeypatch) / "diary.py").read_text() == own
