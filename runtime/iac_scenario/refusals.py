"""What the assistant is told of a call that the permissions refuse, in Claude Code's words.

The wordings are those that `nox -s oracle` has seen; why a call was refused is told beside them, to
whoever plays.
"""

import re
from collections.abc import Mapping
from typing import Final

from iac_scenario.model import CallError, PermissionMode
from iac_scenario.permissions import (
    PermissionDecision,
    PermissionRequest,
    UnclearLineError,
    is_read_only_line,
    parse_commands,
)
from iac_scenario.results import CallResult, error_result, unfit_result

_WRITERS: Final = ("Write", "Edit", "NotebookEdit")
_MOVES: Final[Mapping[str, str]] = {
    "touch": "create or modify files in", "mkdir": "create directories in",
    "mv": "move files to/from", "cp": "copy files to/from", "rm": "remove files from",
    "rmdir": "remove directories from", "sed": "edit files in",
}  # fmt: skip
_BLOCKED: Final = (
    "{what} '{path}' was blocked. For security, Claude Code may only {does} the allowed working"
    " directories for this session: '{folder}'."
)
_DONT_ASK: Final = (
    " because Claude Code is running in don't ask mode. IMPORTANT: You *may* attempt to accomplish"
    " this action using other tools that might naturally be used to accomplish this goal, e.g."
    " using head instead of cat. But you *should not* attempt to work around this denial in"
    " malicious ways, e.g. do not use your ability to run tests to execute non-test actions. You"
    " should only try to work around this restriction in reasonable ways that do not attempt to"
    " bypass the intent behind this denial. If you believe this capability is essential to complete"
    " the user's request, STOP and explain to the user what you were trying to do and why you need"
    " this permission. Let the user decide how to proceed."
)


def refusal_result(
    request: PermissionRequest,
    asked: PermissionDecision,
    mode: PermissionMode | None,
    folder: str,
) -> CallResult:
    """Return the result of a refused call; `folder` is the one that the session works in."""
    tool, path = request.tool, str(request.input.get("file_path", ""))
    if asked.verdict == "deny" and asked.ruled:
        if tool in ("Read", "Edit", "Write"):
            text = "File is in a directory that is denied by your permission settings."
            return unfit_result(text)
        command = f" with command {request.input.get('command')}" if tool == "Bash" else ""
        return error_result(f"Permission to use {tool}{command} has been denied.")
    if asked.verdict == "deny" and mode == "dont-ask":
        return error_result(f"Permission to use {tool} has been denied{_DONT_ASK}")
    if tool in _WRITERS and mode == "plan":
        return error_result(f"Cannot write to {path} while in plan mode.")
    if tool == "Bash" and not asked.ruled:
        return error_result(_bash_refusal(request, folder))
    wanted = f"write to {path}" if tool in _WRITERS else f"use {tool}"
    wanted = f"read from {path}" if tool == "Read" else wanted
    return error_result(
        f"Claude requested permissions to {wanted}, but you haven't granted it yet."
    )


def _bash_refusal(request: PermissionRequest, folder: str) -> str:
    line = str(request.input.get("command", ""))
    try:
        commands = parse_commands(line)
    except UnclearLineError:
        substituted = "$(" in line or "`" in line
        hidden = "Contains simple_expansion" if re.search(r"\$\w", line) else _APPROVAL
        return "Contains command_substitution" if substituted else hidden
    needing = []
    for words, written, targets in commands:
        texts = [word.text for word in words]
        operands = [text for text in texts[1:] if not text.startswith("-")]
        operands = operands[1:] if texts[0] == "sed" else operands
        outputs = [word.text for sign, word in targets if ">" in sign]
        for paths, what, does in (
            (outputs, "Output redirection to", "write to files in"),
            (operands, f"{texts[0]} in", _MOVES.get(texts[0], "")),
        ):
            if paths and does:
                path = _absolute_path(request, paths[0], folder)
                return _BLOCKED.format(what=what, path=path, does=does, folder=folder)
        shown = " ".join(word.text for word in written)
        needing += [] if is_read_only_line(shown) else [shown]
    if len(commands) > 1 and needing:
        part = "The following part requires" if len(needing) == 1 else "The following parts require"
        return f"This Bash command contains multiple operations. {part} approval: " + ", ".join(
            needing
        )
    return _APPROVAL


_APPROVAL: Final = "This command requires approval"


def _absolute_path(request: PermissionRequest, path: str, folder: str) -> str:
    try:
        return "/".join((folder.rstrip("/"), *request.place(path)))
    except CallError:
        return path
