"""The audit: rows that last, in a chain, shared by servers, marked after a crash."""

import contextlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from audit_trial import WORKER, rows_of, trial
from hypothesis import given
from hypothesis import strategies as st

from iac_base.errors import SetupError
from iac_base.sqlite import check_version
from iac_runtime.audit import store, writer
from iac_runtime.audit.reading import AuditEntry, AuditQuery, find_calls, row_lines, verify_audit
from iac_runtime.audit.store import (
    FILE,
    MOST_FAULTS,
    SCHEMA,
    START,
    AuditError,
    AuditRow,
    ChainCheck,
    chain_rows,
    hashed_text,
)
from iac_runtime.audit.upkeep import drop_rows
from iac_runtime.audit.writer import Audit, AuditIntent, AuditOutcome
from iac_runtime.tool import Level

NOW = "2100-01-01T00:00:00.000Z"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


def record(folder: Path, count: int = 1, level: Level = "MODIFY") -> None:
    audit = Audit.open(folder)
    for number in range(count):
        call = audit.record_intent(AuditIntent("notes_set", level, arguments={"number": number}))
        audit.record_outcome(call, AuditOutcome("done", 0.25))
    audit.close()


def edit(folder: Path, sql: str, *values: object) -> None:
    connection = sqlite3.connect(folder / "audit.db")
    with connection:
        connection.execute(sql, values)
    connection.close()


def test_a_call_leaves_what_a_person_asks_for_later(folder: Path) -> None:
    audit = Audit.open(folder)
    call = audit.record_intent(
        AuditIntent(
            "mail_set",
            "MODIFY",
            app="com.apple.mail",
            client="Claude",
            reasons=("writes a property",),
            source="preset trusted",
            arguments={"target": "inbox", "properties": {"read status": True}},
            line='Application("com.apple.mail").inbox.readStatus = true',
        )
    )
    audit.record_outcome(
        call, AuditOutcome("TIMEOUT", 30.5, error="Mail did not answer.", delay=0.2)
    )
    audit.close()
    entry = find_calls(folder, AuditQuery(), 10)[0]
    facts = entry.to_json_object()
    assert facts["arguments"] == {"target": "inbox", "properties": {"read status": True}}
    assert facts["line"] == 'Application("com.apple.mail").inbox.readStatus = true'
    assert (entry.app, entry.client, entry.tool) == ("com.apple.mail", "Claude", "mail_set")
    assert (entry.level, entry.reasons) == ("MODIFY", ["writes a property"])
    assert (entry.decision, entry.source) == ("allow", "preset trusted")
    assert (entry.result, entry.ms, entry.error) == ("TIMEOUT", 30500, "Mail did not answer.")
    assert (entry.delay_ms, len(entry.digest)) == (200, 64)
    assert entry.time.endswith("Z")


def test_the_intent_of_a_write_is_on_the_disk_before_it_returns(folder: Path) -> None:
    audit = Audit.open(folder)
    audit.record_intent(AuditIntent("notes_make", "DANGEROUS"))
    assert rows_of(folder, "SELECT call FROM rows WHERE event = 'intent'") == [(1,)]
    audit.close()


def test_reads_and_outcomes_follow_by_themselves(folder: Path) -> None:
    audit = Audit.open(folder)
    audit.record_outcome(
        audit.record_intent(AuditIntent("notes_get", "SAFE")), AuditOutcome("done", 0.0)
    )
    found: list[AuditEntry] = []
    while not found:
        # Until the first row there is no audit.
        with contextlib.suppress(SetupError):
            found = find_calls(folder, AuditQuery(result="done"), 1)
    audit.close()


def test_a_denied_write_is_written_down_with_its_source(folder: Path) -> None:
    audit = Audit.open(folder)
    call = audit.record_intent(
        AuditIntent("finder_empty", "DANGEROUS", decision="deny", source="a person")
    )
    audit.record_outcome(call, AuditOutcome("refused", 0.0))
    audit.close()
    entry = find_calls(folder, AuditQuery(level="dangerous"), 1)[0]
    assert (entry.decision, entry.source, entry.result) == ("deny", "a person", "refused")


