"""What apps do of themselves: players, drafts, dates, names, dialogs, helpers that end."""

import sys
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_diary import DIARY, WORLD, Script

from iac_runtime.execution.process import Completed
from iac_runtime.tool import App, Class, Element, Param, Property, Spec
from iac_runtime.tools.catalogue import Catalogue, shipped_folder
from iac_runtime.tools.tables import Tables
from iac_simulator import Simulator, StateChange, difference
from iac_simulator.scenario import parse_scenario

ADDITIONS = "const s = Application.currentApplication(); s.includeStandardAdditions = true; "
TRY = "const n = f => { try { return f() } catch (e) { return e.errorNumber } }; "


@cache
def tables(key: str) -> Tables:
    folder = shipped_folder()
    assert folder is not None
    catalogue = Catalogue([folder])
    return catalogue.load_tables(next(app for app in catalogue.apps.values() if app.key == key))


class Patient(Script):
    """Scripts that may wait: here that takes no time."""

    def run(self, source: str, *args: str, stdin: bytes = b"", timeout: float = 1e6) -> Completed:
        return super().run(source, *args, stdin=stdin, timeout=timeout)


def script(*keys: str, state: Any = None, **machine: Any) -> Script:
    scenario = parse_scenario(machine)
    return Patient(Simulator([tables(key) for key in keys], state, faults=scenario))


def test_a_player_plays_pauses_goes_on_and_stops() -> None:
    music = "const m = Application('Music'); const now = () => [m.playerState(), "
    music += "m.currentTrack.name()]; "
    play = "const seen = []; for (const what of ['play', 'nextTrack', 'playpause', 'playpause',"
    play += " 'previousTrack', 'pause', 'pause']) { m[what](); seen.push(now()) } seen"
    assert script("music").value(music + play) == [
        ["playing", "Morning Ferry"], ["playing", "Low Water"], ["paused", "Low Water"],
        ["playing", "Low Water"], ["playing", "Morning Ferry"], ["paused", "Morning Ferry"],
        ["paused", "Morning Ferry"],
    ]  # fmt: skip
    stop = "m.play(m.playlists.byName('Evening')); const p = now(); m.stop(); "
    stop += "p.concat(m.playerState(), m.currentTrack())"
    assert script("music").value(music + stop) == ["playing", "Paper Lanterns", "stopped", None]


def test_a_movie_knows_whether_it_plays() -> None:
    def command(code: str) -> Spec:
        movie = {"target": Param("", "----", "document")}
        return Spec(
            code, "SAFE", "SAFE", movie, "command", "play" if "play" in code else "pause", "", {}
        )

    def row(code: str, name: str, *properties: Property, holds: tuple[Element, ...] = ()) -> Class:
        return Class(code, name, f"{name}s", None, "SAFE", "SAFE", properties, holds)

    player = Tables(
        "player",
        App("com.apple.QuickTimePlayerX", "QuickTime Player"),
        {
            "application": row("capp", "application", holds=(Element("document", "rw"),)),
            "document": row(
                "docu", "document", Property("playing", "play", "playing", "boolean", "r", "SAFE")
            ),
        },
        {},
        {},
        {"play": command("MVWRplay"), "pause": command("MVWRpaus")},
    )
    movie = Script(Simulator([player], {"player": {"documents": [{"name": "Film"}]}}))
    source = (
        "const d = Application('QuickTime Player').documents[0]; d.play(); const a = d.playing();"
    )
    assert movie.value(source + " d.pause(); [a, d.playing()]") == [True, False]


def test_what_is_sent_leaves_the_drafts_and_is_a_message() -> None:
    mail = "const m = Application('Mail'); const d = m.OutgoingMessage({subject: 'Lunch', "
    mail += "content: 'At one?'});"
    mail += " m.outgoingMessages.push(d); const made = m.outgoingMessages.length; const sent = "
    mail += "d.send(); "
    left = "const s = m.sentMailbox.messages; [made, sent, m.outgoingMessages.length, s.length, "
    left += "s[0].subject(),"
    left += " s[0].content(), s[0].dateSent().toISOString(), s[0].class()]"
    assert script("mail").value(mail + left) == [
        *(1, True, 0, 1, "Lunch", "At one?", "2026-03-02T09:30:00.000Z", "message")
    ]


