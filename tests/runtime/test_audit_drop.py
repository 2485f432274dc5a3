"""Dropping rows: the file shrinks, others write meanwhile, and what is cut short goes on."""

import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from audit_trial import rows_of
from test_audit_faults import Fault

from iac_base.errors import SetupError
from iac_base.sqlite import open_database
from iac_runtime.audit import store, upkeep
from iac_runtime.audit.reading import AuditQuery, find_calls, row_lines, verify_audit
from iac_runtime.audit.store import FILE, SCHEMA, START, UnplacedRow, append_rows, chain_rows
from iac_runtime.audit.upkeep import drop_rows
from iac_runtime.audit.writer import Audit, AuditIntent, AuditOutcome, intent_body

NOW = "2100-01-01T00:00:00.000Z"


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audit of 4,000 calls, some megabytes, with its index."""
    folder = tmp_path_factory.mktemp("audit") / "state"
    folder.mkdir(mode=0o700)
    connection = open_database(folder / FILE, SCHEMA)
    with connection:
        connection.execute("BEGIN")
        parts = (
            (f"1999-{n:05}", "s", n, "intent", intent_body(AuditIntent(f"secret{n}", "SAFE"))[0])
            for n in range(4_000)
        )
        made = chain_rows(START, 0, parts)
        connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)", made)
        while store.extend_index(connection):
            pass
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    return folder


@pytest.fixture
def folder(audit: Path, tmp_path: Path) -> Path:
    """That audit for one test alone."""
    return Path(shutil.copytree(audit, tmp_path / "state"))


def whole(folder: Path) -> None:
    assert verify_audit(folder).is_intact
    assert rows_of(folder, "PRAGMA integrity_check") == [("ok",)]
    assert rows_of(folder, "PRAGMA freelist_count") == [(0,)]
    assert rows_of(folder, "SELECT min(seq) FROM calls") == rows_of(
        folder, "SELECT min(seq) FROM rows WHERE event = 'intent'"
    )


def test_the_space_goes_back_and_nothing_of_it_is_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "SLICE", 500)
    path = folder / FILE
    before = path.stat().st_size
    done = drop_rows(folder, NOW, keep=400)
    assert (done.rows, done.through, done.held) == (3_600, 3_600, False)
    assert path.stat().st_size < before / 5
    assert done.freed == before - path.stat().st_size
    content = b"".join(file.read_bytes() for file in folder.glob("audit.db*"))
    assert b"secret3599" not in content
    assert b"secret3999" in content
    whole(folder)
    assert [entry.seq for entry in find_calls(folder, AuditQuery(text="secret3999"), 9)] == [4_000]
    assert drop_rows(folder, NOW, keep=400).rows == 1


def test_a_reader_keeps_the_file_large_and_is_told_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("iac_runtime.audit.store.BUSY_SECONDS", 0.05)
    reader = sqlite3.connect(folder / FILE, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM rows").fetchone() == (4_000,)
    before = (folder / FILE).stat().st_size
    assert drop_rows(folder, NOW, keep=400).held
    assert (folder / FILE).stat().st_size >= before
    assert reader.execute("SELECT count(*) FROM rows").fetchone() == (4_000,)
    reader.close()
    assert (folder / FILE).stat().st_size < before / 5
    whole(folder)


@pytest.mark.slow
@pytest.mark.process
def test_a_program_that_writes_meanwhile_is_not_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "SLICE", 100)
    audit = Audit.open(folder)
    stop, sent = threading.Event(), 0

    def work() -> None:
        nonlocal sent
        while not stop.is_set():
            audit.record_outcome(
                audit.record_intent(AuditIntent("live", "MODIFY")), AuditOutcome("done", 0.0)
            )
            sent += 1

    thread = threading.Thread(target=work)
    thread.start()
    home = "from iac_runtime.audit.upkeep import drop_rows"
    command = f"import sys; from pathlib import Path; {home}; "
    command += f"print(drop_rows(Path(sys.argv[1]), {NOW!r}, before='2000').rows)"
    other = subprocess.Popen([sys.executable, "-c", command, str(folder)], stdout=subprocess.PIPE)
    here = 0
    try:
        here = drop_rows(folder, NOW, before="1999-02000").rows
    except SetupError as error:
        # Of two who drop at once one may be the later.
        assert "Another program is dropping rows" in str(error)
    there = int(other.communicate()[0] or 0)
    stop.set()
    thread.join()
    audit.close()
    assert max(here, there) >= 2_000
    assert sent
    assert verify_audit(folder).is_intact
    assert len(find_calls(folder, AuditQuery(tool="live", result="done"), 99_999)) == sent


@pytest.mark.slow
def test_what_is_cut_short_at_any_step_still_verifies_and_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "SLICE", 10)
    monkeypatch.setattr(upkeep, "PAUSE_SECONDS", 0.0)
    fault = Fault(monkeypatch)

    def prepared(name: str) -> Path:
        folder = tmp_path / name
        audit = Audit.open(folder)
        for number in range(20):
            call = audit.record_intent(AuditIntent(f"t{number}", "SAFE"))
            audit.record_outcome(call, AuditOutcome("done", 0.0))
        audit.close()
        return folder

    folder = prepared("whole")
    fault.count = 0
    drop_rows(folder, NOW, keep=10)
    for number in range(fault.count):
        folder = prepared(str(number))
        fault.left = number
        with pytest.raises(SetupError, match="disk is full") as caught:
            drop_rows(folder, NOW, keep=10)
        fault.left = -1
        assert verify_audit(folder).is_intact
        left = len(list(row_lines(folder)))
        assert ("still take up room" in str(caught.value)) == (left == 11)
        assert left in (11, 42)
        assert len(find_calls(folder, AuditQuery(), 99)) == (20 if left == 42 else 4)
        drop_rows(folder, NOW, keep=left - 32 if left == 42 else 99)
        assert rows_of(folder, "SELECT min(seq) FROM rows")[0][0] == 33
        whole(folder)


@pytest.mark.parametrize("body", [
    "{}", "[]", '{"through":9,"hash":"00"}', '{"through":0,"hash":""}', '{"through',
    '{"through":1,"hash":"no"}',
])  # fmt: skip
def test_a_row_about_a_drop_that_cannot_be_hides_nothing(folder: Path, body: str) -> None:
    connection = open_database(folder / FILE, SCHEMA)
    connection.execute("DELETE FROM rows WHERE seq > 5")
    connection.execute("UPDATE sqlite_sequence SET seq = 5 WHERE name = 'rows'")
    append_rows(connection, [UnplacedRow(NOW, "", 0, "dropped", body)])
    connection.close()
    found = verify_audit(folder)
    assert (found.rows, found.first, found.last, found.is_intact) == (6, 1, 6, True)


def test_a_chain_that_does_not_hold_is_kept_whole(folder: Path) -> None:
    connection = open_database(folder / FILE, SCHEMA)
    connection.execute("UPDATE rows SET body = '{}' WHERE seq = 3")
    connection.close()
    with pytest.raises(SetupError, match=r"^The chain is broken \(.*3.*move .*audit\.db to"):
        drop_rows(folder, NOW, keep=1)
    assert rows_of(folder, "SELECT count(*) FROM rows") == [(4_000,)]
    assert drop_rows(folder, NOW, before="1999-00000").rows == 0


def test_a_call_that_still_runs_is_kept_and_all_after_it(folder: Path) -> None:
    audit = Audit.open(folder)
    audit.record_intent(AuditIntent("running", "MODIFY"))
    (place,) = rows_of(folder, "SELECT seq FROM rows WHERE body LIKE '%running%'")[0]
    ended = audit.record_intent(AuditIntent("ended", "MODIFY"))
    audit.record_outcome(ended, AuditOutcome("done", 0.0))
    done = drop_rows(folder, NOW)
    assert (done.through, done.rows) == (place - 1, place - 1)
    assert [entry.tool for entry in find_calls(folder, AuditQuery(), 9)] == ["running", "ended"]
    audit.close()
    last = rows_of(folder, "SELECT max(seq) FROM rows")[0][0]
    assert drop_rows(folder, NOW, keep=1).through == last - 1
    whole(folder)


@pytest.mark.parametrize(("before", "keep", "through"), [
    ("", None, 4_000), ("1999-00010", None, 10), ("1999-00010", 3_995, 5), ("2000", None, 4_000),
    ("", 4_000, 0), ("", 9_999, 0), ("", 0, 4_000), ("1999-00000", None, 0),
])  # fmt: skip
def test_the_rows_that_go_are_those_that_were_said(
    folder: Path, before: str, keep: int | None, through: int
) -> None:
    done = drop_rows(folder, NOW, before=before, keep=keep)
    assert (done.through, done.rows, done.held) == (through, through, False)
    assert done.freed >= 0
    assert rows_of(folder, "SELECT min(seq) FROM rows") == [(through + 1,)]
    assert verify_audit(folder).is_intact
