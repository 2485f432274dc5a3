"""File paths, and the folder references that Finder and System Events want in their place.

Apple's guide names a folder step by step from the startup disk (Mac Automation Scripting Guide,
"Reference Files and Folders"); `home`, `desktop` and the like are properties of the application.
"""

import posixpath
from typing import Final

from iac_runtime.errors import InvalidParameterError, quoted
from iac_runtime.language.steps import ByName, Every, Go, Step
from iac_runtime.tables import APPLICATION, Tables

__all__ = ["folder_reference", "full_path", "has_folders", "is_path"]

_PLACES: Final = (("~/Desktop", "desktop"), ("~", "home"))


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
    path: str, home: str, tables: Tables, *, item: bool = False
) -> tuple[Step, ...]:
    """Return the steps to the folder at an absolute path, from the nearest known place.

    With `item` the last step is taken among all items of its folder, for it may be a file.
    """
    steps: list[Step] = []
    rest = path
    for place, term in _PLACES:
        root = place.replace("~", home, 1)
        prop = tables.find_property(APPLICATION, term)
        if home and prop is not None and (path == root or path.startswith(root + "/")):
            steps.append(Go(prop.jxa))
            rest = path[len(root) :]
            break
    else:
        disk = tables.find_property(APPLICATION, "startup disk")
        assert disk is not None
        steps = [Go(disk.jxa)]
    names = [name for name in rest.split("/") if name]
    folders = tables.classes["folder"].plural
    for name in names:
        steps += [Every(folders), ByName(name)]
    if item and names:
        held = {row.term for row in tables.elements("folder")} & tables.classes.keys()
        for term in ("item", "disk item"):
            if term in held:
                steps[-2] = Every(tables.classes[term].plural)
                break
    return tuple(steps)