def test_an_empty_file_is_no_audit_yet(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    (folder / "audit.db").touch(mode=0o600)
    with pytest.raises(SetupError, match="There is no audit log in"):
        find_calls(folder, AuditQuery(), 1)
    record(folder)
    assert len(find_calls(folder, AuditQuery(), 9)) == 1


def test_a_second_outcome_is_left_out(folder: Path) -> None:
    audit = Audit.open(folder)
    call = audit.record_intent(AuditIntent("t", "MODIFY"))
    audit.record_outcome(call, AuditOutcome("done", 0.0))
    audit.record_outcome(call, AuditOutcome("TIMEOUT", 0.0))
    audit.close()
    audit.record_outcome(call, AuditOutcome("done", 0.0))
    assert rows_of(folder, "SELECT count(*) FROM rows WHERE event = 'outcome'") == [(1,)]
    with pytest.raises(AuditError, match="it is closed") as caught:
        audit.record_intent(AuditIntent("t", "MODIFY"))
    error = caught.value
    assert (error.type, error.retryable, error.why) == ("UNAVAILABLE", True, "it is closed")
    assert error.suggestion
    audit.record_outcome(audit.record_intent(AuditIntent("t", "SAFE")), AuditOutcome("done", 0.0))
    audit.close()


def test_a_call_open_at_the_end_is_interrupted(folder: Path) -> None:
    audit = Audit.open(folder)
    audit.record_intent(AuditIntent("t", "MODIFY"))
    assert [entry.result for entry in find_calls(folder, AuditQuery(), 9)] == ["running"]
    audit.close()
    assert [entry.result for entry in find_calls(folder, AuditQuery(), 9)] == ["interrupted"]
    assert not list((folder / "audit-sessions").iterdir())


def test_a_start_leaves_the_open_calls_of_a_live_server_alone(folder: Path) -> None:
    first, second = Audit.open(folder), Audit.open(folder)
    call = first.record_intent(AuditIntent("slow", "MODIFY"))
    second.record_intent(AuditIntent("other", "MODIFY"))
    assert not rows_of(folder, "SELECT 1 FROM rows WHERE event = 'interrupted'")
    first.record_outcome(call, AuditOutcome("done", 9.0))
    first.close()
    second.close()
    assert [(entry.tool, entry.result) for entry in find_calls(folder, AuditQuery(), 9)] == [
        ("slow", "done"),
        ("other", "interrupted"),
    ]
    assert verify_audit(folder).is_intact


@pytest.mark.process
def test_killed_programs_lose_nothing_that_was_acknowledged(folder: Path) -> None:
    rng = random.Random(1)
    for number in range(5):
        count, wrong = trial(folder, rng, at_work=number % 2 > 0)
        assert wrong == []
        assert count > 0 or number % 2 == 0


@pytest.mark.process
def test_two_programs_and_this_one_share_the_file_without_loss(folder: Path) -> None:
    command = [sys.executable, str(WORKER), str(folder), "40"]
    workers = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]
    record(folder, 30)
    assert [worker.wait() for worker in workers] == [0, 0]
    assert verify_audit(folder).is_intact
    calls = rows_of(folder, "SELECT count(*) FROM rows WHERE event = 'intent'")
    ends = rows_of(folder, "SELECT count(*) FROM rows WHERE event = 'outcome'")
    assert calls == ends == [(2 * 4 * 40 + 30,)]


def test_many_threads_write_at_once(folder: Path) -> None:
    audit = Audit.open(folder)

    def work() -> None:
        for _ in range(20):
            audit.record_outcome(
                audit.record_intent(AuditIntent("t", "MODIFY")), AuditOutcome("done", 0.0)
            )

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    audit.close()
    entries = find_calls(folder, AuditQuery(result="done"), 999)
    assert len(entries) == 160
    assert verify_audit(folder).is_intact


