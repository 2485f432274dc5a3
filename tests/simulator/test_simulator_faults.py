"""What goes wrong on purpose: in events of an app, and in the process that sends them."""

import contextlib
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from programs import jar, started
from simulated import shipped_catalogue, simulate_apps
from simulated_diary import DIARY, WORLD, Script

from iac_base.errors import ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall
from iac_simulator import Simulator, StateError, read_scenario
from iac_simulator.scenario import parse_scenario

D = 'const d = Application("Diary"); '
TRY = "const n = f => { try { return f() } catch (e) { return e.errorNumber } }; "


def script(*faults: dict[str, Any], **machine: Any) -> Script:
    scenario = parse_scenario({"fault": list(faults), **machine})
    return Script(Simulator([DIARY], {"diary": WORLD}, faults=scenario))


def test_the_nth_event_fails_once() -> None:
    broken = script({"event": "coregetd", "nth": 2, "error": -609})
    names = "[0, 1, 2].map(() => n(() => d.journals[0].name()))"
    assert broken.value(D + TRY + names) == ["Work", -609, "Work"]


@pytest.mark.parametrize(("times", "count"), [(1, 1), (2, 2), (0, 4)])
def test_a_fault_is_repeated(times: int, count: int) -> None:
    broken = script({"times": times, "error": -10000})
    names = "[0, 1, 2, 3].map(() => n(() => d.journals[0].name()))"
    assert broken.value(D + TRY + names).count(-10000) == count


def test_a_fault_is_of_one_app_and_one_code() -> None:
    for app in ("Diary", "com.example.Diary", "COM.EXAMPLE.diary", "diary", ""):
        assert script({"app": app, "error": -1743}).error(D + "d.name()") == -1743
    for other in ({"app": "Mail"}, {"event": "coresetd"}):
        assert script({**other, "error": -1743}).value(D + "d.name()") == "Diary"


def test_a_timeout_after_which_the_work_is_done() -> None:
    late = script({"event": "corecrel", "error": -1712, "after": True})
    source = "[n(() => d.make({new: 'journal'})), d.journals.length]"
    assert late.value(D + TRY + source) == [-1712, 3]
    never = script({"event": "corecrel", "error": -1712})
    assert never.value(D + TRY + source) == [-1712, 2]


def test_an_app_quits_between_two_reads() -> None:
    gone = script({"event": "coregetd", "nth": 2, "quit": True})
    read = "[d.journals[0].name(), n(() => d.journals[0].name()), d.running()]"
    assert gone.value(D + TRY + read) == ["Work", -600, False]
    died = script({"quit": True, "error": -609})
    assert died.error(D + "d.name()") == -609


def test_a_list_moves_between_two_reads() -> None:
    moved = script({"event": "coregetd", "nth": 2, "shift": "journals[0].entries"})
    read = "d.journals[0].entries[0].name()"
    assert moved.value(f"{D}[{read}, {read}]") == ["Monday", "Tuesday"]
    assert script({"shift": "journals[1].entries"}).value(D + "d.name()") == "Diary"


def test_an_answer_is_huge_or_another_one() -> None:
    assert script({"size": 100_000}).value(D + "d.name().length") == 100_000
    assert script({"value": {"record": {"a": 1}}}).value(D + "d.name()") == {"a": 1}


def test_a_slow_app_uses_up_the_time() -> None:
    slow = script({"delay": 31.0, "times": 0})
    assert slow.run(D + "d.name()", timeout=30).timed_out
    assert slow.run(D + "d.name()", timeout=60).stdout == b"Diary\n"


def test_the_process_ends_as_it_is_told() -> None:
    silent = script({"on": "start", "exit": 1}).run("1")
    assert (silent.stdout, silent.stderr, silent.status) == (b"", b"", 1)
    assert script({"exit": 139}).run(D + "d.name()").status == -signal.SIGSEGV
    noisy = script({"on": "start", "write": "{half", "repeat": 2, "times": 1}).run("1")
    assert noisy.stdout == b"{half{half1\n"


