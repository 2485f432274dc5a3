"""The names that a JavaScript gives itself, and which of them only ever hold whole numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from iac_applescript.analysis.findings import ScriptToken
from iac_applescript.analysis.javascript_tokens import KEYWORDS, Shape, is_keyword

_DECLARES: Final = frozenset(("var", "let", "const", "function"))
_LONGEST: Final = 200
"""Tokens of a value that are looked at."""

_ASSIGNS: Final = frozenset("= += -= *= /= %= **= &= |= ^= &&= ||= ??= <<= >>= >>>=".split())


@dataclass(slots=True)
class ScriptNames:
    """The script's own names.

    Attributes:
        declared: Variables, parameters, functions.
        numbers: Variables that only ever hold numbers.
        tables: Constants that hold a record or list which the script itself writes out.
        records: Those of them that hold a record, with the fields that it is given by name.
        texts: Variables that are given texts: all that each is given, as one text.
        apps: Variables that always hold one app, with its name in the script.
    """

    declared: set[str] = field(default_factory=set)
    numbers: set[str] = field(default_factory=set)
    tables: set[str] = field(default_factory=set)
    records: dict[str, set[str]] = field(default_factory=dict)
    texts: dict[str, ScriptToken] = field(default_factory=dict)
    apps: dict[str, str] = field(default_factory=dict)


def script_names(shape: Shape) -> ScriptNames:
    tokens, found = shape.tokens, ScriptNames()
    for place, token in enumerate(tokens):
        if token.text in _DECLARES and is_keyword(tokens, place):
            _declare(shape, place + 1, found)
        elif token.text == "=>":
            _parameters(shape, place, found)
        elif token.text == "catch" and is_keyword(tokens, place):
            _declare(shape, place + 2, found)
    places: dict[str, list[int]] = {}
    for place, token in enumerate(tokens):
        if token.kind == "word" and token.text in found.declared:
            places.setdefault(token.text, []).append(place)
    found.tables = {name for name, at in places.items() if _is_table(at, shape)}
    found.records = {name: _fields(places[name], shape) for name in found.tables}
    found.numbers = {name for name, at in places.items() if _only_numbers(at, shape)}
    found.apps = {name: app for name, at in places.items() if (app := _app_in(at, shape))}
    found.texts = _texts(found.declared, tokens)
    return found


def _texts(declared: set[str], tokens: Sequence[ScriptToken]) -> dict[str, ScriptToken]:
    """Return the variables that are given texts: all that each is given, as one text."""
    found: dict[str, ScriptToken] = {}
    name = ""
    for place, token in enumerate(tokens):
        after = tokens[place + 1].text if place + 1 < len(tokens) else ""
        if token.kind == "word" and token.text in declared and after in ("=", "+="):
            name = token.text
        elif token.kind == "sign" and token.text in (";", ","):
            name = ""
        elif token.kind == "string" and name:
            before = found.get(name, token._replace(text=""))
            found[name] = before._replace(text=before.text + token.text)
    return found


def _declare(shape: Shape, place: int, found: ScriptNames) -> None:
    """Add what stands between a declaring word and its value: a name, a pattern, parameters."""
    tokens, outer = shape.tokens, shape.brackets.depth[place - 1]
    alone = tokens[place - 1].text in ("var", "let", "const")
    for at, token in enumerate(tokens[place:], place):
        depth = shape.brackets.depth[at] - outer
        name = token.kind == "word" and token.text not in KEYWORDS
        if name and tokens[at - 1].text not in (".", "="):
            found.declared.add(token.text)
        if depth < 0 or (depth == 0 and token.text in (")", ";", "of", "in")):
            return
        if depth == 0 and token.text == "=":
            _declare_rest(shape, at + 1, found)
            return
        goes_on = shape.text(at + 1) in ("=", ",", "of", "in", ";")
        if depth == 0 and alone and token.kind == "word" and not goes_on:
            return


def _declare_rest(shape: Shape, place: int, found: ScriptNames) -> None:
    """After a value, a comma outside brackets declares the next name: `var a = 1, b = 2`."""
    tokens, outer = shape.tokens, shape.brackets.depth[place - 1]
    for at, token in enumerate(tokens[place:], place):
        depth = shape.brackets.depth[at] - outer
        if depth < 0 or token.text == ";" or (token.kind == "word" and token.text in _DECLARES):
            return
        if depth == 0 and token.text == "," and at + 2 < len(tokens):
            if tokens[at + 1].kind != "word" or shape.text(at + 2) not in ("=", ",", ";"):
                return
            found.declared.add(tokens[at + 1].text)


def _parameters(shape: Shape, arrow: int, found: ScriptNames) -> None:
    """Add the words in front of an arrow: one name, or those in its parentheses."""
    opening = shape.brackets.opening.get(arrow - 1, arrow - 1)
    for token in shape.tokens[max(opening, 0) : arrow]:
        if token.kind == "word" and token.text not in KEYWORDS:
            found.declared.add(token.text)


def _only_numbers(places: Sequence[int], shape: Shape) -> bool:
    """Say whether each place of a name that gives it a value gives it a whole number."""
    given = False
    tokens = shape.tokens
    for place in places:
        before, sign = shape.text(place - 1), shape.text(place + 1)
        assigns = sign in _ASSIGNS
        if before in (".", "?."):
            # `this.name` can be the very variable.
            if assigns:
                return False
            continue
        if sign in ("=>", "of", "in") or before == "function" or shape.is_bound(place):
            return False
        if not assigns:
            continue
        value, end = tokens[place + 2 : place + 3], shape.text(place + 3)
        if sign not in ("=", "+=", "-=", "*=") or not value or value[0].kind != "number":
            return False
        if end not in (";", ",", ")", "}", ""):
            return False
        given = given or sign == "="
    return given


def _app_in(every: Sequence[int], shape: Shape) -> str:
    """Return the name of the app that the name in these places always holds; empty if none."""
    found = ""
    for place in every:
        sign = shape.text(place + 1)
        if shape.text(place - 1) in (".", "?."):
            continue
        if sign in ("=>", "of", "in") or shape.is_bound(place):
            return ""
        if sign in _ASSIGNS:
            words = [shape.text(at) for at in range(place + 2, place + 6)]
            after = shape.tokens[min(place + 6, len(shape.tokens) - 1)]
            ends = after.kind in ("word", "end") or after.text in (";", ",")
            if found or sign != "=" or words != ["Application", "(", "", ")"] or not ends:
                return ""
            found = shape.tokens[place + 4].text
    return found


def _is_table(every: Sequence[int], shape: Shape) -> bool:
    """Say whether the name in these places is declared once, by `const`, as a record or list.

    It has no spread. Where its fields are set by names that are reckoned, only what cannot lead to
    another object may be set: a number, an empty list or record.
    """
    tokens = shape.tokens
    places = [
        place
        for place in every
        if shape.text(place - 1) not in (".", "?.")
        and not (shape.text(place + 1) == ":" and shape.text(place - 1) in ("{", ","))
    ]
    first = places[0] if places else 0
    if shape.text(first - 1) != "const" or shape.text(first + 1) != "=":
        return False
    for place in places[1:]:
        declared = shape.text(place - 1) in _DECLARES or shape.text(place + 1) in ("=", "=>")
        if declared or shape.is_bound(place):
            return False
    if shape.text(first + 2) not in ("{", "["):
        return False
    end = shape.end(first + 2, 0)
    after = shape.tokens[end + 1] if end + 1 < len(shape.tokens) else shape.tokens[-1]
    plain = after.kind == "end" or (after.kind == "word" and after.text not in ("in", "instanceof"))
    if not plain and shape.text(end + 1) not in (";", ",", "}"):
        return False
    if any(token.text == "..." for token in tokens[first + 2 : end]) or not end:
        return False
    harmless = all(_is_harmless(shape, start) for start in _written(places[1:], shape))
    return harmless or not _read(places[1:], shape)


def _fields(every: Sequence[int], shape: Shape) -> set[str]:
    """Return the fields of the record that a constant holds: written out, or set by name."""
    found: set[str] = set()
    for place in every:
        if shape.text(place - 1) == "const" and shape.text(place + 2) == "{":
            opening = place + 2
            for at in range(opening + 1, shape.end(opening, opening)):
                leads = shape.around(at) == opening and shape.text(at - 1) in ("{", ",")
                if leads and shape.text(at + 1) == ":":
                    found.add(shape.tokens[at].text)
        elif shape.text(place + 1) == "." and shape.text(place + 3) == "=":
            found.add(shape.text(place + 2))
    return found


def _is_harmless(shape: Shape, start: int) -> bool:
    """Say whether the value that begins at a place ends in a number, or in what is empty."""
    around = shape.end(shape.around(start), -1) if shape.around(start) >= 0 else -1
    end = start
    while end == start or (end - start < _LONGEST and shape.text(end) not in (";", "")):
        if end == around:
            break
        end += 1
    last = [token.text for token in shape.tokens[max(end - 2, start) : end]]
    number = shape.tokens[min(end, len(shape.tokens)) - 1].kind == "number"
    return number or last in (["[", "]"], ["{", "}"])


def _written(places: Sequence[int], shape: Shape) -> Iterator[int]:
    """Yield where the values begin that are set by a name in brackets."""
    for place in places:
        end = shape.end(place + 1, -1)
        if shape.text(place + 1) == "[" and shape.text(end + 1) in _ASSIGNS:
            yield end + 2


def _read(places: Sequence[int], shape: Shape) -> bool:
    return any(
        shape.text(place + 1) == "[" and shape.text(shape.end(place + 1, -1) + 1) not in _ASSIGNS
        for place in places
    )
