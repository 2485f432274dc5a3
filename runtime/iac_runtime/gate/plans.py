"""A call that was understood: what would run, before anybody has judged it."""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar

from iac_base.errors import CallRefusedError, Cancellation, ErrorType, NextCall
from iac_runtime.execution.executor import Executor
from iac_runtime.outcomes.outcome import Outcome
from iac_runtime.policy.facts import Approver, CallFacts, Decision, Verdict
from iac_runtime.policy.permissions import Permissions, Requester
from iac_runtime.policy.prompts import Question
from iac_runtime.tool import Level
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.shape import Tool

T = TypeVar("T")


_ASKED: Final = 5
"""The first attributes of a call, which say who asks for what."""


class Call(NamedTuple):
    """A call as it was asked for.

    Attributes:
        tool: Its name on the wire.
        arguments: As they came.
        caller: Who calls, and how a person can be asked there.
        most: The highest level that this way of calling takes; more is for another way.
        calls: In place of `arguments`, those of several calls that are asked about as one.
        token: Of a call that was asked about, the sealed token; empty for a first call.
        verdict: What the question of `token` came back with.
        raw: Texts are wanted as the app has them, not cleaned for a reader.
        timeout: The seconds that it has; None for those of the executor.
        confirm: Whether what it did is read back.
        undoes: The number of the call that it takes back; 0 for none.
        whole: All of the answer is wanted at once: a program reads it, not a model.
        repairs: What was put right in what came, a line each.
        cancel: Ends it from another thread.
    """

    tool: str
    arguments: Mapping[str, Any]
    caller: Requester = Requester()
    most: Level = "DANGEROUS"
    calls: tuple[Mapping[str, Any], ...] = ()
    token: str = ""
    verdict: Verdict = "unable"
    raw: bool = False
    timeout: float | None = None
    confirm: bool = True
    undoes: int = 0
    whole: bool = False
    cancel: Cancellation | None = None
    repairs: tuple[str, ...] = ()

    def asks_same(self, other: "Call") -> bool:
        """Say whether another call, by whoever made this one, asks for the same."""
        return self[:_ASKED] == other[:_ASKED]


class ToolImage(NamedTuple):
    """A picture beside a result: its bytes, and their media type."""

    data: bytes
    mime: str = "image/png"


class ToolResult(NamedTuple):
    """What came of a plan: a value, what is to be said of it, the whole where it was cut, what was
    read back of a write or is missing of a read, and pictures."""

    value: Any
    notes: tuple[str, ...] = ()
    whole: Any = None
    outcome: Outcome | None = None
    images: tuple[ToolImage, ...] = ()


@dataclass(slots=True, eq=False)
class ToolContext:
    """The gate's side of a call: what a tool may use to plan it and to carry it out.

    Attributes:
        catalogue: The apps and generated tools; None for a gate that is handed its tools.
        executor: How events are sent.
        permissions: The user's policy; takes the secrets out of what is read.
        home: The user's home folder, for `~` in paths.
        limit: Characters of JSON in a result, or None for no limit.
        launch: Bundle ids, or globs, of the apps that a SAFE call may start, in lower case.
        stale: Says which apps are newer than their tools, a line each.
        gate: The gate itself, for a tool that makes calls.
    """

    catalogue: Catalogue | None
    executor: Executor
    permissions: Permissions
    home: str
    limit: int | None
    launch: frozenset[str]
    stale: Callable[[], Sequence[str]]
    gate: "CallGate"
    _created: dict[Any, Any]
    _making: threading.Lock = field(default_factory=threading.Lock)

    @property
    def read_only(self) -> bool:
        """Whether nothing is changed here at all."""
        return bool(self.permissions.settings.read_only.value)

    def get_or_create(self, make: "Callable[[ToolContext], T]") -> T:
        """Return what `make` makes, made once for this gate; its `close` ends it with the gate."""
        with self._making:
            if make not in self._created:
                self._created[make] = make(self)
            or_create: T = self._created[make]
            return or_create

    def close(self) -> None:
        """Close what was made for this gate."""
        with self._making:
            for made in self._created.values():
                made.close()


Perform: TypeAlias = Callable[[Cancellation | None], ToolResult]

RunPart: TypeAlias = "Callable[[Plan, Decision], CompletedCall]"

CarryParts: TypeAlias = "Callable[[Plan, Decision, RunPart], ToolResult]"
"""Carries out the parts of a plan that was decided on, each by the function that it is given."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A call that is ready to be judged and carried out.

    Attributes:
        tool: The tool.
        facts: What it does, as the policy looks at it.
        perform: Does it.
        look: Returns the plan with what the call names looked at, and pinned to that; None where
            it names nothing.
        notes: What is to be said beside what it gives.
        parts: Of several calls, the plan of each; they are carried out in its stead.
        carry: Carries them out; None for one after the other.
        resumable: Whether it holds after a person thought about it. One that lies in what moves,
            and that no request holds, is planned again.
        repaired: The call that was planned, where another came.
        seen_first: Whether only `look` shows what it does: an answer, a no too, is to what that
            shows.
    """

    tool: Tool
    facts: CallFacts
    perform: Perform = field(repr=False)
    look: "Callable[[CallFacts], Plan] | None" = field(default=None, repr=False)
    parts: "tuple[Plan, ...]" = ()
    notes: tuple[str, ...] = ()
    carry: "CarryParts | None" = field(default=None, repr=False)
    resumable: bool = True
    repaired: Call | None = None
    seen_first: bool = False


