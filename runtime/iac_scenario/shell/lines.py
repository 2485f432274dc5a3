"""A command line as pipelines of simple commands, and its commands as rules see them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from iac_scenario.errors import ToolError
from iac_scenario.shell.words import WAY_OUT, Hole, Letter, Token, Word, literal, tokens

__all__ = ["Command", "Pipeline", "Redirect", "all_words", "parse", "run_by_xargs", "segments"]


class Redirect(NamedTuple):
    """A redirection of a stream (0, 1, 2): its sign, and the file, stream or text it names."""

    stream: int
    kind: str
    target: Word


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command: what it sets, its words, where its streams go."""

    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]


class Pipeline(NamedTuple):
    """Commands joined by `|`, and when to run them: `;` always, `&&` after success, `||` not.

    `negated` where a `!` stands before them.
    """

    when: str
    commands: tuple[Command, ...]
    negated: bool = False


_LONGEST: Final = 100_000
_ASSIGNED: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_XARGS_VALUES: Final = "nIdL"


def parse(text: str) -> list[Pipeline]:
    """Return the pipelines of a command line. Raises ToolError for what is not understood."""
    if len(text) > _LONGEST:
        raise ToolError(f"the command has more than {_LONGEST:,} characters.")
    pipelines: list[Pipeline] = []
    when, commands = ";", list[Command]()
    words, redirects = list[Word](), list[Redirect]()
    pending: tuple[int, str] | None = None
    for token in [*tokens(text), Token(";")]:
        if pending is not None:
            if token.kind != "word":
                raise ToolError(f"a file name is missing after {pending[1]}.")
            redirects.append(Redirect(*pending, token.word))
            pending = None
        elif token.kind == "word":
            words.append(token.word)
        elif token.kind == "0<<":
            redirects.append(Redirect(0, "<<", token.word))
        elif token.kind[0].isdigit():
            pending = int(token.kind[0]), token.kind[1:]
        else:
            if token.kind == "|&":
                redirects.append(Redirect(2, ">&", literal("1")))
            if words or redirects:
                commands.append(_command(words, redirects))
                words, redirects = [], []
            elif token.kind != ";" or commands or when != ";":
                raise ToolError(f"a command is missing before {token.kind}.")
            if token.kind in ("|", "|&"):
                continue
            if commands:
                pipelines.append(_pipeline(when, commands))
            commands, when = [], token.kind
    return pipelines


def segments(text: str) -> list[str]:
    """Return the simple commands of a line as text, for rules about commands.

    What xargs runs is a command of its own. Raises ToolError where the line is not understood, or
    where a variable hides what a command is given.
    """
    found = []
    for pipeline in parse(text):
        for command in pipeline.commands:
            if command.assignments or any(_hides(word) for word in command.words):
                raise ToolError(f"variables hide what a command is given; {WAY_OUT}.")
            words = [word.text for word in command.words]
            found.append(" ".join(words))
            if inner := run_by_xargs(words):
                found.append(" ".join(inner))
    return found


def run_by_xargs(words: Sequence[str]) -> Sequence[str]:
    """Return the command that xargs is given; empty for any other command, and for its default."""
    if words[:1] != ["xargs"]:
        return ()
    at = 1
    while at < len(words) and words[at].startswith("-") and len(words[at]) > 1:
        at += 2 if words[at][-1] in _XARGS_VALUES and len(words[at]) == 2 else 1
    return words[at:]


def all_words(pipelines: Sequence[Pipeline]) -> Iterator[list[str]]:
    """Yield the words of every command that a line runs, those that xargs runs included."""
    for pipeline in pipelines:
        for command in pipeline.commands:
            words = [word.text for word in command.words]
            yield words
            if inner := run_by_xargs(words):
                yield list(inner)


def _hides(word: Word) -> bool:
    return any(isinstance(unit, Hole) and unit.name != "?" for unit in word.units)


def _pipeline(when: str, commands: list[Command]) -> Pipeline:
    first, *others = commands
    negated = first.words[:1] == (Word((Letter("!"),)),)
    if negated:
        first = Command(first.assignments, first.words[1:], first.redirects)
        if not first.words and not first.assignments:
            raise ToolError("a command is missing after !.")
    return Pipeline(when, (first, *others), negated)


def _command(words: list[Word], redirects: list[Redirect]) -> Command:
    """Take off the assignments that stand before the words."""
    assignments = []
    rest = list(words)
    while rest and (found := _assignment(rest[0])) is not None:
        assignments.append(found)
        rest.pop(0)
    if rest and rest[0].is_open:
        raise ToolError(f"a variable in the place of a command is not interpreted; {WAY_OUT}.")
    if rest and rest[0].text == "[[" and any(word.is_pattern for word in rest[1:]):
        raise ToolError(f"patterns in [[ are not interpreted; {WAY_OUT}.")
    return Command(tuple(assignments), tuple(rest), tuple(redirects))


def _assignment(word: Word) -> tuple[str, Word] | None:
    plain = "".join(
        unit.text if isinstance(unit, Letter) and not unit.quoted else "\0" for unit in word.units
    )
    found = _ASSIGNED.match(plain)
    if found is None:
        return None
    return found[1], Word(word.units[found.end() :], kept=True)
