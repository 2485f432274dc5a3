"""Properties that hold secrets: not read, not asked for, not handed on."""

import csv
import importlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from policy_calls import DISK, answer, facts_of, on, settings_of

from iac_base.errors import SetupError
from iac_runtime.language.steps import AllElements, ByIndex, Column, Event, PropertyStep
from iac_runtime.policy.approvals import FILE, ApprovalStore, list_approvals, remember_approval
from iac_runtime.policy.decide import decide_call
from iac_runtime.policy.escalation import RuleContext
from iac_runtime.policy.facts import CallFacts
from iac_runtime.policy.permissions import PendingApproval, Permissions
from iac_runtime.policy.places import (
    find_blocklist_entry,
    find_protected_place,
    is_in_documents,
    path_identity,
)
from iac_runtime.policy.policy_file import parse_policy
from iac_runtime.policy.prompts import read_answer
from iac_runtime.policy.settings import Policy
from iac_runtime.policy.taint import find_secrets_read, remove_secret_columns
from iac_runtime.tools.tables import Tables, tables_of

TRUSTED = parse_policy("preset = 'trusted'\n[[allow]]\ntool='*'")


@pytest.mark.parametrize(("call", "name"), [
    (("mail get", {"target": "accounts[0].password"}), "password"),
    (("mail get", {"target": "accounts[0]", "properties": ["name", "password"]}), "password"),
    (("mail list", {"element": "account", "properties": ["password"]}), "password"),
    (("mail count", {"element": "account", "where": {"password": {"begins with": "a"}}}),
     "password"),
])  # fmt: skip
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


@pytest.mark.parametrize("call", [
    ("system_events list", {"element": "process"}),
    ("system_events get", {"target": 'processes["1Password"]'}),
    ("system_events get", {"target": 'processes["1Password"].frontmost'}),
    ("system_events get", {"target": 'processes["Terminal"].windows[0].name'}),
    ("system_events get", {"target": 'processes["Notes"].windows[0].name'}),
    ("system_events list", {"element": "property list file", "of": "homeFolder"}),
    ("system_events get", {"target": 'propertyListFiles["~/a.plist"]'}),
])  # fmt: skip
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


# Hostile payloads about permission and state end in their safe outcome, a test a row.


DELETE = facts_of("finder delete", {"target": "~/Documents/a"})
HOME_GONE = facts_of("finder delete", {"target": "~"})
MOVE = facts_of("finder move", {"target": "~/Documents/a", "to": "~/Desktop"})


def permissions_in(folder: Path) -> Permissions:
    folder.mkdir(mode=0o700, exist_ok=True)
    return Permissions(Policy(), settings_of(), lambda: ApprovalStore(folder), home="/Users/me")


def asked(permissions: Permissions, facts: CallFacts) -> PendingApproval:
    found = permissions.prepare_approval(facts, permissions.judge_call(facts))
    assert isinstance(found, PendingApproval)
    return found


def m16(tmp_path: Path) -> None:
    """A forged or replayed state, or one for other arguments, is refused."""
    permissions = permissions_in(tmp_path / "s")
    token = asked(permissions, DELETE).token
    assert answer(permissions, HOME_GONE, token, "once").action == "deny"
    assert answer(permissions, DELETE, token, "once").action == "deny"
    assert answer(permissions, DELETE, "forged", "once").action == "deny"
    other = asked(permissions_in(tmp_path / "t"), DELETE).token
    assert answer(permissions, DELETE, other, "once").action == "deny"


def m17(tmp_path: Path) -> None:
    """A yes of a client that cannot ask is no yes, and there is nobody to ask."""
    content = {"answer": "Allow once"}
    assert read_answer("accept", content, ("Deny", "Allow once"), declared=False) == "unable"
    permissions = permissions_in(tmp_path / "s")
    facts = replace(DELETE, ways=())
    decision = permissions.judge_call(facts)
    assert (decision.action, decision.requires_prompt) == ("deny", True)
    assert permissions.prepare_approval(facts, decision) == decision


def u03(tmp_path: Path) -> None:
    """An app of the blocklist stays on it in any case, and under any name."""
    assert find_blocklist_entry("COM.APPLE.KeychainAccess") is not None
    renamed = on(MOVE, "com.apple.keychainaccess", name="Notes")
    assert permissions_in(tmp_path / "s").judge_call(renamed).action == "deny"


def u02(tmp_path: Path) -> None:
    """Consent and credential windows are never written to, whatever the file says."""
    for app in (
        "com.apple.SecurityAgent",
        "com.apple.UserNotificationCenter",
        "com.apple.systempreferences",
        "com.apple.keychainaccess",
        "com.apple.Passwords",
        "com.1password.1password",
        "com.apple.osascript",
    ):
        assert permissions_in(tmp_path / "s").judge_call(on(MOVE, app)).action == "deny"


def u11(tmp_path: Path) -> None:
    """An answer that was kept never covers what is DANGEROUS, nor another kind of argument."""
    permissions = permissions_in(tmp_path / "s")
    token = asked(permissions, DELETE).token
    answer(permissions, DELETE, token, "always")
    assert list_approvals(permissions.store) == []
    remember_approval(permissions.store, DELETE)
    assert permissions.judge_call(HOME_GONE).action == "ask"
    remember_approval(permissions.store, MOVE)
    assert permissions.judge_call(MOVE).action == "allow"
    elsewhere = facts_of("finder move", {"target": "~/Documents/a", "to": "trash"})
    assert permissions.judge_call(elsewhere).action == "ask"
    everything = facts_of("finder move", {"target": "~", "to": "~/Desktop"})
    assert permissions.judge_call(everything).level == "DANGEROUS"


