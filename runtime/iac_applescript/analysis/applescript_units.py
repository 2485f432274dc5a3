"""An AppleScript cut up: its tokens, the names it gives itself, and the longest known terms.

Grammar: AppleScript Language Guide, "Lexical Conventions". Where it leaves open how two forms
nest, the reading is a fault, so that nothing is taken for a comment that may be code.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Literal, NamedTuple, TypeVar

from iac_applescript.analysis import vocabulary as language
from iac_applescript.analysis.findings import brackets_of, spend
from iac_applescript.analysis.vocabulary import TermUse, Vocabulary, longest_phrases
from iac_base.script_tokens import ScriptToken

_RAW_TYPE: Final = re.compile(r"«class [\w ]{4}»")

UnitKind = Literal["term", "command", "keyword", "variable", "text", "number", "sign", "unknown"]

_NO_COMMAND_AFTER: Final = frozenset(("of", "every", "new", "whose", "'s", "’s", "first", "last"))
_JUDGED: Final = frozenset(("copy", "make", "set"))
"""Commands that are judged by what they are given."""

_OURS: Final = longest_phrases(
    (*language.COMMANDS, *language.KEYWORDS, *language.TERMS, *language.CONSTANTS)
)


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
    entries: tuple[tuple[Vocabulary, TermUse], ...]
    start: int

    def has_use(self, use: str) -> bool:
        """Say whether a dictionary has it for this use."""
        return any(entry.use == use for _, entry in self.entries)


class WordScope(NamedTuple):
    """What can be seen from a statement: apps, nearest first, and the script's own names.

    `widths` keeps how many words the longest phrase has that begins with a word.
    """

    apps: Sequence[Vocabulary]
    variables: Mapping[str, object]
    handlers: frozenset[str]
    labels: frozenset[str]
    widths: dict[str, int]

    def phrase_length(self, first: str) -> int:
        """Return how many words the longest known phrase has that begins with a word."""
        width = self.widths.get(first)
        if width is None:
            known = (app.longest.get(first, 1) for app in self.apps)
            width = self.widths[first] = max(_OURS.get(first, 1), *known, 1)
        return width


def parse_units(tokens: Sequence[ScriptToken], sight: WordScope) -> list[Unit]:
    """Return the units of a statement's tokens; every token is in one."""
    spend(len(tokens))
    units: list[Unit] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind == "word":
            before = tokens[at - 1] if at else None
            unit, used = _longest_unit(tokens, at, sight, may_command=_can_begin_command(before))
            if unit is not None:
                units.append(unit)
            at += used
            continue
        units.append(_single_unit(token, sight, is_type_code(tokens, at)))
        at += 1
    return units


def is_type_code(tokens: Sequence[ScriptToken], at: int) -> bool:
    """Say whether a raw code only names the type of a value: `as «class utf8»`."""
    before = tokens[at - 1].folded if at else ""
    return before == "as" and bool(_RAW_TYPE.fullmatch(tokens[at].text))


def _single_unit(token: ScriptToken, sight: WordScope, typed: bool) -> Unit:
    if typed:
        return Unit("term", token.text, (), token.start)
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


def _can_begin_command(before: ScriptToken | None) -> bool:
    """Say whether a command may begin behind a token."""
    return before is None or before.folded not in _NO_COMMAND_AFTER


def _longest_unit(
    tokens: Sequence[ScriptToken], at: int, sight: WordScope, *, may_command: bool
) -> tuple[Unit | None, int]:
    words = list[str]()
    longest = sight.phrase_length(tokens[at].folded)
    while at + len(words) < len(tokens) and len(words) < longest:
        token = tokens[at + len(words)]
        if token.kind != "word":
            break
        words.append(token.folded)
    start = tokens[at].start
    longest_unit: tuple[Unit, int] | None = None
    for count in range(len(words), 0, -1):
        phrase = " ".join(words[:count])
        entries = tuple(
            [
                (app, entry)
                for app in sight.apps
                if phrase in app.terms
                for entry in app.terms[phrase]
            ]
        )
        weak = phrase in language.WEAK and phrase in sight.variables
        unit = None if weak else _phrase_unit(phrase, entries, start)
        if unit is None:
            continue
        longest_unit = longest_unit or (unit, count)
        # Mail has a property "delete message", and "delete message 1" deletes one.
        after = tokens[at + longest_unit[1]] if at + longest_unit[1] < len(tokens) else None
        label = after is not None and after.text == ":"
        rest = " ".join(words[count : longest_unit[1]])
        acts = unit.kind == "command" and _is_changing_command(unit)
        if acts and (not rest or (may_command and not label and _is_known_phrase(rest, sight))):
            return unit, count
    if longest_unit is not None:
        return longest_unit
    if words[0] == "the":
        return None, 1
    followed = tokens[at + 1] if at + 1 < len(tokens) else None
    if words[0] in sight.variables or words[0] in sight.handlers:
        return Unit("variable", words[0], (), start), 1
    if words[0] in sight.labels or (followed is not None and followed.text == ":"):
        return Unit("variable", words[0], (), start), 1
    return Unit("unknown", tokens[at].text, (), start), 1


