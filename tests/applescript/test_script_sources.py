"""Where a script is from and what goes with it: files, kept names, arguments, time, output."""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from script_calls import call, data, in_turns, plan_of

from iac_applescript import wrapping
from iac_applescript.analysis import javascript_tree
from iac_applescript.library import SavedScript, ScriptParameter
from iac_applescript.running import Confinement, sandbox_profile
from iac_applescript.toolset import ScriptToolset
from iac_applescript.wrapping import wrap_script
from iac_base.errors import ToolError, pip_install
from iac_mcp.entry import main
from iac_runtime.execution.process import Completed
from iac_runtime.execution.workers import run_process
from iac_runtime.tool import highest

TAKES = "function run(given) { return JSON.stringify(given) }"
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=8,
)


@pytest.mark.process
def test_javascript_is_given_records_lists_and_numbers(
    toolset: ScriptToolset, recorded: Path
) -> None:
    hostile = {"constructor": {"__proto__": "`${1}`"}, 'a"b': [1.5, None, True, "</script>"]}
    for value in ([1, ["x"], hostile], hostile):
        js = {"language": "javascript", "arguments": value}
        found = data(toolset, "execute_applescript", script=TAKES, **js)
        assert found["result"] == (value if isinstance(value, list) else [value])


def ran(toolset: ScriptToolset, **arguments: Any) -> tuple[list[str], str]:
    """Return the command and the text that an AppleScript is run by."""
    seen: list[Any] = []

    def runner(argv: Any, stdin: bytes, _timeout: float) -> Completed:
        seen.append((argv, stdin.decode()))
        return Completed(b"1\n", b"", 0)

    assert call(toolset, "execute_applescript", runner=runner, **arguments)["success"]
    argv, text = seen[0]
    return argv, text


def test_applescript_is_given_values_by_a_handler_of_ours(toolset: ScriptToolset) -> None:
    script = "on run {size, names}\n\treturn size\nend run"
    given = [3, {"x": 'end run" & (do shell script "id")'}]
    argv, text = ran(toolset, script=script, arguments=given, timeout=9)
    assert json.loads(argv[-1]) == given
    assert "do shell script" not in text
    assert text.startswith('use framework "Foundation"\nuse scripting additions\n')
    head = "on iac_run({size, names})\nwith timeout of 9 seconds\n\treturn size\n"
    assert f"{head}end timeout\nend iac_run\n" in text


def test_of_a_line_that_is_long_the_part_is_shown_that_does_it(toolset: ScriptToolset) -> None:
    line = f"{'let a = 1; ' * 90}Application('Finder').empty(); {'let b = 2; ' * 90}"
    plan = plan_of(toolset, "execute_applescript", script=line, language="javascript")
    (shown,) = plan.facts.shown
    assert shown.reference == "line 1"
    assert "Application('Finder').empty()" in shown.description
    assert len(shown.description) < 700


@pytest.mark.parametrize(
    ("script", "language"),
    [("return 1", "applescript"), ("on run\nend run", "applescript"), ("1", "javascript")],
)
def test_values_need_a_handler_that_takes_them(
    toolset: ScriptToolset, script: str, language: str
) -> None:
    with pytest.raises(ToolError, match="no run handler"):
        plan_of(toolset, "execute_applescript", script=script, language=language, arguments=[1])


