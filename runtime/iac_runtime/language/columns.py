"""Columns: which properties of an object are read, where some are named and where none are."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from iac_base.errors import InvalidParameterError
from iac_runtime.language.request import Column
from iac_runtime.language.terms import (
    id_property,
    is_text,
    known_properties,
    loose_name,
    property_term,
)
from iac_runtime.tool import Property
from iac_runtime.tools.tables import Tables

_MAX_COLUMNS: Final = 80
_USUAL: Final = 5
"""Columns of a list that nobody chose, at most."""

_TEXTS: Final = 2
"""Plain values that stand for an object without a name."""

_PLAIN: Final = frozenset({"text", "rich text", "date", "integer", "number", "real", "boolean"})


def named_columns(
    names: Any, classes: tuple[str, ...] | None, tables: Tables
) -> tuple[Column, ...]:
    """Return what to read for the properties of these names, each once.

    Raises:
        InvalidParameterError: An object of `classes` has no such property, or it cannot be read.
    """
    found: dict[str, Column] = {}
    for name in [names] if isinstance(names, str) else names:
        rows = known_properties(classes, name, tables)
        column = (
            Column(rows[0].term, property_term(rows[0]))
            if rows
            else Column(name, loose_name(name, tables))
        )
        if rows and not any("r" in row.access for row in rows):
            raise InvalidParameterError(f'"{rows[0].term}" can be set, but not read.')
        found[column.label] = column
    return tuple(found.values())


def all_columns(term: str, tables: Tables) -> tuple[Column, ...]:
    """Return every property of a class that can be read, up to a limit."""
    rows = [row for row in tables.properties(term) if "r" in row.access]
    return tuple(Column(row.term, property_term(row)) for row in rows[:_MAX_COLUMNS])


@lru_cache(maxsize=1)
def _load_column_table() -> dict[str, Any]:
    """Return what lists show (JSON, for the first list of a process reads it)."""
    table: dict[str, Any] = json.loads(Path(__file__).with_name("columns.json").read_bytes())
    return table


@lru_cache(maxsize=4096)
def default_columns(term: str, tables: Tables) -> tuple[Column, ...]:
    """Return what a person would look at of each item: title, who, when, state, size.

    By the row of the class or of one that it inherits from, else by the names of its properties.
    Of text, the text; of what has nothing of that kind, a few plain values, its id at last.
    """
    if is_text(term, tables):
        return (Column("text", ""),)
    rows = {row.term: row for row in tables.properties(term) if "r" in row.access}
    chosen = [
        rows[name] for name in _preferred_names(term, tables) if name in rows
    ] or _columns_by_rule(rows, tables)
    if not chosen:
        ident = id_property(term, tables)
        plain = (row for row in rows.values() if row.type in _PLAIN and row != ident)
        chosen = [*plain][:_TEXTS] or ([ident] if ident is not None else [])
    return tuple(Column(row.term, property_term(row)) for row in chosen)


def _preferred_names(term: str, tables: Tables) -> list[str]:
    rows: dict[str, list[str]] = _load_column_table()["rows"].get(tables.key, {})
    return next((rows[name] for name, _ in tables.lineage(term) if name in rows), [])


def _columns_by_rule(rows: dict[str, Property], tables: Tables) -> list[Property]:
    """Return a property a slot: of exactly that name, else of a name that ends in it."""
    named = {term.casefold(): row for term, row in rows.items()}
    shown = {
        key: row for key, row in named.items() if row.type in _PLAIN or row.type in tables.enums
    }
    found: list[Property] = []
    for at, slot in enumerate(_load_column_table()["slots"]):
        words = [word.casefold() for word in slot]
        exact = [shown[word] for word in words if word in shown]
        # `task name` is a title; `font size` is not the size.
        ending = [
            row for word in words for key, row in shown.items() if key.endswith(f" {word}")
        ] if at == 0 else []  # fmt: skip
        found += [row for row in (*exact, *ending) if row not in found][:1]
    return found[:_USUAL]
