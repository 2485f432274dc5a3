"""Plays a scenario: prompts in, events out."""

import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread

from iac_scenario.bash import BashSession
from iac_scenario.conversation import Conversation, NextReply, call_id
from iac_scenario.errors import CallError, PlayError, Problem
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
from iac_scenario.executors import Disabled, Mock, Simulated, ToolExecutor
from iac_scenario.mcp_config import expanded, read_config, replaced
from iac_scenario.model import (
    Mode,
    PermissionMode,
    ScenarioScript,
    ScriptedReply,
    StdioServer,
    ToolCall,
    ToolSetting,
)
from iac_scenario.modes import calls_of, mode_of
from iac_scenario.permissions import PermissionRequest, decide, hidden_from
from iac_scenario.results import CallResult, captured, failed, given, lost, misses, placed, shown
from iac_scenario.sandbox import Parts, Sandbox
from iac_scenario.timeouts import resolve
from iac_scenario.verdict import Verdict

if TYPE_CHECKING:
    from iac_scenario.mcp_servers import RealMcp

_MOUNT: Final = "/sandbox"
_NO_SETTING: Final = ToolSetting()


@dataclass(frozen=True, slots=True)
class PlaySettings:
    """What the caller asks for over the file; None leaves it to the file."""

    mode: Mode | None = None
    sandbox_root: Path | None = None
    allow_real_bash: bool = False
    unconfined: bool = False
    mcp_config: Path | None = None
    permission_mode: PermissionMode | None = None
    timeouts: Mapping[str, int | None] = field(default_factory=dict)
    allowed: frozenset[str] = frozenset()


async def play(
    scenario: ScenarioScript,
    prompts: Iterable[str],
    settings: PlaySettings,
    take: Callable[[Event], None],
) -> None:
    """Play the prompts one by one and hand `take` each event when it happens.

    Raises PlayError where a sandbox, a configuration or a shell cannot be used, and what `take`
    raises; servers and a temporary sandbox are gone by then.
    """
    raised: BaseException | None = None
    async with _stage(scenario, settings) as stage:
        conversation = Conversation(scenario)
        source = iter(prompts)
        number = 0
        try:
            for violation in stage.began():
                take(violation)
            # A prompt may be a line that somebody is still typing.
            while (prompt := await _next(source)) is not None:
                number += 1
                await _prompted(stage, conversation, prompt, number, take)
            for violation in stage.verdict.ended(conversation):
                take(violation)
        # Kept until the servers are gone: their task group would wrap it.
        except Exception as error:
            raised = error
    if raised is not None:
        raise raised


async def _next(source: Iterator[str]) -> str | None:
    return await anyio.to_thread.run_sync(next, source, None, abandon_on_cancel=True)


async def _prompted(
    stage: "_Stage",
    conversation: Conversation,
    prompt: str,
    number: int,
    take: Callable[[Event], None],
) -> None:
    """Answer one prompt within its time."""
    limit = stage.timeouts["prompt_timeout_ms"]
    with anyio.move_on_after(limit / 1000) as scope:
        step = conversation.step(prompt)
        if not step.matched:
            for violation in stage.verdict.unmatched(prompt, number):
                take(violation)
        async for event in stage.answer(step, prompt, number):
            take(event)
    if scope.cancelled_caught:
        said = f"the prompt {shown(prompt)!r} took more than {limit:,} ms"
        take(Violation("late", stage.scenario.path.name, step.line, said))


async def inspect(scenario: ScenarioScript, settings: PlaySettings) -> list[Problem]:
    """Return what the listings of the servers say against a scenario; nothing is called."""
    async with _stage(scenario, settings) as stage:
        found = [Problem(each.file, each.line, "", each.text) for each in stage.began()]
        for call in calls_of(scenario):
            meant = any(check.kind == "is_error" and check.want for check in call.expect)
            if stage.real is None or stage.executor_of(call) is not stage.real or meant:
                continue
            if said := stage.real.fault(call):
                found.append(Problem(scenario.path.name, call.line, call.tool, said))
    return found


