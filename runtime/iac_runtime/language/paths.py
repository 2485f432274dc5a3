"""File paths, and the references that Finder and System Events want in their place.

Apple's guide names a folder step by step from the startup disk (Mac Automation Scripting Guide,
"Reference Files and Folders"); the home folder, the desktop and the trash are properties of the
application, and other volumes are its disks.
"""

import posixpath
from typing import Final, Literal

from iac_base.errors import InvalidParameterError, quoted
from iac_runtime.language.steps import ByName, Every, Go, Step
from iac_runtime.language.terms import element_named
from iac_runtime.tools.tables import APPLICATION, Tables

__all__ = ["Last", "folder_reference", "full_path", "has_folders", "is_path"]

Last = Literal["folder", "item", "file"]
"""What a path ends in: a folder, a file, or either."""

_PLACES: Final = (
    ("~/Desktop", ("desktop", "desktop folder")),
    ("~/.Trash", ("trash",)),
    ("~", ("home", "home folder")),
)
"""Folder -> the property of the application that holds it; Finder's name, System Events' name."""

_VOLUMES: Final = "/Volumes/"
_CLASSES: Final = {"folder": ("folder",), "file": ("file",), "item": ("item", "disk item")}


def is_path(text: str) -> bool:
    """Say whether a text has the form of a file path: absolute, or under `~`."""
    return text == "~" or text.startswith(("/", "~/"))


def full_path(text: str, home: str, where: str = "path") -> str:
    """Return `text` as an absolute path without `.`, `..` and doubled slashes.

    Raises:
        InvalidParameterError: It is relative, names another user's home, or holds a NUL.
    """
    if "\0" in text:
        raise InvalidParameterError(f"{where}: the path {quoted(text)} holds a NUL character.")
    if not is_path(text) or (text.startswith("~") and not home):
        raise InvalidParameterError(
            f"{where}: {quoted(text)} is no absolute path.", "Begin it with / or ~/."
        )
    path = home + text[1:] if text.startswith("~") else text
    return posixpath.normpath("/" + path.lstrip("/"))


def has_folders(tables: Tables) -> bool:
    """Say whether the app is one that names files by objects: Finder, System Events."""
    return (
        APPLICATION in tables.classes
        and "folder" in tables.classes
        and tables.find_property(APPLICATION, "startup disk") is not None
    )


def folder_reference(
    path: str, home: str, tables: Tables, last: Last = "folder"
) -> tuple[Step, ...]:
    """Return the steps to what lies at an absolute path, from the nearest known place.

    `last` says among what the last name is looked for.
    """
    steps, rest = _place(path, home, tables)
    names = [name for name in rest.split("/") if name]
    for name in names:
        steps += [Every(tables.classes["folder"].plural), ByName(name)]
    if names and last != "folder":
        steps[-2] = Every(_plural(last, tables))
    return tuple(steps)


def _place(path: str, home: str, tables: Tables) -> tuple[list[Step], str]:
    """Return the way to the nearest place of its own, and what of the path follows it."""
    for place, terms in _PLACES:
        root = place.replace("~", home, 1)
        if not home or not (path == root or path.startswith(root + "/")):
            continue
        for term in terms:
            prop = tables.find_property(APPLICATION, term)
            if prop is not None:
                return [Go(prop.jxa)], path[len(root) :]
    disks = element_named((APPLICATION,), "disks", tables)
    if path.startswith(_VOLUMES) and disks is not None:
        volume, _, rest = path.removeprefix(_VOLUMES).partition("/")
        return [Every(tables.classes[disks].plural), ByName(volume)], rest
    disk = tables.find_property(APPLICATION, "startup disk")
    assert disk is not None
    return [Go(disk.jxa)], path


def _plural(last: Last, tables: Tables) -> str:
    held = {row.term for row in tables.elements("folder")} & tables.classes.keys()
    wanted = (*_CLASSES[last], *_CLASSES["item"], "folder")
    term = next((term for term in wanted if term in held), "folder")
    return tables.classes[term].plural