def _is_known_phrase(phrase: str, sight: WordScope) -> bool:
    """Say whether the words behind a command mean something by themselves."""
    known = phrase in sight.variables or any(phrase in app.terms for app in sight.apps)
    return known or phrase in language.TERMS or phrase in language.KEYWORDS


def _is_changing_command(unit: Unit) -> bool:
    """Say whether a command does more than read."""
    levels = [entry.level for _, entry in unit.entries if entry.use == "command"]
    known = language.COMMANDS.get(unit.word, "SAFE")
    return unit.word in _JUDGED or any(level != "SAFE" for level in levels or [known])


def _phrase_unit(
    phrase: str, entries: tuple[tuple[Vocabulary, TermUse], ...], start: int
) -> Unit | None:
    if any(entry.use == "command" for _, entry in entries) or phrase in language.COMMANDS:
        return Unit("command", phrase, entries, start)
    if phrase in language.KEYWORDS and phrase != "the":
        return Unit("keyword", phrase, entries, start)
    if entries or phrase in language.TERMS or phrase in language.CONSTANTS:
        return Unit("term", phrase, entries, start)
    return None


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
    line: list[ScriptToken] = []
    for token in tokens:
        if token.kind != "end":
            line.append(token)
        elif line:
            yield tuple(line)
            line = []


def find_declarations(tokens: Sequence[ScriptToken]) -> ScriptDeclarations:
    """Return the names that a script declares anywhere; scopes are not told apart."""
    names = ScriptDeclarations()
    # The article means nothing, wherever it stands.
    plain = [token for token in tokens if token.kind != "word" or token.folded != "the"]
    lines = list(split_statements(plain))
    for line in lines:
        _add_labels(line, names)
        first = line[0].folded if line[0].kind == "word" else ""
        second = line[1].folded if len(line) > 1 else ""
        if first == "on" and second == "error":
            _declare_words(line[2:], names, without=_AFTER_ERROR)
        elif first in ("on", "to") and len(line) > 1:
            _add_handler(line, names)
        elif first == "script" and len(line) > 1:
            names.scripts.add(token_name(line[1]))
            _add_variable(line[1], (), names)
        elif first in ("global", "local"):
            _declare_words(line[1:], names)
        elif first in ("property", "prop") and len(line) > 3 and line[2].text == ":":
            _add_variable(line[1], line[3:], names)
        _add_assignments(line, names)
    for line in lines:
        _add_call_arguments(line, names)
    for params in names.handlers.values():
        for param in params:
            # What nothing is seen to call may be given anything.
            names.variables.setdefault(token_name(param), [()])
    shared = list(names.grown)
    for name in shared:
        words = {token_name(t) for value in names.variables.get(name, ()) for t in value}
        fresh = (words & names.variables.keys()) - names.grown
        names.grown.update(fresh)
        shared += fresh
    return names


def token_name(token: ScriptToken) -> str:
    return token.folded if token.kind in ("word", "quoted") else ""


