"""Simulated apps that act like real ones, as a person meets them at the gate and in Python."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from simulated import TOOLS

import iac_runtime
from iac_base.errors import SetupError, ToolError
from iac_gen.field import FAULTS
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import open_simulation, read_options, split_simulation
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.tools.catalogue import Catalogue
from iac_simulator import Simulator, StateError, field_profile, parse_profile

HOME = "/Users/me"
WORLD: dict[str, Any] = {
    "notes": {"accounts": [{"id": "A", "name": "iCloud", "folders": [
        {"id": "F1", "name": "Notes", "notes": [
            {"id": "1", "name": "One", "body": "<div><b class='x'>One</b></div>"},
            {"id": "2", "name": "Two", "body": "<div>Two</div>"},
            {"id": "3", "name": "Three", "body": "<div>Three</div>"},
        ]},
        {"id": "F2", "name": "Work", "notes": [{"id": "4", "name": "Four", "body": "x"}],
         "folders": [{"id": "F3", "name": "Old", "notes": []}]},
    ]}]},
}  # fmt: skip


class Notes:
    """Notes behind a gate that asks nobody; `rows` is what the field book says of it."""

    def __init__(self, generated: Path, monkeypatch: pytest.MonkeyPatch, *rows: Any) -> None:
        book = [
            {"id": f"row-{n}", "terms": ["*"], "general": False, **r} for n, r in enumerate(rows)
        ]
        monkeypatch.setattr(field_profile, "book_rows", lambda _app: book)
        catalogue = Catalogue([generated])
        app = next(app for app in catalogue.dictionaries if app.key == "notes")
        tables = [catalogue.load_tables(app)]
        asked = ",".join(row["id"] for row in book if "play" in row and not row.get("profile"))
        self.simulator = Simulator(
            tables, WORLD, faults=replace(parse_profile("hard"), play=asked.split(","))
        )
        self.gate = Gate(catalogue, Executor(self.simulator), "DANGEROUS", home=HOME)

    def __call__(self, tool: str, **arguments: Any) -> Any:
        """Return the value, or the number of the app's error."""
        try:
            outcome = self.gate.call(Call(f"notes_{tool}", arguments, confirm=False))
        except ToolError as error:
            return error.number or str(error)
        assert isinstance(outcome, CompletedCall)
        return outcome.value

    def names(self) -> Any:
        return self("get", target='folders["Notes"].notes.name')


Tool = tuple[str, dict[str, Any]]
DELETE: Tool = ("delete", {"target": 'notes.byId("2")'})
SET: Tool = ("set", {"target": 'notes.byId("2")', "properties": {"name": "<p class='c'>New</p>"}})
MAKE: Tool = (
    "make",
    {"element": "note", "at": 'folders.byId("F2").notes', "properties": {"name": "N"}},
)


def get(target: str) -> Tool:
    return "get", {"target": target}


