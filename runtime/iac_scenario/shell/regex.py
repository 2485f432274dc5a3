"""POSIX regular expressions, basic and extended, as Python writes them.

Of several alternatives Python takes the first that fits, POSIX the longest; all else is the same.
"""

import re
from typing import Final

from iac_scenario.errors import ToolError

__all__ = ["CLASSES", "compiled"]

CLASSES: Final = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z",
    "space": r"\s", "blank": r" \t", "punct": r"!-/:-@\[-`{-~", "xdigit": "0-9A-Fa-f",
    "print": r"\x20-\x7e", "graph": r"\x21-\x7e", "cntrl": r"\x00-\x1f\x7f",
}  # fmt: skip
"""What stands inside a Python set for a class of POSIX: letters and digits of ASCII."""

_OPERATORS: Final = "(){}|+?"
_KEPT: Final = "wWsSbB123456789"
_OWN: Final = {"<": r"\b(?=\w)", ">": r"\b(?<=\w)", "n": r"\n", "t": r"\t"}


def compiled(text: str, *, extended: bool, fold: bool = False) -> re.Pattern[str]:
    """Return the compiled form. Raises ToolError for an expression that is none."""
    try:
        return re.compile(_translated(text, extended=extended), re.IGNORECASE if fold else 0)
    except (re.error, RecursionError, OverflowError) as error:
        raise ToolError(f"{text!r} is no regular expression: {error}") from None


def _translated(text: str, *, extended: bool) -> str:
    found: list[str] = []
    at = 0
    start = True
    while at < len(text):
        character = text[at]
        follows = text[at + 1 : at + 2]
        operator = ""
        if character == "[":
            piece, at = _bracket(text, at)
        elif character == "\\":
            if not follows:
                raise ToolError(f"{text!r} is no regular expression: it ends with a backslash")
            at += 2
            if follows in _OPERATORS and not extended:
                operator = piece = follows
            elif follows in _KEPT:
                piece = f"\\{follows}"
            else:
                piece = _OWN.get(follows) or re.escape(follows)
        else:
            at += 1
            piece = character
            if character in _OPERATORS:
                operator = character if extended else ""
                piece = character if extended else f"\\{character}"
            elif character == "^":
                piece = "^" if extended or start else r"\^"
            elif character == "$":
                ends = ("",) if extended else ("", r"\)", r"\|")
                piece = "$" if extended or text[at : at + 2] in ends else r"\$"
            elif character == "*" and not start:
                operator = "*"
            elif character not in ".":
                piece = re.escape(character)
        # Python reads a second repetition as a way of repeating.
        if operator and operator in "*+?" and found and found[-1] in ("*", "+", "?"):
            found.insert(0, "(?:")
            found.append(")")
        elif operator and operator in "+?" and (start or not found):
            piece = f"\\{operator}"
        found.append(piece)
        start = (operator in ("(", "|") and bool(operator)) or (start and piece == "^")
    return "".join(found)


def _bracket(text: str, at: int) -> tuple[str, int]:
    """Return a bracket expression, in which only classes and `^` have a meaning."""
    end = at + 1
    pieces = ["["]
    if text[end : end + 1] == "^":
        pieces.append("^")
        end += 1
    first = True
    while end < len(text):
        character = text[end]
        if character == "]" and not first:
            return f"{''.join(pieces)}]", end + 1
        first = False
        if text.startswith("[:", end) and (close := text.find(":]", end)) > 0:
            name = text[end + 2 : close]
            if name not in CLASSES:
                raise ToolError(f"[:{name}:] is no class of characters.")
            pieces.append(CLASSES[name])
            end = close + 2
            continue
        pieces.append(f"\\{character}" if character in "[]\\&~|^" else character)
        end += 1
    raise ToolError(f"{text!r} is no regular expression: a [ is not closed")
