"""Assemble: the files of an output folder, of all apps; each text is made when it is asked for."""

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, Final, TypeAlias

from iac_gen.output import (
    APP_ROW,
    CATALOGUE,
    FORMAT,
    LISTING,
    LOCK,
    SEARCH,
    MaybePackedApp,
    PackedApp,
    PreviousBuild,
    pick_keys,
    unpack_app,
)
from iac_gen.searching import search_index
from iac_gen.surface import AcceptedLevels, LevelFall, find_level_falls

_TERMS: Final = ("class", "element", "enumeration", "enumerator", "field", "property", "record")
"""The kinds of `surface.term_rows`, in the order of the lock."""

_ROWS: Final = 100
"""Of a table that are written at once."""


@dataclass(frozen=True, slots=True, eq=False)
class FolderFiles(Mapping[str, str]):
    """The files of a folder, name -> text; a text is made when it is asked for, or in pieces."""

    makers: Mapping[str, Callable[[], Iterable[str]]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return "".join(self.makers[name]())

    def __iter__(self) -> Iterator[str]:
        return iter(self.makers)

    def __len__(self) -> int:
        return len(self.makers)


def text_pieces(files: Mapping[str, str], name: str) -> Iterable[str]:
    """Return the text of a file in pieces, so that a large one is never whole in memory."""
    return files.makers[name]() if isinstance(files, FolderFiles) else (files[name],)


def assemble_folder(
    apps: Iterable[MaybePackedApp], package: str, previous: PreviousBuild, accepted: AcceptedLevels
) -> tuple[FolderFiles, list[LevelFall]]:
    """Return all files of the folder, and the levels that fell; `package` is `__init__.py`.

    Modules of apps that were kept from an earlier build have no text and stay as they are.
    """
    ordered = sorted(apps, key=lambda app: app.key)
    makers: dict[str, Callable[[], Iterable[str]]] = {
        name: partial(_decompressed_text, content)
        for app in ordered
        if isinstance(app, PackedApp)
        for name, content in app.modules.items()
    }
    makers["__init__.py"] = partial(iter, (package,))
    for name, made in (
        (LISTING, _listing_lines),
        (SEARCH, _search_lines),
        (CATALOGUE, _catalogue_json),
        (LOCK, _lock_json),
    ):
        makers[name] = partial(made, ordered)
    old = previous.locked
    known = (app for app in ordered if app.key in old)
    found = (
        find_level_falls(old[app.key], unpack_app(app).reviewed_surface(), accepted)
        for app in known
    )
    return FolderFiles(makers), [one for rows in found for one in rows]


_Rows: TypeAlias = Iterator[tuple[str, Any]]


def _decompressed_text(content: bytes) -> tuple[str]:
    return (zlib.decompress(content).decode(),)


def _listing_lines(apps: Sequence[MaybePackedApp]) -> Iterator[str]:
    return (f"{line}\n" for app in map(unpack_app, apps) for line in app.lines.values())


def _search_lines(apps: Sequence[MaybePackedApp]) -> Iterator[str]:
    return search_index(words for app in apps if (words := unpack_app(app).words))


def _catalogue_json(apps: Sequence[MaybePackedApp]) -> Iterator[str]:
    return _json_pieces({"apps": _catalogue_app_rows(apps), "tools": _catalogue_tool_rows(apps)})


def _lock_json(apps: Sequence[MaybePackedApp]) -> Iterator[str]:
    # The runtime reads what it needs and stops at the terms.
    held = {"apps": _lock_app_rows(apps), "tools": _lock_level_rows(apps)}
    return _json_pieces({**held, "terms": _lock_term_rows(apps), "sent": _lock_call_rows(apps)})


def _catalogue_app_rows(apps: Sequence[MaybePackedApp]) -> _Rows:
    return ((app.key, pick_keys(unpack_app(app).row, APP_ROW)) for app in apps)


def _catalogue_tool_rows(apps: Sequence[MaybePackedApp]) -> _Rows:
    offset = 0
    for app in map(unpack_app, apps):
        for name, line in app.lines.items():
            row = app.tools[name]
            where = {**pick_keys(row, ("module", "function")), "offset": offset}
            yield name, {**where, **pick_keys(row, ("level", "ceiling", "digest"))}
            offset += len(line.encode()) + 1


def _lock_app_rows(apps: Sequence[MaybePackedApp]) -> _Rows:
    for app in map(unpack_app, apps):
        named = pick_keys(app.row, ("identity", "name"))
        digests = pick_keys(app.row, ("digest", "objects"))
        if app.row["wrappers"]:
            digests["wrappers"] = app.row["wrappers"]
        yield app.key, {**named, "version": app.version, **digests}


def _lock_level_rows(apps: Sequence[MaybePackedApp]) -> _Rows:
    for app in map(unpack_app, apps):
        for name, row in app.tools.items():
            event = {"event": row["event"]} if row["event"] else {}
            yield name, {**pick_keys(row, ("digest", "level", "ceiling")), **event}


def _lock_term_rows(apps: Sequence[MaybePackedApp]) -> _Rows:
    # Sorted by name as a whole: a name begins with its kind and the key of its app.
    for kind in _TERMS:
        for app in map(unpack_app, apps):
            yield from sorted(i for i in (app.terms or {}).items() if i[0].startswith(f"{kind} "))


def _lock_call_rows(apps: Sequence[MaybePackedApp]) -> _Rows:
    # The names of an app stand together but for those of another whose key goes on after its own.
    names = sorted((name, at) for at, app in enumerate(apps) for name in app.tools)
    for at, group in groupby(names, key=itemgetter(1)):
        tools = unpack_app(apps[at]).tools
        yield from ((name, tools[name]["sent"]) for name, _ in group)


def _json_pieces(tables: Mapping[str, _Rows]) -> Iterator[str]:
    """Yield JSON with a row a line, so that a change is a line of a diff."""
    yield f'{{"format": {FORMAT}'
    for table, rows in tables.items():
        # What only a build reads is written without spaces: there are thousands of these rows.
        marks = (",", ":") if table in ("terms", "sent") else None
        encode = json.JSONEncoder(separators=marks).encode
        yield f',\n"{table}": {{'
        comma = ""
        while some := [f"\n{json.dumps(key)}: {encode(row)}" for key, row in islice(rows, _ROWS)]:
            yield f"{comma}{','.join(some)}"
            comma = ","
        yield "\n}" if comma else "\n\n}"
    yield "}\n"
