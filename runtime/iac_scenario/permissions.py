"""Whether a call may run: Claude's rules and modes.

A rule is a tool's name, or a name with a specifier in brackets:
`Bash(git *)` and `Bash(git:*)` name commands, `Read(./docs/**)` and `Edit(/src/*)` files (Read
rules hold for Glob and Grep too, Edit rules for Write), `mcp__server` all tools of a server,
`mcp__server__get_*` some. A line of several commands is allowed only if each of them is, and
denied if one is. Deny wins over ask, ask over allow, all of them over the mode.

Rules for files see Bash too, as far as a line says which files it opens: redirections, and the
commands that are known to read or write what they name. Grep and Glob leave out what a rule forbids
to read (`hidden_patterns`). Source: https://code.claude.com/docs/en/permissions
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import takewhile
from typing import Any, Final, Literal, NamedTuple

from iac_scenario.command_line import (
    MOVERS,
    CommandWord,
    UnclearLineError,
    is_read_only_line,
    opened_files,
    parse_commands,
    possible_commands,
)
from iac_scenario.errors import CallError
from iac_scenario.model import PermissionRules
from iac_scenario.sandbox import PROTECTED, Parts, fold_name

Verdict = Literal["allow", "ask", "deny"]

_RULE: Final = re.compile(r"([A-Za-z_][\w*.-]*)(?:\((.*)\))?", re.DOTALL)
_FAMILY: Final[Mapping[str, str]] = {
    "Read": "Read", "Glob": "Read", "Grep": "Read",
    "Edit": "Edit", "Write": "Edit", "NotebookEdit": "Edit",
}  # fmt: skip
_NONE: Final = CommandWord(":")
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
            for at in _expand_wildcards(reached, wanted)
            if at < len(wanted) and (wanted[at] == "**" or fnmatchcase(name, wanted[at]))
        }
    return len(wanted) in _expand_wildcards(reached, wanted)


def _expand_wildcards(reached: set[int], pattern: tuple[str, ...]) -> set[int]:
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


def decide_permission(
    request: PermissionRequest, permissions: PermissionRules, *, auto_approve: bool = False
) -> PermissionDecision:
    """Return what the rules, then the tool's setting, then the mode say about a call."""
    for rule in permissions.deny:
        if _matches_rule(rule, request, strict=False) or _opened_file_match(rule, request) == "":
            return PermissionDecision("deny", f"the rule {rule} denies it")
    for rule in permissions.ask:
        if (
            _matches_rule(rule, request, strict=False)
            or _opened_file_match(rule, request) == ""
            or _is_search_above(rule, request)
        ):
            return _ask_decision(permissions, f"the rule {rule} requires approval")
    for rule in (*permissions.deny, *permissions.ask):
        why = (
            _unclear_reason(request)
            if _parse_rule(rule)[0] == "Bash"
            else _opened_file_match(rule, request)
        )
        if why:
            return _ask_decision(permissions, f"the rule {rule} may apply to it: {why}")
    for rule in permissions.allow:
        if permissions.mode == "plan" or not _matches_rule(rule, request, strict=True):
            continue
        if request.tool != "Bash" or _is_inside_sandbox(request):
            return PermissionDecision("allow", f"the rule {rule} allows it")
    if auto_approve:
        return PermissionDecision("allow", "its tool is approved")
    return _decide_by_mode(request, permissions)


def rule_fault(rule: str) -> str | None:
    """Return what is wrong with a rule, or None."""
    if _RULE.fullmatch(rule.strip()) is None:
        return f"{rule!r} is not a rule; write Tool, Tool(specifier) or mcp__server__tool."
    return None


def _decide_by_mode(request: PermissionRequest, permissions: PermissionRules) -> PermissionDecision:
    mode = permissions.mode
    if mode is None or mode == "bypass-permissions":
        return PermissionDecision("allow", "nothing forbids it")
    if request.reads:
        return PermissionDecision("allow", "it only reads")
    if mode == "plan" and request.tool == "ExitPlanMode":
        return _ask_decision(permissions, "a plan requires approval")
    if mode == "plan":
        return PermissionDecision("deny", "the mode plan allows no changes")
    moves = request.tool == "Bash" and _is_inside_sandbox(request, MOVERS)
    if mode == "accept-edits" and (_FAMILY.get(request.tool) == "Edit" or moves):
        return PermissionDecision("allow", "the mode accepts edits")
    return _ask_decision(permissions, f"the mode {mode} requires approval")


def _ask_decision(permissions: PermissionRules, reason: str) -> PermissionDecision:
    if permissions.mode == "dont-ask":
        return PermissionDecision("deny", f"{reason}, and the mode dont-ask denies it")
    return PermissionDecision("ask", reason)


def _unclear_reason(request: PermissionRequest) -> str:
    """Return what hides the commands of a line of Bash, if anything does."""
    if request.tool != "Bash":
        return ""
    try:
        parse_commands(str(request.input.get("command", "")))
    except UnclearLineError as unclear:
        return str(unclear)
    return ""


def _matches_rule(rule: str, request: PermissionRequest, *, strict: bool) -> bool:
    """Whether a rule names a call; `strict` where it opens a door, else in doubt yes."""
    name, specifier = _parse_rule(rule)
    if not _matches_tool(name, request.tool, strict=strict):
        return False
    if specifier is None or specifier in ("", "*"):
        return True
    if request.tool == "Bash":
        return _matches_command(specifier, request.input.get("command"), strict=strict)
    # A path behind another name than Read or Edit is not looked at, as in Claude Code.
    if request.tool in _FAMILY and name in ("Read", "Edit"):
        path = next((request.input[key] for key in _PATH_KEYS if key in request.input), ".")
        return _matches_path(specifier, str(path), request, strict=strict)
    return False


