"""Cutting the text of a reference into tokens."""

import json
import re
from typing import Literal, NamedTuple

from iac_runtime.errors import InvalidParameterError, quoted

__all__ = ["MAX_LENGTH", "Token", "tokenize"]

MAX_LENGTH = 10_000
"""Characters of a reference; longer ones are refused."""

MAX_DIGITS = 40

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


class Token(NamedTuple):
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
            InvalidParameterError: It has more digits than any number that an app takes.
        """
        if len(self.text) > MAX_DIGITS:
            raise InvalidParameterError(f"The number {quoted(self.text)} has too many digits.")
        found: int | float = json.loads(self.text)
        return found


def _unescape(found: re.Match[str]) -> str:
    word = found.group(1)
    if len(word) > 1:
        return chr(int(word[1:], 16))
    return _PLAIN.get(word, word)


def tokenize(text: str) -> list[Token]:
    """Return the tokens of `text` and one of kind `end`.

    Raises:
        InvalidParameterError: A character or a quote that no reference has.
    """
    if len(text) > MAX_LENGTH:
        raise InvalidParameterError(f"The reference is longer than {MAX_LENGTH} characters.")
    tokens: list[Token] = []
    at = 0
    stripped = text.rstrip()
    while at < len(stripped):
        found = _TOKEN.match(stripped, at)
        if found is None or found.lastgroup is None:
            rest = stripped[at:].lstrip()
            what = (
                "A quote is not closed"
                if rest[0] in "\"'"
                else f"{quoted(rest[0])} is out of place"
            )
            raise InvalidParameterError(
                f"{what} in the reference {quoted(text)} at character {at + 1}.",
                'References read like windows[0].tabs["Docs"].',
            )
        kind = found.lastgroup
        start = found.start(kind)
        tokens.append(Token(kind, found.group(kind), start))  # type: ignore[arg-type]
        at = found.end()
    tokens.append(Token("end", "", len(stripped)))
    return tokens
