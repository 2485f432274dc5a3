"""The tools of Claude's own, on the files of a sandbox."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import anyio.to_thread

from iac_scenario.arguments import BUILT_IN, READERS, refuse_misfit
from iac_scenario.bash import RealBash
from iac_scenario.errors import ToolError
from iac_scenario.filetools import FILE_TOOLS
from iac_scenario.model import ToolCall
from iac_scenario.outcome import Outcome, failed, textual
from iac_scenario.places import Parts
from iac_scenario.sandbox import Sandbox
from iac_scenario.shell.commands import Place
from iac_scenario.shell.lines import all_words, parse
from iac_scenario.shell.run import run_line

__all__ = ["Simulated"]

_SHOWN: Final = 30_000
"""Characters of a command's output that the assistant sees, as in Claude Code."""
_ONLY_READ: Final = frozenset(
    ": [ [[ basename cat cd cmp cut date diff dirname echo egrep exit export false fgrep find grep"
    " head ls printf pwd seq tac tail test tr true uniq unset wc xargs".split()
)
_WRITING: Final = {"sed": "i", "sort": "o"}
"""Commands that only read without the option that has this letter."""


class Simulated:
    """Bash, Read, Write, Edit, Glob and Grep inside one sandbox."""

    def __init__(
        self,
        sandbox: Sandbox,
        now: Callable[[], datetime],
        bash: RealBash | None,
        bash_timeout: float,
    ) -> None:
        self._place = Place(sandbox, now)
        self._bash = bash
        self._bash_timeout = bash_timeout

    def reads(self, call: ToolCall) -> bool:
        """Readers, and lines of commands that only read and are redirected nowhere."""
        if call.tool != "Bash" or not isinstance(call.input, Mapping):
            return call.tool in READERS
        command = call.input.get("command")
        try:
            commands = list(all_words(parse(str(command))))
        except ToolError:
            return False
        return ">" not in str(command) and all(map(_only_reads, commands))

    def parts(self, path: str) -> Parts:
        """Return the names that a path means. Raises ToolError where it leads outside."""
        return self._place.sandbox.parts(path)

    async def run(self, call: ToolCall) -> Outcome:
        """Check the arguments and carry the call out."""
        try:
            if call.tool not in BUILT_IN:
                known = ", ".join(BUILT_IN)
                raise ToolError(f"{call.tool} is not simulated. Simulated: {known}.")
            refuse_misfit(_validator(call.tool), call.tool, call.input)
            if call.tool != "Bash":
                return FILE_TOOLS[call.tool](self._place.sandbox, call.input)
            if self._bash is None:
                return self._safe(call.input)
            return await anyio.to_thread.run_sync(self._real, self._bash, call.input)
        except ToolError as error:
            return failed(str(error))

    def _safe(self, given: Mapping[str, Any]) -> Outcome:
        _refuse_background(given)
        answer = run_line(self._place, given["command"])
        errors = "".join(f"{line}\n" for line in answer.errors)
        return _answered(answer.out.decode("utf-8", "replace"), errors, answer.status)

    def _real(self, bash: RealBash, given: Mapping[str, Any]) -> Outcome:
        _refuse_background(given)
        timeout = min(given.get("timeout", float("inf")) / 1000, self._bash_timeout)
        ended = bash.run(given["command"], self._place.cwd, timeout)
        out, errors = (stream.decode("utf-8", "replace") for stream in (ended.out, ended.errors))
        if ended.stopped:
            return failed(_cut("\n".join((f"Stopped: {ended.stopped}.", out + errors)).strip()))
        return _answered(out, errors, ended.status)


def _only_reads(words: Sequence[str]) -> bool:
    """Whether a command writes no file, by its name and, of some, its options."""
    if not words or words[0] in _ONLY_READ:
        return True
    letter = _WRITING.get(words[0])
    return letter is not None and not any(
        word.startswith("-") and letter in word for word in words[1:]
    )


def _refuse_background(given: Mapping[str, Any]) -> None:
    if given.get("run_in_background", False):
        raise ToolError("run_in_background is not simulated.")


def _answered(out: str, errors: str, status: int) -> Outcome:
    text = _cut("\n".join(piece.rstrip("\n") for piece in (out, errors) if piece.strip("\n")))
    return failed(f"Exit code {status}\n{text}".rstrip()) if status else textual(text)


def _cut(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN]}\n… ({len(text) - _SHOWN:,} more characters)"


@lru_cache
def _validator(tool: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(BUILT_IN[tool])
