"""Events that a list costs: full apps, simulated; what is counted is events sent, never time.

Every listing tool's own example, then filtered, ordered and limited, and the questions that people
ask most. Ends with 1 beyond a bound. `--all` prints each call, a word chooses some by name. With
`--hard` apps act as the field book says; then the seconds that they would take are printed too.
`--tokens` counts the text of answers instead, as clients get it and in full, four bytes a token.
"""

import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from bounds import exit_status, hold_at_most

from iac_base.errors import ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.handles import RowHandles
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.serve.call import done_result
from iac_runtime.tools.catalogue import Catalogue
from iac_simulator import Simulator
from iac_simulator.scenario import parse_profile
from iac_simulator.simulator import demo_state

TOOLS: Final = Path(__file__).parent.parent / "generated" / "iac_tools"
NOW: Final = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
DAY: Final = "2026-03-01"
EVENTS_OF_A_LIST: Final = 30
EVENTS_OF_A_QUESTION: Final = 10
MESSAGES, NOTES, REMINDERS, TRACKS, OCCASIONS, FILES, TABS = 10_000, 340, 2_000, 5_000, 600, 300, 12

FORMS: Final[tuple[tuple[str, str, str, str, str], ...]] = (
    ("mail", "message", "inbox", "subject", "date received"),
    ("notes", "note", "", "name", "modification date"),
    ("reminders", "reminder", "", "name", "due date"),
    ("music", "track", "", "artist", "duration"),
    ("calendar", "event", "calendars", "summary", "start date"),
    ("finder", "file", 'startupDisk.folders["Full"]', "name", "modification date"),
)
"""An app, what it holds much of, where, a text that is filtered by, and what is sorted by."""

QUESTIONS: Final[Mapping[str, Call]] = {
    "unread of today": Call("mail_list", {
        "element": "message", "of": "inbox", "properties": ["subject", "sender", "date received"],
        "where": {"read status": False, "date received": {">=": DAY}}, "order": ["-date received"],
    }),
    "newest ten from a person": Call("mail_list", {
        "element": "message", "of": "inbox", "properties": ["subject", "sender", "date received"],
        "where": {"sender": {"contains": "person7"}}, "order": ["-date received"], "limit": 10,
    }),
    "newest ten messages": Call("mail_recent_messages", {"limit": 10}),
    "messages with a word in the subject": Call("mail_find_by_subject", {"subject": "example"}),
    "messages of a person": Call("mail_find_by_sender", {"sender": "person7@"}),
    "messages of a day": Call("mail_messages_of_day", {"day": DAY}),
    "flagged messages": Call("mail_list_flagged", {}),
    "how many are unread": Call("mail_count", {
        "element": "message", "of": "inbox", "where": {"read status": False},
    }),
    "notes changed this week": Call("notes_recent_notes", {"since": "2026-02-23"}),
    "newest notes": Call("notes_newest_notes", {"limit": 10}),
    "notes with a word in the title": Call("notes_find_by_name", {"name": "example"}),
    "notes with a word in the text": Call("notes_find_notes", {"text": "example"}),
    "events of tomorrow": Call("calendar_events_of_day", {"day": "2026-03-03"}),
    "events with a word": Call("calendar_search_events", {"text": "example"}),
    "reminders due on a day": Call("reminders_due_on", {"day": "2026-03-03"}),
    "reminders overdue": Call("reminders_list_due", {"before": DAY}),
    "open reminders of a list": Call("reminders_list_open", {"list": "lists[0]"}),
    "tracks by an artist": Call("music_find_by_artist", {"artist": "person7"}),
    "newest files of a folder": Call("finder_newest_files", {
        "folder": 'startupDisk.folders["Full"]', "limit": 10,
    }),
    "open tabs with a word": Call("safari_find_in_all_tabs", {"text": "example"}),
    "all open tabs": Call("google_chrome_all_tabs", {}),
}  # fmt: skip
"""What people ask most -> the call that answers it."""


LONG: Final = {
    f"{app} by default": Call(f"{app}_list", {"element": element} | ({"of": of} if of else {}))
    for app, element, of, *_ in FORMS
} | {"162 reminders": Call("reminders_list", {"element": "reminder", "limit": 162})}


