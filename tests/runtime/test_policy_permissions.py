"""Permissions: a person is asked, the answer holds, and no sequence of calls gets round it."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from policy_calls import answer, facts_of, settings_of

from iac_base.errors import SetupError
from iac_runtime.gate.planning import expand_recipe
from iac_runtime.language.compose import compose_request
from iac_runtime.policy import approvals as budget
from iac_runtime.policy.approvals import ApprovalStore, list_approvals, revoke_approvals
from iac_runtime.policy.effects import identify_from_catalogue
from iac_runtime.policy.facts import CallFacts, Decision, Verdict, call_digest
from iac_runtime.policy.permissions import PendingApproval, Permissions, Requester, open_permissions
from iac_runtime.policy.policy_file import parse_policy
from iac_runtime.policy.settings import Policy, PolicyFlags, read_settings
from iac_runtime.policy.taint import remove_secret_columns
from iac_runtime.tools.catalogue import Catalogue, shipped_folder
from iac_runtime.tools.lock import lock_digest, read_lock

WRITE = facts_of("notes make_note", {"name": "Milk", "body": ""})
OTHER = facts_of("notes make_note", {"name": "Silk", "body": ""})
DELETE = facts_of("notes delete", {"target": "notes[0]"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "state"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def store(folder: Path) -> ApprovalStore:
    return ApprovalStore(folder)


@pytest.fixture
def permissions(store: ApprovalStore) -> Permissions:
    return Permissions(Policy(), settings_of(), lambda: store, home="/Users/me")


def asked(permissions: Permissions, facts: CallFacts) -> PendingApproval:
    found = permissions.prepare_approval(facts, permissions.judge_call(facts))
    assert isinstance(found, PendingApproval)
    return found


def test_a_person_who_allows_lets_the_call_run(permissions: Permissions) -> None:
    question, token, *_ = asked(permissions, DELETE)
    assert question.answers == ("Deny", "Allow once")
    found = answer(permissions, DELETE, token, "once")
    assert (found.action, found.source) == ("allow", "the user, asked by Claude")
    assert answer(permissions, DELETE, token, "once").action == "deny"


def test_a_decline_is_final(permissions: Permissions) -> None:
    token = asked(permissions, DELETE).token
    found = answer(permissions, DELETE, token, "decline")
    assert (found.action, found.source) == ("deny", "the user")
    assert "Do not call again" in found.suggestion
    assert answer(permissions, DELETE, token, "once").action == "deny"


def test_what_is_always_allowed_runs_where_nobody_can_be_asked(permissions: Permissions) -> None:
    alone = replace(WRITE, ways=())
    assert permissions.judge_call(alone).action == "deny"
    answer(permissions, WRITE, asked(permissions, WRITE).token, "always")
    assert permissions.judge_call(alone).action == "allow"
    assert permissions.judge_call(replace(DELETE, ways=())).action == "deny"


def test_always_for_simulated_apps_is_not_for_real_ones(permissions: Permissions) -> None:
    pretended = replace(WRITE, simulated=True)
    question, token, *_ = asked(permissions, pretended)
    assert "(simulated apps)" in question.text
    answer(permissions, pretended, token, "always")
    assert permissions.judge_call(pretended).action == "allow"
    assert permissions.judge_call(WRITE).action == "ask"


def test_always_is_kept_for_modify_and_for_nothing_else(permissions: Permissions) -> None:
    question, token, *_ = asked(permissions, WRITE)
    assert question.answers == ("Deny", "Allow once", "Always allow")
    assert answer(permissions, WRITE, token, "always").action == "allow"
    found = permissions.judge_call(OTHER)
    assert found.action == "allow"
    assert found.source.startswith("decision 1 (make notes")
    assert answer(permissions, DELETE, asked(permissions, DELETE).token, "always").action == "allow"
    assert [row.tool for row in list_approvals(permissions.store)] == ["notes_make_note"]
    assert permissions.judge_call(DELETE).action == "ask"


def test_what_is_denied_since_it_was_asked_stays_denied(permissions: Permissions) -> None:
    token = asked(permissions, DELETE).token
    permissions.policy = parse_policy("[[deny]]\ntool = '*'")
    assert answer(permissions, DELETE, token, "once").action == "deny"


def test_too_many_questions_are_told_with_the_way_out(permissions: Permissions) -> None:
    for _ in range(budget.MAX_UNAPPROVED):
        answer(permissions, WRITE, asked(permissions, WRITE).token, "decline")
    found = permissions.prepare_approval(WRITE, permissions.judge_call(WRITE))
    assert isinstance(found, Decision)
    assert (found.action, found.requires_prompt) == ("deny", True)
    assert "No more will appear for 10 minutes" in " ".join(found.reasons)
    assert "iac-mcp policy resume" in found.suggestion
    assert permissions.judge_call(WRITE).action == "ask"


def test_without_its_memory_it_asks_and_cannot_run(own_data_folder: Path) -> None:
    own_data_folder.mkdir()
    (own_data_folder / "state").symlink_to("/nowhere")
    permissions = open_permissions(environ={}, home="/Users/me")
    decision = permissions.judge_call(WRITE)
    assert decision.action == "ask"
    with pytest.raises(SetupError):
        permissions.prepare_approval(WRITE, decision)


def test_the_facts_of_a_call_are_gathered(
    own_data_folder: Path, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IAC_BLOCKLIST", "com.example.Other")
    permissions = open_permissions(
        PolicyFlags(rate_limit=3), home="/Users/me", identify=identify_from_catalogue(catalogue)
    )
    assert permissions.settings.added_blocklist == ("com.example.Other",)
    row = catalogue.find_row("diary_export")
    tool = catalogue.load_operation(row.name)
    target = str(own_data_folder / "state" / "x")
    given = {"target": "journals[0]", "to": target}
    arguments = expand_recipe(tool.spec, given)
    event = remove_secret_columns(compose_request(tool, arguments, "/Users/me"), tool.tables)
    caller = Requester("Claude", ("client",))
    known = CallFacts("diary_export", arguments=arguments)
    facts = permissions.with_caller(permissions.request_facts(known, event, "MODIFY", tool), caller)
    assert facts.apps == (("com.example.Diary", "Diary"),)
    assert facts.ways
    assert "own-state" in [raised.rule for raised in facts.raised]
    assert permissions.judge_call(facts).action == "deny"
    listing = CallFacts("list_apps")
    nobody = permissions.with_caller(listing, Requester())
    assert not nobody.ways
    assert permissions.judge_call(nobody).action == "allow"
    permissions.taint.remember_texts({"a": "something strange"})
    assert permissions.taint.find_tainted_piece("Something Strange")
    assert identify_from_catalogue(catalogue)("diary") == ("com.example.Diary", "Diary")
    assert identify_from_catalogue(catalogue)("Nobody") == ("", "")
    closed = replace(permissions.policy, approvers=("dialog",))
    permissions.policy = closed
    again = permissions.with_caller(listing, caller)
    assert not again.ways


def test_the_digest_of_a_tool_is_that_of_its_app_in_the_lock(tmp_path: Path) -> None:
    def digests(**tools: str) -> list[str]:
        rows = {name: {"digest": digest} for name, digest in tools.items()}
        folder = tmp_path / "".join(tools.values())
        folder.mkdir()
        text = json.dumps({"apps": {"a": {}, "a_b": {}}, "tools": rows})
        (folder / "tools.lock").write_text(text)
        return [lock_digest(folder, name) for name in tools]

    one = digests(a_get="1", a_set="2", a_b_get="3")
    assert one[0] == one[1] != one[2]
    other = digests(a_get="1", a_set="4", a_b_get="3")
    assert other[0] != one[0]
    assert other[2] == one[2]


def test_a_lock_that_is_none_has_no_digests(tmp_path: Path) -> None:
    assert lock_digest(tmp_path, "x") == ""
    lock = tmp_path / "tools.lock"
    lock.write_text('{"tools": {"x": {"digest": "d"}, "y": 3}}')
    os.utime(lock, ns=(1, 1))
    assert lock_digest(tmp_path, "x") != ""
    assert lock_digest(tmp_path, "y") == ""
    lock.write_text("[]")
    os.utime(lock, ns=(2, 2))
    assert lock_digest(tmp_path, "x") == ""
    lock.write_text("{")
    os.utime(lock, ns=(3, 3))
    assert lock_digest(tmp_path, "x") == ""


def test_of_a_lock_only_apps_and_tools_are_read() -> None:
    path = shipped_folder() / "tools.lock"
    whole = json.loads(path.read_bytes())
    found = read_lock(path.parent)
    assert found == {key: whole[key] for key in ("format", "apps", "tools")}
    assert len(json.dumps(found)) < path.stat().st_size / 3


def test_the_digest_of_a_call_takes_any_text() -> None:
    assert len(call_digest(replace(WRITE, arguments={"a": "\ud800", "b": float("nan")}))) == 64


CALLS = [WRITE, OTHER, DELETE, facts_of("mail send", {"target": "outgoingMessages[0]"})]


class Approvals(RuleBasedStateMachine):
    """Questions, answers, forgeries, restarts and new builds in any order."""

    folders: Iterator[Path]

    @initialize()
    def begin(self) -> None:
        self.store = ApprovalStore(next(type(self).folders))
        self.digest = 0
        self.open: list[tuple[str, CallFacts]] = []
        self.used: set[str] = set()
        self.allowed: set[str] = set()
        self.permissions = self.restarted()

    def restarted(self) -> Permissions:
        return Permissions(Policy(), settings_of(), lambda: self.store, home="/Users/me")

    def now(self, facts: CallFacts) -> CallFacts:
        return replace(facts, digest=f"d{self.digest}")

    @rule(facts=st.sampled_from(CALLS))
    def ask(self, facts: CallFacts) -> None:
        facts = self.now(facts)
        decision = self.permissions.judge_call(facts)
        if decision.action == "allow":
            assert decision.level == "MODIFY"
            assert f"{facts.tool} {facts.digest}" in self.allowed
            return
        found = self.permissions.prepare_approval(facts, decision)
        if isinstance(found, Decision):
            budget.resume_clients(self.store)
            found = self.permissions.prepare_approval(facts, decision)
        assert isinstance(found, PendingApproval)
        self.open.append((found.token, facts))

    @precondition(lambda self: self.open)
    @rule(
        data=st.data(),
        facts=st.sampled_from(CALLS),
        verdict=st.sampled_from(get_args(Verdict)),
        same=st.booleans(),
    )
    def answered(self, data: st.DataObject, facts: CallFacts, verdict: Verdict, same: bool) -> None:
        token, about = data.draw(st.sampled_from(self.open))
        wanted = about if same else self.now(facts)
        right = token not in self.used and verdict in ("once", "always") and wanted == about
        found = answer(self.permissions, wanted, token, verdict)
        self.used.add(token)
        assert (found.action == "allow") == right
        if right and verdict == "always" and found.level == "MODIFY":
            self.allowed.add(f"{wanted.tool} {wanted.digest}")

    @rule()
    def restart(self) -> None:
        self.store = ApprovalStore(self.store.folder)
        self.permissions = self.restarted()

    @rule()
    def rebuild(self) -> None:
        self.digest += 1

    @rule()
    def revoke(self) -> None:
        revoke_approvals(self.store, None)
        self.allowed.clear()


@pytest.mark.property
@pytest.mark.timeout(600)
def test_no_sequence_lets_a_call_run_that_was_not_allowed(tmp_path: Path) -> None:
    def folders() -> Iterator[Path]:
        number = 0
        while True:
            number += 1
            path = tmp_path / f"s{number}"
            path.mkdir(mode=0o700)
            yield path

    Approvals.folders = folders()
    run_state_machine_as_test(Approvals, settings=settings(stateful_step_count=8))


def test_a_setting_says_where_it_came_from() -> None:
    policy = Policy(preset="private", path="policy.toml", lines=(("preset", 3),))
    found = read_settings(PolicyFlags(), {"IAC_SERVER": " home "}, policy)
    assert found.server == "home"
    assert found.preset == ("private", "policy.toml line 3")
    assert read_settings(PolicyFlags(), {}, Policy()).preset == ("cautious", "default")
    assert (
        read_settings(PolicyFlags(server="work"), {"IAC_SERVER": "home"}, policy).server == "work"
    )
    assert read_settings(PolicyFlags(), {}, policy).server == ""
    # Of several the strictest holds; of the same, what was said first.
    rates = read_settings(PolicyFlags(rate_limit=0.5), {"IAC_RATE_LIMIT": "0.5"}, Policy())
    assert rates.rate_limit == (0.5, "--rate-limit")
    same = {"ACCESSIBILITY_MCP_RATE_LIMIT": "2", "IAC_RATE_LIMIT": "2"}
    assert read_settings(PolicyFlags(), same, Policy()).rate_limit == (2, "IAC_RATE_LIMIT")
    assert (
        read_settings(PolicyFlags(rate_limit=9), {"IAC_RATE_LIMIT": "10"}, policy).rate_limit.value
        == 9
    )
    with pytest.raises(SetupError, match="above 0"):
        read_settings(PolicyFlags(rate_limit=0), {}, policy)
