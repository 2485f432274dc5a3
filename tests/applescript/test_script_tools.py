"""The eleven tools, with real processes: an osascript of recorded answers, and the simulator."""

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from script_calls import ROWS, call, data, plan_of

from iac_applescript import dictionary as installed
from iac_applescript import running
from iac_applescript.dictionary import Skill
from iac_applescript.results import rank_suggestions
from iac_applescript.running import read_answer
from iac_applescript.store import OFF
from iac_applescript.toolset import ScriptToolset
from iac_runtime.execution.process import Completed
from iac_runtime.search.index import Index

BROKEN = 'tell application "Finder" to get name of fldr 1'
MENDED = 'tell application "Finder" to get name of folder 1 of home'
INTENT = "name of the first folder in my home folder"


def test_there_are_eleven_tools_with_schemas_that_hold(toolset: ScriptToolset) -> None:
    assert len(ROWS) == 11
    for row in ROWS.values():
        jsonschema.Draft202012Validator.check_schema(dict(row.input))
        jsonschema.Draft202012Validator.check_schema(dict(row.output))
        assert len(row.purpose) <= 256
    assert ROWS["execute_applescript"].ceiling == "DANGEROUS"


@pytest.mark.process
def test_a_script_fails_is_explained_is_mended_works_and_is_offered_first(
    toolset: ScriptToolset, recorded: Path
) -> None:
    answers = {
        BROKEN: ["", "47:51: execution error: The variable fldr is not defined. (-2753)\n", 1],
        MENDED: ['"Desktop"\n', "", 0],
    }
    recorded.write_text(json.dumps(answers), encoding="utf-8")
    failed = call(toolset, "execute_applescript", script=BROKEN, intent=INTENT)
    assert not failed["success"]
    assert failed["error"]["cause"] == "undefined_variable"
    assert failed["error"]["number"] == -2753
    why = data(toolset, "analyze_failure", error=failed["error"]["original"], script=BROKEN)
    assert why["cause"] == "undefined_variable"
    assert why["fixes"]
    worked = data(toolset, "execute_applescript", script=MENDED, intent=INTENT)
    assert (worked["result"], worked["kind"]) == ("Desktop", "text")
    assert worked["tools_that_do_this"]
    offered = data(toolset, "get_workflow_pattern", intent="which folder is first in my home")
    assert offered["patterns"][0]["script"] == MENDED
    suggestions = data(toolset, "get_smart_suggestion", intent=INTENT)["suggestions"]
    assert suggestions[0]["kind"] == "pattern"
    assert suggestions[0]["script"] == MENDED
    stats = data(toolset, "get_learning_stats")
    assert (stats["successes"], stats["failures"]) == (1, 1)
    again = data(toolset, "analyze_failure", number=-2753, script=BROKEN)
    assert again["similar"][0]["script"] == MENDED


@pytest.mark.process
def test_javascript_runs_in_the_simulator(toolset: ScriptToolset, recorded: Path) -> None:
    script = 'Application("com.apple.finder").home.name()'
    found = data(toolset, "execute_applescript", script=script, language="javascript")
    assert found["kind"] == "text"
    assert found["level"] == "MODIFY"
    script = "function run(texts) { return texts.length + texts[1] }"
    given = {"language": "javascript", "arguments": ["a", "-l"]}
    assert data(toolset, "execute_applescript", script=script, **given)["result"] == "2-l"
    failed = call(
        toolset, "execute_applescript", script="foo()", language="javascript", intent="call foo"
    )
    assert failed["error"]["cause"] == "js_unknown_name"


