"""One run as it goes on: what a prompt leads to, call by call."""

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import anyio

from iac_scenario.bash import BashSession
from iac_scenario.checks import RunChecks
from iac_scenario.conversation import (
    CallEvent,
    EndEvent,
    Event,
    FailureEvent,
    NextReply,
    NoteEvent,
    ResultEvent,
    TextEvent,
    Violation,
    call_id,
    describe_failure,
    failure_text,
)
from iac_scenario.executors import DisabledExecutor, ToolExecutor
from iac_scenario.matching import BUILT_IN, fitting_input, replace_variables
from iac_scenario.model import (
    Mode,
    ScenarioScript,
    ScriptedReply,
    ToolCall,
    ToolSetting,
    reply_chain,
)
from iac_scenario.permissions import PermissionRequest, decide_permission, is_scripted_call
from iac_scenario.refusals import refusal_result
from iac_scenario.results import (
    CallResult,
    captured_values,
    error_result,
    file_result,
    missed_expectations,
    missing_captures,
    resolve_expectations,
)
from iac_scenario.sandbox import Parts, Sandbox
from iac_scenario.session import DIALOGS, HookVerdict, ScenarioSession, SessionHooks

if TYPE_CHECKING:
    from iac_scenario.mcp_servers import McpExecutor


_NO_SETTING: Final = ToolSetting()


class SessionClock:
    """The session's time: it moves by scripted delays only."""

    def __init__(self, start: str) -> None:
        self._start = datetime.fromisoformat(start)
        self.passed_ms = 0

    def now(self) -> datetime:
        return self._start + timedelta(milliseconds=self.passed_ms)

    async def pause(self, milliseconds: int) -> None:
        self.passed_ms += milliseconds
        await anyio.sleep(milliseconds / 1000)


