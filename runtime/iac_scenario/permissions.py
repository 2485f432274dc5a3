"""Whether a call may run: Claude's rules and modes.

A rule is a tool's name, or a name with a specifier in brackets:
`Bash(git *)` and `Bash(git:*)` name commands, `Read(./docs/**)` and `Edit(/src/*)` files (Read
rules hold for Glob and Grep too, Edit rules for Write), `mcp__server` all tools of a server,
`mcp__server__get_*` some. A line of several commands is allowed only if each of them is, and
denied if one is. Deny wins over ask, ask over allow, all of them over the mode.

Rules for files see Bash too, as far as a line says which files it opens: redirections, and the
commands that are known to read or write what they name. Grep and Glob leave out what a rule forbids
to read (`hidden_patterns`). Source: https://code.claude.com/docs/en/permissions

Bash itself runs a line; nothing here does. A line that could run what is not seen here
(substitutions, variables, subshells, loops, jobs, `eval`, `bash -c`) is unclear: rules in doubt
deny it or ask about it, and never allow it.
"""

import re
import tomllib
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import chain, takewhile
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from iac_scenario.matching import BUILT_IN
from iac_scenario.model import CallError, Mode, PermissionRules, ScenarioScript, ToolCall
from iac_scenario.sandbox import PROTECTED, Parts, fold_name

LONGEST: Final = 100_000
"""Characters of a line."""


class UnclearLineError(Exception):
    """A line may run more than can be seen; the text says what is in the way."""


class CommandWord(NamedTuple):
    """A word without its quotes, and whether Bash may make other words of it (`*`, `{a,b}`)."""

    text: str
    grows: bool = False


class ParsedCommand(NamedTuple):
    """A command without its wrappers, as it was written, and its redirections with their files."""

    words: list[CommandWord]
    written: list[CommandWord]
    targets: list[tuple[str, CommandWord]]


