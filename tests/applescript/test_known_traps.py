"""What the field book warns of in scripts: by construct, in the library, when one is validated."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from library_checks import ADDITIONS
from script_calls import data

from iac_applescript.analysis.constructs import find_known_traps
from iac_applescript.dictionary import field_skill, find_skill
from iac_applescript.library import shipped_scripts
from iac_applescript.toolset import ScriptToolset
from iac_gen.quirks import known_apps, load_field_book, read_facts

CASES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("known_traps.toml").read_text())
BOOK = {fact.id: fact for fact in read_facts(load_field_book()[0])}


def traps(script: str, case: str) -> set[str]:
    language = "javascript" if "javascript" in CASES[case] else "applescript"
    return {str(row["id"]) for row in find_known_traps(script, language, [BOOK[case].app])}


@pytest.mark.parametrize("case", CASES)
def test_a_script_that_does_it_is_told_and_one_beside_it_is_not(case: str) -> None:
    assert all(case in traps(script, case) for script in CASES[case]["bad"])
    assert not any(case in traps(script, case) for script in CASES[case].get("good", ()))


def test_every_row_that_warns_of_scripts_has_its_case() -> None:
    assert CASES.keys() == {fact.id for fact in BOOK.values() if "lint" in fact.use}


def test_no_script_of_the_library_does_what_a_row_warns_of() -> None:
    ids = {app.name: app.id for app in known_apps().values()}
    found = {
        script.name: [str(row["id"]) for row in rows]
        for script in shipped_scripts()
        for apps in [[ids.get(name, name) for name in (*script.apps, ADDITIONS)]]
        if (rows := [*find_known_traps(script.script, script.language, apps)])
    }
    assert found == {}


def test_each_row_for_guides_stands_in_that_of_its_app(toolset: ScriptToolset) -> None:
    rows = [fact for fact in BOOK.values() if "guide" in fact.use]
    own = [fact for fact in rows if fact.app]
    assert len(own) >= 50
    for fact in own:
        guide = find_skill(fact.app) or field_skill(fact.app, fact.app)
        assert guide is not None
        assert f"- If you {fact.act}: {fact.happens} {fact.safe}".strip() in guide.whole_text
    mail = data(toolset, "get_app_skill", app="Mail")["text"]
    assert all(fact.happens in mail for fact in rows if not fact.app)
    assert "Use System Events." in data(toolset, "get_app_skill", app="Standard Additions")["text"]


def test_who_validates_a_script_is_told(toolset: ScriptToolset) -> None:
    script = 'tell application "Mail" to return (id of message 1 of inbox) as text'
    (told,) = data(toolset, "validate_applescript", script=script)["known_traps"]
    assert told.startswith("turn the number of a message into text in AppleScript: Large ones")
