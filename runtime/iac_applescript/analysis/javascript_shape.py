"""Brackets of a JavaScript: what encloses a token, and whether a name there is given a value."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from iac_applescript.analysis.javascript_tokens import KEYWORDS, is_keyword
from iac_applescript.analysis.javascript_words import MEMBERS
from iac_applescript.analysis.tokens import Token

__all__ = ["Shape", "shape_of"]

_CONTROL: Final = frozenset(("for", "if", "switch", "while"))
_CLOSES: Final = {")": "(", "]": "[", "}": "{"}
_LEADS_IN: Final = KEYWORDS - {"this"}
"""Words behind which a square bracket begins a list."""

_GIVES: Final = frozenset(("=", "of", "in"))
_DEEPEST: Final = 64


class Shape(NamedTuple):
    """The brackets of a script.

    Attributes:
        tokens: The tokens.
        within: For each token the place of the bracket that opens around it, or -1.
        closing: Opening place -> closing place.
        given: Name -> the first words of the values that it is given by `=`.
        called: Names before a parenthesis.
    """

    tokens: Sequence[Token]
    within: Sequence[int]
    closing: Mapping[int, int]
    given: Mapping[str, set[str]]
    called: frozenset[str]

    def text(self, place: int) -> str:
        """Return the text of a token; empty outside the script, and for a text or template."""
        if not 0 <= place < len(self.tokens) or self.tokens[place].kind in ("string", "template"):
            return ""
        return self.tokens[place].text

    def is_access(self, opening: int) -> bool:
        """Say whether a square bracket picks a member of what stands before it."""
        before = self.tokens[opening - 1] if opening else None
        if before is None:
            return False
        leads_in = before.text in _LEADS_IN and is_keyword(self.tokens, opening - 1)
        named = before.kind == "word" and not leads_in
        return named or before.kind in ("string", "template") or before.text in (")", "]", "?.")

    def is_bound(self, place: int) -> bool:
        """Say whether a name may be given a value here by a pattern or as a parameter."""
        for _ in range(_DEEPEST):
            place = self.within[place]
            if place < 0:
                return False
            end = self.closing.get(place, len(self.tokens))
            after, opens = self.text(end + 1), self.text(place)
            if opens == "(":
                takes = after in ("=>", "=") or (
                    after == "{" and self.text(place - 1) not in _CONTROL
                )
                if takes:
                    return True
            elif after in _GIVES and not (opens == "[" and self.is_access(place)):
                return True
        return True

    def is_called_from(self, place: int, key: str, name: str) -> bool:
        """Say whether a pattern takes `key` out of an object as `name`, unknown and called."""
        if self.text(self.within[place]) != "{" or key in MEMBERS or not self.is_bound(place):
            return False
        return name in self.called

    def is_written_out(self, place: int) -> bool:
        """Say whether nothing stands here, or a record that is spelled out."""
        if self.text(place) == ")":
            return True
        end = self.closing.get(place, 0)
        spread = any(t.text == "..." and t.kind == "sign" for t in self.tokens[place:end])
        return self.text(place) == "{" and bool(end) and not spread

    def is_app(self, place: int) -> bool:
        """Say whether what ends here is an app itself, not one of its objects."""
        token = self.tokens[max(place, 0)]
        if token.text == ")":
            opening = self.within[place - 1]
            return self.text(opening - 1) == "Application"
        if token.kind != "word" or self.text(place - 1) in (".", "?."):
            return False
        return self.given.get(token.text) == {"Application"}


def shape_of(tokens: Sequence[Token]) -> Shape:
    """Return the brackets of a script; those that do not match enclose what follows them."""
    within: list[int] = []
    closing: dict[int, int] = {}
    open_: list[int] = []
    for place, token in enumerate(tokens):
        sign = token.text if token.kind == "sign" else ""
        if sign in _CLOSES and open_ and tokens[open_[-1]].text == _CLOSES[sign]:
            closing[open_.pop()] = place
        within.append(open_[-1] if open_ else -1)
        if sign in _CLOSES.values():
            open_.append(place)
    given: dict[str, set[str]] = {}
    called: set[str] = set()
    for token, after, value in zip(tokens, tokens[1:], (*tokens[2:], *tokens[-1:]), strict=False):
        if token.kind == "word" and after.text == "=":
            given.setdefault(token.text, set()).add(value.text)
        elif token.kind == "word" and after.text == "(":
            called.add(token.text)
    return Shape(tokens, within, closing, given, frozenset(called))