def test_what_is_sent_is_gone_where_there_is_no_place_for_it() -> None:
    world = {"mail": {"outgoingMessages": [{"id": 1, "subject": "Lunch"}]}}
    sent = (
        "const m = Application('Mail'); [m.outgoingMessages[0].send(), m.outgoingMessages.length]"
    )
    assert script("mail", state=world).value(sent) == [True, 0]


def test_the_clipboard_keeps_what_it_is_given() -> None:
    kept = "s.setTheClipboardTo('Grüße'); s.theClipboard()"
    assert script("standard_additions").value(ADDITIONS + kept) == "Grüße"
    assert script("standard_additions", state={}).value(ADDITIONS + "s.theClipboard()") == ""


def test_a_random_number_keeps_to_its_range() -> None:
    many = "Array.from({length: 200}, () => s.randomNumber(null, {from: 3, to: 5}))"
    assert set(script("standard_additions").value(ADDITIONS + many)) == {3, 4, 5}
    parts = "Array.from({length: 20}, () => s.randomNumber())"
    found = script("standard_additions").value(ADDITIONS + parts)
    assert all(0 <= number < 1 for number in found)
    assert len(set(found)) == 20
    same = "[s.randomNumber(1000, {withSeed: 7}), s.randomNumber(1000, {withSeed: 7})]"
    assert len(set(script("standard_additions").value(ADDITIONS + same))) == 1


def test_dates_move_with_what_changes() -> None:
    reminder = "const r = Application('Reminders').lists[0].reminders[0]; "
    done = "const was = r.modificationDate(); r.completed = true; const d = r.completionDate(); "
    undone = (
        "r.completed = false; [was < r.modificationDate(), d.toISOString(), r.completionDate()]"
    )
    assert script("reminders").value(reminder + done + undone) == [
        *(True, "2026-03-02T09:30:00.000Z", None)
    ]
    note = "const o = Application('Notes').notes[0]; const was = o.modificationDate(); delay(60); "
    note += "o.body = 'x'; [was < o.modificationDate(), o.creationDate() < o.modificationDate()]"
    assert script("notes").value(note) == [True, True]


@pytest.mark.parametrize(("key", "source", "number"), [
    ("finder", "a.make({new: 'folder', at: a.desktop, withProperties: {name: 'Twice'}})", -48),
    ("finder", "a.make({new: 'folder', at: a.desktop, withProperties: {name: 'tWICE'}})", -48),
    ("finder", "const f = a.make({new: 'folder', at: a.desktop}); f.name = 'Twice'", -48),
    ("reminders", "a.make({new: 'list', withProperties: {name: 'Twice'}})", -10000),
    ("notes", "a.make({new: 'folder', withProperties: {name: 'Twice'}})", -10000),
])  # fmt: skip
def test_a_name_is_given_once(key: str, source: str, number: int) -> None:
    app = tables(key).app.name
    new = "list" if key == "reminders" else "folder"
    at = "at: a.desktop, " if key == "finder" else ""
    first = f"a.make({{new: '{new}', {at}withProperties: {{name: 'Twice'}}}}); "
    world = script(key)
    found = world.value(f"{TRY}const a = Application('{app}'); {first}n(() => {{ {source} }})")
    assert found == number
    if key == "finder":
        untitled = "[1, 2].map(() => a.make({new: 'folder', at: a.desktop}).name())"
        names = script(key).value(f"const a = Application('Finder'); {untitled}")
        assert names == ["untitled folder", "untitled folder 2"]


def test_an_event_ends_after_it_starts() -> None:
    day = "const day = d => new Date(2026, 2, d); const c = Application('Calendar').calendars[0]; "
    make = "const m = (a, b) => { const e = Application('Calendar').Event({summary: 'x', "
    make += "startDate: day(a),"
    make += " endDate: day(b)}); c.events.push(e); return e }; "
    ask = "const count = c.events.length; const e = m(2, 3); [n(() => m(3, 2)), n(() => { "
    ask += "e.endDate = day(1) }),"
    ask += " e.endDate().getDate(), n(() => { e.startDate = day(4) }), c.events.length - count]"
    assert script("calendar").value(TRY + day + make + ask) == [-10025, -10025, 3, -10025, 1]


