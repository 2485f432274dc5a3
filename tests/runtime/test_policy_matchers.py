"""Typed matchers of rules: a host by its labels, a path by its folders, a number by its range."""

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
from iac_runtime.policy.decide import decide_call
from iac_runtime.policy.escalation import RuleContext
from iac_runtime.policy.facts import Action, CallFacts
from iac_runtime.policy.policy_file import parse_policy
from iac_runtime.policy.rules import matches_call
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
