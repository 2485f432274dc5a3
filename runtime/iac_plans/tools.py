"""The tools of plans: rehearsing a plan and running one; those that the user pinned are in files.

A plan is rehearsed, shown as a table, asked about once, and held against the table. The plan of
`run_plan` is a batch of the calls that its program would make, so what the gate does with several
calls it does with these: it judges each, asks once, binds the answer to them and to what they name.
The program then runs again; each of its changes must be one of those calls.
"""

import hashlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any, Final

from iac_base.errors import CallRefusedError, InvalidParameterError, ToolError
from iac_plans.check import ProgramUsage, read_program
from iac_plans.interpreter import (
    FrozenWorld,
    ProgramCalls,
    ProgramEndedError,
    Rehearsal,
    RehearsedCall,
    call_key,
    effects_table,
    has_position,
    is_read_only,
    rehearse_program,
    run_program,
    to_program_value,
)
from iac_plans.store import find_plan
from iac_runtime.gate.batch import TOLD_AS, BatchTargetReader, part_with_decision, plan_several
from iac_runtime.policy.prompts import LIFETIME
from iac_runtime.tool import Toolset, at_most, highest, limits, tool
from iac_runtime.toolkit import (
    Call,
    CallFacts,
    CallGate,
    CompletedCall,
    Decision,
    Outcome,
    Plan,
    Tool,
    ToolContext,
    ToolResult,
    clean_result,
    combined_outcome,
    describe_each_call,
    fit_to_limit,
)


class PlanStoppedError(ToolError):
    """A plan stopped on its way.

    Attributes:
        done, not_done: Its changes that were made and those that were not, a line each.
        undo: How those that were made are taken back, in order; empty where none was made.
    """

    def __init__(
        self, error: ToolError, done: Sequence[str], not_done: Sequence[str], undo: Sequence[str]
    ) -> None:
        many = f"{len(done)} of {len(done) + len(not_done)} changes" if done else "Nothing"
        super().__init__(
            TOLD_AS.get(error.type, error.type),
            f"The plan stopped: {error.message} {many} {'were made' if done else 'was changed'}.",
            error.suggestion,
            app=error.app,
            command=error.command,
            number=error.number,
            original=error.original,
        )
        self.done, self.not_done, self.undo = tuple(done), tuple(not_done), tuple(undo)

    def facts(self) -> dict[str, Any]:
        """Return the error as one JSON object, with what was done, what was not, and the undo."""
        more = {"done": [*self.done], "not_done": [*self.not_done], "undo": [*self.undo]}
        return {**super().facts(), **more}


class RehearsalTimes:
    """When each plan was first rehearsed: until its question is answered, that is its `now`."""

    def __init__(self, _context: ToolContext | None = None) -> None:
        self._seen: dict[str, tuple[float, datetime]] = {}

    def frozen_for(self, digest: str) -> FrozenWorld:
        """Return what the program of a digest is told of the time and of chance."""
        at = time.monotonic()
        self._seen = {key: row for key, row in self._seen.items() if at - row[0] < LIFETIME}
        _, now = self._seen.setdefault(digest, (at, datetime.now().astimezone()))
        return FrozenWorld(now, digest)

    def forget_time(self, digest: str) -> None:
        """Let the next run have a time of its own."""
        self._seen.pop(digest, None)

    def close(self) -> None:
        """Nothing is held."""


def plan_run(tool: Tool, call: Call, context: ToolContext) -> Plan:
    """Return the plan of running a program, or a plan that is kept by a name.

    Raises:
        ToolError: The program has faults, one line each, or its rehearsal failed.
        SetupError: The sandbox is not installed.
    """
    given = call.arguments
    if ("program" in given) == ("plan" in given):
        message = 'Give either "program", or "plan" with the name of a saved plan.'
        raise InvalidParameterError(message)
    if "plan" in given:
        saved = find_plan(given["plan"], _catalogue_folders(context))
        program = saved.program_for(given.get("arguments", {}))
    else:
        program = given["program"]
    return _plan_rehearsed(tool, call, context, program, only=tool.name == "rehearse_plan")


