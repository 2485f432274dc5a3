"""One run as it goes on: what a prompt leads to, call by call."""

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import anyio

from iac_scenario.bash import BashSession
from iac_scenario.conversation import NextReply, call_id
from iac_scenario.events import (
    Answered,
    Called,
    Ended,
    Event,
    Noted,
    ReplyFailed,
    Said,
    Violation,
    as_result,
    told,
)
from iac_scenario.executors import Disabled, Mock, ToolExecutor
from iac_scenario.hooks import Hooks
from iac_scenario.mcp_config import replaced
from iac_scenario.model import ScenarioScript, ScriptedReply, StdioServer, ToolCall, ToolSetting
from iac_scenario.modes import followed
from iac_scenario.permissions import PermissionRequest, decide
from iac_scenario.results import CallResult, captured, failed, given, lost, misses, placed
from iac_scenario.sandbox import Parts, Sandbox
from iac_scenario.session import DIALOGS, ScenarioSession
from iac_scenario.verdict import Verdict

if TYPE_CHECKING:
    from iac_scenario.mcp_servers import RealMcp

_NO_SETTING: Final = ToolSetting()


class Clock:
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
class Stage:
    """All that a run needs while it goes on."""

    scenario: ScenarioScript
    clock: Clock
    timeouts: Mapping[str, int]
    places: dict[str, Any]
    executor_of: Callable[[ToolCall], ToolExecutor]
    sandbox: Sandbox
    bash: BashSession
    real: "RealMcp | None"
    verdict: Verdict
    session: ScenarioSession
    hooks: Hooks

    def began(self) -> Iterator[Violation]:
        """Yield what is wrong before the first prompt."""
        for name, why in (self.real.unstarted() if self.real is not None else {}).items():
            server = self.scenario.servers.get(name) or StdioServer("")
            yield from self.verdict.unstarted(server.line, why, server)

    async def answer(self, step: NextReply, prompt: str, number: int) -> AsyncIterator[Event]:
        """Yield what one prompt leads to."""
        start = self.clock.passed_ms
        delay = step.reply.delay_ms
        await self.clock.pause(self.timeouts["response_delay_ms"] if delay is None else delay)
        if step.failure is not None:
            await self.clock.pause(step.failure.facts.get("after_ms", 0))
            yield ReplyFailed(step.failure, told(step.failure))
        else:
            position, real = 0, list[ToolCall]()
            for reply in followed(step.reply):
                async for event in self._said(reply, number, position):
                    yield event
                real += [call for call in reply.calls if not self._scripted(call)]
                position += len(reply.calls)
            for violation in self.verdict.unchecked(step.line, real, step.reply):
                yield violation
        yield Ended(prompt, self.clock.passed_ms - start, step.reply.usage)

    async def _said(self, reply: ScriptedReply, number: int, first: int) -> AsyncIterator[Event]:
        """Yield a reply, its calls and their results; what they capture is known from then on."""
        yield Said(replaced(reply.text, self.places))
        identity = self.scenario.identity
        calls = [
            (call_id(identity, number, first + at), replaced(call.input, self.places), call)
            for at, call in enumerate(reply.calls)
        ]
        for key, arguments, call in calls:
            yield Called(key, call.tool, arguments)
        for key, arguments, written in calls:
            checks = placed(written.expect, self.places)
            call = written
            if arguments is not written.input or checks != written.expect:
                call = replace(written, input=arguments, expect=checks)
            begun = anyio.current_time()
            outcome = await self._carried_out(call)
            outcome = replace(outcome, took_ms=(anyio.current_time() - begun) * 1000)
            kept = captured(call.capture, outcome)
            self.places.update(kept)
            self.session.captured(kept)
            missed = (*misses(call.expect, outcome), *lost(call, kept, outcome))
            yield Answered(key, call.tool, outcome, missed, len(call.expect) + len(call.capture))
            if outcome.note:
                yield Noted(f"{self.scenario.path.name}:{call.line}: {outcome.note}")
            for event in self.verdict.answered(written, outcome, scripted=self._scripted(call)):
                yield event

    def _scripted(self, call: ToolCall) -> bool:
        """Whether the file itself says what the call answers."""
        setting = self.scenario.execution.tools.get(call.tool, _NO_SETTING)
        executor = self.executor_of(call)
        if isinstance(executor, Disabled) or call.failure is not None:
            return True
        if setting.error is not None or setting.result is not None:
            return True
        return isinstance(executor, Mock) and (call.error is not None or call.result is not None)

    async def _carried_out(self, call: ToolCall) -> CallResult:
        executor = self.executor_of(call)
        if isinstance(executor, Disabled):
            return await executor.run(call)
        facts = {"tool_name": call.tool, "tool_input": call.input}
        before = await self.hooks.run("PreToolUse", call.tool, **facts)
        if before.input is not None:
            call = replace(call, input=before.input)
        if before.decision == "block" or before.stops:
            outcome = failed(before.reason)
        elif (refusal := await self._refusal(call, executor, before.decision)) is not None:
            outcome = replace(refusal, denied=True)
        else:
            outcome = await self._done(call, executor)
            if not self.hooks.given:
                return outcome
            facts |= {"tool_input": call.input, "tool_response": outcome.value}
            after = await self.hooks.run("PostToolUse", call.tool, **facts)
            said = (f"hook PostToolUse: {after.reason}",) if after.decision == "block" else ()
            before = replace(before, notes=(*before.notes, *after.notes, *said))
        return replace(outcome, note="; ".join(filter(None, (outcome.note, *before.notes))))

    async def _done(self, call: ToolCall, executor: ToolExecutor) -> CallResult:
        setting = self.scenario.execution.tools.get(call.tool, _NO_SETTING)
        if call.failure is not None:
            await self.clock.pause(call.failure.facts.get("after_ms", 0))
            return failed(as_result(call.failure))
        if setting.error is not None:
            return failed(setting.error)
        if setting.result is not None:
            return given(setting.result)
        return await executor.run(call)

    async def _refusal(
        self, call: ToolCall, executor: ToolExecutor, hooked: str
    ) -> CallResult | None:
        """Return what stands in a call's way; `hooked` is what the hooks before it said."""
        permissions = self.scenario.permissions
        if permissions.mode != self.session.mode:
            permissions = replace(permissions, mode=self.session.mode)
        setting = self.scenario.execution.tools.get(call.tool, _NO_SETTING)
        request = PermissionRequest(
            tool=call.tool if self.real is None else self.real.qualified(call.tool),
            input=call.input if isinstance(call.input, dict) else {},
            reads=executor.reads(call),
            place=self._place_of(call),
        )
        approves = setting.auto_approve or hooked == "allow"
        asked = decide(request, permissions, auto_approve=approves)
        if asked.verdict == "deny":
            said = f"Permission to use {call.tool} has been denied: {asked.reason}."
            return failed(said)
        declines = call.approve is False and call.tool == "AskUserQuestion"
        if asked.verdict == "allow" and hooked != "ask" and not declines:
            return None
        message = f"Claude needs your permission to use {call.tool}"
        kind = {"message": message, "notification_type": "permission_prompt"}
        await self.hooks.run("Notification", "permission_prompt", **kind)
        if permissions.answer == "allow" if call.approve is None else call.approve:
            return None
        if call.tool in DIALOGS:
            return self.session.declined(call.tool)
        return failed(f"Permission to use {call.tool} was requested and not given: {asked.reason}.")

    def _place_of(self, call: ToolCall) -> Callable[[str], Parts]:
        """Return how a call's paths are understood: those of Bash begin where Bash is."""
        if call.tool != "Bash":
            return self.sandbox.parts
        return lambda path: self.sandbox.parts(os.path.join(self.bash.folder, path))  # noqa: PTH118
