"""Errors: what an app answers with, a state that is not right, and the words of osascript.

JavaScript errors are put into the words of JavaScriptCore, the engine of the real osascript. Only
the common ones are; scripts tell them apart by words, because they all have the number -2700.
Source of the lines: public threads of 10.10 to 10.13 (offsets and a line number) and of 10.14 on.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from iac_runtime.apple_errors import APP_ERROR, APPLE_ERRORS

_TRANSLATIONS: Final[Mapping[str, Mapping[str, str]]] = tomllib.loads(
    Path(__file__).with_name("languages.toml").read_text("utf-8")
)
"""Language -> number -> what is said of it; `other` is said of any other number."""

LANGUAGES: Final = ("en", *_TRANSLATIONS)


def error_message(number: int, app: str, language: str = "en") -> str:
    """Return what JXA says for `number` from the app called `app`."""
    texts = _TRANSLATIONS.get(language, {})
    english = APPLE_ERRORS.get(number, APP_ERROR).said
    return texts.get(str(number), texts.get("other", english)).format(app=app)


class EventRefusedError(Exception):
    """An app refused an event with this number."""

    def __init__(self, number: int) -> None:
        super().__init__(f"{error_message(number, 'the app')} ({number})")
        self.number = number


class Unreachable(Exception):  # noqa: N818 - the name of the condition
    """JXA itself finds no such application: a plain JavaScript error, without a number."""


class StateError(ValueError):
    """A world cannot be used; the text is one line that says where and what would be right."""

    def __init__(self, text: str) -> None:
        # Keys and values of a state file are foreign and may hold line breaks of any kind.
        super().__init__(" ".join(text.splitlines()))


_DENIED: Final = -1743
"""Said by JXA without the name of the error class before it."""

_LINE: Final = re.compile(r"<input>:(\d+)")
_PLACE: Final = re.compile(r"<input>:(\d+):(\d+)")
_CALLEE: Final = re.compile(r"[\w$.\]\[\"']*")


def _jsc_wording(error: Mapping[str, Any], script: str, prefix: int) -> str:
    """Return the text of an uncaught JavaScript error in the words of JavaScriptCore.

    Args:
        error: `text`, `name`, `message` and `stack` as `__run` gives them.
        script: The source.
        prefix: Characters that stood before the first line when it was evaluated.
    """
    message = str(error["message"])
    callee, call, rest = _failing_expression(error, script, prefix)
    if match := re.fullmatch(r"(\S+) is not defined", message):
        wording = f"Can't find variable: {match[1]}"
    elif re.fullmatch(r"not a function|\S+ is not a function", message):
        wording = f"{callee} is not a function. (In '{call}', '{callee}' is undefined)"
        wording = wording if callee else "undefined is not a function"
    elif match := re.fullmatch(r"cannot (\w+) property '(.*)' of (null|undefined)", message):
        where = callee or f"{match[3]}.{match[2]}"
        if callee and match[1] == "set":
            # An assignment is named whole, to the end of its statement.
            where += rest.partition(";")[0].rstrip()
        wording = f"{match[3]} is not an object (evaluating '{where}')"
    elif match := re.fullmatch(r"unexpected token in expression: '(.*)'", message):
        wording = f"Unexpected token '{match[1]}'"
    else:
        return str(error["text"])
    return f"{error['name']}: {wording}"


def _failing_expression(error: Mapping[str, Any], script: str, prefix: int) -> tuple[str, str, str]:
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
    return callee, callee + _balanced_parentheses(line[end:]), line[end:]


def _balanced_parentheses(text: str) -> str:
    """Return the balanced parentheses that `text` begins with."""
    depth = 0
    for index, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[: index + 1] if letter == ")" else ""
    return ""


def error_text(reply: Mapping[str, Any], script: str) -> str:
    """Return the text of an uncaught error, in JavaScriptCore's words."""
    error = reply["error"]
    if error["number"] == _DENIED:
        return str(error["message"])
    if error["coded"]:
        return str(error["text"])
    return _jsc_wording(error, script, reply.get("prefix", 0))


def error_line(
    error: Mapping[str, Any], text: str, script: str, file: str | None, style: str
) -> str:
    """Return the line for an error, with its line end.

    Args:
        error: `number`, `line` and `stack` as `__run` gives them.
        text: What `error_text` made of it.
        script: The source.
        file: The script's file, None for `-e` and standard input.
        style: `new` or `old`.
    """
    where = f"{file}: " if file is not None else ""
    if style == "new":
        return f"{where}execution error: Error: {text} ({error['number']})\n"
    lines = script.split("\n")
    number = min(error.get("line") or _script_line(str(error.get("stack", ""))), len(lines))
    start = sum(len(line) + 1 for line in lines[: number - 1])
    place = f"{start}:{start + len(lines[number - 1])}: "
    place += f"execution error: Error on line {number}: {text} ({error['number']})\n"
    return f"{where.rstrip()}{place}"


def _script_line(stack: str) -> int:
    """Return the line of the script's own outermost frame, 1 where the engine does not tell."""
    frames = stack.split("\n")
    ours = next((i for i, frame in enumerate(frames) if "__run" in frame), len(frames))
    places = [place for frame in frames[:ours] if (place := _LINE.search(frame))]
    return int(places[-1][1]) if places else 1
