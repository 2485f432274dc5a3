"""A tokenizer for the JavaScript of automation scripts, and the brackets of what it read.

ECMA-262, "Lexical Grammar", as far as it decides what is code: strings, templates with their
expressions, comments, regular expressions. Escapes in names are a fault: nobody writes them who
wants to be read.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from iac_applescript.analysis.findings import (
    MAX_SCRIPT,
    Brackets,
    Kind,
    Scan,
    ScanFault,
    ScriptToken,
    brackets_of,
    hidden_in,
    text_at,
)
from iac_applescript.analysis.words import KNOWN_MEMBERS

KEYWORDS: Final = frozenset(
    "break case catch const continue default do else false finally for function if in instanceof"
    " let new null of return switch this throw true try typeof undefined var void while".split()
)
"""Words of the language that are read; others of it (`with`, `eval`, `import`) are none of ours."""

_WORD: Final = re.compile(r"(?:[^\W\d]|\$)[\w$]*")
_NUMBER: Final = re.compile(r"0[xXoObB][\da-fA-F_]+n?|\d[\d_]*\.?[\d_]*(?:[eE][+-]?\d+)?n?|\.\d+")
_STRING: Final = re.compile(r"\"(?:[^\"\\\n\r]|\\.)*\"|'(?:[^'\\\n\r]|\\.)*'", re.DOTALL)
_SKIPPED: Final = re.compile(r"[ \t\r\n]+|//[^\r\n\u2028\u2029]*|/\*.*?\*/", re.DOTALL)
_SIGN: Final = re.compile(
    r"=>|\.\.\.|\?\?=?|\?\.|\*\*=?|[=!]==?|<=|>=|&&=?|\|\|=?|\+\+|--|[-+*/%&|^]=|<<=?|>>>?=?"
    r"|[-+*/%&|^~!=<>?:;,.(){}\[\]]"
)
_REGEX: Final = re.compile(r"/(?![*/])(?:[^/\\\[\r\n]|\\.|\[(?:[^\]\\\r\n]|\\.)*\])+/[a-z]*")
_FORMS: Final[Mapping[Kind, re.Pattern[str]]] = {
    "string": _STRING,
    "word": _WORD,
    "number": _NUMBER,
    "regex": _REGEX,
    "sign": _SIGN,
}
_ESCAPE: Final = re.compile(
    r"\\(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([0-7]{1,3})|(\r\n|.))",
    re.DOTALL,
)
_CONTROL_CHARACTERS: Final = dict(zip("nrtbfv0", "\n\r\t\b\f\v\0", strict=True))
_VALUES: Final = frozenset(("false", "null", "this", "true", "undefined"))
_BEFORE_PATTERN: Final = frozenset(
    "case delete do else in instanceof return throw typeof void".split()
)
_BEFORE_STATEMENT: Final = frozenset(("for", "if", "while", "with"))
"""Words whose parentheses a statement follows; it may begin with a pattern."""

_UNDECIDED: Final = (KEYWORDS - _VALUES - _BEFORE_PATTERN) | frozenset(
    "async await class debugger enum export extends import of static super with yield".split()
)
"""Words that are names in some places, or behind which no slash is expected."""

_FARTHEST: Final = 200
"""Tokens that are looked at for the parenthesis that opens."""

_HIDES: Final = ("'", '"', "`", "//", "/*")
"""What begins a text or a comment, if it is not within a pattern."""

_BEFORE_BLOCK: Final = frozenset(("for", "if", "switch", "while"))
_GIVES: Final = frozenset(("=", "of", "in"))
_DEEPEST: Final = 64

_HTML: Final = re.compile(r"<!--|-->")
_HASHBANG: Final = re.compile(r"#![^\r\n]*")


def scan_javascript(script: str) -> Scan:
    """Return the tokens of a script and what could not be read; never raises.

    A template gives a `template` token with its fixed text, then the tokens of its expressions,
    each in parentheses.
    """
    if len(script) > MAX_SCRIPT:
        return Scan((), (ScanFault(f"the script is longer than {MAX_SCRIPT} characters", 0),))
    faults = hidden_in(script)
    # JavaScriptCore takes these for comments that run to the end of the line.
    faults += [ScanFault("a comment as in HTML", found.start()) for found in _HTML.finditer(script)]
    tokens: list[ScriptToken] = []
    first = _HASHBANG.match(script)
    _scan(script, first.end() if first else 0, len(script), tokens, faults, 0)
    tokens.append(ScriptToken("end", "", len(script)))
    return Scan(tuple(tokens), tuple(faults))


def _scan(
    script: str, at: int, stop: int, tokens: list[ScriptToken], faults: list[ScanFault], depth: int
) -> None:
    while at < stop:
        slash = script[at] == "/"
        if depth and slash and not _divides(script, at, stop, tokens):
            faults.append(ScanFault("a pattern or a comment inside a template", at))
            return
        if found := _SKIPPED.match(script, at, stop):
            at = found.end()
        elif script[at] == "`":
            at = _template(script, at, stop, tokens, faults, depth)
        elif slash and _unclear(script, at, stop, tokens):
            faults.append(ScanFault("a slash that can be read as division or as a pattern", at))
            at += 1
        elif token := _token(script, at, stop, begins=slash and _slash(tokens) == "begins"):
            tokens.append(token[0])
            at = token[1]
        else:
            faults.append(ScanFault(f"the character {script[at]!r} cannot be read here", at))
            at += 1


def _token(script: str, at: int, stop: int, *, begins: bool) -> tuple[ScriptToken, int] | None:
    """Return the token that stands here and where it ends; a pattern only if one can begin."""
    for kind, form in _FORMS.items():
        if (found := form.match(script, at, stop)) and (begins or kind != "regex"):
            text = _unescaped(found.group()[1:-1]) if kind == "string" else found.group()
            return ScriptToken(kind, text, at), found.end()
    return None


def is_keyword(tokens: Sequence[ScriptToken], place: int) -> bool:
    """Say whether a token is a word of the language: behind a dot every word is a name."""
    token = tokens[place]
    if token.kind != "word" or token.text not in KEYWORDS:
        return False
    before = tokens[place - 1] if place else None
    return before is None or before.kind != "sign" or before.text not in (".", "?.")


def _slash(tokens: Sequence[ScriptToken]) -> Literal["divides", "begins", "unclear"]:
    """Say whether a slash behind these tokens divides or begins a pattern."""
    if not tokens:
        return "begins"
    last = tokens[-1]
    if last.kind == "sign":
        if last.text == ")":
            return _behind_parenthesis(tokens)
        if last.text in ("}", "++", "--", ".", "?."):
            return "unclear"
        return "divides" if last.text == "]" else "begins"
    if last.kind != "word":
        return "divides"
    before = tokens[-2] if len(tokens) > 1 else None
    if before is not None and before.kind == "sign" and before.text in (".", "?."):
        return "divides"
    if last.text in _BEFORE_PATTERN:
        return "begins"
    # A statement ends behind the label of a `break`.
    label = before is not None and before.text in ("break", "continue")
    return "unclear" if label or last.text in _UNDECIDED else "divides"


def _behind_parenthesis(tokens: Sequence[ScriptToken]) -> Literal["divides", "begins", "unclear"]:
    depth = 0
    for place in range(len(tokens) - 1, max(len(tokens) - _FARTHEST, 0) - 1, -1):
        token = tokens[place]
        if token.kind == "sign":
            depth += {")": 1, "(": -1}.get(token.text, 0)
        if depth:
            continue
        lead = tokens[place - 1] if place else token
        if lead.kind != "word" or lead.text not in _BEFORE_STATEMENT:
            return "divides"
        named = place > 1 and tokens[place - 2].text in (".", "?.")
        return "divides" if named else "begins"
    return "unclear"


def _divides(script: str, at: int, stop: int, tokens: Sequence[ScriptToken]) -> bool:
    """Say whether a slash within a template can be nothing but a division.

    Where an expression ends is found by its braces: those of a pattern or comment would count.
    """
    plain = _slash(tokens) == "divides" and script[at + 1 : at + 2] not in ("/", "*")
    return plain and bool(script[at + 1 : stop].strip())


def _unclear(script: str, at: int, stop: int, tokens: Sequence[ScriptToken]) -> bool:
    """Say whether a slash may begin a pattern or divide, and code could hide in the difference."""
    reading = _slash(tokens)
    found = _REGEX.match(script, at, stop)
    if found is None:
        return reading == "begins"
    if reading == "unclear":
        return True
    after = script[found.end() : found.end() + 1]
    # Whoever writes this behind a parenthesis wants it to be misread.
    behind = bool(tokens) and tokens[-1].kind == "sign" and tokens[-1].text == ")"
    hides = after in ("*", "/") or any(mark in found.group()[1:] for mark in _HIDES)
    return behind and hides


def _template(
    script: str, at: int, stop: int, tokens: list[ScriptToken], faults: list[ScanFault], depth: int
) -> int:
    text: list[str] = []
    inner: list[tuple[int, int]] = []
    place = at + 1
    while place < stop and script[place] != "`":
        if script[place] == "\\":
            text.append(script[place : place + 2])
            place += 2
        elif script.startswith("${", place):
            end = _matching(script, place + 2, stop)
            inner.append((place + 2, end))
            place = end + 1
        else:
            text.append(script[place])
            place += 1
    if place >= stop or depth > 8:
        faults.append(ScanFault("a template does not end", at))
        return stop
    tokens.append(ScriptToken("template", _unescaped("".join(text)), at))
    for start, end in inner:
        tokens.append(ScriptToken("sign", "+", start))
        tokens.append(ScriptToken("sign", "(", start))
        _scan(script, start, end, tokens, faults, depth + 1)
        tokens.append(ScriptToken("sign", ")", end))
    return place + 1


def _matching(script: str, at: int, stop: int) -> int:
    """Return where the brace that is open at `at` closes; braces in texts do not count."""
    open_ = ["{"]
    while at < stop:
        char = script[at]
        if open_[-1] == "`":
            if char == "\\":
                at += 1
            elif char == "`":
                open_.pop()
            elif script.startswith("${", at):
                open_.append("{")
                at += 1
        elif found := _STRING.match(script, at, stop):
            at = found.end()
            continue
        elif char in "{`":
            open_.append(char)
        elif char == "}":
            open_.pop()
            if not open_:
                return at
        at += 1
    return stop


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_plain, text)


def _plain(found: re.Match[str]) -> str:
    for group, base in ((1, 16), (2, 16), (3, 16)):
        if found[group]:
            code = int(found[group], base)
            return chr(code) if code < 0x110000 else "\ufffd"
    if found[4] and found[4] != "0":
        return chr(int(found[4], 8))
    char = found[4] or found[5]
    return "" if char in ("\n", "\r", "\r\n") else _CONTROL_CHARACTERS.get(char, char)


class Shape(NamedTuple):
    """A script as its brackets divide it.

    Attributes:
        tokens: The tokens.
        brackets: Those among them.
        given: Name -> the first words of the values that it is given by `=`.
        called: Names before a parenthesis.
    """

    tokens: Sequence[ScriptToken]
    brackets: Brackets
    given: Mapping[str, set[str]]
    called: frozenset[str]

    def text(self, place: int) -> str:
        """Return the text of a token; empty outside the script, and for a text or template."""
        return text_at(self.tokens, place)

    def around(self, place: int) -> int:
        """Return the place of the bracket that is open around a token, or -1."""
        return self.brackets.within[place]

    def end(self, opening: int, missing: int = 0) -> int:
        """Return where a bracket closes; `missing` for one that does not, or no bracket."""
        return self.brackets.closing.get(opening, missing)

    def is_access(self, opening: int) -> bool:
        """Say whether a square bracket picks a member of what stands before it."""
        before = self.tokens[max(opening - 1, 0)]
        if before.kind == "word":
            return before.text in _VALUES or not is_keyword(self.tokens, opening - 1)
        named = before.kind in ("string", "template", "regex")
        return named or before.text in (")", "]", "?.")

    def is_bound(self, place: int) -> bool:
        """Say whether a name may be given a value here by a pattern or as a parameter."""
        for _ in range(_DEEPEST):
            place = self.around(place)
            if place < 0:
                return False
            end = self.end(place, len(self.tokens))
            after, opens = self.text(end + 1), self.text(place)
            if opens == "(":
                takes = after in ("=>", "=") or (
                    after == "{" and self.text(place - 1) not in _BEFORE_BLOCK
                )
                if takes:
                    return True
            elif after in _GIVES and not (opens == "[" and self.is_access(place)):
                return True
        return True

    def is_called_from(self, place: int, key: str, name: str) -> bool:
        """Say whether a pattern takes `key` out of an object as `name`, unknown and called."""
        if self.text(self.around(place)) != "{" or key in KNOWN_MEMBERS or not self.is_bound(place):
            return False
        return name in self.called

    def is_written_out(self, place: int) -> bool:
        """Say whether nothing stands here, or a record that is spelled out."""
        if self.text(place) == ")":
            return True
        end = self.end(place, 0)
        spread = any(t.text == "..." and t.kind == "sign" for t in self.tokens[place:end])
        return self.text(place) == "{" and bool(end) and not spread

    def is_app(self, place: int) -> bool:
        """Say whether what ends here is an app itself, not one of its objects."""
        token = self.tokens[max(place, 0)]
        if token.text == ")":
            opening = self.around(place - 1)
            return self.text(opening - 1) == "Application"
        if token.kind != "word" or self.text(place - 1) in (".", "?."):
            return False
        return self.given.get(token.text) == {"Application"}


def shape_of(tokens: Sequence[ScriptToken]) -> Shape:
    """Return the brackets of a script, and the names that it gives values to and calls."""
    given: dict[str, set[str]] = {}
    called: set[str] = set()
    for token, after, value in zip(tokens, tokens[1:], (*tokens[2:], *tokens[-1:]), strict=False):
        if token.kind == "word" and after.text == "=":
            given.setdefault(token.text, set()).add(value.text)
        elif token.kind == "word" and after.text == "(":
            called.add(token.text)
    brackets = brackets_of([token.text if token.kind == "sign" else "" for token in tokens])
    return Shape(tokens, brackets, given, frozenset(called))
