"""Taking writes back, looking again what came of one, and what there is to take back.

A call that takes another back is that of a tool of its app: planned, judged, asked about, audited
and read back as any other. It carries how the first call left the object, and the exchange that
acts checks that first: what somebody changed meanwhile is left as it is.
"""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Final

from iac_base.errors import Cancellation, InvalidParameterError, ToolError, quote_text
from iac_runtime.gate.batch import BatchTargetReader, plan_several
from iac_runtime.gate.planning import plan_operation
from iac_runtime.gate.plans import Call, Plan, ToolContext, ToolResult
from iac_runtime.gate.targets import may_read
from iac_runtime.gate.verify import open_history
from iac_runtime.language.compose import named_columns
from iac_runtime.language.raw_event import compose_read, join_reads
from iac_runtime.language.reader import AppReader
from iac_runtime.language.steps import AllElements, Event, Whose
from iac_runtime.language.terms import elements_term
from iac_runtime.outcomes.history import CallSelection, KeptCall, UndoHistory
from iac_runtime.outcomes.inverse import InverseCall, StateToCheck, tool_named
from iac_runtime.outcomes.outcome import Outcome, is_gone, outcome_of_values, record_of, short_value
from iac_runtime.policy.facts import OWN_APP, CallFacts, Effect, TargetDescription
from iac_runtime.tools.checking import check_arguments
from iac_runtime.tools.shape import Tool
from iac_runtime.tools.tables import Operation, Tables

TOGETHER: Final = 50
"""Calls that one undo makes at most."""

_ROWS: Final = 20
"""Calls that the history shows where no number is asked for."""


def plan_undo(tool: Tool, call: Call, context: ToolContext) -> Plan:
    """Return the plan of taking calls back, the newest first.

    Raises:
        ToolError: There is nothing to take back, or it cannot be.
        SetupError: The history cannot be read.
    """
    rows, point = _select_calls(call.arguments, call.caller.token_client, context)
    plans: list[Plan] = []
    passed: list[str] = []
    seen: set[str] = set()
    for row in rows:
        if not row.is_undoable:
            why = "it was undone already" if row.undone else row.inverse.says
            if len(rows) == 1:
                raise _cannot_undo(row, why)
            passed.append(f"call {row.id} ({row.about}): {why}")
            if point:
                left = [str(one.id) for one in rows[rows.index(row) + 1 :]]
                passed += [f"not undone for this reason: calls {', '.join(left)}"] if left else []
                break
            continue
        for step in row.inverse.steps:
            fresh = step.state.reference not in seen
            seen.add(step.state.reference)
            plans.append(_plan_step(step, row, context, call, fresh=fresh))
    if not plans:
        why = "; ".join(passed)
        raise ToolError(
            "NOT_SUPPORTED",
            f"None of this can be undone: {why}.",
            "Call history to see which calls can be undone.",
        )
    if len(plans) > TOGETHER:
        says = f"This would undo {len(plans)} calls; at most {TOGETHER} can be undone together."
        raise InvalidParameterError(says, "Give a smaller `last`, or the number of one call.")
    if len(plans) == 1:
        return replace(plans[0], notes=tuple(passed))
    whole = plan_several(plans, context.get_or_create(BatchTargetReader))
    return replace(whole, tool=tool, notes=tuple(passed))


def _select_calls(
    given: Mapping[str, Any], holder: str, context: ToolContext
) -> tuple[list[KeptCall], str]:
    """Return the calls that arguments mean, the newest first, and the restore point if any.

    Raises:
        ToolError: They mean none.
    """
    history = context.get_or_create(open_history)
    point = str(given.get("point", ""))
    wanted = CallSelection(
        given.get("call", 0),
        given.get("last", 0),
        _parse_moment(given["since"]) if "since" in given else 0.0,
        None,
        holder or str(given.get("client", "")),
    )
    if point:
        known = _restore_points(history, holder)
        if point not in known:
            names = ", ".join(known) or "none"
            raise InvalidParameterError(
                f"There is no restore point {quote_text(point)}.", f"There are: {names}."
            )
        wanted = wanted._replace(after=known[point])
    elif not any(given.get(key) for key in ("call", "last", "since", "client")):
        wanted = wanted._replace(last=1)
    # What was taken back already is no news, unless it is asked for by its number.
    last, wanted = wanted.last, wanted._replace(last=0)
    calls = history.find_calls(wanted)
    rows = [row for row in calls if wanted.call or not row.undone]
    rows = rows[:last] if last else rows
    if not rows:
        which = f"no call {wanted.call}" if wanted.call else "nothing"
        raise ToolError(
            "NOT_FOUND",
            f"There is {which} to undo.",
            "Call history to see the calls that IAC keeps, for a week.",
        )
    return rows, point


def _qualified_point(holder: str, point: str) -> str:
    return f"{holder}/{point}" if holder else point


def _restore_points(history: UndoHistory, holder: str) -> dict[str, int]:
    """Return the restore points by name; a client that a token proved has its own alone."""
    mine = _qualified_point(holder, "")
    found = history.restore_points().items()
    return {name.removeprefix(mine): at for name, at in found if name.startswith(mine)}


