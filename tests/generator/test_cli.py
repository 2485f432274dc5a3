"""The command line: good input, bad input, one line a fault, never a traceback."""

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from making import sdef

from iac_base.errors import pip_install
from iac_gen import entry, macos
from iac_gen.cli import cli, common
from iac_gen.descriptions import describe_command
from iac_gen.macos import Unscriptable

TRUNCATED = sdef()[:200]


def run(*arguments: object, code: int = 0) -> Result:
    """Run a command; whatever it prints to stderr is lines of its own name."""
    result = CliRunner().invoke(cli, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    for line in result.stderr.splitlines():
        assert line.startswith("iac-gen: "), line
    return result


@pytest.fixture
def diary(tmp_path: Path) -> Path:
    path = tmp_path / "Diary.sdef"
    path.write_bytes(sdef())
    return path


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    return tmp_path / "tools"


def test_a_build_says_what_it_built(diary: Path, tools: Path) -> None:
    result = run("build", "--dictionary", diary, "--output", tools)
    assert re.search(r"^diary +Diary +6 +", result.stdout, re.M)
    assert f"1 apps or libraries, 6 tools, in {tools}" in result.stdout
    assert {path.name for path in tools.iterdir()} == {
        "__init__.py", "catalogue.json", "diary.py", "diary_objects.py", "listing.jsonl",
        "words.jsonl", "tools.lock",
    }  # fmt: skip


def test_a_build_as_json_is_json_and_nothing_else(diary: Path, tools: Path) -> None:
    result = run("build", "--dictionary", diary, "--output", tools, "--json")
    report = json.loads(result.stdout)
    assert [app["key"] for app in report["apps"]] == ["diary"]
    assert (report["failed"], report["gone"], result.stderr) == ([], [], "")


def test_a_broken_file_beside_good_ones_costs_one_line(diary: Path, tools: Path) -> None:
    (diary.parent / "Broken.sdef").write_bytes(TRUNCATED)
    (diary.parent / "Hollow.sdef").write_text("<dictionary/>")
    result = run("build", "--dictionary", diary.parent, "--output", tools, code=1)
    assert (tools / "diary.py").is_file()
    broken, hollow = result.stderr.splitlines()
    assert re.match(r"iac-gen: skipped .*Broken\.sdef:\d+: error: is not well-formed XML", broken)
    assert re.match(r"iac-gen: skipped .*Hollow\.sdef:1: error: declares no suite", hollow)


def test_a_failure_is_part_of_the_report_as_json(diary: Path, tools: Path) -> None:
    diary.write_bytes(TRUNCATED)
    result = run("build", "--dictionary", diary, "--output", tools, "--json", code=1)
    (row,) = json.loads(result.stdout)["failed"]
    assert row.keys() == {"file", "line", "code", "level", "message"}
    assert (row["file"], row["code"]) == (str(diary), "xml")


def test_a_broken_file_alone_leaves_no_folder(tmp_path: Path, tools: Path) -> None:
    path = tmp_path / "Broken.sdef"
    path.write_bytes(TRUNCATED)
    result = run("build", "--dictionary", path, "--output", tools, code=1)
    assert len(result.stderr.splitlines()) == 1
    assert not tools.exists()


def test_a_dictionary_without_anything_still_builds(tmp_path: Path, tools: Path) -> None:
    path = tmp_path / "Hollow.sdef"
    path.write_bytes(sdef(""))
    run("build", "--dictionary", path, "--output", tools)
    text = (tools / "hollow.py").read_text()
    assert '__all__ = [\n    "APP",\n]' in text
    compile(text, "hollow.py", "exec")


def test_findings_that_matter_are_told_and_notes_are_not(tmp_path: Path, tools: Path) -> None:
    path = tmp_path / "Odd.sdef"
    path.write_bytes(sdef('<class name="a" code="aaaa"/><class name="b" code="b"/>'))
    result = run("build", "--dictionary", path, "--output", tools)
    (line,) = result.stderr.splitlines()
    assert line.endswith("class b has the code 'b', not 4 characters [code]")


def test_each_command_without_a_tool_is_told_with_the_reason(tmp_path: Path, tools: Path) -> None:
    path = tmp_path / "Odd.sdef"
    path.write_bytes(sdef(
        '<command name="drag" code="drADdraM"/><command name="burn" code="diarburn" hidden="yes"/>'
    ))  # fmt: skip
    said = run("build", "--dictionary", path, "--output", tools).stderr
    assert "command drag gets no tool: AppleScript Studio calls it in the app's own script" in said
    assert "command burn is hidden; it gets no tool" in said


@pytest.mark.parametrize("command", ["build", "snapshot", "show", "list"])
def test_a_path_that_is_not_there_is_wrong_usage(command: str, tmp_path: Path) -> None:
    missing = tmp_path / "none.sdef"
    arguments: list[object] = {
        "build": ["--dictionary", missing, "--output", tmp_path / "out"],
        "snapshot": [missing, "--output", tmp_path / "out"],
        "show": ["--all", "--dictionary", missing],
        "list": ["--dictionary", missing],
    }[command]
    result = run(command, *arguments, code=2)
    assert result.stderr == f"iac-gen: {missing} does not exist; check the path\n"


def test_a_path_of_another_kind_is_wrong_usage(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("")
    assert "is not an .sdef file, a snapshot" in run("list", "--dictionary", path, code=2).stderr
    folder = tmp_path / "empty"
    folder.mkdir()
    result = run("build", "--dictionary", folder, code=2)
    assert "contains no .sdef file and no snapshot; give another folder" in result.stderr


def test_an_unknown_app_is_answered_with_the_nearest(diary: Path, tools: Path) -> None:
    result = run("build", "dairy", "--dictionary", diary, "--output", tools, code=2)
    assert result.stderr == (
        "iac-gen: there is no dictionary for an app called dairy. Nearest: diary, local.diary.\n"
    )
    result = run("build", "zzzzzz", "--dictionary", diary, "--output", tools, code=2)
    assert result.stderr.endswith("called zzzzzz. Run iac-gen list to see the apps.\n")
    result = run("build", "./diary.sdef", "--dictionary", diary, "--output", tools, code=2)
    assert result.stderr.endswith("To read a file or a folder, use --dictionary PATH.\n")
    assert not tools.exists()


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["notes", "Notes", "com.apple.Notes", "NOTES"])
def test_an_app_may_be_called_by_any_of_its_names(tools: Path, name: str) -> None:
    run("build", name, name, "--bundled", "--output", tools)
    assert (tools / "notes.py").is_file()
    assert not (tools / "mail.py").exists()


def test_options_that_do_not_go_together_are_wrong_usage(diary: Path, tools: Path) -> None:
    both = run("build", "--bundled", "--dictionary", diary, "--output", tools, code=2)
    assert both.stderr == "iac-gen: give --dictionary or --bundled, not both\n"
    named = run("build", "diary", "--prune", "--output", tools, code=2)
    assert (
        named.stderr
        == "iac-gen: --prune works only with a build of all apps; leave out the names of apps\n"
    )
    search = run("list", "--search", diary, code=2)
    assert search.stderr == f"iac-gen: {diary}, given with --search, is not a folder\n"
    neither = run("show", "--bundled", code=2)
    assert neither.stderr == "iac-gen: give the names of the apps to show, or --all\n"


def test_an_output_that_cannot_be_written_is_one_line(diary: Path, tools: Path) -> None:
    tools.write_text("a file")
    for command in (["build", "--dictionary", diary], ["snapshot", diary]):
        result = run(*command, "--output", tools, code=2)
        assert result.stderr == f"iac-gen: {tools}: File exists\n"


def test_a_corrupt_catalogue_is_one_line_and_is_kept(diary: Path, tools: Path) -> None:
    tools.mkdir()
    (tools / "catalogue.json").write_text("{")
    for name in ("listing.jsonl", "tools.lock"):
        (tools / name).write_text("")
    result = run("build", "--dictionary", diary, "--output", tools, code=2)
    assert len(result.stderr.splitlines()) == 1
    assert "was not written by a build" in result.stderr
    assert (tools / "catalogue.json").read_text() == "{"


def test_what_is_gone_is_told_and_pruned(diary: Path, tools: Path) -> None:
    ledger = diary.with_name("Ledger.sdef")
    ledger.write_bytes(sdef())
    run("build", "--dictionary", diary.parent, "--output", tools)
    ledger.unlink()
    kept = run("build", "--dictionary", diary.parent, "--output", tools)
    assert "Kept, although the app is no longer there: ledger (--prune removes them)" in kept.stdout
    pruned = run("build", "--dictionary", diary.parent, "--output", tools, "--prune")
    assert "Removed, because the app is no longer there: ledger" in pruned.stdout
    assert not (tools / "ledger.py").exists()


def test_a_snapshot_builds_to_what_its_dictionary_builds(diary: Path, tmp_path: Path) -> None:
    snapshots = tmp_path / "snapshots"
    result = run("snapshot", diary, "--facts", "--output", snapshots)
    assert result.stdout == f"{snapshots / 'Diary.json'}\n"
    assert run("snapshot", diary, "--facts", "--output", snapshots).stdout == ""
    run("build", "--dictionary", diary, "--output", tmp_path / "one")
    run("build", "--dictionary", snapshots, "--output", tmp_path / "two")
    one, two = tmp_path / "one" / "diary.py", tmp_path / "two" / "diary.py"
    assert one.read_text() == two.read_text()


def test_a_snapshot_may_be_given_a_name_and_a_bundle_id(diary: Path, tmp_path: Path) -> None:
    names = ["--name", "My Diary", "--bundle-id", "com.example.Diary"]
    run("snapshot", diary, "--output", tmp_path / "out", *names)
    row = run("list", "--dictionary", tmp_path / "out" / "Diary.json").stdout
    assert row == "my_diary  My Diary  com.example.Diary\n"
    diary.with_name("Ledger.sdef").write_bytes(sdef())
    result = run("snapshot", tmp_path, "--output", tmp_path / "out", "--name", "X", code=2)
    assert (
        result.stderr == "iac-gen: --name and --bundle-id work only with exactly one dictionary\n"
    )


def test_snapshots_of_good_files_are_written_beside_bad_ones(diary: Path, tmp_path: Path) -> None:
    (tmp_path / "Broken.sdef").write_bytes(TRUNCATED)
    result = run("snapshot", tmp_path, "--output", tmp_path / "out", code=1)
    assert (tmp_path / "out" / "Diary.json").is_file()
    assert result.stderr.startswith("iac-gen: skipped ")


def test_show_prints_what_was_decided(diary: Path) -> None:
    one = json.loads(run("show", "diary", "--dictionary", diary).stdout)
    assert one["app"]["id"] == "local.diary"
    assert {tool["name"] for tool in one["tools"]} >= {"diary_reread", "diary_get"}
    assert one["classes"]["entry"]["properties"][0]["code"] == "ID  "
    assert one["enumerations"]["mood"] == [["glad", "glad"], ["so so", "soso"]]
    every = json.loads(run("show", "--all", "--dictionary", diary).stdout)
    assert every == [one]


def test_show_of_a_broken_file_is_one_line(diary: Path) -> None:
    (diary.parent / "Broken.sdef").write_bytes(TRUNCATED)
    result = run("show", "--all", "--dictionary", diary.parent, code=1)
    assert [one["key"] for one in json.loads(result.stdout)] == ["diary"]
    assert result.stderr.startswith("iac-gen: skipped ")
    assert json.loads(run("show", "diary", "--dictionary", diary.parent).stdout)["key"] == "diary"
    assert "Nearest: diary" in run("show", "diry", "--dictionary", diary, code=2).stderr


def test_list_says_what_is_there_and_why_not(diary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (diary.parent / "Broken.sdef").write_bytes(TRUNCATED)
    lines = run("list", "--dictionary", diary.parent).stdout.splitlines()
    assert lines[0] == "diary  Diary  local.diary"
    assert re.match(r"-  .*Broken\.sdef:\d+: error: is not well-formed XML", lines[1])

    plain = Unscriptable(Path("/Applications/Plain.app"), "Plain", "has no scripting dictionary")
    monkeypatch.setattr(macos, "installed_bundles", lambda search: ([plain], []))
    lines = run("list", "--search", diary.parent).stdout.splitlines()
    result = "0 found, 1 without a dictionary, 0 not reached"
    assert lines == ["-  Plain  has no scripting dictionary", result]


def test_a_machine_without_scriptable_apps_is_told(
    tmp_path: Path, tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(macos, "installed_bundles", lambda search: ([], []))
    result = run("build", "--search", tmp_path, "--output", tools, code=1)
    assert result.stderr == (
        "iac-gen: 0 found, 0 without a dictionary, 0 not reached\n"
        "iac-gen: no app with a scripting dictionary was found; run iac-gen list to see why\n"
    )


def test_without_a_mac_the_bundled_snapshots_are_used(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(common, "default_output", lambda: tools)
    result = run("build", "notes")
    assert result.stderr == "iac-gen: this is not a Mac, so the bundled snapshots are used\n"
    assert (tools / "notes.py").is_file()


def test_the_bundled_list_names_the_committed_apps(generated: Path) -> None:
    keys = {line.split()[0] for line in run("list", "--bundled").stdout.splitlines()}
    modules = {path.stem for path in generated.glob("[a-z]*.py")}
    assert keys == {name for name in modules if not name.endswith("_objects")}


def test_the_shipped_package_finds_the_user_s_own_tools(diary: Path, tools: Path) -> None:
    run("build", "--dictionary", diary, "--output", tools)
    assert "user_tools" not in (tools / "__init__.py").read_text()
    run("build", "--dictionary", diary, "--output", tools, "--shipped")
    assert "user_tools" in (tools / "__init__.py").read_text()


@pytest.mark.process
@pytest.mark.parametrize(("content", "code"), [(sdef(), 0), (TRUNCATED, 1)])
def test_the_exit_code_of_the_real_command(tmp_path: Path, content: bytes, code: int) -> None:
    path = tmp_path / "Diary.sdef"
    path.write_bytes(content)
    script = "from iac_gen.entry import main; main()"
    arguments = ["build", "--dictionary", str(path), "--output", str(tmp_path / "tools")]
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert (tmp_path / "tools" / "diary.py").exists() == (code == 0)
    assert len(done.stderr.splitlines()) == code
    assert "Traceback" not in done.stderr


def test_what_is_not_installed_is_named_with_the_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def find(name: str) -> Any:
        return None if name in ("anyascii", "black") else find_spec(name)

    monkeypatch.setattr("importlib.util.find_spec", find)
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code == (
        f"iac-gen needs anyascii, black. Install it with: {pip_install('gen')}"
    )


def test_an_old_python_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 6))
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code == "iac-gen needs Python 3.11 or newer; this is 3.9."


def test_the_entry_hands_over_to_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["iac-gen", "list", "--bundled"])
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code == 0
    assert "com.apple.Notes" in capsys.readouterr().out


def test_an_item_that_an_unforeseen_error_costs_is_told_and_ends_with_1(
    diary: Path, tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(command: Any, *rest: Any) -> Any:
        if command.name == "reread":
            raise KeyError("sure")
        return describe_command(command, *rest)

    monkeypatch.setattr("iac_gen.descriptions.describe_command", fails)
    said = "command reread cannot be built: KeyError: 'sure'; it is left out [unforeseen]"
    # The second build only reads what the first one kept.
    for _ in range(2):
        result = run("build", "--dictionary", diary, "--output", tools, code=1)
        assert result.stderr == f"iac-gen: skipped {diary}:16: error: {said}\n"
        assert re.search(r"^diary +Diary +5 ", result.stdout, re.M)
    assert "diary_make" in json.loads((tools / "catalogue.json").read_text())["tools"]
