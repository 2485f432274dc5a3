"""Which commands a Bash line holds, for the rules that look at each of them.

Bash itself runs the line; nothing here does. A line that could run what is not seen here
(substitutions, variables, subshells, loops, jobs, `eval`, `bash -c`) is unclear: rules in doubt
deny it or ask about it, and never allow it.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple

LONGEST: Final = 100_000
"""Characters of a line."""


class UnclearLineError(Exception):
    """A line may run more than can be seen; the text says what is in the way."""


class CommandWord(NamedTuple):
    """A word without its quotes, and whether Bash may make other words of it (`*`, `{a,b}`)."""

    text: str
    grows: bool = False


class ParsedCommand(NamedTuple):
    """A command without its wrappers, as it was written, and its redirections with their files."""

    words: list[CommandWord]
    written: list[CommandWord]
    targets: list[tuple[str, CommandWord]]


_PIECES: Final = r"""(?:
    '[^']*'
  | \\[^\n]
  | "(?:[^"\\$`]|\\.|\$\?|\$(?="))*"
  | \$\?|\$(?=\s|\Z)
  | [^\s'"\\$`();|<>&]
)+"""
_TOKEN: Final = re.compile(
    rf"""
    (?P<blank>[ \t]+|(?<![^\ \t\n])\\\n)
  | (?P<comment>\#[^\n]*)
  | (?P<here>[0-9]*<<(?!<)(?P<tabs>-?)[ \t]*(?P<end>{_PIECES}))
  | (?P<redirect>[0-9]*(?:>>|>&|>\||<<<|<&|<>|[<>])|&>>?)
  | (?P<operator>&&|\|\||\|&|[;|&\n])
  | (?P<word>{_PIECES})
    """,
    re.VERBOSE | re.DOTALL,
)
_QUOTED: Final = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)""", re.DOTALL)
_IN_DOUBLE: Final = re.compile(r'\\([$`"\\\n])')
_HERE_RUNS: Final = re.compile(r"`|\$[({\[]|\\$", re.MULTILINE)

_KNOWN: Final = tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8"))
_RUNNERS, _SHELLS, _RECKONERS, _READERS, MOVERS, _ONLY_READ, _PICKY = (
    frozenset[str](_KNOWN[name])
    for name in "runners shells reckoners readers movers only_read picky".split()
)
_ASSIGNED: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_XARGS_OPTION: Final = re.compile(
    r"-(?:[0rtx]+|-null|-no-run-if-empty|(?P<letter>[dEILnPs])(?P<value>.*))", re.DOTALL
)


def parse_commands(line: str) -> list[ParsedCommand]:
    """Return every command that a line runs; what an xargs with options runs is one of its own.

    Raises UnclearLineError.
    """
    if len(line) > LONGEST:
        raise UnclearLineError(f"the line has more than {LONGEST:,} characters")
    if any(unicodedata.category(sign) == "Cc" and sign not in "\n\t" for sign in line):
        raise UnclearLineError("the line contains control characters")
    found = []
    for written, targets in _split_commands(line):
        words = _strip_wrappers(written)
        inner = _xargs_command(words) if words[0].text == "xargs" else []
        if inner and not words[1].text.startswith("-"):
            words, inner = _strip_wrappers(inner), []
        for each, files in ((words, targets), (_strip_wrappers(inner), [])):
            if each:
                _refuse_hidden(each)
                found.append(ParsedCommand(each, written, files))
    return found


def _strip_wrappers(words: list[CommandWord]) -> list[CommandWord]:
    """Return what `timeout`, `nice` and the like run. Raises UnclearLineError."""
    while words and (valued := _KNOWN["wrappers"].get(words[0].text)) is not None:
        name, at = words[0].text, 1
        while at < len(words) and (option := words[at].text).startswith("-"):
            if len(option) < 2 or option[1] not in valued:
                raise UnclearLineError(f"{name} {option} is not analysed")
            at += 1 + (len(option) == 2)
        rest = words[at + (name == "timeout") :]
        if not rest or any(word.grows for word in words[1:at]):
            return words
        words = rest
    return words


