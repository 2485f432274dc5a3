"""The tokens of a script, and AppleScript cut up into them.

Grammar: AppleScript Language Guide, "Lexical Conventions". Where it leaves open how two forms
nest, the reading is a fault, so that nothing is taken for a comment that may be code.
"""

import re
import unicodedata
from typing import Final, Literal, NamedTuple

MAX_SCRIPT: Final = 64 * 1024
"""Characters of a script; a longer one is not read at all."""

Kind = Literal["word", "quoted", "string", "number", "sign", "raw", "regex", "template", "end"]
"""`quoted` is AppleScript's `|name|`, `raw` a chevron form, `end` the end of a logical line."""


class ScriptPlace(NamedTuple):
    """Where something stands: line and column count from 1, `start` from 0; all in characters."""

    line: int
    column: int
    start: int


class ScriptToken(NamedTuple):
    """A token; of a string `text` is its value, escapes resolved, else what is written.

    `folded` is the text as AppleScript compares words.
    """

    kind: Kind
    text: str
    start: int
    folded: str = ""


class ScanFault(NamedTuple):
    """What cannot be read, and where it begins."""

    message: str
    start: int


class Scan(NamedTuple):
    """The tokens of a script, and where its comments stand (those of an AppleScript)."""

    tokens: tuple[ScriptToken, ...]
    faults: tuple[ScanFault, ...]
    comments: tuple[tuple[int, int], ...] = ()


_UNUSUAL: Final = re.compile(r"[^\t\r\n -~]")
_UNSEEN: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
"""Categories of characters that show as nothing, or end a line for some readers only."""


def hidden_in(script: str, lead: str = "") -> list[ScanFault]:
    """Return the first character that hides, in any place; `lead` may stand at the beginning."""
    for match in _UNUSUAL.finditer(script):
        at, char = match.start(), match.group()
        if unicodedata.category(char) in _UNSEEN and not (at == 0 and char == lead):
            return [ScanFault(f"there is a hidden character (U+{ord(char):04X})", at)]
    return []


_PLAIN: Final = re.compile(
    r"[ \t\ufeff]*+(?:(?P<word>(?:isn|doesn)['’]t\b|[^\W\d]\w*)"
    r"|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?))",
    re.IGNORECASE,
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
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t"}


def scan_applescript(script: str) -> Scan:
    """Return the tokens of an AppleScript and what could not be read; never raises."""
    if len(script) > MAX_SCRIPT:
        return Scan((), (ScanFault(f"the script is longer than {MAX_SCRIPT} characters", 0),))
    tokens: list[ScriptToken] = []
    comments: list[tuple[int, int]] = []
    faults = hidden_in(script, lead="\ufeff")
    at = 0
    while at < len(script):
        while match := _PLAIN.match(script, at):
            kind, at = match.lastgroup, match.end()
            text = match[kind]  # type: ignore[index]
            folded = text.casefold().replace("’", "'")
            tokens.append(ScriptToken(kind, text, match.start(kind), folded))  # type: ignore[arg-type]
        if at < len(script):
            start, before = at, len(tokens)
            at = _scan_token(script, at, tokens, faults)
            if len(tokens) == before and script[start] in "-#(¬":
                comments.append((start, at))
    tokens.append(ScriptToken("end", "", len(script)))
    return Scan(tuple(tokens), tuple(faults), tuple(comments))


def _scan_token(script: str, at: int, tokens: list[ScriptToken], faults: list[ScanFault]) -> int:
    char = script[at]
    if match := _BLANKS.match(script, at):
        return match.end()
    if char in "\r\n" and (match := _LINE_END.match(script, at)):
        tokens.append(ScriptToken("end", "", at))
        return match.end()
    if script.startswith("(*", at):
        return _scan_comment(script, at, faults)
    if match := _LINE_COMMENT.match(script, at) or _CONTINUED.match(script, at):
        return match.end()
    if char == '"':
        return _scan_string(script, at, tokens, faults)
    if char == "|":
        match = _PIPES.match(script, at)
        if match is None:
            faults.append(ScanFault("a name between bars has no closing bar", at))
            return len(script)
        text = _unescape_text(match[1])
        tokens.append(ScriptToken("quoted", text, at, text.casefold()))
        return match.end()
    if match := _CHEVRON.match(script, at) or _DOUBLE.match(script, at):
        tokens.append(ScriptToken("raw", match.group(), at, match.group().casefold()))
        return match.end()
    if match := _SIGN.match(script, at):
        tokens.append(ScriptToken("sign", match.group(), at, match.group().casefold()))
        return match.end()
    faults.append(ScanFault(f"the character U+{ord(char):04X} has no meaning in AppleScript", at))
    return at + 1


def _scan_string(script: str, at: int, tokens: list[ScriptToken], faults: list[ScanFault]) -> int:
    match = _STRING.match(script, at)
    if match is None:
        faults.append(ScanFault("a closing quotation mark is missing", at))
        return len(script)
    text = _unescape_text(match[1])
    tokens.append(ScriptToken("string", text, at, text.casefold()))
    return match.end()


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
