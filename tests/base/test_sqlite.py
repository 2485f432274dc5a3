"""Files of SQLite: made, brought forward, shared, and mended without losing what was there."""

import logging
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from iac_base.files import StateFileError
from iac_base.sqlite import (
    Database,
    DatabaseSchema,
    list_damaged_files,
    open_database,
    open_to_read,
)

FIRST = ("CREATE TABLE notes (text TEXT NOT NULL)",)
SECOND = ("ALTER TABLE notes ADD COLUMN day TEXT NOT NULL DEFAULT ''",)
SCHEMA = DatabaseSchema((FIRST, SECOND), application=0x74657374)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    return folder / "notes.db"


def fill(path: Path, count: int = 500, schema: DatabaseSchema = SCHEMA) -> None:
    """Make a file of many pages, closed as a program closes it that ends well."""
    connection = open_database(path, schema)
    connection.executemany(
        "INSERT INTO notes (text) VALUES (?)", [(f"{n} " + "x" * 200,) for n in range(count)]
    )
    connection.close()


def count(path: Path) -> int:
    connection = open_database(path, SCHEMA)
    found = connection.execute("SELECT count(*) FROM notes").fetchone()[0]
    connection.close()
    return int(found)


def refusal(path: Path, schema: DatabaseSchema = SCHEMA, wait: float = 0.05) -> StateFileError:
    with pytest.raises(StateFileError) as caught:
        open_database(path, schema, wait=wait)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_new_file_is_private_and_written_ahead(path: Path) -> None:
    connection = open_database(path, SCHEMA)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    connection.execute("INSERT INTO notes (text) VALUES ('x')")
    assert {file.stat().st_mode & 0o077 for file in path.parent.iterdir()} == {0}
    connection.close()
    assert list_damaged_files(path) == []


def test_an_older_file_is_brought_forward_and_keeps_its_rows(path: Path) -> None:
    fill(path, 3, SCHEMA._replace(migrations=(FIRST,)))
    connection = open_database(path, SCHEMA)
    assert connection.execute("SELECT count(*), max(day) FROM notes").fetchone() == (3, "")
    connection.close()


def test_a_step_that_fails_leaves_the_file_at_its_version(path: Path) -> None:
    fill(path, 3)
    broken = SCHEMA._replace(migrations=(FIRST, SECOND, ("CREATE TABLE more (x)", "NONSENSE")))
    refusal(path, broken)
    assert count(path) == 3
    assert list_damaged_files(path) == []


def test_a_file_of_a_newer_version_is_refused_and_stays(path: Path) -> None:
    fill(path, 3)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    assert refusal(path).why == "a newer version of IAC wrote it"
    with pytest.raises(StateFileError, match="newer version"):
        open_to_read(path, SCHEMA)
    assert path.read_bytes() == before
    assert list_damaged_files(path) == []


def test_a_file_of_something_else_is_refused_and_stays(path: Path) -> None:
    for other in (SCHEMA._replace(application=7), SCHEMA._replace(application=0)):
        fill(path, 3, other)
        assert refusal(path).why == "it contains something that IAC did not write"
        path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    path.chmod(0o600)
    assert refusal(path).why == "it contains something that IAC did not write"


