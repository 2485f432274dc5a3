"""The part of a shell's grammar that is understood.

Words, quotes, variables, `&& || ; | !`, redirections and here-documents. Everything else
(substitutions, subshells, loops, jobs) is refused by name, so that no command ever means something
else here than in a shell.
"""

import re
from typing import Final, NamedTuple, TypeAlias

from iac_scenario.errors import ToolError

__all__ = ["WAY_OUT", "Hole", "Letter", "Token", "Unit", "Word", "literal", "tokens"]


class Letter(NamedTuple):
    """A character, and whether it was quoted."""

    text: str
    quoted: bool = False


class Hole(NamedTuple):
    """A variable in a word: its name, what stands for one that is not set or empty, if quoted."""

    name: str
    default: str = ""
    quoted: bool = False


Unit: TypeAlias = Letter | Hole


class Word(NamedTuple):
    """A word; `kept` where a quote keeps it even if nothing is left of it."""

    units: tuple[Unit, ...] = ()
    kept: bool = False

    @property
    def text(self) -> str:
        """The word as it is written, quotes taken off."""
        return "".join(
            f"${unit.name}" if isinstance(unit, Hole) else unit.text for unit in self.units
        )

    @property
    def is_open(self) -> bool:
        """Whether it holds a variable, whose value only the run knows."""
        return any(isinstance(unit, Hole) for unit in self.units)

    @property
    def is_pattern(self) -> bool:
        """Whether it holds an unquoted `*`, `?` or `[`."""
        return any(
            isinstance(unit, Letter) and unit.text in "*?[" and not unit.quoted
            for unit in self.units
        )


