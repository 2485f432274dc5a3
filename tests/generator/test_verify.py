"""Comparing our JavaScript names with what JXA's reflection prints, over real processes."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from golden import standard
from hypothesis import given
from hypothesis import strategies as st
from making import read, sdef, source

from iac_gen.cli import cli
from iac_gen.resolve import resolve_dictionary
from iac_gen.verify_names import (
    AskedNames,
    ReflectedClass,
    Reflection,
    ReflectionError,
    collect_names,
    compare_names,
    run_reflection,
)

ITEMS = """
<class name="application" code="capp">
  <property name="AirPlay mode" code="airp" type="boolean"/>
  <element type="day book"/>
</class>
<class name="item" code="cobj">
  <property name="name" code="pnam" type="text"/>
</class>
<class name="day book" code="dayb" plural="day books" inherits="item">
  <property name="unix id" code="ID  " type="text" access="r"/>
  <property name="secret" code="secr" type="text" hidden="yes"/>
  <element type="page"/>
</class>
<class name="page" code="page"/>
<command name="GetURL" code="GURLGURL">
  <parameter name="in window" code="wind" type="text"/>
</command>
<command name="do JavaScript" code="sfridojs"/>
<command name="whisper" code="diarwhis" hidden="yes"/>
"""
RIGHT: dict[str, Any] = {
    "commands": ["geturl", "doJavaScript", "quit"],
    "application": {"properties": ["airplayMode", "class"], "elements": ["dayBooks"],
     "parent": None},
    "item": {"properties": ["name"], "elements": [], "parent": None},
    "dayBook": {"properties": ["unixId", "name"], "elements": ["page"], "parent": "item"},
    "page": {"properties": [], "elements": [], "parent": None},
}  # fmt: skip
STAND_IN = """
import json, os, sys
assert sys.argv[1:3] == ["-l", "JavaScript"], sys.argv
request = json.load(sys.stdin)
world = json.loads({world!r})
classes = []
for jxa, term in request["classes"]:
    nothing = dict.fromkeys(("properties", "elements", "parent"))
    classes.append(world.get(jxa) or world.get(term) or nothing)
