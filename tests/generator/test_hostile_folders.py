"""Output folders that came with somebody's repository: nothing in them leads out of them.

`iac-gen build` finishes what an interrupted build left, but only what a build can have left;
commands that read change nothing at all.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given, settings
from hypothesis import strategies as st
from making import DIARY, sdef

from iac_gen.cli.group import cli
from iac_gen.output import OutputError
from iac_gen.write import finish, read_files, read_previous, write

BURN = '<command name="burn" code="diarburn"/>'


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered of builds lies in this test's own folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def run(home: Path, command: str, *options: str) -> Result:
    """Run a command on the folder `home/tools` with the dictionary beside it."""
    folder = ["--dictionary", str(home / "Diary.sdef"), "--output", str(home / "tools")]
    result = CliRunner().invoke(cli, [command, *folder, *options])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def planted(home: Path) -> Path:
    """Make a home with a secret, a dictionary, and a folder of tools built from it."""
    (home / "secret.py").write_text("mine")
    (home / "secret.json").write_text("mine")
    (home / "private").mkdir()
    (home / "private" / "key.py").write_text("mine")
    (home / "Diary.sdef").write_bytes(sdef())
    assert run(home, "build").exit_code == 0
    return home / "tools"


def tree(root: Path) -> dict[str, tuple[int, bytes | str]]:
    """Return everything below `root`: mode, and content or where a link leads."""
    found: dict[str, tuple[int, bytes | str]] = {}
    for folder, names, files in os.walk(root):
        for name in (*names, *files):
            path = Path(folder, name)
            if path.is_symlink():
                content: bytes | str = str(path.readlink())
            else:
                content = path.read_bytes() if path.is_file() else ""
            found[str(path.relative_to(root))] = (path.lstat().st_mode, content)
    return found


def outside(home: Path) -> dict[str, tuple[int, bytes | str]]:
    """Return everything of a home but its folder of tools and the cache of builds."""
    return {k: v for k, v in tree(home).items() if not k.startswith(("tools/", "cache"))}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def stage(tools: Path, journal: Any, **files: str) -> Path:
    """Plant an unfinished write; the files are called `name.py`."""
    folder = tools / ".build"
    folder.mkdir()
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    text = journal if isinstance(journal, str) else json.dumps(journal)
    (folder / ".journal").write_text(text)
    return folder


GOOD = {"replace": {"diary.py": digest("new")}, "remove": []}


@pytest.mark.parametrize("command", ["check", "diff"])
def test_a_command_that_reads_says_that_a_write_has_not_ended_and_changes_nothing(
    tmp_path: Path, command: str
) -> None:
    tools = planted(tmp_path)
    stage(tools, GOOD, diary="new")
    before = tree(tmp_path)
    result = run(tmp_path, command)
    assert tree(tmp_path) == before
    assert result.stdout == ""
    assert result.stderr.splitlines() == [
        f"iac-gen: {tools} holds a write that has not ended; iac-gen build finishes it"
    ]
    assert result.exit_code == (1 if command == "check" else 0)


def test_an_index_in_the_middle_of_a_write_is_left_to_the_next_build(tmp_path: Path) -> None:
    tools = planted(tmp_path)
    listing = (tools / "listing.jsonl").read_text()
    (tools / "listing.jsonl").write_text("")
    folder = stage(tools, {"replace": {"listing.jsonl": digest(listing)}, "remove": []})
    (folder / "listing.jsonl").write_text(listing)
    result = run(tmp_path, "check")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].endswith("iac-gen build finishes it")
    assert run(tmp_path, "build").exit_code == 0
    assert run(tmp_path, "check").exit_code == 0
    assert (tools / "listing.jsonl").read_text() == listing


def test_a_build_finishes_what_a_build_left(tmp_path: Path) -> None:
    tools = planted(tmp_path)
    (tools / "old.py").write_text("old")
    stage(tools, {**GOOD, "remove": ["old.py"]}, diary="new")
    finish(tools)
    assert (tools / "diary.py").read_text() == "new"
    assert not (tools / "old.py").exists()
    assert not (tools / ".build").exists()


def link_target(tools: Path, folder: Path) -> None:
    (tools / "diary.py").unlink()
    (tools / "diary.py").symlink_to("../secret.py")


def link_source(tools: Path, folder: Path) -> None:
    (folder / "diary.py").unlink()
    (folder / "diary.py").symlink_to("../../secret.py")


def link_journal(tools: Path, folder: Path) -> None:
    (folder / ".journal").replace(tools.parent / "journal")
    (folder / ".journal").symlink_to("../../journal")


def link_stage(tools: Path, folder: Path) -> None:
    folder.replace(tools.parent / "stage")
    folder.symlink_to("../stage")


def stage_of_another_program(tools: Path, folder: Path) -> None:
    (folder / "debug").mkdir()
    (folder / "debug" / "main.o").write_text("o")


def other_content(tools: Path, folder: Path) -> None:
    (folder / "diary.py").write_text("newer")


def no_content(tools: Path, folder: Path) -> None:
    (folder / "diary.py").unlink()


def a_second_name(tools: Path, folder: Path) -> None:
    (folder / "diary.py").unlink()
    (tools.parent / "same.py").write_text("new")
    (folder / "diary.py").hardlink_to(tools.parent / "same.py")


def a_pipe(tools: Path, folder: Path) -> None:
    (folder / ".journal").unlink()
    os.mkfifo(folder / ".journal")


@pytest.mark.parametrize(
    "change",
    [
        link_target, link_source, link_journal, link_stage, stage_of_another_program,
        other_content, no_content, a_second_name, a_pipe,
    ],
)  # fmt: skip
def test_a_stage_that_no_build_left_is_refused_whole(
    tmp_path: Path, change: Callable[[Path, Path], None]
) -> None:
    tools = planted(tmp_path)
    change(tools, stage(tools, GOOD, diary="new"))
    before = tree(tmp_path)
    result = run(tmp_path, "build")
    assert tree(tmp_path) == before
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert f"nothing was changed: delete {tools / '.build'} and build again" in line


def test_a_stage_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = planted(tmp_path)
    stage(tools, GOOD, diary="new")
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(OutputError, match="not yours; nothing was changed"):
        finish(tools)
    assert (tools / "diary.py").read_text() != "new"


NAMES = st.sampled_from(
    [
        "diary.py", "tools.lock", "../secret.py", "../secret.json", "../private/key.py", "..",
        ".", "", ".build", ".journal", "sub/x.py", "./diary.py", "link.py", "..\\secret.py",
        "\0.py", "a\n.py", ".hidden.py", "README.md", "con\u202e.py",
    ]
) | st.text(max_size=12).map(lambda text: f"{text}.py")  # fmt: skip
DIGESTS = st.sampled_from([digest("new"), digest("mine"), "", "0" * 64]) | st.none()
JOURNALS = st.one_of(
    st.fixed_dictionaries(
        {
            "replace": st.dictionaries(NAMES | st.just("<absolute>"), DIGESTS, max_size=3),
            "remove": st.lists(NAMES | st.just("<absolute>"), max_size=3),
        }
    ),
    st.recursive(
        st.none() | st.integers() | NAMES,
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(st.sampled_from(["replace", "remove"]), inner, max_size=2)
        ),
        max_leaves=6,
    ),
    st.sampled_from(["[" * 100_000, "{", "\ud800".encode("utf-8", "replace").decode()]),
)
LINKS = st.lists(
    st.sampled_from(["tools/link.py", "tools/.build/link.py", "tools/sub"]), unique=True
)


@pytest.mark.property
@given(journal=JOURNALS, links=LINKS)
@example(journal={"replace": {}, "remove": ["tools.lock"]}, links=[])
@settings(deadline=None, max_examples=60)
def test_no_planted_journal_changes_anything_outside_its_folder(
    journal: Any, links: list[str]
) -> None:
    with TemporaryDirectory() as place:
        home = Path(place).resolve()
        tools = planted(home)
        text = journal if isinstance(journal, str) else json.dumps(journal)
        stage(tools, text.replace("<absolute>", str(home / "secret.py")), diary="new", link="new")
        for name in links:
            path = home / name
            path.unlink(missing_ok=True)
            path.symlink_to(home / ("private" if name.endswith("sub") else "secret.py"))
        before, all_before = outside(home), tree(home / "tools")
        for command in ("check", "diff"):
            assert run(home, command).exit_code in (0, 1, 2)
            assert tree(tools) == all_before
        result = run(home, "build")
        assert outside(home) == before
        if result.exit_code:
            assert tree(tools) == all_before
            assert len(result.stderr.splitlines()) == 1
        else:
            assert not (tools / ".build").exists()


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize("key", ["../secret", "/tmp/secret", "private/key", "__init__", ".x", ""])
def test_an_index_with_a_key_that_is_no_module_s_name_is_refused(tmp_path: Path, key: str) -> None:
    tools = planted(tmp_path)
    for name in ("catalogue.json", "tools.lock"):
        rewrite(tools / name, '"diary": {', f'"{key}": {{')
    rewrite(tools / "catalogue.json", '"module": "diary"', f'"module": "{key}"')
    (tmp_path / "Diary.sdef").write_bytes(sdef(DIARY + BURN))
    before = outside(tmp_path)
    for options in ([], ["--prune"]):
        result = run(tmp_path, "build", *options)
        assert result.exit_code == 2
        assert "no key of an app" in result.stderr
    assert outside(tmp_path) == before


@pytest.mark.parametrize("name", ["diary.py", "__init__.py", "catalogue.json", "tools.lock"])
@pytest.mark.parametrize("command", ["check", "diff", "build"])
def test_a_link_in_the_folder_is_neither_read_nor_written_through(
    tmp_path: Path, name: str, command: str
) -> None:
    tools = planted(tmp_path)
    (tmp_path / "Diary.sdef").write_bytes(sdef(DIARY + BURN))
    shutil.copy(tools / name, tmp_path / "private" / "copy")
    (tools / name).unlink()
    (tools / name).symlink_to("../private/copy")
    before = tree(tmp_path / "private"), tree(tools)
    result = run(tmp_path, command)
    assert (tree(tmp_path / "private"), tree(tools)) == before
    if command != "diff" or name in ("catalogue.json", "tools.lock"):
        assert result.exit_code == 2
        assert f"{tools / name} is a link, which is not followed; remove it" in result.stderr


def test_a_pipe_in_the_folder_is_not_waited_for(tmp_path: Path) -> None:
    tools = planted(tmp_path)
    (tools / "diary.py").unlink()
    os.mkfifo(tools / "diary.py")
    with pytest.raises(OutputError, match="is no file"):
        read_files(tools, ["diary.py"])
    (tools / "catalogue.json").unlink()
    os.mkfifo(tools / "catalogue.json")
    with pytest.raises(OutputError, match="is no file"):
        read_previous(tools)


def test_nothing_of_a_folder_steers_the_terminal(tmp_path: Path) -> None:
    tools = planted(tmp_path)
    rewrite(tools / "diary.py", "Tools for Diary.", "Tools for \x1b]0;owned\x07 Diary.")
    rewrite(tools / "tools.lock", '"version": ""', '"version": "\\u001b[2J"')
    for command in ("check", "diff"):
        result = run(tmp_path, command)
        assert result.output
        assert not set(result.output) & {"\x1b", "\x07"}


@pytest.mark.parametrize("name", ["../x.py", "/tmp/x.py", "a/b.py", ".x.json", "notes.txt", ""])
def test_only_plain_names_are_written_or_removed(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError, match="no plain file name"):
        write(tmp_path / "tools", {name: ""})
    with pytest.raises(OutputError, match="no plain file name"):
        write(tmp_path / "tools", {}, [name])
    assert not list(tmp_path.iterdir())


def test_a_snapshot_cannot_say_where_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "Diary.sdef").write_bytes(sdef())
    folder = tmp_path / "a" / "snapshots"
    made = CliRunner().invoke(
        cli, ["snapshot", str(tmp_path / "Diary.sdef"), "--output", str(folder)]
    )
    assert made.exit_code == 0
    rewrite(folder / "Diary.json", '"stem": "Diary"', '"stem": "../../escaped"')
    made = CliRunner().invoke(
        cli, ["snapshot", str(folder / "Diary.json"), "--output", str(folder / "again")]
    )
    assert made.exit_code == 0
    assert [path.name for path in (folder / "again").iterdir()] == ["Diary.json"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["snapshots"]


def test_an_app_called_journal_has_a_snapshot(tmp_path: Path) -> None:
    (tmp_path / "journal.sdef").write_bytes(sdef())
    made = CliRunner().invoke(
        cli, ["snapshot", str(tmp_path / "journal.sdef"), "--output", str(tmp_path / "out")]
    )
    assert made.exit_code == 0
    assert json.loads((tmp_path / "out" / "journal.json").read_text())["name"] == "journal"
