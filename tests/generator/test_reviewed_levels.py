"""Levels that were reviewed: one that would fall stops the build, under whatever name."""

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from making import DIARY, sdef

from iac_gen.cli import cli
from iac_gen.output import SurfaceRow, find_level_falls
from iac_runtime.tool import LEVELS

READS = '<command name="find" code="diarfind"><result type="text"/></command>'
RUNS = READS.replace("find", "eval").replace("diareval", "diarfind")
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


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("iac_gen.write.user_cache_path", lambda *_, **__: tmp_path / "cache")


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    return tmp_path / "tools"


def run(command: str, tools: Path, *options: str, code: int = 0, items: str = "") -> Result:
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
    run("build", tools, items=before)
    reviewed = texts(tools)
    lines = [f"A level fell: {name} fell from {span}" for name, span in fallen.items()]

    checked = run("check", tools, items=after, code=1)
    told = [line for line in checked.stdout.splitlines() if line.startswith("A level")]
    assert told == lines
    stopped = run("build", tools, code=1)
    assert stopped.stdout.splitlines() == lines
    assert texts(tools) == reviewed
    first, *rest = fallen
    if rest:
        run("build", tools, "--accept-levels", first, code=1)
        assert texts(tools) == reviewed

    flag = shlex.split(stopped.stderr)[-1]
    assert flag == f"--accept-levels={','.join(fallen)}"
    run("build", tools, flag)
    assert run("check", tools).output == ""
    run("build", tools, *[f"--accept-levels={name}" for name in fallen])


def test_a_level_that_rises_needs_nobody(tools: Path) -> None:
    run("build", tools, items=SECRET.replace("password", "label"))
    run("build", tools, items=SECRET)
    assert run("check", tools).output == ""
    run("build", tools, items=SECRET.replace("password", "label"), code=1)


def test_what_can_no_longer_be_set_has_no_level_to_fall(tools: Path) -> None:
    run("build", tools, items=SECRET + RULES.removeprefix(DIARY))
    read_only = SECRET.replace('code="pswd" type="text"', 'code="pswd" type="text" access="r"')
    run("build", tools, items=read_only + RULES.removeprefix(DIARY))


def test_the_names_that_are_accepted_are_data_for_a_program_too(tools: Path) -> None:
    run("build", tools, items=SECRET)
    report = run("build", tools, "--json", items=SECRET.replace("password", "label"), code=1)
    assert json.loads(report.stdout)["falls"] == [
        {"name": "diary.entry.label", "before": "DANGEROUS", "after": "MODIFY"}
    ]


def test_a_lock_of_an_earlier_format_holds_its_tools_and_takes_the_rest_as_new(
    tools: Path,
) -> None:
    run("build", tools, items=SECRET + RUNS)
    new = (tools / "tools.lock").read_text()
    lock = json.loads(new)
    del lock["terms"], lock["sent"]
    (tools / "tools.lock").write_text(json.dumps({**lock, "classifier": 3}))
    changed = SECRET.replace("password", "label") + RUNS.replace("eval", "find")
    told = run("build", tools, items=changed, code=1).stdout
    assert told == "A level fell: diary_find fell from DANGEROUS to SAFE\n"
    assert run("diff", tools, items=SECRET + RUNS).output == ""
    run("build", tools)
    assert (tools / "tools.lock").read_text() == new


def test_an_app_that_is_not_built_keeps_its_reviewed_rows(tools: Path) -> None:
    (tools.parent / "Diary.sdef").write_bytes(sdef(SECRET))
    (tools.parent / "Ledger.sdef").write_bytes(sdef(SECRET))
    both = ["build", "--dictionary", str(tools.parent), "--output", str(tools)]
    assert CliRunner().invoke(cli, both).exit_code == 0
    lock = (tools / "tools.lock").read_text()
    run("build", tools, "diary")
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
