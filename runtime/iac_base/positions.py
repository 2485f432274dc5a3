"""TOML and JSON with the line of every key: neither `tomllib` nor `json` keeps positions.

The standard parsers give the value and judge the text. A second walk over what they accepted finds
where each key stands; it looks for keys only and skips values, in time linear in the text.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

Path: TypeAlias = Sequence[str | int]
"""Keys and indexes from the root to a value."""


class TextError(ValueError):
    """A text is not what it should be.

    Attributes:
        reason: What is wrong, without the place and without a full stop.
        line: From 1; 0 where the parser does not say.
        column: From 1, in characters; 0 where the parser does not say.
    """

    def __init__(self, reason: str, line: int = 0, column: int = 0) -> None:
        super().__init__(f"{reason} (line {line}, column {column})" if line else reason)
        self.reason = reason
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class _KeyPosition:
    """A value: the line of its key, or of itself in a list, and the marks of what it holds."""

    line: int
    parts: "dict[str | int, _KeyPosition]" = field(default_factory=dict)


class PositionedDocument(NamedTuple):
    """A text that was read: its value, and where its keys stand."""

    value: Any
    root: _KeyPosition

    def line_of(self, path: Path) -> int:
        """Return the line, from 1, of a path or of the nearest of its parents; 0 if none is there.

        A key stands where it is first written, a table where its header is, an item of a list
        where it begins.
        """
        mark = self.root
        for part in path:
            if part not in mark.parts:
                break
            mark = mark.parts[part]
        return mark.line


_TOML_PLACE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)\Z")
_TOO_DEEP: Final = "it is nested too deeply"


def read_toml(text: str) -> PositionedDocument:
    """Return a TOML document.

    Raises:
        TextError: It is none.
    """
    import tomllib  # A server without a policy starts without it.

    try:
        return PositionedDocument(
            tomllib.loads(text), _PositionScanner(text, toml=True).scan_document()
        )
    except RecursionError:
        raise TextError(_TOO_DEEP) from None
    except ValueError as error:
        place = _TOML_PLACE.search(str(error))
        if place is None:
            raise TextError(str(error)) from None
        reason = str(error)[: place.start()]
        if place[1]:
            raise TextError(reason, int(place[1]), int(place[2])) from None
        # What is missing at the end is missed after the last thing that was written.
        written = text.rstrip()
        column = len(written) - written.rfind("\n")
        raise TextError(reason, written.count("\n") + 1, column) from None


def read_json(text: str) -> PositionedDocument:
    """Return a JSON document; of a key given twice the last one counts, for its line too.

    Raises:
        TextError: It is none.
    """
    try:
        return PositionedDocument(
            json.loads(text), _PositionScanner(text, toml=False).scan_document()
        )
    except RecursionError:
        raise TextError(_TOO_DEEP) from None
    except json.JSONDecodeError as error:
        raise TextError(error.msg, error.lineno, error.colno) from None
    except ValueError as error:
        raise TextError(str(error)) from None


_BLANK: Final = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_BARE_VALUE: Final = re.compile(r"[^,\]}\n#]*+")
_STRING: Final = re.compile(
    # A text in three quotes may end with one or two more.
    r'"""(?:[^"\\]++|\\.|"{1,2}(?!"))*+"{3,5}'
    r"|'''(?:[^']++|'{1,2}(?!'))*+'{3,5}"
    r'|"(?:[^"\\]++|\\.)*+"'
    r"|'[^']*+'",
    re.DOTALL,
)


class _PositionScanner:
    """A walk over a text that has parsed. Nothing here recurs: JSON may be nested deeply."""

    def __init__(self, text: str, *, toml: bool) -> None:
        self._text = text
        self._toml = toml
        self._at = 0
        self._line = 1
        self._counted = 0
        self._root = _KeyPosition(0)
        self._open: list[tuple[_KeyPosition, str]] = []
        """The braces and brackets around, each with what ends it."""

    def scan_document(self) -> _KeyPosition:
        if self._toml:
            self._scan_tables()
        else:
            self._skip_blanks()
            self._scan_value(self._root)
            self._scan_items()
        return self._root

    def _scan_tables(self) -> None:
        table = self._root
        while self._skip_blanks() < len(self._text):
            if self._text[self._at] == "[":
                table = self._scan_header()
            else:
                self._scan_pair(table)
                self._scan_items()

    def _scan_header(self) -> _KeyPosition:
        many = self._text.startswith("[[", self._at)
        self._at += 2 if many else 1
        line, keys = self._current_line(), self._scan_keys()
        self._at += 2 if many else 1
        mark = self._root
        for number, key in enumerate(keys, 1):
            mark = mark.parts.setdefault(key, _KeyPosition(line))
            if number < len(keys):
                # A header speaks of the last item of every list of tables on its way.
                mark = mark.parts.get(len(mark.parts) - 1, mark)
        return mark.parts.setdefault(len(mark.parts), _KeyPosition(line)) if many else mark

    def _scan_items(self) -> None:
        """Walk what is in the open braces and brackets, to the end of the outermost."""
        while self._open:
            owner, closing = self._open[-1]
            self._skip_blanks()
            if self._text[self._at] == closing:
                self._open.pop()
                self._at += 1
            elif self._text[self._at] == ",":
                self._at += 1
            elif closing == "}":
                self._scan_pair(owner)
            else:
                self._scan_value(
                    owner.parts.setdefault(len(owner.parts), _KeyPosition(self._current_line()))
                )

    def _scan_pair(self, table: _KeyPosition) -> None:
        line = self._current_line()
        for key in self._scan_keys():
            if not self._toml:
                table.parts.pop(key, None)
            table = table.parts.setdefault(key, _KeyPosition(line))
        self._at += 1
        self._skip_blanks()
        self._scan_value(table)

    def _scan_value(self, mark: _KeyPosition) -> None:
        """Pass a text or a bare value; open a brace or bracket."""
        first = self._text[self._at]
        if first in "{[":
            self._open.append((mark, "}" if first == "{" else "]"))
            self._at += 1
        else:
            self._consume_match(_STRING if first in "\"'" else _BARE_VALUE)

    def _scan_keys(self) -> list[str]:
        """Read a key, dotted or not, and stop at the sign after it."""
        keys: list[str] = []
        while True:
            self._skip_blanks()
            if self._text[self._at] in "\"'":
                keys.append(self._unquote_key(self._consume_match(_STRING)))
            else:
                keys.append(self._consume_match(_BARE_KEY))
            self._skip_blanks()
            if self._text[self._at] != ".":
                return keys
            self._at += 1

    def _unquote_key(self, quoted: str) -> str:
        if "\\" not in quoted:
            return quoted[1:-1]
        if self._toml:
            import tomllib

            return str(tomllib.loads(f"key = {quoted}")["key"])
        return str(json.loads(quoted))

    def _consume_match(self, kind: re.Pattern[str]) -> str:
        match = kind.match(self._text, self._at)
        assert match is not None, "a text that has parsed"
        self._at = match.end()
        return match[0]

    def _skip_blanks(self) -> int:
        """Pass blanks, ends of lines and comments; return where the walk is."""
        self._consume_match(_BLANK)
        return self._at

    def _current_line(self) -> int:
        """Return the line of the place where the walk is."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line
