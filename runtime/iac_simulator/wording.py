"""JavaScript errors in the words of JavaScriptCore, the engine of the real osascript.

Only the common ones are translated; scripts tell errors of this kind apart by words, because they
all have the number -2700.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["in_words"]

_PLACE: Final = re.compile(r"<input>:(\d+):(\d+)")
_CALLEE: Final = re.compile(r"[\w$.\]\[\"']*")


def in_words(error: Mapping[str, Any], script: str, prefix: int) -> str:
    """Return the text of an uncaught JavaScript error.

    Args:
        error: `text`, `name`, `message` and `stack` as `__run` gives them.
        script: The source.
        prefix: Characters that stood before the first line when it was evaluated.
    """
    message = str(error["message"])
    for pattern, say in _TABLE:
        found = pattern.fullmatch(message)
        if found:
            return f"{error['name']}: {say(found, _expression(error, script, prefix))}"
    return str(error["text"])


def _expression(error: Mapping[str, Any], script: str, prefix: int) -> tuple[str, str, str]:
    """Return the failing expression, the call it is in and what follows on its line.

    All are empty where the stack does not tell the place.
    """
    place = _PLACE.search(str(error["stack"]))
    lines = script.split("\n")
    if place is None or int(place[1]) > len(lines):
        return "", "", ""
    line, column = lines[int(place[1]) - 1], int(place[2]) - 1
    column -= prefix if place[1] == "1" else 0
    column = min(max(column, 0), len(line))
    start = column
    while start > 0 and re.match(r"[\w$.\])(\[\"']", line[start - 1]):
        start -= 1
    tail = _CALLEE.match(line, column)
    end = tail.end() if tail else column
    callee = line[start:end].lstrip("([")
    return callee, callee + _parenthesised(line[end:]), line[end:]


def _parenthesised(text: str) -> str:
    """Return the balanced parentheses that `text` begins with."""
    depth = 0
    for index, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[: index + 1] if letter == ")" else ""
    return ""


Say = Callable[[re.Match[str], tuple[str, str, str]], str]


def _not_a_function(_found: re.Match[str], where: tuple[str, str, str]) -> str:
    callee, call, _ = where
    if not callee:
        return "undefined is not a function"
    return f"{callee} is not a function. (In '{call}', '{callee}' is undefined)"


def _no_object(found: re.Match[str], where: tuple[str, str, str]) -> str:
    callee = where[0] or f"{found['what']}.{found['name']}"
    return f"{found['what']} is not an object (evaluating '{callee}')"


def _no_target(found: re.Match[str], where: tuple[str, str, str]) -> str:
    """An assignment is named whole, to the end of its statement."""
    rest = where[2].partition(";")[0].rstrip()
    said = _no_object(found, where)
    return f"{said[:-2]}{rest}')" if where[0] else said


_TABLE: Final[tuple[tuple[re.Pattern[str], Say], ...]] = (
    (re.compile(r"(?P<name>\S+) is not defined"), lambda m, _: f"Can't find variable: {m['name']}"),
    (re.compile(r"not a function|\S+ is not a function"), _not_a_function),
    (
        re.compile(r"cannot read property '(?P<name>.*)' of (?P<what>null|undefined)"),
        _no_object,
    ),
    (
        re.compile(r"cannot set property '(?P<name>.*)' of (?P<what>null|undefined)"),
        _no_target,
    ),
    (
        re.compile(r"unexpected token in expression: '(?P<token>.*)'"),
        lambda m, _: f"Unexpected token '{m['token']}'",
    ),
)
