"""Approvals: a token works once and for one call; answers are kept, and void when they should."""

import base64
import errno
import json
import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_calls import facts_of, on, settings_of, stopped

from iac_base.errors import SetupError
from iac_runtime.policy import approvals as budget
from iac_runtime.policy.approvals import (
    FILE,
    KEY_FILE,
    ApprovalStore,
    PromptsPaused,
    TokenError,
    find_approval,
    issue_token,
    list_approvals,
    load_key,
    matches_seal,
    redeem_token,
    remember_approval,
    revoke_approvals,
    seal_fields,
)
from iac_runtime.policy.decide import decide_call
from iac_runtime.policy.facts import CallFacts, Decision
from iac_runtime.policy.prompts import LIFETIME
from iac_runtime.policy.settings import Policy

WRITE = facts_of("notes make_note", {"name": "Milk", "body": ""})
OTHER = facts_of("notes make_note", {"name": "Silk", "body": ""})
DELETE = facts_of("notes delete", {"target": "notes[0]"})


def decided(facts: CallFacts, policy: Policy = Policy()) -> Decision:  # noqa: B008
    return decide_call(facts, policy, settings_of(policy))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "state"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def store(folder: Path) -> ApprovalStore:
    return ApprovalStore(folder)


def token_for(store: ApprovalStore, facts: CallFacts, **more: Any) -> str:
    token = issue_token(store, facts, decided(facts), "client", **more)
    assert isinstance(token, str)
    return token


def refusal(store: ApprovalStore, token: str, facts: CallFacts, **more: Any) -> str:
    with pytest.raises(TokenError) as caught:
        redeem_token(store, token, facts, decided(facts), "once", **more)
    return str(caught.value)


def test_a_token_is_good_for_its_call_once(store: ApprovalStore) -> None:
    token = token_for(store, DELETE)
    assert redeem_token(store, token, DELETE, decided(DELETE), "once").level == "DANGEROUS"
    assert "already used" in refusal(store, token, DELETE)


def test_a_token_is_good_once_across_processes(store: ApprovalStore, folder: Path) -> None:
    token = token_for(store, DELETE)
    redeem_token(ApprovalStore(folder), token, DELETE, decided(DELETE), "once")
    assert "already used" in refusal(ApprovalStore(folder), token, DELETE)


@pytest.mark.parametrize("other", [
    OTHER, DELETE, replace(WRITE, tool="notes_make"), on(WRITE, "com.example.Notes"),
    replace(WRITE, arguments={**WRITE.arguments, "extra": 1}), replace(WRITE, digest="d2"),
    replace(WRITE, event=OTHER.event),
])  # fmt: skip
def test_a_token_is_good_for_no_other_call_and_is_used_up_by_it(
    store: ApprovalStore, other: CallFacts
) -> None:
    token = token_for(store, WRITE)
    assert "for another call" in refusal(store, token, other)
    assert "already used" in refusal(store, token, WRITE)


def test_a_token_is_no_good_for_a_level_that_was_not_shown(store: ApprovalStore) -> None:
    token = token_for(store, WRITE)
    higher = replace(decided(WRITE), level="DANGEROUS")
    with pytest.raises(TokenError, match="different level"):
        redeem_token(store, token, WRITE, higher, "once")


@pytest.mark.parametrize("later", [LIFETIME + 1, -3600.0])
def test_a_token_is_no_good_when_it_is_old_or_the_clock_was_set_back(
    store: ApprovalStore, later: float
) -> None:
    token = token_for(store, WRITE, now=lambda: 1_000_000.0)
    assert "too old" in refusal(store, token, WRITE, now=lambda: 1_000_000.0 + later)


