"""`iac-mcp policy check`, `explain` and `test`: what would be done with calls, and why.

Exit status: 0 as wished, 1 a call would not run, a word is not known, an expectation fails, 2 wrong
usage or set-up.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from iac_base.errors import SetupError, ToolError
from iac_base.text import escape_hidden
from iac_mcp.cli.common import ARGUMENTS, TOOLS
from iac_mcp.cli.expectations import ExpectedDecision, read_expectations
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.gate.plans import Call
from iac_runtime.policy.decide import decide_call, explain_rules
from iac_runtime.policy.facts import CallFacts, Decision
from iac_runtime.policy.permissions import Requester
from iac_runtime.policy.policy_file import load_policy, unknown_words
from iac_runtime.policy.prompts import escaped_json
from iac_runtime.serve.calling import unwrap_call_tool
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.folders import tool_folders
from iac_runtime.tools.own import added_tools

_OPTIONS: Final = (
    click.option(
        "--policy",
        "policy_file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="The policy file to use instead of your own.",
    ),
    click.option(
        "--blocklist",
        multiple=True,
        metavar="ID,...",
        help="Bundle ids of more apps that no tool may change.",
    ),
    click.option("--rate-limit", type=float, metavar="N", help="How many writes a second may run."),
    click.option(
        "--server", default="", metavar="NAME", help="Decide as if this server ran the call."
    ),
    click.option("--read-only", is_flag=True, help="Allow only reads."),
)


def policy_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every command that reads the policy."""
    for option in _OPTIONS:
        command = option(command)
    return command


@click.command()
@click.argument("tool", required=False)
@ARGUMENTS
@TOOLS
@click.option("--client", default="", help="Decide as if this client made the call.")
@click.option("--json", "as_json", is_flag=True, help="Print the decision as JSON.")
@policy_options
def check(
    tool: str | None,
    arguments: dict[str, Any],
    tools: tuple[Path, ...],
    client: str,
    as_json: bool,
    **gate: Any,
) -> int:
    """Print whether a call of TOOL would run, and which rule decides; send nothing.

    Without TOOL, find unknown names in the policy.
    """
    options = _gate_options(tools, gate)
    if tool is None:
        return _check_policy(options)
    facts, decision = _judge_call(options, tool, arguments, client)
    if as_json:
        click.echo(json.dumps(_decision_json(facts, decision), indent=2))
    else:
        for line in _decision_lines(facts, decision):
            click.echo(line)
    return 1 if decision.action == "deny" else 0


def _gate_options(tools: tuple[Path, ...], gate: dict[str, Any]) -> GateOptions:
    read_only = gate.pop("read_only") or None  # A flag left out says nothing.
    return GateOptions(tools, policy=gate.pop("policy_file"), read_only=read_only, **gate)


def _check_policy(options: GateOptions) -> int:
    found = load_policy(options.policy)
    wrong = unknown_words(found, Catalogue(tool_folders(options.tools)), added_tools())
    for line in wrong:
        click.echo(escape_hidden(line))
    if not wrong:
        click.echo("Every app, tool, argument and enumerator in the policy is known.")
    return 1 if wrong else 0


def _judge_call(
    options: GateOptions, tool: str, given: Mapping[str, Any], client: str
) -> tuple[CallFacts, Decision]:
    """Return what the gate knows of a call, and what it would do with it."""
    gate = build_gate(options)
    try:
        # Whoever asks what would happen wants to know of the question, so somebody can be asked.
        caller = Requester(client, gate.permissions.policy.approvers)
        return gate.judge_plan(gate.plan_call(unwrap_call_tool(Call(tool, given))), caller)
    finally:
        gate.close()


def _decision_lines(facts: CallFacts, decision: Decision) -> Iterator[str]:
    words = {
        "allow": "It would run.",
        "ask": "It would require your approval.",
        "deny": "It would not run.",
    }
    yield words[decision.action]
    reach = "" if facts.level == decision.level else f" (its arguments alone: {facts.level})"
    yield f"level     {decision.level}{reach}"
    yield escape_hidden(f"decided   {decision.source}")
    for reason in decision.reasons:
        yield escape_hidden(f"because   {reason}")
    if decision.offers_always:
        yield escape_hidden(f"always    {decision.scope}")
    if decision.suggestion:
        yield escape_hidden(f"remedy    {decision.suggestion}")
    for key, value in facts.arguments.items():
        yield f"argument  {escape_hidden(key)} = {escaped_json(value)}"
    if facts.line:
        yield escape_hidden(f"runs      {facts.line}")


def _decision_json(facts: CallFacts, decision: Decision) -> dict[str, Any]:
    return {
        "action": decision.action,
        "level": decision.level,
        "source": decision.source,
        "reasons": list(decision.reasons),
        "rules": list(decision.rules),
        "own_rule": decision.own_rule,
        "suggestion": decision.suggestion,
        "line": facts.line,
    }


@click.command()
@click.argument("tool")
@ARGUMENTS
@TOOLS
@click.option("--client", default="", help="Decide as if this client made the call.")
@policy_options
def explain(
    tool: str, arguments: dict[str, Any], tools: tuple[Path, ...], client: str, **gate: Any
) -> int:
    """Print each rule for a call of TOOL, and why it does or does not match."""
    options = _gate_options(tools, gate)
    facts, decision = _judge_call(options, tool, arguments, client)
    for kind, row, fails in explain_rules(facts, load_policy(options.policy), decision.level):
        holds = f"does not match: {fails}" if fails else "matches"
        click.echo(escape_hidden(f"{row.source} ({kind}) {holds}"))
    for line in _decision_lines(facts, decision):
        click.echo(line)
    return 0


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@TOOLS
@policy_options
def test(file: Path, tools: tuple[Path, ...], **gate: Any) -> int:
    """Judge the calls in FILE, and compare each decision with the expected one."""
    try:
        found = read_expectations(file.read_text(encoding="utf-8"), file.name)
    except OSError as error:
        raise SetupError(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise SetupError(f"{file} is not UTF-8; save it as UTF-8.") from None
    options = _gate_options(tools, gate)
    if found.policy and options.policy is None:
        options = options._replace(policy=file.parent / found.policy)
    opened, failed = build_gate(options), 0
    try:
        for row in found.rows:
            said, fails = _check_expectation(opened, row)
            failed += fails
            state = "FAIL" if fails else "ok  "
            click.echo(escape_hidden(f"{state} {file.name} line {row.line}: {row.call} {said}"))
    finally:
        opened.close()
    click.echo(f"{len(found.rows) - failed} as expected, {failed} not.")
    return 1 if failed else 0


def _check_expectation(gate: Gate, row: ExpectedDecision) -> tuple[str, bool]:
    """Return what is to be said of an expectation, and whether it fails."""
    permissions = gate.permissions
    caller = Requester(row.client, permissions.policy.approvers)
    try:
        plan = gate.plan_call(unwrap_call_tool(Call(row.call, row.arguments)))
    except ToolError as error:
        return f"cannot be judged: {error.message} {error.suggestion}".rstrip(), True
    facts = permissions.with_caller(plan.facts, caller)
    facts = replace(facts, at=row.at, server=row.server or facts.server)
    # What this user allowed for good is no part of the policy.
    decision = decide_call(facts, permissions.policy, permissions.settings)
    ruled = any(row.rule in said for said in (decision.source, *decision.reasons))
    wanted = f"; expected {row.decision}{f' by {row.rule}' if row.rule else ''}"
    fails = decision.action != row.decision or not ruled
    return f"{decision.action} ({decision.source}){wanted if fails else ''}", fails