NAMES = get('folders.byId("F1").notes.name')
IDS = get('folders.byId("F2").notes.id')
NAME = get('notes.byId("2").name')
BODY = get('notes.byId("2").body')
FOLDERS = get("accounts[0].folders.name")
ALL = ["One", "Two", "Three"]
MADE = 'folders.byId("F2").notes.byId("note-1")'
SLOW = "timed out after 30 seconds"
CASES: dict[str, tuple[dict[str, Any], list[Any], list[Any]]] = {
    "no-effect": ({"verb": "delete"}, [DELETE, NAMES], [None, ALL]),
    "instead": ({"verb": "delete"}, [DELETE, NAMES], [None, ["One", "Two"]]),
    "drops": ({"verb": "set", "part": "styles"}, [SET, NAME], [None, "<p>New</p>"]),
    "extra": ({"verb": "make"}, [MAKE, IDS], [MADE, ["4", "note-1", "note-2"]]),
    "reverts": ({"verb": "set"}, [SET, NAME], [None, "Two"]),
    "late": ({"verb": "delete", "ms": 3000}, [DELETE, NAMES], [None, ALL]),
    "stale": ({"of": "note", "ms": 3000}, [SET, NAME], [None, "Two"]),
    "error": ({"of": "note", "number": -1728}, [NAMES], [-1728]),
    "done-anyway": (
        {"verb": "delete", "number": -10000}, [DELETE, NAMES], [-10000, ["One", "Three"]]
    ),
    "hang": ({"of": "note", "ms": 40_000}, [NAMES], [SLOW]),
    "crash": ({"of": "note", "number": -609}, [NAMES], ["is not running"]),
    "dialog": ({"verb": "delete"}, [DELETE, NAMES], [SLOW, ALL]),
    "front": ({"verb": "delete"}, [DELETE, NAMES], [None, ["Two", "Three"]]),
    "denied": ({"number": -1743}, [NAMES], [-1743]),
    "form": (
        {"of": "note", "property": "body", "form": "leading newline"}, [BODY], ["\n<div>Two</div>"]
    ),
    "missing": (
        {"of": "note", "property": "name"}, [NAMES, get("notes[0].name")],
        [["One", "Two", None], "One"],
    ),
    "column-fails": (
        {"of": "note", "property": "name", "number": -1728}, [NAMES, get("notes[0].name")],
        [-1728, "One"],
    ),
    "order": (
        {"of": "note", "value": "shifts"}, [NAMES, NAMES], [ALL, ["Three", "One", "Two"]]
    ),
    "renumber": ({"verb": "make"}, [MAKE, IDS], [MADE, ["4", "note-2"]]),
    "unscoped": ({"of": "note"}, [get('folders.byId("F2").notes.byId("2").name')], ["Two"]),
    "ambiguous": ({"of": "note"}, [NAMES], [["One", *ALL]]),
    "by-path": (
        {"of": "folder"}, [FOLDERS, get('accounts[0].folders["Work/Old"].name')],
        [["Notes", "Work", "Old"], "Old"],
    ),
    "localised": ({"of": "folder"}, [FOLDERS], [["Notizen", "Work"]]),
}  # fmt: skip
"""Fault -> what a row says of it, calls, and what they answer."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_met_at_the_gate(
    fault: str, generated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play, calls, expected = CASES[fault]
    play = {"of": "note"} | play if "verb" in play else play
    notes = Notes(generated, monkeypatch, {"play": {"fault": fault, **play}})
    for (tool, arguments), right in zip(calls, expected, strict=True):
        answer = notes(tool, **arguments)
        assert answer == right or (isinstance(right, str) and right in str(answer))


@pytest.mark.parametrize("row", [
    {"fault": "missing", "of": "folder"},
    {"fault": "missing", "of": "note", "property": "name"},
])  # fmt: skip
def test_what_is_made_later_is_in_sight(
    row: dict[str, Any], generated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = Notes(generated, monkeypatch, {"play": row})
    place = 'folders.byId("F1").notes'
    made = notes("make", element="note", at=place, properties={"name": "New"})
    assert notes("get", target=f"{made}.name") == "New"
    names = notes(NAMES[0], **NAMES[1])
    assert names[:2] == ["One", "Two"]
    assert names[-1] == "New"
    assert "Three" not in names


def test_what_is_answered_with_an_error_may_be_done_later(
    generated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = {"play": {"fault": "late", "verb": "delete", "ms": 0}}
    refused = {"play": {"fault": "done-anyway", "verb": "delete", "number": -10000}}
    notes = Notes(generated, monkeypatch, late, refused)
    assert notes(DELETE[0], **DELETE[1]) == -10000
    assert notes.names() == ["One", "Three"]


@pytest.mark.parametrize(("writable", "said"), [(True, b""), (False, b"-10025")])
def test_an_event_goes_into_a_calendar_that_can_be_changed(
    generated: Path, writable: bool, said: bytes
) -> None:
    catalogue = Catalogue([generated])
    world = {"calendar": {"calendars": [{"name": "Work", "writable": writable, "events": []}]}}
    tables = [catalogue.load_tables(app) for app in catalogue.dictionaries if app.key in world]
    simulator = Simulator(tables, world, faults=parse_profile("hard"))
    script = b"const app = Application('Calendar'); app.calendars[0].events.push(app.Event({}))"
    done = simulator(["osascript", "-l", "JavaScript", "-"], script, 30)
    assert said in done.stderr
    assert bool(done.stderr) is not writable


def test_a_position_counts_what_is_in_sight(generated: Path) -> None:
    catalogue = Catalogue([generated])
    app = next(app for app in catalogue.dictionaries if app.key == "safari")
    simulator = Simulator([catalogue.load_tables(app)], faults=parse_profile("hard"))
    gate = Gate(catalogue, Executor(simulator), "DANGEROUS", home=HOME)
    made = gate.call(Call("safari_make", {"element": "tab", "at": "windows[0]"}))
    assert isinstance(made, CompletedCall)
    assert made.outcome is not None
    assert made.outcome.state == "confirmed"


def test_a_call_that_is_ended_took_no_longer_than_it_might(
    generated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hang = {"play": {"fault": "hang", "of": "note", "ms": 90_000}}
    notes = Notes(generated, monkeypatch, hang)
    assert SLOW in notes(NAMES[0], **NAMES[1])
    assert notes.simulator.waited == pytest.approx(30, abs=0.1)


def test_a_read_adds_nothing(generated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = Notes(
        generated, monkeypatch, {"play": {"fault": "extra", "of": "note", "property": "name"}}
    )
    assert [notes.names(), notes.names()] == [ALL, ALL]


def test_an_object_is_found_by_the_name_that_it_is_shown_with(
    generated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = {"fault": "form", "of": "note", "property": "name", "form": "with profile"}
    notes = Notes(generated, monkeypatch, {"play": form}, {"play": form})
    (shown, *_) = notes.names()
    assert shown == "Work — One"
    assert notes("get", target=f'folders[0].notes["{shown}"].body') != -1728
    assert notes("get", target='folders[0].notes["One"].body') == -1728


def test_all_containers_are_walked_in_one_event_and_not_one_by_one(
    generated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = {"fault": "error", "verb": "get", "of": "note", "number": -48}
    notes = Notes(generated, monkeypatch, {"play": walk | {"needs": "in every container"}})
    monkeypatch.setattr(notes.simulator._profile, "asked", frozenset())
    assert notes("get", target="folders[0].notes.name") == ALL
    assert notes("get", target="folders.notes.name") == -48


def test_what_is_late_or_stale_is_there_in_time(
    generated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = {"play": {"fault": "late", "verb": "delete", "of": "note", "ms": 3000}}
    notes = Notes(generated, monkeypatch, late, {"cost": {"event_ms": 2000}})
    notes("delete", target='notes.byId("2")')
    assert [notes(NAMES[0], **NAMES[1]) for _ in range(3)] == [ALL, *[["One", "Three"]] * 2]


@pytest.mark.parametrize(("cost", "call", "seconds"), [
    ({"event_ms": 50}, NAMES, 0.05),
    ({"column_ms_per_1000": 1000}, NAMES, 0.003),
    ({"whose_ms_per_1000": 1_000_000}, get("notes.whose({name: 'One'}).name"), 4),
    ({"item_ms": 700}, BODY, 0.7),
    ({"id_ms": 12_000}, BODY, 12),
    ({"positional_ms": 9000}, get("notes[0].name"), 9),
    ({"body_ms": 1000}, NAMES, 3),
    ({"act_ms": 5000}, SET, 5),
    ({"start_ms": 2000}, NAMES, 2),
])  # fmt: skip
def test_an_operation_takes_the_time_that_the_book_says(
    cost: dict[str, int],
    call: Any,
    seconds: float,
    generated: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notes = Notes(generated, monkeypatch, {"terms": ["note"], "cost": cost})
    notes(call[0], **call[1])
    assert notes.simulator.waited == pytest.approx(seconds)


def test_the_nearest_row_says_what_a_filter_takes(
    generated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dear = {"terms": ["note"], "cost": {"whose_ms_per_1000": 9_000_000}}
    cheap = {"terms": ["note.name", "whose"], "cost": {"whose_ms_per_1000": 250_000}}
    notes = Notes(generated, monkeypatch, dear, cheap)
    notes("get", target="notes.whose({name: 'One'}).id")
    assert notes.simulator.waited == 1


def test_a_costly_read_times_out_and_a_costly_change_is_done_all_the_same(
    generated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = Notes(generated, monkeypatch, {"terms": ["note"], "cost": {"event_ms": 500_000}})
    assert SLOW in notes("get", target="notes.name")
    assert SLOW in notes("delete", target='notes.byId("2")')
    assert "Two" not in str(notes.simulator.state())


def test_a_variant_is_played_where_it_is_chosen(
    generated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sick = {"profile": "sick", "play": {"fault": "error", "verb": "get", "number": -10000}}
    assert Notes(generated, monkeypatch, sick)("get", target="notes.name") != -10000
    notes = Notes(generated, monkeypatch, sick)
    notes.simulator._profile.variants["notes"] = "sick"  # type: ignore[union-attr,index]
    assert notes("get", target="notes.name") == -10000


def test_a_habit_acts_by_itself_and_a_circumstance_where_it_shows(
    generated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    habit = {"fault": "error", "verb": "delete", "of": "note", "number": -10000}
    taken = {"fault": "error", "verb": "make", "of": "note", "number": -48, "needs": "name exists"}
    denied = {"fault": "denied", "number": -1743}
    notes = Notes(generated, monkeypatch, *({"play": play} for play in (habit, taken, denied)))
    monkeypatch.setattr(notes.simulator._profile, "asked", frozenset())
    assert notes(DELETE[0], **DELETE[1]) == -10000
    assert notes(MAKE[0], **MAKE[1]) == MADE
    assert notes(MAKE[0], **MAKE[1]) == -48


def test_a_new_object_is_found_by_the_id_that_it_is_shown_with(
    generated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = {"fault": "form", "of": "note", "property": "id", "form": "with ending"}
    notes = Notes(generated, monkeypatch, {"play": form})
    for number in (1, 2):
        made = notes(MAKE[0], **MAKE[1])
        assert made == f'folders.byId("F2").notes.byId("note-{number}/L0/001")'
        assert notes("get", target=f"{made}.name") == "N"


@pytest.mark.parametrize(("text", "parts"), [
    ("", ("", "")), ("world.json", ("", "world.json")), ("hard", ("hard", "")),
    ("hard:world.json", ("hard", "world.json")), ("./hard", ("", "./hard")),
    ("hard,mail=sick:a.toml", ("hard,mail=sick", "a.toml")), ("harder.json", ("", "harder.json")),
])  # fmt: skip
def test_an_option_names_the_profile_and_the_state(text: str, parts: tuple[str, str]) -> None:
    assert split_simulation(text) == parts


def test_a_state_that_is_no_file_is_told_of_a_profile_too() -> None:
    with pytest.raises(SetupError, match="write hard for apps that act like real ones"):
        read_options({"simulate": "hard:thing"})


@pytest.mark.parametrize(("simulate", "profile"), [(True, "friendly"), ("hard", "hard")])
def test_python_chooses_the_profile(simulate: Any, profile: str, generated: Path) -> None:
    with iac_runtime.connect(simulate=simulate, tools=generated) as session:
        assert session.simulator.faults.scenario.profile == profile


def test_the_words_of_a_profile_are_checked() -> None:
    with pytest.raises(StateError, match="profile must be one of friendly, hard"):
        parse_profile("hrad")
    assert parse_profile("hard,mail=sick,cal-permission-1743").play == ["cal-permission-1743"]


def test_a_state_is_made_hard_once(tmp_path: Path, generated: Path) -> None:
    path, catalogue = tmp_path / "world.json", Catalogue([generated])
    make = {"element": "note", "properties": {"name": "Plan"}}
    for _ in range(2):
        world = open_simulation(catalogue, f"hard,mail=sick:{path}")
        gate = Gate(catalogue, Executor(world), "DANGEROUS", home=HOME)
        with pytest.raises(ToolError, match="timed out"):
            gate.call(Call("notes_make", make, confirm=False))
        account = world.simulator.state()["notes"]["accounts"][0]
        assert account["folders"][0]["name"] == "Notizen"
    assert path.exists()


@pytest.mark.parametrize("words", ["hard,mail=nope", "hard,no-such-row", "hard,"])
def test_what_no_row_knows_is_one_clear_line(words: str) -> None:
    with pytest.raises(StateError, match="is not known") as caught:
        parse_profile(words)
    assert "\n" not in str(caught.value)


CATALOGUE = Catalogue([TOOLS])
APPS = [app for app in CATALOGUE.apps.values() if app.key in ("calendar", "reminders")]
EXAMPLES = [name for name in CATALOGUE.tools if CATALOGUE.find_row(name).module in
            ("calendar", "reminders")]  # fmt: skip
HONEST = {"calendar_set": "unchanged", "reminders_move": "unknown"}
"""Where the app does not do it: a first description is lost, and what is moved has a new id."""
SECONDS, EVENTS = 30, 30


class Apps:
    """Calendar and Reminders behind a gate that asks nobody."""

    def __init__(self, profile: str, state: dict[str, Any] | None = None) -> None:
        tables = [CATALOGUE.load_tables(app) for app in APPS]
        self.simulator = Simulator(tables, state, faults=parse_profile(profile))
        self.gate = Gate(CATALOGUE, Executor(self.simulator), "DANGEROUS", home="/Users/me")

    def __call__(self, tool: str, **arguments: Any) -> Any:
        """Return the call as it was done, or why it was not; on time in any case."""
        self.simulator.events.clear()
        began = self.simulator.waited
        try:
            done = self.gate.call(Call(tool, arguments))
        except ToolError as error:
            return error.type
        assert isinstance(done, CompletedCall)
        took = self.simulator.waited - began
        assert took <= SECONDS
        assert len(self.simulator.events) <= EVENTS
        return done

    def state_of(self, tool: str) -> str:
        done = self(tool, **dict(CATALOGUE.load_operation(tool).spec.example))
        return done if isinstance(done, str) else done.outcome.state if done.outcome else "read"


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_comes_out_alike_on_both_profiles(name: str) -> None:
    friendly, hard = (Apps(profile).state_of(name) for profile in ("friendly", "hard"))
    assert hard == HONEST.get(name, friendly)


def full_diary() -> dict[str, Any]:
    def day(n: int) -> dict[str, str]:
        return {"date": f"2026-{1 + n // 28:02}-{1 + n % 28:02}T09:00:00.000Z"}

    calendars = [
        {"name": f"C{c}", "writable": True, "events": [
            {"uid": f"e{c}-{n}", "summary": f"S{n}", "startDate": day(n), "endDate": day(n)}
            for n in range(200)
        ]}
        for c in range(3)
    ]  # fmt: skip
    reminders = [
        {"id": f"x-apple-reminder://{n}", "name": f"R{n}", "completed": False, "dueDate": day(n)}
        for n in range(300)
    ]
    accounts = [{"id": "a", "name": "A", "lists": [{"id": "l", "name": "L",
                 "reminders": reminders}]}]  # fmt: skip
    return {
        "calendar": {"calendars": calendars},
        "reminders": {"accounts": accounts},
        "@now": "2026-03-02T09:30:00.000Z",
    }


def test_a_day_of_full_calendars_takes_few_events_and_is_whole() -> None:
    apps = Apps("hard", full_diary())
    done = apps("calendar_events_of_day", day="2026-03-02")
    assert [row["ref"] for row in done.value] == [
        f'calendars["C{c}"].events.byId("e{c}-57")' for c in range(3)
    ]
    assert done.outcome is None
    assert len(apps.simulator.events) <= 10


def test_what_is_dear_is_told_to_be_a_part() -> None:
    done = Apps("hard", full_diary())("reminders_list_due", before="2026-02-01")
    assert done.value[0]["name"] == "R0"
    assert done.outcome.state == "partial"
    assert "to look through all 300 items would take too long" in done.note


def test_a_list_over_several_calendars_goes_on_by_its_cursor() -> None:
    for profile in ("friendly", "hard"):
        apps, seen = Apps(profile, full_diary()), list[str]()
        cursor: dict[str, Any] = {}
        while True:
            early = {"where": {"start date": {"<": "2026-01-29"}}, "order": ["start date"]}
            done = apps(
                "calendar_list", element="event", of="calendars", limit=40, **early, **cursor
            )
            seen += [row["ref"] for row in done.value]
            if "cursor" not in done.note:
                break
            cursor = {"cursor": json.loads(done.note.partition("cursor ")[2])}
        assert len(seen) == len(set(seen)) == 3 * 28
