"""Which reply a prompt gets: patterns, rules in order, the turn that is due; and what happens then.

What happens in a run comes in order, as values: events, with what is told of failures.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import translate
from typing import Any, Final, NamedTuple, TypeAlias

from iac_scenario.matching import search_pattern
from iac_scenario.model import (
    InjectedFailure,
    PlayError,
    PromptPattern,
    ResponseRule,
    ScenarioScript,
    ScriptedReply,
    SessionIdentity,
    Turn,
)
from iac_scenario.results import CallResult, MissedExpectation

Matcher = Callable[[str], bool]


def compile_pattern(pattern: PromptPattern) -> Matcher:
    """Return the test of a pattern. Raises ValueError for a regular expression that is none."""
    text = pattern.text
    if pattern.kind == "exact":
        return lambda prompt: prompt == text
    if pattern.kind == "contains":
        return lambda prompt: text in prompt
    if pattern.kind == "any":
        return lambda _prompt: True
    if pattern.kind == "glob":
        whole = re.compile(translate(text)).match
        return lambda prompt: whole(prompt) is not None
    search_pattern(text, "")  # Says now what is wrong with it.

    def matches_expression(prompt: str) -> bool:
        try:
            return search_pattern(text, prompt) is not None
        except ValueError as error:
            raise PlayError(f"The pattern {error}") from None

    return matches_expression


def call_id(identity: SessionIdentity, prompt: int, position: int) -> str:
    """Return the id of a call: the same in every run."""
    text = f"{identity.session_id}\n{identity.seed}\n{prompt}\n{position}"
    return f"toolu_01{hashlib.sha256(text.encode()).hexdigest()[:22]}"


class NextReply(NamedTuple):
    """What a prompt leads to; `matched` is False where only an empty text is left to say."""

    reply: ScriptedReply
    failure: InjectedFailure | None = None
    matched: bool = True
    line: int = 0


class Conversation:
    """The state of one session."""

    def __init__(self, scenario: ScenarioScript) -> None:
        self._default = scenario.default
        self._rules = [
            (
                rule,
                compile_pattern(rule.pattern),
                [(compile_pattern(turn.expect), turn) for turn in rule.turns],
            )
            for rule in scenario.rules
        ]
        self._counts = [0] * len(self._rules)
        self._due: list[tuple[Matcher, Turn]] = []
        self._turned: set[int] = set()

    def next_reply(self, prompt: str) -> NextReply:
        """Return the reply to a prompt, and remember that it was given. Raises PlayError."""
        if self._due and self._due[0][0](prompt):
            (_, turn), *self._due = self._due
            self._turned.add(id(turn))
            return NextReply(turn.reply, turn.failure, line=turn.line)
        self._due = []
        for number, (rule, matches, turns) in enumerate(self._rules):
            free = rule.max_matches is None or self._counts[number] < rule.max_matches
            if free and matches(prompt):
                self._counts[number] += 1
                self._due = turns
                return NextReply(rule.reply, rule.failure, line=rule.line)
        return NextReply(self._default or ScriptedReply(), matched=self._default is not None)

    def unreached_rules(self) -> Iterator[ResponseRule | Turn]:
        """Yield the rules that no prompt has reached, and the turns of those that one has."""
        for count, (rule, _, _) in zip(self._counts, self._rules, strict=True):
            if not count:
                yield rule
            else:
                yield from (turn for turn in rule.turns if id(turn) not in self._turned)


def scenario_prompts(scenario: ScenarioScript) -> tuple[str, ...] | None:
    """Return the scenario's own prompts, else those that its patterns spell out.

    None where a pattern (regex, glob) does not say which prompt is meant.
    """
    if scenario.prompts:
        return scenario.prompts
    patterns = [
        pattern
        for rule in scenario.rules
        for pattern in (rule.pattern, *(turn.expect for turn in rule.turns))
    ]
    if any(pattern.kind in ("regex", "glob") for pattern in patterns):
        return None
    return tuple(pattern.text for pattern in patterns)


class ApiError(NamedTuple):
    """The kind of error as the Messages API names it, and its message.

    `status` is that of HTTP; without one the connection or the answer breaks. `word` is what
    Claude Code's messages call it.
    """

    kind: str
    message: str
    status: int | None = None
    word: str = "unknown"


FAILURES: Final = {
    "network_unreachable": ApiError("connection_error", "The network cannot be reached."),
    "connection_timeout": ApiError("timeout_error", "No answer within {after_ms:,} ms."),
    "auth_error": ApiError(
        "authentication_error", "The key is not valid.", 401, "authentication_failed"
    ),
    "rate_limit": ApiError(
        "rate_limit_error", "Too many requests. Try again in {retry_after} s.", 429, "rate_limit"
    ),
    "out_of_credits": ApiError(
        "billing_error", "The credit balance is used up.", 402, "billing_error"
    ),
    "partial_response": ApiError("connection_error", "The answer was cut off."),
    "malformed_json": ApiError("api_error", "The answer is not JSON.", word="server_error"),
    "tool_error": ApiError("tool_error", "The tool failed.", 500),
}
_WORDED: Final = ("auth_error", "tool_error")
"""Failures whose message a scenario may give."""


def describe_failure(failure: InjectedFailure) -> ApiError:
    """Return what is told of a failure."""
    known = FAILURES[failure.kind]
    if failure.kind in _WORDED and "message" in failure.facts:
        return known._replace(message=failure.facts["message"])
    facts = {"after_ms": 0, "retry_after": 60, **failure.facts}
    return known._replace(message=known.message.format_map(facts))


def failure_text(failure: InjectedFailure) -> str:
    """Return the text of the error result that a failed call answers."""
    partial = failure.facts.get("partial_text") or failure.facts.get("raw")
    message = describe_failure(failure).message
    return f"{message}\n{partial}" if partial else message


@dataclass(frozen=True, slots=True)
class TextEvent:
    """The assistant's text."""

    text: str


@dataclass(frozen=True, slots=True)
class CallEvent:
    """A call that the assistant makes."""

    id: str
    tool: str
    input: Any


@dataclass(frozen=True, slots=True)
class ResultEvent:
    """The result of a call, the expectations that it misses, and how many it had."""

    id: str
    tool: str
    outcome: CallResult
    misses: tuple[MissedExpectation, ...]
    checks: int


@dataclass(frozen=True, slots=True)
class FailureEvent:
    """A failure of the model's service instead of a reply."""

    failure: InjectedFailure
    error: ApiError


@dataclass(frozen=True, slots=True)
class EndEvent:
    """The end of what one prompt led to: scripted time in milliseconds, and tokens.

    `max_turns` is the number of replies that ended it before the assistant was done, else 0.
    """

    prompt: str
    duration_ms: int
    usage: Mapping[str, int]
    max_turns: int = 0


@dataclass(frozen=True, slots=True)
class Violation:
    """What fails a run besides a missed expectation; `line` 0 is nowhere in the file."""

    kind: str
    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"FAILED {self.file}{f':{self.line}' if self.line else ''}: {self.text}"


@dataclass(frozen=True, slots=True)
class NoteEvent:
    """Something to know that fails nothing."""

    text: str


Event: TypeAlias = (
    TextEvent | CallEvent | ResultEvent | FailureEvent | EndEvent | Violation | NoteEvent
)