_PIECES: Final = r"""(?:
    '[^']*'
  | \\[^\n]
  | "(?:[^"\\$`]|\\.|\$\?|\$(?="))*"
  | \$\?|\$(?=\s|\Z)
  | [^\s'"\\$`();|<>&]
)+"""
_TOKEN: Final = re.compile(
    rf"""
    (?P<blank>[ \t]+|(?<![^\ \t\n])\\\n)
  | (?P<comment>\#[^\n]*)
  | (?P<here>[0-9]*<<(?!<)(?P<tabs>-?)[ \t]*(?P<end>{_PIECES}))
  | (?P<redirect>[0-9]*(?:>>|>&|>\||<<<|<&|<>|[<>])|&>>?)
  | (?P<operator>&&|\|\||\|&|[;|&\n])
  | (?P<word>{_PIECES})
    """,
    re.VERBOSE | re.DOTALL,
)
_QUOTED: Final = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)""", re.DOTALL)
_IN_DOUBLE: Final = re.compile(r'\\([$`"\\\n])')
_HERE_RUNS: Final = re.compile(r"`|\$[({\[]|\\$", re.MULTILINE)

_KNOWN: Final = tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8"))
_RUNNERS, _SHELLS, _RECKONERS, _READERS, MOVERS, _ONLY_READ, _PICKY = (
    frozenset[str](_KNOWN[name])
    for name in "runners shells reckoners readers movers only_read picky".split()
)
_ASSIGNED: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_XARGS_OPTION: Final = re.compile(
    r"-(?:[0rtx]+|-null|-no-run-if-empty|(?P<letter>[dEILnPs])(?P<value>.*))", re.DOTALL
)


def parse_commands(line: str) -> list[ParsedCommand]:
    """Return every command that a line runs; what an xargs with options runs is one of its own.

    Raises UnclearLineError.
    """
    if len(line) > LONGEST:
        raise UnclearLineError(f"the line has more than {LONGEST:,} characters")
    if any(unicodedata.category(sign) == "Cc" and sign not in "\n\t" for sign in line):
        raise UnclearLineError("the line contains control characters")
    commands = []
    for written, targets in _split_commands(line):
        words = _strip_wrappers(written)
        inner = _xargs_command(words) if words[0].text == "xargs" else []
        if inner and not words[1].text.startswith("-"):
            words, inner = _strip_wrappers(inner), []
        for each, files in ((words, targets), (_strip_wrappers(inner), [])):
            if each:
                _refuse_hidden(each)
                commands.append(ParsedCommand(each, written, files))
    return commands


def _strip_wrappers(words: list[CommandWord]) -> list[CommandWord]:
    """Return what `timeout`, `nice` and the like run. Raises UnclearLineError."""
    while words and (valued := _KNOWN["wrappers"].get(words[0].text)) is not None:
        name, at = words[0].text, 1
        while at < len(words) and (option := words[at].text).startswith("-"):
            if len(option) < 2 or option[1] not in valued:
                raise UnclearLineError(f"{name} {option} is not analysed")
            at += 1 + (len(option) == 2)
        rest = words[at + (name == "timeout") :]
        if not rest or any(word.grows for word in words[1:at]):
            return words
        words = rest
    return words


def _split_commands(line: str) -> Iterator[tuple[list[CommandWord], list[tuple[str, CommandWord]]]]:
    """Yield the commands between the operators of a line, with their redirections."""
    words: list[CommandWord] = []
    targets: list[tuple[str, CommandWord]] = []
    empty, joined, wants_name = True, False, ""
    for kind, text in [*_scan_tokens(line), ("operator", ";")]:
        if wants_name and kind != "word":
            raise UnclearLineError(f"a name is missing after {wants_name}")
        if kind == "word":
            # A `!` before a command turns its status around.
            if wants_name:
                targets.append((wants_name, _remove_quotes(text)))
            elif words or text != "!":
                words.append(_remove_quotes(text))
            wants_name, empty = "", False
        elif kind in ("redirect", "here"):
            wants_name, empty = text if kind == "redirect" else "", False
        elif empty and not (text in ";\n&" and not joined) and text != "\n":
            raise UnclearLineError(f"a command is missing before {text}")
        elif not empty:
            if words or targets:
                yield words or [CommandWord(":")], targets
            words, targets, empty, joined = [], [], True, text not in ";\n&"


def _scan_tokens(line: str) -> Iterator[tuple[str, str]]:
    """Yield words, redirections and operators; here-documents are read and passed over."""
    at, waiting = 0, list[re.Match[str]]()
    while at < len(line):
        token = _TOKEN.match(line, at)
        if token is None:
            raise UnclearLineError(f"{line[at : at + 2]!r} is not analysed")
        kind, text, at = str(token.lastgroup), token[0], token.end()
        if kind == "here":
            waiting.append(token)
        if kind in ("here", "word") and "\n" in text and waiting:
            raise UnclearLineError("a here-document starts inside a quote")
        if kind not in ("blank", "comment"):
            yield kind, text
        if text == "\n":
            for here in waiting:
                at = _here_document_end(line, at, here)
            waiting.clear()
    if waiting:
        raise UnclearLineError("a here-document has no end")


def _here_document_end(line: str, at: int, here: re.Match[str]) -> int:
    """Return where a here-document ends that begins at `at`."""
    name, tabs = re.escape(_remove_quotes(here["end"]).text), "\t*" if here["tabs"] else ""
    end = re.compile(rf"^{tabs}{name}(?:\n|\Z)", re.MULTILINE).search(line, at)
    if end is None:
        raise UnclearLineError("a here-document has no end")
    # Without quotes around its name, Bash expands it.
    if _QUOTED.search(here["end"]) is None and _HERE_RUNS.search(line, at, end.start()):
        raise UnclearLineError("a here-document can run commands")
    return end.end()


def _remove_quotes(raw: str) -> CommandWord:
    def replace_quoted(match: re.Match[str]) -> str:
        if match[2] is not None:
            return _IN_DOUBLE.sub(lambda hit: hit[1].replace("\n", ""), match[2])
        return match[1] if match[1] is not None else match[3]

    bare = _QUOTED.sub("", raw)
    return CommandWord(_QUOTED.sub(replace_quoted, raw), any(sign in bare for sign in "*?[{"))


def _refuse_hidden(words: Sequence[CommandWord]) -> None:
    """Raise UnclearLineError where a command may run another that is not seen."""
    first, rest = words[0], [word.text for word in words[1:]]
    name = first.text.rpartition("/")[2]
    if first.grows and first.text not in ("[", "[["):
        raise UnclearLineError("the name of a command is a pattern")
    interactive = name in _SHELLS and (not rest or rest[0].startswith("-"))
    if not name or _ASSIGNED.match(first.text) or name in _RUNNERS or interactive:
        raise UnclearLineError(f"{name} is not analysed")
    if name in _RECKONERS and any(re.search(r"`|\$[({]", word) for word in rest):
        raise UnclearLineError(f"{name} may run its arguments as code")
    if name == "find" and any(_matches_option(word, _KNOWN["find_runs"]) for word in words[1:]):
        raise UnclearLineError("find may run other commands")


def _matches_option(word: CommandWord, options: Sequence[str]) -> bool:
    """Whether a word is one of these options, or a pattern that may become one."""
    if not word.grows:
        return word.text in options
    return "{" in word.text or any(fnmatchcase(option, word.text) for option in options)


def _xargs_command(words: list[CommandWord]) -> list[CommandWord]:
    """Return the command that xargs is given; empty for the one that it has by itself."""
    at, place = 1, ""
    while at < len(words) and words[at].text.startswith("-"):
        option = _XARGS_OPTION.fullmatch(words[at].text)
        if option is None:
            raise UnclearLineError(f"xargs {words[at].text} is not analysed")
        if option["letter"] and not option["value"]:
            at += 1
        if option["letter"] == "I":
            place = option["value"] or "".join(word.text for word in words[at : at + 1])
        at += 1
    inner = words[at:]
    if inner and (inner[0].text in ("find", "xargs") or (place and place in inner[0].text)):
        raise UnclearLineError("xargs runs what it reads")
    return inner


def possible_commands(line: str) -> Iterator[str]:
    """Yield whatever in a line could be a command, quotes and brackets passed over."""
    for between in ("", " "):
        text = re.sub(r"['\"\\]", between, line)
        for words in map(str.split, re.split(r"[;&|(){}`\n<>$=,]+", text)):
            yield from (" ".join(words[at : at + 100]) for at in range(len(words)))


def opened_files(seen: ParsedCommand) -> Iterator[tuple[str, CommandWord]]:
    """Yield the files that a command opens, as far as its words say it: `Read` or `Edit`, a path.

    Of the commands that are known to read or write the files they name, and of redirections.
    """
    for sign, word in seen.targets:
        copied = sign.endswith("&") and re.fullmatch(r"\d+-?|-", word.text)
        if not copied and sign != "<<<" and word.text != "/dev/null":
            if sign != "<":
                yield "Edit", word
            if "<" in sign:
                yield "Read", word
    name = seen.words[0].text.rpartition("/")[2]
    for word in seen.words[1:]:
        if not word.text.startswith("-"):
            if name in _READERS or name in ("cp", "mv"):
                yield "Read", word
            if name in MOVERS or name in _KNOWN["changers"]:
                yield "Edit", word


_SED_READS: Final = re.compile(
    r"(?:(?:\d+|\$)(?:,(?:\d+|\$))?|/[^/\\\n]*/)?[pdq=]"
    r"|s([/#|,])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpI\d]*"
)


def is_read_only_line(line: str) -> bool:
    """Whether nothing that a line runs, or sets for the next, changes anything."""
    if ">" in line:
        return False
    try:
        commands = parse_commands(line)
    except UnclearLineError:
        return False
    return all(
        # What xargs reads may be an option of the command that it runs.
        _is_read_only_command(words)
        and not (words[0].text in _PICKY and written[0].text == "xargs")
        for words, written, _ in commands
    )


def _is_read_only_command(words: Sequence[CommandWord]) -> bool:
    name, rest = words[0].text, [word.text for word in words[1:]]
    if name not in _PICKY:
        return name in _ONLY_READ
    if name == "git":
        writes = any(word.startswith(tuple(_KNOWN["git_writes"])) for word in rest[1:])
        return rest[:1] != [] and rest[0] in _KNOWN["git_reads"] and not writes
    if name == "find":
        return not any(_matches_option(word, _KNOWN["find_writes"]) for word in words[1:])
    if any(word.grows for word in words[1:]):
        return False
    options = [word for word in rest if word.startswith("-")]
    operands = [word for word in rest if not word.startswith("-")]
    if name == "sort":
        return not any("o" in word for word in options)
    if name == "uniq":
        return len(operands) <= 1
    harmless = set(options) <= {"-n", "-E", "-r"} and bool(operands)
    return harmless and _SED_READS.fullmatch(operands[0]) is not None


Verdict = Literal["allow", "ask", "deny"]

_RULE: Final = re.compile(r"([A-Za-z_][\w*.-]*)(?:\((.*)\))?", re.DOTALL)
_FAMILY: Final[Mapping[str, str]] = {
    "Read": "Read", "Glob": "Read", "Grep": "Read",
    "Edit": "Edit", "Write": "Edit", "NotebookEdit": "Edit",
}  # fmt: skip
_NONE: Final = CommandWord(":")
_WRITING_MODES: Final = (None, "accept-edits", "bypass-permissions")
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
    positions = set(reached)
    for at in sorted(reached):
        while at < len(pattern) and pattern[at] == "**":
            at += 1
            positions.add(at)
    return positions


class PermissionDecision(NamedTuple):
    """A verdict and its reason, as a piece of a sentence; `ruled` where a rule names the call."""

    verdict: Verdict
    reason: str
    ruled: bool = False


def decide_permission(
    request: PermissionRequest, permissions: PermissionRules, *, auto_approve: bool = False
) -> PermissionDecision:
    """Return what the rules, then the tool's setting, then the mode say about a call."""
    for rule in permissions.deny:
        if _matches_rule(rule, request, strict=False) or _opened_file_match(rule, request) == "":
            return PermissionDecision("deny", f"the rule {rule} denies it", ruled=True)
    for rule in permissions.ask:
        named = _matches_rule(rule, request, strict=False) or _is_search_above(rule, request)
        if named or _opened_file_match(rule, request) == "":
            return _ask_decision(permissions, f"the rule {rule} requires approval", ruled=True)
    for rule in (*permissions.deny, *permissions.ask):
        of_bash = _parse_rule(rule)[0] == "Bash"
        if why := _unclear_reason(request) if of_bash else _opened_file_match(rule, request):
            return _ask_decision(permissions, f"the rule {rule} may apply to it: {why}")
    for rule in permissions.allow:
        if permissions.mode == "plan" or not _matches_rule(rule, request, strict=True):
            continue
        if request.tool != "Bash" or (
            # What a rule lets a command do is not to write a file behind a `>`.
            _is_inside_sandbox(request)
            and (permissions.mode in _WRITING_MODES or not _redirects_output(request))
        ):
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


