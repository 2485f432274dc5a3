"""What may happen, as a person sets it: apps in three states, presets, answers kept, rules.

All of it stands in the user's policy file, which keeps its comments. What the page sets of an app
are rules with a reason that says so, and the page changes none but those.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import tomlkit
from tomlkit.items import AoT

from iac_base.errors import InvalidParameterError, SetupError, ToolError
from iac_base.files import FileContent, read_file_content
from iac_base.files import replace_file_content as put
from iac_page.calls import View, days_ago, read_audit
from iac_page.marks import AppMark, AppMarks
from iac_runtime.audit.reading import AuditEntry, AuditQuery
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call
from iac_runtime.policy.approvals import ApprovalStore, list_approvals
from iac_runtime.policy.decide import PolicyLayer, decide_by_layers, explain_rules
from iac_runtime.policy.facts import CallFacts
from iac_runtime.policy.permissions import Requester
from iac_runtime.policy.policy_file import load_policy, parse_policy, policy_path
from iac_runtime.policy.rules import Match, describe_rule
from iac_runtime.policy.settings import PRESETS, Policy, PolicyFlags, read_settings
from iac_runtime.serve.status import status_facts
from iac_runtime.tool import LEVELS
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.tables import function_behind

DAYS: Final = 30
MOST: Final = 400
"""Calls of the last days that rules are tried on, the newest."""

_MARK: Final = "Set on the page: "
_ASK: Final = "ask"
_STATES: Final[Mapping[str, Sequence[tuple[str, Sequence[str]]]]] = {
    _ASK: (),
    "read": (("allow", ("SAFE",)), ("deny", ("MODIFY", "DANGEROUS"))),
    "off": (("deny", ()),),
}
"""What the page sets of an app -> the kinds of rules that do it, with their levels (none: all)."""

SPANS: Final[Mapping[str, timedelta | None]] = {
    "always": None,
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
}
"""For how long what a person sets holds."""


class AppTile(NamedTuple):
    """An app with what is set of it, until when, and how many of its tools have each level."""

    app: AppMark
    state: str
    until: str
    levels: Mapping[str, int]


class KeptAnswer(NamedTuple):
    """An "Always allow" answer; `void` where it no longer counts."""

    id: int
    says: str
    made: str
    client: str
    void: bool


class RuleRow(NamedTuple):
    """A rule: what it does, in words, where it stands, how many calls it fits."""

    kind: str
    says: str
    where: str
    calls: int


class RuleDraft(NamedTuple):
    """A rule that is not in the file yet, in words, and the calls that it would have decided."""

    wrong: str
    calls: Sequence[AuditEntry] = ()
    says: str = ""


def permissions_view(gate: Gate, catalogue: Catalogue, marks: AppMarks) -> View:
    """Return apps and what is set of each, the presets, the answers that were kept, and tasks."""
    policy = load_policy()
    counted: dict[str, dict[str, int]] = {key: dict.fromkeys(LEVELS, 0) for key in catalogue.apps}
    for row in catalogue.tools.values():
        counted[row.app.key][row.level] += 1
    tiles = [
        AppTile(mark, *_state_of(policy, catalogue.apps[mark.key].id), counted[mark.key])
        for mark in marks.names()
    ]
    servers = status_facts()["servers"]
    return {
        "apps": tiles,
        "presets": [(name, one.description) for name, one in PRESETS.items()],
        "preset": policy.preset,
        "answers": list(_kept_answers(gate.permissions.store)),
        "tasks": [(server["pid"], task) for server in servers for task in server["tasks"]],
        "spans": list(SPANS),
    }


def _state_of(policy: Policy, app: str) -> tuple[str, str]:
    """Return what the page has set of an app, and until when (local time)."""
    for match in (*policy.deny, *policy.allow):
        state = match.why.removeprefix(_MARK)
        if match.app == (app,) and match.why.startswith(_MARK) and state in _STATES:
            if match.until is None:
                return state, ""
            if match.until.timestamp() > time.time():
                return state, f"{match.until:%Y-%m-%d %H:%M}"
    return _ASK, ""


def _kept_answers(store: ApprovalStore) -> Iterator[KeptAnswer]:
    for row in list_approvals(store):
        yield KeptAnswer(row.id, row.says, row.made, row.client, not row.valid)


def set_app_state(app: str, state: str, span: str) -> None:
    """Write into the user's file what is to hold of an app; its own rules of before go.

    Raises:
        SetupError: The file cannot be read or written.
        InvalidParameterError: There is no such state or span.
    """
    if state not in _STATES or span not in SPANS:
        raise InvalidParameterError(f"There is no state {state} for {span}.")
    file = read_file_content(policy_path())
    document = _policy_document(file)
    for kind in ("allow", "deny"):
        rules = document.get(kind)
        if isinstance(rules, AoT):
            mine = [at for at, rule in enumerate(rules) if _is_mine(rule, app)]
            for at in reversed(mine):
                del rules[at]
            if not rules:
                del document[kind]
    length = SPANS[span]
    for kind, levels in _STATES[state]:
        rule = tomlkit.table()
        rule["app"] = app
        if levels:
            rule["level"] = list(levels)
        if length is not None:
            rule["until"] = (datetime.now() + length).replace(microsecond=0)
        rule["why"] = f"{_MARK}{state}"
        document.setdefault(kind, tomlkit.aot()).append(rule)
    _write_policy(file, tomlkit.dumps(document))


def _policy_document(file: FileContent) -> tomlkit.TOMLDocument:
    """Return the user's file to be changed. Raises SetupError: it has a mistake, or other forms."""
    text = _policy_text(file)
    parse_policy(text, "policy.toml")
    document = tomlkit.parse(text)
    for kind in ("allow", "deny"):
        if kind in document and not isinstance(document[kind], AoT):
            raise SetupError(
                f"policy.toml: write each rule as [[{kind}]]; then the page adds to it."
            )
    return document


