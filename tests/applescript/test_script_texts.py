"""Scripts of the library keep the texts that they write, and the order that they promise."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from script_calls import data

from iac_applescript.library import shipped_scripts
from iac_applescript.toolset import ScriptToolset
from iac_runtime.language.html_text import plain_text
from iac_runtime.tools.catalogue import Catalogue
from iac_simulator.simulator import Simulator, demo_state

ODD = "R&D: a < b > c &amp; <x y>"
TITLE = "Gift ideas"
NEW = "R&D <1>"
TODAY = datetime(2026, 3, 2).astimezone()
"""The day of the simulated world."""


def simulator_of(catalogue: Catalogue, world: dict[str, Any]) -> Simulator:
    return Simulator([catalogue.load_tables(app) for app in catalogue.apps.values()], world)


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