@pytest.mark.parametrize(("data", "said"), [
    ([], "scenario: a scenario must be a table."),
    ({"falt": []}, 'scenario: "falt" is not a key. Nearest: fault.'),
    ({"fault": {}}, "scenario: fault must be a list of tables: write [[fault]]."),
    ({"fault": [3]}, "scenario: fault 1: must be a table."),
    ({"fault": [{}, {"eror": 1}]}, 'scenario: fault 2: "eror" is not a key. Nearest: error'),
    ({"fault": [{"error": "x"}]}, "scenario: fault 1: error must be int."),
    ({"fault": [{"nth": True}]}, "scenario: fault 1: nth must be int."),
    ({"fault": [{"on": "end"}]}, "scenario: fault 1: on must be one of event, start."),
    ({"language": "xx"}, "scenario: language must be one of en, de, fr, ja, ar."),
])  # fmt: skip
def test_a_wrong_scenario_gives_one_line(data: Any, said: str) -> None:
    with pytest.raises(StateError) as caught:
        parse_scenario(data)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(("name", "text"), [
    ("s.toml", 'language = "de"\n[[fault]]\nerror = -43\n'),
    ("s.json", '{"language": "de", "fault": [{"error": -43}]}'),
])  # fmt: skip
def test_a_scenario_is_read_from_a_file(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    scenario = read_scenario(path)
    assert (scenario.language, scenario.faults[0].error) == ("de", -43)
    path.write_text("{", "utf-8")
    with pytest.raises(StateError, match="not a scenario"):
        read_scenario(path)
    with pytest.raises(StateError, match="No such file"):
        read_scenario(tmp_path / "none.toml")


def scenario_file(folder: Path, text: str) -> str:
    path = folder / "faults.toml"
    path.write_text(text, "utf-8")
    return str(path)


COINS = "Application('Jar').coins.length"


@pytest.mark.process
def test_processes_share_the_count_of_a_fault(tmp_path: Path) -> None:
    faults = scenario_file(tmp_path, '[[fault]]\nevent = "corecnte"\nnth = 2\nerror = -600\n')
    tools, seen = jar(tmp_path / "tools"), []
    for _ in range(3):
        process = started(tools, "-e", COINS, faults=faults)
        process.communicate(timeout=30)
        seen.append(process.returncode)
    assert seen == [0, 1, 0]


@pytest.mark.process
def test_a_segmentation_fault_is_a_real_one(tmp_path: Path) -> None:
    faults = scenario_file(tmp_path, "[[fault]]\nexit = 139\n")
    process = started(jar(tmp_path / "tools"), "-e", COINS, faults=faults)
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGSEGV


@pytest.mark.process
def test_a_process_ignores_term_and_leaves_a_child(tmp_path: Path) -> None:
    lines = "ignore_term = true\nfork = 60\nsetsid = true\nwrite = 'up'\ndelay = 0.0\n"
    faults = scenario_file(tmp_path, f"[[fault]]\non = 'start'\n{lines}")
    process = started(jar(tmp_path / "tools"), "-e", "delay(60)", faults=faults)
    psutil = pytest.importorskip("psutil")
    child = None
    try:
        assert process.stdout.read(2) == b"up"
        [child] = psutil.Process(process.pid).children()
        assert os.getsid(child.pid) != process.pid
        process.terminate()
        with pytest.raises(Exception, match="timed out"):
            process.wait(0.3)
    finally:
        process.kill()
        with contextlib.suppress(psutil.Error):
            if child is not None:
                child.kill()
        process.communicate(timeout=30)


@pytest.mark.process
def test_a_bad_scenario_file_gives_one_line(tmp_path: Path) -> None:
    faults = scenario_file(tmp_path, "[[fault]]\neror = 1\n")
    process = started(jar(tmp_path / "tools"), "-e", "1", faults=faults)
    _, err = process.communicate(timeout=30)
    [line] = err.decode().splitlines()
    assert line.startswith(f"osascript: {faults}: fault 1: ")
    assert process.returncode == 1


# Raw Apple events: the same event as JXA's form where both are, and what only they can say.


TOOLS = Path(__file__).parent.parent.parent / "generated" / "iac_tools"
CATALOGUE = shipped_catalogue()


class Asked:
    """A gate on the demo world, and the events that went out."""

    def __init__(self, *faults: dict[str, Any]) -> None:
        self.simulator = simulate_apps(CATALOGUE, faults=parse_scenario({"fault": list(faults)}))
        self.gate = Gate(CATALOGUE, Executor(self.simulator), "DANGEROUS", home="/Users/me")

    def __call__(self, tool: str, **arguments: Any) -> Any:
        outcome = self.gate.call(Call(tool, arguments, raw=True))
        assert isinstance(outcome, CompletedCall), outcome
        return outcome.value

    def sent(self) -> list[Any]:
        return [event._replace(timeout=None) for event in self.simulator.events]


FOLDER = {"element": "note", "of": "folders[0]"}
FORMS: list[tuple[str, dict[str, Any]]] = [
    ("notes_get", {"target": "notes[-1].name"}),
    ("notes_get", {"target": 'notes["Shopping list"]'}),
    ("notes_get", {"target": 'notes.byId("x-coredata://demo/ICNote/p5").container'}),
    ("notes_get", {"target": "notes[0]", "properties": ["creation date", "container", "shared"]}),
    ("notes_get", {"target": "notes.whose({name: {_beginsWith: 'S'}})[0].name"}),
    ("notes_get", {"target": "folders.notes.name"}),
    ("notes_get", {"target": ["notes[0]", "notes[9]"], "properties": ["name"]}),
    ("notes_count", {**FOLDER, "where": {"name": {"in": ["Gift ideas", "x"]}}}),
    ("notes_list", {**FOLDER, "where": {"name": {"not contains": "a", "ends with": "t"}}}),
    ("notes_list", {**FOLDER, "where": {"or": [{"name": "x"}, {"not": [{"shared": True}]}]}}),
    ("notes_list", {"element": "note", "where": {"container.name": "Notes"}}),
    ("notes_list", {"element": "note", "where": {"creation date": {">": "2026-02-12"}}}),
    ("notes_set", {"target": "notes[0]", "properties": {"name": "n\u0301", "body": "b"}}),
    ("notes_make", {"element": "note", "at": "folders[0]", "properties": {"name": "A"}}),
    ("notes_make", {"element": "note", "at": "folders[0].notes.beginning"}),
    ("notes_move", {"target": "notes[0]", "to": "folders[1]"}),
    ("notes_get", {"target": "notes[99].name"}),
    (
        "reminders_list",
        {"element": "reminder", "properties": ["due date", "priority", "container"]},
    ),
    ("music_set", {"target": "application", "properties": {"song repeat": "all"}}),
    ("finder_list", {"element": "item", "of": "~/Desktop", "properties": ["name", "URL"]}),
    ("finder_move", {"target": "/Users/me/Desktop/Todo.txt", "to": "/Users/me/Documents"}),
    ("textedit_close", {"target": "documents[0]", "saving": "no"}),
    ("system_events_get", {"target": "processes[0].windows[0].position"}),
]


@pytest.mark.sweep
@pytest.mark.parametrize(("tool", "arguments"), FORMS)
def test_both_forms_say_the_same_and_are_answered_the_same(
    tool: str, arguments: dict[str, Any]
) -> None:
    found = []
    for seconds in (120, 121):
        asked = Asked()
        try:
            answer = asked(tool, **arguments, timeout=seconds)
        except ToolError as error:
            answer = error.facts()
        found.append((asked.sent(), answer))
        # What a text would lose is counted before it, in a read of its own; a range has half the
        # time, so that there is some left where it fails.
        sent = [row for row in asked.simulator.events if row.event != "corecnte" or "count" in tool]
        sent = [row for row in sent if not re.search(r"\[\d+:\d+\]", str(row.direct))]
        assert {event.timeout for event in sent} == {None if seconds == 120 else 121}
    assert found[0] == found[1]


NAMES = ["Shopping list", "Gift ideas", "Roof repair"]


@pytest.mark.parametrize(("target", "expected"), [
    ("notes[0:2].name", NAMES[:2]), ("notes[1:].name", NAMES[1:]), ("notes[-2:].name", NAMES[-2:]),
    ("notes[:-1].name", NAMES[:-1]), ("notes[1:3][0].name", NAMES[1]),
    ("notes.middle.name", NAMES[1]), ("notes[0].next.name", NAMES[1]),
    ("notes[2].previous.name", NAMES[1]), ('notes["Gift ideas"].next.name', NAMES[2]),
    ("notes.whose({name: {_contains: 'i'}})[0:2].name", NAMES[:2]),
])  # fmt: skip
def test_what_jxa_cannot_say_is_read_by_a_raw_event(target: str, expected: Any) -> None:
    asked = Asked()
    assert asked("notes_get", target=target) == expected
    # Beside it, what bears a name is counted.
    counted = [event for event in asked.simulator.events if event.event == "corecnte"]
    assert len(asked.simulator.events) - len(counted) == 1
    assert len(counted) == target.count('["')


def test_some_is_one_of_them_and_nothing_is_done_to_it() -> None:
    asked = Asked()
    assert asked("notes_get", target="notes.some.name") in NAMES
    with pytest.raises(ToolError, match="a different object each time"):
        asked("notes_delete", target="notes.some")


def test_what_is_made_or_moved_stands_beside_an_object() -> None:
    asked = Asked()
    folder = 'folders["Notes"].notes'
    asked("notes_make", element="note", at=f"{folder}[1].before", properties={"name": "B"})
    asked("notes_make", element="note", at=f'{folder}["B"].after', properties={"name": "C"})
    names = asked("notes_get", target=f"{folder}.name")
    at = names.index("B")
    assert names[at : at + 2] == ["B", "C"]
    asked("notes_move", target=f'{folder}["C"]', to=f'{folder}["B"].before')
    moved = asked("notes_get", target=f"{folder}.name")
    assert moved == [*names[:at], "C", "B", *names[at + 2 :]]


@pytest.mark.parametrize(("tool", "arguments", "said"), [
    ("notes_get", {"target": "notes[2:1]"}, "is empty"),
    ("notes_get", {"target": "notes['a':1]"}, "range of positions"),
    ("notes_get", {"target": "notes[0:99].name"}, "nothing at this position"),
    ("notes_get", {"target": "notes[2].next.name"}, "There is no notes[2].next in Notes."),
    ("notes_get", {"target": "notes[0].name", "timeout": 0}, "is not a valid time for a call"),
    ("notes_get", {"target": "notes[0].name", "timeout": True}, "is not a valid time for a call"),
    ("notes_get", {"target": "notes[0].name", "timeout": 3601}, "is not a valid time for a call"),
    ("finder_get", {"target": "selection.odd things[0:1]"}, "no code is known for oddThings"),
])  # fmt: skip
def test_what_cannot_be_said_is_refused_with_the_reason(
    tool: str, arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(ToolError) as caught:
        Asked()(tool, **arguments)
    assert said in str(caught.value)


@pytest.mark.parametrize(("tool", "arguments", "line"), [
    ("notes_get", {"target": "notes[0:2].name"}, "get name of notes 1 thru 2"),
    ("notes_delete", {"target": "notes[1].next"}, "delete note after note 2"),
    ("notes_make", {"element": "note", "at": "notes[0].before"}, "make new note at before note 1"),
])  # fmt: skip
def test_the_line_of_such_a_call_is_applescript(
    tool: str, arguments: dict[str, Any], line: str
) -> None:
    outcome = Asked().gate.call(Call(tool, arguments), dry_run=True)
    assert isinstance(outcome, CompletedCall)
    assert outcome.line == f'tell application id "com.apple.Notes" to {line}'


@pytest.mark.parametrize(("refused", "places"), [
    (1, ["folders[0].notes.end", "folders[0].notes.end"]),
    (2, ["folders[0].notes.end", "folders[0].notes.end", "folders[0]"]),
    (3, ["folders[0].notes.end", "folders[0].notes.end", "folders[0]", "folders[0].notes.end"]),
])  # fmt: skip
def test_a_place_that_an_app_refuses_is_said_by_push_by_its_holder_and_raw(
    refused: int, places: list[str]
) -> None:
    asked = Asked({"event": "corecrel", "nth": 1, "times": refused, "error": -10024})
    made = asked("notes_make", element="note", at="folders[0].notes", properties={"name": "A"})
    assert asked("notes_get", target=f"{made}.name") == "A"
    sent = [event for event in asked.simulator.events if event.event == "corecrel"]
    assert [event.params["insh"]["ref"] for event in sent] == places


def test_the_app_is_started_for_a_change_and_the_time_is_the_events() -> None:
    asked = Asked()
    asked("app_quit", app="Notes")
    asked.simulator.events.clear()
    asked("notes_make", element="note", at="notes[0].after", timeout=600, confirm=False)
    first, made = asked.simulator.events
    assert (first.event, made.event, made.timeout) == ("ascrnoop", "corecrel", 600)
