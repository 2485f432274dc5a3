"""Matchers of rules at their edges, and which part is named when a call is none of the rule's."""

import time
from dataclasses import replace
from posixpath import normpath
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_calls import Disk, facts_of, permissions_of, settings_of

from iac_base.errors import SetupError
from iac_runtime.language.steps import Event
from iac_runtime.policy.decide import decide_call
from iac_runtime.policy.escalation import RuleContext
from iac_runtime.policy.facts import Action, CallFacts, Effect, Flow, RaisedLevel
from iac_runtime.policy.policy_file import parse_policy
from iac_runtime.policy.rules import (
    Match,
    Matcher,
    could_match_unknown,
    first_mismatch,
    matches_call,
)
from iac_runtime.policy.settings import Policy

LINKED = RuleContext(Disk({}, {"/Users/me/Projects/out": "/Users/me/Private"}))


def told(rules: str, tool: str, arguments: dict[str, Any], **more: Any) -> Action:
    facts = facts_of(tool, arguments, LINKED, **more)
    policy = parse_policy(rules)
    return decide_call(facts, policy, settings_of(policy)).action


def tab(url: str) -> tuple[str, dict[str, Any]]:
    return "safari set", {"target": "windows[0].tabs[0]", "properties": {"URL": url}}


HOST = '{ properties = { URL = { host = ["*.company.com", "company.example"] } } }'
GLOB = '{ properties = { URL = "https://*.company.com/public/*" } }'


@pytest.mark.parametrize(("url", "by_host", "by_glob"), [
    ("https://a.company.com/public/x", True, True),
    ("HTTPS://A.B.Company.COM./public/", True, True),
    ("https://a.company.com:443/public/x", True, True),
    ("https://a.company.com:8443/public/x", True, False), ("https://company.example/", True, False),
    ("https://a.company.com/private", True, False),
    ("https://a.company.com/public/../private", True, False),
    ("https://a.company.com/public/%2e%2E/private", True, False),
    ("https://company.com/public/x", False, False),
    ("https://evil.com/x.company.com/public/x", False, False),
    ("https://evil.com?x.company.com/public/x", False, False),
    ("https://evil.com#x.company.com/public/x", False, False),
    ("https://a.company.com.evil.com/public/x", False, False),
    ("https://a.company.com@evil.com/public/x", False, False),
    ("https://evil.com\\.company.com/public/x", False, False),
    ("https://evil.com\\@a.company.com/public/x", False, False),
    ("https://evil.com%2f.company.com/public/x", False, False),
    ("https://evilcompany.com/public/x", False, False),
    (" https://a.company.com/public/x", False, False),
    ("https://a.com\tpany.com/public/x", False, False), ("a.company.com/public/x", False, False),
    ("javascript:a.company.com/public/x", False, False),
])  # fmt: skip
def test_an_allowed_address_is_read_part_by_part(url: str, by_host: bool, by_glob: bool) -> None:
    for matcher, allowed in ((HOST, by_host), (GLOB, by_glob)):
        # Only the user's own rule keeps odd addresses from being asked about for another reason.
        rule = f'[[allow]]\ntool = "safari_set"\nargument = {matcher}'
        assert told(rule, *tab(url), raised=()) == ("allow" if allowed else "ask")


@pytest.mark.parametrize("url", [
    "https://login.bank.com/", "http://LOGIN.Bank.com:8080/a", "https://x@login.bank.com",
    "https://login.bank.com\\@harmless.com", "https://harmless.com\\@login.bank.com",
    " //login.bank.com/x", "login.bank.com/x", "https://login.ba\tnk.com",
    "https://login%2ebank.com/", "https://login。bank.com/", "https://ｌogin.bank.com/",
])  # fmt: skip
def test_no_spelling_of_an_address_gets_out_of_a_denial(url: str) -> None:
    rule = '[[deny]]\nargument = { properties = { URL = { host = "*.bank.com" } } }'
    assert told(rule, *tab(url)) == "deny"
    assert told(rule, *tab("https://harmless.com/login.bank.com")) != "deny"


