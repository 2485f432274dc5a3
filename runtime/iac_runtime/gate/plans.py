"""A call that was understood: what would run, before anybody has judged it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

from iac_base.cancellation import Cancellation
from iac_base.errors import CallRefusedError
from iac_runtime.language.request import Event
from iac_runtime.policy.facts import Raised
from iac_runtime.policy.permissions import Requester
from iac_runtime.policy.question import Question, Verdict
from iac_runtime.tool import Level
from iac_runtime.tools.binding import Tool, parameters

__all__ = ["Asks", "Call", "Done", "Found", "Outcome", "Perform", "Plan", "Refused", "Toolset"]


class Call(NamedTuple):
    """A call as it was asked for.

    Attributes:
        tool: Its name on the wire.
        arguments: As they came.
        caller: Who calls, and who can be asked there.
        most: The highest level that this way of calling takes; more is for another way.
        token: Of a call that was asked about, the sealed token; empty for a first call.
        verdict: What the person said to the question of `token`.
    """

    tool: str
    arguments: Mapping[str, Any]
    caller: Requester = Requester()
    most: Level = "DANGEROUS"
    token: str = ""
    verdict: Verdict = "unanswered"


class Found(NamedTuple):
    """What came of a plan: a value, and what is to be said about it."""

    value: Any
    notes: tuple[str, ...] = ()


class Toolset(Protocol):
    """Tools that are not generated: of an interface, of scripts."""

    @property
    def names(self) -> Collection[str]:
        """The names of the tools."""
        ...

    def plan(self, call: Call) -> "Plan":
        """Return what a call would do.

        Raises:
            ToolError: An argument is wrong, or what it names is not there.
        """
        ...

    def close(self) -> None:
        """End what runs for the tools."""


Perform: TypeAlias = Callable[[Cancellation | None], Found]


@dataclass(frozen=True, slots=True)
class Plan:
    """A call that is ready to be judged and carried out.

    Attributes:
        name: The tool's name on the wire.
        app: Bundle id and name; both empty for a tool that reaches no app.
        arguments: Those of the operation behind a recipe.
        levels: The level from the arguments, and the most that arguments of the tool can reach.
        perform: Does it.
        event: The request, where it is one.
        tool: The generated tool, where it is one.
        line: The request as a line of JXA, or another line that a person can read.
        digest: The tool's digest in tools.lock; empty where there is none.
        output: The tool's output schema, if it has one.
        raised: Of a plan without an event: what raised its level.
        targets: Of a plan without an event: the bundle ids that it reaches; an empty one is an
            app whose identity could not be read.
        names: The names of `targets`, in their order, as far as they are known.
        unsure: Why it cannot be told which apps it reaches; empty where it can.
        outward: Whether it reaches beyond this program though it has no app of its own: it counts
            for the limits, and what it returns is a stranger's.
        memory: What an approval also covers while this program runs; empty for the call alone.
    """

    name: str
    app: tuple[str, str]
    arguments: Mapping[str, Any]
    levels: tuple[Level, Level]
    perform: Perform = field(repr=False)
    event: Event | None = None
    tool: Tool | None = None
    line: str = ""
    digest: str = ""
    output: Mapping[str, Any] | None = None
    raised: tuple[Raised, ...] = ()
    targets: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    unsure: str = ""
    outward: bool = False
    memory: str = ""

    @property
    def types(self) -> dict[str, str]:
        """Return parameter -> type."""
        rows = parameters(self.tool) if self.tool else {}
        return {key: row.type for key, row in rows.items()}


@dataclass(frozen=True, slots=True)
class Done:
    """The call was carried out, or with `dry_run` would have been.

    Attributes:
        value: The result as plain values; a reference is a `RefText`.
        line: The same request as one line of JXA; empty where no event is sent.
        level: What the call needed.
        note: What is missing from the value, one line; empty if nothing is.
        output: The tool's output schema, if it has one.
        app: Bundle id and name of the app that the value is from; empty where it is our own.
        reasons: What raised the level, and what decided.
        source: What let it run: a preset, a line of the policy, a person.
    """

    value: Any
    line: str
    level: Level
    note: str = ""
    output: Mapping[str, Any] | None = None
    app: tuple[str, str] = ("", "")
    reasons: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """The call may not run; nothing was sent. `line` is what would have been.

    Attributes:
        requires_prompt: It was refused only because nobody could be asked.
        source: What decided: a preset, a line of the policy, a built-in rule, a person.
    """

    tool: str
    app: str
    level: Level
    reason: str
    suggestion: str
    line: str
    requires_prompt: bool = False
    source: str = ""

    @property
    def error(self) -> CallRefusedError:
        """The refusal as an error."""
        return CallRefusedError(self.reason, self.suggestion, app=self.app, command=self.tool)

    def facts(self) -> dict[str, Any]:
        """Return the refusal as one JSON object."""
        more = {"level": self.level, "line": self.line, "source": self.source}
        facts = {**self.error.facts(), **{key: value for key, value in more.items() if value}}
        return {**facts, "requires_prompt": True} if self.requires_prompt else facts


@dataclass(frozen=True, slots=True)
class Asks:
    """A person must be asked first; nothing was sent.

    The surface asks, and calls again with `token` and what was said. The question is bound to the
    arguments: another call needs another question.
    """

    question: Question
    token: str
    level: Level


Outcome: TypeAlias = Done | Refused | Asks