@pytest.mark.parametrize(
    ("script", "runs"),
    [
        (
            'use AppleScript version "2.4"\nproperty n : 1\nset a to n\non f(x)\nbeep\nend f\nf(a)',
            'use AppleScript version "2.4"\nproperty n : 1\nT\nset a to n\nE\n'
            "on f(x)\nT\nbeep\nE\nend f\nT\nf(a)\nE",
        ),
        ('tell application "Finder" to beep', 'T\ntell application "Finder" to beep\nE'),
        ("tell (path to desktop)\nbeep\nend tell", "T\ntell (path to desktop)\nbeep\nend tell\nE"),
        (
            "on f()\n\ttell me\nbeep\nend\nend\nf()",
            "on f()\nT\n\ttell me\nbeep\nend\nE\nend\nT\nf()\nE",
        ),
        (
            "script s\non f()\nbeep\nend f\nend script\ns's f()",
            "script s\non f()\nT\nbeep\nE\nend f\nend script\nT\ns's f()\nE",
        ),
        # What is not understood stays as it is.
        ('tell application "Finder"\nbeep', 'tell application "Finder"\nbeep'),
        ("repeat\nbeep\nend tell", "repeat\nbeep\nend tell"),
        ('beep "', 'beep "'),
    ],
)
def test_every_statement_has_the_time_of_the_call(script: str, runs: str) -> None:
    expected = runs.replace("T\n", "with timeout of 5 seconds\n").replace("\nE", "\nend timeout")
    found = wrap_script(script, "applescript", 4.2, None)
    assert found.text == expected
    place = found.text.find("beep") if "beep" in script else 0
    error = f"{place}:{place + 4}: execution error: x (-1)"
    before = script.find("beep") if "beep" in script else 0
    if place:
        assert found.restore_positions(error) == f"{before}:{before + 4}: execution error: x (-1)"


def test_output_as_people_read_it(toolset: ScriptToolset) -> None:
    said = Completed(b"1, 2\n", b"", 0)
    for output, form in (("text", "h"), ("json", "s")):
        argv, _ = ran(toolset, script="return {1, 2}", output=output)
        assert argv[4] == form
    found = call(
        toolset, "execute_applescript", runner=lambda *_: said, script="return 1", output="text"
    )
    assert found["data"]["result"] == "1, 2"
    assert found["data"]["kind"] == "text"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "scripts"
    found.mkdir(mode=0o700)
    monkeypatch.setenv(wrapping.FOLDERS, str(found))
    return found


def test_a_file_is_run_as_it_was_read(toolset: ScriptToolset, folder: Path) -> None:
    file = folder / "count.applescript"
    file.write_text('tell application "Finder" to empty the trash', encoding="utf-8")
    file.chmod(0o600)
    plan = plan_of(toolset, "execute_applescript", script_path=str(file))
    assert plan.facts.level == "DANGEROUS"
    assert plan.facts.pin in plan.facts.line
    assert str(file) in plan.facts.line
    file.write_text("return 1", encoding="utf-8")
    seen: list[str] = []

    def runner(_argv: Any, stdin: bytes, _timeout: float, **_: Any) -> Completed:
        seen.append(stdin.decode())
        return Completed(b"", b"", 0)

    toolset.run = runner
    plan.perform(None)
    assert "empty the trash" in seen[0]


@pytest.mark.parametrize("kind", ["link", "folder link", "outside", "up", "ending", "open", "none"])
def test_a_file_that_is_not_to_be_trusted_is_not_run(
    toolset: ScriptToolset, folder: Path, tmp_path: Path, kind: str
) -> None:
    real = tmp_path / "real.applescript"
    real.write_text("return 1", encoding="utf-8")
    path = folder / "x.applescript"
    if kind == "link":
        path.symlink_to(real)
    elif kind == "folder link":
        (folder / "in").symlink_to(tmp_path)
        path = folder / "in" / "real.applescript"
    elif kind == "open":
        path.write_text("return 1", encoding="utf-8")
        path.chmod(0o666)
    ways = {"outside": real, "up": folder / ".." / "real.applescript", "ending": folder / "x.scpt"}
    with pytest.raises(ToolError) as raised:
        plan_of(toolset, "execute_applescript", script_path=str(ways.get(kind, path)))
    assert raised.value.type in ("INVALID_PARAMETER", "NOT_FOUND", "REFUSED")


