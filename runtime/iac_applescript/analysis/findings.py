"""What the readers of a script share: its steps, tokens and brackets, and what was found there.

Steps are counted, not seconds, so that a script is judged alike on every machine, and any text
within a second.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf
from typing import Final, Literal, NamedTuple

from iac_base.script_tokens import ScriptPlace, ScriptToken
from iac_runtime.tool import Level, highest
from iac_runtime.toolkit import Effect

STEPS: Final = 60_000
"""Of one script. A step is about what looking at one expression takes."""

DEEPEST: Final = 200
"""Expressions that are followed within one another, through calls too."""


class OverBudgetError(Exception):
    """A script takes more steps than are followed."""


@dataclass(slots=True)
class _Budget:
    left: float


_BUDGET: Final[ContextVar[_Budget]] = ContextVar("budget")
_UNBOUND: Final = _Budget(inf)


@contextmanager
def within_budget() -> Iterator[None]:
    """Hold what is done inside to the steps of one script."""
    token = _BUDGET.set(_Budget(STEPS))
    try:
        yield
    finally:
        _BUDGET.reset(token)


def spend(steps: int) -> None:
    """Count steps.

    Raises:
        OverBudgetError: More were taken than one script may.
    """
    budget = _BUDGET.get(_UNBOUND)
    budget.left -= steps
    if budget.left < 0:
        raise OverBudgetError


_OPENS: Final = {")": "(", "]": "[", "}": "{"}


def text_at(tokens: Sequence[ScriptToken], place: int) -> str:
    """Return what is written at a place; empty outside, and for a text or template."""
    if not 0 <= place < len(tokens) or tokens[place].kind in ("string", "template"):
        return ""
    return tokens[place].text


class Brackets(NamedTuple):
    """The brackets among some signs; one that does not match encloses what follows it.

    Attributes:
        within: For each place the one of the bracket that is open around it, or -1.
        depth: For each place how many are open behind it.
        closing: Opening place -> closing place.
        opening: Closing place -> opening place.
        odd: Places of those that match none.
    """

    within: Sequence[int]
    depth: Sequence[int]
    closing: Mapping[int, int]
    opening: Mapping[int, int]
    odd: Sequence[int]


def brackets_of(signs: Sequence[str]) -> Brackets:
    """Return the brackets among signs; what is no sign is an empty text."""
    spend(len(signs) // 16)
    within: list[int] = []
    depth: list[int] = []
    closing: dict[int, int] = {}
    open_: list[int] = []
    odd: list[int] = []
    for place, sign in enumerate(signs):
        if open_ and signs[open_[-1]] == _OPENS.get(sign):
            closing[open_.pop()] = place
        elif sign in _OPENS:
            odd.append(place)
        within.append(open_[-1] if open_ else -1)
        if sign in ("(", "[", "{"):
            open_.append(place)
        depth.append(len(open_))
    opening = {end: start for start, end in closing.items()}
    return Brackets(within, depth, closing, opening, (*odd, *open_))


class LevelReason(NamedTuple):
    """Why a script has its level.

    Attributes:
        level: What this alone would give.
        rule: The kind of reason, a word for machines: `phrase`, `command`, `setter`, `target`...
        says: One line for a person.
        text: The words of the script that it is about.
        place: Where they stand.
    """

    level: Level
    rule: str
    message: str
    text: str
    place: ScriptPlace


Language = Literal["applescript", "javascript"]


class AppStart(NamedTuple):
    """An app that a script starts if it does not run: bundle id, name, where it is first used."""

    app: str
    name: str
    place: ScriptPlace


def merge_effects(effects: Iterable[Effect]) -> tuple[Effect, ...]:
    """Return effects, one for a verb, an app and a class: the highest level, all that flows.

    Where they are on several objects, none is named.
    """
    merged: dict[tuple[object, ...], Effect] = {}
    for effect in effects:
        key = (*effect[:4], effect.doubt)
        known = merged.get(key, effect)
        flow = tuple(dict.fromkeys((*known.flow, *effect.flow)))
        name = effect.reference if effect.reference == known.reference else ""
        level = highest((known.level, effect.level))
        merged[key] = effect._replace(level=level, flow=flow, reference=name)
    return tuple(merged.values())


@dataclass(slots=True)
class Findings:
    """Collects, while a script is read.

    Attributes:
        script: The text that is read.
        reasons: In the order of reading; one a place and rule.
        targets: Bundle ids of the apps that are named, and the names of those not known.
        tools: Generated tools that do what the script's statements do.
        starts: Apps that are sent an event, by bundle id.
        effects: What the statements that were understood do, one after the other.
        processes: Names of the processes that a JavaScript goes through; empty where it names none.
        secrets: What is read that no setting allows to read.
        asked, put, named: Of a JavaScript, the members that are asked of apps and those that are
            set, and the apps as it names them; `ObjC` is asked where it goes to Objective-C.
        spelled: The texts that a JavaScript spells out.
        acts: Of a JavaScript, what it calls or sets, each with the app that it is approved for.
        used: Of a JavaScript, the commands whose answer it uses.
        nested: The texts that it has run as code, each behind the event that runs it.
    """

    script: str
    reasons: dict[tuple[int, str], LevelReason] = field(default_factory=dict)
    targets: dict[str, None] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    tools: dict[str, None] = field(default_factory=dict)
    starts: dict[str, AppStart] = field(default_factory=dict)
    effects: list[Effect] = field(default_factory=list)
    processes: list[str] = field(default_factory=list)
    secrets: dict[str, None] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    put: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    nested: list[tuple[str, str]] = field(default_factory=list)
    spelled: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    acts: set[tuple[str, str]] = field(default_factory=set)
    _lines: list[int] = field(default_factory=list)

    def place_at(self, start: int) -> ScriptPlace:
        """Return the place of a character of the script; CR, LF and CRLF end a line."""
        if not self._lines:
            ends = re.finditer(r"\r\n|\r|\n", self.script)
            self._lines = [0, *(found.end() for found in ends)]
        line = bisect_right(self._lines, start)
        return ScriptPlace(line, start - self._lines[line - 1] + 1, start)

    def add(self, level: Level, rule: str, says: str, text: str, start: int) -> None:
        """Add a reason, unless a higher one of the same rule stands there."""
        known = self.reasons.get((start, rule))
        if known is None or highest((known.level, level)) != known.level:
            self.reasons[start, rule] = LevelReason(
                level, rule, says, text[:120], self.place_at(start)
            )

    def read_secret(self, name: str, text: str, start: int) -> None:
        """Note that a secret is read, which is refused."""
        self.secrets[name] = None
        self.add("DANGEROUS", "secret", "reads a secret, which no setting allows", text, start)

    def add_start(self, app: str, name: str, start: int) -> None:
        """Note that an app is sent an event, which starts it."""
        if app not in self.starts:
            self.starts[app] = AppStart(app, name, self.place_at(start))

    def found(self, rules: Collection[str]) -> bool:
        """Say whether something dangerous was found by one of some rules."""
        return any(row.rule in rules and row.level == "DANGEROUS" for row in self.reasons.values())

    def highest_level(self) -> Level:
        """Return the level of all reasons together."""
        return highest(reason.level for reason in self.reasons.values())