@pytest.mark.parametrize(("to", "inside"), [
    ("~/Projects", True), ("~/Projects/a", True), ("/users/ME/projects/a", True),
    ("/System/Volumes/Data/Users/me/Projects", True), ("~/Projects/../a", False),
    ("~/ProjectsOld", False), ("~/Projects/out", False), ("~/Projects/out/deep", False),
    ("~/Documents", False),
])  # fmt: skip
def test_a_folder_holds_what_lies_in_it_links_followed(to: str, inside: bool) -> None:
    call = ("finder move", {"target": "~/Documents/a.txt", "to": to})
    allow = '[[allow]]\ntool = "finder_move"\nargument = { to = { folder = "~/Projects" } }'
    assert told(allow, *call, raised=()) == ("allow" if inside else "ask")
    deny = '[[deny]]\ntool = "finder_move"\nargument = { to = { folder = "~/Private" } }'
    assert told(deny, *call, raised=()) == ("deny" if "/out" in to else "ask")


@pytest.mark.parametrize(("glob", "fits"), [
    ("~/Documents/*.txt", True), ("*.txt", True), ("/Users/*/Documents/*", True),
    ("/Users/*", False), ("/Users/**", True), ("/**/Documents/**/a.txt", True),
    ("/**/Private/**", False), ("Documents/a.txt", True),
])  # fmt: skip
def test_a_path_is_compared_folder_by_folder(glob: str, fits: bool) -> None:
    allow = f'[[allow]]\ntool = "finder_move"\nargument = {{ target = {{ path = "{glob}" }} }}'
    call = {"target": "~/Documents/a.txt", "to": "~/Documents/old"}
    assert told(allow, "finder move", call, raised=()) == ("allow" if fits else "ask")


@pytest.mark.parametrize(("given", "expected"), [
    ({"read status": True}, "allow"), ({"readStatus": True}, "allow"),
    ({"read status": False}, "ask"), ({"read status": True, "junk mail status": True}, "ask"),
    ({"junk mail status": True}, "ask"),
])  # fmt: skip
def test_an_allow_of_one_property_lets_no_other_ride_along(
    given: dict[str, Any], expected: Action
) -> None:
    rule = "[[allow]]\ntool = 'mail_set'\nargument = {properties.'read status' = true}"
    call = {"target": "inbox.messages[0]", "properties": given}
    assert told(rule, "mail set", call, raised=()) == expected


def test_names_of_properties_are_matched_in_any_spelling() -> None:
    rule = '[[allow]]\ntool="mail_set"\nargument={properties={property=["read status", "flag*"]}}'
    target = "inbox.messages[0]"
    both = {"readStatus": True, "flagged_status": False}
    more = {**both, "junk mail status": True}
    assert told(rule, "mail set", {"target": target, "properties": both}, raised=()) == "allow"
    assert told(rule, "mail set", {"target": target, "properties": more}, raised=()) == "ask"
    deny = rule.replace("allow", "deny")
    assert told(deny, "mail set", {"target": target, "properties": more}) == "deny"


def test_only_lets_nothing_be_given_that_it_does_not_name() -> None:
    rule = '[[allow]]\ntool = "notes_make_note"\nargument = { name = "Milk*" }\nonly = true'
    assert told(rule, "notes make_note", {"name": "Milk"}) == "allow"
    assert told(rule, "notes make_note", {"name": "Milk", "body": "x"}) == "ask"
    rule = rule.replace("\nonly = true", "")
    assert told(rule, "notes make_note", {"name": "Milk", "body": "x"}) == "allow"


@pytest.mark.parametrize(("limit", "fits"), [(1, True), (50, True), (51, False), (None, False)])
def test_a_number_lies_in_its_range(limit: int | None, fits: bool) -> None:
    rule = 'preset = "private"\n[[allow]]\nargument = { limit = { at_least = 1, at_most = 50 } }'
    given = {"element": "note", **({} if limit is None else {"limit": limit})}
    assert told(rule, "notes list", given) == ("allow" if fits else "ask")


def test_enumerators_and_recipients_are_matched_as_what_they_are() -> None:
    rule = '[[deny]]\nargument = { saving = { enumerator = ["no"] } }'
    assert told(rule, "textedit close", {"target": "documents[0]", "saving": "no"}) == "deny"
    assert told(rule, "textedit close", {"target": "documents[0]", "saving": "yes"}) != "deny"