def _opened_file_match(rule: str, request: PermissionRequest) -> str | None:
    """Return whether a line of Bash opens a file of a rule: "" for yes, a doubt, None for no."""
    family, specifier = _parse_rule(rule)
    if request.tool != "Bash" or family not in ("Read", "Edit") or not specifier:
        return None
    try:
        seen = parse_commands(str(request.input.get("command", "")))
    except UnclearLineError as unclear:
        return str(unclear)
    doubt, moved = None, False
    for command in seen:
        for kind, word in opened_files(command):
            if kind != family:
                continue
            try:
                request.place(word.text)
            except CallError:
                doubt = f"{word.text} is outside the sandbox"
                continue
            if _matches_path(specifier, word.text, request, strict=False):
                return ""
            if word.grows or (moved and not word.text.startswith("/")):
                doubt = f"{word.text} may be any file"
        moved = moved or command.words[0].text in ("cd", "pushd", "popd")
    return doubt


def _is_inside_sandbox(request: PermissionRequest, only: Collection[str] = ()) -> bool:
    """Whether a line writes below the sandbox alone, and nothing protected.

    With `only`, every command that does more than read must be one of these.
    """
    try:
        seen = parse_commands(str(request.input.get("command", "")))
        for command in seen:
            line = " ".join(word.text for word in command.words)
            if only and command.words[0].text not in only and not is_read_only_line(line):
                return False
            words = opened_files(command) if only else opened_files(command._replace(words=[_NONE]))
            for kind, word in words:
                if kind == "Edit":
                    unsafe = any(fold_name(part) in PROTECTED for part in request.place(word.text))
                    if unsafe or word.grows:
                        return False
    except UnclearLineError:
        return not only
    except CallError:
        return False
    return True


def _is_search_above(rule: str, request: PermissionRequest) -> bool:
    """Whether a search begins above what a rule for reading names."""
    family, specifier = _parse_rule(rule)
    if request.tool not in ("Glob", "Grep") or family != "Read" or not specifier:
        return False
    try:
        names = _sandbox_pattern(specifier, request.place).split("/")
        top = request.place(str(request.input.get("path", ".")))
    except CallError:
        return False
    fixed = [fold_name(name) for name in takewhile(lambda name: not set(name) & set("*?[{"), names)]
    return all(one == fold_name(other) for one, other in zip(fixed, top, strict=False))


def hidden_patterns(permissions: PermissionRules, place: Callable[[str], Parts]) -> list[str]:
    """Return what Grep and Glob leave out, as patterns of a .gitignore at the sandbox's top."""
    found = []
    for family, specifier in map(_parse_rule, permissions.deny):
        if family == "Read" and specifier:
            with suppress(CallError):
                found.append(f"/{_sandbox_pattern(specifier, place)}")
    return found


def rule_note(rule: str) -> str | None:
    """Return why a rule does nothing, or None."""
    name, specifier = _parse_rule(rule)
    if specifier and name in _FAMILY and name not in ("Read", "Edit"):
        return (
            f"{rule!r} is ignored, as it is in Claude Code. Write {_FAMILY[name]}({specifier})"
            " instead."
        )
    return None


@lru_cache(maxsize=256)
def _parse_rule(rule: str) -> tuple[str, str | None]:
    """Return the name and the specifier of a rule; one that is none names no tool."""
    found = _RULE.fullmatch(rule.strip())
    return (found[1], found[2]) if found is not None else ("", None)


def _matches_tool(name: str, tool: str, *, strict: bool) -> bool:
    if strict and "*" in name and re.match(r"mcp__[^*]+?__", name) is None:
        # A door that a pattern opens must name its server.
        return False
    if name.startswith("mcp__"):
        return fnmatchcase(tool, name) or tool.startswith(f"{name}__")
    return name == tool or (name in ("Read", "Edit") and _FAMILY.get(tool) == name)


def _matches_command(specifier: str, command: object, *, strict: bool) -> bool:
    if not isinstance(command, str):
        return False
    try:
        seen = parse_commands(command)
        commands = [" ".join(word.text for word in each.words) for each in seen]
        if not strict:
            commands += [" ".join(word.text for word in each.written) for each in seen]
    except UnclearLineError:
        # Such a line may hide a command: it opens no door, and closes one.
        if strict:
            return command == specifier
        commands = [command, *possible_commands(command)]
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


def _matches_path(specifier: str, path: str, request: PermissionRequest, *, strict: bool) -> bool:
    try:
        parts: Sequence[str] = request.place(path)
        pattern = _sandbox_pattern(specifier, request.place)
    except CallError:
        return not strict
    if strict:
        return matches_glob(tuple(parts), pattern)
    parts, pattern = [fold_name(part) for part in parts], fold_name(pattern)
    # As in a .gitignore, what names a folder names all below it.
    ends = range(1, len(parts) + 1) if parts else (0,)
    return any(matches_glob(tuple(parts[:end]), pattern) for end in ends)


def _sandbox_pattern(specifier: str, place: Callable[[str], Parts]) -> str:
    """Return a specifier relative to the sandbox: `//` and `~` are absolute, the rest relative.

    A name without a slash is found at any depth, as in a .gitignore.
    """
    if specifier.startswith(("//", "~")):
        return "/".join(place(specifier.removeprefix("/")))
    relative = specifier.removeprefix("./").lstrip("/")
    anywhere = "/" not in specifier.removesuffix("/")
    return f"**/{relative}" if anywhere else relative
