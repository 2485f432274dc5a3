"""Rules of escalation on files: what is written, over what, where, and what is opened.

Each function looks at a request and returns what it found, for a person to read, or an empty text.
"""

import re
from collections.abc import Iterator
from typing import Final

from iac_runtime.language.steps import RefValue
from iac_runtime.policy.call_view import MOVES, CallView, RuleContext, words_of
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


def _changes_files(view: CallView) -> bool:
    return view.event.writes and view.event.code not in _SHOWS


def _written(view: CallView) -> Iterator[str]:
    """Yield the files that the call may write, by whatever name."""
    for row, path in view.paths:
        if view.into(row) or _changes_files(view):
            yield path
    yield from view.landings


def _both(path: str, world: RuleContext) -> tuple[str, str]:
    return path, world.files.real(path)


def own_state(view: CallView, world: RuleContext) -> str:
    roots = [identity(form).rstrip("/") for folder in world.own for form in _both(folder, world)]
    for _, path in view.paths:
        for form in _both(path, world):
            inside = identity(form)
            if any(inside == root or inside.startswith(root + "/") for root in roots):
                return path
    return ""


def special(view: CallView, world: RuleContext) -> str:
    for _, path in view.paths:
        if identity(path).startswith("/dev/") or world.files.kind(path) == "special":
            return path
    return ""


def protected(view: CallView, world: RuleContext) -> str:
    for path in _written(view):
        for form in _both(path, world):
            place = place_of(form)
            if place is not None:
                return f"{path} ({place.says})"
    return ""


def opens_protected(view: CallView, world: RuleContext) -> str:
    if not view.event.writes or _changes_files(view):
        return ""
    for _, path in view.paths:
        if any(place_of(form) for form in _both(path, world)):
            return path
    return ""


_SAVES: Final = re.compile(r"\b(save|saving|export|archive|store|write|capture|record|render)\b")


def _destinations(view: CallView) -> Iterator[str]:
    """Yield the files that are written: a folder to put something into is none."""
    for row, path in view.paths:
        if view.into(row) and not isinstance(row.value, RefValue):
            yield path


def exists(view: CallView, world: RuleContext) -> str:
    for path in _destinations(view):
        kind = world.files.kind(path)
        # A document can be a folder with a suffix; a mere folder is a place to put things into.
        if kind in ("file", "unknown") or (kind == "folder" and "." in path.rpartition("/")[2]):
            return path
    return _moved_onto(view, world)


def _moved_onto(view: CallView, world: RuleContext) -> str:
    """Return the file that something of the same name would be moved or copied onto."""
    if view.event.code not in MOVES:
        return ""
    sources = [path for row, path in view.paths if row.code == "----"]
    folders = [path for row, path in view.paths if view.into(row)]
    for folder in folders:
        for source in sources:
            path = f"{folder.rstrip('/')}/{source.rpartition('/')[2]}"
            if not path.endswith("/?") and world.files.kind(path) in ("file", "folder"):
                return path
    return ""


def program_place(view: CallView, world: RuleContext) -> str:
    """Where programs and what they go by lie, or a folder of Finder's that has no path here."""
    for row in view.given if view.event.writes else ():
        if not view.into(row):
            continue
        steps, path = isinstance(row.value, RefValue), view.path_of(row.value)
        if path is None:
            puts = view.event.code in MOVES or _makes_file(view)
            if steps and puts and view.of_files:
                return "that folder"
            continue
        hidden = steps and "/?" in path and not in_documents(path, view.home)
        if hidden or any(of_programs(form, view.home) for form in _both(path, world)):
            return path
    return ""


def _makes_file(view: CallView) -> bool:
    return re.search(r"\b(file|folder|alias|package|item)$", view.made) is not None


def outside_documents(view: CallView, world: RuleContext) -> str:
    saves = _SAVES.search(words_of(view.event.command)) is not None
    for row, path in view.paths:
        if (
            view.into(row)
            and not isinstance(row.value, RefValue)
            and (saves or row.code == "kfil")
            and not all(in_documents(form, view.home) for form in _both(path, world))
        ):
            return path
    return ""


def writes_file(view: CallView, _world: RuleContext) -> str:
    if view.event.writes:
        return ""
    return next((path for path in _destinations(view)), "")


def executable(view: CallView, _world: RuleContext) -> str:
    for row, path in view.paths:
        if view.into(row) and is_executable(path):
            return path
    return ""


def opens(view: CallView, world: RuleContext) -> str:
    if view.event.code != "aevtodoc":
        return ""
    for _, path in view.paths:
        for form in _both(path, world):
            folder = world.files.kind(form) == "folder" and "." not in form.rpartition("/")[2]
            if is_executable(form) or not (folder or is_document(form)):
                return path
    return ""


_NAMES: Final = frozenset({"name", "displayed name", "name extension", "title", "file name"})


def renames(view: CallView, _world: RuleContext) -> str:
    if not view.event.writes:
        return ""
    for row, text in view.texts:
        named = row.name in _NAMES and row.owner
        if named and is_executable(f"/x.{text}" if row.name == "name extension" else f"/{text}"):
            return text
        if named and view.event.op == "set":
            program = next((path for _, path in view.paths if is_executable(path)), "")
            if program:
                return program.rpartition("/")[2]
    return ""


def top_folder(view: CallView, world: RuleContext) -> str:
    if not _changes_files(view):
        return ""
    for row, path in view.paths:
        names = [name for name in identity(path).split("/") if name]
        if row.code != "----" or len(names) > HIGH or "?" in path:
            continue
        kind = world.files.kind(path)
        # What cannot be looked at is a folder unless its name has a suffix.
        if kind == "folder" or (kind != "file" and "." not in "".join(names[-1:])):
            return path
    return ""
