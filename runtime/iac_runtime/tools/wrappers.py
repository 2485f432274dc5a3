"""The shortcuts by which App Intents run: the built ones, and those that the person installed.

A tool of an App Intent can be called once its shortcut is installed, and only while the folder has
the same shortcut as then: `iac-mcp intents install` is the person's word for it.
"""

import hashlib
import json
import plistlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.errors import SetupError
from iac_base.files import data_folder, open_state, read_bounded, write_whole
from iac_runtime.tool import CALL, shortcuts_file

_MAX: Final = 16 * 1024 * 1024
_FILE: Final = "intents.json"


class Installed(NamedTuple):
    """A shortcut that the person took in: its identifier there, and the digest of what it was.

    `takes` are the parameters that it passes on, as the metadata calls them.
    """

    uuid: str
    digest: str
    takes: tuple[str, ...] = ()


def read_wrappers(folder: Path, key: str) -> tuple[str, Mapping[str, Mapping[str, Any]]]:
    """Return the digest of an app's shortcuts, and the shortcuts by action.

    Raises:
        SetupError: They are missing, or not those that the lock speaks of.
    """
    from iac_runtime.tools.catalogue import damaged, read_lock

    path = folder / shortcuts_file(key)
    try:
        content = read_bounded(path, _MAX)[0]
        locked = read_lock(folder)["apps"][key]["wrappers"]
        found = plistlib.loads(content, fmt=plistlib.FMT_XML)
    except Exception as error:  # plistlib lets through whatever its parser raises
        raise damaged(path) from error
    if hashlib.sha256(content).hexdigest()[:16] != locked or not isinstance(found, dict):
        raise damaged(path)
    return locked, found


def keys_of(workflow: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of the input that a shortcut reads, but that of the call."""
    held = (one["WFWorkflowActionParameters"] for one in workflow["WFWorkflowActions"])
    return tuple(key for one in held if (key := one.get("WFDictionaryKey", CALL)) != CALL)


def installed() -> Mapping[str, Installed]:
    """Return the shortcuts that are installed, by tool; a file that is no such file has none."""
    try:
        rows = json.loads(read_bounded(data_folder() / "state" / _FILE, _MAX)[0])
        return {
            name: Installed(str(row["uuid"]), str(row["digest"]), tuple(map(str, row["takes"])))
            for name, row in rows.items()
        }
    except (OSError, ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return {}


def keep(tool: str, row: Installed | None) -> None:
    """Write down that the shortcut of a tool is installed, or with None that it is not.

    Raises:
        SetupError: The state folder is not safe, or cannot be written.
    """
    rows = {name: one._asdict() for name, one in installed().items() if name != tool}
    if row is not None:
        rows[tool] = row._asdict()
    path = open_state() / _FILE
    try:
        write_whole(path, json.dumps(rows, indent=1, sort_keys=True) + "\n")
    except OSError as error:
        raise SetupError(f"{path} cannot be written: {error.strerror}.") from error
