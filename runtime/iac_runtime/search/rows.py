"""The rows of the index: a command, a recipe or a class with its properties, as stems."""

import json
from collections.abc import Iterable, Iterator
from typing import Final

from iac_runtime.search.entries import AppWords, ClassWords, ToolWords
from iac_runtime.search.lexicon import lexicon
from iac_runtime.search.ranking import IndexedApp, OperationTool
from iac_runtime.search.request import known_words, split, stem, stems
from iac_runtime.tool import Op

__all__ = ["COLUMNS", "IndexRow", "app_of", "owners", "rows_of"]

COLUMNS: Final = "name, owned, given, purpose, app UNINDEXED, kind UNINDEXED, data UNINDEXED"
"""What a row holds: four columns of stems, the place of its app, its kind, and facts as JSON."""

IndexRow = tuple[str, str, str, str, int, str, str]

_PART: Final = 4
"""The shortest word that a compound is taken apart into."""

_TEXT_SUITE: Final = frozenset(
    ("attachment", "attribute run", "character", "paragraph", "rich text", "text", "word")
)


def rows_of(words: AppWords, place: int) -> Iterator[IndexRow]:
    """Yield the rows of an app; object tools have none, they are found through the classes."""
    own = frozenset(stems(words.app.name))
    for tool in words.tools:
        if tool.op == "command" or tool.bound:
            yield _tool_row(tool, place, own)
    for one in words.classes:
        yield _class_row(one, place)


def app_of(words: AppWords) -> IndexedApp:
    """Return an app with its object tools."""
    row = words.app
    tools: dict[Op, OperationTool] = {
        tool.op: OperationTool(tool.name, tool.level)
        for tool in words.tools
        if tool.op != "command" and not tool.bound
    }
    return IndexedApp(row.key, row.name, row.id, tools, words.reach)


def owners(rows: Iterable[IndexRow]) -> dict[str, int | None]:
    """Return the app that alone has a word in a name, None for a word of several."""
    found: dict[str, int | None] = {}
    for row in rows:
        for word in row[0].split():
            found[word] = row[4] if found.get(word, row[4]) == row[4] else None
    return found


def _tool_row(tool: ToolWords, app: int, own: frozenset[str]) -> IndexRow:
    said = tool.function.replace("_", " ")
    data = {
        "tool": tool.name,
        "op": tool.op,
        "element": tool.element,
        "level": tool.level,
        "said": said,
    }
    return (
        _telling(f"{said} {tool.said}", compounds=not tool.said),
        " ".join(stems(tool.element)),
        " ".join(stems(f"{tool.parameters} {tool.values}".replace("_", " "))),
        " ".join(word for word in _telling(tool.purpose).split() if word not in own),
        app,
        tool.op,
        json.dumps(data),
    )


def _telling(text: str, *, compounds: bool = False) -> str:
    """Return the stems of `text` without the words that name nothing, if others are left.

    With `compounds`, the words that one is made of come too: `playpause`, `applyeffect`.
    """
    words = dict.fromkeys(split(text))
    told = [word for word in words if word not in lexicon().stop] or list(words)
    if compounds:
        told += [part for word in told for part in _parts(word)]
    return " ".join(dict.fromkeys(map(stem, told)))


def _parts(word: str) -> tuple[str, ...]:
    common = known_words()
    for place in range(_PART, len(word) - _PART + 1):
        one, two = word[:place], word[place:]
        if stem(one) in common and stem(two) in common:
            return one, two
    return ()


def _class_row(row: ClassWords, app: int) -> IndexRow:
    data = {"term": row.term, "properties": row.properties}
    kind = "text" if row.term in _TEXT_SUITE else row.use
    return (
        " ".join(dict.fromkeys(stems(row.term))),
        " ".join(dict.fromkeys(stems(" ".join(term for term, _ in row.properties)))),
        " ".join(dict.fromkeys(stems(row.values))),
        "",
        app,
        kind,
        json.dumps(data),
    )
