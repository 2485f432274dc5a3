"""A scenario as values: what the reader makes of a file and everything else reads.

ScenarioError   the file cannot be played; carries every problem, with its line
PlayError       an option, a configuration of servers or a sandbox that cannot be used
CallError       a call failed; its text is the result that the assistant sees
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

Mode: TypeAlias = Literal["disabled", "mock", "simulated", "real_mcp", "live"]
PermissionMode: TypeAlias = Literal[
    "default", "plan", "accept-edits", "bypass-permissions", "dont-ask"
]
Answer: TypeAlias = Literal["allow", "deny"]

MODES: tuple[Mode, ...] = get_args(Mode)
PERMISSION_MODES: tuple[PermissionMode, ...] = get_args(PermissionMode)
CLIENT_VERSION = "2.1.197"
"""Of Claude Code, whose answers, lines and files these are."""


@dataclass(frozen=True, slots=True)
class PromptPattern:
    """What a prompt must look like: a kind of match and its text (empty for `any`)."""

    kind: Literal["exact", "regex", "glob", "contains", "any"]
    text: str = ""


@dataclass(frozen=True, slots=True)
class InjectedFailure:
    """A failure that is played instead of a reply or of a call; `facts` are its other fields."""

    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Expectation:
    """One expectation on a result: its kind, what is wanted, the line it stands on."""

    kind: str
    want: Any
    line: int = 0


@dataclass(frozen=True, slots=True)
class ElicitationAnswer:
    """An answer to a question of a server; None as pattern answers any question."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] | None = None
    message: PromptPattern | None = None


@dataclass(frozen=True, slots=True)
class SamplingAnswer:
    """What a model says to a server that asks; None as pattern answers any request."""

    text: str = ""
    error: str | None = None
    message: PromptPattern | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the assistant makes; `result` is None where the file gives none.

    `send_invalid` sends arguments that do not fit without a note. With `request` it is that request
    of the protocol instead, and `tool` names it too.
    """

    tool: str
    input: Any
    result: Any = None
    error: str | None = None
    expect: tuple[Expectation, ...] = ()
    failure: InjectedFailure | None = None
    capture: Mapping[str, str] = field(default_factory=dict)
    cancel_after_ms: int | None = None
    elicitations: tuple[ElicitationAnswer, ...] = ()
    sampling: tuple[SamplingAnswer, ...] = ()
    request: str = ""
    server: str = ""
    approve: bool | None = None
    send_invalid: bool = False
    allowed: frozenset[str] = frozenset()
    line: int = 0

    @property
    def is_answered(self) -> bool:
        """Whether the file gives its answer."""
        return self.result is not None or self.error is not None


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """What the assistant answers: a text, calls in order, and what it says then.

    `delay_ms` comes before all of it.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict)
    delay_ms: int | None = None
    allowed: frozenset[str] = frozenset()
    then: "ScriptedReply | None" = None


@dataclass(frozen=True, slots=True)
class Turn:
    """A later step of a conversation: the prompt that it waits for and what it answers.

    `speaks` is False where the file gives neither a response nor a failure.
    """

    expect: PromptPattern
    reply: ScriptedReply
    failure: InjectedFailure | None = None
    allowed: frozenset[str] = frozenset()
    speaks: bool = True
    line: int = 0


@dataclass(frozen=True, slots=True)
class ResponseRule:
    """Which prompt gets which reply; `max_matches` None means any number of times."""

    pattern: PromptPattern
    reply: ScriptedReply
    failure: InjectedFailure | None = None
    max_matches: int | None = None
    turns: tuple[Turn, ...] = ()
    allowed: frozenset[str] = frozenset()
    speaks: bool = True
    line: int = 0


@dataclass(frozen=True, slots=True)
class ToolSetting:
    """What holds for every call of one tool."""

    mode: Mode | None = None
    result: Any = None
    error: str | None = None
    description: str | None = None
    input_schema: Mapping[str, Any] | None = None
    auto_approve: bool = False
    answers: Mapping[str, str] = field(default_factory=dict)

    @property
    def answers_calls(self) -> bool:
        """Whether the file gives one answer to every call."""
        return self.result is not None or self.error is not None


