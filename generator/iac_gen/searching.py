"""Searching: the words that the tools of an app are found by, and the index of a folder's apps.

`search.jsonl` has a line an app with its rows, then a line a word with the apps that have it, in
the order of their bytes, so that a reader finds both without reading the rest. The last line says
where the words begin and how many rows there are.
"""

import json
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final, TypeAlias

from iac_base.words import fold_name, stem_words
from iac_gen.ir import Module
from iac_gen.resolve import ResolvedDictionary

FORMAT: Final = 1
_LEVELS: Final = (". SAFE", ". MODIFY", ". DANGEROUS")
_TOLD: Final = 40
"""Stems of a dictionary's own descriptions that a row takes."""

_COMMON: Final = 50
"""A word that more apps have, and a quarter of all, tells none of them apart."""

SearchRows: TypeAlias = Mapping[str, Any]
"""An app as it is found: `key`, `name`, the object tools by operation, and rows. A row is
[kind, tool or term, element, name, owned, purpose, told, properties]; words are stems."""


def search_rows(module: Module, resolved: ResolvedDictionary) -> SearchRows:
    """Return the words of an app; object tools have no row, they are found through the classes."""
    told: dict[str, str] = {fold_name(one.name): one.description for one in resolved.commands}
    rows: list[list[Any]] = []
    free = False
    objects = {}
    for tool in module.tools:
        if tool.op != "command" and not tool.bind:
            objects[tool.op] = tool.name
            element = tool.input_schema()["properties"].get("element", {})
            free = free or (tool.op == "make" and "enum" not in element)
            continue
        purpose = tool.summary
        for level in _LEVELS:
            purpose = purpose.split(level)[0]
        bound = tool.bind.get("element", "")
        element = bound if isinstance(bound, str) else ""
        name = tool.function.rstrip("_").replace("_", " ")
        words = (name, element, purpose, told.get(fold_name(tool.term), "") if tool.term else "")
        rows.append([tool.op, tool.name, element, *map(_sorted_stems, words), []])
    described = {one.name: one for one in resolved.classes}
    held = {element.term for one in module.classes.values() for element in one.elements}
    for term, row in module.classes.items():
        use = "held" if term in held else "made" if free else "class"
        kind = "class" if term == "application" else use
        owned = " ".join(prop.term for prop in row.properties)
        source = described.get(term)
        said = [source.description, *(p.description for p in source.properties)] if source else []
        properties = [[prop.term, prop.access] for prop in row.properties]
        words = (term, owned, "", " ".join(said))
        rows.append([kind, term, term, *map(_sorted_stems, words), properties])
    return {"key": module.key, "name": module.app.name, "tools": objects, "rows": rows}


def _sorted_stems(text: str) -> str:
    """Return the stems of a text, sorted: what a vendor wrote is nothing to read."""
    return " ".join(sorted([*dict.fromkeys(stem_words(text[:2_000]))][:_TOLD]))


def renamed_rows(app: SearchRows, names: Mapping[str, str]) -> SearchRows:
    """Return the rows of an app whose tools are called by the values of `names`."""
    tools = {op: names.get(name, name) for op, name in app["tools"].items()}
    rows = [[kind, names.get(name, name), *rest] for kind, name, *rest in app["rows"]]
    return {**app, "tools": tools, "rows": rows}


def read_rows(text: str) -> dict[str, SearchRows]:
    """Return the apps of an index by their keys. Raises ValueError and KeyError."""
    lines = (line for line in text.splitlines() if line.startswith('{"key"'))
    return {app["key"]: app for app in map(json.loads, lines)}


def search_index(apps: Iterable[SearchRows]) -> Iterator[str]:
    """Yield the lines of the index of `apps`."""
    head = json.dumps({"format": FORMAT, "name": "search"}) + "\n"
    yield head
    offset, total, count = len(head), 0, 0
    rows_of: Counter[str] = Counter()
    strong: dict[str, array[int]] = {}
    weak: dict[str, array[int]] = {}
    for app in apps:
        line = _json_line(app)
        spelled = {fold_name(app["name"]), fold_name(app["key"])}
        # People leave the number of a version out.
        names = {f"={one}" for name in spelled for one in (name, name.rstrip("0123456789")) if one}
        named = {
            f"~{word}"
            for word in {*stem_words(app["name"])} - {*stem_words(fold_name(app["name"]))}
        }
        known, also = {*names, *named}, set[str]()
        for _, _, _, name, owned, purpose, told, _ in app["rows"]:
            known |= {*name.split()}
            also |= {*chain(owned.split(), purpose.split(), told.split())}
            rows_of.update({*chain(name.split(), owned.split(), purpose.split())})
        for word in known:
            strong.setdefault(word, array("Q")).append(offset)
        for word in also - known:
            weak.setdefault(word, array("Q")).append(offset)
        total, count, offset = total + len(app["rows"]), count + 1, offset + len(line)
        yield line
    limit = max(_COMMON, count // 4)
    start = offset
    for word in sorted({*strong, *weak}, key=_json_bytes):
        both = [list(found.get(word, ())) for found in (strong, weak)]
        kept = [[] if len(some) > limit else some for some in both]
        yield _json_line([word, rows_of[word], len(both[0]), *kept])
    yield _json_line([start, total, count])


def _json_bytes(word: str) -> bytes:
    return json.dumps(word).encode()


def _json_line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True) + "\n"
