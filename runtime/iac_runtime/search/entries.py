"""What is looked through: the indexes of output folders, opened, and the tools of no app.

An index is mapped, not read: a word and an app are found by halving. What it names may come from
somebody's repository, so it counts only as far as the catalogue says the same.
"""

import json
import mmap
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from iac_base.errors import SetupError
from iac_base.words import stem_words
from iac_runtime.search.index_file import FORMAT, WORDS, open_index
from iac_runtime.tool import Level, Op
from iac_runtime.tools.catalogue import Catalogue, file_stamp, line_places
from iac_runtime.tools.lock import MAX_FILE, damaged_file_error
from iac_runtime.tools.shape import Tool

_KEPT: Final = 64
"""Apps of a folder whose rows stay in memory."""

Reach = Literal["own", "known", "any"]
"""Whom tools are for: their own app, every app that has tools, or whatever app there is."""


class SearchRow(NamedTuple):
    """A tool or a class as it is found: words are stems, by where they stand.

    Attributes:
        app: The key of its app.
        kind: The operation of a tool; of a class `held` where something contains its objects,
            `made` where one may be made, `class` else.
        name: The tool; of a class its term.
        element: The class that a recipe binds; of a class its term.
        words: Those of its name, what it has, its purpose, and the dictionary's own.
        properties: Of a class, as (term, access).
    """

    app: str
    kind: str
    name: str
    element: str
    words: Sequence[str]
    all: frozenset[str]
    properties: Sequence[Sequence[str]] = ()


class IndexedApp(NamedTuple):
    """An app of the index with its object tools by operation, and for which apps its tools are."""

    key: str
    name: str
    id: str
    operations: Mapping[Op, str]
    rows: tuple[SearchRow, ...]
    levels: Mapping[str, Level]
    reach: Reach = "own"
    intents: bool = False


class WordRow(NamedTuple):
    """A word of an index: the rows and apps that have it, in a name and elsewhere, by place."""

    rows: int
    apps: int
    strong: tuple[int, ...]
    weak: tuple[int, ...]


_NOWHERE: Final = WordRow(0, 0, (), ())


_WORD: Final = re.compile(rb'^\["(\w+)"', re.MULTILINE)


class SearchFile:
    """The index of one output folder.

    Raises:
        SetupError: It is missing or damaged.
    """

    def __init__(self, folder: Path, catalogue: Catalogue) -> None:
        self._folder, self._path, self._catalogue = folder, folder / WORDS, catalogue
        try:
            with open_index(folder) as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._end = self._map.rfind(b"\n", 0, len(self._map) - 1) + 1
            head = json.loads(self._map[: self._map.find(b"\n")])
            start, rows, _ = json.loads(self._map[self._end :])
            self._start, self.rows = int(start), int(rows)
            if head["format"] != FORMAT or not 0 < self._start <= self._end <= len(self._map):
                raise ValueError
        except FileNotFoundError:
            raise SetupError(f"{self._path} is missing; build it again: iac-gen build") from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise damaged_file_error(self._path) from None
        self.word = lru_cache(4096)(self._read_word)
        self.app = lru_cache(_KEPT)(self._read_app)

    def _read_word(self, word: str) -> WordRow:
        """Return where a word is."""
        place = self._seek_line(word)
        line = self._map[place : self._map.find(b"\n", place)]
        if not line.startswith(_line_key(word) + b","):
            return _NOWHERE
        _, rows, apps, strong, weak = self._parse_line(line)
        return WordRow(rows, apps, tuple(strong), tuple(weak))

    def words_beginning(self, start: str) -> list[str]:
        """Return the ASCII words that begin with `start`, which is a letter or a few."""
        low, high = self._seek_line(start), self._seek_line(f"{start}\x7f")
        return [word.decode() for word in _WORD.findall(self._map, low, high)]

    def _seek_line(self, word: str) -> int:
        """Return where the first line stands that does not come before that of a word."""
        key, low, high = _line_key(word), self._start, self._end
        while low < high:
            middle = max(self._map.rfind(b"\n", low, (low + high) // 2) + 1, low)
            comma = self._map.find(b",", middle, self._end)
            if self._map[middle:comma] < key:
                low = self._map.find(b"\n", middle) + 1
            else:
                high = middle
        return low

    def _read_app(self, place: int) -> IndexedApp | None:
        """Return the app at a place; None where another folder, or nothing, stands for it."""
        line = self._parse_line(self._map[place : self._map.find(b"\n", place)])
        row = self._catalogue.apps.get(line["key"])
        if row is None or row.folder != self._folder:
            return None
        tools = self._catalogue.tools
        rows, levels = [], {}
        for kind, name, element, *words, properties in line["rows"]:
            if kind in KINDS or name in tools:
                whole = frozenset(" ".join(words).split())
                rows.append(SearchRow(row.key, kind, name, element, words, whole, properties))
                if kind not in KINDS:
                    levels[name] = tools[name].level
        operations = {op: name for op, name in line["tools"].items() if name in tools}
        levels |= {name: tools[name].level for name in operations.values()}
        intents = row.kind == "intents"
        held = (operations, tuple(rows), levels)
        return IndexedApp(row.key, row.name, row.id, *held, intents=intents)

    def _parse_line(self, line: bytes) -> Any:
        try:
            return json.loads(line)
        except (ValueError, RecursionError):
            raise damaged_file_error(self._path) from None


KINDS: Final = ("held", "made", "class")
"""The kinds of rows that are classes."""


def _line_key(word: str) -> bytes:
    return b"[" + json.dumps(word).encode()


def added_app(key: str, tools: Iterable[Tool], reach: Reach) -> IndexedApp:
    """Return tools that are of no app as if they were of one."""
    rows, levels = [], {}
    for tool in tools:
        said = (f"{tool.name.replace('_', ' ')} {tool.words}", "", tool.purpose)
        words = [" ".join(dict.fromkeys(stem_words(text))) for text in said]
        whole = frozenset(" ".join(words).split())
        rows.append(SearchRow(key, "command", tool.name, "", words, whole))
        levels[tool.name] = tool.level
    return IndexedApp(key, "", "", {}, tuple(rows), levels, reach)


def listing_entry(catalogue: Catalogue, name: str) -> dict[str, Any]:
    """Return the finished listing entry of one tool.

    Raises:
        UnknownToolError: There is no such tool; the error has the nearest names.
        SetupError: The listing does not hold what the catalogue says.
    """
    row = catalogue.find_row(name)
    path = row.app.folder / "listing.jsonl"
    try:
        place = line_places(path, file_stamp(path))[name]
        with path.open("rb") as file:
            file.seek(place)
            entry: dict[str, Any] = json.loads(file.readline(MAX_FILE))
        if entry["name"] == name and "inputSchema" in entry:
            return entry
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise SetupError(f"{path} is damaged; build it again: iac-gen build")