def plan_kept(tool: Tool, call: Call, context: ToolContext) -> Plan:
    """Return the plan of a tool that stands for a plan that is kept. Raises as `plan_run` does."""
    saved = find_plan(tool.name.removeprefix("plan_"), _catalogue_folders(context))
    if saved.to_tool().input != tool.input:
        raise InvalidParameterError(
            f"The plan {saved.name} has changed since it was listed as a tool.",
            f"The user can update the tool with: iac-mcp plans add --pin {saved.path}",
        )
    return _plan_rehearsed(tool, call, context, saved.program_for(call.arguments))


def _catalogue_folders(context: ToolContext) -> list[Any]:
    assert context.catalogue is not None
    return [folder.folder for folder in context.catalogue.tool_folders]


def _plan_rehearsed(
    tool: Tool, call: Call, context: ToolContext, program: str, *, only: bool = False
) -> Plan:
    gate, moments = context.gate, context.get_or_create(RehearsalTimes)
    assert context.catalogue is not None
    itself = CallFacts(tool.name, arguments=call.arguments)
    decision = gate.judge_plan(Plan(tool, itself, lambda _cancel: ToolResult(None)), call.caller)[1]
    if decision.action == "deny" and not decision.requires_prompt:
        # Its calls are judged each by itself; this is about plans as such.
        reasons = " ".join(decision.reasons)
        raise CallRefusedError(reasons, decision.suggestion, app="", command=tool.name)
    used = read_program(program, context.catalogue)
    whose = json.dumps([tool.name, program, call.caller.client])
    digest = hashlib.sha256(whose.encode()).hexdigest()
    try:
        rehearsal = rehearse_program(program, used, gate, call, moments.frozen_for(digest))
    except ToolError:
        moments.forget_time(digest)
        raise
    facts = CallFacts(tool.name, rehearsal.reads, call.arguments)
    if only or not rehearsal.calls:

        def perform(_cancel: Any) -> ToolResult:
            moments.forget_time(digest)
            value: dict[str, Any] = {"result": rehearsal.result}
            if only:
                parts = [made.plan.facts for made in rehearsal.calls]
                judged = [gate.judge_plan(made.plan, call.caller)[1] for made in rehearsal.calls]
                level = highest(decision.level for decision in judged)
                value |= {"effects": effects_table(parts), "level": level}
            cleaned = clean_result(ToolResult(value), call, context.permissions.taint, way="")
            return fit_to_limit(cleaned, context.limit, facts.effects, call.caller.token_client)

        return Plan(tool, facts, perform, resumable=False)
    run = _RehearsedProgram(tool, call, gate, program, used, moments, digest, rehearsal)
    plans = [made.plan for made in rehearsal.calls]
    whole = plan_several(plans, context.get_or_create(BatchTargetReader))
    return run.whole_plan(whole, replace(whole.facts, tool=tool.name, arguments=call.arguments))


