"""The arguments of osascript: what to run, in which language, how to print."""

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Options", "UsageError", "read_options"]


class UsageError(ValueError):
    """An argument that osascript refuses; the text is its one line."""


class Options(NamedTuple):
    """`lines` are those of `-e`, None without one; `file` is None for a script on stdin.

    `interactive` is `-i`: `lines` or `file` are loaded, then lines of standard input answered.
    `form` is `h` or `s` (human or source form), `errors` is `e` or `o` (stderr or stdout).
    """

    language: str
    lines: tuple[str, ...] | None
    file: str | None
    argv: tuple[str, ...]
    form: str
    errors: str
    interactive: bool = False


def read_options(argv: Sequence[str]) -> Options:
    """Return the options of `argv` without the program's name.

    With `-e`, a `--` before the arguments is eaten; after a file name it stays (measured, see
    docs/simulator.md).

    Raises:
        UsageError: An unknown option, or a value that is missing.
    """
    language, form, errors, interactive = "AppleScript", "h", "e", False
    lines: list[str] = []
    words = list(argv)
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        if word == "--":
            break
        flag, value = word[1], word[2:]
        if flag == "i":
            interactive = True
            if value:
                words.insert(0, f"-{value}")
            continue
        if flag not in "les":
            raise UsageError(f"osascript: illegal option -- {flag}")
        if not value:
            if not words:
                raise UsageError(f"osascript: option requires an argument -- {flag}")
            value = words.pop(0)
        if flag == "l":
            language = value
        elif flag == "e":
            lines.append(value)
        else:
            for letter in value:
                if letter not in "hseo":
                    raise UsageError(f"osascript: unknown flag {letter!r} for -s")
                form, errors = (letter, errors) if letter in "hs" else (form, letter)
    if lines:
        return Options(language, tuple(lines), None, tuple(words), form, errors, interactive)
    file = words.pop(0) if words else None
    file = None if file == "-" else file
    return Options(language, None, file, tuple(words), form, errors, interactive)
