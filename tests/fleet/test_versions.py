"""A team's policy: signed, staged, rolled back, and never looser than a Mac's own."""

import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import pytest
from fleet_record import HOST, Fleet

from iac_base.errors import SetupError
from iac_base.files import TEAM_BUILD, ensure_private_folder
from iac_fleet import database, forward, versions
from iac_fleet.forward import forward_once
from iac_fleet.versions import FleetSettings, TeamFiles
from iac_runtime.audit.reading import AuditQuery, find_calls
from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall, RefusedCall
from iac_runtime.policy.permissions import TEAM, Requester
from iac_runtime.policy.prompts import ALWAYS, DENY, ONCE, Question, ask_page, close_page

NOTE = {"name": "a", "body": "b", "folder": "folders[0]"}
DENIES = '[[deny]]\napp = "com.apple.Notes"\nlevel = "MODIFY"\n'


class Team:
    """A fleet with a key, and a Mac that has its public half."""

    def __init__(self, fleet: Fleet, folder: Path) -> None:
        self.fleet, self.file = fleet, folder / "team.pem"
        self.public = versions.make_key(self.file)
        self.key = versions.read_key(self.file)
        self.fleet.state.mkdir(mode=0o700, parents=True, exist_ok=True)

    def publish(self, files: str | TeamFiles, share: int = 100, **other: Any) -> int:
        files = TeamFiles(files) if isinstance(files, str) else files
        with database.open_connection(self.fleet.address("lead")) as lead:
            return versions.publish_version(lead, other.get("key", self.key), files, share)

    def take(self, host: str = HOST) -> str:
        settings = FleetSettings(self.fleet.address("mac"), host, 1_000, self.public)
        with database.open_connection(settings.database) as mac:
            return versions.adopt_version(mac, settings, self.fleet.state)

    @property
    def policy(self) -> str:
        path = self.fleet.state / TEAM
        return path.read_text() if path.exists() else ""


@pytest.fixture
def team(fleet: Fleet, tmp_path: Path) -> Team:
    return Team(fleet, tmp_path)


def test_a_version_is_taken_over_once_and_rolled_back(team: Team) -> None:
    team.publish("preset = 'private'\n")
    assert team.take().startswith("This Mac has version 1 of the team's policy.")
    assert team.take() == ""
    team.publish("preset = 'read-only'\n")
    team.take()
    assert team.policy == "preset = 'read-only'\n"
    with database.open_connection(team.fleet.address("lead")) as lead:
        team.publish(versions.read_version(lead, 1))
    assert team.take().startswith("This Mac has version 3")
    assert team.policy == "preset = 'private'\n"


def test_a_mac_without_a_call_sends_nothing_and_takes_the_version(team: Team) -> None:
    settings = FleetSettings(team.fleet.address("mac"), HOST, 1_000, team.public)
    with database.open_connection(settings.database) as mac:
        assert forward_once(settings, team.fleet.state, mac) == (0, 0, 0)
    team.publish("preset = 'private'\n")
    assert team.take().startswith("This Mac has version 1")


def test_a_version_is_staged_to_a_share_of_the_macs(team: Team) -> None:
    team.publish("preset = 'private'\n", share=0)
    assert team.take() == ""
    team.publish("preset = 'private'\n", share=30)
    early = [host for host in map(str, range(200)) if Team.take(team, host)]
    # Each take notes the version for this one state folder, so the first Mac of the share is seen.
    assert len(early) == 1
    with database.open_connection(team.fleet.address("mac")) as mac:
        staged = [
            host
            for host in map(str, range(400))
            if mac.execute("SELECT number FROM newest(%s)", (host,)).fetchone()
        ]
    assert 80 < len(staged) < 160


def test_what_is_not_signed_by_the_team_is_refused_and_recorded(team: Team, tmp_path: Path) -> None:
    team.publish("preset = 'private'\n")
    team.take()
    versions.make_key(tmp_path / "other.pem")
    team.publish("preset = 'trusted'\n", key=versions.read_key(tmp_path / "other.pem"))
    assert "policy: it is not signed with the team's key" in team.take()
    assert team.take() == ""
    with database.open_connection(team.fleet.address("owner")) as owner:
        owner.execute("UPDATE versions SET body = 'preset = \"trusted\"' WHERE number = 1")
        owner.execute("DELETE FROM versions WHERE number = 2")
    # The number that it has is not looked at again; under a new one the signature does not fit.
    with database.open_connection(team.fleet.address("owner")) as owner:
        owner.execute("UPDATE versions SET number = 7")
    assert "not signed" in team.take()
    assert team.policy == "preset = 'private'\n"
    rows = find_calls(team.fleet.state, AuditQuery(tool="iac-fleet"), 10)
    assert [(row.decision, row.arguments["version"]) for row in rows] == [("deny", 2), ("deny", 7)]


