"""Why the audit cannot be written or read, and what to do then."""

import sqlite3
from pathlib import Path
from typing import Final

from iac_runtime.errors import ToolError

__all__ = ["AuditError", "newer", "no_audit", "translate"]


class AuditError(ToolError):
    """The audit cannot be written, so a call that changes something may not run; none was sent.

    Attributes:
        why: The cause in a few words.
    """

    def __init__(self, why: str, way: str) -> None:
        message = f"The audit cannot be written ({why}); until it can, nothing is changed."
        super().__init__("UNAVAILABLE", message, way, retryable=True)
        self.why = why


_FAULTS: Final = (
    ("SQLITE_FULL", "the disk is full", "Make room on the disk of {path}."),
    ("SQLITE_READONLY", "it is read-only", "Make {path} writable for you."),
    ("SQLITE_PERM", "it is read-only", "Make {path} writable for you."),
    ("SQLITE_AUTH", "it is read-only", "Make {path} writable for you."),
    ("SQLITE_BUSY", "another program holds it", "Close the program that holds {path}."),
    ("SQLITE_LOCKED", "another program holds it", "Close the program that holds {path}."),
    ("SQLITE_PROTOCOL", "another program holds it", "Close the program that holds {path}."),
    ("SQLITE_CANTOPEN", "it cannot be opened", "Look whether {path} can be opened and written."),
    ("SQLITE_IOERR", "the disk failed", "Look whether the disk of {path} is full or failing."),
    ("SQLITE_CORRUPT", "it is damaged", "Move {path} away and keep it; a new one is begun."),
    ("SQLITE_NOTADB", "it is damaged", "Move {path} away and keep it; a new one is begun."),
)


def translate(error: sqlite3.Error | OSError, path: Path) -> AuditError:
    """Return what a failure of SQLite or of the file system means here."""
    if isinstance(error, OSError):
        return AuditError(
            (error.strerror or "it cannot be opened").lower(), f"Look at {path} and its folder."
        )
    name = getattr(error, "sqlite_errorname", "")
    for prefix, why, way in _FAULTS:
        if name.startswith(prefix):
            return AuditError(why, way.format(path=path))
    return AuditError(str(error), f"Look at {path}.")


def newer(path: Path) -> AuditError:
    """Return the refusal of a file whose schema this version does not know."""
    return AuditError("a newer version of iac wrote it", f"Use that version, or move {path} away.")


def no_audit(path: Path) -> AuditError:
    """Return the refusal of a database that something else wrote."""
    return AuditError("its file holds something else", f"Move {path} away.")
