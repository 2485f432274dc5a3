"""Where a script is from and what goes with it: files, kept names, arguments, time, output."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from script_calls import call, data, plan_of

from iac_applescript import sources
from iac_applescript.library import SavedScript, ScriptParameter
from iac_applescript.toolset import ScriptToolset
from iac_applescript.wrapping import wrap_script
from iac_base.errors import ToolError
from iac_runtime.execution.process import Completed

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
    monkeypatch.setenv(sources.FOLDERS, str(found))
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
    monkeypatch.setattr(sources, "find_script", {"mine": saved}.get)
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
