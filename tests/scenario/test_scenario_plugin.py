"""`pytest --scenario`: users test their servers with the files alone."""

import json
import sys
from pathlib import Path

import pytest

from iac_base.errors import pip_install
from iac_scenario.cli import main
from iac_scenario.schema import TABLES

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent.parent.parent
sys.path.append(str(ROOT / "docs"))

from make_scenario import json_schema, reference_page  # noqa: E402

PASSES = """
[tool_execution]
mode = "mock"
[[responses]]
pattern = { type = "contains", text = "go" }
[[responses.response.tool_calls]]
tool = "t"
result = "r"
expect = { equals = "r" }
"""


@pytest.fixture
def folder(pytester: pytest.Pytester) -> Path:
    folder = pytester.mkdir("scenarios")
    (folder / "passes.toml").write_text(PASSES)
    (folder / "fails.toml").write_text(PASSES.replace('equals = "r"', 'equals = "other"'))
    (folder / "broken.toml").write_text(PASSES.replace("tool =", "toool ="))
    (folder / "vague.toml").write_text(PASSES.replace('"contains", text', '"glob", pattern'))
    (folder / "json.json").write_text(json.dumps({"responses": [], "user_name": "x"}))
    (folder / "input.json").write_text("[]")
    (folder / "other.toml").write_text("[tool]\n")
    return folder


def ran(pytester: pytest.Pytester, *words: str) -> pytest.RunResult:
    """Run pytest in this process, with the plugin of this checkout."""
    return pytester.runpytest("-p", "iac_scenario.plugin", "-p", "no:cacheprovider", *words)


def test_every_scenario_of_a_folder_is_a_test(pytester: pytest.Pytester, folder: Path) -> None:
    pytester.makepyfile(test_other="def test_other(): pass")
    result = ran(pytester, "--scenario", str(folder))
    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines_random([
        "*FAILED t: equals (line 9)*", "*expected: other*", "*got:      r*",
        "*broken.toml:7: responses*toool: unknown field. Nearest: tool.*",
        "*vague.toml: add `prompts`*",
    ])  # fmt: skip
    result.stdout.no_fnmatch_line("*Traceback*")


def test_one_file_beside_tests_that_are_named(pytester: pytest.Pytester, folder: Path) -> None:
    path = pytester.makepyfile(test_other="def test_other(): pass")
    result = ran(pytester, str(path), "--scenario", str(folder / "passes.toml"))
    result.assert_outcomes(passed=2)


def test_without_the_option_nothing_changes(pytester: pytest.Pytester, folder: Path) -> None:
    pytester.makepyfile(test_other="def test_other(): pass")
    ran(pytester).assert_outcomes(passed=1)


def test_a_folder_that_is_not_there(pytester: pytest.Pytester) -> None:
    result = ran(pytester, "--scenario", "nowhere")
    result.stderr.fnmatch_lines(["*this file or folder does not exist*"])


def test_what_cannot_be_set_up_is_one_line(pytester: pytest.Pytester, folder: Path) -> None:
    words = ("--scenario-mode", "real_mcp", "--scenario-mcp-config", "none.json")
    result = ran(pytester, "--scenario", str(folder / "passes.toml"), *words)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*--mcp-config none.json: No such file*"])


def test_what_is_not_installed_is_one_line_with_its_extra(
    pytester: pytest.Pytester, folder: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *_: None)
    assert main() == 2
    told = f"Install it with: {pip_install('scenario')}"
    assert capsys.readouterr().err == f"iac-scenario needs jsonpath, regex. {told}\n"
    result = ran(pytester, "--scenario", str(folder / "passes.toml"))
    result.stderr.fnmatch_lines([f"*--scenario needs jsonpath, regex. {told.replace('[', '[[]')}"])


def test_the_schema_and_the_reference_are_what_the_table_says() -> None:
    page = reference_page()
    for name, table in TABLES.items():
        assert f"## {name.replace('_', '-')}\n\n{table.doc}\n" in page
        rows = [f"| `{key}` |" in page for key, field in table.fields.items() if field.honoured]
        assert all(rows), name
    committed = (ROOT / "docs" / "scenario.schema.json").read_text(encoding="utf-8")
    assert committed == json_schema(), "run: python docs/make_scenario.py"


def test_the_schema_takes_what_the_reader_takes() -> None:
    import tomllib

    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(json.loads(json_schema()))
    Draft202012Validator.check_schema(validator.schema)
    files = sorted((ROOT / "tests" / "scenarios").glob("*.toml"))
    assert len(files) >= 25
    for path in files:
        assert list(validator.iter_errors(tomllib.loads(path.read_text()))) == []
    assert list(validator.iter_errors({"nmae": 1}))
    named = {
        word.removeprefix("list of ").removeprefix("map of ").removeprefix("table ")
        for table in TABLES.values()
        for field in table.fields.values()
        for word in field.types
        if "table " in word
    }
    assert named <= TABLES.keys()


@pytest.mark.slow
@pytest.mark.process
def test_the_tutorial_works_as_it_is_written(tmp_path: Path) -> None:
    import re
    import subprocess

    server = Path(sys.executable).with_name("mcp-server-time")
    if not server.exists():
        pytest.skip("needs the server of the tutorial: pip install mcp-server-time")
    page = (ROOT / "docs" / "how-to" / "test-a-server.md").read_text(encoding="utf-8")
    [repaired] = re.findall(r"<!-- time.toml -->\n```\w*\n(.*?)```", page, re.DOTALL)
    [expected] = re.findall(r"```toml\n   (expect .*)", page)

    def ran(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "iac_scenario", *words],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    assert ran("new", "-o", "time.toml", str(server)).returncode == 0
    assert expected in (tmp_path / "time.toml").read_text()
    first = ran("run", "time.toml")
    assert first.returncode == 0, first.stderr
    (tmp_path / "time.toml").write_text(repaired.replace('"mcp-server-time"', f'"{server}"'))
    again = ran("run", "time.toml")
    assert again.returncode == 0, again.stderr