class _Clock:
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
class _Stage:
    """All that a run needs while it goes on."""

    scenario: ScenarioScript
    clock: _Clock
    timeouts: Mapping[str, int]
    places: dict[str, Any]
    executor_of: Callable[[ToolCall], ToolExecutor]
    sandbox: Sandbox
    bash: BashSession
    real: "RealMcp | None"
    verdict: Verdict

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
            reply: ScriptedReply | None = step.reply
            while reply is not None:
                async for event in self._said(reply, number, position):
                    yield event
                real += [call for call in reply.calls if not self._scripted(call)]
                position, reply = position + len(reply.calls), reply.then
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
            call = self._placed(written, arguments)
            begun = anyio.current_time()
            outcome = await self._carried_out(call)
            outcome = replace(outcome, took_ms=(anyio.current_time() - begun) * 1000)
            kept = captured(call.capture, outcome)
            self.places.update(kept)
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
        setting = self.scenario.execution.tools.get(call.tool, _NO_SETTING)
        executor = self.executor_of(call)
        if isinstance(executor, Disabled):
            return await executor.run(call)
        refusal = self._refusal(call, setting, executor)
        if refusal is not None:
            return replace(failed(refusal), denied=True)
        if call.failure is not None:
            await self.clock.pause(call.failure.facts.get("after_ms", 0))
            return failed(as_result(call.failure))
        if setting.error is not None:
            return failed(setting.error)
        if setting.result is not None:
            return given(setting.result)
        return await executor.run(call)

    def _refusal(self, call: ToolCall, setting: ToolSetting, executor: ToolExecutor) -> str | None:
        permissions = self.scenario.permissions
        request = PermissionRequest(
            tool=call.tool if self.real is None else self.real.qualified(call.tool),
            input=call.input if isinstance(call.input, dict) else {},
            reads=executor.reads(call),
            place=self._place_of(call),
        )
        asked = decide(request, permissions, auto_approve=setting.auto_approve)
        if asked.verdict == "allow":
            return None
        if asked.verdict == "deny":
            return f"Permission to use {call.tool} has been denied: {asked.reason}."
        approved = permissions.answer == "allow" if call.approve is None else call.approve
        if approved:
            return None
        return f"Permission to use {call.tool} was asked for and not given: {asked.reason}."

    def _place_of(self, call: ToolCall) -> Callable[[str], Parts]:
        """Return how a call's paths are understood: those of Bash begin where Bash is."""
        if call.tool != "Bash":
            return self.sandbox.parts
        return lambda path: self.sandbox.parts(os.path.join(self.bash.folder, path))  # noqa: PTH118

    def _placed(self, call: ToolCall, arguments: Any) -> ToolCall:
        refused = self.scenario.execution.validate == "client"
        checks = placed(call.expect, self.places)
        return replace(call, input=arguments, expect=checks, validate=refused)


@asynccontextmanager
async def _stage(scenario: ScenarioScript, settings: PlaySettings) -> AsyncIterator[_Stage]:
    scenario = replace(scenario, allowed=scenario.allowed | settings.allowed)
    if settings.permission_mode is not None:
        permissions = replace(scenario.permissions, mode=settings.permission_mode)
        scenario = replace(scenario, permissions=permissions)
    timeouts = resolve(settings.timeouts, scenario.timeouts)
    clock = _Clock(scenario.identity.launch_timestamp)
    async with AsyncExitStack() as stack:
        sandbox = _sandbox(scenario, settings, stack)
        # In a folder that stays, hooks and start-up files would run when the scenario is long over.
        lasting = settings.sandbox_root or scenario.execution.sandbox_root
        trusted = settings.allow_real_bash or scenario.execution.allow_real_bash
        bash = BashSession(
            sandbox,
            clock.now,
            unconfined=settings.unconfined,
            guarded=lasting is not None and not trusted,
        )
        stack.callback(bash.close)
        hidden = hidden_from(scenario.permissions, sandbox.parts)
        simulated = Simulated(sandbox, bash, timeouts["bash_timeout_ms"] / 1000, hidden)
        executors: dict[str, ToolExecutor] = {
            "disabled": Disabled(), "mock": Mock(), "simulated": simulated,
        }  # fmt: skip
        places: dict[str, Any] = {
            "SANDBOX_ROOT": sandbox.root,
            "SCENARIO_DIR": str(scenario.path.parent.resolve()),
        }
        real = None
        if any(mode_of(call, scenario, settings.mode) == "real_mcp" for call in calls_of(scenario)):
            # The SDK takes half a second to import; no other mode needs it.
            from iac_scenario.mcp_servers import answering, connected

            servers = _servers(scenario, settings, places)
            real = await stack.enter_async_context(
                connected(servers, answering(scenario, places), timeouts)
            )
            executors["real_mcp"] = real

        def executor_of(call: ToolCall) -> ToolExecutor:
            return executors[mode_of(call, scenario, settings.mode)]

        verdict = Verdict(scenario)
        yield _Stage(scenario, clock, timeouts, places, executor_of, sandbox, bash, real, verdict)


def _sandbox(scenario: ScenarioScript, settings: PlaySettings, stack: AsyncExitStack) -> Sandbox:
    """Open the sandbox that is asked for, or a temporary one, and write the scenario's files."""
    root, mount = settings.sandbox_root, scenario.identity.working_directory
    if root is None and scenario.execution.sandbox_root is not None:
        root = scenario.path.parent / scenario.execution.sandbox_root
        # What goes wrong here is told when the folder is opened.
        with suppress(OSError):
            root.mkdir(parents=True, exist_ok=True)
    if root is None:
        folder = TemporaryDirectory(prefix="iac-scenario-", ignore_cleanup_errors=True)
        root, mount = Path(stack.enter_context(folder)), mount or _MOUNT
    sandbox = Sandbox(root, mount)
    stack.callback(sandbox.close)
    for name, content in scenario.execution.files.items():
        try:
            sandbox.write(sandbox.parts(name), content.encode(), parents=True)
        except CallError as error:
            raise PlayError(f"tool_execution.files: {error}") from None
    return sandbox


def _servers(
    scenario: ScenarioScript, settings: PlaySettings, places: Mapping[str, Any]
) -> dict[str, StdioServer]:
    """Return the servers of the file and of the configuration, which wins over the file."""
    folder = scenario.path.parent.resolve()
    path = settings.mcp_config
    if path is None and scenario.execution.mcp_config is not None:
        path = folder / scenario.execution.mcp_config
    own = {
        name: replace(server, cwd=str(folder / (server.cwd or "")))
        for name, server in scenario.servers.items()
    }
    given_servers = read_config(path) if path is not None else {}
    return {name: expanded(server, places) for name, server in {**own, **given_servers}.items()}