def _split_commands(line: str) -> Iterator[tuple[list[CommandWord], list[tuple[str, CommandWord]]]]:
    """Yield the commands between the operators of a line, with their redirections."""
    words: list[CommandWord] = []
    targets: list[tuple[str, CommandWord]] = []
    empty, joined, wants_name = True, False, ""
    for kind, text in [*_scan_tokens(line), ("operator", ";")]:
        if wants_name and kind != "word":
            raise UnclearLineError(f"a name is missing after {wants_name}")
        if kind == "word":
            # A `!` before a command turns its status around.
            if wants_name:
                targets.append((wants_name, _remove_quotes(text)))
            elif words or text != "!":
                words.append(_remove_quotes(text))
            wants_name, empty = "", False
        elif kind in ("redirect", "here"):
            wants_name, empty = text if kind == "redirect" else "", False
        elif empty and not (text in ";\n&" and not joined) and text != "\n":
            raise UnclearLineError(f"a command is missing before {text}")
        elif not empty:
            if words or targets:
                yield words or [CommandWord(":")], targets
            words, targets, empty, joined = [], [], True, text not in ";\n&"


def _scan_tokens(line: str) -> Iterator[tuple[str, str]]:
    """Yield words, redirections and operators; here-documents are read and passed over."""
    at, waiting = 0, list[re.Match[str]]()
    while at < len(line):
        found = _TOKEN.match(line, at)
        if found is None:
            raise UnclearLineError(f"{line[at : at + 2]!r} is not analysed")
        kind, text, at = str(found.lastgroup), found[0], found.end()
        if kind == "here":
            waiting.append(found)
        if kind in ("here", "word") and "\n" in text and waiting:
            raise UnclearLineError("a here-document starts inside a quote")
        if kind not in ("blank", "comment"):
            yield kind, text
        if text == "\n":
            for here in waiting:
                at = _here_document_end(line, at, here)
            waiting.clear()
    if waiting:
        raise UnclearLineError("a here-document has no end")


def _here_document_end(line: str, at: int, here: re.Match[str]) -> int:
    """Return where a here-document ends that begins at `at`."""
    name, tabs = re.escape(_remove_quotes(here["end"]).text), "\t*" if here["tabs"] else ""
    end = re.compile(rf"^{tabs}{name}(?:\n|\Z)", re.MULTILINE).search(line, at)
    if end is None:
        raise UnclearLineError("a here-document has no end")
    # Without quotes around its name, Bash expands it.
    if _QUOTED.search(here["end"]) is None and _HERE_RUNS.search(line, at, end.start()):
        raise UnclearLineError("a here-document can run commands")
    return end.end()


def _remove_quotes(raw: str) -> CommandWord:
    def replace_quoted(found: re.Match[str]) -> str:
        if found[2] is not None:
            return _IN_DOUBLE.sub(lambda hit: hit[1].replace("\n", ""), found[2])
        return found[1] if found[1] is not None else found[3]

    bare = _QUOTED.sub("", raw)
    return CommandWord(_QUOTED.sub(replace_quoted, raw), any(sign in bare for sign in "*?[{"))


def _refuse_hidden(words: Sequence[CommandWord]) -> None:
    """Raise UnclearLineError where a command may run another that is not seen."""
    first, rest = words[0], [word.text for word in words[1:]]
    name = first.text.rpartition("/")[2]
    if first.grows and first.text not in ("[", "[["):
        raise UnclearLineError("the name of a command is a pattern")
    if (
        not name
        or _ASSIGNED.match(first.text)
        or name in _RUNNERS
        or (name in _SHELLS and (not rest or rest[0].startswith("-")))
    ):
        raise UnclearLineError(f"{name} is not analysed")
    if name in _RECKONERS and any(re.search(r"`|\$[({]", word) for word in rest):
        raise UnclearLineError(f"{name} may run its arguments as code")
    if name == "find" and any(_matches_option(word, _KNOWN["find_runs"]) for word in words[1:]):
        raise UnclearLineError("find may run other commands")


