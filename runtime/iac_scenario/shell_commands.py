"""The safe commands: each takes its arguments and input, and answers output and a status.

They know the options named here and refuse any other, so that no option is passed over.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from iac_scenario.errors import ToolError
from iac_scenario.places import Parts
from iac_scenario.sandbox import Sandbox

__all__ = ["Answer", "Options", "Place", "Safe", "files_of", "options", "whole_number"]


@dataclass(slots=True)
class Place:
    """Where commands run: the files, the working folder (it moves with cd), the clock."""

    sandbox: Sandbox
    now: Callable[[], datetime]
    cwd: Parts = ()

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
    """Flags that were set, values that were given, and the words that are no options."""

    flags: frozenset[str]
    values: Mapping[str, str]
    words: tuple[str, ...]


def options(name: str, arguments: Sequence[str], flags: str = "", values: str = "") -> Options:
    """Split arguments into one-letter flags, options with a value, and words.

    Raises ToolError for an option that the command does not have here.
    """
    known: set[str] = set()
    given: dict[str, str] = {}
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
        if letters.isdigit() and "n" in values:
            given["n"] = letters
            continue
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter in flags:
                known.add(letter)
            elif letter in values:
                if not letters and not rest:
                    raise ToolError(f"{name}: option -{letter} needs a value.")
                given[letter], letters = letters or rest.pop(0), ""
            else:
                raise ToolError(f"{name}: option {word} is not interpreted here.")
    return Options(frozenset(known), given, tuple(words))


def files_of(
    place: Place, words: Sequence[str], given: bytes
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
            errors.append(str(error))
    return found, errors


def whole_number(name: str, text: str) -> int:
    """Return a count of lines. Raises ToolError for all else."""
    if not (text.isascii() and text.isdigit()):
        raise ToolError(f"{name}: {text!r} is no whole number.")
    return int(text)