@pytest.mark.parametrize(("to", "fits"), [
    ("ines@company.com", True), ("Ines <ines@mail.company.com>", False),
    ("Ines <INES@Company.com>", True), ("eve@evil.com, x@company.com", False),
    ("eve@evil.com <x@company.com>", False), ("eve@evil.com@company.com", False),
    ("x@company.com.evil.com", False), ("company.com", False),
])  # fmt: skip
def test_a_recipient_is_one_address(to: str, fits: bool) -> None:
    call = {"element": "to recipient", "properties": {"address": to}}
    argument = 'argument = { properties = { address = { recipient = "*@company.com" } } }'
    allow = f'[[rule]]\nlevel = "SAFE"\n{argument}'
    assert told(allow, "mail make", call, raised=()) == ("allow" if fits else "ask")
    assert told(f"[[deny]]\n{argument}", "mail make", call) == (
        "deny" if "@company.com" in to.lower() and "com.evil" not in to else "ask"
    )


def test_a_recipes_own_argument_is_taken_as_it_would_be_sent() -> None:
    rule = "[[deny]]\ntool = 'mail_mark_read'\nargument = { message = 'inbox.messages[0]' }"
    call = {"message": 'Application("Mail").inbox.messages.at(0)'}
    assert told(rule, "mail mark_read", call) == "deny"


def test_of_a_list_that_is_not_sent_as_such_an_allow_wants_all() -> None:
    rule = 'preset = "private"\n[[allow]]\nargument = { properties = "name" }'
    call = {"element": "note", "properties": ["name", "body"]}
    assert told(rule, "notes list", call) == "ask"
    assert told(rule, "notes list", {**call, "properties": ["name"]}) == "allow"


AT = {"mon noon": (2026, 11, 23, 12, 0), "tue 2am": (2026, 11, 24, 2, 0)}


def at(name: str) -> time.struct_time:
    day = (*AT[name], 0, 0, 0, -1)
    return time.localtime(time.mktime(day))


@pytest.mark.parametrize(
    ("condition", "noon", "night"),
    [
        ('hours = "08:00-18:00"', True, False),
        ('hours = "18:00-08:00"', False, True),
        ("until = 2026-11-23T18:00:00", True, False),
        ('until = "2026-11-23T18:00"', True, False),
        ('hours = "12:01-11:59"', False, True),
        ('days = "tue"', False, True),
        # The small hours of Tuesday belong to the night of Monday.
        ('hours = "18:00-08:00"\ndays = ["mon"]', False, True),
        ('hours = "18:00-08:00"\ndays = ["tue"]', False, False),
        ('client = "clau*"', True, True),
        ('client = "Other"', False, False),
        ('server = ["night", "rep*"]', True, True),
        ('server = "other"', False, False),
        ("undoable = true", True, True),
        ("undoable = false", False, False),
        ("tainted = true", False, False),
        ("tainted = false", True, True),
        ("objects = { at_most = 1 }", True, True),
        ("objects = { at_least = 2 }", False, False),
        ('sends_to = "*"', False, False),
    ],
)
def test_a_condition_says_when_a_rule_holds(condition: str, noon: bool, night: bool) -> None:
    for when, holds in (("mon noon", noon), ("tue 2am", night)):
        for kind, does in (("allow", "allow"), ("deny", "deny")):
            rule = f'[[{kind}]]\ntool = "notes_make_note"\n{condition}'
            found = told(rule, "notes make_note", {"name": "x"}, at=at(when), server="reports")
            assert found == (does if holds else "ask")


