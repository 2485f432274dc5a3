"""Levels: what a tool may do is read from codes, verbs, parameters and the app, never lowered."""

from dataclasses import replace

import pytest
from making import module, read, sdef, source

from iac_runtime.tool import Level


def level(command: str, app: str = "com.example.Diary") -> Level:
    """Return the level of the last tool of an app that has only `command`."""
    one = replace(source(read(sdef(command))), id=app)
    return module(one)[0].tools[-1].level


def command(name: str, code: str = "diargogo", inner: str = "") -> str:
    return f'<command name="{name}" code="{code}">{inner}</command>'


TEXT = '<direct-parameter type="text"/>'
SCRIPT = '<parameter name="source code" code="srcc" type="text"/><result type="any"/>'


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (command("get weather"), "SAFE"),
        (command("show entry"), "SAFE"),
        (command("bind"), "MODIFY"),
        (command("post entry"), "DANGEROUS"),
        (command("delete entry"), "DANGEROUS"),
        (command("erase"), "DANGEROUS"),
        (command("do shell thing"), "DANGEROUS"),
        (command("doscript"), "DANGEROUS"),
        (command("get", "emsgsend"), "DANGEROUS"),
        (command("get", "coredelo"), "DANGEROUS"),
        (command("frobnicate", "coredoex"), "SAFE"),
        (command("漢字"), "MODIFY"),
        (command("get note", inner=SCRIPT), "DANGEROUS"),
    ],
)
def test_the_level_of_a_command(declared: str, expected: Level) -> None:
    assert level(declared) == expected


def test_an_app_that_runs_what_it_is_given_makes_text_dangerous() -> None:
    declared = command("bind", inner=TEXT)
    assert level(declared) == "MODIFY"
    assert level(declared, "com.apple.Terminal") == "DANGEROUS"
    opening = command("open", "aevtodoc", '<direct-parameter type="file"/>')
    assert level(opening) == "MODIFY"
    assert level(opening, "com.apple.Automator") == "DANGEROUS"
    assert level(command("close", "coreclos"), "com.apple.Terminal") == "DANGEROUS"


@pytest.mark.parametrize(
    ("owner", "name", "access", "expected"),
    [
        ("entry", "body", "r", "SAFE"),
        ("entry", "mood", "rw", "MODIFY"),
        ("entry", "visible", "rw", "SAFE"),
        ("entry", "password", "rw", "DANGEROUS"),
        ("entry", "password", "w", "DANGEROUS"),
        ("entry", "password status", "rw", "MODIFY"),
        ("mail rule", "mood", "rw", "DANGEROUS"),
        ("mail rule", "enabled", "rw", "MODIFY"),
    ],
)
def test_the_level_of_setting_a_property(
    owner: str, name: str, access: str, expected: Level
) -> None:
    items = (
        f'<class name="{owner}" code="entr">'
        f'<property name="{name}" code="prop" type="text" access="{access}"/></class>'
    )
    (row,) = module(source(read(sdef(items))))[0].classes[owner].properties
    assert row.level == expected


def test_what_acts_later_is_dangerous_to_make_and_anything_to_delete() -> None:
    items = '<class name="login item" code="logi"/><class name="entry" code="entr"/>'
    classes = module(source(read(sdef(items))))[0].classes
    assert (classes["login item"].make, classes["entry"].make) == ("DANGEROUS", "MODIFY")
    assert {row.delete for row in classes.values()} == {"DANGEROUS"}