def test_a_token_of_another_key_is_not_ours(store: ApprovalStore, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    foreign = token_for(ApprovalStore(elsewhere), WRITE)
    assert "not come from this program" in refusal(store, foreign, WRITE)


def test_a_token_that_was_touched_is_not_ours(store: ApprovalStore) -> None:
    token = token_for(store, WRITE)

    @given(where=st.integers(0, len(token) - 1), char=st.characters())
    def touched(where: int, char: str) -> None:
        other = token[:where] + (char if char != token[where] else "!") + token[where + 1 :]
        with pytest.raises(TokenError):
            redeem_token(store, other, WRITE, decided(WRITE), "once")

    touched()
    redeem_token(store, token, WRITE, decided(WRITE), "once")


@pytest.mark.parametrize("token", ["", ".", "a.b", "\ud800.x", "e30.e30", "é.é", "A" * 10_000])
def test_what_is_no_token_is_refused(store: ApprovalStore, token: str) -> None:
    assert refusal(store, token, WRITE).startswith("This approval")


def test_a_token_with_a_changed_level_is_not_ours(store: ApprovalStore) -> None:
    body, _, mac = token_for(store, DELETE).partition(".")
    said = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    said[2] = "MODIFY"
    forged = base64.urlsafe_b64encode(json.dumps(said).encode()).decode().rstrip("=")
    assert "not come from" in refusal(store, f"{forged}.{mac}", DELETE)


def decline(
    store: ApprovalStore, client: str, now: float, count: int = budget.MAX_UNAPPROVED
) -> None:
    with store.open_transaction() as connection:
        for _ in range(count):
            budget.record_answer(connection, client, "client", "decline", now)


def test_five_declined_questions_stop_their_client_for_ten_minutes(store: ApprovalStore) -> None:
    decline(store, "Claude", 1_000_000.0)
    found = issue_token(store, WRITE, decided(WRITE), "client", now=lambda: 1_000_060.0)
    assert found == PromptsPaused(540.0)
    # Another process knows of it, and another client does not.
    assert isinstance(
        issue_token(ApprovalStore(store.folder), WRITE, decided(WRITE), "client", lambda: 1.0e6),
        PromptsPaused,
    )
    token_for(store, replace(WRITE, client="Other"), now=lambda: 1_000_060.0)
    token_for(store, WRITE, now=lambda: 1_000_600.0)
    decline(store, "Claude", 2_000_000.0)
    assert budget.resume_clients(store, lambda: 2_000_001.0)
    assert not budget.resume_clients(store, lambda: 2_000_001.0)
    token_for(store, WRITE, now=lambda: 2_000_001.0)


def test_a_clock_that_is_set_back_makes_no_stop_longer(store: ApprovalStore) -> None:
    decline(store, "Claude", 9_000_000.0)
    assert stopped(store, "Claude", lambda: 1_000_000.0)
    assert not stopped(store, "Claude", lambda: 1_000_600.0)


def test_questions_that_nobody_declines_go_on(store: ApprovalStore) -> None:
    for number in range(40):
        token_for(store, WRITE, now=lambda: 1_000_000.0 + number)  # noqa: B023
    for number in range(40):
        decline(store, "Claude", 1_000_000.0 + number * 151, 1)
    assert not stopped(store, "Claude", lambda: 1_006_000.0)


def test_a_file_of_the_first_version_still_opens_and_stops_nobody(folder: Path) -> None:
    ApprovalStore(folder)
    with sqlite3.connect(folder / FILE) as connection:
        connection.executescript(
            """
            DROP TABLE declined; DROP TABLE stopped; DROP TABLE questions;
            CREATE TABLE questions (nonce TEXT PRIMARY KEY, asked REAL NOT NULL,
                used INTEGER NOT NULL, counted INTEGER NOT NULL) WITHOUT ROWID;
            CREATE TABLE stopped (since REAL NOT NULL);
            INSERT INTO stopped VALUES (1.0);
            DROP TABLE decisions;
            CREATE TABLE decisions (id INTEGER PRIMARY KEY AUTOINCREMENT, app TEXT, kind TEXT);
            INSERT INTO decisions VALUES (1, 'com.apple.Notes', 'make anything');
            PRAGMA user_version = 1;
            """
        )
    connection.close()
    store = ApprovalStore(folder)
    assert list_approvals(store) == []
    redeem_token(store, token_for(store, WRITE), WRITE, decided(WRITE), "once")


def test_an_answer_is_remembered_for_its_kind_of_call(store: ApprovalStore) -> None:
    remember_approval(store, WRITE)
    for facts in (WRITE, OTHER):
        found = find_approval(store, facts)
        assert found is not None
        assert found.says == 'make notes in Notes (with "name" and "body")'
    assert find_approval(store, DELETE) is None
    assert find_approval(store, facts_of("notes make", {"element": "folder"})) is None
    assert find_approval(store, on(WRITE, "com.example.Notes")) is None
    remember_approval(store, WRITE)
    assert len(list_approvals(store)) == 1
    (row,) = list_approvals(store)
    assert revoke_approvals(store, row.id) == 1
    assert find_approval(store, WRITE) is None


def test_nothing_is_remembered_of_what_is_not_known(store: ApprovalStore) -> None:
    remember_approval(store, on(WRITE, "com.apple.Notes", given=None))
    remember_approval(store, replace(WRITE, effects=()))
    assert list_approvals(store) == []
    assert revoke_approvals(store, None) == 0


def test_an_answer_is_void_when_the_tools_of_the_app_change(store: ApprovalStore) -> None:
    remember_approval(store, WRITE)
    assert find_approval(store, replace(WRITE, digest="d2")) is None
    assert find_approval(store, replace(WRITE, tool="notes_make")) is not None
    # The library has no lock.
    assert find_approval(store, replace(WRITE, digest="")) is not None


@pytest.mark.parametrize(("column", "value"), [
    ("covers", "[]"), ("says", "make anything"), ("digest", "d2"), ("mac", "0" * 64), ("mac", "é"),
    ("client", "me"),
])  # fmt: skip
def test_a_row_that_was_changed_by_hand_is_void(
    store: ApprovalStore, column: str, value: str
) -> None:
    remember_approval(store, WRITE)
    with sqlite3.connect(store.folder / "approvals.db") as connection:
        connection.execute(f"UPDATE decisions SET {column} = ?", (value,))
    connection.close()
    (row,) = list_approvals(store)
    assert not row.valid
    assert find_approval(store, replace(WRITE, digest="d2" if column == "digest" else "d1")) is None


def test_a_row_of_another_key_is_void(store: ApprovalStore, folder: Path) -> None:
    remember_approval(store, WRITE)
    (folder / KEY_FILE).unlink()
    assert find_approval(ApprovalStore(folder), WRITE) is None


def test_sealed_fields_have_borders() -> None:
    assert seal_fields(b"k", "p", ["ab", "c"]) != seal_fields(b"k", "p", ["a", "bc"])
    assert seal_fields(b"k", "p", ["a"]) != seal_fields(b"k", "q", ["a"])
    # What was sealed stays sealed by the next version.
    sealed = seal_fields(b"k", "p", ["a", "é", "\ud800"])
    assert sealed == "bc0836b36512784dccd9b1c3ed0ebc639484057a542a162489d06b8b58d8531f"
    assert matches_seal(sealed, sealed)
    assert not matches_seal(sealed, "\ud800")


def test_the_key_is_made_once_and_for_its_user_alone(folder: Path) -> None:
    key = load_key(folder)
    assert len(key) == 32
    assert load_key(folder) == key
    assert (folder / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert {path.name for path in folder.iterdir()} == {KEY_FILE, f"{KEY_FILE}.lock"}


def test_a_key_lasts_and_one_that_cannot_be_had_says_why(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    load_key(folder)
    assert len(synced) == 1
    missing = folder / "none"
    with pytest.raises(SetupError, match=f"{missing / KEY_FILE} cannot be made: No such file"):
        load_key(missing)

    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(SetupError, match=f"{folder / KEY_FILE} cannot be read: Permission"):
        load_key(folder)


def test_a_state_that_is_not_safe_is_refused(folder: Path, tmp_path: Path) -> None:
    key = folder / KEY_FILE
    key.touch(0o600)
    for wrong in (b"", b"k" * 31, b"k" * 33):
        key.write_bytes(wrong)
        with pytest.raises(SetupError, match=f"{key} is damaged; remove it"):
            ApprovalStore(folder)
    key.write_bytes(b"k" * 32)
    key.chmod(0o644)
    with pytest.raises(SetupError, match="chmod 600"):
        ApprovalStore(folder)
    key.unlink()
    target = tmp_path / "key"
    target.write_bytes(b"k" * 32)
    key.symlink_to(target)
    with pytest.raises(SetupError, match="link"):
        ApprovalStore(folder)
    key.unlink()
    ApprovalStore(folder)
    (folder / FILE).chmod(0o666)
    with pytest.raises(SetupError, match="other users can read or change it"):
        ApprovalStore(folder)
    (folder / FILE).unlink()
    (folder / FILE).symlink_to(target)
    with pytest.raises(SetupError, match="link"):
        ApprovalStore(folder)


def test_a_damaged_file_is_moved_aside_and_everything_is_asked_again(folder: Path) -> None:
    store = ApprovalStore(folder)
    remember_approval(store, WRITE)
    store.close()
    (folder / FILE).write_bytes(b"not a database " * 100)
    # Also for a program that knew it before.
    for fresh in (ApprovalStore(folder), store):
        assert list_approvals(fresh) == []
    assert len(list(folder.glob("approvals.db.damaged-2*"))) == 1


def test_a_file_of_a_newer_version_is_refused(folder: Path) -> None:
    ApprovalStore(folder)
    with sqlite3.connect(folder / FILE) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(SetupError, match="newer version"):
        ApprovalStore(folder)


def test_a_file_that_cannot_be_written_is_an_error_and_changes_nothing(
    store: ApprovalStore,
) -> None:
    def break_off() -> None:
        with store.open_transaction() as connection:
            connection.execute("INSERT INTO stopped VALUES ('Claude', 1e12)")
            connection.execute("INSERT INTO nothing VALUES (1)")

    with pytest.raises(SetupError, match="cannot be used"):
        break_off()
    assert not stopped(store, "Claude")


WORKER = """
import sys
from pathlib import Path
from iac_runtime.policy import approvals as budget
from iac_runtime.policy.approvals import ApprovalStore
store = ApprovalStore(Path(sys.argv[1]))
for number in range(20):
    with store.open_transaction() as connection:
        budget.record_answer(connection, f"{sys.argv[2]}-{number}", "client", "decline", 1000.0)
        budget.record_answer(connection, "all", "dialog", "timeout", 1000.0 + number)
"""


@pytest.mark.process
def test_processes_share_the_count_of_questions_without_loss(folder: Path) -> None:
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(folder), str(number)])
        for number in range(3)
    ]
    assert [worker.wait(timeout=60) for worker in workers] == [0, 0, 0]
    assert stopped(ApprovalStore(folder), "all", lambda: 1019.0)
    with ApprovalStore(folder).open_transaction() as connection:
        (count,) = connection.execute(
            "SELECT count(*) FROM declined WHERE client != 'all'"
        ).fetchone()
    assert count == 60
    assert load_key(folder) == ApprovalStore(folder).key
