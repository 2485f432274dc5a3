"""Each part of a rule, at its edges: which part is named when a call is not one of the rule's."""

import time
from dataclasses import replace
from typing import Any

import pytest

from iac_runtime.language.steps import Event
from iac_runtime.policy.facts import CallFacts, Effect, Flow, RaisedLevel
from iac_runtime.policy.rules import Match, Matcher, could_match_unknown, first_mismatch

NOTES = Effect("change", "com.apple.Notes", "Notes", level="MODIFY")
CALL = CallFacts("notes_set", (NOTES,), {"path": "~/Desktop/a.txt"}, client="Claude", server="home")


def at(day: int, hour: int, minute: int = 0) -> time.struct_time:
    """A moment of a week that began on a Monday."""
    return time.struct_time((2026, 3, 2 + day, hour, minute, 0, day, 61 + day, 0))


def first(match: Match, facts: CallFacts = CALL, *, loosens: bool = False) -> str:
    return first_mismatch(match, facts, "MODIFY", loosens=loosens)


@pytest.mark.parametrize(("match", "named"), [
    (Match(level=("SAFE",)), "level"), (Match(tool=("mail_*",)), "tool"),
    (Match(app=("Mail",)), "app"), (Match(client=("Cursor",)), "client"),
    (Match(server=("work",)), "server"), (Match(tainted=True), "tainted"),
    (Match(objects=Matcher(at_least=2)), "objects"), (Match(sends_to=("*",)), "sends_to"),
    (Match(verbs=("send",)), "what the call does"), (Match(apps_other_than=("Notes",)), "apps"),
    (Match(argument=(("path", ("/x",)),)), "argument path"),
    (Match(level=("MODIFY",), tool=("NOTES_*",), app=("notes",), client=("claude",)), ""),
])  # fmt: skip
def test_the_first_part_that_does_not_hold_is_named(match: Match, named: str) -> None:
    assert first(match) == named


def test_what_loosens_needs_all_that_a_call_does_to_be_known() -> None:
    doubtful = replace(CALL, effects=(NOTES._replace(doubt="a script"),))
    unknown = "something that IAC cannot know about the call"
    assert first(Match(verbs=("change",)), doubtful, loosens=True) == unknown
    assert first(Match(app=("Notes",)), CallFacts("list_apps"), loosens=True) == "app"


EVENING = (18 * 60 + 30, 23 * 60)
NIGHT = (22 * 60, 6 * 60)


@pytest.mark.parametrize(
    ("match", "moment", "named"),
    [
        (Match(hours=EVENING), at(0, 18, 29), "hours"),
        (Match(hours=EVENING), at(0, 18, 30), ""),
        (Match(hours=EVENING), at(0, 22, 59), ""),
        (Match(hours=EVENING), at(0, 23, 0), "hours"),
        (Match(hours=NIGHT), at(0, 21, 59), "hours"),
        (Match(hours=NIGHT), at(0, 22, 0), ""),
        (Match(hours=NIGHT), at(0, 5, 59), ""),
        (Match(hours=NIGHT), at(0, 6, 0), "hours"),
        # The small hours of Monday are the night of Sunday.
        (Match(hours=NIGHT, days=(6,)), at(0, 5, 59), ""),
        (Match(hours=NIGHT, days=(0,)), at(0, 5, 59), "days"),
        (Match(hours=NIGHT, days=(0,)), at(0, 23, 0), ""),
        # From a time to itself is the whole day, which begins at that time.
        (Match(hours=(600, 600), days=(0,)), at(0, 10, 0), ""),
        (Match(hours=(600, 600), days=(0,)), at(1, 9, 59), ""),
        (Match(hours=(600, 600), days=(0,)), at(1, 10, 0), "days"),
        (Match(days=(2,)), at(2, 0, 0), ""),
        (Match(days=(2,)), at(2, 23, 59), ""),
        (Match(days=(2,)), at(3, 0, 0), "days"),
    ],
)
def test_hours_begin_and_end_on_the_minute(
    match: Match, moment: time.struct_time, named: str
) -> None:
    assert first(match, replace(CALL, at=moment)) == named


@pytest.mark.parametrize("match", [Match(hours=EVENING), Match(days=(1,))])
def test_without_a_clock_hours_hold_only_where_they_forbid(match: Match) -> None:
    assert (first(match), first(match, loosens=True)) == ("", "hours")


def test_a_value_of_a_result_is_tainted_and_no_other() -> None:
    raised = replace(
        CALL, raised=(RaisedLevel("from-a-result", "it came from a result", "DANGEROUS"),)
    )
    assert first(Match(tainted=True), raised) == ""
    assert first(Match(tainted=False), raised) == "tainted"


def test_what_loosens_must_fit_every_place_and_what_forbids_any() -> None:
    flows = tuple(Flow("recipient", to) for to in ("ines@example.org", "dana@example.com"))
    event = Event("com.apple.Notes", "application", "command", "", writes=True)
    sent = replace(CALL, effects=(NOTES._replace(verb="send", flow=flows),), event=event)
    ours = Match(sends_to=("*@example.org",))
    assert (first(ours, sent), first(ours, sent, loosens=True)) == ("", "sends_to")