def test_what_many_objects_or_a_result_take_part_in_is_seen() -> None:
    move = {"target": ["~/Documents/a", "~/Documents/b", "~/Documents/c"], "to": "~/Documents/d"}
    for count, expected in ((3, "deny"), (4, "ask")):
        rule = f"[[deny]]\nobjects = {{ at_least = {count} }}"
        assert told(rule, "finder move", move) == expected
    whole = {"target": "inbox.messages", "properties": {"read status": True}}
    assert told("[[deny]]\nobjects = { at_least = 1000 }", "mail set", whole) == "deny"
    rule = "[[allow]]\ntool = '*'\nobjects = { at_most = 1000 }"
    assert told(rule, "mail set", whole) == "ask"
    world = permissions_of(LINKED)
    world.taint.remember_texts("https://elsewhere.example/long-address")
    assert (
        told("[[deny]]\ntainted = true", *tab("https://elsewhere.example/long-address")) == "deny"
    )


def test_what_goes_to_a_host_is_told_apart_by_the_host() -> None:
    rule = "[[deny]]\nsends_to = '*.evil.com'"
    assert told(rule, *tab("https://a.evil.com/")) == "deny"
    assert told(rule, *tab("https://good.com/")) == "ask"
    allow = "[[allow]]\ntool = 'safari_*'\nsends_to = 'good.com'"
    assert told(allow, *tab("https://good.com/")) == "allow"
    assert told(allow, *tab("https://a.evil.com/")) == "ask"


PIECES = st.sampled_from(
    [
        *"./\\@:?#%~*[] \t", "..", "https:", "//", "a", "company", "com", "evil", "com.", "%2e",
        "Projects",
    ]
)  # fmt: skip


@given(st.lists(PIECES, max_size=12).map("".join))
def test_no_allow_lets_a_host_through_that_is_not_its_own(text: str) -> None:
    facts = CallFacts("x", arguments={"url": text}, ways=("client",))
    policy = parse_policy("preset='private'\n[[allow]]\nargument={url={host='*.company.com'}}")
    glob = parse_policy("preset='private'\n[[allow]]\nargument={url='https://*.company.com/*'}")
    for found in (policy, glob):
        row = found.allow[0]
        if matches_call(row, facts, "SAFE", loosens=True):
            for form in (text, text.replace("\\", "/")):
                host = urlsplit(form.strip()).hostname or ""
                assert host.rstrip(".").endswith(".company.com")


@pytest.mark.parametrize(("text", "expected"), [
    ("[[deny]]\nhours = '8-18'", 'line 2: hours must be from and to, such as "08:00-18:00".'),
    ("[[deny]]\nhours = 8", "line 2: hours must be from and to"),
    ("[[deny]]\nuntil = 8", "line 2: until must be a date and a time"),
    ("[[deny]]\nuntil = '0001-01-01T00:00+14:00'", "line 2: until must be a date and a time"),
    ("[[deny]]\nuntil = 9999-12-31T23:59:59-14:00", "line 2: until must be a date and a time"),
    ("[[ask]]\n\ndays = ['mn']", 'line 3: there is no day "mn". Nearest: mon'),
    ("[[deny]]\nclient = []", "line 2: client is empty"),
    ("[[deny]]\ntainted = 'yes'", "line 2: tainted must be true or false."),
    ("[[deny]]\nobjects = 3", "line 2: objects must be a table."),
    ("[[deny]]\nobjects = {at_lest = 3}", 'there is no key "at_lest". Nearest: at_least'),
    ("[[deny]]\nargument = {limit = {at_most = 'x'}}", "line 2: at_most must be a number."),
    ("[[deny]]\nargument = {to = {folder = 'x'}}", '"x" is not a folder; start it with / or ~/.'),
    ("[[allow]]\nargument = {to = {}}", "line 2: to is empty; give it a value."),
    ("[[deny]]\nobjects = {}", "line 2: objects is empty; give it a value."),
    ("[[deny]]\ntool = 'x'\nonly = true", "line 3: the key `only` can be used in allow and rule"),
    ("[[allow]]\nhours = '08:00-18:00'", "line 1: this allow would match every call"),
    ("[[rule]]\nlevel = 'SAFE'\nclient = 'x'", "line 1: this rule would match every call"),
    ("[only]\napp = 'x'", 'line 2: there is no key "app". Nearest: apps'),
    ("[only]", "line 1: only is empty; give it apps."),
    ("[never]\nsned = true", 'line 2: there is no key "sned". Nearest: send'),
    ("[never]\nread = true", 'line 2: there is no key "read".'),
    ("[folders]\nwrite = ['Projects']", 'line 2: "Projects" is not a folder'),
])  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(text: str, expected: str) -> None:
    with pytest.raises(SetupError) as caught:
        parse_policy(text)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


