"""Which reply a prompt gets: rules in order, how often they matched, the turn that is due."""

from dataclasses import dataclass, field
from typing import NamedTuple

from iac_scenario.model import Failure, Reply, Rule, Scenario
from iac_scenario.patterns import Matcher, matcher

__all__ = ["Conversation", "Step", "prompts_of"]


class Step(NamedTuple):
    """What a prompt leads to, and whether a rule or a turn was meant for it."""

    reply: Reply
    failure: Failure | None
    matched: bool


@dataclass(slots=True)
class _Compiled:
    rule: Rule
    matches: Matcher
    turns: tuple[Matcher, ...]
    count: int = 0


@dataclass(slots=True)
class _Due:
    entry: _Compiled
    turn: int = field(default=0)


class Conversation:
    """The state of one session."""

    def __init__(self, scenario: Scenario) -> None:
        self._default = scenario.default or Reply()
        self._due: _Due | None = None
        self._rules = [
            _Compiled(
                rule, matcher(rule.pattern), tuple(matcher(turn.expect) for turn in rule.turns)
            )
            for rule in scenario.rules
        ]

    def step(self, prompt: str) -> Step:
        """Return the reply to a prompt, and remember that it was given."""
        if self._due is not None and (step := self._turn(self._due, prompt)) is not None:
            return step
        self._due = None
        for entry in self._rules:
            most = entry.rule.max_matches
            if (most is None or entry.count < most) and entry.matches(prompt):
                entry.count += 1
                self._due = _Due(entry) if entry.turns else None
                return Step(entry.rule.reply, entry.rule.failure, matched=True)
        return Step(self._default, None, matched=False)

    def _turn(self, due: _Due, prompt: str) -> Step | None:
        if not due.entry.turns[due.turn](prompt):
            return None
        turn = due.entry.rule.turns[due.turn]
        due.turn += 1
        if due.turn == len(due.entry.turns):
            self._due = None
        return Step(turn.reply, turn.failure, matched=True)


def prompts_of(scenario: Scenario) -> tuple[str, ...] | None:
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