def test_a_helper_ends_when_it_was_idle_and_starts_again() -> None:
    events = "const s = Application('System Events'); s.processes.length; "
    after = "const a = s.running(); delay(SECONDS); const b = s.running(); s.processes.length; "
    after += "[a, b, s.running()]"
    demo = script("system_events")
    assert demo.value(events + "s.quitDelay = 60; " + after.replace("SECONDS", "50")) == [True] * 3
    assert demo.value(events + after.replace("SECONDS", "70")) == [True, False, True]
    assert demo.value(events + "s.quitDelay = 0; " + after.replace("SECONDS", "9000")) == [True] * 3


CHANGED = "const t = Application('TextEdit'); const d = t.documents[0]; d.text = 'x'; "


def test_a_changed_document_asks_before_it_is_closed() -> None:
    asked = script("textedit").run(CHANGED + "d.close()", timeout=100)
    assert asked.timed_out
    late = "[d.modified(), n(() => d.close({saving: 'ask'}, {timeout: 5})), t.documents.length]"
    assert script("textedit").value(TRY + CHANGED + late) == [True, -1712, 1]
    cancelled = script("textedit", dialogs="cancel")
    quit_ = "[n(() => d.close()), n(() => t.quit()), t.running(), t.documents.length]"
    assert cancelled.value(TRY + CHANGED + quit_) == [-128, -128, True, 1]
    for kept in ("d.close({saving: 'no'})", "d.save(); d.close()"):
        assert script("textedit").value(f"{CHANGED}{kept}; t.documents.length") == 0
    assert script("textedit", dialogs="no").value(CHANGED + "d.close(); t.documents.length") == 0


def test_an_app_takes_longer_over_more_objects() -> None:
    slow = {"latency": 0.5, "latency_each": 1.0}
    names = "const n = Application('Notes'); const at = Date.now(); n.notes.name(); "
    assert script("notes", **slow).value(names + "n.notes.length") == 3
    assert not script("notes", **slow).run(names, timeout=4).timed_out
    assert script("notes", **slow).run(names, timeout=3).timed_out
    assert not script("notes", **slow).run("Application('Notes').name()", timeout=2).timed_out


def test_the_thousandth_make_is_as_much_work_as_the_tenth() -> None:
    made = script("reminders")
    one = "Application('Reminders').make({new: 'reminder', withProperties: {name: 'x'}}); 1"

    def work() -> int:
        """Return how many functions are called for one more reminder."""
        calls = [0]
        sys.setprofile(lambda *_: calls.__setitem__(0, calls[0] + 1))
        try:
            made.run(one)
        finally:
            sys.setprofile(None)
        return calls[0]

    made.run(one)
    first = work()
    made.run(f"for (let i = 0; i < 1000; i++) {{ {one} }}")
    assert work() < first * 1.1


# Comparing two states: what was added, removed and changed.


D = 'const d = Application("Diary"); '


def test_the_difference_tells_what_a_script_did() -> None:
    script = Script(Simulator([DIARY], {"diary": WORLD}))
    before = script.simulator.state()
    script.run(
        D + "d.journals[0].entries[0].body = 'Snow'; d.journals[0].entries[1].delete();"
        "d.journals[1].entries.push(d.Entry({name: 'New'}))"
    )
    found = difference(before, script.simulator.state())
    assert found.changed == (StateChange("diary.journals[0].entries[0].body", "Rain", "Snow"),)
    assert [place for place, _ in found.removed] == ["diary.journals[0].entries[1]"]
    assert [place for place, _ in found.added] == [
        "diary.journals[1].entries[0]",
        "diary.@next",
    ]
    assert found.added[0][1]["name"] == "New"


def test_an_object_that_moved_in_its_list_is_the_same_object() -> None:
    one, two = {"id": 1, "name": "a"}, {"id": 2, "name": "b", "x y": 1}
    assert not difference({"app": {"items": [one, two]}}, {"app": {"items": [two, one]}})
    changed = difference(
        {"app": {"items": [one, two]}}, {"app": {"items": [{**two, "x y": 2}, one]}}
    )
    assert changed.changed == (StateChange('app.items[0]."x y"', 1, 2),)


def test_true_is_not_one() -> None:
    assert difference({"a": {"x": True}}, {"a": {"x": 1}}).changed == (StateChange("a.x", True, 1),)


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "name", "x", "items"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["a", "b"]), values))
def test_a_state_does_not_differ_from_itself(state: dict[str, Any]) -> None:
    assert not difference(state, state)
    assert len(difference({}, state).added) == len(state)
    assert len(difference(state, {}).removed) == len(state)