def cut(whole: bytes) -> bytes:
    return whole[: len(whole) // 2]


def cut_in_a_page(whole: bytes) -> bytes:
    return whole[: len(whole) - 1000]


def zero_the_first_page(whole: bytes) -> bytes:
    return bytes(4096) + whole[4096:]


def zero_the_schema(whole: bytes) -> bytes:
    return whole[:100] + bytes(3996) + whole[4096:]


def zero_pages(whole: bytes) -> bytes:
    return whole[: 4 * 4096] + bytes(3 * 4096) + whole[7 * 4096 :]


def swap_pages(whole: bytes) -> bytes:
    return whole[: 2 * 4096] + whole[9 * 4096 : 10 * 4096] + whole[3 * 4096 :]


def garbage(_whole: bytes) -> bytes:
    return b"no database at all " * 1000


def garbage_below_a_header(whole: bytes) -> bytes:
    return whole[:100] + b"\xff" * 8000


def nothing(_whole: bytes) -> bytes:
    return b""


@pytest.mark.sweep
@pytest.mark.parametrize("damage", [
    cut, cut_in_a_page, zero_the_first_page, zero_the_schema, zero_pages, swap_pages, garbage,
    garbage_below_a_header, nothing,
])  # fmt: skip
def test_a_damaged_file_is_kept_with_a_date_and_begun_anew(
    path: Path, damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    fill(path)
    torn = damage(path.read_bytes())
    path.write_bytes(torn)
    if torn:
        with pytest.raises(StateFileError, match="it is damaged"):
            open_database(path, SCHEMA, repair=False)
    assert count(path) == 0
    (name,) = list_damaged_files(path)
    assert (path.parent / name).read_bytes() == torn
    assert name.startswith("notes.db.damaged-2")
    assert [row.getMessage() for row in caplog.records if row.levelno == logging.WARNING] == [
        f"{path} is damaged. IAC keeps it as {name} and starts a new one"
    ]
    fill(path, 5)
    assert count(path) == 5
    assert list_damaged_files(path) == [name]


def test_a_large_file_is_mended_once_it_shows_damage(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("iac_base.sqlite.LARGE", 4096)
    fill(path)
    path.write_bytes(zero_pages(path.read_bytes()))
    database = Database(path, SCHEMA)

    def counted() -> int:
        with database.hold_connection() as connection:
            return int(connection.execute("SELECT sum(length(text)) FROM notes").fetchone()[0] or 0)

    with pytest.raises(StateFileError, match="it is damaged"):
        counted()
    assert counted() == 0
    assert len(list_damaged_files(path)) == 1
    database.close()


def test_every_damaged_file_is_kept(path: Path) -> None:
    for _ in range(3):
        fill(path, 1)
        path.write_bytes(b"x" * 100)
        assert count(path) == 0
    assert len(list_damaged_files(path)) == 3


def test_what_was_written_ahead_goes_along(path: Path) -> None:
    fill(path)
    left = open_database(path, SCHEMA)
    left.execute("INSERT INTO notes (text) VALUES ('late')")
    ahead = Path(f"{path}-wal").read_bytes()
    assert b"late" in ahead
    path.write_bytes(b"x" * 5000)
    assert count(path) == 0
    (name,) = list_damaged_files(path)
    assert (path.parent / f"{name}-wal").read_bytes() == ahead
    left.close()


HOLDER = """
    import sqlite3, sys
    connection = sqlite3.connect(sys.argv[1], isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def held(path: Path) -> Iterator[Path]:
    """A file that another process holds."""
    fill(path, 3, SCHEMA._replace(migrations=(FIRST,)))
    source = [sys.executable, "-c", textwrap.dedent(HOLDER), str(path)]
    with subprocess.Popen(source, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == b"held\n"
        yield path
        holder.stdin.close()


@pytest.mark.process
def test_a_file_that_another_process_holds_is_waited_for_and_told(held: Path) -> None:
    assert refusal(held).why == "another program is using it"
    assert list_damaged_files(held) == []


def test_a_file_in_use_is_waited_for(path: Path) -> None:
    fill(path, 1)
    database = Database(path, SCHEMA)
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    ended = threading.Timer(0.2, lambda: other.execute("COMMIT"))
    ended.start()
    with database.begin_transaction() as connection:
        connection.execute("INSERT INTO notes (text) VALUES ('x')")
    ended.join()
    other.close()
    database.close()
    assert count(path) == 2


def test_a_link_a_folder_and_a_file_open_to_others_are_refused(path: Path) -> None:
    path.symlink_to(path.parent / "elsewhere")
    assert refusal(path).why == "it is a link, or not a file"
    assert not (path.parent / "elsewhere").exists()
    path.unlink()
    path.mkdir()
    assert refusal(path).why == "it is a link, or not a file"
    path.rmdir()
    fill(path, 1)
    path.chmod(0o640)
    assert "chmod 600" in refusal(path).way
    path.chmod(0o600)
    assert count(path) == 1


UNPRIVILEGED = """
    import os, sys
    from pathlib import Path
    from iac_base.files import StateFileError
    from iac_base.sqlite import DatabaseSchema, open_database
    folder = os.open(sys.argv[1], os.O_RDONLY)
    os.fchdir(folder)
    if os.geteuid() == 0:
        os.setuid(65534)
    try:
        open_database(Path("notes.db"), DatabaseSchema((("CREATE TABLE notes (text)",),)))
    except StateFileError as error:
        print(error.why)
"""


@pytest.mark.process
def test_a_folder_that_cannot_be_written_to_is_told(path: Path) -> None:
    path.parent.chmod(0o555)
    source = [sys.executable, "-c", textwrap.dedent(UNPRIVILEGED), str(path.parent)]
    done = subprocess.run(source, capture_output=True, text=True, check=True)
    path.parent.chmod(0o700)
    assert done.stdout == "permission denied\n"
    assert not path.exists()


FULL = """
    import resource, signal, sys
    from pathlib import Path
    from iac_base.files import StateFileError
    from iac_base.sqlite import Database, DatabaseSchema
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    database = Database(Path(sys.argv[1]), DatabaseSchema((("CREATE TABLE notes (text)",),)))
    def write(count):
        with database.begin_transaction() as connection:
            connection.executemany("INSERT INTO notes VALUES (?)", [("x" * 900,)] * count)
    write(1)
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, most[1]))
    try:
        write(1000)
    except StateFileError as error:
        print(error.why)
    resource.setrlimit(resource.RLIMIT_FSIZE, most)
    write(1)
    with database.hold_connection() as connection:
        print(connection.execute("SELECT count(*) FROM notes").fetchone()[0])
    database.close()
"""


@pytest.mark.process
def test_without_room_nothing_is_half_written_and_later_it_goes_on(path: Path) -> None:
    source = [sys.executable, "-c", textwrap.dedent(FULL), str(path)]
    done = subprocess.run(source, capture_output=True, text=True, check=True)
    why, left = done.stdout.split("\n")[:2]
    assert why in ("the disk failed", "the disk is full")
    assert left == "2"
    assert list_damaged_files(path) == []


def test_a_block_that_raises_changes_nothing(path: Path) -> None:
    database = Database(path, SCHEMA)

    def broken() -> None:
        with database.begin_transaction() as connection:
            connection.execute("INSERT INTO notes (text) VALUES ('x')")
            raise RuntimeError("oops")

    with pytest.raises(RuntimeError, match="oops"):
        broken()
    database.close()
    assert count(path) == 0


def test_a_file_that_is_moved_away_or_damaged_is_begun_anew_by_who_has_it_open(path: Path) -> None:
    database = Database(path, SCHEMA)

    def write() -> int:
        with database.begin_transaction() as connection:
            connection.execute("INSERT INTO notes (text) VALUES ('x')")
            return int(connection.execute("SELECT count(*) FROM notes").fetchone()[0])

    assert (write(), write()) == (1, 2)
    path.rename(path.parent / "away")
    assert write() == 1
    database.close()
    path.write_bytes(b"x" * 5000)
    assert write() == 1
    assert len(list_damaged_files(path)) == 1
    database.close()


def test_reading_makes_nothing(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_to_read(path, SCHEMA)
    assert list(path.parent.iterdir()) == []
    fill(path, 3)
    connection = open_to_read(path, SCHEMA)
    assert connection.execute("SELECT count(*) FROM notes").fetchone() == (3,)
    with pytest.raises(sqlite3.OperationalError):
        connection.execute("DELETE FROM notes")
    connection.close()


def test_many_threads_and_files_open_it_at_once(path: Path) -> None:
    def work() -> None:
        database = Database(path, SCHEMA)
        for _ in range(20):
            with database.begin_transaction() as connection:
                connection.execute("INSERT INTO notes (text) VALUES ('x')")
        database.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count(path) == 80
