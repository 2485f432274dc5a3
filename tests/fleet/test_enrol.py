"""A Mac comes into a fleet by one file, once, and is sent away."""

import base64
import json
import os
import plistlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fleet_record import Fleet
from test_versions import DENIES

from iac_base.errors import SetupError
from iac_base.files import ensure_private_folder
from iac_fleet import database, enrol, verify, versions
from iac_fleet.cli import cli
from iac_fleet.forward import forward_once
from iac_fleet.joining import join_fleet
from iac_fleet.versions import FleetSettings, TeamFiles, read_settings
from iac_runtime.audit.writer import Audit, AuditIntent, AuditOutcome
from iac_runtime.policy.permissions import TEAM

Run = Callable[..., str]


@pytest.fixture
def run(fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command of the database's owner, or of a Mac whose data folder is named."""

    def call(*words: str, mac: str = "", fails: bool = False) -> str:
        monkeypatch.setenv("IAC_DATA", str(tmp_path / (mac or "owner")))
        monkeypatch.setenv("IAC_FLEET_DATABASE", fleet.address("owner"))
        command = join_fleet if words[0] == "join" else cli
        done = CliRunner().invoke(command, words[1:] if words[0] == "join" else words)
        assert bool(done.exception) is fails, done.exception
        return str(done.exception) if fails else done.output

    return call


@pytest.fixture
def key(tmp_path: Path) -> Path:
    versions.make_key(tmp_path / "team.pem")
    return tmp_path / "team.pem"


def write_call(state: Path) -> None:
    ensure_private_folder(state)
    audit = Audit.open(state)
    audit.record_outcome(audit.record_intent(AuditIntent("notes_count", "SAFE")),
                         AuditOutcome("done", 0.002))  # fmt: skip
    audit.close()


def test_fifty_macs_are_enrolled_by_a_script_and_send(
    fleet: Fleet, run: Run, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with database.open_connection(fleet.address("lead")) as lead:
        versions.publish_version(lead, versions.read_key(key), TeamFiles(DENIES), 100)
    names = [f"Mac {number:02}.example" for number in range(50)]
    for name in names:
        run("enrol", "red", name, str(tmp_path / f"{name}.json"), "--key", str(key))
    for name in names:
        said = run("join", str(tmp_path / f"{name}.json"), mac=name)
        assert f"{name} has joined" in said
        assert "version 1 of the team's policy" in said
        settings, state = read_settings(), tmp_path / name / "state"
        assert settings.host == name
        assert any(path.read_text() == DENIES for path in (tmp_path / name).rglob(TEAM))
        write_call(state)
        with database.open_connection(settings.database) as mac:
            assert forward_once(settings, state, mac).waiting == 0
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="another Mac"):
                database.report_host(mac, names[names.index(name) - 1], {})
    with database.open_connection(fleet.address("lead")) as lead:
        hosts = database.list_hosts(lead)
        assert [row["host"] for row in hosts] == names
        assert all(row["rows"] >= 2 for row in hosts)
        found = verify.check_chains(lead, 24.0)
        assert found.alarms == []
        assert len(found.marks) == 50


def test_a_file_opens_nothing_after_it_was_used(
    fleet: Fleet, run: Run, key: Path, tmp_path: Path
) -> None:
    file = tmp_path / "studio.json"
    run("enrol", "red", "studio", str(file), "--key", str(key))
    assert file.stat().st_mode & 0o77 == 0
    run("join", str(file), mac="studio")
    assert read_settings().database != enrol.read_enrolment(file.read_text()).settings.database
    assert "password authentication failed" in run("join", str(file), mac="thief", fails=True)
    # A new file for the same Mac is as good as the first, and ends the one before.
    again = tmp_path / "again.json"
    run("enrol", "red", "studio", str(again), "--key", str(key))
    run("join", str(again), mac="studio")


def test_a_file_that_the_database_knows_no_more_is_refused(
    fleet: Fleet, run: Run, key: Path, tmp_path: Path
) -> None:
    file = tmp_path / "studio.json"
    run("enrol", "red", "studio", str(file), "--key", str(key))
    with database.open_connection(fleet.address("owner")) as owner:
        owner.execute("UPDATE enrolments SET used = now()")
    assert "this enrolment was used" in run("join", str(file), mac="studio", fails=True)
    with pytest.raises(SetupError, match="has not joined"):
        read_settings()


@pytest.mark.parametrize("part", ["enrolment", "key", "signature"])
def test_a_changed_file_or_one_of_another_team_changes_nothing(
    fleet: Fleet, run: Run, key: Path, tmp_path: Path, part: str
) -> None:
    file = tmp_path / "studio.json"
    run("enrol", "red", "studio", str(file), "--key", str(key))
    other = versions.make_key(tmp_path / "other.pem")
    assert "trusts" in run("join", str(file), "--key", other, mac="studio", fails=True)
    told = json.loads(file.read_text())
    told[part] = {"enrolment": told["enrolment"].replace("studio", "victim"), "key": other,
                  "signature": told["signature"][:-8] + "AAAAAA=="}[part]  # fmt: skip
    file.write_text(json.dumps(told))
    assert "changed after it was signed" in run("join", str(file), mac="studio", fails=True)
    with pytest.raises(SetupError, match="has not joined"):
        read_settings()


@pytest.mark.parametrize("database", ["garbage", "host=127.0.0.1", 5, "host=x\0 user=y"])
def test_a_file_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: object
) -> None:
    monkeypatch.setenv("IAC_DATA", str(tmp_path / "data"))
    team = Ed25519PrivateKey.generate()
    public = versions.public_key(team)
    settings = FleetSettings("", "studio", key=public)._asdict() | {"database": database}
    content = json.dumps(["id", "2099-01-01T00:00:00+00:00", settings, False])
    signature = base64.b64encode(team.sign(enrol._signed_text(content))).decode()
    whole = json.dumps({"enrolment": content, "key": public, "signature": signature})
    for text in (whole, "", "[]", "[" * 100_000):
        (tmp_path / "no.json").write_text(text)
        done = CliRunner().invoke(join_fleet, [str(tmp_path / "no.json")])
        assert isinstance(done.exception, SetupError), done.exception
        assert "This is not an enrolment file." in str(done.exception)


