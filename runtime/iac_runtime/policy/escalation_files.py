"""Rules of escalation on files: what is written, over what, where, and what is opened.

Each function looks at a request and returns what it found, for a person to read, or an empty text.
"""

import re
from collections.abc import Iterator
from typing import Final

from iac_runtime.language.steps import RefValue
from iac_runtime.policy.call_view import MOVES, Sight, World, words_of
from iac_runtime.policy.places import (
    identity,
    in_documents,
    is_document,
    is_executable,
    of_programs,
    place_of,
)

HIGH: Final = 2
"""Folders at this depth or above hold a whole disk, or all that a user has."""

_SHOWS: Final = frozenset({"aevtodoc", "aevtpdoc", "miscmvis", "aevtoapp", "GURLGURL"})
"""Events that open, print or reveal a file and leave it as it is."""


def _changes_files(sight: Sight) -> bool:
    return sight.event.writes and sight.event.code not in _SHOWS


def _written(sight: Sight) -> Iterator[str]:
    """Yield the files that the call may write, by whatever name."""
    for row, path in sight.paths:
        if sight.into(row) or _changes_files(sight):
            yield path
    yield from sight.landings


def _both(path: str, world: World) -> tuple[str, str]:
    return path, world.files.real(path)


def own_state(sight: Sight, world: World) -> str:
    roots = [identity(form).rstrip("/") for folder in world.own for form in _both(folder, world)]
    for _, path in sight.paths:
        for form in _both(path, world):
            inside = identity(form)
            if any(inside == root or inside.startswith(root + "/") for root in roots):
                return path
    return ""


def special(sight: Sight, world: World) -> str:
    for _, path in sight.paths:
        if identity(path).startswith("/dev/") or world.files.kind(path) == "special":
            return path
    return ""


def protected(sight: Sight, world: World) -> str:
    for path in _written(sight):
        for form in _both(path, world):
            place = place_of(form)
            if place is not None:
                return f"{path} ({place.says})"
    return ""


def opens_protected(sight: Sight, world: World) -> str:
    if not sight.event.writes or _changes_files(sight):
        return ""
    for _, path in sight.paths:
        if any(place_of(form) for form in _both(path, world)):
            return path
    return ""


_SAVES: Final = re.compile(r"\b(save|saving|export|archive|store|write|capture|record|render)\b")


def _destinations(sight: Sight) -> Iterator[str]:
    """Yield the files that are written: a folder to put something into is none."""
    for row, path in sight.paths:
        if sight.into(row) and not isinstance(row.value, RefValue):
            yield path


def exists(sight: Sight, world: World) -> str:
    for path in _destinations(sight):
        kind = world.files.kind(path)
        # A document can be a folder with a suffix; a mere folder is a place to put things into.
        if kind in ("file", "unknown") or (kind == "folder" and "." in path.rpartition("/")[2]):
            return path
    return _moved_onto(sight, world)


def _moved_onto(sight: Sight, world: World) -> str:
    """Return the file that something of the same name would be moved or copied onto."""
    if sight.event.code not in MOVES:
        return ""
    sources = [path for row, path in sight.paths if row.code == "----"]
    folders = [path for row, path in sight.paths if sight.into(row)]
    for folder in folders:
        for source in sources:
            path = f"{folder.rstrip('/')}/{source.rpartition('/')[2]}"
            if not path.endswith("/?") and world.files.kind(path) in ("file", "folder"):
                return path
    return ""


def program_place(sight: Sight, world: World) -> str:
    """Where programs and what they go by lie, or a folder of Finder's that has no path here."""
    for row in sight.given if sight.event.writes else ():
        if not sight.into(row):
            continue
        steps, path = isinstance(row.value, RefValue), sight.path_of(row.value)
        if path is None:
            puts = sight.event.code in MOVES or _makes_file(sight)
            if steps and puts and sight.of_files:
                return "that folder"
            continue
        hidden = steps and "/?" in path and not in_documents(path, sight.home)
        if hidden or any(of_programs(form, sight.home) for form in _both(path, world)):
            return path
    return ""


def _makes_file(sight: Sight) -> bool:
    return re.search(r"\b(file|folder|alias|package|item)$", sight.made) is not None


def outside_documents(sight: Sight, world: World) -> str:
    saves = _SAVES.search(words_of(sight.event.command)) is not None
    for row, path in sight.paths:
        if (
            sight.into(row)
            and not isinstance(row.value, RefValue)
            and (saves or row.code == "kfil")
            and not all(in_documents(form, sight.home) for form in _both(path, world))
        ):
            return path
    return ""


def writes_file(sight: Sight, _world: World) -> str:
    if sight.event.writes:
        return ""
    return next((path for path in _destinations(sight)), "")


def executable(sight: Sight, _world: World) -> str:
    for row, path in sight.paths:
        if sight.into(row) and is_executable(path):
            return path
    return ""


def opens(sight: Sight, world: World) -> str:
    if sight.event.code != "aevtodoc":
        return ""
    for _, path in sight.paths:
        for form in _both(path, world):
            folder = world.files.kind(form) == "folder" and "." not in form.rpartition("/")[2]
            if is_executable(form) or not (folder or is_document(form)):
                return path
    return ""


_NAMES: Final = frozenset({"name", "displayed name", "name extension", "title", "file name"})


def renames(sight: Sight, _world: World) -> str:
    if not sight.event.writes:
        return ""
    for row, text in sight.texts:
        named = row.name in _NAMES and row.owner
        if named and is_executable(f"/x.{text}" if row.name == "name extension" else f"/{text}"):
            return text
        if named and sight.event.op == "set":
            program = next((path for _, path in sight.paths if is_executable(path)), "")
            if program:
                return program.rpartition("/")[2]
    return ""


def top_folder(sight: Sight, world: World) -> str:
    if not _changes_files(sight):
        return ""
    for row, path in sight.paths:
        names = [name for name in identity(path).split("/") if name]
        if row.code != "----" or len(names) > HIGH or "?" in path:
            continue
        kind = world.files.kind(path)
        # What cannot be looked at is a folder unless its name has a suffix.
        if kind == "folder" or (kind != "file" and "." not in "".join(names[-1:])):
            return path
    return ""
