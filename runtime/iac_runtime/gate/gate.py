"""The gate: every call, whoever makes it, goes through here, in this order.

    find -> check -> level -> policy -> limits -> audit the intent -> execute -> audit the outcome

Synchronous and safe to share between threads. Nothing else sends anything to an app. No lock is
held while a person thinks: a call that must be asked about comes back as `Asks`, and the surface
calls again with the answer.
"""

import os
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from iac_base.cancellation import Cancellation
from iac_base.errors import ToolError, UnknownToolError, nearest
from iac_base.logs import Stages
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.limiter import Limiter, Permit
from iac_runtime.gate.planning import OWN_TOOLS, Planner
from iac_runtime.gate.plans import Asks, Call, Done, Found, Outcome, Plan, Refused, Toolset
from iac_runtime.language.levels import at_most
from iac_runtime.policy.facts import CallFacts, Decision
from iac_runtime.policy.permissions import (
    PendingApproval,
    Permissions,
    Requester,
    default_permissions,
)
from iac_runtime.tool import Level
from iac_runtime.tools.binding import Tool
from iac_runtime.tools.catalogue import Catalogue, forget_changed, lock_digest
from iac_runtime.tools.entries import RESULT_LIMIT

if TYPE_CHECKING:
    from iac_runtime.audit import Audit

__all__ = ["Asks", "Call", "Done", "Gate", "Refused"]

DOORS: Final[Mapping[Level, str]] = {
    "SAFE": "read_tool",
    "MODIFY": "write_tool",
    "DANGEROUS": "dangerous_tool",
}
"""The tools that call others by name, by the highest level that each takes."""


