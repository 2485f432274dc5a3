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

from iac_base.errors import InvalidParameterError, quote_text
from iac_base.words import fold_name

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
class ItemPath:
    """`ObjectSpecifier().a.b[0]` in a filter: the way from the tested item on."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class DateLiteral:
    """`new Date("…")` in a filter."""

    iso: str


class ParsedReference(NamedTuple):
    """A reference as it is written.

    Attributes:
        application: The name in `Application("…")`, where it begins with that; else empty.
        parts: What follows the application; none mean the application itself.
    """

    application: str
    parts: tuple[Part, ...]


def read_syntax(text: str) -> ParsedReference:
    """Return what a reference is made of.

    Raises:
        InvalidParameterError: The text is no reference; the message names the character.
    """
    parser = _ReferenceParser(text)
    application = parser.parse_application()
    return ParsedReference(application or "", parser.parse_parts(named=application is None))


class ReferenceToken(NamedTuple):
    """A piece of a reference; `at` is its position, counted from 0."""

    kind: Literal["string", "number", "name", "mark", "end"]
    text: str
    at: int

    def string_value(self) -> str:
        """Return the text that a string literal stands for."""
        body = self.text[1:-1]
        found = _ESCAPE.sub(_unescape_character, body)
        # Two escaped halves of one character are that character.
        return found.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")

    def number_value(self) -> int | float:
        """Return the number that a literal stands for.

        Raises:
            InvalidParameterError: It has more digits than any number that an app takes, or begins
                with a zero that says nothing.
        """
        if len(self.text) > _MAX_DIGITS:
            raise InvalidParameterError(f"The number {quote_text(self.text)} has too many digits.")
        try:
            found: int | float = json.loads(self.text)
        except ValueError:
            raise InvalidParameterError(f"{quote_text(self.text)} is not a number.") from None
        return found


def _unescape_character(found: re.Match[str]) -> str:
    word = found.group(1)
    if len(word) > 1:
        return chr(int(word[1:], 16))
    return _PLAIN.get(word, word)


def _split_tokens(text: str) -> list[ReferenceToken]:
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
            what = "A quote is not closed" if odd in "\"'" else f"{quote_text(odd)} is out of place"
            raise InvalidParameterError(
                f"{what} in the reference {quote_text(text)} at character {at + 1}.", _LIKE
            )
        kind = found.lastgroup
        tokens.append(ReferenceToken(kind, found[kind], found.start(kind)))  # type: ignore[arg-type]
        at = found.end()
    return [*tokens, ReferenceToken("end", "", len(stripped))]


class _ReferenceParser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _split_tokens(text)
        self.at = 0
        self.depth = 0

    def peek(self, ahead: int = 0) -> ReferenceToken:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def next_token(self) -> ReferenceToken:
        token = self.peek()
        self.at += 1
        return token

    def expect_mark(self, text: str) -> None:
        token = self.next_token()
        if token.kind != "mark" or token.text != text:
            self.fail_at(token, f'"{text}"')

    def is_mark(self, text: str, ahead: int = 0) -> bool:
        token = self.peek(ahead)
        return token.kind == "mark" and token.text == text

    def fail_at(self, token: ReferenceToken, wanted: str) -> NoReturn:
        what = "ends too early" if token.kind == "end" else f"has {quote_text(token.text)}"
        raise InvalidParameterError(
            f"The reference {quote_text(self.text)} {what} at character {token.at + 1}; "
            f"{wanted} is expected there.",
            _LIKE,
        )

    def parse_application(self) -> str | None:
        """Skip the application at the start; return its name (empty: not said), None for none."""
        if self.peek().kind != "name" or fold_name(self.peek().text) != "application":
            return None
        if self.is_mark("(", 1):
            self.at += 2
            token = self.next_token()
            if token.kind not in ("string", "number"):
                self.fail_at(token, "a name in quotes")
            self.expect_mark(")")
            return token.string_value() if token.kind == "string" else ""
        if self.is_mark(".", 1) and fold_name(self.peek(2).text) == "currentapplication":
            self.at += 3
            self.expect_mark("(")
            self.expect_mark(")")
            return ""
        if self.is_mark(".", 1) or self.peek(1).kind == "end":
            self.at += 1
            return ""
        return None

    def parse_parts(self, *, named: bool) -> tuple[Part, ...]:
        """Read what follows the application; where none is named, a name comes first."""
        parts: list[Part] = []
        if named and self.peek().kind == "name":
            parts.append(self.parse_named(self.next_token().text))
        while self.peek().kind != "end":
            parts.append(self.parse_part())
            if len(parts) > _MAX_PARTS:
                raise InvalidParameterError(f"The reference has more than {_MAX_PARTS} steps.")
        return tuple(parts)

    def parse_part(self) -> Part:
        if self.is_mark("["):
            self.at += 1
            start = None if self.is_mark(":") else self.parse_key()
            if not self.is_mark(":"):
                self.expect_mark("]")
                return KeyPart(start if start is not None else 0)
            colon = self.next_token()
            stop = None if self.is_mark("]") else self.parse_key()
            if isinstance(start, str) or isinstance(stop, str):
                self.fail_at(colon, "a range of positions, such as [0:3],")
            self.expect_mark("]")
            return SpanPart(start, stop)
        self.expect_mark(".")
        token = self.next_token()
        if token.kind != "name":
            self.fail_at(token, "a name")
        return self.parse_named(token.text)

    def parse_key(self) -> str | int:
        token = self.next_token()
        if token.kind == "string":
            return token.string_value()
        number = token.number_value() if token.kind == "number" else None
        return (
            number if isinstance(number, int) else self.fail_at(token, "a name or a whole number")
        )

    def parse_named(self, name: str) -> Part:
        if not self.is_mark("("):
            return NamePart(name)
        self.at += 1
        if self.is_mark(")"):
            # A trailing call means the value of the specifier, which is what every tool reads.
            self.at += 1
            return NamePart(name)
        how = _SELECTORS.get(fold_name(name))
        if how is None:
            self.fail_at(self.peek(-1), "one of .at( .byName( .byId( .whose(")
        argument = self.parse_literal()
        self.expect_mark(")")
        return SelectPart(how, argument)

    def parse_literal(self) -> Any:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise InvalidParameterError(f"The filter is nested deeper than {MAX_DEPTH} levels.")
        token = self.next_token()
        found: Any
        if token.kind == "string":
            found = token.string_value()
        elif token.kind == "number":
            found = token.number_value()
        elif token.kind == "name":
            found = self.parse_word(token)
        elif token.kind == "mark" and token.text == "[":
            found = self.parse_items("]", self.parse_literal)
        elif token.kind == "mark" and token.text == "{":
            found = dict(self.parse_items("}", self.parse_field))
        else:
            self.fail_at(token, "a value")
        self.depth -= 1
        return found

    def parse_items(self, closing: str, item: Callable[[], Any]) -> list[Any]:
        items: list[Any] = []
        while not self.is_mark(closing):
            items.append(item())
            if not self.is_mark(closing):
                self.expect_mark(",")
        self.at += 1
        return items

    def parse_field(self) -> tuple[str, Any]:
        token = self.next_token()
        if token.kind not in ("name", "string"):
            self.fail_at(token, "a name")
        name = token.string_value() if token.kind == "string" else token.text
        self.expect_mark(":")
        return name, self.parse_literal()

    def parse_word(self, token: ReferenceToken) -> Any:
        if token.text in ("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[token.text]
        if token.text == "new Date":
            self.expect_mark("(")
            moment = self.next_token()
            if moment.kind != "string":
                self.fail_at(moment, "a date in quotes")
            self.expect_mark(")")
            return DateLiteral(moment.string_value())
        if token.text == "ObjectSpecifier":
            if self.is_mark("("):
                self.at += 1
                self.expect_mark(")")
            parts: list[Part] = []
            while self.is_mark(".") or self.is_mark("["):
                parts.append(self.parse_part())
            return ItemPath(tuple(parts))
        return self.fail_at(token, "a value")
