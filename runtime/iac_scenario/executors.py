"""What carries calls out: nothing, the scenario's own results, or tools on a sandbox's files."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

import anyio.to_thread

from iac_scenario.arguments import BUILT_IN, READERS, schema_validator, schema_violation
from iac_scenario.bash import BashSession
from iac_scenario.command_line import is_read_only_line
from iac_scenario.errors import CallError
from iac_scenario.filetools import FILE_TOOLS, SEARCHES
from iac_scenario.model import ToolCall
from iac_scenario.results import CallResult, error_result, scripted_result, text_result
from iac_scenario.sandbox import Sandbox
from iac_scenario.session import DIALOGS, ScenarioSession

_SHOWN: Final = 30_000
"""Characters of a command's output that the assistant sees, as in Claude Code."""


class ToolExecutor(Protocol):
    """A level of reality."""

    def is_read_only(self, call: ToolCall, /) -> bool:
        """Whether the call is known to change nothing."""
        ...

    async def run(self, call: ToolCall, /) -> CallResult:
        """Carry a call out. What goes wrong is an error outcome, never an exception."""
        ...


class MockExecutor:
    """Answers each call with its own `result` or `error`."""

    def is_read_only(self, call: ToolCall) -> bool:
        """Only the tools of Claude's own are known."""
        return call.tool in READERS

    async def run(self, call: ToolCall) -> CallResult:
        """Return what the file gives, or an error that it gives nothing."""
        if call.error is not None:
            return error_result(call.error)
        if call.result is None:
            return error_result(f"The scenario has no result for this call of {call.tool}.")
        return scripted_result(call.result)


class DisabledExecutor:
    """Carries nothing out."""

    def is_read_only(self, _call: ToolCall, /) -> bool:
        """Nothing happens, so nothing is asked."""
        return True

    async def run(self, _call: ToolCall, /) -> CallResult:
        """Return an outcome that is none."""
        return CallResult((), executed=False)


class SandboxExecutor:
    """Bash, Read, Write, Edit, Glob and Grep inside one sandbox."""

    def __init__(
        self,
        sandbox: Sandbox,
        bash: BashSession,
        bash_timeout: float,
        session: ScenarioSession,
        hidden: Sequence[str] = (),
    ) -> None:
        self._sandbox = sandbox
        self._session = session
        self._hidden = hidden
        self._bash = bash
        self._bash_timeout = bash_timeout

    def is_read_only(self, call: ToolCall) -> bool:
        """Readers, and lines of commands that only read and are redirected nowhere."""
        if call.tool != "Bash" or not isinstance(call.input, Mapping):
            return call.tool in READERS
        return is_read_only_line(str(call.input.get("command")))

    async def run(self, call: ToolCall) -> CallResult:
        """Check the arguments and carry the call out."""
        try:
            if call.tool not in BUILT_IN:
                known = ", ".join(BUILT_IN)
                raise CallError(f"{call.tool} is not simulated. Simulated: {known}.")
            if said := schema_violation(
                schema_validator(json.dumps(BUILT_IN[call.tool])), call.input
            ):
                raise CallError(f"{call.tool}: {said}")
            if call.tool in DIALOGS:
                return DIALOGS[call.tool](self._session, call.input)
            if call.tool in FILE_TOOLS:
                return FILE_TOOLS[call.tool](self._sandbox, call.input)
            work: Callable[[Any], CallResult] = self._run_bash
            if call.tool in SEARCHES:
                work = partial(SEARCHES[call.tool], self._sandbox, self._bash, self._hidden)
            return await anyio.to_thread.run_sync(work, call.input, abandon_on_cancel=True)
        except CallError as error:
            return error_result(str(error))

    def _run_bash(self, given: Mapping[str, Any]) -> CallResult:
        if given.get("run_in_background", False):
            raise CallError("run_in_background is not simulated.")
        timeout = min(given.get("timeout", float("inf")) / 1000, self._bash_timeout)
        result = self._bash.run(given["command"], timeout)
        out, errors = (stream.decode("utf-8", "replace") for stream in (result.out, result.errors))
        if result.stopped:
            return error_result(
                _truncate_output("\n".join((f"Stopped: {result.stopped}.", out + errors)).strip())
            )
        text = _truncate_output(
            "\n".join(piece.rstrip("\n") for piece in (out, errors) if piece.strip("\n"))
        )
        if result.status:
            return error_result(f"Exit code {result.status}\n{text}".rstrip())
        return text_result(text)


def _truncate_output(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN]}\n… ({len(text) - _SHOWN:,} more characters)"
