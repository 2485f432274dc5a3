"""A scenario as values: what the reader makes of a file and everything else reads."""

import re
from collections.abc import Iterator, Mapping
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


@dataclass(frozen=True, slots=True)
class StdioServer:
    """How a server is started over stdio, or where it is reached over Streamable HTTP.

    `cwd` None is the folder of the caller.
    """

    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    allowed: frozenset[str] = frozenset()
    line: int = 0
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Execution:
    """How calls are carried out, and where."""

    mode: Mode = "disabled"
    sandbox_root: str | None = None
    allow_real_bash: bool = False
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
