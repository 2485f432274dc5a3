"""Properties that hold secrets: not read, not asked for, not handed on."""

import importlib
from dataclasses import replace
from typing import Any

import pytest
from policy_calls import facts_of, settings_of

from iac_runtime.language.request import Event
from iac_runtime.language.steps import ByIndex, Every, Go
from iac_runtime.policy.dataflow import secrets_read, without_secrets
from iac_runtime.policy.decide import decide
from iac_runtime.policy.file import parse_policy
from iac_runtime.tools.tables import tables_of

TRUSTED = parse_policy("preset = 'trusted'\n[[allow]]\ntool='*'")


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (("mail get", {"target": "accounts[0].password"}), "password"),
        (("mail get", {"target": "accounts[0]", "properties": ["name", "password"]}), "password"),
        (("mail list", {"element": "account", "properties": ["password"]}), "password"),
        (
            (
                "mail count",
                {"element": "account", "where": {"password": {"begins with": "a"}}},
            ),
            "password",
        ),
    ],
)
def test_what_holds_a_secret_is_never_read(call: Any, name: str) -> None:
    facts = facts_of(*call, vouched="DANGEROUS")
    found = decide(facts, TRUSTED, settings_of(TRUSTED))
    assert (found.action, found.source) == ("deny", "secrets are never read")
    assert f"{name} holds a secret." in found.reasons


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
    found = decide(facts_of(*call, vouched="DANGEROUS"), TRUSTED, settings_of(TRUSTED))
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
    found = decide(facts_of(*call), parse_policy(""), settings_of())
    assert (found.action, found.level) == ("allow", "SAFE")


def test_all_of_an_object_means_all_but_its_secrets() -> None:
    facts = facts_of("mail get", {"target": "accounts[0]"})
    assert facts.event is not None
    assert facts.event.op == "columns"
    names = [column.jxa for column in facts.event.columns]
    assert "userName" in names
    assert "password" not in names
    assert decide(facts, TRUSTED, settings_of(TRUSTED)).action == "allow"


def test_the_record_of_all_properties_is_read_only_where_no_secret_is_in_it() -> None:
    facts = facts_of("mail get", {"target": "inbox.messages[0].subject"})
    tables = tables_of(importlib.import_module("iac_tools.mail"))
    assert facts.event is not None
    everything = Go("properties")
    messages = replace(facts.event, target=(*facts.event.target[:-1], everything))
    assert secrets_read(messages, tables) == ()
    accounts = replace(messages, target=(Every("accounts"), ByIndex(0), everything))
    assert secrets_read(accounts, tables) == ("all of accounts",)
    assert secrets_read(replace(accounts, target=(everything,)), tables) == ("all of the app",)
    assert secrets_read(messages, None) == ("all of messages",)
    both = replace(messages, op="each", target=(), parts=(messages, accounts))
    assert secrets_read(both, tables) == ("all of accounts",)
    read = facts_of("mail get", {"target": "accounts[0]"}).event
    assert read is not None
    assert without_secrets(replace(both, parts=(read,)), tables).parts == (read,)


def test_the_user_can_name_further_secrets() -> None:
    facts = facts_of("mail get", {"target": "accounts[0]"})
    assert facts.event is not None
    assert secrets_read(facts.event, None, ("user*",)) == ("userName",)
    tables = tables_of(importlib.import_module("iac_tools.system_events"))
    lock = Event("x", "application", "get", "coregetd", target=(Go("requirePasswordToWake"),))
    assert secrets_read(lock, tables) == ()
    assert secrets_read(lock, None) == ("requirePasswordToWake",)
