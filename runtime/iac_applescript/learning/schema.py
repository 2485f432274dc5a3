"""The file of what was learned: its tables, how it is opened and mended."""

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Final

from iac_base.errors import SetupError

__all__ = ["FILE", "connect"]

FILE: Final = "patterns.db"
VERSION: Final = 1
BUSY_SECONDS: Final = 5.0

_SCHEMA: Final = """
CREATE TABLE patterns (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    digest TEXT NOT NULL UNIQUE,
    intent TEXT NOT NULL,
    app TEXT NOT NULL,
    language TEXT NOT NULL,
    script TEXT NOT NULL,
    kind TEXT NOT NULL,
    error TEXT NOT NULL,
    number INTEGER,
    milliseconds REAL NOT NULL,
    successes INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    first TEXT NOT NULL,
    last TEXT NOT NULL
);
CREATE INDEX patterns_of_app ON patterns (app);
CREATE VIRTUAL TABLE words USING fts5(
    said, done, tokenize = 'unicode61 remove_diacritics 0', detail = column
);
CREATE VIRTUAL TABLE counts USING fts5vocab(words, row);
"""


def connect(folder: Path) -> sqlite3.Connection:
    """Open the store in `folder`, for its owner alone; it is made if need be.

    A file that is damaged is moved aside (`patterns.db.damaged`) and begun anew: what was learned
    is advice, and no reason to stop.

    Raises:
        SetupError: It cannot be opened, or was written by a newer version.
    """
    path = folder / FILE
    try:
        return _open(path)
    except sqlite3.OperationalError as error:
        raise SetupError(f"{path} cannot be opened ({error}).") from error
    except sqlite3.DatabaseError:
        with contextlib.suppress(OSError):
            os.replace(path, f"{path}.damaged")  # noqa: PTH105
        for end in ("-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)
        return _open(path)
    except OSError as error:
        raise SetupError(f"{path} cannot be opened ({error.strerror}).") from error


def _open(path: Path) -> sqlite3.Connection:
    # SQLite would follow a link and make the file as open as the umask lets it.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    base = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA synchronous = NORMAL")
        base.execute("BEGIN IMMEDIATE")
        version = base.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise SetupError(f"{path} was written by a newer version; update, or move it away.")
        if version == 0:
            for statement in filter(str.strip, _SCHEMA.split(";\n")):
                base.execute(statement)
            base.execute(f"PRAGMA user_version = {VERSION}")
        base.execute("COMMIT")
    except BaseException:
        base.close()
        raise
    return base
