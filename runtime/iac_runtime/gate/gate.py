"""The gate: every call, whoever makes it, goes through here, in this order.

    plan -> judge -> look -> weigh the answer -> limit, audit, execute, audit | ask | refuse

Synchronous and safe to share between threads. Nothing else sends anything to an app. No lock is
held while a person thinks: a call that must be asked about comes back as `Asks`, and the surface
calls again with the answer. A call is asked about in one place, whether it is new, what it names
has changed, or the way of asking before came back with nothing.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from iac_base.cancellation import Cancellation
from iac_base.errors import ToolError, UnknownToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.batch import Looks, check_room, plan_all, run_all
from iac_runtime.gate.limiter import Kind, Limiter, wait_turn
from iac_runtime.gate.mending import mend, mend_sent
from iac_runtime.gate.planning import plan_operation, short_enough
from iac_runtime.gate.plans import Answer, Asks, Call, Done, Plan, ToolContext, ToolResult
from iac_runtime.gate.results import asked_raw, done, other_door, refused, without_secret_fields
from iac_runtime.policy.effects import Approver, CallFacts, Decision
from iac_runtime.policy.permissions import (
    PendingApproval,
    Permissions,
    Requester,
    default_permissions,
)
from iac_runtime.tool import Level, at_most
from iac_runtime.tools.catalogue import Catalogue, forget_changed
from iac_runtime.tools.checking import check_arguments
from iac_runtime.tools.own import OWN_TOOLS
from iac_runtime.tools.shape import RESULT_LIMIT, Tool, accepted
from iac_runtime.tools.tables import parameters

if TYPE_CHECKING:
    from iac_runtime.audit import Audit


class _Stages:
    """The clock of one call; stages are named when they end."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._took: list[tuple[str, float]] = []

    def end(self, name: str) -> None:
        """Say that a stage ended now."""
        now = time.monotonic()
        self._took.append((name, now - self._last))
        self._last = now

    def say(self, tool: str) -> None:
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
        self.executor = executor
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

    @property
    def catalogue(self) -> Catalogue | None:
        """Which tools there are now."""
        return self.context.catalogue

    def renew(self, catalogue: Catalogue) -> None:
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
    ) -> Answer:
        """Carry out a call by the tool's name; `cancel` ends it from another thread.

        `tool` is one that was found already. With `dry_run` the call is judged and not carried out.

        Raises:
            ToolError: It failed, or an argument is wrong; the error carries the facts.
            SetupError: The tool's module, the policy's state or the audit cannot be used.
        """
        stages = _Stages()
        cancel = cancel or Cancellation()
        plan = self.plan(call._replace(cancel=cancel), tool)
        stages.end("plan")
        facts, decision = self.judge(plan, call.caller)
        plan = replace(plan, facts=facts)
        stages.end("judge")
        if plan.parts:
            check_room(facts, decision, self._limiter)
        if dry_run:
            return done(plan, ToolResult(None), decision)
        final = decision.action == "deny" and not decision.requires_prompt
        if not (final or at_most(decision.level, call.most)):
            return other_door(call, plan, decision, listed=not self.read_only)
        # What a question shows, and what its answer is held to.
        looks = call.verdict != "decline" if call.token else decision.action == "ask"
        if plan.look and looks:
            plan = plan.look(facts)
        if call.token:
            facts, decision = self.permissions.weigh(plan.facts, decision, call.token, call.verdict)
            plan = replace(plan, facts=facts)
        stages.end("answer")
        if decision.action == "allow":
            try:
                return self._carry_out(plan, decision, call.token, stages, cancel)
            except ToolError as error:
                mend_sent(error, call, plan)
                if error.type != "STALE" or not (plan.look and facts.pin):
                    raise
                # It changed between the look and the event.
                plan = plan.look(facts)
                plan = replace(plan, facts=self.permissions.changed(plan.facts, facts.shown))
                decision = replace(decision, action="ask")
            finally:
                stages.say(plan.tool.name)
        asks = self.permissions.ask(plan.facts, decision)
        if isinstance(asks, PendingApproval):
            plan = replace(plan, facts=replace(plan.facts, story=asks.story))
            self._outcome(self._intent(plan, decision, waits=asks.way), "asked")
            return Asks(asks.question, asks.token, asks.way, decision.level)
        result = "refused" if asks.error == "REFUSED" else asks.error
        self._outcome(self._intent(plan, asks), result)
        return refused(call, plan, asks)

    def plan(self, call: Call, tool: Tool | None = None) -> Plan:
        """Return what a call would do. Raises as `call` does."""
        tool = tool or self.tool(call.tool)
        call = call._replace(caller=self._vouching(call.caller))
        if call.calls:
            return plan_all(
                call.calls,
                lambda given: self.plan(call._replace(arguments=given, calls=()), tool),
                self.context.kept(Looks),
            )
        operation = tool.operation
        perform = tool.perform or plan_operation

        def planned(arguments: Mapping[str, Any]) -> Plan:
            given = asked_raw(call._replace(arguments=arguments), tool)
            checked = check_arguments(given.arguments, accepted(tool))
            return perform(tool, given._replace(arguments=checked), self.context)

        try:
            return planned(call.arguments)
        except ToolError as error:
            error.command = error.command or tool.name
            if operation is not None:
                error.app = error.app or operation.tables.app.name
            mend(error, call.arguments, tool, planned)
            raise error from None

    def tool(self, name: str) -> Tool:
        """Return the tool of a name.

        Raises:
            UnknownToolError: There is none; the error has the nearest names.
            SetupError: Its module cannot be used.
        """
        # One catalogue from here on: another may take its place meanwhile.
        catalogue = self.catalogue
        if catalogue is not None and name in OWN_TOOLS:
            return OWN_TOOLS[name]
        if catalogue is not None and (row := catalogue.tools.get(name)) is not None:
            return catalogue.tool(row)
        added = self._added()
        if name in added:
            return added[name]
        if catalogue is None:
            raise UnknownToolError(name)
        raise catalogue.unknown(name, [*catalogue.tools, *OWN_TOOLS, *added])

    def judge(self, plan: Plan, caller: Requester) -> tuple[CallFacts, Decision]:
        """Return what is known of a plan, and what is to be done with it."""
        facts = self.permissions.of(plan.facts, self._vouching(caller))
        return facts, self.permissions.judge(facts)

    def _vouching(self, caller: Requester) -> Requester:
        vouched = caller.vouched or self._vouched
        return caller._replace(vouched=vouched, simulated=self.executor.simulated)

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

    def _wait(
        self, plan: Plan, decision: Decision, cancel: Cancellation, *, patient: bool = False
    ) -> float:
        """Wait for a place among the calls, and return the seconds that it took.

        Several calls together wait one by one, each as long as it takes (`patient`); those that
        are DANGEROUS have their places from the start.
        """
        effects, dangerous = plan.facts.effects, decision.level == "DANGEROUS"
        if self._limiter is None or not effects or (plan.parts and not dangerous):
            return 0.0
        kind: Kind = "dangerous" if dangerous else "read" if plan.facts.looks else "write"
        places = max(sum(not effect.anywhere for effect in effects), 1)
        try:
            mine = self._limiter.of(plan.facts.holder)
            return wait_turn(mine, kind, places, cancel, patient=patient)
        except ToolError as error:
            error.app, error.command = plan.facts.app[1], plan.tool.name
            raise

    def _carry_out(
        self,
        plan: Plan,
        decision: Decision,
        token: str,
        stages: _Stages,
        cancel: Cancellation,
    ) -> Done:
        try:
            delay = self._wait(plan, decision, cancel)
        except ToolError:
            self.permissions.give_back(token)
            raise
        stages.end("limit")
        if not plan.parts:
            return self._perform(plan, decision, delay, stages, cancel)

        def run(part: Plan, said: Decision) -> Done:
            paced = said.level != "DANGEROUS"
            waited = self._wait(part, said, cancel, patient=True) if paced else 0.0
            return self._perform(part, said, waited, stages, cancel)

        every = (plan.carry or run_all)(plan, decision, run)
        every = short_enough(every, self.context.limit, plan.facts.effects, plan.facts.holder)
        return done(plan, every, decision)

    def _perform(
        self,
        plan: Plan,
        decision: Decision,
        delay: float,
        stages: _Stages,
        cancel: Cancellation,
    ) -> Done:
        number = self._intent(plan, decision)
        stages.end("intent")
        began = time.monotonic()
        result, error = "EXECUTION_ERROR", ""
        try:
            found = plan.perform(cancel)
            result = "done"
        except ToolError as failure:
            result, error = "cancelled" if cancel.cancelled else failure.type, failure.message
            failure.command = failure.command or plan.tool.name
            failure.app = failure.app or plan.facts.app[1]
            self.permissions.taint.add(failure.original)
            raise
        finally:
            stages.end("execute")
            self._outcome(number, result, time.monotonic() - began, error, delay)
        if plan.facts.effects:
            if plan.tool.operation is None:
                found = without_secret_fields(found, self.permissions.policy.secrets)
            self.permissions.taint.add(found.value if found.whole is None else found.whole)
            if found.outcome is not None:
                self.permissions.taint.add(found.outcome.read)
        notes = [*found.notes]
        if delay and "rate_limit_warning" in (plan.tool.output or {}).get("properties", {}):
            found.value["rate_limit_warning"] = (
                f"waited {delay:.1f} seconds, because calls come too fast"
            )
        elif delay >= 0.05:
            notes.append(f"waited {delay:.1f} seconds, because calls come too fast")
        if self._audit is not None and self._audit.warning:
            notes.append(self._audit.warning)
        return done(plan, found._replace(notes=tuple(notes)), decision)

    def _intent(self, plan: Plan, decision: Decision, waits: Approver | None = None) -> int | None:
        """Write down a call that was decided; `waits` is the way that it is asked about now."""
        if self._open_audit is None:
            return None
        # Loads sqlite3.
        from iac_runtime.audit import AuditIntent

        with self._opening:
            if self._audit is None:
                self._audit = self._open_audit()
        facts, operation = plan.facts, plan.tool.operation
        rows = parameters(operation) if operation else {}
        story = facts.story
        asked = story.asked if story.id or decision.error == "UNANSWERED" else ()
        return self._audit.intent(
            AuditIntent(
                plan.tool.name,
                decision.level,
                app=",".join(app or name.replace(",", " ") for app, name in facts.apps),
                effects=tuple(effect.row() for effect in facts.effects),
                client=facts.client,
                reasons=decision.reasons,
                decision=decision.action,
                source=decision.source,
                arguments=facts.arguments,
                types={key: row.type for key, row in rows.items()},
                line=facts.line,
                story=story.id,
                asked=(*asked, *([(waits, "")] if waits else ())),
                simulated=self.executor.simulated,
            )
        )

    def _outcome(
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

        self._audit.outcome(number, AuditOutcome(result, seconds, error=error, delay=delay))
