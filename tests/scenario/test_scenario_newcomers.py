"""The first five minutes: a scenario from a server's list, reports, watching, foreign projects."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from scenario_helpers import Make, Run

from iac_scenario.bootstrap import parse_server, sample_value

PROGRAM = Path(__file__).with_name("server_program.py")
FAILS = """
prompts = ["go", "wrong"]
tool_execution.mode = "mock"
[[responses]]
pattern = { type = "exact", text = "go" }
[[responses.response.tool_calls]]
tool = "<b>"
result = "a\\u0000b 100%"
expect = { equals = "other" }
"""


@pytest.mark.process
def test_a_first_scenario_calls_what_the_server_lists(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("new", "-o", "first.toml", "--", sys.executable, PROGRAM)
    assert (ran.status, "iac-scenario run first.toml" in ran.out) == (0, True), ran.err
    document = tomllib.loads((tmp_path / "first.toml").read_text())
    assert "echo" in document["prompts"]
    calls = {rule["response"]["tool_calls"][0]["tool"] for rule in document["responses"]}
    assert "mcp__server_program__echo" in calls
    assert run("run", "first.toml", "-p", "echo", "--allow", "unreached").status == 0
    assert "already exists" in run("new", "-o", "first.toml", "x").err
    assert "No such file" in run("new", "/nowhere/at/all").err


READER = """
import json, sys

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
READS = {"annotations": {"readOnlyHint": True}}
TASKS = {"execution": {"taskSupport": "required"}}
TOOLS = {"look": READS, "find": READS, "put": {}, "wait": TASKS}
NOW = "2025-01-01T00:00:00Z"
TASK = {"taskId": "t1", "status": "working", "createdAt": NOW, "lastUpdatedAt": NOW, "ttl": 1}

for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    result, error = None, {"code": -32601, "message": "Method not found"}
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "reader", "version": "1"}}
    if method == "tools/list":
        result = {"tools": [{"name": k, "inputSchema": TEXT, **v} for k, v in TOOLS.items()]}
    if method == "tools/call":
        wrong = params["name"] != "look"
        text = f"no such {params['arguments']['text']}" if wrong else "seen"
        result = {"content": [{"type": "text", "text": text}], "isError": wrong}
        if params["name"] == "wait":
            result = {"task": TASK} if "task" in params else None
    if "id" in message:
        answer = {"error": error} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""


@pytest.mark.process
@pytest.mark.parametrize("called", [False, True])
def test_a_first_scenario_runs_from_where_it_lies_and_expects_errors(
    run: Run, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: bool
) -> None:
    make(READER, "bin/reader.py")
    (tmp_path / "tests").mkdir()
    monkeypatch.chdir(tmp_path)
    words = ("--", sys.executable, "bin/reader.py")
    ran = run("new", "-o", "tests/a.toml", *(["--call"] if called else []), *words)
    assert ran.status == 0, ran.err
    document = tomllib.loads((tmp_path / "tests/a.toml").read_text())
    calls = [rule["response"]["tool_calls"][0] for rule in document["responses"]]
    wrong = {"is_error": True, "contains": "no such text"}
    assert [call["expect"] for call in calls[:3]] == [
        {"is_error": False}, wrong, wrong if called else {"is_error": False},
    ]  # fmt: skip
    # A plain call of a tool that works as a task is always refused.
    assert (calls[3]["request"], calls[3]["input"]["name"]) == ("tools/call", "wait")
    monkeypatch.chdir("/")
    ran = run("run", tmp_path / "tests/a.toml")
    assert ran.status == (0 if called else 1), ran.err
    # What was not called is not known to be an error.
    assert "mcp__reader__put" in ran.err or called
    assert "mcp__reader__wait" not in ran.err


@pytest.mark.parametrize(("words", "name"), [
    ("mcp-server-time", "time"),
    ("npx -y @modelcontextprotocol/server-everything stdio", "everything"),
    ("node build/git-mcp.js --stdio", "git"), ("python3 src/weather.py", "weather"),
    ("node /opt/server-everything/dist/index.js stdio", "everything"),
    ("http://127.0.0.1:8000/mcp", "127_0_0_1"),
])  # fmt: skip
def test_a_server_is_named_as_people_call_it(words: str, name: str) -> None:
    assert parse_server(words.split())[0] == name


SCHEMA = st.recursive(
    st.sampled_from([
        {"type": "string"}, {"type": "string", "minLength": 9}, {"enum": ["b", "a"]}, {"const": 3},
        {"type": "integer", "minimum": 4}, {"type": "number", "maximum": 0}, {"type": "boolean"},
        {"type": ["integer", "null"]}, {"type": "string", "format": "uri"}, {"default": "x"}, {},
    ]),
    lambda inner: st.one_of(
        inner.map(lambda item: {"type": "array", "items": item, "minItems": 1}),
        inner.map(lambda item: {"anyOf": [item, {"type": "null"}]}),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(
            lambda known: {"type": "object", "properties": known, "required": sorted(known)}
        ),
    ),
    max_leaves=6,
)  # fmt: skip


@given(SCHEMA)
def test_sampled_arguments_fit(schema: dict[str, object]) -> None:
    assert list(Draft202012Validator(schema).iter_errors(sample_value(schema))) == []


def test_a_report_shows_each_conversation(
    make: Make, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    page, junit = tmp_path / "out" / "r.html", tmp_path / "r.xml"
    path = make(FAILS)
    ran = run("run", path, "--report", page, "--report", junit)
    assert ran.status == 1
    said = "<b>: equals: expected other, got a\0b 100%25"
    assert f"::error file={path},line=9::{said}" in ran.err
    assert f"::error file={path},line=2::no rule matches the prompt 'wrong'" in ran.err
    text = page.read_text()
    assert "0 passed, 1 failed" in text
    assert "&lt;b&gt;" in text
    assert "<b>:" not in text
    link = re.search(r'<a href="#(.+?)">case</a>', text)
    assert link is not None
    assert f'id="{link[1]}">case' in text
    suite = ElementTree.parse(junit).getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "2")
    assert [case.get("name") for case in suite] == ["go", "wrong"]


ALONE = """
import sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"jinja2", "lxml", "iac_runtime", "iac_gen", "iac_tools"}:
            raise ImportError(name)
sys.meta_path.insert(0, Nothing())
"""


@pytest.mark.slow
@pytest.mark.process
def test_a_foreign_project_needs_nothing_else(make: Make, tmp_path: Path) -> None:
    make(FAILS, "scenarios/case.toml")
    (tmp_path / "sitecustomize.py").write_text(ALONE)
    (tmp_path / "test_own.py").write_text("def test_own(): pass\n")
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "iac_scenario.plugin"]
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "GITHUB_ACTIONS": "true"}
    done = subprocess.run(
        [sys.executable, *words, "test_own.py", "--scenario", "scenarios",
         "--scenario-report", "r.html", "--junitxml", "j.xml"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "::error file=" in done.stdout
    assert "1 failed" in (tmp_path / "r.html").read_text()