@pytest.mark.process
def test_a_script_that_hangs_is_stopped(
    toolset: ScriptToolset, tmp_path: Path, monkeypatch
) -> None:
    program = tmp_path / "hang"
    program.write_text(f"#!{sys.executable} -IS\nimport time\ntime.sleep(60)\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("IAC_OSASCRIPT", str(program))
    found = call(toolset, "execute_applescript", script="return 1", timeout=1)
    assert found["error"]["type"] == "TIMEOUT"
    assert found["error"]["fixes"]


def test_without_osascript_it_says_so(
    toolset: ScriptToolset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IAC_OSASCRIPT", "/nowhere/osascript")
    found = call(toolset, "execute_applescript", script="return 1")
    assert found["error"]["type"] == "UNAVAILABLE"


@pytest.mark.parametrize(("left", "type"), [
    (Completed(b"", b"", -9, cancelled=True), "USER_CANCELLED"),
    (Completed(b"", b"", -9, too_large=True), "EXECUTION_ERROR"),
    (Completed(b"", b"", 1), "PERMISSION_DENIED"),
    (Completed(b"", b"log\n0:1: execution error: x (-1743)\n", 1), "PERMISSION_DENIED"),
    (Completed(b"", b"0:1: execution error: x (-10006)\n", 1), "NOT_SUPPORTED"),
    (Completed(b"\xff\xfe", b"", 0), ""),
])  # fmt: skip
def test_every_end_of_a_run_is_told(toolset: ScriptToolset, left: Completed, type: str) -> None:
    found = call(
        toolset, "execute_applescript", runner=lambda *_: left, script="return 1", intent="x"
    )
    assert found["success"] == (type == "")
    assert found["error"].get("type", "") == type


def test_the_script_goes_by_standard_input_never_as_an_argument(toolset: ScriptToolset) -> None:
    seen: list[Any] = []

    def runner(argv: Any, stdin: bytes, timeout: float) -> Completed:
        seen.append((argv, stdin, timeout))
        return Completed(b"1\n", b"", 0)

    given = ["-e", 'beep" & (do shell script "id']
    script = "return -e"
    call(toolset, "execute_applescript", runner=runner, script=script, timeout=7, arguments=given)
    argv, stdin, timeout = seen[0]
    assert argv[1:] == ["-l", "AppleScript", "-s", "s", "-", *given]
    assert stdin == b"with timeout of 7 seconds\nreturn -e\nend timeout"
    assert timeout == 7


def test_a_plan_tells_what_it_needs_before_anything_runs(toolset: ScriptToolset) -> None:
    empties = 'tell application "Finder" to empty the trash'
    plan = plan_of(toolset, "execute_applescript", script=empties)
    assert plan.facts.level == "DANGEROUS"
    assert plan.facts.app[0] == "com.apple.finder"
    assert "com.apple.finder" in plan.facts.line
    assert "not limited to these apps" in plan.facts.line
    assert "\n" not in plan.facts.line
    reads = plan_of(
        toolset, "execute_applescript", script='tell application "Finder" to get name of home'
    )
    assert reads.facts.level == "SAFE"
    assert plan_of(toolset, "get_learning_stats").facts.level == "SAFE"


def test_the_other_tools_answer(toolset: ScriptToolset) -> None:
    found = data(toolset, "discover_capabilities")
    assert sum(found["tools_by_level"].values()) == sum(app["tools"] for app in found["apps"])
    assert "finder" in found["skills"]
    apps = data(toolset, "list_scriptable_apps", filter="safari")["apps"]
    assert [app["bundle_id"] for app in apps] == ["com.apple.Safari"]
    assert "message" in data(toolset, "get_app_dictionary", app="Mail", term="message")["text"]
    assert "selection" in data(toolset, "get_app_skill", app="com.apple.finder")["text"]
    missing = call(toolset, "get_app_skill", app="Nothing")
    assert missing["error"]["type"] == "NOT_FOUND"
    unknown = call(toolset, "get_app_dictionary", app="Finderr")
    assert "Finder" in unknown["error"]["suggestion"]


def test_validating_says_which_checks_were_made(toolset: ScriptToolset, monkeypatch) -> None:
    good = data(toolset, "validate_applescript", script=MENDED)
    assert good["valid"]
    assert good["level"] == "SAFE"
    bad = data(toolset, "validate_applescript", script='tell application "Finder" to frobnicate')
    assert not bad["valid"]
    assert "frobnicate" in bad["problems"][0]
    assert "osacompile" not in bad["checks"]
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    refuse = Completed(b"", b"0:3: syntax error: x (-2741)", 1)
    found = call(toolset, "validate_applescript", runner=lambda *_: refuse, script=MENDED)["data"]
    assert found["problems"] == ["0:3: syntax error: x (-2741)"]
    accept = Completed(b"", b"", 0)
    found = call(toolset, "validate_applescript", runner=lambda *_: accept, script=MENDED)["data"]
    assert found["valid"]
    assert "osacompile" in found["checks"]


def test_a_tool_comes_before_a_script(toolset: ScriptToolset) -> None:
    found = data(toolset, "get_smart_suggestion", intent="reveal a file in Finder", limit=3)
    assert found["suggestions"][0]["kind"] == "tool"
    assert found["suggestions"][0]["use"].startswith("finder_")


def test_lines_of_a_guide_are_suggested() -> None:
    guide = Skill("mail", "com.apple.mail", "Mail: x", (), (), "- filter large mailboxes\n", False)
    found = rank_suggestions("filter large mailboxes", "mail", (), (), {"mail": guide})
    assert [row.kind for row in found] == ["skill"]
    assert rank_suggestions("filter large mailboxes", "", (), (), {"mail": guide}) == []


def test_learning_that_is_off_learns_nothing(toolset: ScriptToolset, monkeypatch) -> None:
    monkeypatch.setenv(OFF, "off")
    good = Completed(b"1\n", b"", 0)
    call(toolset, "execute_applescript", runner=lambda *_: good, script="return 1", intent="x")
    stats = data(toolset, "get_learning_stats")
    assert (stats["patterns"], stats["learning"]) == (0, False)


def test_a_store_that_cannot_be_written_does_not_undo_the_run(
    toolset: ScriptToolset, tmp_path: Path
) -> None:
    (tmp_path / "state").rmdir()
    good = Completed(b"1\n", b"", 0)
    found = call(
        toolset, "execute_applescript", runner=lambda *_: good, script="return 1", intent="x"
    )
    assert found["success"]
    assert not call(toolset, "get_learning_stats")["success"]


@pytest.mark.parametrize(("printed", "language", "value", "kind"), [
    ('"a \\"b\\""', "applescript", 'a "b"', "text"), ("42", "applescript", 42, "number"),
    ("1,5", "applescript", 1.5, "number"), ("true", "applescript", True, "boolean"),
    ("missing value", "applescript", None, "nothing"), ("", "applescript", None, "nothing"),
    ('{1, "a", {true, missing value}}', "applescript", [1, "a", [True, None]], "list"),
    ("{}", "applescript", [], "list"),
    ('{name:"x", |due date|:2}', "applescript", {"name": "x", "due date": 2}, "record"),
    ('{folder "a" of disk "b, c", 2}', "applescript", ['folder "a" of disk "b, c"', 2], "list"),
    ('date "Monday"', "applescript", 'date "Monday"', "reference"),
    ("{1, 2", "applescript", "{1, 2", "reference"),
    ("{1, , 2}", "applescript", "{1, , 2}", "reference"),
    ("{" * 99, "applescript", "{" * 99, "reference"),
    ('{"a":[1, null]}', "javascript", {"a": [1, None]}, "record"),
    ('"{\\"a\\":1}"', "javascript", {"a": 1}, "record"), ('"[x"', "javascript", "[x", "text"),
    ('Application("Mail").inbox', "javascript", 'Application("Mail").inbox', "reference"),
    ("undefined", "javascript", None, "nothing"),
])  # fmt: skip
def test_answers_are_typed(printed: str, language: str, value: Any, kind: str) -> None:
    found = read_answer(f"{printed}\n", language)
    assert (found.value, found.kind) == (value, kind)


@given(
    st.text(alphabet='{}",:| a1.-\\\n', max_size=40), st.sampled_from(["applescript", "javascript"])
)
def test_any_answer_is_read(printed: str, language: str) -> None:
    json.dumps(read_answer(printed, language).value)


@pytest.mark.process
def test_each_part_of_the_state_may_fail_alone(toolset: ScriptToolset, recorded: Path) -> None:
    found = data(toolset, "get_system_state")
    assert set(found) == set(running.PARTS)
    assert found["front_app"].get("value", found)["name"] == "Finder"
    assert {"name": "Notes", "bundle_id": "com.apple.Notes"} in found["running_apps"]["value"]
    assert found["appearance"]["value"] == "light"
    assert found["displays"]["value"] == [{"width": 1440, "height": 900, "scale": 2, "main": True}]
    assert "value" in found["network"]
    only = data(toolset, "get_system_state", parts=["volume"])
    assert list(only) == ["volume"]


@pytest.mark.parametrize(("left", "says"), [
    (Completed(b"", b"", -9, timed_out=True), "No answer about front_app"),
    (Completed(b"{", b"", 0), "cannot be read"),
    (Completed(b"", b"execution error: x (-1743)", 1), "control the app"),
])  # fmt: skip
def test_a_part_says_why_it_is_missing(left: Completed, says: str) -> None:
    found = running.read_state(lambda *_: left, ["front_app"])
    assert says in found["front_app"]["error"]


def test_a_part_without_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: Any) -> Completed:
        raise FileNotFoundError(2, "No such file")

    assert "error" in running.read_state(nothing, ["volume"])["volume"]
    monkeypatch.setitem(running._SYSTEM, "battery", nothing)
    assert "error" in running.read_state(nothing, ["battery"])["battery"]


def test_apps_on_disk_are_found(tmp_path: Path, toolset: ScriptToolset, monkeypatch) -> None:
    import plistlib

    def app(name: str, **facts: Any) -> None:
        contents = tmp_path / f"{name}.app" / "Contents"
        contents.mkdir(parents=True)
        (contents / "Info.plist").write_bytes(plistlib.dumps(facts))

    app("Good", CFBundleIdentifier="org.good", OSAScriptingDefinition="Good.sdef")
    app("Old", CFBundleIdentifier="org.old", NSAppleScriptEnabled="YES")
    app("Mute", CFBundleIdentifier="org.mute")
    app("Nameless", OSAScriptingDefinition="x")
    (tmp_path / "Broken.app" / "Contents").mkdir(parents=True)
    (tmp_path / "Broken.app" / "Contents" / "Info.plist").write_text("no plist", encoding="utf-8")
    (tmp_path / "Empty.app").mkdir()
    found = installed.find_scriptable_apps([tmp_path])
    assert [bundle.id for bundle in found] == ["org.good", "org.old"]
    assert isinstance(installed.running_bundles(), set)
    monkeypatch.setattr(installed, "find_scriptable_apps", lambda: found)
    rows = data(toolset, "list_scriptable_apps", filter="org.")["apps"]
    assert [(row["name"], row["tools"], row["running"]) for row in rows] == [
        ("Good", False, False),
        ("Old", False, False),
    ]


def test_the_search_is_not_needed(toolset: ScriptToolset, index: Index) -> None:
    toolset.find = None
    assert data(toolset, "get_smart_suggestion", intent="zzz")["suggestions"] == []