def _parse_moment(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise InvalidParameterError(
            f"since: {quote_text(text)} is not a time.", "Write it like 2026-03-09T14:30."
        ) from None


def _cannot_undo(row: KeptCall, why: str) -> ToolError:
    why = why.removeprefix("No: ").rstrip(".")
    way = "Call history to see which calls can be undone."
    if row.inverse.copy:
        way = f'history with {{"call": {row.id}}} shows the copy; a new one can be made from it.'
    return ToolError("NOT_SUPPORTED", f"Call {row.id} ({row.about}) cannot be undone: {why}.", way)


def _plan_step(
    step: InverseCall, row: KeptCall, context: ToolContext, call: Call, *, fresh: bool
) -> Plan:
    """Return the plan of one call that takes another back; `fresh` objects are looked at first."""
    tool = _require_tool(step.tool, context)
    operation, left = tool.operation, step.state
    assert operation is not None
    given = check_arguments(step.arguments, tool.input)
    inner = Call(
        tool.name, given, call.caller, raw=call.raw, timeout=call.timeout, undoes=row.id
    )  # fmt: skip
    plan = plan_operation(tool, inner, context)
    act: Any = plan.perform
    check = _state_check(left, operation.tables, context.executor.timeout)
    digest = hashlib.sha256(json.dumps(check[1], sort_keys=True).encode()).hexdigest()

    def check_state() -> None:
        answers = context.executor.execute(
            check[0], app=row.key, command="undo_call", timeout=call.timeout
        ).value
        why, was = "something has changed since", "and was {} after the call"
        if row.outcome.state == "unknown":
            why, was = f"it may not have happened, or {why}", "and not {}, as the call requested"
        now = _find_difference(left, answers, check[1], operation.tables, was)
        if now is not None:
            raise ToolError(
                "STALE",
                f"Call {row.id} was not undone, because {why}: {now}. Nothing was sent.",
                "Read the object to see its new state. IAC did not change it.",
                app=operation.tables.app.name,
            )

    def perform_undo(cancel: Cancellation | None) -> ToolResult:
        try:
            found: ToolResult = act(cancel, pin=check)
        except ToolError as error:
            if error.type == "STALE":
                check_state()
            raise
        return found._replace(value={"undone": row.id, "did": step.says})

    def look_at_state(facts: CallFacts) -> Plan:
        seen = facts
        if fresh and may_read(facts, check[0], operation, context):
            check_state()
            if plan.look is not None:
                seen = plan.look(replace(facts, tool=tool.name)).facts
        name = dict(left.values).get("name")
        thing = f"{left.kind or 'object'} {quote_text(name)}" if name else left.kind or "object"
        told = seen.shown or (TargetDescription(left.reference, f"{thing}, {step.says}"),)
        known = replace(facts, shown=told, before=seen.before, undo=seen.undo, pin=digest)
        return replace(done, facts=known)

    facts = replace(plan.facts, tool="undo_call", given={"call": row.id})
    done = replace(plan, facts=facts, perform=perform_undo, look=look_at_state)
    return done


def _require_tool(name: str, context: ToolContext) -> Tool:
    row = context.catalogue.tools.get(name) if context.catalogue is not None else None
    if context.catalogue is None or row is None:
        raise ToolError(
            "NOT_SUPPORTED",
            f"The tool {quote_text(name)} no longer exists.",
            "Build the app's tools.",
        )
    return context.catalogue.load_tool(row)


def _state_check(left: StateToCheck, tables: Tables, seconds: float) -> tuple[Event, list[Any]]:
    """Return the read that says whether an object is as it was left, and what it must answer."""
    reference = AppReader(tables, strict=False).read_reference(left.reference)
    steps = reference.steps
    read = partial(compose_read, tables=tables, seconds=seconds)
    columns = named_columns([term for term, _ in left.values], reference.classes, tables)
    due: list[tuple[Event, Any]] = []
    if columns:
        values = zip(columns, left.values, strict=True)
        record = [[column.label, value] for column, (_, value) in values]
        due.append((read("columns", steps, columns=columns), {"record": record}))
    if len(steps) > 1 and isinstance(steps[-2], Whose):
        # What a filter finds first must be all that it finds.
        due.append((read("count", steps[:-1]), 1))
    for term, count in left.counts:
        due.append((read("count", (*steps, AllElements(elements_term(term, tables)))), count))
    looks = replace(join_reads((one for one, _ in due), tables), may_launch=True)
    return looks, [{"value": value, "notes": [], "ok": True} for _, value in due]


def _find_difference(
    left: StateToCheck,
    answers: Sequence[Mapping[str, Any]],
    due: Sequence[Any],
    tables: Tables,
    was: str,
) -> str | None:
    """Return what of an object is not as it was left, in the words of `was`; None where all is."""
    name = left.reference or "the app"
    for at, (now, then) in enumerate(zip(answers, due, strict=True)):
        if now.get("ok") and now.get("value") == then["value"]:
            continue
        if not now.get("ok"):
            return f"{name} no longer exists" if is_gone(now, tables) else f"{name} cannot be read"
        row, old = record_of(now), dict(left.values)
        if row is None and not left.counts:
            return f"several objects are like {name}"
        if row is None:
            term = left.counts[at - bool(left.values)][0]
            return f"{name} now contains {now.get('value')} objects of the class {term}"
        for term, value in row.items():
            if value != old.get(term):
                shown = (short_value(one, tables) for one in (value, old[term]))
                is_now, before = (json.dumps(one, default=str) for one in shown)
                return f"{term} of {name} is now {is_now}, {was.format(before)}"
    return None


def plan_outcome(tool: Tool, call: Call, context: ToolContext) -> Plan:
    """Return the plan of looking again what came of a call.

    Raises:
        ToolError: There is no such call.
    """
    history, number = context.get_or_create(open_history), call.arguments["call"]
    rows = history.find_calls(CallSelection(number, client=call.caller.token_client))
    if not rows:
        raise ToolError(
            "NOT_FOUND",
            f"There is no call {number}.",
            "Call history to see the calls that IAC keeps.",
        )
    row = rows[0]
    facts = CallFacts(tool.name, arguments=call.arguments)
    look, operation = _plan_repeated_read(row, context) or (None, None)
    if look is not None:
        facts = context.permissions.request_facts(facts, look, "SAFE", operation)

    def read_outcome(cancel: Cancellation | None) -> ToolResult:
        outcome = row.outcome
        if look is not None and operation is not None:
            answer = context.executor.execute(
                look, app=operation.tables.app.name, command=tool.name, cancel=cancel
            ).value[0]
            outcome = _later_outcome(row, answer, operation.tables)
            history.settle_outcome(row.id, outcome)
        return ToolResult({**row.facts(), "outcome": outcome.facts()})

    return Plan(tool, facts, read_outcome)


def _plan_repeated_read(row: KeptCall, context: ToolContext) -> tuple[Event, Operation] | None:
    """Return what reads the object of a call once more; None where there is nothing to read."""
    catalogue, later = context.catalogue, row.later
    checked = later.operation in ("set", "make", "copy", "delete") and later.reference
    first = f"{row.key}_"
    name = next((one for one in catalogue.tools if one.startswith(first)), "") if catalogue else ""
    operation = _require_tool(name, context).operation if checked and name else None
    if operation is None or tool_named(operation.tables, op="get") is None:
        return None
    tables = operation.tables
    try:
        reference = AppReader(tables, strict=False).read_reference(later.reference)
        names = [wanted.term for wanted in later.wanted] or ["class"]
        columns = named_columns(names, reference.classes, tables)
    except InvalidParameterError:
        return None
    seconds = context.executor.timeout
    read = compose_read("columns", reference.steps, tables, seconds, columns=columns)
    return join_reads((read,), tables), operation


def _later_outcome(row: KeptCall, answer: Mapping[str, Any], tables: Tables) -> Outcome:
    """Return the outcome of a call by what its object is now; others may have changed it since."""
    deed, reference, wanted = row.later
    known = replace(row.outcome, call=row.id, reference=reference)
    if deed == "delete":
        if is_gone(answer, tables):
            return replace(known, state="confirmed", says="")
        there = "it is there" if answer.get("ok") else "it could not be read"
        return known if known.state == "confirmed" else replace(known, says=there)
    values = record_of(answer)
    if values is None:
        gone = "it no longer exists" if is_gone(answer, tables) else "it could not be read"
        return replace(known, state="unknown", says=gone)
    found = outcome_of_values(wanted, [(None, values)], tables)
    if not wanted:
        return replace(known, state="confirmed", says="")
    return replace(known, state=found.state, read=found.read, says=found.says)


def plan_history(tool: Tool, call: Call, context: ToolContext) -> Plan:
    """Return the plan of showing what was done and whether it can be undone, the newest first."""

    def read_history(_cancel: Cancellation | None) -> ToolResult:
        history = context.get_or_create(open_history)
        given = call.arguments
        holder = call.caller.token_client
        wanted = CallSelection(given.get("call", 0), given.get("last", _ROWS), client=holder)
        rows = [row.facts() for row in history.find_calls(wanted)]
        if not given.get("call"):
            # A copy is long; it is shown where its call is asked for.
            rows = [{**row, "copy": "kept"} if "copy" in row else row for row in rows]
        points = _restore_points(history, holder)
        return ToolResult({"calls": rows, **({"points": points} if points else {})})

    read = Effect("read", OWN_APP, kind="history")
    return Plan(tool, CallFacts(tool.name, (read,), call.arguments), read_history)


def plan_restore_point(tool: Tool, call: Call, context: ToolContext) -> Plan:
    """Return the plan of naming this moment, to undo all that comes after it."""

    def name_moment(_cancel: Cancellation | None) -> ToolResult:
        name = call.arguments["name"]
        point = _qualified_point(call.caller.token_client, name)
        last = context.get_or_create(open_history).name_point(point)
        at = time.strftime("%Y-%m-%dT%H:%M:%S")
        return ToolResult({"point": name, "at": at, "after_call": last})

    return Plan(tool, CallFacts(tool.name, arguments=call.arguments), name_moment)
