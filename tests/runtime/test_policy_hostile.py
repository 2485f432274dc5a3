"""Hostile payloads about permission and state end in their safe outcome, a test a row."""

import csv
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from policy_calls import DISK, answer, facts_of, on, settings_of

from iac_base.errors import SetupError
from iac_runtime.policy.approvals import FILE, ApprovalStore, list_approvals, remember_approval
from iac_runtime.policy.escalation import RuleContext
from iac_runtime.policy.facts import CallFacts
from iac_runtime.policy.permissions import PendingApproval, Permissions
from iac_runtime.policy.places import (
    find_blocklist_entry,
    find_protected_place,
    is_in_documents,
    path_identity,
)
from iac_runtime.policy.prompts import read_answer
from iac_runtime.policy.settings import Policy

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
    facts = facts_of(
        "textedit save", {"target": "documents[0]", "in_": "~/Documents/%2e%2e/.zshrc"}
    )
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
        assert find_protected_place(path.replace("~", "/Users/me")) is not None
        facts = facts_of("textedit save", {"target": "documents[0]", "in_": path}, own)
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
    "M16": m16,
    "M17": m17,
    "P02": p02,
    "P07": p07,
    "P09": p09,
    "P10": p10,
    "P12": p12,
    "P14": p14,
    "P15": p15,
    "U02": u02,
    "U03": u03,
    "U11": u11,
    "U12": u12,
    "U13": u13,
    "U14": u14,
    "U18": u18,
}


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
