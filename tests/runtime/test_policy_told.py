"""What is said of a decision and a call: who decided, why, what it does, what the user can do."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from policy_calls import also, facts_of, on, settings_of
from simulated import shipped_catalogue

from iac_runtime.policy import wording
from iac_runtime.policy.decide import decide_call, raised_level
from iac_runtime.policy.facts import (
    OWN_APP,
    VERBS,
    CallFacts,
    Decision,
    Effect,
    Flow,
    RaisedLevel,
    TargetDescription,
)
from iac_runtime.policy.policy_file import parse_policy
from iac_runtime.policy.rules import LevelRule, Match
from iac_runtime.policy.settings import PolicyFlags, read_settings
from iac_runtime.policy.wording import describe_covered, describe_deeds, summarize_calls
from iac_runtime.tool import Level

READ = facts_of("notes list", {"element": "note"})
WRITE = facts_of("notes make_note", {"name": "Milk", "body": ""})
DELETE = facts_of("notes delete", {"target": "notes[0]"})
TERMINAL = facts_of("terminal do_script", {"command": "ls"})
SCRIPT = CallFacts(
    "run_script", (Effect("unknown", OWN_APP, "osascript", level="MODIFY"),), ways=("client",)
)
LOOKS = replace(SCRIPT, effects=(Effect("read", OWN_APP, "osascript"),))
NOTES, MAIL = ("com.apple.Notes", "Notes"), ("com.apple.mail", "Mail")
BY_HAND = "No setting allows this. The user can do it by hand."
ONLY_READS = "Only calls that read may run here, and this call changes something."
MANY, HIGH = RaisedLevel("many", "Many of them.", "up"), RaisedLevel("high", "A place.", "MODIFY")
DENIED = RaisedLevel("ours", "It is ours.", "deny")


def told(facts: CallFacts, policy: str = "", remembered: str = "", **flags: Any) -> Decision:
    found = parse_policy(policy)
    return decide_call(facts, found, settings_of(found, **flags), remembered=remembered)


def known(facts: CallFacts, **more: Any) -> CallFacts:
    return replace(facts, **more)


def deny(
    level: Level, source: str, suggestion: str, *reasons: str, rules: tuple[str, ...] = ()
) -> Decision:
    return Decision("deny", level, reasons, source, rules, suggestion=suggestion)


@pytest.mark.parametrize(("facts", "policy", "expected"), [
    (known(READ, secrets=("password", "pin\u202e")), "",
     deny("SAFE", "secrets are never read", BY_HAND, "password, pin\\u202e contains a secret.")),
    (known(READ, raised=(HIGH, DENIED)), "",
     deny("MODIFY", "rule ours", BY_HAND, "A place. [high]", "It is ours. [ours]",
      rules=("high", "ours"))),
    (TERMINAL, "",
     deny("DANGEROUS", "blocklist entry com.apple.Terminal",
      "The user can remove the app from the blocklist in policy.toml:"
      ' [blocklist] remove = ["com.apple.Terminal"].', "No tool may change Terminal.")),
    (on(WRITE, ""), "",
     deny("MODIFY", "blocklist entry without identity",
      "This app cannot be removed from the blocklist. The user can do it by hand.",
      "No tool may change an app that could not be identified.")),
    (WRITE, "[[deny]]\ntool = '*'\nwhy = 'Only on OS X.'",
     deny("MODIFY", "policy.toml line 1", "The user can change policy.toml line 1.",
      "policy.toml line 1 denies this call: Only on OS X.")),
    (also(SCRIPT, doubt="a name\u202e"), "[[deny]]\napp = 'Mail'",
     Decision("ask", "MODIFY",
      ("IAC cannot know which apps this reaches (a name\\u202e), and policy.toml"
       " line 1 may deny it.",), "policy.toml line 1",
      suggestion="Use the app's own tools, or write the name of the app as plain text in"
      " the call.")),
    (DELETE, "",
     Decision("ask", "DANGEROUS", ("DANGEROUS calls always require approval.",),
      "DANGEROUS always requires approval")),
    (DELETE, "[[ask]]\ntool = '*'",
     Decision("ask", "DANGEROUS", ("DANGEROUS calls always require approval.",),
      "policy.toml line 1")),
    (READ, "[[ask]]\ntool = '*'",
     Decision("ask", "SAFE", ("policy.toml line 1 requires approval.",), "policy.toml line 1")),
    (WRITE, "[[allow]]\ntool = '*'\nwhy = 'Mine'",
     Decision("allow", "MODIFY", ("policy.toml line 1 allows this call: Mine.",),
      "policy.toml line 1")),
    (known(WRITE, preapproved_level="MODIFY"), "",
     Decision("allow", "MODIFY", (), "the caller allows calls up to MODIFY")),
    (WRITE, "",
     Decision("ask", "MODIFY", (), "preset cautious", offers_always=True,
      scope='make notes in Notes (with "name" and "body")')),
    (READ, "", Decision("allow", "SAFE", (), "preset cautious")),
    (READ, "preset = 'private'",
     Decision("ask", "SAFE", ("Notes is not in the list reads of policy.toml.",),
      "preset private")),
    (also(LOOKS, ("", "")), "preset = 'private'",
     Decision("ask", "SAFE", ("What this call reaches is not in the list reads of policy.toml.",),
      "preset private")),
    (known(DELETE, raised=(MANY, HIGH)), "[[rule]]\ntool = '*'\nlevel = 'SAFE'\nwhy = 'Scratch.'",
     Decision("ask", "MODIFY",
      ("policy.toml line 1 sets SAFE: Scratch.", "Many of them. [many]", "A place. [high]"),
      "preset cautious", ("many", "high"), "policy.toml line 1")),
    (known(WRITE, ways=()), "",
     Decision("deny", "MODIFY", ("No approval prompt is available in this client.",),
      "preset cautious", error="UNANSWERED",
      suggestion="The user can allow it in policy.toml: [[allow]] with tool = "
      '"notes_make_note".')),
    (known(DELETE, ways=()), "",
     Decision("deny", "DANGEROUS",
      ("DANGEROUS calls always require approval.",
       "No approval prompt is available in this client."), "DANGEROUS always requires approval",
      error="UNANSWERED",
      suggestion="The user can run it in a terminal with iac-mcp call, or in a client"
      ' that can show prompts. A [[rule]] with tool = "notes_delete" in policy.toml sets'
      " another level.")),
])  # fmt: skip
def test_a_decision_says_who_why_and_what_to_do(
    facts: CallFacts, policy: str, expected: Decision
) -> None:
    assert told(facts, policy) == expected


def test_an_answer_that_is_remembered_is_named() -> None:
    expected = Decision(
        "allow",
        "MODIFY",
        ('Your "always allow" answer covers this call: decision 1.',),
        "decision 1",
    )
    assert told(WRITE, remembered="decision 1") == expected
    assert decide_call(WRITE, parse_policy(""), settings_of()).action == "ask"


def test_where_nobody_can_be_asked_a_way_that_was_told_stays() -> None:
    facts = known(also(SCRIPT, doubt="x"), ways=())
    found = told(facts, "[[deny]]\napp = 'Mail'")
    assert (found.action, found.requires_prompt) == ("deny", True)
    assert found.suggestion.startswith("Use the app's own tools")
    assert len(found.reasons) == 2


@pytest.mark.parametrize(("policy", "flags", "environ", "source", "way"), [
    ("", {"read_only": True}, {}, "--read-only", "start the server without --read-only"),
    ("", {}, {"IAC_READ_ONLY": "1"}, "IAC_READ_ONLY", "change IAC_READ_ONLY"),
    ("\nread_only = true", {}, {}, "policy.toml line 2", "change policy.toml line 2"),
    ("\npreset = 'read-only'", {}, {}, "preset read-only", "change policy.toml line 2"),
])  # fmt: skip
def test_read_only_names_the_switch(
    policy: str, flags: dict[str, Any], environ: dict[str, str], source: str, way: str
) -> None:
    found = parse_policy(policy)
    settings = read_settings(PolicyFlags(**flags), environ, found)
    expected = deny("MODIFY", source, f"The user can {way}.", ONLY_READS)
    assert decide_call(WRITE, found, settings) == expected
    # It reads, as the user himself said; it still can change something.
    eased = parse_policy(f"{policy}\n[[rule]]\ntool = '*'\nlevel = 'SAFE'")
    assert decide_call(DELETE, eased, settings).action == "deny"
    assert decide_call(on(READ, NOTES[0], verb="change"), found, settings).action == "deny"
    assert decide_call(known(READ, raised=(HIGH,)), found, settings).action == "deny"
    assert decide_call(READ, found, settings).action == "allow"


@pytest.mark.parametrize("raised", [MANY, HIGH, RaisedLevel("low", "x", "SAFE")])
def test_what_an_argument_raised_is_never_remembered(raised: RaisedLevel) -> None:
    for facts in (READ, WRITE):
        found = told(known(facts, raised=(raised,)), remembered="decision 1")
        assert (found.action, found.offers_always) == (
            "allow" if found.level == "SAFE" else "ask",
            False,
        )
        assert found.source != "decision 1"


def test_a_level_that_the_user_set_is_never_remembered() -> None:
    for facts in (READ, DELETE):
        for remembered in ("", "decision 1"):
            found = told(facts, "[[rule]]\ntool = '*'\nlevel = 'MODIFY'", remembered)
            assert (found.action, found.offers_always, found.scope) == ("ask", False, "")
            assert found.source == "preset cautious"


def test_a_rule_of_an_app_holds_what_may_reach_it() -> None:
    hidden = known(also(SCRIPT, doubt="a name that is built"), preapproved_level="DANGEROUS")
    assert told(hidden).action == "allow"
    assert told(hidden, "[[deny]]\napp = 'Mail'").action == "ask"
    assert told(hidden, "[[deny]]\napp = 'Mail'\ntool = 'mail_*'").action == "allow"
    assert told(hidden, "[[deny]]\napp = 'Mail'\nlevel = 'DANGEROUS'").action == "allow"
    assert told(hidden, "[[deny]]\napp = 'Mail'\nlevel = 'MODIFY'").action == "ask"
    assert (
        told(known(SCRIPT, preapproved_level="DANGEROUS"), "[[deny]]\napp = 'Mail'").action
        == "allow"
    )
    trusted = "preset = 'trusted'\n"
    model = known(hidden, preapproved_level=None)
    assert told(model, trusted).action == "allow"
    asks = trusted + "[[ask]]\napp = 'Mail'\nwhy = 'Post'"
    expected = ("policy.toml line 2 requires approval: Post.",)
    assert (told(model, asks).action, told(model, asks).reasons) == ("ask", expected)
    several = known(model, sent=lambda _key: (("a",), ("b",)))
    argument = "[[deny]]\napp = 'Mail'\nargument = { names = 'b' }"
    assert told(several, trusted + argument).action == "ask"


def test_every_app_that_a_call_reaches_is_looked_up_on_the_blocklist() -> None:
    terminal = ("com.apple.Terminal", "Terminal")
    for apps in ((terminal, NOTES), (NOTES, ("", "A process"))):
        assert told(known(also(SCRIPT, *apps), preapproved_level="DANGEROUS")).action == "deny"
        assert told(known(also(WRITE, *apps), preapproved_level="DANGEROUS")).action == "deny"
    assert told(also(SCRIPT, NOTES)).action == "ask"
    assert told(on(SCRIPT, terminal[0])).action == "deny"
    added = ["com.apple.mail"]
    assert told(also(SCRIPT, MAIL), blocklist=added).action == "deny"
    assert told(known(WRITE), blocklist=added).action == "ask"


def test_reads_that_the_user_named_cover_all_that_is_reached() -> None:
    reads = "preset = 'private'\nreads = ['Notes', 'com.apple.iCal']"
    both = also(LOOKS, NOTES, ("com.apple.iCal", ""))
    more = also(LOOKS, NOTES, MAIL)
    assert told(both, reads).action == "allow"
    assert told(more, reads).action == "ask"
    assert told(more, reads).reasons == ("Notes, Mail is not in the list reads of policy.toml.",)
    assert told(also(both, doubt="x"), reads).action == "ask"
    assert told(DELETE, f"{reads}\n[[rule]]\ntool = '*'\nlevel = 'SAFE'").action == "allow"


def test_a_rule_that_loosens_fits_all_and_one_that_raises_fits_any() -> None:
    def level(rule: LevelRule, **more: Any) -> Level:
        facts = known(WRITE, sent=lambda _key: (("a",), ("b",)), **more)
        policy = parse_policy("")
        return decide_call(facts, policy, settings_of(policy), registered=(rule,)).level

    one = (("names", ("b",)),)
    assert level(LevelRule(Match(argument=one), "DANGEROUS")) == "DANGEROUS"
    assert level(LevelRule(Match(argument=one), "SAFE")) == "MODIFY"
    every = (("names", ("a", "b")),)
    assert level(LevelRule(Match(argument=every), "SAFE")) == "SAFE"
    accepts = LevelRule(Match(argument=one), "MODIFY", ("many",))
    assert level(accepts, raised=(MANY,)) == "DANGEROUS"
    assert level(accepts._replace(match=Match(argument=every)), raised=(MANY,)) == "MODIFY"
    assert level(accepts._replace(match=Match(level=("SAFE",))), raised=(MANY,)) == "DANGEROUS"
    assert level(LevelRule(Match(level=("MODIFY",)), "DANGEROUS")) == "DANGEROUS"
    several = known(WRITE, sent=lambda _key: (("a",), ("b",)))
    assert told(several, "[[allow]]\nargument = { names = 'b' }").action == "ask"
    assert told(several, "[[allow]]\nargument = { names = ['a', 'b'] }").action == "allow"
    assert told(several, "[[deny]]\nargument = { names = 'b' }").action == "deny"


def test_what_is_forbidden_for_good_cannot_be_accepted() -> None:
    accepts = LevelRule(Match(tool=("*",)), "SAFE", ("ours",))
    facts = known(WRITE, raised=(DENIED,), preapproved_level="DANGEROUS")
    found = decide_call(facts, parse_policy(""), settings_of(), registered=(accepts,))
    assert (found.action, found.source, found.rules) == ("deny", "rule ours", ("ours",))


@pytest.mark.parametrize(("level", "to", "expected"), [
    ("MODIFY", [], "MODIFY"), ("SAFE", ["up"], "MODIFY"), ("SAFE", ["up", "up"], "DANGEROUS"),
    ("MODIFY", ["up", "up"], "DANGEROUS"), ("DANGEROUS", ["up"], "DANGEROUS"),
    ("SAFE", ["MODIFY", "DANGEROUS"], "DANGEROUS"), ("SAFE", ["MODIFY", "up"], "MODIFY"),
    ("SAFE", ["SAFE"], "SAFE"), ("DANGEROUS", ["SAFE", "MODIFY"], "DANGEROUS"),
    ("SAFE", ["deny"], "SAFE"), ("MODIFY", ["up", "SAFE"], "DANGEROUS"),
])  # fmt: skip
def test_rules_raise_to_the_highest_that_they_name_and_one_for_each_up(
    level: Level, to: list[Any], expected: Level
) -> None:
    rows = tuple(RaisedLevel("a rule", "It says why.", row) for row in to)
    assert raised_level(level, rows) == expected


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
    apps = {app.id for app in shipped_catalogue().apps.values()}
    named = {key[9:].split(" ")[0] for key in PHRASES["events"] if key[8:]}
    assert named | {*PHRASES["mac"]} <= apps
