"""What a script is held to: its apps where macOS can, and never to start one by reading."""

import sys
from pathlib import Path
from typing import Any

import pytest
from script_calls import data, in_turns, plan_of

from iac_applescript.running import Confinement, sandbox_profile
from iac_applescript.toolset import ScriptToolset
from iac_runtime.execution.process import Completed
from iac_runtime.execution.streams import run_process
from iac_runtime.tool import highest

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
        row.reason.removeprefix("would start ").partition(" (")[0] for row in plan.facts.raised
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