@dataclass(frozen=True, slots=True)
class StdioServer:
    """How a server is started over stdio, where it is reached over HTTP, or an object of Python.

    `cwd` None is the folder of the caller; `server` is MODULE:OBJECT.
    """

    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    allowed: frozenset[str] = frozenset()
    line: int = 0
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    server: str = ""


@dataclass(frozen=True, slots=True)
class Execution:
    """How calls are carried out, and where."""

    mode: Mode = "disabled"
    sandbox_root: str | None = None
    allow_real_bash: bool | Sequence[str] = False
    files: Mapping[str, str] = field(default_factory=dict)
    protocol: str = "auto"
    validate: Literal["note", "client"] = "note"
    mcp_config: str | None = None
    log_level: str | None = None
    tools: Mapping[str, ToolSetting] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PermissionRules:
    """Rules in Claude's syntax; without a mode, what no rule names may run."""

    mode: PermissionMode | None = None
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    answer: Answer = "deny"


@dataclass(frozen=True, slots=True)
class SessionIdentity:
    """What makes two runs the same bytes: ids, clock and seed."""

    session_id: str
    model: str
    seed: int
    launch_timestamp: str
    working_directory: str | None


@dataclass(frozen=True, slots=True)
class ScenarioScript:
    """A scenario file, read, included and checked."""

    path: Path
    name: str
    identity: SessionIdentity
    prompts: tuple[str, ...] = ()
    prompt_lines: tuple[int, ...] = ()
    settings: Any = None
    allowed: frozenset[str] = frozenset()
    rules: tuple[ResponseRule, ...] = ()
    default: ScriptedReply | None = None
    execution: Execution = field(default_factory=Execution)
    permissions: PermissionRules = field(default_factory=PermissionRules)
    timeouts: Mapping[str, int] = field(default_factory=dict)
    elicitations: tuple[ElicitationAnswer, ...] = ()
    sampling: tuple[SamplingAnswer, ...] = ()
    roots: tuple[str, ...] = ()
    servers: Mapping[str, StdioServer] = field(default_factory=dict)


class LoadedScenario(NamedTuple):
    """A scenario, what is to be said about its file, a line each, and where it holds secrets.

    Secrets are looked for when somebody asks.
    """

    scenario: ScenarioScript
    warnings: tuple[str, ...]
    secrets: Iterator[str]


def public_name(name: str) -> str:
    """Return a name as clients write it into `mcp__SERVER__TOOL`: other characters are `_`."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def scenario_replies(scenario: ScenarioScript) -> Iterator[ScriptedReply]:
    """Yield every reply that a scenario has, each before what follows it."""
    firsts = [scenario.default, *(rule.reply for rule in scenario.rules)]
    firsts += [turn.reply for rule in scenario.rules for turn in rule.turns]
    for reply in firsts:
        yield from reply_chain(reply)


def reply_chain(reply: ScriptedReply | None) -> Iterator[ScriptedReply]:
    """Yield a reply and what is said after each result."""
    while reply is not None:
        yield reply
        reply = reply.then


def scenario_calls(scenario: ScenarioScript) -> Iterator[ToolCall]:
    """Yield every call that a scenario names."""
    for reply in scenario_replies(scenario):
        yield from reply.calls


class ScenarioProblem(NamedTuple):
    """One finding in a scenario file: where (`file:line`), in which field, and what."""

    file: str
    line: int
    field: str
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return ": ".join(filter(None, (where, self.field, self.message)))


class ScenarioError(Exception):
    """A scenario file that cannot be played."""

    def __init__(self, problems: Sequence[ScenarioProblem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


class PlayError(Exception):
    """Something around the scenario that cannot be used: one line, with the way out."""


class CallError(Exception):
    """A call that failed; the text is what the assistant is told."""


class UnfitCallError(CallError):
    """A call that was refused before anything was done, which the client marks as such."""