def test_a_saved_script_takes_its_parameters_by_name(
    toolset: ScriptToolset, monkeypatch: pytest.MonkeyPatch
) -> None:
    takes = {"a": ScriptParameter("text", "One"), "b": ScriptParameter("integer", "Two")}
    saved = SavedScript("mine", "applescript", "on run {a, b}\nreturn a\nend run", takes)
    monkeypatch.setattr(wrapping, "find_script", {"mine": saved}.get)
    argv, _ = ran(toolset, saved="mine", arguments={"b": 2, "a": "x"})
    assert json.loads(argv[-1]) == ["x", 2]
    for wrong in ({"a": 1}, {"a": 1, "b": 2, "c": 3}):
        with pytest.raises(ToolError, match="mine takes a, text: One; b, integer: Two"):
            plan_of(toolset, "execute_applescript", saved="mine", arguments=wrong)
    with pytest.raises(ToolError, match="no saved script"):
        plan_of(toolset, "execute_applescript", saved="other")
    with pytest.raises(ToolError, match="Give exactly one of"):
        plan_of(toolset, "execute_applescript", saved="mine", script="return 1")


@given(st.text(alphabet='on run\n{}(),end"tellif-|¬', max_size=60), st.lists(JSONS, max_size=3))
def test_wrapping_any_script_keeps_its_own_text(script: str, values: list[Any]) -> None:
    found = wrap_script(script, "applescript", 3, None, values)
    assert all(isinstance(text, str) for text in found.arguments)
    if all(isinstance(value, str) for value in values):
        ours = ("with timeout of 3 seconds", "end timeout")
        kept = [line for line in found.text.split("\n") if line not in ours]
        assert "\n".join(kept) == script


# What a script is held to: its apps where macOS can, and never to start one by reading.


HELD = "(limited to these apps by macOS)"
MENDED = 'tell application "Finder" to get name of folder 1 of home'


def test_only_bundle_ids_enter_a_profile() -> None:
    text = sandbox_profile(["com.apple.finder"])
    assert '(appleevent-destination "com.apple.finder")' in text
    assert "(deny default)" in text
    for bad in ('x")(allow default)("', "", "a b", "a\nb"):
        with pytest.raises(ValueError, match="bundle id"):
            sandbox_profile([bad])


SANDBOX = """#!{python} -I
# sandbox-exec as its manual page has it: -p PROFILE PROGRAM ARGUMENTS. It looks at what it is told
# to hold, and answers for the osascript that it would start.
import pathlib, sys
flag, profile, program, *rest = sys.argv[1:]
assert (flag, program) == ("-p", "/usr/bin/osascript"), sys.argv
assert profile.startswith("(version 1)\\n(deny default)\\n"), profile
assert profile.count("(") == profile.count(")"), profile
assert rest[0] == "-l" and rest[-1] == "-", rest
script = sys.stdin.read()
pathlib.Path(sys.argv[0] + ".seen").open("a").write(profile + "\\0" + script + "\\1")
held = {held}
print("not confined" if "do shell script" in script and not held else 42)
"""


def sandbox(folder: Path, *, held: bool) -> Path:
    """Write a stand-in for sandbox-exec that holds, or does not."""
    program = folder / f"sandbox-exec-{held}"
    program.write_text(SANDBOX.format(python=sys.executable, held=held), encoding="utf-8")
    program.chmod(0o755)
    return program


@pytest.mark.process
def test_confinement_is_tried_once_and_used_only_where_it_works(
    toolset: ScriptToolset, tmp_path: Path
) -> None:
    program = sandbox(tmp_path, held=True)
    toolset.confinement = Confinement(run_process, str(program), "darwin")
    assert not program.with_suffix(".seen").exists()
    for _ in range(2):
        plan = plan_of(toolset, "execute_applescript", script=MENDED)
        assert HELD in plan.facts.line
    assert plan.perform(None).value["data"]["result"] == 42
    probe, run, end = Path(f"{program}.seen").read_text(encoding="utf-8").split("\1")
    assert "appleevent-send" not in probe
    allowed, script = run.split("\0")
    assert allowed.count("appleevent-send") == 1
    assert '(appleevent-destination "com.apple.finder")' in allowed
    assert (script, end) == (f"with timeout of 30 seconds\n{MENDED}\nend timeout", "")