class Gate:
    """Carries out calls on the tools of a catalogue.

    Args:
        catalogue: Which tools there are; None for a gate that is handed its tools (the library).
        executor: How events are sent.
        allow: Calls up to this level were written by the person who runs them and run unasked.
        home: The user's home folder, for `~` in paths.
        limit: Characters of JSON in a result, or None for no limit.
        way: How the person allows more where nobody can be asked; `{level}` stands for the level.
        launch: Bundle ids of the apps that a SAFE call may start; others must be running for it.
        permissions: The user's policy; what holds without one if left out.
        audit: Opens the audit, on first need; None for none.
        limiter: How often calls may run; None for no limit.
        stale: Says which apps are newer than their tools, a line each.
        toolsets: Tools that are not generated.
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
        way: str = "",
        launch: Collection[str] = (),
        permissions: Permissions | None = None,
        audit: Callable[[], "Audit"] | None = None,
        limiter: Limiter | None = None,
        stale: Callable[[], Sequence[str]] = tuple,
        toolsets: Sequence[Toolset] = (),
        renewed: Callable[[Catalogue], object] | None = None,
    ) -> None:
        self.executor = executor
        self.permissions = permissions or default_permissions(home)
        self._vouched: Level | None = None if allow == "SAFE" else allow
        home = os.path.expanduser("~") if home is None else home  # noqa: PTH111 (a text)
        starts = (*launch, *self.permissions.policy.launch)
        self._planner = Planner(catalogue, executor, self.permissions, home, limit, starts, stale)
        self._way = way
        self._open_audit = audit
        self._toolsets = tuple(toolsets)
        self._audit: Audit | None = None
        self._opening = threading.Lock()
        self._limiter = limiter
        self._renewed = renewed

    @property
    def catalogue(self) -> Catalogue | None:
        """Which tools there are now."""
        return self._planner.catalogue

    def renew(self, catalogue: Catalogue) -> None:
        """Take tools that were built anew; calls under way go on with those they began with.

        Raises:
            SetupError: A module cannot be read; the old tools stay.
        """
        forget_changed()
        if self._renewed is not None:
            self._renewed(catalogue)
        self._planner.catalogue = catalogue

    def call(
        self, call: Call, *, dry_run: bool = False, cancel: Cancellation | None = None
    ) -> Outcome:
        """Carry out a call by the tool's name; `cancel` ends it from another thread.

        Raises:
            ToolError: It failed, or an argument is wrong; the error carries the facts.
            SetupError: The tool's module, the policy's state or the audit cannot be used.
        """
        stages = Stages()
        plan = self.plan(call)
        stages.end("plan")
        return self._run(plan, call, stages, dry_run=dry_run, cancel=cancel)

    def run(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        *,
        dry_run: bool = False,
        cancel: Cancellation | None = None,
    ) -> Outcome:
        """Carry out a call of a tool that was found already. Raises as `call` does."""
        stages = Stages()
        plan = self._planner.generated(tool, arguments)
        stages.end("plan")
        call = Call(tool.name, arguments)
        return self._run(plan, call, stages, dry_run=dry_run, cancel=cancel)

    def plan(self, call: Call) -> Plan:
        """Return what a call would do. Raises as `call` does."""
        # One catalogue from here on: another may take its place meanwhile.
        catalogue = self.catalogue
        own = OWN_TOOLS.get(call.tool)
        if own is not None and catalogue is not None:
            return self._planner.own(own, call.arguments, read_only=self.read_only)
        for toolset in self._toolsets:
            if call.tool in toolset.names:
                return toolset.plan(call)
        if catalogue is None:
            raise UnknownToolError(call.tool)
        row = catalogue.tools.get(call.tool)
        if row is None:
            others = (name for toolset in self._toolsets for name in toolset.names)
            names = [*catalogue.tools, *OWN_TOOLS, *others]
            raise UnknownToolError(call.tool, nearest(call.tool, names))
        digest = lock_digest(row.app.folder, call.tool)
        return self._planner.generated(catalogue.tool(row), call.arguments, digest)

    def judge(self, plan: Plan, caller: Requester) -> tuple[CallFacts, Decision]:
        """Return what is known of a plan, and what is to be done with it."""
        facts = self.permissions.facts(
            plan.name,
            plan.app,
            plan.tool,
            plan.arguments,
            plan.event,
            plan.levels,
            caller._replace(vouched=caller.vouched or self._vouched),
            line=plan.line,
            digest=plan.digest,
        )
        if plan.event is None:
            facts = replace(
                facts,
                raised=plan.raised,
                targets=plan.targets,
                names=plan.names,
                unsure=plan.unsure,
                memory=plan.memory,
            )
        facts = replace(facts, names=self._names(facts))
        return facts, self.permissions.judge(facts)

    def _names(self, facts: CallFacts) -> tuple[str, ...]:
        """Return the names of the apps that a call reaches; rules may speak of them by these."""
        found = []
        for app, name in zip_longest(facts.targets, facts.names, fillvalue=""):
            row = self.catalogue.find_app(app) if app and self.catalogue else None
            found.append(row.name if row else name)
        return tuple(found)

    @property
    def read_only(self) -> bool:
        """Whether nothing is changed here at all."""
        return bool(self.permissions.settings.read_only.value)

    def close(self) -> None:
        """End what runs for this gate: calls under way are cancelled, workers and audit ended."""
        self.executor.close()
        for toolset in self._toolsets:
            toolset.close()
        if self._audit is not None:
            self._audit.close()

    def _run(
        self,
        plan: Plan,
        call: Call,
        stages: Stages,
        *,
        dry_run: bool,
        cancel: Cancellation | None,
    ) -> Outcome:
        facts, decision = self.judge(plan, call.caller)
        stages.end("judge")
        if dry_run:
            return _done(plan, Found(None), decision)
        if not at_most(decision.level, call.most):
            return _other_door(plan, decision)
        if decision.action == "ask" and not call.token:
            asked = self.permissions.ask(facts, decision)
            if isinstance(asked, PendingApproval):
                self._record(plan, facts, decision, result="asked")
                return Asks(asked.question, asked.token, decision.level)
            decision = asked
        delay = 0.0
        if decision.action == "allow" or call.token:
            # Before the answer is used up: a call that must wait can come back with it.
            delay = self._wait(plan, facts, decision, cancel)
        if call.token:
            decision = self.permissions.answer(facts, call.token, call.verdict)
        if decision.action != "allow":
            self._record(plan, facts, decision, result="refused")
            return self._refused(plan, decision)
        stages.end("limit and answer")
        try:
            return self._carry_out(plan, facts, decision, delay, stages, cancel)
        finally:
            stages.say(plan.name)

    def _wait(
        self, plan: Plan, facts: CallFacts, decision: Decision, cancel: Cancellation | None
    ) -> float:
        """Wait for a place among the calls, and return the seconds that it took."""
        if self._limiter is None or not (plan.app[0] or plan.outward):
            return 0.0
        dangerous = decision.level == "DANGEROUS"
        permit = self._limiter.take(
            "dangerous" if dangerous else "write" if facts.writes else "read"
        )
        if isinstance(permit, Permit):
            if permit.delay:
                (cancel or Cancellation()).wait(permit.delay)
            return permit.delay
        raise ToolError(
            "BUSY",
            f"Too many calls: this one can run in {permit.seconds:.1f} seconds.",
            "Wait that long, or do more with one call.",
            retryable=True,
            app=plan.app[1],
            command=plan.name,
        )

    def _carry_out(
        self,
        plan: Plan,
        facts: CallFacts,
        decision: Decision,
        delay: float,
        stages: Stages,
        cancel: Cancellation | None,
    ) -> Done:
        number = self._intent(plan, facts, decision)
        stages.end("intent")
        began = time.monotonic()
        result, error = "EXECUTION_ERROR", ""
        try:
            found = plan.perform(cancel)
            result = "done"
        except ToolError as failure:
            cancelled = cancel is not None and cancel.cancelled
            result, error = "cancelled" if cancelled else failure.type, failure.message
            failure.command = failure.command or plan.name
            failure.app = failure.app or plan.app[1]
            self.permissions.saw(failure.original)
            raise
        finally:
            stages.end("execute")
            self._outcome(number, result, time.monotonic() - began, error, delay)
        if plan.app[0] or plan.outward:
            self.permissions.saw(found.value)
        notes = [*found.notes]
        if delay and "rate_limit_warning" in (plan.output or {}).get("properties", {}):
            found.value["rate_limit_warning"] = f"waited {delay:.1f} seconds; calls come too fast"
        elif delay >= 0.05:
            notes.append(f"waited {delay:.1f} seconds, for calls came too fast")
        if self._audit is not None and self._audit.warning:
            notes.append(self._audit.warning)
        return _done(plan, Found(found.value, tuple(notes)), decision)

    def _refused(self, plan: Plan, decision: Decision) -> Refused:
        way = self._way.format(level=decision.level) if decision.requires_prompt else ""
        return Refused(
            plan.name,
            plan.app[1],
            decision.level,
            " ".join((f"This call is {decision.level} and may not run.", *decision.reasons)),
            " ".join(filter(None, (way, decision.suggestion))),
            plan.line,
            decision.requires_prompt,
            decision.source,
        )

    def _record(self, plan: Plan, facts: CallFacts, decision: Decision, result: str) -> None:
        self._outcome(self._intent(plan, facts, decision), result, 0.0)

    def _intent(self, plan: Plan, facts: CallFacts, decision: Decision) -> int | None:
        if self._open_audit is None:
            return None
        # Loads sqlite3.
        from iac_runtime.audit import AuditIntent

        with self._opening:
            if self._audit is None:
                self._audit = self._open_audit()
        return self._audit.intent(
            AuditIntent(
                plan.name,
                decision.level,
                app=",".join(app or name.replace(",", " ") for app, name in facts.apps),
                client=facts.client,
                reasons=decision.reasons,
                decision=decision.action,
                source=decision.source,
                arguments=plan.arguments,
                types=plan.types,
                line=plan.line,
            )
        )

    def _outcome(
        self, number: int | None, result: str, seconds: float, error: str = "", delay: float = 0.0
    ) -> None:
        if number is None or self._audit is None:
            return
        from iac_runtime.audit import AuditOutcome

        self._audit.outcome(number, AuditOutcome(result, seconds, error=error, delay=delay))


def _done(plan: Plan, found: Found, decision: Decision) -> Done:
    return Done(
        found.value,
        plan.line,
        decision.level,
        "; ".join(found.notes),
        plan.output,
        plan.app,
        decision.reasons,
        decision.source,
    )


def _other_door(plan: Plan, decision: Decision) -> Refused:
    door = DOORS[decision.level]
    return Refused(
        plan.name,
        plan.app[1],
        decision.level,
        " ".join((f"This call is {decision.level}.", *decision.reasons)),
        f"Call it with {door}, the same name and arguments.",
        plan.line,
        source="the tool that was used",
    )