@pytest.mark.parametrize(("sql", "fault"), [
    ("UPDATE rows SET body = replace(body, 'notes', 'mail') WHERE seq = 4", "row 4 was ch"),
    ("UPDATE rows SET time = '2020' WHERE seq = 4", "row 4 was changed"),
    ("UPDATE rows SET hash = zeroblob(32) WHERE seq = 4", "row 4 was changed"),
    ("DELETE FROM rows WHERE seq = 4", "row 4 is missing"),
    ("DELETE FROM rows WHERE seq BETWEEN 4 AND 6", "rows 4 to 6 are missing"),
    ("DELETE FROM rows WHERE seq < 4", "rows 1 to 3 are missing"),
    ("DELETE FROM rows WHERE seq > 9", "rows 10 to 12 are missing from the end"),
    ("DELETE FROM rows", "rows 1 to 12 are missing from the end"),
])  # fmt: skip
def test_an_edit_shows(folder: Path, sql: str, fault: str) -> None:
    record(folder, 5)
    assert verify_audit(folder).is_intact
    edit(folder, sql)
    found = verify_audit(folder)
    assert not found.is_intact
    assert found.faults[0].startswith(fault)


def test_rows_cut_off_the_end_show_after_more_were_written(folder: Path) -> None:
    record(folder, 5)
    edit(folder, "DELETE FROM rows WHERE seq > 9")
    record(folder)
    assert verify_audit(folder).faults == ("rows 10 to 12 are missing",)


def test_old_rows_can_be_dropped_and_the_rest_verifies(folder: Path) -> None:
    record(folder, 10)
    before = len(list(row_lines(folder)))
    done = drop_rows(folder, NOW, keep=5)
    assert done.rows == done.through == before - 5
    assert verify_audit(folder).is_intact
    record(folder, 3)
    assert drop_rows(folder, NOW, keep=4).rows > 0
    assert drop_rows(folder, NOW, before="2000-01-01T00:00:00.000Z").rows == 0
    assert drop_rows(folder, NOW, before=NOW).rows > 0
    found = verify_audit(folder)
    assert found.is_intact
    assert found.rows >= 1
    record(folder)
    assert verify_audit(folder).is_intact
    assert find_calls(folder, AuditQuery(), 9)[0].result == "done"


def test_nothing_is_dropped_from_the_first_running_call_on(folder: Path) -> None:
    audit = Audit.open(folder)
    audit.record_outcome(
        audit.record_intent(AuditIntent("old", "MODIFY")), AuditOutcome("done", 0.0)
    )
    call = audit.record_intent(AuditIntent("slow", "MODIFY"))
    drop_rows(folder, NOW, keep=0)
    audit.record_outcome(call, AuditOutcome("done", 0.0))
    audit.close()
    assert verify_audit(folder).is_intact
    assert [(entry.tool, entry.result) for entry in find_calls(folder, AuditQuery(), 9)] == [
        ("slow", "done")
    ]


def test_a_broken_chain_is_not_shortened(folder: Path) -> None:
    record(folder, 5)
    edit(folder, "UPDATE rows SET body = '{}' WHERE seq = 3")
    with pytest.raises(SetupError, match="row 3 was changed"):
        drop_rows(folder, NOW, keep=1)
    assert len(list(row_lines(folder))) == 12


def test_order_is_by_place_when_the_clock_is_set_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hours = iter(range(99, 9, -1))
    monkeypatch.setattr(writer, "_utc_now", lambda: f"20{next(hours)}-01-01T00:00:00.000Z")
    audit = Audit.open(folder)
    for tool in ("first", "second", "third"):
        audit.record_outcome(
            audit.record_intent(AuditIntent(tool, "MODIFY")), AuditOutcome("done", 0.0)
        )
    audit.close()
    assert [entry.tool for entry in find_calls(folder, AuditQuery(), 9)] == [
        "first",
        "second",
        "third",
    ]
    assert drop_rows(folder, NOW, before="2050-01-01T00:00:00.000Z").rows == 0
    assert verify_audit(folder).is_intact


