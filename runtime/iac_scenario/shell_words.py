"""The part of a shell's grammar that is understood: words, quotes, `&& || ; |`, redirections.

Everything else (variables, substitutions, subshells, jobs, here-documents) is refused by name,
so that no command ever means something else here than in a shell.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from iac_scenario.errors import ToolError

__all__ = ["Command", "Pipeline", "Redirect", "Word", "parse", "segments"]


class Word(NamedTuple):
    """A word: its text, and for each character whether it was quoted."""

    text: str
    quoted: tuple[bool, ...]

    @property
    def is_pattern(self) -> bool:
        """Whether it holds an unquoted `*`, `?` or `[`."""
        return any(
            character in "*?[" and not quoted
            for character, quoted in zip(self.text, self.quoted, strict=True)
        )


class Redirect(NamedTuple):
    """`<`, `>` or `>>` of a stream (0, 1, 2) to a file, or `>&` to another stream."""

    stream: int
    kind: str
    target: Word


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]


class Pipeline(NamedTuple):
    """Commands joined by `|`, and when to run them: `;` always, `&&` after success, `||` not."""

    when: str
    commands: tuple[Command, ...]


_WAY_OUT: Final = "a real shell does it: --allow-real-bash"
_REFUSED: Final = {
    "$": "variables and substitutions",
    "`": "substitutions",
    "(": "subshells",
    ")": "subshells",
    "&": "background jobs",
}
_LONGEST: Final = 100_000


class _Add(Protocol):
    def __call__(self, piece: str, *, by_quote: bool) -> None: ...


class _Token(NamedTuple):
    kind: str
    word: Word = Word("", ())


def parse(text: str) -> list[Pipeline]:
    """Return the pipelines of a command line. Raises ToolError for what is not understood."""
    if len(text) > _LONGEST:
        raise ToolError(f"the command has more than {_LONGEST:,} characters.")
    pipelines: list[Pipeline] = []
    when, commands = ";", list[Command]()
    words, redirects = list[Word](), list[Redirect]()
    pending: tuple[int, str] | None = None
    for token in [*_tokens(text), _Token(";")]:
        if pending is not None:
            if token.kind != "word":
                raise ToolError(f"a file name is missing after {pending[1]}.")
            redirects.append(Redirect(*pending, token.word))
            pending = None
        elif token.kind == "word":
            words.append(token.word)
        elif token.kind[0].isdigit():
            pending = int(token.kind[0]), token.kind[1:]
        else:
            if words or redirects:
                commands.append(Command(tuple(words), tuple(redirects)))
                words, redirects = [], []
            elif token.kind != ";" or commands or when != ";":
                raise ToolError(f"a command is missing before {token.kind}.")
            if token.kind == "|":
                continue
            if commands:
                pipelines.append(Pipeline(when, tuple(commands)))
            commands, when = [], token.kind
    return pipelines


def segments(text: str) -> list[str]:
    """Return the simple commands of a line as text, for rules about commands.

    Raises ToolError where the line is not understood.
    """
    return [
        " ".join(word.text for word in command.words)
        for pipeline in parse(text)
        for command in pipeline.commands
    ]


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while at < len(text):
        character = text[at]
        if character in " \t":
            at += 1
        elif character == "\\" and text[at + 1 : at + 2] == "\n":
            at += 2
        elif character == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif character in ";\n":
            found.append(_Token(";"))
            at += 1
        elif text.startswith(("&&", "||"), at):
            found.append(_Token(text[at : at + 2]))
            at += 2
        elif character == "|":
            found.append(_Token("|"))
            at += 1
        elif (length := _redirection(text, at)) > 0:
            sign = text[at : at + length]
            found.append(
                _Token(sign if sign[0].isdigit() else f"{'0' if '<' in sign else '1'}{sign}")
            )
            at += length
        elif character in _REFUSED:
            raise ToolError(f"{_REFUSED[character]} ({character}) are not interpreted; {_WAY_OUT}.")
        else:
            word, at = _word(text, at)
            found.append(_Token("word", word))
    return _without_doubles(found)


def _without_doubles(tokens: list[_Token]) -> list[_Token]:
    """Drop line ends that say nothing: at the start, after another, after an operator."""
    kept: list[_Token] = []
    for token in tokens:
        if token.kind == ";" and (not kept or kept[-1].kind in (";", "&&", "||", "|")):
            continue
        kept.append(token)
    return kept


def _redirection(text: str, at: int) -> int:
    """Return the length of a redirection sign here, or 0."""
    digit = 1 if text[at] in "012" and text[at + 1 : at + 2] in ("<", ">") else 0
    if text.startswith("<<", at + digit):
        raise ToolError(f"here-documents (<<) are not interpreted; {_WAY_OUT}.")
    if text.startswith("&>", at):
        raise ToolError("&> is not interpreted; write > FILE 2>&1.")
    for sign in (">>", ">&", ">", "<"):
        if text.startswith(sign, at + digit):
            return digit + len(sign)
    return 0


def _word(text: str, at: int) -> tuple[Word, int]:
    letters: list[str] = []
    quoted: list[bool] = []

    def add(piece: str, *, by_quote: bool) -> None:
        letters.append(piece)
        quoted.extend([by_quote] * len(piece))

    while at < len(text) and text[at] not in " \t\n;|<>&":
        character = text[at]
        if character == "'":
            end = _closing(text, at, "'")
            add(text[at + 1 : end], by_quote=True)
            at = end + 1
        elif character == '"':
            at = _double(text, at + 1, add)
        elif character == "\\":
            if at + 1 == len(text):
                raise ToolError("the command ends with a backslash.")
            add(text[at + 1], by_quote=True)
            at += 2
        elif character in _REFUSED:
            raise ToolError(f"{_REFUSED[character]} ({character}) are not interpreted; {_WAY_OUT}.")
        else:
            add(character, by_quote=False)
            at += 1
    return Word("".join(letters), tuple(quoted)), at


def _closing(text: str, at: int, quote: str) -> int:
    end = text.find(quote, at + 1)
    if end < 0:
        raise ToolError(f"a quote ({quote}) is not closed.")
    return end


def _double(text: str, at: int, add: _Add) -> int:
    while at < len(text) and text[at] != '"':
        character = text[at]
        if character in "$`":
            raise ToolError(f"{_REFUSED[character]} ({character}) are not interpreted; {_WAY_OUT}.")
        if character == "\\" and text[at + 1 : at + 2] in ('"', "\\", "$", "`"):
            at += 1
        add(text[at], by_quote=True)
        at += 1
    if at >= len(text):
        raise ToolError('a quote (") is not closed.')
    return at + 1
