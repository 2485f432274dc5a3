"""Whether a call may run: Claude's rules and modes.

A rule is a tool's name, or a name with a specifier in brackets:
`Bash(git *)` and `Bash(git:*)` name commands, `Read(./docs/**)` and `Edit(/src/*)` files (Read
rules hold for Glob and Grep too, Edit rules for Write), `mcp__server` all tools of a server,
`mcp__server__get_*` some. A line of several commands is allowed only if each of them is, and
denied if one is. Deny wins over ask, ask over allow, all of them over the mode.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

from iac_scenario.command_line import UnclearLineError, commands_of, suspects
from iac_scenario.errors import CallError
from iac_scenario.model import PermissionRules
from iac_scenario.sandbox import Parts, folded

Verdict = Literal["allow", "ask", "deny"]

_RULE: Final = re.compile(r"([A-Za-z_][\w*.-]*)(?:\((.*)\))?", re.DOTALL)
_FAMILY: Final[Mapping[str, str]] = {
    "Read": "Read", "Glob": "Read", "Grep": "Read",
    "Edit": "Edit", "Write": "Edit", "NotebookEdit": "Edit",
}  # fmt: skip
_PATH_KEYS: Final = ("file_path", "notebook_path", "path")


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """A call as permissions see it. `place` turns a path into names below the sandbox."""

    tool: str
    input: Mapping[str, Any]
    reads: bool
    place: Callable[[str], Parts]


def matches_glob(parts: Parts, pattern: str) -> bool:
    """Whether a path below a folder matches; `**` stands for any number of folders."""
    wanted = tuple(name for name in pattern.split("/") if name not in ("", "."))
    # From the left, remembering where `**` may still grow.
    reached = {0}
    for name in parts:
        reached = {
            at if wanted[at] == "**" else at + 1
            for at in _closed(reached, wanted)
            if at < len(wanted) and (wanted[at] == "**" or fnmatchcase(name, wanted[at]))
        }
    return len(wanted) in _closed(reached, wanted)


def _closed(reached: set[int], pattern: tuple[str, ...]) -> set[int]:
    found = set(reached)
    for at in sorted(reached):
        while at < len(pattern) and pattern[at] == "**":
            at += 1
            found.add(at)
    return found


class PermissionDecision(NamedTuple):
    """A verdict and its reason, as a piece of a sentence."""

    verdict: Verdict
    reason: str


def decide(
    request: PermissionRequest, permissions: PermissionRules, *, auto_approve: bool = False
) -> PermissionDecision:
    """Return what the rules, then the tool's setting, then the mode say about a call."""
    for rule in permissions.deny:
        if _matches(rule, request, strict=False):
            return PermissionDecision("deny", f"the rule {rule} denies it")
    for rule in permissions.ask:
        if _matches(rule, request, strict=False):
            return _asking(permissions, f"the rule {rule} asks about it")
    for rule in (*permissions.deny, *permissions.ask):
        if _parsed(rule)[0] == "Bash" and (why := _unclear(request)):
            return _asking(permissions, f"the rule {rule} may concern it: {why}")
    for rule in permissions.allow:
        if _matches(rule, request, strict=True) and permissions.mode != "plan":
            return PermissionDecision("allow", f"the rule {rule} allows it")
    if auto_approve:
        return PermissionDecision("allow", "its tool is approved")
    return _by_mode(request, permissions)


def rule_fault(rule: str) -> str | None:
    """Return what is wrong with a rule, or None."""
    if _RULE.fullmatch(rule.strip()) is None:
        return f"{rule!r} is no rule; write Tool, Tool(specifier) or mcp__server__tool."
    return None


def _by_mode(request: PermissionRequest, permissions: PermissionRules) -> PermissionDecision:
    mode = permissions.mode
    if mode is None or mode == "bypass-permissions":
        return PermissionDecision("allow", "nothing forbids it")
    if request.reads:
        return PermissionDecision("allow", "it only reads")
    if mode == "plan":
        return PermissionDecision("deny", "in the mode plan nothing is changed")
    if mode == "accept-edits" and _FAMILY.get(request.tool) == "Edit":
        return PermissionDecision("allow", "the mode accepts edits")
    return _asking(permissions, f"the mode {mode} asks about it")


