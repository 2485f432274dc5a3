"""Finding the tools of interfaces and scripts among those of the apps."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from iac_base.errors import UnknownToolError
from iac_runtime.search.index import Index, SearchHit
from iac_runtime.serve.tool_pages import added_apps, any_page, known_names, tool_ceiling
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import META_TOOLS, OWN_TOOLS, added_tools

ADDED = added_tools()
ROOT = Path(__file__).parent.parent.parent
REQUESTS = ROOT / "tests" / "search" / "toolsets.jsonl"
CATALOGUE = Catalogue([ROOT / "generated" / "iac_tools"])
INDEX = Index(CATALOGUE, added_apps)
ROWS = [json.loads(line) for line in REQUESTS.read_text().splitlines()]


def names(hits: list[SearchHit]) -> list[str]:
    return [hit.tool for hit in hits]


@pytest.mark.parametrize(("query", "tool"), [
    ("click the Close button in Preview", "perform_action"),
    ("what windows are open", "list_windows"), ("fill in the text field", "set_value"),
    ("run this AppleScript", "execute_applescript"),
    ("why did my script fail with -1728", "analyze_failure"),
    ("press the Reload button in Safari", "perform_action"),
    ("Format > Make Plain Text in TextEdit", "click_menu"),
    ('tell application "Pages" to make a document', "execute_applescript"),
    ("clcik the Close buton", "perform_action"),
])  # fmt: skip
def test_what_is_asked_of_a_screen_or_a_script_is_found(query: str, tool: str) -> None:
    assert tool in names(INDEX.find(query))


@pytest.mark.process
def test_requests_as_users_phrase_them_are_served() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "search.py"), str(REQUESTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_requests_are_our_own_and_about_every_tool() -> None:
    assert len({row["query"] for row in ROWS}) == len(ROWS) >= 80
    said = " ".join(tool.purpose.casefold() for tool in ADDED.values())
    assert not any(row["query"].casefold() in said for row in ROWS)
    assert {accepted["tool"] for row in ROWS for accepted in row["accept"]} >= ADDED.keys()


def test_each_tool_has_words_that_people_say_for_it() -> None:
    assert all(tool.words for tool in ADDED.values())


@pytest.mark.parametrize(("query", "app"), [
    ("list all open safari tabs", "safari_"), ("empty the trash", "finder_"),
    ("unread mails", "mail_"), ("read the note about milk", "notes_"),
    ("which reminders are still open", "reminders_"),
    ("create a new document in textedit", "textedit_"),
])  # fmt: skip
def test_what_an_app_does_itself_comes_before_what_works_with_any(query: str, app: str) -> None:
    hits = names(INDEX.find(query))
    assert hits[0].startswith(app)
    assert not set(hits[:3]) & ADDED.keys()


def test_tools_for_any_app_come_after_those_of_a_chosen_one() -> None:
    hits = names(INDEX.find("press the Reload button", app="Safari"))
    own = [name for name in hits if name.startswith("safari_")]
    assert hits[: len(own)] == own
    assert hits[len(own)] == "perform_action"
    only = INDEX.find("delete a note", app="Notes", limit=3)
    assert all(name.startswith("notes_") for name in names(only))


def test_an_app_without_tools_has_those_for_any_app_alone() -> None:
    hits = names(INDEX.find("fill in the search field", app="Spotify"))
    assert hits[0] == "set_value"
    assert set(hits) <= ADDED.keys()
    assert not set(names(INDEX.find("quit it", app="Spotify"))) & OWN_TOOLS.keys()
    assert "app_quit" in names(INDEX.find("quit it", app="Notes"))


def test_an_app_that_the_words_name_does_not_come_in_where_another_is_chosen() -> None:
    hits = names(INDEX.find("list safari tabs", app="Mail", limit=20))
    assert hits
    assert not any(name.startswith("safari_") for name in hits)


def test_a_level_holds_for_them_too() -> None:
    assert "perform_action" in names(INDEX.find("click the OK button"))
    assert "perform_action" not in names(INDEX.find("click the OK button", level="SAFE"))
    assert "perform_action" in names(INDEX.find("click the OK button", level="MODIFY"))


@pytest.mark.parametrize("name", [*ADDED, *META_TOOLS])
def test_the_example_of_each_fits_its_schema(name: str) -> None:
    found = any_page(CATALOGUE, name)
    assert found.tool == name
    assert found.purpose
    Draft202012Validator(dict(found.schema)).validate(dict(found.example))


def test_a_page_says_what_a_call_may_need() -> None:
    assert any_page(CATALOGUE, "perform_action")[2:4] == ("MODIFY", "DANGEROUS")
    assert any_page(CATALOGUE, "execute_applescript")[2:4] == ("SAFE", "DANGEROUS")
    assert any_page(CATALOGUE, "dangerous_tool")[2:4] == ("SAFE", "DANGEROUS")
    assert any_page(CATALOGUE, "read_tool")[2:4] == ("SAFE", "SAFE")
    assert any_page(CATALOGUE, "app_quit").level == "DANGEROUS"
    assert any_page(CATALOGUE, "mail_list").example["element"]
    for name in known_names(CATALOGUE):
        assert any_page(CATALOGUE, name).ceiling == tool_ceiling(CATALOGUE, name)
    assert tool_ceiling(CATALOGUE, "nothing") == "SAFE"


@pytest.mark.parametrize(
    ("name", "near"),
    [("click_men", "click_menu"), ("find_tool", "find_tools"), ("mail_lists", "mail_list")],
)
def test_an_unknown_name_is_looked_for_everywhere(name: str, near: str) -> None:
    with pytest.raises(UnknownToolError, match=near):
        any_page(CATALOGUE, name)
