"""grep, egrep and fgrep."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from iac_scenario.errors import ToolError
from iac_scenario.shell.commands import (
    Answer,
    Place,
    files_of,
    options,
    reason,
    whole_number,
)
from iac_scenario.shell.regex import compiled

__all__ = ["egrep", "fgrep", "grep"]

_NAMES: Final = {
    "after-context": "A", "before-context": "B", "color": "", "colour": "", "context": "C",
    "count": "c", "extended-regexp": "E", "files-with-matches": "l", "files-without-match": "L",
    "fixed-strings": "F", "ignore-case": "i", "invert-match": "v", "line-number": "n",
    "line-regexp": "x", "max-count": "m", "no-filename": "h", "no-messages": "s",
    "only-matching": "o", "perl-regexp": "P", "quiet": "q", "recursive": "r", "regexp": "e",
    "silent": "q", "with-filename": "H", "word-regexp": "w",
}  # fmt: skip
_FILTERS: Final = ("--include=", "--exclude=", "--exclude-dir=")


def egrep(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Print lines that match an extended expression."""
    return grep(place, ["-E", *arguments], given)


def fgrep(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Print lines that hold a text."""
    return grep(place, ["-F", *arguments], given)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is searched for and how it is shown."""

    search: re.Pattern[str]
    flags: frozenset[str]
    before: int
    after: int
    most: int | None


def grep(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Print lines that match; basic expressions, with -E extended, -P Python's, -F plain texts."""
    filters = [word for word in arguments if word.startswith(_FILTERS)]
    rest = [word for word in arguments if not word.startswith(_FILTERS)]
    asked = options("grep", rest, "ivnclLqosxwFEPGrRhH", "eABCm", _NAMES)
    words = list(asked.words)
    flags = asked.flags
    if "e" not in asked.values and not words:
        raise ToolError("grep: needs a pattern.")
    patterns = asked.all_values.get("e") or [words.pop(0)]
    around = asked.values.get("C", "0")
    counted = asked.values.get("m")
    wanted = _Asked(
        _search([line for pattern in patterns for line in pattern.split("\n")], flags),
        flags,
        whole_number("grep", asked.values.get("B", around)),
        whole_number("grep", asked.values.get("A", around)),
        None if counted is None else whole_number("grep", counted),
    )
    recursive = bool(flags & {"r", "R"})
    errors: list[str] = []
    if recursive:
        words = _below(place, words, filters, errors)
        found, more = files_of("grep", place, words, given) if words else ([], [])
    else:
        found, more = files_of("grep", place, words, given)
    named = (len(words) > 1 or recursive or "H" in flags) and "h" not in flags
    notes: list[str] = []
    rows, matched = _rows(found, wanted, notes, named=named)
    errors += more
    # A match is enough for -q, whatever else went wrong.
    trouble = errors and not ("q" in flags and matched)
    status = 2 if trouble else 0 if matched else 1
    out = "" if "q" in flags else "".join(f"{row}\n" for row in rows)
    told = tuple(notes) if "s" in flags else (*errors, *notes)
    return Answer(out.encode("utf-8", "surrogateescape"), told, status)


def _search(patterns: Sequence[str], flags: frozenset[str]) -> re.Pattern[str]:
    whole = []
    for text in patterns:
        if "F" in flags:
            pattern = re.escape(text)
        elif "P" in flags:
            pattern = text
        else:
            pattern = compiled(text, extended="E" in flags).pattern
        if "x" in flags:
            pattern = rf"^(?:{pattern})$"
        elif "w" in flags:
            pattern = rf"(?<!\w)(?:{pattern})(?!\w)"
        whole.append(pattern)
    joined = whole[0] if len(whole) == 1 else "|".join(f"(?:{pattern})" for pattern in whole)
    try:
        return re.compile(joined, re.IGNORECASE if "i" in flags else 0)
    except re.error as error:
        raise ToolError(f"grep: {patterns[0]!r} is no regular expression: {error}") from None


def _rows(
    found: Sequence[tuple[str, bytes]], asked: _Asked, notes: list[str], *, named: bool
) -> tuple[list[str], bool]:
    rows: list[str] = []
    matched = False
    for name, data in found:
        name = "(standard input)" if name == "-" else name
        if b"\0" in data and not asked.flags & set("clLq"):
            if any(asked.search.search(line) for line in _lines(data)) != ("v" in asked.flags):
                notes.append(f"grep: {name}: binary file matches")
                matched = True
            continue
        lines = _lines(data)
        hits = [
            number
            for number, line in enumerate(lines)
            if (asked.search.search(line) is not None) != ("v" in asked.flags)
        ][: asked.most]
        if asked.flags & {"l", "L"}:
            rows += [name] if bool(hits) != ("L" in asked.flags) else []
        elif "c" in asked.flags:
            rows.append(f"{name}:{len(hits)}" if named else str(len(hits)))
        else:
            rows += _content(name, lines, hits, asked, named=named, first=not rows)
        matched = matched or bool(hits)
    return rows, matched


def _lines(data: bytes) -> list[str]:
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _content(
    name: str, lines: list[str], hits: list[int], asked: _Asked, *, named: bool, first: bool
) -> list[str]:
    rows: list[str] = []
    apart = bool(asked.before or asked.after)
    chosen = set(hits)
    near = sorted(
        {
            number
            for hit in hits
            for number in range(max(hit - asked.before, 0), min(hit + asked.after + 1, len(lines)))
        }
    )
    last: int | None = None
    for number in near:
        if apart and (number - 1 != last) and (last is not None or not first):
            rows.append("--")
        last = number
        mark = ":" if number in chosen else "-"
        head = f"{name}{mark}" if named else ""
        head += f"{number + 1}{mark}" if "n" in asked.flags else ""
        if "o" not in asked.flags:
            rows.append(head + lines[number])
        elif number in chosen and "v" not in asked.flags:
            rows += [head + hit[0] for hit in asked.search.finditer(lines[number]) if hit[0]]
    return rows


def _below(
    place: Place, words: Sequence[str], filters: Sequence[str], errors: list[str]
) -> list[str]:
    """Return the files below the given paths, as the paths are written."""
    found = []
    for word in words or ["."]:
        parts = place.parts(word)
        entry = place.sandbox.entry(parts)
        if entry is None or entry.kind != "folder":
            found.append(word)
            continue
        top = f"{word.rstrip('/')}/" if words else ""
        try:
            found += [
                f"{top}{'/'.join(below[len(parts) :])}"
                for below, item in place.sandbox.walk(parts)
                if item.kind == "file" and _passes(below[len(parts) :], filters)
            ]
        except ToolError as error:
            errors.append(f"grep: {word}: {reason(place, word, error)}")
    return found


def _passes(names: Sequence[str], filters: Sequence[str]) -> bool:
    *folders, name = names
    included = [_value(word) for word in filters if word.startswith("--include=")]
    if included and not any(fnmatchcase(name, pattern) for pattern in included):
        return False
    for word in filters:
        if word.startswith("--exclude=") and fnmatchcase(name, _value(word)):
            return False
        if word.startswith("--exclude-dir=") and any(
            fnmatchcase(folder, _value(word)) for folder in folders
        ):
            return False
    return True


def _value(word: str) -> str:
    return word.partition("=")[2].rstrip("/")
