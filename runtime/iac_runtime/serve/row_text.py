"""The text of a result: a list as its columns once and then a row a line, in few tokens.

Structured content has everything; the text leaves out what a reader can do without.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from iac_runtime.language.reader import DateText, RefText


def concise_text(content: Mapping[str, Any], handle: Callable[[str], str]) -> str:
    """Return structured content as short JSON; `handle` names a reference.

    A list of rows becomes `columns` and `rows`. What is null or false in every row stands once in
    `in every row`; else a blank, or the end of the row, is null, and false where the other cells
    are true. Moments are local, without seconds; `times` says the zone.
    """
    offsets: dict[str, None] = {}

    def shorten(value: Any) -> Any:
        if isinstance(value, RefText):
            return handle(value)
        if isinstance(value, DateText):
            moment = datetime.fromisoformat(value)
            offsets[f"UTC{moment.isoformat()[-6:]}"] = None
            return f"{moment:%Y-%m-%d %H:%M}"
        if isinstance(value, Mapping):
            return {key: shorten(part) for key, part in value.items() if part is not None}
        return [shorten(part) for part in value] if isinstance(value, list | tuple) else value

    shown: dict[str, Any] = {}
    rows: list[Any] = []
    for key, value in content.items():
        if key == "result" and _is_table(value):
            shown |= _table_of(value, shorten)
            rows = shown.pop("rows")
        elif key == "results" and isinstance(value, list):
            # Of several calls together.
            shown[key] = [_table_of(x, shorten) if _is_table(x) else shorten(x) for x in value]
        elif value is not None:
            shown[key] = shorten(value)
    if offsets:
        shown["times"] = f"local, {' or '.join(offsets)}"
    text, lines = _write_json(shown), ",\n".join(map(_write_json, rows))
    return f'{text[:-1]},"rows":[\n{lines}]}}' if rows else text


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and value != [] and all(isinstance(x, Mapping) for x in value)


def _table_of(rows: Sequence[Mapping[str, Any]], shorten: Callable[[Any], Any]) -> dict[str, Any]:
    """Return rows as `columns` and `rows`, the fullest columns first."""
    names = list(dict.fromkeys(key for row in rows for key in row))
    columns = {name: [shorten(row.get(name)) for row in rows] for name in names}
    constant: dict[str, Any] = {}
    for name, cells in columns.items():
        if all(isinstance(cell, bool) for cell in cells) and any(cells):
            columns[name] = [cell or None for cell in cells]
        elif (said := {*map(_write_json, cells)}) <= {"null"} or said <= {"false"}:
            constant[name] = cells[0]
    kept = [name for name in names if name not in constant]
    kept.sort(key=lambda name: columns[name].count(None))
    found: dict[str, Any] = {"in every row": constant} if constant else {}
    table = [_without_end([columns[name][at] for name in kept]) for at in range(len(rows))]
    return {**found, "columns": kept, "rows": table}


def _without_end(cells: list[Any]) -> list[Any]:
    while cells and cells[-1] is None:
        cells.pop()
    return cells


def _write_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
