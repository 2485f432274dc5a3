"""The words of every app that the index is made of, and which apps a request means.

They have no dictionary whose words they could be found by. Everyday English, written for this
project; order has no meaning.
"""

import json
import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from iac_base.errors import SetupError
from iac_base.words import fold
from iac_runtime.search.lexicon import lexicon
from iac_runtime.search.request import SearchRequest, split, stem, stems
from iac_runtime.tool import Level, Op, Spec
from iac_runtime.tools.catalogue import MAX_FILE, AppRow, Catalogue
from iac_runtime.tools.shape import Tool
from iac_runtime.tools.tables import APPLICATION, Tables

_NAMED: Final = 2.0
_KNOWN_FOR: Final = 0.55
_LONGEST: Final = 4
"""Words of a name that are looked at together."""


class Hint(NamedTuple):
    """How strongly an app is meant, from 0 to 2, and the stems that were its name."""

    strength: float
    said: frozenset[str] = frozenset()


class AppNames:
    """The names of the apps of an index, which are known by their places in it."""

    def __init__(self, names: Sequence[tuple[str, str, str]], common: Container[str]) -> None:
        """Take (key, name, bundle id) of each app, and the stems that are not one app's own."""
        self._names = names
        self._whole: dict[str, list[int]] = {}
        self._parts: dict[str, list[int]] = {}
        self._known_for: dict[str, list[int]] = {}
        for place, (key, name, _) in enumerate(names):
            for spelling in {fold(name), fold(key)} - {""}:
                self._whole.setdefault(spelling, []).append(place)
            for word in {*stems(name)} - {*map(stem, split(fold(name)))}:
                if word in common:
                    continue
                self._parts.setdefault(word, []).append(place)
            for word in _known_for().get(fold(name), ()):
                self._known_for.setdefault(word, []).append(place)
        self.words = {*self._parts, *self._known_for, *map(stem, self._whole)}

    def named(self, name: str) -> list[int]:
        """Return the apps that have this name, key or bundle id, in any case."""
        wanted = fold(name)
        return [
            place
            for place, row in enumerate(self._names)
            if wanted and wanted in (fold(part) for part in row)
        ]

    def hints(self, request: SearchRequest) -> dict[int, Hint]:
        """Return how a request speaks for apps; one that it does not speak for is not there."""
        found: dict[int, Hint] = {}
        known_for: dict[int, float] = {}
        for term in request.terms:
            reached: dict[int, float] = {}
            for word, worth in term.options.items():
                for place in self._known_for.get(word, ()):
                    reached[place] = max(reached.get(place, 0), worth)
                for place in self._parts.get(word, ()):
                    _add(found, place, Hint(worth, frozenset({term.stem})))
            for place, worth in reached.items():
                known_for[place] = known_for.get(place, 0) + worth
        for place, worth in known_for.items():
            _add(found, place, Hint(_KNOWN_FOR * worth))
        words = request.words
        for start in range(len(words)):
            for end in range(start + 1, min(start + _LONGEST, len(words)) + 1):
                places = self._whole.get("".join(words[start:end]))
                if not places:
                    continue
                before = words[start - 1] if start else ""
                after = words[end] if end < len(words) else ""
                if not before and words[0] in lexicon().app_verbs and after != "app":
                    continue
                plain = end == start + 1 and words[start] in _everyday()
                # An everyday word is a name only where something says that the app is meant.
                if plain and before not in lexicon().before_app and after != "app":
                    continue
                said = {*map(stem, words[start:end]), stem("".join(words[start:end]))}
                for place in places:
                    _add(found, place, Hint(_NAMED, frozenset(said)))
        return found


def _add(found: dict[int, Hint], place: int, hint: Hint) -> None:
    old = found.get(place, Hint(0))
    found[place] = Hint(max(old.strength, hint.strength), old.said | hint.said)


@lru_cache(maxsize=1)
def _known_for() -> Mapping[str, tuple[str, ...]]:
    return {
        fold(name): tuple(dict.fromkeys(stems(words))) for name, words in lexicon().apps.items()
    }


