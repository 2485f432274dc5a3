"""The line that osascript prints for an error, as old and as current systems write it.

Source: lines in public threads of 10.10 to 10.13 (offsets and a line number) and of 10.14 on.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from iac_simulator.wording import in_words

__all__ = ["error_line", "error_text"]

_SELF_NAMED: Final = ("Not authorized", "Keine Erlaubnis")
"""Messages that JXA prints without the name of the error class before them."""

_LINE: Final = re.compile(r"<input>:(\d+)")


def error_text(reply: Mapping[str, Any], script: str, *, translated: bool) -> str:
    """Return the text of an uncaught error; `translated` asks for JavaScriptCore's words."""
    error = reply["error"]
    if error["message"].startswith(_SELF_NAMED):
        return str(error["message"])
    if error["coded"] or not translated:
        return str(error["text"])
    return in_words(error, script, reply.get("prefix", 0))


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
    name = f"{file}:" if file is not None else ""
    return f"{name}{place}execution error: Error on line {number}: {text} ({error['number']})\n"


def _script_line(stack: str) -> int:
    """Return the line of the script's own outermost frame, 1 where the engine does not tell."""
    frames = stack.split("\n")
    ours = next((i for i, frame in enumerate(frames) if "__run" in frame), len(frames))
    found = [place for frame in frames[:ours] if (place := _LINE.search(frame))]
    return int(found[-1][1]) if found else 1