WAY_OUT: Final = "a real shell does it: --allow-real-bash"
_REFUSED: Final = {
    "`": "substitutions",
    "(": "subshells",
    ")": "subshells",
    "&": "background jobs",
}
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACED: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*|\?)(?::-([^}$`\"'\\]*))?\}")


class Token(NamedTuple):
    """A piece of a line: `word`, an operator, or a stream's number and its redirection."""

    kind: str
    word: Word = Word()


def literal(text: str) -> Word:
    """Return a word that stands for itself."""
    return Word(tuple(Letter(character, quoted=True) for character in text), kept=True)


def tokens(text: str) -> list[Token]:
    """Return the tokens of a command line. Raises ToolError for what is not understood."""
    found: list[Token] = []
    waiting: list[tuple[int, _Delimiter]] = []
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
            if text.startswith(";;", at):
                raise ToolError("a command is missing before ;.")
            found.append(Token("\n" if character == "\n" else ";"))
            at += 1
            if character == "\n":
                at = _bodies(text, at, waiting, found)
        elif text.startswith(("&&", "||", "|&"), at):
            found.append(Token(text[at : at + 2]))
            at += 2
        elif character == "|":
            found.append(Token("|"))
            at += 1
        elif text.startswith("<<", at) and not text.startswith("<<<", at):
            delimiter, at = _delimiter(text, at + 2)
            waiting.append((len(found), delimiter))
            found.append(Token("0<<"))
        elif (length := _redirection(text, at)) > 0:
            sign = text[at : at + length]
            found.append(
                Token(sign if sign[0].isdigit() else f"{'0' if '<' in sign else '1'}{sign}")
            )
            at += length
        elif character in _REFUSED:
            raise ToolError(f"{_REFUSED[character]} ({character}) are not interpreted; {WAY_OUT}.")
        else:
            word, at = _word(text, at)
            found.append(Token("word", word))
    _bodies(text, at, waiting, found)
    return _without_line_ends(found)


def _without_line_ends(tokens: list[Token]) -> list[Token]:
    """Make line ends `;`, but for those that say nothing: at the start, or after an operator."""
    kept: list[Token] = []
    for token in tokens:
        if token.kind != "\n":
            kept.append(token)
        elif kept and kept[-1].kind not in (";", "&&", "||", "|", "|&"):
            kept.append(Token(";"))
    return kept


class _Delimiter(NamedTuple):
    text: str
    literal: bool
    indented: bool


def _delimiter(text: str, at: int) -> tuple[_Delimiter, int]:
    indented = text.startswith("-", at)
    at += indented
    while text[at : at + 1] in (" ", "\t"):
        at += 1
    word, end = _word(text, at)
    if end == at:
        raise ToolError("a word is missing after <<.")
    literal = word.kept or any(isinstance(unit, Letter) and unit.quoted for unit in word.units)
    return _Delimiter(word.text, literal, indented), end


def _bodies(text: str, at: int, waiting: list[tuple[int, _Delimiter]], found: list[Token]) -> int:
    """Read the here-documents that begin here, into their tokens; return where they end."""
    for index, delimiter in waiting:
        lines = []
        while at < len(text):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            line, at = text[at:end], end + 1
            line = line.lstrip("\t") if delimiter.indented else line
            if line == delimiter.text:
                break
            lines.append(f"{line}\n")
        body = "".join(lines)
        units = literal(body).units if delimiter.literal else _here(body)
        found[index] = Token("0<<", Word(tuple(units), kept=True))
    waiting.clear()
    return min(at, len(text))


def _here(body: str) -> list[Unit]:
    units: list[Unit] = []
    at = 0
    while at < len(body):
        at = _in_quotes(body, at, units, "$`\\")
    return units


def _redirection(text: str, at: int) -> int:
    """Return the length of a redirection sign here, or 0."""
    digit = 1 if text[at] in "012" and text[at + 1 : at + 2] in ("<", ">") else 0
    if digit and text.startswith("<<", at + digit):
        raise ToolError(f"here-documents of a numbered stream are not interpreted; {WAY_OUT}.")
    signs = (">>", ">&", ">|", ">", "<<<", "<")
    for sign in signs if digit else ("&>>", "&>", *signs):
        if text.startswith(sign, at + digit):
            return digit + len(sign)
    return 0


def _word(text: str, at: int) -> tuple[Word, int]:
    units: list[Unit] = []
    kept = False
    while at < len(text) and text[at] not in " \t\n;|<>&":
        character = text[at]
        if character == "'":
            end = _closing(text, at, "'")
            units += [Letter(inner, quoted=True) for inner in text[at + 1 : end]]
            at, kept = end + 1, True
        elif character == '"':
            at, kept = at + 1, True
            while at < len(text) and text[at] != '"':
                at = _in_quotes(text, at, units, '"\\$`')
            if at >= len(text):
                raise ToolError('a quote (") is not closed.')
            at += 1
        elif character == "\\":
            if at + 1 == len(text):
                raise ToolError("the command ends with a backslash.")
            if text[at + 1] != "\n":
                units.append(Letter(text[at + 1], quoted=True))
            at += 2
        elif character == "$":
            at = _variable(text, at, units, quoted=False)
        elif character in _REFUSED:
            raise ToolError(f"{_REFUSED[character]} ({character}) are not interpreted; {WAY_OUT}.")
        else:
            units.append(Letter(character))
            at += 1
    return Word(tuple(units), kept), at


def _closing(text: str, at: int, quote: str) -> int:
    end = text.find(quote, at + 1)
    if end < 0:
        raise ToolError(f"a quote ({quote}) is not closed.")
    return end


def _in_quotes(text: str, at: int, units: list[Unit], escaped: str) -> int:
    """Read one character or variable inside double quotes (or a here-document)."""
    character = text[at]
    if character == "$":
        return _variable(text, at, units, quoted=True)
    if character == "`":
        raise ToolError(f"{_REFUSED[character]} ({character}) are not interpreted; {WAY_OUT}.")
    if character == "\\" and text[at + 1 : at + 2] == "\n":
        return at + 2
    if character == "\\" and text[at + 1 : at + 2] in tuple(escaped):
        at += 1
    units.append(Letter(text[at], quoted=True))
    return at + 1


def _variable(text: str, at: int, units: list[Unit], *, quoted: bool) -> int:
    """Read what begins with `$`: a variable, the last status, or the sign itself."""
    follows = text[at + 1 : at + 2]
    if follows == "?":
        units.append(Hole("?", quoted=quoted))
        return at + 2
    if (name := _NAME.match(text, at + 1)) is not None:
        units.append(Hole(name[0], quoted=quoted))
        return name.end()
    if (braced := _BRACED.match(text, at + 1)) is not None:
        units.append(Hole(braced[1], braced[2] or "", quoted))
        return braced.end()
    if follows == "(":
        raise ToolError(f"substitutions ($() are not interpreted; {WAY_OUT}.")
    if follows and (follows.isalnum() or follows in "{$!@*#-" or (follows in "'\"" and not quoted)):
        raise ToolError(f"variables of the form ${follows} are not interpreted; {WAY_OUT}.")
    units.append(Letter("$", quoted=True))
    return at + 1
