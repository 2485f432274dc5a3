"""The safe commands: each takes its arguments and input, and answers output and a status.

They know the options named here and refuse any other, so that no option is passed over.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from iac_scenario.errors import ToolError
from iac_scenario.places import Parts
from iac_scenario.sandbox import Sandbox

__all__ = [
    "MISSING", "ZERO_ESCAPE", "Answer", "Options", "Place", "Safe", "files_of", "options",
    "printed", "reason", "rows_of", "unescaped", "whole_number",
]  # fmt: skip

_ESCAPES: Final = {
    "n": "\n", "t": "\t", "\\": "\\", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v",
    "e": "\x1b",
}  # fmt: skip
_ESCAPE: Final = re.compile(r"\\(?:([ntrabfve\\])|x([0-9A-Fa-f]{1,2})|(0?[0-7]{1,3}))")
ZERO_ESCAPE: Final = re.compile(r"\\(?:([ntrabfve\\])|x([0-9A-Fa-f]{1,2})|(0[0-7]{0,3}))")
"""The escapes of echo -e and of %b, where an octal number begins with 0."""

MISSING: Final = "No such file or directory"


@dataclass(slots=True)
class Place:
    """Where commands run: the files, the clock, the working folder (cd moves it) and the last."""

    sandbox: Sandbox
    now: Callable[[], datetime]
    cwd: Parts = ()
    before: Parts = ()

    def parts(self, path: str) -> Parts:
        """Return the names that a path means from here."""
        return self.sandbox.parts(path, self.cwd)


class Answer(NamedTuple):
    """What a command leaves: bytes for standard output, lines for standard error, a status."""

    out: bytes = b""
    errors: tuple[str, ...] = ()
    status: int = 0


Safe = Callable[[Place, Sequence[str], bytes], Answer]


class Options(NamedTuple):
    """Flags that were set, values that were given, and the words that are no options.

    `values` holds the last value of an option, `all_values` every one, in order.
    """

    flags: frozenset[str]
    values: Mapping[str, str]
    all_values: Mapping[str, Sequence[str]]
    words: tuple[str, ...]


_NO_NAMES: Final[Mapping[str, str]] = {}


def options(
    name: str,
    arguments: Sequence[str],
    flags: str = "",
    values: str = "",
    names: Mapping[str, str] = _NO_NAMES,
) -> Options:
    """Split arguments into one-letter flags, options with a value, and words.

    `names` leads from long names to letters; an empty letter is an option that changes nothing.
    Raises ToolError for an option that the command does not have here.
    """
    known: set[str] = set()
    given: dict[str, list[str]] = {}
    words: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            words += rest
            break
        if len(word) < 2 or word[0] != "-":
            words.append(word)
            continue
        letters = word[1:]
        if word.startswith("--"):
            long, sign, value = word[2:].partition("=")
            if long not in names:
                raise ToolError(f"{name}: option {word} is not interpreted here.")
            if not (letters := names[long]):
                continue
            if (letters in values) != bool(sign):
                if sign or not rest:
                    raise ToolError(f"{name}: option --{long} is not interpreted in this form.")
                value = rest.pop(0)
            letters += value
        if letters.isdigit() and "n" in values and letters[0] not in flags:
            given.setdefault("n", []).append(letters)
            continue
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter in flags:
                known.add(letter)
            elif letter in values:
                if not letters and not rest:
                    raise ToolError(f"{name}: option -{letter} needs a value.")
                given.setdefault(letter, []).append(letters or rest.pop(0))
                letters = ""
            else:
                raise ToolError(f"{name}: option {word} is not interpreted here.")
    last = {letter: found[-1] for letter, found in given.items()}
    return Options(frozenset(known), last, given, tuple(words))


def files_of(
    name: str, place: Place, words: Sequence[str], given: bytes
) -> tuple[list[tuple[str, bytes]], list[str]]:
    """Return named contents (standard input under the name `-`), and the errors on the way."""
    found: list[tuple[str, bytes]] = []
    errors: list[str] = []
    for word in words or ("-",):
        if word == "-":
            found.append(("-", given))
            continue
        try:
            found.append((word, place.sandbox.read(place.parts(word))))
        except ToolError as error:
            errors.append(f"{name}: {word}: {reason(place, word, error)}")
    return found, errors


def reason(place: Place, word: str, error: ToolError) -> str:
    """Return why a path cannot be used, without the path itself."""
    try:
        parts = place.parts(word)
    except ToolError:
        return str(error).removeprefix(f"{word} ")
    entry = place.sandbox.entry(parts)
    if entry is not None and entry.kind == "folder":
        return "Is a directory"
    return str(error).removeprefix(place.sandbox.shown(parts)).strip(": .")


def rows_of(found: Sequence[tuple[str, bytes]]) -> list[bytes]:
    """Return the lines of contents, without their ends; the end of a file ends a line."""
    rows: list[bytes] = []
    for _, data in found:
        rows += data.split(b"\n")
        if rows[-1] == b"":
            rows.pop()
    return rows


def printed(rows: Sequence[bytes], errors: Sequence[str] = (), trouble: int = 1) -> Answer:
    """Return lines as an answer; with errors the status is `trouble`."""
    out = b"".join(row + b"\n" for row in rows)
    return Answer(out, tuple(errors), trouble if errors else 0)


def unescaped(text: str, escape: re.Pattern[str] = _ESCAPE) -> str:
    """Return a text with its escapes (`\\n`, `\\x41`, `\\101`) replaced."""

    def character(hit: re.Match[str]) -> str:
        if hit[1] is not None:
            return _ESCAPES[hit[1]]
        return chr(int(hit[2], 16) if hit[2] is not None else int(hit[3], 8) & 0xFF)

    return escape.sub(character, text)


def whole_number(name: str, text: str) -> int:
    """Return a count of lines. Raises ToolError for all else."""
    if not (text.isascii() and text.isdigit()):
        raise ToolError(f"{name}: {text!r} is no whole number.")
    return int(text)
