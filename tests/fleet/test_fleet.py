"""The record of a Mac in the team's database: once, in order, seen by the team alone."""

import json
import random
import subprocess
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from fleet_record import HOST, Fleet, broken_network
from hypothesis import given
from hypothesis import strategies as st

from iac_base.errors import SetupError
from iac_fleet import database, demo, verify
from iac_fleet.versions import FleetSettings, read_settings, settings_path, write_settings
from iac_runtime.audit import writer
from iac_runtime.audit.store import AuditError, AuditRow, hashed_text
from iac_runtime.audit.upkeep import drop_rows
from iac_runtime.audit.writer import Audit, AuditIntent


def test_rows_come_once_and_in_order(fleet: Fleet) -> None:
    fleet.write(700)
    first = fleet.forward()
    assert (first.sent, first.waiting) == (len(fleet.local()), 0)
    assert fleet.forward().sent == 0
    fleet.write(2)
    assert fleet.forward().sent == len(fleet.local()) - first.sent
    assert fleet.there() == fleet.local()
    assert fleet.alarms() == []


def test_what_was_sent_before_an_answer_was_lost_is_passed_over(fleet: Fleet) -> None:
    fleet.write(3)
    fleet.forward()
    with database.open_connection(fleet.address("mac")) as connection:
        rows = [AuditRow(*row) for row in fleet.local()]
        (store,) = connection.execute("SELECT 'x'").fetchone() or ("",)
        last = database.send_rows(connection, "other", store, rows, None)
        assert database.send_rows(connection, "other", store, rows[2:], rows[1].hash) == last
    assert len(fleet.there()) == 2 * len(rows)


def test_two_forwarders_at_once_double_nothing(fleet: Fleet) -> None:
    fleet.write(1_500)
    both = [threading.Thread(target=fleet.forward) for _ in range(3)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert fleet.there() == fleet.local()
    assert fleet.alarms() == []


def test_a_database_that_was_set_back_gets_its_rows_again(fleet: Fleet) -> None:
    fleet.write(20)
    fleet.forward()
    keep = fleet.local()[9]
    with database.open_connection(fleet.address("owner")) as owner:
        owner.execute("DELETE FROM rows WHERE seq > %s", (keep[0],))
        owner.execute("UPDATE chains SET last_seq = %s, last_hash = %s", (keep[0], keep[6]))
    fleet.forward()
    assert fleet.there() == fleet.local()
    assert fleet.alarms() == []


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("UPDATE rows SET body = '{}' WHERE seq = 5", "it was changed"),
        ("DELETE FROM rows WHERE seq = 5", "rows are missing before it"),
        ("DELETE FROM rows WHERE seq > 10", "the rows after 10 are missing"),
        ("UPDATE rows SET arrived = now() WHERE seq = 5", "its time of arrival was changed"),
    ],
)
def test_what_is_changed_in_the_database_is_an_alarm(fleet: Fleet, line: str, why: str) -> None:
    fleet.write(10)
    fleet.forward()
    with database.open_connection(fleet.address("owner")) as owner:
        owner.execute(line.encode())
    assert fleet.alarms() == [why]


def test_what_is_changed_on_a_mac_is_an_alarm_and_kept(fleet: Fleet) -> None:
    fleet.write(5)
    fleet.forward()
    with database.open_connection(fleet.address("mac")) as connection:
        rows = [AuditRow(*row) for row in fleet.local()]
        at = next(at for at, row in enumerate(rows) if row.event == "intent")
        changed = rows[at]._replace(body=rows[at].body.replace("tester", "nobody"))
        database.send_rows(connection, "forged", "s", [*rows[:at], changed, *rows[at + 2 :]], None)
    assert sorted(fleet.alarms()) == ["it was changed", "rows are missing before it"]
    assert len(fleet.there()) == 2 * len(rows) - 1


def test_a_record_that_was_begun_anew_under_its_name_is_an_alarm(fleet: Fleet) -> None:
    fleet.write(5)
    fleet.forward()
    with database.open_connection(fleet.address("owner")) as owner:
        owner.execute("UPDATE chains SET last_hash = %s", (bytes(32),))
    fleet.write(1)
    fleet.forward()
    assert "the host has another row here" in fleet.alarms()
    with database.open_connection(fleet.address("owner")) as owner:
        owner.execute(b"TRUNCATE faults")
        owner.execute(b"UPDATE chains SET last_seq = last_seq + 100")
    fleet.forward()
    assert "the host has no rows after it" in fleet.alarms()


def test_a_silent_mac_is_an_alarm(fleet: Fleet) -> None:
    fleet.write(1)
    fleet.forward()
    with database.open_connection(fleet.address("owner")) as owner:
        owner.execute("UPDATE hosts SET seen = '2026-03-01 09:30+00'")
    assert fleet.alarms(silent=1.0) == ["no report since 2026-03-01 09:30"]


