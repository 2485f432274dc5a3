"""Checks read what is new, months go, texts are found, and auditors export."""

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from fleet_record import HOST, Fleet

from iac_base.errors import SetupError
from iac_fleet import database, export, verify
from iac_fleet.cli import cli
from iac_runtime.audit.store import hashed_text, row_hash


def check(fleet: Fleet, state: Path, *, anew: bool = False) -> verify.CheckResult:
    with database.open_connection(fleet.address("lead")) as lead:
        return verify.check_new_rows(lead, 24.0, state, anew=anew)


def owner_runs(fleet: Fleet, *lines: str) -> None:
    with database.open_connection(fleet.address("owner")) as owner:
        for line in lines:
            owner.execute(line.encode())


def test_a_check_reads_what_came_since_the_one_before(fleet: Fleet, tmp_path: Path) -> None:
    fleet.write(3)
    fleet.forward()
    first = check(fleet, tmp_path)
    assert (first.rows, first.alarms) == (len(fleet.there()), [])
    assert check(fleet, tmp_path)[:2] == (0, [])
    fleet.write(2)
    sent = fleet.forward().sent
    assert check(fleet, tmp_path)[:2] == (sent, [])
    assert check(fleet, tmp_path, anew=True)[:2] == (first.rows + sent, [])


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["DELETE FROM rows"], "the row of the last check is missing"),
        (["DELETE FROM rows", "DELETE FROM chains"], "the chain was there, and is missing"),
        (
            ["UPDATE rows SET hash = seal WHERE seq = (SELECT max(seq) FROM rows)"],
            "it was changed since the last check",
        ),
    ],
)
def test_what_is_changed_where_a_check_ended_is_an_alarm_that_stays(
    fleet: Fleet, tmp_path: Path, lines: list[str], why: str
) -> None:
    fleet.write(3)
    fleet.forward()
    assert check(fleet, tmp_path).alarms == []
    owner_runs(fleet, *lines)
    assert why in [alarm.why for alarm in check(fleet, tmp_path).alarms]
    assert why in [alarm.why for alarm in check(fleet, tmp_path).alarms]


def test_an_older_change_is_found_by_a_whole_check(fleet: Fleet, tmp_path: Path) -> None:
    fleet.write(3)
    fleet.forward()
    check(fleet, tmp_path)
    owner_runs(fleet, "UPDATE rows SET body = '{}' WHERE seq = 3")
    assert check(fleet, tmp_path).alarms == []
    assert [alarm.seq for alarm in check(fleet, tmp_path, anew=True).alarms] == [3]
    # And is said by each check from then on.
    assert [alarm.seq for alarm in check(fleet, tmp_path).alarms] == [3]


def test_a_database_whose_functions_lie_hides_nothing(fleet: Fleet) -> None:
    fleet.write(3)
    fleet.forward()
    owner_runs(
        fleet,
        "UPDATE rows SET body = '{}' WHERE seq = 3",
        "CREATE OR REPLACE FUNCTION text_of(seq bigint, at text, run text, call bigint, event text,"
        " body text) RETURNS bytea LANGUAGE sql AS $$ SELECT ''::bytea $$",
    )
    assert fleet.alarms() == ["it was changed"]


def test_a_row_that_is_there_twice_is_an_alarm(fleet: Fleet, tmp_path: Path) -> None:
    fleet.write(3)
    fleet.forward()
    check(fleet, tmp_path)
    names = "team, host, store, seq, arrived, time, session, call, event, body, hash, seal"
    owner_runs(
        fleet,
        f"INSERT INTO rows ({names}) SELECT {names} FROM rows"
        " WHERE seq = (SELECT max(seq) FROM rows)",
    )
    for anew in (False, True):
        found = check(fleet, tmp_path, anew=anew).alarms
        assert [alarm.why for alarm in found] == ["rows are missing before it"]


def test_what_searches_look_at_cannot_be_changed(fleet: Fleet) -> None:
    fleet.write(1)
    fleet.forward()
    with pytest.raises(SetupError, match="can only be updated to DEFAULT"):
        owner_runs(fleet, "UPDATE rows SET summary.app = 'x'")


def test_months_are_dropped_and_the_rest_is_still_checked(fleet: Fleet, tmp_path: Path) -> None:
    fleet.write(5)
    fleet.forward()
    check(fleet, tmp_path)
    sent = fleet.local()
    # All of it came a while ago, in a month of its own.
    owner_runs(
        fleet,
        "CREATE TABLE rows_2026_01 PARTITION OF rows FOR VALUES FROM ('2026-01-01 00:00+00')"
        " TO ('2026-02-01 00:00+00')",
        "UPDATE rows SET arrived = '2026-01-15 12:00+00'",
        "UPDATE rows SET seal = s.seal FROM (SELECT seq, seal_of(NULL, hash, arrived)"
        " OVER (ORDER BY seq) AS seal FROM rows) AS s WHERE rows.seq = s.seq",
    )
    check(fleet, tmp_path, anew=True)
    fleet.write(4)
    fleet.forward()
    env = {"IAC_FLEET_DATABASE": fleet.address("owner"), "IAC_DATA": str(tmp_path / "owner")}
    done = CliRunner().invoke(cli, ["drop", "2026-02"], env=env)
    assert done.output == "Dropped 1 months: 2026_01.\n"
    left = [row[0] for row in fleet.there()]
    assert left == [row[0] for row in fleet.local()[len(sent) :]]
    fleet.write(3)
    fleet.forward()
    assert fleet.alarms() == []
    assert check(fleet, tmp_path).alarms == []
    # What no check had seen before it was dropped is said.
    other = tmp_path / "other"
    other.mkdir()
    late = verify.ChainMark(2, b"x" * 32, b"y" * 32)
    with database.open_connection(fleet.address("lead")) as lead:
        store = next(iter(verify.check_chains(lead, 24.0).marks))
        found = verify.check_chains(lead, 24.0, {store: late}).alarms
    assert [alarm.why for alarm in found] == [
        f"rows through {len(sent)} were dropped before a check saw them"
    ]


