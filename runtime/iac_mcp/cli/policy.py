"""`iac-mcp policy`: what may run, why, and what was allowed for good.

What a team expects of its policy stands in a file of its own: calls, and what is done with them.
Exit status: 0 done or as wished; 1 the call of `check` would not run, a word is not known or an
expectation fails; 2 wrong usage or set-up.
"""

import contextlib
import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

import click

from iac_base.errors import SetupError, ToolError
from iac_base.files import FileContent, open_state, read_file_content, replace_file_content
from iac_base.positions import Path as Where
from iac_base.text import escape_hidden
from iac_mcp.cli.common import ARGUMENTS, HELP, TOOLS
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.limiter import RateLimits, calls_per_second
from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.gate.plans import Call
from iac_runtime.policy.decide import decide_call, explain_rules
from iac_runtime.policy.documents import TableKeys, TableReader, table_keys
from iac_runtime.policy.facts import Action, CallFacts, Decision
from iac_runtime.policy.permissions import Requester, open_permissions
from iac_runtime.policy.places import BUILT_IN, FIXED
from iac_runtime.policy.policy_file import (
    load_policy,
    parse_policy,
    policy_path,
    unknown_words,
)
from iac_runtime.policy.rules import DAYS, describe_rule
from iac_runtime.policy.settings import PRESETS, Policy, PolicyFlags
from iac_runtime.policy.wording import escaped_json
from iac_runtime.serve.call import unwrap_call_tool
from iac_runtime.tools.catalogue import Catalogue, tool_folders
from iac_runtime.tools.lock import lock_digest
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


@click.group(context_settings=HELP)
def policy() -> None:
    """Show, test and change what tools may do."""


_NOON: Final = "mon 12:00"


class ExpectedDecision(NamedTuple):
    """A call and what is to be done with it.

    Attributes:
        call: The tool.
        decision: What is to be done.
        arguments, client, server: What is called with, by whom, and by which server.
        at: When, of which day and hour count.
        rule: What must stand in what decided or in a reason: `line 3`, `preset`; empty for any.
        line: Where it stands.
    """

    call: str
    decision: Action
    arguments: Mapping[str, Any]
    client: str
    server: str
    at: time.struct_time
    rule: str
    line: int


class Expectations(NamedTuple):
    """The policy that is meant, as a path from the file on (empty for the user's own), and rows."""

    policy: str
    rows: tuple[ExpectedDecision, ...]


def read_expectations(text: str, name: str) -> Expectations:
    """Return what a TOML text expects; `name` is the file's, for messages.

    Raises:
        SetupError: It is not right; one line with the line, and the nearest known word.
    """
    reader = _ExpectationsReader(text, name)
    table = reader.read_table((), reader.document.value, _KEYS)
    return Expectations(table.get("policy", ""), table.get("expect", ()))


class _ExpectationsReader(TableReader):
    """Reads expectations."""

    def read_decision(self, where: Where, value: Any) -> str:
        return self.read_word(where, value, get_args(Action), "there is no decision {}.")

    def read_arguments(self, where: Where, value: Any) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            self.raise_error(where, "arguments must be a table.")
        return value

    def read_time(self, where: Where, value: Any) -> time.struct_time:
        words = value.split(" ") if isinstance(value, str) else []
        try:
            day, clock = DAYS.index(words[0]), time.strptime(words[1], "%H:%M")
        except (ValueError, IndexError):
            self.raise_error(where, f'at must be a day and a time, such as "{_NOON}".')
        return time.struct_time((*clock[:6], day, *clock[7:]))

    def read_rows(self, where: Where, value: Any) -> tuple[ExpectedDecision, ...]:
        if not isinstance(value, list):
            self.raise_error(where, "write each one under a separate line: [[expect]]")
        rows: list[ExpectedDecision] = []
        for at, part in enumerate(value):
            spot = (*where, at)
            row = self.read_table(spot, part, _ROW)
            for key in ("call", "decision"):
                if key not in row:
                    self.raise_error(spot, f"this [[expect]] has no {key}.")
            usual = dict.fromkeys(("client", "rule", "server"), "")
            row = {"arguments": {}, "at": self.read_time(spot, _NOON), **usual, **row}
            rows.append(ExpectedDecision(**row, line=self.document.line_of(spot)))
        return tuple(rows)


