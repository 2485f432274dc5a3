"""The words for what a call does: a phrase with its places filled, and a rule for all others."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pinned_places import catalogue

from iac_runtime.policy import wording
from iac_runtime.policy.facts import VERBS, CallFacts, Effect, Flow, TargetDescription
from iac_runtime.policy.wording import describe_covered, describe_deeds, summarize_calls

PHRASES: dict[str, Any] = json.loads(Path(wording.__file__).with_name("deeds.json").read_text())
NOTE = "notes[0]"


def said(verb: Any = "change", event: str = "coresetd", **more: Any) -> str:
    effect = Effect(verb, "x.Notes", "Notes", "note", NOTE, event=event, **more)
    shown = (TargetDescription(NOTE, 'note "Milk", in folder "Home"'),)
    return "; ".join(describe_deeds(CallFacts("t", (effect,), shown=shown)))


@pytest.mark.parametrize(("given", "expected"), [
    ((("read status", "true"),), 'mark the note "Milk" as read in Notes'),
    ((("read status", "false"),), 'mark the note "Milk" as unread in Notes'),
    ((("", "notes"), ("name", "")), 'rename the note "Milk" in Notes'),
    ((("pinned", "true"),), 'turn on "pinned" for the note "Milk" in Notes'),
    ((("due date", ""),), 'change the due date of the note "Milk" in Notes'),
    ((("due date", ""), ("url", "")),
     'change the address of the note "Milk" and change the due date of it in Notes'),
    ((("a b", ""), ("c", ""), ("d", "")),
     'change the a b, the c and the d of the note "Milk" in Notes'),
    ((("completed", "true"), ("flagged", "false")),
     'mark the note "Milk" as completed and remove the flag of it in Notes'),
    ((), 'change the note "Milk" in Notes'),
])  # fmt: skip
def test_what_is_set_is_said_in_the_words_of_the_app(given: Any, expected: str) -> None:
    assert said(given=given) == expected


@pytest.mark.parametrize(("verb", "event", "expected"), [
    ("delete", "coredelo", 'delete the note "Milk" in Notes'),
    ("unknown", "xxxxyyyy launch the workflow",
     'use the command "launch the workflow" on the note "Milk" in Notes'),
    ("delete", "xxxxyyyy clear", 'clear the note "Milk" in Notes'),
    ("unknown", "", 'do something with the note "Milk" in Notes'),
])  # fmt: skip
def test_a_command_that_no_phrase_knows_is_named_in_quotes(
    verb: Any, event: str, expected: str
) -> None:
    assert said(verb, event) == expected


def test_what_comes_of_a_deed_is_said_with_it() -> None:
    first = Effect(
        "change", "x.Web", "Web", "tab", "tabs[0]", event="coresetd", given=(("url", ""),)
    )
    facts = CallFacts("t", (first, first._replace(verb="run")))
    assert describe_deeds(facts) == [
        "change the address of the tab tabs[0] in Web, which runs code"
    ]


def test_calls_that_do_the_same_are_one_sentence() -> None:
    flags = Effect(
        "change", "x", "Mail", "message", "m[0]", event="coresetd", given=(("flagged", "true"),)
    )
    moves = flags._replace(verb="move", event="coremove", given=())
    parts = [CallFacts("t", (one,)) for one in (flags, flags._replace(reference="m[1]"), moves)]
    assert summarize_calls(parts) == "flag 2 messages in Mail, move a message in Mail"
    both = flags._replace(given=(("flagged", "true"), ("color", "")))
    assert summarize_calls([CallFacts("t", (both,))]) == (
        "flag a message and change the color of it in Mail"
    )


def test_an_always_says_what_it_covers_in_the_same_words() -> None:
    effect = Effect("change", "x", "Mail", "message", event="coresetd",
                    given=(("", "messages"), ("read status", "true")))  # fmt: skip
    assert describe_covered(effect) == "mark messages as read in Mail"
    opens = Effect(
        "open", "x", "Web", "tab", flow=(Flow("host", "a.example"),), given=(("", "tabs"),)
    )
    assert describe_covered(opens) == "open pages of a.example in tabs in Web"


def test_every_verb_and_every_phrase_can_be_said() -> None:
    assert set(PHRASES["verbs"]) == set(VERBS)
    rows = [*PHRASES["verbs"].values(), *PHRASES["events"].values()]
    phrases = [one for row in rows for one in row]
    phrases += [one for rows in PHRASES["properties"].values() for one in rows.values()]
    places = {place for phrase in phrases for place in re.findall(r"\{(\w*)\}", phrase)}
    assert places <= {"it", "at", "app", "name", "page", "pages"}
    # The last of them needs nothing that may be missing.
    assert not any("{at}" in row[-1] or "{pages}" in row[-1] for row in rows)


def test_every_phrase_of_an_event_is_of_an_app_that_is_known() -> None:
    apps = {app.id for app in catalogue().apps.values()}
    named = {key[9:].split(" ")[0] for key in PHRASES["events"] if key[8:]}
    assert named | {*PHRASES["mac"]} <= apps