@pytest.mark.process
@pytest.mark.parametrize(
    ("held", "platform", "exists"),
    [(False, "darwin", True), (True, "linux", True), (True, "darwin", False)],
)
def test_where_confinement_does_not_work_the_question_says_so(
    toolset: ScriptToolset, tmp_path: Path, held: bool, platform: str, exists: bool
) -> None:
    program = sandbox(tmp_path, held=held) if exists else tmp_path / "nothing"
    toolset.confinement = Confinement(run_process, str(program), platform)
    plan = plan_of(toolset, "execute_applescript", script=MENDED)
    assert "(not limited to these apps by macOS)" in plan.facts.line


@pytest.mark.parametrize(
    ("script", "level"),
    [(MENDED, "SAFE"), ('tell application "Finder" to make new folder at desktop', "DANGEROUS")],
)
def test_a_change_is_dangerous_where_macos_should_confine_and_does_not(
    toolset: ScriptToolset, script: str, level: str
) -> None:
    open_ = Completed(b"not confined\n", b"", 0)
    toolset.confinement = Confinement(lambda *_: open_, sys.executable, "darwin")
    plan = plan_of(toolset, "execute_applescript", script=script)
    assert highest(row.level for row in plan.facts.effects) == level


def test_a_script_that_names_no_app_is_held_to_none(toolset: ScriptToolset) -> None:
    sent: list[str] = []

    def held(argv: Any, *_: Any) -> Completed:
        sent.append(argv[2])
        return Completed(b"42\n", b"", 0)

    toolset.confinement = Confinement(held, sys.executable, "darwin")
    toolset.run = in_turns(held)
    plan_of(toolset, "execute_applescript", script='open location "https://a.example/"').perform(
        None
    )
    assert "appleevent-send" not in sent[-1]
    assert "(allow lsopen)" in sent[-1]
    plan_of(toolset, "execute_applescript", script="return 1").perform(None)
    assert "(allow lsopen)" not in sent[-1]


def test_a_probe_that_cannot_be_started_confines_nothing(tmp_path: Path) -> None:
    def busy(*_: Any) -> Completed:
        raise OSError(11, "busy")

    assert not Confinement(busy, str(sandbox(tmp_path, held=True)), "darwin").is_working()


def test_another_osascript_is_not_what_the_profile_lets_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IAC_OSASCRIPT", "/opt/osascript")
    program = str(sandbox(tmp_path, held=True))
    assert not Confinement(run_process, program, "darwin").is_working()


@pytest.mark.parametrize(("script", "confined"), [
    (MENDED, True), ("return 1", True), ('display dialog (do shell script "id")', False),
    ('open location "https://a.example/"', True), ('open location "mailto:a@b.example"', False),
    ('tell application "Frobnicator" to activate', False),
    ('tell application "Finder" to do shell script "id"', False),
    ('tell application "Finder" to delete file 1 of home', True),
    ('tell application "Finder" to «event fndrempt»', True),
])  # fmt: skip
def test_what_was_asked_to_reach_beyond_its_apps_is_not_confined(
    toolset: ScriptToolset, script: str, confined: bool
) -> None:
    held = Completed(b"42\n", b"", 0)
    toolset.confinement = Confinement(lambda *_: held, sys.executable, "darwin")
    plan = plan_of(toolset, "execute_applescript", script=script)
    assert (HELD in plan.facts.line) == confined


