"""The audit when it cannot be written: writes are refused, reads go on, no row is half there."""

import os
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from audit_trial import rows_of

from iac_base.errors import SetupError
from iac_runtime.audit import store as schema
from iac_runtime.audit import writer as writer_module
from iac_runtime.audit.reading import AuditQuery, find_calls, verify_audit
from iac_runtime.audit.store import AuditError
from iac_runtime.audit.upkeep import drop_rows
from iac_runtime.audit.writer import Audit, AuditIntent, AuditOutcome

WRITE = AuditIntent("notes_set", "MODIFY")
READ = AuditIntent("notes_get", "SAFE")
DONE = AuditOutcome("done", 0.0)
NOW = "2100-01-01T00:00:00.000Z"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


def call(audit: Audit, intent: AuditIntent) -> None:
    audit.record_outcome(audit.record_intent(intent), DONE)


class Fault:
    """Makes the n-th statement of SQLite fail, and counts those that passed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = -1
        self.count = 0
        fault = self

        class Connection(sqlite3.Connection):
            def cursor(self, *args: Any, **kwargs: Any) -> Any:
                return super().cursor(Cursor)

            def execute(self, *args: Any) -> Any:
                fault.step()
                return super().execute(*args)

            def executemany(self, *args: Any) -> Any:
                fault.step()
                return super().executemany(*args)

        class Cursor(sqlite3.Cursor):
            def execute(self, *args: Any) -> Any:
                fault.step()
                return super().execute(*args)

        connect: Callable[..., sqlite3.Connection] = sqlite3.connect
        monkeypatch.setattr(
            sqlite3, "connect", lambda *a, **k: connect(*a, factory=Connection, **k)
        )

    def step(self) -> None:
        self.count += 1
        if self.left >= 0:
            self.left -= 1
            if self.left < 0:
                error = sqlite3.OperationalError("database or disk is full")
                error.sqlite_errorname = "SQLITE_FULL"
                raise error


def test_a_failure_of_any_statement_once_costs_that_call_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = Fault(monkeypatch)
    audit = Audit.open(tmp_path / "whole")
    call(audit, WRITE)
    audit.close()
    for number in range(fault.count):
        folder = tmp_path / str(number)
        fault.left = number
        audit = Audit.open(folder)
        sent = 0
        for _ in range(3):
            try:
                call(audit, WRITE)
                sent += 1
            except AuditError as error:
                assert "the disk is full" in str(error)
                assert str(folder) in error.suggestion
        audit.close()
        assert sent >= 2
        fault.left = -1
        # What failed at the end is marked at the next start.
        following = Audit.open(folder)
        call(following, WRITE)
        following.close()
        assert verify_audit(folder).is_intact
        ends = [entry.result for entry in find_calls(folder, AuditQuery(), 99)]
        assert len(ends) == sent + 1
        assert set(ends) <= {"done", "interrupted"}


def test_while_it_cannot_be_written_reads_go_on_and_are_written_later(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "RETRY_SECONDS", 0.05)
    folder.mkdir(mode=0o700)
    (folder / "audit.db").mkdir()
    audit = Audit.open(folder)
    with pytest.raises(AuditError, match="no tool changes anything"):
        audit.record_intent(WRITE)
    call(audit, READ)
    assert audit.warning
    (folder / "audit.db").rmdir()
    while audit.warning:
        pass
    call(audit, WRITE)
    audit.close()
    assert [entry.result for entry in find_calls(folder, AuditQuery(), 9)] == ["done", "done"]


def test_rows_that_wait_too_long_are_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "MOST_WAITING", 20)
    folder.mkdir(mode=0o700)
    (folder / "audit.db").mkdir()
    audit = Audit.open(folder)
    with pytest.raises(AuditError):
        audit.record_intent(WRITE)
    for _ in range(100):
        call(audit, READ)
    (folder / "audit.db").rmdir()
    call(audit, WRITE)
    audit.close()
    lost = rows_of(folder, "SELECT json_extract(body, '$.rows') FROM rows WHERE event = 'lost'")
    kept = rows_of(folder, "SELECT count(*) FROM rows WHERE event IN ('intent', 'outcome')")
    assert sum(count for (count,) in lost) + kept[0][0] == 202
    assert verify_audit(folder).is_intact


def test_a_file_that_was_moved_away_is_begun_anew(folder: Path) -> None:
    audit = Audit.open(folder)
    call(audit, WRITE)
    for path in folder.glob("audit.db*"):
        path.rename(folder / f"old-{path.name}")
    call(audit, WRITE)
    audit.close()
    assert verify_audit(folder).is_intact
    assert len(find_calls(folder, AuditQuery(), 9)) == 1


@pytest.mark.parametrize("text", [b"no database" * 200, b"SQLite format 3\x00" + b"\xff" * 4096])
def test_a_damaged_file_is_kept_and_a_new_chain_says_so(
    folder: Path, text: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    folder.mkdir(mode=0o700)
    path = folder / "audit.db"
    path.write_bytes(text)
    path.chmod(0o600)
    with pytest.raises(SetupError, match="cannot be read"):
        find_calls(folder, AuditQuery(), 1)
    with pytest.raises(SetupError, match=r"Nothing was dropped \(it is damaged\)"):
        drop_rows(folder, NOW, keep=0)
    assert path.read_bytes() == text
    audit = Audit.open(folder)
    call(audit, WRITE)
    audit.close()
    (kept,) = folder.glob("audit.db.damaged-2*")
    assert kept.read_bytes() == text
    assert f"IAC keeps it as {kept.name}" in caplog.text
    assert len(find_calls(folder, AuditQuery(), 9)) == 1
    found = verify_audit(folder)
    assert found.is_intact
    assert found.kept == (kept.name,)
    assert rows_of(folder, "SELECT event FROM rows ORDER BY seq LIMIT 1") == [("replaced",)]


def test_a_chain_that_was_torn_is_kept_whole_and_begun_anew(folder: Path) -> None:
    audit = Audit.open(folder)
    for _ in range(50):
        call(audit, WRITE)
    audit.close()
    path = folder / "audit.db"
    torn = bytearray(path.read_bytes())
    torn[4 * 4096 : 6 * 4096] = bytes(2 * 4096)
    path.write_bytes(torn)
    audit = Audit.open(folder)
    call(audit, WRITE)
    audit.close()
    (kept,) = folder.glob("audit.db.damaged-2*")
    assert kept.read_bytes() == torn
    assert verify_audit(folder).kept == (kept.name,)


def test_two_programs_that_find_it_damaged_share_the_new_one(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    (folder / "audit.db").write_bytes(b"no database" * 200)
    (folder / "audit.db").chmod(0o600)
    programs = [
        subprocess.Popen([sys.executable, "-c", textwrap.dedent(ONE_CALL), str(folder)])
        for _ in range(4)
    ]
    assert [program.wait(60) for program in programs] == [0] * 4
    assert len(list(folder.glob("audit.db.damaged-2*"))) == 1
    assert len(find_calls(folder, AuditQuery(), 9)) == 4
    assert verify_audit(folder).is_intact


ONE_CALL = """
    import sys
    from pathlib import Path
    from iac_runtime.audit import Audit, AuditIntent, AuditOutcome
    audit = Audit.open(Path(sys.argv[1]))
    call = audit.record_intent(AuditIntent("notes_set", "MODIFY"))
    audit.record_outcome(call, AuditOutcome("done", 0.0))
    audit.close()