def _is_mine(rule: Mapping[str, Any], app: str) -> bool:
    return rule.get("app") == app and str(rule.get("why", "")).startswith(_MARK)


def set_preset(name: str) -> None:
    """Write a preset into the user's file. Raises SetupError."""
    file = read_file_content(policy_path())
    document = _policy_document(file)
    fresh = "preset" not in document
    document["preset"] = name
    text = tomlkit.dumps(document)
    if fresh:
        # A key behind a table would belong to it.
        text = f'preset = "{name}"\n{_policy_text(file)}'
    _write_policy(file, text)


def _write_policy(file: FileContent, text: str) -> None:
    parse_policy(text, "policy.toml")
    file.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # The file may be a link into a folder of settings, and stays one.
    put(file, text.encode())


def prompts_by_preset(state: Path, gate: Gate) -> Mapping[str, float]:
    """Return how many prompts a day each preset would have asked for, by the last month's calls."""
    entries = recent_calls(state)
    if not entries:
        return {}
    first = min(datetime.fromisoformat(one.time) for one in entries)
    days = max((datetime.now(first.tzinfo) - first).total_seconds() / 86_400, 1.0)
    known = [facts for one in entries if (facts := _facts_of(gate, one)) is not None]
    policy = gate.permissions.policy
    found = {}
    for name in PRESETS:
        chosen = replace(policy, preset=name)
        layer = PolicyLayer(chosen, read_settings(PolicyFlags(), {}, chosen))
        asked = sum(decide_by_layers(facts, (layer,)).action == "ask" for facts in known)
        found[name] = asked * (len(entries) / len(known)) / days if known else 0.0
    return found


def list_rules(state: Path, gate: Gate) -> list[RuleRow]:
    """Return the rules of the user's file with how many calls of the last days each fits."""
    policy = load_policy()
    counted: dict[str, int] = {}
    for entry in recent_calls(state) if _rules_of(policy) else ():
        for source in _matching_rules(gate, policy, entry):
            counted[source] = counted.get(source, 0) + 1
    rows = [
        ("level", f"{describe_rule(one.match)} is {one.level}", one.match) for one in policy.rules
    ]
    for kind, matches in (
        ("deny", policy.all_denials),
        ("ask", policy.ask),
        ("allow", policy.allow),
    ):
        rows += [(kind, describe_rule(one), one) for one in matches]
    folder = f"{policy_path().parent}/"
    return [
        RuleRow(kind, says, one.source.removeprefix(folder), counted.get(one.source, 0))
        for kind, says, one in rows
    ]


def recent_calls(state: Path) -> list[AuditEntry]:
    """Return the newest calls of the last days, the newest first."""
    return read_audit(state, AuditQuery(since=days_ago(DAYS)), MOST)


