"""Several calls of one tool as one: planned together, asked about once, carried out in order.

All are planned before any is judged, and all are judged before any runs: one that is wrong or
denied refuses the whole, and is named. The highest level counts. What a person says holds for
exactly these calls, each pinned to what it names. Each effect counts for the limits, and each call
has a row of its own in the audit.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from iac_base.errors import Cancellation, ErrorType, InvalidParameterError, NextCall, ToolError
from iac_runtime.gate.limiter import Limiter
from iac_runtime.gate.plans import CompletedCall, Plan, ToolContext, ToolResult
from iac_runtime.outcomes.outcome import Outcome, combined_outcome
from iac_runtime.policy.facts import CallFacts, Decision
from iac_runtime.policy.prompts import LIFETIME

SECONDS: Final = 3.0
"""For looking at what all the calls name; what is left then is held by its reference alone."""


TOLD_AS: Final[Mapping[ErrorType, ErrorType]] = {
    "STALE": "EXECUTION_ERROR",
    "USER_CANCELLED": "TIMEOUT",
}
"""Errors that mean another thing of one call: that nothing was sent, that nobody waits."""


class BatchError(ToolError):
    """A call in the middle failed: those before it were done, those after it were not.

    Attributes:
        results: Of the calls that were done, in order.
        failed, count: Which call failed, from 1, and of how many.
    """

    def __init__(self, error: ToolError, results: Sequence[Any], count: int) -> None:
        failed = len(results) + 1
        done = f"{_describe_call_range(1, failed - 1)} done" if results else "no call was done"
        rest = f"; {_describe_call_range(failed + 1, count)} not sent" if failed < count else ""
        super().__init__(
            TOLD_AS.get(error.type, error.type),
            f"Call {failed} of {count} failed: {error.message} Before that, {done}{rest}.",
            error.suggestion,
            app=error.app,
            command=error.command,
            number=error.number,
            original=error.original,
        )
        self.results = tuple(results)
        self.failed = failed
        self.count = count

    def facts(self) -> dict[str, Any]:
        """Return the error as one JSON object, with what was done."""
        rest = list(range(self.failed + 1, self.count + 1))
        more = {"results": [*self.results], "failed": self.failed, "not_sent": rest}
        return {**super().facts(), **more}


def _describe_call_range(first: int, last: int) -> str:
    return f"call {first} was" if first == last else f"calls {first} to {last} were"


class BatchTargetReader:
    """At how many calls of a batch was looked in time: the answer is held to as many."""

    def __init__(self, _context: ToolContext | None = None) -> None:
        self._counts: dict[str, tuple[float, int]] = {}

    def read_targets(self, plans: Sequence[Plan], facts: Sequence[CallFacts]) -> list[Plan]:
        """Return the plans with what the first of them name looked at."""
        now = time.monotonic()
        told = [[one.tool, dict(one.given or one.arguments)] for one in facts]
        key = hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()
        self._counts = {k: row for k, row in self._counts.items() if now - row[0] < LIFETIME}
        most = self._counts.get(key, (now, len(plans)))[1]
        first, count = key not in self._counts, 0
        seen: list[Plan] = []
        for plan, one in zip(plans, facts, strict=True):
            within = count < most and not (first and time.monotonic() - now > SECONDS)
            look, plan = plan.look if within else None, replace(plan, facts=one)
            count += look is not None
            try:
                seen.append(look(one) if look else plan)
            except ToolError as error:
                if error.type != "NOT_FOUND":
                    raise
                if not seen:
                    error.message = f"Call 1 of {len(plans)}: {error.message} No call was sent."
                    raise
                # A call before it may make it.
                seen.append(plan)
        self._counts.setdefault(key, (now, count))
        return seen

    def close(self) -> None:
        """Nothing is held."""


def plan_calls(
    calls: Sequence[Mapping[str, Any]],
    plan: Callable[[Mapping[str, Any]], Plan],
    looks: BatchTargetReader,
) -> Plan:
    """Return the plan of several calls of one tool.

    Raises:
        ToolError: One of them is wrong, and is named; nothing is sent.
    """
    plans = []
    for at, arguments in enumerate(calls, 1):
        try:
            plans.append(plan(arguments))
        except ToolError as error:
            error.message = f"Call {at} of {len(calls)}: {error.message} No call was sent."
            then = error.next
            if then is not None and then.tool == error.command:
                every = [*calls[: at - 1], then.arguments, *calls[at:]]
                error.next = NextCall(then.tool, {"calls": every})
            raise
    return plan_several(plans, looks)


def plan_several(plans: Sequence[Plan], looks: BatchTargetReader) -> Plan:
    """Return the plan of several calls that were planned, to be decided on together."""
    parts = tuple(plan.facts for plan in plans)
    first = parts[0]
    pins = " ".join(part.pin or "-" for part in parts)
    facts = CallFacts(
        first.tool,
        _flatten_rows(part.effects for part in parts),
        {"calls": [dict(part.given or part.arguments) for part in parts]},
        line="; ".join(filter(None, (part.line for part in parts))),
        raised=tuple(dict.fromkeys(_flatten_rows(part.raised for part in parts))),
        secrets=tuple(dict.fromkeys(_flatten_rows(part.secrets for part in parts))),
        digest=first.digest,
        shown=_flatten_rows(part.shown for part in parts),
        pin=hashlib.sha256(pins.encode()).hexdigest() if any(part.pin for part in parts) else "",
        parts=parts,
        repairs=tuple(
            f"call {at}: {one}" for at, part in enumerate(parts, 1) for one in part.repairs
        ),
    )

    def look(known: CallFacts) -> Plan:
        found = plan_several(looks.read_targets(plans, known.parts), looks)
        now = found.facts
        facts = replace(known, parts=now.parts, shown=now.shown, pin=now.pin)
        return replace(found, facts=facts)

    seeing = look if any(part.look for part in plans) else None
    return Plan(plans[0].tool, facts, _refuse_to_perform, seeing, tuple(plans))


def _flatten_rows(rows: Any) -> tuple[Any, ...]:
    return tuple(chain.from_iterable(rows))


def _refuse_to_perform(_cancel: Cancellation | None) -> ToolResult:
    raise AssertionError("The gate carries out the parts of a batch.")


def check_batch_size(facts: CallFacts, decision: Decision, limiter: Limiter | None) -> None:
    """Refuse what could never run as a whole: more DANGEROUS effects than the limit lets through.

    Raises:
        InvalidParameterError: There are too many.
    """
    count = len(facts.effects)
    if limiter is not None and decision.level == "DANGEROUS" and count > limiter.dangerous_limit:
        raise InvalidParameterError(
            f"These {len(facts.parts)} calls are DANGEROUS and have {count} effects;"
            f" at most {limiter.dangerous_limit} effects may happen at once.",
            "Send fewer calls at once.",
        )


def part_with_decision(
    plan: Plan, part: Plan, at: int, decision: Decision
) -> tuple[Plan, Decision]:
    """Return the call `at` of a plan, from 1, and what was decided on it."""
    story = plan.facts.story
    # Each call is a story of its own, found by that of the question.
    own = story._replace(id=f"{story.id}.{at}") if story.id else story
    told = (
        *decision.reasons,
        f"This is call {at} of {len(plan.parts)} that were approved together.",
    )
    return replace(part, facts=replace(part.facts, story=own)), replace(decision, reasons=told)


def run_parts(
    plan: Plan, decision: Decision, run: Callable[[Plan, Decision], CompletedCall]
) -> ToolResult:
    """Carry out the calls in order, and return `{"results": [...]}` with what each answered.

    Raises:
        ToolError: What the first named had changed; nothing was sent.
        BatchError: A call failed; those after it were not sent.
    """
    results: list[Any] = []
    notes: list[str] = []
    outcomes: list[Outcome | None] = []
    parts = zip(plan.parts, plan.facts.parts, strict=True)
    for at, (part, facts) in enumerate(parts, 1):
        try:
            done = run(*part_with_decision(plan, replace(part, facts=facts), at, decision))
        except ToolError as error:
            if error.type == "STALE" and not results:
                raise
            raise BatchError(error, results, len(plan.parts)) from error
        results.append(done.value)
        outcomes.append(done.outcome)
        notes += [f"call {at}: {done.note}"] if done.note else []
    return ToolResult({"results": results}, tuple(notes), outcome=combined_outcome(outcomes))
