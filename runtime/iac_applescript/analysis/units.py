"""From tokens to units: the longest terms that are known where a statement stands."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from iac_applescript.analysis import language_words as language
from iac_applescript.analysis.tokens import Token
from iac_applescript.analysis.vocabulary import Entry, Vocabulary

__all__ = ["Sight", "Unit", "units_of"]

UnitKind = Literal["term", "command", "keyword", "variable", "text", "number", "sign", "unknown"]

_NO_COMMAND_AFTER: Final = frozenset(("of", "every", "new", "whose", "'s", "’s", "first", "last"))
_JUDGED: Final = frozenset(("copy", "make", "set"))
"""Commands that are judged by what they are given."""

LONGEST: Final = 8
"""Words of the longest term that is looked for."""


class Unit(NamedTuple):
    """Some tokens that mean one thing.

    Attributes:
        kind: `command` also where a term can be something else beside.
        word: Its spelling, in lower case; of a text its value.
        entries: The uses that dictionaries give it, with the app of each.
        start: Where it begins.
    """

    kind: UnitKind
    word: str
    entries: tuple[tuple[Vocabulary, Entry], ...]
    start: int

    def has(self, use: str) -> bool:
        """Say whether a dictionary has it for this use."""
        return any(entry.use == use for _, entry in self.entries)


class Sight(NamedTuple):
    """What can be seen from a statement: apps, nearest first, and the script's own names."""

    apps: Sequence[Vocabulary]
    variables: Mapping[str, object]
    handlers: frozenset[str]
    labels: frozenset[str]


def units_of(tokens: Sequence[Token], sight: Sight) -> list[Unit]:
    """Return the units of a statement's tokens; every token is in one."""
    units: list[Unit] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind == "word":
            before = tokens[at - 1] if at else None
            unit, used = _longest(tokens, at, sight, may_command=_may_command(before))
            if unit is not None:
                units.append(unit)
            at += used
            continue
        units.append(_single(token, sight))
        at += 1
    return units


def _single(token: Token, sight: Sight) -> Unit:
    if token.kind == "string":
        return Unit("text", token.text, (), token.start)
    if token.kind == "number":
        return Unit("number", token.text, (), token.start)
    if token.kind == "quoted":
        name = token.folded
        known = name in sight.variables or name in sight.handlers or name in sight.labels
        return Unit("variable" if known else "unknown", name, (), token.start)
    if token.kind == "sign":
        return Unit("sign", token.text.replace("’", "'"), (), token.start)
    return Unit("unknown", token.text, (), token.start)


def _may_command(before: Token | None) -> bool:
    """Say whether a command may begin behind a token."""
    return before is None or before.folded not in _NO_COMMAND_AFTER


def _longest(
    tokens: Sequence[Token], at: int, sight: Sight, *, may_command: bool
) -> tuple[Unit | None, int]:
    words: list[str] = []
    while at + len(words) < len(tokens) and len(words) < LONGEST:
        token = tokens[at + len(words)]
        if token.kind != "word":
            break
        words.append(token.folded)
    start = tokens[at].start
    found: tuple[Unit, int] | None = None
    for count in range(len(words), 0, -1):
        phrase = " ".join(words[:count])
        entries = tuple((app, entry) for app in sight.apps for entry in app.terms.get(phrase, ()))
        weak = phrase in language.WEAK and phrase in sight.variables
        unit = None if weak else _meaning(phrase, entries, start)
        if unit is None:
            continue
        found = found or (unit, count)
        # Mail has a property "delete message", and "delete message 1" deletes one.
        after = tokens[at + found[1]] if at + found[1] < len(tokens) else None
        label = after is not None and after.text == ":"
        rest = " ".join(words[count : found[1]])
        acts = unit.kind == "command" and _acts(unit)
        if acts and (not rest or (may_command and not label and _stands_alone(rest, sight))):
            return unit, count
    if found is not None:
        return found
    if words[0] == "the":
        return None, 1
    followed = tokens[at + 1] if at + 1 < len(tokens) else None
    if words[0] in sight.variables or words[0] in sight.handlers:
        return Unit("variable", words[0], (), start), 1
    if words[0] in sight.labels or (followed is not None and followed.text == ":"):
        return Unit("variable", words[0], (), start), 1
    return Unit("unknown", tokens[at].text, (), start), 1


def _stands_alone(phrase: str, sight: Sight) -> bool:
    """Say whether the words behind a command mean something by themselves."""
    known = phrase in sight.variables or any(phrase in app.terms for app in sight.apps)
    return known or phrase in language.TERMS or phrase in language.KEYWORDS


def _acts(unit: Unit) -> bool:
    """Say whether a command does more than read."""
    levels = [entry.level for _, entry in unit.entries if entry.use == "command"]
    known = language.COMMANDS.get(unit.word, "SAFE")
    return unit.word in _JUDGED or any(level != "SAFE" for level in levels or [known])


def _meaning(phrase: str, entries: tuple[tuple[Vocabulary, Entry], ...], start: int) -> Unit | None:
    if any(entry.use == "command" for _, entry in entries) or phrase in language.COMMANDS:
        return Unit("command", phrase, entries, start)
    if phrase in language.KEYWORDS and phrase != "the":
        return Unit("keyword", phrase, entries, start)
    if entries or phrase in language.TERMS or phrase in language.CONSTANTS:
        return Unit("term", phrase, entries, start)
    return None