WORDS = st.sampled_from(
    "[[allow]] [[deny]] [[rule]] [only] [never] [folders] apps write send argument only client "
    "hours days objects sends_to tainted tool level host folder path at_least = { } [ ] , . "
    "'x' '~/x' 'mon' '08:00-18:00' 'SAFE' true 3 nan".split()
)


@given(st.lists(st.one_of(WORDS, st.just("\n"), st.text(max_size=3)), max_size=25).map(" ".join))
def test_no_text_crashes_the_loader(text: str) -> None:
    try:
        assert isinstance(parse_policy(text), Policy)
    except SetupError as error:
        assert "\n" not in str(error)


STEPS = st.sampled_from("~ /Users/me file:// / / .. . Projects out a %2e%2e".split())


@given(st.lists(STEPS, max_size=8).map("".join), st.integers() | st.floats() | st.text(max_size=4))
def test_no_allow_lets_a_path_or_a_number_through_that_is_outside(to: str, limit: object) -> None:
    argument = '{ to = { folder = "~/Projects" }, limit = { at_most = 50 } }'
    (row,) = parse_policy(f"[[allow]]\nargument = {argument}").allow
    places = permissions_of(LINKED).path_places
    facts = CallFacts("x", arguments={"to": [to, to], "limit": limit}, places=places)
    if matches_call(row, facts, "SAFE", loosens=True):
        assert float(str(limit)) <= 50
        path = unquote(to.removeprefix("file://")) if to.startswith("file://") else to
        whole = normpath(f"/Users/me{path[1:]}" if path.startswith("~") else path)
        assert f"/{whole.lstrip('/')}/".startswith("/Users/me/Projects/")
        assert "/out/" not in f"{whole}/"
    assert not matches_call(row, replace(facts, arguments={"to": to}), "SAFE", loosens=True)


NOTES = Effect("change", "com.apple.Notes", "Notes", level="MODIFY")
CALL = CallFacts("notes_set", (NOTES,), {"path": "~/Desktop/a.txt"}, client="Claude", server="home")


def moment_of_week(day: int, hour: int, minute: int = 0) -> time.struct_time:
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
        (Match(hours=EVENING), moment_of_week(0, 18, 29), "hours"),
        (Match(hours=EVENING), moment_of_week(0, 18, 30), ""),
        (Match(hours=EVENING), moment_of_week(0, 22, 59), ""),
        (Match(hours=EVENING), moment_of_week(0, 23, 0), "hours"),
        (Match(hours=NIGHT), moment_of_week(0, 21, 59), "hours"),
        (Match(hours=NIGHT), moment_of_week(0, 22, 0), ""),
        (Match(hours=NIGHT), moment_of_week(0, 5, 59), ""),
        (Match(hours=NIGHT), moment_of_week(0, 6, 0), "hours"),
        # The small hours of Monday are the night of Sunday.
        (Match(hours=NIGHT, days=(6,)), moment_of_week(0, 5, 59), ""),
        (Match(hours=NIGHT, days=(0,)), moment_of_week(0, 5, 59), "days"),
        (Match(hours=NIGHT, days=(0,)), moment_of_week(0, 23, 0), ""),
        # From a time to itself is the whole day, which begins at that time.
        (Match(hours=(600, 600), days=(0,)), moment_of_week(0, 10, 0), ""),
        (Match(hours=(600, 600), days=(0,)), moment_of_week(1, 9, 59), ""),
        (Match(hours=(600, 600), days=(0,)), moment_of_week(1, 10, 0), "days"),
        (Match(days=(2,)), moment_of_week(2, 0, 0), ""),
        (Match(days=(2,)), moment_of_week(2, 23, 59), ""),
        (Match(days=(2,)), moment_of_week(3, 0, 0), "days"),
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
    for properties in ({"read status": True}, ["-read status", "flagged"], "flag index"):
        assert first(only, replace(CALL, arguments={"properties": properties}), loosens=True) == ""
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
