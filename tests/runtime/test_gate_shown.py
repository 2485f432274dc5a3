"""What a person is shown of the objects of a call; the yes is to these things and to that much."""

import copy
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pinned_places import CHANGES, PLACES, Change, Desk, Place, calls, happen, named
from simulated import shipped_catalogue, simulate_apps

from iac_base.errors import ToolError
from iac_base.secrets import is_secret
from iac_runtime.execution.executor import Executor
from iac_runtime.execution.process import Completed
from iac_runtime.gate import targets
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CallAnswer, CompletedCall, PendingCall
from iac_runtime.gate.targets import describing_properties, read_shown_tables
from iac_runtime.language.reader import AppReader
from iac_runtime.policy.permissions import Requester, open_permissions
from iac_runtime.policy.policy_file import load_policy
from iac_runtime.policy.prompts import LINE_LIMIT
from iac_simulator.simulator import demo_state

ASKED = Requester("Claude", ("client",))
NOTES = "accounts[0].folders[0].notes"


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


@pytest.fixture(scope="module", autouse=True)
def patient() -> Iterator[None]:
    """Looks have time, and dates are shown as the user's clock shows them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(targets, "SECONDS", PATIENCE)
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


def gate_of(world: dict[str, Any], slow: float = 0.0) -> Gate:
    known = shipped_catalogue()
    simulator = simulate_apps(known, world)

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
    for row in shipped_catalogue().apps.values():
        tables = shipped_catalogue().load_tables(row)
        for term in tables.classes:
            for way in describing_properties(term, tables):
                assert not is_secret(way), (row.key, term, way)
                if "." not in way:
                    assert tables.find_property(term, way) is not None, (row.key, term, way)


def test_every_row_of_the_table_is_of_an_app_and_a_class_that_there_are() -> None:
    apps = {row.key: row for row in shipped_catalogue().apps.values()}
    for key, rows in read_shown_tables()["shown"].items():
        tables = shipped_catalogue().load_tables(apps[key])
        for term, ways in rows.items():
            assert term in tables.classes, (key, term)
            plural = tables.classes[term].plural
            for way in ways:
                AppReader(tables, strict=False).read_reference(
                    f"{plural}[0].{way.replace(' ', '')}"
                )


OWN = Requester("the test", preapproved_level="DANGEROUS")


def opened(slow: str = "") -> Gate:
    """Return a gate on the shipped world; a request that holds `slow` takes too long to look."""
    known = shipped_catalogue()
    simulator = simulate_apps(known, demo_state())

    def run(argv: Any, stdin: bytes, timeout: float) -> Completed:
        if slow and slow.encode() in stdin and timeout <= PATIENCE:
            return Completed(b"", b"", -9, timed_out=True)
        return simulator(argv, stdin, timeout)

    return Gate(known, Executor(run), home="/Users/me", permissions=open_permissions())


def asked_about(gate: Gate, tool: str, arguments: Mapping[str, Any]) -> PendingCall:
    outcome = gate.call(Call(tool, arguments, ASKED))
    assert isinstance(outcome, PendingCall), outcome
    return outcome


CONTAINERS: list[tuple[str, dict[str, Any], str]] = [
    ("calendar_delete", {"target": 'calendars["Home"]'}, 'calendar "Home", 2 events'),
    ("calendar_delete", {"target": 'calendars["Work"]'}, "2 events, 1 with guests"),
    ("calendar_delete", {"target": "calendars"}, "2 calendars, 4 events"),
    ("mail_delete", {"target": "accounts[0]"}, 'account "Example", 2 mailboxes, 1 message'),
    ("reminders_delete", {"target": "lists[0]"}, 'list "Reminders", 3 reminders'),
    ("notes_delete", {"target": "accounts[0].folders[0]"}, 'folder "Notes", 2 notes'),
    ("notes_delete", {"target": "accounts[0]"}, 'account "iCloud", 2 folders, 3 notes'),
    ("finder_delete", {"target": "/Users/me/Documents"}, 'item "Documents", 2 items'),
    ("finder_delete", {"target": 'home.folders["Documents"]'}, 'folder "Documents", 2 items'),
    ("finder_move", {"target": "/Users/me/Documents", "to": "desktop"}, "2 items"),
    ("music_delete", {"target": "sources[0].userPlaylists[0]"}, 'playlist "Evening", 1 track'),
    ("numbers_delete", {"target": "documents[0].sheets[0]"}, 'sheet "Sheet 1", 1 iWork item'),
    ("shortcuts_delete", {"target": "folders[0]"}, 'folder "Home", 2 shortcuts'),
]


@pytest.mark.parametrize(("tool", "arguments", "says"), CONTAINERS)
def test_what_is_inside_of_a_container_that_goes_is_counted(
    tool: str, arguments: dict[str, Any], says: str
) -> None:
    assert says in asked_about(opened(), tool, arguments).question.text


def test_the_trash_is_emptied_of_a_number_of_things() -> None:
    gate = opened()
    for name in ("Todo.txt", "Report.pdf"):
        gate.call(Call("finder_delete", {"target": f"/Users/me/Desktop/{name}"}, OWN))
    assert '  trash "Trash", 2 items' in asked_about(gate, "finder_empty", {}).question.text


NEW_EVENT = {"calendar": 'calendars["Home"]', "summary": "Dinner", "start": "2026-03-05T19:00:00"}


@pytest.mark.parametrize("resumed", [True, False])
@pytest.mark.parametrize(("asks", "grows", "now"), [
    (("calendar_delete", {"target": 'calendars["Home"]'}),
     ("calendar_make_event", {**NEW_EVENT, "end": "2026-03-05T20:00:00"}), "3 events"),
    (("notes_delete", {"target": 'accounts[0].folders["Work"]'}),
     ("notes_make_note", {"name": "New", "folder": 'accounts[0].folders["Work"]'}), "2 notes"),
    (("reminders_delete", {"target": "lists[0]"}),
     ("reminders_make_reminder", {"name": "New"}), "4 reminders"),
    (("finder_delete", {"target": "/Users/me/Documents"}),
     ("finder_make_folder", {"at": "/Users/me/Documents", "name": "New"}), "3 items"),
    (("finder_empty", {}),
     ("finder_delete", {"target": "/Users/me/Desktop/Todo.txt"}), "1 item"),
])  # fmt: skip
def test_what_grew_since_the_question_is_asked_about_again(
    asks: tuple[str, dict[str, Any]], grows: tuple[str, dict[str, Any]], now: str, resumed: bool
) -> None:
    gate = opened()
    asked = Call(*asks, ASKED)
    first = gate.call(asked)
    assert isinstance(first, PendingCall)
    gate.call(Call(*grows, OWN))
    if resumed:
        again = gate.answer(first, "once")
    else:
        again = gate.call(asked._replace(token=first.token, verdict="once"))
    assert isinstance(again, PendingCall), again
    assert "This has changed since the last prompt:" in again.question.text
    assert now in again.question.text


def test_what_cannot_be_counted_in_time_is_named_and_said_to_be_uncounted() -> None:
    text = asked_about(opened("attendees"), *CONTAINERS[0][:2]).question.text
    assert '  calendar "Home", what is inside could not be counted' in text


def test_where_something_goes_to_is_not_counted() -> None:
    move = {"target": "inbox.messages[0]", "to": "accounts[0].mailboxes[0]"}
    assert "1 message" not in asked_about(opened(), "mail_move", move).question.text


@pytest.mark.parametrize(("tool", "arguments", "missing", "lists"), [
    ("notes_delete", {"target": "accounts[0].folders[0].notes[9]"},
     "accounts[0].folders[0].notes[9]", "notes_list"),
    ("notes_move", {"target": "accounts[0].folders[0].notes[0]", "to": 'folders["Nowhere"]'},
     'folders["Nowhere"]', "notes_list"),
    ("finder_delete", {"target": "/Users/me/Desktop/Nothing.txt"}, "Nothing.txt", "finder_list"),
    ("reminders_complete", {"reminder": 'reminders.byId("x")'}, "reminders", "reminders_list"),
])  # fmt: skip
def test_nobody_is_asked_about_what_is_not_there(
    tool: str, arguments: dict[str, Any], missing: str, lists: str
) -> None:
    with pytest.raises(ToolError) as raised:
        opened().call(Call(tool, arguments, ASKED))
    assert raised.value.type == "NOT_FOUND"
    assert missing in raised.value.message
    assert raised.value.next is not None
    assert raised.value.next.tool == lists


def test_of_several_calls_the_first_must_be_there_and_a_later_one_may_come_to_be() -> None:
    gone, there = "accounts[0].folders[0].notes[9]", "accounts[0].folders[0].notes[0]"
    with pytest.raises(ToolError) as raised:
        opened().call(Call("notes_delete", {}, ASKED, calls=({"target": gone}, {"target": there})))
    assert raised.value.type == "NOT_FOUND"
    assert raised.value.message.startswith("Call 1 of 2: ")
    later = Call("notes_delete", {}, ASKED, calls=({"target": there}, {"target": gone}))
    assert isinstance(opened().call(later), PendingCall)


@pytest.mark.parametrize("resumed", [True, False])
def test_what_is_replaced_is_shown_with_what_is_inside(resumed: bool) -> None:
    gate = opened()
    gate.call(Call("finder_make_folder", {"at": "/Users/me/Desktop", "name": "Documents"}, OWN))
    gate.call(Call("finder_duplicate", {"target": "/Users/me/Desktop/Todo.txt",
                                        "to": "/Users/me/Desktop/Documents"}, OWN))  # fmt: skip
    move = {"target": "/Users/me/Desktop/Documents", "to": "/Users/me", "replacing": True}
    asked = Call("finder_move", move, ASKED)
    first = gate.call(asked)
    assert isinstance(first, PendingCall)
    assert '  replaces item "Documents", 2 items, at "/Users/me/Documents/"' in first.question.text
    gate.call(Call("finder_make_folder", {"at": "/Users/me/Documents", "name": "New"}, OWN))
    if resumed:
        again = gate.answer(first, "once")
    else:
        again = gate.call(asked._replace(token=first.token, verdict="once"))
    assert isinstance(again, PendingCall)
    assert '  replaces item "Documents", 3 items' in again.question.text
    elsewhere = {**move, "target": "/Users/me/Desktop/Report.pdf"}
    assert "replaces item" not in asked_about(gate, "finder_move", elsewhere).question.text


NOTE_PLACE, DRAFTS = PLACES[:2]


def answer(desk: Desk, asked: Call, pending: PendingCall, *, resumed: bool) -> CallAnswer:
    """Say yes, where the call waits in this process or where it comes again with its token."""
    if resumed:
        return desk.gate.answer(pending, "once")
    return desk.gate.call(asked._replace(token=pending.token, verdict="once"))


@given(calls(), st.lists(CHANGES, max_size=3), st.lists(CHANGES, max_size=2), st.booleans())
@example((NOTE_PLACE, f"{NOTE_PLACE.target}[0]"), [("delete", 0)], [], True)
@example((NOTE_PLACE, f"{NOTE_PLACE.target}[0]"), [("delete", 0)], [], False)
@example((DRAFTS, f"{DRAFTS.target}[0]"), [("rewrite", 0)], [], True)
@example((DRAFTS, f"{DRAFTS.target}[0]"), [("rewrite", 0)], [], False)
@example((DRAFTS, f"{DRAFTS.target}[0]"), [], [("rewrite", 0)], True)
@example((DRAFTS, f"{DRAFTS.target}[0]"), [], [("rewrite", 0)], False)
def test_nothing_is_acted_on_but_what_a_person_was_shown(
    call: tuple[Place, str], thinking: list[Change], meanwhile: list[Change], resumed: bool
) -> None:
    place, reference = call
    desk = Desk(place, [place.new(n) for n in range(3)], list(meanwhile))
    asked = Call(place.tool, {"target": reference}, ASKED)
    outcome = desk.gate.call(asked)
    rounds = 0
    while isinstance(outcome, PendingCall):
        rounds += 1
        assert rounds <= 3, "nothing changes any more, and it is asked about again"
        shown = named(place, reference, desk.items)
        # Of several, as many are described as eight lines hold.
        assert all(one[1] in outcome.question.text for one in shown[:2])
        assert (rounds > 1) == ("This has changed since the last prompt:" in outcome.question.text)
        for change in thinking:
            happen(place, desk.items, change)
        thinking = []
        try:
            outcome = answer(desk, asked, outcome, resumed=resumed)
        except ToolError as error:
            # There is no such object any more, and nothing was done to another.
            assert error.type == "NOT_FOUND", error
            assert named(place, reference, desk.items) == []
            assert desk.acted == 0 or shown == []
            return
        if isinstance(outcome, PendingCall):
            assert desk.acted == 0
    assert isinstance(outcome, CompletedCall)
    assert shown == named(place, reference, desk.before)


@given(calls(), st.booleans())
def test_where_nothing_changes_one_yes_is_enough(call: tuple[Place, str], resumed: bool) -> None:
    place, reference = call
    desk = Desk(place, [place.new(n) for n in range(3)], [])
    asked = Call(place.tool, {"target": reference}, ASKED)
    outcome = desk.gate.call(asked)
    assert isinstance(outcome, PendingCall)
    before = copy.deepcopy(desk.items)
    assert isinstance(answer(desk, asked, outcome, resumed=resumed), CompletedCall)
    gone = [one for one in before if one not in desk.items]
    if place != DRAFTS:
        assert len(gone) == len(named(place, reference, before))


@pytest.mark.parametrize("resumed", [True, False])
def test_of_a_long_list_of_references_the_last_is_held_too(resumed: bool) -> None:
    desk = Desk(NOTE_PLACE, [NOTE_PLACE.new(n) for n in range(31)], [])
    targets = [f"{NOTE_PLACE.target}[{n}]" for n in range(30)]
    asked = Call(NOTE_PLACE.tool, {"target": targets}, ASKED)
    first = desk.gate.call(asked)
    assert isinstance(first, PendingCall)
    desk.items[29], desk.items[30] = desk.items[30], desk.items[29]
    anew = answer(desk, asked, first, resumed=resumed)
    assert isinstance(anew, PendingCall)
    assert "More has changed than is shown here." in anew.question.text
    assert desk.acted == 0