def test_a_chain_whose_last_rows_were_dropped_goes_on(fleet: Fleet) -> None:
    fleet.write(2)
    fleet.forward()
    with database.open_connection(fleet.address("owner")) as owner:
        owner.execute("SELECT drop_before('2999-01-01')")
    fleet.write(2)
    fleet.forward()
    assert fleet.alarms() == []


def test_months_that_overlap_go_together(fleet: Fleet) -> None:
    fleet.write(2)
    fleet.forward()
    owner_runs(
        fleet,
        "CREATE TABLE rows_2026_01 PARTITION OF rows FOR VALUES FROM ('2026-01-01 00:00+00')"
        " TO ('2026-02-01 00:00+00')",
        "UPDATE rows SET arrived = '2026-01-15 12:00+00' WHERE seq = 3",
    )
    with pytest.raises(SetupError, match="drop that month with them"):
        owner_runs(fleet, "SELECT drop_before('2026-02-01')")
    assert len(fleet.there()) == len(fleet.local())


def test_a_text_is_found_wherever_it_is(fleet: Fleet) -> None:
    for text in ("plain words", "100%_sure \\ of it", 'a "quoted" line', "Äpfel\nund Birnen", "ab"):
        fleet.write(1, text)
    fleet.write(60, "common")
    fleet.forward()
    with database.open_connection(fleet.address("lead")) as lead:
        for text, count in (
            ("LAIN WOR", 1), ("100%_sure \\", 1), ("100__sure", 0), ('"quoted"', 1), ("Äpfel\n", 1),
            ("nd birn", 1), ("common", 50), ("mm", 50), ("nowhere at all", 0),
        ):  # fmt: skip
            assert len(database.find_calls(lead, {"text": text}, 50)) == count, text
        assert database.find_calls(lead, {"text": "common", "host": "other"}, 50) == []
        assert database.find_calls(lead, {"app": "x' OR '1'='1"}, 50) == []


def test_calls_are_counted_as_they_arrive_for_their_team_alone(fleet: Fleet) -> None:
    fleet.write(3)
    fleet.forward()
    fleet.write(2)
    fleet.forward()
    fleet.forward()
    today = fleet.there()[0][1][:10]
    with database.open_connection(fleet.address("lead")) as lead:
        assert database.count_by_level(lead, today) == {today: {"SAFE": 5}}
        assert database.count_by_level(lead, "9999-01-01") == {}
    with database.open_connection(fleet.address("stranger")) as stranger:
        assert database.count_by_level(stranger, today) == {}


def test_an_export_can_be_checked_without_the_database(fleet: Fleet) -> None:
    fleet.write(3)
    fleet.forward()
    env = {"IAC_FLEET_DATABASE": fleet.address("lead")}
    lines = CliRunner().invoke(cli, ["export"], env=env).output.splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == len(fleet.local())
    before, seal = bytes(32), bytes(32)
    for row in rows:
        text = hashed_text(*(row[k] for k in ("seq", "time", "session", "call", "event", "body")))
        before = row_hash(before, text)
        seal = hashlib.sha256(seal + before + row["arrived"].encode()).digest()
        assert (row["hash"], row["seal"]) == (before.hex(), seal.hex())
    assert CliRunner().invoke(cli, ["export", "--host", "other"], env=env).output == ""


def test_a_siem_gets_a_call_and_what_came_of_it_as_one_event(fleet: Fleet) -> None:
    fleet.write(2)
    fleet.forward()
    env = {"IAC_FLEET_DATABASE": fleet.address("lead")}
    said = CliRunner().invoke(cli, ["export", "--format", "ocsf"], env=env).output
    events = [json.loads(line) for line in said.splitlines()]
    assert len(events) == 2
    for event in events:
        assert (event["class_uid"], event["category_uid"]) == (6003, 6)
        assert event["type_uid"] == 600300 + event["activity_id"]
        assert (event["status_id"], event["severity_id"]) == (1, 1)
        assert event["api"] == {"operation": "notes_count",
                                "service": {"name": "com.apple.Notes"}}  # fmt: skip
        assert event["src_endpoint"] == {"hostname": HOST}
        assert event["time"] > 1_700_000_000_000
    # A call that never ended is told all the same, and a body that no audit wrote stops nothing.
    row = {"host": "h", "store": "s", "session": "x", "call": 1, "seq": 1, "time": "?",
           "event": "intent", "body": "{", "hash": ""}  # fmt: skip
    [event] = export.to_ocsf(iter([row]))
    assert (event["status_id"], event["time"], event["activity_id"]) == (0, 0, 99)
