"""Questions of a Mac where nobody sits: who may answer them, and what an answer holds for."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fleet_record import HOST, Fleet

from iac_base.errors import SetupError
from iac_fleet import approving, database, versions
from iac_fleet.settings import FleetSettings
from iac_runtime.audit.reading import AuditQuery, find_calls
from iac_runtime.policy.prompts import ALWAYS, DENY, ONCE, Question, ask_page, close_page

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
            approving.sync_questions(mac, self.settings, self.state, self.refused)

    def ask(self) -> approving.FleetQuestion:
        """Ask, and return the question as an approver sees it."""
        self.pass_on()
        self.asking.start()
        for _ in range(100):
            self.pass_on()
            with database.open_connection(self.fleet.address("lead")) as lead:
                if rows := approving.waiting_questions(lead):
                    return rows[0]
            time.sleep(0.05)
        raise AssertionError("no question came")

    def give(self, key: Path, seen: approving.FleetQuestion, said: str) -> None:
        with database.open_connection(self.fleet.address("lead")) as lead:
            approving.submit_answer(lead, versions.read_key(key), seen, said)
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
        assert approving.waiting_questions(lead) == []


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
