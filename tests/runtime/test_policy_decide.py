"""The decision: what runs, what is asked, what is refused, and what is said about it."""

import re
import threading
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_calls import facts_of, on, settings_of

import iac_runtime
from iac_base.errors import SetupError
from iac_runtime.policy.decide import decide_call
from iac_runtime.policy.escalation import RULES
from iac_runtime.policy.facts import CallFacts, Decision, RaisedLevel
from iac_runtime.policy.places import BUILT_IN, FIXED
from iac_runtime.policy.policy_file import parse_policy
from iac_runtime.policy.rules import LevelRule, Match
from iac_runtime.policy.settings import PRESETS, REGISTERED_RULES, Policy
from iac_runtime.tool import LEVELS

READ = ("notes list", {"element": "note"})
WRITE = ("notes make_note", {"name": "Milk", "body": ""})
DELETE = ("notes delete", {"target": "notes[0]"})


def judged(call: tuple[str, dict[str, Any]], policy: str = "", **more: Any) -> Decision:
    found = parse_policy(policy)
    remembered = more.pop("remembered", "")
    rules = more.pop("registered", ())
    flags = more.pop("flags", {})
    return decide_call(
        facts_of(*call, **more),
        found,
        settings_of(found, **flags),
        registered=rules,
        remembered=remembered,
    )


def judged_on(call: tuple[str, dict[str, Any]], app: str) -> Decision:
    policy = parse_policy("")
    return decide_call(on(facts_of(*call), app), policy, settings_of(policy))


def actions(policy: str, **more: Any) -> list[str]:
    return [judged(call, policy, **more).action for call in (READ, WRITE, DELETE)]


@pytest.mark.parametrize(("preset", "expected"), [
    ("read-only", ["allow", "deny", "deny"]), ("cautious", ["allow", "ask", "ask"]),
    ("private", ["ask", "ask", "ask"]), ("trusted", ["allow", "allow", "ask"]),
])  # fmt: skip
def test_a_preset_decides_what_no_rule_speaks_of(preset: str, expected: list[str]) -> None:
    assert actions(f"preset = '{preset}'") == expected
    assert judged(READ, f"preset = '{preset}'").source == f"preset {preset}"


def test_without_a_file_reads_run_and_changes_ask() -> None:
    assert actions("") == ["allow", "ask", "ask"]


def test_private_reads_run_for_the_apps_that_the_user_named() -> None:
    for name in ("com.apple.Notes", "notes", "com.apple.*"):
        assert actions(f"preset = 'private'\nreads = '{name}'") == ["allow", "ask", "ask"]
    found = judged(READ, "preset = 'private'\nreads = 'com.apple.mail'")
    assert found.reasons == ("Notes is not in the list reads of policy.toml.",)
    assert not found.offers_always
    bare = CallFacts("list_apps")
    policy = parse_policy("preset = 'private'")
    assert decide_call(bare, policy, settings_of(policy)).action == "allow"


def test_deny_beats_ask_beats_allow() -> None:
    allow, ask, deny = (f"[[{kind}]]\ntool = 'notes_*'\n" for kind in ("allow", "ask", "deny"))
    assert actions(allow) == ["allow", "allow", "ask"]
    assert actions(allow + ask) == ["ask", "ask", "ask"]
    assert actions(allow + ask + deny) == ["deny", "deny", "deny"]
    found = judged(WRITE, "\n" + allow + ask + deny + "why = 'Not mine.'")
    assert found.source == "policy.toml line 6"
    assert found.reasons == ("policy.toml line 6 denies this call: Not mine.",)


def test_a_rule_speaks_of_app_tool_level_and_argument_together() -> None:
    rule = "[[deny]]\napp = 'notes'\ntool = '*_make*'\nlevel = ['modify', 'SAFE']\n"
    assert actions(rule) == ["allow", "deny", "ask"]
    assert judged(WRITE, rule.replace("notes", "mail")).action == "ask"
    argument = "[[deny]]\nargument = { properties = { name = 'mi*' } }"
    assert judged(WRITE, argument).action == "deny"
    assert judged(READ, argument).action == "allow"
    assert judged(WRITE, argument.replace("mi*", "silk")).action == "ask"
    assert judged(WRITE, "[[deny]]\nargument = { properties = { body = '' } }").action == "deny"


def test_a_dangerous_call_is_asked_about_whatever_allows_it() -> None:
    policy = "preset = 'trusted'\n[[allow]]\ntool = '*'"
    found = judged(DELETE, policy, remembered="decision 1")
    assert (found.action, found.level) == ("ask", "DANGEROUS")
    assert not found.offers_always


