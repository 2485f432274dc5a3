"""Read-only: what reading needs can be had, and nothing else."""

from dataclasses import replace

import pytest
from policy_calls import also, facts_of, on, settings_of

from iac_runtime.policy.decide import decide_call
from iac_runtime.policy.facts import CallFacts, Decision, Effect, Flow, RaisedLevel
from iac_runtime.policy.policy_file import parse_policy
from iac_runtime.policy.settings import PRESETS
from iac_runtime.policy.verbs import command_verb

START = facts_of("music run", {})
READ = facts_of("notes list", {"element": "note"})
CHANGE = Effect("change", "com.apple.Music", "Music", level="MODIFY")
HIGH = RaisedLevel("high", "A place.", "DANGEROUS")
POLICIES = ["preset = 'read-only'", *(f"preset = '{name}'\nread_only = true" for name in PRESETS)]


def judged(facts: CallFacts, policy: str) -> Decision:
    found = parse_policy(policy)
    return decide_call(facts, found, settings_of(found))


@pytest.mark.parametrize("policy", POLICIES)
def test_starting_an_app_is_asked_about_as_a_change_is_elsewhere(policy: str) -> None:
    found = judged(START, policy)
    assert (found.action, found.level) == ("ask", "MODIFY")
    assert found.source in ("policy.toml line 2", "preset read-only")
    alone = judged(replace(START, ways=()), policy)
    assert (alone.action, alone.requires_prompt) == ("deny", True)
    assert judged(START, f"{policy}\n[[allow]]\ntool = 'music_run'").action == "allow"
    assert judged(replace(START, preapproved_level="MODIFY"), policy).action == "ask"
    assert judged(START, f"{policy}\n[[deny]]\napp = 'Music'").action == "deny"


@pytest.mark.parametrize("policy", POLICIES)
def test_what_does_more_than_start_an_app_stays_refused(policy: str) -> None:
    for facts in (
        on(START, ""),
        on(START, "com.apple.Terminal"),
        also(START, doubt="x"),
        replace(START, effects=(*START.effects, CHANGE)),
        replace(START, raised=(HIGH,)),
        on(START, "com.apple.Music", flow=(Flow("host", "example.com"),)),
        on(START, "com.apple.Music", level="DANGEROUS"),
        facts_of("system_events begin_transaction", {}),
    ):
        assert judged(facts, policy).action == "deny"
    words = ("start", "launch", "reopen", "boot", "record", "resume")
    assert "start" not in {command_verb("", word, "MODIFY", answers=True) for word in words}
    raised = f"{policy}\n[[rule]]\ntool = '*'\nlevel = 'MODIFY'"
    assert judged(READ, raised).action == "deny"
