"""Which reply a prompt gets: patterns, rules in order, the turn that is due."""

import hashlib
import re
from collections.abc import Callable
from fnmatch import translate
from typing import Final, NamedTuple

from iac_scenario.model import (
    InjectedFailure,
    PromptPattern,
    ScenarioScript,
    ScriptedReply,
    SessionIdentity,
    Turn,
)

Matcher = Callable[[str], bool]

_RUSTS_OWN: Final = re.compile(
    r"(?s)(?P<escaped>\\.)|(?P<group>\(\?<(?=[A-Za-z_]))"
    r"|(?P<set>\[\^?\]?(?:\\.|\[:\w+:\]|[^]\\])*\])"
)
_CLASSES: Final = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z",
    "space": r"\s", "blank": r" \t", "punct": r"!-/:-@\[-`{-~", "xdigit": "0-9A-Fa-f",
    "print": r"\x20-\x7e", "graph": r"\x21-\x7e", "cntrl": r"\x00-\x1f\x7f",
}  # fmt: skip
"""What stands inside a Python set for a class of POSIX: letters and digits of ASCII."""
_CLASS: Final = re.compile(r"(?s)\\.|\[:(\w+):\]|\[")


def matcher(pattern: PromptPattern) -> Matcher:
    """Return the test of a pattern. Raises re.error for a regular expression that is none."""
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
    search = re.compile(_as_python(text)).search
    return lambda prompt: search(prompt) is not None


def _as_python(text: str) -> str:
    """Return an expression with what Rust, which claudeless reads them by, writes otherwise.

    Groups `(?<name>…)`, classes `[[:digit:]]`, and the end `\\z`; the rest is the same, or no
    expression for Python either.
    """

    def piece(found: re.Match[str]) -> str:
        if found["group"]:
            return "(?P<"
        if found["set"]:
            return "[" + _CLASS.sub(_in_set, found["set"][1:])
        return r"\Z" if found[0] == r"\z" else found[0]

    return _RUSTS_OWN.sub(piece, text)


def _in_set(found: re.Match[str]) -> str:
    if found[1] in _CLASSES:
        return _CLASSES[found[1]]
    return rf"\[{found[0][1:]}" if found[0].startswith("[") else found[0]


def call_id(identity: SessionIdentity, prompt: int, position: int) -> str:
    """Return the id of a call: the same in every run."""
    text = f"{identity.session_id}\n{identity.seed}\n{prompt}\n{position}"
    return f"toolu_01{hashlib.sha256(text.encode()).hexdigest()[:22]}"


class NextReply(NamedTuple):
    """What a prompt leads to."""

    reply: ScriptedReply
    failure: InjectedFailure | None = None


class Conversation:
    """The state of one session."""

    def __init__(self, scenario: ScenarioScript) -> None:
        self._default = scenario.default or ScriptedReply()
        self._rules = [
            (rule, matcher(rule.pattern), [(matcher(turn.expect), turn) for turn in rule.turns])
            for rule in scenario.rules
        ]
        self._counts = [0] * len(self._rules)
        self._due: list[tuple[Matcher, Turn]] = []

    def step(self, prompt: str) -> NextReply:
        """Return the reply to a prompt, and remember that it was given."""
        if self._due and self._due[0][0](prompt):
            (_, turn), *self._due = self._due
            return NextReply(turn.reply, turn.failure)
        self._due = []
        for number, (rule, matches, turns) in enumerate(self._rules):
            free = rule.max_matches is None or self._counts[number] < rule.max_matches
            if free and matches(prompt):
                self._counts[number] += 1
                self._due = turns
                return NextReply(rule.reply, rule.failure)
        return NextReply(self._default)


def prompts_of(scenario: ScenarioScript) -> tuple[str, ...] | None:
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