def test_an_answer_that_is_remembered_counts_for_modify_alone() -> None:
    assert judged(WRITE, remembered="decision 1").action == "allow"
    assert judged(WRITE, remembered="decision 1").source == "decision 1"
    assert judged(WRITE, "[[ask]]\ntool='*'", remembered="decision 1").action == "ask"
    assert judged(WRITE, "[[deny]]\ntool='*'", remembered="decision 1").action == "deny"
    raised = (RaisedLevel("many-objects", "x", "up"),)
    assert judged(WRITE, remembered="decision 1", raised=raised).action == "ask"
    lowered = "[[rule]]\ntool='*'\nlevel='MODIFY'"
    assert judged(DELETE, lowered, remembered="decision 1").action == "ask"


def test_always_is_offered_for_modify_alone_with_what_it_covers() -> None:
    found = judged(WRITE)
    assert found.offers_always
    assert found.scope == 'make notes in Notes (with "name" and "body")'
    assert not judged(WRITE, "[[ask]]\ntool='*'").offers_always
    assert not judged(DELETE).offers_always
    raised = (RaisedLevel("writes-file", "x", "MODIFY"),)
    assert not judged(READ, raised=raised).offers_always


def test_the_users_own_level_is_checked_first_and_shown_as_his() -> None:
    rule = "[[rule]]\ntool = 'notes_delete'\nlevel = 'SAFE'\nwhy = 'Scratch notes.'\n"
    found = judged(DELETE, rule)
    assert (found.action, found.level) == ("allow", "SAFE")
    assert found.own_rule == "policy.toml line 1"
    assert found.reasons[0] == "policy.toml line 1 sets SAFE: Scratch notes."
    assert judged(READ, rule.replace("delete", "list").replace("SAFE", "DANGEROUS")).action == "ask"
    first = rule + "[[rule]]\ntool = '*'\nlevel = 'DANGEROUS'"
    assert judged(DELETE, first).level == "SAFE"


def test_escalation_raises_the_users_level_too_unless_he_accepts_that_rule() -> None:
    call = ("finder move", {"target": "~/Documents/a", "to": "~/Desktop", "replacing": True})
    rule = "[[rule]]\ntool = 'finder_move'\nlevel = 'SAFE'\n"
    found = judged(call, rule)
    assert (found.level, found.rules) == ("DANGEROUS", ("replacing",))
    assert found.reasons[1] == "It would replace something (replacing). [replacing]"
    assert judged(call, rule + "accept = 'replacing'").level == "SAFE"


def test_a_rule_can_be_registered_from_python() -> None:
    rule = iac_runtime.register_rule(
        "SAFE", tool="notes_delete", argument={"target": "notes*"}, why="Tests."
    )
    try:
        assert rule in REGISTERED_RULES
        assert (rule.match.app, rule.match.tool) == ((), ("notes_delete",))
        found = judged(DELETE, registered=tuple(REGISTERED_RULES))
        assert found.level == "SAFE"
        assert found.own_rule == rule.match.source
        assert "sets SAFE: Tests." in found.reasons[0]
        own = "[[rule]]\ntool = 'notes_delete'\nlevel = 'MODIFY'"
        assert judged(DELETE, own, registered=tuple(REGISTERED_RULES)).level == "MODIFY"
    finally:
        REGISTERED_RULES.remove(rule)
    assert rule not in REGISTERED_RULES
    with pytest.raises(SetupError, match=r'^There is no level "SAVE"\. .*Nearest: SAFE'):
        iac_runtime.register_rule("SAVE", tool="x")  # type: ignore[arg-type]
    with pytest.raises(SetupError, match=r"^A rule needs an app, a tool or an argument\.$"):
        iac_runtime.register_rule("SAFE")


def test_a_rule_of_an_app_says_nothing_of_tools() -> None:
    rule = iac_runtime.register_rule("SAFE", app="com.example.*", accept=["to-trash"])
    REGISTERED_RULES.remove(rule)
    assert rule.match == Match(app=("com.example.*",), source=rule.match.source)
    assert rule.match.source.startswith("your rule in ")
    assert rule.accept == ("to-trash",)


def test_a_rule_says_where_it_was_registered() -> None:
    rule = iac_runtime.register_rule("SAFE", app="com.example.*")
    REGISTERED_RULES.remove(rule)
    assert re.fullmatch(rf"your rule in {__name__} line \d+", rule.match.source)


