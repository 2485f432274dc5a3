"""What a person is shown of the objects of a call, and what is not looked at."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pinned_places import catalogue

from iac_base.secrets import is_secret
from iac_runtime.execution.executor import Executor
from iac_runtime.execution.process import Completed
from iac_runtime.gate import targets
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, PendingCall
from iac_runtime.gate.targets import describing_properties, read_shown_tables
from iac_runtime.language.reader import AppReader
from iac_runtime.policy.permissions import Requester, open_permissions
from iac_runtime.policy.policy_file import load_policy
from iac_runtime.policy.prompts import LINE_LIMIT
from iac_simulator import Simulator
from iac_simulator.simulator import demo_state

ASKED = Requester("Claude", ("client",))
NOTES = "accounts[0].folders[0].notes"


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Dates are shown as the user's clock shows them."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


def state() -> dict[str, Any]:
    found = demo_state()
    found["mail"]["outgoingMessages"] = [
        {
            "id": 7,
            "subject": 'Lunch", to recipients "nobody',
            "content": "At noon\n" + "by the river " * 30,
            "toRecipients": [{"name": str(n), "address": f"p{n}@example.org"} for n in range(7)],
        }
    ]
    return found


PATIENCE = 30.0
"""Seconds of a look here, where a loaded machine must not decide what is shown."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "SECONDS", PATIENCE)