_ROW: Final[TableKeys] = {
    "arguments": ("arguments", _ExpectationsReader.read_arguments),
    "at": ("at", _ExpectationsReader.read_time),
    "decision": ("decision", _ExpectationsReader.read_decision),
    **table_keys("call client rule server", _ExpectationsReader.read_single_line),
}
_KEYS: Final[TableKeys] = {
    "expect": ("expect", _ExpectationsReader.read_rows),
    "policy": ("policy", _ExpectationsReader.read_single_line),
}


@policy.command()
@policy_options
def show(
    policy_file: Path | None,
    blocklist: tuple[str, ...],
    rate_limit: float | None,
    server: str,
    read_only: bool,
) -> None:
    """Show the settings in force, and where each comes from."""
    permissions = open_permissions(
        PolicyFlags(read_only, rate_limit, blocklist, server), policy_file
    )
    path = policy_path(policy_file)
    click.echo(f"file        {path}{'' if path.exists() else '  (missing: the defaults apply)'}")
    settings, rules = permissions.settings, permissions.policy
    preset, usual = str(settings.preset.value), RateLimits()
    limits = (
        ("writes", settings.rate_limit.value, settings.rate_limit.source),
        (
            "reads",
            rules.reads_per_second or calls_per_second(usual.reads),
            _limit_source(rules, "reads"),
        ),
        (
            "DANGEROUS calls",
            rules.dangerous_per_second or calls_per_second(usual.dangerous),
            _limit_source(rules, "dangerous"),
        ),
    )
    off = rules.blocklist_remove
    count = len(FIXED) + len(BUILT_IN) - len(off)
    rows = [
        ("preset", f"{preset}: {PRESETS[preset].description}", settings.preset.source),
        ("read-only", "yes" if settings.read_only.value else "no", settings.read_only.source),
        *([("server", settings.server, "--server or IAC_SERVER")] if settings.server else ()),
        *(("limit", f"{count:.3g} {kind} a second", source) for kind, count, source in limits),
        *(("blocklist", str(entry.value), entry.source) for entry in settings.blocklist),
        *(("blocklist", f"without {entry}", rules.source_of_key("blocklist")) for entry in off),
        ("blocklist", f"{count} entries, {len(FIXED)} of them fixed", "default"),
        ("approvers", ", ".join(rules.approvers) or "nobody", rules.source_of_key("approvers")),
        *(("launch", app, rules.source_of_key("launch")) for app in rules.launch),
        *(("reads", app, rules.source_of_key("reads")) for app in rules.reads),
        *(("secrets", app, rules.source_of_key("secrets")) for app in rules.secrets),
        *(("deny", describe_rule(match), match.source) for match in rules.all_denials),
        *(("ask", describe_rule(match), match.source) for match in rules.ask),
        *(("allow", describe_rule(match), match.source) for match in rules.allow),
        *(
            ("your rule", f"{describe_rule(rule.match)} is {rule.level}", rule.match.source)
            for rule in rules.rules
        ),
    ]
    for name, value, source in rows:
        click.echo(escape_hidden(f"{name:<11} {value}  ({source or 'default'})"))


def _limit_source(found: Policy, kind: str) -> str:
    is_set = getattr(found, f"{kind}_per_second") is not None
    return found.source_of_key("limits") if is_set else "default"


@policy.command()
@click.option(
    "--policy",
    "policy_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The policy file.",
)
def edit(policy_file: Path | None) -> int:
    """Open the policy in $VISUAL or $EDITOR; save it only if it is valid."""
    path = policy_path(policy_file)
    current = read_file_content(path)
    draft = read_file_content(path.with_name(f"{path.name}.draft-{secrets.token_hex(4)}"))
    sample = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    before = sample if current.content is None else _policy_text(current)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_file_content(draft, before.encode())
    failed = ""
    try:
        click.edit(filename=str(draft.path))
    except click.ClickException as error:
        failed = error.message
    after = _policy_text(read_file_content(draft.path))
    if failed:
        kept = f" Your text is in {draft.path}." if after != before else ""
        if not kept:
            draft.path.unlink()
        raise SetupError(f"{failed.rstrip('.')}. The policy is unchanged.{kept}")
    if after == before and current.content is not None:
        draft.path.unlink()
        click.echo("Nothing was changed.")
        return 0
    try:
        parse_policy(after, path.name)
    except SetupError as error:
        raise SetupError(
            f"{error} The policy is unchanged. Your text is saved in {draft.path}."
        ) from None
    # The file may be a link into a folder of settings, and stays one.
    replace_file_content(current, after.encode())
    draft.path.unlink()
    click.echo(f"{path} is saved. It takes effect when a server starts.")
    return 0