def test_read_only_refuses_every_call_that_changes_something_and_says_why() -> None:
    view, kept = (
        ("mail set", {"target": target, "properties": {name: True}})
        for target, name in (
            ("messageViewers[0]", "mailbox list visible"),
            ("inbox.messages[0]", "read status"),
        )
    )
    for flags, policy, source in (
        ({"read_only": True}, "", "--read-only"),
        ({}, "read_only = true", "policy.toml line 1"),
        ({}, "preset = 'read-only'", "preset read-only"),
    ):
        assert judged(READ, policy, flags=flags).action == "allow"
        assert judged(view, policy, flags=flags).action == "allow"
        for call in (WRITE, DELETE, kept):
            found = judged(call, policy, flags=flags)
            assert (found.action, found.source) == ("deny", source)
            only = "Only calls that read may run here, and this call changes something."
            assert found.reasons == (only,)
            assert found.suggestion.startswith("The user can")
    rule = "read_only = true\n[[rule]]\ntool='*'\nlevel='SAFE'\n[[allow]]\ntool='*'"
    assert judged(DELETE, rule, preapproved_level="DANGEROUS").action == "deny"


def test_nothing_writes_to_an_app_of_the_blocklist() -> None:
    run = ("terminal do_script", {"command": "ls"})
    found = judged(run, preapproved_level="DANGEROUS")
    assert (found.action, found.source) == ("deny", "blocklist entry com.apple.Terminal")
    assert 'remove = ["com.apple.Terminal"]' in found.suggestion
    assert judged(("terminal list", {"element": "window"})).action == "allow"
    rule = "[[rule]]\ntool = '*'\nlevel = 'SAFE'\n"
    assert judged(run, rule).action == "deny"
    assert judged(run, "[blocklist]\nremove = 'com.apple.Terminal'").action == "ask"
    assert judged(WRITE, "[blocklist]\nadd = 'com.apple.notes'").action == "deny"
    assert judged(WRITE, flags={"blocklist": ["com.apple.Notes"]}).action == "deny"
    for identity in ("", "com apple notes", "com.apple.securityAgent"):
        found = judged_on(WRITE, identity)
        assert found.action == "deny"
        assert "cannot be removed from the blocklist" in found.suggestion
        assert judged_on(READ, identity).action == "allow"
    assert judged_on(WRITE, "local.notes").action == "ask"


def test_a_process_that_is_reached_through_another_app_is_judged_too() -> None:
    def typed(process: str) -> Decision:
        field = f"{process}.windows[0].textFields[0]"
        given = {"target": field, "properties": {"value": "x"}}
        return judged(("system_events set", given))

    assert typed('processes["Notes"]').action == "ask"
    for process in ('processes["Terminal"]', "processes[0]", 'applicationProcesses["x"]'):
        assert typed(process).action == "deny"
        shown = {"target": process, "properties": {"frontmost": True}}
        assert judged(("system_events set", shown)).action == "allow"
    assert judged(("system_events get", {"target": "processes[0].name"})).action == "allow"


def test_nobody_to_ask_is_a_refusal_that_says_what_the_user_can_do() -> None:
    found = judged(WRITE, ways=())
    assert (found.action, found.requires_prompt) == ("deny", True)
    assert "No approval prompt is available in this client." in found.reasons
    assert '[[allow]] with tool = "notes_make_note"' in found.suggestion
    found = judged(DELETE, ways=())
    assert found.requires_prompt
    assert "iac-mcp call" in found.suggestion


def test_what_the_caller_vouches_for_is_not_asked_but_still_refused() -> None:
    assert actions("", preapproved_level="MODIFY", ways=()) == ["allow", "allow", "deny"]
    assert actions("", preapproved_level="DANGEROUS") == ["allow", "allow", "allow"]
    assert actions("[[deny]]\ntool='*'", preapproved_level="DANGEROUS") == ["deny", "deny", "deny"]
    assert actions("[[ask]]\ntool='*'", preapproved_level="DANGEROUS") == ["ask", "ask", "ask"]
    assert (
        judged(WRITE, preapproved_level="MODIFY").source == "the caller allows calls up to MODIFY"
    )


texts = st.sampled_from(["notes_*", "*", "com.apple.Notes", "mail*", "notes", "x"])
levels = st.sampled_from(LEVELS)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    def match(kind: str) -> Match:
        return Match(
            app=draw(st.just(()) | st.tuples(texts)),
            tool=draw(st.tuples(texts)),
            level=draw(st.just(()) | st.tuples(levels)),
            source=f"{kind} rule",
        )

    def rows(kind: str) -> tuple[Match, ...]:
        return tuple(match(kind) for _ in range(draw(st.integers(0, 2))))

    rules = tuple(
        LevelRule(match("own"), draw(levels), draw(st.just(()) | st.just(("replacing",))))
        for _ in range(draw(st.integers(0, 2)))
    )
    return Policy(
        preset=draw(st.sampled_from(sorted(PRESETS))),
        read_only=draw(st.sampled_from([None, False, True])),
        rules=rules,
        deny=rows("deny"),
        ask=rows("ask"),
        allow=rows("allow"),
        reads=draw(st.just(()) | st.tuples(texts)),
        blocklist_add=draw(st.just(()) | st.just(("com.apple.mail",))),
        blocklist_remove=draw(st.just(()) | st.just(tuple(BUILT_IN))),
    )