def u12(tmp_path: Path) -> None:
    """A decision that was written into the file by hand does not count."""
    permissions = permissions_in(tmp_path / "s")
    remember_approval(permissions.store, MOVE)
    with permissions.store.open_transaction() as connection:
        connection.execute("UPDATE decisions SET covers = covers || ' '")
        connection.execute(
            "INSERT INTO decisions SELECT 9, trim(covers), tool, says, digest, made, client,"
            " mac || '0' FROM decisions"
        )
    assert permissions.judge_call(MOVE).action == "ask"


def u13(tmp_path: Path) -> None:
    """A state file of another kind is never run or believed: it is moved aside."""
    folder = tmp_path / "s"
    folder.mkdir(mode=0o700)
    path = folder / FILE
    path.write_bytes(b"\x80\x04cos\nsystem\n(S'always approve'\ntR.")
    path.chmod(0o600)
    assert permissions_in(folder).judge_call(MOVE).action == "ask"


def u14(tmp_path: Path) -> None:
    """A tool that changed since it was allowed is asked about again."""
    permissions = permissions_in(tmp_path / "s")
    remember_approval(permissions.store, MOVE)
    assert permissions.judge_call(replace(MOVE, digest="another build")).action == "ask"


def u18(tmp_path: Path) -> None:
    """What was shown is what runs: the call is compared with what was asked about."""
    permissions = permissions_in(tmp_path / "s")
    question, token, *_ = asked(permissions, DELETE)
    assert 'home.folders["Documents"].items["a"]' in question.text.splitlines()[0]
    swapped = replace(HOME_GONE, arguments=DELETE.arguments)
    assert answer(permissions, swapped, token, "once").action == "deny"


def p02(tmp_path: Path) -> None:
    """Paths are compared by their steps."""
    assert not is_in_documents("/Users/me/Documents_evil/x", "/Users/me")


def p07(tmp_path: Path) -> None:
    """A second name of a place is the place."""
    assert path_identity("/System/Volumes/Data/Users/me/x") == path_identity("/Users/me/x")
    assert path_identity("/private/var/x") == path_identity("/var/x")


def p09(tmp_path: Path) -> None:
    """A file URL is decoded once, then checked."""
    facts = facts_of("textedit save", {"target": "documents[0]", "in": "~/Documents/%2e%2e/.zshrc"})
    assert facts.event is not None
    url = facts_of("standard_additions open_location", {"target": "file:///Users/me/%2Ezshrc"})
    assert {"opens-protected", "url-scheme"} <= {row.rule for row in url.raised}


def p10(tmp_path: Path) -> None:
    """Devices, pipes and sockets are no files."""
    permissions = permissions_in(tmp_path / "s")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in ("/dev/stdin", "/dev/fd/3", str(pipe)):
        facts = facts_of("textedit open", {"target": [path]}, RuleContext())
        assert permissions.judge_call(facts).action == "deny"


def p12(tmp_path: Path) -> None:
    """Composed and decomposed names are one."""
    assert path_identity("/e\u0301") == path_identity("/\u00e9")


def p14(tmp_path: Path) -> None:
    """Nothing is written where things start by themselves, nor is our state read."""
    permissions = permissions_in(tmp_path / "s")
    own = RuleContext(DISK, own=("/Users/me/Library/Application Support/iac",))
    for path in ("~/Library/LaunchAgents/x.plist", "~/.zshrc", "~/a/.git/hooks/x", "~/a/.mcp.json"):
        assert find_protected_place(path.replace("~", "/Users/me"))
        facts = facts_of("textedit save", {"target": "documents[0]", "in": path}, own)
        assert permissions.judge_call(facts).action == "deny"
    for call in (
        ("standard_additions read", {"target": "~/Library/Application Support/iac/state/x"}),
        ("finder list", {"element": "file", "of": "~/Library/Application Support/iac/state"}),
        ("textedit open", {"target": ["~/Library/application support/IAC/policy.toml"]}),
    ):
        assert permissions.judge_call(facts_of(*call, own)).action == "deny"


def p15(tmp_path: Path) -> None:
    """A decision file that is a link, open to all or another's is refused; then all is asked."""
    folder = tmp_path / "s"
    permissions = permissions_in(folder)
    remember_approval(permissions.store, MOVE)
    (folder / FILE).chmod(0o777)
    with pytest.raises(SetupError):
        ApprovalStore(folder)
    assert permissions_in(folder).judge_call(MOVE).action == "ask"
    (folder / FILE).rename(tmp_path / "moved")
    (folder / FILE).symlink_to(tmp_path / "moved")
    with pytest.raises(SetupError):
        ApprovalStore(folder)
    assert permissions_in(folder).judge_call(MOVE).action == "ask"


ROWS: dict[str, Callable[[Path], None]] = {
    "M16": m16, "M17": m17, "P02": p02, "P07": p07, "P09": p09, "P10": p10, "P12": p12, "P14": p14,
    "P15": p15, "U02": u02, "U03": u03, "U11": u11, "U12": u12, "U13": u13, "U14": u14, "U18": u18,
}  # fmt: skip


@pytest.mark.parametrize("row", sorted(ROWS))
def test_a_hostile_payload_ends_in_its_safe_outcome(row: str, tmp_path: Path) -> None:
    ROWS[row](tmp_path)


def test_the_sample_has_no_row_on_permission_without_a_test(corpus: Path) -> None:
    with (corpus / "hostile-inputs.tsv").open(encoding="utf-8") as file:
        rows = {row["id"] for row in csv.DictReader(file, delimiter="\t")}
    # The others of these classes are about accessibility, limits, the audit and links on disk.
    elsewhere = {"U04", "U05", "U07", "U09", "U10", "U16", "P05", "P13"}
    ours = {row for row in rows if row.startswith(("U", "P"))} - elsewhere
    assert ours <= set(ROWS)