print(json.dumps({{"commands": world["commands"], "classes": classes}}))
"""


@pytest.fixture
def names() -> AskedNames:
    return collect_names(resolve_dictionary(source(read(sdef(ITEMS))), standard())[0])


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Path]:
    def make(code: str) -> Path:
        path = tmp_path / "osascript"
        path.write_text(f"#!{sys.executable}\n{code}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    return make


def printed(world: dict[str, Any], names: AskedNames) -> Reflection:
    rows = {row.name.term: world.get(row.name.jxa) for row in names.classes}
    return Reflection(
        tuple(world["commands"]),
        {
            term: ReflectedClass(tuple(row["properties"]), tuple(row["elements"]), row["parent"])
            for term, row in rows.items()
            if row is not None
        },
    )


def changed(where: str, key: str, value: object) -> dict[str, Any]:
    return {**RIGHT, where: {**RIGHT[where], key: value}}


@pytest.mark.parametrize(("world", "lines"), [
    (RIGHT, []),
    ({**RIGHT, "commands": ["getURL", "doJavaScript"]},
     ["command 'GetURL': IAC has geturl, JXA has getURL"]),
    ({**RIGHT, "commands": ["geturl"]},
     ["command 'do JavaScript': IAC has doJavaScript, JXA has no such name"]),
    ({**RIGHT, "commands": [*RIGHT["commands"], "whisper", "shout"]},
     ["command: JXA has shout, which belongs to no term"]),
    (changed("application", "properties", ["airPlayMode"]),
     ["property of application 'AirPlay mode': IAC has airplayMode, JXA has airPlayMode"]),
    (changed("dayBook", "elements", ["leaves"]),
     ["element of day book 'page': IAC has pages, JXA has no such name",
      "element of day book: JXA has leaves, which belongs to no term"]),
    (changed("dayBook", "properties", ["unixId", "secret", "properties"]), []),
    (changed("dayBook", "parent", "Item"),
     ["parent of day book 'item': IAC has item, JXA has Item"]),
    ({**RIGHT, "dayBook": {"properties": [], "elements": [], "parent": None}},
     ["class 'day book': IAC has dayBook, JXA has no such name"]),
])  # fmt: skip
def test_what_reflection_says_otherwise_is_told_with_the_term(
    names: AskedNames, world: dict[str, Any], lines: list[str]
) -> None:
    assert [str(row) for row in compare_names(names, printed(world, names))] == lines


def test_what_reflection_does_not_answer_is_no_difference(names: AskedNames) -> None:
    silent = ReflectedClass(None, None, None)
    assert compare_names(names, Reflection(None, {})) == []
    rows = compare_names(names, Reflection(None, {"page": silent, "day book": silent}))
    assert [row.term for row in rows] == ["day book"]


@given(rows=st.lists(st.text(max_size=8)), parent=st.text(max_size=5))
def test_no_answer_is_too_odd(rows: list[str], parent: str) -> None:
    names = collect_names(resolve_dictionary(source(read(sdef(ITEMS))), standard())[0])
    odd = ReflectedClass(tuple(rows), tuple(rows), parent)
    found = compare_names(names, Reflection(tuple(rows), dict.fromkeys(["page", "day book"], odd)))
    assert all(str(row) for row in found)


def test_an_app_is_asked_in_one_process(names: AskedNames, program: Callable[[str], Path]) -> None:
    stand_in = program(STAND_IN.format(world=json.dumps(RIGHT)))
    found = run_reflection(names, [str(stand_in)])
    assert found == printed(RIGHT, names)
    assert names.count_names() == 3 + 4 + 5 + 1
    assert names.parameters == 1


@pytest.mark.parametrize(("code", "words"), [
    ("print('{')", "not come from IAC's script"), ("print('[1]')", "not come from IAC's script"),
    ('print(\'{"commands": [], "classes": []}\')', "not come from IAC's script"),
    ("print('[' * 100000)", "not come from IAC's script"),
    ("import json, sys; n = len(json.load(sys.stdin)['classes']);"
     "row = {'properties': None, 'elements': [], 'parent': None};"
     "print(json.dumps({'commands': None, 'classes': [row] * n}))", "shows no names"),
    ("import json, sys; n = len(json.load(sys.stdin)['classes']);"
     "row = {'properties': [3], 'elements': [], 'parent': 4};"
     "print(json.dumps({'commands': [], 'classes': [row] * n}))", "not come from IAC's script"),
    ("import json, sys; n = len(json.load(sys.stdin)['classes']);"
     "row = {'properties': [], 'elements': [], 'parent': 4};"
     "print(json.dumps({'commands': [], 'classes': [row] * n}))", "not come from IAC's script"),
    ("import sys; print('execution error: Error: Application can\\'t be found. (-2700)',"
     " file=sys.stderr); sys.exit(1)", "Application can't be found"),
    ("import sys; sys.exit(3)", "status 3"),
    ("import time; time.sleep(600)", "did not end within 0.5 seconds"),
])  # fmt: skip
def test_a_program_that_does_not_answer_is_one_line(
    names: AskedNames, program: Callable[[str], Path], code: str, words: str
) -> None:
    seconds = 0.5 if "sleep" in code else 60.0
    with pytest.raises(ReflectionError, match=words) as caught:
        run_reflection(names, [str(program(code))], seconds)
    assert "\n" not in str(caught.value)


def test_a_program_that_is_not_there_is_one_line(names: AskedNames) -> None:
    with pytest.raises(ReflectionError, match="cannot be run"):
        run_reflection(names, ["/nowhere/osascript"])


@pytest.fixture
def diary(tmp_path: Path) -> Path:
    path = tmp_path / "Diary.sdef"
    path.write_bytes(sdef(ITEMS))
    return path


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, ["verify-names", *(str(one) for one in arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout, result.stderr


def test_the_command_prints_the_differences_and_fails(
    diary: Path, program: Callable[[str], Path]
) -> None:
    world = {**RIGHT, "commands": ["getURL", "doJavaScript"]}
    stand_in = program(STAND_IN.format(world=json.dumps(world)))
    code, out, err = run("--dictionary", diary, "--osascript", stand_in)
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "diary: command 'GetURL': IAC has geturl, JXA has getURL",
        "diary: 13 names, 1 differ",
        "JavaScript does not show names of parameters, so 1 names are not compared.",
    ]


def test_the_command_is_content_with_right_names(
    diary: Path, program: Callable[[str], Path]
) -> None:
    stand_in = program(STAND_IN.format(world=json.dumps(RIGHT)))
    code, out, err = run("diary", "--dictionary", diary, "--osascript", stand_in)
    assert (code, err) == (0, "")
    assert "diary: 13 names, 0 differ\n" in out


def test_an_app_that_cannot_be_asked_costs_that_app(
    diary: Path, program: Callable[[str], Path]
) -> None:
    (diary.parent / "Broken.sdef").write_text("<dictionary/>")
    stand_in = program("import sys; sys.exit(3)")
    code, _, err = run("--dictionary", diary.parent, "--osascript", stand_in)
    assert code == 1
    assert "Broken.sdef" in err
    assert "Diary: error: " in err
    assert "status 3" in err


@pytest.mark.parametrize(("arguments", "words"), [
    ([], "not a Mac"), (["--simulate", "--osascript", "x"], "not both"),
    (["--tools", "x", "--osascript", "x"], "--simulate"),
    (["nothing", "--bundled", "--simulate"], "no dictionary"),
])  # fmt: skip
def test_bad_input_is_one_line(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1


@pytest.mark.process
def test_the_simulator_agrees_with_every_bundled_app() -> None:
    code, out, err = run("notes", "system events", "Standard Additions", "--bundled", "--simulate")
    assert (code, err) == (0, "")
    assert re.search(r"^notes: \d\d+ names, 0 differ$", out, re.M)
    assert re.search(r"^system_events: \d{3} names, 0 differ$", out, re.M)
    assert re.search(
        r"^standard_additions: \d+ names of Standard Additions are not compared$", out, re.M
    )


@pytest.mark.process
def test_other_tools_can_be_simulated(diary: Path, tmp_path: Path) -> None:
    built = tmp_path / "tools"
    made = CliRunner().invoke(cli, ["build", "--dictionary", str(diary), "--output", str(built)])
    assert made.exit_code == 0
    options = ("--dictionary", diary, "--simulate")
    code, out, err = run(*options, "--tools", built)
    assert "diary: 13 names, " in out, err
    code, _, err = run(*options)
    assert code == 1
    assert "Application can't be found" in err