def compose_rule(asked: Mapping[str, str]) -> str:
    """Return the rule that a form describes, as TOML.

    `asked` has action (deny, ask, allow), app (a bundle id), level, tool, client, from and to
    (hours); what is empty is no part of the rule.
    """
    rule = tomlkit.table()
    for key in ("app", "tool", "client", "level"):
        if value := asked.get(key, "").strip():
            rule[key] = value
    begins, ends = asked.get("from", "").strip(), asked.get("to", "").strip()
    if begins and ends:
        rule["hours"] = f"{begins}-{ends}"
    if why := asked.get("why", "").strip():
        rule["why"] = why
    action = asked.get("action", "deny")
    return f"[[{action if action in ('deny', 'ask', 'allow') else 'deny'}]]\n{rule.as_string()}"


def try_rule(state: Path, gate: Gate, text: str) -> RuleDraft:
    """Return which calls of the last days a rule more would have decided, or what is wrong."""
    try:
        before, after = _parse_policies(text)
    except SetupError as error:
        return RuleDraft(str(error))
    known = {one.source for one in _rules_of(before)}
    added = [one for one in _rules_of(after) if one.source not in known]
    fits = [
        entry
        for entry in recent_calls(state)
        if any(source not in known for source in _matching_rules(gate, after, entry))
    ]
    return RuleDraft("", fits, "; ".join(map(describe_rule, added)))


def save_rule(text: str) -> Path:
    """Add a rule to the user's file, which is replaced only if it is right. Raises SetupError."""
    file = read_file_content(policy_path())
    _write_policy(file, _append_rule(file, text))
    return file.path


def rule_from_call(entry: AuditEntry) -> str:
    """Return a rule that denies a call like this one, to begin with."""
    app = f'app = "{entry.app}"\n' if entry.app and '"' not in entry.app else ""
    return f'[[deny]]\ntool = "{entry.tool}"\n{app}why = "…"\n'


def _parse_policies(text: str) -> tuple[Policy, Policy]:
    file = read_file_content(policy_path())
    whole = _append_rule(file, text)
    return parse_policy(_policy_text(file), "policy.toml"), parse_policy(whole, "policy.toml")


def _append_rule(file: FileContent, text: str) -> str:
    before = _policy_text(file)
    return f"{before.rstrip()}\n\n{text.strip()}\n" if before.strip() else f"{text.strip()}\n"


def _policy_text(file: FileContent) -> str:
    try:
        return (file.content or b"").decode()
    except UnicodeDecodeError:
        raise SetupError(f"{file.path} is not UTF-8. Save it as UTF-8.") from None


def _rules_of(policy: Policy) -> list[Match]:
    levels = (one.match for one in policy.rules)
    return [*levels, *policy.all_denials, *policy.ask, *policy.allow]


def _matching_rules(gate: Gate, policy: Policy, entry: AuditEntry) -> Iterator[str]:
    """Yield where the rules stand that fit a call, as far as its record tells."""
    facts = _facts_of(gate, entry, policy)
    if facts is None:
        return
    level = decide_by_layers(facts, (PolicyLayer(policy, gate.permissions.settings),)).level
    for _kind, match, fails in explain_rules(facts, policy, level):
        if not fails:
            yield match.source


def _facts_of(gate: Gate, entry: AuditEntry, policy: Policy | None = None) -> CallFacts | None:
    """Return the facts of a call of the audit, planned anew; None where that cannot be done."""
    # Planning a call of another tool may look at the screen.
    known = gate.catalogue.tools if gate.catalogue else {}
    if not isinstance(entry.arguments, Mapping) or entry.tool not in known:
        return None
    asker = Requester(entry.client, (policy or gate.permissions.policy).approvers)
    try:
        plan = gate.plan_call(Call(_performed_tool(gate, entry.tool), entry.arguments))
    except (ToolError, SetupError):
        return None
    return gate.permissions.with_caller(replace(plan.facts, tool=entry.tool), asker)


def _performed_tool(gate: Gate, tool: str) -> str:
    """Return the tool whose arguments are in the record of a call: of a recipe the one behind it.

    Raises ToolError.
    """
    assert gate.catalogue is not None
    operation, row = gate.catalogue.load_operation(tool), gate.catalogue.find_row(tool)
    if not operation.spec.bind:
        return tool
    function = function_behind(operation)
    rows = gate.catalogue.tools.values()
    return next((one.name for one in rows if (one.app, one.function) == (row.app, function)), tool)