def _ask_decision(
    permissions: PermissionRules, reason: str, *, ruled: bool = False
) -> PermissionDecision:
    if permissions.mode == "dont-ask":
        return PermissionDecision("deny", f"{reason}, and the mode dont-ask denies it")
    return PermissionDecision("ask", reason, ruled)


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
            # `sed -i` changes the files that it would only read.
            plain = [word for word in command.words if word.text != "-i"]
            if only and plain[0].text not in only and not _is_read_only_command(plain):
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


def _redirects_output(request: PermissionRequest) -> bool:
    with suppress(UnclearLineError):
        seen = parse_commands(str(request.input.get("command", "")))
        opened = (opened_files(command._replace(words=[_NONE])) for command in seen)
        return any(kind == "Edit" for kind, _ in chain.from_iterable(opened))
    return False


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
    patterns = []
    for family, specifier in map(_parse_rule, permissions.deny):
        if family == "Read" and specifier:
            with suppress(CallError):
                patterns.append(f"/{_sandbox_pattern(specifier, place)}")
    return patterns


def rule_note(rule: str) -> str | None:
    """Return why a rule does nothing, or None."""
    name, specifier = _parse_rule(rule)
    if specifier and name in _FAMILY and name not in ("Read", "Edit"):
        return (
            f"{rule!r} is ignored, as it is in Claude Code. Write {_FAMILY[name]}({specifier})"
            " instead."
        )
    return None