def gate_of(world: dict[str, Any], slow: float = 0.0) -> Gate:
    known = catalogue()
    simulator = Simulator([known.load_tables(app) for app in known.apps.values()], world)

    def run(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        if timeout < slow:
            return Completed(b"", b"", -9, timed_out=True)
        return simulator(argv, stdin, timeout)

    return Gate(known, Executor(run), home="/Users/me", permissions=open_permissions())


def lines_of(tool: str, arguments: dict[str, Any], gate: Gate | None = None) -> list[str]:
    outcome = (gate or gate_of(state())).call(Call(tool, arguments, ASKED))
    assert isinstance(outcome, PendingCall), outcome
    return outcome.question.text.splitlines()


@pytest.mark.parametrize(("tool", "arguments", "expected"), [
    ("notes_delete", {"target": f"{NOTES}[0]"},
     ['Claude wants to delete the note "Shopping list" in Notes.',
      '  note "Shopping list", modification date 2026-02-25 18:00, in folder "Notes", account'
      ' "iCloud", plaintext "Shopping list Milk, eggs, bread"',
      "Reason: DANGEROUS calls always require approval.",
      "Cannot be undone: Notes shows no place for what is deleted.",
      f"DANGEROUS: notes_delete, {NOTES}[0]"]),
    ("notes_delete", {"target": NOTES},
     ["Claude wants to delete 2 notes in Notes.", '  2 notes, in folder "Notes", account "iCloud"',
      '  note "Shopping list", modification date 2026-02-25 18:00']),
    ("notes_move", {"target": f"{NOTES}[0]", "to": "accounts[0].folders[1]"},
     ['Claude wants to move the note "Shopping list" to the folder "Work" in Notes.',
      '  note "Shopping list", modification date 2026-02-25 18:00, in folder "Notes", account'
      ' "iCloud", plaintext "Shopping list Milk, eggs, bread"',
      '  folder "Work", in account "iCloud"',
      "Reason: MODIFY calls require approval (preset cautious).",
      "Undo: moves it back to Notes / Notes."]),
    ("mail_send", {"target": "outgoingMessages[0]"},
     ["Claude wants to send the outgoing message \"Lunch', to recipients 'nobody\""
      " in Mail.",
      "  outgoing message \"Lunch', to recipients 'nobody\", to"
      ' recipients "p0@example.org", "p1@example.org", "p2@example.org",'
      ' "p3@example.org", "p4@example.org" and 2 more, content "At noon by the river by'
      ' the river by the river by the river by the river by the…"',
      "Reason: DANGEROUS calls always require approval.",
      "Cannot be undone: what was sent cannot be called back. Known case (send a mail): The"
      " answer says that Mail took it; it may wait in the outbox for minutes."]),
    ("mail_delete", {"target": "inbox.messages[0]"},
     ['Claude wants to delete the message "Lunch on Thursday?" in Mail.',
      '  message "Lunch on Thursday?", sender "Ines Mora <ines@example.org>",'
      " date received 2026-03-01 17:42, in inbox"]),
    ("calendar_delete", {"target": 'calendars["Home"].events[0]'},
     ['Claude wants to delete the event "Dentist" in Calendar.',
      '  event "Dentist", start date 2026-03-03 08:00, end'
      ' date 2026-03-03 08:45, location "12 High Street", in calendar "Home"',
      "Reason: DANGEROUS calls always require approval.",
      "Cannot be undone: it is gone for good, and IAC keeps what it could read of it as"
      " a copy. Known case (change one day of a repeating event): Scripts know only the whole"
      " series, and the reference is its first day."]),
    ("finder_delete", {"target": "/Users/me/Desktop/Todo.txt"},
     ['Claude wants to delete the item "Todo.txt" in Finder.',
      '  item "Todo.txt", at "/Users/me/Desktop/Todo.txt", kind "Plain Text Document",'
      " size 412 bytes", "Reason: DANGEROUS calls always require approval.",
      "Undo: moves it back to Finder / Desktop, unless you empty the trash.",
      'DANGEROUS: finder_delete, desktop.items["Todo.txt"]']),
    ("reminders_delete", {"target": "lists[0].reminders[0]"},
     ['Claude wants to delete the reminder "Call the roofer" in Reminders.',
      '  reminder "Call the roofer", due date 2026-03-04 09:00, completed no, in list'
      ' "Reminders"']),
    ("safari_close", {"target": "windows[0].tabs[0]"},
     ['Claude wants to close the tab "Example Domain" in Safari.',
      '  tab "Example Domain", URL "https://example.com/", in window "Example Domain"',
      "Reason: MODIFY calls require approval (preset cautious).",
      "Cannot be undone: IAC cannot open it again as it was, and unsaved changes may be lost."]),
    ("calendar_set", {"target": 'calendars["Home"]', "properties": {"name": "House"}},
     ['Claude wants to rename the calendar "Home" in Calendar.',
      'It sets name to "House" (was "Home").',
      "Reason: MODIFY calls require approval (preset cautious).",
      "Undo: restores name to \"Home\"."]),
], ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
def test_a_question_says_what_to_what_in_which_app_why_and_how_it_is_undone(
    tool: str, arguments: dict[str, Any], expected: list[str]
) -> None:
    lines = lines_of(tool, arguments)
    assert lines[: len(expected)] == expected
    assert len(lines) <= LINE_LIMIT


def test_of_many_objects_the_first_are_described_and_a_file_has_all() -> None:
    world = state()
    message = world["mail"]["inbox"]["messages"][0]
    world["mail"]["inbox"]["messages"] = [{**message, "id": n} for n in range(25)]
    targets = [f"inbox.messages[{n}]" for n in range(25)]
    lines = lines_of("mail_move", {"target": targets, "to": "inbox"}, gate_of(world))
    assert len(lines) <= LINE_LIMIT
    whole = Path(lines[-1].partition(". All of it: ")[2])
    assert "  6 more: not described here" in whole.read_text()
    assert lines[0].endswith('move the message "Lunch on Thursday?" and 24 more in Mail.')
    assert whole.read_text().count('  message "Lunch on Thursday?"') == 20
    assert whole.stat().st_mode & 0o077 == 0


def test_an_app_that_does_not_run_is_not_started_to_be_looked_at() -> None:
    world = state()
    world["notes"]["@running"] = False
    lines = lines_of("notes_delete", {"target": f"{NOTES}[0]"}, gate_of(world))
    assert lines[1] == f"  {NOTES}[0]: could not be read, because the app is not running"


def test_an_app_that_is_slow_is_not_waited_for() -> None:
    gate = gate_of(state(), slow=PATIENCE + 0.01)
    lines = lines_of("notes_delete", {"target": f"{NOTES}[0]"}, gate)
    assert lines[1] == f"  {NOTES}[0]: could not be looked at"


def test_what_a_read_would_be_asked_about_is_not_looked_at(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[[ask]]\napp = "Notes"\n')
    gate = gate_of(state())
    gate.permissions.policy = load_policy(policy)
    lines = lines_of("notes_delete", {"target": f"{NOTES}[0]"}, gate)
    assert lines[1].endswith("was not read, because reading it needs an approval of its own")


def test_every_class_of_every_app_is_described_without_its_secrets() -> None:
    for row in catalogue().apps.values():
        tables = catalogue().load_tables(row)
        for term in tables.classes:
            for way in describing_properties(term, tables):
                assert not is_secret(way), (row.key, term, way)
                if "." not in way:
                    assert tables.find_property(term, way) is not None, (row.key, term, way)


def test_every_row_of_the_table_is_of_an_app_and_a_class_that_there_are() -> None:
    apps = {row.key: row for row in catalogue().apps.values()}
    for key, rows in read_shown_tables()["shown"].items():
        tables = catalogue().load_tables(apps[key])
        for term, ways in rows.items():
            assert term in tables.classes, (key, term)
            plural = tables.classes[term].plural
            for way in ways:
                AppReader(tables, strict=False).read_reference(
                    f"{plural}[0].{way.replace(' ', '')}"
                )