@pytest.mark.parametrize("host", ["", "  ", "a\nb", "st\u202eudio"])
def test_a_mac_has_a_name_that_can_be_read(run: Run, key: Path, tmp_path: Path, host: str) -> None:
    file = str(tmp_path / "x.enrolment")
    told = run("enrol", "red", host, file, "--key", str(key), fails=True)
    assert "Give the Mac a name of visible characters" in told
    assert not Path(file).exists()


@pytest.mark.parametrize("days", ["nan", "inf", "1e9", "1e300"])
def test_a_file_is_for_a_time_that_there_is(run: Run, key: Path, tmp_path: Path, days: str) -> None:
    file = str(tmp_path / "studio.json")
    words = ("enrol", "red", "studio", file, "--key", str(key), "--days", days)
    assert "A file cannot be used for" in run(*words, fails=True)
    assert not Path(file).exists()


def test_an_old_file_is_refused(fleet: Fleet, run: Run, key: Path, tmp_path: Path) -> None:
    settings = FleetSettings(fleet.address("mac"), "studio")
    with database.open_connection(fleet.address("owner")) as owner:
        text = enrol.enrol_mac(
            owner, versions.read_key(key), "red", settings, days=-1, service=False
        )
    (tmp_path / "old.json").write_text(text)
    assert "was good until" in run("join", str(tmp_path / "old.json"), mac="studio", fails=True)


def test_a_mac_that_was_revoked_sends_nothing_more(
    fleet: Fleet, run: Run, key: Path, tmp_path: Path
) -> None:
    file = tmp_path / "studio.json"
    run("enrol", "red", "studio", str(file), "--key", str(key))
    run("join", str(file), mac="studio")
    settings, state = read_settings(), tmp_path / "studio" / "state"
    write_call(state)
    with database.open_connection(settings.database) as mac:
        forward_once(settings, state, mac)
        assert "can send nothing more" in run("revoke", "red", "studio")
        write_call(state)
        # Its connection is open still.
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            forward_once(settings, state, mac)
    with pytest.raises(SetupError), database.open_connection(settings.database):
        pass
    assert "revoked" in run("hosts", "--database", fleet.address("lead"))
    with database.open_connection(fleet.address("owner")) as owner:
        owner.execute("UPDATE hosts SET seen = '2026-03-01 09:30+00'")
    assert fleet.alarms(silent=1.0) == []
    assert "no role of its own" in run("revoke", "red", "studio", fails=True)


def test_a_profile_names_the_key_and_what_macos_need_not_ask(
    run: Run, key: Path, tmp_path: Path, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "iac.mobileconfig"
    run("profile", str(file), "--key", str(key), "--program", "/opt/iac/bin/python3",
        "--requirement", 'identifier "python3"', "--app", "com.apple.Notes")  # fmt: skip
    told = plistlib.loads(file.read_bytes())
    parts = {part["PayloadType"]: part for part in told["PayloadContent"]}
    public = versions.public_key(versions.read_key(key))
    assert parts["iac-for-mac"]["TeamKey"] == public
    [rule] = parts["com.apple.servicemanagement"]["Rules"]
    assert "iac-for-mac.fleet".startswith(rule["RuleValue"])
    [event] = parts["com.apple.TCC.configuration-profile-policy"]["Services"]["AppleEvents"]
    assert event["AEReceiverIdentifier"] == "com.apple.Notes"
    ids = [part["PayloadUUID"] for part in (told, *told["PayloadContent"])]
    assert len({*ids}) == len(ids)
    before = file.read_bytes()
    run("profile", str(file), "--key", str(key))
    assert plistlib.loads(file.read_bytes())["PayloadUUID"] == told["PayloadUUID"]
    assert before != file.read_bytes()
    # A Mac that has it takes no file of another team.
    managed = tmp_path / "managed.plist"
    managed.write_bytes(plistlib.dumps({"TeamKey": "other"}))
    monkeypatch.setattr(enrol, "managed_keys", lambda: enrol_keys(managed))
    run("enrol", "red", "studio", str(tmp_path / "studio.json"), "--key", str(key))
    assert "trusts other" in run("join", str(tmp_path / "studio.json"), mac="studio", fails=True)


enrol_keys = enrol.managed_keys


def test_the_service_sends_in_the_background(run: Run) -> None:
    said = plistlib.loads(run("service", "install", "--print").encode())
    assert said["Label"] == "iac-for-mac.fleet"
    assert said["ProgramArguments"][-3:] == ["-m", "iac_fleet", "forward"]
    assert said["KeepAlive"] is True
    if sys.platform != "darwin":
        assert "iac-fleet forward" in run("service", "status", fails=True)


def test_join_is_a_command_of_iac_mcp(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "iac_mcp", "join", str(tmp_path / "none")]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ})
    assert "cannot be read" in done.stderr
