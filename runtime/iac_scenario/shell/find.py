"""find: which of the names below folders are asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from iac_scenario.errors import ToolError
from iac_scenario.places import Parts
from iac_scenario.sandbox import Entry
from iac_scenario.shell.commands import MISSING, Answer, Place, whole_number

__all__ = ["find"]


@dataclass(frozen=True, slots=True)
class _Found:
    """A name that was come to: how it is written, how deep it lies, what it is."""

    shown: str
    depth: int
    parts: Parts
    entry: Entry


_Test = Callable[[_Found], bool]
_KINDS: Final = {"f": "file", "d": "folder", "l": "other"}
_SIZES: Final = {"c": 1, "k": 1024, "M": 1024**2, "G": 1024**3, "b": 512, "": 512}


@dataclass(slots=True)
class _Expression:
    """The words of an expression that are still to be read, and what was read besides tests."""

    place: Place
    words: list[str]
    deepest: int = 64
    shallowest: int = 0
    end: str = "\n"

    def either(self) -> _Test:
        """Read tests joined by -o."""
        tests = [self._both()]
        while self.words[:1] == ["-o"]:
            self.words.pop(0)
            tests.append(self._both())
        return tests[0] if len(tests) == 1 else lambda found: any(test(found) for test in tests)

    def _both(self) -> _Test:
        tests = [self._one()]
        while self.words and self.words[0] not in ("-o", ")"):
            if self.words[0] in ("-a", "-and"):
                self.words.pop(0)
            tests.append(self._one())
        return lambda found: all(test(found) for test in tests)

    def _one(self) -> _Test:
        if not self.words:
            raise ToolError("find: a test is missing.")
        word = self.words.pop(0)
        if word in ("!", "-not"):
            test = self._one()
            return lambda found: not test(found)
        if word == "(":
            test = self.either()
            if self.words[:1] != [")"]:
                raise ToolError("find: a ( is not closed.")
            self.words.pop(0)
            return test
        if word in ("-print", "-print0", "-true"):
            self.end = "\0" if word == "-print0" else self.end
            return lambda _found: True
        if word == "-empty":
            return self._is_empty
        if word not in _VALUED or not self.words:
            raise ToolError(f"find: {word} is not interpreted here.")
        return self._valued(word, self.words.pop(0))

    def _valued(self, word: str, value: str) -> _Test:
        if word == "-name":
            return lambda found: fnmatchcase(found.entry.name, value)
        if word == "-iname":
            return lambda found: fnmatchcase(found.entry.name.lower(), value.lower())
        if word in ("-path", "-wholename"):
            return lambda found: fnmatchcase(found.shown, value)
        if word == "-type":
            if value not in _KINDS:
                raise ToolError(f"find: Unknown argument to -type: {value}")
            return lambda found: found.entry.kind == _KINDS[value]
        if word == "-size":
            return _size(value)
        if word == "-maxdepth":
            self.deepest = whole_number("find", value)
        else:
            self.shallowest = whole_number("find", value)
        return lambda _found: True

    def _is_empty(self, found: _Found) -> bool:
        if found.entry.kind == "folder":
            return not self.place.sandbox.list(found.parts)
        return found.entry.kind == "file" and found.entry.size == 0


_VALUED: Final = (
    "-name", "-iname", "-path", "-wholename", "-type", "-size", "-maxdepth", "-mindepth",
)  # fmt: skip


def _size(text: str) -> _Test:
    sign = text[0] if text[:1] in ("+", "-") else ""
    number, unit = text.removeprefix(sign), ""
    if number and number[-1] in _SIZES:
        number, unit = number[:-1], number[-1]
    count, block = whole_number("find", number), _SIZES[unit]

    def test(found: _Found) -> bool:
        # A folder has the size of a block of most file systems.
        size = 4096 if found.entry.kind == "folder" else found.entry.size
        blocks = -(-size // block)
        return blocks > count if sign == "+" else blocks < count if sign == "-" else blocks == count

    return test


def find(place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Print what lies below folders, by name; knows tests of names, kinds, sizes and depths."""
    words = list(arguments)
    tops: list[str] = []
    while words and not words[0].startswith("-") and words[0] not in ("!", "("):
        tops.append(words.pop(0))
    expression = _Expression(place, words)
    test: _Test = (lambda _found: True) if not words else expression.either()
    if expression.words:
        raise ToolError(f"find: {expression.words[0]} is not expected here.")
    rows: list[str] = []
    errors: list[str] = []
    for top in tops or ["."]:
        parts = place.parts(top)
        entry = place.sandbox.entry(parts)
        if entry is None:
            errors.append(f"find: '{top}': {MISSING}")
            continue
        rows += [
            found.shown
            for found in _all(place, top, parts, entry)
            if expression.shallowest <= found.depth <= expression.deepest and test(found)
        ]
    out = "".join(f"{row}{expression.end}" for row in rows)
    return Answer(out.encode("utf-8", "surrogateescape"), tuple(errors), 1 if errors else 0)


def _all(place: Place, top: str, parts: Parts, entry: Entry) -> list[_Found]:
    name = parts[-1] if parts and top.rstrip("/").rpartition("/")[2] != "." else "."
    found = [_Found(top, 0, parts, entry._replace(name=name))]
    if entry.kind == "folder":
        start = top if top.endswith("/") else f"{top}/"
        for below, item in place.sandbox.walk(parts):
            names = below[len(parts) :]
            found.append(_Found(start + "/".join(names), len(names), below, item))
    return found
