"""A file that several programs and several parts of one program have open loses nothing."""

import contextlib
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from iac_base.sqlite import Database, DatabaseSchema

SCHEMA = DatabaseSchema((("CREATE TABLE notes (n INTEGER PRIMARY KEY)",),))
OTHER = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from iac_base.sqlite import Database, DatabaseSchema

    schema = DatabaseSchema((("CREATE TABLE notes (n INTEGER PRIMARY KEY)",),))
    database = Database(Path(sys.argv[1]), schema)
    for n in range(int(sys.argv[2]), int(sys.argv[3])):
        with database.begin_transaction() as connection:
            connection.execute("INSERT INTO notes VALUES (?)", (n,))
    database.close()
    """
)


def add(database: Database, *numbers: int) -> None:
    for number in numbers:
        with database.begin_transaction() as connection:
            connection.execute("INSERT INTO notes VALUES (?)", (number,))


@pytest.mark.process
def test_who_opens_a_file_again_keeps_what_others_write_to_it(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    path = folder / "notes.db"
    first = Database(path, SCHEMA)
    add(first, 0)
    # As `policy` and the page do beside a server: to open it must not take the first one's locks.
    second = Database(path, SCHEMA)
    add(second, 1)
    second.close()
    for turn in range(1, 4):
        span = (str(path), str(1000 * turn), str(1000 * turn + 20))
        subprocess.run([sys.executable, "-c", OTHER, *span], check=True)
        add(first, *range(100 * turn, 100 * turn + 10))
    first.close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*) FROM notes").fetchone() == (2 + 3 * 30,)
