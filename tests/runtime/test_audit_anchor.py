"""Anchors and drops: a rollback is found; the file shrinks, and what is cut short goes on."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import syslog
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from audit_trial import rows_of
from click.testing import CliRunner, Result
from test_audit_faults import Fault

from iac_base.errors import SetupError
from iac_base.files import open_state
from iac_base.sqlite import open_database
from iac_mcp.cli import audit as cli_audit
from iac_runtime.audit import store, upkeep
from iac_runtime.audit.reading import AuditQuery, find_calls, row_lines, verify_audit
from iac_runtime.audit.store import (
    FILE,
    SCHEMA,
    START,
    ChainCheck,
    LastDrop,
    UnplacedRow,
    append_rows,
    chain_rows,
    hashed_text,
    row_hash,
)
from iac_runtime.audit.upkeep import Anchor, drop_rows, find_anchor_fault, read_anchors
from iac_runtime.audit.writer import Audit, AuditIntent, AuditOutcome, intent_body

NOW = "2100-01-01T00:00:00.000Z"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(
        cli_audit.audit, arguments, standalone_mode=False, catch_exceptions=False
    )


def record(count: int = 3) -> Path:
    folder = open_state()
    audit = Audit.open(folder)
    for number in range(count):
        call = audit.record_intent(AuditIntent("notes_set", "MODIFY", arguments={"number": number}))
        audit.record_outcome(call, AuditOutcome("done", 0.25))
    audit.close()
    return folder


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "anchors.jsonl"


def anchored(kept: Path) -> None:
    record()
    assert run("anchor", "--file", str(kept)).stdout.startswith("Stored an anchor of row ")


def checked(kept: Path) -> tuple[int, list[str]]:
    result = run("verify", "--anchor", str(kept))
    return result.return_value, result.stdout.splitlines()


def test_an_anchor_holds_the_head_and_is_appended(kept: Path) -> None:
    anchored(kept)
    anchored(kept)
    first, second = map(json.loads, kept.read_text().splitlines())
    assert first["store"] == second["store"]
    (last,) = rows_of(open_state(), "SELECT seq, time, event, hex(hash) FROM rows ORDER BY seq")[
        -1:
    ]
    assert last == (second["row"], second["time"], "anchored", second["hash"].upper())
    assert kept.stat().st_mode & 0o077 == 0
    rows = rows_of(open_state(), "SELECT session, call, body FROM rows WHERE event = 'anchored'")
    assert rows == [("", 0, f'{{"pid": {os.getpid()}}}')] * 2
    record()
    status, lines = checked(kept)
    assert (status, lines[0]) == (0, "2 anchors match.")


def rolled_back(folder: Path) -> None:
    shutil.copy(folder / "earlier", folder / store.FILE)


def rolled_back_and_written_on(folder: Path) -> None:
    rolled_back(folder)
    record(9)


def rolled_back_written_on_and_dropped(folder: Path) -> None:
    rolled_back_and_written_on(folder)
    drop_rows(folder, NOW, keep=2)


def replaced(folder: Path) -> None:
    (folder / store.FILE).unlink()
    record(9)


def replaced_and_dropped(folder: Path) -> None:
    replaced(folder)
    drop_rows(folder, NOW, keep=2)


def rewritten(folder: Path) -> None:
    """Change a row, and make all later hashes anew: a chain that holds."""
    connection = open_database(folder / store.FILE, store.SCHEMA)
    connection.execute("UPDATE rows SET body = replace(body, '\"number\":1', '\"number\":7')")
    before = bytes(32)
    for row in connection.execute("SELECT * FROM rows ORDER BY seq").fetchall():
        before = row_hash(before, hashed_text(*row[:6]))
        connection.execute("UPDATE rows SET hash = ? WHERE seq = ?", (before, row[0]))
    connection.close()


@pytest.mark.parametrize(("change", "meaning"), [
    (rolled_back, "the audit log was rolled back: it ends at row 8."),
    (rolled_back_and_written_on, "rolled back and continued, or rewritten: the row has"),
    (rolled_back_written_on_and_dropped, "with no record of this anchor"),
    (replaced, "the audit log was replaced by another one"),
    (replaced_and_dropped, "the audit log was replaced by another one"),
    (rewritten, "rolled back and continued, or rewritten: the row has another hash"),
])  # fmt: skip
def test_a_valid_chain_that_is_not_the_anchored_one_is_found(
    change: object, meaning: str, kept: Path
) -> None:
    folder = record()
    shutil.copy(folder / store.FILE, folder / "earlier")
    anchored(kept)
    head = json.loads(kept.read_text())
    assert checked(kept)[0] == 0
    change(folder)  # type: ignore[operator]
    assert run("verify").return_value == 0
    status, lines = checked(kept)
    assert status == 1
    assert lines[0].startswith(f"Anchor in line 1, row {head['row']} of {head['time']}: ")
    assert meaning in lines[0]


def test_the_first_anchor_that_fails_is_named(kept: Path) -> None:
    anchored(kept)
    folder = open_state()
    shutil.copy(folder / store.FILE, folder / "earlier")
    anchored(kept)
    anchored(kept)
    rolled_back(folder)
    status, lines = checked(kept)
    assert status == 1
    assert lines[0].startswith("Anchor in line 2, ")
    assert lines[0].endswith("(2 of 3 anchors fail).")


def test_an_anchor_older_than_drops_is_still_judged(kept: Path) -> None:
    anchored(kept)
    anchored(kept)
    folder = open_state()
    for keep in (3, 1):
        record()
        assert drop_rows(folder, NOW, keep=keep).rows
        assert checked(kept)[1][0] == "2 anchors match, 2 of them for rows that were dropped since."
    anchored(kept)
    assert checked(kept)[1][0] == "3 anchors match, 2 of them for rows that were dropped since."
    # One of a row that was dropped, and never was what it says.
    line = json.loads(kept.read_text().splitlines()[0])
    kept.write_text(Anchor(line["store"], line["row"], "0" * 64, line["time"]).json_line)
    status, lines = checked(kept)
    assert status == 1
    assert "with no record of this anchor" in lines[0]


def test_a_file_that_an_older_version_dropped_from_has_one_name(kept: Path) -> None:
    folder = record()
    drop_rows(folder, NOW, keep=2)
    connection = open_database(folder / store.FILE, store.SCHEMA)
    ((seq, time, body, _),) = store.upkeep_rows(connection, "dropped")
    old = {name: value for name, value in json.loads(body).items() if name in ("through", "hash")}
    (before,) = connection.execute("SELECT hash FROM rows WHERE seq = ?", (seq - 1,)).fetchone()
    connection.execute("DELETE FROM rows WHERE seq = ?", (seq,))
    connection.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'rows'", (seq - 1,))
    store.append_rows(connection, [store.UnplacedRow(time, "", 0, "dropped", json.dumps(old))])
    connection.close()
    assert before
    anchored(kept)
    drop_rows(folder, NOW, keep=3)
    anchored(kept)
    assert len({json.loads(line)["store"] for line in kept.read_text().splitlines()}) == 1
    assert checked(kept)[0] == 0


def test_anchors_are_found_between_other_lines_of_a_log(kept: Path) -> None:
    anchored(kept)
    line = kept.read_text().strip()
    kept.write_text(f'{line[:40]}Nov 22 host iac-mcp[7]: {line} end\nother {{"row":1}}\n\n')
    with kept.open("ab") as file:
        file.write(b"\xff\n")
    anchors, others = read_anchors(kept)
    assert (list(anchors), others) == ([1], 2)
    status, lines = checked(kept)
    assert status == 0
    assert f"2 lines of {kept} are not anchors and were skipped." in lines
    kept.write_text("nothing\n")
    with pytest.raises(SetupError, match="has no anchor"):
        run("verify", "--anchor", str(kept))
    with pytest.raises(SetupError, match="cannot be read: No such file"):
        run("verify", "--anchor", str(kept.with_name("none")))


def test_a_command_gets_the_head_and_its_failure_is_one_line(kept: Path) -> None:
    record()
    keep = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read())"
    run("anchor", "--", sys.executable, "-c", keep, str(kept))
    assert checked(kept)[0] == 0
    wrong = "import sys; sys.stderr.write('first\\nno \\x1b[2J room\\n'); sys.exit(3)"
    with pytest.raises(SetupError) as caught:
        run("anchor", "--", sys.executable, "-c", wrong)
    kept_not = f"The anchor was not stored: {sys.executable} ended with status 3"
    assert str(caught.value).startswith(f"{kept_not}: no ")
    assert "\x1b" not in str(caught.value)
    assert "\n" not in str(caught.value)
    silent = "import sys; sys.stderr.buffer.write(b'no\\none\\ntwo\\xff\\n \\n'); sys.exit(3)"
    with pytest.raises(SetupError) as caught:
        run("anchor", "--", sys.executable, "-c", silent)
    assert str(caught.value) == f"{kept_not}: two\ufffd"
    with pytest.raises(SetupError) as caught:
        run("anchor", "--", sys.executable, "-c", "import sys; sys.exit(3)")
    assert str(caught.value) == kept_not
    with pytest.raises(SetupError, match=r"cannot be started \(No such file"):
        run("anchor", "--", "/nowhere/command")


def test_a_command_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    record()
    monkeypatch.setattr("iac_runtime.audit.upkeep.COMMAND_SECONDS", 0.5)
    with pytest.raises(SetupError, match="did not end"):
        run("anchor", "--", sys.executable, "-c", "while True: pass")


def test_the_systems_log_gets_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    record()
    sent: list[tuple[int, str]] = []
    opened: list[tuple[object, ...]] = []
    monkeypatch.setattr("syslog.openlog", lambda *said: opened.append(said))
    monkeypatch.setattr("syslog.syslog", lambda *said: sent.append(said))
    run("anchor", "--syslog")
    assert opened == [("iac-mcp", syslog.LOG_PID, syslog.LOG_USER)]
    ((priority, line),) = sent
    assert priority == syslog.LOG_NOTICE
    assert json.loads(line)["iac_audit_anchor"] == 1


def test_one_place_elsewhere_is_asked_for(kept: Path) -> None:
    with pytest.raises(SetupError, match="There is no audit log in"):
        run("anchor", "--file", str(kept))
    folder = record()
    for options in ((), ("--syslog", "--file", str(kept)), ("--syslog", "--", "cat")):
        with pytest.raises(click.UsageError, match="Choose where"):
            run("anchor", *options)
    with pytest.raises(click.UsageError, match="choose another"):
        run("anchor", "--file", str(folder / "anchors"))
    with pytest.raises(SetupError, match="cannot be written"):
        run("anchor", "--file", str(kept / "none" / "anchors"))
    (folder / store.FILE).chmod(0o644)
    with pytest.raises(
        SetupError,
        match=r"^No anchor was made \(other users can read or change it\)\."
        " Prevent",
    ):
        run("anchor", "--file", str(kept))


def test_a_record_that_is_gone_is_told(kept: Path) -> None:
    anchored(kept)
    (open_state() / store.FILE).unlink()
    with pytest.raises(SetupError, match="no audit"):
        checked(kept)


HASH, OTHER = "ab" * 32, "cd" * 32
REWRITTEN = "the audit log was rolled back and continued, or rewritten: the row has another hash"
ROLLED = (
    "the audit log was rolled back and continued; row 9 then dropped this part, with no record of"
    " this anchor"
)


@pytest.mark.parametrize(("found", "heads", "through", "changes", "meaning"), [
    (HASH, {}, 0, {}, ""), (OTHER, {}, 0, {}, REWRITTEN), (None, {}, 0, {}, "the row is missing"),
    (None, {"5": HASH}, 5, {}, ""), (None, {"5": HASH}, 4, {}, "the row is missing"),
    (None, {"5": OTHER}, 5, {}, ROLLED), (None, {}, 6, {}, ROLLED),
    (None, {}, 0, {"last": 4}, "the audit log was rolled back: it ends at row 4"),
    (OTHER, {}, 0, {"last": 5}, REWRITTEN),
    (None, {}, 0, {"store": "y", "last": 4}, "the audit log was replaced by another one"),
])  # fmt: skip
def test_what_an_anchor_that_fails_means(
    found: str | None, heads: dict[str, str], through: int, changes: dict[str, Any], meaning: str
) -> None:
    hashes = {5: bytes.fromhex(found)} if found else {}
    drop = LastDrop(9, "", through, heads=heads)
    check = replace(ChainCheck(9, 1, 9, (), hashes, store="x", drop=drop), **changes)
    assert find_anchor_fault(Anchor("x", 5, HASH, NOW), check) == meaning


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
