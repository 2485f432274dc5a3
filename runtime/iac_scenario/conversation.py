"""Which reply a prompt gets: patterns, rules in order, the turn that is due."""

import hashlib
import re
from collections.abc import Callable, Iterator
from fnmatch import translate
from typing import NamedTuple

from iac_scenario.arguments import search_pattern
from iac_scenario.errors import PlayError
from iac_scenario.model import (
    InjectedFailure,
    PromptPattern,
    ResponseRule,
    ScenarioScript,
    ScriptedReply,
    SessionIdentity,
    Turn,
)

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
