"""Guides and suggestions, and the scripts of the library keep the texts that they write."""

import os
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from guide_lint import lint
from script_calls import data
from simulated import simulate_apps

from iac_applescript.analysis.analyser import ScriptAnalyzer
from iac_applescript.dictionary import PAGE, dictionary_page, find_skill, read_skill
from iac_applescript.library import shipped_scripts
from iac_applescript.toolset import ScriptToolset
from iac_base.errors import SetupError, ToolError
from iac_runtime.language.html_text import plain_text
from iac_runtime.tools.catalogue import Catalogue
from iac_simulator.simulator import Simulator, demo_state

OWN = """---
name: finder
app: com.apple.finder
title: My Finder
terms: [selection]
---
- my own rule
"""


def test_lint_finds_what_is_wrong(
    catalogue: Catalogue, analyser: ScriptAnalyzer, tmp_path: Path
) -> None:
    path = tmp_path / "finder.md"
    path.write_text(
        OWN.replace("[selection]", "[frobnication]\ncodes: [zzzz]").replace(
            "- my own rule", '```applescript\ntell application "Finder" to frobnicate\n```'
        ),
        encoding="utf-8",
    )
    found = lint(
        read_skill(path, own=True), catalogue.load_tables(catalogue.apps["finder"]), analyser
    )
    assert [part for part in ("frobnication", "zzzz") if part in " ".join(found)] == [
        "frobnication",
        "zzzz",
    ]
    assert any("frobnicate" in line for line in found)
    other = catalogue.load_tables(catalogue.apps["mail"])
    assert any(
        "is not the app" in line for line in lint(read_skill(path, own=True), other, analyser)
    )


def test_the_users_own_guide_takes_the_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "finder.md").write_text(OWN, encoding="utf-8")
    found = find_skill("com.apple.finder", tmp_path)
    assert found is not None
    assert found.own
    assert found.title == "My Finder"


def test_a_guide_that_others_can_write_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "finder.md"
    path.write_text(OWN, encoding="utf-8")
    path.chmod(0o666)
    found = find_skill("finder", tmp_path)
    assert found is not None
    assert not found.own
    path.chmod(0o644)
    os.chmod(tmp_path, 0o777)  # noqa: PTH101
    found = find_skill("finder", tmp_path)
    assert found is not None
    assert not found.own


@pytest.mark.parametrize(("text", "says"), [
    ("no front matter", "front matter"),
    (OWN.replace("name: finder", "name: other"), "name must be"),
    (OWN.replace("title: My Finder\n", ""), "title is missing"),
    (OWN + "x" * 20_000, "longer than"),
])  # fmt: skip
def test_a_bad_guide_is_told_in_one_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "finder.md"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SetupError, match=says):
        read_skill(path, own=True)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SetupError, match="is not readable text"):
        read_skill(path, own=True)


def test_every_page_of_every_dictionary_is_short(catalogue: Catalogue) -> None:
    for app in catalogue.apps.values():
        tables = catalogue.load_tables(app)
        for term in ("", "own", "standard", "classes", *list(tables.classes)[:6]):
            first = dictionary_page(tables, term)
            for page in range(1, first.pages + 1):
                text = dictionary_page(tables, term, page=page).text
                assert 0 < len(text) <= PAGE
                assert len(text) / 3 < 1500


def test_drilling_down(catalogue: Catalogue) -> None:
    tables = catalogue.load_tables(catalogue.apps["mail"])
    assert "message" in dictionary_page(tables).text
    assert (
        "read status: boolean (rw); JXA readStatus; set MODIFY"
        in dictionary_page(tables, "message").text
    )
    assert "check for new mail" in dictionary_page(tables, "own").text
    assert "for" in dictionary_page(tables, "check for new mail").text
    assert "property:" in dictionary_page(tables, "read status").text
    assert "property read status of message" in dictionary_page(tables, search="read status").text
    assert "No term matches" in dictionary_page(tables, search="zzzzqqq").text
    enumeration = next(iter(tables.enums))
    assert "enumeration" in dictionary_page(tables, enumeration).text
    record = next(iter(tables.records))
    assert "record" in dictionary_page(tables, record).text


def test_an_unknown_term_gets_the_nearest(catalogue: Catalogue) -> None:
    with pytest.raises(ToolError) as caught:
        dictionary_page(catalogue.load_tables(catalogue.apps["mail"]), "mesage")
    assert "message" in caught.value.suggestion


ODD = "R&D: a < b > c &amp; <x y>"
TITLE = "Gift ideas"
NEW = "R&D <1>"
TODAY = datetime(2026, 3, 2).astimezone()
"""The day of the simulated world."""