def path(text: str, wanted: Any, *, loosens: bool = False) -> bool:
    facts = replace(CALL, arguments={"path": text}, places=lambda one: (one,))
    return not first(Match(argument=(("path", wanted),)), facts, loosens=loosens)


@pytest.mark.parametrize(("text", "wanted", "fits"), [
    ("/a/b/c", Matcher(folder=("/a/b",)), True), ("/a/b/c", Matcher(folder=("/a/b/",)), True),
    ("/a/bc", Matcher(folder=("/a/b",)), False), ("~", Matcher(folder=("~",)), True),
    ("file:///a/b", Matcher(path=("file:///a/*",)), True),
    ("FILE:///a/b", Matcher(path=("FILE:///a/*",)), True),
    ("no path", Matcher(folder=("/",)), False), ("/a/x/y/b", Matcher(path=("/a/**/b",)), True),
    ("/a/b", Matcher(path=("/a/**/b",)), True), ("/c/a/b", Matcher(path=("/a/**",)), False),
    ("/a", Matcher(path=("/a/**/a",)), False), ("/a/b", Matcher(folder=("/a/X",)), False),
    ("/a/b", Matcher(path=("/a/b/**/c",)), False), ("/a/[1]", Matcher(path=("/a/[1]",)), True),
    ("/a/1", Matcher(path=("/a/[1]",)), False), ("/a/b/notes.txt", Matcher(path=("*.txt",)), True),
    ("12", Matcher(at_least=12, at_most=12), True),
    ("many", Matcher(at_least=0, at_most=99), False),
])  # fmt: skip
def test_paths_and_numbers_at_their_edges(text: str, wanted: Matcher, fits: bool) -> None:
    assert path(text, wanted) is fits


def test_a_place_that_may_be_two_must_be_in_both_to_loosen() -> None:
    facts = replace(
        CALL, arguments={"path": "/in/link"}, places=lambda p: (p, "/out") if "link" in p else (p,)
    )
    for wanted in (Matcher(folder=("/in",)), Matcher(path=("/in/*",))):
        match = Match(argument=(("path", wanted),))
        assert (first(match, facts), first(match, facts, loosens=True)) == ("", "argument path")


def test_files_outside_of_folders_are_those_that_may_be_outside() -> None:
    written = replace(
        CALL,
        effects=(NOTES._replace(files=("/in/a", "/in/link")),),
        places=lambda one: (one, "/out") if "link" in one else (one,),
    )
    assert first(Match(writes_outside=("/in", "/out")), written) == "folders"
    assert first(Match(writes_outside=("/in",)), written) == ""


def test_what_forbids_sees_a_value_as_it_came_and_as_it_is_sent() -> None:
    facts = replace(CALL, arguments={"v": ["x", "raw"]}, sent=lambda _key: (("sent",),))
    for glob in ("raw", "sent"):
        assert first(Match(argument=(("v", (glob,)),)), facts) == ""
    assert first(Match(argument=(("v", ("raw",)),)), facts, loosens=True) == "argument v"


def test_the_very_name_goes_before_another_spelling_of_it() -> None:
    facts = replace(CALL, arguments={"url": {"PAGE": "a", "page": "b"}})
    assert first(Match(argument=(("url.page", ("b",)),)), facts) == ""
    assert first(Match(argument=(("url.page", ("a",)),)), facts) == "argument url.page"


def test_names_of_properties_in_any_spelling() -> None:
    only = Match(argument=(("properties", Matcher(properties=("read_status", "flag*"))),))
    for given in ({"read status": True}, ["-read status", "flagged"], "flag index"):
        assert first(only, replace(CALL, arguments={"properties": given}), loosens=True) == ""
    both = replace(CALL, arguments={"properties": {"read status": True, "subject": "x"}})
    assert (first(only, both), first(only, both, loosens=True)) == ("", "argument properties")


def test_what_a_recipe_was_given_counts_beside_what_it_binds() -> None:
    facts = replace(CALL, arguments={"target": "x"}, given={"url": {"Page": "evil.example"}})
    assert first(Match(argument=(("url.page", ("evil*",)),)), facts) == ""
    assert first(Match(argument=(("target", ("x",)),), only=True), facts, loosens=True) == (
        "argument url.Page, which the rule does not name"
    )


def test_values_that_are_no_text_are_matched_as_json() -> None:
    for value, glob in (({"a": "ä"}, '{"a": "ä"}'), ([1, 2], "[1, 2]"), (b"x", "*x*")):
        assert first(Match(argument=(("v", (glob,)),)), replace(CALL, arguments={"v": value})) == ""
    empty = replace(CALL, arguments={"v": ""})
    assert first(Match(argument=(("v", ("",)),)), empty) == ""
    assert first(Match(argument=(("v", ("a",)),)), empty) == "argument v"


def test_what_a_rule_may_mean_is_the_rule_without_what_is_not_known() -> None:
    match = Match(app=("Notes",), verbs=("change",), sends_to=("*",), tool=("notes_*",))
    doubtful = replace(CALL, effects=(NOTES._replace(doubt="a script"),))
    assert could_match_unknown(match, doubtful) == Match(tool=("notes_*",))
    assert could_match_unknown(Match(tool=("notes_*",)), doubtful) is None