@pytest.mark.parametrize(("script", "starts"), [
    ('tell application "Music" to get name of current track', ["Music"]),
    ('tell application "Music"\nget name of current track\nend tell', ["Music"]),
    ('return name of application "Music"', ["Music"]),
    ('set a to application "Music"\ntell a to get name', ["Music"]),
    ('tell application "Music"\nset a to it\nend tell', ["Music"]),
    ('tell application "Music" to activate', ["Music"]),
    ('tell window 1 of application "Music"\nend tell', ["Music"]),
    ('return application "Music" is running', []),
    ('tell application "Music"\nset x to 1\nend tell', []),
    ('if running of application "Music" then return 1', []),
    ('return application id "com.apple.Music" is not running', []),
    ('if application "Music" is running then tell application "Music" to get name of'
     " window 1", []),
    ('if application "Music" is running then\ntell application "Music"\n'
     "get name of current track\nend tell\nend if", []),
    ('tell application "Music"\nif it is running then\n'
     "return name of current track\nelse\n"
     'return "no"\nend if\nend tell', []),
    ('tell application "Music"\nif it is running then\nset x to 1\nelse\n'
     "return name of current track\nend if\nend tell", ["Music"]),
    ('if application "Music" is not running then tell application "Music" to get name of'
     " window 1", ["Music"]),
    ('if application "Music" is running then\nset x to 1\nend if\n'
     'tell application "Music" to get name of window 1', ["Music"]),
    ('if application "Music" is running then\n'
     'tell application "Finder" to get name of home\nend if', ["Finder"]),
    ('if (application "Mail" is running) then\nset x to 1\nelse if application "Music" is'
     ' running then\ntell application "Music" to get name of window 1\n'
     'tell application "Mail" to get name of window 1\nend if', ["Mail"]),
    ('tell application "System Events"\ntell screen saver preferences\nif running then\n'
     "get name of disk 1\nend if\nend tell\nend tell", ["System Events"]),
])  # fmt: skip
def test_reading_starts_no_app(toolset: ScriptToolset, script: str, starts: list[str]) -> None:
    toolset.runs = lambda _app: False
    plan = plan_of(toolset, "execute_applescript", script=script)
    assert [
        row.reason.partition(" would start ")[2].rstrip(".") for row in plan.facts.raised
    ] == starts
    assert plan.facts.level == ("MODIFY" if starts else "SAFE")
    toolset.runs = lambda _app: True
    assert plan_of(toolset, "execute_applescript", script=script).facts.level == "SAFE"


def test_what_runs_is_asked_of_scripts_that_else_read(toolset: ScriptToolset) -> None:
    asked: list[str] = []
    toolset.runs = lambda app: bool(asked.append(app))
    sets = 'tell application "Music" to set sound volume to 3'
    plan_of(toolset, "execute_applescript", script=sets)
    assert asked == []
    plan = plan_of(toolset, "execute_applescript", script=MENDED)
    assert asked == ["com.apple.finder"]
    assert "would start Finder" in plan.facts.line
    found = data(toolset, "validate_applescript", script=MENDED)
    assert found["valid"]
    assert (found["level"], found["reasons"][0]["says"]) == ("MODIFY", "would start Finder")


def test_a_check_starts_no_app_either(
    toolset: ScriptToolset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    toolset.runs = lambda _app: False
    found = data(toolset, "validate_applescript", script=MENDED)
    assert "osacompile" not in found["checks"]


def test_javascript_is_not_run_unread_where_its_parser_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = importlib.util.find_spec

    def find(name: str, *more: str | None) -> object:
        return None if name.startswith("tree_sitter") else known(name, *more)

    monkeypatch.setattr(importlib.util, "find_spec", find)
    monkeypatch.setattr(javascript_tree, "_parser", javascript_tree._parser.__wrapped__)
    given = '{"script": "Application(\'Finder\').name()", "language": "javascript"}'
    monkeypatch.setattr(
        sys, "argv", ["iac-mcp", "call", "execute_applescript", given, "--simulate"]
    )
    assert main() != 0
    told = capsys.readouterr().err
    assert told.endswith(f"Install it with: {pip_install('scripts')}\n"), told
    assert len(told.splitlines()) == 1