CALLS = [
    facts_of(*call)
    for call in (
        READ, WRITE, DELETE, ("mail send", {"target": "outgoingMessages[0]"}),
        ("mail get", {"target": "accounts[0].password"}),
        ("mail set", {"target": "inbox.messages", "properties": {"read status": True}}),
        ("terminal do_script", {"command": "ls"}),
        ("finder move", {"target": "~/Documents/a", "to": "~/Desktop", "replacing": True}),
        ("finder move", {"target": "~/Documents/a", "to": "~/Library/LaunchAgents"}),
        ("standard_additions open_location", {"target": "javascript:1"}),
    )
]  # fmt: skip


@given(
    st.sampled_from(CALLS),
    policies(),
    st.booleans(),
    st.sampled_from(["", "decision 1"]),
    st.sampled_from(["com.apple.Notes", "com.apple.SecurityAgent", "", "com.apple.Terminal", None]),
)
def test_whatever_the_policy_deny_is_final_and_dangerous_is_asked(
    facts: CallFacts, policy: Policy, can_ask: bool, remembered: str, identity: str | None
) -> None:
    facts = replace(facts, ways=("client",) if can_ask else ())
    if identity is not None:
        facts = on(facts, identity)
    found = decide_call(facts, policy, settings_of(policy), remembered=remembered)
    if found.level == "DANGEROUS":
        assert found.action != "allow"
    if found.action == "ask":
        assert can_ask
    if facts.secrets or any(row.to == "deny" for row in facts.raised):
        assert found.action == "deny"
    if not facts.is_read_only and (policy.read_only or policy.preset == "read-only"):
        assert found.action == "deny"
    if not facts.is_read_only and identity in ("", *FIXED):
        assert found.action == "deny"
    if found.offers_always:
        assert found.level == facts.level == "MODIFY"
        assert not found.rules
    if found.action == "allow" and remembered and found.source == remembered:
        assert found.level == "MODIFY"
    assert found.source
    assert LEVELS.index(found.level) >= (0 if found.own_rule else LEVELS.index(facts.level))


def test_rules_are_registered_from_many_threads() -> None:
    made: list[LevelRule] = []

    def work() -> None:
        made.append(iac_runtime.register_rule("MODIFY", tool="nothing"))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8
    for rule in made:
        REGISTERED_RULES.remove(rule)
    assert not set(made) & set(REGISTERED_RULES)
    assert all(rule.message for rule in RULES)


@pytest.mark.parametrize(
    ("target", "action", "alone"),
    [
        ('processes["Notes"].windows[0].name', "deny", "allow"),
        ('applicationProcesses["Notes"].windows[0].name', "deny", "allow"),
        ('uiElements["Notes"].windows[0].name', "deny", "allow"),
        ('processes.whose({bundleIdentifier: "com.apple.Notes"})[0].windows', "deny", "allow"),
        # Whatever it is, it may be one that keeps secrets.
        ("processes.whose({frontmost: true})[0].windows[0].name", "ask", "ask"),
        ("processes[0].windows[0].name", "ask", "ask"),
        ('processes["Elsewhere"].windows[0].name', "ask", "allow"),
        ("processes[0].name", "allow", "allow"),
    ],
)
def test_a_denied_app_is_not_read_through_its_process(target: str, action: str, alone: str) -> None:
    call = ("system_events get", {"target": target})
    for app in ("com.apple.Notes", "Notes"):
        assert judged(call, f'[[deny]]\napp = "{app}"').action == action
    assert judged(call).action == alone
    other = judged(call, '[[ask]]\napp = "Notes"')
    assert other.action == ("allow" if action == "allow" else "ask")


@pytest.mark.parametrize(
    "url",
    ["https://evil.example/x", "https://evil.example\\@good.example/", "https://EVIL.example."],
)
def test_where_a_value_goes_is_every_host_that_an_address_may_lead_to(url: str) -> None:
    call = ("standard_additions open_location", {"target": url})
    assert judged(call, "[[deny]]\nsends_to = 'evil.example'").action == "deny"
    assert judged(call, "[[deny]]\nsends_to = 'other.example'").action == "ask"