def _matches_option(word: CommandWord, options: Sequence[str]) -> bool:
    """Whether a word is one of these options, or a pattern that may become one."""
    if not word.grows:
        return word.text in options
    return "{" in word.text or any(fnmatchcase(option, word.text) for option in options)


def _xargs_command(words: list[CommandWord]) -> list[CommandWord]:
    """Return the command that xargs is given; empty for the one that it has by itself."""
    at, place = 1, ""
    while at < len(words) and words[at].text.startswith("-"):
        found = _XARGS_OPTION.fullmatch(words[at].text)
        if found is None:
            raise UnclearLineError(f"xargs {words[at].text} is not analysed")
        if found["letter"] and not found["value"]:
            at += 1
        if found["letter"] == "I":
            place = found["value"] or "".join(word.text for word in words[at : at + 1])
        at += 1
    inner = words[at:]
    if inner and (inner[0].text in ("find", "xargs") or (place and place in inner[0].text)):
        raise UnclearLineError("xargs runs what it reads")
    return inner


def possible_commands(line: str) -> Iterator[str]:
    """Yield whatever in a line could be a command, quotes and brackets passed over."""
    for between in ("", " "):
        text = re.sub(r"['\"\\]", between, line)
        for words in map(str.split, re.split(r"[;&|(){}`\n<>$=,]+", text)):
            yield from (" ".join(words[at : at + 100]) for at in range(len(words)))


def opened_files(seen: ParsedCommand) -> Iterator[tuple[str, CommandWord]]:
    """Yield the files that a command opens, as far as its words say it: `Read` or `Edit`, a path.

    Of the commands that are known to read or write the files they name, and of redirections.
    """
    for sign, word in seen.targets:
        copied = sign.endswith("&") and re.fullmatch(r"\d+-?|-", word.text)
        if not copied and sign != "<<<" and word.text != "/dev/null":
            if sign != "<":
                yield "Edit", word
            if "<" in sign:
                yield "Read", word
    name = seen.words[0].text.rpartition("/")[2]
    for word in seen.words[1:]:
        if not word.text.startswith("-"):
            if name in _READERS or name in ("cp", "mv"):
                yield "Read", word
            if name in MOVERS or name in _KNOWN["changers"]:
                yield "Edit", word


_SED_READS: Final = re.compile(
    r"(?:(?:\d+|\$)(?:,(?:\d+|\$))?|/[^/\\\n]*/)?[pdq=]"
    r"|s([/#|,])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpI\d]*"
)


def is_read_only_line(line: str) -> bool:
    """Whether nothing that a line runs, or sets for the next, changes anything."""
    if ">" in line:
        return False
    try:
        commands = parse_commands(line)
    except UnclearLineError:
        return False
    return all(
        # What xargs reads may be an option of the command that it runs.
        _is_read_only_command(words)
        and not (words[0].text in _PICKY and written[0].text == "xargs")
        for words, written, _ in commands
    )


def _is_read_only_command(words: Sequence[CommandWord]) -> bool:
    name, rest = words[0].text, [word.text for word in words[1:]]
    if name not in _PICKY:
        return name in _ONLY_READ
    if name == "find":
        return not any(_matches_option(word, _KNOWN["find_writes"]) for word in words[1:])
    if any(word.grows for word in words[1:]):
        return False
    options = [word for word in rest if word.startswith("-")]
    operands = [word for word in rest if not word.startswith("-")]
    if name == "sort":
        return not any("o" in word for word in options)
    if name == "uniq":
        return len(operands) <= 1
    return (
        set(options) <= {"-n", "-E", "-r"}
        and bool(operands)
        and _SED_READS.fullmatch(operands[0]) is not None
    )