@dataclass(slots=True)
class RunState:
    """All that a run needs while it goes on."""

    scenario: ScenarioScript
    mode: Mode | None
    clock: SessionClock
    timeouts: Mapping[str, int]
    places: dict[str, Any]
    executor_of: Callable[[ToolCall], ToolExecutor]
    sandbox: Sandbox
    bash: BashSession
    real: "McpExecutor | None"
    verdict: RunChecks
    session: ScenarioSession
    hooks: SessionHooks
    max_turns: int = 0

    def startup_violations(self) -> Iterator[Violation]:
        """Yield what is wrong before the first prompt."""
        yield from self.protocol_violations()
        for name, why in (self.real.failed_servers() if self.real is not None else {}).items():
            yield from self.verdict.server_fault("unstarted", name, why)

    def protocol_violations(self) -> Iterator[Violation]:
        """Yield what servers did against the protocol since this was asked last."""
        for name, fault in self.real.take_faults() if self.real is not None else ():
            yield from self.verdict.server_fault("protocol", name, fault)

    async def answer_prompt(
        self, step: NextReply, prompt: str, number: int
    ) -> AsyncIterator[Event]:
        """Yield what one prompt leads to."""
        start, reached = self.clock.passed_ms, 0
        delay = step.reply.delay_ms
        await self.clock.pause(self.timeouts["response_delay_ms"] if delay is None else delay)
        if step.failure is not None:
            await self.clock.pause(step.failure.facts.get("after_ms", 0))
            yield FailureEvent(step.failure, describe_failure(step.failure))
        else:
            position, real = 0, list[ToolCall]()
            for turn, reply in enumerate(reply_chain(step.reply), 1):
                async for event in self._play_reply(reply, number, position):
                    yield event
                real += [call for call in reply.calls if not self.is_scripted(call)]
                position += len(reply.calls)
                if turn == self.max_turns and reply.calls:
                    reached = turn
                    break
            for violation in self.verdict.unchecked_calls(step.line, real, step.reply):
                yield violation
        yield EndEvent(prompt, self.clock.passed_ms - start, step.reply.usage, reached)

    async def _play_reply(
        self, reply: ScriptedReply, number: int, first: int
    ) -> AsyncIterator[Event]:
        """Yield a reply, its calls and their results; what they capture is known from then on."""
        yield TextEvent(replace_variables(reply.text, self.places))
        identity = self.scenario.identity
        ids = (call_id(identity, number, first + at) for at in range(len(reply.calls)))
        given = [replace_variables(call.input, self.places) for call in reply.calls]
        calls = [*zip(ids, given, reply.calls, strict=True)]
        for key, arguments, call in calls:
            yield CallEvent(key, call.tool, arguments)
        for key, arguments, written in calls:
            checks = resolve_expectations(written.expect, self.places)
            call = written
            if arguments is not written.input or checks != written.expect:
                call = replace(written, input=arguments, expect=checks)
            begun = anyio.current_time()
            outcome = await self._run_with_hooks(call, key)
            outcome = replace(outcome, took_ms=(anyio.current_time() - begun) * 1000)
            kept = captured_values(call.capture, outcome)
            self.places.update(kept)
            self.session.record_captured(kept)
            missed = missed_expectations(call.expect, outcome)
            missed += missing_captures(call, kept, outcome)
            checked = len(call.expect) + len(call.capture)
            yield ResultEvent(key, call.tool, outcome, tuple(missed), checked)
            if outcome.note:
                yield NoteEvent(f"{self.scenario.path.name}:{call.line}: {outcome.note}")
            scripted = self.is_scripted(call)
            errors = [*self.verdict.check_result(written, outcome, scripted=scripted)]
            # An error that comes of a fault is the fault's; it is told once.
            for event in [*self.protocol_violations()] or errors:
                yield event

    def is_scripted(self, call: ToolCall) -> bool:
        """Whether the file itself says what the call answers."""
        return is_scripted_call(call, self.scenario, self.mode)

    async def _run_with_hooks(self, call: ToolCall, key: str) -> CallResult:
        executor = self.executor_of(call)
        if isinstance(executor, DisabledExecutor):
            return await executor.run(call)
        schema = BUILT_IN.get(call.tool, {})
        given = fitting_input(schema, call.input) if self.hooks.given else call.input
        facts = {"tool_name": call.tool, "tool_input": given, "tool_use_id": key}
        before = await self.hooks.run("PreToolUse", call.tool, **facts)
        if before.input is not None:
            call = replace(call, input=before.input)
        if before.decision == "block" or before.stops:
            outcome = replace(error_result(before.reason), denied=True)
        elif (refusal := await self.refusal_result(call, executor, before)) is not None:
            # What the client takes for an unfit call is none of its denials.
            outcome = replace(refusal, denied=not refusal.text.startswith("<tool_use_error>"))
        else:
            outcome = await self._run_call(call, executor)
            if not self.hooks.given:
                return outcome
            unfit = outcome.is_error and outcome.text.startswith("<tool_use_error>")
            if unfit:
                return replace(outcome, note="; ".join(filter(None, (outcome.note, *before.notes))))
            told = {"error": outcome.text, "is_interrupt": False}
            told = told if outcome.is_error else {"tool_response": outcome.told}
            facts |= {"tool_input": fitting_input(schema, call.input), **told}
            event = "PostToolUseFailure" if outcome.is_error else "PostToolUse"
            after = await self.hooks.run(event, call.tool, **facts)
            note = (f"hook {event}: {after.reason}",) if after.decision == "block" else ()
            before = replace(before, notes=(*before.notes, *after.notes, *note))
        return replace(outcome, note="; ".join(filter(None, (outcome.note, *before.notes))))

    async def _run_call(self, call: ToolCall, executor: ToolExecutor) -> CallResult:
        setting = self.scenario.execution.tools.get(call.tool, _NO_SETTING)
        if call.failure is not None:
            await self.clock.pause(call.failure.facts.get("after_ms", 0))
            return error_result(failure_text(call.failure))
        return file_result(setting) if setting.answers_calls else await executor.run(call)

    async def refusal_result(
        self, call: ToolCall, executor: ToolExecutor, hooked: HookVerdict
    ) -> CallResult | None:
        """Return what stands in a call's way; `hooked` is what the hooks before it said."""
        permissions = self.scenario.permissions
        if permissions.mode != self.session.mode:
            permissions = replace(permissions, mode=self.session.mode)
        setting = self.scenario.execution.tools.get(call.tool, _NO_SETTING)
        request = PermissionRequest(
            tool=call.tool if self.real is None else self.real.qualify_name(call.tool),
            input=call.input if isinstance(call.input, dict) else {},
            reads=executor.is_read_only(call),
            place=self._path_resolver(call),
        )
        approves = setting.auto_approve or hooked.decision == "allow"
        asked = decide_permission(request, permissions, auto_approve=approves)
        declines = call.approve is False and call.tool == "AskUserQuestion"
        if asked.verdict == "allow" and hooked.decision != "ask" and not declines:
            return None
        refused = refusal_result(request, asked, permissions.mode, self.sandbox.mount)
        refused = replace(refused, note=f"{call.tool} was refused: {asked.reason}")
        if asked.verdict == "deny":
            return refused
        message = f"Claude needs your permission to use {call.tool}"
        kind = {"message": message, "notification_type": "permission_prompt"}
        await self.hooks.run("Notification", "permission_prompt", **kind)
        if permissions.answer == "allow" if call.approve is None else call.approve:
            return None
        if call.tool in DIALOGS:
            return self.session.declined_result(call.tool)
        if hooked.decision == "ask" and hooked.reason:
            return error_result(hooked.reason)
        return refused

    def _path_resolver(self, call: ToolCall) -> Callable[[str], Parts]:
        """Return how a call's paths are understood: those of Bash begin where Bash is."""
        if call.tool != "Bash":
            return self.sandbox.resolve_path
        return lambda path: self.sandbox.resolve_path(os.path.join(self.bash.folder, path))  # noqa: PTH118
