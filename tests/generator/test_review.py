"""Builds over time: nothing twice, levels that do not fall unseen, changes told in words."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import escape

import pytest
import warm
from click.testing import CliRunner, Result
from hypothesis import example, given, settings
from hypothesis import strategies as st
from making import DIARY, inputs, put, sdef, source

from iac_gen import write
from iac_gen.cli import cli
from iac_gen.output import OutputError
from iac_gen.pipeline import build_folder
from iac_gen.write import read_previous

READS = '<command name="find" code="diarfind"><result type="text"/></command>'
RUNS = READS.replace("find", "eval").replace("diareval", "diarfind")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is remembered of builds lies in this test's own folder."""
    folder = tmp_path / "cache"
    monkeypatch.setattr("iac_gen.write.user_cache_path", lambda *_, **__: folder)
    return folder


@pytest.fixture
def diary(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "Diary.sdef"
    path.parent.mkdir()
    path.write_bytes(sdef(DIARY + READS))
    (path.parent / "Ledger.sdef").write_bytes(sdef())
    return path


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    return tmp_path / "tools"


def run(command: str, diary: Path, tools: Path, *options: str, code: int = 0) -> Result:
    arguments = [command, "--dictionary", str(diary.parent), "--output", str(tools), *options]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def times(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def test_an_unchanged_build_reads_no_dictionary_and_says_the_same(
    diary: Path, tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run("build", diary, tools)
    before = times(tools)
    monkeypatch.setattr("iac_gen.pipeline.build_folder", lambda *_: pytest.fail("built again"))
    assert run("build", diary, tools).output == first.output
    assert times(tools) == before


@pytest.mark.parametrize("name", ["diary.py", "catalogue.json", "tools.lock"])
def test_a_file_that_was_changed_by_hand_is_written_again(
    diary: Path, tools: Path, name: str
) -> None:
    run("build", diary, tools)
    good = (tools / name).read_text()
    (tools / name).write_text(good.replace('"digest"', '"digest" ') + "\n")
    run("build", diary, tools)
    assert (tools / name).read_text() == good


def test_only_the_app_that_changed_is_built_again(
    diary: Path, tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("build", diary, tools)
    before = times(tools)
    diary.write_bytes(sdef(DIARY + READS + READS.replace("find", "seek")))
    read: list[str] = []
    real = sys.modules["iac_gen.discover"].SourceFile.read  # type: ignore[attr-defined]
    monkeypatch.setattr(
        "iac_gen.discover.SourceFile.read", lambda file: read.append(file.stem) or real(file)
    )
    run("build", diary, tools)
    assert read == ["Diary"]
    after = times(tools)
    assert {name for name in after if after[name] != before[name]} == {
        "diary.py", "diary_objects.py",
        "catalogue.json", "listing.jsonl", "words.jsonl", "tools.lock",
    }  # fmt: skip
    fresh = tools.parent / "fresh"
    run("build", diary, fresh)
    for path in fresh.iterdir():
        assert (tools / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_broken_cache_costs_nothing_but_time(diary: Path, tools: Path, cache: Path) -> None:
    run("build", diary, tools)
    for path in (cache / "builds").iterdir():
        path.write_text("{")
    run("build", diary, tools)


def test_check_is_silent_until_something_would_change(diary: Path, tools: Path) -> None:
    run("build", diary, tools)
    assert run("check", diary, tools).output == ""
    diary.write_bytes(sdef(DIARY))
    result = run("check", diary, tools, code=1)
    assert result.stdout.splitlines() == [
        "1 app changes; breaks calls: 1, words and versions: 1",
        "", "Breaks calls", "  diary: diary_find removed",
        "", "Words and versions", "  diary: the dictionary changed",
    ]  # fmt: skip
    assert result.stderr.startswith(
        "iac-gen: 6 files differ from what a build would write; correct this with: iac-gen "
    )


def test_diff_says_in_words_what_an_update_changes(diary: Path, tools: Path) -> None:
    run("build", diary, tools)
    assert run("diff", diary, tools).output == ""
    more = READS.replace("<result", '<parameter name="in" code="inin" type="text"/><result')
    seek = READS.replace("find", "eval").replace("diareval", "diarevlu")
    diary.write_bytes(sdef(DIARY + more + seek))
    (diary.parent / "Ledger.sdef").unlink()
    head, *lines = run("diff", diary, tools).stdout.splitlines()
    assert head == "2 apps change; breaks calls: 2, can do more: 1, words and versions: 1"
    groups = {
        "breaks": ["diary: diary_find: parameter in added, required",
                   "ledger: app gone, 6 tools with it"],
        "more": ["diary: diary_eval added (DANGEROUS)"],
        "words": ["diary: the dictionary changed"],
    }  # fmt: skip
    every = [line for some in groups.values() for line in some]
    assert [line.strip() for line in lines if line.startswith("  ")] == every
    told = json.loads(run("diff", diary, tools, "--json").stdout)
    levels = {"diary": [["diary_eval", "", "DANGEROUS"]]}
    rest = {"levels": levels, "falls": [], "failed": []}
    assert told == {"changes": every, "groups": groups, **rest}


def test_diff_is_a_comment_or_annotations_and_texts_of_an_app_stay_texts(
    diary: Path, tools: Path
) -> None:
    run("build", diary, tools)
    name = "see `#1` @all, <b>100%</b>"
    more = READS.replace("find", "seek").replace("diarseek", "diarekse")
    diary.write_bytes(sdef(f'{DIARY}{more}<class name="{escape(name)}" code="seec"/>'))
    comment = run("diff", diary, tools, "--format", "markdown").stdout
    assert comment.startswith("**1 app changes; breaks calls: 1, can do more: 2, words")
    assert "\n### Breaks calls\n\n- `diary: diary_find removed`\n" in comment
    assert f"\n- `` diary: class {name} added (make MODIFY, delete DANGEROUS) ``\n" in comment
    lines = run("diff", diary, tools, "--format", "github").stdout.splitlines()
    line = (tools / "diary.py").read_text().splitlines().index("def find() -> str:") + 1
    place = f"file={tools / 'diary.py'},line={line}"
    assert lines[0] == f"::warning {place},title=Breaks calls::diary: diary_find removed"
    assert lines[-1].startswith("::notice title=iac-gen::1 app changes; breaks calls: 1")
    assert f"::diary: class {name.replace('%', '%25')} added" in "".join(lines)


def test_the_fix_that_check_names_is_a_build(
    diary: Path, tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ["--dictionary", "x", "--format", "github", "--output", "y"]
    monkeypatch.setattr(sys, "argv", ["iac-gen", "check", *given, "--format=text"])
    fix = run("check", diary, tools, code=1).stderr.strip()
    assert fix.endswith("correct this with: iac-gen build --dictionary x --output y")


def test_check_says_in_a_line_what_nobody_built(diary: Path, tools: Path) -> None:
    result = run("check", diary, tools, code=1)
    assert result.stdout.splitlines()[-2:] == [
        "  diary: new app, 7 tools", "  ledger: new app, 6 tools"
    ]  # fmt: skip
    run("build", diary, tools)
    text = (tools / "diary.py").read_text()
    line = text.partition('level="SAFE"')[0].count("\n") + 1
    (tools / "diary.py").write_text(text.replace('level="SAFE"', 'level="MODIFY"', 1))
    (tools / "ledger_objects.py").unlink()
    result = run("check", diary, tools, code=1)
    assert result.stdout.splitlines()[3:] == [
        f"  diary: diary.py is not what a build writes, from line {line} on",
        "", "Breaks calls", "  ledger: ledger_objects.py is missing",
    ]  # fmt: skip


def test_github_gets_the_most_dangerous_lines_that_it_shows(diary: Path, tools: Path) -> None:
    many = "".join(f'<class name="c{n}" code="c{n:03}"/>' for n in range(30))
    diary.write_bytes(sdef(DIARY + READS + many))
    run("build", diary, tools)
    diary.write_bytes(sdef(DIARY + READS + many.replace('name="c', 'name="d')))
    lines = run("diff", diary, tools, "--format", "github").stdout.splitlines()
    assert sum(line.startswith("::warning ") for line in lines) == 10
    assert sum(line.startswith("::notice ") for line in lines) <= 10
    assert "breaks calls: " in lines[-1]


def interrupted(folder: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Build another diary into `folder` and die at the `after`th file that is moved."""
    moves: Iterator[int] = iter(range(100))
    real = Path.replace

    def move(path: Path, target: Path) -> Path:
        if next(moves) >= after:
            raise KeyboardInterrupt
        return real(path, target)

    files, _ = build_folder(replace(inputs(source(name="Ledger")), previous=read_previous(folder)))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", move)
        with pytest.raises(KeyboardInterrupt):
            put(folder, files)


def whole(folder: Path) -> bool:
    """Say whether the index of a folder names just the modules that are there."""
    previous = read_previous(folder)
    wanted = {f"{key}{end}.py" for key in previous.apps for end in ("", "_objects")}
    return wanted == {path.name for path in folder.glob("[a-z]*.py")}


@pytest.mark.sweep
@pytest.mark.parametrize("after", range(6))
def test_an_interrupted_build_leaves_a_whole_tree(
    tools: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    files, _ = build_folder(inputs(source()))
    put(tools, files)
    interrupted(tools, monkeypatch, after)
    put(tools, {})
    # Before the journal stands (the first move) it is the old tree, then the new one.
    assert read_previous(tools).apps.keys() == ({"diary"} if after == 0 else {"diary", "ledger"})
    assert whole(tools)
    assert not (tools / ".build").exists()


NAMES = ("Almanac", "Ledger", "Notebook", "Organ", "Piano", "Radio", "Sketch", "Tuner")


@pytest.mark.slow
@pytest.mark.process
@given(st.lists(st.sets(st.sampled_from(NAMES), min_size=1), min_size=8, max_size=8))
@example([{name} for name in NAMES])
@settings(deadline=None, max_examples=3)
def test_eight_builds_at_once_leave_what_all_of_them_built(wanted: list[set[str]]) -> None:
    with TemporaryDirectory() as place:
        home = Path(place)
        (home / "apps").mkdir()
        for name in NAMES:
            (home / "apps" / f"{name}.sdef").write_bytes(sdef())
        folder = ["--dictionary", str(home / "apps"), "--output", str(home / "tools")]
        environment = {**os.environ, "XDG_CACHE_HOME": str(home / "xdg")}

        def start(command: str, *names: str) -> subprocess.Popen[bytes]:
            line = warm.command(warm.IAC_GEN, command, *names, *folder)
            return subprocess.Popen(
                line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )

        running = [start("build", *sorted(names)) for names in wanted]
        for one in running:
            assert (one.communicate(timeout=120)[1], one.returncode) == (b"", 0)
        apps = set().union(*wanted)
        assert read_previous(home / "tools").apps.keys() == {name.lower() for name in apps}
        assert whole(home / "tools")
        assert start("check", *sorted(apps)).communicate(timeout=120)[1] == b""


def test_a_folder_that_cannot_be_written_keeps_its_tree(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, _ = build_folder(inputs(source()))
    put(tools, files)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "x")

    monkeypatch.setattr(write, "_write_new", full)
    with pytest.raises(OutputError, match="No space left"):
        put(tools, {**files, "diary.py": "changed"})
    assert read_previous(tools).apps.keys() == {"diary"}
    assert (tools / "diary.py").read_text() == files["diary.py"]


@pytest.mark.slow
@pytest.mark.process
def test_the_same_input_gives_the_same_bytes_anywhere(tmp_path: Path) -> None:
    built: list[dict[str, bytes]] = []
    for number, (seed, place) in enumerate((("0", "C"), ("4711", "C.UTF-8"))):
        folder = tmp_path / f"tools{number}"
        names = ["notes", "mail", "finder", "safari"]
        subprocess.run(
            [sys.executable, "-c", "from iac_gen.cli import cli; cli()", "build", "--bundled",
             "--output", str(folder), *(names if number else names[::-1])],
            env={**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": place, "TZ": f"UTC{number}",
                 "XDG_CACHE_HOME": str(tmp_path / str(number))},
            cwd=tmp_path, check=True, capture_output=True,
        )  # fmt: skip
        built.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert built[0] == built[1]
    assert len(built[0]) == 13