"""


def test_a_newer_file_is_refused_with_the_way_out(folder: Path) -> None:
    audit = Audit.open(folder)
    call(audit, WRITE)
    connection = sqlite3.connect(folder / "audit.db")
    connection.execute(f"PRAGMA user_version = {len(schema.SCHEMA.migrations) + 1}")
    connection.close()
    # Also for a server that had it open.
    for _ in range(2):
        with pytest.raises(AuditError, match="a newer version of IAC wrote it") as caught:
            audit.record_intent(WRITE)
        assert "Use that version" in caught.value.suggestion
        audit.close()
        audit = Audit.open(folder)
    audit.close()
    for read in (
        lambda: find_calls(folder, AuditQuery(), 1),
        lambda: drop_rows(folder, NOW, keep=0),
    ):
        with pytest.raises(SetupError, match="newer version"):
            read()


def test_an_older_file_is_brought_forward(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = Audit.open(folder)
    call(audit, WRITE)
    audit.close()
    step = ("CREATE TABLE more (x)",)
    newer = schema.SCHEMA._replace(migrations=(*schema.SCHEMA.migrations, step))
    monkeypatch.setattr(schema, "SCHEMA", newer)
    audit = Audit.open(folder)
    call(audit, WRITE)
    audit.close()
    assert rows_of(folder, "SELECT count(*) FROM more") == [(0,)]
    assert rows_of(folder, "PRAGMA user_version") == [(3,)]
    assert verify_audit(folder).is_intact


def test_a_database_of_something_else_is_left_alone(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    connection = sqlite3.connect(folder / "audit.db")
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    (folder / "audit.db").chmod(0o600)
    audit = Audit.open(folder)
    with pytest.raises(AuditError, match="something that IAC did not write"):
        audit.record_intent(WRITE)
    audit.close()
    assert rows_of(folder, "SELECT name FROM sqlite_master") == [("theirs",)]


def test_a_link_in_place_of_the_file_is_not_followed(folder: Path, tmp_path: Path) -> None:
    folder.mkdir(mode=0o700)
    (folder / "audit.db").symlink_to(tmp_path / "elsewhere")
    audit = Audit.open(folder)
    with pytest.raises(AuditError):
        audit.record_intent(WRITE)
    audit.close()
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_open_to_others_is_refused(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    with pytest.raises(SetupError, match="other users can read or change it"):
        Audit.open(folder)


def test_a_program_that_holds_the_file_is_told_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "BUSY_SECONDS", 0.05)
    audit = Audit.open(folder)
    call(audit, WRITE)
    holder = sqlite3.connect(folder / "audit.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(AuditError, match="another program is using it"):
        audit.record_intent(WRITE)
    with pytest.raises(SetupError, match="another program is using it"):
        drop_rows(folder, NOW, keep=0)
    holder.execute("ROLLBACK")
    holder.close()
    call(audit, WRITE)
    audit.close()
    assert verify_audit(folder).is_intact


def test_a_fault_of_ours_does_not_hang_the_calls(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = Audit.open(folder)

    def broken(*_: object) -> None:
        raise RuntimeError("oops")

    monkeypatch.setattr(audit._store, "write", broken)
    with pytest.raises(AuditError, match="RuntimeError: oops"):
        audit.record_intent(WRITE)
    audit.close()


def test_a_forked_process_is_refused_and_does_not_hang(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = Audit.open(folder)
    call(audit, WRITE)
    with monkeypatch.context() as forked:
        forked.setattr("os.getpid", lambda: 1)
        with pytest.raises(AuditError, match="forked"):
            audit.record_intent(WRITE)
        call(audit, READ)
        audit.close()
    audit.close()
    assert len(find_calls(folder, AuditQuery(), 9)) == 1


LIMITED = """
    import resource, signal, sys
    from pathlib import Path
    from iac_runtime.audit import Audit, AuditError, AuditIntent, AuditOutcome

    def attempts(audit, count):
        sent = refused = 0
        for _ in range(count):
            try:
                call = audit.record_intent(AuditIntent("w", "MODIFY", arguments={"t": "x" * 900}))
            except AuditError as error:
                refused += 1
            else:
                sent += 1
                audit.record_outcome(call, AuditOutcome("done", 0.0))
        call = audit.record_intent(AuditIntent("r", "SAFE"))
        audit.record_outcome(call, AuditOutcome("done", 0.0))
        return sent, refused

    audit = Audit.open(Path(sys.argv[1]))