def test_an_older_version_and_what_is_no_policy_are_refused(team: Team) -> None:
    team.publish("preset = 'cautious'\n")
    team.publish("preset = 'private'\n")
    team.take()
    with database.open_connection(team.fleet.address("owner")) as owner:
        owner.execute("DELETE FROM versions WHERE number = 2")
    assert "it is older than version 2" in team.take()
    with pytest.raises(SetupError, match="presett"):
        team.publish("presett = 'private'\n")
    assert team.policy == "preset = 'private'\n"


QUIRK = """
app = "com.apple.Notes"

[[command]]
name = "show"
level = "MODIFY"
why = "Our notes are shown to guests."

[[command]]
name = "delete"
level = "SAFE"
why = "Nobody here minds."
"""


def test_quirks_and_accepted_levels_reach_the_builds_of_a_mac(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    team.fleet.state = ensure_private_folder(data / "state")
    accepted = {"notes_show": ["SAFE"], "notes_close": ["SAFE", "MODIFY"]}
    team.publish(TeamFiles("preset = 'private'\n", {"notes.toml": QUIRK}, accepted))
    assert team.take().endswith("Build the tools again with: iac-gen build")
    monkeypatch.setenv("IAC_DATA", str(data))
    built = subprocess.run(
        [sys.executable, "-m", "iac_gen", "build", "notes", "--bundled"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (built.returncode, built.stderr) == (0, "")
    tools = json.loads((data / "tools" / "catalogue.json").read_text())["tools"]
    # A team's quirk raises a level and never lowers one.
    assert [tools[name]["level"] for name in ("notes_show", "notes_delete")] == [
        "MODIFY",
        "DANGEROUS",
    ]
    # The Mac tells where its levels are not those that the team accepted.
    assert versions.team_facts(team.fleet.state) == {
        "team": 1,
        "levels": [{"name": "notes_close", "accepted": "SAFE to MODIFY", "here": "MODIFY"},
         {"name": "notes_show", "accepted": "SAFE", "here": "MODIFY"}],
    }  # fmt: skip
    assert versions.own_levels()["notes.note.body"] == ["DANGEROUS"]
    # What the team takes back is gone.
    team.publish("preset = 'private'\n")
    assert team.take().endswith("iac-gen build")
    assert json.loads((team.fleet.state / TEAM_BUILD).read_text())["quirks"] == {}


def test_accepted_levels_are_levels_of_something(team: Team) -> None:
    for accepted in ({"mail_send": []}, {"mail_send": ["SAVE"]}, {"mail_send": [1]}):
        with pytest.raises(SetupError, match="accepted levels"):
            team.publish(TeamFiles("preset = 'private'\n", {}, accepted))


def test_what_is_no_quirk_file_is_not_published(team: Team) -> None:
    for name, text in (("../a.toml", ""), ("a.toml", "= 1"), ("a.txt", "")):
        with pytest.raises(SetupError, match=r"quirk file|TOML"):
            team.publish(TeamFiles("preset = 'private'\n", {name: text}))


def test_a_mac_publishes_nothing(team: Team) -> None:
    with (
        pytest.raises(SetupError, match="permission denied"),
        database.open_connection(team.fleet.address("mac")) as mac,
    ):
        mac.execute("SELECT publish(1, 100, '', '')")


@pytest.mark.parametrize(("own", "published", "ends"), [
    ("preset = 'trusted'\n", "", "done"), ("preset = 'trusted'\n", DENIES, "the team's policy, "),
    ("preset = 'trusted'\n", "preset = 'read-only'\n", "the team's policy, preset read-only"),
    ("preset = 'trusted'\n", "preset = 'cautious'\n", "asks"),
    ("preset = 'read-only'\n", "preset = 'trusted'\n", "preset read-only"),
    (DENIES, "preset = 'trusted'\n", "policy.toml line 1"),
])  # fmt: skip
def test_the_stricter_of_both_policies_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, published: str, ends: str
) -> None:
    monkeypatch.setenv("IAC_DATA", str(tmp_path))
    (tmp_path / "policy.toml").write_text(own)
    if published:
        state = tmp_path / "state"
        state.mkdir(mode=0o700)
        (state / TEAM).write_text(published)
        (state / TEAM).chmod(0o600)
    gate = build_gate(GateOptions(simulate=""))
    found = gate.call(Call("notes_make_note", NOTE, Requester("tester", ("client",))))
    gate.close()
    if isinstance(found, RefusedCall):
        assert found.source.startswith(ends) or ends in found.source
    else:
        assert {"done": CompletedCall, "asks": PendingCall}[ends] is type(found)


def test_a_key_is_never_overwritten_and_a_wrong_one_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "team.pem"
    versions.make_key(file)
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(SetupError, match="exists already"):
        versions.make_key(file)
    (tmp_path / "no.pem").write_text("no key")
    (tmp_path / "no.pem").chmod(0o600)
    with pytest.raises(SetupError, match="is not a private key"):
        versions.read_key(tmp_path / "no.pem")


# Questions of a Mac where nobody sits: who may answer them, and what an answer holds for.


QUESTION = Question(
    "Notes", "notes_delete", "DANGEROUS", "Claude wants to delete the note.", "line",
    (DENY, ONCE, ALWAYS),
)  # fmt: skip


class Unattended:
    """A Mac whose forwarder runs, and a question that waits on it."""

    def __init__(self, fleet: Fleet, state: Path, approvers: tuple[str, ...]) -> None:
        self.fleet, self.state = fleet, state
        self.settings = FleetSettings(fleet.address("mac"), HOST, 1_000, "", approvers)
        self.said: list[str] = []
        self.refused: set[bytes] = set()
        self.asking = threading.Thread(target=lambda: self.said.append(ask_page(QUESTION)))

    def pass_on(self) -> None:
        with database.open_connection(self.settings.database) as mac:
            forward.sync_questions(mac, self.settings, self.state, self.refused)

    def ask(self) -> forward.FleetQuestion:
        """Ask, and return the question as an approver sees it."""
        self.pass_on()
        self.asking.start()
        for _ in range(100):
            self.pass_on()
            with database.open_connection(self.fleet.address("lead")) as lead:
                if rows := forward.waiting_questions(lead):
                    return rows[0]
            time.sleep(0.05)
        raise AssertionError("no question came")

    def give(self, key: Path, seen: forward.FleetQuestion, said: str) -> None:
        with database.open_connection(self.fleet.address("lead")) as lead:
            forward.submit_answer(lead, versions.read_key(key), seen, said)
        self.pass_on()

    def recorded(self) -> list[tuple[str, list[str]]]:
        rows = find_calls(self.state, AuditQuery(tool="iac-fleet"), 10)
        return [(row.result, row.reasons) for row in rows]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    versions.make_key(tmp_path / "lead.pem")
    return tmp_path / "lead.pem"


@pytest.fixture
def mac(
    fleet: Fleet, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Unattended]:
    monkeypatch.setenv("IAC_DATA", str(tmp_path))
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    found = Unattended(fleet, state, (versions.public_key(versions.read_key(key)),))
    yield found
    close_page(state)
    if found.asking.ident:
        found.asking.join(10)


def test_an_approver_answers_for_a_mac_and_it_is_recorded(mac: Unattended, key: Path) -> None:
    seen = mac.ask()
    assert (seen.host, seen.text) == (HOST, "Claude wants to delete the note.\nline")
    assert seen.answers == (DENY, ONCE)
    with pytest.raises(SetupError, match="Give one of these answers"):
        mac.give(key, seen, ALWAYS)
    mac.give(key, seen, ONCE)
    mac.asking.join(10)
    assert mac.said == ["once"]
    assert mac.recorded() == [("done", ["an approver of the team answered"])]
    mac.pass_on()
    with database.open_connection(mac.fleet.address("lead")) as lead:
        assert forward.waiting_questions(lead) == []


def test_nobody_else_can_answer_and_no_other_question_is_answered(
    mac: Unattended, key: Path, tmp_path: Path
) -> None:
    seen = mac.ask()
    versions.make_key(tmp_path / "other.pem")
    mac.give(tmp_path / "other.pem", seen, ONCE)
    # Whoever owns the database shows the approver another text.
    mac.give(key, seen._replace(text="Claude wants to read the weather."), ONCE)
    refused = ("refused", ["no approver of this Mac signed it"])
    mac.pass_on()
    assert mac.recorded() == [refused, refused]
    assert mac.said == []
    with database.open_connection(mac.fleet.address("owner")) as owner:
        owner.execute("DELETE FROM answers")
    mac.give(key, seen, DENY)
    mac.asking.join(10)
    assert mac.said == ["decline"]


def test_a_mac_without_approvers_shows_nothing(mac: Unattended) -> None:
    mac.settings = mac.settings._replace(approvers=())
    mac.pass_on()
    assert not (mac.state / "page.json").exists()


# The page with the record of a team: what all Macs did, whatever one of them says.


HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def page(fleet: Fleet, key: Path, tmp_path: Path) -> Iterator[urllib.request.OpenerDirector]:
    """What gets addresses of the page, let in by its one-time address."""
    env = {**os.environ, "IAC_DATA": str(tmp_path / "own")}
    env["IAC_FLEET_DATABASE"] = fleet.address("lead")
    argv = [
        sys.executable, "-m", "iac_mcp", "open", "--no-browser", "--simulate", "--fleet", "--key",
        str(key),
    ]  # fmt: skip
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        found = re.search(r"http://\S+", child.stdout.readline())
        assert found is not None
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        opener.open(found[0]).close()
        opener.addheaders = [("x-base", found[0].partition("/enter")[0])]
        yield opener
        child.terminate()


def read(page: urllib.request.OpenerDirector, path: str) -> str:
    with page.open(f"{page.addheaders[0][1]}{path}") as answer:
        return str(answer.read().decode())


def test_the_page_shows_all_macs_and_searches_their_calls(
    fleet: Fleet, page: urllib.request.OpenerDirector
) -> None:
    fleet.write(3)
    fleet.forward()
    with database.open_connection(fleet.address("mac")) as mac:
        database.report_host(mac, HOSTILE, {"version": HOSTILE, "apps": [HOSTILE, {"tools": 5}]})
        mac.execute("SELECT tell('odd', '[1, 2]')")
    text = read(page, "/fleet")
    assert ">studio</a>" in text
    assert text.count("notes_count") == 3
    assert re.search(r">studio</a>.*?>Healthy</span>", text, re.DOTALL)
    today = datetime.now(UTC).date().isoformat()
    assert f"<title>{today} SAFE: 3</title>" in text
    assert HOSTILE not in text
    assert "&lt;script&gt;" in text
    assert "notes_count" not in read(page, "/fleet?app=com.apple.mail")
    assert "All logs are intact" in read(page, "/fleet?check=1")
    with database.open_connection(fleet.address("owner")) as owner:
        owner.execute("UPDATE rows SET body = '{}' WHERE seq = 3")
    assert "it was changed" in read(page, "/fleet?check=1")


def test_an_approver_answers_what_the_page_shows(
    fleet: Fleet, page: urllib.request.OpenerDirector, key: Path
) -> None:
    shown = json.dumps([{"id": "q1", "text": HOSTILE, "answers": ["Deny", "Allow once"]}])
    with database.open_connection(fleet.address("mac")) as mac:
        mac.execute("SELECT ask('studio', %s::json)", (shown,))
    text = read(page, "/fleet")
    assert HOSTILE not in text
    fields = dict(re.findall(r'"hidden" name="(form|host|question|seen)" value="([^"]*)"', text))
    assert (fields["host"], fields["question"]) == ("studio", "q1")

    def post(**other: str) -> int:
        data = urllib.parse.urlencode({**fields, "answer": "Allow once", **other}).encode()
        try:
            with page.open(f"{page.addheaders[0][1]}/fleet", data) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    assert post(form="x") == 403
    assert post(seen="x") == 409
    assert post(answer="Always allow") == 400
    assert post() == 200
    with database.open_connection(fleet.address("mac")) as mac:
        [row] = mac.execute("SELECT * FROM ask('studio', %s::json)", (shown,)).fetchall()
    public = versions.public_key(versions.read_key(key))
    asked = forward.FleetQuestion("studio", "q1", HOSTILE, ("Deny", "Allow once"))
    assert (row[3], row[4]) == ("Allow once", public)
    assert versions.is_signed(forward.signed_text(asked, "Allow once"), bytes(row[5]), public)
