"""A tokenizer for the JavaScript of automation scripts.

ECMA-262, "Lexical Grammar", as far as it decides what is code: strings, templates with their
expressions, comments, regular expressions. Escapes in names are a fault: nobody writes them who
wants to be read.
"""

import re
import unicodedata
from typing import Final

from iac_applescript.analysis.tokens import MAX_SCRIPT, Fault, Scan, Token

__all__ = ["KEYWORDS", "scan_javascript"]

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
_ESCAPE: Final = re.compile(
    r"\\(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([0-7]{1,3})|(\r\n|.))",
    re.DOTALL,
)
_CONTROL: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_VALUES: Final = frozenset(("false", "null", "this", "true", "undefined"))
_HIDES: Final = ("'", '"', "`", "//", "/*")
"""What begins a text or a comment, if it is not within a pattern."""

_HTML: Final = re.compile(r"<!--|-->")
_HASHBANG: Final = re.compile(r"#![^\r\n]*")


def scan_javascript(script: str) -> Scan:
    """Return the tokens of a script and what could not be read; never raises.

    A template gives a `template` token with its fixed text, then the tokens of its expressions,
    each in parentheses.
    """
    if len(script) > MAX_SCRIPT:
        return Scan((), (Fault(f"the script is longer than {MAX_SCRIPT} characters", 0),))
    faults = _hidden(script)
    # JavaScriptCore takes these for comments that run to the end of the line.
    faults += [Fault("a comment as in HTML", found.start()) for found in _HTML.finditer(script)]
    tokens: list[Token] = []
    first = _HASHBANG.match(script)
    _scan(script, first.end() if first else 0, len(script), tokens, faults, 0)
    tokens.append(Token("end", "", len(script)))
    return Scan(tuple(tokens), tuple(faults))


def _scan(
    script: str, at: int, stop: int, tokens: list[Token], faults: list[Fault], depth: int
) -> None:
    while at < stop:
        if depth and script[at] == "/" and not _divides(script, at, stop, tokens):
            faults.append(Fault("a pattern or a comment inside a template", at))
            return
        if found := _SKIPPED.match(script, at, stop):
            at = found.end()
        elif script[at] == "`":
            at = _template(script, at, stop, tokens, faults, depth)
        elif found := _STRING.match(script, at, stop):
            tokens.append(Token("string", _unescaped(found.group()[1:-1]), at))
            at = found.end()
        elif (found := _WORD.match(script, at, stop)) and "\\" not in found.group():
            tokens.append(Token("word", found.group(), at))
            at = found.end()
        elif found := _NUMBER.match(script, at, stop):
            tokens.append(Token("number", found.group(), at))
            at = found.end()
        elif script[at] == "/" and _unclear(script, at, stop, tokens):
            faults.append(Fault("a slash that can be read as division or as a pattern", at))
            at += 1
        elif _regex_may_start(tokens) and (found := _REGEX.match(script, at, stop)):
            tokens.append(Token("regex", found.group(), at))
            at = found.end()
        elif found := _SIGN.match(script, at, stop):
            tokens.append(Token("sign", found.group(), at))
            at = found.end()
        else:
            faults.append(Fault(f"the character {script[at]!r} cannot be read here", at))
            at += 1


def _regex_may_start(tokens: list[Token]) -> bool:
    if not tokens:
        return True
    last = tokens[-1]
    if last.kind == "sign":
        return last.text not in (")", "]", "}")
    return last.kind == "word" and (last.text == "of" or last.text in KEYWORDS - _VALUES)


def _divides(script: str, at: int, stop: int, tokens: list[Token]) -> bool:
    """Say whether a slash within a template can be nothing but a division.

    Where an expression ends is found by its braces: those of a pattern or comment would count.
    """
    plain = not _regex_may_start(tokens) and script[at + 1 : at + 2] not in ("/", "*")
    return plain and bool(script[at + 1 : stop].strip())


def _unclear(script: str, at: int, stop: int, tokens: list[Token]) -> bool:
    """Say whether a slash may begin a pattern or divide, and code could hide in the difference."""
    if not tokens or tokens[-1].text not in (")", "}", "++", "--"):
        return False
    found = _REGEX.match(script, at, stop)
    if found is None or tokens[-1].kind != "sign":
        return False
    after = script[found.end() : found.end() + 1]
    return (
        tokens[-1].text in ("++", "--")
        or after in ("*", "/")
        or any(mark in found.group()[1:] for mark in _HIDES)
    )


def _template(
    script: str, at: int, stop: int, tokens: list[Token], faults: list[Fault], depth: int
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
        faults.append(Fault("a template does not end", at))
        return stop
    tokens.append(Token("template", _unescaped("".join(text)), at))
    for start, end in inner:
        tokens.append(Token("sign", "+", start))
        tokens.append(Token("sign", "(", start))
        _scan(script, start, end, tokens, faults, depth + 1)
        tokens.append(Token("sign", ")", end))
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
    return "" if char in ("\n", "\r", "\r\n") else _CONTROL.get(char, char)


def _hidden(script: str) -> list[Fault]:
    for at, char in enumerate(script):
        if char.isascii() and (char.isprintable() or char in "\t\r\n"):
            continue
        if char in "\u2028\u2029" or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn"):
            return [Fault(f"there is a hidden character (U+{ord(char):04X})", at)]
    return []
