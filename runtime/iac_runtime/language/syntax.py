"""Reading the form of a reference: tokens, then steps; what names mean is decided in `references`.

reference = [application] { step }
application = "application" | "Application(" string ")" | "Application.currentApplication()"
step = "." name ["()"] | "[" (string | integer) "]" | "[" [integer] ":" [integer] "]"
     | "." selector "(" literal ")"
selector = at | byName | byId | whose | where
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, NoReturn, TypeAlias

from iac_base.errors import InvalidParameterError, quoted
from iac_base.words import fold

_MAX_LENGTH: Final = 10_000
_MAX_DIGITS: Final = 40
_MAX_PARTS: Final = 64
MAX_DEPTH: Final = 16
"""What a reference may have: characters, digits of a number, steps, levels of a filter."""

_SELECTORS: Final = {
    "at": "at",
    "byname": "byName",
    "byid": "byId",
    "whose": "whose",
    "where": "whose",
}
_LIKE: Final = 'A reference looks like windows[0].tabs["Docs"].'

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    | (?P<name>(?:[^\W\d]|\$)[\w$]*(?:[ -]+(?:[^\W\d]|\$)[\w$]*)*)
    | (?P<mark>[][(){}.,:])
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}


@dataclass(frozen=True, slots=True)
class NamePart:
    """A property, a collection, or a word such as first, middle, next, end, before."""

    name: str


@dataclass(frozen=True, slots=True)
class KeyPart:
    """What stands in brackets."""

    key: str | int


@dataclass(frozen=True, slots=True)
class SpanPart:
    """`[start:stop]`; None where a side is left out."""

    start: int | None
    stop: int | None


@dataclass(frozen=True, slots=True)
class SelectPart:
    """`.at(…)`, `.byName(…)`, `.byId(…)` or `.whose(…)`."""

    how: str
    argument: Any


Part: TypeAlias = NamePart | KeyPart | SpanPart | SelectPart


@dataclass(frozen=True, slots=True)
class Chain:
    """`ObjectSpecifier().a.b[0]` in a filter: the way from the tested item on."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """`new Date("…")` in a filter."""

    iso: str


class Written(NamedTuple):
    """A reference as it is written.

    Attributes:
        application: The name in `Application("…")`, where it begins with that; else empty.
        parts: What follows the application; none mean the application itself.
    """

    application: str
    parts: tuple[Part, ...]


def read_syntax(text: str) -> Written:
    """Return what a reference is made of.

    Raises:
        InvalidParameterError: The text is no reference; the message names the character.
    """
    parser = _Parser(text)
    application = parser.application()
    return Written(application or "", parser.reference(named=application is None))


class ReferenceToken(NamedTuple):
    """A piece of a reference; `at` is its position, counted from 0."""

    kind: Literal["string", "number", "name", "mark", "end"]
    text: str
    at: int

    def string(self) -> str:
        """Return the text that a string literal stands for."""
        body = self.text[1:-1]
        found = _ESCAPE.sub(_unescape, body)
        # Two escaped halves of one character are that character.
        return found.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")

    def number(self) -> int | float:
        """Return the number that a literal stands for.

        Raises:
            InvalidParameterError: It has more digits than any number that an app takes, or begins
                with a zero that says nothing.
        """
        if len(self.text) > _MAX_DIGITS:
            raise InvalidParameterError(f"The number {quoted(self.text)} has too many digits.")
        try:
            found: int | float = json.loads(self.text)
        except ValueError:
            raise InvalidParameterError(f"{quoted(self.text)} is not a number.") from None
        return found


def _unescape(found: re.Match[str]) -> str:
    word = found.group(1)
    if len(word) > 1:
        return chr(int(word[1:], 16))
    return _PLAIN.get(word, word)


def _tokens(text: str) -> list[ReferenceToken]:
    """Return the tokens of `text` and one of kind `end`."""
    if len(text) > _MAX_LENGTH:
        raise InvalidParameterError(f"The reference is longer than {_MAX_LENGTH} characters.")
    tokens: list[ReferenceToken] = []
    at = 0
    stripped = text.rstrip()
    while at < len(stripped):
        found = _TOKEN.match(stripped, at)
        if found is None or found.lastgroup is None:
            odd = stripped[at:].lstrip()[0]
            what = "A quote is not closed" if odd in "\"'" else f"{quoted(odd)} is out of place"
            raise InvalidParameterError(
                f"{what} in the reference {quoted(text)} at character {at + 1}.", _LIKE
            )
        kind = found.lastgroup
        tokens.append(ReferenceToken(kind, found[kind], found.start(kind)))  # type: ignore[arg-type]
        at = found.end()
    return [*tokens, ReferenceToken("end", "", len(stripped))]


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.at = 0
        self.depth = 0

    def peek(self, ahead: int = 0) -> ReferenceToken:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def take(self) -> ReferenceToken:
        token = self.peek()
        self.at += 1
        return token

    def mark(self, text: str) -> None:
        token = self.take()
        if token.kind != "mark" or token.text != text:
            self.fail(token, f'"{text}"')

    def sees(self, text: str, ahead: int = 0) -> bool:
        token = self.peek(ahead)
        return token.kind == "mark" and token.text == text

    def fail(self, token: ReferenceToken, wanted: str) -> NoReturn:
        what = "ends too early" if token.kind == "end" else f"has {quoted(token.text)}"
        raise InvalidParameterError(
            f"The reference {quoted(self.text)} {what} at character {token.at + 1}; "
            f"{wanted} is expected there.",
            _LIKE,
        )

    def application(self) -> str | None:
        """Skip the application at the start; return its name (empty: not said), None for none."""
        if self.peek().kind != "name" or fold(self.peek().text) != "application":
            return None
        if self.sees("(", 1):
            self.at += 2
            token = self.take()
            if token.kind not in ("string", "number"):
                self.fail(token, "a name in quotes")
            self.mark(")")
            return token.string() if token.kind == "string" else ""
        if self.sees(".", 1) and fold(self.peek(2).text) == "currentapplication":
            self.at += 3
            self.mark("(")
            self.mark(")")
            return ""
        if self.sees(".", 1) or self.peek(1).kind == "end":
            self.at += 1
            return ""
        return None

    def reference(self, *, named: bool) -> tuple[Part, ...]:
        """Read what follows the application; where none is named, a name comes first."""
        parts: list[Part] = []
        if named and self.peek().kind == "name":
            parts.append(self.named(self.take().text))
        while self.peek().kind != "end":
            parts.append(self.part())
            if len(parts) > _MAX_PARTS:
                raise InvalidParameterError(f"The reference has more than {_MAX_PARTS} steps.")
        return tuple(parts)

    def part(self) -> Part:
        if self.sees("["):
            self.at += 1
            start = None if self.sees(":") else self.key()
            if not self.sees(":"):
                self.mark("]")
                return KeyPart(start if start is not None else 0)
            colon = self.take()
            stop = None if self.sees("]") else self.key()
            if isinstance(start, str) or isinstance(stop, str):
                self.fail(colon, "a range of positions, such as [0:3],")
            self.mark("]")
            return SpanPart(start, stop)
        self.mark(".")
        token = self.take()
        if token.kind != "name":
            self.fail(token, "a name")
        return self.named(token.text)

    def key(self) -> str | int:
        token = self.take()
        if token.kind == "string":
            return token.string()
        number = token.number() if token.kind == "number" else None
        return number if isinstance(number, int) else self.fail(token, "a name or a whole number")

    def named(self, name: str) -> Part:
        if not self.sees("("):
            return NamePart(name)
        self.at += 1
        if self.sees(")"):
            # A trailing call means the value of the specifier, which is what every tool reads.
            self.at += 1
            return NamePart(name)
        how = _SELECTORS.get(fold(name))
        if how is None:
            self.fail(self.peek(-1), "one of .at( .byName( .byId( .whose(")
        argument = self.literal()
        self.mark(")")
        return SelectPart(how, argument)

    def literal(self) -> Any:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise InvalidParameterError(f"The filter is nested deeper than {MAX_DEPTH} levels.")
        token = self.take()
        found: Any
        if token.kind == "string":
            found = token.string()
        elif token.kind == "number":
            found = token.number()
        elif token.kind == "name":
            found = self.word(token)
        elif token.kind == "mark" and token.text == "[":
            found = self.items("]", self.literal)
        elif token.kind == "mark" and token.text == "{":
            found = dict(self.items("}", self.field))
        else:
            self.fail(token, "a value")
        self.depth -= 1
        return found

    def items(self, closing: str, item: Callable[[], Any]) -> list[Any]:
        found: list[Any] = []
        while not self.sees(closing):
            found.append(item())
            if not self.sees(closing):
                self.mark(",")
        self.at += 1
        return found

    def field(self) -> tuple[str, Any]:
        token = self.take()
        if token.kind not in ("name", "string"):
            self.fail(token, "a name")
        name = token.string() if token.kind == "string" else token.text
        self.mark(":")
        return name, self.literal()

    def word(self, token: ReferenceToken) -> Any:
        if token.text in ("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[token.text]
        if token.text == "new Date":
            self.mark("(")
            moment = self.take()
            if moment.kind != "string":
                self.fail(moment, "a date in quotes")
            self.mark(")")
            return Moment(moment.string())
        if token.text == "ObjectSpecifier":
            if self.sees("("):
                self.at += 1
                self.mark(")")
            parts: list[Part] = []
            while self.sees(".") or self.sees("["):
                parts.append(self.part())
            return Chain(tuple(parts))
        return self.fail(token, "a value")
