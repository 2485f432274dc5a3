"""On which line a field stands: tomllib and json keep no positions, so they are found again.

Reads only text that has parsed, so it skips values and looks for keys alone.
"""

import re
from typing import Final, TypeAlias

__all__ = ["Path", "json_positions", "nearest", "toml_positions"]

Path: TypeAlias = tuple[str | int, ...]

_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_NAMED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def toml_positions(text: str) -> dict[Path, int]:
    """Return the line (from 1) of every key and item of a valid TOML document."""
    scan = _Scan(text, separator="=")
    scan.document()
    return scan.lines


def json_positions(text: str) -> dict[Path, int]:
    """Return the line (from 1) of every key and item of a valid JSON document."""
    scan = _Scan(text, separator=":")
    scan.value(())
    return scan.lines


def nearest(lines: dict[Path, int], path: Path) -> int:
    """Return the line of a path, or of the nearest of its parents; 0 where none is known."""
    for length in range(len(path), 0, -1):
        if (line := lines.get(path[:length])) is not None:
            return line
    return 0


class _Scan:
    """A walk over one text; `at` is where it is."""

    def __init__(self, text: str, separator: str) -> None:
        self.text = text
        self.lines: dict[Path, int] = {}
        self._separator = separator
        self._comments = separator == "="
        self._counts: dict[Path, int] = {}
        self._at = 0
        self._line = 1

    def document(self) -> None:
        """Walk a TOML document."""
        table: Path = ()
        while self._blank():
            if self.text[self._at] != "[":
                self._pair(table)
                continue
            many = self.text.startswith("[[", self._at)
            self._skip(2 if many else 1)
            line, keys = self._line, self._keys()
            self._skip(2 if many else 1)
            table = self._resolved(keys)
            self._mark(table, line)
            if many:
                self._counts[table] = self._counts.get(table, 0) + 1
                table = (*table, self._counts[table] - 1)
            self._mark(table, line)

    def value(self, path: Path) -> None:
        """Walk one value, which begins here or after blanks."""
        self._blank()
        self.lines.setdefault(path, self._line)
        opening = self.text[self._at]
        if opening in "\"'":
            self._string()
        elif opening in "{[":
            self._items(path, "}" if opening == "{" else "]")
        else:
            while self._at < len(self.text) and self.text[self._at] not in ",]}\n#":
                self._at += 1

    def _items(self, path: Path, closing: str) -> None:
        self._skip(1)
        index = 0
        while self._blank() and self.text[self._at] != closing:
            if self.text[self._at] == ",":
                self._skip(1)
            elif closing == "}":
                self._pair(path)
            else:
                self.value((*path, index))
                index += 1
        self._skip(1)

    def _pair(self, table: Path) -> None:
        line, keys = self._line, self._keys()
        path = (*table, *keys)
        self._mark(path, line)
        self._skip(len(self._separator))
        self.value(path)

    def _mark(self, path: Path, line: int) -> None:
        """Note the line of a path, and of the tables above it that have no header."""
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], line)

    def _keys(self) -> Path:
        """Read a key, dotted or not, and stop at what follows its blanks."""
        keys: list[str] = []
        while True:
            self._blank()
            if self.text[self._at] in "\"'":
                keys.append(self._string())
            else:
                found = _KEY.match(self.text, self._at)
                assert found is not None, "a valid document has a key here"
                keys.append(found[0])
                self._at = found.end()
            self._blank()
            if self.text[self._at] != ".":
                return tuple(keys)
            self._skip(1)

    def _resolved(self, keys: Path) -> Path:
        """Return the path of a header, going into the last item of every array of tables."""
        path: Path = ()
        for number, key in enumerate(keys, 1):
            path = (*path, key)
            if number < len(keys) and path in self._counts:
                path = (*path, self._counts[path] - 1)
        return path

    def _string(self) -> str:
        quote = self.text[self._at]
        fence = quote * 3 if self._comments and self.text.startswith(quote * 3, self._at) else quote
        start = self._at = self._at + len(fence)
        while not self.text.startswith(fence, self._at):
            self._skip(2 if quote == '"' and self.text[self._at] == "\\" else 1)
        content = self.text[start : self._at]
        self._at += len(fence)
        # A text in three quotes may end with one or two more.
        while len(fence) == 3 and self.text.startswith(quote, self._at):
            self._at += 1
        return content if quote == "'" else _ESCAPES.sub(_unescaped, content)

    def _skip(self, count: int) -> None:
        self._line += self.text.count("\n", self._at, self._at + count)
        self._at += count

    def _blank(self) -> bool:
        """Skip blanks, line ends and comments; say whether anything is left."""
        while self._at < len(self.text):
            character = self.text[self._at]
            if character == "#" and self._comments:
                end = self.text.find("\n", self._at)
                self._at = len(self.text) if end < 0 else end
            elif character in " \t\r\n\ufeff":
                self._skip(1)
            else:
                return True
        return False


def _unescaped(found: re.Match[str]) -> str:
    digits = found[1] or found[2]
    return chr(int(digits, 16)) if digits else _NAMED.get(found[3], found[3])
