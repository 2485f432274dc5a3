"""A container that goes is shown with what is inside, and the yes is to that much."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pinned_places import catalogue

from iac_base.errors import ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.execution.process import Completed
from iac_runtime.gate import targets
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, PendingCall
from iac_runtime.policy.permissions import Requester, open_permissions
from iac_simulator import Simulator
from iac_simulator.simulator import demo_state

ASKED = Requester("Claude", ("client",))
OWN = Requester("the test", preapproved_level="DANGEROUS")
PATIENCE = 30.0


@pytest.fixture(autouse=True)
def patient() -> Iterator[None]:
    """A loaded machine must not decide what is shown."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(targets, "SECONDS", PATIENCE)
        yield


def opened(slow: str = "") -> Gate:
    """Return a gate on the shipped world; a request that holds `slow` takes too long to look."""
    known = catalogue()
    simulator = Simulator([known.load_tables(app) for app in known.apps.values()], demo_state())

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
