"""What is known of objects for outcomes: by the tables of their class, and beyond them."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from iac_runtime.language.terms import has_elements, is_text, object_classes
from iac_runtime.tool import Property
from iac_runtime.tools.tables import Tables

_KINDS: Final = 6
"""Classes of elements that are counted in a new object."""

_STAMPS: Final = ("creation date", "modification date", "date created", "date modified")
_STAMPED: Final = (*_STAMPS, "stamp date", "class", "index", "properties")
"""Properties that an app changes by itself."""

_CONTAINERS: Final = ("container", "folder", "mailbox", "list", "calendar", "playlist")
"""Properties that hold what an object lies in, where their type can hold such objects."""


@cache
def known_effects() -> Mapping[str, Mapping[str, Any]]:
    """Return what is known beyond the tables: `<event>[ <bundle id>[ <class>]]` -> row."""
    found: dict[str, dict[str, Any]] = json.loads(
        Path(__file__).with_name("effects.json").read_bytes()
    )
    return found


def effect_of(code: str, app: str, kind: str, tables: Tables) -> Mapping[str, Any]:
    """Return the row of an event on an object of a class; empty where there is none."""
    rows = known_effects()
    for term, _ in tables.lineage(kind):
        if found := rows.get(f"{code} {app} {term}"):
            return found
    return rows.get(f"{code} {app}", rows.get(code, {}))


def is_id(row: Property) -> bool:
    """Say whether the property by which an object is found again is an id, and not its name."""
    return row.term != "name"


def parts_of(kind: str, tables: Tables) -> tuple[str, ...]:
    """Return the classes of what an object holds, without those that another of them covers."""
    terms = [row.term for row in tables.elements(kind) if row.term in tables.classes]
    terms = [term for term in terms if not is_text(term, tables)]
    own = (
        term
        for term in terms
        if not any(other != term and tables.is_descendant(term, other) for other in terms)
    )
    return tuple(own)[:_KINDS]


def container_of(kind: str, tables: Tables) -> Property | None:
    """Return the property that holds what an object of a class lies in."""

    def container_rows() -> Iterator[Property]:
        for name in _CONTAINERS:
            row = tables.find_property(kind, name) if kind in tables.classes else None
            if row is None or "r" not in row.access:
                continue
            classes = object_classes(row.type, tables)
            if (classes is None and name == "container") or (
                classes and has_elements(classes, kind, tables)
            ):
                yield row

    return next(container_rows(), None)


def linked_properties(app: str, kind: str) -> tuple[str, ...]:
    """Return properties of a class that an app changes with one another."""
    return tuple(known_effects().get(f"linked {app} {kind}", {}).get("properties", ()))


def is_stamp(term: str) -> bool:
    """Say whether an app changes a property by itself."""
    return term in _STAMPED
