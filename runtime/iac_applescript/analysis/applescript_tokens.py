"""A tokenizer for AppleScript: strings, nested comments, continuation, chevrons, pipes.

Grammar: AppleScript Language Guide, "Lexical Conventions". Where it leaves open how two forms
nest, the reading is a fault, so that nothing is taken for a comment that may be code.
"""

import re
import unicodedata
from typing import Final

from iac_applescript.analysis.tokens import MAX_SCRIPT, Fault, Scan, Token

__all__ = ["scan_applescript"]

_WORD: Final = re.compile(r"[^\W\d]\w*")
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?")
_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_PIPES: Final = re.compile(r"\|((?:[^|\\\r\n]|\\.)*)\|")
_CHEVRON: Final = re.compile(r"«[^»\r\n]*»?|»")
_DOUBLE: Final = re.compile(r"<<|>>")
_LINE_COMMENT: Final = re.compile(r"(?:--|#)[^\r\n]*")
_CONTINUED: Final = re.compile(r"¬[ \t]*(?:(?:--|#)[^\r\n]*)?(?:\r\n|\r|\n)")
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_SIGN: Final = re.compile(r"<=|>=|/=|[-+*/^&=<>≠≤≥÷(){},:;]|['’]s\b")
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t"}
_BREAKS: Final = frozenset("\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")


def scan_applescript(script: str) -> Scan:
    """Return the tokens of an AppleScript and what could not be read; never raises."""
    if len(script) > MAX_SCRIPT:
        return Scan((), (Fault(f"the script is longer than {MAX_SCRIPT} characters", 0),))
    tokens: list[Token] = []
    faults = _hidden(script)
    at = 0
    while at < len(script):
        at = _next(script, at, tokens, faults)
    tokens.append(Token("end", "", len(script)))
    return Scan(tuple(tokens), tuple(faults))


def _next(script: str, at: int, tokens: list[Token], faults: list[Fault]) -> int:
    char = script[at]
    if char in " \t\ufeff":
        return at + 1
    if script.startswith("(*", at):
        return _comment(script, at, faults)
    if found := _LINE_COMMENT.match(script, at) or _CONTINUED.match(script, at):
        return found.end()
    if found := _LINE_END.match(script, at):
        tokens.append(Token("end", "", at))
        return found.end()
    if char == '"':
        return _string(script, at, tokens, faults)
    if char == "|":
        found = _PIPES.match(script, at)
        if found is None:
            faults.append(Fault("a name in pipes does not end", at))
            return len(script)
        tokens.append(Token("quoted", _unescaped(found[1]), at))
        return found.end()
    if found := _CHEVRON.match(script, at) or _DOUBLE.match(script, at):
        tokens.append(Token("raw", found.group(), at))
        return found.end()
    for kind, pattern in (("word", _WORD), ("number", _NUMBER), ("sign", _SIGN)):
        if found := pattern.match(script, at):
            tokens.append(Token(kind, found.group(), at))  # type: ignore[arg-type]
            return found.end()
    faults.append(Fault(f"the character U+{ord(char):04X} means nothing here", at))
    return at + 1


def _string(script: str, at: int, tokens: list[Token], faults: list[Fault]) -> int:
    found = _STRING.match(script, at)
    if found is None:
        faults.append(Fault("a text does not end", at))
        return len(script)
    tokens.append(Token("string", _unescaped(found[1]), at))
    return found.end()


def _comment(script: str, at: int, faults: list[Fault]) -> int:
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
    faults.append(Fault("a comment does not end", at))
    return len(script)


def _check_comment(text: str, at: int, faults: list[Fault]) -> None:
    """A nested comment with quotes or line comments can be read in two ways."""
    if "(*" in text[2:] and any(mark in text for mark in ('"', "--", "#", "|")):
        faults.append(Fault("comments are nested in a way that can be read differently", at))


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text, flags=re.DOTALL)


def _hidden(script: str) -> list[Fault]:
    """Characters that show as nothing, or end a line for some readers only, in any place."""
    for at, char in enumerate(script):
        if char.isascii() and (char.isprintable() or char in "\t\r\n"):
            continue
        if char in _BREAKS or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn"):
            if char == "\ufeff" and at == 0:
                continue
            return [Fault(f"there is a hidden character (U+{ord(char):04X})", at)]
    return []