@lru_cache(maxsize=1)
def _everyday() -> frozenset[str]:
    """Return the words of every day that may be names of apps."""
    words = {word for row in lexicon().apps.values() for word in split(row)}
    return frozenset({*words, *lexicon().everyday_names})


Reach = Literal["own", "known", "any"]
"""Whom tools are for: their own app, every app that has tools, or whatever app there is."""

OWN: AppRow = AppRow("", "", "", "application", Path())
"""Stands for the app of tools that are of no app."""


class ToolWords(NamedTuple):
    """A tool as it is looked for.

    Attributes:
        element: The class that a recipe binds, else empty.
        said: Words that people say for it, which its name and purpose do not have.
    """

    name: str
    op: Op
    function: str
    purpose: str
    element: str
    bound: bool
    level: Level
    said: str = ""


class ClassWords(NamedTuple):
    """A class as it is looked for: properties as (term, access).

    `use` is `held` where something contains objects of it, so that they can be listed; `made`
    where only the making of one is not ruled out; `class` else.
    """

    term: str
    plural: str
    properties: tuple[tuple[str, str], ...]
    use: Literal["held", "made", "class"]


class AppWords(NamedTuple):
    """An app with its tools and classes."""

    app: AppRow
    tools: tuple[ToolWords, ...]
    classes: tuple[ClassWords, ...]
    reach: Reach = "own"


def app_words(catalogue: Catalogue) -> Iterator[AppWords]:
    """Yield the words of every app; reading an app imports its module.

    Raises:
        SetupError: A module or a listing is not what the catalogue says.
    """
    tools: dict[str, list[str]] = {}
    for name, row in catalogue.tools.items():
        tools.setdefault(row.module, []).append(name)
    for app in catalogue.apps.values():
        tables = catalogue.tables(app)
        entries = [(name, listing_entry(catalogue, name)) for name in tools.get(app.key, ())]
        rows, free = [], False
        for name, entry in entries:
            function = catalogue.tools[name].function
            element = entry["inputSchema"].get("properties", {}).get("element", {})
            free = free or (function == "make" and "enum" not in element)
            rows.append(_tool(name, tables.tools[function], function, entry))
        yield AppWords(app, tuple(rows), tuple(_classes(tables, free=free)))


def added_words(tools: Iterable[Tool], reach: Reach) -> AppWords:
    """Return the words of tools that are of no app."""
    rows = tuple(
        ToolWords(
            tool.name,
            "command",
            tool.name,
            tool.purpose,
            "",
            False,
            tool.level,
            tool.words,
        )
        for tool in tools
    )
    return AppWords(OWN, rows, (), reach)


def listing_entry(catalogue: Catalogue, name: str) -> dict[str, Any]:
    """Return the finished listing entry of one tool.

    Raises:
        UnknownToolError: There is no such tool; the error has the nearest names.
        SetupError: The listing does not hold what the catalogue says.
    """
    row = catalogue.find(name)
    path = row.app.folder / "listing.jsonl"
    try:
        # A pipe is not waited for.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            file.seek(row.offset)
            entry: dict[str, Any] = json.loads(file.readline(MAX_FILE))
        if entry["name"] == name and "inputSchema" in entry:
            return entry
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise SetupError(f"{path} is damaged; build it again: iac-gen build")


def _tool(name: str, spec: Spec, function: str, entry: Mapping[str, Any]) -> ToolWords:
    # The words of the level end each purpose; they are no reason to find a tool.
    purpose = str(entry.get("description", "")).split(". SAFE")[0].split(". MODIFY")[0]
    element = spec.bind.get("element", "")
    return ToolWords(
        name,
        spec.op,
        function.rstrip("_"),
        purpose.split(". DANGEROUS")[0],
        element if isinstance(element, str) else "",
        bool(spec.bind),
        spec.level,
    )


def _classes(tables: Tables, *, free: bool) -> Iterator[ClassWords]:
    held = {element.term for row in tables.classes.values() for element in row.elements}
    for term, row in tables.classes.items():
        use: Literal["held", "made", "class"] = "made" if free else "class"
        if term == APPLICATION:
            use = "class"
        elif term in held:
            use = "held"
        rows = tuple((prop.term, prop.access) for prop in row.properties)
        yield ClassWords(term, row.plural, rows, use)
