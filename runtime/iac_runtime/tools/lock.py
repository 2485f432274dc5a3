"""What vouches for the files of an output folder: its lock, and of intents what was installed.

A tool of an App Intent can be called once its shortcut is installed, and only while the folder has
the same shortcuts as then: `iac-mcp intents install` is the person's word for it.

A start of the server pays for this module, so it needs little beside `json` and `pathlib`.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from iac_base.errors import SetupError, quote_text
from iac_base.files import data_folder, hold_lock, open_state, read_bounded, write_whole
from iac_runtime.tool import CALL, shortcuts_file, tool_prefix

ShortcutProof: TypeAlias = Literal["simulated", "imported", "ran"]

_FILE: Final = "intents.json"
_VALUE_FOR_KEY: Final = "is.workflow.actions.getvalueforkey"
_PROOFS: Final[Mapping[str, ShortcutProof]] = {"simulated": "simulated", "ran": "ran"}


class InstalledShortcut(NamedTuple):
    """A shortcut that the person took in: its identifier there, and the digest of what it was.

    `takes` are the parameters that it passes on, as the metadata calls them. `proof` says how far
    it was seen to work on this Mac; one that is `simulated` is called in simulated apps only.
    """

    uuid: str
    digest: str
    takes: tuple[str, ...] = ()
    proof: ShortcutProof = "imported"


def damaged_file_error(path: Path) -> SetupError:
    """Return the error for a file of an output folder that is not as it was written."""
    return SetupError(f"{path} is damaged; build it again: iac-gen build")


def leave_out(path: Path, item: str, reason: object = None) -> None:
    """Say in the log that one item of an output folder is lost; the others are served."""
    from logging import getLogger

    from iac_base.logs import LOGGER

    reason = reason or "it is not as it was built; build it again: iac-gen build"
    getLogger(f"{LOGGER}.tools").warning("%s: %s is left out: %s", path, quote_text(item), reason)


MAX_FILE: Final = 64 * 1024 * 1024
"""Bytes of a file of an output folder; the listing of 200 apps has 3 MB."""


def read_part(path: Path) -> bytes:
    """Return the content of a file of an output folder.

    Raises:
        OSError: It cannot be read, is no regular file, or too large.
    """
    return read_bounded(path, MAX_FILE)[0]


def read_lock(folder: Path) -> Any:
    """Return the apps and tools of the lock of an output folder.

    What stands behind them, the terms that were reviewed, is for builds alone and is not read.

    Raises:
        OSError, ValueError: It cannot be read.
    """
    head, terms, _ = read_part(folder / "tools.lock").partition(b',\n"terms": {')
    return json.loads(head + b"}" if terms else head)


def lock_digest(folder: Path, tool: str) -> str:
    """Return the digest of the tools of a tool's app, by the lock of its folder; empty if none."""
    try:
        changed = (folder / "tools.lock").stat().st_mtime_ns
        return _tool_digests(folder, changed).get(tool, "")
    except (OSError, ValueError):
        return ""


@lru_cache(maxsize=16)
def _tool_digests(folder: Path, _changed: int) -> dict[str, str]:
    data = read_lock(folder)
    found = data if isinstance(data, dict) else {}
    rows, apps = found.get("tools"), found.get("apps", {})
    if not (isinstance(rows, dict) and isinstance(apps, dict)):
        return {}
    starts = {tool_prefix(key): key for key in sorted(apps, key=len, reverse=True)}
    built: dict[str, list[str]] = {}
    whose: dict[str, str] = {}
    for name, row in sorted(rows.items()):
        if isinstance(row, dict) and "digest" in row:
            whose[name] = next((starts[one] for one in starts if name.startswith(one)), name)
            built.setdefault(whose[name], []).append(f"{name} {row['digest']}")
    import hashlib

    wholes = {
        key: hashlib.sha256("\n".join(lines).encode()).hexdigest() for key, lines in built.items()
    }
    return {name: wholes[key] for name, key in whose.items()}


def read_wrappers(folder: Path, key: str) -> tuple[str, Mapping[str, Mapping[str, Any]]]:
    """Return the digest of an app's shortcuts, and the shortcuts by action.

    Raises:
        SetupError: They are missing, or not those that the lock speaks of.
    """
    import hashlib
    import plistlib

    path = folder / shortcuts_file(key)
    try:
        content = read_part(path)
        locked = read_lock(folder)["apps"][key]["wrappers"]
        found = plistlib.loads(content, fmt=plistlib.FMT_XML)
    except Exception as error:  # plistlib lets through whatever its parser raises
        raise damaged_file_error(path) from error
    if hashlib.sha256(content).hexdigest()[:16] != locked or not isinstance(found, dict):
        raise damaged_file_error(path)
    return locked, found


def input_keys_of(workflow: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of the input that a shortcut reads, but that of the call."""
    # The app's own action has parameters of any name.
    held = (
        one["WFWorkflowActionParameters"]["WFDictionaryKey"]
        for one in workflow["WFWorkflowActions"]
        if one["WFWorkflowActionIdentifier"] == _VALUE_FOR_KEY
    )
    return tuple(key for key in held if key != CALL)


def installed_shortcuts() -> Mapping[str, InstalledShortcut]:
    """Return the shortcuts that are installed, by tool; a file that is no such file has none."""
    try:
        rows = json.loads(read_part(data_folder() / "state" / _FILE))
        return {
            name: InstalledShortcut(
                str(row["uuid"]),
                str(row["digest"]),
                tuple(map(str, row["takes"])),
                _PROOFS.get(row.get("proof"), "imported"),
            )
            for name, row in rows.items()
        }
    except (OSError, ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return {}


def record_shortcut(tool: str, row: InstalledShortcut | None) -> None:
    """Write down that the shortcut of a tool is installed, or with None that it is not.

    Raises:
        SetupError: The state folder is not safe, or cannot be written.
    """
    path = open_state() / _FILE
    try:
        with hold_lock(path.with_name(f"{_FILE}.lock")):
            rows = {
                name: one._asdict() for name, one in installed_shortcuts().items() if name != tool
            }
            if row is not None:
                rows[tool] = row._asdict()
            write_whole(path, json.dumps(rows, indent=1, sort_keys=True) + "\n")
    except OSError as error:
        raise SetupError(f"{path} cannot be written: {error.strerror}.") from error
