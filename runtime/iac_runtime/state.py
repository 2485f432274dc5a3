"""The state folder: locks, stored results, decisions, the audit. It is the user's own.

What lies here decides what may run, so a folder that others can write to, or that a link leads
to, is refused and never repaired.
"""

import contextlib
import os
import stat
from pathlib import Path

from iac_runtime.errors import SetupError
from iac_runtime.folders import data_folder

__all__ = ["open_state", "private_folder"]


def open_state() -> Path:
    """Return the state folder of this user (`state` in the data folder); it is made if need be.

    Raises:
        SetupError: It cannot be made, is no folder, or is not safe; one line with the way out.
    """
    return private_folder(data_folder() / "state")


def private_folder(folder: Path) -> Path:
    """Return `folder`, made with mode 0700 if it is missing.

    Raises:
        SetupError: It cannot be made, is no folder or a link, belongs to another user, or lets
            others in.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
    except OSError as error:
        raise SetupError(f"{folder} cannot be made: {error.strerror}.") from error
    if stat.S_ISLNK(found.st_mode):
        raise SetupError(f"{folder} is a link; put a folder of your own in its place.")
    if not stat.S_ISDIR(found.st_mode):
        raise SetupError(f"{folder} is no folder; move the file away.")
    if found.st_uid != os.geteuid():
        raise SetupError(f"{folder} belongs to another user; move it away or own it.")
    if found.st_mode & 0o077:
        raise SetupError(f"{folder} is open to others; close it with: chmod 700 '{folder}'")
    return folder