"""

FILE_SIZE = """
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, most[1]))
    sent, refused = attempts(audit, 300)
    resource.setrlimit(resource.RLIMIT_FSIZE, most)
    more, none = attempts(audit, 3)
    audit.close()
    print(sent + more, refused, none)
"""

DESCRIPTORS = """
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, most[1]))
    sent, refused = attempts(audit, 3)
    resource.setrlimit(resource.RLIMIT_NOFILE, most)
    more, none = attempts(audit, 3)
    audit.close()
    print(sent + more, refused, none)
"""


@pytest.mark.process
@pytest.mark.parametrize("limit", [FILE_SIZE, DESCRIPTORS], ids=["file size", "descriptors"])
def test_with_no_room_or_no_descriptors_writes_are_refused_until_there_are(
    folder: Path, limit: str
) -> None:
    source = textwrap.dedent(LIMITED) + textwrap.dedent(limit)
    done = subprocess.run(
        [sys.executable, "-c", source, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    sent, refused, none = map(int, done.stdout.split())
    assert refused > 0
    assert none == 0
    assert verify_audit(folder).is_intact
    entries = find_calls(folder, AuditQuery(tool="w"), 999)
    assert len(entries) == sent
    assert {entry.result for entry in entries} <= {"done", "interrupted"}
    assert {entry.result for entry in find_calls(folder, AuditQuery(tool="r"), 9)} == {"done"}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k,mode=0700", "none", str(disk)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user cannot mount a small disk")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True, capture_output=True)


@pytest.mark.process
def test_on_a_full_disk_and_on_a_read_only_one_nothing_is_half_written(small_disk: Path) -> None:
    folder = small_disk / "state"
    audit = Audit.open(folder)
    call(audit, WRITE)
    (small_disk / "ballast").write_bytes(b"")
    with (small_disk / "ballast").open("ab", 0) as ballast:
        try:
            while True:
                ballast.write(b"x" * 4096)
        except OSError:
            pass
    big = AuditIntent("notes_set", "MODIFY", arguments={"a": ["y" * 900] * 12})
    refused = 0
    for _ in range(200):
        try:
            call(audit, big)
        except AuditError as error:
            assert "disk" in str(error)
            refused += 1
            break
    assert refused
    call(audit, READ)
    (small_disk / "ballast").unlink()
    call(audit, WRITE)
    os.sync()
    audit.close()
    assert verify_audit(folder).is_intact
    count = len(find_calls(folder, AuditQuery(), 999))

    remount = ["mount", "-o", "remount,ro", str(small_disk)]
    subprocess.run(remount, check=True, capture_output=True)
    audit = Audit.open(folder)
    with pytest.raises(AuditError, match="read-only"):
        audit.record_intent(WRITE)
    call(audit, READ)
    audit.close()
    subprocess.run([*remount[:2], "remount,rw", remount[3]], check=True, capture_output=True)
    assert len(find_calls(folder, AuditQuery(), 999)) == count
