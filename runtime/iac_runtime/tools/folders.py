"""Where tools lie: the folders to look in, and which of them may be trusted.

Modules are code. A folder of the user's own is read only if it is theirs and nobody else
can write to it; the folder that `--tools` names is the caller's word.
"""

import importlib.util
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from iac_base.errors import SetupError
from iac_base.files import data_folder


def check_own(folder: Path) -> None:
    """Refuse a folder that is not this user's or that others can write to.

    Raises:
        SetupError: One line with the way out.
    """
    status = folder.stat()
    if status.st_uid != os.geteuid():
        raise SetupError(
            f"{folder} belongs to another user, so it is not read; remove it, or"
            f" make yourself its owner."
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SetupError(
            f"{folder} can be written by other users, so it is not read; run chmod go-w on it."
        )


def shipped_folder() -> Path | None:
    """Return the folder of the modules that came with the package, found without importing it."""
    spec = importlib.util.find_spec("iac_tools")
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


def _own_tools() -> Path | None:
    base = data_folder()
    tools = base / "tools"
    if not tools.is_dir():
        return None
    check_own(base)
    check_own(tools)
    return tools


def user_folders() -> list[str]:
    """Return the folder of the user's own modules if it is there and safe, else nothing."""
    try:
        own = _own_tools()
    except (SetupError, OSError):
        return []
    return [str(own)] if own else []


def tool_folders(chosen: Sequence[Path] = ()) -> list[Path]:
    """Return the output folders to search, in order: chosen, the user's own, shipped.

    Raises:
        SetupError: A chosen folder is not there, or the user's own is not safe.
    """
    for folder in chosen:
        if not (folder / "catalogue.json").is_file():
            raise SetupError(
                f"{folder} has no tools (no catalogue.json); "
                f"build them with: iac-gen build --output {folder}"
            )
    found = [*chosen]
    own = _own_tools()
    if own is not None and (own / "catalogue.json").is_file():
        found.append(own)
    shipped = shipped_folder()
    if shipped is not None and (shipped / "catalogue.json").is_file():
        found.append(shipped)
    return found