def simulator_of(catalogue: Catalogue, world: dict[str, Any]) -> Simulator:
    return simulate_apps(catalogue, world)


Run = Callable[..., Any]
"""Runs a script of the library by its name, with its arguments by name."""


@pytest.fixture(name="run")
def run_in_simulator(simulator: Simulator, toolset: ScriptToolset) -> Run:
    def run(name: str, /, **given: Any) -> Any:
        asked = {"saved": name, "arguments": given}
        return data(toolset, "execute_applescript", runner=simulator, **asked)["result"]

    return run


@pytest.fixture(name="read")
def read_note(simulator: Simulator, toolset: ScriptToolset) -> Callable[[str], str]:
    def read(title: str) -> str:
        script = "const run = ([t]) => Application('com.apple.Notes').notes.byName(t).plaintext()"
        asked = {"script": script, "language": "javascript", "arguments": [title]}
        return str(data(toolset, "execute_applescript", runner=simulator, **asked)["result"])

    return read


@pytest.fixture(name="simulator")
def simulated_mac(catalogue: Catalogue) -> Simulator:
    world = demo_state()
    world["calendar"]["calendars"][0]["events"] = [
        {"id": str(at), "summary": f"{ODD} {hour}",
         "startDate": {"date": TODAY.replace(hour=hour).isoformat()},
         "endDate": {"date": TODAY.replace(hour=hour + 1).isoformat()}}
        for at, hour in enumerate((15, 9, 11))
    ]  # fmt: skip
    world["reminders"]["accounts"][0]["lists"][1]["reminders"][0] |= {
        "name": ODD,
        "completed": False,
    }
    return simulator_of(catalogue, world)


@pytest.mark.parametrize(("script", "given", "title"), [
    ("notes.checklist", {"title": NEW, "items": [ODD]}, NEW),
    ("notes.append_line", {"title": TITLE, "line": ODD}, TITLE),
    ("notes.journal", {"entry": ODD, "title": TITLE}, TITLE),
    ("notes.journal", {"entry": ODD, "title": "Days"}, "Days"),
    ("notes.replace_text", {"title": TITLE, "old": "A book", "new": ODD}, TITLE),
    ("reminders.list_to_note", {"list": "Shopping"}, "Shopping"),
])  # fmt: skip
def test_a_note_says_what_the_script_was_given(
    run: Run, read: Callable[[str], str], script: str, given: dict[str, Any], title: str
) -> None:
    run(script, **given)
    said = read(title)
    assert ODD in said
    # The title stands there once.
    assert said.splitlines().count(title) == 1


def test_a_text_is_found_as_a_reader_sees_it(run: Run, read: Callable[[str], str]) -> None:
    run("notes.append_line", title=TITLE, line="salt & <pepper>")
    assert run("notes.replace_text", title=TITLE, old="& <pepper>", new="< div") == 1
    assert read(TITLE).splitlines()[-1] == "salt < div"
    assert run("notes.replace_text", title=TITLE, old="div", new="x") == 1


@pytest.mark.parametrize(("script", "given"), [
    ("calendar.day_as_text", {"ahead": 0}),
    ("calendar.on_day", {"day": f"{TODAY:%Y-%m-%d}"}),
])  # fmt: skip
def test_events_come_in_the_order_of_time(run: Run, script: str, given: dict[str, Any]) -> None:
    assert re.findall(r"<x y> (\d+)", str(run(script, **given))) == ["9", "11", "15"]


_WRITTEN = re.compile(r"`[^`]*<[a-z1]+>[^`]*`")
_SAFE = re.compile(r"escaped\(|\.join\(\"\"\)$|^(?:name|added|rows|lines)$")


def test_what_goes_into_html_is_escaped() -> None:
    for row in shipped_scripts():
        for text in _WRITTEN.findall(row.script) if row.language == "javascript" else ():
            parts = re.findall(r"\$\{((?:[^{}]|\{[^{}]*\})*)\}", text)
            assert all(_SAFE.search(part) for part in parts), (row.name, text)
        if row.language == "applescript" and re.search(r'"[^"]*<(?:div|li|h1|pre|a)\b', row.script):
            assert "&amp;" in row.script, row.name
            assert "&lt;" in row.script, row.name


def test_the_plain_text_of_a_note_is_what_the_notes_app_shows() -> None:
    assert plain_text("<div>a &lt b</div><div><br></div><div>&nbsp;c</div>") == "a < b\n\n c"