def _asking(permissions: PermissionRules, reason: str) -> PermissionDecision:
    if permissions.mode == "dont-ask":
        return PermissionDecision("deny", f"{reason}, and the mode dont-ask does not ask")
    return PermissionDecision("ask", reason)


def _unclear(request: PermissionRequest) -> str:
    """Return what hides the commands of a line of Bash, if anything does."""
    try:
        commands_of(str(request.input.get("command", "")) if request.tool == "Bash" else "")
    except UnclearLineError as unclear:
        return str(unclear)
    return ""


def _matches(rule: str, request: PermissionRequest, *, strict: bool) -> bool:
    """Whether a rule names a call; `strict` where it opens a door, else in doubt yes."""
    name, specifier = _parsed(rule)
    if not _names_tool(name, request.tool):
        return False
    if specifier is None or specifier in ("", "*"):
        return True
    if request.tool == "Bash":
        return _matches_command(specifier, request.input.get("command"), strict=strict)
    if request.tool in _FAMILY:
        return _matches_path(specifier, request, strict=strict)
    return False


@lru_cache(maxsize=256)
def _parsed(rule: str) -> tuple[str, str | None]:
    """Return the name and the specifier of a rule; one that is none names no tool."""
    found = _RULE.fullmatch(rule.strip())
    return (found[1], found[2]) if found is not None else ("", None)


def _names_tool(name: str, tool: str) -> bool:
    if name.startswith("mcp__"):
        return fnmatchcase(tool, name) or tool.startswith(f"{name}__")
    return name == tool or (name in ("Read", "Edit") and _FAMILY.get(tool) == name)


def _matches_command(specifier: str, command: object, *, strict: bool) -> bool:
    if not isinstance(command, str):
        return False
    try:
        commands = [" ".join(word.text for word in words) for words in commands_of(command)]
    except UnclearLineError:
        # Such a line may hide a command: it opens no door, and closes one.
        if strict:
            return command == specifier
        commands = [command, *suspects(command)]
    if not strict:
        # `/bin/rm` is `rm`.
        commands += [re.sub(r"\A\S*/", "", simple) for simple in commands]
    hits = [_matches_simple(specifier, simple) for simple in commands]
    return bool(hits) and (all(hits) if strict else any(hits))


def _matches_simple(specifier: str, command: str) -> bool:
    if specifier.endswith(":*"):
        prefix = specifier.removesuffix(":*")
        return command == prefix or command.startswith(f"{prefix} ")
    if specifier.endswith(" *") and command == specifier.removesuffix(" *"):
        return True
    pattern = "".join(
        ".*" if piece == "*" else re.escape(piece) for piece in re.split(r"(\*)", specifier)
    )
    return re.fullmatch(pattern, command, re.DOTALL) is not None


def _matches_path(specifier: str, request: PermissionRequest, *, strict: bool) -> bool:
    path = next((request.input[key] for key in _PATH_KEYS if key in request.input), ".")
    try:
        parts: Sequence[str] = request.place(str(path))
        pattern = _pattern(specifier, request)
    except CallError:
        return not strict
    if not strict:
        parts, pattern = [folded(part) for part in parts], folded(pattern)
    return matches_glob(tuple(parts), pattern)


def _pattern(specifier: str, request: PermissionRequest) -> str:
    """Return a specifier relative to the sandbox: `//` and `~` are absolute, the rest relative.

    A name without a slash is found at any depth, as in a .gitignore.
    """
    if specifier.startswith(("//", "~")):
        return "/".join(request.place(specifier.removeprefix("/")))
    relative = specifier.removeprefix("./").lstrip("/")
    anywhere = "/" not in specifier
    return f"**/{relative}" if anywhere else relative
