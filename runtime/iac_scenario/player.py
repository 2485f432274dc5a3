"""Plays a scenario: prompts in, events out."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import anyio
import anyio.to_thread

from iac_scenario.bash import BashSession
from iac_scenario.checks import RunChecks
from iac_scenario.client_callbacks import client_answers
from iac_scenario.conversation import Conversation, Event, NoteEvent, TextEvent, Violation
from iac_scenario.executors import DisabledExecutor, MockExecutor, SandboxExecutor, ToolExecutor
from iac_scenario.matching import replace_variables
from iac_scenario.mcp_servers import ServerPool, connect_servers, expand_variables, read_config
from iac_scenario.model import (
    CallError,
    Mode,
    PermissionMode,
    PlayError,
    ScenarioProblem,
    ScenarioScript,
    StdioServer,
    ToolCall,
    scenario_calls,
)
from iac_scenario.permissions import call_mode, hidden_patterns
from iac_scenario.reader import read_json_option
from iac_scenario.results import shorten_value
from iac_scenario.run_state import RunState, SessionClock
from iac_scenario.sandbox import Sandbox
from iac_scenario.schema import resolve_timeouts
from iac_scenario.session import (
    DIALOGS,
    HookVerdict,
    ScenarioSession,
    SessionHooks,
    settings_variables,
    with_settings,
)

_MOUNT: Final = "/sandbox"


@dataclass(frozen=True, slots=True)
class PlaySettings:
    """What the caller asks for over the file; None leaves it to the file."""

    mode: Mode | None = None
    sandbox_root: Path | None = None
    allow_real_bash: bool = False
    unconfined: bool = False
    servers: Mapping[str, StdioServer] = field(default_factory=dict)
    """Servers of a configuration, which win over those of the file."""
    permission_mode: PermissionMode | None = None
    timeouts: Mapping[str, int | None] = field(default_factory=dict)
    allowed: frozenset[str] = frozenset()
    config_dir: Path | None = None
    resumed: bool = False
    settings: tuple[Path | str, ...] = ()
    max_turns: int = 0
    pool: ServerPool | None = None
    """Servers that other runs use too."""


async def play_scenario(
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
    async with _open_run_state(scenario, settings) as stage:
        conversation = Conversation(scenario)
        try:
            earlier, kept = stage.session.begin_run(resumed=settings.resumed)
            for earlier_prompt in earlier:
                conversation.next_reply(earlier_prompt)
            stage.places.update(kept)
            if prompts is scenario.prompts:
                prompts = scenario.prompts[len(earlier) :]
            source, number = iter(prompts), len(earlier)
            for violation in stage.startup_violations():
                take(violation)
            for note in (*stage.hooks.startup_notes(), *_real_bash_notes(stage)):
                take(NoteEvent(note))
            kind = "resume" if settings.resumed else "startup"
            stops = _emit_notes(await stage.hooks.run("SessionStart", kind, source=kind), take)
            # A prompt may be a line that somebody is still typing.
            while not stops and (prompt := await _next_prompt(source)) is not None:
                number += 1
                stops = await _answer_prompt(stage, conversation, prompt, number, take)
            await stage.hooks.run("SessionEnd", reason="other")
            stage.session.write_index()
            for violation in stage.verdict.remaining_violations(conversation):
                take(violation)
        # Kept until the servers are gone: their task group would wrap it.
        except Exception as error:
            raised = error
    if raised is not None:
        raise raised
    for violation in stage.protocol_violations():
        take(violation)
    for name, checker in stage.real.protocol_checkers().items() if stage.real is not None else ():
        while checker.notes:
            take(NoteEvent(f"The server {name} {checker.notes.pop(0)}."))


def _real_bash_notes(stage: RunState) -> Iterator[str]:
    lines = [call for call in scenario_calls(stage.scenario) if call.tool == "Bash"]
    modes = {call_mode(call, stage.scenario, stage.mode) for call in lines}
    if stage.scenario.execution.allow_real_bash is not False and "simulated" not in modes:
        why = (
            f"Bash is in the mode {' and '.join(sorted(modes))}" if modes else "no call is of Bash"
        )
        yield f"allow_real_bash has no effect: {why}."


async def _next_prompt(source: Iterator[str]) -> str | None:
    return await anyio.to_thread.run_sync(next, source, None, abandon_on_cancel=True)


async def _answer_prompt(
    stage: RunState,
    conversation: Conversation,
    prompt: str,
    number: int,
    take: Callable[[Event], None],
) -> bool:
    """Answer one prompt within its time; return whether a hook ends the session."""
    limit, line = stage.timeouts["prompt_timeout_ms"], 0

    def record_event(event: Event) -> None:
        stage.session.record_event(event)
        take(event)

    with anyio.move_on_after(limit / 1000) as scope:
        submitted = await stage.hooks.run("UserPromptSubmit", prompt=prompt)
        if _emit_notes(submitted, take) or submitted.decision == "block":
            take(NoteEvent(f"the prompt was not sent: {submitted.reason}"))
            return submitted.stops
        again, text = False, ""
        while True:
            step = conversation.next_reply(prompt)
            line = step.line
            if not step.matched:
                for violation in stage.verdict.unmatched_prompt(prompt, number):
                    take(violation)
            stage.session.record_prompt(prompt)
            async for event in stage.answer_prompt(step, prompt, number):
                record_event(event)
                text = event.text if isinstance(event, TextEvent) and event.text else text
            said = {"last_assistant_message": text, "background_tasks": [], "session_crons": []}
            ended = await stage.hooks.run("Stop", stop_hook_active=again, **said)
            if _emit_notes(ended, take) or ended.decision != "block":
                return ended.stops
            # What keeps the assistant going is what it is told next.
            prompt, again = ended.reason, True
    if scope.cancelled_caught:
        late = f"the prompt {shorten_value(prompt)!r} took more than {limit:,} ms"
        take(Violation("late", stage.scenario.path.name, line, late))
    return False


def _emit_notes(verdict: HookVerdict, take: Callable[[Event], None]) -> bool:
    for note in verdict.notes:
        take(NoteEvent(note))
    return verdict.stops


async def inspect_scenario(
    scenario: ScenarioScript, settings: PlaySettings
) -> list[ScenarioProblem]:
    """Return what would fail a run, as far as it is known without calling a tool."""
    # Which calls are refused changes on the way where the mode or a hook does.
    changes = any(call.tool in DIALOGS for call in scenario_calls(scenario))
    async with _open_run_state(scenario, settings) as stage:
        faults = stage.startup_violations()
        problems = [ScenarioProblem(each.file, each.line, "", each.text) for each in faults]
        for call in scenario_calls(scenario):
            meant = any(check.kind == "is_error" and check.want for check in call.expect)
            allowed = "error" in scenario.allowed | call.allowed
            if meant or allowed or stage.is_scripted(call):
                continue
            executor, reason = stage.executor_of(call), ""
            if stage.real is not None and executor is stage.real:
                reason = stage.real.listing_mismatch(call)
            elif isinstance(executor, SandboxExecutor):
                reason = await executor.missing_program(call)
            if not (reason or changes or stage.hooks.given):
                written = replace(call, input=replace_variables(call.input, stage.places))
                refused = await stage.refusal_result(written, executor, HookVerdict())
                reason = (refused.note or refused.text) if refused is not None else ""
            if reason:
                problems.append(ScenarioProblem(scenario.path.name, call.line, call.tool, reason))
    faults = stage.protocol_violations()
    return problems + [ScenarioProblem(each.file, each.line, "", each.text) for each in faults]


@asynccontextmanager
async def _open_run_state(
    scenario: ScenarioScript, settings: PlaySettings
) -> AsyncIterator[RunState]:
    scenario = replace(scenario, allowed=scenario.allowed | settings.allowed)
    own = scenario.settings if isinstance(scenario.settings, list) else [scenario.settings]
    documents = [*own, *(read_json_option(one, "--settings") for one in settings.settings)]
    permissions = with_settings(scenario.permissions, documents)
    if settings.permission_mode is not None:
        permissions = replace(permissions, mode=settings.permission_mode)
    scenario = replace(scenario, permissions=permissions)
    if settings.allow_real_bash:
        trusted = replace(scenario.execution, allow_real_bash=True)
        scenario = replace(scenario, execution=trusted)
    timeouts = resolve_timeouts(settings.timeouts, scenario.timeouts)
    clock = SessionClock(scenario.identity.launch_timestamp)
    async with AsyncExitStack() as stack:
        sandbox = _open_sandbox(scenario, settings, stack)
        # In a folder that stays, hooks and start-up files would run when the scenario is long over.
        lasting = settings.sandbox_root or scenario.execution.sandbox_root
        bash = BashSession(
            sandbox,
            clock.now,
            unconfined=settings.unconfined,
            guarded=lasting is not None and scenario.execution.allow_real_bash is False,
            variables=settings_variables(documents),
        )
        session = ScenarioSession(
            scenario.identity, settings.config_dir, sandbox.mount, clock.now, permissions.mode
        )
        asked = scenario.execution.tools.get("AskUserQuestion")
        session.answers = asked.answers if asked is not None else {}
        hooks = SessionHooks(documents, session, sandbox.root, timeouts["hook_timeout_ms"] / 1000)
        stack.callback(bash.close)
        hidden = hidden_patterns(scenario.permissions, sandbox.resolve_path)
        bash_timeout = timeouts["bash_timeout_ms"] / 1000
        simulated = SandboxExecutor(sandbox, bash, bash_timeout, session, hidden)
        executors: dict[str, ToolExecutor] = {
            "disabled": DisabledExecutor(), "mock": MockExecutor(), "simulated": simulated,
        }  # fmt: skip
        places: dict[str, Any] = {
            "SANDBOX_ROOT": sandbox.root,
            "SCENARIO_DIR": str(scenario.path.parent.resolve()),
        }
        real = None
        modes = {call_mode(call, scenario, settings.mode) for call in scenario_calls(scenario)}
        if "real_mcp" in modes:
            servers = _configured_servers(scenario, settings.servers, places)
            answers = client_answers(scenario, places)
            connected = connect_servers(servers, answers, timeouts, settings.pool)
            real = await stack.enter_async_context(connected)
            executors["real_mcp"] = real

        def executor_of(call: ToolCall) -> ToolExecutor:
            return executors[call_mode(call, scenario, settings.mode)]

        verdict = RunChecks(scenario)
        yield RunState(
            scenario, settings.mode, clock, timeouts, places, executor_of, sandbox, bash, real,
            verdict, session, hooks, settings.max_turns,
        )  # fmt: skip


def _open_sandbox(
    scenario: ScenarioScript, settings: PlaySettings, stack: AsyncExitStack
) -> Sandbox:
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
            sandbox.write(sandbox.resolve_path(name), content.encode(), parents=True)
        except CallError as error:
            raise PlayError(f"tool_execution.files: {error}") from None
    return sandbox


def _configured_servers(
    scenario: ScenarioScript, named: Mapping[str, StdioServer], places: Mapping[str, Any]
) -> dict[str, StdioServer]:
    """Return the servers of the file and of the configuration, which wins over the file."""
    folder = scenario.path.parent.resolve()
    if not named and scenario.execution.mcp_config is not None:
        named = read_config(folder / scenario.execution.mcp_config)
    own = {
        name: replace(server, cwd=str(folder / (server.cwd or "")))
        for name, server in scenario.servers.items()
    }
    return {name: expand_variables(one, places) for name, one in {**own, **named}.items()}
