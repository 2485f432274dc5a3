"""Scripts inside of a call: what `run script` is given, and what a shell hands to osascript."""

import re
import shlex
from collections.abc import Iterator
from typing import Final, NamedTuple

from iac_applescript.analysis.findings import Language

SHELLS: Final = frozenset({"sysoexec", "coredosc", "miscdosc"})
"""Events whose direct parameter is a text for a shell: do shell script, Terminal's do script."""

RUN_SCRIPT: Final = "sysodsct"

RUNS_TEXT: Final = SHELLS | {RUN_SCRIPT}
"""Events whose direct parameter is run, and can be read here."""

_HEREDOC: Final = re.compile(
    r"<<-?\s*(['\"]?)(\w+)\1[^\n]*\n(.*?)^\s*\2\s*$", re.DOTALL | re.MULTILINE
)
_ENDS: Final = frozenset({";", "&", "&&", "|", "||", "\n", "(", ")"})


class NestedScript(NamedTuple):
    """A script inside of a call, and its language."""

    text: str
    language: Language


def find_nested_scripts(event: str, text: str, language: str = "") -> Iterator[NestedScript]:
    """Yield the scripts in the text that an event runs; `language` is what it says of it."""
    if event == RUN_SCRIPT:
        yield NestedScript(text, _language_of(language))
    elif event in SHELLS:
        yield from _osascript_texts(text)


def _language_of(name: str) -> Language:
    return "javascript" if name.casefold() == "javascript" else "applescript"


def _osascript_texts(command: str) -> Iterator[NestedScript]:
    """Yield what a command of a shell hands to osascript, by its arguments or as its input."""
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        words = command.split()
    lines: list[str] = []
    language = ""
    inside = False
    for at, word in enumerate([*words, ";"]):
        before = words[at - 1] if at else ""
        if inside and before == "-e":
            lines.append(word)
        elif inside and before == "-l":
            language = word
        elif word in _ENDS:
            if lines:
                yield NestedScript("\n".join(lines), _language_of(language))
            lines, inside = [], False
        elif word.rpartition("/")[2] == "osascript":
            inside, language = True, ""
    if "osascript" in words or any(word.endswith("/osascript") for word in words):
        for found in _HEREDOC.finditer(command):
            yield NestedScript(found[3], _language_of(language))
