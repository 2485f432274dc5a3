"""The names that a JavaScript gives itself, and which of them only ever hold whole numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from iac_applescript.javascript_tokens import KEYWORDS
from iac_applescript.tokens import Token

__all__ = ["Names", "script_names"]

_DECLARES: Final = frozenset(("var", "let", "const", "function"))
_VARIABLES: Final = frozenset(("var", "let", "const"))
_COUNTS: Final = frozenset(("++", "--"))


@dataclass(slots=True)
class Names:
    """The script's own names.

    Attributes:
        declared: Variables, parameters, functions.
        keys: Fields of its records.
        numbers: Variables that only ever hold numbers.
        tables: Constants that hold a record or list which the script itself writes out.
    """

    declared: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    numbers: set[str] = field(default_factory=set)
    tables: set[str] = field(default_factory=set)


def script_names(tokens: Sequence[Token]) -> Names:
    found = Names()
    for place, token in enumerate(tokens):
        before = tokens[place - 1].text if place else ""
        after = tokens[place + 1].text if place + 1 < len(tokens) else ""
        if token.kind == "word" and token.text in _DECLARES:
            _declare(tokens, place + 1, found)
        elif token.text == "=>":
            _parameters(tokens, place, found)
        elif token.kind == "word" and token.text == "catch":
            _declare(tokens, place + 2, found)
        elif token.kind == "word" and after == ":" and before in ("{", ","):
            found.keys.add(token.text)
    found.tables = {name for name in found.declared if _is_table(name, tokens)}
    found.numbers = {name for name in found.declared if _only_numbers(name, tokens)}
    return found


def _declare(tokens: Sequence[Token], place: int, found: Names) -> None:
    """Add what stands between a declaring word and its value: a name, a pattern, parameters."""
    depth = 0
    for at, token in enumerate(tokens[place:], place):
        if token.kind == "word" and token.text not in ("of", "in"):
            previous = tokens[at - 1].text
            if (token.text not in KEYWORDS and previous not in (".", "=", ":")) or (
                previous == ":" and token.text not in KEYWORDS
            ):
                found.declared.add(token.text)
        depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(token.text, 0)
        if depth < 0 or (depth == 0 and token.text in (")", ";", "of", "in")):
            return
        if depth == 0 and token.text == "=":
            _declare_rest(tokens, at + 1, found)
            return
        if (
            depth == 0
            and token.kind == "word"
            and tokens[place - 1].text in ("var", "let", "const")
        ):
            following = tokens[at + 1] if at + 1 < len(tokens) else token
            if following.text not in ("=", ",", "of", "in", ";"):
                return


def _declare_rest(tokens: Sequence[Token], place: int, found: Names) -> None:
    """After a value, a comma outside brackets declares the next name: `var a = 1, b = 2`."""
    depth = 0
    for at, token in enumerate(tokens[place:], place):
        depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(token.text, 0)
        if depth < 0 or token.text == ";" or (token.kind == "word" and token.text in _DECLARES):
            return
        if depth == 0 and token.text == "," and at + 2 < len(tokens):
            if tokens[at + 1].kind == "word" and tokens[at + 2].text in ("=", ",", ";"):
                found.declared.add(tokens[at + 1].text)
            else:
                return


def _parameters(tokens: Sequence[Token], arrow: int, found: Names) -> None:
    if tokens[arrow - 1].kind == "word":
        found.declared.add(tokens[arrow - 1].text)
        return
    depth = 0
    for token in reversed(tokens[:arrow]):
        depth += {")": 1, "}": 1, "]": 1, "(": -1, "{": -1, "[": -1}.get(token.text, 0)
        if token.kind == "word" and token.text not in KEYWORDS:
            found.declared.add(token.text)
        if depth == 0:
            return


def _only_numbers(name: str, tokens: Sequence[Token]) -> bool:
    """Say whether every place that gives `name` a value gives it a whole number."""
    given = False
    for place, token in enumerate(tokens):
        if token.kind != "word" or token.text != name:
            continue
        before = tokens[place - 1] if place else token
        after = tokens[place + 1 : place + 4]
        sign = after[0].text if after else ""
        if before.text in (".", "?.") or sign in _COUNTS or before.text in _COUNTS:
            continue
        if sign in ("=", "+=", "-="):
            ends = after[2].text if len(after) > 2 else ""
            if after[1].kind != "number" or (ends not in (";", ",", ")", "") and sign == "="):
                return False
            if sign != "=" and ends not in (";", ")", "}", ""):
                return False
            given = given or sign == "="
        elif before.text in ("(", ",", "let", "var", "const", "{", "[") and sign in (
            ")", ",", "=>", "of", "in", "}", "]",
        ) and _is_parameter(tokens, place):  # fmt: skip
            # A parameter or a pattern can hold anything; an argument looks the same.
            return False
    return given


def _is_parameter(tokens: Sequence[Token], place: int) -> bool:
    """Say whether a name may be declared here as a parameter, in a pattern or by a loop."""
    before, after = tokens[place - 1].text, tokens[place + 1].text
    if before in ("let", "var", "const", "{") or after in ("=>", "of", "in"):
        return True
    if before == "[" and after == "]":
        # In brackets alone it is read; with a value or a loop behind it is given one.
        return tokens[place - 2].text in _DECLARES or tokens[place + 2].text in ("=", "of", "in")
    depth = 0
    for at in range(place, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[at].text, 0)
        if depth < 0:
            return tokens[at + 1].text in ("=>", "{") if at + 1 < len(tokens) else False
    return False


def _is_table(name: str, tokens: Sequence[Token]) -> bool:
    """Say whether `name` is declared once, by `const`, as a record or list without a spread."""
    places = [
        place
        for place, token in enumerate(tokens)
        if token.kind == "word" and token.text == name and place and tokens[place - 1].text != "."
    ]
    first = places[0] if places else 0
    if [token.text for token in tokens[first - 1 : first + 2]] != ["const", name, "="]:
        return False
    if any(_is_parameter(tokens, place) for place in places[1:] if place + 1 < len(tokens)):
        return False
    depth = 0
    for token in tokens[first + 2 :]:
        depth += {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}.get(token.text, 0)
        if depth == 0 or token.text == "...":
            return token.text in ("}", "]") and tokens[first + 2].text in ("{", "[")
    return False