@dataclass(frozen=True)
class _RehearsedProgram:
    """A program that was rehearsed, and what it may do."""

    tool: Tool
    call: Call
    gate: CallGate
    program: str
    usage: ProgramUsage
    rehearsal_times: RehearsalTimes
    digest: str
    rehearsal: Rehearsal

    def whole_plan(self, whole: Plan, facts: CallFacts) -> Plan:
        """Return the plan of all its calls, as one of this tool."""

        def look_again(known: CallFacts) -> Plan:
            assert whole.look is not None
            seen = whole.look(known)
            # What the plan itself changed before is not as it was seen.
            parts = tuple(
                replace(part, perform=made.plan.perform) if later else part
                for part, made, later in zip(
                    seen.parts,
                    self.rehearsal.calls,
                    _held_by_name(self.rehearsal.calls),
                    strict=True,
                )
            )
            return self.whole_plan(replace(seen, parts=parts), seen.facts)

        seeing = look_again if whole.look else None
        return replace(
            whole, tool=self.tool, facts=facts, look=seeing, carry=self.carry_out, resumable=False
        )

    def carry_out(self, plan: Plan, decision: Decision, run: Any) -> ToolResult:
        """Run the program; each change must be a call of the plan that was not made yet.

        Raises:
            PlanStoppedError: It wanted to do more, or a call failed.
            ToolError: What the first call names had changed; nothing was sent.
        """
        approved = _ApprovedCalls(plan, decision, run, self)
        calls = ProgramCalls(self.gate, self.usage, self.call)

        def answer_call(app: str, function: str, args: Any, named: Any) -> Any:
            bound = calls.bind_call(app, function, args, named)
            known = approved.match_call(bound)
            if known is not None:
                return to_program_value(approved.perform_change(known, bound))
            planned = self.gate.plan_call(bound)
            if is_read_only(planned):
                return to_program_value(calls.read_through_gate(bound, planned))
            (says,) = describe_each_call([planned.facts])
            beyond = (
                "What the plan reads has changed. It would now do something that its table"
                f" did not show: {says[5:]}."
            )
            again = "Rehearse it again: call with the same program."
            raise ProgramEndedError(ToolError("LIST_CHANGED", beyond, again))

        try:
            frozen = self.rehearsal_times.frozen_for(self.digest)
            value = run_program(self.program, self.usage, answer_call, frozen, checked=True)
        except ProgramEndedError as ended:
            raise approved.stopped_error(ended.error) from None
        except ToolError as error:
            raise approved.stopped_error(error) from None
        self.rehearsal_times.forget_time(self.digest)
        left = len(approved.left)
        notes = (f"{left} changes of the table were not needed",) if left else ()
        made = {"result": value, "changes": len(approved.done)}
        whole = ToolResult(made, notes, outcome=combined_outcome(approved.outcomes))
        return clean_result(whole, self.call, self.gate.permissions.taint, way="")


_BY_ID: Final = re.compile(r"\.byId\([^()]*\)\Z")


def _held_by_name(calls: Sequence[RehearsedCall]) -> list[bool]:
    """Say of each call whether its names alone hold it: one before it changed the same app."""
    apps: set[str] = set()
    later = []
    for made in calls:
        facts = made.plan.facts
        named = [effect.reference for effect in facts.effects if effect.reference]
        by_id = all(_BY_ID.search(text) for text in named) and not has_position(facts.arguments)
        app = facts.app[0]
        later.append(app in apps and by_id)
        apps.add(app)
    return later


