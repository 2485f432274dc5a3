"""The file of what was learned: its tables."""

from pathlib import Path
from typing import Final

from iac_base.sqlite import Database, DatabaseSchema

__all__ = ["FILE", "SCHEMA", "database_of"]

FILE: Final = "patterns.db"

SCHEMA: Final = DatabaseSchema(
    migrations=(
        (
            """CREATE TABLE patterns (
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
            )""",
            "CREATE INDEX patterns_of_app ON patterns (app)",
            """CREATE VIRTUAL TABLE words USING fts5(
                said, done, tokenize = 'unicode61 remove_diacritics 0', detail = column
            )""",
            "CREATE VIRTUAL TABLE counts USING fts5vocab(words, row)",
        ),
    ),
    # What was learned is advice: the last of it may be lost with the machine.
    durable=False,
)


def database_of(folder: Path) -> Database:
    """Return the store in `folder`; it is opened on first need, and begun anew if damaged."""
    return Database(folder / FILE, SCHEMA)
