"""The gate: every call, whoever makes it, goes through here, in this order.

    plan -> judge -> look -> weigh the answer -> limit, audit, execute, audit | ask | refuse

Synchronous and safe to share between threads. Nothing else sends anything to an app. No lock is
held while a person thinks: a call that must be asked about comes back as a `PendingCall`, which
`Gate.answer` resumes as it was planned. A call is asked about in one place, whether it is new, what
it names has changed, or the way of asking before came back with nothing.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from iac_base.errors import (
    Cancellation,
    InvalidParameterError,
    NextCall,
    ToolError,
    UnknownToolError,
    nearest_names,
)
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.batch import BatchTargetReader, check_batch_size, plan_calls, run_parts
from iac_runtime.gate.limiter import Limiter, LimiterKind, wait_turn
from iac_runtime.gate.names import fix_references
from iac_runtime.gate.planning import fit_to_limit, plan_operation
from iac_runtime.gate.plans import (
    Call,
    CallAnswer,
    CompletedCall,
    PendingCall,
    Plan,
    ToolContext,
    ToolResult,
)
from iac_runtime.gate.results import (
    completed_call,
    extract_call_options,
    needs_other_call_tool,
    refused_call,
    without_secret_fields,
)
from iac_runtime.gate.suggest import suggest_after_failure, suggest_corrected_call
from iac_runtime.language.steps import PropertyStep
from iac_runtime.policy.facts import Approver, CallFacts, Decision, Verdict
from iac_runtime.policy.permissions import (
    PendingApproval,
    Permissions,
    Requester,
    default_permissions,
)
from iac_runtime.policy.settings import APPROVERS
from iac_runtime.policy.taint import ResultSource
from iac_runtime.tool import Level, at_most, level_to_call
from iac_runtime.tools.catalogue import Catalogue, forget_changed
from iac_runtime.tools.checking import check_arguments
from iac_runtime.tools.own import CALL_TOOLS, OWN_TOOLS, call_tool_for
from iac_runtime.tools.shape import RESULT_LIMIT, Tool, accepted_schema
from iac_runtime.tools.tables import parameters_of

if TYPE_CHECKING:
    from iac_runtime.audit import Audit
    from iac_runtime.gate.handles import RowHandles


class _StageTimer:
    """The clock of one call; stages are named when they end."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._took: list[tuple[str, float]] = []

    def end_stage(self, name: str) -> None:
        """Say that a stage ended now."""
        now = time.monotonic()
        self._took.append((name, now - self._last))
        self._last = now

    def log_stages(self, tool: str) -> None:
        """Log the stages, in milliseconds. Without a log nothing is loaded for it."""
        logging = sys.modules.get("logging")
        if logging is None:
            return
        logger = logging.getLogger("iac.gate")
        if logger.isEnabledFor(logging.DEBUG):
            took = ", ".join(f"{name} {seconds * 1000:.2f}" for name, seconds in self._took)
            logger.debug("%s: %s ms", tool, took)


