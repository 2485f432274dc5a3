"""Carrying out a plan: rehearsed, shown as a table, asked about once, held against the table.

The plan of `run_plan` is a batch of the calls that its program would make, so what the gate does
with several calls it does with these: it judges each, asks once, binds the answer to them and to
what they name. The program then runs again; each of its changes must be one of those calls.
"""

import hashlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from iac_base.errors import CallRefusedError, InvalidParameterError, ToolError
from iac_plans.check import Used, read_program
from iac_plans.interpreter import Frozen, interpret
from iac_plans.rehearse import (
    EndedError,
    Made,
    ProgramCalls,
    Rehearsal,
    by_place,
    key_of,
    own,
    reads,
    rehearse,
    table,
)
from iac_plans.store import find_plan
from iac_plans.tools import REHEARSE
from iac_runtime.gate.batch import TOLD_AS, Looks, joined, of_plan
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.planning import short_enough
from iac_runtime.gate.plans import Call, Done, Plan, ToolContext, ToolResult
from iac_runtime.gate.results import shown
from iac_runtime.outcomes.outcome import Outcome, together
from iac_runtime.policy.effects import CallFacts, Decision
from iac_runtime.policy.question import LIFETIME
from iac_runtime.policy.wording import each_call
from iac_runtime.tool import at_most, highest
from iac_runtime.tools.shape import Tool


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


class Moments:
    """When each plan was first rehearsed: until its question is answered, that is its `now`."""

    def __init__(self, _context: ToolContext | None = None) -> None:
        self._seen: dict[str, tuple[float, datetime]] = {}

    def of(self, digest: str) -> Frozen:
        """Return what the program of a digest is told of the time and of chance."""
        at = time.monotonic()
        self._seen = {key: row for key, row in self._seen.items() if at - row[0] < LIFETIME}
        _, now = self._seen.setdefault(digest, (at, datetime.now().astimezone()))
        return Frozen(now, digest)

    def forget(self, digest: str) -> None:
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
        raise InvalidParameterError(
            'Give either "program", or "plan" with the name of a saved plan.'
        )
    if "plan" in given:
        program = find_plan(given["plan"], _folders(context)).call(given.get("arguments", {}))
    else:
        program = given["program"]
    return _planned(tool, call, context, program, only=tool.name == REHEARSE)


def plan_kept(tool: Tool, call: Call, context: ToolContext) -> Plan:
    """Return the plan of a tool that stands for a plan that is kept. Raises as `plan_run` does."""
    found = find_plan(tool.name.removeprefix("plan_"), _folders(context))
    if found.tool().input != tool.input:
        raise InvalidParameterError(
            f"The plan {found.name} has changed since it was listed as a tool.",
            f"The user can update the tool with: iac-mcp plans add --pin {found.path}",
        )
    return _planned(tool, call, context, found.call(call.arguments))


def _folders(context: ToolContext) -> list[Any]:
    assert context.catalogue is not None
    return [folder.folder for folder in context.catalogue.tool_folders]


def _planned(
    tool: Tool, call: Call, context: ToolContext, program: str, *, only: bool = False
) -> Plan:
    gate, moments = context.gate, context.kept(Moments)
    assert context.catalogue is not None
    itself = CallFacts(tool.name, arguments=call.arguments)
    decision = gate.judge(Plan(tool, itself, lambda _cancel: ToolResult(None)), call.caller)[1]
    if decision.action == "deny" and not decision.requires_prompt:
        # Its calls are judged each by itself; this is about plans as such.
        said = " ".join(decision.reasons)
        raise CallRefusedError(said, decision.suggestion, app="", command=tool.name)
    used = read_program(program, context.catalogue)
    whose = json.dumps([tool.name, program, call.caller.client])
    digest = hashlib.sha256(whose.encode()).hexdigest()
    try:
        found = rehearse(program, used, gate, call, moments.of(digest))
    except ToolError:
        moments.forget(digest)
        raise
    facts = CallFacts(tool.name, found.reads, call.arguments)
    if only or not found.calls:

        def perform(_cancel: Any) -> ToolResult:
            moments.forget(digest)
            value: dict[str, Any] = {"result": found.result}
            if only:
                parts = [made.plan.facts for made in found.calls]
                judged = [gate.judge(made.plan, call.caller)[1] for made in found.calls]
                level = highest(decision.level for decision in judged)
                value |= {"effects": table(parts), "level": level}
            cleaned = shown(ToolResult(value), call, context.permissions.taint, way="")
            return short_enough(cleaned, context.limit, facts.effects, call.caller.holder)

        return Plan(tool, facts, perform)
    run = _Run(tool, call, gate, program, used, moments, digest, found)
    plans = [made.plan for made in found.calls]
    whole = joined(plans, [made.facts for made in plans], context.kept(Looks))
    return run.held(whole, replace(whole.facts, tool=tool.name, arguments=call.arguments))


