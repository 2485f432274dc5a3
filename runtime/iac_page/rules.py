"""Rules on the page: the policy as it is, the calls that a rule fits, a rule more in the file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.errors import SetupError, ToolError
from iac_base.files import FileContent, read_file_content
from iac_base.files import replace_file_content as put
from iac_runtime.audit.reading import AuditEntry, AuditQuery, find_calls
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call
from iac_runtime.policy.decide import explain_rules
from iac_runtime.policy.permissions import Requester
from iac_runtime.policy.policy_file import load_policy, parse_policy, policy_path
from iac_runtime.policy.rules import describe_rule
from iac_runtime.policy.settings import Policy
from iac_runtime.tools.tables import function_behind

DAYS: Final = 30
MOST: Final = 400
"""Calls of the last days that rules are tried on, the newest."""


class RuleRow(NamedTuple):
    """A rule: what it does, in words, where it stands, how many calls it fits."""

    kind: str
    says: str
    where: str
    calls: int


class RuleDraft(NamedTuple):
    """A rule that is not in the file yet, and the calls that it would have decided."""

    wrong: str
    calls: Sequence[AuditEntry] = ()


def list_rules(state: Path, gate: Gate) -> list[RuleRow]:
    """Return the rules of the user's file with how many calls of the last days each fits."""
    policy = load_policy()
    counted: dict[str, int] = {}
    for entry in recent_calls(state):
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
    since = (datetime.now(UTC) - timedelta(days=DAYS)).isoformat(timespec="seconds")
    try:
        return find_calls(state, AuditQuery(since=since), MOST)[::-1]
    except SetupError:
        return []


def try_rule(state: Path, gate: Gate, text: str) -> RuleDraft:
    """Return which calls of the last days a rule more would have decided, or what is wrong."""
    try:
        before, after = _parse_policies(text)
    except SetupError as error:
        return RuleDraft(str(error))
    known = {one.source for one in _all_matches(before)}
    fits = [
        entry
        for entry in recent_calls(state)
        if any(source not in known for source in _matching_rules(gate, after, entry))
    ]
    return RuleDraft("", fits)


def save_rule(text: str) -> Path:
    """Add a rule to the user's file, which is replaced only if it is right. Raises SetupError."""
    path = policy_path()
    _parse_policies(text)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = read_file_content(path)
    # The file may be a link into a folder of settings, and stays one.
    put(found, _append_rule(found, text).encode())
    return path


def rule_from_call(entry: AuditEntry) -> str:
    """Return a rule that denies a call like this one, to begin with."""
    app = f'app = "{entry.app}"\n' if entry.app and '"' not in entry.app else ""
    return f'[[deny]]\ntool = "{entry.tool}"\n{app}why = "…"\n'


def _parse_policies(text: str) -> tuple[Policy, Policy]:
    found = read_file_content(policy_path())
    before = _read_policy_text(found)
    return parse_policy(before, "policy.toml"), parse_policy(
        _append_rule(found, text), "policy.toml"
    )


def _append_rule(found: FileContent, text: str) -> str:
    before = _read_policy_text(found)
    return f"{before.rstrip()}\n\n{text.strip()}\n" if before.strip() else f"{text.strip()}\n"


def _read_policy_text(found: FileContent) -> str:
    try:
        return (found.content or b"").decode()
    except UnicodeDecodeError:
        raise SetupError(f"{found.path} is not UTF-8. Save it as UTF-8.") from None


def _all_matches(policy: Policy) -> Iterator[Any]:
    yield from (one.match for one in policy.rules)
    yield from (*policy.all_denials, *policy.ask, *policy.allow)


def _matching_rules(gate: Gate, policy: Policy, entry: AuditEntry) -> Iterator[str]:
    """Yield where the rules stand that fit a call, as far as its record tells."""
    # Planning a call of another tool may look at the screen.
    known = gate.catalogue.tools if gate.catalogue else {}
    if not isinstance(entry.arguments, Mapping) or entry.tool not in known:
        return
    try:
        plan = gate.plan_call(Call(_performed_tool(gate, entry.tool), entry.arguments))
        facts = replace(plan.facts, tool=entry.tool)
        asker = Requester(entry.client, policy.approvers)
        facts, decision = gate.judge_plan(replace(plan, facts=facts), asker)
    except (ToolError, SetupError):
        return
    for _kind, match, fails in explain_rules(facts, policy, decision.level):
        if not fails:
            yield match.source


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
