"""Folders that hold other people's files: a build takes none over, and touches none of them.

State files that somebody planted (an index, a snapshot, a module, links) act on nothing outside
the folder that they lie in.
"""

import importlib.util
import json
import marshal
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from making import sdef
from test_hostile_folders import NEW, digest, outside, planted, run, stage, tree

from iac_base.errors import SetupError
from iac_gen.cli import cli
from iac_runtime.tools.catalogue import Catalogue


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered of builds lies in this test's own folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("name", ["README.md", "diary.py", "__init__.py", ".git", ".build.py"])
def test_a_folder_of_somebody_else_is_not_taken_over(tmp_path: Path, name: str) -> None:
    (tmp_path / "Diary.sdef").write_bytes(sdef())
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / name).write_text("mine")
    before = tree(tmp_path / "tools")
    result = run(tmp_path, "build")
    assert tree(tmp_path / "tools") == before
    assert result.exit_code == 2
    assert result.stderr == (
        f"iac-gen: {tmp_path / 'tools'} contains {name} and no tools.lock, so no build made it."
        " Nothing was changed; give a new or empty folder\n"
    )


def test_an_empty_folder_one_of_the_finder_and_one_of_a_build_are_taken(tmp_path: Path) -> None:
    (tmp_path / "Diary.sdef").write_bytes(sdef())
    for note in ("", ".DS_Store"):
        (tmp_path / "tools").mkdir()
        if note:
            (tmp_path / "tools" / note).write_text("x")
        assert run(tmp_path, "build").exit_code == 0
        assert run(tmp_path, "build").exit_code == 0
        shutil.rmtree(tmp_path / "tools")


@pytest.mark.parametrize("options", [[], ["--prune"]])
def test_a_file_that_no_build_wrote_stays_in_a_folder_of_a_build(
    tmp_path: Path, options: list[str]
) -> None:
    tools = planted(tmp_path)
    (tools / "notes.txt").write_text("mine")
    (tools / "diary.py").write_text('"""My own diary."""\n')
    (tmp_path / "Ledger.sdef").write_bytes(sdef())
    if options:
        (tmp_path / "Ledger.sdef").rename(tmp_path / "Diary.sdef")
        (tmp_path / "Diary.sdef").write_bytes(sdef('<command name="burn" code="diarburn"/>'))
    before = tree(tools)
    result = run(tmp_path, "build", *options)
    assert tree(tools) == before
    assert result.exit_code == 2
    assert result.stderr == (
        f"iac-gen: {tools / 'diary.py'} was not written by iac-gen,"
        " so nothing was changed; move it away\n"
    )


def test_a_stage_in_a_folder_of_somebody_else_is_not_finished(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tmp_path / "Diary.sdef").write_bytes(sdef())
    (tools / "setup.py").write_text("mine")
    for journal in (
        {"replace": {"setup.py": digest(NEW)}, "remove": []},
        {"replace": {"diary.py": digest(NEW)}, "remove": ["setup.py"]},
        {"replace": {"diary.py": digest(NEW)}, "remove": []},
    ):
        folder = stage(tools, journal, **{name[:-3]: NEW for name in journal["replace"]})
        before = tree(tools)
        assert run(tmp_path, "build").exit_code == 2
        assert tree(tools) == before
        shutil.rmtree(folder)


def test_a_folder_that_is_called_as_a_stage_is_not_cleared_away(tmp_path: Path) -> None:
    tools = planted(tmp_path)
    (tools / ".build").mkdir()
    (tools / ".build" / "mine.py").write_text("mine")
    before = tree(tools)
    result = run(tmp_path, "build")
    assert result.exit_code == 2
    assert "has no journal. Nothing was changed" in result.stderr
    assert tree(tools) == before


def test_a_snapshot_overwrites_nothing_but_a_snapshot(tmp_path: Path) -> None:
    (tmp_path / "package.sdef").write_bytes(sdef())
    (tmp_path / "package.json").write_text('{"name": "mine"}')
    command = ["snapshot", str(tmp_path / "package.sdef"), "--output", str(tmp_path)]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 2
    assert f"{tmp_path / 'package.json'} was not written by iac-gen" in result.stderr
    assert (tmp_path / "package.json").read_text() == '{"name": "mine"}'
    (tmp_path / "package.json").unlink()
    for _ in range(2):
        assert CliRunner().invoke(cli, command).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["package.json", "package.sdef"]