@dataclass(frozen=True)
class _Run:
    """A program that was rehearsed, and what it may do."""

    tool: Tool
    call: Call
    gate: Gate
    program: str
    used: Used
    moments: Moments
    digest: str
    found: Rehearsal

    def held(self, whole: Plan, facts: CallFacts) -> Plan:
        """Return the plan of all its calls, as one of this tool."""
        looks = self.gate.context.kept(Looks)

        def look(known: CallFacts) -> Plan:
            seen = looks.at([made.plan for made in self.found.calls], known.parts)
            found = joined(seen, [part.facts for part in seen], looks)
            now = found.facts
            # What the plan itself changed before is not as it was seen.
            parts = tuple(
                replace(part, perform=made.plan.perform) if later else part
                for part, made, later in zip(
                    seen, self.found.calls, _later(self.found.calls), strict=True
                )
            )
            facts = replace(known, parts=now.parts, shown=now.shown, pin=now.pin)
            return self.held(replace(found, parts=parts), facts)

        seeing = look if whole.look else None
        return replace(whole, tool=self.tool, facts=facts, look=seeing, carry=self.carry)

    def carry(self, plan: Plan, decision: Decision, run: Any) -> ToolResult:
        """Run the program; each change must be a call of the plan that was not made yet.

        Raises:
            PlanStoppedError: It wanted to do more, or a call failed.
            ToolError: What the first call names had changed; nothing was sent.
        """
        held = _Held(plan, decision, run, self)
        calls = ProgramCalls(self.gate, self.used, self.call)

        def answer(app: str, function: str, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
            bound = calls.bound(app, function, args, named)
            known = held.match(bound)
            if known is not None:
                return own(held.change(known, bound))
            found = self.gate.plan(bound)
            if reads(found):
                return own(calls.read(bound, found))
            (says,) = each_call([found.facts])
            beyond = (
                "What the plan reads has changed. It would now do something that its table"
                f" did not show: {says[5:]}."
            )
            again = "Rehearse it again: call with the same program."
            raise EndedError(ToolError("LIST_CHANGED", beyond, again))

        try:
            frozen = self.moments.of(self.digest)
            value = interpret(self.program, self.used, answer, frozen, checked=True)
        except EndedError as ended:
            raise held.stopped(ended.error) from None
        except ToolError as error:
            raise held.stopped(error) from None
        self.moments.forget(self.digest)
        left = len(held.left)
        notes = (f"{left} changes of the table were not needed",) if left else ()
        made = {"result": value, "changes": len(held.done)}
        whole = ToolResult(made, notes, outcome=together(held.outcomes))
        return shown(whole, self.call, self.gate.permissions.taint, way="")


_BY_ID: Final = re.compile(r"\.byId\([^()]*\)\Z")


def _later(calls: Sequence[Made]) -> list[bool]:
    """Say of each call whether its names alone hold it: one before it changed the same app."""
    apps: set[str] = set()
    later = []
    for made in calls:
        facts = made.plan.facts
        named = [effect.reference for effect in facts.effects if effect.reference]
        by_id = all(_BY_ID.search(text) for text in named) and not by_place(facts.arguments)
        app = facts.app[0]
        later.append(app in apps and by_id)
        apps.add(app)
    return later


@dataclass
class _Held:
    """The calls of a plan, held against those that its program makes."""

    plan: Plan
    decision: Decision
    run: Any
    of: _Run
    done: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    outcomes: list[Outcome | None] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.left = list(range(len(self.plan.parts)))

    def match(self, bound: Call) -> int | None:
        """Return which call of the plan this is; None for none that is left."""
        key = key_of(bound._replace(arguments=self._as_rehearsed(bound.arguments)))
        calls = self.of.found.calls
        return next((at for at in self.left if calls[at].key == key), None)

    def _as_rehearsed(self, value: Any) -> Any:
        """Return arguments with objects that this run made named as the rehearsal named them."""
        if isinstance(value, dict):
            return {key: self._as_rehearsed(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self._as_rehearsed(part) for part in value]
        for real in sorted(self.names, key=len, reverse=True) if isinstance(value, str) else ():
            value = value.replace(real, self.names[real])
        return value

    def change(self, at: int, bound: Call) -> Any:
        """Carry out a call of the plan, and return its answer.

        Raises:
            EndedError: It failed, or may not run as it is now.
        """
        made, facts = self.of.found.calls[at], self.plan.facts.parts[at]
        part = replace(self.plan.parts[at], facts=facts)
        self.left.remove(at)
        try:
            if key_of(bound) != made.key:
                part = self._named_anew(bound)
            done: Done = self.run(*of_plan(self.plan, part, at + 1, self.decision))
        except ToolError as error:
            self.left.append(at)
            raise EndedError(error) from error
        self.done.append(self._says(at))
        # The number by which what it did is taken back, where that is kept.
        self.outcomes.append(done.outcome)
        self.ids += [str(done.outcome.call)] if done.outcome and done.outcome.call else []
        self._learn(done.value, made.value)
        return done.value

    def _named_anew(self, bound: Call) -> Plan:
        """Return the plan of a call on what this run made, judged as it is now."""
        part = self.of.gate.plan(bound)
        facts, decision = self.of.gate.judge(part, self.of.call.caller)
        denied = decision.action == "deny" and not decision.requires_prompt
        if denied or not at_most(decision.level, self.decision.level):
            raise ToolError("REFUSED", " ".join(decision.reasons), decision.suggestion)
        return replace(part, facts=facts)

    def _learn(self, real: Any, rehearsed: Any) -> None:
        """Remember what an object that was made is called in the rehearsal."""
        if isinstance(real, str) and isinstance(rehearsed, str) and '.byId("new-' in rehearsed:
            self.names[str(real)] = str(rehearsed)

    def _says(self, at: int) -> str:
        (row,) = each_call([self.plan.facts.parts[at]])
        return row[5:]

    def stopped(self, error: ToolError) -> ToolError:
        """Return the error for a run that ended early."""
        if error.type == "STALE" and not self.done and self.plan.facts.pin:
            # It is asked about once more.
            return error
        self.of.moments.forget(self.of.digest)
        undo = [f"iac-mcp undo {ident}" for ident in reversed(self.ids)]
        if self.done and not undo:
            undo = [f"iac-mcp undo last {len(self.done)}"]
        return PlanStoppedError(error, self.done, [*map(self._says, sorted(self.left))], undo)
