"""From a word of a command line to the texts that a command gets, in a shell's order.

Braces, then `~`, variables and their splitting, then wildcards.
"""

import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Final

from iac_scenario.errors import ToolError
from iac_scenario.places import Parts
from iac_scenario.shell.commands import Place
from iac_scenario.shell.words import Hole, Letter, Unit, Word

__all__ = ["Values", "expanded", "filled"]

Values = Callable[[str], str]
"""From the name of a variable to its value, empty for one that is not set."""

_MOST: Final = 1_000
"""Words that the braces of one word may make."""


def expanded(place: Place, word: Word, values: Values) -> list[str]:
    """Return the texts that a word stands for: none, one or several."""
    return [
        text
        for braceless in _braces(word)
        for split in _split(_at_home(place, braceless), values)
        for text in _paths(place, split)
    ]


def filled(place: Place, word: Word, values: Values) -> str:
    """Return the one text of a word that is not split: a value, a here-document."""
    units = _at_home(place, word).units
    return "".join(
        (values(unit.name) or unit.default) if isinstance(unit, Hole) else unit.text
        for unit in units
    )


def _at_home(place: Place, word: Word) -> Word:
    """Replace a `~` that stands alone or before a slash. Raises ToolError for another's home."""
    if word.units[:1] != (Letter("~"),):
        return word
    if word.units[1:2] not in ((), (Letter("/"),)):
        raise ToolError(f"{word.text}: the home of another user is not interpreted.")
    home = tuple(Letter(character, quoted=True) for character in place.sandbox.mount)
    return Word((*home, *word.units[1:]), word.kept)


def _split(word: Word, values: Values) -> Iterator[Word]:
    """Put values in; one that was not quoted is split where it has blanks."""
    if not word.is_open:
        yield word
        return
    units: list[Unit] = []
    whole = word.kept
    for unit in word.units:
        if isinstance(unit, Letter):
            units.append(unit)
            continue
        value = values(unit.name) or unit.default
        if unit.quoted:
            units += [Letter(character, quoted=True) for character in value]
            continue
        for character in value:
            if character not in " \t\n":
                units.append(Letter(character))
            elif units:
                yield Word(tuple(units))
                units = []
    if units or whole:
        yield Word(tuple(units), kept=True)


def _braces(word: Word) -> list[Word]:
    """Return the words that `{a,b}` and `{1..3}` make."""
    for start, unit in enumerate(word.units):
        if unit != Letter("{"):
            continue
        found = _alternatives(word.units, start)
        if found is None:
            continue
        pieces, end = found
        before, after = word.units[:start], word.units[end:]
        # What is before holds no more braces that count.
        ends = _braces(Word(after))
        middles = [made for piece in pieces for made in _braces(Word(piece))]
        if len(middles) * len(ends) > _MOST:
            raise ToolError(f"braces make more than {_MOST:,} words.")
        return [
            Word((*before, *made.units, *rest.units), kept=word.kept)
            for made in middles
            for rest in ends
        ]
    return [word]


def _alternatives(units: tuple[Unit, ...], start: int) -> tuple[list[tuple[Unit, ...]], int] | None:
    """Return what stands between a brace and its end, and where that is; None if it is no list."""
    depth, begin = 0, start + 1
    pieces: list[tuple[Unit, ...]] = []
    for at in range(start, len(units)):
        if units[at] == Letter("{"):
            depth += 1
        elif units[at] == Letter(",") and depth == 1:
            pieces.append(units[begin:at])
            begin = at + 1
        elif units[at] == Letter("}"):
            depth -= 1
            if depth == 0:
                last = units[begin:at]
                listed = [*pieces, last] if pieces else _range(last)
                return (listed, at + 1) if listed is not None else None
    return None


def _range(units: tuple[Unit, ...]) -> list[tuple[Unit, ...]] | None:
    """Return the words of `1..3`, `01..10` or `a..e`, each with a step behind it or without."""
    if not all(isinstance(unit, Letter) and not unit.quoted for unit in units):
        return None
    first, *others = Word(units).text.split("..")
    if not 1 <= len(others) <= 2 or not all(map(_is_number, others[1:])):
        return None
    last, step = others[0], abs(int((others[1:] or ["1"])[0])) or 1
    if _is_number(first) and _is_number(last):
        padded = any(re.match(r"-?0\d", text) for text in (first, last))
        width = max(len(first), len(last)) if padded else 0
        found = [f"{number:0{width}d}" for number in _between(int(first), int(last), step)]
    elif len(first + last) == 2 and (first + last).isalpha() and (first + last).isascii():
        found = [chr(code) for code in _between(ord(first), ord(last), step)]
    else:
        return None
    return [tuple(Letter(character, quoted=True) for character in text) for text in found]


def _between(first: int, last: int, step: int) -> range:
    if abs(last - first) // step >= _MOST:
        raise ToolError(f"braces make more than {_MOST:,} words.")
    return range(first, last + 1, step) if last >= first else range(first, last - 1, -step)


def _is_number(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdigit()


def _paths(place: Place, word: Word) -> list[str]:
    """Return the paths that a word with wildcards names, or the word itself."""
    text = word.text
    if not word.is_pattern:
        return [text]
    top = ""
    start: Parts = place.cwd
    units = word.units
    if text.startswith("/"):
        top = place.sandbox.mount.rstrip("/") + "/"
        if not text.startswith(top):
            return [text]
        start, units = (), units[len(top) :]
    found: list[tuple[Parts, str]] = [(start, top)]
    names = [name for name in _pattern(units).split("/") if name not in ("", ".")]
    for name in names:
        found = [
            ((*parts, entry.name), f"{shown}{'' if shown in ('', top) else '/'}{entry.name}")
            for parts, shown in found
            if _is_folder(place, parts)
            for entry in place.sandbox.list(parts)
            if fnmatchcase(entry.name, name)
            and (name.startswith(".") or not entry.name.startswith("."))
        ]
    only_folders = text.endswith("/")
    slash = "/" if only_folders else ""
    dot = "./" if text.startswith("./") else ""
    hits = [
        f"{dot}{shown}{slash}"
        for parts, shown in found
        if not only_folders or _is_folder(place, parts)
    ]
    return sorted(hits) or [text]


def _pattern(units: tuple[Unit, ...]) -> str:
    """Return the pattern as fnmatch writes it; what was quoted stands for itself."""
    text = ""
    for index, unit in enumerate(units):
        assert isinstance(unit, Letter)
        if unit.quoted and unit.text in "*?[":
            text += f"[{unit.text}]"
        elif unit == Letter("^") and index and units[index - 1] == Letter("["):
            text += "!"
        else:
            text += unit.text
    return text


def _is_folder(place: Place, parts: Parts) -> bool:
    entry = place.sandbox.entry(parts)
    return entry is not None and entry.kind == "folder"