def _add_variable(
    token: ScriptToken, value: tuple[ScriptToken, ...], names: ScriptDeclarations
) -> None:
    if name := token_name(token):
        spend(len(value) // 16)
        names.variables.setdefault(name, []).append(value)


def _declare_words(
    line: Sequence[ScriptToken], names: ScriptDeclarations, without: frozenset[str] = frozenset()
) -> None:
    for token in line:
        if token_name(token) not in without:
            _add_variable(token, (), names)


def _add_labels(line: Sequence[ScriptToken], names: ScriptDeclarations) -> None:
    for token, after in pairwise(line):
        if after.text == ":" and after.kind == "sign" and token_name(token):
            names.labels.add(token_name(token))


def _add_handler(line: Sequence[ScriptToken], names: ScriptDeclarations) -> None:
    name = token_name(line[1])
    params = tuple(token for token in line[2:] if token_name(token))
    if len(line) > 2 and line[2].text == "(" and name:
        _declare_words(names.handlers.get(name, ()), names)
        names.handlers[name] = params
    elif name in ("run", "open"):
        _declare_words(line[2:], names)
    elif has_labeled_parameters(line):
        names.handlers[name] = ()
        _declare_words(params, names, without=_LABELS)


_GIVEN: Final = r"w:w(?:aw+)?(?::(?:v|w{1,2}|{}))?"
"""A parameter behind `given`: its label, its name, and maybe its class and its default."""

_LABELED: Final = re.compile(rf"w(?=.)(?:lw)*(?:g{_GIVEN}(?:,{_GIVEN})*)?|(?:w:w)+")


def has_labeled_parameters(line: Sequence[ScriptToken]) -> bool:
    """Say whether the parameters of a handler stand behind labels or within its name.

    `on largest of aList`, `on greet given person:p : "you"`, `on areaOfWidth:w height:h`.
    """
    letters = {"as": "a", "given": "g", **dict.fromkeys(_LABELS, "l")}
    kinds = {"word": "w", "quoted": "w", "string": "v", "number": "v", "sign": ""}
    shape = "".join(
        (letters.get(t.folded) if t.kind == "word" else None) or kinds.get(t.kind, "?") or t.text
        for t in line[1:]
    )
    return _LABELED.fullmatch(shape) is not None


Part = TypeVar("Part", ScriptToken, Unit)


def split_outside_brackets(units: Sequence[Part], sign: str) -> list[Sequence[Part]]:
    """Return what a sign parts, outside brackets."""
    spend(len(units) // 16)
    parts: list[Sequence[Part]] = []
    start = depth = 0
    for place, unit in enumerate(units):
        what = unit[1] if unit[0] == "sign" else ""
        depth += (what in ("(", "{")) - (what in (")", "}"))
        if what == sign and not depth:
            parts.append(units[start:place])
            start = place + 1
    if units:
        parts.append(units[start:])
    return parts


def _add_call_arguments(line: Sequence[ScriptToken], names: ScriptDeclarations) -> None:
    """Note what the handlers of the script are given where they are called."""
    if not any(names.handlers.get(token_name(token)) for token in line):
        return
    closing = brackets_of([t.text if t.kind == "sign" else "" for t in line]).closing
    for place, token in enumerate(line[:-1]):
        params = names.handlers.get(token_name(token), ())
        if not params or place + 1 not in closing or (place and line[place - 1].text in _OPEN_BY):
            continue
        given = split_outside_brackets(line[place + 2 : closing[place + 1]], ",")
        for at, param in enumerate(params):
            _add_variable(param, tuple(given[at]) if len(given) == len(params) else (), names)


def _add_assignments(line: Sequence[ScriptToken], names: ScriptDeclarations) -> None:
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
            names.grown.update(
                holder
                for at, holder in enumerate(into)
                if at > max(item, 1) and into[at - 1] in ("of", "in")
            )
        if token.folded == "set" and len(rest) > 1:
            _add_set_variables(rest, names)
        elif token.folded == "copy":
            end = next(
                (i for i in range(len(rest) - 2, -1, -1) if token_name(rest[i]) == "to"), None
            )
            if end is not None and end == len(rest) - 2:
                _add_variable(rest[-1], tuple(rest[:end]), names)
        elif token.folded == "with" and place and line[place - 1].folded == "repeat" and rest:
            _add_loop_variable(rest, names)


def _add_loop_variable(rest: Sequence[ScriptToken], names: ScriptDeclarations) -> None:
    """Declare the variable of a loop: a number, or an item of what it goes through."""
    if len(rest) > 2 and token_name(rest[1]) == "in":
        item = [ScriptToken("word", word, rest[0].start, word) for word in ("first", "item", "of")]
        _add_variable(rest[0], (*item, *rest[2:]), names)
    else:
        _add_variable(rest[0], (ScriptToken("number", "1", rest[0].start, "1"),), names)


def _add_set_variables(rest: Sequence[ScriptToken], declared: ScriptDeclarations) -> None:
    if token_name(rest[1]) == "to":
        _add_variable(rest[0], tuple(rest[2:]), declared)
        return
    closing = brackets_of([t.text if t.kind == "sign" else "" for t in rest]).closing
    end = closing.get(0, 0)
    to = rest[end + 1 : end + 2]
    if rest[0].text == "{" and end and [token_name(t) for t in to] == ["to"]:
        names, value = split_outside_brackets(rest[1:end], ","), rest[end + 2 :]
        whole = bool(value) and value[0].text == "{" and value[-1].text == "}"
        given = split_outside_brackets(value[1:-1], ",") if whole else []
        for place, name in enumerate(names):
            # `{a, b}`, `{label:a}` or a pattern of such; of another form it is no name.
            labeled = len(name) > 2 and name[1].text == ":"
            name = name[2:] if labeled else name
            part = given[place] if len(given) == len(names) and not labeled else ()
            if len(name) == 1:
                _add_variable(name[0], tuple(part), declared)
            elif name and name[0].text == "{":
                _add_set_variables((*name, *to, *part), declared)