def call_mode(call: ToolCall, scenario: ScenarioScript, wanted: Mode | None) -> Mode:
    """Return the mode of a call: the caller's wish, else its tool's, else the file's.

    `live` becomes one of the others; so does real_mcp for a tool of Claude's own, which no server
    has. Lines of Bash that a list in `allow_real_bash` does not name are mocked.
    """
    execution = scenario.execution
    setting = execution.tools.get(call.tool)
    mode = wanted or (setting.mode if setting is not None else None) or execution.mode
    if mode == "live" and call.is_answered:
        return "mock"
    if mode in ("live", "real_mcp"):
        mode = "simulated" if call.tool in BUILT_IN else "real_mcp"
    named = execution.allow_real_bash
    if mode != "simulated" or call.tool != "Bash" or isinstance(named, bool):
        return mode
    line = call.input.get("command") if isinstance(call.input, Mapping) else None
    return "simulated" if _is_named_line(str(line), named) else "mock"


def _is_named_line(line: str, named: Sequence[str]) -> bool:
    """Whether each command of a line matches one of these; an unclear line must be one of them."""
    try:
        commands = [" ".join(word.text for word in each.words) for each in parse_commands(line)]
    except UnclearLineError:
        return line in named
    return all(any(_matches_simple(one, command) for one in named) for command in commands)


def is_scripted_call(call: ToolCall, scenario: ScenarioScript, wanted: Mode | None) -> bool:
    """Whether the file itself says what a call answers."""
    mode, setting = call_mode(call, scenario, wanted), scenario.execution.tools.get(call.tool)
    if mode == "disabled" or call.failure is not None:
        return True
    return (setting is not None and setting.answers_calls) or (mode == "mock" and call.is_answered)


@lru_cache(maxsize=256)
def _parse_rule(rule: str) -> tuple[str, str | None]:
    """Return the name and the specifier of a rule; one that is none names no tool."""
    match = _RULE.fullmatch(rule.strip())
    return (match[1], match[2]) if match is not None else ("", None)


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
    pattern = ".*".join(map(re.escape, specifier.split("*")))
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
