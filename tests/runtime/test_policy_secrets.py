"""Properties that hold secrets: not read, not asked for, not handed on."""

import importlib
from dataclasses import replace
from typing import Any

import pytest
from policy_calls import facts_of, settings_of

from iac_runtime.language.request import Column, Event
from iac_runtime.language.steps import AllElements, ByIndex, PropertyStep
from iac_runtime.policy.decide import decide_call
from iac_runtime.policy.policy_file import parse_policy
from iac_runtime.policy.taint import find_secrets_read, remove_secret_columns
from iac_runtime.tools.tables import Tables, tables_of

TRUSTED = parse_policy("preset = 'trusted'\n[[allow]]\ntool='*'")


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (("mail get", {"target": "accounts[0].password"}), "password"),
        (("mail get", {"target": "accounts[0]", "properties": ["name", "password"]}), "password"),
        (("mail list", {"element": "account", "properties": ["password"]}), "password"),
        (
            ("mail count", {"element": "account", "where": {"password": {"begins with": "a"}}}),
            "password",
        ),
    ],
)
def test_what_holds_a_secret_is_never_read(call: Any, name: str) -> None:
    facts = facts_of(*call, preapproved_level="DANGEROUS")
    found = decide_call(facts, TRUSTED, settings_of(TRUSTED))
    assert (found.action, found.source) == ("deny", "secrets are never read")
    assert f"{name} contains a secret." in found.reasons


@pytest.mark.parametrize(
    "call",
    [
        ("system_events get", {"target": f'processes["{name}"].{what}'})
        for name in ("1Password", "1password 7", "Keychain Access", "SecurityAgent", "loginwindow")
        for what in ("windows", "entireContents", "windows[0].textFields[0].value", "attributes")
    ]
    + [
        (
            "system_events get",
            {"target": 'processes.whose({bundleIdentifier: "com.bitwarden.desktop"})[0].windows'},
        ),
        ("system_events list", {"element": "window", "of": 'processes["1Password"]'}),
        (
            "system_events get",
            {"target": 'processes["Bitwarden"]', "properties": ["name", "entire contents"]},
        ),
    ],
)
def test_windows_of_what_keeps_secrets_are_not_read(call: Any) -> None:
    found = decide_call(
        facts_of(*call, preapproved_level="DANGEROUS"), TRUSTED, settings_of(TRUSTED)
    )
    assert (found.action, found.source) == ("deny", "secrets are never read")


@pytest.mark.parametrize(
    "call",
    [
        ("system_events list", {"element": "process"}),
        ("system_events get", {"target": 'processes["1Password"]'}),
        ("system_events get", {"target": 'processes["1Password"].frontmost'}),
        ("system_events get", {"target": 'processes["Terminal"].windows[0].name'}),
        ("system_events get", {"target": 'processes["Notes"].windows[0].name'}),
        ("system_events list", {"element": "property list file", "of": "homeFolder"}),
        ("system_events get", {"target": 'propertyListFiles["~/a.plist"]'}),
    ],
)
def test_the_list_of_processes_and_of_files_is_safe(call: Any) -> None:
    found = decide_call(facts_of(*call), parse_policy(""), settings_of())
    assert (found.action, found.level) == ("allow", "SAFE")


def test_all_of_an_object_means_all_but_its_secrets() -> None:
    facts = facts_of("mail get", {"target": "accounts[0]"})
    assert facts.event is not None
    assert facts.event.op == "columns"
    names = [column.jxa for column in facts.event.columns]
    assert "userName" in names
    assert "password" not in names
    assert decide_call(facts, TRUSTED, settings_of(TRUSTED)).action == "allow"


def test_the_record_of_all_properties_is_read_only_where_no_secret_is_in_it() -> None:
    facts = facts_of("mail get", {"target": "inbox.messages[0].subject"})
    tables = tables_of(importlib.import_module("iac_tools.mail"))
    assert facts.event is not None
    everything = PropertyStep("properties")
    messages = replace(facts.event, target=(*facts.event.target[:-1], everything))
    assert find_secrets_read(messages, tables) == ()
    accounts = replace(messages, target=(AllElements("accounts"), ByIndex(0), everything))
    assert find_secrets_read(accounts, tables) == ("all of accounts",)
    assert find_secrets_read(replace(accounts, target=(everything,)), tables) == ("all of the app",)
    assert find_secrets_read(messages, None) == ("all of messages",)
    both = replace(messages, op="each", target=(), parts=(messages, accounts))
    assert find_secrets_read(both, tables) == ("all of accounts",)
    read = facts_of("mail get", {"target": "accounts[0]"}).event
    assert read is not None
    assert remove_secret_columns(replace(both, parts=(read,)), tables).parts == (read,)


def test_the_user_can_name_further_secrets() -> None:
    facts = facts_of("mail get", {"target": "accounts[0]"})
    assert facts.event is not None
    assert find_secrets_read(facts.event, None, ("user*",)) == ("userName",)
    tables = tables_of(importlib.import_module("iac_tools.system_events"))
    lock = Event(
        "x", "application", "get", "coregetd", target=(PropertyStep("requirePasswordToWake"),)
    )
    assert find_secrets_read(lock, tables) == ()
    assert find_secrets_read(lock, None) == ("requirePasswordToWake",)


MAIL = tables_of(importlib.import_module("iac_tools.mail"))
NOTES = tables_of(importlib.import_module("iac_tools.notes"))


def everything(plural: str, *more: Event) -> Event:
    target = (AllElements(plural), ByIndex(0), PropertyStep("properties"))
    return Event("x", "application", "get", "coregetd", target=target, parts=more)


def test_a_secret_of_any_part_and_by_any_name_is_one() -> None:
    both = everything("messages", everything("messages"), everything("accounts"))
    assert find_secrets_read(both, MAIL) == ("all of accounts",)
    subject = replace(both, target=(AllElements("messages"), PropertyStep("subject")))
    assert find_secrets_read(subject, MAIL) == ("all of accounts",)
    assert find_secrets_read(everything("messages"), MAIL, ("all_headers",)) == ("all of messages",)
    assert find_secrets_read(everything("messages"), MAIL, ("All Headers",)) == ("all of messages",)
    # By its type `password protected` holds none.
    assert find_secrets_read(everything("notes"), NOTES) == ()
    assert find_secrets_read(everything("cars"), NOTES) == ("all of cars",)


def columns(app: str, *names: str, parts: tuple[Event, ...] = ()) -> Event:
    rows = tuple(Column(name, name) for name in names)
    return Event(app, "application", "properties", "coregetd", columns=rows, parts=parts)


def kept(event: Event, tables: Tables | None = None, extra: tuple[str, ...] = ()) -> list[str]:
    return [column.jxa for column in remove_secret_columns(event, tables, extra).columns]


def test_what_is_left_out_of_all_of_an_object() -> None:
    notes = columns("com.apple.Notes", "name", "contents", "passwordProtected", "password")
    assert kept(notes) == ["name", "contents"]
    assert kept(notes, NOTES) == ["name", "contents", "passwordProtected"]
    assert kept(notes, NOTES, ("na*", "password_protected")) == ["contents"]
    events = columns("com.apple.SYSTEMEVENTS", "name", "contents", "entireContents")
    assert kept(events) == ["name"]
    several = remove_secret_columns(columns("x", parts=(notes, events)), NOTES, ("name",))
    found = [[column.jxa for column in part.columns] for part in several.parts]
    assert found == [["contents", "passwordProtected"], []]
    asked = replace(notes, op="columns")
    assert remove_secret_columns(asked, NOTES) == asked
