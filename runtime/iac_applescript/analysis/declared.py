"""The names that an AppleScript gives itself: variables with their values, handlers, labels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from iac_applescript.analysis.tokens import Token

__all__ = ["Declared", "declared", "statements"]

_AFTER_ERROR = frozenset(("number", "from", "to", "partial", "result", "error", "on", "the"))


@dataclass(frozen=True, slots=True)
class Declared:
    """The script's own names, in lower case.

    Attributes:
        variables: Name -> the tokens of each value that it is set to.
        handlers: Names that are called with parentheses.
        labels: Fields of records.
    """

    variables: dict[str, list[tuple[Token, ...]]] = field(default_factory=dict)
    handlers: set[str] = field(default_factory=set)
    labels: set[str] = field(default_factory=set)

    def literal(self, name: str) -> str | None:
        """Return the text of a variable that is set once, to a text; else None."""
        values = self.variables.get(name, [])
        if len(values) == 1 and len(values[0]) == 1 and values[0][0].kind == "string":
            return values[0][0].text
        return None


def statements(tokens: Sequence[Token]) -> Iterator[tuple[Token, ...]]:
    """Yield the tokens of each logical line that has any; lists and records may span lines."""
    found: list[Token] = []
    for token in tokens:
        if token.kind != "end":
            found.append(token)
        elif found:
            yield tuple(found)
            found = []


def declared(tokens: Sequence[Token]) -> Declared:
    """Return the names that a script declares anywhere; scopes are not told apart."""
    found = Declared()
    for line in statements(tokens):
        _labels(line, found)
        first = line[0].folded if line[0].kind == "word" else ""
        second = line[1].folded if len(line) > 1 else ""
        if first == "on" and second == "error":
            _words(line[2:], found, without=_AFTER_ERROR)
        elif first in ("on", "to") and len(line) > 1:
            _handler(line, found)
        elif first in ("global", "local"):
            _words(line[1:], found)
        elif first in ("property", "prop") and len(line) > 3 and line[2].text == ":":
            _declare(line[1], line[3:], found)
        _assignments(line, found)
    return found


def _name(token: Token) -> str:
    return token.folded if token.kind in ("word", "quoted") else ""


def _declare(token: Token, value: tuple[Token, ...], found: Declared) -> None:
    if name := _name(token):
        found.variables.setdefault(name, []).append(value)


def _words(line: Sequence[Token], found: Declared, without: frozenset[str] = frozenset()) -> None:
    for token in line:
        if _name(token) not in without:
            _declare(token, (), found)


def _labels(line: Sequence[Token], found: Declared) -> None:
    for token, after in pairwise(line):
        if after.text == ":" and after.kind == "sign" and _name(token):
            found.labels.add(_name(token))


def _handler(line: Sequence[Token], found: Declared) -> None:
    opens = len(line) > 2 and line[2].text == "("
    if opens and _name(line[1]):
        found.handlers.add(_name(line[1]))
        _words(line[2:], found)
    elif _name(line[1]) in ("run", "open"):
        _words(line[2:], found)


def _assignments(line: Sequence[Token], found: Declared) -> None:
    for place, token in enumerate(line):
        if token.kind != "word":
            continue
        rest = line[place + 1 :]
        if rest and _name(rest[0]) in ("the", "my"):
            rest = rest[1:]
        if token.folded == "set" and len(rest) > 1:
            _set(rest, found)
        elif token.folded == "copy":
            end = next((i for i in range(len(rest) - 2, -1, -1) if _name(rest[i]) == "to"), None)
            if end is not None and end == len(rest) - 2:
                _declare(rest[-1], tuple(rest[:end]), found)
        elif token.folded == "with" and place and line[place - 1].folded == "repeat" and rest:
            _declare(rest[0], (), found)


def _set(rest: Sequence[Token], found: Declared) -> None:
    if _name(rest[1]) == "to":
        _declare(rest[0], tuple(rest[2:]), found)
    elif rest[0].text == "{":
        end = next((i for i, token in enumerate(rest) if token.text == "}"), 0)
        if end and end + 1 < len(rest) and _name(rest[end + 1]) == "to":
            _words(rest[1:end], found)