def _rename_objects(value: Any, names: Mapping[str, str]) -> Any:
    """Return arguments with objects that the plan made named by other references."""
    if isinstance(value, dict):
        return {key: _rename_objects(part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [_rename_objects(part, names) for part in value]
    if isinstance(value, str):
        for name in sorted(names, key=len, reverse=True):
            value = value.replace(name, names[name])
    return value


@dataclass
class _ApprovedCalls:
    """The calls of a plan, held against those that its program makes."""

    plan: Plan
    decision: Decision
    run: Any
    rehearsed: _RehearsedProgram
    done: list[str] = field(default_factory=list)
    undo_ids: list[str] = field(default_factory=list)
    outcomes: list[Outcome | None] = field(default_factory=list)
    rehearsed_names: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.left = list(range(len(self.plan.parts)))

    def match_call(self, bound: Call) -> int | None:
        """Return which call of the plan this is; None for none that is left."""
        arguments = _rename_objects(bound.arguments, self.rehearsed_names)
        key = call_key(bound._replace(arguments=arguments))
        calls = self.rehearsed.rehearsal.calls
        return next((at for at in self.left if calls[at].key == key), None)

    def perform_change(self, at: int, bound: Call) -> Any:
        """Carry out a call of the plan, and return its answer.

        Raises:
            EndedError: It failed, or may not run as it is now.
        """
        made, facts = self.rehearsed.rehearsal.calls[at], self.plan.facts.parts[at]
        part = replace(self.plan.parts[at], facts=facts)
        self.left.remove(at)
        try:
            if call_key(bound) != made.key:
                if made.plan.repaired is not None:
                    # What was at a position is still meant, whatever is there now.
                    real = {name: known for known, name in self.rehearsed_names.items()}
                    fixed = _rename_objects(made.plan.repaired.arguments, real)
                    bound = bound._replace(arguments=fixed)
                part = self._replan_call(bound)
            call = part_with_decision(self.plan, part, at + 1, self.decision)
            done: CompletedCall = self.run(*call)
        except ToolError as error:
            self.left.append(at)
            raise ProgramEndedError(error) from error
        self.done.append(self._describe_call(at))
        # The number by which what it did is taken back, where that is kept.
        self.outcomes.append(done.outcome)
        self.undo_ids += [str(done.outcome.call)] if done.outcome and done.outcome.call else []
        self._remember_object(done.value, made.value)
        return done.value

    def _replan_call(self, bound: Call) -> Plan:
        """Return the plan of a call on what this run made, judged as it is now."""
        part = self.rehearsed.gate.plan_call(bound)
        facts, decision = self.rehearsed.gate.judge_plan(part, self.rehearsed.call.caller)
        denied = decision.action == "deny" and not decision.requires_prompt
        if denied or not at_most(decision.level, self.decision.level):
            raise ToolError("REFUSED", " ".join(decision.reasons), decision.suggestion)
        return replace(part, facts=facts)

    def _remember_object(self, real: Any, rehearsed: Any) -> None:
        """Remember what an object that was made is called in the rehearsal."""
        if isinstance(real, str) and isinstance(rehearsed, str) and '.byId("new-' in rehearsed:
            self.rehearsed_names[str(real)] = str(rehearsed)

    def _describe_call(self, at: int) -> str:
        (row,) = describe_each_call([self.plan.facts.parts[at]])
        return row[5:]

    def stopped_error(self, error: ToolError) -> ToolError:
        """Return the error for a run that ended early."""
        if error.type == "STALE" and not self.done and self.plan.facts.pin:
            # It is asked about once more.
            return error
        self.rehearsed.rehearsal_times.forget_time(self.rehearsed.digest)
        undo = [f"iac-mcp undo {ident}" for ident in reversed(self.undo_ids)]
        if self.done and not undo:
            undo = [f"iac-mcp undo last {len(self.done)}"]
        left = [*map(self._describe_call, sorted(self.left))]
        return PlanStoppedError(error, self.done, left, undo)


PLANS: Final = Toolset((__name__,), added="iac_plans.store:pinned_tools")

Program = Annotated[str, limits(maxLength=20_000), "The program."]
PlanName = Annotated[str, "The name of a saved plan, instead of a program."]
PlanArguments = Annotated[dict[str, Any], "The arguments of the saved plan, by name."]


@tool(
    level="SAFE",
    plan=plan_run,
    words="dry run plan preview program what would happen without changing anything",
    example={"program": "mail.count('message', of='inbox')"},
    large=True,
)
def rehearse_plan(
    program: Program | None = None,
    plan: PlanName | None = None,
    arguments: PlanArguments | None = None,
) -> None:
    """Try a plan without changing anything. It really reads from the apps. The answer has the
    plan's result and a table of everything that it would change. A plan is a short Python program.
    It calls the tools of an app as functions, such as mail.list('message', of='inbox'). Rows are
    dictionaries, and dates in them are datetime objects. A tool that makes an object returns its
    reference. The value of the last line is the answer. It can import datetime, json, math and re.
    """


@tool(
    level="SAFE",
    ceiling="DANGEROUS",
    plan=plan_run,
    words="plan program batch loop carry out several steps at once as one",
    example={"program": "mail.count('message', of='inbox')"},
    large=True,
)
def run_plan(
    program: Program | None = None,
    plan: PlanName | None = None,
    arguments: PlanArguments | None = None,
) -> None:
    """Run a plan: many steps with the tools of apps, as one call. IAC first checks and rehearses
    it. The user approves it once, with a table of everything that it changes. A plan is a short
    Python program. It calls the tools of an app as functions, such as
    mail.list('message', of='inbox'). Rows are dictionaries, and dates in them are datetime
    objects. A tool that makes an object returns its reference. The value of the last line is the
    answer. It can import datetime, json, math and re.
    """
