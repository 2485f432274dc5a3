"""The file of approvals: a SQLite file of the state folder, sealed with this user's key.

Every change is one transaction that takes the write lock first, so two processes lose nothing. A
file that is damaged is set aside and a new one begun: then nothing is remembered, and all is asked
again.
"""

import contextlib
import sqlite3
from pathlib import Path
from typing import Final

from iac_base.files import open_state
from iac_base.sqlite import Database, DatabaseSchema
from iac_runtime.policy.sealing import load_key

FILE: Final = "approvals.db"

_SCHEMA: Final = DatabaseSchema(
    (
        (
            """CREATE TABLE questions (
                nonce TEXT PRIMARY KEY, asked REAL NOT NULL, used INTEGER NOT NULL,
                counted INTEGER NOT NULL
            ) WITHOUT ROWID""",
            "CREATE TABLE stopped (since REAL NOT NULL)",
            """CREATE TABLE decisions (
                id INTEGER PRIMARY KEY AUTOINCREMENT, app TEXT NOT NULL, command TEXT NOT NULL,
                kind TEXT NOT NULL, tool TEXT NOT NULL, says TEXT NOT NULL, digest TEXT NOT NULL,
                made TEXT NOT NULL, client TEXT NOT NULL, mac TEXT NOT NULL,
                UNIQUE (app, command, kind)
            )""",
        ),
        # Questions that are open when the file is brought to this version are asked again.
        (
            "DROP TABLE questions",
            """CREATE TABLE questions (
                nonce TEXT PRIMARY KEY, asked REAL NOT NULL, used INTEGER NOT NULL
            ) WITHOUT ROWID""",
            "DROP TABLE stopped",
            "CREATE TABLE stopped (client TEXT PRIMARY KEY, since REAL NOT NULL) WITHOUT ROWID",
            "CREATE TABLE declined (client TEXT NOT NULL, since REAL NOT NULL)",
        ),
        # What was remembered by tools is asked about once more.
        (
            "DROP TABLE decisions",
            """CREATE TABLE decisions (
                id INTEGER PRIMARY KEY AUTOINCREMENT, covers TEXT NOT NULL UNIQUE,
                tool TEXT NOT NULL, says TEXT NOT NULL, digest TEXT NOT NULL, made TEXT NOT NULL,
                client TEXT NOT NULL, mac TEXT NOT NULL
            )""",
        ),
        (
            """CREATE TABLE IF NOT EXISTS unshown (
                client TEXT PRIMARY KEY, since REAL NOT NULL
            ) WITHOUT ROWID""",
        ),
    )
)


class ApprovalStore:
    """The file and the key of a state folder; safe to share between threads.

    Args:
        folder: The state folder; that of this user if left out.

    Raises:
        SetupError: The folder, the key or the file is not safe, or of a newer version.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = open_state() if folder is None else folder
        self.key = load_key(self.folder)
        self._database = Database(self.folder / FILE, _SCHEMA)
        # Opened now, so that what is wrong with it is said at once.
        with self._database.hold_connection():
            pass

    def open_transaction(self) -> contextlib.AbstractContextManager[sqlite3.Connection]:
        """Give a connection inside one transaction; it is committed at the end of the block.

        Raises:
            SetupError: The file cannot be read or written; nothing was changed.
        """
        return self._database.begin_transaction()

    def close(self) -> None:
        """Close the file; it is opened again by the next change."""
        self._database.close()