class Gate:
    """Carries out calls on the tools of a catalogue.

    Args:
        catalogue: Which tools there are; None for a gate that is handed its tools (the library).
        executor: How events are sent.
        allow: Calls up to this level were written by the person who runs them and run unasked.
        home: The user's home folder, for `~` in paths.
        limit: Characters of JSON in a result, or None for no limit.
        launch: Bundle ids of the apps that a SAFE call may start; others must be running for it.
        permissions: The user's policy; what holds without one if left out.
        audit: Opens the audit, on first need; None for none.
        limiter: How often calls may run; None for no limit.
        stale: Says which apps are newer than their tools, a line each.
        added: Returns the tools of other packages by name, on first need.
        kept: What `ToolContext.kept` has from the start, by its maker.
        renewed: Told of a catalogue that takes the place of the one before.
    """

    def __init__(
        self,
        catalogue: Catalogue | None,
        executor: Executor,
        allow: Level = "SAFE",
        *,
        home: str | None = None,
        limit: int | None = RESULT_LIMIT,
        launch: Collection[str] = (),
        permissions: Permissions | None = None,
        audit: Callable[[], "Audit"] | None = None,
        limiter: Limiter | None = None,
        stale: Callable[[], Sequence[str]] = tuple,
        added: Callable[[], Mapping[str, Tool]] = dict,
        kept: Mapping[Any, Any] = {},
        renewed: Callable[[Catalogue], object] | None = None,
    ) -> None:
        self.executor, self._simulated = executor, executor.simulated
        self.permissions = permissions or default_permissions(home)
        self._vouched: Level | None = None if allow == "SAFE" else allow
        home = os.path.expanduser("~") if home is None else home  # noqa: PTH111 (a text)
        starts = (*launch, *self.permissions.policy.launch)
        listed = frozenset(app.casefold() for app in starts)
        self.context = ToolContext(
            catalogue, executor, self.permissions, home, limit, listed, stale, self, dict(kept)
        )
        self._open_audit = audit
        self._added = added
        self._audit: Audit | None = None
        self._opening = threading.Lock()
        self._limiter = limiter
        self._renewed = renewed
        self._under_way: set[Cancellation] = set()
        self.handles: RowHandles | None = None

    @property
    def catalogue(self) -> Catalogue | None:
        """Which tools there are now."""
        return self.context.catalogue

    def replace_tools(self, catalogue: Catalogue) -> None:
        """Take tools that were built anew; calls under way go on with those they began with.

        Raises:
            SetupError: A module cannot be read; the old tools stay.
        """
        forget_changed()
        if self._renewed is not None:
            self._renewed(catalogue)
        self.context.catalogue = catalogue

    def call(
        self,
        call: Call,
        *,
        tool: Tool | None = None,
        dry_run: bool = False,
        cancel: Cancellation | None = None,
    ) -> CallAnswer:
        """Carry out a call by the tool's name; `cancel` ends it from another thread.

        `tool` is one that was found already. With `dry_run` the call is judged and not carried out.

        Raises:
            ToolError: It failed, or an argument is wrong; the error carries the facts.
            SetupError: The tool's module, the policy's state or the audit cannot be used.
        """
        cancel = cancel or Cancellation()
        self._under_way.add(cancel)
        try:
            return self._call(call._replace(cancel=cancel), tool, dry_run=dry_run)
        finally:
            self._under_way.discard(cancel)

    def stop_calls(self) -> None:
        """End the calls that are under way now; from any thread, or from a signal."""
        for cancel in tuple(self._under_way):
            cancel.cancel()

    def _call(self, call: Call, tool: Tool | None, *, dry_run: bool) -> CallAnswer:
        stages = _StageTimer()
        plan = self.plan_call(call, tool)
        call = plan.repaired or call
        stages.end_stage("plan")
        facts, decision = self.judge_plan(plan, call.caller)
        plan = replace(plan, facts=facts)
        stages.end_stage("judge")
        if plan.parts:
            check_batch_size(facts, decision, self._limiter)
        if dry_run:
            return completed_call(plan, ToolResult(None), decision)
        final = decision.action == "deny" and not decision.requires_prompt
        needed = level_to_call(decision.level, acts=facts.acts and not self.read_only)
        if not (final or at_most(needed, call.most)):
            door = CALL_TOOLS[needed]
            return needs_other_call_tool(call, plan, decision, "" if self.read_only else door)
        # What a question shows, and what its answer is held to.
        declined = call.verdict == "decline" and not plan.seen_first
        looks = not declined if call.token else decision.action == "ask"
        if plan.look and looks:
            plan, decision = self._look(plan, facts, decision, call.caller)
            facts = plan.facts
        if call.token:
            if not facts.ways:
                # Another surface may have asked.
                decision = self.permissions.judge_call(replace(facts, ways=APPROVERS))
            return self._apply_answer(call, plan, decision, stages)
        return self._settle(call, plan, decision, stages)

    def _look(
        self, plan: Plan, facts: CallFacts, decision: Decision, caller: Requester
    ) -> tuple[Plan, Decision]:
        """Return a plan with what it names looked at, and what is to be done with it then."""
        assert plan.look is not None
        plan = plan.look(facts)
        if plan.facts.at is not None:
            return plan, decision
        # Planned anew: what was seen may be another deed than the call alone told.
        facts, decision = self.judge_plan(plan, caller)
        return replace(plan, facts=facts), decision

    def answer(
        self, pending: PendingCall, verdict: Verdict, *, cancel: Cancellation | None = None
    ) -> CallAnswer:
        """Go on with a call that a person was asked about, as it was planned.

        `verdict` is what its question came back with. The request holds what was shown: where that
        has changed meanwhile, nothing is sent, and it is asked about again. Raises as `call` does.
        """
        cancel = cancel or Cancellation()
        call = pending.call._replace(token=pending.token, verdict=verdict, cancel=cancel)
        if not pending.plan.resumable:
            return self.call(call, tool=pending.plan.tool, cancel=cancel)
        self._under_way.add(cancel)
        try:
            # A pause, or a rule that was saved while a person thought, holds for this call too.
            now = self.judge_plan(pending.plan, call.caller)[1]
            decision = now if now.action == "deny" else pending.decision
            return self._apply_answer(call, pending.plan, decision, _StageTimer())
        finally:
            self._under_way.discard(cancel)

    def _apply_answer(
        self, call: Call, plan: Plan, decision: Decision, stages: _StageTimer
    ) -> CallAnswer:
        facts, decision = self.permissions.apply_answer(
            plan.facts, decision, call.token, call.verdict
        )
        return self._settle(call, replace(plan, facts=facts), decision, stages)

    def _settle(
        self, call: Call, plan: Plan, decision: Decision, stages: _StageTimer
    ) -> CallAnswer:
        """Carry out a call that was decided on, ask about it, or refuse it."""
        stages.end_stage("answer")
        facts = plan.facts
        spends = decision.action == "allow" and not call.token
        if spends and not self.permissions.spend_tasks(facts, decision):
            # Another call was faster: this one is asked about, with what it names looked at.
            return self.call(call, tool=plan.tool, cancel=call.cancel)
        if decision.action == "allow":
            taint, source = self.permissions.taint, _result_source(plan)
            # Not what the plan made of it: an undo writes what was never the caller's.
            taint.remember_call(call.calls or call.arguments, facts.token_client)
            try:
                return self._carry_out(call, plan, decision, stages)
            except ToolError as error:
                error.toolset = plan.tool.toolset
                suggest_after_failure(error, call, plan)
                taint.remember_texts((error.message, error.suggestion, error.original), source)
                if error.type != "STALE" or not (plan.look and facts.pin):
                    raise
                # It changed between the look and the event.
                plan, decision = self._look(plan, facts, decision, call.caller)
                changed = self.permissions.with_changed_targets(plan.facts, facts.shown)
                plan = replace(plan, facts=changed)
                decision = replace(decision, action="ask")
            finally:
                stages.log_stages(plan.tool.name)
        if decision.action == "ask":
            from iac_runtime.gate.known_cases import add_known_cases

            plan = replace(plan, facts=add_known_cases(plan))
        asks = self.permissions.prepare_approval(plan.facts, decision)
        if isinstance(asks, PendingApproval):
            plan = replace(plan, facts=replace(plan.facts, story=asks.story))
            self._record_outcome(self._record_intent(plan, decision, waits=asks.way), "asked")
            return PendingCall(asks.question, asks.token, asks.way, call, plan, decision)
        result = "refused" if asks.error == "REFUSED" else asks.error
        self._record_outcome(self._record_intent(plan, asks), result)
        return refused_call(call, plan, asks)

    def plan_call(self, call: Call, tool: Tool | None = None) -> Plan:
        """Return what a call would do. Raises as `call` does."""
        if tool is None:
            call = self.with_meant_tool(call)
            tool = self.find_tool(call.tool)
        call = call._replace(caller=self._with_preapproved_level(call.caller))
        if call.calls:
            return plan_calls(
                call.calls,
                lambda given: self.plan_fixed(call._replace(arguments=given, calls=()), tool),
                self.context.get_or_create(BatchTargetReader),
            )
        given = call.arguments
        operation = tool.operation
        perform = tool.perform or plan_operation

        def plan_arguments(arguments: Mapping[str, Any]) -> Plan:
            given = extract_call_options(call._replace(arguments=arguments), tool)
            checked = check_arguments(given.arguments, accepted_schema(tool))
            return perform(tool, given._replace(arguments=checked), self.context)

        try:
            try:
                call = self._with_references(call, tool)
                plan = plan_arguments(call.arguments)
            except InvalidParameterError:
                # Needed by what a tool does not take as it came, and by no other.
                from iac_runtime.gate.repair import repair_arguments

                meant = repair_arguments(call.arguments, tool)
                if not meant.notes:
                    raise
                repairs = (*call.repairs, *meant.notes)
                call = call._replace(arguments=meant.arguments, repairs=repairs)
                call = self._with_references(call, tool)
                plan = plan_arguments(call.arguments)
        except ToolError as error:
            error.command = error.command or tool.name
            error.toolset = tool.toolset
            if operation is not None:
                error.app = error.app or operation.tables.app.name
            suggest_corrected_call(error, call.arguments, tool, plan_arguments)
            raise error from None
        if not call.repairs and call.arguments is given:
            return plan
        return replace(plan, facts=replace(plan.facts, repairs=call.repairs), repaired=call)

    def _with_references(self, call: Call, tool: Tool) -> Call:
        """Return a call with the references that the handles of rows in it stand for."""
        if self.handles is None:
            return call
        found = self.handles.with_references(call.arguments, tool, call.caller.token_client)
        return call if found is call.arguments else call._replace(arguments=found)

    def plan_fixed(
        self,
        call: Call,
        tool: Tool | None = None,
        made: Collection[str] = (),
        gone: Collection[str] = (),
    ) -> Plan:
        """Return the plan of one of several calls: a write names its objects by what stays.

        `made` are references of objects that a call before it makes; what such a call deletes has
        a reference that ends as one of `gone`. Raises as `call` does.
        """
        plan = self.plan_call(call, tool)
        operation, call = plan.tool.operation, plan.repaired or call
        if operation is None or plan.facts.is_read_only:
            return plan

        def list_rows(name: str, given: dict[str, Any]) -> Sequence[Mapping[str, Any]]:
            given["limit"] += len(gone)
            reads = Call(name, given, call.caller, raw=True, whole=True, cancel=call.cancel)
            try:
                found = self.call(reads, cancel=call.cancel)
            except ToolError:
                return ()
            rows = found.value if isinstance(found, CompletedCall) else ()
            return [row for row in rows if not str(row["ref"]).endswith(tuple(gone))]

        fixed = call._replace(arguments=fix_references(call.arguments, operation, list_rows, made))
        if fixed.arguments == call.arguments:
            return plan
        return replace(self.plan_call(fixed, plan.tool), repaired=fixed)

    def find_tool(self, name: str) -> Tool:
        """Return the tool of a name, or the one that the name stands for.

        Raises:
            UnknownToolError: There is none; the error has the nearest names.
            SetupError: Its module cannot be used.
        """
        # One catalogue from here on: another may take its place meanwhile.
        catalogue = self.catalogue
        name = self._meant_name(Call(name, {}), catalogue)
        if catalogue is not None and name in OWN_TOOLS:
            return OWN_TOOLS[name]
        if catalogue is not None and (row := catalogue.tools.get(name)) is not None:
            return catalogue.load_tool(row)
        return self._added()[name]

    def with_meant_tool(self, call: Call) -> Call:
        """Return a call by the name that its tool has; the next call of a slip is this one.

        Raises:
            UnknownToolError: There is none; the error has the nearest names.
        """
        name = self._meant_name(call, self.catalogue)
        if name == call.tool:
            return call
        note = f"{call.tool} was taken for {name}"
        return call._replace(tool=name, repairs=(*call.repairs, note))

    def _meant_name(self, call: Call, catalogue: Catalogue | None) -> str:
        name = call.tool
        own = catalogue is not None and (name in OWN_TOOLS or name in catalogue.tools)
        if own or name in self._added():
            return name
        if catalogue is None:
            raise UnknownToolError(name)
        # Needed by names that no tool has, and by no other.
        from iac_runtime.gate.repair import meant_tools, merged_call, object_call

        known = [*catalogue.tools, *OWN_TOOLS, *self._added()]
        meant = meant_tools(name, known)
        if len(meant) == 1:
            return meant[0]
        error = catalogue.unknown_tool_error(name, meant or known)
        slip = nearest_names(name, meant or known, 1, likeness=0.9)
        then = merged_call(name, call.arguments, known) or (
            NextCall(slip[0], call.arguments) if slip else object_call(name, catalogue)
        )
        if then is not None:
            error.next = then
            try:
                self.plan_call(Call(then.tool, then.arguments))
            except ToolError as failure:
                error.next = failure.next
        raise error

    def judge_plan(self, plan: Plan, caller: Requester) -> tuple[CallFacts, Decision]:
        """Return what is known of a plan, and what is to be done with it."""
        facts = self.permissions.with_caller(plan.facts, self._with_preapproved_level(caller))
        return facts, self.permissions.judge_call(facts)

    def call_tool_of(self, facts: CallFacts, decision: Decision) -> str:
        """Return the tool that takes a call: where nothing is changed, one that reads alone."""
        return call_tool_for(decision.level, acts=facts.acts and not self.read_only)

    def _with_preapproved_level(self, caller: Requester) -> Requester:
        vouched = caller.preapproved_level or self._vouched
        return caller._replace(preapproved_level=vouched, simulated=self._simulated)

    @property
    def read_only(self) -> bool:
        """Whether nothing is changed here at all."""
        return self.context.read_only

    def close(self) -> None:
        """End what runs for this gate: calls under way are cancelled, workers and audit ended."""
        self.executor.close()
        self.context.close()
        if self._audit is not None:
            self._audit.close()

    def _wait_for_turn(
        self, plan: Plan, decision: Decision, cancel: Cancellation, *, patient: bool = False
    ) -> float:
        """Wait for a place among the calls, and return the seconds that it took.

        Several calls together wait one by one, each as long as it takes (`patient`); those that
        are DANGEROUS have their places from the start.
        """
        effects, dangerous = plan.facts.effects, decision.level == "DANGEROUS"
        if self._limiter is None or not effects or (plan.parts and not dangerous):
            return 0.0
        kind: LimiterKind = (
            "dangerous" if dangerous else "read" if plan.facts.is_read_only else "write"
        )
        places = max(sum(not effect.target_unknown for effect in effects), 1)
        try:
            mine = self._limiter.for_client(plan.facts.token_client)
            return wait_turn(mine, kind, places, cancel, patient=patient)
        except ToolError as error:
            error.app, error.command = plan.facts.app[1], plan.tool.name
            raise

    def _carry_out(
        self, call: Call, plan: Plan, decision: Decision, stages: _StageTimer
    ) -> CompletedCall:
        cancel = call.cancel or Cancellation()
        try:
            delay = self._wait_for_turn(plan, decision, cancel)
        except ToolError:
            self.permissions.release_answer(call.token)
            raise
        stages.end_stage("limit")
        if not plan.parts:
            return self._perform_plan(plan, decision, delay, stages, cancel)

        def run_part(part: Plan, said: Decision) -> CompletedCall:
            paced = said.level != "DANGEROUS"
            waited = self._wait_for_turn(part, said, cancel, patient=True) if paced else 0.0
            return self._perform_plan(part, said, waited, stages, cancel)

        every = (plan.carry or run_parts)(plan, decision, run_part)
        every = fit_to_limit(every, self.context.limit, plan.facts.effects, plan.facts.token_client)
        return completed_call(plan, every, decision)

    def _perform_plan(
        self,
        plan: Plan,
        decision: Decision,
        delay: float,
        stages: _StageTimer,
        cancel: Cancellation,
    ) -> CompletedCall:
        number = self._record_intent(plan, decision)
        stages.end_stage("intent")
        began = time.monotonic()
        result, error = "EXECUTION_ERROR", ""
        try:
            found = plan.perform(cancel)
            result = "done"
        except ToolError as failure:
            result, error = "cancelled" if cancel.is_cancelled else failure.type, failure.message
            failure.command = failure.command or plan.tool.name
            failure.app = failure.app or plan.facts.app[1]
            # Needed by what fails, and by no call that works.
            from iac_runtime.gate.known_cases import explain_failure

            explain_failure(failure, plan)
            raise
        finally:
            stages.end_stage("execute")
            self._record_outcome(number, result, time.monotonic() - began, error, delay)
        if plan.facts.effects:
            taint, source = self.permissions.taint, _result_source(plan)
            if plan.tool.operation is None:
                found = without_secret_fields(found, self.permissions.policy.secrets)
            if plan.facts.draft:
                self.permissions.drafts.record(plan.facts, found.value)
            # What a person was asked for they wrote themselves.
            if any(effect.verb != "ask-person" for effect in plan.facts.effects):
                taint.remember_texts(found.value if found.whole is None else found.whole, source)
            if found.outcome is not None:
                taint.remember_texts(found.outcome.read, source)
        notes = [*found.notes]
        if delay and "rate_limit_warning" in (plan.tool.output or {}).get("properties", {}):
            found.value["rate_limit_warning"] = (
                f"waited {delay:.1f} seconds, because calls come too fast"
            )
        elif delay >= 0.05:
            notes.append(f"waited {delay:.1f} seconds, because calls come too fast")
        if self._audit is not None and self._audit.warning:
            notes.append(self._audit.warning)
        return completed_call(plan, found._replace(notes=tuple(notes)), decision)

    def _record_intent(
        self, plan: Plan, decision: Decision, waits: Approver | None = None
    ) -> int | None:
        """Write down a call that was decided; `waits` is the way that it is asked about now."""
        if self._open_audit is None:
            return None
        # Loads sqlite3.
        from iac_runtime.audit import AuditIntent

        with self._opening:
            if self._audit is None:
                self._audit = self._open_audit()
        facts, operation = plan.facts, plan.tool.operation
        rows = parameters_of(operation) if operation else {}
        story = facts.story
        asked = story.asked if story.id or decision.error == "UNANSWERED" else ()
        return self._audit.record_intent(
            AuditIntent(
                plan.tool.name,
                decision.level,
                app=",".join(app or name.replace(",", " ") for app, name in facts.apps),
                effects=tuple(effect.audit_row() for effect in facts.effects),
                client=facts.client,
                reasons=(*decision.reasons, *(f"Put right: {note}." for note in facts.repairs)),
                decision=decision.action,
                source=decision.source,
                arguments=facts.arguments,
                types={key: row.type for key, row in rows.items()},
                line=facts.line,
                story=story.id,
                asked=(*asked, *([(waits, "")] if waits else ())),
                simulated=self._simulated,
            )
        )

    def _record_outcome(
        self,
        number: int | None,
        result: str,
        seconds: float = 0.0,
        error: str = "",
        delay: float = 0.0,
    ) -> None:
        if number is None or self._audit is None:
            return
        from iac_runtime.audit import AuditOutcome

        self._audit.record_outcome(number, AuditOutcome(result, seconds, error=error, delay=delay))


def _result_source(plan: Plan) -> ResultSource:
    """Return where the result of a call comes from: of what it reads the class, and whose."""
    facts, operation = plan.facts, plan.tool.operation
    app, event = facts.app_names, facts.event
    first = facts.effects[0] if facts.effects else None
    if first is None or operation is None or event is None or event.op == "command":
        return ResultSource(plan.tool.name, app, first.kind if first else "")
    reference, label = first.reference, ""
    if first.kind and event.target and isinstance(event.target[-1], PropertyStep):
        label = event.target[-1].name
        reference = reference.removesuffix(f".{label}")
    return ResultSource(plan.tool.name, app, first.kind, reference, label, operation.tables)
