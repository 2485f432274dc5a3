"""Builds over time: levels do not fall unseen, and every change is told in words."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import escape

import pytest
import warm
from click.testing import CliRunner, Result
from hypothesis import example, given, settings
from hypothesis import strategies as st
from making import DIARY, inputs, put, read, sdef, source

from iac_gen import write
from iac_gen.changes import changed_levels, describe_changes
from iac_gen.cli import cli
from iac_gen.output import OutputError, PreviousBuild, SurfaceRow, find_level_falls
from iac_gen.pipeline import build_folder
from iac_gen.quirks import QuirkFile
from iac_gen.write import read_previous
from iac_runtime.tool import LEVELS

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


SECRET = DIARY.replace(
    '<property name="id"', '<property name="password" code="pswd" type="text"/><property name="id"'
)
RULES = (
    DIARY
    + """
<class name="rule" code="dirl"><property name="moment" code="dimo" type="date"/></class>
<record-type name="login" code="logi"><property name="password" code="pswd" type="text"/>
</record-type>
"""
)


def run_items(command: str, tools: Path, *options: str, code: int = 0, items: str = "") -> Result:
    """Run a command on a dictionary of `items`, or on that of the call before."""
    path = tools.parent / "Diary.sdef"
    if items:
        path.write_bytes(sdef(items))
    arguments = [command, "--dictionary", str(path), "--output", str(tools), *options]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == code, result.output
    return result


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


RENAMED = {
    "a property": (SECRET, SECRET.replace("password", "label"),
     {"diary.entry.label": "DANGEROUS to MODIFY"}),
    "a class": (RULES, RULES.replace('"rule" code', '"line" code'),
     {"diary.line": "make DANGEROUS, delete DANGEROUS to make MODIFY, delete DANGEROUS",
      "diary.line.moment": "DANGEROUS to MODIFY"}),
    "a field of a record": (RULES, RULES.replace("password", "label"),
     {"diary.login.label": "DANGEROUS to MODIFY"}),
    "a command": (DIARY + RUNS, DIARY + RUNS.replace("eval", "find"),
     {"diary_find": "DANGEROUS to SAFE"}),
    "a command and what had its name": (DIARY + RUNS + READS.replace("diarfind", "diarlook"),
     DIARY + RUNS.replace("eval", "find") + READS.replace("diarfind", "diarlook").replace('"find"',
      '"eval"'), {"diary_find": "DANGEROUS to SAFE"}),
    "a command beside the one of its event": (DIARY + RUNS, DIARY + RUNS + READS,
     {"diary_find": "DANGEROUS to SAFE"}),
    "an event": (DIARY + RUNS, DIARY + RUNS.replace("diarfind", "coredoex"),
     {"diary_eval": "DANGEROUS to SAFE"}),
}  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize("what", RENAMED)
def test_a_level_that_falls_stops_check_and_build_until_it_is_accepted_by_name(
    tools: Path, what: str
) -> None:
    before, after, fallen = RENAMED[what]
    run_items("build", tools, items=before)
    reviewed = texts(tools)
    lines = [f"A level fell: {name} fell from {span}" for name, span in fallen.items()]

    checked = run_items("check", tools, items=after, code=1)
    told = [line for line in checked.stdout.splitlines() if line.startswith("A level")]
    assert told == lines
    stopped = run_items("build", tools, code=1)
    assert stopped.stdout.splitlines() == lines
    assert texts(tools) == reviewed
    first, *rest = fallen
    if rest:
        run_items("build", tools, "--accept-levels", first, code=1)
        assert texts(tools) == reviewed

    flag = shlex.split(stopped.stderr)[-1]
    assert flag == f"--accept-levels={','.join(fallen)}"
    run_items("build", tools, flag)
    assert run_items("check", tools).output == ""
    run_items("build", tools, *[f"--accept-levels={name}" for name in fallen])


def test_a_level_that_rises_needs_nobody(tools: Path) -> None:
    run_items("build", tools, items=SECRET.replace("password", "label"))
    run_items("build", tools, items=SECRET)
    assert run_items("check", tools).output == ""
    run_items("build", tools, items=SECRET.replace("password", "label"), code=1)


def test_what_can_no_longer_be_set_has_no_level_to_fall(tools: Path) -> None:
    run_items("build", tools, items=SECRET + RULES.removeprefix(DIARY))
    read_only = SECRET.replace('code="pswd" type="text"', 'code="pswd" type="text" access="r"')
    run_items("build", tools, items=read_only + RULES.removeprefix(DIARY))


def test_the_names_that_are_accepted_are_data_for_a_program_too(tools: Path) -> None:
    run_items("build", tools, items=SECRET)
    report = run_items("build", tools, "--json", items=SECRET.replace("password", "label"), code=1)
    assert json.loads(report.stdout)["falls"] == [
        {"name": "diary.entry.label", "before": "DANGEROUS", "after": "MODIFY"}
    ]


def test_a_lock_of_an_earlier_format_holds_its_tools_and_takes_the_rest_as_new(
    tools: Path,
) -> None:
    run_items("build", tools, items=SECRET + RUNS)
    new = (tools / "tools.lock").read_text()
    lock = json.loads(new)
    del lock["terms"], lock["sent"]
    (tools / "tools.lock").write_text(json.dumps({**lock, "classifier": 3}))
    changed = SECRET.replace("password", "label") + RUNS.replace("eval", "find")
    told = run_items("build", tools, items=changed, code=1).stdout
    assert told == "A level fell: diary_find fell from DANGEROUS to SAFE\n"
    assert run_items("diff", tools, items=SECRET + RUNS).output == ""
    run_items("build", tools)
    assert (tools / "tools.lock").read_text() == new


def test_an_app_that_is_not_built_keeps_its_reviewed_rows(tools: Path) -> None:
    (tools.parent / "Diary.sdef").write_bytes(sdef(SECRET))
    (tools.parent / "Ledger.sdef").write_bytes(sdef(SECRET))
    both = ["build", "--dictionary", str(tools.parent), "--output", str(tools)]
    assert CliRunner().invoke(cli, both).exit_code == 0
    lock = (tools / "tools.lock").read_text()
    run_items("build", tools, "diary")
    assert (tools / "tools.lock").read_text() == lock
    assert '"property ledger.entry.password": [["entr","pswd"],["DANGEROUS"],["text","rw"]]' in lock


levels = st.sampled_from(LEVELS)
rows = st.builds(
    lambda code, level: SurfaceRow(("entr", code), (level,)), st.sampled_from("abcd"), levels
)
surfaces = st.dictionaries(st.sampled_from([f"property diary.entry.{n}" for n in "pqrs"]), rows)


@given(surfaces, surfaces)
def test_under_any_names_nothing_is_lower_than_what_was_reviewed_for_its_codes(
    old: dict[str, SurfaceRow], new: dict[str, SurfaceRow]
) -> None:
    named = {fall.name for fall in find_level_falls(old, new)}
    for name, row in new.items():
        same = old.get(name)
        before = [one for one in old.values() if one.codes == row.codes]
        if same is not None and same.codes == row.codes:
            before = [same]
        lower = any(LEVELS.index(row.levels[0]) < LEVELS.index(one.levels[0]) for one in before)
        if lower:
            assert name.partition(" ")[2] in named
    assert find_level_falls(old, old) == []


def test_a_level_falls_no_further_than_a_team_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IAC_DATA", str(tmp_path))
    (tmp_path / "state").mkdir()

    def build(items: str, accepted: dict[str, list[str]], code: int = 0) -> None:
        told = {"quirks": {}, "accepted": accepted}
        (tmp_path / "state" / "team-build.json").write_text(json.dumps(told))
        (tmp_path / "Diary.sdef").write_bytes(sdef(items))
        done = CliRunner().invoke(cli, ["build", "--dictionary", str(tmp_path / "Diary.sdef")])
        assert done.exit_code == code, done.output

    renamed = SECRET.replace("password", "label")
    build(SECRET, {})
    build(renamed, {}, code=1)
    build(renamed, {"diary.entry.label": ["DANGEROUS"]}, code=1)
    build(renamed, {"diary.entry.label": ["MODIFY"]})
    build(renamed, {"diary.entry.label": ["SAVE"]}, code=2)


FIND = """<command name="find" code="diarfind">
<parameter name="in" code="inin" type="text"/><parameter name="kind" code="kind" type="mood"
optional="yes"/><result type="text"/></command>
<record-type name="options" code="opts"><property name="size" code="size" type="integer"/>
</record-type>"""
APP = DIARY + FIND


def built(items: str, quirks: Sequence[QuirkFile] = ()) -> PreviousBuild:
    files, report = build_folder(inputs(source(read(sdef(items))), quirks=quirks))
    assert not report.failed
    return PreviousBuild.read(
        *(files[name] for name in ("catalogue.json", "listing.jsonl", "tools.lock", "words.jsonl"))
    )


def told(old: PreviousBuild, new: PreviousBuild) -> list[str]:
    lines = map(str, describe_changes(old.apps, new.apps))
    return [line.removeprefix("diary: ") for line in lines if "dictionary changed" not in line]


@pytest.mark.sweep
@pytest.mark.parametrize(("was", "now", "expected"), [
    ('name="mood" code="mood" type="mood"', 'name="humour" code="mood" type="mood"',
     "property entry.humour: renamed from entry.mood"),
    ('name="body" code="body"', 'name="body" code="bdy2"',
     "property entry.body: has another code: entr/bdy2 instead of entr/body"),
    ('code="mood" type="mood"', 'code="mood" type="integer"',
     "property entry.mood: type changed from mood to integer"),
    ('code="mood" type="mood"', 'code="mood" type="mood" access="r"',
     "property entry.mood: access changed from rw to r"),
    ('code="ID  " type="text" access="r"', 'code="ID  " type="text"',
     "property entry.id: can now be set, MODIFY"),
    ('<property name="body" code="body" type="text"/>', "", "property entry.body removed"),
    ('<property name="id"', '<property name="key" code="keyk" type="text"/><property name="id"',
     "property entry.key added (MODIFY)"),
    ('name="body" code="body"', 'name="words" code="body"',
     "property entry.words: level lowered from DANGEROUS to MODIFY"),
    ('"so so" code="soso"', '"fair" code="soso"', "enumerator mood.fair: renamed from mood.so so"),
    ('<enumerator name="glad" code="glad"/>', "", "enumerator mood.glad removed"),
    ('<enumerator name="glad"', '<enumerator name="sad" code="saad"/><enumerator name="glad"',
     "enumerator mood.sad added"),
    ('<element type="entry"/>', '<element type="entry" access="r"/>',
     "element application.entry: access changed from rw to r"),
    ('<element type="entry"/>', "", "element application.entry removed"),
    ('name="size" code="size" type="integer"', 'name="size" code="size" type="real"',
     "field options.size: type changed from integer to real"),
    ('"diarfind"', '"diarseek"', "diary_find: sends another event: diarseek instead of diarfind"),
    ('"find" code', '"seek" code', "diary_seek: renamed from diary_find"),
    ('code="inin" type', 'code="ixix" type',
     "diary_find: parameter in: sent as ixix instead of inin"),
    ('code="inin" type="text"', 'code="inin" type="entry"',
     "diary_find: parameter in: type changed from text to entry"),
    ('code="inin" type="text"', 'code="inin" type="text" optional="yes"',
     "diary_find: parameter in is now optional"),
    ('<parameter name="in" code="inin" type="text"/>', "", "diary_find: parameter in removed"),
    ('<result type="text"/></command>\n<record', '<result type="integer"/></command>\n<record',
     "diary_find: result changed from text to integer"),
])  # fmt: skip
def test_a_change_is_said_by_class_and_property_or_by_tool(
    was: str, now: str, expected: str
) -> None:
    assert was in APP
    old, new = built(APP), built(APP.replace(was, now))
    assert expected in told(old, new)
    assert told(new, new) == []


def test_a_class_that_is_called_otherwise_is_said_once() -> None:
    other = APP.replace('"entry" code', '"note" code').replace('"entry"', '"note"')
    lines = told(built(APP), built(other.replace("entries", "notes")))
    assert "class note: renamed from entry" in lines
    assert [line for line in lines if line.startswith("property") and "renamed" in line] == []


def test_levels_stand_side_by_side_where_they_differ() -> None:
    old = built(APP)
    words = APP.replace('name="body" code="body"', 'name="words" code="body"')
    new = built(words.replace('<property name="mood" code="mood" type="mood"/>', ""))
    assert changed_levels(old.apps, new.apps) == {
        "diary": [
            ("property entry.mood", "MODIFY", ""),
            ("property entry.words", "DANGEROUS", "MODIFY"),
            ("diary_make", "MODIFY to DANGEROUS", "MODIFY"),
            ("diary_set", "MODIFY to DANGEROUS", "MODIFY"),
        ]
    }
    assert changed_levels(old.apps, old.apps) == changed_levels({}, old.apps) == {}


def test_other_search_words_are_no_other_event() -> None:
    more = DIARY + '<class name="page" code="page"><element type="entry"/></class>'
    more = more.replace(
        '<element type="entry"/>', '<element type="entry"/><element type="page"/>', 1
    )
    lines = told(built(DIARY), built(more))
    assert "diary_list: search words changed" in lines
    assert [line for line in lines if "event" in line or "sent" in line] == []


def test_an_example_in_a_description_is_nothing_that_is_sent() -> None:
    old = built(APP)
    app = old.apps["diary"]
    entry = json.loads(app.lines["diary_get"])
    entry["inputSchema"]["properties"]["target"]["description"] = "Reference such as entries[3]"
    changed = replace(app, lines={**app.lines, "diary_get": json.dumps(entry)})
    assert told(old, PreviousBuild({"diary": changed})) == [
        "diary_get: parameter target: described otherwise"
    ]


def test_a_recipe_that_binds_otherwise_is_said() -> None:
    def recipe(count: int) -> list[QuirkFile]:
        row = {"name": "first", "tool": "list", "doc": "List.", "why": "Asked.",
               "bind": {"element": "entry", "limit": count}}  # fmt: skip
        return [QuirkFile("quirks/diary.toml", "com.example.Diary", (("recipe", 1, row),))]

    old, new = built(APP, recipe(1)), built(APP, recipe(2))
    assert told(old, new) == ["diary_first: other arguments are bound"]
    digests = [one.apps["diary"].tools["diary_first"]["digest"] for one in (old, new)]
    assert digests[0] != digests[1]


def test_of_terms_that_were_never_reviewed_nothing_is_said() -> None:
    old = built(APP)
    unknown = replace(old.apps["diary"], terms=None)
    new = built(APP.replace('name="mood" code="mood" type', 'name="humour" code="mood" type'))
    assert told(PreviousBuild({"diary": unknown}), new) == []