@pytest.mark.parametrize("key", ["../secret", "/tmp/secret", "private.key", ""])
def test_a_catalogue_names_no_module_outside_its_folder(tmp_path: Path, key: str) -> None:
    tools = planted(tmp_path)
    (tmp_path / "secret.py").write_text("raise SystemExit('ran')")
    text = (tools / "catalogue.json").read_text()
    text = text.replace('"diary": {', f'"{key}": {{').replace(
        '"module": "diary"', f'"module": "{key}"'
    )
    (tools / "catalogue.json").write_text(text)
    catalogue = Catalogue([tools])
    assert not catalogue.apps
    assert not catalogue.tools


def test_byte_code_beside_a_module_is_neither_run_nor_written(tmp_path: Path) -> None:
    tools = planted(tmp_path)
    other = compile("raise SystemExit('ran')", "diary.py", "exec")
    path = Path(importlib.util.cache_from_source(str(tools / "diary.py")))
    path.parent.mkdir()
    # Of the kind that Python runs without a look at the source.
    path.write_bytes(importlib.util.MAGIC_NUMBER + b"\x01" + b"\0" * 11 + marshal.dumps(other))
    before = tree(tools)
    catalogue = Catalogue([tools])
    assert catalogue.load_tool(catalogue.find_row("diary_reread")).name == "diary_reread"
    assert tree(tools) == before


WORDS = st.sampled_from(
    [
        "../secret", "../private/key", "private.key", "/etc/passwd", "diary", "__init__", "..", "",
        "~/.bashrc", "a\0b", "con", "\x1b[2J",
    ]
)  # fmt: skip
VALUES = st.recursive(
    WORDS | st.integers() | st.none() | st.floats(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
FILES = ("catalogue.json", "listing.jsonl", "tools.lock", "diary.py", "__init__.py")


@st.composite
def plants(draw: st.DrawFn) -> Callable[[Path], None]:
    """Draw what somebody changed in a home: an index, a module or a snapshot, or a link."""
    name = draw(st.sampled_from((*FILES, "../Diary.json")))
    kind = draw(st.sampled_from(["words", "value", "text", "link", "folder", "gone"]))
    old, new, value = draw(st.sampled_from(["diary", "Diary", "module"])), draw(WORDS), draw(VALUES)
    target = draw(st.sampled_from(["../secret.py", "../private/key.py", "../private", "/dev/zero"]))

    def plant(tools: Path) -> None:
        path = tools / name
        if path.is_dir():
            return
        text = path.read_text() if path.is_file() else '{"format": 1}'
        path.unlink(missing_ok=True)
        if kind == "words":
            path.write_text(text.replace(old, json.dumps(new)[1:-1]))
        elif kind == "value":
            path.write_text(json.dumps({"format": 1, "apps": value, "tools": value}))
        elif kind == "text":
            path.write_text(text[: len(text) // 2])
        elif kind == "link":
            path.symlink_to(target)
        elif kind == "folder":
            path.mkdir()

    return plant


@pytest.mark.property
@given(st.lists(plants(), min_size=1, max_size=3), st.booleans())
@settings(deadline=None, max_examples=25)
def test_no_planted_state_changes_anything_outside_its_folder(
    planting: list[Callable[[Path], None]], snapshot: bool
) -> None:
    with TemporaryDirectory() as place:
        home = Path(place).resolve()
        tools = planted(home)
        for plant in planting:
            plant(tools)
        if snapshot and (home / "Diary.json").exists():
            (home / "Diary.sdef").unlink()
        else:
            (home / "Diary.sdef").write_bytes(sdef('<command name="burn" code="diarburn"/>'))
        before, inside = outside(home), tree(tools)
        for command in ("check", "diff"):
            assert run(home, command).exit_code in (0, 1, 2)
            assert tree(tools) == inside
        for options in ([], ["--prune"]):
            result = run(home, "build", *options)
            assert result.exit_code in (0, 1, 2)
            assert outside(home) == before
        try:
            served = Catalogue([tools])
            for row in served.tools.values():
                assert row.app.folder == tools
                served.load_tool(row)
            served.read_listing()
        except SetupError as error:
            assert "\n" not in str(error)
        assert outside(home) == before