def test_an_export_can_be_verified_by_another_program(folder: Path) -> None:
    import hashlib

    record(folder, 3)
    before = bytes(32)
    for line in row_lines(folder):
        row = json.loads(line)
        stored = row.pop("hash")
        text = json.dumps(list(row.values()), separators=(",", ":"))
        before = hashlib.sha256(before + text.encode()).digest()
        assert before.hex() == stored


def test_search_finds_by_each_fact(folder: Path) -> None:
    audit = Audit.open(folder)
    for tool, app, client, text in (
        ("mail_get", "com.apple.mail", "Claude", "Grüße"),
        ("notes_get", "com.apple.Notes", "other", "Milk"),
    ):
        intent = AuditIntent(tool, "SAFE", app=app, client=client, arguments={"text": text})
        audit.record_outcome(audit.record_intent(intent), AuditOutcome("done", 0.0))
    audit.close()
    for query in (
        AuditQuery(text="milk"),
        AuditQuery(app="com.apple.notes"),
        AuditQuery(tool="notes_*"),
        AuditQuery(client="OTHER"),
        AuditQuery(tool="*_get", level="safe", text="Milk", result="done", since="2020"),
    ):
        assert [entry.tool for entry in find_calls(folder, query, 9)] == ["notes_get"]
    assert [entry.tool for entry in find_calls(folder, AuditQuery(text="Grüße"), 9)] == ["mail_get"]
    assert [entry.tool for entry in find_calls(folder, AuditQuery(), 1)] == ["notes_get"]
    assert not find_calls(folder, AuditQuery(until="2020"), 9)


def test_the_files_are_the_users_own(folder: Path) -> None:
    old = os.umask(0)
    try:
        audit = Audit.open(folder)
        audit.record_intent(AuditIntent("t", "MODIFY"))
        assert all(path.stat().st_mode & 0o077 == 0 for path in folder.rglob("*"))
        audit.close()
    finally:
        os.umask(old)


def test_a_forged_line_stays_one_line(folder: Path) -> None:
    audit = Audit.open(folder)
    forged = 'x\n{"seq":1}\x1b[2J\u2028\u202e'
    audit.record_intent(
        AuditIntent("t", "MODIFY", arguments={"text": forged}, line=forged, client=forged)
    )
    audit.close()
    lines = list(row_lines(folder))
    assert len(lines) == len(rows_of(folder, "SELECT 1 FROM rows"))
    assert all(line.isascii() and line.isprintable() for line in lines)
    assert find_calls(folder, AuditQuery(), 1)[0].arguments == {"text": forged}


def test_lone_surrogates_and_foreign_values_do_not_stop_the_audit(folder: Path) -> None:
    audit = Audit.open(folder)
    values = {"a": "\ud800", "b": float("nan"), "c": b"raw", "d": 10**400, "e": [None, True]}
    audit.record_intent(AuditIntent("t", "MODIFY", arguments=values, line="\udfff"))
    audit.close()
    assert find_calls(folder, AuditQuery(), 1)[0].tool == "t"
    assert verify_audit(folder).is_intact


def test_who_reads_while_the_file_is_made_finds_none_yet(tmp_path: Path) -> None:
    path = tmp_path / FILE
    maker, reader = (sqlite3.connect(path, isolation_level=None) for _ in range(2))
    maker.execute("PRAGMA journal_mode = WAL")

    def make(statement: str) -> None:
        # Between what the reader asks first and what it asks next.
        if "sqlite_master" in statement:
            reader.set_trace_callback(None)
            maker.execute("BEGIN")
            maker.execute("CREATE TABLE made (a TEXT)")
            maker.execute(f"PRAGMA application_id = {SCHEMA.application}")
            maker.execute("PRAGMA user_version = 1")
            maker.execute("COMMIT")

    reader.set_trace_callback(make)
    assert check_version(reader, path, SCHEMA) == 0
    assert check_version(reader, path, SCHEMA) == 1
    maker.close()
    reader.close()


# The chain of rows by itself: what was changed, removed or put in shows, and where.


def verify(rows: list[AuditRow], dropped: dict[int, bytes], counter: int) -> ChainCheck:
    return store.verify_chain(
        ((row.seq, hashed_text(*row[:6]), row.hash) for row in rows), dropped, counter
    )