def _policy_text(found: FileContent) -> str:
    try:
        return (found.content or b"").decode()
    except UnicodeDecodeError:
        raise SetupError(f"{found.path} is not UTF-8; save it as UTF-8.") from None


@policy.command()
@click.option("--revoke", metavar="ID|all", help="Revoke one answer, or all.")
def decisions(revoke: str | None) -> int:
    """List your "always allow" answers, or revoke them."""
    from iac_runtime.policy.approvals import ApprovalStore, list_approvals
    from iac_runtime.policy.approvals import revoke_approvals as forget

    store = ApprovalStore()
    if revoke is not None:
        if revoke != "all" and not revoke.isdecimal():
            raise click.UsageError("--revoke needs the number of a decision, or all.")
        count = forget(store, None if revoke == "all" else int(revoke))
        if not count and revoke != "all":
            raise click.UsageError(
                f"There is no decision {revoke}. iac-mcp policy decisions lists them."
            )
        click.echo(f"Revoked: {count}.")
        return 0
    rows = list_approvals(store)
    current = _current_digests()
    for row in rows:
        state = "" if row.valid else "  void: this row was changed by hand"
        if row.valid and current.get(row.tool, row.digest) != row.digest:
            state = "  void: the tools of the app have changed"
        client = f" by {row.client}" if row.client else ""
        click.echo(escape_hidden(f"{row.id}  {row.says}  {row.made}{client}{state}"))
    if not rows:
        click.echo('You have no "always allow" answers.')
    return 0


def _current_digests() -> dict[str, str]:
    with contextlib.suppress(SetupError):
        catalogue = Catalogue(tool_folders())
        return {name: lock_digest(row.app.folder, name) for name, row in catalogue.tools.items()}
    return {}


@policy.command()
def pause() -> int:
    """Refuse all calls of all programs until you resume, and stop those that run.

    \b
    Examples:
      iac-mcp policy pause                 everything stops
      iac-mcp policy resume                calls run again
    """
    from iac_runtime.serve.status import pause_everything

    pause_everything()
    click.echo("All calls are paused. Go on with: iac-mcp policy resume")
    return 0


@policy.command()
def resume() -> int:
    """End a pause of all calls, and allow prompts again after too many were declined."""
    from iac_runtime.policy.approvals import ApprovalStore
    from iac_runtime.policy.approvals import resume_clients as begin_anew
    from iac_runtime.policy.pause import resume_calls

    load_policy()
    if resume_calls(open_state()):
        click.echo("Calls run again.")
    was = begin_anew(ApprovalStore())
    click.echo("Approval prompts can appear again." if was else "Approval prompts were not paused.")
    return 0


@policy.command()
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
    loaded = load_policy(options.policy)
    wrong = unknown_words(loaded, Catalogue(tool_folders(options.tools)), added_tools())
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


@policy.command()
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


@policy.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@TOOLS
@policy_options
def test(file: Path, tools: tuple[Path, ...], **gate: Any) -> int:
    """Judge the calls in FILE, and compare each decision with the expected one."""
    try:
        expected = read_expectations(file.read_text(encoding="utf-8"), file.name)
    except OSError as error:
        raise SetupError(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise SetupError(f"{file} is not UTF-8; save it as UTF-8.") from None
    options = _gate_options(tools, gate)
    if expected.policy and options.policy is None:
        options = options._replace(policy=file.parent / expected.policy)
    opened, failed = build_gate(options), 0
    try:
        for row in expected.rows:
            outcome, fails = _check_expectation(opened, row)
            failed += fails
            state = "FAIL" if fails else "ok  "
            click.echo(escape_hidden(f"{state} {file.name} line {row.line}: {row.call} {outcome}"))
    finally:
        opened.close()
    click.echo(f"{len(expected.rows) - failed} as expected, {failed} not.")
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
