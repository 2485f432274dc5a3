"""The rows of the index: a command, a recipe or a class with its properties, as stems."""

import json
from collections.abc import Iterable, Iterator
from typing import Final

from iac_runtime.search.entries import AppWords, ClassWords, ToolWords
from iac_runtime.search.lexicon import lexicon
from iac_runtime.search.ranking import IndexedApp
from iac_runtime.search.request import split, stem
from iac_runtime.tool import Op

COLUMNS: Final = "name, owned, purpose, app UNINDEXED, kind UNINDEXED, data UNINDEXED"
"""What a row holds: three columns of stems, the place of its app, its kind, and facts as JSON."""

IndexRow = tuple[str, str, str, int, str, str]


def rows_of(words: AppWords, place: int) -> Iterator[IndexRow]:
    """Yield the rows of an app; object tools have none, they are found through the classes."""
    for tool in words.tools:
        if tool.op == "command" or tool.bound:
            yield _tool_row(tool, place)
    for one in words.classes:
        yield _class_row(one, place)


def app_of(words: AppWords) -> IndexedApp:
    """Return an app with its object tools."""
    row = words.app
    tools: dict[Op, ToolWords] = {
        tool.op: tool for tool in words.tools if tool.op != "command" and not tool.bound
    }
    return IndexedApp(row.key, row.name, row.id, tools, words.reach)


def owners(rows: Iterable[IndexRow]) -> dict[str, int | None]:
    """Return the app that alone has a word in a name, None for a word of several."""
    found: dict[str, int | None] = {}
    for row in rows:
        for word in row[0].split():
            found[word] = row[3] if found.get(word, row[3]) == row[3] else None
    return found


def _tool_row(tool: ToolWords, app: int) -> IndexRow:
    said = tool.function.replace("_", " ")
    data = {
        "tool": tool.name,
        "op": tool.op,
        "element": tool.element,
        "level": tool.level,
        "said": said,
    }
    return (
        _telling(f"{said} {tool.said}"),
        _stemmed(split(tool.element)),
        _telling(tool.purpose),
        app,
        tool.op,
        json.dumps(data),
    )


def _telling(text: str) -> str:
    """Return the stems of `text` without the words that name nothing, if others are left."""
    words = split(text)
    return _stemmed(word for word in words if word not in lexicon().stop) or _stemmed(words)


def _stemmed(words: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(map(stem, words)))


def _class_row(row: ClassWords, app: int) -> IndexRow:
    data = {"term": row.term, "properties": row.properties}
    return (
        _stemmed(split(row.term)),
        _stemmed(split(" ".join(term for term, _ in row.properties))),
        "",
        app,
        row.use,
        json.dumps(data),
    )