def test_a_team_sees_its_own_and_a_host_writes_by_one_door(fleet: Fleet) -> None:
    fleet.write(2)
    fleet.forward()
    with database.open_connection(fleet.address("stranger")) as other:
        assert database.list_hosts(other) == []
        assert database.find_calls(other, {}, 10) == []
        assert verify.check_chains(other, 24.0) == (0, [], {})
    with database.open_connection(fleet.address("lead")) as lead:
        assert [row["host"] for row in database.list_hosts(lead)] == [HOST]
        wanted = {"app": "com.apple.Notes", "client": "tester", "text": "LINE 1"}
        assert [row["tool"] for row in database.find_calls(lead, wanted, 10)] == ["notes_count"]
    for line in ("SELECT * FROM rows", "DELETE FROM rows", "INSERT INTO teams VALUES ('mac', 'b')"):
        with pytest.raises(SetupError, match="does not allow this: permission denied"):  # noqa: SIM117
            with database.open_connection(fleet.address("mac")) as host:
                host.execute(line.encode())


def test_a_reader_reads_and_writes_nothing(fleet: Fleet) -> None:
    fleet.write(2)
    fleet.forward()
    with database.open_connection(fleet.address("owner")) as owner:
        # What it was before, a Mac's role, is no more.
        database.add_team(owner, "red", "mac", "reader")
    with database.open_connection(fleet.address("mac")) as reader:
        assert verify.check_chains(reader, 24.0)[:2] == (len(fleet.there()), [])
        writing = [
            f"{name}({', '.join(['NULL'] * count)})"
            for name, count in reader.execute(
                "SELECT proname, pronargs FROM pg_proc JOIN pg_namespace n ON n.oid = pronamespace"
                " WHERE nspname = 'fleet' AND prosecdef AND has_function_privilege(pg_proc.oid,"
                " 'EXECUTE')"
            )
        ]
        assert sorted(writing) == ["calls_that(NULL, NULL)", "my_team()"]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            database.report_host(reader, HOST, {})


def test_a_role_of_one_mac_writes_under_its_name_alone(fleet: Fleet) -> None:
    with database.open_connection(fleet.address("owner")) as owner:
        database.add_team(owner, "red", "mac", host=HOST)
    fleet.write(1)
    fleet.forward()
    with database.open_connection(fleet.address("mac")) as mac:
        database.report_host(mac, HOST, {})
        for line in ("tell('other', '{}')", "ask('other', '[]')", "shortened('other', 's', 1)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="another Mac"):
                mac.execute(f"SELECT {line}".encode())
        rows = [AuditRow(*row) for row in fleet.local()]
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="another Mac"):
            database.send_rows(mac, "other", "s", rows, None)


def test_what_the_database_has_not_is_not_dropped(fleet: Fleet) -> None:
    fleet.write(5)
    fleet.forward()
    sent = fleet.local()[-1][0]
    fleet.write(5)
    assert drop_rows(fleet.state, "2026-11-23T12:00:00.000Z", keep=0).through == sent
    fleet.forward()
    assert [row[0] for row in fleet.there()][-1] == fleet.local()[-1][0]
    assert fleet.alarms() == []


def test_writes_stop_before_more_waits_than_may(fleet: Fleet) -> None:
    fleet.write(5)
    fleet.forward(behind=10)
    fleet.write(10)
    audit = Audit.open(fleet.state)
    try:
        read = AuditIntent("notes_count", "SAFE")
        audit.record_intent(read)
        write = AuditIntent("notes_make", "MODIFY", effects=(("create", "a", "A", "note"),))
        audit.record_intent(write)
    except AuditError as error:
        said = str(error)
    finally:
        audit.close()
    assert "rows wait for the team's database" in said
    fleet.forward(behind=10)
    again = Audit.open(fleet.state)
    assert again.record_intent(write)
    again.close()


def test_a_secret_that_the_mac_hides_is_not_in_the_database(fleet: Fleet) -> None:
    secret = "hf_" + "aZ9" * 12
    fleet.write(1, text=f"--token {secret}")
    fleet.forward()
    with database.open_connection(fleet.address("owner")) as owner:
        every = owner.execute("SELECT rows::text, to_jsonb(rows)::text FROM rows").fetchall()
    assert every
    assert not any(secret in text for row in every for text in row)


TEXTS = st.text(st.characters(min_codepoint=0, max_codepoint=0x2FF), max_size=30)


def test_the_database_hashes_what_the_mac_hashes(fleet: Fleet) -> None:
    with database.open_connection(fleet.address("owner")) as owner:

        @given(st.integers(1, 2**53), TEXTS, st.integers(0, 2**31), st.dictionaries(TEXTS, TEXTS))
        def same(seq: int, text: str, call: int, body: dict[str, str]) -> None:
            # What an audit writes is ASCII; names hold no more than an escape.
            row = (seq, "2026-03-01T09:30:00.000Z", "ab", call, "intent", json.dumps([text, body]))
            found = owner.execute("SELECT text_of(%s, %s, %s, %s, %s, %s)", row).fetchone()
            assert found is not None
            assert bytes(found[0]) == hashed_text(*row)

        same()


