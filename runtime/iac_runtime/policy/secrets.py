"""Properties that hold secrets: no call reads one, asks for one in a filter, or hands one on."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from iac_base.secrets import is_secret
from iac_base.words import fold
from iac_runtime.language.request import Event
from iac_runtime.language.steps import Every, Go
from iac_runtime.policy.call_view import requests, steps_in, words_of
from iac_runtime.tools.tables import Tables

__all__ = ["secrets_read", "without_secrets"]


def secrets_read(event: Event, tables: Tables | None, extra: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the secret properties that a request would read, by JXA name.

    Args:
        event: The request.
        tables: Those of the app, for the types of its properties; None if there are none.
        extra: Globs over the names of further properties, in words (`account id`).
    """
    globs = tuple(extra)
    # All of an object is asked for without its secrets, see `without_secrets`.
    names = dict.fromkeys(_read(without_secrets(event, tables, globs)))
    found = [name for name in names if _secret(name, tables, globs)]
    found += [f"all of {name}" for name in _whole(event, tables, globs)]
    return tuple(found)


_ALL: Final = "properties"
"""JXA's name of the record of all properties, which cannot be asked for in part."""


def _whole(event: Event, tables: Tables | None, globs: tuple[str, ...]) -> Iterator[str]:
    """Yield the collections of whose objects all is read at once, where a secret is among it."""
    asked = [(*one.target, Go(column.jxa)) for one in requests(event) for column in one.columns]
    for steps in (*steps_in(event), *asked):
        if not any(isinstance(step, Go) and step.name == _ALL for step in steps):
            continue
        holders = [step.name for step in steps if isinstance(step, Every)]
        term = tables.find_class(holders[-1]) if tables is not None and holders else None
        rows = tables.properties(term) if tables is not None and term is not None else ()
        known = tuple(rows)
        if not known or any(_secret(row.jxa, tables, globs) for row in known):
            yield holders[-1] if holders else "the app"


def without_secrets(event: Event, tables: Tables | None, extra: Iterable[str] = ()) -> Event:
    """Return a request for all properties of an object as one for those that are no secret.

    Any other request is returned as it is: there a secret was asked for by name.
    """
    globs = tuple(extra)
    if event.parts:
        parts = tuple(without_secrets(part, tables, globs) for part in event.parts)
        return replace(event, parts=parts)
    if event.op != "properties":
        return event
    kept = tuple(column for column in event.columns if not _secret(column.jxa, tables, globs))
    if len(kept) == len(event.columns):
        return event
    return replace(event, op="columns", columns=kept)


def _read(event: Event) -> Iterator[str]:
    for steps in steps_in(event):
        for step in steps:
            if isinstance(step, Go | Every):
                yield step.name
    for one in requests(event):
        yield from (column.jxa for column in one.columns if column.jxa)
        yield from (row.jxa for row in one.order)


def _secret(name: str, tables: Tables | None, globs: tuple[str, ...]) -> bool:
    if globs and any(fnmatchcase(words_of(name), _glob_words(glob)) for glob in globs):
        return True
    return _sounds_secret(name) and (tables is None or fold(name) not in _harmless(tables))


@lru_cache(maxsize=4096)
def _sounds_secret(name: str) -> bool:
    return is_secret(name)


def _glob_words(glob: str) -> str:
    return glob.replace("_", " ").lower()


_by_app: dict[int, tuple[Tables, frozenset[str]]] = {}


def _harmless(tables: Tables) -> frozenset[str]:
    """Return the properties that sound like a secret but by their type hold none; read once."""
    # The tables are kept with their id, so that it means no others.
    found = _by_app.get(id(tables))
    if found is None:
        rows = [row for part in tables.classes.values() for row in part.properties]
        rows += [row for part in tables.records.values() for row in part.properties]
        kinds: dict[str, bool] = {}
        for row in rows:
            for name in {row.jxa, row.term}:
                if _sounds_secret(name):
                    key = fold(name)
                    kinds[key] = kinds.get(key, False) or is_secret(name, row.type)
        harmless = frozenset(name for name, secret in kinds.items() if not secret)
        found = _by_app[id(tables)] = (tables, harmless)
    return found[1]
