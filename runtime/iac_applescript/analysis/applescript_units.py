"""An AppleScript cut up: its tokens, the names it gives itself, and the longest known terms.

Grammar: AppleScript Language Guide, "Lexical Conventions". Where it leaves open how two forms
nest, the reading is a fault, so that nothing is taken for a comment that may be code.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from iac_applescript.analysis import words as language
from iac_applescript.analysis.budget import spend
from iac_applescript.analysis.findings import MAX_SCRIPT, Scan, ScanFault, ScriptToken, hidden_in
from iac_applescript.analysis.vocabulary import TermUse, Vocabulary, longest_phrases

_PLAIN: Final = re.compile(
    r"[ \t\ufeff]*+(?:(?P<word>[^\W\d]\w*)"
    r"|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?))"
)
"""A word or a number, with the blanks before it: most of a script."""

_BLANKS: Final = re.compile(r"[ \t\ufeff]+")
_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_PIPES: Final = re.compile(r"\|((?:[^|\\\r\n]|\\.)*)\|")
_CHEVRON: Final = re.compile(r"«[^»\r\n]*»?|»")
_DOUBLE: Final = re.compile(r"<<|>>")
_LINE_COMMENT: Final = re.compile(r"(?:--|#)[^\r\n]*")
_CONTINUED: Final = re.compile(r"¬[ \t]*(?:(?:--|#)[^\r\n]*)?(?:\r\n|\r|\n)")
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_SIGN: Final = re.compile(r"<=|>=|/=|[-+*/^&=<>≠≤≥÷(){},:;]|['’]s\b")
_RAW_TYPE: Final = re.compile(r"«class [\w ]{4}»")
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t"}


UnitKind = Literal["term", "command", "keyword", "variable", "text", "number", "sign", "unknown"]

_NO_COMMAND_AFTER: Final = frozenset(("of", "every", "new", "whose", "'s", "’s", "first", "last"))
_JUDGED: Final = frozenset(("copy", "make", "set"))
"""Commands that are judged by what they are given."""

_OURS: Final = longest_phrases(
    (*language.COMMANDS, *language.KEYWORDS, *language.TERMS, *language.CONSTANTS)
)


def scan_applescript(script: str) -> Scan:
    """Return the tokens of an AppleScript and what could not be read; never raises."""
    if len(script) > MAX_SCRIPT:
        return Scan((), (ScanFault(f"the script is longer than {MAX_SCRIPT} characters", 0),))
    tokens: list[ScriptToken] = []
    faults = hidden_in(script, lead="\ufeff")
    at = 0
    while at < len(script):
        while found := _PLAIN.match(script, at):
            kind, at = found.lastgroup, found.end()
            text = found[kind]  # type: ignore[index]
            tokens.append(ScriptToken(kind, text, found.start(kind), text.casefold()))  # type: ignore[arg-type]
        if at < len(script):
            at = _scan_token(script, at, tokens, faults)
    tokens.append(ScriptToken("end", "", len(script)))
    return Scan(tuple(tokens), tuple(faults))


def _scan_token(script: str, at: int, tokens: list[ScriptToken], faults: list[ScanFault]) -> int:
    char = script[at]
    if found := _BLANKS.match(script, at):
        return found.end()
    if char in "\r\n" and (found := _LINE_END.match(script, at)):
        tokens.append(ScriptToken("end", "", at))
        return found.end()
    if script.startswith("(*", at):
        return _scan_comment(script, at, faults)
    if found := _LINE_COMMENT.match(script, at) or _CONTINUED.match(script, at):
        return found.end()
    if char == '"':
        return _scan_string(script, at, tokens, faults)
    if char == "|":
        found = _PIPES.match(script, at)
        if found is None:
            faults.append(ScanFault("a name between bars has no closing bar", at))
            return len(script)
        text = _unescape_text(found[1])
        tokens.append(ScriptToken("quoted", text, at, text.casefold()))
        return found.end()
    if found := _CHEVRON.match(script, at) or _DOUBLE.match(script, at):
        tokens.append(ScriptToken("raw", found.group(), at, found.group().casefold()))
        return found.end()
    if found := _SIGN.match(script, at):
        tokens.append(ScriptToken("sign", found.group(), at, found.group().casefold()))
        return found.end()
    faults.append(ScanFault(f"the character U+{ord(char):04X} has no meaning in AppleScript", at))
    return at + 1


def _scan_string(script: str, at: int, tokens: list[ScriptToken], faults: list[ScanFault]) -> int:
    found = _STRING.match(script, at)
    if found is None:
        faults.append(ScanFault("a closing quotation mark is missing", at))
        return len(script)
    text = _unescape_text(found[1])
    tokens.append(ScriptToken("string", text, at, text.casefold()))
    return found.end()


def _scan_comment(script: str, at: int, faults: list[ScanFault]) -> int:
    depth, place = 0, at
    while place < len(script):
        if script.startswith("(*", place):
            depth, place = depth + 1, place + 2
        elif script.startswith("*)", place):
            depth, place = depth - 1, place + 2
            if depth == 0:
                _check_comment(script[at:place], at, faults)
                return place
        else:
            place += 1
    faults.append(ScanFault("a comment is not closed", at))
    return len(script)


def _check_comment(text: str, at: int, faults: list[ScanFault]) -> None:
    """A nested comment with quotes or line comments can be read in two ways."""
    if "(*" in text[2:] and any(mark in text for mark in ('"', "--", "#", "|")):
        faults.append(ScanFault("nested comments can be read in two ways", at))


def _unescape_text(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text, flags=re.DOTALL)


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
        found = self.widths.get(first)
        if found is None:
            known = (app.longest.get(first, 1) for app in self.apps)
            found = self.widths[first] = max(_OURS.get(first, 1), *known, 1)
        return found


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
    found: tuple[Unit, int] | None = None
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
        found = found or (unit, count)
        # Mail has a property "delete message", and "delete message 1" deletes one.
        after = tokens[at + found[1]] if at + found[1] < len(tokens) else None
        label = after is not None and after.text == ":"
        rest = " ".join(words[count : found[1]])
        acts = unit.kind == "command" and _is_changing_command(unit)
        if acts and (not rest or (may_command and not label and _is_known_phrase(rest, sight))):
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
