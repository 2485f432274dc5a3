"""Suggestions mean what was asked: the way, what is forbidden, the app; and nothing else."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from script_calls import data

from iac_applescript.patterns import RunOutcome
from iac_applescript.store import PatternStore
from iac_applescript.toolset import ScriptToolset

INTENTS = tomllib.loads(Path(__file__).with_name("intents.toml").read_text(encoding="utf-8"))
GOOD = RunOutcome(True, "text")


def suggested(toolset: ScriptToolset, intent: str) -> list[str]:
    """Return the tools and the names of the scripts that are suggested, best first."""
    rows = data(toolset, "get_smart_suggestion", intent=intent)["suggestions"]
    return [re.sub(r"\Asaved script ([\w.]+):.*", r"\1", row["use"]) for row in rows]


def test_of_thirty_intents_the_first_suggestion_does_what_is_asked(toolset: ScriptToolset) -> None:
    wrong = {
        intent: first
        for intent, right in INTENTS["served"].items()
        if ((first := suggested(toolset, intent)[:1]) and first[0] not in right.split())
        or not first
    }
    assert len(INTENTS["served"]) - len(wrong) >= 27, wrong


@pytest.mark.parametrize(("intent", "right"), INTENTS["particulars"].items())
def test_what_is_somebodys_own_in_a_request_is_not_looked_for(
    toolset: ScriptToolset, intent: str, right: str
) -> None:
    assert suggested(toolset, intent)[0] in right.split()


@pytest.mark.parametrize(("intent", "right"), INTENTS["missing"].items())
def test_an_app_without_tools_and_scripts_is_told(
    toolset: ScriptToolset, intent: str, right: str
) -> None:
    answer = data(toolset, "get_smart_suggestion", intent=intent)
    assert not answer["suggestions"]
    assert re.search(rf"no tools for .?{right}", answer["note"])


def test_of_twelve_intents_that_nothing_serves_eleven_are_answered_with_what_to_do(
    toolset: ScriptToolset,
) -> None:
    rows: list[dict[str, Any]] = [
        data(toolset, "get_smart_suggestion", intent=one) for one in INTENTS["unserved"]["intents"]
    ]
    empty = [row["note"] for row in rows if not row["suggestions"]]
    assert len(empty) >= 11
    assert all("list_scriptable_apps" in note for note in empty)


@pytest.mark.parametrize(("intent", "opposite"), [
    ("mute the Mac", "standard_additions_unmute"), ("unmute the Mac", "standard_additions_mute"),
    ("go to the next song", "previous|back_track"), ("go to the previous song", "next"),
    ("mark the mail as read", "unread"), ("mark the mail as unread", "mark_read|mark_all_read"),
    ("flag this mail", "unflag"), ("remove the flag from this mail", "mail_flag_message"),
    ("close the tab in Safari", "open_tab|new_tab"), ("open a tab in Safari", "close"),
    ("close all other tabs in Chrome", "close_tab$|google_chrome_close$"),
    ("write a mail to Tom, but never send it", "send"), ("delete the note Milk", "make|new|append"),
    ("save the table as CSV", "pdf"), ("zip the selected files", "unzip"),
    ("unzip the selected file", "compress"), ("pause the music", "music_play$|music_resume"),
    ("which reminders are not done yet", "completed"), ("show the tasks I have finished", "open"),
])  # fmt: skip
def test_what_goes_the_other_way_is_never_first(
    toolset: ScriptToolset, intent: str, opposite: str
) -> None:
    (first, *_) = suggested(toolset, intent)
    assert not re.search(opposite, first), first


def test_a_pattern_for_the_other_way_is_not_suggested(toolset: ScriptToolset) -> None:
    store: PatternStore = toolset.store
    for way, script in (("up", "set volume 7"), ("down", "set volume 2")):
        store.remember_run(f"turn the radio {way}", "", "applescript", script, GOOD, "MODIFY")
    rows = store.find_patterns("please turn the radio down a bit")
    assert [row.pattern.intent for row in rows] == ["turn the radio down"]