@dataclass(frozen=True, slots=True)
class CompletedCall:
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
        outcome: Of a write what was read back of it, of a read that something is missing; None
            where there is nothing to say.
        images: Pictures beside the value.
        repairs: What was put right in the call, a line each.
    """

    value: Any
    line: str
    level: Level
    note: str = ""
    output: Mapping[str, Any] | None = None
    app: tuple[str, str] = ("", "")
    reasons: tuple[str, ...] = ()
    source: str = ""
    outcome: Outcome | None = None
    images: tuple[ToolImage, ...] = ()
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """The call may not run; nothing was sent. `line` is what would have been.

    Attributes:
        source: What decided: a preset, a line of the policy, a built-in rule, a person.
        kind: The type of its error.
        person: The refusal for the person at the terminal, in place of reason and suggestion.
        next: The call to make now, if one helps.
        toolset: The package of the tool (`Tool.toolset`).
    """

    tool: str
    app: str
    level: Level
    reason: str
    suggestion: str
    line: str
    source: str = ""
    kind: ErrorType = "REFUSED"
    person: str = ""
    next: NextCall | None = None
    toolset: str = ""

    @property
    def requires_prompt(self) -> bool:
        """Whether it was refused only because nobody could be asked."""
        return self.kind == "UNANSWERED"

    @property
    def error(self) -> CallRefusedError:
        """The refusal as an error."""
        error = CallRefusedError(
            self.reason, self.suggestion, app=self.app, command=self.tool, kind=self.kind
        )
        error.set_next_call(lambda: self.next)
        error.toolset = self.toolset
        return error

    def facts(self) -> dict[str, Any]:
        """Return the refusal as one JSON object."""
        more = {"level": self.level, "line": self.line, "source": self.source}
        facts = {**self.error.facts(), **{key: value for key, value in more.items() if value}}
        return {**facts, "requires_prompt": True} if self.requires_prompt else facts


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call that a person must be asked about first; nothing was sent.

    The surface asks by `way`, and hands what came back to `Gate.answer`. Where the protocol has no
    memory it hands out `token`, and the call comes again with it (`Call.token`). The question is
    bound to the arguments: another call needs another question.

    Attributes:
        call, plan, decision: As they were when it was asked about.
    """

    question: Question
    token: str
    way: Approver
    call: Call = field(repr=False)
    plan: Plan = field(repr=False)
    decision: Decision = field(repr=False)

    @property
    def level(self) -> Level:
        """What the call needs."""
        return self.decision.level


CallAnswer: TypeAlias = CompletedCall | RefusedCall | PendingCall


class CallGate(Protocol):
    """What a tool that makes calls of its own sees of the gate (`gate.Gate`)."""

    context: ToolContext
    permissions: Permissions

    @property
    def catalogue(self) -> Catalogue | None: ...

    def call(
        self,
        call: Call,
        *,
        tool: Tool | None = None,
        dry_run: bool = False,
        cancel: Cancellation | None = None,
    ) -> CallAnswer: ...

    def answer(
        self, pending: PendingCall, verdict: Verdict, *, cancel: Cancellation | None = None
    ) -> CallAnswer: ...

    def find_tool(self, name: str) -> Tool: ...

    def plan_call(self, call: Call, tool: Tool | None = None) -> Plan: ...

    def plan_fixed(
        self,
        call: Call,
        tool: Tool | None = None,
        made: Collection[str] = (),
        gone: Collection[str] = (),
    ) -> Plan: ...

    def judge_plan(self, plan: Plan, caller: Requester) -> tuple[CallFacts, Decision]: ...


def requester_of(facts: CallFacts) -> Requester:
    """Return who made a call, for another that belongs to it and that nobody is asked about."""
    return Requester(
        facts.client,
        preapproved_level=facts.preapproved_level,
        token_client=facts.token_client,
        max_level=facts.max_level,
    )


def call_with_prompts(
    gate: "CallGate",
    call: Call,
    askers: Mapping[Approver, Callable[[Question], Verdict] | None],
    tool: Tool | None = None,
) -> CompletedCall | RefusedCall:
    """Carry out a call for the person who runs this program.

    He is asked by one of `askers` after the other; None stands for a way that cannot ask here.
    """
    able = {way: ask for way, ask in askers.items() if ask}
    unable = tuple(way for way in askers if way not in able)
    call = call._replace(caller=call.caller._replace(ways=tuple(able), unable=unable))
    answer = gate.call(call, tool=tool)
    while isinstance(answer, PendingCall):
        answer = gate.answer(answer, able[answer.way](answer.question))
    return answer