PARTS = st.lists(
    st.tuples(*[st.text(max_size=5)] * 2, st.integers(0, 9), *[st.text(max_size=5)] * 2)
)


@given(PARTS, st.data())
def test_no_row_can_be_changed_removed_or_moved(parts: list, data: st.DataObject) -> None:
    rows = list(chain_rows(START, 0, parts))
    assert verify(rows, {}, len(rows)).is_intact
    if not rows:
        return
    index = data.draw(st.integers(0, len(rows) - 1))
    row = rows[index]
    field = data.draw(st.sampled_from(["time", "session", "event", "body"]))
    changed = [
        *rows[:index],
        row._replace(**{field: getattr(row, field) + "x"}),
        *rows[index + 1 :],
    ]
    assert not verify(changed, {}, len(rows)).is_intact
    assert not verify(rows[:index] + rows[index + 1 :], {}, len(rows)).is_intact
    assert not verify([*rows[:index], row, *rows[index:]], {}, len(rows)).is_intact


ROWS = list(chain_rows(START, 0, [(f"t{n}", "s", n, "intent", f'{{"n":{n}}}') for n in range(9)]))


@pytest.mark.parametrize("index", [0, 4, 8])
@pytest.mark.parametrize("field", ["time", "session", "call", "event", "body", "hash"])
def test_a_change_of_any_field_of_any_row_shows_at_that_row(index: int, field: str) -> None:
    row = ROWS[index]
    now = {"call": row.call + 1, "hash": START}.get(field, f"{getattr(row, field)}x")
    rows = [*ROWS[:index], row._replace(**{field: now}), *ROWS[index + 1 :]]
    found = verify(rows, {}, 9)
    assert not found.is_intact
    assert found.faults[0] == f"row {row.seq} was changed, or the row before it was"


def test_a_chain_is_told_with_its_first_and_last_row() -> None:
    whole = verify(ROWS, {}, 9)
    assert (whole.rows, whole.first, whole.last, whole.faults) == (9, 1, 9, ())
    rest = verify(ROWS[3:], {3: ROWS[2].hash}, 9)
    assert (rest.rows, rest.first, rest.last, rest.faults) == (6, 4, 9, ())
    assert verify([], {}, 0).is_intact


@pytest.mark.parametrize(
    ("rows", "dropped", "counter", "faults"),
    [
        (ROWS[1:], {}, 9, ("row 1 is missing, and no row records a drop",)),
        (ROWS[3:], {2: ROWS[1].hash}, 9, ("rows 1 to 3 are missing, and no row records a drop",)),
        # A row that says where it was cut must have the hash from there.
        (ROWS[3:], {3: ROWS[1].hash}, 9, ("row 4 was changed, or the row before it was",)),
        (ROWS[:3] + ROWS[4:], {}, 9, ("row 4 is missing",)),
        (ROWS[:3] + ROWS[6:8], {}, 9, ("rows 4 to 6 are missing", "row 9 is missing from the end")),
        (ROWS, {}, 11, ("rows 10 to 11 are missing from the end",)),
        ([], {}, 2, ("rows 1 to 2 are missing from the end",)),
    ],
)
def test_what_a_chain_lacks_is_told(
    rows: list[AuditRow], dropped: dict[int, bytes], counter: int, faults: tuple[str, ...]
) -> None:
    assert verify(rows, dropped, counter).faults == faults


def test_a_change_after_a_gap_shows_too() -> None:
    rows = [*ROWS[:2], ROWS[3], ROWS[4]._replace(body="{}"), *ROWS[5:]]
    assert verify(rows, {}, 9).faults == (
        "row 3 is missing",
        "row 5 was changed, or the row before it was",
    )


def test_faults_are_told_up_to_a_hundred() -> None:
    rows = [
        row._replace(hash=bytes([7]) * 32)
        for row in chain_rows(START, 0, [("", "", 0, "", "")] * 101)
    ]
    assert len(verify(rows, {}, 999).faults) == MOST_FAULTS
    assert len(verify(rows[:99], {}, 99).faults) == 99