@pytest.mark.sweep
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.stress) for seed in range(2, 200))]
)
def test_nothing_is_lost_or_doubled_whatever_fails(
    new_fleet: Callable[[], Fleet], server: demo.PostgresServer, seed: int
) -> None:
    fleet, chance = new_fleet(), random.Random(seed)
    keep: list[tuple[int, bytes]] = []
    for _ in range(chance.randint(3, 6)):
        fleet.write(chance.randint(1, 400), text=chance.choice(["é\u0000\\", '"', "x" * 500]))
        fate = chance.choice(["network", "killed", "two", "back", "quiet"])
        if fate == "network":
            with broken_network(server.port, chance) as port:
                for _ in range(3):
                    with suppress(SetupError):
                        fleet.forward(port)
        elif fate == "killed":
            sending = threading.Thread(target=lambda: suppress_forward(fleet))
            sending.start()
            threading.Event().wait(chance.random() * 0.05)
            demo.stop_postgres(server, "immediate")
            sending.join()
            demo.start_postgres(server)
        elif fate == "two":
            both = [threading.Thread(target=lambda: suppress_forward(fleet)) for _ in range(2)]
            for one in both:
                one.start()
            for one in both:
                one.join()
        elif fate == "back" and keep:
            # A database that was restored from before.
            seq, head = chance.choice(keep)
            with database.open_connection(fleet.address("owner")) as owner:
                # It has none of the connections that a cut network left behind.
                owner.execute(
                    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
                owner.execute("DELETE FROM rows WHERE seq > %s", (seq,))
                owner.execute("UPDATE chains SET last_seq = %s, last_hash = %s", (seq, head))
        keep += [(row[0], row[6]) for row in fleet.there()[-1:]]
    fleet.forward()
    assert fleet.there() == fleet.local()
    assert fleet.alarms() == []


def test_a_clock_that_steps_changes_no_order(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    for moment in (
        "2026-03-01T09:30:00.000Z",
        "2031-01-01T00:00:00.000Z",
        "1970-01-01T00:00:00.000Z",
    ):
        monkeypatch.setattr(writer, "_utc_now", lambda moment=moment: moment)
        fleet.write(5)
        fleet.forward()
    assert fleet.there() == fleet.local()
    assert fleet.alarms() == []


@pytest.mark.stress
def test_a_full_disk_loses_nothing(fleet: Fleet, tmp_path: Path) -> None:
    disk = Path(tempfile.mkdtemp(prefix="iac-fleet-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", "size=120m,mode=755", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system of its own can be mounted here")
    try:
        with demo.running_postgres(disk / "postgresql") as server:
            full = Fleet(server, "postgres", tmp_path / "state")
            with database.open_connection(full.address("owner")) as owner:
                owner.execute("CREATE ROLE mac LOGIN")
                owner.execute("CREATE ROLE lead LOGIN")
                database.run_migrations(owner)
                database.add_team(owner, "red", "mac")
                database.add_team(owner, "red", "lead", "lead")
            full.write(200)
            full.forward()
            junk = disk / "junk"
            with suppress(OSError), junk.open("wb") as file:
                while True:
                    file.write(bytes(65_536))
                    file.flush()
            full.write(2_000, text="x" * 900)
            with pytest.raises(SetupError):
                full.forward()
            junk.unlink()
            full.forward()
            assert full.there() == full.local()
            assert full.alarms() == []
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)
        disk.rmdir()


def suppress_forward(fleet: Fleet) -> None:
    with suppress(SetupError):
        fleet.forward()


def test_what_is_wrong_is_one_line_without_the_password(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("IAC_DATA", str(tmp_path))
    with pytest.raises(SetupError, match="has not joined a fleet"):
        read_settings()
    address = "postgresql://mac:hunter2@127.0.0.1:1/fleet"
    write_settings(FleetSettings(address, 'the "old" Mac', 5))
    assert tuple(read_settings()) == (address, 'the "old" Mac', 5, "", ())
    with pytest.raises(SetupError) as caught, database.open_connection(address):
        pass
    assert "127.0.0.1/fleet cannot be used" in str(caught.value)
    with (
        pytest.raises(SetupError) as wrong,
        database.open_connection("postgresql://mac:hunter2@[/x"),
    ):
        pass
    assert "hunter2" not in f"{caught.value}{wrong.value}"
    assert "\n" not in str(caught.value)
    settings_path().write_text("[fleet]\ndatabase = 5\n")
    with pytest.raises(SetupError, match="database and host must be texts"):
        read_settings()
    settings_path().chmod(0o644)
    with pytest.raises(SetupError, match="chmod 600"):
        read_settings()
