"""The names that an AppleScript gives itself: variables with their values, handlers, labels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, TypeVar

from iac_applescript.analysis.applescript_units import Unit
from iac_applescript.analysis.budget import spend
from iac_applescript.analysis.findings import ScriptToken, brackets_of

_AFTER_ERROR: Final = frozenset(("number", "from", "to", "partial", "result", "error", "on", "the"))


_LABELS: Final = frozenset(
    """
    about above against apart around aside at below beneath beside between by for from in into of
    on onto over since thru through under
    """.split()
)
"""What stands before a parameter of a handler without parentheses."""


_ITEMS: Final = frozenset("item items end beginning first last front back rest some".split())


_ASSIGNS: Final = frozenset(("set", "copy", "with"))
_OPEN_BY: Final = frozenset(("on", "to"))


@dataclass(frozen=True, slots=True)
class ScriptDeclarations:
    """The script's own names, in lower case.

    Attributes:
        variables: Name -> the tokens of each value that it is set to.
        handlers: Names that are called -> their parameters.
        scripts: Names of script objects.
        grown: Names of lists that get an item by itself, and of what they may share it with.
        labels: Fields of records.
    """

    variables: dict[str, list[tuple[ScriptToken, ...]]] = field(default_factory=dict)
    handlers: dict[str, tuple[ScriptToken, ...]] = field(default_factory=dict)
    scripts: set[str] = field(default_factory=set)
    grown: set[str] = field(default_factory=set)
    labels: set[str] = field(default_factory=set)

    def literal_value(self, name: str) -> str | None:
        """Return the text of a variable that is set once, to a text; else None."""
        values = self.variables.get(name, [])
        if len(values) == 1 and len(values[0]) == 1 and values[0][0].kind == "string":
            return values[0][0].text
        return None


def split_statements(tokens: Sequence[ScriptToken]) -> Iterator[tuple[ScriptToken, ...]]:
    """Yield the tokens of each logical line that has any; lists and records may span lines."""
    found: list[ScriptToken] = []
    for token in tokens:
        if token.kind != "end":
            found.append(token)
        elif found:
            yield tuple(found)
            found = []


def find_declarations(tokens: Sequence[ScriptToken]) -> ScriptDeclarations:
    """Return the names that a script declares anywhere; scopes are not told apart."""
    found = ScriptDeclarations()
    # The article means nothing, wherever it stands.
    plain = [token for token in tokens if token.kind != "word" or token.folded != "the"]
    lines = list(split_statements(plain))
    for line in lines:
        _add_labels(line, found)
        first = line[0].folded if line[0].kind == "word" else ""
        second = line[1].folded if len(line) > 1 else ""
        if first == "on" and second == "error":
            _declare_words(line[2:], found, without=_AFTER_ERROR)
        elif first in ("on", "to") and len(line) > 1:
            _add_handler(line, found)
        elif first == "script" and len(line) > 1:
            found.scripts.add(token_name(line[1]))
            _add_variable(line[1], (), found)
        elif first in ("global", "local"):
            _declare_words(line[1:], found)
        elif first in ("property", "prop") and len(line) > 3 and line[2].text == ":":
            _add_variable(line[1], line[3:], found)
        _add_assignments(line, found)
    for line in lines:
        _add_call_arguments(line, found)
    for params in found.handlers.values():
        for param in params:
            # What nothing is seen to call may be given anything.
            found.variables.setdefault(token_name(param), [()])
    shared = list(found.grown)
    for name in shared:
        words = {token_name(t) for value in found.variables.get(name, ()) for t in value}
        fresh = (words & found.variables.keys()) - found.grown
        found.grown.update(fresh)
        shared += fresh
    return found


def token_name(token: ScriptToken) -> str:
    return token.folded if token.kind in ("word", "quoted") else ""


def _add_variable(
    token: ScriptToken, value: tuple[ScriptToken, ...], found: ScriptDeclarations
) -> None:
    if name := token_name(token):
        spend(len(value) // 16)
        found.variables.setdefault(name, []).append(value)


def _declare_words(
    line: Sequence[ScriptToken], found: ScriptDeclarations, without: frozenset[str] = frozenset()
) -> None:
    for token in line:
        if token_name(token) not in without:
            _add_variable(token, (), found)


def _add_labels(line: Sequence[ScriptToken], found: ScriptDeclarations) -> None:
    for token, after in pairwise(line):
        if after.text == ":" and after.kind == "sign" and token_name(token):
            found.labels.add(token_name(token))


def _add_handler(line: Sequence[ScriptToken], found: ScriptDeclarations) -> None:
    name = token_name(line[1])
    params = tuple(token for token in line[2:] if token_name(token))
    if len(line) > 2 and line[2].text == "(" and name:
        _declare_words(found.handlers.get(name, ()), found)
        found.handlers[name] = params
    elif name in ("run", "open"):
        _declare_words(line[2:], found)
    elif has_labeled_parameters(line):
        found.handlers[name] = ()
        _declare_words(params, found, without=_LABELS)


def has_labeled_parameters(line: Sequence[ScriptToken]) -> bool:
    """Say whether a handler has parameters behind labels: `on largest of aList`."""
    given = line[2:]
    return (
        len(given) % 2 == 0
        and given[:1] != ()
        and all(token_name(token) in _LABELS for token in given[::2])
        and all(token.kind in ("word", "quoted") for token in given[1::2])
    )


Part = TypeVar("Part", ScriptToken, Unit)


def split_outside_brackets(units: Sequence[Part], sign: str) -> list[Sequence[Part]]:
    """Return what a sign parts, outside brackets."""
    spend(len(units) // 16)
    found: list[Sequence[Part]] = []
    start = depth = 0
    for place, unit in enumerate(units):
        what = unit[1] if unit[0] == "sign" else ""
        depth += (what in ("(", "{")) - (what in (")", "}"))
        if what == sign and not depth:
            found.append(units[start:place])
            start = place + 1
    if units:
        found.append(units[start:])
    return found


def _add_call_arguments(line: Sequence[ScriptToken], found: ScriptDeclarations) -> None:
    """Note what the handlers of the script are given where they are called."""
    if not any(found.handlers.get(token_name(token)) for token in line):
        return
    closing = brackets_of([t.text if t.kind == "sign" else "" for t in line]).closing
    for place, token in enumerate(line[:-1]):
        params = found.handlers.get(token_name(token), ())
        if not params or place + 1 not in closing or (place and line[place - 1].text in _OPEN_BY):
            continue
        given = split_outside_brackets(line[place + 2 : closing[place + 1]], ",")
        for at, param in enumerate(params):
            _add_variable(param, tuple(given[at]) if len(given) == len(params) else (), found)


def _add_assignments(line: Sequence[ScriptToken], found: ScriptDeclarations) -> None:
    for place, token in enumerate(line):
        if token.kind != "word" or token.folded not in _ASSIGNS:
            continue
        rest = line[place + 1 :]
        if rest and token_name(rest[0]) == "my":
            rest = rest[1:]
        if token.folded in ("set", "copy"):
            spend(len(rest) // 16)
            into = [token_name(t) for t in rest]
            item = next((at for at, word in enumerate(into) if word in _ITEMS), len(into))
            found.grown.update(
                holder
                for at, holder in enumerate(into)
                if at > max(item, 1) and into[at - 1] in ("of", "in")
            )
        if token.folded == "set" and len(rest) > 1:
            _add_set_variables(rest, found)
        elif token.folded == "copy":
            end = next(
                (i for i in range(len(rest) - 2, -1, -1) if token_name(rest[i]) == "to"), None
            )
            if end is not None and end == len(rest) - 2:
                _add_variable(rest[-1], tuple(rest[:end]), found)
        elif token.folded == "with" and place and line[place - 1].folded == "repeat" and rest:
            _add_loop_variable(rest, found)


def _add_loop_variable(rest: Sequence[ScriptToken], found: ScriptDeclarations) -> None:
    """Declare the variable of a loop: a number, or an item of what it goes through."""
    if len(rest) > 2 and token_name(rest[1]) == "in":
        item = [ScriptToken("word", word, rest[0].start, word) for word in ("first", "item", "of")]
        _add_variable(rest[0], (*item, *rest[2:]), found)
    else:
        _add_variable(rest[0], (ScriptToken("number", "1", rest[0].start, "1"),), found)


def _add_set_variables(rest: Sequence[ScriptToken], found: ScriptDeclarations) -> None:
    if token_name(rest[1]) == "to":
        _add_variable(rest[0], tuple(rest[2:]), found)
        return
    closing = brackets_of([t.text if t.kind == "sign" else "" for t in rest]).closing
    end = closing.get(0, 0)
    if rest[0].text == "{" and end and [token_name(t) for t in rest[end + 1 : end + 2]] == ["to"]:
        names, value = split_outside_brackets(rest[1:end], ","), rest[end + 2 :]
        whole = bool(value) and value[0].text == "{" and value[-1].text == "}"
        given = split_outside_brackets(value[1:-1], ",") if whole else []
        for place, name in enumerate(names):
            # `{a, b}` or `{label:a}`; of another form it is no name.
            if len(name) in (1, 3) and (len(name) == 1 or name[1].text == ":"):
                fits = len(name) == 1 and len(given) == len(names)
                _add_variable(name[-1], tuple(given[place]) if fits else (), found)