def full_state() -> dict[str, Any]:
    """Return the shipped world with apps as full as those of people."""
    state = demo_state()
    state["mail"]["inbox"]["messages"] = [
        {
            "id": 1000 + n, "subject": title(n), "sender": sender(n), "dateReceived": ago(n),
            "dateSent": ago(n), "readStatus": n % 40 != 0, "flaggedStatus": n % 500 == 0,
            "content": "text", "messageSize": n,
        }
        for n in range(MESSAGES)
    ]  # fmt: skip
    state["notes"]["accounts"][0]["folders"][0]["notes"] = [
        {"id": f"note/{n}", "name": title(n), "body": f"<div>{title(n)}</div>",
         "plaintext": title(n), "creationDate": ago(10 * n), "modificationDate": ago(10 * n)}
        for n in range(NOTES)
    ]  # fmt: skip
    state["reminders"]["accounts"][0]["lists"][0]["reminders"] = [
        {"id": f"r/{n}", "name": title(n), "completed": n % 4 != 0, "priority": 0,
         "flagged": n % 50 == 0, "dueDate": ago(2 * n - 200), "modificationDate": ago(n)}
        for n in range(REMINDERS)
    ]  # fmt: skip
    state["music"]["sources"][0]["libraryPlaylists"][0]["fileTracks"] = [
        {"@class": "file track", "id": 5000 + n, "databaseID": n, "persistentID": f"{n:016X}",
         "name": title(n), "artist": sender(n), "album": title(n // 10), "duration": n % 300}
        for n in range(TRACKS)
    ]  # fmt: skip
    state["calendar"]["calendars"] = [
        {"name": f"Calendar {c}", "id": f"C-{c}", "writable": True, "events": [
            {"uid": f"E-{c}-{n}", "summary": title(n), "startDate": ago(12 * n - 1000 + c),
             "endDate": ago(12 * n - 1001 + c), "location": "", "alldayEvent": False}
            for n in range(OCCASIONS // 3)
        ]}
        for c in range(3)
    ]  # fmt: skip
    state["finder"]["startupDisk"]["folders"].append({
        "name": "Full", "kind": "Folder", "folders": [], "files": [
            {"@class": "document file", "name": f"{title(n)}.txt", "kind": "Text", "size": n,
             "creationDate": ago(n), "modificationDate": ago(n * 7 % FILES)}
            for n in range(FILES)
        ],
    })  # fmt: skip
    for app, name, url in (("safari", "name", "url"), ("google_chrome", "title", "url")):
        state[app]["windows"] = [
            {"id": 100 + w, "name": f"Window {w}", "index": w + 1, "tabs": [
                {"id": 200 + 20 * w + n, name: title(n), url: f"https://example.com/{n}"}
                for n in range(TABS)
            ]}
            for w in range(3)
        ]  # fmt: skip
    for window in state["google_chrome"]["windows"]:
        window.update(
            id=str(window["id"]), tabs=[{**t, "id": str(t["id"])} for t in window["tabs"]]
        )
    return state


def title(number: int) -> str:
    """Return a title; one in a hundred has the word that is searched for."""
    return f"{'example' if number % 100 == 1 else 'title'} {number}"


def sender(number: int) -> str:
    """Return one of fifty people."""
    return f"person{number * 7 % 50}@example.org"


def ago(hours: int) -> dict[str, str]:
    """Return the moment so many hours ago, as a state has it."""
    return {"date": (NOW - timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%S.000Z")}


def listings(catalogue: Catalogue) -> Iterator[tuple[str, Call]]:
    """Yield every listing tool's own example; then what an app holds much of, in several forms."""
    for name in catalogue.tools:
        spec = catalogue.load_operation(name).spec
        if spec.op == "list":
            yield name, Call(name, dict(spec.example))
    for app, element, of, text, date in FORMS:
        base = {"element": element} | ({"of": of} if of else {})
        forms: dict[str, dict[str, Any]] = {
            "plain": {},
            "limited": {"limit": 20},
            "further on": {"offset": 120, "limit": 20},
            "filtered": {"where": {text: {"contains": "1"}}},
            "ordered": {"order": [f"-{date}"], "limit": 20},
            "all": {"where": {text: {"contains": "e"}}, "order": [f"-{date}"], "limit": 20},
            "three": {"properties": [text, date], "limit": 3},
            "hundred": {"properties": [text, date], "limit": 100},
        }
        for form, given in forms.items():
            yield f"{app}_list, {form}", Call(f"{app}_list", base | given)


def count_events(gate: Gate, simulator: Simulator, call: Call) -> tuple[int, str]:
    """Return how many events a call sent, and what it gave or failed with, and after how long."""
    simulator.events.clear()
    began = simulator._waited
    try:
        done = gate.call(call)
    except ToolError as error:
        said = str(error)
    else:
        assert isinstance(done, CompletedCall), done
        rows = len(done.value) if isinstance(done.value, list) else done.value
        said = f"{rows} rows; {done.note}"
    return len(simulator.events), f"{simulator._waited - began:6.1f} s  {said}"


def count_tokens(gate: Gate) -> None:
    """Print the tokens of each answer's text, as a client gets it and in full."""
    handles = RowHandles()
    for name, call in (*QUESTIONS.items(), *LONG.items()):
        done = gate.call(call)
        assert isinstance(done, CompletedCall), done
        short = done_result(done, partial(handles.handle_of, app=done.app[0], holder=""))
        sizes = [len(one["content"][0]["text"].encode()) // 4 for one in (short, done_result(done))]
        rows = f"{len(done.value)} rows" if isinstance(done.value, list) else ""
        print(f"{sizes[0]:>6} of {sizes[1]:>6} tokens  {name}  {rows}")
        if name in LONG:
            hold_at_most(f"{name}, of the tokens in full", sizes[0] / sizes[1], 0.55, "")


def main() -> int:
    """Count; return 1 if a bound is missed."""
    catalogue = Catalogue([TOOLS])
    tables = [catalogue.load_tables(app) for app in catalogue.apps.values()]
    faults = parse_profile("hard") if "--hard" in sys.argv else None
    simulator = Simulator(tables, full_state(), faults=faults)
    gate = Gate(catalogue, Executor(simulator), "DANGEROUS", home="/Users/me")
    if "--tokens" in sys.argv:
        count_tokens(gate)
        return exit_status()
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    for what, bound, calls in (
        ("a list", EVENTS_OF_A_LIST, [*listings(catalogue)]),
        ("a question", EVENTS_OF_A_QUESTION, [*QUESTIONS.items()]),
    ):
        most, which = 0, ""
        for name, call in calls:
            if not all(word in name for word in words):
                continue
            sent, said = count_events(gate, simulator, call)
            if "--all" in sys.argv or sent > bound:
                print(f"{sent:>5}  {name}: {said[:160]}", flush=True)
            most, which = max((most, which), (sent, name))
        hold_at_most(f"{what}, at most ({which})", most, bound, "events")
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
